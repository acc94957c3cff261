// SPDX-License-Identifier: Apache-2.0
//
// A seccomp filter: a list of what is refused, because libraries of numbers ask for much (files of
// /proc, memory, threads, affinities) that nobody can foresee. clone3 is said not to exist, so that
// the C library makes its threads with clone, whose flags a filter can see.
#include "kernels/bench/worker_filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
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
    SYS_io_uring_setup,
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

#define FIELD(name) ((uint32_t)offsetof(struct seccomp_data, name))
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FIELD(field))
// Skips `yes` or `no` of the instructions that follow.
#define IF_EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), yes, no)
#define IF_HAS(bits, yes, no)    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (uint32_t)(bits), yes, no)
#define RETURN(what)             BPF_STMT(BPF_RET | BPF_K, (uint32_t)(what))
#define REFUSE                   RETURN(SECCOMP_RET_ERRNO | EPERM)
#define ALLOW                    RETURN(SECCOMP_RET_ALLOW)

int worker_filter(struct error *err)
{
    const uint32_t self = (uint32_t)getpid();
    const struct sock_filter head[] = {
        LOAD(arch),
        IF_EQUAL(ARCHITECTURE, 1, 0),
        RETURN(SECCOMP_RET_KILL_PROCESS),
        LOAD(nr),
        IF_EQUAL(SYS_clone3, 0, 1),
        RETURN(SECCOMP_RET_ERRNO | ENOSYS),
        IF_EQUAL(SYS_clone, 0, 4), // flags first, on both architectures; the low half
        LOAD(args[0]),
        IF_HAS(CLONE_THREAD, 1, 0),
        REFUSE,
        ALLOW,
        IF_EQUAL(SYS_kill, 1, 0),
        IF_EQUAL(SYS_tgkill, 0, 4),
        LOAD(args[0]),
        IF_EQUAL(self, 1, 0),
        REFUSE,
        ALLOW,
    };
    enum { HEAD = ARRAY_COUNT(head), LIST = ARRAY_COUNT(refused) };
    struct sock_filter filter[HEAD + 2 * LIST + 1];
    memcpy(filter, head, sizeof(head));
    for (size_t i = 0; i < LIST; i++) {
        filter[HEAD + 2 * i] = (struct sock_filter)IF_EQUAL(refused[i], 0, 1);
        filter[HEAD + 2 * i + 1] = (struct sock_filter)REFUSE;
    }
    filter[HEAD + 2 * LIST] = (struct sock_filter)ALLOW;
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
