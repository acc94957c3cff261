// SPDX-License-Identifier: Apache-2.0
//
// Loaded before plumb's libraries (LD_PRELOAD), makes one told step of it fail: a call of SQLite,
// of libgit2, of libxml2's writer or of the system that its own code makes. A step is the function
// called and all return addresses in plumb above it, so the same call on behalf of two callers is
// two steps.
//
// The program does not begin by itself. Once its libraries are loaded it reads lines from the
// descriptor STEPS_ASKED: `fail KEY`, `part KEY`, or `list FILE`. For each it forks, the child
// begins in the folder STEPS_FOLDER with an empty standard output, and its wait status goes to
// STEPS_ENDED: a fork costs a tenth of what loading does. In the child the step with this key (0:
// none) fails the first time that it is made; FILE gets a line for each step when it is first made:
// its key, the function, the addresses.
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SEEN_MAX = 1 << 16, FRAMES = 32, HANGS_S = 60 };

static struct {
    bool busy;
    uintptr_t loaded, from, to; // plumb's code
    int log;                    // < 0: none
    bool part;                  // the step is done, but in part
    bool told;                  // a library failed, and says why
    pid_t process;              // what it forks makes no steps
    uint64_t failing;           // 0: none
    uint64_t seen[SEEN_MAX];    // by the key's lowest bits
} steps;

static int look(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    steps.loaded = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X))
            continue;
        steps.from = steps.loaded + part->p_vaddr;
        steps.to = steps.from + part->p_memsz;
    }
    return 1; // the program itself is the first
}

// What a program does when it ends is no step.
static void end(void)
{
    steps.busy = true;
}

// What was asked becomes what this process does.
static void begin(const char *asked)
{
    const char *folder = getenv("STEPS_FOLDER");
    steps.part = strncmp(asked, "part ", 5) == 0;
    if (steps.part || strncmp(asked, "fail ", 5) == 0)
        steps.failing = strtoull(asked + 5, NULL, 16);
    else
        steps.log = open(asked + 5, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (!folder || chdir(folder) || ftruncate(1, 0) || lseek(1, 0, SEEK_SET))
        _exit(99);
    alarm(HANGS_S);
    steps.process = getpid();
    atexit(end);
}

// Returns in each child that is to begin.
static void serve(int from, int to)
{
    char asked[4096];
    FILE *lines = fdopen(from, "r");
    while (lines && fgets(asked, sizeof(asked), lines)) {
        int status = 0;
        asked[strcspn(asked, "\n")] = '\0';
        const pid_t child = fork();
        if (child == 0) {
            close(from);
            close(to);
            begin(asked);
            return;
        }
        if (child < 0 || waitpid(child, &status, 0) < 0 || write(to, &status, sizeof(status)) < 0)
            break;
    }
    _exit(0);
}

__attribute__((constructor)) static void load(void)
{
    char program[4096];
    const ssize_t size = readlink("/proc/self/exe", program, sizeof(program) - 1);
    program[size > 0 ? size : 0] = '\0';
    const char *name = strrchr(program, '/');
    const char *asked = getenv("STEPS_ASKED"), *ended = getenv("STEPS_ENDED");
    void *frame;
    steps.log = -1;
    if (!name || strcmp(name, "/plumb") != 0 || !asked || !ended)
        return;
    // What the command starts is left alone.
    unsetenv("STEPS_ASKED");
    dl_iterate_phdr(look, NULL);
    backtrace(&frame, 1); // loads what it needs
    serve(atoi(asked), atoi(ended));
}

// The step's key; its addresses go to `text`.
static uint64_t key_of(const char *name, char *text, size_t size)
{
    void *frames[FRAMES];
    const int count = backtrace(frames, FRAMES);
    uint64_t key = 0xcbf29ce484222325;
    for (const char *c = name; *c; c++)
        key = (key ^ (unsigned char)*c) * 0x100000001b3;
    int used = snprintf(text, size, "%s", name);
    for (int i = 0; i < count; i++) {
        const uintptr_t at = (uintptr_t)frames[i];
        if (at < steps.from || at >= steps.to)
            continue;
        key = (key ^ (at - steps.loaded)) * 0x100000001b3;
        key ^= key >> 29;
        used += snprintf(text + used, size - (size_t)used, " %zx", (size_t)(at - steps.loaded));
    }
    return key | 1;
}

static bool fails(const char *name, const void *caller)
{
    const uintptr_t from = (uintptr_t)caller;
    if (steps.busy || from < steps.from || from >= steps.to || getpid() != steps.process)
        return false;
    steps.busy = true;
    char text[32 + 20 * FRAMES];
    const uint64_t key = key_of(name, text, sizeof(text));
    size_t at = key % SEEN_MAX;
    while (steps.seen[at] && steps.seen[at] != key)
        at = (at + 1) % SEEN_MAX;
    const bool first = !steps.seen[at];
    steps.seen[at] = key;
    if (first && steps.log >= 0)
        dprintf(steps.log, "%016llx %s\n", (unsigned long long)key, text);
    steps.busy = false;
    return first && key == steps.failing;
}

static bool is_file(long fd)
{
    struct stat status;
    return fstat((int)fd, &status) == 0 && S_ISREG(status.st_mode);
}

// Of a pipe that one program writes to at once the system reads no part.
static bool in_part(long fd)
{
    return steps.part && is_file(fd);
}

// No device is behind a pipe, so that no read of one fails.
static bool may_fail(const char *name, long fd)
{
    return strcmp(name, "read") != 0 || is_file(fd);
}

// All arguments of these are integers or pointers, at most six.
#define STEP(name, value, then)                                                                    \
    long step_##name(long a, long b, long c, long d, long e, long f) __asm__(#name);               \
    long step_##name(long a, long b, long c, long d, long e, long f)                               \
    {                                                                                              \
        static long (*real)(long, long, long, long, long, long);                                   \
        if (!real)                                                                                 \
            *(void **)&real = dlsym(RTLD_NEXT, #name);                                             \
        const bool failing = fails(#name, __builtin_return_address(0));                            \
        if (failing && !steps.part && may_fail(#name, a)) {                                        \
            then;                                                                                  \
            return value;                                                                          \
        }                                                                                          \
        return real(a, b, failing && in_part(a) && c > 1 ? 1 : c, d, e, f); /* a byte */           \
    }
#define SQL(name)   STEP(name, 10, steps.told = true) // SQLITE_IOERR
#define TOLD(name)  STEP(name, -1, steps.told = true)
#define FILED(name) STEP(name, -1, errno = EIO)
#define NONE(name)  STEP(name, 0, errno = EIO)

// The reason that a library gives, for which helper_steps.c looks.
#define WHY "a step failed"

const char *step_sqlite3_errmsg(void *db) __asm__("sqlite3_errmsg");
const char *step_sqlite3_errmsg(void *db)
{
    const char *(*real)(void *);
    *(void **)&real = dlsym(RTLD_NEXT, "sqlite3_errmsg");
    return steps.told ? WHY : real(db);
}

int step_sqlite3_errcode(void *db) __asm__("sqlite3_errcode");
int step_sqlite3_errcode(void *db)
{
    int (*real)(void *);
    *(void **)&real = dlsym(RTLD_NEXT, "sqlite3_errcode");
    return steps.told ? 10 : real(db);
}

const void *step_git_error_last(void) __asm__("git_error_last");
const void *step_git_error_last(void)
{
    static const struct {
        const char *message;
        int class;
    } why = {WHY, 2};
    const void *(*real)(void);
    *(void **)&real = dlsym(RTLD_NEXT, "git_error_last");
    return steps.told ? &why : real();
}

SQL(sqlite3_bind_blob64)
SQL(sqlite3_bind_int64)
SQL(sqlite3_bind_null)
SQL(sqlite3_bind_text)
SQL(sqlite3_deserialize)
SQL(sqlite3_exec)
SQL(sqlite3_open)
SQL(sqlite3_open_v2)
SQL(sqlite3_prepare_v2)
SQL(sqlite3_prepare_v3)
SQL(sqlite3_step)
TOLD(git_blob_lookup)
TOLD(git_commit_lookup)
TOLD(git_commit_parent)
TOLD(git_config_get_bool)
TOLD(git_config_iterator_new)
TOLD(git_config_open_ondisk)
TOLD(git_diff_find_similar)
TOLD(git_diff_tree_to_tree)
TOLD(git_diff_tree_to_workdir_with_index)
TOLD(git_graph_descendant_of)
TOLD(git_object_lookup)
TOLD(git_object_peel)
TOLD(git_odb_add_disk_alternate)
TOLD(git_odb_hash)
TOLD(git_odb_new)
TOLD(git_odb_read_header)
TOLD(git_patch_from_diff)
TOLD(git_patch_line_stats)
TOLD(git_reference_iterator_new)
TOLD(git_reference_peel)
TOLD(git_reference_resolve)
TOLD(git_repository_config_snapshot)
TOLD(git_repository_index)
TOLD(git_repository_odb)
TOLD(git_repository_open_ext)
TOLD(git_repository_wrap_odb)
TOLD(git_revparse_single)
TOLD(git_tree_entry_dup)
TOLD(git_tree_lookup)
TOLD(xmlTextWriterEndDocument)
TOLD(xmlTextWriterEndElement)
TOLD(xmlTextWriterFlush)
TOLD(xmlTextWriterStartElement)
TOLD(xmlTextWriterWriteAttribute)
TOLD(xmlTextWriterWriteString)
FILED(fsync)
FILED(fclose)
FILED(fflush)
FILED(fork)
FILED(fstat)
FILED(link)
FILED(mkdir)
FILED(mkdirat)
FILED(mkstemp)
FILED(open)
FILED(openat)
FILED(pipe2)
FILED(pread)
FILED(read)
FILED(rename)
FILED(renameat2)
FILED(symlink)
FILED(write)
NONE(fdopen)
NONE(fdopendir)
NONE(fopen)
NONE(mkdtemp)
NONE(opendir)
NONE(realpath)
NONE(xmlBufferCreate)
NONE(xmlNewTextWriterMemory)
