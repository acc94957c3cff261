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
    FORM_CUTLASS,
    FORM_HOST,
    FORM_PLAN,
    FORMS
};
extern const char *const form_names[FORMS]; // as --form takes them
extern const char *const form_words[FORMS]; // what they mean, one line

// The first kernel of who has none yet: a source, and what it defines (signature->file: `file`).
void shim_example(struct buffer *out, struct signature *signature, enum form form,
                  const char *file);
// kernel: its name for plumb.
void shim_write(struct buffer *out, const struct signature *signature, enum form form,
                const char *kernel);

// The plan of that kernel, for a cubin (FORM_PLAN).
void shim_plan(struct buffer *out);

struct shim_policy {
    enum form form;
    const char *arch;          // of CUDA code, e.g. 90a
    bool outside;              // shims lie in an overlay, not in ci/
    const char *in_type;       // of the problems
    const char *out_type;      // of theirs; NULL: as the other says
    const char *layout;        // as in PLUMB_TN
    bool with_cutlass;         // sources name its headers
    const char *cutlass;       // folder in the tree that holds CUTLASS; NULL: $CUTLASS_PATH
    bool cutlass_below;        // that is a submodule: what builds need of it is an input
    const char *libraries;     // to link, such as " -lcublas"
    const char *const *inputs; // none: the whole tree
    size_t input_count;
};
void shim_policy_write(struct buffer *out, const struct shim_policy *policy);

#endif
