// SPDX-License-Identifier: Apache-2.0
//
// Tests whether steps that were found survive noise that remembers, and drops the weakest until all
// do. It finds no new ones.
#include "model/history/steps.h"

#include "model/base.h"
#include "model/history/memory.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { AROUND = 250 }; // values on either side of a step

static double mean(const double *values, const struct potts_segment *segment)
{
    double sum = 0;
    for (size_t i = segment->first; i < segment->end; i++)
        sum += values[i];
    return sum / (double)(segment->end - segment->first);
}

struct steps_fit steps_fit(const double *values, size_t n, const struct potts_segment *segments,
                           size_t count)
{
    assert(n >= 2);
    double *residual = xcalloc(n, sizeof(*residual));
    for (size_t j = 0; j < count; j++) {
        double level = mean(values, &segments[j]);
        for (size_t i = segments[j].first; i < segments[j].end; i++)
            residual[i] = values[i] - level;
    }
    double cross = 0, squares = 0;
    for (size_t i = 1; i < n; i++) {
        cross += residual[i] * residual[i - 1];
        squares += residual[i - 1] * residual[i - 1];
    }
    double r = squares > 0 ? fmax(-0.999, fmin(0.999, cross / squares)) : 0;
    struct steps_fit out = {memory_fit(residual, n), r, squares / ((double)n - 1)};
    free(residual);
    return out;
}

struct pruning {
    const double *values;
    size_t n;
    double bound;
    struct potts_segment *segments;
    double *gains; // of the step after each segment
    size_t count;
};

// What the step between segments j and j + 1 gains among the values around it.
static double gain_of(const struct pruning *p, size_t j)
{
    const struct potts_segment *a = &p->segments[j], *b = a + 1, both = {a->first, b->end, 0};
    size_t at = b->first, first = at > AROUND ? at - AROUND : 0;
    size_t end = p->n - at > AROUND ? at + AROUND : p->n, k = j;
    double joined = mean(p->values, &both), with[2 * AROUND], without[2 * AROUND];
    while (p->segments[k].first > first)
        k--;
    for (size_t i = first; i < end; i++) {
        k += i >= p->segments[k].end;
        double level = p->segments[k].level, residual = p->values[i] - level;
        with[i - first] = fmax(-p->bound, fmin(p->bound, residual));
        without[i - first] = with[i - first] + (k == j || k == j + 1 ? level - joined : 0);
    }
    return memory_fit(with, end - first) - memory_fit(without, end - first);
}

static size_t weakest(const struct pruning *p)
{
    size_t least = 0;
    for (size_t j = 1; j + 1 < p->count; j++)
        least = p->gains[j] < p->gains[least] ? j : least;
    return least;
}

static void join(struct pruning *p, size_t j)
{
    struct potts_segment *segment = &p->segments[j];
    size_t rest = p->count - j - 2;
    segment->end = segment[1].end;
    segment->level = mean(p->values, segment);
    memmove(segment + 1, segment + 2, rest * sizeof(*segment));
    memmove(p->gains + j, p->gains + j + 1, (rest + 1) * sizeof(*p->gains));
    p->count--;
    for (size_t k = 0; k + 1 < p->count; k++) {
        size_t at = p->segments[k + 1].first;
        if (at + AROUND > segment->first && at < segment->end + AROUND)
            p->gains[k] = gain_of(p, k);
    }
}

size_t steps_prune(const double *values, size_t n, double bound, struct potts_segment *segments,
                   size_t count, double cost)
{
    struct pruning p = {values, n, bound, segments, xcalloc(count, sizeof(double)), count};
    for (size_t j = 0; j < count; j++)
        segments[j].level = mean(values, &segments[j]);
    for (size_t j = 0; j + 1 < count; j++)
        p.gains[j] = gain_of(&p, j);
    while (p.count > 1 && p.gains[weakest(&p)] <= cost)
        join(&p, weakest(&p));
    free(p.gains);
    return p.count;
}
