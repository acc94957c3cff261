// SPDX-License-Identifier: Apache-2.0
//
// plumbline's kernel ABI, version 1. Copy this one header into your repository, write about twenty
// lines of shim per kernel (see the end), build a shared library, and `plumb` can measure it.
//
// A library exports one C function, plumb_library(), which returns a table of kernels. The tool's
// own child process `bench` loads one or two such libraries (the base's and the head's),
// and it alone owns device memory, inputs, timing and checking. A library therefore
//   - allocates no device memory: scratch comes as `workspace`, sized by your workspace();
//   - never synchronises, never times, never changes the device's settings;
//   - holds ideally ONE kernel: unused code beside a kernel moves its time by up to 0.4 %.
//
// Matrices are dense. In layout TN (0) A is m rows of k, B is n rows of k, C is m rows of n, each
// row contiguous; NN (1) has B as k rows of n; NT (2) that and A as k rows of m; TT (3) A as k rows
// of m. alpha = 1, beta = 0. Batched problems are `batch` such triples one after the other. With
// the dual-silu epilogue B is two matrices, B1 then B2, and C = silu(A B1) * (A B2).
//
// What surprises people who bring kernels of their own:
//   C      holds NaN before each checked launch. alpha = 1 and beta = 0 are meant, and a kernel
//          that computes alpha*AB + beta*C makes NaN of 0 * NaN: it must not read C when beta is 0,
//          or its shim clears C first, which is timed too.
//   moves  a, b, c, scales and workspace are other addresses from one launch to the next, so that
//          each finds cold memory. What is made of an address (a tensor map, a cached pointer) is
//          made in launch(), or kept per address.
//   stream launch() queues everything on the stream that it is given. Code that launches on the
//          default stream is timed rightly all the same, since that stream and the given one wait
//          for each other; on a stream of its own it is not, and neither can be recorded as data.
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

#define PLUMB_ABI_VERSION 1

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
    PLUMB_FP64 = 8
};

enum plumb_layout { PLUMB_TN = 0, PLUMB_NN = 1, PLUMB_NT = 2, PLUMB_TT = 3 };

enum plumb_epilogue { PLUMB_NO_EPILOGUE = 0, PLUMB_DUAL_SILU = 1 };

struct plumb_problem {
    int64_t m, n, k;
    int32_t in_type, out_type; // enum plumb_dtype
    int32_t layout;            // enum plumb_layout
    int32_t batch;             // >= 1
    int32_t epilogue;          // enum plumb_epilogue
    int32_t reserved;
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
    int32_t split_k;       // 1 = none, 0 = unknown, -1 = stream-K
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

struct plumb_library {
    uint32_t abi_version; // PLUMB_ABI_VERSION
    uint32_t kernel_size; // sizeof(struct plumb_kernel)
    const char *device;   // "cuda" or "host"
    uint32_t count;       // kernels in the table
    const struct plumb_kernel *kernels;
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

#ifdef __cplusplus
}
#endif
#endif
