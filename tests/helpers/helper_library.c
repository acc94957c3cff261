// SPDX-License-Identifier: Apache-2.0
//
// Makes libraries, cubins and fat binaries for tests of code ids, without nvcc.
#include "tests/helpers/helper_library.h"
#include "runner/child/process.h"
#include "runner/code/code_id.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *directory;

int library_set_up(void **state)
{
    directory = helper_directory();
    return 0;
}

int library_tear_down(void **state)
{
    helper_discard(directory);
    free(directory);
    return 0;
}

char *library_path(const char *name)
{
    return xprintf("%s/%s", directory, name);
}

// Runs a shell command in the scratch directory; its output goes to "log" there.
int library_shell(const char *command)
{
    const char *argv[] = {"sh", "-c", command, NULL};
    char *log = library_path("log");
    struct process_plan plan = {
        .argv = argv, .directory = directory, .log_path = log, .limits = {.time_s = 120}};
    struct process_result result;
    struct error err;
    if (process_run(&result, &plan, &err))
        fail_msg("%s", err.text);
    free(log);
    return result.end == PROCESS_EXITED ? result.code : -1;
}

void library_compile(const char *name, const char *source, const char *flags)
{
    char *file = xprintf("%s/%s.c", directory, name);
    char *folder = xstrdup(file);
    *strrchr(folder, '/') = '\0';
    char *make = xprintf("mkdir -p '%s'", folder);
    assert_int_equal(library_shell(make), 0);
    helper_write(file, source, strlen(source));
    char *command = xprintf("cc -O2 -shared -fPIC %s -o %s.so %s.c", flags, name, name);
    if (library_shell(command))
        fail_msg("%s", command);
    free(command);
    free(make);
    free(folder);
    free(file);
}

const char *library_id(const char *name)
{
    static char ids[8][OBJECT_ID_TEXT];
    static int next;
    char *out = ids[next++ % 8], *path = library_path(name);
    struct error err;
    if (code_id(out, path, &err))
        fail_msg("%s", err.text);
    free(path);
    return out;
}

const char library_plain[] = "#include <string.h>\n"
                             "static const float table[4] = {1, 2, 3, 4};\n"
                             "static int one(float *x) { x[0] *= table[1]; return 1; }\n"
                             "static int two(float *x) { x[1] += 8.5f; return 2; }\n"
                             "struct ops { int (*a)(float *), (*b)(float *); };\n"
                             "const struct ops ops = {one, two};\n"
                             "void copy(void *a, void *b, size_t n) { memcpy(a, b, n); }\n";

char *library_plain_with(const char *from, const char *to)
{
    const char *at = strstr(library_plain, from);
    assert_non_null(at);
    return xprintf("%.*s%s%s", (int)(at - library_plain), library_plain, to, at + strlen(from));
}

// ---- cubins

const struct cubin_plan library_usual_cubin = {.kernel = "_Z3addPfi",
                                               .registers = 40,
                                               .threads = 128,
                                               .shared = 512,
                                               .code = {0x83, 0x79, 9, 9},
                                               .constant = {1, 2, 3}};

static size_t add_name(struct cubin *b, const char *prefix, const char *name)
{
    size_t at = b->names_used;
    b->names_used +=
        (size_t)snprintf(b->names + at, sizeof(b->names) - at, "%s%s", prefix, name) + 1;
    return at;
}

static size_t add_section(struct cubin *b, const char *prefix, const char *name, uint32_t type,
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

static void finish_elf(struct cubin *b)
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

void cubin_make(struct cubin *b, const struct cubin_plan *plan)
{
    enum { LOPROC = 0x70000000 };
    *b = (struct cubin){.used = sizeof(Elf64_Ehdr), .names_used = 1};
    add_section(b, "", "", SHT_NULL, 0, NULL, 0, 0);
    char texts[256] = {0};
    const size_t second = (size_t)snprintf(texts + 1, sizeof(texts) - 1, "%s", plan->kernel) + 2;
    const size_t used = plan->second ? second + strlen(plan->second) + 1 : second;
    memcpy(texts + second, plan->second ? plan->second : "", used - second);
    size_t strings = add_section(b, ".strtab", "", SHT_STRTAB, 0, texts, used, 0);
    if (plan->debug)
        add_section(b, ".debug_line", "", SHT_PROGBITS, 0, plan->debug, strlen(plan->debug), 0);
    size_t text = b->count + 1;
    uint32_t symbol = plan->debug ? 2 : 1;
    Elf64_Sym symbols[4] = {{0}};
    symbols[symbol] = (Elf64_Sym){.st_name = 1,
                                  .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                                  .st_shndx = (Elf64_Half)text,
                                  .st_size = sizeof(plan->code)};
    symbols[symbol + 1] = symbols[symbol];
    symbols[symbol + 1].st_name = (Elf64_Word)second;
    symbols[symbol + 1].st_value = sizeof(plan->code) / 2;
    add_section(b, ".symtab", "", SHT_SYMTAB, 0, symbols,
                (symbol + (plan->second ? 2 : 1)) * sizeof(symbols[0]), 0);
    b->sections[b->count - 1].sh_link = (Elf64_Word)strings;
    add_section(b, ".text.", plan->kernel, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, plan->code,
                sizeof(plan->code), 0);
    Elf64_Rela relocations[ARRAY_COUNT(plan->relocations)];
    size_t relocated = 0;
    for (; relocated < ARRAY_COUNT(relocations) && plan->relocations[relocated].type; relocated++)
        relocations[relocated] =
            (Elf64_Rela){.r_offset = plan->relocations[relocated].at,
                         .r_info = ELF64_R_INFO((Elf64_Xword)plan->relocations[relocated].symbol,
                                                plan->relocations[relocated].type),
                         .r_addend = plan->relocations[relocated].addend};
    if (relocated) {
        add_section(b, ".rela.text.", plan->kernel, SHT_RELA, 0, relocations,
                    relocated * sizeof(*relocations), (uint32_t)text);
        b->sections[b->count - 1].sh_link = (Elf64_Word)text - 1;
    }
    const uint32_t common[] = {0x00082f04, symbol, plan->registers, 0x00081104, symbol, 24};
    add_section(b, ".nv.info", "", LOPROC, 0, common, sizeof(common), 0);
    uint32_t own[5 + 4 * ARRAY_COUNT(plan->parameters)] = {0x000c1903, 0x000c0504, plan->threads, 1,
                                                           1};
    size_t words = 5;
    for (uint32_t p = plan->parameter_count; p-- > 0 && words + 4 <= ARRAY_COUNT(own); words += 4) {
        const uint32_t of_p[] = {0x000c1704, 0, p | (uint32_t)plan->parameters[p].offset << 16,
                                 (uint32_t)plan->parameters[p].bytes << 18 | 0x1f000};
        memcpy(own + words, of_p, sizeof(of_p));
    }
    add_section(b, ".nv.info.", plan->kernel, LOPROC, 0, own, words * sizeof(*own), (uint32_t)text);
    add_section(b, ".nv.constant0.", plan->kernel, SHT_PROGBITS, SHF_ALLOC, plan->constant,
                sizeof(plan->constant), (uint32_t)text);
    add_section(b, ".nv.shared.", plan->kernel, SHT_NOBITS, SHF_ALLOC | SHF_WRITE, NULL,
                plan->shared, (uint32_t)text);
    finish_elf(b);
}

// A fat binary with one entry. kind 2: cubin, 1: PTX.
size_t fatbin_make(unsigned char *out, uint16_t kind, const void *payload, size_t size)
{
    static const char file[] = "file.cu";
    enum { HEADER = 64 + sizeof(file) };
    size_t padded = (size + 7) / 8 * 8;
    const uint32_t header[] = {0xba55ed50,
                               0x00100001,
                               (uint32_t)(HEADER + padded),
                               0,
                               kind | 0x01010000u,
                               HEADER,
                               (uint32_t)padded,
                               0,
                               0,
                               0,
                               0x00010008,
                               90,
                               64,
                               sizeof(file) - 1};
    memset(out, 0, 16 + HEADER + padded);
    memcpy(out, header, sizeof(header));
    memcpy(out + 16 + 64, file, sizeof(file));
    memcpy(out + 16 + HEADER, payload, size);
    return 16 + HEADER + padded;
}

// A host library that carries these bytes as nvcc's would, padded to one size so that the host part
// stays where it is.
static void make_host(const char *name, const unsigned char *fat, size_t size, const char *host)
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
    fprintf(to, "};\nconst char host[] = \"%s\";\nint launch(int n) { return n + 1; }\n", host);
    fclose(to);
    library_compile(name, source, "");
    free(source);
}

void library_make(const char *name, const unsigned char *fat, size_t size)
{
    make_host(name, fat, size, "");
}

void library_make_cuda(const char *name, const struct cubin_plan *plan)
{
    static struct cubin b;
    unsigned char fat[12000];
    cubin_make(&b, plan);
    make_host(name, fat, fatbin_make(fat, 2, b.bytes, b.used), plan->host ? plan->host : "");
}
