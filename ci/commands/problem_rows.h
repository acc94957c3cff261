// SPDX-License-Identifier: Apache-2.0
//
// Problems given as words, over lists of tiles and clusters, as a CSV like any other, so that there
// is one way from there on.
#ifndef PLUMB_PROBLEM_ROWS_H
#define PLUMB_PROBLEM_ROWS_H

#include "model/csv.h"
#include "model/traits.h"

enum { SIDES_MOST = 64 };

struct sides {
    int32_t m, n, k; // 0: not said
};
struct sides_list {
    struct sides items[SIDES_MOST];
    size_t count;
};
// "128x256x64,64x64": at least two sides each, k only if `depth`. -1: not such a list.
int sides_parse(struct sides_list *out, const char *text, bool depth);
// The tiles and clusters that seed 0 sweeps over.
extern const struct sides_list sides_usual_tiles, sides_usual_clusters;

// Every problem with every tile and every cluster; an empty list says nothing of it. `traits`: what
// else the options say of the kernel.
int problem_rows(struct csv *out, const char *const *problems, size_t count,
                 const struct sides_list *tiles, const struct sides_list *clusters,
                 const struct traits *traits, struct error *err);

// A list of problems (m, n, k, and in_dtype unless `type` stands for it) with every tile and every
// cluster: the columns of seed 0's results, and what else the list has.
int problem_list_rows(struct csv *out, const struct csv *list, const char *type,
                      const struct sides_list *tiles, const struct sides_list *clusters,
                      struct error *err);

#endif
