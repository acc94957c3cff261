// SPDX-License-Identifier: Apache-2.0
//
// The store doing its work; test_store_faults.c has what can go wrong.
#include "tests/helper_store.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct fixture {
    char *folder;
    struct arena arena;
    struct store *store;
};

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    f->folder = scratch_make();
    f->store = scratch_store(scratch_path(&f->arena, f->folder, "new/store.db"), STORE_WRITE);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    store_close(f->store);
    scratch_remove(f->folder);
    arena_free(&f->arena);
    free(f);
    return 0;
}

static void ok(int status, const struct error *err)
{
    if (status)
        fail_msg("%s", err->text);
}

static void run_loads_back_as_saved(void **state)
{
    struct fixture *f = *state;
    const enum run_kind kinds[] = {RUN_MEASURE, RUN_GATE};
    for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
        struct run saved, loaded;
        struct error err = {0};
        make_run(&saved, kinds[i], 7, 6, 42 + i);
        save_whole_run(f->store, &saved);
        ok(store_load_run(&loaded, f->store, saved.id, &err), &err);
        assert_true(same_run(&saved, &loaded));
        run_free(&saved);
        run_free(&loaded);
    }
}

static void states_without_time_load_back(void **state)
{
    struct fixture *f = *state;
    struct error err = {0};
    struct run saved, loaded;
    make_run(&saved, RUN_MEASURE, 1, MEASUREMENT_STATES, 1);
    for (int i = 0; i < MEASUREMENT_STATES; i++) {
        struct result *r = &saved.results[i];
        r->head.state = (enum measurement_state)i;
        r->prediction.feasible = i == 0;
        r->prediction.why = i ? "needs 300 KB of shared memory" : NULL;
        if (i && i != MEASURED_WRONG)
            r->head.count = 0;
        r->head.max_error = r->head.count ? NAN : 0;
    }
    save_whole_run(f->store, &saved);
    ok(store_load_run(&loaded, f->store, saved.id, &err), &err);
    assert_true(same_run(&saved, &loaded));
    run_free(&saved);
    run_free(&loaded);
}

static void result_without_conclusions_has_none(void **state)
{
    struct fixture *f = *state;
    struct error err = {0};
    struct run saved, loaded;
    make_run(&saved, RUN_MEASURE, 1, 1, 1);
    saved.results[0].prediction = (struct prediction){0};
    saved.results[0].verdict = (struct verdict){0};
    save_whole_run(f->store, &saved);
    ok(store_load_run(&loaded, f->store, saved.id, &err), &err);
    assert_null(loaded.results[0].prediction.model);
    assert_null(loaded.results[0].verdict.sentence);
    assert_true(same_run(&saved, &loaded));
    run_free(&saved);
    run_free(&loaded);
}

static void saving_again_keeps_facts_and_renews_conclusions(void **state)
{
    struct fixture *f = *state;
    struct error err = {0};
    struct run run, loaded;
    make_run(&run, RUN_GATE, 3, 2, 5);
    save_whole_run(f->store, &run);
    struct result again = run.results[0];
    again.head.samples = run.results[1].head.samples; // would be a rewritten fact
    again.verdict.kind = VERDICT_SAME;
    again.verdict.sentence = "released by e-BH: the same";
    again.prediction.time_ns = 777;
    ok(store_save_result(f->store, &run, &again, &err), &err);
    ok(store_load_run(&loaded, f->store, run.id, &err), &err);
    assert_int_equal(loaded.count, 2);
    assert_true(same_measurement(&loaded.results[0].head, &run.results[0].head));
    assert_int_equal(loaded.results[0].verdict.kind, VERDICT_SAME);
    assert_true(loaded.results[0].prediction.time_ns == 777);
    run_free(&run);
    run_free(&loaded);
}

static void newer_version_of_a_model_wins_and_the_older_stays(void **state)
{
    struct fixture *f = *state;
    struct error err = {0};
    struct run run;
    struct store_report before, after;
    struct result found;
    bool is_there = false;
    make_run(&run, RUN_GATE, 3, 1, 5);
    save_whole_run(f->store, &run);
    ok(store_info(&before, f->store, &err), &err);
    struct result again = run.results[0];
    again.verdict.version = "2";
    again.verdict.kind = VERDICT_UNDECIDED;
    again.prediction.version = "2";
    again.prediction.time_ns = 4321;
    ok(store_save_result(f->store, &run, &again, &err), &err);
    ok(store_info(&after, f->store, &err), &err);
    assert_int_equal(after.counts.verdicts, before.counts.verdicts + 1);
    assert_int_equal(after.counts.measurements, before.counts.measurements);
    const struct series series = {run.results[0].kernel, &run.results[0].problem,
                                  run.devices[0].uuid};
    ok(store_find_result(&found, &is_there, f->store, run.id, &series, &f->arena, &err), &err);
    assert_true(is_there);
    assert_string_equal(found.verdict.version, "2");
    assert_string_equal(found.prediction.version, "2");
    struct history history;
    const struct history_query query = {.comparisons = true};
    ok(store_history(&history, f->store, &series, &query, &f->arena, &err), &err);
    assert_true(history.points[0].predicted_ns == 4321);
    run_free(&run);
}

static void interrupted_run_is_found_and_finished_one_is_not(void **state)
{
    struct fixture *f = *state;
    struct error err = {0};
    struct run run;
    int64_t id = 0;
    bool found = true, there = true;
    make_run(&run, RUN_MEASURE, 3, 4, 5);
    ok(store_find_unfinished(&id, &found, f->store, &run, &err), &err);
    assert_false(found);
    ok(store_begin_run(f->store, &run, &err), &err);
    ok(store_save_result(f->store, &run, &run.results[0], &err), &err);
    ok(store_find_unfinished(&id, &found, f->store, &run, &err), &err);
    assert_true(found);
    assert_int_equal(id, run.id);
    for (size_t i = 0; i < run.count; i++) {
        const struct series s = {run.results[i].kernel, &run.results[i].problem,
                                 run.devices[0].uuid};
        struct result result;
        ok(store_find_result(&result, &there, f->store, id, &s, &f->arena, &err), &err);
        assert_int_equal(there, i == 0);
    }
    // Another policy, tool, commit or device is another run.
    struct run other = run;
    struct device device = run.devices[0];
    other.policy = "[gate]\n";
    ok(store_find_unfinished(&id, &found, f->store, &other, &err), &err);
    assert_false(found);
    other = run;
    device.uuid = "GPU-another";
    other.devices = &device;
    ok(store_find_unfinished(&id, &found, f->store, &other, &err), &err);
    assert_false(found);
    ok(store_finish_run(f->store, &run, &err), &err);
    ok(store_find_unfinished(&id, &found, f->store, &run, &err), &err);
    assert_false(found);
    run_free(&run);
}

static void last_and_listed_runs_are_newest_first(void **state)
{
    struct fixture *f = *state;
    struct error err = {0};
    int64_t ids[3], last = -1;
    ok(store_last_run(&last, f->store, STORE_ALL_RUNS, &err), &err);
    assert_int_equal(last, 0);
    for (unsigned i = 0; i < 3; i++) {
        struct run run;
        make_run(&run, i == 1 ? RUN_GATE : RUN_MEASURE, 10 + i, 1, i);
        save_whole_run(f->store, &run);
        ids[i] = run.id;
        run_free(&run);
    }
    struct run_entry *entries;
    size_t count;
    ok(store_last_run(&last, f->store, RUN_GATE, &err), &err);
    assert_int_equal(last, ids[1]);
    ok(store_list_runs(&entries, &count, f->store, STORE_ALL_RUNS, 0, &f->arena, &err), &err);
    assert_int_equal(count, 3);
    assert_int_equal(entries[0].id, ids[2]);
    assert_int_equal(entries[1].kind, RUN_GATE);
    assert_int_equal(entries[1].results, 1);
    assert_int_equal(strlen(entries[2].uid), 32);
    ok(store_list_runs(&entries, &count, f->store, RUN_MEASURE, 1, &f->arena, &err), &err);
    assert_int_equal(count, 1);
    assert_int_equal(entries[0].id, ids[2]);
}

static void identical_code_is_found_by_code_regime_and_driver(void **state)
{
    struct fixture *f = *state;
    struct error err = {0};
    struct run run;
    struct measurement m;
    bool found;
    make_run(&run, RUN_MEASURE, 3, 2, 5);
    run.results[1].head.state = MEASURED_CRASHED;
    save_whole_run(f->store, &run);
    const struct result *r = run.results;
    const struct series first = {r[0].kernel, &r[0].problem, run.devices[0].uuid};
    const struct series second = {r[1].kernel, &r[1].problem, run.devices[0].uuid};
    const struct series elsewhere = {r[0].kernel, &r[0].problem, "GPU-another"};
    const char *regime = r[0].head.regime;
    const struct measured_how any = {0};
    ok(store_find_measurement(&m, &found, f->store, &first, r[0].head_code,
                              &(struct measured_how){regime, NULL}, &f->arena, &err),
       &err);
    assert_true(found);
    assert_true(same_measurement(&m, &r[0].head));
    ok(store_find_measurement(&m, &found, f->store, &first, r[0].head_code,
                              &(struct measured_how){"warm", NULL}, &f->arena, &err),
       &err);
    assert_false(found);
    ok(store_find_measurement(&m, &found, f->store, &first, "0ther", &any, &f->arena, &err), &err);
    assert_false(found);
    ok(store_find_measurement(&m, &found, f->store, &elsewhere, r[0].head_code, &any, &f->arena,
                              &err),
       &err);
    assert_false(found);
    struct measured_how driven = {.driver = run.devices[0].driver};
    ok(store_find_measurement(&m, &found, f->store, &first, r[0].head_code, &driven, &f->arena,
                              &err),
       &err);
    assert_true(found);
    driven.driver = "another driver";
    ok(store_find_measurement(&m, &found, f->store, &first, r[0].head_code, &driven, &f->arena,
                              &err),
       &err);
    assert_false(found);
    // A crash may have been the machine's fault: measure again.
    ok(store_find_measurement(&m, &found, f->store, &second, r[1].head_code, &any, &f->arena, &err),
       &err);
    assert_false(found);
    run_free(&run);
}

static void reused_result_refers_to_the_first_measurement(void **state)
{
    struct fixture *f = *state;
    struct error err = {0};
    struct run first, second, loaded;
    struct store_report before, after;
    make_run(&first, RUN_MEASURE, 3, 2, 5);
    save_whole_run(f->store, &first);
    ok(store_info(&before, f->store, &err), &err);
    make_run(&second, RUN_MEASURE, 4, 2, 6);
    for (size_t i = 0; i < second.count; i++) {
        struct result *r = &second.results[i];
        r->reused = true;
        r->control = true;
        strcpy(r->head_code, first.results[i].head_code);
        r->head = i ? (struct measurement){0} : first.results[i].head;
    }
    save_whole_run(f->store, &second);
    ok(store_info(&after, f->store, &err), &err);
    assert_int_equal(after.counts.measurements, before.counts.measurements);
    ok(store_load_run(&loaded, f->store, second.id, &err), &err);
    for (size_t i = 0; i < loaded.count; i++) {
        assert_true(loaded.results[i].reused);
        assert_true(same_measurement(&loaded.results[i].head, &first.results[i].head));
    }
    run_free(&first);
    run_free(&second);
    run_free(&loaded);
}

static void make_build(struct build_record *out, struct build_kernel kernels[2],
                       const struct run *run)
{
    *out = (struct build_record){"tree-key recipe-key", "cuda", MEASURED_OK, "", kernels, 2};
    for (size_t i = 0; i < 2; i++) {
        const struct result *r = &run->results[4 * i];
        memset(&kernels[i], 0, sizeof(kernels[i]));
        strcpy(kernels[i].name, r->kernel);
        strcpy(kernels[i].code, r->head_code);
        kernels[i].traits = r->traits;
    }
}

static void build_is_found_by_content_commit_and_tree(void **state)
{
    struct fixture *f = *state;
    struct error err = {0};
    struct run run;
    struct build_kernel kernels[2];
    struct build_record build, loaded;
    bool found;
    make_run(&run, RUN_MEASURE, 3, 8, 5);
    make_build(&build, kernels, &run);
    ok(store_find_commit_build(&loaded, &found, f->store, &run.head, "cuda", &f->arena, &err),
       &err);
    assert_false(found);
    ok(store_record_build(f->store, &run.head, &build, &err), &err);
    ok(store_record_build(f->store, &run.head, &build, &err), &err);
    struct commit rebased = run.head;
    memset(rebased.id, 'e', 40);
    const struct commit *commits[] = {&run.head, &rebased};
    for (size_t i = 0; i < 2; i++) {
        ok(store_find_commit_build(&loaded, &found, f->store, commits[i], "cuda", &f->arena, &err),
           &err);
        assert_true(found);
        assert_int_equal(loaded.count, 2);
        assert_string_equal(loaded.kernels[1].name, kernels[1].name);
        assert_string_equal(loaded.kernels[1].code, kernels[1].code);
        assert_memory_equal(&loaded.kernels[1].traits, &kernels[1].traits, sizeof(struct traits));
    }
    ok(store_find_commit_build(&loaded, &found, f->store, &run.head, "host", &f->arena, &err),
       &err);
    assert_false(found);
    ok(store_find_build(&loaded, &found, f->store, build.content, &f->arena, &err), &err);
    assert_true(found);
    run_free(&run);
}

static void unknown_traits_are_filled_in_and_known_ones_stay(void **state)
{
    struct fixture *f = *state;
    struct error err = {0};
    struct run run;
    struct build_record loaded;
    bool found;
    make_run(&run, RUN_GATE, 3, 1, 5); // the base's traits are not in a gate's result
    save_whole_run(f->store, &run);
    struct build_kernel kernel = {.traits = {.tile_m = 64}};
    strcpy(kernel.name, run.results[0].kernel);
    strcpy(kernel.code, run.results[0].base_code);
    for (int i = 0; i < 2; i++) {
        const char *content = i ? "second" : "first";
        const struct build_record build = {content, "cuda", MEASURED_OK, "", &kernel, 1};
        ok(store_record_build(f->store, &run.base, &build, &err), &err);
        ok(store_find_build(&loaded, &found, f->store, content, &f->arena, &err), &err);
        assert_int_equal(loaded.kernels[0].traits.tile_m, 64);
        kernel.traits.tile_m = 32; // the same machine code cannot have other traits
    }
    run_free(&run);
}

static void file_is_in_wal_mode_so_that_readers_never_wait(void **state)
{
    struct fixture *f = *state;
    FILE *file = fopen(store_path(f->store), "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 18, SEEK_SET), 0); // versions of the format: 2 is WAL
    assert_int_equal(fgetc(file), 2);
    assert_int_equal(fgetc(file), 2);
    fclose(file);
}

static bool is_measured(struct fixture *f, const struct commit *commit, const struct demand *demand)
{
    struct error err = {0};
    bool measured;
    ok(store_commit_measured(&measured, f->store, commit, demand, &err), &err);
    return measured;
}

static void commit_is_measured_when_all_its_series_are(void **state)
{
    struct fixture *f = *state;
    struct error err = {0};
    struct run run;
    struct build_kernel kernels[2];
    struct build_record build;
    struct problem problems[4];
    make_run(&run, RUN_MEASURE, 3, 8, 5);
    make_build(&build, kernels, &run);
    for (size_t i = 0; i < 4; i++)
        problems[i] = run.results[i].problem;
    const struct demand all = {.recipe = "cuda",
                               .device_uuid = run.devices[0].uuid,
                               .problems = problems,
                               .problem_count = 4};
    assert_false(is_measured(f, &run.head, &all));
    ok(store_record_build(f->store, &run.head, &build, &err), &err);
    assert_false(is_measured(f, &run.head, &all));
    ok(store_begin_run(f->store, &run, &err), &err);
    for (size_t i = 0; i < run.count; i++) {
        assert_false(is_measured(f, &run.head, &all));
        ok(store_save_result(f->store, &run, &run.results[i], &err), &err);
    }
    assert_false(is_measured(f, &run.head, &all)); // not finished yet
    ok(store_finish_run(f->store, &run, &err), &err);
    assert_true(is_measured(f, &run.head, &all));
    struct commit rebased = run.head;
    memset(rebased.id, 'e', 40);
    assert_true(is_measured(f, &rebased, &all));
    struct demand more = all;
    more.device_uuid = "GPU-another";
    assert_false(is_measured(f, &run.head, &more));
    more = all;
    more.driver = run.devices[0].driver;
    assert_true(is_measured(f, &run.head, &more));
    more.driver = "another driver";
    assert_false(is_measured(f, &run.head, &more));
    struct problem bigger[5];
    memcpy(bigger, problems, sizeof(problems));
    bigger[4] = problems[0];
    bigger[4].k = 99;
    more = all;
    more.problems = bigger;
    more.problem_count = 5;
    assert_false(is_measured(f, &run.head, &more));
    run_free(&run);
}

static void unbuildable_commit_leaves_nothing_to_do(void **state)
{
    struct fixture *f = *state;
    struct error err = {0};
    struct run run;
    make_run(&run, RUN_MEASURE, 3, 1, 5);
    const struct build_record build = {"c",  "cuda", MEASURED_UNBUILDABLE, "error: expected ';'",
                                       NULL, 0};
    const struct demand all = {.recipe = "cuda",
                               .device_uuid = run.devices[0].uuid,
                               .problems = &run.results[0].problem,
                               .problem_count = 1};
    ok(store_record_build(f->store, &run.head, &build, &err), &err);
    assert_true(is_measured(f, &run.head, &all));
    run_free(&run);
}

// Saves one-result runs for the commits given and returns the series.
static struct series save_history(struct fixture *f, const unsigned *numbers, size_t count,
                                  int64_t *ids)
{
    struct series series = {0};
    for (size_t i = 0; i < count; i++) {
        struct run run;
        make_run(&run, RUN_MEASURE, numbers[i], 1, numbers[i]);
        if (numbers[i] >= 100) // the same code from here on
            strcpy(run.results[0].head_code, "5a3e");
        save_whole_run(f->store, &run);
        ids[i] = run.id;
        struct problem *problem = arena_alloc(&f->arena, sizeof(*problem));
        *problem = run.results[0].problem;
        series = (struct series){arena_strdup(&f->arena, run.results[0].kernel), problem,
                                 arena_strdup(&f->arena, run.devices[0].uuid)};
        run_free(&run);
    }
    return series;
}

static void history_is_in_order_of_commits_not_of_runs(void **state)
{
    struct fixture *f = *state;
    struct error err = {0};
    // 2 is measured again, 101 is back-filled late.
    const unsigned numbers[] = {1, 3, 2, 102, 101, 2, 100};
    int64_t ids[ARRAY_COUNT(numbers)];
    struct history history;
    struct series series = save_history(f, numbers, ARRAY_COUNT(numbers), ids);
    struct history_query query = {0};
    ok(store_history(&history, f->store, &series, &query, &f->arena, &err), &err);
    const unsigned order[] = {1, 2, 2, 3, 100, 101, 102};
    assert_int_equal(history.count, ARRAY_COUNT(order));
    for (size_t i = 0; i < ARRAY_COUNT(order); i++) {
        assert_int_equal(history.points[i].time_s, 1700000000 + 3600 * (int64_t)order[i]);
        assert_int_equal(history.points[i].same_code, i == 2 || i > 4);
        assert_true(history.points[i].time_ns > 0 && history.points[i].predicted_ns > 0);
    }
    query = (struct history_query){.limit = 2};
    ok(store_history(&history, f->store, &series, &query, &f->arena, &err), &err);
    assert_int_equal(history.count, 2);
    assert_int_equal(history.points[1].time_s, 1700000000 + 3600 * 102);
    query = (struct history_query){.until_s = 1700000000 + 3600 * 3, .except_run = ids[1]};
    ok(store_history(&history, f->store, &series, &query, &f->arena, &err), &err);
    assert_int_equal(history.count, 3);
}

static void history_leaves_out_comparisons_failures_and_other_series(void **state)
{
    struct fixture *f = *state;
    struct error err = {0};
    struct history history;
    struct run run;
    make_run(&run, RUN_GATE, 5, 1, 1);
    save_whole_run(f->store, &run);
    const struct series series = {arena_strdup(&f->arena, run.results[0].kernel),
                                  &run.results[0].problem, "GPU-00000000-0001"};
    struct history_query query = {0};
    ok(store_history(&history, f->store, &series, &query, &f->arena, &err), &err);
    assert_int_equal(history.count, 0);
    query.comparisons = true;
    ok(store_history(&history, f->store, &series, &query, &f->arena, &err), &err);
    assert_int_equal(history.count, 1);
    struct run wrong;
    make_run(&wrong, RUN_MEASURE, 6, 1, 1);
    wrong.results[0].head.state = MEASURED_WRONG;
    save_whole_run(f->store, &wrong);
    ok(store_history(&history, f->store, &series, &query, &f->arena, &err), &err);
    assert_int_equal(history.count, 1);
    const struct series unknown = {"nothing", &run.results[0].problem, "GPU-00000000-0001"};
    ok(store_history(&history, f->store, &unknown, &query, &f->arena, &err), &err);
    assert_int_equal(history.count, 0);
    run_free(&run);
    run_free(&wrong);
}

static void scale_is_the_spread_of_past_pairs(void **state)
{
    struct fixture *f = *state;
    struct error err = {0};
    struct run run;
    struct pair_scale *scales;
    size_t count;
    make_run(&run, RUN_GATE, 5, 1, 1);
    struct result *r = &run.results[0];
    // log ratios 0, 0.02, -0.02, 0.04 around a base of 1000 ns; sample 5 is excluded.
    const double ratios[] = {0, 0.02, -0.02, 0.04};
    r->base.count = r->head.count = 6;
    for (size_t i = 0; i < 6; i++) {
        r->base.samples[i].time_ns = 1000;
        r->head.samples[i].time_ns = 1000 * exp(i < 4 ? ratios[i] : 5);
        r->head.samples[5 - i].pair = (uint32_t)(5 - i);
        r->base.samples[i].excluded = i > 3;
        r->head.samples[i].excluded = 0;
    }
    save_whole_run(f->store, &run);
    const struct series series = {r->kernel, &r->problem, run.devices[0].uuid};
    ok(store_scale(&scales, &count, f->store, &series, 5, 0, &f->arena, &err), &err);
    assert_int_equal(count, 1);
    assert_int_equal(scales[0].pairs, 4);
    assert_true(fabs(scales[0].sd - 0.0258198889747161) < 1e-12); // by hand
    assert_true(fabs(scales[0].sd_mad - 1.4826 * 0.02) < 1e-12);  // deviations .01 .01 .03 .03
    assert_false(scales[0].same_code);
    ok(store_scale(&scales, &count, f->store, &series, 5, run.id, &f->arena, &err), &err);
    assert_int_equal(count, 0);
    run_free(&run);
}

static void profile_keeps_calibrated_figures_with_source(void **state)
{
    struct fixture *f = *state;
    struct error err = {0};
    const struct device device = {"host", "host-1", "CPU", "6.1", "glibc", "host"};
    struct gpu gpu = {.name = "host"}, loaded;
    bool found;
    gpu.dram_bytes_s = (struct figure){21.5e9, ORIGIN_CALIBRATED, "copy of 256 MB, median of 9"};
    gpu.sm_count = (struct figure){2, ORIGIN_DEVICE, "sysconf"};
    ok(store_load_profile(&loaded, &found, f->store, "host-1", &f->arena, &err), &err);
    assert_false(found);
    ok(store_save_profile(f->store, &device, &gpu, &err), &err);
    ok(store_load_profile(&loaded, &found, f->store, "host-1", &f->arena, &err), &err);
    assert_true(found);
    assert_string_equal(loaded.name, "host");
    assert_true(loaded.dram_bytes_s.value == 21.5e9);
    assert_int_equal(loaded.dram_bytes_s.origin, ORIGIN_CALIBRATED);
    assert_string_equal(loaded.dram_bytes_s.source, "copy of 256 MB, median of 9");
    assert_int_equal(loaded.sm_count.origin, ORIGIN_UNKNOWN);
}

static void batch_is_all_or_nothing(void **state)
{
    struct fixture *f = *state;
    struct error err = {0};
    struct store_report report;
    struct run run;
    ok(store_begin_batch(f->store, &err), &err);
    make_run(&run, RUN_MEASURE, 3, 2, 5);
    save_whole_run(f->store, &run);
    store_cancel_batch(f->store);
    ok(store_info(&report, f->store, &err), &err);
    assert_int_equal(report.counts.runs, 0);
    run.id = 0;
    ok(store_begin_batch(f->store, &err), &err);
    save_whole_run(f->store, &run);
    run.results[0].head.samples[0].time_ns = -1;
    strcpy(run.results[0].kernel, "another");
    // A refused save inside a batch undoes itself only.
    assert_int_equal(store_save_result(f->store, &run, &run.results[0], &err), -1);
    ok(store_commit_batch(f->store, &err), &err);
    ok(store_info(&report, f->store, &err), &err);
    assert_int_equal(report.counts.runs, 1);
    assert_int_equal(report.counts.measurements, 2);
    run_free(&run);
}

static void senseless_samples_are_refused(void **state)
{
    struct fixture *f = *state;
    struct error err = {0};
    const double values[] = {NAN, INFINITY, 0, -5};
    struct run run;
    make_run(&run, RUN_MEASURE, 3, 1, 5);
    ok(store_begin_run(f->store, &run, &err), &err);
    for (size_t i = 0; i < ARRAY_COUNT(values); i++) {
        run.results[0].head.samples[3].time_ns = values[i];
        assert_int_equal(store_save_result(f->store, &run, &run.results[0], &err), -1);
        assert_non_null(strstr(err.text, "sample 3"));
    }
    run_free(&run);
}

static void readers_see_a_run_while_it_is_written(void **state)
{
    struct fixture *f = *state;
    struct error err = {0};
    struct run run, seen;
    make_run(&run, RUN_MEASURE, 3, 2, 5);
    ok(store_begin_run(f->store, &run, &err), &err);
    ok(store_save_result(f->store, &run, &run.results[0], &err), &err);
    struct store *reader = scratch_store(store_path(f->store), STORE_READ);
    ok(store_begin_batch(f->store, &err), &err);
    ok(store_save_result(f->store, &run, &run.results[1], &err), &err);
    ok(store_load_run(&seen, reader, run.id, &err), &err);
    assert_int_equal(seen.count, 1);
    run_free(&seen);
    ok(store_commit_batch(f->store, &err), &err);
    ok(store_load_run(&seen, reader, run.id, &err), &err);
    assert_int_equal(seen.count, 2);
    run_free(&seen);
    store_close(reader);
    run_free(&run);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(run_loads_back_as_saved),
        TEST(states_without_time_load_back),
        TEST(result_without_conclusions_has_none),
        TEST(saving_again_keeps_facts_and_renews_conclusions),
        TEST(newer_version_of_a_model_wins_and_the_older_stays),
        TEST(interrupted_run_is_found_and_finished_one_is_not),
        TEST(last_and_listed_runs_are_newest_first),
        TEST(identical_code_is_found_by_code_regime_and_driver),
        TEST(reused_result_refers_to_the_first_measurement),
        TEST(build_is_found_by_content_commit_and_tree),
        TEST(unknown_traits_are_filled_in_and_known_ones_stay),
        TEST(file_is_in_wal_mode_so_that_readers_never_wait),
        TEST(commit_is_measured_when_all_its_series_are),
        TEST(unbuildable_commit_leaves_nothing_to_do),
        TEST(history_is_in_order_of_commits_not_of_runs),
        TEST(history_leaves_out_comparisons_failures_and_other_series),
        TEST(scale_is_the_spread_of_past_pairs),
        TEST(profile_keeps_calibrated_figures_with_source),
        TEST(batch_is_all_or_nothing),
        TEST(senseless_samples_are_refused),
        TEST(readers_see_a_run_while_it_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
