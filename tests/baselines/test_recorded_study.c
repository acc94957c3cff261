// SPDX-License-Identifier: Apache-2.0
//
// The recorded study of four H200s says what the READMEs say of it: no false alarm among so many
// gates, what was found of the effects that matter, what places and binaries move.
// test_recorded_rule.c tells the gate as it is now from the one before.
#include "baselines/store.h"
#include "model/gate/study.h"
#include "tests/helpers/helper_duets.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_gates.h"
#include "tests/helpers/helper_rates.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RECORDED TEST_SOURCE "/baselines/recorded/h200/"
#define STUDY    RECORDED "study/"

static char path[] = "/tmp/plumb-study-XXXXXX";
static struct store *store;
static char *readme, *record; // the main one, and the one beside the data

static int read_store(void **state)
{
    struct error err = {""};
    static const char *const names[] = {STUDY "study.jsonl", STUDY "second/study.jsonl",
                                        STUDY "third/study.jsonl", STUDY "fourth/study.jsonl"};
    readme = helper_read(TEST_SOURCE "/baselines/recorded/README.md", NULL);
    record = helper_read(RECORDED "README.md", NULL);
    int descriptor = mkstemp(path);
    if (descriptor < 0)
        return -1;
    close(descriptor);
    unlink(path);
    int status = store_open(&store, path, STORE_WRITE, &err);
    for (size_t i = 0; i < ARRAY_COUNT(names) && status == 0; i++) {
        FILE *file = fopen(names[i], "r");
        const struct import_source from = {.name = names[i], .format = IMPORT_JSON};
        status = file ? store_import(store, file, &from, NULL, &err) : -1;
        if (file)
            fclose(file);
    }
    if (status)
        fprintf(stderr, "%s\n", err.text);
    return status;
}

static int close_store(void **state)
{
    store_close(store);
    unlink(path);
    free(readme);
    free(record);
    return 0;
}

static void table_open(struct csv *out, const char *part)
{
    char *name = xprintf(RECORDED "%s.csv", part);
    csv_open(out, name);
    free(name);
}

static void gates_of(struct gate_cells *cells, const char *part)
{
    char *name = xprintf(RECORDED "%s.csv", part);
    gates_read(cells, name);
    free(name);
}

static void both_say(const char *text)
{
    if (!strstr(readme, text))
        fail_msg("baselines/recorded/README.md does not say %s", text);
    if (!strstr(record, text))
        fail_msg("the record's README.md does not say %s", text);
}

static const char *const quiet[] = {
    "study/study-half",          "study/study-gemm",        "study/second/study-sure",
    "study/second/study-varies", "study/second/study-near", "study/second/study-aa",
    "study/third/study-gemmaa",  "study/fourth/study-half", "study/fourth/study-gemm",
    "study/fourth/study-sure",   "study/fourth/study-near", "study/fourth/study-aa"};
static const char *const disturbed[] = {"study/study-step", "study/second/study-neighbour",
                                        "study/third/study-step", "study/third/study-neighbour"};

static struct gate_cells *all_cells(bool beside)
{
    struct gate_cells *cells = xcalloc(1, sizeof(*cells));
    for (size_t i = 0; i < ARRAY_COUNT(quiet); i++)
        gates_of(cells, quiet[i]);
    for (size_t i = 0; i < ARRAY_COUNT(disturbed) && beside; i++)
        gates_of(cells, disturbed[i]);
    return cells;
}

static const char *const devices[] = {
    "GPU-9a983e52-f9b1-fb0d-953c-10a2771cae84", "GPU-0bc27a9b-9fd9-dd24-1002-1a6fa52ad76e",
    "GPU-fad25f08-9881-a727-20e7-30b9e8979d49", "GPU-d575c926-1a16-291f-8fb1-cc519a642cb7"};

static void no_false_alarm_and_enough_gates_to_say_so(void **state)
{
    struct gate_cells *cells = all_cells(true);
    struct alarm_count stored = {0};
    struct error err;
    unsigned gates = 0, alarms = 0;
    for (size_t i = 0; i < cells->count; i++) {
        gates += cells->items[i].aa ? cells->items[i].gates : 0;
        alarms += cells->items[i].aa ? cells->items[i].wrong : 0;
    }
    for (size_t i = 0; i < ARRAY_COUNT(devices); i++) {
        struct alarm_count studies, self_tests;
        if (store_false_alarms(&studies, &self_tests, store, devices[i], &err))
            fail_msg("%s", err.text);
        assert_true(studies.gates > 0);
        stored.gates += studies.gates;
        stored.alarms += studies.alarms;
    }
    assert_int_equal(stored.gates, gates);
    assert_int_equal(stored.alarms, 0);
    assert_int_equal(alarms, 0);
    const double most = study_rate_upper(alarms, gates, 0.95);
    assert_true(most < 0.001); // 1 in 1,000
    char text[64];
    snprintf(text, sizeof(text), "0 of %u,%03u gates of identical code", gates / 1000,
             gates % 1000);
    both_say(text);
    snprintf(text, sizeof(text), "%.4f %%", 100 * most);
    both_say(text);
    free(cells);
}

// What a gate ends with that finds nothing to say: never where kernels have no tensor cores. On the
// first device nothing was asked again; test_recorded_places.c counts where it was.
static void identical_code_is_the_same_unless_its_pairs_scatter(void **state)
{
    struct gate_cells *cells = all_cells(true), *first = xcalloc(1, sizeof(*first));
    unsigned tensor = 0, undecided = 0, plain = 0;
    char text[64];
    for (size_t i = 0; i < cells->count; i++) {
        const struct gate_cell *c = &cells->items[i];
        if (!c->aa || !strstr(c->problem, "fp32"))
            continue;
        assert_int_equal(c->undecided, 0);
        plain += c->gates;
    }
    snprintf(text, sizeof(text), "%u,%03u", plain / 1000, plain % 1000);
    both_say(text);
    gates_of(first, "study/study-gemm");
    gates_of(first, "study/study-step");
    for (size_t i = 0; i < first->count; i++) {
        tensor += first->items[i].aa ? first->items[i].gates : 0;
        undecided += first->items[i].aa ? first->items[i].undecided : 0;
    }
    snprintf(text, sizeof(text), "%u of %u", undecided, tensor);
    both_say(text);
    free(cells);
    free(first);
}

static void what_matters_is_found_in_the_right_direction(void **state)
{
    struct gate_cells *cells = all_cells(false);
    unsigned half = 0, small = 0, one_percent = 0, judged = 0;
    for (size_t i = 0; i < cells->count; i++) {
        const struct gate_cell *c = &cells->items[i];
        const double us = c->us / c->gates, effect = c->effect / c->gates;
        if (!c->aa)
            assert_int_equal(c->wrong, 0);
        if (!gate_cell_must_be_found(c))
            continue;
        if (c->found != c->gates)
            fail_msg("%s %s: %u of %u", c->kernel, c->problem, c->found, c->gates);
        judged++;
        assert_true(c->gates >= 28);
        half += us > 100 && effect < 0.65 ? c->gates : 0;
        small += us < 45 ? c->gates : 0;
        one_percent += us < 45 && effect >= 0.9 && effect < 1.5 ? c->gates : 0;
    }
    assert_int_equal(judged, 24);
    const struct {
        unsigned found;
        const char *what;
    } said[] = {{half, "half a percent"}, {small, "0.6 %"}, {one_percent, "1 %"}};
    for (size_t i = 0; i < ARRAY_COUNT(said); i++) {
        char text[64];
        const double least = rate_lower(said[i].found, said[i].found, 0.95);
        if (least < 0.9)
            fail_msg("%s: only %.3f is shown", said[i].what, least);
        snprintf(text, sizeof(text), "%u of %u gates (at least %.1f %%", said[i].found,
                 said[i].found, 100 * least);
        both_say(text);
    }
    free(cells);
}

// A drawn load that leaves the mean alone is no change; the memory kernel's does not leave it.
static void more_spread_is_no_alarm_unless_the_mean_moves(void **state)
{
    struct gate_cells cells = {0};
    gates_of(&cells, "study/second/study-varies");
    unsigned seen = 0;
    for (size_t i = 0; i < cells.count; i++) {
        const struct gate_cell *c = &cells.items[i];
        if (c->aa)
            continue;
        seen++;
        if (strstr(c->kernel, "memory")) {
            assert_int_equal(c->found, 3);
            assert_true(c->effect / c->gates > 0.3); // beyond the margin
            continue;
        }
        assert_int_equal(c->found + c->wrong, 0);
        assert_true(fabs(c->effect / c->gates) < 0.25);
    }
    assert_int_equal(seen, 5);
}

// ---- one file and other binaries of a kernel, 64 pairs a process ----

static void binaries_and_places_move_less_than_the_margin(void **state)
{
    struct csv csv;
    struct gate_cells cells = {0};
    double largest_mean[2] = {0}, largest_process = 0; // above and below 100 us
    table_open(&csv, "study/study-gemmcross");
    for (size_t i = 0; i < csv.count; i++) {
        const double d = csv_number(&csv, i, "log_ratio_pct"), us = csv_number(&csv, i, "base_us");
        const bool aa = strcmp(csv_field(&csv, i, "kind"), "aa") == 0;
        struct gate_cell *c =
            gate_cell_of(&cells, csv_field(&csv, i, "kernel"), csv_field(&csv, i, "problem"), aa);
        assert_int_equal(csv_number(&csv, i, "pairs"), 64);
        assert_string_not_equal(csv_field(&csv, i, "verdict"), "slower");
        assert_string_not_equal(csv_field(&csv, i, "verdict"), "faster");
        c->gates++;
        c->us += us;
        c->effect += d;
        largest_process = fmax(largest_process, fabs(d));
    }
    csv_free(&csv);
    assert_int_equal(cells.count, 40); // 5 binaries of 2 kernels, 2 problems, each with itself too
    for (size_t i = 0; i < cells.count; i++) {
        const struct gate_cell *c = &cells.items[i];
        const double us = c->us / c->gates, mean = fabs(c->effect / c->gates);
        const struct gate_policy policy = gate_policy_default("cuda", us * 1e3);
        assert_true(c->gates >= 20);
        if (mean >= 100 * policy.margin / 1.5)
            fail_msg("%s %s: %.3f %%", c->kernel, c->problem, mean);
        largest_mean[us < 100] = fmax(largest_mean[us < 100], mean);
    }
    char text[64];
    snprintf(text, sizeof(text), "%.2f %% above 100 us and %.2f %% below", largest_mean[0],
             largest_mean[1]);
    if (!strstr(record, text))
        fail_msg("the record's README.md does not say %s", text);
    assert_true(largest_process < 0.5);
}

// ---- what gates cost ----

static unsigned verdicts(const char *part, const char *verdict)
{
    struct csv csv;
    unsigned count = 0;
    table_open(&csv, part);
    assert_int_equal(csv.count, 200);
    for (size_t i = 0; i < csv.count; i++)
        count += strcmp(csv_field(&csv, i, "verdict"), verdict) == 0;
    csv_free(&csv);
    return count;
}

static void gates_of_200_series_ended_as_the_record_says(void **state)
{
    assert_int_equal(verdicts("cost/slower", "slower"), 193);
    assert_int_equal(verdicts("cost/slower", "undecided"), 4);
    assert_int_equal(verdicts("cost/slower", "same"), 3);
    assert_int_equal(verdicts("cost/mixed", "slower"), 44);
    assert_int_equal(verdicts("cost/mixed", "undecided"), 1);
    assert_int_equal(verdicts("cost/mixed", "same"), 155);
    char *gates = helper_read(RECORDED "cost/gates.txt", NULL);
    assert_non_null(strstr(gates, "exit 1, wall 2486 hundredths of a second"));
    assert_non_null(strstr(gates, "200 series side by side in 4 processes, 23.0 s, of it 10.4 s"));
    assert_non_null(strstr(record, "| 24.9 s | 23.0 s | 10.4 s |"));
    free(gates);
}

// The times that other tools' rules are tried on are those that the gates would have seen.
static void recorded_times_show_the_effects_that_were_put_in(void **state)
{
    struct duets *data = xcalloc(1, sizeof(*data));
    struct error err;
    if (duets_read(data, STUDY "alone/samples-pairs.csv", &err))
        fail_msg("%s", err.text);
    size_t seen = 0;
    for (size_t i = 0; i < data->count; i++) {
        const struct duet_series *s = &data->series[i];
        double sum = 0, y[256];
        for (size_t p = 0; p < s->count; p++) {
            assert_int_equal(s->processes[p].count, 64);
            for (size_t k = 0; k < 64; k++)
                y[k] = log(s->processes[p].us_b[k] / s->processes[p].us_a[k]);
            sum += robust_mean(y, 64).mean / (double)s->count;
        }
        if (strcmp(s->variant, "same") == 0)
            assert_true(fabs(sum) < 3e-4);
        else if (strncmp(s->shape, "compute", 7) == 0 && strcmp(s->variant, "slower 0050") == 0)
            assert_true(fabs(sum - 0.0048) < 5e-4);
        seen++;
    }
    assert_int_equal(seen, 5 + 15);
    duets_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_false_alarm_and_enough_gates_to_say_so),
        cmocka_unit_test(identical_code_is_the_same_unless_its_pairs_scatter),
        cmocka_unit_test(what_matters_is_found_in_the_right_direction),
        cmocka_unit_test(more_spread_is_no_alarm_unless_the_mean_moves),
        cmocka_unit_test(binaries_and_places_move_less_than_the_margin),
        cmocka_unit_test(gates_of_200_series_ended_as_the_record_says),
        cmocka_unit_test(recorded_times_show_the_effects_that_were_put_in),
    };
    return cmocka_run_group_tests(tests, read_store, close_store);
}
