// SPDX-License-Identifier: Apache-2.0
//
// What is asked of earlier runs: code measured before, the history of a series, its scatter.
#include "tests/helpers/helper_open_store.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <string.h>

AROUND_EACH(open_store_set_up, open_store_tear_down);

TEST(identical_code_is_found_by_code_regime_and_driver)
{
    struct open_store *f = *state;
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
    assert_ok(store_find_measurement(&m, &found, f->store, &first, r[0].head_code,
                                     &(struct measured_how){.regime = regime}, &f->arena, &err),
              &err);
    assert_true(found);
    assert_true(same_measurement(&m, &r[0].head));
    assert_ok(store_find_measurement(&m, &found, f->store, &first, r[0].head_code,
                                     &(struct measured_how){.regime = "warm"}, &f->arena, &err),
              &err);
    assert_false(found);
    assert_ok(store_find_measurement(&m, &found, f->store, &first, "0ther", &any, &f->arena, &err),
              &err);
    assert_false(found);
    assert_ok(store_find_measurement(&m, &found, f->store, &elsewhere, r[0].head_code, &any,
                                     &f->arena, &err),
              &err);
    assert_false(found);
    struct measured_how driven = {.driver = run.devices[0].driver};
    assert_ok(store_find_measurement(&m, &found, f->store, &first, r[0].head_code, &driven,
                                     &f->arena, &err),
              &err);
    assert_true(found);
    driven.driver = "another driver";
    assert_ok(store_find_measurement(&m, &found, f->store, &first, r[0].head_code, &driven,
                                     &f->arena, &err),
              &err);
    assert_false(found);
    // A crash is the code's own fault where its regime says so.
    const struct measured_how failing = {.failure = r[1].head.regime};
    assert_ok(store_find_measurement(&m, &found, f->store, &second, r[1].head_code, &failing,
                                     &f->arena, &err),
              &err);
    assert_true(found);
    assert_int_equal(m.state, MEASURED_CRASHED);
    // Else it may have been the machine's: measure again.
    assert_ok(store_find_measurement(&m, &found, f->store, &second, r[1].head_code, &any, &f->arena,
                                     &err),
              &err);
    assert_false(found);
    run_free(&run);
}

// A gate's times are of pairs; a history is made of times taken alone, so a run takes its own.
TEST(what_a_gate_timed_is_no_point_of_a_history)
{
    struct open_store *f = *state;
    struct error err = {0};
    struct run gate;
    struct measurement m;
    bool found;
    make_run(&gate, RUN_GATE, 3, 1, 5);
    save_whole_run(f->store, &gate);
    const struct result *r = gate.results;
    const struct series series = {r->kernel, &r->problem, gate.devices[0].uuid};
    const struct measured_how any = {0}, plain = {.plain = true};
    assert_ok(
        store_find_measurement(&m, &found, f->store, &series, r->head_code, &any, &f->arena, &err),
        &err);
    assert_true(found);
    assert_ok(store_find_measurement(&m, &found, f->store, &series, r->head_code, &plain, &f->arena,
                                     &err),
              &err);
    assert_false(found);
    run_free(&gate);
}

TEST(reused_result_refers_to_the_first_measurement)
{
    struct open_store *f = *state;
    struct error err = {0};
    struct run first, second, loaded;
    struct store_report before, after;
    make_run(&first, RUN_MEASURE, 3, 2, 5);
    save_whole_run(f->store, &first);
    assert_ok(store_info(&before, f->store, &err), &err);
    make_run(&second, RUN_MEASURE, 4, 2, 6);
    for (size_t i = 0; i < second.count; i++) {
        struct result *r = &second.results[i];
        r->reused = true;
        r->control = true;
        strcpy(r->head_code, first.results[i].head_code);
        r->head = i ? (struct measurement){0} : first.results[i].head;
    }
    save_whole_run(f->store, &second);
    assert_ok(store_info(&after, f->store, &err), &err);
    assert_int_equal(after.counts.measurements, before.counts.measurements);
    assert_ok(store_load_run(&loaded, f->store, second.id, &err), &err);
    for (size_t i = 0; i < loaded.count; i++) {
        assert_true(loaded.results[i].reused);
        assert_true(same_measurement(&loaded.results[i].head, &first.results[i].head));
    }
    run_free(&first);
    run_free(&second);
    run_free(&loaded);
}

// Nine in ten results of a night are reused: their predictions would be most of a store.
TEST(a_reused_result_has_the_prediction_of_its_measurement)
{
    struct open_store *f = *state;
    struct error err = {0};
    struct run first, loaded;
    make_run(&first, RUN_MEASURE, 3, 2, 5);
    save_whole_run(f->store, &first);
    const int64_t before = sound_counts(f->store).predictions;
    for (unsigned night = 0; night < 3; night++) {
        struct run again;
        make_run(&again, RUN_MEASURE, 4 + night, 2, 6);
        for (size_t i = 0; i < again.count; i++) {
            struct result *r = &again.results[i];
            r->reused = true;
            strcpy(r->head_code, first.results[i].head_code);
            r->head = (struct measurement){0};
            r->prediction = first.results[i].prediction;
        }
        if (night == 2) // by another version
            again.results[0].prediction.version = "newer";
        save_whole_run(f->store, &again);
        assert_int_equal(sound_counts(f->store).predictions, before + (night == 2));
        assert_ok(store_load_run(&loaded, f->store, again.id, &err), &err);
        for (size_t i = 0; i < loaded.count; i++) {
            const struct prediction *p = &loaded.results[i].prediction;
            assert_string_equal(p->version, again.results[i].prediction.version);
            assert_true(p->time_ns == first.results[i].prediction.time_ns);
            assert_int_equal(p->part_count, first.results[i].prediction.part_count);
        }
        run_free(&loaded);
        run_free(&again);
    }
    run_free(&first);
}

// Saves one-result runs for the commits given and returns the series.
static struct series save_history(struct open_store *f, const unsigned *numbers, size_t count,
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

TEST(history_is_in_order_of_commits_not_of_runs)
{
    struct open_store *f = *state;
    struct error err = {0};
    // 2 is measured again, 101 is back-filled late.
    const unsigned numbers[] = {1, 3, 2, 102, 101, 2, 100};
    int64_t ids[ARRAY_COUNT(numbers)];
    struct stored_points stored;
    struct series series = save_history(f, numbers, ARRAY_COUNT(numbers), ids);
    struct history_query query = {0};
    assert_ok(store_points(&stored, f->store, &series, &query, &f->arena, &err), &err);
    const unsigned order[] = {1, 2, 2, 3, 100, 101, 102};
    assert_int_equal(stored.count, ARRAY_COUNT(order));
    for (size_t i = 0; i < ARRAY_COUNT(order); i++) {
        assert_int_equal(stored.points[i].time_s, 1700000000 + 3600 * (int64_t)order[i]);
        const int64_t code = stored.points[i].code;
        assert_int_equal(i > 0 && code && code == stored.points[i - 1].code, i == 2 || i > 4);
        assert_true(stored.points[i].time_ns > 0 && stored.points[i].predicted_ns > 0);
    }
    query = (struct history_query){.limit = 2};
    assert_ok(store_points(&stored, f->store, &series, &query, &f->arena, &err), &err);
    assert_int_equal(stored.count, 2);
    assert_int_equal(stored.points[1].time_s, 1700000000 + 3600 * 102);
    query = (struct history_query){.until_s = 1700000000 + 3600 * 3, .except_run = ids[1]};
    assert_ok(store_points(&stored, f->store, &series, &query, &f->arena, &err), &err);
    assert_int_equal(stored.count, 3);
}

// What lies between two commits of one second may be unknown here; their places are not.
TEST(commits_of_one_second_are_in_the_order_of_their_places)
{
    struct open_store *f = *state;
    struct error err = {0};
    static const int64_t after_s[] = {4, 0, 2};
    static const char *const ids[] = {"aa", "bb", "cc"}, *const in_order[] = {"bb", "cc", "aa"};
    struct stored_points stored;
    struct series series = {0};
    for (size_t i = 0; i < ARRAY_COUNT(ids); i++) {
        struct run run;
        make_run(&run, RUN_MEASURE, 7, 1, i + 1);
        memset(run.head.id, ids[i][0], 40);
        run.head.after_s = after_s[i];
        save_whole_run(f->store, &run);
        struct problem *problem = arena_alloc(&f->arena, sizeof(*problem));
        *problem = run.results[0].problem;
        series = (struct series){arena_strdup(&f->arena, run.results[0].kernel), problem,
                                 arena_strdup(&f->arena, run.devices[0].uuid)};
        run_free(&run);
    }
    const struct history_query query = {0};
    assert_ok(store_points(&stored, f->store, &series, &query, &f->arena, &err), &err);
    assert_int_equal(stored.count, ARRAY_COUNT(ids));
    for (size_t i = 0; i < stored.count; i++)
        assert_int_equal(stored.points[i].commit[0], in_order[i][0]);
    char second[OBJECT_ID_TEXT];
    memcpy(second, stored.points[1].commit, sizeof(second));
    const struct history_query until = {.until = second};
    assert_ok(store_points(&stored, f->store, &series, &until, &f->arena, &err), &err);
    assert_int_equal(stored.count, 2);
}

TEST(history_leaves_out_comparisons_failures_and_other_series)
{
    struct open_store *f = *state;
    struct error err = {0};
    struct stored_points stored;
    struct run run;
    make_run(&run, RUN_GATE, 5, 1, 1);
    save_whole_run(f->store, &run);
    const struct series series = {arena_strdup(&f->arena, run.results[0].kernel),
                                  &run.results[0].problem, "GPU-00000000-0001"};
    struct history_query query = {0};
    assert_ok(store_points(&stored, f->store, &series, &query, &f->arena, &err), &err);
    assert_int_equal(stored.count, 0);
    query.comparisons = true;
    assert_ok(store_points(&stored, f->store, &series, &query, &f->arena, &err), &err);
    assert_int_equal(stored.count, 1);
    struct run wrong;
    make_run(&wrong, RUN_MEASURE, 6, 1, 1);
    wrong.results[0].head.state = MEASURED_WRONG;
    save_whole_run(f->store, &wrong);
    assert_ok(store_points(&stored, f->store, &series, &query, &f->arena, &err), &err);
    assert_int_equal(stored.count, 1);
    const struct series unknown = {"nothing", &run.results[0].problem, "GPU-00000000-0001"};
    assert_ok(store_points(&stored, f->store, &unknown, &query, &f->arena, &err), &err);
    assert_int_equal(stored.count, 0);
    run_free(&run);
    run_free(&wrong);
}

TEST(scale_is_the_spread_of_past_pairs)
{
    struct open_store *f = *state;
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
    struct series series = {r->kernel, &r->problem, run.devices[0].uuid};
    assert_ok(store_scale(&scales, &count, f->store, &series, 5, 0, &f->arena, &err), &err);
    assert_int_equal(count, 1);
    assert_int_equal(scales[0].pairs, 4);
    assert_true(fabs(scales[0].sd - 0.0258198889747161) < 1e-12); // by hand
    assert_true(fabs(scales[0].sd_mad - 1.4826 * 0.02) < 1e-12);  // deviations .01 .01 .03 .03
    assert_false(scales[0].same_code);
    run_free(&run);
    // Numbers begin again in each block and in each process.
    make_run(&run, RUN_GATE, 6, 1, 1);
    r = &run.results[0];
    series = (struct series){r->kernel, &r->problem, run.devices[0].uuid};
    r->base.count = r->head.count = 6;
    for (size_t i = 0; i < 6; i++) {
        struct sample *pair[] = {&r->base.samples[i], &r->head.samples[i]};
        for (int role = 0; role < 2; role++) {
            pair[role]->time_ns = 1000 * exp(role && i < 4 ? ratios[i] : 0);
            pair[role]->pair = (uint32_t)(i % 2);
            pair[role]->block = (uint16_t)(i / 2 % 2);
            pair[role]->process = (uint16_t)(i / 4);
            pair[role]->excluded = i > 3;
        }
    }
    save_whole_run(f->store, &run);
    assert_ok(store_scale(&scales, &count, f->store, &series, 5, 0, &f->arena, &err), &err);
    assert_int_equal(count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(scales[i].pairs, 4);
        assert_true(fabs(scales[i].sd - 0.0258198889747161) < 1e-12);
    }
    assert_ok(store_scale(&scales, &count, f->store, &series, 5, run.id, &f->arena, &err), &err);
    assert_int_equal(count, 1); // not of the run itself
    run_free(&run);
}
