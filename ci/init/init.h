// SPDX-License-Identifier: Apache-2.0
//
// What `plumb init` finds in HEAD's sources: functions and types that may be a matrix product, the
// folders that a build reads, and the libraries that the sources name.
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

// Finds the functions of C and CUDA sources that look like a matrix product, by the names and types
// of their parameters. This is no compiler: it does not expand macros and templates or resolve
// overloads. Functions that it does not understand are listed as such. Sources are hostile text.

enum callee {
    CALLEE_KERNEL,   // __global__
    CALLEE_LAUNCHER, // a function of a .cu file that launches a kernel
    CALLEE_HOST      // a function of a .c file
};

// The argument that a shim passes for a parameter. M to LDC and A to C are named as the function
// names them, before any swap.
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
    ARG_HANDLE, // a library's handle, which a kernel without that library ignores
    ARGUMENT_KINDS
};

enum { PARAMETERS_MAX = 16 };

// The launch of a kernel in a source.
struct launch {
    const char *kernel, *file;
    const char *arguments; // the template arguments as they are written; NULL: the kernel is no
                           // template
    const char *at;        // where it stands in the plain text, as long as that text exists
    size_t by;             // the function that launches it, if that is understood: its index among
                           // the functions plus 1; 0: none
};

struct launch_list {
    struct launch *items;
    size_t count;
};

struct source_text {
    const char *file, *text;
};

// Finds everything that the sources launch. `plain` are their texts without comments, strings and
// directives. Strings live in the arena.
void launches_find(struct launch_list *out, const struct source_text *sources,
                   const char *const *plain, size_t count, struct arena *arena);

struct signature {
    enum callee callee;
    const char *file, *name;
    // `name` includes the namespaces. `called` is the name that plumb gives the kernel, before it
    // is cleaned; NULL: `name`.
    const char *called;
    bool understood;    // false: only the members above are known, and it may be a matrix product
                        // or not
    bool unnameable;    // a shim could not write its path; `why` says so
    bool waits;         // it launches and then waits for the device
    const char *beside; // another source, which defines a kernel that this launcher launches, or
                        // NULL
    const char *why;    // the first reason why it is not understood; else NULL
    enum argument arguments[PARAMETERS_MAX];
    size_t count;
    const char *in_type, *out_type;       // as in PLUMB_FP32, but without PLUMB_
    const char *in_spelled, *out_spelled; // as the source spells them
    bool covered;                         // a launcher that is understood launches this kernel
    bool square;                          // it takes one size, which is m, n and k
    bool product;                         // its name says that it multiplies matrices
};

struct signature_list {
    struct signature *items;
    size_t count;
};

// Adds the functions that the sources define: kernels and launchers of .cu and .cuh files, and
// functions of .c files that are understood or have a matrix product's name. Strings live in the
// arena.
void signatures_find(struct signature_list *list, const struct source_text *sources, size_t count,
                     struct arena *arena);

// ---- everything that init needs ----

enum { INPUTS_MAX = 24 };

struct sources {
    bool committed; // the repository has a HEAD
    struct signature_list found;
    struct source_text *texts; // the sources in which functions were looked for
    size_t text_count;
    const char *inputs[INPUTS_MAX]; // the top folders and files that a build reads, unless it reads
                                    // the whole tree
    size_t input_count;
    bool whole_tree;
    const char *libraries; // what has to be linked, such as " -lcublas"
    const char *folders;   // the folders of headers, such as " -Iinclude"
    const char *flags[2];  // flags that the repository's own build gives to a C compiler and to
                           // nvcc
    bool names_c;          // there are sources,
    bool names_cpp;        // of them some C++,
    bool names_cuda;       // and some CUDA
    const char *cutlass; // the folder of CUTLASS in the tree, where no kernel is looked for; NULL:
                         // it is not there
    const char *missing; // the command to type, if a submodule whose headers a source may include
                         // is not on this machine
};

// The file with this ending (".cu", ".c") that defines the (mangled) function which a loader did
// not find. NULL: there is none, or it has a main() of its own.
const char *sources_defining(const struct sources *sources, const char *symbol, const char *ending);

// Reads the sources of HEAD. Strings live in the arena. A repository without a commit has no
// sources.
int sources_read(struct sources *out, const struct repository *repository, struct arena *arena,
                 struct error *err);

enum { REACH_MOST = 1 << 18 }; // how many bytes may lie between two matching brackets

// A piece of text given by its two ends; no NUL follows it.
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

// Finds the bracket that matches the one at `at`. NULL: there is none, or it is too far away.
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
// The texts that `plumb init` writes: a policy, and a shim for each kernel that it understands.
// They build as they are. The grid of a kernel that no function launches is a guess, with a comment
// that says so: if a program launches it, a capture needs no guess.

// How the matrices lie in memory, as the user says it; see kernels/kernel.h.
enum form {
    FORM_CUDA_NN,
    FORM_CUDA_TN,
    FORM_CUDA_COLUMN,
    FORM_HOST,
    FORM_NUMBERS,
    FORM_HOST_NUMBERS,
    FORMS
};
extern const char *const form_names[FORMS]; // the names that --form takes
extern const char *const form_words[FORMS]; // their meanings, one line each
static inline bool form_is_host(enum form form)
{
    return form == FORM_HOST || form == FORM_HOST_NUMBERS;
}
static inline bool form_is_numbers(enum form form) // the form of kernels that are no GEMM
{
    return form == FORM_NUMBERS || form == FORM_HOST_NUMBERS;
}

// How a function is called: the layout of the problems that it supports, and whether its C is
// column-major (then m and n are swapped, and so are A and B).
struct call {
    const char *layout; // as in PLUMB_TN
    bool columns;
    bool clear;  // C is set to 0 before the call, because the function reads it
    bool square; // its results are right only where m = n = k
};
struct call shim_call(enum form form, const struct signature *signature);
// The call in words: ", as column-major, B transposed".
const char *shim_call_words(const struct call *call, struct arena *arena);

// Writes a first kernel for a repository that has none: its source, which will be the file `file`,
// and its signature. The source of a kernel that is no GEMM contains its own shim.
void shim_example(struct buffer *out, struct signature *signature, enum form form,
                  const char *file);
// Writes the shim of a function. `kernel` is the name that plumb gives it.
void shim_write(struct buffer *out, const struct signature *signature, const struct call *call,
                const char *kernel);
// Writes one library with a kernel for each way of calling the function. Running them shows which
// way is right.
void shim_write_tries(struct buffer *out, const struct signature *signature,
                      const struct call *calls, const char *const *kernels, size_t count);

// Kernels that share a set of problems.
struct shim_group {
    const char *name; // the name of their set of problems; the first is "main"
    const char *in_type, *out_type, *layout;
    bool recorded;        // only device code is timed
    bool square;          // results are right only where m = n = k
    const char **kernels; // their names in plumb
    size_t kernel_count;
};

struct shim_policy {
    enum form form;
    const char *arch;                // the architecture of CUDA code, e.g. 90a
    bool outside;                    // the shims lie in an overlay, not in ci/
    const struct shim_group *groups; // at least one
    size_t group_count;
    const char *libraries;     // to link, such as " -lcublas"
    const char *flags;         // the flags of the repository's own build, such as " -Iinclude"
    const char *const *inputs; // none: the whole tree
    size_t input_count;
};
void shim_policy_write(struct buffer *out, const struct shim_policy *policy);

#endif
