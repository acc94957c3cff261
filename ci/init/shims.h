// SPDX-License-Identifier: Apache-2.0
//
// The texts that `plumb init` writes: a policy, and a shim per kernel that it understands. They
// build as they are; what cannot be known from a source (a launch's grid) is a guess that says so,
// and the stopwatch's check finds it out when it is wrong.
#ifndef PLUMB_SHIMS_H
#define PLUMB_SHIMS_H

#include "ci/init/sources.h"
#include "model/buffer.h"

// How the matrices lie in the caller's words; see kernels/kernel.h.
enum form {
    FORM_CUDA_NN,
    FORM_CUDA_TN,
    FORM_CUDA_COLUMN,
    FORM_HOST,
    FORM_NUMBERS,
    FORM_HOST_NUMBERS,
    FORMS
};
extern const char *const form_names[FORMS]; // as --form takes them
extern const char *const form_words[FORMS]; // what they mean, one line
static inline bool form_is_host(enum form form)
{
    return form == FORM_HOST || form == FORM_HOST_NUMBERS;
}
static inline bool form_is_numbers(enum form form) // of kernels that are no GEMM
{
    return form == FORM_NUMBERS || form == FORM_HOST_NUMBERS;
}

// How a function is called: the layout of the problems that it does, whether its C lies column by
// column (then m and n change places, and A and B), and with which grid a kernel is launched.
struct call {
    const char *layout; // as in PLUMB_TN
    bool columns;
    bool clear;  // C is set to 0 before, for the function reads it
    bool square; // it is right where m = n = k alone
    size_t grid; // < SHIM_GRIDS, or SHIM_OWN_GRID; of CALLEE_KERNEL alone
};
enum { SHIM_GRIDS = 42, SHIM_OWN_GRID = SHIM_GRIDS }; // that of the signature's launch
// Whether the sources say with which grid and block the kernel is launched.
bool shim_has_grid(const struct signature *signature);
struct call shim_call(enum form form, const struct signature *signature);
// The call in words: "as column-major, launched with blocks of 16x16 for 16x16 of C".
const char *shim_call_words(const struct signature *signature, const struct call *call,
                            struct arena *arena);

// The first kernel of who has none yet: a source, and what it defines (signature->file: `file`). Of
// one that is no GEMM it is the shim, too.
void shim_example(struct buffer *out, struct signature *signature, enum form form,
                  const char *file);
// kernel: its name for plumb.
void shim_write(struct buffer *out, const struct signature *signature, const struct call *call,
                const char *kernel);
// One library with a kernel for each way to call the function: which of them is right is tried.
void shim_write_tries(struct buffer *out, const struct signature *signature,
                      const struct call *calls, const char *const *kernels, size_t count);

// Kernels with problems of one kind.
struct shim_group {
    const char *name; // of its set of problems; the first is "main"
    const char *in_type, *out_type, *layout;
    bool recorded;        // device code alone is timed
    bool square;          // right where m = n = k alone
    const char **kernels; // as plumb calls them
    size_t kernel_count;
};

struct shim_policy {
    enum form form;
    const char *arch;                // of CUDA code, e.g. 90a
    bool outside;                    // shims lie in an overlay, not in ci/
    const struct shim_group *groups; // at least one
    size_t group_count;
    bool with_cutlass;         // sources name its headers
    const char *cutlass;       // folder in the tree that holds CUTLASS; NULL: $CUTLASS_PATH
    bool cutlass_below;        // that is a submodule: what builds need of it is an input
    const char *libraries;     // to link, such as " -lcublas"
    const char *flags;         // that the repository's own build gives, such as " -Iinclude"
    const char *const *inputs; // none: the whole tree
    size_t input_count;
};
void shim_policy_write(struct buffer *out, const struct shim_policy *policy);

#endif
