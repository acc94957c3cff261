// SPDX-License-Identifier: Apache-2.0
//
// The lower bound of a rate, and receiver operating characteristics.
#include "tests/helpers/helper_rates.h"

#include "model/gate/study.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

double rate_lower(uint64_t hits, uint64_t trials, double confidence)
{
    return 1 - study_rate_upper(trials - hits, trials, confidence);
}

struct scored {
    double score;
    bool changed;
};

static int by_falling_score(const void *left, const void *right)
{
    const struct scored *a = left, *b = right;
    return (a->score < b->score) - (a->score > b->score);
}

static size_t collect_scores(struct scored *out, const double *scores, size_t count, bool changed)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (struct scored){isnan(scores[i]) ? -INFINITY : scores[i], changed};
    return count;
}

size_t roc_points(struct roc_point *out, const double *null_scores, size_t nulls,
                  const double *changed_scores, size_t changes)
{
    assert(nulls > 0 && changes > 0);
    struct scored *all = xcalloc(nulls + changes, sizeof(*all));
    size_t total = collect_scores(all, null_scores, nulls, false);
    total += collect_scores(all + total, changed_scores, changes, true);
    qsort(all, total, sizeof(*all), by_falling_score);
    size_t points = 0, false_hits = 0, true_hits = 0;
    out[points++] = (struct roc_point){INFINITY, 0, 0};
    for (size_t i = 0; i < total; i++) {
        true_hits += all[i].changed;
        false_hits += !all[i].changed;
        if (i + 1 < total && all[i + 1].score >= all[i].score)
            continue; // one point per threshold
        out[points++] = (struct roc_point){all[i].score, (double)false_hits / (double)nulls,
                                           (double)true_hits / (double)changes};
    }
    free(all);
    return points;
}

double roc_area(const struct roc_point *points, size_t count)
{
    double area = 0;
    for (size_t i = 1; i < count; i++)
        area += 0.5 * (points[i].false_rate - points[i - 1].false_rate) *
                (points[i].true_rate + points[i - 1].true_rate);
    return area;
}
