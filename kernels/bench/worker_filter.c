// SPDX-License-Identifier: Apache-2.0
//
// A seccomp filter: a list of what is refused, because libraries of numbers ask for much (files of
// /proc, memory, threads, affinities) that nobody can foresee. clone3 is said not to exist, so that
// the C library makes its threads with clone, whose flags a filter can see.
//
// A process may signal itself, as abort() does. But the first process of a namespace does not even
// get its own SIGKILL or SIGSTOP, and in one without a namespace they would look as if they came
// from outside: asking for one of them is the end, by SIGSYS.
//
// Both builds have the same pages, of outputs and workspaces. So a process may say of memory only
// what concerns itself: pages that it took out or moved cost the other build its time. Nor may it
// have the system do anything later, when it stands still: a timer interrupts whoever runs then.
#include "kernels/bench/worker_filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

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
    SYS_mbind,
    SYS_move_pages,
    SYS_migrate_pages,
#ifdef SYS_set_mempolicy_home_node
    SYS_set_mempolicy_home_node,
#endif
    SYS_io_uring_setup,
    SYS_io_setup,
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

// What stops a process, and what people, schedulers and a machine without memory end one with.
static const int from_outside[] = {SIGKILL, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU,
                                   SIGTERM, SIGINT,  SIGHUP,  SIGQUIT};

// x86-64 has all calls once more from here on where the kernel has x32, and that architecture's
// name.
enum { OTHER_NUMBERS = 0x40000000 };

// What madvise() may say.
static const int advice[] = {
    MADV_NORMAL,     MADV_RANDOM,     MADV_SEQUENTIAL,    MADV_WILLNEED,
    MADV_DONTNEED,   MADV_FREE,       MADV_DONTFORK,      MADV_DOFORK,
    MADV_HUGEPAGE,   MADV_NOHUGEPAGE, MADV_DONTDUMP,      MADV_DODUMP,
    MADV_WIPEONFORK, MADV_KEEPONFORK, MADV_POPULATE_READ, MADV_POPULATE_WRITE};

#define FIELD(name) ((uint32_t)offsetof(struct seccomp_data, name))
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FIELD(field))
// Skips `yes` or `no` of the instructions that follow.
#define IF_EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), yes, no)
#define IF_HAS(bits, yes, no)    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (uint32_t)(bits), yes, no)
#define RETURN(what)             BPF_STMT(BPF_RET | BPF_K, (uint32_t)(what))
#define REFUSE                   RETURN(SECCOMP_RET_ERRNO | EPERM)
#define ALLOW                    RETURN(SECCOMP_RET_ALLOW)

// Two instructions a number: what is returned when it is the one that was loaded.
static void match(struct sock_filter *out, const int *numbers, size_t count, uint32_t answer)
{
    for (size_t i = 0; i < count; i++) {
        out[2 * i] = (struct sock_filter)IF_EQUAL(numbers[i], 0, 1);
        out[2 * i + 1] = (struct sock_filter)RETURN(answer);
    }
}

int worker_filter(struct error *err)
{
    enum { ENDS = 2 * ARRAY_COUNT(from_outside), LIST = 2 * ARRAY_COUNT(refused) };
    enum { ADVICE = 2 * ARRAY_COUNT(advice) };
    const uint32_t self = (uint32_t)getpid();
    const struct sock_filter head[] = {
        LOAD(arch),
        IF_EQUAL(ARCHITECTURE, 1, 0),
        RETURN(SECCOMP_RET_KILL_PROCESS),
        LOAD(nr),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, OTHER_NUMBERS, 0, 1),
        REFUSE,
        IF_EQUAL(SYS_clone3, 0, 1),
        RETURN(SECCOMP_RET_ERRNO | ENOSYS),
        IF_EQUAL(SYS_clone, 0, 4), // flags first, on both architectures; the low half
        LOAD(args[0]),
        IF_HAS(CLONE_THREAD, 1, 0),
        REFUSE,
        ALLOW,
        IF_EQUAL(SYS_kill, 0, 5), // process and signal
        LOAD(args[0]),
        IF_EQUAL(self, 1, 0),
        REFUSE,
        LOAD(args[1]),
        BPF_JUMP(BPF_JMP | BPF_JA, 5, 0, 0),
        IF_EQUAL(SYS_tgkill, 0, 5 + ENDS), // process, thread and signal
        LOAD(args[0]),
        IF_EQUAL(self, 1, 0),
        REFUSE,
        LOAD(args[2]),
    };
    const struct sock_filter memory[] = {
        IF_EQUAL(SYS_madvise, 0, 1 + ADVICE + 1), // address, size and advice
        LOAD(args[2]),
    };
    enum { HEAD = ARRAY_COUNT(head), MEMORY = ARRAY_COUNT(memory) };
    struct sock_filter filter[HEAD + ENDS + 1 + MEMORY + ADVICE + 1 + LIST + 1];
    struct sock_filter *at = filter + HEAD;
    memcpy(filter, head, sizeof(head));
    match(at, from_outside, ARRAY_COUNT(from_outside), SECCOMP_RET_KILL_PROCESS);
    at += ENDS;
    *at++ = (struct sock_filter)ALLOW;
    memcpy(at, memory, sizeof(memory));
    match(at + MEMORY, advice, ARRAY_COUNT(advice), SECCOMP_RET_ALLOW);
    at += MEMORY + ADVICE;
    *at++ = (struct sock_filter)REFUSE;
    match(at, refused, ARRAY_COUNT(refused), SECCOMP_RET_ERRNO | EPERM);
    at[LIST] = (struct sock_filter)ALLOW;
    const struct sock_fprog program = {.len = ARRAY_COUNT(filter), .filter = filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        return error_set(err, "seccomp: %s", strerror(errno));
    return 0;
}
#else
int worker_filter(struct error *err)
{
    return error_set(err, "seccomp: no filter for this processor is written yet");
}
#endif
