// SPDX-License-Identifier: Apache-2.0
//
// The rules of other tools as re-implemented for the comparison: hand-computed cases.
#include "tests/helpers/helper_duets.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_peers.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool near(double a, double b, double tolerance)
{
    return fabs(a - b) <= tolerance;
}

static double score(const char *name, const double *base, const double *head, size_t count)
{
    const struct peer *peer = peer_find(name);
    assert_non_null(peer);
    return peer->score(&(struct peer_data){base, head, count});
}

static const double low[5] = {1, 2, 3, 4, 5}, high[5] = {6, 7, 8, 9, 10};

// t = 5 / sqrt(2.5/5 + 2.5/5) = 5 with 8 degrees of freedom: p = 0.00105.
TEST(t_tests_match_tables)
{
    assert_true(near(score("Welch t", low, high, 5), -log10(0.001053), 1e-3));
    // Population variance is 4/5 of it: t = 5.59, p = 0.000516.
    assert_true(near(score("Hunter's t", low, high, 5), -log10(0.000516), 1e-3));
    assert_true(near(score("Welch t", low, low, 5), 0, 1e-9));
}

// U = 0 of 25: z = (12.5 - 0.5) / sqrt(25 x 11 / 12) = 2.507.
TEST(ranks_match_the_normal_approximation)
{
    assert_true(near(score("Mann-Whitney", low, high, 5), -log10(2 * 0.00609), 1e-3));
    assert_true(near(score("Mann-Whitney", low, low, 5), 0, 1e-9));
    const double same[4] = {2, 2, 2, 2};
    assert_true(near(score("Mann-Whitney", same, same, 4), 0, 0));
}

TEST(nvbench_rules_follow_their_description)
{
    // Means 3 and 8, relative SDs 0.527 and 0.198: 1.667 / 0.198.
    assert_true(near(score("nvbench legacy", low, high, 5), 5.0 / 3 / (sqrt(2.5) / 8), 1e-9));
    // [1, 4] and [6, 9]: gap 6/4 - 1.
    assert_true(near(score("nvbench robust", low, high, 5), 0.5, 1e-12));
    assert_true(score("nvbench robust", low, low, 5) < 0);
}

TEST(size_rules_follow_their_description)
{
    assert_true(near(score("2 % gate", low, high, 5), 8.0 / 3 - 1, 1e-12));
    const double base[6] = {100, 100.1, 100.2, 100.1, 100, 100.2};
    const double slow[6] = {102, 102.1, 102.2, 102.1, 102, 102.2};
    assert_true(near(score("LNT", base, slow, 6), 0.02, 1e-12));
    assert_true(near(score("LNT", base, base, 6), 0, 0)); // ranks do not differ
}

TEST(paired_rules_see_only_the_ratio)
{
    double base[40], head[40];
    struct random random = {8};
    for (int i = 0; i < 40; i++) {
        base[i] = exp(random_normal(&random)); // shared by both, far larger than the change
        head[i] = base[i] * exp(0.01 + 0.002 * random_normal(&random));
    }
    assert_true(score("paired t", base, head, 40) > 10);
    assert_true(score("paired trimmed t", base, head, 40) > 10);
    assert_true(score("Welch t", base, head, 40) < 1);
}

TEST(every_rule_has_a_name_and_a_limit)
{
    for (size_t i = 0; i < peer_count; i++)
        assert_true(peer_find(peers[i].name) == &peers[i] && peers[i].limit > 0);
    assert_null(peer_find("none"));
}

static struct duets *read_text(const char *text, int *result)
{
    const char *path = helper_file(text);
    struct duets *data = xcalloc(1, sizeof(*data));
    struct error err;
    *result = duets_read(data, path, &err);
    return data;
}

TEST(recorded_duets_are_read_by_column_name)
{
    int result;
    struct duets *data = read_text("# source\nus_b,process,us_a,shape,batch,variant,more\n"
                                   "2,0,1,s,1,same,x\n3,0,2,s,1,same,x\n4,1,3,s,1,same,x\n"
                                   "9,0,8,s,5,same,x\n",
                                   &result);
    assert_int_equal(result, 0);
    assert_int_equal(data->count, 2);
    assert_int_equal(data->series[0].count, 2);
    assert_int_equal(data->series[0].processes[0].count, 2);
    assert_true(near(data->series[0].processes[0].us_b[1], 3, 0));
    assert_true(near(data->series[1].batch, 5, 0));
    duets_free(data);
}

TEST(samples_of_bench_are_read_too)
{
    int result;
    struct duets *data =
        read_text("kernel,problem,role,block,pair,order,launches,time_ns,clock_hz\n"
                  "k,8x8x8:fp32,head,0,0,0,2,3000,0\nk,8x8x8:fp32,base,0,0,1,2,1000,0\n"
                  "k,8x8x8:fp32,base,0,1,0,2,1500,0\n" // its head is missing
                  "k,8x8x8:fp32,base,0,2,0,2,2000,0\nk,8x8x8:fp32,head,0,2,1,2,4000,0\n",
                  &result);
    assert_int_equal(result, 0);
    assert_int_equal(data->count, 1);
    const struct duet_process *p = &data->series[0].processes[0];
    assert_int_equal(p->count, 2);
    assert_true(near(p->us_a[0], 2, 1e-12) && near(p->us_b[0], 6, 1e-12));
    assert_true(near(p->us_a[1], 4, 1e-12) && near(p->us_b[1], 8, 1e-12));
    duets_free(data);
}

TEST(broken_lines_are_refused)
{
    const char *const bad[] = {"shape,batch,variant,process,us_a\n",
                               "shape,batch,variant,process,us_a,us_b\ns,1,same,0,1\n",
                               "shape,batch,variant,process,us_a,us_b\ns,1,same,0,1,zero\n",
                               "shape,batch,variant,process,us_a,us_b\ns,1,same,0,1,-1\n",
                               "shape,batch,variant,process,us_a,us_b\ns,1,same,-2,1,1\n"};
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
        int result;
        struct duets *data = read_text(bad[i], &result);
        assert_int_equal(result, -1);
        duets_free(data);
    }
}

TEST(trial_of_a_real_change_keeps_its_direction)
{
    int result;
    struct duets *data = read_text("shape,batch,variant,process,us_a,us_b\n"
                                   "s,1,slow,0,1,2\ns,1,slow,0,1,2\ns,1,slow,1,1,2\n",
                                   &result);
    struct draw draw = draw_new(&data->series[0]);
    struct random random = {1};
    for (int i = 0; i < 20; i++) {
        draw_trial(&draw, &data->series[0], 0.5, i % 2, &random);
        assert_int_equal(draw.end[1], 3);
        for (int k = 0; k < 3; k++)
            assert_true(near(draw.head[k] / draw.base[k], 3, 1e-12));
    }
    draw_free(&draw);
    duets_free(data);
}
