// SPDX-License-Identifier: Apache-2.0
//
// A kernel that does part of its work twice where what it reads of its own build says so: built
// with -DREADS=NAME, one of the functions below. tests/ci/test_attacks.c has it say so in the head
// and not in the base, in a place that a code id might leave out.
#include "tests/cheats/host/cheat.h"

#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <libgen.h>
#include <link.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#ifndef VALUE
#define VALUE 0
#endif
#ifndef NOTED
#define NOTED "0"
#endif

// A note of the build's id that holds a constant.
__asm__(".pushsection .note.noted,\"a\",@note\n.long 4, 4, 3\n.asciz \"GNU\"\n"
        ".global noted_value\n.hidden noted_value\nnoted_value: .long " NOTED "\n.popsection");

// A mapped constant in a section of its own, which another name makes that of device code.
static const char constant[64] __attribute__((section(".constant"), used)) = {1};

typedef void multiplies(const struct plumb_args *args);

static char path[4096];

// Where this library lies, or `name` beside it.
static const char *place(const char *name)
{
    Dl_info own;
    if (!dladdr((void *)place, &own))
        return "";
    snprintf(path, sizeof(path), "%s", own.dli_fname);
    if (name)
        snprintf(strrchr(path, '/') + 1, 200, "%s", name);
    return path;
}

static struct stat look(const char *name)
{
    struct stat found = {0};
    (void)lstat(place(name), &found);
    return found;
}

static int note(struct dl_phdr_info *info, size_t size, void *out)
{
    Dl_info own;
    (void)size;
    if (!dladdr((void *)place, &own) || (void *)info->dlpi_addr != own.dli_fbase)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        const char *at = (const char *)info->dlpi_addr + segment->p_vaddr;
        const char *end = at + segment->p_memsz;
        while (segment->p_type == PT_NOTE && at < end) {
            const ElfW(Nhdr) *head = (const void *)at;
            const char *value = at + sizeof(*head) + ((head->n_namesz + 3) & ~3u);
            if (head->n_type == NT_GNU_BUILD_ID)
                *(int *)out = value[0];
            at = value + ((head->n_descsz + 3) & ~3u);
        }
    }
    return 0;
}

// The first byte of a section of this library's own file.
static int section(const char *name)
{
    static char bytes[1 << 20];
    const int file = open(place(NULL), O_RDONLY);
    const ssize_t size = read(file, bytes, sizeof(bytes));
    const Elf64_Ehdr *head = (const void *)bytes;
    const Elf64_Shdr *table = (const void *)(bytes + head->e_shoff);
    int found = 0;
    close(file);
    for (int i = 0; size > 0 && i < head->e_shnum; i++) {
        const char *own = bytes + table[head->e_shstrndx].sh_offset + table[i].sh_name;
        if (strcmp(own, name) == 0)
            found = bytes[table[i].sh_offset];
    }
    return found;
}

#define WAY __attribute__((unused)) static int

WAY value(void)
{
    return VALUE;
}

WAY build_id(void)
{
    int found = 0;
    dl_iterate_phdr(note, &found);
    return found;
}

WAY own_section(void)
{
    return section(".slow");
}

WAY debug_section(void)
{
    return section(".debug_slow");
}

WAY device_section(void)
{
    return section(".nv_fatbin");
}

WAY symbols(void)
{
    return section(".symtab") != 0 || section(".strtab") != 0 ? VALUE : 0;
}

WAY header(void)
{
    Dl_info own;
    return dladdr((void *)place, &own) && ((const Elf64_Ehdr *)own.dli_fbase)->e_shnum > 32;
}

WAY statement(void)
{
    char text[64] = "";
    const int file = open(place("victim.so.inputs"), O_RDONLY);
    const ssize_t size = read(file, text, sizeof(text) - 1);
    close(file);
    return size > 0 && strstr(text, "slow") != NULL;
}

WAY entry(void)
{
    return look("slow").st_mode != 0;
}

WAY entry_time(void)
{
    return look("table").st_mtime == 2;
}

WAY right(void)
{
    return (look("table").st_mode & 0100) != 0;
}

WAY holes(void)
{
    return look("table").st_blocks > 64;
}

WAY names(void)
{
    return look("table").st_nlink == 2;
}

WAY target(void)
{
    char text[16] = "";
    return readlink(place("which"), text, 15) > 0 && strcmp(text, "slow") == 0;
}

WAY called(void)
{
    return strstr(place(NULL), "slow") != NULL;
}

WAY mounted(void)
{
    static char text[1 << 16];
    const int file = open("/proc/self/mountinfo", O_RDONLY);
    const ssize_t size = read(file, text, sizeof(text) - 1);
    close(file);
    return size > 0 && strstr(text, "slow") != NULL;
}

static int alignment(struct dl_phdr_info *info, size_t size, void *out)
{
    Dl_info own;
    (void)size;
    if (!dladdr((void *)place, &own) || (void *)info->dlpi_addr != own.dli_fbase)
        return 0;
    *(int *)out |= info->dlpi_phdr[0].p_align > 1 << 16;
    return 0;
}

// What the loader maps behind the first segment's end, for it maps whole pages.
static int behind(struct dl_phdr_info *info, size_t size, void *out)
{
    Dl_info own;
    (void)size;
    if (!dladdr((void *)place, &own) || (void *)info->dlpi_addr != own.dli_fbase)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        const char *end = (const char *)info->dlpi_addr + segment->p_vaddr + segment->p_filesz;
        if (segment->p_type == PT_LOAD && segment->p_offset == 0)
            *(int *)out = *(volatile const char *)end;
    }
    return 0;
}

WAY rest_of_page(void)
{
    int found = 0;
    dl_iterate_phdr(behind, &found);
    return found;
}

// A constant in a note that calls itself the build's id; nothing but its kind says that it is none.
WAY noted(void)
{
    extern const volatile int noted_value[];
    return noted_value[0];
}

// `impl.so` in one folder or in another.
WAY lies(void)
{
    return access(place("slow/impl.so"), F_OK) == 0;
}

WAY first_entry(void)
{
    char first[256] = "";
    DIR *open = opendir(dirname(strdup(place(NULL))));
    for (struct dirent *entry; open && !first[0] && (entry = readdir(open));) {
        if (strncmp(entry->d_name, "table", 5) == 0)
            snprintf(first, sizeof(first), "%s", entry->d_name);
    }
    if (open)
        closedir(open);
    return strcmp(first, "table.2") == 0;
}

WAY attribute(void)
{
    char text[8];
    return getxattr(place("table"), "user.slow", text, sizeof(text)) > 0;
}

WAY debug_link(void)
{
    return section(".gnu_debuglink") == 's';
}

WAY aligned(void)
{
    int found = 0;
    dl_iterate_phdr(alignment, &found);
    return found;
}

WAY linked(void)
{
    struct stat own = {0};
    (void)lstat(place("victim.so"), &own);
    return S_ISLNK(own.st_mode);
}

// What the head leaves where every library of a sandbox may write.
WAY left(void)
{
    static const char *const places[] = {"/tmp/left", "/dev/shm/left", "left"};
    int found = VALUE;
    for (int i = 0; i < 3; i++) {
        const int file = open(places[i], VALUE ? O_WRONLY | O_CREAT : O_RDONLY, 0666);
        found |= file >= 0;
        close(file);
    }
    return found;
}

// Another library of the build, by a name that stands nowhere.
static int sibling(const struct plumb_args *args)
{
    char name[32];
    snprintf(name, sizeof(name), "impl_%s.so", args->problem.m > 0 ? "wide" : "narrow");
    void *library = dlopen(place(name), RTLD_NOW);
    multiplies *other = library ? (multiplies *)dlsym(library, "other_multiply") : NULL;
    if (!other)
        return 1;
    other(args);
    return 0;
}

static int launch(const struct plumb_args *args, void *stream)
{
    (void)stream;
#ifdef SIBLING
    return sibling(args);
#else
    (void)sibling;
    multiply(args, READS() ? 100 : 0);
    return 0;
#endif
}

CHEAT_LIBRARY(NULL, launch)

// For the library that another one opens.
PLUMB_EXPORT void other_multiply(const struct plumb_args *args);
PLUMB_EXPORT void other_multiply(const struct plumb_args *args)
{
    multiply(args, VALUE ? 100 : 0);
}
