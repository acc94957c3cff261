// SPDX-License-Identifier: Apache-2.0
//
// The segments of a series: no others cost less, and how a step between two of them counts.
#include "model/history/segmentation.h"

#include "model/base.h"
#include "tests/helpers/helper_changepoint.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 60 };

static struct segmentation segments_of(const double *values, size_t n)
{
    struct segmentation s;
    segmentation_find(&s, values, n, changepoint_defaults.penalty, changepoint_defaults.bound);
    return s;
}

static double cost_at(const double *y, size_t first, size_t end, double level, double reach)
{
    double sum = 0;
    for (size_t i = first; i < end; i++)
        sum += fmin((y[i] - level) * (y[i] - level), reach * reach);
    return sum;
}

// The least bounded cost of one level for these values: the level is the mean of some of them that
// lie next to each other in size, so all such means are tried.
static double least_cost(const double *y, size_t first, size_t end, double reach)
{
    double sorted[N], least = INFINITY;
    const size_t n = end - first;
    memcpy(sorted, y + first, n * sizeof(*sorted));
    for (size_t i = 1; i < n; i++)
        for (size_t k = i; k > 0 && sorted[k - 1] > sorted[k]; k--) {
            const double larger = sorted[k - 1];
            sorted[k - 1] = sorted[k];
            sorted[k] = larger;
        }
    for (size_t low = 0; low < n; low++) {
        double sum = 0;
        for (size_t high = low; high < n && sorted[high] - sorted[low] < 2 * reach; high++) {
            sum += sorted[high];
            const double level = sum / (double)(high - low + 1);
            least = fmin(least, cost_at(y, first, end, level, reach));
        }
    }
    return least;
}

// The least cost of all ways to cut the values into `count` segments, by trying each.
static double least_of_all(const double *y, size_t n, size_t count, double reach)
{
    double best[N + 1];
    for (size_t end = 0; end <= n; end++)
        best[end] = end ? least_cost(y, 0, end, reach) : 0;
    for (size_t j = 1; j < count; j++)
        for (size_t end = n; end > j; end--) {
            best[end] = INFINITY;
            for (size_t first = j; first < end; first++)
                best[end] = fmin(best[end], best[first] + least_cost(y, first, end, reach));
        }
    return best[n];
}

TEST(no_other_segments_cost_less)
{
    for (uint64_t seed = 1; seed <= 6; seed++) {
        double values[N], cost = 0;
        struct random random = {seed};
        cp_series(values, N, seed % 2 ? CP_NORMAL : CP_SPIKES, &random);
        cp_add_step(values, N, 17, 8);
        cp_add_step(values, N, 41, -6);
        struct segmentation s = segments_of(values, N);
        assert_int_equal(s.count, 3);
        for (size_t j = 0; j < s.count; j++) {
            const struct potts_segment *segment = &s.segments[j];
            cost += cost_at(s.y, segment->first, segment->end, segment->level, s.reach);
        }
        const double least = least_of_all(s.y, N, s.count, s.reach);
        assert_true(cost >= least - 1e-9);
        assert_true(cost <= least * (1 + 1e-6));
        segmentation_free(&s);
    }
}

// The unit of the values is of no importance, and values that are missing count nowhere.
TEST(a_score_is_of_no_unit)
{
    double values[N], again[N + 1];
    struct random random = {7};
    cp_series(values, N, CP_NORMAL, &random);
    cp_add_step(values, N, 30, 6);
    again[0] = NAN;
    for (size_t i = 0; i < N; i++)
        again[i + 1] = 1e-9 * values[i];
    struct segmentation s = segments_of(values, N), t = segments_of(again, N + 1);
    assert_int_equal(s.count, 2);
    assert_int_equal(t.count, 2);
    assert_int_equal(t.where[t.segments[1].first], s.where[s.segments[1].first] + 1);
    assert_true(fabs(segmentation_score(&t, 0) / segmentation_score(&s, 0) - 1) < 1e-6);
    segmentation_free(&s);
    segmentation_free(&t);
}

// Two steps of one size: where the values around a step are louder, it says less.
TEST(a_step_among_louder_values_scores_less)
{
    double values[4 * N];
    struct random random = {8};
    cp_series(values, 4 * N, CP_NORMAL, &random);
    for (size_t i = 2 * N; i < 4 * N; i++)
        values[i] = 100 + 1.8 * (values[i] - 100);
    cp_add_step(values, 4 * N, N, 8);
    cp_add_step(values, 4 * N, 3 * N, 8);
    struct segmentation s = segments_of(values, 4 * N);
    assert_int_equal(s.count, 3);
    assert_true(segmentation_score(&s, 1) < 0.6 * segmentation_score(&s, 0));
    segmentation_free(&s);
}

// One value in five is eight away. The mean is 1.6 away from most values, and the level is not.
TEST(a_level_lies_where_most_of_its_values_do)
{
    double values[N];
    struct random random = {9};
    cp_series(values, N, CP_NORMAL, &random);
    for (size_t i = 2; i < N; i += 5)
        values[i] += 8;
    struct segmentation s = segments_of(values, N);
    assert_int_equal(s.count, 1);
    s.segments[0].level = (101.6 - s.centre) / s.scale;
    segmentation_level(&s, 0);
    assert_true(fabs(s.centre + s.scale * s.segments[0].level - 100) < 0.5);
    segmentation_free(&s);
}

// A random walk is known as such, and steps in noise are none.
TEST(a_level_that_wanders_is_told_from_steps)
{
    double walk[4 * N], steps[4 * N];
    struct random random = {10};
    cp_series(walk, 4 * N, CP_WALK, &random);
    cp_series(steps, 4 * N, CP_NORMAL, &random);
    cp_add_step(steps, 4 * N, 2 * N, 10);
    struct segmentation s = segments_of(walk, 4 * N), t = segments_of(steps, 4 * N);
    assert_true(s.wanders);
    assert_false(t.wanders);
    segmentation_free(&s);
    segmentation_free(&t);
}
