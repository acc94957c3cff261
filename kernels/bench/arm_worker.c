// SPDX-License-Identifier: Apache-2.0
//
// The process of a host library (kernels/bench/arm.h). It loads the library, prepares it, launches
// it when it has its turn, and answers on the shared page. Nothing that it says is trusted.

#include "kernels/bench/arm.h"
#include "kernels/bench/arm_page.h"
#include "kernels/bench/module.h"
#include "kernels/device/call.h"
#include "model/base.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

// ---- the system calls that a library may make ----

// Sets a seccomp filter for this process, for good. Threads are allowed. These are not, and fail
// with EPERM: processes, programs, sockets, tracing, shared memory, taking out or moving pages,
// timers, signals to others, and other priorities. A signal to itself that stops it, or that
// usually comes from outside, ends it by SIGSYS.
//
// The filter lists what is refused and not what is allowed, because numerical libraries use
// much that nobody can foresee (files of /proc, memory, threads, affinities). The reasons
// for some entries:
//   clone3    is said not to exist, so that the C library makes threads with clone, whose flags a
//             filter can see.
//   signals   A process may signal itself, as abort() does. But the first process of a namespace
//             does not even get its own SIGKILL or SIGSTOP, and in a process without a namespace
//             these would look as if they came from outside. So asking for one of them ends it by
//             SIGSYS.
//   memory    Both builds have the same pages for outputs and workspaces. So a process may only
//             give advice that concerns itself: pages that it took out or moved would cost the
//             other build time.
//   others    Both builds see the same machine, and a build that has looked at it may learn that
//             the other one is there: by a lock, by a queue, by how much memory or room is free. So
//             locks are said not to exist, and the machine is not asked.
//   later     A process may not have the system do anything later, when it stands still: a timer
//             interrupts whoever runs then, and a signal wakes it. SIGCONT ends every stop, and
//             many things send it: a file that is read, a lease that is broken, a queue that is
//             written to, a parent that ends.
// If something was forgotten here, bench notices: a process that ran while it should stand still
// has worked (arm.c).

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#ifdef ARCHITECTURE
static const int refused[] = {
#ifdef SYS_fork
    SYS_fork,
    SYS_vfork,
    SYS_inotify_init,
#endif
    SYS_execve,
    SYS_execveat,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_process_madvise,
    SYS_pidfd_open,
    SYS_pidfd_getfd,
    SYS_pidfd_send_signal,
    SYS_tkill,
    SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo,
    SYS_kcmp,
    SYS_setsid,
    SYS_setpgid,
    SYS_socket,
    SYS_socketpair,
    SYS_unshare,
    SYS_setns,
    SYS_mount,
    SYS_umount2,
    SYS_chroot,
    SYS_pivot_root,
    SYS_perf_event_open,
    SYS_bpf,
    SYS_userfaultfd,
    SYS_shmget,
    SYS_shmat,
    SYS_shmctl,
    SYS_semget,
    SYS_msgget,
    SYS_semctl,
    SYS_msgctl,
    SYS_syslog,
    SYS_quotactl,
    SYS_mbind,
    SYS_move_pages,
    SYS_migrate_pages,
#ifdef SYS_set_mempolicy_home_node
    SYS_set_mempolicy_home_node,
#endif
    SYS_io_uring_setup,
    SYS_io_setup,
    SYS_inotify_init1,
    SYS_inotify_add_watch,
    SYS_fanotify_init,
    SYS_mq_open,
    SYS_mq_notify,
    SYS_timer_create,
    SYS_timerfd_create,
    SYS_setitimer,
#ifdef SYS_alarm
    SYS_alarm,
#endif
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_sched_setscheduler,
    SYS_sched_setattr,
    SYS_sched_setparam,
    SYS_setpriority,
    SYS_ioprio_set,
    SYS_reboot,
    SYS_kexec_load,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_swapon,
    SYS_swapoff,
    SYS_acct,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_clock_adjtime,
    SYS_adjtimex};

// Calls of fcntl() and ioctl() that make the system signal a process when somebody reads, writes,
// closes or opens a file.
static const int file_signals[] = {F_SETOWN, F_SETSIG, F_SETOWN_EX, F_SETLEASE, F_NOTIFY};
static const int device_signals[] = {FIOASYNC, FIOSETOWN, SIOCSPGRP};

// Signals that stop a process, and signals by which people, schedulers and a machine without
// memory end one.
static const int from_outside[] = {SIGKILL, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU,
                                   SIGTERM, SIGINT,  SIGHUP,  SIGQUIT, SIGXCPU};

// A Linux with x32 has every system call of x86-64 twice: the second one at its number plus this,
// under the same architecture's name (AUDIT_ARCH_X86_64).
enum { OTHER_NUMBERS = 0x40000000 };

// Options of prctl() that make somebody send SIGCONT, or that say how a processor treats processes
// that run beside or after this one.
static const int options[] = {PR_SET_PDEATHSIG, PR_SET_SPECULATION_CTRL, PR_SCHED_CORE};

// Advice that madvise() may give.
static const int advice[] = {
    MADV_NORMAL,     MADV_RANDOM,     MADV_SEQUENTIAL,    MADV_WILLNEED,
    MADV_DONTNEED,   MADV_FREE,       MADV_DONTFORK,      MADV_DOFORK,
    MADV_HUGEPAGE,   MADV_NOHUGEPAGE, MADV_DONTDUMP,      MADV_DODUMP,
    MADV_WIPEONFORK, MADV_KEEPONFORK, MADV_POPULATE_READ, MADV_POPULATE_WRITE};

#define FIELD(name) ((uint32_t)offsetof(struct seccomp_data, name))
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FIELD(field))
// Skips `yes` or `no` of the following instructions.
#define IF_EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), yes, no)
#define IF_HAS(bits, yes, no)    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (uint32_t)(bits), yes, no)
#define RETURN(what)             BPF_STMT(BPF_RET | BPF_K, (uint32_t)(what))
#define REFUSE                   RETURN(SECCOMP_RET_ERRNO | EPERM)
#define ALLOW                    RETURN(SECCOMP_RET_ALLOW)

// A filter, to which instructions are added.
struct list {
    struct sock_filter items[512];
    size_t count;
};

static void append(struct list *list, const struct sock_filter *items, size_t count)
{
    memcpy(list->items + list->count, items, count * sizeof(*items));
    list->count += count;
}
#define APPEND(list, ...)                                                                          \
    append(list, (const struct sock_filter[]){__VA_ARGS__},                                        \
           sizeof((const struct sock_filter[]){__VA_ARGS__}) / sizeof(struct sock_filter))

// Adds two instructions for each number: they return `answer` if the number is the one
// that was loaded.
static void match(struct list *list, const int *numbers, size_t count, uint32_t answer)
{
    for (size_t i = 0; i < count; i++)
        APPEND(list, IF_EQUAL(numbers[i], 0, 1), RETURN(answer));
}

static void add_processes(struct list *list)
{
    enum { ENDS = 2 * ARRAY_COUNT(from_outside) };
    const uint32_t self = (uint32_t)getpid();
    APPEND(list, IF_EQUAL(SYS_clone3, 0, 1), RETURN(SECCOMP_RET_ERRNO | ENOSYS));
    // On both architectures the flags are the first argument; its lower half is enough.
    APPEND(list, IF_EQUAL(SYS_clone, 0, 4), LOAD(args[0]), IF_HAS(CLONE_THREAD, 1, 0), REFUSE,
           ALLOW);
    APPEND(list, IF_EQUAL(SYS_kill, 0, 5), // process and signal
           LOAD(args[0]), IF_EQUAL(self, 1, 0), REFUSE, LOAD(args[1]),
           BPF_JUMP(BPF_JMP | BPF_JA, 5, 0, 0));
    APPEND(list, IF_EQUAL(SYS_tgkill, 0, 5 + ENDS), // process, thread and signal
           LOAD(args[0]), IF_EQUAL(self, 1, 0), REFUSE, LOAD(args[2]));
    match(list, from_outside, ARRAY_COUNT(from_outside), SECCOMP_RET_KILL_PROCESS);
    APPEND(list, ALLOW);
    APPEND(list, IF_EQUAL(SYS_prctl, 0, 1 + 2 * ARRAY_COUNT(options) + 1), // option
           LOAD(args[0]));
    match(list, options, ARRAY_COUNT(options), SECCOMP_RET_ERRNO | EPERM);
    APPEND(list, ALLOW);
    APPEND(list, IF_EQUAL(SYS_prlimit64, 0, 5), // process
           LOAD(args[0]), IF_EQUAL(0, 1, 0), IF_EQUAL(self, 0, 1), ALLOW, REFUSE);
    // A thread has a number of its own, and the first process of a namespace knows no others.
    if (self != 1)
        APPEND(list, IF_EQUAL(SYS_sched_setaffinity, 0, 5), // thread
               LOAD(args[0]), IF_EQUAL(0, 1, 0), IF_EQUAL(self, 0, 1), ALLOW, REFUSE);
}

static void add_memory(struct list *list)
{
    APPEND(list, IF_EQUAL(SYS_madvise, 0, 1 + 2 * ARRAY_COUNT(advice) + 1), // address, size, advice
           LOAD(args[2]));
    match(list, advice, ARRAY_COUNT(advice), SECCOMP_RET_ALLOW);
    APPEND(list, REFUSE);
}

static void add_files(struct list *list)
{
    const uint32_t refuse = SECCOMP_RET_ERRNO | EPERM;
    APPEND(list,
           IF_EQUAL(SYS_fcntl, 0, 1 + 2 * ARRAY_COUNT(file_signals) + 5), // file, command, flags
           LOAD(args[1]));
    match(list, file_signals, ARRAY_COUNT(file_signals), refuse);
    APPEND(list, IF_EQUAL(F_SETFL, 0, 3), LOAD(args[2]), IF_HAS(O_ASYNC, 0, 1), REFUSE, ALLOW);
    APPEND(list, IF_EQUAL(SYS_ioctl, 0, 1 + 2 * ARRAY_COUNT(device_signals) + 1), // file, request
           LOAD(args[1]));
    match(list, device_signals, ARRAY_COUNT(device_signals), refuse);
    APPEND(list, ALLOW);
}

// Both builds read the same files of the system, so which of their pages are in memory is something
// that one can leave for the other. Calls that tell or change it are refused; to the first two a
// library knows another way where it is told that they do not exist.
static void add_page_cache(struct list *list)
{
    APPEND(list, IF_EQUAL(SYS_mincore, 0, 1), RETURN(SECCOMP_RET_ERRNO | ENOSYS));
#ifdef SYS_cachestat
    APPEND(list, IF_EQUAL(SYS_cachestat, 0, 1), RETURN(SECCOMP_RET_ERRNO | ENOSYS));
#endif
    APPEND(list, IF_EQUAL(SYS_fadvise64, 0, 1), REFUSE);
    APPEND(list, IF_EQUAL(SYS_preadv2, 0, 4), LOAD(args[5]), // flags, as RWF_NOWAIT
           IF_EQUAL(0, 1, 0), RETURN(SECCOMP_RET_ERRNO | EOPNOTSUPP), ALLOW);
}

// Refuses locks of files that both builds read, and questions about the whole machine.
static void add_machine(struct list *list)
{
    static const int locks[] = {F_GETLK, F_SETLK, F_SETLKW, F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW};
    static const int asks[] = {
        SYS_sysinfo,
        SYS_statfs,
        SYS_fstatfs,
#ifdef SYS_ustat
        SYS_ustat,
#endif
    };
    const uint32_t none = SECCOMP_RET_ERRNO | ENOLCK;
    APPEND(list, IF_EQUAL(SYS_flock, 0, 1), RETURN(none));
    APPEND(list, IF_EQUAL(SYS_fcntl, 0, 1 + 2 * ARRAY_COUNT(locks) + 1), LOAD(args[1]));
    match(list, locks, ARRAY_COUNT(locks), none);
    APPEND(list, LOAD(nr));
    match(list, asks, ARRAY_COUNT(asks), SECCOMP_RET_ERRNO | ENOSYS);
}

// Refuses all that makes, changes or renames a file, as a read-only file system does.
static void add_no_changes(struct list *list)
{
    static const int changes[] = {
#ifdef SYS_open
        SYS_creat,     SYS_mkdir,     SYS_mknod,    SYS_link,      SYS_symlink,
        SYS_rename,    SYS_unlink,    SYS_rmdir,    SYS_chmod,     SYS_chown,
        SYS_lchown,    SYS_utime,     SYS_utimes,   SYS_futimesat,
#endif
        SYS_truncate,  SYS_mkdirat,   SYS_mknodat,  SYS_linkat,    SYS_symlinkat,
        SYS_renameat2, SYS_unlinkat,  SYS_fchmodat, SYS_fchownat,  SYS_fchmod,
        SYS_fchown,    SYS_utimensat, SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr,
#ifdef SYS_renameat
        SYS_renameat,
#endif
#ifdef SYS_fchmodat2
        SYS_fchmodat2,
#endif
    };
    enum { CHANGES = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC };
    const uint32_t refuse = SECCOMP_RET_ERRNO | EROFS;
#ifdef SYS_open
    APPEND(list, IF_EQUAL(SYS_open, 0, 4), LOAD(args[1]), IF_HAS(CHANGES, 0, 1), RETURN(refuse),
           ALLOW);
#endif
    APPEND(list, IF_EQUAL(SYS_openat, 0, 4), LOAD(args[2]), IF_HAS(CHANGES, 0, 1), RETURN(refuse),
           ALLOW);
    APPEND(list, IF_EQUAL(SYS_openat2, 0, 1), RETURN(SECCOMP_RET_ERRNO | ENOSYS));
    match(list, changes, ARRAY_COUNT(changes), refuse);
}

// changes: it may make and change files.
static int worker_filter(bool changes, struct error *err)
{
    struct list list = {.count = 0};
    APPEND(&list, LOAD(arch), IF_EQUAL(ARCHITECTURE, 1, 0), RETURN(SECCOMP_RET_KILL_PROCESS),
           LOAD(nr), BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, OTHER_NUMBERS, 0, 1), REFUSE);
    add_processes(&list);
    add_memory(&list);
    add_machine(&list);
    add_files(&list);
    add_page_cache(&list);
    if (!changes)
        add_no_changes(&list);
    match(&list, refused, ARRAY_COUNT(refused), SECCOMP_RET_ERRNO | EPERM);
    APPEND(&list, ALLOW);
    const struct sock_fprog program = {.len = (unsigned short)list.count, .filter = list.items};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        return error_set(err, "seccomp: %s", strerror(errno));
    return 0;
}
#else
static int worker_filter(bool changes, struct error *err)
{
    (void)changes;
    return error_set(err, "seccomp: no filter for this processor is written yet");
}
#endif

struct worker {
    struct arm_page *page;
    struct module module;
    struct plumb_form_kernel kernel;
};

static enum arm_finding load(struct worker *w)
{
    struct arm_page *page = w->page;
    const bool veiled = page->veiled[0] && access(page->veiled, R_OK) == 0;
    struct error why;
    if (module_load(&w->module, veiled ? page->veiled : page->path, false, &why)) {
        text_copy(page->text, sizeof(page->text), why.text);
        return ARM_NO_LIBRARY;
    }
    if (!module_find(&w->kernel, &w->module, page->kernel))
        return ARM_NO_KERNEL;
    if (strcmp(w->module.library->device, page->kind) != 0) {
        snprintf(page->text, sizeof(page->text), "%.40s", w->module.library->device);
        return ARM_OTHER_KIND;
    }
    if (!call_supports(&w->kernel, &page->form))
        return ARM_NOT_DONE;
    if (page->form.number_count && w->kernel.buffers(&page->stated, &page->form))
        return ARM_NOT_STATED;
    page->threads = w->kernel.kernel.traits.threads;
    page->workspace_bytes = call_workspace(&w->kernel, &page->form);
    return ARM_FOUND;
}

static int prepare(struct worker *w)
{
    struct arm_page *page = w->page;
    page->text[0] = '\0';
    return call_prepare(&w->kernel, &page->args[0], NULL, page->has_pin ? page->pin : NULL,
                        page->text, sizeof(page->text));
}

static int launch(const struct worker *w)
{
    const struct arm_page *page = w->page;
    const uint32_t first = page->first, sets = page->sets, launches = page->launches;
    int code = 0;
    for (uint32_t i = 0; i < launches && !code; i++)
        code = call_launch(&w->kernel, &page->args[(first + i) % sets], NULL);
    return code;
}

static void serve(struct worker *w)
{
    struct arm_page *page = w->page;
    switch (page->request) {
    case ARM_LOAD:
        page->finding = load(w);
        break;
    case ARM_PREPARE:
        page->code = prepare(w);
        break;
    case ARM_REFERENCE:
        page->code =
            w->kernel.reference(&page->args[0].form, page->args[0].inputs, page->reference);
        break;
    case ARM_LAUNCH:
        page->code = launch(w);
        break;
    default:
        break;
    }
}

// A handler for signals, because the first process of a namespace does not get a signal without
// one: abort() would become a wrong instruction, and raise() would do nothing. bench makes the
// signal again from this exit code.
static void end_by_signal(int number)
{
    _exit(128 + number);
}

static void take_signals(void)
{
    // Signals that need no handler: they have no effect, cannot be handled, or are
    // refused by worker_filter().
    static const int spared[] = {SIGCHLD, SIGCONT, SIGURG,  SIGWINCH, SIGKILL,
                                 SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU};
    sigset_t kept;
    sigemptyset(&kept);
    for (size_t i = 0; i < ARRAY_COUNT(spared); i++)
        sigaddset(&kept, spared[i]);
    for (int number = 1; number < NSIG; number++) {
        if (sigismember(&kept, number) == 0)
            signal(number, end_by_signal); // the C library keeps two for itself
    }
}

int arm_worker_main(int page, int inputs, int outputs)
{
    struct worker w = {.module = MODULE_NONE};
    const int segments[HOST_RANGES] = {[HOST_INPUTS] = inputs, [HOST_OUTPUTS] = outputs};
    struct error err = {"the shared page cannot be attached"};
    void *map = shmat(page, NULL, 0);
    // A process that shares the sandbox's folders with the other build's leaves nothing there.
    const bool changes =
        map == (void *)-1 || !((struct arm_page *)map)->bare || !getenv("PLUMB_FOLDERS");
    // Then /proc shows this process the memory of no other library, and not that of bench.
    if (prctl(PR_SET_DUMPABLE, 0))
        return 1;
    if (map == (void *)-1 || host_memory_join(segments, &err) || worker_filter(changes, &err)) {
        fprintf(stderr, "bench: keep: %s\n", err.text);
        return 1;
    }
    take_signals();
    w.page = map;
    for (uint32_t turn = 0;;) {
        while (atomic_load(&w.page->turn) == turn)
            futex_wait(&w.page->turn, turn, 0);
        turn = atomic_load(&w.page->turn);
        serve(&w);
        atomic_store(&w.page->done, turn);
        futex_wake(&w.page->done);
    }
}
