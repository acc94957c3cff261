// SPDX-License-Identifier: Apache-2.0
//
// What the site is told out of a store: states, runs and their times, replaced devices.
#include "ci/site/site_data.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_store.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COMMITS = 260, STEP = 130, SERIES = 3 };

static char *folder;
static struct store *store;
static struct site_data data;
static struct error err;

static void ok(int status)
{
    if (status)
        fail_msg("%s", err.text);
}

// calm: always; restless: the newest ten; stepped: +40 % from STEP on, and the newest ten restless.
static const char *const names[SERIES] = {"calm", "restless", "stepped"};

static double time_of(size_t series, unsigned commit)
{
    uint64_t seed = 10007 * (commit + 1) + series;
    double noise = series && commit >= COMMITS - 10 ? 0.4 : 0.003;
    return exp(10 + noise * draw_normal(&seed) + (series == 2 && commit >= STEP ? 0.34 : 0));
}

static void add_run(unsigned commit)
{
    struct run run = {.kind = RUN_MEASURE, .device_count = 1};
    struct device device = {"host", commit < 20 ? "HOST-1" : "HOST-2", "CPU", "6.1", "glibc", ""};
    struct sample samples[SERIES];
    run.started_s = 1700000000 + 3600 * (int64_t)commit;
    run.tool_version = run.repository = run.policy = "t";
    run.headline = "";
    run.devices = &device;
    snprintf(run.head.id, sizeof(run.head.id), "%040u", commit);
    run.head.summary = run.head.author = "";
    run.head.time_s = run.started_s;
    ok(store_begin_run(store, &run, &err));
    for (size_t s = 0; s < SERIES; s++) {
        struct result r = {.head = {.state = MEASURED_OK,
                                    .samples = &samples[s],
                                    .count = 1,
                                    .regime = "",
                                    .detail = ""}};
        samples[s] = (struct sample){
            .time_ns = time_of(s, commit), .launches = 1, .role = ROLE_HEAD, .power_mw = -1};
        snprintf(r.kernel, sizeof(r.kernel), "%s", names[s]);
        snprintf(r.head_code, sizeof(r.head_code), "%040u", commit / 10);
        r.problem = (struct problem){.m = 64, .n = 64, .k = 64, .batch = 1};
        ok(store_save_result(store, &run, &r, &err));
    }
    if (commit != 200) // is interrupted
        ok(store_finish_run(store, &run, &err));
}

static int set_up(void **state)
{
    struct arena arena = {0};
    folder = helper_directory();
    store = scratch_store(scratch_path(&arena, folder, "site.db"), STORE_WRITE);
    ok(store_begin_batch(store, &err));
    for (unsigned i = 0; i < COMMITS; i++)
        add_run(i);
    ok(store_commit_batch(store, &err));
    arena_free(&arena);
    ok(site_data_load(&data, store, NULL, NULL, NULL, 0, true, &err));
    return 0;
}

static int tear_down(void **state)
{
    site_data_free(&data);
    store_close(store);
    helper_discard(folder);
    free(folder);
    return 0;
}

AROUND_ALL(set_up, tear_down);

static const struct site_series *series_of(const char *kernel, const char *uuid)
{
    for (size_t i = 0; i < data.site.series_count; i++) {
        const struct site_series *s = &data.site.series[i];
        if (strcmp(s->kernel, kernel) == 0 && strcmp(data.site.devices[s->device].uuid, uuid) == 0)
            return s;
    }
    fail_msg("no series of %s on %s", kernel, uuid);
    return NULL;
}

// Ten restless points do not say where it is; all of them say that it moved.
TEST(step_that_was_found_counts_though_the_newest_scatter)
{
    const struct site_series *stepped = series_of("stepped", "HOST-2");
    assert_true(stepped->log_ratio.low < 0.01 && stepped->log_ratio.high > 0.06);
    assert_int_equal(stepped->kind, VERDICT_SLOWER);
    assert_int_equal(stepped->cause, CAUSE_KERNEL);
    assert_non_null(strstr(stepped->sentence, "slower by "));
    assert_int_equal(series_of("restless", "HOST-2")->kind, VERDICT_UNDECIDED);
    assert_int_equal(series_of("calm", "HOST-2")->kind, VERDICT_SAME);
}

TEST(every_finished_run_is_there_with_its_times)
{
    const struct site *site = &data.site;
    double *times = xcalloc(site->series_count, sizeof(*times));
    assert_int_equal(site->run_count, COMMITS);
    for (size_t i = 0; i < site->run_count; i++) {
        const unsigned commit = COMMITS - 1 - (unsigned)i; // newest first
        assert_int_equal(site->runs[i].revision == 0, commit == 200);
        ok(site->load_times(times, NULL, i, site->context, &err));
        for (size_t s = 0; s < site->series_count; s++) {
            const struct site_series *series = &site->series[s];
            bool then =
                (strcmp(site->devices[series->device].uuid, "HOST-1") == 0) == (commit < 20);
            size_t kernel = 0;
            while (strcmp(names[kernel], series->kernel) != 0)
                kernel++;
            assert_int_equal(isfinite(times[s]), then);
            if (then)
                assert_true(fabs(times[s] / time_of(kernel, commit) - 1) < 1e-9);
        }
    }
    assert_true(site->runs[0].revision != site->runs[1].revision);
    free(times);
}

TEST(device_that_was_replaced_says_so)
{
    struct arena arena = {0};
    struct site_detail detail;
    const struct site_series *old = series_of("calm", "HOST-1"), *new = series_of("calm", "HOST-2");
    assert_non_null(strstr(old->sentence, "HOST-2 took its device's place"));
    ok(data.site.load(&detail, (size_t)(new - data.site.series), data.site.context, &arena, &err));
    assert_int_equal(detail.break_count, 1);
    assert_int_equal(detail.breaks[0].index, 0);
    assert_string_equal(detail.breaks[0].what, "device CPU HOST-1 -> HOST-2");
    assert_true(fabs(detail.breaks[0].log_ratio.value) < 0.01);
    arena_free(&arena);
}

// The run said "slower" to who started it; the site of two points does not say that all is new.
TEST(short_history_takes_the_newest_runs_verdict)
{
    struct store *whole = store;
    struct arena arena = {0};
    struct site_data site = {0};
    struct run run = {.kind = RUN_MEASURE, .tool_version = "t", .repository = "t", .policy = "t"};
    struct device device = {"host", "HOST-2", "CPU", "6.1", "glibc", ""};
    struct sample sample = {.time_ns = 9000, .launches = 1, .role = ROLE_HEAD, .power_mw = -1};
    struct result r = {.kernel = "calm",
                       .problem = {.m = 64, .n = 64, .k = 64, .batch = 1},
                       .head = {MEASURED_OK, .samples = &sample, .count = 1},
                       .verdict = {.kind = VERDICT_SLOWER,
                                   .cause = CAUSE_KERNEL,
                                   .log_ratio = {0.2, 0.1, 0.3},
                                   .sentence = "calm took 9 us",
                                   .model = "m",
                                   .version = "1"}};
    store = scratch_store(scratch_path(&arena, folder, "short.db"), STORE_WRITE);
    add_run(0);
    run.devices = &device;
    run.device_count = 1;
    run.headline = run.head.summary = run.head.author = r.head.regime = r.head.detail = "";
    run.started_s = run.head.time_s = 1700003600;
    snprintf(run.head.id, sizeof(run.head.id), "%040u", 1);
    ok(store_begin_run(store, &run, &err));
    ok(store_save_result(store, &run, &r, &err));
    ok(store_finish_run(store, &run, &err));
    ok(site_data_load(&site, store, NULL, NULL, NULL, 0, true, &err));
    for (size_t i = 0; i < site.site.series_count; i++) {
        const struct site_series *s = &site.site.series[i];
        const bool it = strcmp(s->kernel, "calm") == 0 &&
                        strcmp(site.site.devices[s->device].uuid, "HOST-2") == 0;
        assert_int_equal(s->kind, it ? VERDICT_SLOWER : VERDICT_NEW);
        assert_string_equal(it ? s->since : run.head.id, run.head.id);
    }
    site_data_free(&site);
    store_close(store);
    arena_free(&arena);
    store = whole;
}

// Of gates alone there is no time that a level could be told from: not measured is not "same".
TEST(series_of_gates_alone_is_not_measured)
{
    struct arena arena = {0};
    struct site_data site = {0};
    struct run run = {.kind = RUN_GATE, .tool_version = "t", .repository = "t", .policy = "t"};
    struct device device = {"cuda", "static:h200-sxm", "no device", "", "", ""};
    struct result r = {.kernel = "calm",
                       .problem = {.m = 64, .n = 64, .k = 64, .batch = 1},
                       .verdict = {.kind = VERDICT_SAME,
                                   .log_ratio = interval_none,
                                   .sentence = "",
                                   .model = "m",
                                   .version = "1"}};
    struct store *gates = scratch_store(scratch_path(&arena, folder, "gates.db"), STORE_WRITE);
    run.devices = &device;
    run.device_count = 1;
    run.headline = run.head.summary = run.head.author = run.base.summary = run.base.author = "";
    run.started_s = run.head.time_s = run.base.time_s = 1700003600;
    snprintf(run.base.id, sizeof(run.base.id), "%040u", 1);
    snprintf(run.head.id, sizeof(run.head.id), "%040u", 2);
    ok(store_begin_run(gates, &run, &err));
    ok(store_save_result(gates, &run, &r, &err));
    ok(store_finish_run(gates, &run, &err));
    ok(site_data_load(&site, gates, NULL, NULL, NULL, 0, true, &err));
    assert_int_equal(site.site.series_count, 1);
    assert_int_equal(site.site.series[0].kind, VERDICT_NOT_MEASURED);
    assert_non_null(strstr(site.site.series[0].sentence, "`plumb run`"));
    site_data_free(&site);
    store_close(gates);
    arena_free(&arena);
}

TEST(the_policy_says_whom_to_ask)
{
    static const char text[] = "[build]\n\tinput = kernels\n\tcommand = make\n"
                               "[device \"host\"]\n\tkind = host\n"
                               "[problems \"p\"]\n\tproblem = 64x64x64:fp32\n"
                               "[kernel \"calm\"]\n\tproblems = p\n\towner = Calm team\n"
                               "[kernel \"*\"]\n\tproblems = p\n";
    struct site_data site = {0};
    struct policy policy;
    ok(policy_parse(&policy, text, strlen(text), "p.cfg", &err));
    ok(site_data_load(&site, store, NULL, NULL, &policy, 0, true, &err));
    assert_true(site.site.series_count > 1);
    for (size_t i = 0; i < site.site.series_count; i++) {
        const struct site_series *s = &site.site.series[i];
        assert_string_equal(s->owner ? s->owner : "",
                            strcmp(s->kernel, "calm") == 0 ? "Calm team" : "");
    }
    site_data_free(&site);
    policy_free(&policy);
}
