// SPDX-License-Identifier: Apache-2.0
//
// plumbline's kernel ABI, versions 1 and 2. Copy this one header into your repository, write about
// twenty lines of shim per kernel (see the end), build a shared library, and `plumb` can measure
// it.
//
// A library exports one C function, plumb_library(), which returns a table of kernels. The tool's
// own child process `bench` loads one or two such libraries (the base's and the head's),
// and it alone owns device memory, inputs, timing and checking. A library therefore
//   - allocates no device memory: scratch comes as `workspace`, sized by your workspace();
//   - never synchronises, never times, never changes the device's settings;
//   - holds ideally ONE kernel: unused code beside a kernel moves its time by up to 0.4 %.
//
// Version 1 knows plain problems: dense matrices of floating-point numbers, alpha 1, beta 0, alone
// or as dual-silu. Its structs never change, so a library built against it stays what it is, code
// and code id, whichever of these headers it includes. Version 2 adds *forms* (struct plumb_form,
// behind version 1's): leading dimensions, alpha and beta, INT8, bias and activations, block
// scales, groups, and problems of named integers, for kernels that are no GEMM. A kernel says which
// of the two it is by its table: struct plumb_kernel is asked about plain problems alone,
// struct plumb_form_kernel about forms too.
//
// Matrices of plain problems are dense. In layout TN (0) A is m rows of k, B is n rows of k, C is m
// rows of n, each row contiguous; NN (1) has B as k rows of n; NT (2) that and A as k rows of m; TT
// (3) A as k rows of m. alpha = 1, beta = 0. Batched problems are `batch` such triples one after
// the other. With the dual-silu epilogue B is two matrices, B1 then B2, and C = silu(A B1) * (A
// B2).
//
// What surprises people who bring kernels of their own:
//   C      holds NaN before each checked launch. alpha = 1 and beta = 0 are meant, and a kernel
//          that computes alpha*AB + beta*C makes NaN of 0 * NaN: it must not read C when beta is 0,
//          or its shim clears C first, which is timed too. With beta, C holds its input instead,
//          written anew before each launch.
//   moves  a, b, c, scales and workspace are other addresses from one launch to the next, so that
//          each finds cold memory. What is made of an address (a tensor map, a cached pointer) is
//          made in launch(), or kept per address.
//   stream launch() queues everything on the stream that it is given. Code that launches on the
//          default stream is timed rightly all the same, since that stream and the given one wait
//          for each other, and can be recorded as data if nvcc compiled it with
//          --default-stream per-thread; on a stream of its own neither holds.
//   gaps   between rows (a leading dimension larger than a row) hold something and keep it: a
//   kernel
//          that writes there is wrong.
//   column-major: what lies column by column is the transpose of what lies row by row, and
//          (A B)^T = B^T A^T. Call a column-major kernel as f(n, m, k, B, A, C) on NN problems; a
//          BLAS that transposes its first operand, f('T', 'N', n, m, k, B, A, C), on TN problems.
//          Leading dimensions are then n, k, n, and k, k, n.
//   linking: the CUDA runtime shared (nvcc -cudart shared) or static, nvcc's default; the stream is
//          the driver's and serves both. -lcuda is fine: where kernels are only listed or compared
//          without a GPU, a stand-in takes the driver's place, so plumb_library() and supports()
//          must not call it. Name the architecture by -gencode arch=compute_90a,code=sm_90a:
//          -arch=sm_90a goes by compute_90, where wgmma is refused. With -Xfatbin -compress=false
//          machine code can be compared.
//
// Every struct begins with or is counted by a size, so that old libraries stay readable: a newer
// tool reads only what an older library declared.
#ifndef PLUMB_KERNEL_H
#define PLUMB_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PLUMB_ABI_VERSION 1 // a table of struct plumb_kernel
#define PLUMB_ABI_FORMS   2 // a table of struct plumb_form_kernel

// Element types; values are part of the ABI.
enum plumb_dtype {
    PLUMB_FP32 = 0,
    PLUMB_TF32 = 1, // FP32 storage
    PLUMB_BF16 = 2,
    PLUMB_FP16 = 3,
    PLUMB_E4M3 = 4,
    PLUMB_E5M2 = 5,
    PLUMB_E2M1 = 6,
    PLUMB_E8M0 = 7,
    PLUMB_FP64 = 8,
    PLUMB_INT8 = 9,  // of forms, as is
    PLUMB_INT32 = 10 // the sum of products of INT8
};

enum plumb_layout { PLUMB_TN = 0, PLUMB_NN = 1, PLUMB_NT = 2, PLUMB_TT = 3 };

// Those behind dual-silu are of forms. GELU is x Phi(x); what tanh gives instead is near enough for
// outputs of 16 bits alone.
enum plumb_epilogue {
    PLUMB_NO_EPILOGUE = 0,
    PLUMB_DUAL_SILU = 1,
    PLUMB_BIAS = 2, // C[i][j] += bias[j]
    PLUMB_RELU = 3,
    PLUMB_GELU = 4,
    PLUMB_SILU = 5,
    PLUMB_BIAS_RELU = 6, // the bias first
    PLUMB_BIAS_GELU = 7,
    PLUMB_BIAS_SILU = 8
};

// How launches that are timed meet the device; model/problem.h says more of each.
enum plumb_regime {
    PLUMB_COLD = 0,       // alone, or in short batches, operands not in the cache
    PLUMB_STREAM = 1,     // back to back, on other operands each time
    PLUMB_ISOLATED = 2,   // alone on a quiet device, the cache full of other lines
    PLUMB_DIRTY = 3,      // alone, the cache full of lines to write back
    PLUMB_WARM = 4,       // again on the operands of the launch before
    PLUMB_ACTIVATIONS = 5 // A and C in the cache, B not
};

struct plumb_problem {
    int64_t m, n, k;
    int32_t in_type, out_type; // enum plumb_dtype
    int32_t layout;            // enum plumb_layout
    int32_t batch;             // >= 1
    int32_t epilogue;          // enum plumb_epilogue
    // enum plumb_regime, for a prepare() that tries what is fastest; launch() is told the same one,
    // and supports() must not look at it. PLUMB_COLD where nothing is timed, as where a kernel is
    // recorded, and by a bench that is older than this field.
    int32_t regime;
};

// Order in which output tiles are given to thread blocks.
enum plumb_raster { PLUMB_RASTER_M = 0, PLUMB_RASTER_N = 1, PLUMB_RASTER_HILBERT = 2 };

// What hides a tile's epilogue: nothing (or unknown); the same warps store it between the K slabs
// of their next tile; other warps multiply another tile meanwhile.
enum plumb_overlap {
    PLUMB_OVERLAP_NONE = 0,
    PLUMB_OVERLAP_NEXT_TILE = 1,
    PLUMB_OVERLAP_PINGPONG = 2
};

// What multiplies: nothing known; FMA units; tensor cores by mma.sync, from registers; by wgmma,
// from shared memory.
enum plumb_multiply {
    PLUMB_MULTIPLY_UNKNOWN = 0,
    PLUMB_FMA = 1,
    PLUMB_MMA_SYNC = 2,
    PLUMB_WGMMA = 3
};

// What the kernel is made of; zero means "unknown or does not apply". Models read these.
struct plumb_traits {
    int32_t in_type, out_type, acc_type; // enum plumb_dtype
    int32_t tile_m, tile_n, tile_k;      // output tile of one thread block, and its K slab
    int32_t stages;                      // K slabs in flight
    int32_t cluster_m, cluster_n;        // thread-block cluster; 1 x 1 without
    int32_t threads;                     // per block (host: worker threads)
    int32_t smem_bytes;    // dynamic + static shared memory per block; 0 = operands do not go there
    int32_t registers;     // per thread at launch
    int32_t blocks_per_sm; // occupancy
    int32_t persistent;    // 1: grid = resident blocks
    int32_t raster;        // enum plumb_raster
    int32_t raster_group;  // rows (columns) of tiles walked together; 1 = plain
    int32_t split_k;       // 1 = none, 0 = unknown, -1 = stream-K, -2 = as many parts as find SMs
    int32_t overlap;       // enum plumb_overlap
    int32_t promote_k;     // FP8: sums are added up in FP32 every so much of K; 0 = never
    int32_t multiply;      // enum plumb_multiply
    int32_t reserved[12];
};

struct plumb_args {
    struct plumb_problem problem;
    const void *a, *b;
    void *c;
    const float *scale_a, *scale_b; // per-tensor scales for fp8 (device memory), else NULL
    void *workspace;                // device memory, 256-byte aligned, may be dirty
    size_t workspace_bytes;
};

struct plumb_kernel {
    const char *name; // stable identity over commits: [a-z0-9][a-z0-9_.-]*, at most 200 characters
    const char *summary; // one line
    struct plumb_traits traits;
    // 1 if this kernel can do the problem, else 0. Must be pure and fast, and need no device, as
    // plumb_library() must not: kernels are listed where there is none.
    int (*supports)(const struct plumb_problem *problem);
    // Bytes of workspace needed; NULL means none.
    size_t (*workspace)(const struct plumb_problem *problem);
    // Untimed and synchronous, once per problem before the first launch, after inputs are ready:
    // e.g. trying algorithms. May be NULL. Writes a one-line note (algorithm id) into `note`, which
    // is recorded. `pin` is NULL or a note from an earlier run that must be reproduced (nonzero if
    // it cannot). Returns 0 or an error code.
    int (*prepare)(const struct plumb_args *args, void *stream, const char *pin, char *note,
                   size_t note_size);
    // Queues the work and returns 0, or a nonzero code. stream: cudaStream_t, NULL on the host.
    int (*launch)(const struct plumb_args *args, void *stream);
};

// ---- version 2: forms ----

// How the block scales of one matrix lie; those of a batch, of B's of groups (of dual-silu's two)
// lie one matrix after the other, and A of contiguous groups is one matrix. `rows` counts the
// blocks of rows of an operand, `k` its blocks along K, both rounded up.
enum plumb_scale_layout {
    PLUMB_SCALES_ROWS = 0, // [rows][k]
    // Blocks of one row: [k][rows]. Of more: [rows][k rounded up to 4]. So cuBLASLt has FP32 scales
    // of 1x128 and 128x128.
    PLUMB_SCALES_COLUMNS = 1,
    // One byte each, blocks of one row. Tiles of 128 rows x 4 of k, 512 bytes, along k first, as
    // the tensor cores of Blackwell take them: the scale of row r and block b is at
    //     (r / 128 * ((k + 3) / 4) + b / 4) * 512 + r % 32 * 16 + r % 128 / 32 * 4 + b % 4
    // What pads the last tiles is not read for anything.
    PLUMB_SCALES_TILED = 2
};

enum plumb_grouping {
    PLUMB_NO_GROUPS = 0,
    // Group g has rows first[g] to first[g] + rows[g] - 1 of A and C; first[g] is a multiple of
    // 128. Rows between groups are padding.
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

// A problem with all that a plain one does not say. Every field is set, of plain problems too.
struct plumb_form {
    struct plumb_problem problem; // of named integers m, n and k are 0
    int64_t lda, ldb, ldc;        // elements from one row to the next, as the matrix lies
    float alpha, beta;            // epilogue(alpha A B + beta C)
    // Block scales, along K (layout TN). Element (i, l) of A stands for its value times the scale
    // of block (i / scale_rows_a, l / scale_vector), and so element (l, j) of B with scale_rows_b.
    int32_t scale_type;   // enum plumb_dtype: E8M0, E4M3, FP32
    int32_t scale_vector; // elements along K of a block; 0: there are no block scales
    int32_t scale_rows_a, scale_rows_b;
    int32_t scale_layout; // enum plumb_scale_layout
    // Groups: each multiplies its rows of A by a B of its own, which lie one after the other (of
    // dual-silu its two matrices together). Rows of A that are no group's hold zeros. Such rows of
    // C hold zeros before, and zeros after: they may be left or written with what zeros give.
    int32_t grouping;     // enum plumb_grouping
    int32_t groups;       // how many
    int64_t rows;         // of A and C in memory, all groups or all of the batch
    int32_t plain;        // 1: version 1 can say this problem
    int32_t number_count; // 0: a GEMM
    struct plumb_number numbers[PLUMB_NUMBERS]; // by name
};

// The arguments of a form's launch(). E2M1 lies two in a byte, the first in its lower half; k is
// even.
struct plumb_form_args {
    // Version 1's, but for problem, which is form.problem. scale_a and scale_b: of FP8 without
    // block scales, and of E2M1 with them, where each tensor has an FP32 scale besides.
    struct plumb_args args;
    struct plumb_form form;
    const void *block_scales_a, *block_scales_b; // of the batch or of all groups together
    const void *bias;                            // n of the output's type
    const int32_t *group_first, *group_rows;     // device memory
    const void *inputs[PLUMB_INPUTS];            // of named integers, as buffers() says
};

// What an input of a kernel that is no GEMM holds.
enum plumb_contents {
    PLUMB_NORMAL = 0,  // normal numbers with mean 0 and standard deviation `scale`
    PLUMB_UNIFORM = 1, // from 0 to `scale`
    PLUMB_INDEX = 2    // whole numbers from 0 to `scale` - 1
};

struct plumb_buffer {
    int64_t count;    // elements
    int32_t type;     // enum plumb_dtype; an input may be of type FP32 and such, INT8, INT32
    int32_t contents; // enum plumb_contents; not read of the output
    double scale;     // of the output: the size of its elements, e.g. their standard deviation
};

struct plumb_buffers {
    int32_t input_count;
    int32_t reserved;
    struct plumb_buffer inputs[PLUMB_INPUTS], output;
    // An element of the output may be off by absolute + relative * |what the reference has|.
    double absolute, relative;
};

// A kernel of version 2. What its first part leaves NULL is asked of the second, plain problems
// too: most have only the name, the summary and the traits there.
struct plumb_form_kernel {
    struct plumb_kernel kernel;
    // As those of struct plumb_kernel.
    int (*supports)(const struct plumb_form *form);
    size_t (*workspace)(const struct plumb_form *form);
    int (*prepare)(const struct plumb_form_args *args, void *stream, const char *pin, char *note,
                   size_t note_size);
    int (*launch)(const struct plumb_form_args *args, void *stream);
    // Of a kernel that is no GEMM: which buffers a problem of named integers has, and what they
    // should hold afterwards. Both are host code. The reference is computed in another way than
    // the kernel's, in double precision and finite, and of a pair the base's alone is asked. 0, or
    // a nonzero code when it cannot be.
    int (*buffers)(struct plumb_buffers *out, const struct plumb_form *form);
    int (*reference)(const struct plumb_form *form, const void *const *inputs, double *output);
};

struct plumb_library {
    uint32_t abi_version;               // PLUMB_ABI_VERSION, or PLUMB_ABI_FORMS
    uint32_t kernel_size;               // sizeof(struct plumb_kernel), or of plumb_form_kernel
    const char *device;                 // "cuda" or "host"
    uint32_t count;                     // kernels in the table
    const struct plumb_kernel *kernels; // each the first part of a plumb_form_kernel in version 2
};

#if defined(_WIN32)
#define PLUMB_EXPORT
#else
#define PLUMB_EXPORT __attribute__((visibility("default")))
#endif

// The one exported symbol. Never NULL; the table lives as long as the library is loaded.
PLUMB_EXPORT const struct plumb_library *plumb_library(void);
typedef const struct plumb_library *(*plumb_library_function)(void);

// The shim of a library with one kernel: PLUMB_LIBRARY("cuda", my_kernel) after defining
// `static const struct plumb_kernel my_kernel`.
#define PLUMB_LIBRARY(device_name, kernel)                                                         \
    PLUMB_EXPORT const struct plumb_library *plumb_library(void)                                   \
    {                                                                                              \
        static const struct plumb_library library = {                                              \
            PLUMB_ABI_VERSION, (uint32_t)sizeof(struct plumb_kernel), device_name, 1, &(kernel)};  \
        return &library;                                                                           \
    }

// The same of `static const struct plumb_form_kernel my_kernel`.
#define PLUMB_FORM_LIBRARY(device_name, form_kernel)                                               \
    PLUMB_EXPORT const struct plumb_library *plumb_library(void)                                   \
    {                                                                                              \
        static const struct plumb_library library = {PLUMB_ABI_FORMS,                              \
                                                     (uint32_t)sizeof(struct plumb_form_kernel),   \
                                                     device_name, 1, &(form_kernel).kernel};       \
        return &library;                                                                           \
    }

// Number `name` of a form, 0 when there is none.
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
