// SPDX-License-Identifier: Apache-2.0
//
// The past of stored series: what is found in it, whose it was, and what bad input does to it.
#include "ci/history_store.h"
#include "tests/helper_files.h"
#include "tests/helper_store.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { COMMITS = 60, STEP = 40, KERNELS = 6 };

struct scene {
    double step;          // log ratio of kernel 0 from STEP on
    double common;        // of every series from STEP on
    int64_t (*time)(int); // of a commit; NULL: one per hour
    bool driver;          // another driver from STEP on
    const char *card;     // the device from STEP on, of the same model; NULL: the same
    const char *model;    // or of this model
    bool turns;           // the two take turns from the beginning
    bool keep_code;       // the code never changes
    bool parents;         // commits name the one before
    bool gaps;            // every third commit is missing
    int repeat;           // measured so many times more
    const char *ids;      // begin of the commit ids
};

static char *folder;
static struct arena arena;
static struct error err;

static int set_up(void **state)
{
    (void)state;
    folder = helper_directory();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    helper_discard(folder);
    free(folder);
    arena_free(&arena);
    return 0;
}

static void fill(struct result *r, struct sample *sample, const struct scene *scene, int kernel,
                 int commit, uint64_t *seed)
{
    double log_time = 10 + kernel + 0.002 * draw_normal(seed);
    if (commit >= STEP)
        log_time += scene->common + (kernel == 0 ? scene->step : 0);
    memset(r, 0, sizeof(*r));
    snprintf(r->kernel, sizeof(r->kernel), kernel ? "control-%d" : "kernel", kernel);
    r->problem = (struct problem){
        .m = 64, .n = 64, .k = 64, .in = DTYPE_FP32, .out = DTYPE_FP32, .batch = 1};
    bool changed = !scene->keep_code && kernel == 0 && commit >= STEP;
    snprintf(r->head_code, sizeof(r->head_code), "%02d%038d", kernel, changed);
    r->control = kernel > 0;
    *sample = (struct sample){.time_ns = exp(log_time),
                              .clock_hz = 1.5e9,
                              .launches = 1,
                              .role = ROLE_HEAD,
                              .power_mw = -1,
                              .temperature_c = INT16_MIN};
    r->head = (struct measurement){.samples = sample, .count = 1, .regime = "cold", .detail = ""};
    r->prediction = (struct prediction){.model = "sol",
                                        .version = "1",
                                        .feasible = true,
                                        .time_ns = exp(10 + kernel) / 1.25,
                                        .clock_hz = 1.5e9,
                                        .bound = BOUND_COMPUTE};
}

static void save(struct store *store, const struct scene *scene, int commit, uint64_t *seed)
{
    struct run run = {.kind = RUN_MEASURE,
                      .tool_version = "1",
                      .repository = "r",
                      .policy = "p",
                      .headline = "measured",
                      .device_count = 1};
    struct device device = {"cuda", "GPU-1", "H", "570.1", "13.0", "h"};
    struct result results[KERNELS];
    struct sample samples[KERNELS];
    if (scene->driver && commit >= STEP)
        device.driver = "580.2";
    if (scene->turns ? commit % 2 : scene->card && commit >= STEP) {
        device.uuid = scene->card;
        device.name = scene->model ? scene->model : device.name;
    }
    run.devices = &device;
    run.started_s = 1700000000 + 3600 * (int64_t)commit;
    run.finished_s = run.started_s + 60;
    run.base = (struct commit){.summary = "", .author = ""};
    snprintf(run.head.id, sizeof(run.head.id), "%s%036d", scene->ids ? scene->ids : "aaaa", commit);
    snprintf(run.head.tree, sizeof(run.head.tree), "%040d", commit);
    run.head.summary = run.head.author = "";
    if (scene->parents && commit > 0)
        snprintf(run.head.parent, sizeof(run.head.parent), "%s%036d",
                 scene->ids ? scene->ids : "aaaa", commit - 1);
    run.head.time_s = scene->time ? scene->time(commit) : run.started_s;
    assert_int_equal(store_begin_run(store, &run, &err), 0);
    for (int k = 0; k < KERNELS; k++) {
        fill(&results[k], &samples[k], scene, k, commit, seed);
        assert_int_equal(store_save_result(store, &run, &results[k], &err), 0);
    }
    assert_int_equal(store_finish_run(store, &run, &err), 0);
}

static void save_all(struct store *store, const struct scene *scene, int first, int end,
                     uint64_t seed)
{
    for (int c = first; c < end; c++) {
        if (scene->gaps && c % 3 == 1)
            continue;
        for (int i = 0; i <= scene->repeat; i++)
            save(store, scene, c, &seed);
    }
}

static struct store *scene_store(const char *name, const struct scene *scene)
{
    struct store *store = scratch_store(scratch_path(&arena, folder, name), STORE_WRITE);
    save_all(store, scene, 0, COMMITS, 7);
    return store;
}

// The past of every series, attributed together.
static struct series_past *look(struct store *store, const struct epoch_list *epochs)
{
    size_t count;
    struct series_entry *entries;
    struct surroundings around;
    struct past_options options = past_defaults;
    options.epochs = epochs;
    assert_int_equal(store_list_series(&entries, &count, store, &arena, &err), 0);
    assert_int_equal(past_surroundings(&around, store, entries, count, "GPU-1", 0, &arena, &err),
                     0);
    assert_int_equal(count, KERNELS);
    struct series_past *all = arena_alloc(&arena, count * sizeof(*all));
    for (size_t i = 0; i < count; i++)
        assert_int_equal(
            past_load(&all[i], store, &entries[i], &around, &options, &arena, &arena, &err), 0);
    past_attribute(all, count);
    return all;
}

static const struct series_past *kernel_of(const struct series_past *all)
{
    for (size_t i = 0; i < KERNELS; i++) {
        if (strcmp(all[i].series->kernel, "kernel") == 0)
            return &all[i];
    }
    fail_msg("no series of kernel");
    return NULL;
}

static const struct series_past *kernel_in(const char *name, const struct scene *scene)
{
    struct store *store = scene_store(name, scene);
    const struct series_past *s = kernel_of(look(store, NULL));
    store_close(store);
    return s;
}

static void expect_step(const struct series_past *s, const char *commit, double size)
{
    assert_int_equal(s->change_count, 1);
    const struct past_change *c = &s->changes[0];
    assert_true(strcmp(c->earliest.id, commit) <= 0 && strcmp(commit, c->latest.id) <= 0);
    assert_true(fabs(c->change.size - size) < 0.004);
    assert_true(c->change.size_low < size && size < c->change.size_high);
    assert_true(c->change.evidence > 7);
}

static const char *step_id = "aaaa000000000000000000000000000000000040";

static void step_of_a_kernel_is_its_own(void **state)
{
    (void)state;
    const struct series_past *s = kernel_in("step.db", &(struct scene){.step = 0.03});
    expect_step(s, step_id, 0.03);
    assert_true(s->against_model && s->common_mode && s->creep.moved);
    assert_true(fabs(s->creep.size - 0.03) < 0.005);
    assert_int_equal(s->changes[0].attribution, ATTRIBUTION_KERNEL);
    assert_string_equal(s->changes[0].at.id, step_id);
}

static void what_the_controls_show_is_taken_off(void **state)
{
    (void)state;
    const struct scene scene = {.common = 0.05};
    assert_int_equal(kernel_in("common.db", &scene)->change_count, 0);
    const struct scene both = {.common = 0.05, .step = -0.03};
    expect_step(kernel_in("both.db", &both), step_id, -0.03);
}

// All series of a store, devices included; the caller frees and closes.
static struct series_past *with_devices(struct history_set *set, const char *name,
                                        const struct scene *scene, const char *uuid)
{
    struct store *store = scene_store(name, scene);
    const struct history_request all = {0};
    assert_int_equal(history_load(set, store, &all, NULL, &err), 0);
    store_close(store);
    for (size_t i = 0; i < set->count; i++) {
        if (strcmp(set->series[i].series->kernel, "kernel") == 0 &&
            strcmp(set->series[i].series->device_uuid, uuid) == 0)
            return &set->series[i];
    }
    fail_msg("no series of kernel on %s", uuid);
    return NULL;
}

static void card_that_took_anothers_place_is_a_break(void **state)
{
    (void)state;
    struct history_set set;
    const struct scene scene = {.common = 0.02, .step = 0.01, .card = "GPU-2", .driver = true};
    const struct series_past *s = with_devices(&set, "card.db", &scene, "GPU-2");
    assert_int_equal(s->past.count, COMMITS - STEP);
    assert_int_equal(s->change_count, 0);
    assert_int_equal(s->break_count, 1);
    assert_true(s->breaks[0].device && s->breaks[0].index == 0);
    assert_string_equal(s->breaks[0].what, "device H GPU-1 -> GPU-2, driver 570.1 -> 580.2");
    assert_string_equal(s->breaks[0].at.id, step_id);
    assert_true(fabs(s->breaks[0].size - 0.03) < 0.004); // in time: the controls moved too
    assert_true(s->breaks[0].low < 0.03 && 0.03 < s->breaks[0].high && s->breaks[0].low > 0.02);
    assert_null(s->replaced_by);
    for (size_t i = 0; i < set.count; i++) {
        if (strcmp(set.series[i].series->device_uuid, "GPU-1") == 0)
            assert_string_equal(set.series[i].replaced_by, "GPU-2");
    }
    history_free(&set);
}

// A step on the old card a few commits before its end is not the new card's.
static void what_the_old_card_did_before_is_not_the_new_ones(void **state)
{
    (void)state;
    struct history_set set;
    struct store *store = scratch_store(scratch_path(&arena, folder, "late.db"), STORE_WRITE);
    const struct scene late = {.step = 0.05}, swapped = {.step = 0.05, .card = "GPU-2"};
    const struct history_request all = {0};
    save_all(store, &late, 0, STEP + 8, 7);
    save_all(store, &swapped, STEP + 8, COMMITS, 8);
    assert_int_equal(history_load(&set, store, &all, NULL, &err), 0);
    store_close(store);
    size_t found = 0;
    for (size_t i = 0; i < set.count; i++) {
        const struct series_past *s = &set.series[i];
        if (strcmp(s->series->device_uuid, "GPU-2") != 0)
            continue;
        assert_int_equal(s->break_count, 1);
        assert_true(fabs(s->breaks[0].size) < 0.004 && s->breaks[0].low < 0);
        found++;
    }
    assert_int_equal(found, KERNELS);
    history_free(&set);
}

// Two cards that take turns, and another model, are series of their own.
static void cards_that_take_turns_replace_nobody(void **state)
{
    (void)state;
    struct history_set set;
    const struct scene turns = {.card = "GPU-2", .turns = true};
    const struct series_past *s = with_devices(&set, "turns.db", &turns, "GPU-2");
    assert_int_equal(s->break_count, 0);
    assert_null(s->replaced_by);
    history_free(&set);
    const struct scene other = {.card = "GPU-2", .model = "H2"};
    s = with_devices(&set, "other.db", &other, "GPU-2");
    assert_int_equal(s->break_count, 0);
    history_free(&set);
}

static void steps_at_a_new_driver_are_the_drivers(void **state)
{
    (void)state;
    const struct series_past *s =
        kernel_in("driver.db", &(struct scene){.step = 0.03, .driver = true});
    expect_step(s, step_id, 0.03);
    assert_int_equal(s->changes[0].attribution, ATTRIBUTION_BREAK);
    assert_string_equal(s->changes[0].what, "driver 570.1 -> 580.2");
    assert_int_equal(s->break_count, 1);
    assert_int_equal(s->breaks[0].index, STEP);
}

static void the_same_code_cannot_be_the_cause(void **state)
{
    (void)state;
    const struct series_past *s =
        kernel_in("code.db", &(struct scene){.step = 0.03, .keep_code = true});
    assert_int_equal(s->changes[0].attribution, ATTRIBUTION_ENVIRONMENT);
}

static void gaps_and_repeated_measurements_hide_no_step(void **state)
{
    (void)state;
    const struct scene gaps = {.step = 0.03, .gaps = true};
    const struct series_past *s = kernel_in("gaps.db", &gaps); // 40 % 3 == 1: it is not measured
    assert_int_equal(s->change_count, 1);
    assert_string_equal(s->changes[0].at.id, "aaaa000000000000000000000000000000000041");
    const struct scene repeated = {.step = 0.03, .repeat = 2};
    s = kernel_in("repeated.db", &repeated);
    assert_int_equal(s->past.count, 3 * COMMITS);
    expect_step(s, step_id, 0.03);
    assert_true(s->changes[0].commits <= 2); // commits, not measurements
}

static int64_t no_clock(int commit)
{
    (void)commit;
    return 1700000000;
}

static int64_t clock_that_goes_back(int commit)
{
    return 1700000000 + 3600 * (int64_t)commit - (commit % 10 == 5 ? 3 * 3600 : 0);
}

static void clocks_that_stand_or_go_back_hide_no_step(void **state)
{
    (void)state;
    expect_step(kernel_in("stand.db", &(struct scene){.step = 0.03, .time = no_clock}), step_id,
                0.03);
    const struct series_past *s =
        kernel_in("back.db", &(struct scene){.step = 0.03, .time = clock_that_goes_back});
    expect_step(s, step_id, 0.03);
    assert_string_equal(s->changes[0].at.id, step_id);
}

// Hours before its parent by the clock, but after it in the history.
static void history_follows_ancestry_not_clocks(void **state)
{
    (void)state;
    const struct series_past *s = kernel_in(
        "parents.db", &(struct scene){.step = 0.03, .time = clock_that_goes_back, .parents = true});
    assert_int_equal(s->past.count, COMMITS);
    for (int i = 1; i < COMMITS; i++)
        assert_true(strcmp(s->past.points[i - 1].commit, s->past.points[i].commit) < 0);
    assert_string_equal(s->changes[0].at.id, step_id);
}

static void rewritten_history_counts_as_measured_again(void **state)
{
    (void)state;
    const struct scene scene = {.step = 0.03}, rewritten = {.step = 0.03, .ids = "bbbb"};
    struct store *store = scene_store("rewritten.db", &scene);
    save_all(store, &rewritten, 30, COMMITS, 9); // the newest half under other ids, same times
    const struct series_past *s = kernel_of(look(store, NULL));
    store_close(store);
    assert_int_equal(s->past.count, COMMITS + 30);
    assert_int_equal(s->change_count, 1);
    assert_string_equal(s->changes[0].at.id + 4, step_id + 4);
}

static void accepted_step_is_no_creep(void **state)
{
    (void)state;
    struct epoch epoch = {.series = "kernel * *", .reason = "meant", .who = "A", .level = 0.03};
    struct epoch_list epochs = {&epoch, 1};
    text_copy(epoch.commit, sizeof(epoch.commit), step_id);
    struct store *store = scene_store("epoch.db", &(struct scene){.step = 0.03});
    const struct series_past *s = kernel_of(look(store, &epochs));
    store_close(store);
    assert_ptr_equal(s->epoch, &epoch);
    assert_int_equal(s->since, STEP);
    assert_false(s->creep.moved);
    assert_true(fabs(s->creep.size) < 0.005);
    assert_int_equal(s->change_count, 1); // it stays a change
}

static void reading_while_another_writes_gives_whole_runs(void **state)
{
    (void)state;
    const struct scene scene = {.step = 0.03};
    uint64_t seed = 3;
    struct store *writer = scene_store("shared.db", &scene);
    struct store *reader = scratch_store(scratch_path(&arena, folder, "shared.db"), STORE_READ);
    assert_int_equal(store_begin_batch(writer, &err), 0);
    save(writer, &scene, COMMITS, &seed);
    assert_int_equal(kernel_of(look(reader, NULL))->past.count, COMMITS);
    assert_int_equal(store_commit_batch(writer, &err), 0);
    assert_int_equal(kernel_of(look(reader, NULL))->past.count, COMMITS + 1);
    store_close(reader);
    store_close(writer);
}

static void import_text(struct store *store, const char *text, const char *part)
{
    char *bytes = xstrdup(text);
    FILE *file = fmemopen(bytes, strlen(bytes), "r");
    const struct import_source source = {"bad.csv", IMPORT_CSV, NULL};
    assert_non_null(file);
    err.text[0] = '\0';
    int status = store_import(store, file, &source, NULL, &err);
    fclose(file);
    free(bytes);
    if (status != -1 || !strstr(err.text, part))
        fail_msg("%d, \"%s\" does not say \"%s\" of\n%s", status, err.text, part, text);
}

static void times_that_cannot_be_are_refused_with_their_line(void **state)
{
    (void)state;
    static const char *const times[] = {"-5", "nan", "inf", "0", "1e999", "five"};
    struct store *store = scratch_store(scratch_path(&arena, folder, "import.db"), STORE_WRITE);
    struct store_report report;
    for (size_t i = 0; i < ARRAY_COUNT(times); i++) {
        char text[400];
        snprintf(text, sizeof(text),
                 "kernel,problem,device,commit,commit_s,time_ns\n"
                 "k,64x64x64:fp32-fp32:tn,GPU-1,aaaaaaa,1700000000,5\n"
                 "k,64x64x64:fp32-fp32:tn,GPU-1,bbbbbbb,1700000001,%s\n",
                 times[i]);
        import_text(store, text, "bad.csv:3");
    }
    assert_int_equal(store_info(&report, store, &err), 0);
    assert_int_equal(report.counts.measurements, 0); // all or nothing
    store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(step_of_a_kernel_is_its_own),
        cmocka_unit_test(what_the_controls_show_is_taken_off),
        cmocka_unit_test(card_that_took_anothers_place_is_a_break),
        cmocka_unit_test(what_the_old_card_did_before_is_not_the_new_ones),
        cmocka_unit_test(cards_that_take_turns_replace_nobody),
        cmocka_unit_test(steps_at_a_new_driver_are_the_drivers),
        cmocka_unit_test(the_same_code_cannot_be_the_cause),
        cmocka_unit_test(gaps_and_repeated_measurements_hide_no_step),
        cmocka_unit_test(clocks_that_stand_or_go_back_hide_no_step),
        cmocka_unit_test(history_follows_ancestry_not_clocks),
        cmocka_unit_test(rewritten_history_counts_as_measured_again),
        cmocka_unit_test(accepted_step_is_no_creep),
        cmocka_unit_test(reading_while_another_writes_gives_whole_runs),
        cmocka_unit_test(times_that_cannot_be_are_refused_with_their_line),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
