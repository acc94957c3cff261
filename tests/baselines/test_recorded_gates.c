// SPDX-License-Identifier: Apache-2.0
//
// The main job as it was recorded on two GPUs, over changes whose truth is known: every gate says
// the truth, in the time that a pull request can wait, as baselines/recorded/gates/README.md has
// it. The replayed records stand beside the libraries they were made from.
#include "baselines/store.h"
#include "model/csv.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_gates.h"
#include "tests/helpers/helper_open_store.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORDED TEST_SOURCE "/baselines/recorded/"
#define PAGE     RECORDED "gates/README.md"

static const char *const devices[] = {"h200", "h100"};

static void load_gates(struct store *store, const char *device)
{
    struct error err = {""};
    struct store_counts added;
    char *path = xprintf(RECORDED "%s/gates/gates.jsonl", device);
    char *text = helper_read(path, NULL);
    assert_ok(import_text(store, text, strlen(text), IMPORT_JSON, &added, &err), &err);
    assert_int_equal(added.runs, 6);
    free(text);
    free(path);
}

static void gate_of(struct run *out, struct store *store, int64_t id)
{
    struct error err = {""};
    assert_ok(store_load_run(out, store, id, &err), &err);
}

// Only what was changed is blamed, and on all of its problems.
static void only(const struct run *run, const char *kernel, enum verdict_kind kind, size_t wanted)
{
    size_t found = 0;
    for (size_t i = 0; i < run->count; i++) {
        const struct result *r = &run->results[i];
        const bool touched = kernel && strcmp(r->kernel, kernel) == 0;
        if (touched)
            found += r->verdict.kind == kind;
        else if (r->verdict.kind != VERDICT_SAME)
            fail_msg("%s is %s", r->kernel, verdict_kind_name(r->verdict.kind));
    }
    assert_int_equal(found, wanted);
}

static void each_gate_says_what_is_true(void **state)
{
    struct open_store *open = *state;
    static const struct {
        const char *kernel;
        enum verdict_kind kind;
        size_t series;
        enum conclusion conclusion;
    } truth[] = {{NULL, VERDICT_SAME, 0, CONCLUDE_OK},
                 {NULL, VERDICT_SAME, 0, CONCLUDE_OK},
                 {"e4m3-persistent", VERDICT_SLOWER, 3, CONCLUDE_REGRESSION},
                 {NULL, VERDICT_BROKEN, 0, CONCLUDE_BROKEN},
                 {"tf32-1-mma", VERDICT_BROKEN, 3, CONCLUDE_BROKEN}};
    int64_t id = 1;
    for (size_t d = 0; d < ARRAY_COUNT(devices); d++) {
        load_gates(open->store, devices[d]);
        for (size_t i = 0; i < ARRAY_COUNT(truth); i++, id++) {
            struct run run = {0};
            gate_of(&run, open->store, id);
            assert_int_equal(run.conclusion, truth[i].conclusion);
            if (truth[i].kernel || truth[i].conclusion == CONCLUDE_OK) {
                assert_int_equal(run.count, 113);
                only(&run, truth[i].kernel, truth[i].kind, truth[i].series);
            }
            run_free(&run);
        }
        id++; // 43d5216, whose gate has a test of its own
    }
}

static void two_series_gained_by_43d5216_and_none_lost(void **state)
{
    struct open_store *open = *state;
    for (size_t d = 0; d < ARRAY_COUNT(devices); d++) {
        struct run run = {0};
        size_t faster = 0;
        load_gates(open->store, devices[d]);
        gate_of(&run, open->store, 6 * (int64_t)(d + 1));
        assert_int_equal(strncmp(run.head.id, "43d5216", 7), 0);
        for (size_t i = 0; i < run.count; i++) {
            const struct result *r = &run.results[i];
            assert_int_not_equal(r->verdict.kind, VERDICT_SLOWER);
            faster += r->verdict.kind == VERDICT_FASTER;
        }
        assert_int_equal(faster, 2);
        run_free(&run);
    }
}

// A commit that touches one kernel is gated in a minute, one that touches none in five seconds, and
// the page has the times.
static void a_gate_takes_seconds(void **state)
{
    for (size_t d = 0; d < ARRAY_COUNT(devices); d++) {
        struct csv csv;
        char *path = xprintf(RECORDED "%s/gates/steps.csv", devices[d]);
        csv_open(&csv, path);
        for (size_t row = 0; row < csv.count; row++) {
            const char *step = csv_field(&csv, row, "step");
            const double seconds = csv_number(&csv, row, "seconds");
            char text[32];
            if (strcmp(step, "none") == 0)
                assert_true(seconds <= 5);
            if (strcmp(step, "slower") == 0 || strcmp(step, "wrong") == 0)
                assert_true(seconds <= 60);
            snprintf(text, sizeof(text), "%.1f s", seconds);
            if (row < 6 && !helper_says(PAGE, text))
                fail_msg("the page does not say %s", text);
        }
        csv_free(&csv);
        free(path);
    }
}

// Seconds of a step's two gates, from the library and from records, below `section`.
static size_t gates_after(double seconds[2], const char *section, const char *step)
{
    size_t count = 0;
    for (const char *line = section; (line = strstr(line, "\n")) != NULL;) {
        char way[32], name[32];
        int ended, expected, ms;
        if (strncmp(++line, "# ", 2) == 0)
            break;
        if (sscanf(line, "== %31s %31[^:]: exit %d, expected %d, in %d ms", way, name, &ended,
                   &expected, &ms) != 5)
            continue;
        assert_int_equal(ended, expected);
        if (strcmp(name, step) == 0 && count < 2)
            seconds[count++] = ms / 1e3;
    }
    return count;
}

// Every gate with whole phases ended as it should, and the page has the times of each commit.
static void gates_by_library_and_by_records_say_what_is_true(void **state)
{
    char *phases = helper_read(RECORDED "h200/gates/phases.txt", NULL);
    static const char *const commits[] = {"ce7035f", "7a74822", "6c5cb39", "a850886", "cec1588"};
    for (size_t i = 0; i < ARRAY_COUNT(commits); i++) {
        double none[2], comment[2], slower[2], wrong[2];
        char text[128], *title = xprintf("# %s", commits[i]);
        const char *section = strstr(phases, title);
        assert_non_null(section);
        assert_int_equal(gates_after(none, section, "none"), 2);
        assert_int_equal(gates_after(comment, section, "comment"), 2);
        assert_int_equal(gates_after(slower, section, "slower"), 2);
        assert_int_equal(gates_after(wrong, section, "wrong"), 2);
        snprintf(text, sizeof(text), "| %.1f to %.1f s | %.1f and %.1f s |",
                 fmin(fmin(none[0], none[1]), fmin(comment[0], comment[1])),
                 fmax(fmax(none[0], none[1]), fmax(comment[0], comment[1])), slower[0], slower[1]);
        if (!helper_says(PAGE, text))
            fail_msg("%s: the page does not say %s", commits[i], text);
        assert_true(fmax(wrong[0], wrong[1]) < 60);
        free(title);
    }
    free(phases);
}

// Kernels replayed and launched from the library, each in `blocks` each way.
struct replayed {
    const char *device, *file;
    size_t blocks, larges, smalls;
    double most_large, most_small; // percent
    bool between;                  // the page has those of 45 to 100 us too
};

// Mean of how much slower the replay is, in percent, over the rows of one kernel from `row` on.
static double slower(double *us, const struct csv *csv, size_t row, size_t blocks)
{
    double sum = 0;
    *us = 0;
    for (size_t i = 0; i < 2 * blocks; i++) {
        const bool forth = strcmp(csv_field(csv, row + i, "arms"), "library-record") == 0;
        assert_true(forth == (i < blocks));
        sum += (forth ? 1 : -1) * csv_number(csv, row + i, "ratio_pct") / (double)(2 * blocks);
        *us += csv_number(csv, row + i, "base_us") / (double)(2 * blocks);
    }
    return sum;
}

static void hold_replay(const struct replayed *r)
{
    struct csv csv;
    size_t large = 0, small = 0;
    char *file = xprintf(RECORDED "%s/replay/%s", r->device, r->file);
    char *page = xprintf(RECORDED "%s/replay/README.md", r->device);
    csv_open(&csv, file);
    for (size_t row = 0; row + 2 * r->blocks <= csv.count; row++) {
        double us;
        if (strcmp(csv_field(&csv, row, "arms"), "library-record") != 0 ||
            csv_number(&csv, row, "block") != 0)
            continue;
        const double percent = slower(&us, &csv, row, r->blocks);
        const char *kernel = csv_field(&csv, row, "kernel");
        if ((us > 100 && fabs(percent) > r->most_large) ||
            (us < 45 && fabs(percent) > r->most_small))
            fail_msg("%s, %s: %+.3f %%", r->device, kernel, percent);
        large += us > 100;
        small += us < 45;
        char text[32];
        snprintf(text, sizeof(text), "%+.3f %%", percent);
        if ((us > 100 || us < 45 || r->between) && !helper_says(page, text))
            fail_msg("%s: the page does not say %s", kernel, text);
    }
    csv_free(&csv);
    free(page);
    free(file);
    assert_int_equal(large, r->larges);
    assert_int_equal(small, r->smalls);
}

// 0.3 % at 10 to 45 us; above 100 us the goal of 0.05 % is missed where code lies elsewhere.
static void a_record_takes_its_librarys_time(void **state)
{
    static const struct replayed all[] = {
        {"h100", "replay.csv", 6, .larges = 9, .smalls = 6, .most_large = 0.1, .most_small = 0.3},
        {"h200", "replay.csv", 6, .larges = 10, .smalls = 7, .most_large = 0.12, .most_small = 0.1},
        {"h200", "brief.csv", 2, .larges = 3, .smalls = 3, .most_large = 0.05, .most_small = 0.1,
         .between = true},
        {"h200", "scales.csv", 2, .larges = 4, .smalls = 4, .most_large = 0.2, .most_small = 0.1,
         .between = true}};
    for (size_t i = 0; i < ARRAY_COUNT(all); i++)
        hold_replay(&all[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_gate_says_what_is_true, open_store_set_up,
                                        open_store_tear_down),
        cmocka_unit_test_setup_teardown(two_series_gained_by_43d5216_and_none_lost,
                                        open_store_set_up, open_store_tear_down),
        cmocka_unit_test(a_gate_takes_seconds),
        cmocka_unit_test(gates_by_library_and_by_records_say_what_is_true),
        cmocka_unit_test(a_record_takes_its_librarys_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
