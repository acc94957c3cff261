// SPDX-License-Identifier: Apache-2.0
//
// Finds the functions of C and CUDA sources that look like a matrix product, by their parameters'
// names and types. It is no compiler: macros, templates and overloads are not seen through, and
// what is not understood is told apart from what is. Sources are hostile text.
#ifndef PLUMB_SIGNATURES_H
#define PLUMB_SIGNATURES_H

#include "model/base.h"

enum callee {
    CALLEE_KERNEL,   // __global__
    CALLEE_LAUNCHER, // a function of a .cu file that launches one
    CALLEE_HOST,     // a function of a .c file
    CALLEE_CUTLASS   // a type (ci/init/cutlass.h)
};

// The device kernels of CUTLASS, each with arguments of its own.
enum cutlass_device { CUTLASS_NONE, CUTLASS_GEMM, CUTLASS_UNIVERSAL, CUTLASS_ADAPTER };

// What a parameter is given. M to LDC, A to C are those of the function, before any swap.
enum argument {
    ARG_M,
    ARG_N,
    ARG_K,
    ARG_A,
    ARG_B,
    ARG_C,
    ARG_ALPHA,
    ARG_BETA,
    ARG_LDA,
    ARG_LDB,
    ARG_LDC,
    ARG_STREAM,
    ARGUMENT_KINDS
};

enum { PARAMETERS_MAX = 16 };
struct signature {
    enum callee callee;
    const char *file, *name;
    const char *called; // for plumb, before it is made a kernel's name; NULL: as it is named
    bool understood;    // else only the above is known: it may be a matrix product, or not
    bool unnameable;    // its path could not be written in a shim; `why` says so
    const char *why;    // it is not understood, as what comes first of it; else NULL
    enum argument arguments[PARAMETERS_MAX];
    size_t count;
    const char *in_type, *out_type;       // as in PLUMB_FP32, without PLUMB_
    const char *in_spelled, *out_spelled; // as in the source
    enum cutlass_device device;           // of CALLEE_CUTLASS
    const char *layout;                   // of its problems, as in PLUMB_TN
};
struct signature_list {
    struct signature *items;
    size_t count;
};

// Adds what `text`, the source `file`, defines: kernels and launchers of .cu and .cuh, and those
// functions of a .c that are understood. Strings live in the arena.
void signatures_find(struct signature_list *list, const char *file, const char *text,
                     struct arena *arena);

// The text with blanks in place of comments, strings and preprocessor lines. Caller frees.
char *signatures_plain(const char *text);
void signatures_add(struct signature_list *list, const struct signature *s, struct arena *arena);

#endif
