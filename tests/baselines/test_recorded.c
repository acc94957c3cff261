// SPDX-License-Identifier: Apache-2.0
//
// Real H200 runs, replayed: imported into a store, predicted, judged again from their samples and
// reported. The verdicts must come out as they were recorded.
#include "baselines/store.h"
#include "model/gate/gate.h"
#include "model/predict.h"
#include "reports/report.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RECORDED TEST_SOURCE "/baselines/recorded/h200/"

static char *directory;

// Imports one file into a fresh store and loads its one run.
static void load(struct run *out, const char *name)
{
    struct store *store = NULL;
    struct error err = {""};
    struct store_counts added;
    int64_t id;
    static int loads;
    char *path = xprintf("%s/%d.db", directory, loads++), *source = xprintf(RECORDED "%s", name);
    FILE *file = fopen(source, "r");
    const struct import_source from = {.name = name, .format = "json"};
    assert_non_null(file);
    if (store_open(&store, path, STORE_WRITE, &err) ||
        store_import(store, file, &from, &added, NULL, &err) ||
        store_last_run(&id, store, STORE_ALL_RUNS, &err) || store_load_run(out, store, id, &err))
        fail_msg("%s", err.text);
    assert_int_equal(added.runs, 1);
    fclose(file);
    store_close(store);
    free(path);
    free(source);
}

static void predict_again(struct run *run)
{
    for (size_t i = 0; i < run->count; i++) {
        struct result *r = &run->results[i];
        const struct gpu *gpu = gpu_for_device(run->devices[r->device].name);
        assert_non_null(gpu);
        const struct predict_input input = {.gpu = gpu,
                                            .traits = &r->traits,
                                            .problem = &r->problem,
                                            .clock_hz = measurement_clock_hz(&r->head)};
        struct prediction roofline = model_find("sol")->predict(&input);
        assert_true(roofline.feasible && isfinite(roofline.time_ns));
        // No kernel beats the roofline at its own clock.
        if (r->head.count)
            assert_true(measurement_time_ns(&r->head) > roofline.time_ns);
        struct prediction ours = model_find("hopper")->predict(&input);
        assert_true(!ours.feasible || (isfinite(ours.time_ns) && ours.time_ns > 0));
    }
}

TEST(a_plain_run_replays)
{
    struct run run = {0};
    load(&run, "fp32-run-1.jsonl");
    size_t timed = 0;
    for (size_t i = 0; i < run.count; i++) {
        const struct result *r = &run.results[i];
        if (r->head.state != MEASURED_OK || !r->head.count)
            continue;
        timed++;
        double clock_hz = measurement_clock_hz(&r->head);
        assert_true(clock_hz > 1.0e9 && clock_hz < 2.0e9);
    }
    assert_int_equal(timed, 30); // three kernels on ten problems
    predict_again(&run);
    run_free(&run);
}

// exchanged: the base's samples as the head's, and the other way round.
static void judge_again(bool exchanged, size_t slower, size_t faster)
{
    const char *name = "fp32-run-3.jsonl";
    struct run run = {0};
    size_t counts[VERDICT_KINDS] = {0}, differ = 0;
    load(&run, name);
    for (size_t i = 0; i < run.count; i++) {
        struct result *r = &run.results[i];
        if (!r->base.count || strcmp(r->base_code, r->head_code) == 0)
            continue; // identical code was not measured
        struct gate_policy policy =
            gate_policy_default("cuda", gate_size_ns(r->base.samples, r->base.count, &r->problem,
                                                     gpu_find("h200-sxm")));
        struct verdict verdict;
        gate_replay(&verdict, exchanged ? &r->head : &r->base, exchanged ? &r->base : &r->head,
                    &policy, &run.arena);
        counts[verdict.kind]++;
        differ += !exchanged && verdict.kind != r->verdict.kind;
        if (verdict.kind == VERDICT_SLOWER || verdict.kind == VERDICT_FASTER) {
            assert_true(verdict.log_ratio.low <= verdict.log_ratio.value &&
                        verdict.log_ratio.value <= verdict.log_ratio.high);
            assert_true(fabs(verdict.log_ratio.value) >= verdict.margin / 2);
        }
    }
    print_message("%s: %zu slower, %zu faster, %zu undecided, %zu not as recorded\n", name,
                  counts[VERDICT_SLOWER], counts[VERDICT_FASTER], counts[VERDICT_UNDECIDED],
                  differ);
    assert_int_equal(counts[VERDICT_SLOWER], slower);
    assert_int_equal(counts[VERDICT_FASTER], faster);
    assert_int_equal(differ, 0);
    predict_again(&run);
    run_free(&run);
}

TEST(a_kernel_made_slower_is_found_again)
{
    judge_again(false, 10, 0);
}

TEST(what_takes_it_back_is_found_as_faster)
{
    judge_again(true, 0, 10);
}

TEST(reports_of_a_recorded_run_are_written)
{
    struct run run = {0};
    struct error err = {""};
    load(&run, "fp32-run-3.jsonl");
    char *out = xprintf("%s/reports", directory);
    if (report_write_all(out, &run, NULL, &err))
        fail_msg("%s", err.text);
    struct buffer text = {0};
    report_find("junit")->write(&text, &run, NULL);
    assert_non_null(strstr(text.bytes, "<failure"));
    buffer_free(&text);
    free(out);
    run_free(&run);
}

static int set_up(void **state)
{
    directory = helper_directory();
    return 0;
}

AROUND_ALL(set_up, NULL);
