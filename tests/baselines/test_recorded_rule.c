// SPDX-License-Identifier: Apache-2.0
//
// The recorded study of four H200s, by the gate's rule: on the first two devices what a first
// process left open stayed open, on the third and the fourth it is asked again in fresh ones, as it
// is now. What that makes of false alarms, of what is found and of what a gate takes, as the
// READMEs say it.
#include "model/gate/study.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_gates.h"
#include "tests/helpers/helper_rates.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORDED TEST_SOURCE "/baselines/recorded/h200/"
#define STUDY    RECORDED "study/"
#define RECORD   RECORDED "README.md"
#define README   TEST_SOURCE "/baselines/recorded/README.md"

static const char *const before[] = {STUDY "study-half.csv", STUDY "study-gemm.csv",
                                     STUDY "second/study-sure.csv", STUDY "second/study-near.csv"};
static const char *const now[] = {STUDY "fourth/study-half.csv", STUDY "fourth/study-gemm.csv",
                                  STUDY "fourth/study-sure.csv", STUDY "fourth/study-near.csv"};

static struct gate_cells *cells_of(const char *const *files, size_t count)
{
    struct gate_cells *cells = xcalloc(1, sizeof(*cells));
    for (size_t i = 0; i < count; i++)
        gates_read(cells, files[i]);
    return cells;
}

// Gates of identical code, of which none alarmed.
static unsigned no_alarm_in(const char *const *files, size_t count)
{
    struct gate_cells *cells = cells_of(files, count);
    unsigned gates = 0;
    for (size_t i = 0; i < cells->count; i++) {
        assert_int_equal(cells->items[i].wrong, 0);
        gates += cells->items[i].aa ? cells->items[i].gates : 0;
    }
    free(cells);
    return gates;
}

static void the_record_bounds(unsigned gates)
{
    char text[96];
    const double most = study_rate_upper(0, gates, 0.95), one_in = floor(1 / most);
    snprintf(text, sizeof(text), "| 0 of %u,%03u |", gates / 1000, gates % 1000);
    assert_true(helper_says(RECORD, text));
    if (one_in < 1000)
        snprintf(text, sizeof(text), "| %.4f %%, 1 in %.0f |", 100 * most, one_in);
    else
        snprintf(text, sizeof(text), "| %.4f %%, 1 in %d,%03d |", 100 * most, (int)one_in / 1000,
                 (int)one_in % 1000);
    assert_true(helper_says(RECORD, text));
}

static void no_false_alarm_by_either_rule(void **state)
{
    static const char *const before_aa[] = {STUDY "study-step.csv", STUDY "second/study-aa.csv",
                                            STUDY "second/study-varies.csv",
                                            STUDY "second/study-neighbour.csv"};
    static const char *const now_aa[] = {
        STUDY "third/study-gemmaa.csv", STUDY "third/study-step.csv",
        STUDY "third/study-neighbour.csv", STUDY "fourth/study-aa.csv"};
    const unsigned was =
        no_alarm_in(before, ARRAY_COUNT(before)) + no_alarm_in(before_aa, ARRAY_COUNT(before_aa));
    const unsigned is =
        no_alarm_in(now, ARRAY_COUNT(now)) + no_alarm_in(now_aa, ARRAY_COUNT(now_aa));
    the_record_bounds(was);
    the_record_bounds(is);
    the_record_bounds(was + is);
    char text[96];
    snprintf(text, sizeof(text), "%u,%03u with the rule as it is now (at most %.4f %%), %u,%03u",
             is / 1000, is % 1000, 100 * study_rate_upper(0, is, 0.95), was / 1000, was % 1000);
    assert_true(helper_says(README, text));
}

static void what_matters_is_found_by_the_rule_as_it_is_now(void **state)
{
    struct gate_cells *cells = cells_of(now, ARRAY_COUNT(now));
    unsigned half = 0, small = 0, one_percent = 0, judged = 0;
    for (size_t i = 0; i < cells->count; i++) {
        const struct gate_cell *c = &cells->items[i];
        const double us = c->us / c->gates, effect = c->effect / c->gates;
        if (!gate_cell_must_be_found(c))
            continue;
        if (c->found != c->gates)
            fail_msg("%s %s: %u of %u", c->kernel, c->problem, c->found, c->gates);
        judged++;
        half += us > 100 && effect < 0.65 ? c->gates : 0;
        small += us < 45 ? c->gates : 0;
        one_percent += us < 45 && effect >= 0.9 && effect < 1.5 ? c->gates : 0;
    }
    free(cells);
    assert_int_equal(judged, 24);
    const unsigned found[] = {half, small, one_percent};
    for (size_t i = 0; i < ARRAY_COUNT(found); i++) {
        char text[64];
        const double least = rate_lower(found[i], found[i], 0.95);
        assert_true(least > 0.9);
        snprintf(text, sizeof(text), "%u of %u (at least %.1f %%", found[i], found[i], 100 * least);
        assert_true(helper_says(README, text));
        assert_true(helper_says(RECORD, text));
    }
}

// Effect, found, undecided, pairs and kernel time, as a row of the table has them.
static char *row_of(const struct gate_cell *c)
{
    const double n = c->gates;
    return xprintf(" %.2f %% | %u of %u | %u | %.0f | %.2f s |", c->effect / n, c->found, c->gates,
                   c->undecided, c->pairs / n, c->gpu_s / n);
}

static void each_row_of_the_table_is_what_was_recorded(void **state)
{
    struct gate_cells *old = cells_of(before, ARRAY_COUNT(before));
    struct gate_cells *new = cells_of(now, ARRAY_COUNT(now));
    unsigned rows = 0;
    for (size_t i = 0; i < old->count; i++) {
        const struct gate_cell *c = &old->items[i];
        if (c->aa)
            continue;
        char *was = row_of(c), *is = row_of(gate_cell_of(new, c->kernel, c->problem, false));
        char *row = xprintf("us |%s%s\n", was, is);
        assert_true(helper_says(RECORD, row));
        free(row);
        free(is);
        free(was);
        rows++;
    }
    assert_int_equal(rows, 34);
    free(old);
    free(new);
}

struct left_open {
    unsigned gates, found, same, undecided;
};

static struct left_open left_open(const char *const *files, size_t count, bool aa)
{
    struct left_open all = {0};
    for (size_t i = 0; i < count; i++) {
        struct csv csv;
        csv_open(&csv, files[i]);
        for (size_t r = 0; r < csv.count; r++) {
            const char *kind = csv_field(&csv, r, "kind"), *verdict = csv_field(&csv, r, "verdict");
            if ((strcmp(kind, "aa") == 0) != aa || csv_number(&csv, r, "alarmed") > 0 ||
                csv_number(&csv, r, "processes") < 2)
                continue;
            all.gates++;
            all.found += strcmp(verdict, kind) == 0;
            all.same += strcmp(verdict, "same") == 0;
            all.undecided += strcmp(verdict, "undecided") == 0;
        }
        csv_free(&csv);
    }
    return all;
}

static void other_processes_decide_a_third_of_what_is_left_open(void **state)
{
    const struct left_open aa = left_open(now, ARRAY_COUNT(now), true);
    const struct left_open changed = left_open(now, ARRAY_COUNT(now), false);
    assert_int_equal(left_open(before, ARRAY_COUNT(before), false).gates, 0);
    assert_int_equal(changed.found + changed.same + changed.undecided, changed.gates);
    assert_int_equal(aa.gates, 1);
    assert_int_equal(aa.same, 1);
    char text[96];
    snprintf(text, sizeof(text),
             "Of %u gates open after the first process %u were found,\n%u the same,", changed.gates,
             changed.found, changed.same);
    assert_true(helper_says(RECORD, text));
    snprintf(text, sizeof(text), "and %u stayed undecided", changed.undecided);
    assert_true(helper_says(RECORD, text));
}

// The same kernels counted as often as before: rounds differ.
static void asking_again_costs_what_is_below_the_margin(void **state)
{
    struct gate_cells *old = cells_of(before, ARRAY_COUNT(before));
    struct gate_cells *new = cells_of(now, ARRAY_COUNT(now));
    double pairs[2][2] = {{0}}, gpu_s[2][2] = {{0}}, gates[2] = {0}; // [must be found][now]
    unsigned gates_now[2] = {0};
    for (size_t i = 0; i < old->count; i++) {
        const struct gate_cell *was = &old->items[i];
        if (was->aa || !strstr(was->problem, "fp32"))
            continue;
        const struct gate_cell *is = gate_cell_of(new, was->kernel, was->problem, false);
        const bool must = gate_cell_must_be_found(was);
        gates[must] += was->gates;
        gates_now[must] += is->gates;
        pairs[must][0] += was->pairs;
        pairs[must][1] += is->pairs * was->gates / is->gates;
        gpu_s[must][0] += was->gpu_s;
        gpu_s[must][1] += is->gpu_s * was->gates / is->gates;
    }
    for (int must = 0; must < 2; must++) {
        char text[80];
        snprintf(text, sizeof(text), "| %.0f, %u | %.0f | %.0f | %.3f s | %.3f s |", gates[must],
                 gates_now[must], pairs[must][0] / gates[must], pairs[must][1] / gates[must],
                 gpu_s[must][0] / gates[must], gpu_s[must][1] / gates[must]);
        assert_true(helper_says(RECORD, text));
    }
    free(old);
    free(new);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_false_alarm_by_either_rule),
        cmocka_unit_test(what_matters_is_found_by_the_rule_as_it_is_now),
        cmocka_unit_test(each_row_of_the_table_is_what_was_recorded),
        cmocka_unit_test(other_processes_decide_a_third_of_what_is_left_open),
        cmocka_unit_test(asking_again_costs_what_is_below_the_margin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
