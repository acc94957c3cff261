// SPDX-License-Identifier: Apache-2.0
//
// plumbline's kernel ABI, versions 1 and 2. Copy this one header into your repository, write
// about twenty lines of shim per kernel (see the end), and build a shared library: then `plumb`
// can measure it.
//
// A library exports one C function, plumb_library(), which returns a table of kernels. The tool's
// own child process `bench` loads one or two such libraries (the base's and the head's). It alone
// owns device memory, inputs, timing and checking. A library therefore
//   - allocates no device memory: scratch memory comes as `workspace`, sized by your workspace();
//   - never synchronises, never times, never changes the device's settings;
//   - ideally holds ONE kernel: unused code beside a kernel changes its time by up to 0.4 %.
//
// Version 1 knows plain problems: dense matrices of floating-point numbers, alpha 1, beta 0, as one
// product or as dual-silu. Its structs never change, so a library built against it keeps its code
// and its code id, whichever version of this header it includes. Version 2 adds *forms* (struct
// plumb_form, after the structs of version 1): leading dimensions, alpha and beta, INT8, bias and
// activations, block scales, groups, and problems of named integers for kernels that are no GEMM. A
// kernel chooses its version by its table: a struct plumb_kernel is asked about plain problems
// only, a struct plumb_form_kernel about forms, too.
//
// The matrices of plain problems are dense, and alpha = 1, beta = 0. C is always m rows of n. Each
// row is contiguous. The layouts are
//   TN (0)   A is m rows of k, B is n rows of k;
//   NN (1)   A is m rows of k, B is k rows of n;
//   NT (2)   A is k rows of m, B is k rows of n;
//   TT (3)   A is k rows of m, B is n rows of k.
// A batched problem is `batch` such triples one after the other. With the dual-silu epilogue B is
// two matrices, B1 then B2, and C = silu(A B1) * (A B2).
//
// Some rules surprise people who bring kernels of their own:
//   C      holds NaN before each checked launch. A kernel that computes alpha*AB + beta*C with
//          beta = 0 makes NaN of 0 * NaN. It must not read C when beta is 0; or its shim clears C
//          first, and that is timed, too. With beta, C holds its input instead, written anew before
//          each launch.
//   moves  a, b, c, scales and workspace have other addresses from one launch to the next, so that
//          each launch finds cold memory. Anything made from an address (a tensor map, a cached
//          pointer) must be made in launch(), or kept per address.
//   stream launch() queues everything on the stream that it is given. Code that launches on the
//          default stream is still timed correctly, because that stream and the given one wait for
//          each other. It can be recorded as data if nvcc compiled it with
//          --default-stream per-thread. Code on a stream of its own is neither timed nor recorded.
//   gaps   between rows (a leading dimension larger than a row) hold data that must not change: a
//          kernel that writes there is wrong.
//   column-major: a matrix that lies column by column is the transpose of one that lies row by row,
//          and (A B)^T = B^T A^T. Call a column-major kernel as f(n, m, k, B, A, C) on NN problems,
//          with leading dimensions n, k, n. Call a BLAS that transposes its first operand as
//          f('T', 'N', n, m, k, B, A, C) on TN problems, with leading dimensions k, k, n.
//   linking: the CUDA runtime may be shared (nvcc -cudart shared) or static, nvcc's default; the
//          stream is the driver's and works with both. -lcuda is allowed. If kernels are only
//          listed or compared without a GPU, a stand-in takes the driver's place, so
//          plumb_library() and supports() must not call the driver. Name the architecture by
//          -gencode arch=compute_90a,code=sm_90a: plain -arch=sm_90a compiles for compute_90, where
//          wgmma is refused. With -Xfatbin -compress=false machine code can be compared.
//
// Every struct begins with a size, or is counted by one, so that old libraries stay readable: a
// newer tool reads only the fields that an older library declared.
#ifndef PLUMB_KERNEL_H
#define PLUMB_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PLUMB_ABI_VERSION 1 // the table's rows are struct plumb_kernel
#define PLUMB_ABI_FORMS   2 // the table's rows are struct plumb_form_kernel

// Element types. The values are part of the ABI.
enum plumb_dtype {
    PLUMB_FP32 = 0,
    PLUMB_TF32 = 1, // stored as FP32
    PLUMB_BF16 = 2,
    PLUMB_FP16 = 3,
    PLUMB_E4M3 = 4,
    PLUMB_E5M2 = 5,
    PLUMB_E2M1 = 6,
    PLUMB_E8M0 = 7,
    PLUMB_FP64 = 8,
    PLUMB_INT8 = 9,  // only in forms, without a scale
    PLUMB_INT32 = 10 // sums of products of INT8
};

enum plumb_layout { PLUMB_TN = 0, PLUMB_NN = 1, PLUMB_NT = 2, PLUMB_TT = 3 };

// The epilogues after dual-silu exist in forms only. GELU is x Phi(x); its approximation by tanh is
// accurate enough only for outputs of 16 bits.
enum plumb_epilogue {
    PLUMB_NO_EPILOGUE = 0,
    PLUMB_DUAL_SILU = 1,
    PLUMB_BIAS = 2, // C[i][j] += bias[j]
    PLUMB_RELU = 3,
    PLUMB_GELU = 4,
    PLUMB_SILU = 5,
    PLUMB_BIAS_RELU = 6, // this one and the next: first the bias, then the activation
    PLUMB_BIAS_GELU = 7,
    PLUMB_BIAS_SILU = 8
};

// How timed launches meet the device. model/problem.h describes each regime.
enum plumb_regime {
    PLUMB_COLD = 0,       // alone or in short batches; operands are not in the cache
    PLUMB_STREAM = 1,     // back to back, on other operands each time
    PLUMB_ISOLATED = 2,   // alone on a quiet device; the cache is full of other lines
    PLUMB_DIRTY = 3,      // alone; the cache is full of lines that must be written back
    PLUMB_WARM = 4,       // on the same operands as the launch before
    PLUMB_ACTIVATIONS = 5 // A and C are in the cache, B is not
};

struct plumb_problem {
    int64_t m, n, k;
    int32_t in_type, out_type; // enum plumb_dtype
    int32_t layout;            // enum plumb_layout
    int32_t batch;             // >= 1
    int32_t epilogue;          // enum plumb_epilogue
    // enum plumb_regime, for a prepare() that tries which algorithm is fastest. launch() gets the
    // same value; supports() must not look at it. It is PLUMB_COLD if nothing is timed, as when a
    // kernel is recorded, and in a bench older than this field.
    int32_t regime;
};

// The order in which output tiles are given to thread blocks.
enum plumb_raster { PLUMB_RASTER_M = 0, PLUMB_RASTER_N = 1, PLUMB_RASTER_HILBERT = 2 };

// What runs while a tile's epilogue stores it: nothing (or not known); the K slabs of the next
// tile, multiplied by the same warps; another tile, multiplied by other warps.
enum plumb_overlap {
    PLUMB_OVERLAP_NONE = 0,
    PLUMB_OVERLAP_NEXT_TILE = 1,
    PLUMB_OVERLAP_PINGPONG = 2
};

// The unit that multiplies: not known; FMA units; tensor cores by mma.sync, from registers; tensor
// cores by wgmma, from shared memory.
enum plumb_multiply {
    PLUMB_MULTIPLY_UNKNOWN = 0,
    PLUMB_FMA = 1,
    PLUMB_MMA_SYNC = 2,
    PLUMB_WGMMA = 3
};

// How the kernel is built, for the models that predict its time. Zero means "unknown or
// does not apply".
struct plumb_traits {
    int32_t in_type, out_type, acc_type; // enum plumb_dtype
    int32_t tile_m, tile_n, tile_k;      // output tile of one thread block, and its K slab
    int32_t stages;                      // K slabs in flight
    int32_t cluster_m, cluster_n;        // thread-block cluster; 1 x 1 without one
    int32_t threads;                     // per block (host: worker threads)
    int32_t smem_bytes;    // dynamic + static shared memory per block; 0: operands do not go there
    int32_t registers;     // per thread at launch
    int32_t blocks_per_sm; // how many blocks an SM holds
    int32_t persistent;    // 1: the grid has as many blocks as fit at once
    int32_t raster;        // enum plumb_raster
    int32_t raster_group;  // rows (columns) of tiles walked together; 1: no bands
    int32_t split_k;       // 1: not split, 0: unknown, -1: stream-K, -2: as many parts as there
                           // are SMs for
    int32_t overlap;       // enum plumb_overlap
    int32_t promote_k;     // FP8: sums are added in FP32 after so many elements of K; 0: never
    int32_t multiply;      // enum plumb_multiply
    int32_t reserved[12];
};

struct plumb_args {
    struct plumb_problem problem;
    const void *a, *b;
    void *c;
    const float *scale_a, *scale_b; // scales of whole tensors for fp8 (device memory), else NULL
    void *workspace;                // device memory, 256-byte aligned, may be dirty
    size_t workspace_bytes;
};

struct plumb_kernel {
    const char *name;    // a name that stays the same over commits: [a-z0-9][a-z0-9_.-]*, at
                         // most 200 characters
    const char *summary; // one line
    struct plumb_traits traits;
    // Returns 1 if this kernel supports the problem, else 0. It must be pure and fast, and need no
    // device; the same holds for plumb_library(). Kernels are listed on machines without a device.
    int (*supports)(const struct plumb_problem *problem);
    // Returns the bytes of workspace that a launch needs; NULL means none.
    size_t (*workspace)(const struct plumb_problem *problem);
    // Called once per problem before the first launch, when inputs are ready; untimed and
    // synchronous. It may try algorithms, for example. May be NULL. It writes a one-line note (an
    // algorithm's id) into `note`, which is recorded. `pin` is NULL, or a note from an earlier
    // run whose choice must be reproduced. Returns 0 or an error code, also if it cannot
    // reproduce the choice.
    int (*prepare)(const struct plumb_args *args, void *stream, const char *pin, char *note,
                   size_t note_size);
    // Queues the work and returns 0, or a nonzero code. stream: a cudaStream_t; NULL on the host.
    int (*launch)(const struct plumb_args *args, void *stream);
};

// ---- version 2: forms ----

// How the block scales of one matrix lie. The matrices of a batch lie one after the other, and so
// do the B's of groups and the two of dual-silu; the A of contiguous groups is one matrix. `rows`
// is the number of blocks along an operand's rows, `k` the number along K, both rounded up.
enum plumb_scale_layout {
    PLUMB_SCALES_ROWS = 0, // [rows][k]
    // Blocks of one row: [k][rows]. Blocks of more rows: [rows][k rounded up to 4]. FP32 scales of
    // 1x128 and 128x128 lie in this way for cuBLASLt.
    PLUMB_SCALES_COLUMNS = 1,
    // One byte per scale, blocks of one row. Tiles of 128 rows x 4 of k have 512 bytes each and
    // follow each other along k first, as the tensor cores of Blackwell take them. The scale of row
    // r and block b is at
    //     (r / 128 * ((k + 3) / 4) + b / 4) * 512 + r % 32 * 16 + r % 128 / 32 * 4 + b % 4
    // The padding of the last tiles is not used.
    PLUMB_SCALES_TILED = 2
};

enum plumb_grouping {
    PLUMB_NO_GROUPS = 0,
    // Group g has rows first[g] to first[g] + rows[g] - 1 of A and C. first[g] is a multiple of
    // 128; rows between groups are padding.
    PLUMB_CONTIGUOUS = 1,
    PLUMB_MASKED = 2 // group g has the first rows[g] of the m rows from first[g] = g * m on
};

#define PLUMB_NUMBERS     8
#define PLUMB_NUMBER_NAME 12
#define PLUMB_INPUTS      8

struct plumb_number {
    char name[PLUMB_NUMBER_NAME]; // ends with NUL
    int32_t value;                // >= 1
};

// A problem with everything that struct plumb_problem cannot say. Every field is set, in
// plain problems, too.
struct plumb_form {
    struct plumb_problem problem; // m, n and k are 0 in a problem of named integers
    int64_t lda, ldb, ldc;        // elements from one row to the next, as the matrix lies
    float alpha, beta;            // epilogue(alpha A B + beta C)
    // Block scales, along K (layout TN). The value of element (i, l) of A is multiplied
    // by the scale of block (i / scale_rows_a, l / scale_vector), and so is an element of
    // B, with scale_rows_b.
    int32_t scale_type;   // enum plumb_dtype: E8M0, E4M3, FP32
    int32_t scale_vector; // elements along K of a block; 0: there are no block scales
    int32_t scale_rows_a, scale_rows_b;
    int32_t scale_layout; // enum plumb_scale_layout
    // Groups: each group multiplies its rows of A by a B of its own. The B's lie one after the
    // other (for dual-silu the two of a group together). Rows of A that belong to no group hold
    // zeros. Such rows of C hold zeros before, and must hold zeros afterwards: a kernel may leave
    // them, or write the result of zeros.
    int32_t grouping;     // enum plumb_grouping
    int32_t groups;       // number of groups
    int64_t rows;         // number of rows of A and C in memory, for all groups or the whole batch
    int32_t plain;        // 1: struct plumb_problem alone can express this problem
    int32_t number_count; // 0: it is a GEMM
    struct plumb_number numbers[PLUMB_NUMBERS]; // sorted by name
};

// The arguments of a form's launch(). Two E2M1 lie in a byte, the first in its lower half;
// k is even.
struct plumb_form_args {
    // The arguments of version 1; its `problem` is form.problem. scale_a and scale_b are set
    // for FP8 without block scales, and for E2M1 with them, where each tensor has an FP32
    // scale in addition.
    struct plumb_args args;
    struct plumb_form form;
    const void *block_scales_a, *block_scales_b; // for the whole batch, or for all groups together
    const void *bias;                            // n elements of the output's type
    const int32_t *group_first, *group_rows;     // device memory
    const void *inputs[PLUMB_INPUTS]; // for a problem of named integers, as buffers() states them
};

// The contents of an input of a kernel that is no GEMM.
enum plumb_contents {
    PLUMB_NORMAL = 0,  // normal numbers with mean 0 and standard deviation `scale`
    PLUMB_UNIFORM = 1, // from 0 to `scale`
    PLUMB_INDEX = 2    // whole numbers from 0 to `scale` - 1
};

struct plumb_buffer {
    int64_t count;    // elements
    int32_t type;     // enum plumb_dtype; inputs may be floating-point types, INT8 or INT32
    int32_t contents; // enum plumb_contents; not read for the output
    double scale;     // for the output: the size of its elements, e.g. their standard deviation
};

struct plumb_buffers {
    int32_t input_count;
    int32_t reserved;
    struct plumb_buffer inputs[PLUMB_INPUTS], output;
    // An element of the output may differ by absolute + relative * |the reference's element|.
    double absolute, relative;
};

// A kernel of version 2. If a function is NULL in its first part, version 1, the second part's
// function is asked, about plain problems, too. Most kernels have only the name, the summary and
// the traits in the first part.
struct plumb_form_kernel {
    struct plumb_kernel kernel;
    // The same functions as in struct plumb_kernel, for forms.
    int (*supports)(const struct plumb_form *form);
    size_t (*workspace)(const struct plumb_form *form);
    int (*prepare)(const struct plumb_form_args *args, void *stream, const char *pin, char *note,
                   size_t note_size);
    int (*launch)(const struct plumb_form_args *args, void *stream);
    // For a kernel that is no GEMM: which buffers a problem of named integers has, and what they
    // should hold afterwards. Both functions are host code. The reference must compute in another
    // way than the kernel, in double precision, and give finite numbers. In a pair only the base's
    // reference is asked. Returns 0, or a nonzero code if it cannot.
    int (*buffers)(struct plumb_buffers *out, const struct plumb_form *form);
    int (*reference)(const struct plumb_form *form, const void *const *inputs, double *output);
};

struct plumb_library {
    uint32_t abi_version;               // PLUMB_ABI_VERSION, or PLUMB_ABI_FORMS
    uint32_t kernel_size;               // sizeof(struct plumb_kernel), or of plumb_form_kernel
    const char *device;                 // "cuda" or "host"
    uint32_t count;                     // number of kernels in the table
    const struct plumb_kernel *kernels; // in version 2, each is the first part
                                        // of a plumb_form_kernel
};

#if defined(_WIN32)
#define PLUMB_EXPORT
#else
#define PLUMB_EXPORT __attribute__((visibility("default")))
#endif

// The one exported symbol. Never returns NULL; the table lives as long as the library is loaded.
PLUMB_EXPORT const struct plumb_library *plumb_library(void);
typedef const struct plumb_library *(*plumb_library_function)(void);

// The shim of a library with one kernel: define `static const struct plumb_kernel my_kernel`, and
// then write PLUMB_LIBRARY("cuda", my_kernel).
#define PLUMB_LIBRARY(device_name, kernel)                                                         \
    PLUMB_EXPORT const struct plumb_library *plumb_library(void)                                   \
    {                                                                                              \
        static const struct plumb_library library = {                                              \
            PLUMB_ABI_VERSION, (uint32_t)sizeof(struct plumb_kernel), device_name, 1, &(kernel)};  \
        return &library;                                                                           \
    }

// The same for `static const struct plumb_form_kernel my_kernel`.
#define PLUMB_FORM_LIBRARY(device_name, form_kernel)                                               \
    PLUMB_EXPORT const struct plumb_library *plumb_library(void)                                   \
    {                                                                                              \
        static const struct plumb_library library = {PLUMB_ABI_FORMS,                              \
                                                     (uint32_t)sizeof(struct plumb_form_kernel),   \
                                                     device_name, 1, &(form_kernel).kernel};       \
        return &library;                                                                           \
    }

// The number `name` of a form; 0 if there is none.
static inline int64_t plumb_number(const struct plumb_form *form, const char *name)
{
    for (int32_t i = 0; i < form->number_count; i++) {
        const char *own = form->numbers[i].name, *at = name;
        while (*own && *own == *at)
            own++, at++;
        if (*own == *at)
            return form->numbers[i].value;
    }
    return 0;
}

#ifdef __cplusplus
}
#endif
#endif
