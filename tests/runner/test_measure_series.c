// SPDX-License-Identifier: Apache-2.0
//
// Series in the bench child: samples arrive whole, and whatever the child does wrong is data about
// the kernel, not a failure of the run.
#include "runner/bench/measure.h"
#include "tests/helpers/helper_fake_bench.h"
#include "tests/helpers/test.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct bench_handle handle; // of the series opened last

AROUND_ALL(fake_bench_set_up, fake_bench_tear_down);

TEST(pairs_arrive_by_role_and_number)
{
    struct fake_bench *f = *state;
    const struct bench_series series = {.kernel = "slower",
                                        .problem = &fake_problem,
                                        .head = "/x/head.so",
                                        .base = "/x/base.so",
                                        .process = 3};
    struct bench *bench = fake_bench_start(f);
    struct sample_list base = {0}, head = {0};
    struct bench_outcome outcome;
    struct error err;
    assert_int_equal(bench_open(&outcome, &handle, bench, &series, &err), 0);
    assert_int_equal(outcome.state, MEASURED_OK);
    assert_string_equal(outcome.detail, "algorithm 7");
    assert_int_equal(outcome.launches, 4);
    for (uint16_t block = 0; block < 3; block++) {
        assert_int_equal(bench_pairs(&outcome, &base, &head, bench, &handle, 100, block, &err), 0);
        assert_int_equal(outcome.state, MEASURED_OK);
    }
    assert_int_equal(base.count, 300);
    assert_int_equal(head.count, 300);
    for (size_t i = 0; i < 300; i++) {
        assert_int_equal(base.items[i].pair, i);
        assert_int_equal(head.items[i].pair, i);
        assert_int_equal(base.items[i].role, ROLE_BASE);
        assert_int_equal(head.items[i].role, ROLE_HEAD);
        assert_int_equal(base.items[i].order + head.items[i].order, 1);
        assert_int_equal(base.items[i].block, i / 100);
        assert_int_equal(base.items[i].process, 3);
        assert_true(fabs(head.items[i].time_ns / base.items[i].time_ns - 1.05) < 1e-12);
    }
    assert_int_equal(bench_close(&outcome, bench, &handle, &err), 0);
    assert_int_equal(outcome.state, MEASURED_OK);
    struct measurement measurement;
    measurement_fill(&measurement, &outcome, &head, &f->arena);
    assert_int_equal(measurement.count, 300);
    assert_true(measurement_time_ns(&measurement) > 1050);
    sample_list_free(&base);
    sample_list_free(&head);
    bench_stop(bench);
}

TEST(several_series_are_open_at_once)
{
    struct fake_bench *f = *state;
    struct bench *bench = fake_bench_start(f);
    struct bench_handle handles[3];
    struct sample_list base[3] = {{0}}, head[3] = {{0}};
    struct bench_outcome outcome;
    struct error err;
    static const char *const kernels[] = {"good-1", "slower-2", "good-3"};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(fake_bench_open(&handle, bench, kernels[i]).state, MEASURED_OK);
        handles[i] = handle;
    }
    static const size_t turns[] = {0, 1, 2, 1, 0, 0, 2};
    for (size_t t = 0; t < ARRAY_COUNT(turns); t++) {
        size_t i = turns[t];
        assert_int_equal(
            bench_pairs(&outcome, &base[i], &head[i], bench, &handles[i], 4, (uint16_t)t, &err), 0);
        assert_int_equal(outcome.state, MEASURED_OK);
    }
    assert_int_equal(base[0].count, 12);
    assert_int_equal(base[1].count, 8);
    assert_int_equal(base[2].count, 8);
    assert_int_equal(head[0].items[11].pair, 11); // numbered within its series
    assert_true(head[1].items[7].time_ns > 1.04 * base[1].items[7].time_ns);
    assert_int_equal(bench_close(&outcome, bench, &handles[1], &err), 0);
    assert_int_equal(outcome.state, MEASURED_OK);
    assert_int_equal(bench_pairs(&outcome, &base[2], &head[2], bench, &handles[2], 4, 9, &err), 0);
    assert_int_equal(outcome.state, MEASURED_OK);
    for (size_t i = 0; i < 3; i++) {
        sample_list_free(&base[i]);
        sample_list_free(&head[i]);
    }
    bench_stop(bench);
}

TEST(launches_are_the_childs_choice_unless_told)
{
    struct fake_bench *f = *state;
    struct bench *bench = fake_bench_start(f);
    struct bench_series series = {
        .kernel = "good", .problem = &fake_problem, .head = "/x/a.so", .head_first = true};
    struct bench_outcome outcome;
    struct error err;
    assert_int_equal(bench_open(&outcome, &handle, bench, &series, &err), 0);
    assert_int_equal(outcome.launches, 8);
    series.launches = 5;
    assert_int_equal(bench_open(&outcome, &handle, bench, &series, &err), 0);
    assert_int_equal(outcome.launches, 5);
    bench_stop(bench);
}

TEST(solo_gives_the_head_alone)
{
    struct fake_bench *f = *state;
    struct bench *bench = fake_bench_start(f);
    struct sample_list head = {0};
    struct bench_outcome outcome = fake_bench_open(&handle, bench, "good");
    struct error err;
    assert_int_equal(bench_solo(&outcome, &head, bench, &handle, 10, 0, &err), 0);
    assert_int_equal(outcome.state, MEASURED_OK);
    assert_int_equal(head.count, 10);
    sample_list_free(&head);
    bench_stop(bench);
}

TEST(wrong_kernel_is_data_with_a_finite_error)
{
    struct fake_bench *f = *state;
    struct bench *bench = fake_bench_start(f);
    struct bench_outcome outcome = fake_bench_open(&handle, bench, "wrong");
    assert_int_equal(outcome.state, MEASURED_WRONG);
    assert_false(outcome.gone);
    assert_true(outcome.max_error == DBL_MAX);
    assert_string_equal(outcome.detail, "C[3,4] is nan [0m");
    outcome = fake_bench_open(&handle, bench, "late-wrong");
    struct error err;
    assert_int_equal(outcome.state, MEASURED_OK);
    assert_int_equal(bench_close(&outcome, bench, &handle, &err), 0);
    assert_int_equal(outcome.state, MEASURED_WRONG);
    bench_stop(bench);
}

TEST(refused_command_leaves_the_child_alive)
{
    struct fake_bench *f = *state;
    struct bench *bench = fake_bench_start(f);
    struct bench_outcome outcome = fake_bench_open(&handle, bench, "refuse");
    assert_int_equal(outcome.state, MEASURED_CRASHED);
    assert_false(outcome.gone);
    assert_true(outcome.refused);
    assert_string_equal(outcome.detail, "bench: open: no memory for the inputs");
    outcome = fake_bench_open(&handle, bench, "mute");
    assert_int_equal(outcome.state, MEASURED_CRASHED);
    assert_non_null(strstr(outcome.detail, "no 'opened'"));
    assert_false(outcome.refused);
    assert_int_equal(fake_bench_open(&handle, bench, "good").state, MEASURED_OK);
    bench_stop(bench);
}

TEST(misbehaviour_at_open_is_data)
{
    struct fake_bench *f = *state;
    static const struct {
        const char *kernel;
        enum measurement_state state;
        const char *detail;
        bool own_fault;
    } cases[] = {
        {"crash", MEASURED_CRASHED, "the process died: signal 11", true},
        {"exit", MEASURED_CRASHED, "the process died: exit status 0", true},
        {"garbage", MEASURED_CRASHED, "broke the protocol: ", true},
        {"huge", MEASURED_CRASHED, "too long or binary", true},
        {"binary", MEASURED_CRASHED, "too long or binary", true},
        {"killed", MEASURED_CRASHED, "the process died: signal 9", false},
        {"hang", MEASURED_TIMEOUT, "no answer within 0.3 s", true},
        {"claims", MEASURED_CRASHED, "exit status 40; it said: device lost", false},
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        f->plan.limits.open_s = cases[i].state == MEASURED_TIMEOUT ? 0.3 : 20;
        struct bench *bench = fake_bench_start(f);
        const struct bench_series alone = {
            .kernel = cases[i].kernel, .problem = &fake_problem, .head = "/x/head.so"};
        struct bench_outcome outcome;
        struct error err;
        assert_int_equal(bench_open(&outcome, &handle, bench, &alone, &err), 0);
        assert_int_equal(outcome.state, cases[i].state);
        assert_true(outcome.gone);
        assert_int_equal(outcome.own_fault, cases[i].own_fault);
        if (!strstr(outcome.detail, cases[i].detail))
            fail_msg("%s: %s", cases[i].kernel, outcome.detail);
        bench_stop(bench);
    }
    f->plan.limits.open_s = 20;
}

TEST(dead_child_is_blamed_on_the_right_library)
{
    struct fake_bench *f = *state;
    struct bench_series series = {
        .kernel = "good", .problem = &fake_problem, .head = "/x/good.so", .base = "/x/bad-base.so"};
    struct bench_outcome outcome;
    struct error err;
    struct bench *bench = fake_bench_start(f);
    assert_int_equal(bench_open(&outcome, &handle, bench, &series, &err), 0);
    assert_int_equal(outcome.state, MEASURED_CRASHED);
    assert_int_equal(outcome.role, ROLE_BASE);
    bench_stop(bench);
    series.head = "/x/bad-base.so";
    series.base = "/x/good.so";
    bench = fake_bench_start(f);
    assert_int_equal(bench_open(&outcome, &handle, bench, &series, &err), 0);
    assert_int_equal(outcome.state, MEASURED_CRASHED);
    assert_int_equal(outcome.role, ROLE_HEAD);
    bench_stop(bench);
}

TEST(crash_in_the_samples_keeps_whole_pairs)
{
    struct fake_bench *f = *state;
    static const char *const kernels[] = {"crash-pairs", "garbage-pairs", "huge-pairs",
                                          "exit-pairs"};
    for (size_t i = 0; i < ARRAY_COUNT(kernels); i++) {
        struct bench *bench = fake_bench_start(f);
        struct sample_list base = {0}, head = {0};
        struct bench_outcome outcome = fake_bench_open(&handle, bench, kernels[i]);
        struct error err;
        assert_int_equal(outcome.state, MEASURED_OK);
        assert_int_equal(bench_pairs(&outcome, &base, &head, bench, &handle, 64, 0, &err), 0);
        assert_int_equal(outcome.state, MEASURED_CRASHED);
        assert_true(outcome.gone);
        assert_int_equal(base.count, 32);
        assert_int_equal(head.count, 32);
        sample_list_free(&base);
        sample_list_free(&head);
        bench_stop(bench);
    }
}

TEST(hang_in_the_samples_is_a_timeout)
{
    struct fake_bench *f = *state;
    f->plan.limits.measure_s = 2; // enough for the half that comes
    struct bench *bench = fake_bench_start(f);
    struct sample_list base = {0}, head = {0};
    struct bench_outcome outcome = fake_bench_open(&handle, bench, "hang-pairs");
    struct error err;
    assert_int_equal(bench_pairs(&outcome, &base, &head, bench, &handle, 64, 0, &err), 0);
    assert_int_equal(outcome.state, MEASURED_TIMEOUT);
    assert_int_equal(base.count, 32);
    sample_list_free(&base);
    sample_list_free(&head);
    bench_stop(bench);
    f->plan.limits.measure_s = 20;
}

TEST(samples_that_break_the_rules_are_not_believed)
{
    struct fake_bench *f = *state;
    static const char *const kernels[] = {"many", "few", "alone", "jumps", "negative", "foreign"};
    for (size_t i = 0; i < ARRAY_COUNT(kernels); i++) {
        struct bench *bench = fake_bench_start(f);
        struct sample_list base = {0}, head = {0};
        struct bench_outcome outcome = fake_bench_open(&handle, bench, kernels[i]);
        struct error err;
        assert_int_equal(bench_pairs(&outcome, &base, &head, bench, &handle, 8, 0, &err), 0);
        assert_int_equal(outcome.state, MEASURED_CRASHED);
        assert_non_null(strstr(outcome.detail, "broke the protocol"));
        assert_int_equal(base.count, head.count);
        sample_list_free(&base);
        sample_list_free(&head);
        bench_stop(bench);
    }
}

TEST(device_that_disappears_is_an_error_of_the_run)
{
    struct fake_bench *f = *state;
    static const char *const kernels[] = {"lost", "lost-pairs", "lost-close"};
    char *marker = xprintf("%s.gone", f->program);
    for (size_t i = 0; i < ARRAY_COUNT(kernels); i++) {
        struct bench *bench = fake_bench_start(f);
        struct sample_list base = {0}, head = {0};
        struct bench_outcome outcome = {0};
        const struct bench_series series = {
            .kernel = kernels[i], .problem = &fake_problem, .head = "/x/a.so", .base = "/x/b.so"};
        struct error err;
        int code = bench_open(&outcome, &handle, bench, &series, &err);
        if (code == 0)
            code = bench_pairs(&outcome, &base, &head, bench, &handle, 8, 0, &err);
        if (code == 0)
            code = bench_close(&outcome, bench, &handle, &err);
        assert_int_equal(code, -1);
        assert_non_null(strstr(err.text, "device Fake device was lost"));
        assert_non_null(strstr(err.text, "it fell off the bus"));
        bench_stop(bench);
        sample_list_free(&base);
        sample_list_free(&head);
        assert_int_equal(unlink(marker), 0);
    }
    free(marker);
}
