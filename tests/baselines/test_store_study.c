// SPDX-License-Identifier: Apache-2.0
//
// Studies in the store: they come back, through merging and JSON too, and count as what is known of
// a device's false alarms.
#include "baselines/fields.h"
#include "baselines/store.h"
#include "tests/helpers/helper_open_store.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct study_result row(enum study_kind kind, const char *kernel, uint32_t gates,
                               uint32_t slower)
{
    struct study_result s = {.kind = kind,
                             .gates = gates,
                             .slower = slower,
                             .same = gates - slower - 1,
                             .broken = 1,
                             .first_alarms = slower,
                             .pairs = 22.5,
                             .time_ns = 13600,
                             .log_ratio = 1e-4,
                             .pair_sd = 0.004,
                             .detectable = NAN,
                             .gpu_s = 1.5,
                             .wall_s = 3};
    struct error err;
    text_copy(s.kernel, sizeof(s.kernel), kernel);
    assert_int_equal(problem_parse(&s.problem, "64x64x128:fp32", &err), 0);
    return s;
}

// A study of two series of device 0, with `alarms` false ones among 100 and 50 gates.
static void save_study_run(struct store *store, struct run *run, unsigned number, uint32_t alarms)
{
    struct error err;
    make_run(run, RUN_STUDY, number, 0, 5 + number);
    run->studies = arena_alloc(&run->arena, 3 * sizeof(*run->studies));
    run->study_count = 3;
    run->studies[0] = row(STUDY_AA, "alpha", 101, alarms);
    run->studies[1] = row(STUDY_SLOWER, "alpha", 11, 10);
    run->studies[2] = row(STUDY_AA, "beta", 51, 0);
    assert_ok(store_begin_run(store, run, &err), &err);
    assert_ok(store_save_study(store, run, &err), &err);
    assert_ok(store_finish_run(store, run, &err), &err);
}

static void expect_study(struct store *store, int64_t run_id, const struct run *as)
{
    struct run loaded;
    struct error err;
    assert_ok(store_load_run(&loaded, store, run_id, &err), &err);
    assert_int_equal(loaded.study_count, as->study_count);
    for (size_t i = 0; i < as->study_count; i++) {
        const struct study_result *a = &as->studies[i], *b = &loaded.studies[i];
        assert_true(a->kind == b->kind && strcmp(a->kernel, b->kernel) == 0 &&
                    problem_equal(&a->problem, &b->problem) && a->device == b->device);
        assert_true(a->gates == b->gates && a->slower == b->slower && a->same == b->same &&
                    a->broken == b->broken && a->first_alarms == b->first_alarms);
        assert_true(fabs(a->pairs - b->pairs) + fabs(a->time_ns - b->time_ns) +
                        fabs(a->pair_sd - b->pair_sd) + fabs(a->gpu_s - b->gpu_s) +
                        fabs(a->wall_s - b->wall_s) + fabs(a->log_ratio - b->log_ratio) <
                    1e-9);
        assert_true(isnan(b->detectable));
    }
    run_free(&loaded);
}

static void expect_alarms(struct store *store, const struct run *run, uint64_t gates,
                          uint64_t alarms)
{
    struct alarm_count studies, self_tests;
    struct error err;
    assert_ok(store_false_alarms(&studies, &self_tests, store, run->devices[0].uuid, &err), &err);
    assert_int_equal(studies.gates, gates);
    assert_int_equal(studies.alarms, alarms);
}

AROUND_EACH(open_store_set_up, open_store_tear_down);

TEST(study_comes_back_and_counts)
{
    struct open_store *f = *state;
    struct run run, second;
    struct alarm_count of_series;
    struct error err;
    save_study_run(f->store, &run, 1, 2);
    expect_study(f->store, run.id, &run);
    expect_alarms(f->store, &run, 150, 2);
    save_study_run(f->store, &second, 2, 0);
    expect_alarms(f->store, &run, 300, 2);
    const struct series series = {"beta", &run.studies[2].problem, run.devices[0].uuid};
    assert_ok(store_series_false_alarms(&of_series, f->store, &series, &err), &err);
    assert_true(of_series.gates == 100 && of_series.alarms == 0);
    const struct series unknown = {"gamma", &run.studies[2].problem, run.devices[0].uuid};
    assert_ok(store_series_false_alarms(&of_series, f->store, &unknown, &err), &err);
    assert_true(of_series.gates == 0);
    run_free(&run);
    run_free(&second);
}

// Saved round by round: the later save counts, once.
TEST(later_save_replaces_the_earlier)
{
    struct open_store *f = *state;
    struct run run;
    struct error err;
    save_study_run(f->store, &run, 1, 0);
    run.studies[0] = row(STUDY_AA, "alpha", 201, 1);
    assert_ok(store_save_study(f->store, &run, &err), &err);
    expect_study(f->store, run.id, &run);
    expect_alarms(f->store, &run, 250, 1);
    run_free(&run);
}

TEST(study_survives_merging_and_json)
{
    struct open_store *f = *state;
    struct run run;
    struct error err;
    int64_t id;
    save_study_run(f->store, &run, 3, 1);
    struct store *merged = scratch_store(scratch_path(&f->arena, f->folder, "b.db"), STORE_WRITE);
    for (int again = 0; again < 2; again++)
        assert_ok(store_merge(merged, store_path(f->store), NULL, &err), &err);
    assert_ok(store_last_run(&id, merged, RUN_STUDY, &err), &err);
    expect_study(merged, id, &run);
    expect_alarms(merged, &run, 150, 1);
    store_close(merged);
    FILE *file = tmpfile();
    assert_ok(store_export_json(f->store, &(struct export_filter){0}, file, &err), &err);
    rewind(file);
    struct store *read = scratch_store(scratch_path(&f->arena, f->folder, "c.db"), STORE_WRITE);
    const struct import_source source = {.name = "export", .format = "json"};
    assert_ok(store_import(read, file, &source, NULL, NULL, &err), &err);
    fclose(file);
    assert_ok(store_last_run(&id, read, RUN_STUDY, &err), &err);
    expect_study(read, id, &run);
    store_close(read);
    run_free(&run);
}

TEST(counts_that_do_not_add_up_are_refused)
{
    struct open_store *f = *state;
    struct run run;
    struct error err;
    save_study_run(f->store, &run, 4, 0);
    run.studies[0].same++;
    assert_int_equal(store_save_study(f->store, &run, &err), -1);
    run.studies[0].same--;
    expect_study(f->store, run.id, &run);
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    assert_ok(store_export_json(f->store, &(struct export_filter){0}, file, &err), &err);
    fclose(file);
    char *at = strstr(text, "\"gates\":101");
    assert_non_null(at);
    memcpy(at, "\"gates\":909", 11);
    file = fmemopen(text, size, "r");
    struct store *other = scratch_store(scratch_path(&f->arena, f->folder, "d.db"), STORE_WRITE);
    const struct import_source source = {.name = "bad", .format = "json"};
    assert_int_equal(store_import(other, file, &source, NULL, NULL, &err), -1);
    assert_non_null(strstr(err.text, "counts that add up"));
    expect_alarms(other, &run, 0, 0);
    store_close(other);
    fclose(file);
    free(text);
    run_free(&run);
}

TEST(pruned_study_is_gone)
{
    struct open_store *f = *state;
    struct run run;
    struct error err;
    struct store_counts removed;
    save_study_run(f->store, &run, 5, 1);
    const struct prune_rule rule = {.before_s = run.started_s + 1, .runs = true};
    assert_ok(store_prune(f->store, &rule, &removed, &err), &err);
    assert_int_equal(removed.runs, 1);
    expect_alarms(f->store, &run, 0, 0);
    run_free(&run);
}

TEST(counts_of_a_study_add_up)
{
    struct study_result s = row(STUDY_AA, "alpha", 101, 3);
    assert_true(study_sound(&s));
    s.undecided = 1;
    assert_false(study_sound(&s));
    s.gates = 102;
    assert_true(study_sound(&s));
    s.first_alarms = 103;
    assert_false(study_sound(&s));
}
