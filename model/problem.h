// SPDX-License-Identifier: Apache-2.0
//
// A problem: the work of one launch, and the text that stands for it.
//
// Mostly a GEMM, C[m,n] = epilogue(alpha A[m,k] B[k,n] + beta C), of this text:
//     MxNxK:IN[-OUT][:OPTION]...      e.g. 4096x7168x512:bf16, 64x64x64:fp8-bf16:tn:b8
// Options, each at most once in what problem_format() writes, in this order:
//     tn, nn, nt, tt      layout (tn)
//     bBATCH              so many products, one after the other
//     lda=N, ldb=N, ldc=N elements from one row to the next as the matrix lies, where there are
//                         gaps between them
//     alpha=X, beta=X     with beta, C holds its input before each launch
//     EPILOGUE            dual-silu: silu(A B1) * (A B2). Or bias, one number of the output's type
//                         for each column, and then relu, gelu (x Phi(x), not its approximation by
//                         tanh) or silu: bias, relu, gelu, silu, bias-relu, bias-gelu, bias-silu
//     TYPE/A[/B][/LAYOUT] block scales: one number of TYPE (e8m0, e4m3, fp32) for each block of A
//                         and of B. A block is V elements along K, or RxV: R rows of A (columns of
//                         the product), B as A when it is left out. Layouts as enum scale_layout;
//                         rows when it is left out. nvfp4, mxfp4 and mxfp8 as IN stand for
//                         e2m1 with e4m3/16, e2m1 with e8m0/32, e4m3 with e8m0/32
//     contiguousG[/SPREAD]       G groups of rows of A, m in all, each with a B of its own
//     maskedG/MEAN[/SPREAD]      G matrices A of m rows, of which MEAN are used on average. SPREAD
//                         is by how many percent a group's rows are off the mean, or zipf: group g
//                         has a share like 1 / (g + 1)
//     REGIME              how its launches meet the device, where that is not cold: stream,
//                         isolated, dirty, warm, activations. It is part of what a series is, so
//                         it goes wherever its problem goes
// A kernel that is no GEMM has a problem of named integers, in the order of their names:
//     H=128,S=4096:IN[-OUT][:REGIME]
// problem_format() writes the canonical form, which problem_parse() reads back to the same problem.
// It is the key in stores and policies, so what it writes for a problem never changes.
#ifndef PLUMB_PROBLEM_H
#define PLUMB_PROBLEM_H

#include "model/base.h"

// ---- element types ----
//
// Element types, by name and by size. Their values are the ABI's (kernels/kernel.h).

enum dtype {
    DTYPE_FP32, // IEEE single
    DTYPE_TF32, // stored as FP32 (4 bytes), multiplied with a 10-bit mantissa
    DTYPE_BF16,
    DTYPE_FP16,
    DTYPE_E4M3, // "fp8"
    DTYPE_E5M2,
    DTYPE_E2M1,  // "fp4", two in a byte, the first in its lower half
    DTYPE_E8M0,  // scale factors only: powers of two
    DTYPE_FP64,  // used only by the host's reference
    DTYPE_INT8,  // sums are int32
    DTYPE_INT32, // the sums of int8 products
    DTYPE_COUNT
};

const char *dtype_name(enum dtype type); // canonical, lower case

double dtype_bytes(enum dtype type); // 0.5 for e2m1

// In upper or lower case. Also reads fp8, fp4, s8, float and such; nvfp4, mxfp8 and mxfp4 give
// their elements' type. -1: not known.
int dtype_parse(enum dtype *out, const char *name);

// The output type for an input type when none is given: tf32 -> fp32, fp8 -> bf16, ...
enum dtype dtype_default_out(enum dtype in);

// ---- problems ----

// Transposition of A and B in BLAS terms, for column-major storage. TN: both are K-major, so A is m
// rows of k, B is n rows of k, and C is m rows of n (all row-major). NN: B is k rows of n.
enum layout { LAYOUT_TN, LAYOUT_NN, LAYOUT_NT, LAYOUT_TT, LAYOUT_COUNT };

const char *layout_name(enum layout layout);

// How launches meet the device. The same change of a kernel has a different size in each regime,
// and may have the opposite sign.
enum regime {
    REGIME_COLD,     // the only regime before regimes had names: one launch alone if it takes more
                     // than 50 us, else batches on several sets of operands in turn
    REGIME_STREAM,   // back to back on several sets of operands in turn, with power and clock
                     // settled
    REGIME_ISOLATED, // one launch on a quiet device, with L2 full of clean lines
    REGIME_DIRTY,    // one launch, with L2 full of lines that must be written back
    REGIME_WARM,     // back to back on one set of operands
    REGIME_ACTIVATIONS, // A and C warm and B cold, as for a layer of a model in use
    REGIMES
};
const char *regime_name(enum regime regime);
int regime_parse(enum regime *out, const char *name); // in upper or lower case; -1: not known
// The words for a regime in a sentence: "in a stream", "alone", "with cold caches" ...
const char *regime_words(enum regime regime);
// The regime that is used on a device of this kind if nobody names one: on a GPU a stream, because
// that is how a model launches its kernels; on a host cold. Changing it is an epoch of every
// series.
enum regime regime_usual(const char *device_kind);

enum epilogue {
    EPILOGUE_NONE,
    EPILOGUE_DUAL_SILU,
    EPILOGUE_BIAS,
    EPILOGUE_RELU,
    EPILOGUE_GELU,
    EPILOGUE_SILU,
    EPILOGUE_BIAS_RELU,
    EPILOGUE_BIAS_GELU,
    EPILOGUE_BIAS_SILU,
    EPILOGUE_COUNT
};

const char *epilogue_name(enum epilogue epilogue);

int epilogue_parse(enum epilogue *out, const char *name); // in upper or lower case; -1: not known

bool epilogue_has_bias(enum epilogue epilogue);

// How the scales of an operand lie in memory. "rows" counts blocks along the rows, "k" blocks along
// K.
enum scale_layout {
    SCALES_ROWS,    // [rows][k]
    SCALES_COLUMNS, // blocks of one row: [k][rows]; others: [rows][k rounded up to 4]
    SCALES_TILED,   // tiles of 128 rows x 4 k, 512 bytes each; only for blocks of one row and
                    // scales of one byte
    SCALES_LAYOUTS
};

struct block_scales {
    int32_t vector;         // a block's elements along K; 0: there are no block scales
    int32_t rows_a, rows_b; // rows of A in a block; columns of the product in a block of B; 0 means
                            // 1
    enum dtype type;
    enum scale_layout layout;
};

enum grouping { GROUPS_NONE, GROUPS_CONTIGUOUS, GROUPS_MASKED };

enum { GROUPS_MOST = 4096, GROUP_ALIGN = 128, SPREAD_ZIPF = -1 };

struct groups {
    enum grouping kind;
    int32_t count;
    int32_t mean;   // a masked group's mean number of rows
    int32_t spread; // percent, 0 to 100, or SPREAD_ZIPF
};

enum { PROBLEM_NUMBERS = 8, PROBLEM_NUMBER_NAME = 12 };

struct problem_number {
    char name[PROBLEM_NUMBER_NAME]; // [A-Za-z][A-Za-z0-9_]*
    int64_t value;                  // 1 .. 2^31-1
};

// A problem. A zero field means what it is in a plain GEMM.
struct problem {
    int64_t m, n, k; // 1 .. 2^31-1; 0 for a problem of named integers
    enum dtype in;
    enum dtype out;
    enum layout layout;
    int32_t batch; // >= 1
    enum epilogue epilogue;
    int64_t lda, ldb, ldc; // 0: dense
    float alpha;           // 0: 1
    float beta;            // 0: C is not read
    struct block_scales scales;
    struct groups groups;
    enum regime regime;
    bool regime_named; // its text names the regime; otherwise the device's kind decides
    struct problem_number numbers[PROBLEM_NUMBERS]; // sorted by name, each name once
    int32_t number_count;                           // 0: a GEMM
};

enum { PROBLEM_TEXT = 320 }; // room for the longest canonical text

// Parses a problem. Refuses a text that is no problem, and combinations that have no meaning.
int problem_parse(struct problem *out, const char *text, struct error *err);
// Parses also the name of an NVTX range: m=4096,n=4096,k=7168:bf16, in any order, is the GEMM
// 4096x4096x7168:bf16.
int problem_parse_named(struct problem *out, const char *text, struct error *err);

void problem_format(char out[PROBLEM_TEXT], const struct problem *problem);

// The same for a reader: its regime is named, even if it is the one of old texts, cold.
void problem_tell(char out[PROBLEM_TEXT], const struct problem *problem);

// The problem's text in a sentence: "64x64x64:fp32-fp32:tn in a stream".
void problem_say(char out[PROBLEM_TEXT], const struct problem *problem);

bool problem_equal(const struct problem *a, const struct problem *b);

// Whether a text names the problem, in any spelling that problem_parse() reads. A text without a
// regime names the problem in each.
bool problem_is_named(const struct problem *problem, const char *text);

// Returns the same problem in another regime.
struct problem problem_in(const struct problem *problem, enum regime regime);

// Whether the first version of the ABI can express it: a dense product of floating-point matrices,
// alpha 1 and beta 0, plain or dual-silu.
bool problem_is_plain(const struct problem *problem);

// The number of products that share A: 2 for dual-silu.
int problem_weights(const struct problem *problem);

// The number of elements between the beginnings of two rows, for each matrix, dense or not.
struct problem_pitches {
    int64_t a, b, c;
};

struct problem_pitches problem_pitches(const struct problem *problem);

// Computes the number of rows of each group, at most GROUPS_MOST; a problem has the same rows
// wherever they are computed. Those of contiguous groups add up to m; a masked group has at most m.
// Every group has at least one row if there are enough.
void problem_group_rows(int32_t *rows, const struct problem *problem);

// The rows of A that are multiplied, in all groups or the whole batch.
int64_t problem_used_rows(const struct problem *problem);

// The rows of A and C in memory: a contiguous group begins at a multiple of GROUP_ALIGN rows, a
// masked group every m rows.
int64_t problem_stored_rows(const struct problem *problem);

double problem_flops(const struct problem *problem); // 2 m n k batch; 0 for named integers

// The bytes if each input is read once and the output written once; 0 for named integers.
double problem_bytes(const struct problem *problem);

// ==== traits ====
//
// Traits: how a kernel is built, as models see it. Mirrors struct plumb_traits of the ABI. Zero
// means "unknown or does not apply".

enum raster { RASTER_M, RASTER_N, RASTER_HILBERT };
// What runs while a tile's epilogue stores it: not known; the next tile's slabs, multiplied by the
// same warpgroups; multiplications of another warpgroup.
enum overlap { OVERLAP_NONE, OVERLAP_NEXT_TILE, OVERLAP_PINGPONG };
// The unit that multiplies: not known; FMA units; tensor cores by mma.sync, from registers; tensor
// cores by wgmma, from shared memory.
enum multiply { MULTIPLY_UNKNOWN, MULTIPLY_FMA, MULTIPLY_MMA, MULTIPLY_WGMMA };

// The traits, one X for each integer trait: its name in the wire format, the store and reports.
#define TRAITS(X)                                                                                  \
    X(tile_m) /* output tile of one thread block */                                                \
    X(tile_n)                                                                                      \
    X(tile_k)    /* K slab of one pipeline stage, elements */                                      \
    X(stages)    /* slabs in flight */                                                             \
    X(cluster_m) /* thread-block cluster, 1 without */                                             \
    X(cluster_n)                                                                                   \
    X(threads)     /* per block; host: worker threads */                                           \
    X(smem_bytes)  /* per block */                                                                 \
    X(registers)   /* per thread */                                                                \
    X(spill_bytes) /* per thread, stores + loads, from ptxas or the cubin */                       \
    X(blocks_per_sm)                                                                               \
    X(persistent)   /* 1: grid = resident blocks */                                                \
    X(raster)       /* enum raster */                                                              \
    X(raster_group) /* tile rows walked together, 1 = plain */                                     \
    X(split_k)      /* 1 none, 0 unknown, else parts or enum split */                              \
    X(overlap)      /* of epilogues with multiplying: enum overlap */                              \
    X(promote_k)    /* FP8 sums are added up in FP32 every so much of K, 0 never */                \
    X(multiply)     /* enum multiply */

// Values of split_k that are no number of parts. STREAM: all slabs are dealt out in equal shares,
// and a block hands an unfinished tile on to the next block. SPREAD: each tile is cut into as many
// parts as there are SMs for, and all of them finish it together.
enum split { SPLIT_STREAM = -1, SPLIT_SPREAD = -2 };

struct traits {
    enum dtype in, out, acc;
#define X(name) int32_t name;
    TRAITS(X)
#undef X
};

#endif
