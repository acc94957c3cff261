// SPDX-License-Identifier: Apache-2.0
//
// The page that bench shares with the process of a library (kernels/bench/arm.h). The baton is a
// pair of counters: bench raises `turn` and waits until `done` equals it. What the process writes
// here is hostile; bench reads each field once and checks it.
#ifndef PLUMB_ARM_PAGE_H
#define PLUMB_ARM_PAGE_H

#include "kernels/kernel.h"

#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum arm_request { ARM_LOAD, ARM_PREPARE, ARM_LAUNCH, ARM_REFERENCE, ARM_NOTHING };
enum { ARM_PATH = 4096, ARM_NAME = 256, ARM_TEXT = 1024, ARM_SETS = 1024 };

// The reasons for which ARM_LOAD finds that a library cannot be timed.
enum arm_finding {
    ARM_FOUND,
    ARM_NO_LIBRARY, // it cannot be loaded; `text` says why
    ARM_NO_KERNEL,  // no kernel of this name
    ARM_OTHER_KIND, // a library for another device; `text` names it
    ARM_NOT_DONE,   // the kernel does not support this problem
    ARM_NOT_STATED, // the problem is no GEMM, and the library does not state its buffers
    ARM_FINDINGS
};

struct arm_page {
    _Atomic uint32_t turn, done; // futexes

    // Written by bench:
    uint32_t request; // enum arm_request
    char path[ARM_PATH], kernel[ARM_NAME], kind[ARM_NAME], pin[ARM_TEXT];
    char veiled[ARM_PATH]; // the path in the process's own namespace; "": the same path
    uint32_t has_pin;
    uint32_t bare;    // not 0: it has no namespaces of its own, or they hide nothing
    int32_t why_bare; // the error number
    struct plumb_form form;
    uint32_t first, sets, launches; // launch i uses args[(first + i) % sets]
    struct plumb_form_args args[ARM_SETS];
    double *reference; // for args[0]; the process writes it here

    // Written by the process:
    uint32_t finding; // enum arm_finding
    int32_t code;     // of prepare(), launch() or reference()
    int32_t threads;  // of the kernel's traits
    uint64_t workspace_bytes;
    struct plumb_buffers stated; // for a kernel that is no GEMM
    char text[ARM_TEXT];         // why it is not possible, or the kernel's note
};

// ==== waiting for a word that another process writes ====
//
// Waits for a word that another process writes (futex(2)); the baton is passed in this way.

// Waits while *word is `seen`, at most `most_ms`; 0: without a limit. True when the time ran out.
static inline bool futex_wait(_Atomic uint32_t *word, uint32_t seen, int most_ms)
{
    const struct timespec most = {.tv_sec = most_ms / 1000, .tv_nsec = most_ms % 1000 * 1000000L};
    const long code = syscall(SYS_futex, word, FUTEX_WAIT, seen, most_ms ? &most : NULL, NULL, 0);
    return code != 0 && atomic_load(word) == seen;
}

static inline void futex_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

#endif
