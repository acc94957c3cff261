// SPDX-License-Identifier: Apache-2.0
//
// A configuration's name parsed into the row of the space it stands for, and that row as the macros
// that build it.
#include "rows.h"

#include <stdio.h>
#include <string.h>

static int type_of(const char *kind)
{
    static const struct {
        const char *name;
        int in, out;
    } types[] = {{"bf16", PLUMB_BF16, PLUMB_BF16},
                 {"fp16", PLUMB_FP16, PLUMB_FP16},
                 {"tf32", PLUMB_TF32, PLUMB_FP32},
                 {"e4m3", PLUMB_E4M3, PLUMB_BF16}};
    for (size_t i = 0; i < sizeof types / sizeof *types; ++i)
        if (strcmp(kind, types[i].name) == 0)
            return types[i].in << 8 | types[i].out;
    return -1;
}

// One of the parts between dashes that follow the type and the tile; 0: not one of a row's.
static int parse_part(struct sweep_row *row, const char *part)
{
    struct plumb_traits *t = &row->traits;
    char rest;
    if (sscanf(part, "w%dx%d%c", &row->warps_m, &row->warps_n, &rest) == 2 ||
        sscanf(part, "c%dx%d%c", &t->cluster_m, &t->cluster_n, &rest) == 2 ||
        sscanf(part, "k%d%c", &t->split_k, &rest) == 1 ||
        sscanf(part, "s%d%c", &t->stages, &rest) == 1 ||
        sscanf(part, "e%d%c", &row->pieces, &rest) == 1)
        return 1;
    if (strchr("mnh", part[0]) && sscanf(part + 1, "%d%c", &t->raster_group, &rest) == 1) {
        row->raster = part[0];
        return 1;
    }
    if (strcmp(part, "split") == 0)
        return t->split_k > 1;
    if (strcmp(part, "swapped") == 0)
        return row->swapped = 1;
    if (strcmp(part, "dual") == 0)
        return row->dual = 1;
    if (strcmp(part, "stream") == 0)
        return (t->split_k = -1) != 0;
    if (strcmp(part, "brief") == 0)
        return row->brief = 1;
    if (strcmp(part, "spread") == 0)
        return (t->split_k = -2) != 0;
    return snprintf(row->mode, sizeof row->mode, "%s", part) < (int)sizeof row->mode;
}

// Block scales (scaled.cuh).
static int is_scaled(const struct sweep_row *row)
{
    return strcmp(row->mode, "scaled") == 0 || strcmp(row->mode, "twin_scaled") == 0;
}

static int is_twin(const struct sweep_row *row)
{
    return strstr(row->mode, "twin") != NULL;
}

static int is_promoted(const struct sweep_row *row)
{
    return strncmp(row->mode, "promote", 7) == 0;
}

// The macro that builds the row, from what its name said.
static void name_macro(struct sweep_row *row)
{
    const int split = row->traits.split_k, promote = is_promoted(row);
    snprintf(row->macro, sizeof row->macro, "%s%s%s%s", row->dual ? "DUAL_" : "",
             is_scaled(row) ? "SCALED_" : "", row->swapped ? "SWAPPED_" : "",
             row->brief             ? "BRIEF_ROW"
             : split == -2          ? "SPREAD_ROW"
             : split < 0            ? "STREAM_ROW"
             : split > 1 && promote ? "SPLIT_PROMOTED_ROW"
             : split > 1            ? "SPLIT_ROW"
                                    : "ROW");
}

static int can_be_dual(const struct plumb_traits *t)
{
    return t->in_type == PLUMB_BF16 || t->in_type == PLUMB_E4M3;
}

static void name_kind(struct sweep_row *row, const char *which)
{
    snprintf(row->kind, sizeof row->kind, "%s-%s",
             row->traits.in_type == PLUMB_E4M3 ? "e4m3" : "bf16", which);
}

// m = 1 (gemv_row() in gemv.cuh): the name is the type and `rest`, the part after "-gemv".
static int parse_gemv(struct sweep_row *row, const char *rest)
{
    struct plumb_traits *t = &row->traits;
    t->tile_m = 1;
    t->tile_n = 16;
    t->tile_k *= 8;
    t->blocks_per_sm = 4;
    strcpy(row->macro, "GEMV_ROW");
    if (!rest)
        return 1;
    if (t->in_type == PLUMB_E4M3 && strcmp(rest, "promote") == 0) {
        strcpy(row->macro, "GEMV_PROMOTED_ROW");
        name_kind(row, "promoted");
        return 1;
    }
    if (!can_be_dual(t) || strcmp(rest, "dual") != 0)
        return 0;
    row->dual = 1;
    t->tile_n /= 2; // a warp's two rows of B are one of each matrix
    strcpy(row->macro, "DUAL_GEMV_ROW");
    name_kind(row, "dual");
    return 1;
}

// Two blocks per SM: by name, or split-K with one consumer warpgroup where shared memory has room
// (split_traits() in split.cuh).
static int blocks_per_sm(const struct sweep_row *row)
{
    const struct plumb_traits *t = &row->traits;
    const int split = t->split_k, stage = (t->tile_m + (row->dual + 1) * t->tile_n) * 128;
    if (is_twin(row))
        return 2;
    if (split < 2 || row->warps_m * row->warps_n != 1)
        return 1;
    const int partials =
        row->dual ? 0 : (4 + split - 1) / split * (split - 1) * t->tile_m / 4 * t->tile_n * 4;
    const int lines = t->tile_m < 64 ? t->tile_m : 64; // of C in a swapped piece (transposed.cuh)
    const int piece = !row->swapped ? 2 * 2048 : t->out_type == PLUMB_FP32 ? 0 : lines * 32;
    const int scales = is_scaled(row) ? (t->tile_m + 4) * 4 : 0; // of a stage (scales.cuh)
    const int bytes =
        t->stages * (stage + 16 + scales) + 4 * piece + (partials ? 1024 + partials : 0);
    return 2 * (bytes + 1024) <= 233472 ? 2 : 1;
}

int sweep_row_parse(struct sweep_row *row, const char *name)
{
    char text[64], *at = text;
    struct plumb_traits *t = &row->traits;
    *row = (struct sweep_row){0};
    if (snprintf(row->name, sizeof row->name, "%s", name) >= (int)sizeof row->name)
        return 0;
    strcpy(text, row->name);
    snprintf(row->kind, sizeof row->kind, "%s", strsep(&at, "-"));
    const int types = type_of(row->kind);
    const char *tile = at ? strsep(&at, "-") : "";
    char rest;
    if (types < 0)
        return 0;
    t->in_type = types >> 8;
    t->out_type = types & 255;
    t->tile_k = t->in_type == PLUMB_TF32 ? 32 : t->in_type == PLUMB_E4M3 ? 128 : 64;
    t->cluster_m = t->cluster_n = t->split_k = 1;
    if (strcmp(tile, "gemv") == 0)
        return parse_gemv(row, at);
    if (sscanf(tile, "%dx%d%c", &t->tile_m, &t->tile_n, &rest) != 2)
        return 0;
    while (at)
        if (!parse_part(row, strsep(&at, "-")))
            return 0;
    if (row->warps_m == 0 || t->stages == 0 || row->raster == 0)
        return 0;
    if ((row->dual && !can_be_dual(t)) || (is_scaled(row) && t->in_type != PLUMB_E4M3))
        return 0;
    name_macro(row);
    if (is_promoted(row))
        name_kind(row, "promoted");
    if (is_scaled(row))
        name_kind(row, "scaled");
    if (row->dual)
        name_kind(row, "dual");
    if (strcmp(row->mode, "wide") == 0)
        t->tile_k *= 2;
    t->blocks_per_sm = blocks_per_sm(row);
    return 1;
}

void sweep_row_print(char *text, size_t size, const struct sweep_row *row)
{
    const struct plumb_traits *t = &row->traits;
    char middle[48] = "", mode[24] = "", pieces[16] = "";
    if (t->tile_m == 1) {
        snprintf(text, size, "%s(type)", row->macro);
        return;
    }
    if (t->split_k == 1 || t->split_k == -1)
        snprintf(middle, sizeof middle, " %d, %d,", t->cluster_m, t->cluster_n);
    else if (t->split_k > 1)
        snprintf(middle, sizeof middle, " %d,", t->split_k);
    if (row->mode[0] && t->split_k <= 1)
        snprintf(mode, sizeof mode, ", %s", row->mode);
    if (row->pieces)
        snprintf(pieces, sizeof pieces, " %d,", row->pieces);
    snprintf(text, size, "%s(type, %d, %d, %d, %d,%s %d,%s %c, %d%s)", row->macro, t->tile_m,
             t->tile_n, row->warps_m, row->warps_n, middle, t->stages, pieces, row->raster,
             t->raster_group, mode);
}
