// SPDX-License-Identifier: Apache-2.0
//
// Takes a row's name of the design space apart into traits. The rest of the traits (threads, shared
// memory, blocks per SM, how a tile's end is hidden) is computed as the kernels' own templates do
// it (kernels/gemm/cuda/persistent/launch.cuh, split/cluster.cuh).
#include "model/predict/parts/space_name.h"

#include <stdio.h>
#include <string.h>

enum { WARPGROUP = 128, SLAB_BYTES = 128, ROWS = 64, PIECE_BYTES = 2048, NAME_MOST = 64 };
enum { SM_BYTES = 233472, RESERVED_BYTES = 1024, BARRIER_BYTES = 16, SCALE_BYTES = 4 };

struct space_row {
    struct traits traits;
    int32_t groups_m, groups_n, pieces;
    char raster, mode[16];
    bool swapped, split, dual, brief, scaled;
};

static bool read_type(struct traits *t, const char *text)
{
    static const struct {
        const char *name;
        enum dtype in, out;
    } types[] = {{"bf16", DTYPE_BF16, DTYPE_BF16},
                 {"fp16", DTYPE_FP16, DTYPE_FP16},
                 {"tf32", DTYPE_TF32, DTYPE_FP32},
                 {"e4m3", DTYPE_E4M3, DTYPE_BF16}};
    for (size_t i = 0; i < ARRAY_COUNT(types); i++) {
        if (strcmp(types[i].name, text) == 0) {
            t->in = types[i].in;
            t->out = types[i].out;
            t->acc = DTYPE_FP32;
            return true;
        }
    }
    return false;
}

// A kernel for m = 1: the lanes of a warp lie along K, and a warp computes two columns of C, or one
// column of a dual GEMM.
static bool read_gemv(struct traits *t, const char *rest)
{
    bool dual = rest && strcmp(rest, "dual") == 0;
    if (rest && !dual && strcmp(rest, "promote") != 0)
        return false;
    t->tile_m = 1;
    t->tile_n = dual ? 8 : 16;
    t->tile_k = (int32_t)(8 * SLAB_BYTES / dtype_bytes(t->in));
    t->stages = t->cluster_m = t->cluster_n = t->raster_group = t->split_k = 1;
    t->threads = 256;
    t->blocks_per_sm = 4;
    t->promote_k = rest && !dual;
    t->multiply = MULTIPLY_FMA;
    return true;
}

// Reads one of the parts between dashes that follow the type and the tile.
static bool read_part(struct space_row *r, const char *part)
{
    struct traits *t = &r->traits;
    char rest;
    if (sscanf(part, "w%dx%d%c", &r->groups_m, &r->groups_n, &rest) == 2 ||
        sscanf(part, "c%dx%d%c", &t->cluster_m, &t->cluster_n, &rest) == 2 ||
        sscanf(part, "k%d%c", &t->split_k, &rest) == 1 ||
        sscanf(part, "s%d%c", &t->stages, &rest) == 1 ||
        sscanf(part, "e%d%c", &r->pieces, &rest) == 1)
        return true;
    if (strchr("mnh", part[0]) && sscanf(part + 1, "%d%c", &t->raster_group, &rest) == 1) {
        r->raster = part[0];
        return true;
    }
    if (strcmp(part, "swapped") == 0)
        return r->swapped = true;
    if (strcmp(part, "split") == 0)
        return r->split = true;
    if (strcmp(part, "dual") == 0)
        return r->dual = true;
    if (strcmp(part, "scaled") == 0)
        return r->scaled = true;
    if (strcmp(part, "twin_scaled") == 0)
        return r->scaled = text_copy(r->mode, sizeof(r->mode), "twin");
    if (strcmp(part, "brief") == 0)
        return r->brief = true;
    if (strcmp(part, "stream") == 0) {
        t->split_k = SPLIT_STREAM;
        return true;
    }
    if (strcmp(part, "spread") == 0) {
        t->split_k = SPLIT_SPREAD;
        return true;
    }
    return text_copy(r->mode, sizeof(r->mode), part);
}

static bool sane(const struct space_row *r)
{
    const struct traits *t = &r->traits;
    const int32_t values[] = {t->tile_m,    t->tile_n,   t->stages,   t->cluster_m,
                              t->cluster_n, r->groups_m, r->groups_n, t->raster_group};
    for (size_t i = 0; i < ARRAY_COUNT(values); i++) {
        if (values[i] < 1 || values[i] > 1024)
            return false;
    }
    return r->raster && r->split == (t->split_k > 1) && t->split_k >= SPLIT_SPREAD &&
           t->split_k <= 64 && r->pieces >= 0 && r->pieces <= 64;
}

// Rows of B that a stage holds. A dual GEMM has the rows of both its matrices there, and its
// tile is C's.
static int32_t rows_of_b(const struct space_row *r)
{
    return r->traits.tile_n * (r->dual ? 2 : 1);
}

// How wide one matrix instruction is, and how many of them a warpgroup issues down its rows.
static void instruction(int32_t *width, int32_t *down, const struct space_row *r)
{
    const struct traits *t = &r->traits;
    int32_t rows = r->swapped ? rows_of_b(r) : t->tile_m;
    int32_t columns = r->swapped ? t->tile_m : rows_of_b(r);
    *width = columns / (r->swapped ? r->groups_m : r->groups_n);
    *down = rows / (r->swapped ? r->groups_n : r->groups_m) / ROWS;
}

static int32_t overlap_of(const struct space_row *r, int32_t groups)
{
    int32_t width, down;
    instruction(&width, &down, r);
    bool narrow = r->traits.out != DTYPE_FP32;
    if (r->split || r->brief || r->traits.split_k < 0)
        return OVERLAP_NONE;
    if (strcmp(r->mode, "pingpong") == 0)
        return OVERLAP_PINGPONG;
    bool shared = groups == 2 && (strcmp(r->mode, "coop") == 0 || strcmp(r->mode, "wide") == 0 ||
                                  strcmp(r->mode, "held") == 0);
    int32_t results = r->dual ? width / 2 : width; // results per row; each holds two sums in
                                                   // a dual GEMM
    int32_t held = down * (width / 2 + (narrow ? results / 4 : results / 2));
    bool hidden = down * width <= 192 || held <= (narrow && down == 1 ? 192 : 128);
    return shared && hidden ? OVERLAP_NEXT_TILE : OVERLAP_NONE;
}

static int32_t shared_bytes(const struct space_row *r, int32_t groups, int32_t boxes)
{
    const struct traits *t = &r->traits;
    int32_t width, down, warps = 4 * groups;
    instruction(&width, &down, r);
    int32_t turned = t->out == DTYPE_FP32 ? 0 : (width < ROWS ? width : ROWS) * 32;
    int32_t piece = r->swapped ? turned : (r->pieces ? r->pieces : 2) * PIECE_BYTES;
    int32_t slab = (t->tile_m + rows_of_b(r)) * boxes * SLAB_BYTES;
    int32_t scales = r->scaled ? (t->tile_m + 4) * SCALE_BYTES : 0; // bytes of a slab's scales
    int32_t bytes = t->stages * (slab + scales + BARRIER_BYTES) + warps * piece;
    if (r->split && !r->dual) { // room for the partial sums that the cluster's other blocks send
        int32_t share = (warps + t->split_k - 1) / t->split_k;
        bytes += 1024 + share * (t->split_k - 1) * (t->tile_m * t->tile_n / warps) * 4;
    }
    return bytes;
}

static void derive(struct space_row *r)
{
    struct traits *t = &r->traits;
    int32_t boxes = strcmp(r->mode, "wide") == 0 ? 2 : 1;
    int32_t groups = strcmp(r->mode, "pingpong") == 0 ? 2 : r->groups_m * r->groups_n;
    t->tile_k = (int32_t)(boxes * SLAB_BYTES / dtype_bytes(t->in));
    t->threads = WARPGROUP * (1 + groups);
    t->smem_bytes = shared_bytes(r, groups, boxes);
    t->persistent = !r->split && !r->brief && t->split_k != SPLIT_SPREAD;
    t->raster = r->raster == 'm' ? RASTER_M : r->raster == 'n' ? RASTER_N : RASTER_HILBERT;
    t->multiply = MULTIPLY_WGMMA;
    bool twin = strstr(r->mode, "twin");
    t->promote_k = r->scaled || strstr(r->mode, "promote") ? 128 : 0;
    t->overlap = overlap_of(r, groups);
    bool room = 2 * (t->smem_bytes + RESERVED_BYTES) <= SM_BYTES;
    t->blocks_per_sm = twin || (r->split && groups == 1 && room) ? 2 : 1;
}

bool space_says(const char *name, const char *word)
{
    const char *at = strstr(name, word);
    return at && (at == name || strchr("-_", at[-1])) && strchr("-_", at[strlen(word)]);
}

bool space_traits(struct traits *out, const char *name)
{
    struct space_row r = {.traits = {.cluster_m = 1, .cluster_n = 1, .split_k = 1}};
    char text[NAME_MOST], *at = text, rest;
    if (!text_copy(text, sizeof(text), name) || !read_type(&r.traits, strsep(&at, "-")) || !at)
        return false;
    const char *tile = strsep(&at, "-");
    if (strcmp(tile, "gemv") == 0) {
        if (!read_gemv(&r.traits, at))
            return false;
        *out = r.traits;
        return true;
    }
    if (sscanf(tile, "%dx%d%c", &r.traits.tile_m, &r.traits.tile_n, &rest) != 2)
        return false;
    while (at) {
        if (!read_part(&r, strsep(&at, "-")))
            return false;
    }
    if (!sane(&r))
        return false;
    derive(&r);
    *out = r.traits;
    return true;
}
