// SPDX-License-Identifier: Apache-2.0
#include "runner/measure.h"
#include "tests/helper_repo.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct fixture {
    struct sandbox sandbox;
    struct bench_plan plan;
    struct arena arena;
    char *directory, *program;
    size_t notes;
};

static void count_note(void *context, const char *text)
{
    struct fixture *f = context;
    assert_non_null(text);
    f->notes++;
}

// The program is copied, since a test may take its device away.
static int set_up(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    struct error err;
    f->directory = helper_directory();
    f->program = xprintf("%s/bench", f->directory);
    char *copy = xprintf("cp '%s/fake_bench' '%s'", TEST_BIN, f->program);
    if (system(copy) != 0 || sandbox_probe(&f->sandbox, SANDBOX_OFF, &err))
        return -1;
    free(copy);
    f->plan = (struct bench_plan){
        .program = f->program,
        .kind = "host",
        .sandbox = &f->sandbox,
        .limits = {.start_s = 20, .list_s = 20, .open_s = 20, .measure_s = 20, .close_s = 20},
        .process = 3,
        .note = count_note,
        .note_context = f,
    };
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    helper_discard(f->directory);
    arena_free(&f->arena);
    free(f->directory);
    free(f->program);
    free(f);
    return 0;
}

static struct bench *start(struct fixture *f)
{
    struct bench *bench;
    struct error err;
    if (bench_start(&bench, &f->plan, &err))
        fail_msg("%s", err.text);
    return bench;
}

static const struct problem problem = {
    .m = 4, .n = 4, .k = 4, .in = DTYPE_FP32, .out = DTYPE_FP32, .batch = 1};

static struct bench_handle handle; // of the series opened last

static struct bench_outcome open_kernel(struct bench *bench, const char *kernel)
{
    const struct bench_series series = {
        .kernel = kernel, .problem = &problem, .head = "/x/head.so", .base = "/x/base.so"};
    struct bench_outcome outcome;
    struct error err;
    if (bench_open(&outcome, &handle, bench, &series, &err))
        fail_msg("%s", err.text);
    return outcome;
}

// ---- starting

static void start_reads_the_device(void **state)
{
    struct fixture *f = *state;
    struct bench *bench = start(f);
    const struct device *device = bench_device(bench);
    assert_string_equal(device->kind, "host");
    assert_string_equal(device->uuid, "fake-0001");
    assert_string_equal(device->name, "Fake device");
    const struct gpu *gpu = bench_gpu(bench);
    assert_true(gpu->sm_count.value == 4 && gpu->sm_count.origin == ORIGIN_DEVICE);
    assert_true(gpu->clock_hz.value == 2e9);
    assert_int_equal(gpu->l2_bytes.origin, ORIGIN_UNKNOWN);
    bench_stop(bench);
    bench_stop(NULL);
}

static void start_without_a_program_or_a_device_says_so(void **state)
{
    struct fixture *f = *state;
    struct bench *bench;
    struct error err;
    struct bench_plan plan = f->plan;
    plan.program = "/no/such/bench";
    assert_int_equal(bench_start(&bench, &plan, &err), -1);
    assert_non_null(strstr(err.text, "/no/such/bench: there is no bench program"));
    plan = f->plan;
    plan.kind = "cuda";
    plan.index = 7;
    assert_int_equal(bench_start(&bench, &plan, &err), -1);
    assert_non_null(strstr(err.text, "there is no cuda device 7 here"));
}

static void start_of_something_else_is_an_error(void **state)
{
    struct fixture *f = *state;
    struct bench *bench;
    struct error err;
    struct bench_plan plan = f->plan;
    static const struct {
        const char *script, *message;
        double limit_s; // only those that never come have a short one
    } cases[] = {
        {"exit 3", "bench could not start: exit status 3", 20},
        {"kill -9 $$", "signal 9", 20},
        {"printf 'hello\\twire=99\\n'", "speaks version 99", 20},
        {"echo nonsense here", "nonsense", 20},
        {"printf 'device\\tkind=host\\n'", "instead of a greeting", 20},
        {"printf 'hello\\twire=1\\ndevice\\tkind=cuda\\tuuid=x\\n'", "no host device", 20},
        {"printf 'hello\\twire=1\\ndevice\\tkind=host\\tuuid=x\\tsm_count=-1\\n'", "sm_count", 20},
        {"head -c 100000 /dev/zero; sleep 60", "did not start within", 0.5},
        {"head -c 100000 /dev/zero; echo; sleep 60", "too long or binary", 20},
        {"sleep 60", "did not start within 0.5 s", 0.5},
    };
    plan.program = xprintf("%s/other", f->directory);
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        FILE *file = fopen(plan.program, "w");
        fprintf(file, "#!/bin/sh\n%s\n", cases[i].script);
        fclose(file);
        assert_int_equal(chmod(plan.program, 0755), 0);
        plan.limits.start_s = cases[i].limit_s;
        assert_int_equal(bench_start(&bench, &plan, &err), -1);
        if (!strstr(err.text, cases[i].message))
            fail_msg("%s: %s", cases[i].script, err.text);
    }
    free((char *)(uintptr_t)plan.program);
}

static void start_works_in_the_sandbox(void **state)
{
    struct fixture *f = *state;
    struct sandbox sandbox;
    struct error err;
    assert_int_equal(sandbox_probe(&sandbox, SANDBOX_AUTO, &err), 0);
    if (!sandbox.active) {
        print_message("%s\n", sandbox.reason);
        skip();
    }
    f->plan.sandbox = &sandbox;
    const char *folders[] = {f->directory};
    f->plan.read_only = folders;
    f->plan.read_only_count = 1;
    struct bench *bench = start(f);
    assert_int_equal(open_kernel(bench, "good").state, MEASURED_OK);
    bench_stop(bench);
    f->plan.sandbox = &f->sandbox;
    f->plan.read_only_count = 0;
}

// ---- lists

static struct bench_outcome list(struct bench *bench, struct bench_kernel_list *out,
                                 const char *library, struct arena *arena)
{
    struct bench_outcome outcome;
    struct error err;
    if (bench_list(&outcome, out, bench, library, arena, &err))
        fail_msg("%s", err.text);
    return outcome;
}

static void list_gives_kernels_and_cleans_their_text(void **state)
{
    struct fixture *f = *state;
    struct bench *bench = start(f);
    struct bench_kernel_list kernels = {0};
    assert_int_equal(list(bench, &kernels, "/a/b/simple.so", &f->arena).state, MEASURED_OK);
    assert_int_equal(kernels.count, 1);
    assert_string_equal(kernels.items[0].name, "simple");
    assert_string_equal(kernels.items[0].summary, "a fake with  [31mcolour");
    assert_string_equal(kernels.items[0].device, "host");
    bench_stop(bench);
}

static void list_of_another_abi_is_unbuildable_and_bench_goes_on(void **state)
{
    struct fixture *f = *state;
    struct bench *bench = start(f);
    struct bench_kernel_list kernels = {0};
    struct bench_outcome outcome = list(bench, &kernels, "/a/abi.so", &f->arena);
    assert_int_equal(outcome.state, MEASURED_UNBUILDABLE);
    assert_non_null(strstr(outcome.detail, "ABI version 9"));
    assert_false(outcome.gone);
    assert_int_equal(kernels.count, 0);
    assert_int_equal(list(bench, &kernels, "/a/simple.so", &f->arena).state, MEASURED_OK);
    bench_stop(bench);
}

static void list_refuses_names_that_are_none(void **state)
{
    struct fixture *f = *state;
    struct bench *bench = start(f);
    struct bench_kernel_list kernels = {0};
    struct bench_outcome outcome = list(bench, &kernels, "/a/badname.so", &f->arena);
    assert_int_equal(outcome.state, MEASURED_CRASHED);
    assert_true(outcome.gone);
    assert_non_null(strstr(outcome.detail, "is no kernel name"));
    bench_stop(bench);
}

// ---- series

static void pairs_arrive_by_role_and_number(void **state)
{
    struct fixture *f = *state;
    struct bench *bench = start(f);
    struct sample_list base = {0}, head = {0};
    struct bench_outcome outcome = open_kernel(bench, "slower");
    struct error err;
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

static void several_series_are_open_at_once(void **state)
{
    struct fixture *f = *state;
    struct bench *bench = start(f);
    struct bench_handle handles[3];
    struct sample_list base[3] = {{0}}, head[3] = {{0}};
    struct bench_outcome outcome;
    struct error err;
    static const char *const kernels[] = {"good-1", "slower-2", "good-3"};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(open_kernel(bench, kernels[i]).state, MEASURED_OK);
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

static void launches_are_the_childs_choice_unless_told(void **state)
{
    struct fixture *f = *state;
    struct bench *bench = start(f);
    struct bench_series series = {
        .kernel = "good", .problem = &problem, .head = "/x/a.so", .head_first = true};
    struct bench_outcome outcome;
    struct error err;
    assert_int_equal(bench_open(&outcome, &handle, bench, &series, &err), 0);
    assert_int_equal(outcome.launches, 8);
    series.launches = 5;
    assert_int_equal(bench_open(&outcome, &handle, bench, &series, &err), 0);
    assert_int_equal(outcome.launches, 5);
    bench_stop(bench);
}

static void solo_gives_the_head_alone(void **state)
{
    struct fixture *f = *state;
    struct bench *bench = start(f);
    struct sample_list head = {0};
    struct bench_outcome outcome = open_kernel(bench, "good");
    struct error err;
    assert_int_equal(bench_solo(&outcome, &head, bench, &handle, 10, 0, &err), 0);
    assert_int_equal(outcome.state, MEASURED_OK);
    assert_int_equal(head.count, 10);
    sample_list_free(&head);
    bench_stop(bench);
}

static void wrong_kernel_is_data_with_a_finite_error(void **state)
{
    struct fixture *f = *state;
    struct bench *bench = start(f);
    struct bench_outcome outcome = open_kernel(bench, "wrong");
    assert_int_equal(outcome.state, MEASURED_WRONG);
    assert_false(outcome.gone);
    assert_true(outcome.max_error == DBL_MAX);
    assert_string_equal(outcome.detail, "C[3,4] is nan [0m");
    outcome = open_kernel(bench, "late-wrong");
    struct error err;
    assert_int_equal(outcome.state, MEASURED_OK);
    assert_int_equal(bench_close(&outcome, bench, &handle, &err), 0);
    assert_int_equal(outcome.state, MEASURED_WRONG);
    bench_stop(bench);
}

static void refused_command_leaves_the_child_alive(void **state)
{
    struct fixture *f = *state;
    struct bench *bench = start(f);
    struct bench_outcome outcome = open_kernel(bench, "refuse");
    assert_int_equal(outcome.state, MEASURED_CRASHED);
    assert_false(outcome.gone);
    assert_true(outcome.refused);
    assert_string_equal(outcome.detail, "bench: open: no memory for the inputs");
    outcome = open_kernel(bench, "mute");
    assert_int_equal(outcome.state, MEASURED_CRASHED);
    assert_non_null(strstr(outcome.detail, "no 'opened'"));
    assert_false(outcome.refused);
    assert_int_equal(open_kernel(bench, "good").state, MEASURED_OK);
    bench_stop(bench);
}

static void misbehaviour_at_open_is_data(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *kernel;
        enum measurement_state state;
        const char *detail;
    } cases[] = {
        {"crash", MEASURED_CRASHED, "the process died: signal 11"},
        {"exit", MEASURED_CRASHED, "the process died: exit status 0"},
        {"garbage", MEASURED_CRASHED, "broke the protocol: "},
        {"huge", MEASURED_CRASHED, "too long or binary"},
        {"binary", MEASURED_CRASHED, "too long or binary"},
        {"hang", MEASURED_TIMEOUT, "no answer within 0.3 s"},
        {"claims", MEASURED_CRASHED, "exit status 40; it said: device lost"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        f->plan.limits.open_s = cases[i].state == MEASURED_TIMEOUT ? 0.3 : 20;
        struct bench *bench = start(f);
        const struct bench_series alone = {
            .kernel = cases[i].kernel, .problem = &problem, .head = "/x/head.so"};
        struct bench_outcome outcome;
        struct error err;
        assert_int_equal(bench_open(&outcome, &handle, bench, &alone, &err), 0);
        assert_int_equal(outcome.state, cases[i].state);
        assert_true(outcome.gone);
        if (!strstr(outcome.detail, cases[i].detail))
            fail_msg("%s: %s", cases[i].kernel, outcome.detail);
        bench_stop(bench);
    }
    f->plan.limits.open_s = 20;
}

static void dead_child_is_blamed_on_the_right_library(void **state)
{
    struct fixture *f = *state;
    struct bench_series series = {
        .kernel = "good", .problem = &problem, .head = "/x/good.so", .base = "/x/bad-base.so"};
    struct bench_outcome outcome;
    struct error err;
    struct bench *bench = start(f);
    assert_int_equal(bench_open(&outcome, &handle, bench, &series, &err), 0);
    assert_int_equal(outcome.state, MEASURED_CRASHED);
    assert_int_equal(outcome.role, ROLE_BASE);
    bench_stop(bench);
    series.head = "/x/bad-base.so";
    series.base = "/x/good.so";
    bench = start(f);
    assert_int_equal(bench_open(&outcome, &handle, bench, &series, &err), 0);
    assert_int_equal(outcome.state, MEASURED_CRASHED);
    assert_int_equal(outcome.role, ROLE_HEAD);
    bench_stop(bench);
}

static void crash_in_the_samples_keeps_whole_pairs(void **state)
{
    struct fixture *f = *state;
    static const char *const kernels[] = {"crash-pairs", "garbage-pairs", "huge-pairs",
                                          "exit-pairs"};
    for (size_t i = 0; i < ARRAY_COUNT(kernels); i++) {
        struct bench *bench = start(f);
        struct sample_list base = {0}, head = {0};
        struct bench_outcome outcome = open_kernel(bench, kernels[i]);
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

static void hang_in_the_samples_is_a_timeout(void **state)
{
    struct fixture *f = *state;
    f->plan.limits.measure_s = 2; // enough for the half that comes
    struct bench *bench = start(f);
    struct sample_list base = {0}, head = {0};
    struct bench_outcome outcome = open_kernel(bench, "hang-pairs");
    struct error err;
    assert_int_equal(bench_pairs(&outcome, &base, &head, bench, &handle, 64, 0, &err), 0);
    assert_int_equal(outcome.state, MEASURED_TIMEOUT);
    assert_int_equal(base.count, 32);
    sample_list_free(&base);
    sample_list_free(&head);
    bench_stop(bench);
    f->plan.limits.measure_s = 20;
}

static void samples_that_break_the_rules_are_not_believed(void **state)
{
    struct fixture *f = *state;
    static const char *const kernels[] = {"many", "few", "alone", "jumps", "negative", "foreign"};
    for (size_t i = 0; i < ARRAY_COUNT(kernels); i++) {
        struct bench *bench = start(f);
        struct sample_list base = {0}, head = {0};
        struct bench_outcome outcome = open_kernel(bench, kernels[i]);
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

static void device_that_disappears_is_an_error_of_the_run(void **state)
{
    struct fixture *f = *state;
    static const char *const kernels[] = {"lost", "lost-pairs", "lost-close"};
    char *marker = xprintf("%s.gone", f->program);
    for (size_t i = 0; i < ARRAY_COUNT(kernels); i++) {
        struct bench *bench = start(f);
        struct sample_list base = {0}, head = {0};
        struct bench_outcome outcome = {0};
        const struct bench_series series = {
            .kernel = kernels[i], .problem = &problem, .head = "/x/a.so", .base = "/x/b.so"};
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

static void notes_are_passed_on_and_change_nothing(void **state)
{
    struct fixture *f = *state;
    f->notes = 0;
    struct bench *bench = start(f);
    assert_int_equal(open_kernel(bench, "noisy").state, MEASURED_OK);
    assert_int_equal(f->notes, 100);
    bench_stop(bench);
}

static void calibration_gives_figures_and_refuses_unknown_ones(void **state)
{
    struct fixture *f = *state;
    struct bench *bench = start(f);
    struct bench_figure_list figures = {0};
    struct bench_outcome outcome;
    struct error err;
    assert_int_equal(bench_calibrate(&outcome, &figures, bench, NULL, &f->arena, &err), 0);
    assert_int_equal(outcome.state, MEASURED_OK);
    assert_int_equal(figures.count, 2);
    assert_string_equal(figures.items[0].key, "dram_bytes_s");
    assert_true(figures.items[0].stable && figures.items[0].value == 4e12);
    assert_false(figures.items[1].stable);
    assert_string_equal(figures.items[1].note, "spread of 12 %");
    assert_int_equal(bench_calibrate(&outcome, &figures, bench, "dram_bytes_s", &f->arena, &err),
                     0);
    assert_int_equal(figures.count, 1);
    assert_int_equal(bench_calibrate(&outcome, &figures, bench, "nonsense", &f->arena, &err), 0);
    assert_int_equal(outcome.state, MEASURED_CRASHED);
    bench_stop(bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(start_reads_the_device),
        cmocka_unit_test(start_without_a_program_or_a_device_says_so),
        cmocka_unit_test(start_of_something_else_is_an_error),
        cmocka_unit_test(start_works_in_the_sandbox),
        cmocka_unit_test(list_gives_kernels_and_cleans_their_text),
        cmocka_unit_test(list_of_another_abi_is_unbuildable_and_bench_goes_on),
        cmocka_unit_test(list_refuses_names_that_are_none),
        cmocka_unit_test(pairs_arrive_by_role_and_number),
        cmocka_unit_test(several_series_are_open_at_once),
        cmocka_unit_test(launches_are_the_childs_choice_unless_told),
        cmocka_unit_test(solo_gives_the_head_alone),
        cmocka_unit_test(wrong_kernel_is_data_with_a_finite_error),
        cmocka_unit_test(refused_command_leaves_the_child_alive),
        cmocka_unit_test(misbehaviour_at_open_is_data),
        cmocka_unit_test(dead_child_is_blamed_on_the_right_library),
        cmocka_unit_test(crash_in_the_samples_keeps_whole_pairs),
        cmocka_unit_test(hang_in_the_samples_is_a_timeout),
        cmocka_unit_test(samples_that_break_the_rules_are_not_believed),
        cmocka_unit_test(device_that_disappears_is_an_error_of_the_run),
        cmocka_unit_test(notes_are_passed_on_and_change_nothing),
        cmocka_unit_test(calibration_gives_figures_and_refuses_unknown_ones),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
