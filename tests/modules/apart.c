// SPDX-License-Identifier: Apache-2.0
//
// Kernels that are right, and try to get out of their process first. What works makes launch()
// return 1, so that the series is refused.
#include "kernels/kernel.h"
#include "tests/cheats/host/page.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <linux/sockios.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void multiply(const struct plumb_args *args)
{
    const struct plumb_problem *p = &args->problem;
    const float *a = args->a, *b = args->b;
    float *c = args->c;
    for (int64_t i = 0; i < p->m; i++) {
        for (int64_t j = 0; j < p->n; j++) {
            double sum = 0;
            for (int64_t l = 0; l < p->k; l++)
                sum += (double)a[i * p->k + l] * (double)b[j * p->k + l];
            c[i * p->n + j] = (float)sum;
        }
    }
}

static int any(const struct plumb_problem *p)
{
    return p->in_type == PLUMB_FP32 && p->layout == PLUMB_TN && p->batch == 1;
}

// Another process, by any of the ways there are.
static int forks(const struct plumb_args *args, void *stream)
{
    (void)stream;
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    // By its number for x32 it would be fork all the same.
    if (child > 0 || syscall(SYS_getpid | 0x40000000) >= 0 || errno != EPERM)
        return 1;
    multiply(args);
    return 0;
}

static int talks(const struct plumb_args *args, void *stream)
{
    (void)stream;
    if (socket(AF_UNIX, SOCK_STREAM, 0) >= 0 || unshare(CLONE_NEWNS) == 0)
        return 1;
    multiply(args);
    return 0;
}

// Signals to, and memory of, every process that might be there: bench, its parent, the other side.
static int reaches(const struct plumb_args *args, void *stream)
{
    char word[8];
    struct iovec here = {word, sizeof(word)}, there = {(void *)(uintptr_t)args->a, sizeof(word)};
    (void)stream;
    for (pid_t other = getpid() - 20; other < getpid() + 20; other++) {
        if (other < 1 || other == getpid())
            continue;
        if (kill(other, 0) == 0 || ptrace(PTRACE_ATTACH, other, NULL, NULL) == 0 ||
            process_vm_readv(other, &here, 1, &there, 1, 0) > 0)
            return 1;
    }
    if (getppid() > 0 && kill(getppid(), 0) == 0)
        return 1;
    multiply(args);
    return 0;
}

static bool is_self(const char *name)
{
    char self[32] = "";
    return readlink("/proc/self", self, sizeof(self) - 1) > 0 && strcmp(name, self) == 0;
}

// Files of /proc by which who may write to them slows another process, has it killed when memory is
// short, or forgets the most memory that it had itself.
static int tells_the_system(const struct plumb_args *args, void *stream)
{
    static const char *const files[] = {"clear_refs", "oom_score_adj", "mem", "autogroup"};
    DIR *proc = opendir("/proc");
    (void)stream;
    for (struct dirent *entry; proc && (entry = readdir(proc));) {
        for (int i = 0; i < 4 && atol(entry->d_name) > 0; i++) {
            char path[320];
            snprintf(path, sizeof(path), "/proc/%s/%s", entry->d_name, files[i]);
            if (open(path, O_WRONLY | O_CLOEXEC) >= 0)
                return 1;
        }
    }
    if (proc)
        closedir(proc);
    multiply(args);
    return 0;
}

// What needs no signal and no tracing of another process, where it can be named at all.
static int reaches_by_number(const struct plumb_args *args, void *stream)
{
    DIR *proc = opendir("/proc");
    cpu_set_t set;
    struct rlimit64 limit;
    (void)stream;
    CPU_ZERO(&set);
    CPU_SET(0, &set);
    for (struct dirent *entry; proc && (entry = readdir(proc));) {
        const pid_t other = (pid_t)atol(entry->d_name);
        char path[320];
        if (other < 1 || is_self(entry->d_name) || other == getpid())
            continue;
        snprintf(path, sizeof(path), "/proc/%ld/comm", (long)other);
        char name[8] = "";
        const int file = open(path, O_RDONLY | O_CLOEXEC);
        if (file < 0 || read(file, name, 5) != 5 || strcmp(name, "bench") != 0)
            continue;
        close(file);
        snprintf(path, sizeof(path), "/proc/%ld/mem", (long)other);
        if (open(path, O_RDONLY | O_CLOEXEC) >= 0 ||
            syscall(SYS_prlimit64, other, RLIMIT_CPU, NULL, &limit) == 0 ||
            sched_setaffinity(other, sizeof(set), &set) == 0)
            return 1;
    }
    if (proc)
        closedir(proc);
    // Its own are its own business, and how its processor treats others is not.
    if (prctl(PR_SET_SPECULATION_CTRL, 1000, 0, 0, 0) == 0 || errno != EPERM ||
        syscall(SYS_prlimit64, 0, RLIMIT_CPU, NULL, &limit) ||
        sched_getaffinity(0, sizeof(set), &set) || sched_setaffinity(0, sizeof(set), &set))
        return 1;
    multiply(args);
    return 0;
}

// The inputs, writable after all.
static int remaps(const struct plumb_args *args, void *stream)
{
    const uintptr_t page = (uintptr_t)args->a & ~(uintptr_t)4095;
    char line[512], path[128];
    uintptr_t from, to;
    FILE *maps = fopen("/proc/self/maps", "re");
    int file = -1;
    (void)stream;
    if (mprotect((void *)page, 4096, PROT_READ | PROT_WRITE) == 0)
        return 1;
    while (maps && fgets(line, sizeof(line), maps)) {
        if (sscanf(line, "%lx-%lx", &from, &to) != 2 || page < from || page >= to)
            continue;
        snprintf(path, sizeof(path), "/proc/self/map_files/%lx-%lx", from, to);
        file = open(path, O_RDWR | O_CLOEXEC);
    }
    if (maps)
        fclose(maps);
    if (file >= 0)
        return 1;
    multiply(args);
    return 0;
}

static int scribbles(const struct plumb_args *args, void *stream)
{
    (void)stream;
    ((float *)(uintptr_t)args->b)[0] = 1;
    multiply(args);
    return 0;
}

static int aborts(const struct plumb_args *args, void *stream)
{
    (void)args;
    (void)stream;
    raise(SIGABRT);
    return 0;
}

// Signals that the first process of a namespace does not get, not even from itself.
static int kills_itself(const struct plumb_args *args, void *stream)
{
    (void)stream;
    kill(getpid(), SIGKILL);
    multiply(args);
    return 0;
}

static int stops_itself(const struct plumb_args *args, void *stream)
{
    (void)stream;
    raise(SIGSTOP);
    multiply(args);
    return 0;
}

static int hangs_up(const struct plumb_args *args, void *stream)
{
    (void)stream;
    raise(SIGHUP);
    multiply(args);
    return 0;
}

static int raises_the_last(const struct plumb_args *args, void *stream)
{
    (void)stream;
    raise(SIGRTMAX);
    multiply(args);
    return 0;
}

// A thread that goes on when launch() is done: the processor's time of this process grows between
// two launches of it if it is let.
static void *go_on(void *unused)
{
    for (volatile uint64_t i = 0;; i++)
        ;
    return unused;
}

static int64_t cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int lingers(const struct plumb_args *args, void *stream)
{
    static pthread_t thread;
    static int64_t last_ns;
    const int64_t since_ns = last_ns ? cpu_ns() - last_ns : 0;
    (void)stream;
    if (!thread && pthread_create(&thread, NULL, go_on, NULL))
        return 2;
    if (since_ns > 150000000)
        return 1;
    multiply(args);
    last_ns = cpu_ns();
    return 0;
}

// A file of another build.
static int peeks(const struct plumb_args *args, void *stream)
{
    const char *other = getenv("PLUMB_TEST_OTHER");
    (void)stream;
    if (!other || access(other, R_OK) == 0)
        return 1;
    multiply(args);
    return 0;
}

// Makes or changes a file, a folder or a name in any way there is.
static int leaves_files(const struct plumb_args *args, void *stream)
{
    (void)stream;
    if (open("/tmp/left", O_WRONLY | O_CREAT | O_CLOEXEC, 0666) >= 0 ||
        open("/dev/shm", O_RDWR | O_TMPFILE | O_CLOEXEC, 0666) >= 0 ||
        creat("/tmp/left", 0666) >= 0 || mkdir("/dev/shm/left", 0777) == 0 ||
        symlink("left", "/tmp/left") == 0 || mkfifo("/tmp/left", 0666) == 0 ||
        rename("/tmp/here", "/tmp/left") == 0 || utimensat(AT_FDCWD, "/tmp", NULL, 0) == 0 ||
        chmod("/tmp", 01777) == 0 || errno != EROFS)
        return 1;
    multiply(args);
    return 0;
}

// Which pages of a file are in memory, that the other build reads, too.
static int asks_what_is_cached(const struct plumb_args *args, void *stream)
{
    char byte;
    unsigned char there;
    struct iovec here = {&byte, 1};
    const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    void *map = mmap(NULL, 1, PROT_READ, MAP_SHARED, file, 0);
    (void)stream;
    if (file < 0 || map == MAP_FAILED || mincore(map, 1, &there) == 0 || errno != ENOSYS ||
        preadv2(file, &here, 1, 0, RWF_NOWAIT) >= 0 || preadv2(file, &here, 1, 0, 0) != 1 ||
        posix_fadvise(file, 0, 1, POSIX_FADV_DONTNEED) == 0)
        return 1;
    munmap(map, 1);
    close(file);
    multiply(args);
    return 0;
}

// By what both builds have in common, one can learn that the other is there.
static int asks_the_machine(const struct plumb_args *args, void *stream)
{
    struct flock whole = {.l_type = F_RDLCK};
    struct sysinfo machine;
    struct statfs disk;
    const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    (void)stream;
    if (file < 0 || flock(file, LOCK_SH) == 0 || errno != ENOLCK ||
        fcntl(file, F_SETLK, &whole) == 0 || fcntl(file, F_GETLK, &whole) == 0 ||
        fcntl(file, F_OFD_SETLK, &whole) == 0 || fcntl(file, F_OFD_GETLK, &whole) == 0 ||
        errno != ENOLCK || semget(IPC_PRIVATE, 1, 0600) >= 0 || msgget(IPC_PRIVATE, 0600) >= 0 ||
        sysinfo(&machine) == 0 || statfs("/tmp", &disk) == 0 || fstatfs(file, &disk) == 0)
        return 1;
    close(file);
    multiply(args);
    return 0;
}

// What /proc says of all, and of other processes.
static int reads_of_the_machine(const struct plumb_args *args, void *stream)
{
    static const char *const hidden[] = {"/proc/meminfo", "/proc/stat", "/proc/loadavg",
                                         "/proc/1",       "/proc/sys",  "/proc/locks"};
    static const char *const shown[] = {"/proc/self/maps", "/proc/self/fd", "/proc/cpuinfo"};
    (void)stream;
    for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++) {
        if (access(hidden[i], F_OK) == 0)
            return 1;
    }
    for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
        if (access(shown[i], R_OK))
            return 2;
    }
    multiply(args);
    return 0;
}

// Takes a fifth of a second.
static int sleeps(const struct plumb_args *args, void *stream)
{
    const struct timespec fifth = {.tv_nsec = 200000000};
    (void)stream;
    nanosleep(&fifth, NULL);
    multiply(args);
    return 0;
}

// Pages that the other build has too: gone, or elsewhere.
static int empties(const struct plumb_args *args, void *stream)
{
    const uintptr_t page = (uintptr_t)args->c & ~(uintptr_t)4095;
    const uintptr_t large = (uintptr_t)args->c & ~(uintptr_t)((2 << 20) - 1);
    void *const pages[] = {(void *)page}, *const there = (void *)page;
    int status = 0;
    (void)stream;
    if (madvise(there, 4096, MADV_REMOVE) == 0 || madvise(there, 4096, MADV_PAGEOUT) == 0 ||
        (madvise((void *)large, 2 << 20, 25 /* MADV_COLLAPSE */), errno) != EPERM ||
        syscall(SYS_mbind, there, 4096, 0, NULL, 0, 0) == 0 ||
        syscall(SYS_move_pages, 0, 1, pages, NULL, &status, 0) == 0)
        return 1;
    if (madvise(there, 4096, MADV_HUGEPAGE) && errno == EPERM)
        return 2;
    multiply(args);
    return 0;
}

// Work that the system does for it while it stands still.
static int arms(const struct plumb_args *args, void *stream)
{
    const struct itimerval soon = {.it_value = {.tv_sec = 3600}};
    struct sigevent event = {.sigev_notify = SIGEV_NONE};
    unsigned long context = 0;
    timer_t timer;
    (void)stream;
    if (setitimer(ITIMER_REAL, &soon, NULL) == 0 || alarm(3600) != (unsigned)-1 ||
        timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 ||
        timerfd_create(CLOCK_MONOTONIC, 0) >= 0 || syscall(SYS_io_setup, 1, &context) == 0)
        return 1;
    multiply(args);
    return 0;
}

// A signal, when somebody else does something to a file, a queue or a parent: SIGCONT ends a stop.
static int wakes(const struct plumb_args *args, void *stream)
{
    struct f_owner_ex owner = {F_OWNER_PID, getpid()};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGCONT};
    const int file = open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC);
    const int folder = open("/proc/self", O_RDONLY | O_CLOEXEC | O_DIRECTORY);
    int on = 1, ends[2], self = getpid();
    (void)stream;
    if (file < 0 || folder < 0 || pipe2(ends, O_CLOEXEC))
        return 2;
    if (inotify_init1(IN_CLOEXEC) >= 0 || syscall(SYS_fanotify_init, 0, O_RDONLY) >= 0 ||
        syscall(SYS_mq_open, "/plumb", O_RDWR | O_CREAT, 0600, NULL) >= 0 ||
        (syscall(SYS_mq_notify, 0, &event), errno) != EPERM)
        return 1;
    if (fcntl(ends[0], F_SETOWN, self) == 0 || fcntl(ends[0], F_SETOWN_EX, &owner) == 0 ||
        fcntl(ends[0], F_SETSIG, SIGCONT) == 0 || fcntl(ends[0], F_SETFL, O_ASYNC) == 0 ||
        ioctl(ends[0], FIOASYNC, &on) == 0 || ioctl(ends[0], FIOSETOWN, &self) == 0 ||
        fcntl(file, F_SETLEASE, F_RDLCK) == 0 || fcntl(folder, F_NOTIFY, DN_ACCESS) == 0 ||
        prctl(PR_SET_PDEATHSIG, SIGCONT) == 0)
        return 1;
    if (fcntl(ends[0], F_SETFL, O_NONBLOCK) || fcntl(ends[0], F_SETFD, FD_CLOEXEC))
        return 2;
    close(ends[0]);
    close(ends[1]);
    close(folder);
    close(file);
    multiply(args);
    return 0;
}

// A thread that never stands still by itself.
static int goes_on(const struct plumb_args *args, void *stream)
{
    static pthread_t thread;
    (void)stream;
    if (!thread && pthread_create(&thread, NULL, go_on, NULL))
        return 2;
    multiply(args);
    return 0;
}

// What the processor counts of itself, by the system.
static int counts(const struct plumb_args *args, void *stream)
{
    (void)stream;
    for (uint32_t type = 0; type < 6; type++) {
        struct perf_event_attr event = {
            .type = type, .size = sizeof(event), .exclude_kernel = 1, .exclude_hv = 1};
        if (syscall(SYS_perf_event_open, &event, 0, -1, -1, 0) >= 0 || errno != EPERM)
            return 1;
    }
    multiply(args);
    return 0;
}

// The turn is over, and one call of the system that no signal interrupts goes on for long.
static int leaves_a_call(const struct plumb_args *args, void *stream)
{
    enum { PARTS = 1024, PART_BYTES = 1 << 20 };
    static struct arm_page *page;
    static char *to;
    static int file;
    struct iovec parts[PARTS];
    (void)stream;
    if (!to) {
        page = find_page();
        to = malloc(PART_BYTES);
        file = memfd_create("rest", MFD_CLOEXEC);
        if (!page || !to || ftruncate(file, (off_t)PARTS * PART_BYTES))
            return 1;
    }
    for (int i = 0; i < PARTS; i++)
        parts[i] = (struct iovec){to, PART_BYTES};
    multiply(args);
    say_done(page);
    return preadv(file, parts, PARTS, 0) < PART_BYTES;
}

#define KERNEL(function)                                                                           \
    {                                                                                              \
        .name = #function, .traits = {.threads = 2}, .supports = any, .launch = function           \
    }
static const struct plumb_kernel kernels[] = {
    KERNEL(forks),
    KERNEL(talks),
    KERNEL(reaches),
    KERNEL(remaps),
    KERNEL(scribbles),
    KERNEL(aborts),
    KERNEL(lingers),
    KERNEL(sleeps),
    KERNEL(kills_itself),
    KERNEL(stops_itself),
    KERNEL(hangs_up),
    KERNEL(raises_the_last),
    KERNEL(peeks),
    KERNEL(leaves_files),
    KERNEL(asks_what_is_cached),
    KERNEL(asks_the_machine),
    KERNEL(reads_of_the_machine),
    KERNEL(empties),
    KERNEL(arms),
    KERNEL(counts),
    KERNEL(wakes),
    KERNEL(goes_on),
    KERNEL(tells_the_system),
    KERNEL(reaches_by_number),
    KERNEL(leaves_a_call),
    {.name = "leaves_a_call_alone",
     .traits = {.threads = 1},
     .supports = any,
     .launch = leaves_a_call},
};
static const struct plumb_library library = {
    .abi_version = PLUMB_ABI_VERSION,
    .kernel_size = sizeof(struct plumb_kernel),
    .device = "host",
    .count = sizeof(kernels) / sizeof(kernels[0]),
    .kernels = kernels,
};

PLUMB_EXPORT const struct plumb_library *plumb_library(void)
{
    return &library;
}
