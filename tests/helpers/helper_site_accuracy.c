// SPDX-License-Identifier: Apache-2.0
//
// The models' accuracy on a made site: six lines of forty nights, one of which moved.
#include "tests/helpers/helper_run.h"
#include "tests/helpers/helper_site.h"

#include <math.h>

void helper_site_accuracy(struct helper_site *h)
{
    enum { LINES = 6, NIGHTS = 40 };
    static const char *const models[] = {"sol", "hopper", "origami"};
    static const size_t change[] = {26};
    struct site_accuracy *list = arena_alloc(&h->arena, LINES * sizeof(*list));
    uint64_t state = 99;
    for (size_t i = 0; i < LINES; i++) {
        struct site_accuracy_point *points = arena_alloc(&h->arena, NIGHTS * sizeof(*points));
        double mape = i % 3 == 0 ? 0.41 : i % 3 == 1 ? 0.062 : 0.19;
        for (size_t n = 0; n < NIGHTS; n++) {
            double now = mape * (i == 1 && n >= 26 ? 1.6 : 1) * exp(0.03 * helper_normal(&state));
            points[n] = (struct site_accuracy_point){.time_s = 1790000000 + (int64_t)n * 86400,
                                                     .count = 120,
                                                     .mape = now,
                                                     .bias = now * 0.7,
                                                     .tau = 1 - now,
                                                     .within = fmax(0, 1 - now * 4)};
            helper_site_commit_id(points[n].commit, n);
        }
        list[i] = (struct site_accuracy){.model = models[i % 3],
                                         .version = "3",
                                         .kernel = i < 3 ? "" : "tma_persistent",
                                         .dtype = DTYPE_BF16,
                                         .points = points,
                                         .count = NIGHTS,
                                         .changes[SITE_MAPE] = {change, i == 1}};
    }
    h->site.accuracy = list;
    h->site.accuracy_count = LINES;
}
