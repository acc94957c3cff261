// SPDX-License-Identifier: Apache-2.0
//
// The recorded study of an H100, to which no constant was fitted: false alarms, also together with
// the H200s, and what is found, as its README says it.
#include "model/gate/study.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_gates.h"
#include "tests/helpers/helper_rates.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORDED TEST_SOURCE "/baselines/recorded/"
#define H100     RECORDED "h100/study/"
#define H200     RECORDED "h200/study/"
#define RECORD   RECORDED "h100/README.md"

static const char *const h100[] = {H100 "study-aa.csv", H100 "study-gemm.csv",
                                   H100 "study-gemmaa.csv", H100 "study-half.csv",
                                   H100 "study-near.csv"};
// The two H200s that were judged by the same rule, and the two by the rule before it.
static const char *const same_rule[] = {
    H200 "third/study-gemmaa.csv", H200 "third/study-step.csv",  H200 "third/study-neighbour.csv",
    H200 "fourth/study-aa.csv",    H200 "fourth/study-half.csv", H200 "fourth/study-gemm.csv",
    H200 "fourth/study-sure.csv",  H200 "fourth/study-near.csv"};
static const char *const rule_before[] = {
    H200 "study-half.csv",          H200 "study-gemm.csv",
    H200 "study-step.csv",          H200 "second/study-aa.csv",
    H200 "second/study-sure.csv",   H200 "second/study-near.csv",
    H200 "second/study-varies.csv", H200 "second/study-neighbour.csv"};

static struct gate_cells *cells_of(const char *const *files, size_t count)
{
    struct gate_cells *cells = xcalloc(1, sizeof(*cells));
    for (size_t i = 0; i < count; i++)
        gates_read(cells, files[i]);
    return cells;
}

// Gates of a library with itself, of which none alarmed; `undecided` of them were left open.
static unsigned quiet(const char *const *files, size_t count, unsigned *undecided)
{
    struct gate_cells *cells = cells_of(files, count);
    unsigned gates = 0;
    *undecided = 0;
    for (size_t i = 0; i < cells->count; i++) {
        if (!cells->items[i].aa)
            continue;
        assert_int_equal(cells->items[i].wrong, 0);
        gates += cells->items[i].gates;
        *undecided += cells->items[i].undecided;
    }
    free(cells);
    return gates;
}

static void the_record_bounds(const char *devices, unsigned gates)
{
    char text[160], count[16];
    if (gates < 1000)
        snprintf(count, sizeof(count), "%u", gates);
    else
        snprintf(count, sizeof(count), "%u,%03u", gates / 1000, gates % 1000);
    snprintf(text, sizeof(text), "| %s | 0 of %s | %.4f %% |", devices, count,
             100 * study_rate_upper(0, gates, 0.95));
    if (!helper_says(RECORD, text))
        fail_msg("%s does not say: %s", RECORD, text);
}

static void no_gate_of_identical_code_alarmed(void **state)
{
    unsigned open = 0, ignored = 0;
    const unsigned here = quiet(h100, ARRAY_COUNT(h100), &open);
    const unsigned same = quiet(same_rule, ARRAY_COUNT(same_rule), &ignored);
    const unsigned before = quiet(rule_before, ARRAY_COUNT(rule_before), &ignored);
    assert_int_equal(open, 0);
    the_record_bounds("this H100", here);
    the_record_bounds("this H100 and two H200s, the same rule", here + same);
    the_record_bounds("this H100 and four H200s, both rules", here + same + before);
    assert_true(study_rate_upper(0, here + same, 0.95) < 0.001);
}

static void the_record_found(const char *what, unsigned found)
{
    char text[160];
    snprintf(text, sizeof(text), "| %s | %u of %u", what, found, found);
    if (!helper_says(RECORD, text))
        fail_msg("%s does not say: %s", RECORD, text);
    snprintf(text, sizeof(text), "(at least %.1f %%)", 100 * rate_lower(found, found, 0.95));
    assert_true(helper_says(RECORD, text));
}

static void half_a_percent_is_found(void **state)
{
    struct gate_cells *cells = cells_of(h100, ARRAY_COUNT(h100));
    unsigned half = 0, small = 0, tensor = 0;
    for (size_t i = 0; i < cells->count; i++) {
        const struct gate_cell *c = &cells->items[i];
        if (!gate_cell_must_be_found(c))
            continue;
        if (c->found != c->gates)
            fail_msg("%s %s: %u of %u", c->kernel, c->problem, c->found, c->gates);
        const double us = c->us / c->gates, effect = c->effect / c->gates;
        half += us > 100 && effect < 0.65 ? c->gates : 0;
        small += us < 45 ? c->gates : 0;
        tensor +=
            strncmp(c->kernel, "bf16", 4) == 0 || strncmp(c->kernel, "e4m3", 4) == 0 ? c->gates : 0;
    }
    free(cells);
    the_record_found("half a percent (0.51 to 0.58 %) above 100 us: compute, memory, BF16 and FP8",
                     half);
    the_record_found("0.6 % and more on kernels of 14 to 38 us", small);
    the_record_found("tensor-core kernels by 0.5 to 2.7 %", tensor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_gate_of_identical_code_alarmed),
        cmocka_unit_test(half_a_percent_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
