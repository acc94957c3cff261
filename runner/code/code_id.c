// SPDX-License-Identifier: Apache-2.0
//
// The id is the hash of a text of records. For the host part these are the bytes that the loader
// maps, segment by segment, and their distance from each other: what sections claim is not asked,
// since only segments decide what runs. Left out are the build id, the ELF header's pointer to the
// sections (debug information moves them), and in .nv_fatbin the debug information of cubins, the
// names of source files, and the digits that nvcc draws from the source text for names of device
// code. code_blank() clears or numbers these (canonical.c), and what is kept and loaded is cleared
// in the same way: what runs cannot read them either, only how long the device code is, which
// counts. Symbols and debug information of the host are not mapped, hence not in it, and not in the
// copy. Other sections that are not mapped, and what stands behind all of them, a library may read
// from its own file: they count.
//
// Of a cubin by itself, and of one kernel of it, only code and what it needs counts: device code
// cannot read more of its cubin than that.
#include "runner/code/code_id.h"

#include "model/buffer.h"
#include "runner/child/files.h"
#include "runner/code/machine_code.h"
#include "runner/git/repository.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// The text of records that an id is the hash of.
struct code_hash {
    struct buffer *to;
    struct nvcc_digits digits; // of the device code's names; caller frees the items
    size_t names_left;         // bytes of names that may still be written
    bool odd;                  // some name was not written: hash the cubin whole
};

static void code_put(struct buffer *to, const char *what, uint64_t a, uint64_t b, uint64_t c)
{
    buffer_printf(to, "%s %" PRIx64 " %" PRIx64 " %" PRIx64 "\n", what, a, b, c);
}

static void code_put_bytes(struct buffer *to, const char *what, const unsigned char *bytes,
                           size_t size)
{
    code_put(to, what, size, 0, 0);
    if (size > 0)
        buffer_add(to, (const char *)bytes, size);
}

// ---- cubins
//
// Sections are known by their place among those that count, so
// that debug information between them does not matter; functions and variables by their names,
// since that is how a library finds them.

// More than any compiler writes; a table of names may be made so that all of them together are far
// longer than the file.
enum { SYMBOLS_MAX = 1 << 18 };

// ---- cubins: names

// A name with nvcc's digits as numbers, and where they stand.
static void put_name(struct code_hash *hash, const char *name)
{
    const size_t size = strlen(name);
    if (size == 0 || size > hash->names_left) {
        hash->odd = true;
        return;
    }
    hash->names_left -= size;
    unsigned char *copy = (unsigned char *)xstrdup(name);
    for (size_t at = 0; nvcc_digits_next(&at, copy, size); at += NVCC_DIGITS) {
        const int64_t number = nvcc_digits_number(&hash->digits, copy + at);
        if (number < 0)
            continue;
        code_put(hash->to, "digits", at, (uint64_t)number, 0);
        memset(copy + at, 'x', NVCC_DIGITS);
    }
    code_put_bytes(hash->to, "name", copy, size);
    free(copy);
}

struct named {
    struct elf_symbol symbol;
    uint64_t ordinal;
};

static int by_place(const void *left, const void *right)
{
    const struct named *a = left, *b = right;
    if (a->ordinal != b->ordinal)
        return a->ordinal < b->ordinal ? -1 : 1;
    if (a->symbol.value != b->symbol.value)
        return a->symbol.value < b->symbol.value ? -1 : 1;
    return strcmp(a->symbol.name, b->symbol.name);
}

// ---- one cubin

struct cubin {
    struct elf_image image;
    uint64_t *ordinals; // of each section, among those that count
    bool *left_out;     // sections of kernels that nobody launches
};

static bool counts(const struct cubin *cubin, uint64_t section)
{
    return section < cubin->image.section_count && !cubin->left_out[section] &&
           (cubin->image.sections[section].flags & SHF_ALLOC);
}

// ---- the kernels of a cubin that are launched
//
// A kernel has sections of its own, which end in its name; only one has parameters. What is of no
// kernel counts whoever is launched: functions that are called, variables, constants.

// The kernel that a section is of, or NULL.
static const char *kernel_of(const struct elf_section *section)
{
    static const char *const of[] = {".text.", ".nv.info.", ".nv.shared.", ".nv.local."};
    static const char constants[] = ".nv.constant";
    for (size_t i = 0; i < ARRAY_COUNT(of); i++) {
        if (strncmp(section->name, of[i], strlen(of[i])) == 0)
            return section->name + strlen(of[i]);
    }
    if (strncmp(section->name, constants, strlen(constants)) != 0)
        return NULL;
    const char *digits = section->name + strlen(constants);
    digits += strspn(digits, "0123456789");
    return *digits == '.' ? digits + 1 : NULL;
}

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    return false;
}

static bool has_parameters(const struct elf_section *attributes)
{
    struct cubin_attribute attribute;
    size_t at = 0;
    while (attributes->bytes && cubin_next(&attribute, &at, attributes)) {
        if (attribute.code == CUBIN_PARAMETERS)
            return true;
    }
    return false;
}

// Sections that a launched function lies in: it may have a name that the section has not.
static bool *find_entered(const struct elf_image *image, const char *const *launched, size_t count)
{
    const struct elf_section *table = elf_symbols(image);
    bool *entered = xcalloc(image->section_count + 1, sizeof(*entered));
    struct elf_symbol symbol;
    for (uint64_t i = 0; i < SYMBOLS_MAX && elf_symbol(&symbol, image, table, i); i++) {
        if (symbol.section < image->section_count && is_one_of(symbol.name, launched, count))
            entered[symbol.section] = true;
    }
    return entered;
}

static bool is_entered(const struct elf_image *image, const bool *entered, const char *name)
{
    for (size_t i = 0; i < image->section_count; i++) {
        const char *of = entered[i] ? kernel_of(&image->sections[i]) : NULL;
        if (of && strcmp(of, name) == 0)
            return true;
    }
    return false;
}

// Of these the driver makes a kernel's code anew at load time, for Blackwell: what stands there is
// what runs.
static bool is_made_anew(const struct elf_section *section)
{
    static const char *const passed_over[] = {".nv.merc.debug", ".nv.merc.rela.debug",
                                              ".nv.merc.nv_debug", ".nv.merc.rela.nv_debug",
                                              ".nv.merc.symtab"};
    for (size_t i = 0; i < ARRAY_COUNT(passed_over); i++) {
        if (strncmp(section->name, passed_over[i], strlen(passed_over[i])) == 0)
            return false;
    }
    return strncmp(section->name, ".nv.merc", 8) == 0 ||
           strncmp(section->name, ".nv.capmerc", 11) == 0;
}

// Nothing is left out of such a cubin: its parts cannot be told apart for sure, and whether a
// driver takes it without the code of some could not be tried.
static void leave_out(struct cubin *cubin, const char *const *launched, size_t count)
{
    for (size_t i = 0; i < cubin->image.section_count; i++) {
        if (is_made_anew(&cubin->image.sections[i]))
            return;
    }
    static const char info[] = ".nv.info.";
    const struct elf_image *image = &cubin->image;
    bool *entered = find_entered(image, launched, count);
    for (size_t i = 0; i < image->section_count; i++) {
        const char *name = image->sections[i].name + strlen(info);
        if (strncmp(image->sections[i].name, info, strlen(info)) != 0 ||
            is_one_of(name, launched, count) || !has_parameters(&image->sections[i]) ||
            is_entered(image, entered, name))
            continue;
        for (size_t k = 0; k < image->section_count; k++) {
            const char *of = kernel_of(&image->sections[k]);
            cubin->left_out[k] |= of && strcmp(of, name) == 0;
        }
    }
    free(entered);
}

static uint64_t ordinal(const struct cubin *cubin, uint64_t section)
{
    return section < cubin->image.section_count ? cubin->ordinals[section] : UINT64_MAX;
}

// Hashes what a symbol stands for: a place in code or data. Only a symbol from elsewhere has a
// name.
static void put_symbol(struct code_hash *hash, const struct cubin *cubin, uint64_t index)
{
    struct elf_symbol symbol;
    if (!elf_symbol(&symbol, &cubin->image, elf_symbols(&cubin->image), index))
        code_put(hash->to, "index", index, 0, 0);
    else if (counts(cubin, symbol.section))
        code_put(hash->to, "symbol", ordinal(cubin, symbol.section), symbol.value, symbol.size);
    else if (symbol.section < cubin->image.section_count && cubin->left_out[symbol.section])
        hash->odd = true; // what is launched needs what is not
    else if (symbol.name[0])
        put_name(hash, symbol.name);
}

// Functions and variables that have a name, and what is wanted from elsewhere.
static bool is_named(const struct cubin *cubin, const struct elf_symbol *symbol)
{
    if (symbol->type == STT_SECTION || symbol->type == STT_FILE)
        return false;
    return symbol->section == SHN_UNDEF
               ? symbol->name[0]
               : counts(cubin, symbol->section) && symbol->type != STT_NOTYPE;
}

static void put_names(struct code_hash *hash, const struct cubin *cubin)
{
    const struct elf_section *table = elf_symbols(&cubin->image);
    struct named *items = NULL;
    size_t count = 0, capacity = 0;
    struct elf_symbol symbol;
    for (uint64_t i = 0; elf_symbol(&symbol, &cubin->image, table, i); i++) {
        hash->odd |= i >= SYMBOLS_MAX;
        if (hash->odd)
            break;
        if (!is_named(cubin, &symbol))
            continue;
        items = xgrow(items, count, &capacity, sizeof(*items));
        items[count++] = (struct named){symbol, ordinal(cubin, symbol.section)};
    }
    if (count)
        qsort(items, count, sizeof(*items), by_place);
    for (size_t i = 0; i < count && !hash->odd; i++) {
        code_put(hash->to, "named", items[i].ordinal, items[i].symbol.value, items[i].symbol.type);
        put_name(hash, items[i].symbol.name);
    }
    free(items);
}

static void put_relocations(struct code_hash *hash, const struct cubin *cubin,
                            const struct elf_section *section)
{
    size_t each = section->type == SHT_RELA ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
    if (!counts(cubin, section->info))
        return; // of debug information
    for (uint64_t at = 0; at + each <= section->size && !hash->odd; at += each) {
        const unsigned char *entry = section->bytes + at;
        uint64_t info = elf_u64(entry + 8);
        code_put(hash->to, "relocation", ordinal(cubin, section->info), elf_u64(entry),
                 ELF64_R_TYPE(info));
        code_put(hash->to, "addend", each == sizeof(Elf64_Rela) ? elf_u64(entry + 16) : 0, 0, 0);
        put_symbol(hash, cubin, ELF64_R_SYM(info));
    }
}

// Attributes that begin with the number of the symbol they are about, which moves with others.
static bool about_symbol(uint8_t attribute)
{
    return attribute == CUBIN_REGISTERS || attribute == CUBIN_FRAME ||
           attribute == CUBIN_STACK_MIN || attribute == CUBIN_STACK_MAX ||
           attribute == CUBIN_PARAMETERS;
}

// Of the whole cubin's attributes those about a kernel that is left out are left out too.
static bool about_left_out(const struct cubin *cubin, const struct cubin_attribute *attribute)
{
    struct elf_symbol symbol;
    return about_symbol(attribute->code) && attribute->size >= 4 &&
           elf_symbol(&symbol, &cubin->image, elf_symbols(&cubin->image),
                      elf_u32(attribute->bytes)) &&
           symbol.section < cubin->image.section_count && cubin->left_out[symbol.section];
}

static void put_attributes(struct code_hash *hash, const struct cubin *cubin,
                           const struct elf_section *section)
{
    struct cubin_attribute attribute;
    size_t at = 0;
    code_put(hash->to, "attributes", section->info ? ordinal(cubin, section->info) : UINT64_MAX, 0,
             0);
    while (cubin_next(&attribute, &at, section)) {
        const unsigned char *bytes = attribute.bytes;
        size_t size = attribute.size;
        if (about_left_out(cubin, &attribute))
            continue;
        code_put(hash->to, "attribute", attribute.format, attribute.code, 0);
        if (about_symbol(attribute.code) && size >= 4) {
            put_symbol(hash, cubin, elf_u32(bytes));
            bytes += 4;
            size -= 4;
        }
        code_put_bytes(hash->to, "value", bytes, size);
    }
    code_put_bytes(hash->to, "rest", section->bytes + at, (size_t)section->size - at);
}

static void put_section(struct code_hash *hash, const struct cubin *cubin,
                        const struct elf_section *section)
{
    if (cubin->left_out[section - cubin->image.sections])
        return;
    if (section->flags & SHF_ALLOC) {
        code_put(hash->to, "section", section->type, section->flags, section->align);
        code_put(hash->to, "extent", section->size, section->address, 0);
        if (section->bytes)
            code_put_bytes(hash->to, "bytes", section->bytes, (size_t)section->size);
    } else if (section->type == SHT_RELA || section->type == SHT_REL) {
        put_relocations(hash, cubin, section);
    } else if (strncmp(section->name, ".nv.info", 8) == 0 && section->bytes) {
        put_attributes(hash, cubin, section);
    } else if (strcmp(section->name, ".nv.compat") == 0 && section->bytes) {
        code_put_bytes(hash->to, "compat", section->bytes, (size_t)section->size);
    } else if (is_made_anew(section) && section->bytes) {
        code_put_bytes(hash->to, section->name, section->bytes, (size_t)section->size);
    }
}

// Code, constants, initialised data, sizes of memory, what they are linked to, the names that they
// are looked up by, and the attributes of launches. Not debug information, or notes about the
// tools. Of all kernels, or (`launched` not NULL) of these. -1: these bytes are no cubin.
static int code_put_cubin(struct code_hash *hash, const unsigned char *bytes, size_t size,
                          const char *const *launched, size_t count)
{
    struct cubin cubin;
    if (elf_open(&cubin.image, bytes, size))
        return -1;
    if (cubin.image.machine != CUBIN_MACHINE) {
        elf_close(&cubin.image);
        return -1;
    }
    cubin.ordinals = xcalloc(cubin.image.section_count, sizeof(*cubin.ordinals));
    cubin.left_out = xcalloc(cubin.image.section_count, sizeof(*cubin.left_out));
    if (launched)
        leave_out(&cubin, launched, count);
    for (size_t i = 1; i < cubin.image.section_count; i++)
        cubin.ordinals[i] = cubin.ordinals[i - 1] + counts(&cubin, i - 1);
    hash->odd = false;
    code_put(hash->to, "flags", cubin.image.flags, 0, 0);
    for (size_t i = 0; i < cubin.image.section_count; i++)
        put_section(hash, &cubin, &cubin.image.sections[i]);
    put_names(hash, &cubin);
    if (hash->odd)
        code_put_bytes(hash->to, "odd", bytes, size);
    free(cubin.ordinals);
    free(cubin.left_out);
    elf_close(&cubin.image);
    return 0;
}

// 2: names of functions and variables count.
enum { ID_VERSION = 2, NAMES_MAX = 64 << 20 };

// ---- host code

// Hashes what is not mapped and is no debug information.
static void hash_unmapped(struct buffer *to, const struct elf_image *image)
{
    for (size_t i = 0; i < image->section_count; i++) {
        const struct elf_section *s = &image->sections[i];
        if (!code_reads_section(s))
            continue;
        code_put_bytes(to, "name", (const unsigned char *)s->name, strlen(s->name));
        code_put_bytes(to, "section", s->bytes, (size_t)s->size);
    }
    const size_t tail = code_tail(image);
    if (tail < image->size)
        code_put_bytes(to, "tail", image->bytes + tail, image->size - tail);
}

static void hash_segments(struct code_hash *hash, const struct elf_image *image,
                          const struct code_file *file)
{
    unsigned char *copy = xcalloc(file->size, 1);
    memcpy(copy, file->bytes, file->size);
    code_blank(copy, image);
    for (size_t i = 0; i < image->segment_count; i++) {
        const struct elf_segment *segment = &image->segments[i];
        code_put(hash->to, "segment", segment->type, segment->flags, segment->address);
        code_put(hash->to, "extent", segment->file_size, segment->memory_size, 0);
        if (segment->type != PT_LOAD)
            continue;
        code_put_bytes(hash->to, "bytes", copy + segment->offset, (size_t)segment->file_size);
    }
    hash_unmapped(hash->to, image);
    free(copy);
}

// A library, a cubin by itself, or any other file.
static void hash_file(struct code_hash *hash, const struct code_file *file)
{
    struct elf_image image = {0};
    if (code_put_cubin(hash, file->bytes, file->size, NULL, 0) == 0)
        return;
    if (elf_open(&image, file->bytes, file->size) == 0 && code_is_library(&image))
        hash_segments(hash, &image, file);
    else
        code_put_bytes(hash->to, "file", file->bytes, file->size);
    elf_close(&image);
}

struct hashing {
    struct code_hash hash;
    struct buffer text;
};

static void begin(struct hashing *hashing)
{
    *hashing = (struct hashing){.hash.names_left = NAMES_MAX};
    hashing->hash.to = &hashing->text;
    buffer_printf(hashing->hash.to, "plumb code %d\n", ID_VERSION);
}

static void end(char out[OBJECT_ID_TEXT], struct hashing *hashing)
{
    content_id(out, hashing->text.bytes, hashing->text.length);
    free(hashing->hash.digits.items);
    buffer_free(&hashing->text);
}

void code_id_of(char out[OBJECT_ID_TEXT], const struct code_file *file)
{
    struct hashing hashing;
    begin(&hashing);
    hash_file(&hashing.hash, file);
    end(out, &hashing);
}

void code_id_of_kernel(char out[OBJECT_ID_TEXT], const unsigned char *cubin, size_t size,
                       const char *kernel)
{
    struct hashing hashing;
    begin(&hashing);
    if (code_put_cubin(&hashing.hash, cubin, size, &kernel, 1))
        code_put_bytes(hashing.hash.to, "unreadable", cubin, size);
    end(out, &hashing);
}

static bool needs_the_rest(const unsigned char *cubin, size_t size, const char *const *launched,
                           size_t count)
{
    struct hashing hashing;
    char id[OBJECT_ID_TEXT];
    begin(&hashing);
    const bool odd =
        code_put_cubin(&hashing.hash, cubin, size, launched, count) || hashing.hash.odd;
    end(id, &hashing);
    return odd;
}

void code_clear_unlaunched(unsigned char *cubin, size_t size, const char *const *launched,
                           size_t count)
{
    struct cubin c;
    if (needs_the_rest(cubin, size, launched, count) || elf_open(&c.image, cubin, size))
        return;
    c.left_out = xcalloc(c.image.section_count, sizeof(*c.left_out));
    leave_out(&c, launched, count);
    for (size_t i = 0; i < c.image.section_count; i++) {
        const struct elf_section *s = &c.image.sections[i];
        if (c.left_out[i] && (s->flags & SHF_ALLOC) && s->bytes)
            memset(cubin + (s->bytes - c.image.bytes), 0, (size_t)s->size);
    }
    free(c.left_out);
    elf_close(&c.image);
}

int code_id(char out[OBJECT_ID_TEXT], const char *library, struct error *err)
{
    struct code_file file;
    const int status = code_read(&file, library, err);
    if (status)
        return status;
    code_id_of(out, &file);
    code_close(&file);
    return 0;
}

// ---- outputs of builds
//
// Ids of the libraries of one build: each of its own code, and of what it can load beside it. What
// a library names is searched in its bytes, since a name may be linked against, or opened.

// Each library is searched for the names of all others, and what loads what is closed over.
enum { LIBRARIES_MAX = 4096, FILES_MAX = 10000 };

struct library_set {
    const char *const *libraries;
    size_t count;
    const char **names;       // of the libraries' files
    size_t *lengths;          // of the names
    bool last[UCHAR_MAX + 1]; // bytes that some name ends in
    bool *loads;              // count x count: the row's library names the column's
    char (*own)[OBJECT_ID_TEXT], (*bytes)[OBJECT_ID_TEXT]; // code id, and the id of the whole file
    const char *folder;
    struct buffer others; // the files that count for all
    char **other_names;   // below the folder
    size_t files, capacity;
};

// ---- what a library names

// Does a name end where `end` is? Its own name is no name of another, though it may end in one.
static void note_names(struct library_set *set, size_t library, const struct code_file *file,
                       size_t end)
{
    const unsigned char *bytes = file->bytes;
    const size_t own = set->lengths[library];
    if (own <= end && memcmp(bytes + end - own, set->names[library], own) == 0)
        return;
    for (size_t i = 0; i < set->count; i++) {
        const size_t length = set->lengths[i];
        if (length <= end && memcmp(bytes + end - length, set->names[i], length) == 0)
            set->loads[library * set->count + i] = true;
    }
}

static int read_library(struct library_set *set, size_t library, struct error *err)
{
    struct code_file file;
    const int status = code_read(&file, set->libraries[library], err);
    if (status)
        return status;
    code_id_of(set->own[library], &file);
    content_id(set->bytes[library], file.bytes, file.size);
    for (size_t at = 1; at < file.size; at++) {
        if (file.bytes[at] == '\0' && set->last[file.bytes[at - 1]])
            note_names(set, library, &file, at);
    }
    code_close(&file);
    return 0;
}

// Adds the libraries that loaded libraries load in turn: Warshall's algorithm.
static void close_over(struct library_set *set)
{
    const size_t n = set->count;
    for (size_t via = 0; via < n; via++) {
        for (size_t from = 0; from < n; from++) {
            for (size_t to = 0; set->loads[from * n + via] && to < n; to++)
                set->loads[from * n + to] |= set->loads[via * n + to];
        }
    }
}

// ---- files that count for all

static bool is_library(const struct library_set *set, const char *path)
{
    for (size_t i = 0; i < set->count; i++) {
        if (strcmp(set->libraries[i], path) == 0)
            return true;
    }
    return false;
}

static void put_other(struct library_set *set, const char *kind, const char *name, const char *what)
{
    buffer_printf(&set->others, "%s %zu:%s %zu:%s\n", kind, strlen(name), name, strlen(what), what);
    set->other_names =
        xgrow(set->other_names, set->files, &set->capacity, sizeof(*set->other_names));
    set->other_names[set->files++] = xstrdup(name);
}

static int add_file(struct library_set *set, const char *path, const char *name, struct error *err)
{
    char id[OBJECT_ID_TEXT];
    if (is_library(set, path))
        return 0;
    struct code_file file;
    const int status = code_read(&file, path, err);
    if (status)
        return status;
    content_id(id, file.bytes, file.size); // whoever opens it can read all of it
    code_close(&file);
    put_other(set, "file", name, id);
    return 0;
}

static int add_entry(struct library_set *set, const FTSENT *entry, const char *folder,
                     struct error *err)
{
    char target[PATH_MAX];
    ssize_t length;
    const char *name = entry->fts_path + strlen(folder);
    switch (entry->fts_info) {
    case FTS_F:
        return add_file(set, entry->fts_path, name, err);
    case FTS_SL:
    case FTS_SLNONE:
        length = readlink(entry->fts_path, target, sizeof(target) - 1);
        target[length > 0 ? length : 0] = '\0';
        put_other(set, "link", name, target);
        return 0;
    case FTS_DNR:
    case FTS_ERR:
    case FTS_NS: // too deep to be named, or not to be read
        error_set(err, "%.200s: cannot be looked at: %s", entry->fts_path,
                  strerror(entry->fts_errno));
        return 1;
    default:
        return 0; // folders, and pipes or sockets, which hold nothing
    }
}

static int by_name(const FTSENT **left, const FTSENT **right)
{
    return strcmp((*left)->fts_name, (*right)->fts_name);
}

// fts skips the sorting of a folder when it lacks the memory for it.
static bool is_sorted(const FTSENT *entry)
{
    return !entry->fts_link || strcmp(entry->fts_name, entry->fts_link->fts_name) < 0;
}

static int add_others(struct library_set *set, const char *folder, struct error *err)
{
    char *copy = xstrdup(folder), *const roots[] = {copy, NULL};
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
    int status = tree ? 0 : error_set(err, "%s: %s", folder, strerror(errno));
    for (FTSENT *entry; status == 0 && (entry = fts_read(tree));) {
        status = is_sorted(entry) ? add_entry(set, entry, folder, err)
                                  : error_set(err, "%s: no memory to sort its files", folder);
        if (status == 0 && set->files > FILES_MAX) {
            error_set(err, "the build left more than %d files beside its libraries", FILES_MAX);
            status = 1;
        }
    }
    if (status == 0 && errno) // NULL at the end, and where it cannot go on
        status = error_set(err, "%s: %s", folder, strerror(errno));
    if (tree)
        fts_close(tree);
    free(copy);
    return status;
}

// ---- what each may see

// The same file under another name, for nobody writes to either; a copy where that cannot be.
static int show_file(const struct library_set *set, const char *name, const char *to,
                     const char *as, struct error *err)
{
    char *from = xprintf("%s%s", set->folder, name), *path = xprintf("%s%s", to, as);
    char *slash = strrchr(path, '/');
    *slash = '\0';
    int status = files_make_directory(path, err);
    *slash = '/';
    if (status == 0 && linkat(AT_FDCWD, from, AT_FDCWD, path, 0) && errno != EEXIST)
        status = files_copy(from, path, err);
    free(path);
    free(from);
    return status;
}

static int show_all(const struct library_set *set, size_t library, const char *to, const char *as,
                    struct error *err)
{
    const size_t length = strlen(set->folder);
    int status = show_file(set, set->libraries[library] + length, to, as, err);
    for (size_t i = 0; status == 0 && i < set->count; i++) {
        const char *name = set->libraries[i] + length;
        if (i != library && set->loads[library * set->count + i])
            status = show_file(set, name, to, name, err);
    }
    for (size_t i = 0; status == 0 && i < set->files; i++)
        status = show_file(set, set->other_names[i], to, set->other_names[i], err);
    return status;
}

// The name of its folder: of the id, and of what an id leaves out of files.
static void name_shown(char out[OBJECT_ID_TEXT], const struct library_set *set, size_t library,
                       const char *id)
{
    char *text = xprintf("%s %s", id, set->bytes[library]);
    for (size_t i = 0; i < set->count; i++) {
        if (i == library || !set->loads[library * set->count + i])
            continue;
        char *more = xprintf("%s %s", text, set->bytes[i]);
        free(text);
        text = more;
    }
    content_id(out, text, strlen(text));
    free(text);
}

// Made aside and renamed, so that nobody finds half of it. Whoever was first was right: what has
// this name is the same.
static int show(const struct code_kept *kept, const struct library_set *set, size_t library,
                const char *as, const char *code, struct error *err)
{
    char id[OBJECT_ID_TEXT];
    name_shown(id, set, library, code);
    char *folder = xprintf("%s/%s", kept->folder, id);
    char *aside = xprintf("%s/tmp-%ld-%s", kept->folder, (long)getpid(), id);
    int status = 0;
    kept->paths[library] = arena_printf(kept->arena, "%s%s", folder, as);
    if (access(kept->paths[library], R_OK)) {
        struct error ignored;
        status = files_remove(aside, err) || show_all(set, library, aside, as, err) ? -1 : 0;
        if (status == 0 && rename(aside, folder) && errno != EEXIST && errno != ENOTEMPTY)
            status = error_set(err, "%s: %s", folder, strerror(errno));
        files_remove(aside, &ignored);
    }
    free(aside);
    free(folder);
    return status;
}

// ---- together

static bool is_alone(const struct library_set *set, size_t library)
{
    for (size_t i = 0; i < set->count; i++) {
        if (i != library && set->loads[library * set->count + i])
            return false;
    }
    return set->files == 0;
}

// A file has that name, or a folder.
static bool takes(const char *path, const char *name)
{
    const size_t length = strlen(name);
    return strncmp(path, name, length) == 0 && (path[length] == '\0' || path[length] == '/');
}

static bool is_taken(const struct library_set *set, size_t library, const char *name)
{
    for (size_t i = 0; i < set->count; i++) {
        if (i != library && takes(set->libraries[i] + strlen(set->folder), name))
            return true;
    }
    for (size_t i = 0; i < set->files; i++) {
        if (takes(set->other_names[i], name))
            return true;
    }
    return false;
}

// Where a library lies in the folder of its own: beside the same files as in its build, by a name
// that says nothing, unless another file has that. Caller frees.
static char *shown_as(const struct library_set *set, size_t library)
{
    const char *name = set->libraries[library] + strlen(set->folder);
    if (is_alone(set, library))
        return xstrdup("/kernel.so");
    char *as = xprintf("%.*s/kernel.so", (int)(strrchr(name, '/') - name), name);
    if (!is_taken(set, library, as))
        return as;
    free(as);
    return xstrdup(name);
}

static void finish(char out[OBJECT_ID_TEXT], const struct library_set *set, size_t library,
                   const char *as)
{
    struct buffer text = {0};
    buffer_printf(&text, "plumb output 1\nlibrary %s\n", set->own[library]);
    if (strcmp(as, "/kernel.so") != 0)
        buffer_printf(&text, "as %zu:%s\n", strlen(as), as);
    for (size_t i = 0; i < set->count; i++) {
        const char *name = set->libraries[i] + strlen(set->folder) + 1; // where it lies
        if (i != library && set->loads[library * set->count + i])
            buffer_printf(&text, "loads %zu:%s %s\n", strlen(name), name, set->own[i]);
    }
    buffer_puts(&text, set->others.bytes ? set->others.bytes : "");
    if (is_alone(set, library))
        memcpy(out, set->own[library], OBJECT_ID_TEXT);
    else
        content_id(out, text.bytes, text.length);
    buffer_free(&text);
}

static void open_set(struct library_set *set)
{
    set->names = xcalloc(set->count, sizeof(*set->names));
    set->lengths = xcalloc(set->count, sizeof(*set->lengths));
    set->loads = xcalloc(set->count * set->count, sizeof(*set->loads));
    set->own = xcalloc(set->count, sizeof(*set->own));
    set->bytes = xcalloc(set->count, sizeof(*set->bytes));
    for (size_t i = 0; i < set->count; i++) {
        const char *slash = strrchr(set->libraries[i], '/');
        set->names[i] = slash ? slash + 1 : set->libraries[i];
        set->lengths[i] = strlen(set->names[i]);
        set->last[(unsigned char)set->names[i][set->lengths[i] - 1]] = true;
    }
}

static void close_set(struct library_set *set)
{
    for (size_t i = 0; i < set->files; i++)
        free(set->other_names[i]);
    free(set->other_names);
    free(set->bytes);
    free(set->own);
    free(set->loads);
    free(set->lengths);
    free(set->names);
}

int code_ids(char (*out)[OBJECT_ID_TEXT], const char *const *libraries, size_t count,
             const char *folder, const struct code_kept *kept, struct error *err)
{
    struct library_set set = {.libraries = libraries, .count = count, .folder = folder};
    if (count > LIBRARIES_MAX) {
        error_set(err, "the build left more than %d libraries", LIBRARIES_MAX);
        return 1;
    }
    open_set(&set);
    int status = 0;
    for (size_t i = 0; status == 0 && i < count; i++)
        status = read_library(&set, i, err);
    if (status == 0)
        status = add_others(&set, folder, err);
    close_over(&set);
    for (size_t i = 0; status == 0 && i < count; i++) {
        char *as = shown_as(&set, i);
        finish(out[i], &set, i, as);
        if (kept)
            status = show(kept, &set, i, as, out[i], err);
        free(as);
    }
    close_set(&set);
    buffer_free(&set.others);
    return status;
}
