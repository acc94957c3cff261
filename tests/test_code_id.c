// SPDX-License-Identifier: Apache-2.0
#include "runner/code_id.h"
#include "runner/fatbin.h"
#include "runner/log.h"
#include "runner/process.h"
#include "tests/helper_repo.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *directory;

static int set_up(void **state)
{
    (void)state;
    directory = helper_directory();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    helper_discard(directory);
    free(directory);
    return 0;
}

static void write_bytes(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static unsigned char *read_bytes(const char *path, size_t *size)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    unsigned char *bytes = xcalloc((size_t)status.st_size + 1, 1);
    FILE *file = fopen(path, "rb");
    *size = fread(bytes, 1, (size_t)status.st_size, file);
    fclose(file);
    return bytes;
}

static char *path_of(const char *name)
{
    return xprintf("%s/%s", directory, name);
}

// Runs a shell command in the scratch directory; its output goes to "log" there.
static int shell(const char *command)
{
    const char *argv[] = {"sh", "-c", command, NULL};
    char *log = path_of("log");
    struct process_plan plan = {
        .argv = argv, .directory = directory, .log_path = log, .limits = {.wall_s = 120}};
    struct process_result result;
    struct error err;
    if (process_run(&result, &plan, &err))
        fail_msg("%s", err.text);
    free(log);
    return result.end == PROCESS_EXITED ? result.code : -1;
}

static void compile(const char *name, const char *source, const char *flags)
{
    char *file = xprintf("%s/%s.c", directory, name);
    char *folder = xstrdup(file);
    *strrchr(folder, '/') = '\0';
    char *make = xprintf("mkdir -p '%s'", folder);
    assert_int_equal(shell(make), 0);
    write_bytes(file, source, strlen(source));
    char *command = xprintf("cc -O2 -shared -fPIC %s -o %s.so %s.c", flags, name, name);
    if (shell(command))
        fail_msg("%s", command);
    free(command);
    free(make);
    free(folder);
    free(file);
}

static const char *id_of(const char *name)
{
    static char ids[8][OBJECT_ID_TEXT];
    static int next;
    char *out = ids[next++ % 8], *path = path_of(name);
    struct error err;
    if (code_id(out, path, &err))
        fail_msg("%s", err.text);
    free(path);
    return out;
}

// ---- host

static const char plain[] = "#include <string.h>\n"
                            "static const float table[4] = {1, 2, 3, 4};\n"
                            "static int one(float *x) { x[0] *= table[1]; return 1; }\n"
                            "static int two(float *x) { x[1] += 8.5f; return 2; }\n"
                            "struct ops { int (*a)(float *), (*b)(float *); };\n"
                            "const struct ops ops = {one, two};\n"
                            "void copy(void *a, void *b, size_t n) { memcpy(a, b, n); }\n";

// The same with one text replaced.
static char *with(const char *from, const char *to)
{
    const char *at = strstr(plain, from);
    assert_non_null(at);
    return xprintf("%.*s%s%s", (int)(at - plain), plain, to, at + strlen(from));
}

static void host_id_ignores_comments_paths_and_debug_information(void **state)
{
    (void)state;
    compile("plain", plain, "-g -Wl,--build-id=sha1");
    char *comment = with("static int one", "/* say more\n\n about it */ static int one");
    compile("elsewhere/deeper/commented", comment, "-g -Wl,--build-id=sha1");
    assert_string_equal(id_of("plain.so"), id_of("elsewhere/deeper/commented.so"));
    compile("nodebug", plain, "-g0 -Wl,--build-id=sha1");
    assert_string_equal(id_of("plain.so"), id_of("nodebug.so"));
    assert_int_equal(shell("cp plain.so stripped.so && strip -s stripped.so && "
                           "! cmp -s plain.so elsewhere/deeper/commented.so"),
                     0);
    assert_string_equal(id_of("plain.so"), id_of("stripped.so"));
    free(comment);
}

static void host_id_sees_every_change_that_runs(void **state)
{
    (void)state;
    static const char *const changes[][2] = {
        {"{1, 2, 3, 4}", "{1, 7, 3, 4}"},       // a constant in a table
        {"8.5f", "8.25f"},                      // a constant in the code
        {"x[0] *=", "x[0] +="},                 // an instruction
        {"return 2", "return 3"},               // an immediate
        {"= {one, two}", "= {two, one}"},       // pointers, whose bytes are relocations
        {"memcpy(a, b, n)", "memmove(a, b, n)"} // an import, called through the same stub
    };
    compile("plain", plain, "");
    for (size_t i = 0; i < ARRAY_COUNT(changes); i++) {
        char *source = with(changes[i][0], changes[i][1]);
        compile("changed", source, "");
        if (strcmp(id_of("plain.so"), id_of("changed.so")) == 0)
            fail_msg("%s -> %s goes unseen", changes[i][0], changes[i][1]);
        free(source);
    }
    compile("linked", plain, "-Wl,--no-as-needed -lm");
    assert_string_not_equal(id_of("plain.so"), id_of("linked.so"));
}

static void what_is_no_library_is_hashed_whole(void **state)
{
    (void)state;
    char *path = path_of("noise");
    write_bytes(path, "some text", 9);
    char first[OBJECT_ID_TEXT];
    memcpy(first, id_of("noise"), sizeof(first));
    write_bytes(path, "same text", 9);
    assert_string_not_equal(first, id_of("noise"));
    write_bytes(path, "", 0);
    assert_string_not_equal(first, id_of("noise"));
    struct error err;
    struct arena arena = {0};
    struct code_function_list list;
    assert_int_equal(code_resources(&list, path, &arena, &err), -1);
    assert_non_null(strstr(err.text, "is not a 64-bit ELF library"));
    assert_int_equal(code_id(first, "/no/such/library.so", &err), -1);
    assert_int_equal(code_id(first, "/dev/zero", &err), -1);
    free(path);
}

// ---- cubins, made here: sections and symbols in any order, as tools of other versions might

struct cubin_plan {
    const char *kernel; // name, which must not matter
    bool debug;         // sections and symbols that shift the numbers of the others
    uint32_t registers, threads, shared;
    uint8_t code[64], constant[16];
};

static const struct cubin_plan usual = {.kernel = "_Z3addPfi",
                                        .registers = 40,
                                        .threads = 128,
                                        .shared = 512,
                                        .code = {0x83, 0x79, 9, 9},
                                        .constant = {1, 2, 3}};

struct builder {
    unsigned char bytes[8192];
    size_t used;
    Elf64_Shdr sections[16];
    size_t count;
    char names[512];
    size_t names_used;
};

static size_t add_name(struct builder *b, const char *prefix, const char *name)
{
    size_t at = b->names_used;
    b->names_used +=
        (size_t)snprintf(b->names + at, sizeof(b->names) - at, "%s%s", prefix, name) + 1;
    return at;
}

static size_t add_section(struct builder *b, const char *prefix, const char *name, uint32_t type,
                          uint64_t flags, const void *bytes, size_t size, uint32_t info)
{
    Elf64_Shdr *section = &b->sections[b->count];
    *section = (Elf64_Shdr){.sh_name = (Elf64_Word)add_name(b, prefix, name),
                            .sh_type = type,
                            .sh_flags = flags,
                            .sh_offset = b->used,
                            .sh_size = size,
                            .sh_info = info,
                            .sh_addralign = 4};
    if (bytes) {
        memcpy(b->bytes + b->used, bytes, size);
        b->used += (size + 15) / 16 * 16;
    }
    return b->count++;
}

static void finish_elf(struct builder *b)
{
    size_t names = add_section(b, ".shstrtab", "", SHT_STRTAB, 0, b->names, sizeof(b->names), 0);
    Elf64_Ehdr header = {.e_type = ET_EXEC,
                         .e_machine = 190,
                         .e_version = 1,
                         .e_shoff = b->used,
                         .e_flags = 0x05005a04,
                         .e_ehsize = sizeof(header),
                         .e_shentsize = sizeof(Elf64_Shdr),
                         .e_shnum = (Elf64_Half)b->count,
                         .e_shstrndx = (Elf64_Half)names};
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_ident[EI_OSABI] = 0x41;
    memcpy(b->bytes, &header, sizeof(header));
    memcpy(b->bytes + b->used, b->sections, b->count * sizeof(b->sections[0]));
    b->used += b->count * sizeof(b->sections[0]);
}

static void make_cubin(struct builder *b, const struct cubin_plan *plan)
{
    enum { LOPROC = 0x70000000 };
    *b = (struct builder){.used = sizeof(Elf64_Ehdr), .names_used = 1};
    add_section(b, "", "", SHT_NULL, 0, NULL, 0, 0);
    size_t strings =
        add_section(b, ".strtab", "", SHT_STRTAB, 0, plan->kernel, strlen(plan->kernel) + 1, 0);
    if (plan->debug)
        add_section(b, ".debug_line", "", SHT_PROGBITS, 0, "lines of source", 15, 0);
    size_t text = b->count + 1;
    uint32_t symbol = plan->debug ? 2 : 1;
    Elf64_Sym symbols[3] = {{0}};
    symbols[symbol] = (Elf64_Sym){.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                                  .st_shndx = (Elf64_Half)text,
                                  .st_size = sizeof(plan->code)};
    add_section(b, ".symtab", "", SHT_SYMTAB, 0, symbols, (symbol + 1) * sizeof(symbols[0]), 0);
    b->sections[b->count - 1].sh_link = (Elf64_Word)strings;
    add_section(b, ".text.", plan->kernel, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, plan->code,
                sizeof(plan->code), 0);
    const uint32_t common[] = {0x00082f04, symbol, plan->registers, 0x00081104, symbol, 24};
    add_section(b, ".nv.info", "", LOPROC, 0, common, sizeof(common), 0);
    const uint32_t own[] = {0x000c1903, 0x000c0504, plan->threads, 1, 1};
    add_section(b, ".nv.info.", plan->kernel, LOPROC, 0, own, sizeof(own), (uint32_t)text);
    add_section(b, ".nv.constant0.", plan->kernel, SHT_PROGBITS, SHF_ALLOC, plan->constant,
                sizeof(plan->constant), (uint32_t)text);
    add_section(b, ".nv.shared.", plan->kernel, SHT_NOBITS, SHF_ALLOC | SHF_WRITE, NULL,
                plan->shared, (uint32_t)text);
    finish_elf(b);
}

// A fat binary with one entry. kind 2: cubin, 1: PTX.
static size_t make_fatbin(unsigned char *out, uint16_t kind, const void *payload, size_t size)
{
    size_t padded = (size + 7) / 8 * 8;
    const uint32_t header[] = {0xba55ed50,
                               0x00100001,
                               (uint32_t)(64 + padded),
                               0,
                               kind | 0x01010000u,
                               64,
                               (uint32_t)padded,
                               0,
                               0,
                               0,
                               0x00010008,
                               90};
    memset(out, 0, 16 + 64 + padded);
    memcpy(out, header, sizeof(header));
    memcpy(out + 16 + 64, payload, size);
    return 16 + 64 + padded;
}

// A host library that carries these bytes as nvcc's would, padded to one size so that the host part
// stays where it is.
static void make_library(const char *name, const unsigned char *fat, size_t size)
{
    enum { ROOM = 16384 };
    char *source = NULL;
    size_t length = 0;
    assert_true(size <= ROOM);
    FILE *to = open_memstream(&source, &length);
    fprintf(to,
            "__attribute__((section(\".nv_fatbin\"), aligned(8), used))\n"
            "static const unsigned char fat[%d] = {",
            ROOM);
    for (size_t i = 0; i < size; i++)
        fprintf(to, "%u,", fat[i]);
    fprintf(to, "};\nint launch(int n) { return n + 1; }\n");
    fclose(to);
    compile(name, source, "");
    free(source);
}

static void make_cuda(const char *name, const struct cubin_plan *plan)
{
    static struct builder b;
    unsigned char fat[12000];
    make_cubin(&b, plan);
    make_library(name, fat, make_fatbin(fat, 2, b.bytes, b.used));
}

static void cuda_id_ignores_names_and_debug_sections(void **state)
{
    (void)state;
    make_cuda("usual", &usual);
    struct cubin_plan other = usual;
    other.kernel = "_Z9different_namePfi";
    other.debug = true;
    make_cuda("other", &other);
    assert_string_equal(id_of("usual.so"), id_of("other.so"));
}

static void cuda_id_sees_code_constants_and_launch_attributes(void **state)
{
    (void)state;
    struct cubin_plan plans[5] = {usual, usual, usual, usual, usual};
    plans[0].code[40] = 1;
    plans[1].constant[15] = 1;
    plans[2].registers++;
    plans[3].threads = 256;
    plans[4].shared += 16;
    make_cuda("usual", &usual);
    for (size_t i = 0; i < ARRAY_COUNT(plans); i++) {
        make_cuda("changed", &plans[i]);
        assert_string_not_equal(id_of("usual.so"), id_of("changed.so"));
    }
}

static void cuda_resources_are_read(void **state)
{
    (void)state;
    struct cubin_plan plan = usual;
    struct arena arena = {0};
    struct code_function_list list;
    struct error err;
    // A 16-byte store to local memory, a 4-byte load from it, and a third instruction.
    const uint8_t code[48] = {0x87, 0x73, 0,    0,    0,    0,    0, 0, 0, 0x0c, 0, 0,    0, 0,
                              0,    0,    0x83, 0x79, 0,    0,    0, 0, 0, 0,    0, 0x08, 0, 0,
                              0,    0,    0,    0,    0x81, 0x79, 0, 0, 0, 0,    0, 0,    0, 0x08};
    memset(plan.code, 0, sizeof(plan.code));
    memcpy(plan.code, code, sizeof(code));
    make_cuda("resources", &plan);
    char *path = path_of("resources.so");
    assert_int_equal(code_resources(&list, path, &arena, &err), 0);
    assert_true(list.complete);
    assert_int_equal(list.count, 1);
    const struct code_function *f = &list.items[0];
    assert_string_equal(f->name, "_Z3addPfi");
    assert_string_equal(f->architecture, "sm_90");
    assert_int_equal(f->registers, 40);
    assert_int_equal(f->stack_bytes, 24);
    assert_int_equal(f->shared_bytes, 512);
    assert_int_equal(f->constant_bytes, 16);
    assert_int_equal(f->parameter_bytes, 12);
    assert_int_equal(f->max_threads, 128);
    assert_int_equal(f->code_bytes, 64);
    assert_int_equal(f->local_store_bytes, 16);
    assert_int_equal(f->local_load_bytes, 4);
    arena_free(&arena);
    free(path);
}

static void opaque_device_code_is_hashed_whole_and_said(void **state)
{
    (void)state;
    unsigned char fat[512];
    struct arena arena = {0};
    struct code_function_list list;
    struct error err;
    make_library("ptx", fat, make_fatbin(fat, 1, ".target sm_90 // a", 18));
    make_library("ptx2", fat, make_fatbin(fat, 1, ".target sm_90 // b", 18));
    assert_string_not_equal(id_of("ptx.so"), id_of("ptx2.so"));
    char *path = path_of("ptx.so");
    assert_int_equal(code_resources(&list, path, &arena, &err), 0);
    assert_false(list.complete);
    assert_int_equal(list.count, 0);
    memset(fat, 7, sizeof(fat));
    make_library("odd", fat, sizeof(fat));
    fat[511]++;
    make_library("odd2", fat, sizeof(fat));
    assert_string_not_equal(id_of("odd.so"), id_of("odd2.so"));
    arena_free(&arena);
    free(path);
}

// ---- hostile files

static uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void try_file(const char *path, const unsigned char *bytes, size_t size)
{
    char id[OBJECT_ID_TEXT];
    struct error err;
    struct arena arena = {0};
    struct code_function_list list;
    write_bytes(path, bytes, size);
    assert_int_equal(code_id(id, path, &err), 0);
    assert_int_equal(strlen(id), 40);
    code_resources(&list, path, &arena, &err);
    arena_free(&arena);
}

static void broken_libraries_do_no_harm(void **state)
{
    (void)state;
    static const uint64_t extremes[] = {0,          1,         0x7f,       0xffff,         0x10000,
                                        UINT32_MAX, INT64_MAX, UINT64_MAX, UINT64_MAX - 63};
    make_cuda("usual", &usual);
    char *from = path_of("usual.so"), *path = path_of("broken.so");
    size_t size;
    unsigned char *good = read_bytes(from, &size), *bad = xcalloc(size, 1);
    uint64_t random = 42;
    for (int i = 0; i < 1500; i++) {
        memcpy(bad, good, size);
        for (uint64_t k = random_next(&random) % 3 + 1; k > 0; k--) {
            // Mostly where the tables are: the beginning, the end, and the fat binary.
            size_t region = random_next(&random) % 3;
            size_t at = region == 0   ? random_next(&random) % 1024
                        : region == 1 ? size - 1 - random_next(&random) % 4096
                                      : random_next(&random) % size;
            uint64_t value = extremes[random_next(&random) % ARRAY_COUNT(extremes)];
            size_t width = (size_t)1 << random_next(&random) % 4;
            memcpy(bad + at, &value, width < size - at ? width : size - at);
        }
        size_t cut = random_next(&random) % 8 == 0 ? random_next(&random) % size : size;
        try_file(path, bad, cut);
    }
    free(bad);
    free(good);
    free(from);
    free(path);
}

// The walk itself, on buffers of exact size.
static void broken_fatbins_do_no_harm(void **state)
{
    (void)state;
    static struct builder b;
    unsigned char fat[12000];
    make_cubin(&b, &usual);
    size_t size = make_fatbin(fat, 2, b.bytes, b.used);
    uint64_t random = 43;
    for (int i = 0; i < 20000; i++) {
        size_t length = random_next(&random) % 2 ? size : random_next(&random) % (size + 1);
        unsigned char *exact = xcalloc(length, 1);
        memcpy(exact, fat, length);
        for (int k = 0; k < 2 && length > 0; k++) {
            size_t room = length < 80 ? length : 80;
            exact[random_next(&random) % room] = (unsigned char)random_next(&random);
        }
        struct fatbin_entry entry;
        size_t at = 0, seen = 0;
        while (fatbin_next(&entry, &at, exact, length)) {
            assert_true(at <= length && at > seen);
            assert_true(entry.size == 0 || entry.bytes[entry.size - 1] <= 255);
            seen = at;
        }
        assert_int_equal(at, length);
        free(exact);
    }
}

// A changed byte of what the loader maps is always seen, wherever it is.
static void every_loaded_byte_counts(void **state)
{
    (void)state;
    compile("plain", plain, "-Wl,--build-id=sha1");
    char *from = path_of("plain.so"), *path = path_of("flipped.so");
    char original[OBJECT_ID_TEXT];
    memcpy(original, id_of("plain.so"), sizeof(original));
    size_t size;
    unsigned char *bytes = read_bytes(from, &size);
    Elf64_Ehdr header;
    memcpy(&header, bytes, sizeof(header));
    uint64_t random = 44;
    size_t tried = 0;
    for (int i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr segment;
        memcpy(&segment, bytes + header.e_phoff + (size_t)i * sizeof(segment), sizeof(segment));
        if (segment.p_type != PT_LOAD)
            continue;
        for (int k = 0; k < 60; k++) {
            size_t at = segment.p_offset + random_next(&random) % segment.p_filesz;
            // The header and the notes hold what is left out on purpose.
            if (at < header.e_phoff + (size_t)header.e_phnum * sizeof(segment) + 256)
                continue;
            bytes[at] ^= 1;
            write_bytes(path, bytes, size);
            assert_string_not_equal(original, id_of("flipped.so"));
            bytes[at] ^= 1;
            tried++;
        }
    }
    assert_true(tried > 100);
    free(bytes);
    free(from);
    free(path);
}

// ---- against nvcc, where there is one

// "... Used 32 registers": the number that stands before a word.
static long number_before(const char *text, const char *word)
{
    const char *at = strstr(text, word);
    assert_non_null(at);
    while (at > text && at[-1] >= '0' && at[-1] <= '9')
        at--;
    return strtol(at, NULL, 10);
}

static void nvcc_output_is_understood(void **state)
{
    (void)state;
    static const char command[] =
        "PATH=$PATH:/usr/local/cuda/bin; command -v nvcc >/dev/null || exit 77; mkdir -p b;"
        "sed 's|^extern|// more\\n\\nextern|' k.cu > b/k.cu;"
        "for d in . b; do (cd $d && nvcc -O2 -lineinfo -shared -Xcompiler -fPIC "
        "-Xfatbin -compress=false -Xptxas=-v --generate-code=arch=compute_90a,code=sm_90a k.cu "
        "-o k.so 2>ptxas) || exit 1; done";
    static const char source[] =
        "namespace {\n"
        "__global__ void __launch_bounds__(64, 32) spill(double *x, int n)\n"
        "{ double r[40];\n"
        "  for (int i = 0; i < 40; i++) r[i] = x[threadIdx.x * 40 + i];\n"
        "  for (int k = 0; k < n; k++) for (int i = 0; i < 40; i++)\n"
        "      r[i] = r[i] * r[(i + 7) % 40] + r[(i + 13) % 40];\n"
        "  for (int i = 0; i < 40; i++) x[threadIdx.x * 40 + i] = r[i]; }\n"
        "}\n"
        "extern \"C\" void go(double *x) { spill<<<1, 64>>>(x, 3); }\n";
    char *file = path_of("k.cu"), *said = path_of("ptxas"), *library = path_of("k.so");
    write_bytes(file, source, strlen(source));
    int code = shell(command);
    if (code == 0) {
        assert_string_equal(id_of("k.so"), id_of("b/k.so"));
        struct arena arena = {0};
        struct code_function_list list;
        struct error err;
        char *text = log_tail(said, 100000);
        long stack = number_before(text, " bytes stack frame");
        long stores = number_before(text, " bytes spill stores");
        long loads = number_before(text, " bytes spill loads");
        long registers = number_before(text, " registers");
        assert_int_equal(code_resources(&list, library, &arena, &err), 0);
        assert_true(list.complete);
        assert_int_equal(list.count, 1);
        assert_true(stores > 0);
        assert_int_equal(list.items[0].registers, registers);
        assert_int_equal(list.items[0].stack_bytes, stack);
        assert_int_equal(list.items[0].local_store_bytes, stores);
        assert_int_equal(list.items[0].local_load_bytes, loads);
        assert_int_equal(list.items[0].max_threads, 64);
        arena_free(&arena);
        free(text);
    }
    free(file);
    free(said);
    free(library);
    if (code == 77)
        skip();
    assert_int_equal(code, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_id_ignores_comments_paths_and_debug_information),
        cmocka_unit_test(host_id_sees_every_change_that_runs),
        cmocka_unit_test(what_is_no_library_is_hashed_whole),
        cmocka_unit_test(cuda_id_ignores_names_and_debug_sections),
        cmocka_unit_test(cuda_id_sees_code_constants_and_launch_attributes),
        cmocka_unit_test(cuda_resources_are_read),
        cmocka_unit_test(opaque_device_code_is_hashed_whole_and_said),
        cmocka_unit_test(broken_libraries_do_no_harm),
        cmocka_unit_test(broken_fatbins_do_no_harm),
        cmocka_unit_test(every_loaded_byte_counts),
        cmocka_unit_test(nvcc_output_is_understood),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
