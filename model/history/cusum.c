// SPDX-License-Identifier: Apache-2.0
//
// FOCuS (Romano, Eckley, Fearnhead and Rigaill, "Fast online changepoint detection via functional
// pruning CUSUM statistics", JMLR 2023), with the level before the change unknown. With S_s the sum
// of the first s values, the statistic of a change after s is
//
//     S_s^2 / s + (S_t - S_s)^2 / (t - s) - S_t^2 / t,
//
// largest over s. For upward changes only vertices of the lower convex hull of (s, S_s) can be best
// now or ever, for downward ones those of the upper hull; about log t of them stand at a time, and
// keeping a hull costs one push and amortised one pop a value.
#include "model/history/cusum.h"

#include "model/base.h"

#include <stdlib.h>

static void hull_add(struct hull *hull, double s, double sum)
{
    while (hull->count >= 2) {
        const struct vertex *a = &hull->items[hull->count - 2], *b = a + 1;
        if ((b->sum - a->sum) * (s - b->s) < (sum - b->sum) * (b->s - a->s))
            break;
        hull->count--;
    }
    hull->items = xgrow(hull->items, hull->count, &hull->room, sizeof(*hull->items));
    hull->items[hull->count++] = (struct vertex){s, sum};
}

void cusum_clear(struct cusum *cusum)
{
    cusum->up.count = cusum->down.count = 0;
    cusum->n = cusum->sum = 0;
}

// With B = S_s the statistic is (n B - s S_n)^2 / (s n (n - s)).
static void look(struct peak *best, const struct hull *hull, double n, double sum)
{
    for (size_t i = 0; i < hull->count; i++) {
        double s = hull->items[i].s, gap = s * sum - n * hull->items[i].sum;
        double scale = s * n * (n - s);
        if (gap > 0 && gap * gap > best->statistic * scale)
            *best = (struct peak){gap * gap / scale, s};
    }
}

struct peak cusum_push(struct cusum *cusum, double z)
{
    if (cusum->n > 0) {
        hull_add(&cusum->up, cusum->n, cusum->sum);
        hull_add(&cusum->down, cusum->n, -cusum->sum);
    }
    cusum->n++;
    cusum->sum += z;
    struct peak best = {0, 0};
    look(&best, &cusum->up, cusum->n, cusum->sum);
    look(&best, &cusum->down, cusum->n, -cusum->sum);
    return best;
}

void cusum_free(struct cusum *cusum)
{
    free(cusum->up.items);
    free(cusum->down.items);
}
