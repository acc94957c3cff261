// SPDX-License-Identifier: Apache-2.0
//
// Figures of a model's accuracy and biases, against cases worked by hand.
#include "model/predict/parts/accuracy.h"
#include "model/predict/parts/bias.h"
#include "tests/helpers/helper_table.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool near(double actual, double expected)
{
    return fabs(actual - expected) < 1e-12;
}

TEST(metrics_equal_a_case_worked_by_hand)
{
    const struct accuracy_row rows[] = {{"a", 110, 100, NULL, 0, 0},
                                        {"a", 90, 100, NULL, 0, 0},
                                        {"a", 300, 200, NULL, 0, 0},
                                        {"b", 100, 100, NULL, 0, 0},
                                        {"b", 80, 100, NULL, 0, 0}};
    struct accuracy a = accuracy_of(rows, ARRAY_COUNT(rows));
    assert_true(near(a.mape, (0.1 + 0.1 + 0.5 + 0 + 0.2) / 5));
    assert_true(near(a.median, 0.1));
    assert_true(near(a.worst, 0.5));
    assert_true(near(a.p90, 0.2 + 0.6 * (0.5 - 0.2))); // between the 4th and the 5th
    assert_true(near(a.mean_ratio, (1.1 + 0.9 + 1.5 + 1 + 0.8) / 5));
    assert_true(near(a.least_ratio, 0.8) && near(a.most_ratio, 1.5) && near(a.median_ratio, 1));
    assert_true(near(a.bias, (log(1.1) + log(0.9) + log(1.5) + log(0.8)) / 5));
    assert_true(near(a.within_10, 0.6) || near(a.within_10, 0.4)); // 1.1 and 0.9 are on the edge
    // a: of three pairs, one measured tie; the other two in order: tau-b 2 / sqrt(3 2). b: all
    // tied.
    assert_int_equal(a.tau_problems, 1);
    assert_true(near(a.tau, 2 / sqrt(6)));
    assert_true(near(a.picked, 1) && a.picked_problems == 2);
}

TEST(picking_a_slow_configuration_costs_its_share)
{
    const struct accuracy_row rows[] = {{"a", 10, 200, NULL, 0, 0},
                                        {"a", 20, 100, NULL, 0, 0},
                                        {"b", 5, 50, NULL, 0, 0},
                                        {"b", 6, 60, NULL, 0, 0}};
    struct accuracy a = accuracy_of(rows, ARRAY_COUNT(rows));
    assert_true(near(a.picked, 0.75) && near(a.picked_worst, 0.5));
    assert_true(near(a.tau, 0)); // -1 and +1
    struct accuracy_row sorted[ARRAY_COUNT(rows)];
    memcpy(sorted, rows, sizeof(rows));
    size_t count;
    struct accuracy_problem *problems = accuracy_by_problem(&count, sorted, ARRAY_COUNT(rows));
    assert_int_equal(count, 2);
    assert_true(near(problems[0].tau, -1) && near(problems[0].picked, 0.5));
    assert_true(problems[0].picked_rank == 2 && problems[0].choice->measured_ns == 200);
    assert_true(near(problems[1].tau, 1) && problems[1].picked_rank == 1);
    assert_int_equal(problems[1].configurations, 2);
    free(problems);
}

TEST(bands_are_held_to_what_was_measured)
{
    const struct accuracy_row rows[] = {{"a", 100, 100 * exp(0.05), NULL, 0.1, 0.2},
                                        {"b", 100, 100 * exp(-0.15), NULL, 0.1, 0.2},
                                        {"c", 100, 100 * exp(0.3), NULL, 0.1, 0.2},
                                        {"d", 100, 100 * exp(0.19), NULL, 0.2, 0.4},
                                        {"e", 100, 100, NULL, 0, 0}}; // none: not counted
    struct accuracy a = accuracy_of(rows, ARRAY_COUNT(rows));
    assert_true(near(a.within_sigma, 0.5) && near(a.within_2_sigma, 0.75));
    // A heavy tail has a second band of its own.
    const struct accuracy_row tails[] = {{"a", 100, 100 * exp(0.3), NULL, 0.1, 0.31},
                                         {"b", 100, 100 * exp(0.19), NULL, 0.1, 0.18}};
    a = accuracy_of(tails, ARRAY_COUNT(tails));
    assert_true(near(a.within_sigma, 0) && near(a.within_2_sigma, 0.5));
    assert_true(isnan(accuracy_of(&rows[4], 1).within_sigma));
}

TEST(nothing_to_judge_gives_no_figures)
{
    struct accuracy a = accuracy_of(NULL, 0);
    assert_true(a.rows == 0 && isnan(a.tau) && isnan(a.picked));
    const struct accuracy_row one[] = {{"a", 2, 1, NULL, 0, 0}};
    a = accuracy_of(one, 1);
    assert_true(near(a.mape, 1) && near(a.p99, 1) && isnan(a.tau) && isnan(a.picked));
}

TEST(kendall_tau_orders_and_ties)
{
    const double up[] = {1, 2, 3, 4}, down[] = {4, 3, 2, 1}, flat[] = {1, 1, 1, 1};
    const double mixed[] = {1, 3, 2, 4};
    assert_true(near(kendall_tau(up, up, 4), 1));
    assert_true(near(kendall_tau(up, down, 4), -1));
    assert_true(near(kendall_tau(up, mixed, 4), 4.0 / 6));
    assert_true(isnan(kendall_tau(up, flat, 4)));
}

TEST(best_utilisation_beats_every_other)
{
    double peak[50], time[50];
    uint32_t seed = 3;
    for (int i = 0; i < 50; i++) {
        peak[i] = 10 + (double)((seed = seed * 1664525 + 1013904223) >> 20);
        time[i] = peak[i] * (1 + (double)((seed = seed * 1664525 + 1013904223) >> 24) / 50);
    }
    double u = best_utilisation(peak, time, 50), least = 0;
    for (int i = 0; i < 50; i++)
        least += fabs(peak[i] / u / time[i] - 1);
    for (double v = 0.01; v < 1.5; v += 0.001) {
        double sum = 0;
        for (int i = 0; i < 50; i++)
            sum += fabs(peak[i] / v / time[i] - 1);
        assert_true(sum >= least - 1e-9);
    }
}

TEST(scurve_is_sorted_and_well_formed)
{
    const struct accuracy_row rows[] = {
        {"x,1", 30, 10, NULL, 0, 0}, {"y", 10, 10, NULL, 0, 0}, {"z", 5, 10, NULL, 0, 0}};
    struct buffer text = {0};
    accuracy_scurve_csv(&text, rows, 3);
    struct csv csv;
    struct error err;
    assert_int_equal(csv_parse(&csv, text.bytes, text.length, "scurve", &err), 0);
    assert_int_equal(csv.count, 3);
    assert_string_equal(csv.rows[0].fields[3], "z");
    assert_string_equal(csv.rows[2].fields[3], "x,1");
    csv_free(&csv);
    free(text.bytes);
}

// ---- bias ----

static const struct problem cold = {.in = DTYPE_BF16, .regime = REGIME_COLD},
                            stream = {.in = DTYPE_BF16, .regime = REGIME_STREAM};

TEST(bias_is_the_median_log_ratio_of_its_kernel)
{
    const struct bias_row rows[] = {
        {"b", 100, 120, 0, REGIME_COLD, DTYPE_BF16}, {"a", 100, 90, 0, REGIME_COLD, DTYPE_BF16},
        {"b", 100, 110, 0, REGIME_COLD, DTYPE_BF16}, {"b", 100, 500, 0, REGIME_COLD, DTYPE_BF16},
        {"a", 100, 90, 0, REGIME_COLD, DTYPE_BF16},  {"c", 0, 10, 0, REGIME_COLD, DTYPE_BF16},
        {"c", 10, NAN, 0, REGIME_COLD, DTYPE_BF16},
    };
    struct bias_table t = bias_fit(rows, ARRAY_COUNT(rows));
    assert_int_equal(t.count, 2);
    assert_string_equal(t.items[0].kernel, "a");
    assert_true(near(bias_find(&t, "a", &cold)->log_factor, log(0.9)));
    assert_true(near(bias_find(&t, "b", &cold)->log_factor, log(1.2)));
    assert_int_equal(bias_find(&t, "b", &cold)->rows, 3);
    assert_null(bias_find(&t, "c", &cold));
    bias_table_free(&t);
    struct bias_table none = bias_fit(NULL, 0);
    assert_null(bias_find(&none, "a", &cold));
    bias_table_free(&none);
}

TEST(applied_bias_scales_time_and_parts)
{
    const struct bias_row rows[] = {{"a", 100, 150, 0, REGIME_COLD, DTYPE_BF16},
                                    {"a", 200, 300, 0, REGIME_COLD, DTYPE_BF16}};
    struct bias_table t = bias_fit(rows, 2);
    struct prediction p = {.feasible = true,
                           .time_ns = 10,
                           .part_count = 2,
                           .band = 0.5,
                           .parts = {{"x", 4}, {"y", 6}}};
    bias_apply(&p, &t, "a", &cold);
    assert_true(near(p.time_ns, 15) && near(p.parts[0].time_ns + p.parts[1].time_ns, 15));
    assert_true(p.band < 0.5);
    assert_int_equal(p.bias_rows, 2); // what it stands on is told with it
    struct prediction other = {.feasible = true, .time_ns = 10, .band = 0.5};
    bias_apply(&other, &t, "unknown", &cold);
    assert_true(other.time_ns == 10 && other.band == 0.5);
    bias_table_free(&t);
}

TEST(the_band_is_the_spread_of_the_rows)
{
    struct bias_row rows[201];
    for (int i = 0; i < 201; i++) // log ratios evenly from -0.2 to 0.2: MAD 0.1
        rows[i] =
            (struct bias_row){"a", 100, 100 * exp(0.002 * (i - 100)), 0, REGIME_COLD, DTYPE_BF16};
    struct bias_table t = bias_fit(rows, 201);
    assert_true(fabs(t.items[0].band - 0.14826) < 1e-9);
    assert_true(fabs(t.items[0].log_factor) < 1e-12);
    bias_table_free(&t);
}

// By hand: of a band of 0.3 seven tenths are noise, three the kernel's. All rows are of one size,
// so no slope is seen, and of one ratio, the weight of each 1 / (noise + rest^2).
TEST(a_band_is_a_prior_that_rows_correct)
{
    struct bias_row rows[100];
    double before = 0.3;
    for (size_t n = 1; n <= 64; n *= 4) {
        for (size_t i = 0; i < n; i++)
            rows[i] = (struct bias_row){"a", 1e5, 1e5 * exp(0.09), 0.3, REGIME_COLD, DTYPE_BF16};
        struct bias_table t = bias_fit(rows, n);
        const struct bias *b = &t.items[0];
        double rest = 0.09 - b->log_factor, weight = (double)n / (0.063 + rest * rest);
        assert_true(near(b->log_factor, 0.09 * weight / (weight + 1 / 0.027)));
        assert_true(near(b->factor_sd, sqrt(1 / (weight + 1 / 0.027))));
        double seen = 1.4826 * rest / 0.3, of = n < 5 ? 0 : (double)n;
        double noise = (0.7 * 100 + of * seen * seen) / (100 + of);
        assert_true(fabs(b->band - sqrt(noise * 0.09 + b->factor_sd * b->factor_sd)) < 1e-9);
        assert_true(b->band < before && fabs(b->slope) < 1e-12);
        before = b->band;
        bias_table_free(&t);
    }
}

// A GPU that nobody judged may be off by any factor: it is no row far off, it is all of them.
TEST(a_factor_beyond_what_is_expected_is_believed)
{
    struct bias_row rows[8];
    for (int i = 0; i < 8; i++)
        rows[i] =
            (struct bias_row){"a",  1e4 * (i + 1), 0.4e4 * (i + 1) * exp(i % 2 ? 0.03 : -0.03),
                              0.16, REGIME_COLD,   DTYPE_BF16};
    struct bias_table t = bias_fit(rows, 8);
    assert_true(fabs(t.items[0].log_factor / log(0.4) - 1) < 0.15);
    bias_table_free(&t);
}

TEST(an_offset_is_found_where_there_is_one)
{
    struct bias_row late[24], wide[24];
    for (int i = 0; i < 24; i++) {
        double ns = 5000 * exp(0.2 * i), noise = exp(i % 2 ? 0.01 : -0.01);
        late[i] = (struct bias_row){"a", ns, (ns + 1500) * noise, 0.08, REGIME_COLD, DTYPE_BF16};
        wide[i] = (struct bias_row){"a", ns, 1.05 * ns * noise, 0.08, REGIME_COLD, DTYPE_BF16};
    }
    struct bias_table t = bias_fit(late, 24), u = bias_fit(wide, 24);
    assert_true(fabs(t.items[0].offset_ns - 1500) < 200);
    assert_true(fabs(u.items[0].offset_ns) < 50 && fabs(u.items[0].log_factor - log(1.05)) < 0.01);
    struct prediction p = {.feasible = true, .time_ns = 5000, .band = 0.08};
    bias_apply(&p, &t, "a", &cold);
    assert_true(fabs(p.time_ns / 6500 - 1) < 0.03);
    assert_int_equal(t.items[0].rows, 24);
    bias_table_free(&t);
    bias_table_free(&u);
}

TEST(regimes_have_biases_of_their_own)
{
    const struct bias_row rows[] = {{"a", 100, 110, 0, REGIME_STREAM, DTYPE_BF16},
                                    {"a", 100, 90, 0, REGIME_COLD, DTYPE_BF16},
                                    {"b", 100, 120, 0, REGIME_WARM, DTYPE_BF16}};
    struct bias_table t = bias_fit(rows, 3);
    assert_int_equal(t.count, 3);
    assert_true(near(bias_find(&t, "a", &stream)->log_factor, log(1.1)));
    assert_true(near(bias_find(&t, "a", &cold)->log_factor, log(0.9)));
    assert_null(bias_find(&t, "b", &cold));
    struct prediction p = {.feasible = true, .time_ns = 100};
    bias_apply(&p, &t, "b", &cold);
    assert_true(p.time_ns == 100);
    bias_table_free(&t);
}

// "cublaslt" is one name of many kernels.
TEST(types_have_biases_of_their_own)
{
    const struct bias_row rows[] = {{"a", 100, 110, 0, REGIME_COLD, DTYPE_TF32},
                                    {"a", 100, 90, 0, REGIME_COLD, DTYPE_BF16}};
    const struct problem tf32 = {.in = DTYPE_TF32}, fp16 = {.in = DTYPE_FP16};
    struct bias_table t = bias_fit(rows, 2);
    assert_int_equal(t.count, 2);
    assert_true(near(bias_find(&t, "a", &tf32)->log_factor, log(1.1)));
    assert_true(near(bias_find(&t, "a", &cold)->log_factor, log(0.9)));
    assert_null(bias_find(&t, "a", &fp16));
    bias_table_free(&t);
}

static double band_of_row(const struct bias_table *table, double time_ns, double own)
{
    struct prediction p = {.feasible = true, .time_ns = time_ns, .band = own, .band_95 = 2.5 * own};
    bias_apply(&p, table, "a", &cold);
    assert_true(near(p.band_95, 2.5 * p.band)); // its tail stays what it was
    return p.band;
}

// A kernel that is 10 % off at 10 us and right at 1 ms: sizes between are met, beyond them the
// nearest end counts, and a row keeps what its own class is off by.
TEST(a_bias_goes_with_the_size_and_the_band_with_the_row)
{
    struct bias_row rows[60];
    for (int i = 0; i < 60; i++) {
        double share = i / 59.0, time_ns = 1e4 * pow(100, share);
        rows[i] = (struct bias_row){"a",  time_ns,     time_ns * exp(0.1 * (1 - share)),
                                    0.08, REGIME_COLD, DTYPE_BF16};
    }
    struct bias_table t = bias_fit(rows, 60);
    static const double sizes_ns[] = {1e3, 1e4, 1e5, 1e6, 1e7}, factors[] = {0.1, 0.1, 0.05, 0, 0};
    for (size_t i = 0; i < ARRAY_COUNT(sizes_ns); i++) {
        struct prediction p = {.feasible = true, .time_ns = sizes_ns[i], .band = 0.08};
        bias_apply(&p, &t, "a", &cold);
        assert_true(fabs(log(p.time_ns / sizes_ns[i]) - factors[i]) < 0.02);
    }
    assert_true(band_of_row(&t, 1e5, 0.08) < 0.08);
    assert_true(band_of_row(&t, 1e5, 0.16) > 1.8 * band_of_row(&t, 1e5, 0.08));
    assert_true(band_of_row(&t, 1e6, 0.08) > band_of_row(&t, 1e5, 0.08));
    bias_table_free(&t);
}
