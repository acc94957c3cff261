// SPDX-License-Identifier: Apache-2.0
//
// Levels: exact against dense normal equations for any links in any order, what is added one by one
// is what is added at once, and what loops say: the misclosure, and wider intervals.
#include "model/history/levels.h"
#include "tests/helpers/helper_random.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 400 };

struct net {
    struct level_link links[MOST];
    size_t count, codes;
};

static void put(struct net *net, size_t from, size_t to, double log_ratio, double error)
{
    assert_true(net->count < MOST);
    net->links[net->count++] = (struct level_link){from, to, log_ratio, error};
    const size_t last = from > to ? from : to;
    net->codes = last + 1 > net->codes ? last + 1 : net->codes;
}

static struct levels *solved(const struct net *net)
{
    struct levels *levels = levels_new();
    struct error err;
    for (size_t i = 0; i < net->count; i++)
        levels_add(levels, &net->links[i]);
    assert_int_equal(levels_solve(levels, &err), 0);
    return levels;
}

static struct levels *closed(const struct net *net)
{
    struct levels *levels = solved(net);
    struct error err;
    assert_int_equal(levels_close(levels, &levels_prior, &err), 0);
    return levels;
}

// ---- brute force ----

// Solves a x = b in place by elimination with pivots.
static void eliminate(double *a, double *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t pivot = i;
        for (size_t r = i; r < n; r++)
            pivot = fabs(a[r * n + i]) > fabs(a[pivot * n + i]) ? r : pivot;
        for (size_t c = 0; c < n; c++) {
            const double kept = a[i * n + c];
            a[i * n + c] = a[pivot * n + c];
            a[pivot * n + c] = kept;
        }
        const double kept = b[i];
        b[i] = b[pivot];
        b[pivot] = kept;
        for (size_t r = 0; r < n; r++) {
            const double factor = a[r * n + i] / a[i * n + i];
            for (size_t c = i; r != i && c < n; c++)
                a[r * n + c] -= factor * a[i * n + c];
            b[r] -= r == i ? 0 : factor * b[i];
        }
    }
    for (size_t i = 0; i < n; i++)
        b[i] /= a[i * n + i];
}

// The dense normal equations with every mark held at 0; `right` NULL: those of the links.
static void brute(double *x, const struct net *net, const struct levels *levels,
                  const double *right)
{
    const size_t n = levels->codes;
    double *a = xcalloc(n * n, sizeof(*a));
    memset(x, 0, n * sizeof(*x));
    for (size_t i = 0; i < net->count; i++) {
        const struct level_link *l = &net->links[i];
        if (levels->fit[i] == LINK_ASIDE)
            continue;
        const double change = levels->weighed_unlike * fmax(fabs(l->log_ratio) - 0.01, 0);
        const double w = 1 / (l->error * l->error + levels->weighed * levels->weighed +
                              change * change + levels->factor->doubt[i]);
        a[l->from * n + l->from] += w;
        a[l->to * n + l->to] += w;
        a[l->from * n + l->to] -= w;
        a[l->to * n + l->from] -= w;
        x[l->from] -= w * l->log_ratio;
        x[l->to] += w * l->log_ratio;
    }
    if (right)
        memcpy(x, right, n * sizeof(*x));
    for (size_t i = 0; i < n; i++) {
        if (levels->mark[i] != i)
            continue;
        for (size_t k = 0; k < n; k++)
            a[i * n + k] = a[k * n + i] = 0;
        a[i * n + i] = 1;
        x[i] = 0;
    }
    eliminate(a, x, n);
    free(a);
}

static void check_against_brute_force(const struct net *net, const struct levels *levels)
{
    double x[MOST], right[MOST], errors[MOST];
    brute(x, net, levels, NULL);
    for (size_t i = 0; i < levels->codes; i++)
        assert_true(fabs(levels->level[i] - x[i]) < 1e-9);
    levels_errors(errors, levels);
    for (size_t i = 0; i < levels->codes; i += 7) {
        double size, error;
        memset(right, 0, sizeof(right));
        right[i] = 1;
        brute(x, net, levels, right);
        assert_true(fabs(errors[i] - levels->unit * sqrt(x[i])) < 1e-9);
        const size_t other = levels->codes - 1 - i;
        levels_between(&size, &error, levels, i, other);
        if (levels->mark[i] != levels->mark[other]) {
            assert_true(isinf(size) && isinf(error));
            continue;
        }
        if (i != other)
            right[other] = -1;
        brute(x, net, levels, right);
        const double expected = i == other ? 0 : levels->unit * sqrt(fabs(x[i] - x[other]));
        assert_true(fabs(error - expected) < 1e-9);
        assert_true(fabs(size - (levels->level[other] - levels->level[i])) < 1e-12);
    }
}

// Any codes with any others, near and far: several components, hubs, links there and back.
static void random_net(struct net *net, struct random *random)
{
    memset(net, 0, sizeof(*net));
    const size_t codes = 2 + (size_t)(random_uniform(random) * 180);
    const size_t links = 1 + (size_t)(random_uniform(random) * (MOST - 1));
    for (size_t i = 0; i < links; i++) {
        const size_t a = (size_t)(random_uniform(random) * (double)codes);
        const double reach = i % 20 ? 9 : (double)codes;
        const size_t b = (a + 1 + (size_t)(random_uniform(random) * reach)) % codes;
        if (a != b)
            put(net, a, b, random_uniform(random) - 0.5, 0.0003 + 0.002 * random_uniform(random));
    }
    if (net->count == 0)
        put(net, 0, 1, 0.1, 0.001);
}

TEST(levels_are_those_of_the_dense_normal_equations)
{
    struct random random = {20261122};
    for (int turn = 0; turn < 15; turn++) {
        struct net net;
        random_net(&net, &random);
        struct levels *levels = solved(&net);
        check_against_brute_force(&net, levels);
        struct error err;
        assert_int_equal(levels_close(levels, &levels_prior, &err), 0);
        check_against_brute_force(&net, levels);
        levels_free(levels);
    }
}

TEST(links_added_one_by_one_give_what_all_at_once_give)
{
    struct random random = {7};
    for (int turn = 0; turn < 10; turn++) {
        struct net net;
        struct error err;
        random_net(&net, &random);
        struct levels *grown = levels_new();
        const size_t count = net.count;
        for (net.count = 1; net.count <= count; net.count++) {
            struct levels *all = solved(&net);
            levels_add(grown, &net.links[net.count - 1]);
            assert_int_equal(levels_solve(grown, &err), 0);
            assert_int_equal(all->components, grown->components);
            assert_int_equal(all->loops, grown->loops);
            for (size_t i = 0; i < all->codes; i++) {
                assert_int_equal(all->mark[i], grown->mark[i]);
                assert_true(fabs(all->level[i] - grown->level[i]) < 1e-9);
            }
            levels_free(all);
        }
        levels_free(grown);
    }
}

// ---- loops ----

// Codes with links to those 1 and 8 back; true levels 0. Each link's error: its pairs' and t.
static void chain(struct net *net, struct random *random, size_t first, size_t codes, double error,
                  double t)
{
    const double sd = hypot(error, t);
    for (size_t i = first + 1; i < first + codes; i++) {
        put(net, i - 1, i, sd * random_normal(random), error);
        if (i >= first + 8)
            put(net, i - 8, i, sd * random_normal(random), error);
    }
}

TEST(misclosure_is_found_and_intervals_hold_the_truth)
{
    struct random random = {11};
    double sum = 0, inside = 0, pairs_only = 0;
    enum { TURNS = 200, CODES = 100 };
    for (int turn = 0; turn < TURNS; turn++) {
        struct net net = {0};
        chain(&net, &random, 0, CODES, 0.0005, 0.002);
        struct levels *levels = closed(&net);
        double size, error;
        sum += levels->misclosure;
        levels_between(&size, &error, levels, 0, CODES - 1);
        inside += fabs(size) <= error * levels_reach(levels, 0.95);
        pairs_only += fabs(size) <= error * 0.0005 / hypot(0.0005, 0.002) * 1.96;
        levels_free(levels);
    }
    assert_true(fabs(sum / TURNS - 0.002) < 0.0002);
    assert_true(inside >= 0.9 * TURNS);
    assert_true(pairs_only < 0.6 * TURNS);
}

TEST(one_chain_without_a_loop_has_the_prior)
{
    struct net net = {0};
    put(&net, 0, 1, 0.009, 0.0004);
    put(&net, 1, 2, -0.004, 0.0004);
    struct levels *levels = closed(&net);
    assert_int_equal(levels->components, 1);
    assert_int_equal(levels->loops, 0);
    assert_true(levels->misclosure == levels_prior.sd && levels->degrees == levels_prior.weight);
    double size, error;
    levels_between(&size, &error, levels, 0, 2);
    assert_true(fabs(size - 0.005) < 1e-12);
    assert_true(fabs(error - sqrt(2) * hypot(0.0004, levels_prior.sd)) < 1e-9);
    assert_true(fabs(levels_reach(levels, 0.95) - 2.776445) < 1e-5); // Student's table, 4 degrees
    levels_free(levels);
}

// There and back, with errors of the pairs that are 13 times what is known of the misclosure.
TEST(noisy_loop_does_not_take_the_prior_away)
{
    struct net net = {0};
    put(&net, 0, 1, 0.103, 0.013);
    put(&net, 1, 0, -0.102, 0.013);
    struct levels *levels = closed(&net);
    assert_int_equal(levels->loops, 1);
    assert_true(fabs(levels->misclosure - levels_prior.sd) < 0.02 * levels_prior.sd);
    assert_true(fabs(levels->degrees - levels_prior.weight) < 0.01);
    levels_free(levels);
}

// The second component has no loop: its levels have a mark of their own, and the misclosure of the
// first one's loops.
TEST(component_without_a_loop_takes_the_misclosure_of_the_others)
{
    struct random random = {3};
    struct net net = {0};
    chain(&net, &random, 0, 100, 0.0005, 0.004);
    struct levels *alone = closed(&net);
    put(&net, 100, 101, 0.009, 0.0005);
    put(&net, 101, 102, 0.004, 0.0005);
    struct levels *levels = closed(&net);
    assert_int_equal(levels->components, 2);
    assert_int_equal(levels->loops, alone->loops);
    assert_int_equal(levels->mark[102], 100);
    assert_true(fabs(levels->misclosure - alone->misclosure) < 1e-12);
    assert_true(alone->misclosure > 0.003);
    double size, error;
    levels_between(&size, &error, levels, 100, 102);
    assert_true(fabs(size - 0.013) < 1e-12);
    assert_true(fabs(error - sqrt(2) * hypot(0.0005, levels->misclosure)) < 1e-9);
    levels_between(&size, &error, levels, 5, 102);
    assert_true(isinf(error));
    // A link between them makes them one.
    struct error err;
    levels_add(levels, &(struct level_link){99, 100, 0.1, 0.0005});
    assert_int_equal(levels_solve(levels, &err), 0);
    assert_int_equal(levels->components, 1);
    assert_int_equal(levels->mark[102], 0);
    levels_between(&size, &error, levels, 99, 102);
    assert_true(fabs(size - 0.113) < 1e-9);
    levels_free(levels);
    levels_free(alone);
}

TEST(two_components_with_loops_share_one_misclosure)
{
    struct random random = {5};
    struct net net = {0};
    chain(&net, &random, 0, 60, 0.0005, 0.003);
    chain(&net, &random, 60, 60, 0.0005, 0.003);
    struct levels *levels = closed(&net);
    assert_int_equal(levels->components, 2);
    assert_int_equal(levels->loops, net.count - 120 + 2);
    assert_true(fabs(levels->misclosure - 0.003) < 0.0007);
    levels_free(levels);
}

TEST(links_too_tangled_are_refused)
{
    struct levels *levels = levels_new();
    struct error err;
    enum { CODES = 9000 };
    for (size_t i = 1; i < CODES; i++) {
        levels_add(levels, &(struct level_link){i - 1, i, 0, 0.001});
        if (i >= 3000)
            levels_add(levels, &(struct level_link){(i * 2741) % 3000, i, 0, 0.001});
    }
    assert_int_equal(levels_solve(levels, &err), -1);
    assert_non_null(strstr(err.text, "reach too far back"));
    levels_free(levels);
}

// ---- Long histories: levelled by one factor and one inverse, which gives the same errors as
// substitution does.

// LONG codes with links to those 1, 8 and 64 back, and one to the first in every 100; the newest
// 256 with a misclosure of their own.
static struct levels *long_history(double t, double newest_t)
{
    enum { LONG = 1500, NEWEST = 256 };
    static const size_t backs[] = {1, 8, 64};
    struct random random = {23};
    struct levels *levels = levels_new();
    struct error err;
    for (size_t i = 1; i < LONG; i++) {
        const double sd = hypot(0.0005, i + NEWEST < LONG ? t : newest_t);
        for (size_t b = 0; b < 4; b++) {
            const size_t back = b < 3 ? backs[b] : i % 100 == 0 ? i - 3 : i + 1;
            const struct level_link link = {i - back, i, sd * random_normal(&random), 0.0005};
            if (back <= i)
                levels_add(levels, &link);
        }
    }
    assert_int_equal(levels_close(levels, &levels_prior, &err), 0);
    return levels;
}

// Once with the priors, and once with what its loops say.
TEST(long_history_is_weighed_twice)
{
    struct levels *levels = long_history(0.002, 0.002);
    assert_int_equal(levels->rounds, 2);
    assert_true(fabs(levels->misclosure - 0.002) < 0.0001);
    levels_free(levels);
}

TEST(misclosure_of_a_long_history_is_that_of_all_its_loops)
{
    const double all = sqrt((1244 * 0.001 * 0.001 + 256 * 0.002 * 0.002) / 1500);
    struct levels *levels = long_history(0.001, 0.002);
    assert_true(levels->rounds > 1);
    assert_true(fabs(levels->misclosure - all) < 0.1 * all);
    levels_free(levels);
}

// From the inverse, and by substitution where the inverse has no element.
TEST(errors_of_a_long_history_are_the_same_both_ways)
{
    struct levels *levels = long_history(0.002, 0.002);
    double size, error, *errors = xcalloc(levels->codes, sizeof(*errors));
    for (size_t i = 1; i < levels->codes; i += 97) {
        levels->factor->inverted = false;
        levels_between(&size, &error, levels, 0, i);
        levels_errors(errors, levels);
        assert_true(fabs(error - errors[i]) < 1e-12);
        double near;
        levels_between(&size, &near, levels, i - 1, i);
        levels->factor->inverted = false;
        levels_between(&size, &error, levels, i - 1, i);
        assert_true(fabs(error - near) < 1e-12);
    }
    free(errors);
    levels_free(levels);
}
