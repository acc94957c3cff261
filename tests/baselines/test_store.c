// SPDX-License-Identifier: Apache-2.0
//
// The store doing its work: runs come back as saved, whoever reads and however often they are
// saved; test_store_faults.c has what can go wrong.
#include "baselines/pack.h"
#include "tests/helpers/helper_open_store.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

AROUND_EACH(open_store_set_up, open_store_tear_down);

TEST(run_loads_back_as_saved)
{
    struct open_store *f = *state;
    const enum run_kind kinds[] = {RUN_MEASURE, RUN_GATE};
    for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
        struct run saved, loaded;
        struct error err = {0};
        make_run(&saved, kinds[i], 7, 6, 42 + i);
        save_whole_run(f->store, &saved);
        assert_ok(store_load_run(&loaded, f->store, saved.id, &err), &err);
        assert_true(same_run(&saved, &loaded));
        run_free(&saved);
        run_free(&loaded);
    }
}

TEST(states_without_time_load_back)
{
    struct open_store *f = *state;
    struct error err = {0};
    struct run saved, loaded;
    make_run(&saved, RUN_MEASURE, 1, MEASUREMENT_STATES, 1);
    for (int i = 0; i < MEASUREMENT_STATES; i++) {
        struct result *r = &saved.results[i];
        r->head.state = (enum measurement_state)i;
        r->prediction.feasible = i == MEASURED_OK;
        r->prediction.why = i != MEASURED_OK ? "needs 300 KB of shared memory" : NULL;
        if (i == MEASURED_NOT_TAKEN)
            r->head = (struct measurement){.regime = "", .detail = ""};
        if (i != MEASURED_OK && i != MEASURED_WRONG)
            r->head.count = 0;
        r->head.max_error = r->head.count ? NAN : 0;
    }
    save_whole_run(f->store, &saved);
    assert_ok(store_load_run(&loaded, f->store, saved.id, &err), &err);
    assert_true(same_run(&saved, &loaded));
    run_free(&saved);
    run_free(&loaded);
}

TEST(result_without_conclusions_has_none)
{
    struct open_store *f = *state;
    struct error err = {0};
    struct run saved, loaded;
    make_run(&saved, RUN_MEASURE, 1, 1, 1);
    saved.results[0].prediction = (struct prediction){0};
    saved.results[0].verdict = (struct verdict){0};
    save_whole_run(f->store, &saved);
    assert_ok(store_load_run(&loaded, f->store, saved.id, &err), &err);
    assert_null(loaded.results[0].prediction.model);
    assert_null(loaded.results[0].verdict.sentence);
    assert_true(same_run(&saved, &loaded));
    run_free(&saved);
    run_free(&loaded);
}

TEST(saving_again_keeps_facts_and_renews_conclusions)
{
    struct open_store *f = *state;
    struct error err = {0};
    struct run run, loaded;
    make_run(&run, RUN_GATE, 3, 2, 5);
    save_whole_run(f->store, &run);
    struct result again = run.results[0];
    again.head.samples = run.results[1].head.samples; // would be a rewritten fact
    again.verdict.kind = VERDICT_SAME;
    again.verdict.sentence = "released by e-BH: the same";
    again.prediction.time_ns = 777;
    assert_ok(store_save_result(f->store, &run, &again, &err), &err);
    assert_ok(store_load_run(&loaded, f->store, run.id, &err), &err);
    assert_int_equal(loaded.count, 2);
    assert_true(same_measurement(&loaded.results[0].head, &run.results[0].head));
    assert_int_equal(loaded.results[0].verdict.kind, VERDICT_SAME);
    assert_true(loaded.results[0].prediction.time_ns == 777);
    run_free(&run);
    run_free(&loaded);
}

TEST(newer_version_of_a_model_wins_and_the_older_stays)
{
    struct open_store *f = *state;
    struct error err = {0};
    struct run run;
    struct store_report before, after;
    struct result found;
    bool is_there = false;
    make_run(&run, RUN_GATE, 3, 1, 5);
    save_whole_run(f->store, &run);
    assert_ok(store_info(&before, f->store, &err), &err);
    struct result again = run.results[0];
    again.verdict.version = "2";
    again.verdict.kind = VERDICT_UNDECIDED;
    again.prediction.version = "2";
    again.prediction.time_ns = 4321;
    assert_ok(store_save_result(f->store, &run, &again, &err), &err);
    assert_ok(store_info(&after, f->store, &err), &err);
    assert_int_equal(after.counts.verdicts, before.counts.verdicts + 1);
    assert_int_equal(after.counts.measurements, before.counts.measurements);
    const struct series series = {run.results[0].kernel, &run.results[0].problem,
                                  run.devices[0].uuid};
    assert_ok(store_find_result(&found, &is_there, f->store, run.id, &series, &f->arena, &err),
              &err);
    assert_true(is_there);
    assert_string_equal(found.verdict.version, "2");
    assert_string_equal(found.prediction.version, "2");
    struct stored_points stored;
    const struct history_query query = {.comparisons = true};
    assert_ok(store_points(&stored, f->store, &series, &query, &f->arena, &err), &err);
    assert_true(stored.points[0].predicted_ns == 4321);
    run_free(&run);
}

TEST(interrupted_run_is_found_and_finished_one_is_not)
{
    struct open_store *f = *state;
    struct error err = {0};
    struct run run;
    int64_t id = 0;
    bool found = true, there = true;
    make_run(&run, RUN_MEASURE, 3, 4, 5);
    assert_ok(store_find_unfinished(&id, &found, f->store, &run, &err), &err);
    assert_false(found);
    assert_ok(store_begin_run(f->store, &run, &err), &err);
    assert_ok(store_save_result(f->store, &run, &run.results[0], &err), &err);
    assert_ok(store_find_unfinished(&id, &found, f->store, &run, &err), &err);
    assert_true(found);
    assert_int_equal(id, run.id);
    for (size_t i = 0; i < run.count; i++) {
        const struct series s = {run.results[i].kernel, &run.results[i].problem,
                                 run.devices[0].uuid};
        struct result result;
        assert_ok(store_find_result(&result, &there, f->store, id, &s, &f->arena, &err), &err);
        assert_int_equal(there, i == 0);
    }
    // Another policy, tool, commit or device is another run.
    struct run other = run;
    struct device device = run.devices[0];
    other.policy = "[gate]\n";
    assert_ok(store_find_unfinished(&id, &found, f->store, &other, &err), &err);
    assert_false(found);
    other = run;
    device.uuid = "GPU-another";
    other.devices = &device;
    assert_ok(store_find_unfinished(&id, &found, f->store, &other, &err), &err);
    assert_false(found);
    assert_ok(store_finish_run(f->store, &run, &err), &err);
    assert_ok(store_find_unfinished(&id, &found, f->store, &run, &err), &err);
    assert_false(found);
    run_free(&run);
}

// Two at once on one store: the second must not go on with what the first is measuring.
TEST(run_that_another_is_at_is_not_gone_on_with)
{
    struct open_store *f = *state;
    struct error err = {0};
    struct run run, later;
    int64_t id = 0, again = 0;
    bool found = true;
    struct store *first = scratch_store(f->path, STORE_WRITE);
    make_run(&run, RUN_MEASURE, 3, 4, 5);
    make_run(&later, RUN_MEASURE, 3, 4, 5);
    assert_ok(store_begin_run(first, &run, &err), &err);
    assert_ok(store_find_unfinished(&id, &found, f->store, &run, &err), &err);
    assert_false(found);
    store_close(scratch_store(f->path,
                              STORE_READ)); // lets go of nothing
    assert_ok(store_begin_run(f->store, &later, &err), &err);
    assert_ok(store_find_unfinished(&id, &found, first, &run, &err), &err);
    assert_true(found && id == run.id);
    store_close(first);
    struct store *third = scratch_store(f->path, STORE_WRITE);
    assert_ok(store_find_unfinished(&id, &found, third, &run, &err), &err);
    assert_true(found && id == run.id);
    assert_ok(store_find_unfinished(&again, &found, f->store, &run, &err), &err);
    assert_true(found && again == later.id);
    store_close(third);
    run_free(&run);
    run_free(&later);
}

TEST(last_and_listed_runs_are_newest_first)
{
    struct open_store *f = *state;
    struct error err = {0};
    int64_t ids[3], last = -1;
    assert_ok(store_last_run(&last, f->store, STORE_ALL_RUNS, &err), &err);
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
    assert_ok(store_last_run(&last, f->store, RUN_GATE, &err), &err);
    assert_int_equal(last, ids[1]);
    assert_ok(store_list_runs(&entries, &count, f->store, STORE_ALL_RUNS, 0, &f->arena, &err),
              &err);
    assert_int_equal(count, 3);
    assert_int_equal(entries[0].id, ids[2]);
    assert_int_equal(entries[1].kind, RUN_GATE);
    assert_int_equal(strlen(entries[2].uid), 32);
    assert_ok(store_list_runs(&entries, &count, f->store, RUN_MEASURE, 1, &f->arena, &err), &err);
    assert_int_equal(count, 1);
    assert_int_equal(entries[0].id, ids[2]);
}

TEST(file_is_in_wal_mode)
{
    struct open_store *f = *state;
    FILE *file = fopen(store_path(f->store), "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 18, SEEK_SET), 0); // versions of the format: 2 is WAL
    assert_int_equal(fgetc(file), 2);
    assert_int_equal(fgetc(file), 2);
    fclose(file);
}

TEST(profile_keeps_calibrated_figures_with_source)
{
    struct open_store *f = *state;
    struct error err = {0};
    const struct device device = {"host", "host-1", "CPU", "6.1", "glibc", "host"};
    struct gpu gpu = {.name = "host"}, loaded;
    bool found;
    gpu.dram_bytes_s = (struct figure){21.5e9, ORIGIN_CALIBRATED, "copy of 256 MB, median of 9"};
    gpu.sm_count = (struct figure){2, ORIGIN_DEVICE, "sysconf"};
    assert_ok(store_load_profile(&loaded, &found, f->store, "host-1", &f->arena, &err), &err);
    assert_false(found);
    assert_ok(store_save_profile(f->store, &device, &gpu, &err), &err);
    assert_ok(store_load_profile(&loaded, &found, f->store, "host-1", &f->arena, &err), &err);
    assert_true(found);
    assert_string_equal(loaded.name, "host");
    assert_true(loaded.dram_bytes_s.value == 21.5e9);
    assert_int_equal(loaded.dram_bytes_s.origin, ORIGIN_CALIBRATED);
    assert_string_equal(loaded.dram_bytes_s.source, "copy of 256 MB, median of 9");
    assert_int_equal(loaded.sm_count.origin, ORIGIN_UNKNOWN);
    const double senseless[] = {0, -1, NAN, INFINITY};
    for (size_t i = 0; i < ARRAY_COUNT(senseless); i++) {
        gpu.dram_bytes_s.value = senseless[i];
        assert_int_equal(store_save_profile(f->store, &device, &gpu, &err), -1);
        assert_non_null(strstr(err.text, "profile host: calibrated dram_bytes_s is "));
        assert_non_null(strstr(err.text, "; not stored"));
    }
    assert_ok(store_load_profile(&loaded, &found, f->store, "host-1", &f->arena, &err), &err);
    assert_true(loaded.dram_bytes_s.value == 21.5e9);
}

TEST(batch_is_all_or_nothing)
{
    struct open_store *f = *state;
    struct error err = {0};
    struct store_report report;
    struct run run;
    assert_ok(store_begin_batch(f->store, &err), &err);
    make_run(&run, RUN_MEASURE, 3, 2, 5);
    save_whole_run(f->store, &run);
    store_cancel_batch(f->store);
    assert_ok(store_info(&report, f->store, &err), &err);
    assert_int_equal(report.counts.runs, 0);
    run.id = 0;
    assert_ok(store_begin_batch(f->store, &err), &err);
    save_whole_run(f->store, &run);
    run.results[0].head.samples[0].time_ns = -1;
    strcpy(run.results[0].kernel, "another");
    // A refused save inside a batch undoes itself only.
    assert_int_equal(store_save_result(f->store, &run, &run.results[0], &err), -1);
    assert_ok(store_commit_batch(f->store, &err), &err);
    assert_ok(store_info(&report, f->store, &err), &err);
    assert_int_equal(report.counts.runs, 1);
    assert_int_equal(report.counts.measurements, 2);
    run_free(&run);
}

TEST(a_measurement_of_a_commit_that_the_run_does_not_name_is_refused)
{
    struct open_store *f = *state;
    static const char *const says[] = {"name the run's base commit", "name the run's head commit"};
    for (int role = ROLE_BASE; role <= ROLE_HEAD; role++) {
        struct error err = {0};
        struct run run;
        make_run(&run, RUN_GATE, 1 + (unsigned)role, 1, 5);
        (role == ROLE_BASE ? run.base.id : run.head.id)[0] = '\0';
        int status = store_begin_run(f->store, &run, &err);
        if (status == 0)
            status = store_save_result(f->store, &run, &run.results[0], &err);
        assert_int_equal(status, -1);
        if (!strstr(err.text, says[role]))
            fail_msg("%s: %s", says[role], err.text);
        run_free(&run);
    }
}

TEST(senseless_samples_are_refused)
{
    struct open_store *f = *state;
    struct error err = {0};
    const double values[] = {NAN, INFINITY, 0, -5};
    struct run run;
    make_run(&run, RUN_MEASURE, 3, 1, 5);
    assert_ok(store_begin_run(f->store, &run, &err), &err);
    for (size_t i = 0; i < ARRAY_COUNT(values); i++) {
        run.results[0].head.samples[3].time_ns = values[i];
        assert_int_equal(store_save_result(f->store, &run, &run.results[0], &err), -1);
        assert_non_null(strstr(err.text, "sample 3"));
    }
    run_free(&run);
}

TEST(as_many_samples_as_a_pack_holds_are_kept_and_not_one_more)
{
    struct open_store *f = *state;
    struct error err = {0};
    struct sample *samples = xcalloc(PACK_SAMPLES + 1, sizeof(*samples));
    struct run run;
    make_run(&run, RUN_MEASURE, 3, 1, 5);
    struct measurement *head = &run.results[0].head;
    for (size_t i = 0; i <= PACK_SAMPLES; i++)
        samples[i] = head->samples[0];
    head->samples = samples;
    head->count = PACK_SAMPLES + 1;
    assert_ok(store_begin_run(f->store, &run, &err), &err);
    assert_int_equal(store_save_result(f->store, &run, &run.results[0], &err), -1);
    assert_non_null(strstr(err.text, "131073 samples in one measurement"));
    head->count = PACK_SAMPLES;
    assert_ok(store_save_result(f->store, &run, &run.results[0], &err), &err);
    run_free(&run);
    free(samples);
}

TEST(readers_see_a_run_while_it_is_written)
{
    struct open_store *f = *state;
    struct error err = {0};
    struct run run, seen;
    make_run(&run, RUN_MEASURE, 3, 2, 5);
    assert_ok(store_begin_run(f->store, &run, &err), &err);
    assert_ok(store_save_result(f->store, &run, &run.results[0], &err), &err);
    struct store *reader = scratch_store(store_path(f->store), STORE_READ);
    assert_ok(store_begin_batch(f->store, &err), &err);
    assert_ok(store_save_result(f->store, &run, &run.results[1], &err), &err);
    assert_ok(store_load_run(&seen, reader, run.id, &err), &err);
    assert_int_equal(seen.count, 1);
    run_free(&seen);
    assert_ok(store_commit_batch(f->store, &err), &err);
    assert_ok(store_load_run(&seen, reader, run.id, &err), &err);
    assert_int_equal(seen.count, 2);
    run_free(&seen);
    store_close(reader);
    run_free(&run);
}
