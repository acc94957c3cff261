// SPDX-License-Identifier: Apache-2.0
//
// What HEAD's sources hold that `plumb init` needs: functions and types that may be a matrix
// product, the folders that a build reads, the libraries that they name, and CUTLASS itself.
#ifndef PLUMB_INIT_SOURCES_H
#define PLUMB_INIT_SOURCES_H

#include "model/base.h"
#include "model/buffer.h"
#include "runner/git/repository.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

// ---- functions and types that a source names ----

// Finds the functions of C and CUDA sources that look like a matrix product, by their parameters'
// names and types. It is no compiler: macros, templates and overloads are not seen through, and
// what is not understood is told apart from what is. Sources are hostile text.

enum callee {
    CALLEE_KERNEL,   // __global__
    CALLEE_LAUNCHER, // a function of a .cu file that launches one
    CALLEE_HOST      // a function of a .c file
};

// The argument that a shim gives a parameter. M to LDC and A to C are the function's own, before
// any swap.
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
    ARG_HANDLE, // of a library, which a kernel of one's own does not use
    ARGUMENT_KINDS
};

enum { PARAMETERS_MAX = 16 };

// A launch of a kernel in a source.
struct launch {
    const char *kernel, *file;
    const char *arguments; // of a template, as they are written; NULL: it is none
    const char *at;        // in the plain text, while that is there
    size_t by;             // the launcher that is understood, which launches it; 0: none, else its
                           // place among the functions, and 1
};

struct launch_list {
    struct launch *items;
    size_t count;
};

struct source_text {
    const char *file, *text;
};

// All that the sources launch; plain: their texts without comments, strings and directives. Strings
// live in the arena.
void launches_find(struct launch_list *out, const struct source_text *sources,
                   const char *const *plain, size_t count, struct arena *arena);

struct signature {
    enum callee callee;
    const char *file, *name;
    // `name` is with its namespaces. For plumb, before it is made a kernel's name; NULL: as that.
    const char *called;
    bool understood;    // else only the above is known: it may be a matrix product, or not
    bool unnameable;    // its path could not be written in a shim; `why` says so
    bool waits;         // a launcher that waits for the device
    const char *beside; // another source, which defines what a launcher launches, or NULL
    const char *why;    // it is not understood, as what comes first of it; else NULL
    enum argument arguments[PARAMETERS_MAX];
    size_t count;
    const char *in_type, *out_type;       // as in PLUMB_FP32, without PLUMB_
    const char *in_spelled, *out_spelled; // as in the source
    bool covered;                         // a launcher that is understood launches it
    bool square;                          // it is given one size, for m, n and k
    bool product;                         // its name says that it multiplies matrices
};

struct signature_list {
    struct signature *items;
    size_t count;
};

// Adds what the sources define: kernels and launchers of .cu and .cuh, and those functions of a .c
// that are understood, or are called as a matrix product. Strings live in the arena.
void signatures_find(struct signature_list *list, const struct source_text *sources, size_t count,
                     struct arena *arena);

// ---- all that init needs ----

enum { INPUTS_MAX = 24 };

struct sources {
    bool committed; // there is a HEAD
    struct signature_list found;
    struct source_text *texts; // in which functions were looked for
    size_t text_count;
    const char *inputs[INPUTS_MAX]; // top folders and files, unless the whole tree is read
    size_t input_count;
    bool whole_tree;
    const char *libraries; // to link, such as " -lcublas"
    const char *folders;   // of headers, such as " -Iinclude"
    const char *flags[2];  // that its own build gives to a C compiler, and to nvcc
    bool names_c;          // there are sources,
    bool names_cpp;        // of them some C++,
    bool names_cuda;       // and some CUDA
    bool names_cutlass;    // some include its headers,
    bool names_device;     // and some take its device kernels, which a program launches
    const char *cutlass;   // the folder of CUTLASS in the tree, or NULL: not there
    bool cutlass_below;    // it is a submodule
    const char *missing;   // the submodule that may be CUTLASS is not on this machine: what to type
};

// The file of this ending (".cu", ".c") that defines the function which a loader misses (as it is
// mangled), or NULL: none, or one that has a main() of its own.
const char *sources_defining(const struct sources *sources, const char *symbol, const char *ending);

// Strings live in the arena. A repository without a commit has no sources.
int sources_read(struct sources *out, const struct repository *repository, struct arena *arena,
                 struct error *err);

enum { REACH_MOST = 1 << 18 }; // how far a bracket may reach

// A text between two places, not ended by NUL.
struct span {
    const char *at, *end;
};

static inline bool in_word(int c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static inline const char *skip_blanks(const char *at)
{
    while (isspace((unsigned char)*at))
        at++;
    return at;
}

static inline struct span word_at(const char *at)
{
    struct span word = {at, at};
    while (in_word(*word.end))
        word.end++;
    return word;
}

// The matching bracket of the one at `at`, or NULL: none, or too far away.
static inline const char *match(const char *at, char open, char close)
{
    const char *begin = at;
    for (int depth = 0; *at && at - begin < REACH_MOST; at++) {
        depth += (*at == open) - (*at == close);
        if (depth == 0)
            return at;
    }
    return NULL;
}

static inline struct span trimmed(struct span text)
{
    while (text.at < text.end && isspace((unsigned char)*text.at))
        text.at++;
    while (text.end > text.at && isspace((unsigned char)text.end[-1]))
        text.end--;
    return text;
}

// ==== shims ====
//
// The texts that `plumb init` writes: a policy, and a shim per kernel that it understands. They
// build as they are; what cannot be known from a source (a launch's grid) is a guess that says so,
// and the stopwatch's check finds it out when it is wrong.

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
    size_t grid; // < SHIM_GRIDS; of CALLEE_KERNEL alone
};
enum { SHIM_GRIDS = 42 };
struct call shim_call(enum form form, const struct signature *signature);
// The call in words: "as column-major, launched with blocks of 16x16 for 16x16 of C".
const char *shim_call_words(const struct signature *signature, const struct call *call,
                            struct arena *arena);

// Writes a first kernel for a repository that has none: its source, named `file`, and its
// signature. The source of a kernel that is no GEMM is its own shim.
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
