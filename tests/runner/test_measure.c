// SPDX-License-Identifier: Apache-2.0
//
// Driving the bench child: how it starts, what it lists, what it passes on.
#include "model/wire.h"
#include "runner/bench/measure.h"
#include "tests/helpers/helper_fake_bench.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// ---- starting

AROUND_ALL(fake_bench_set_up, fake_bench_tear_down);

TEST(start_reads_the_device)
{
    struct fake_bench *f = *state;
    struct bench *bench = fake_bench_start(f);
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

TEST(start_without_a_program_or_a_device_says_so)
{
    struct fake_bench *f = *state;
    struct bench *bench;
    struct error err;
    struct bench_plan plan = f->plan;
    plan.program = "/no/such/bench";
    assert_int_equal(bench_start(&bench, &plan, &err), -1);
    assert_non_null(strstr(err.text, "/no/such/bench: there is no bench program"));
    plan.program = xprintf("%s/no-program", f->directory);
    helper_write_text(plan.program, "#!/bin/sh\n"); // which nobody may run
    assert_int_equal(chmod(plan.program, 0644), 0);
    assert_int_equal(bench_start(&bench, &plan, &err), -1);
    assert_non_null(strstr(err.text, "/no-program: cannot be run: it may not be, or its"));
    free((char *)(uintptr_t)plan.program);
    plan = f->plan;
    plan.kind = "cuda";
    plan.index = 7;
    assert_int_equal(bench_start(&bench, &plan, &err), -1);
    assert_non_null(strstr(err.text, "there is no cuda device 7 here"));
}

TEST(start_of_something_else_is_an_error)
{
    struct fake_bench *f = *state;
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
        {"printf 'hello\\twire=1\\ndevice\\tkind=host\\tuuid=\\n'", "no host device", 20},
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

TEST(start_works_in_the_sandbox)
{
    struct fake_bench *f = *state;
    struct sandbox sandbox;
    struct error err;
    assert_int_equal(sandbox_probe(&sandbox, SANDBOX_AUTO, &err), 0);
    if (!sandbox.active) {
        skip_without("sandbox", sandbox.reason);
    }
    f->plan.sandbox = &sandbox;
    const char *folders[] = {f->directory};
    f->plan.read_only = folders;
    f->plan.read_only_count = 1;
    struct bench *bench = fake_bench_start(f);
    struct bench_handle handle;
    assert_int_equal(fake_bench_open(&handle, bench, "good").state, MEASURED_OK);
    bench_stop(bench);
    f->plan.sandbox = &f->sandbox;
    f->plan.read_only_count = 0;
}

// Each folder that is named, and not the first alone.
TEST(all_folders_are_seen_in_the_sandbox)
{
    struct fake_bench *f = *state;
    struct sandbox sandbox;
    struct error err;
    assert_int_equal(sandbox_probe(&sandbox, SANDBOX_AUTO, &err), 0);
    if (!sandbox.active) {
        skip_without("sandbox", sandbox.reason);
    }
    char *folders[3], *script;
    for (size_t i = 0; i < ARRAY_COUNT(folders); i++) {
        folders[i] = xprintf("%s/seen-%zu", f->directory, i);
        assert_int_equal(mkdir(folders[i], 0777), 0);
    }
    script = xprintf("#!/bin/sh\nfor f in '%s' '%s' '%s'; do [ -d \"$f\" ] || exit 3; done\n"
                     "printf 'hello\\twire=%d\\ndevice\\tkind=host\\tuuid=x\\tname=n\\n'\n"
                     "exec cat >/dev/null\n",
                     folders[0], folders[1], folders[2], WIRE_VERSION);
    struct bench_plan plan = f->plan;
    struct bench *bench;
    char *program = xprintf("%s/looks", f->directory);
    helper_write_text(program, script);
    assert_int_equal(chmod(program, 0755), 0);
    plan.program = program;
    plan.sandbox = &sandbox;
    plan.read_only = (const char *const *)folders;
    plan.read_only_count = ARRAY_COUNT(folders);
    if (bench_start(&bench, &plan, &err))
        fail_msg("%s", err.text);
    bench_stop(bench);
    free(program);
    free(script);
    for (size_t i = 0; i < ARRAY_COUNT(folders); i++)
        free(folders[i]);
}

static struct bench_outcome list(struct bench *bench, struct bench_kernel_list *out,
                                 const char *library, struct arena *arena)
{
    struct bench_outcome outcome;
    struct error err;
    if (bench_list(&outcome, out, bench, library, arena, &err))
        fail_msg("%s", err.text);
    return outcome;
}

// ---- lists

TEST(list_gives_kernels_and_cleans_their_text)
{
    struct fake_bench *f = *state;
    struct bench *bench = fake_bench_start(f);
    struct bench_kernel_list kernels = {0};
    assert_int_equal(list(bench, &kernels, "/a/b/simple.so", &f->arena).state, MEASURED_OK);
    assert_int_equal(kernels.count, 1);
    assert_string_equal(kernels.items[0].name, "simple");
    assert_string_equal(kernels.items[0].summary, "a fake with  [31mcolour");
    assert_string_equal(kernels.items[0].device, "host");
    bench_stop(bench);
}

TEST(list_of_another_abi_is_unbuildable_and_bench_goes_on)
{
    struct fake_bench *f = *state;
    struct bench *bench = fake_bench_start(f);
    struct bench_kernel_list kernels = {0};
    struct bench_outcome outcome = list(bench, &kernels, "/a/abi.so", &f->arena);
    assert_int_equal(outcome.state, MEASURED_UNBUILDABLE);
    assert_non_null(strstr(outcome.detail, "ABI version 9"));
    assert_false(outcome.gone);
    assert_int_equal(kernels.count, 0);
    assert_int_equal(list(bench, &kernels, "/a/simple.so", &f->arena).state, MEASURED_OK);
    bench_stop(bench);
}

TEST(list_refuses_names_that_are_none)
{
    struct fake_bench *f = *state;
    struct bench *bench = fake_bench_start(f);
    struct bench_kernel_list kernels = {0};
    struct bench_outcome outcome = list(bench, &kernels, "/a/badname.so", &f->arena);
    assert_int_equal(outcome.state, MEASURED_CRASHED);
    assert_true(outcome.gone);
    assert_non_null(strstr(outcome.detail, "is no kernel name"));
    bench_stop(bench);
}

// ---- series

TEST(notes_are_passed_on_and_change_nothing)
{
    struct fake_bench *f = *state;
    struct bench *bench = fake_bench_start(f);
    struct bench_handle handle;
    // Where others measure, the first series is told of: it has no processor of its own.
    assert_int_equal(fake_bench_open(&handle, bench, "good").state, MEASURED_OK);
    f->notes = 0;
    assert_int_equal(fake_bench_open(&handle, bench, "noisy").state, MEASURED_OK);
    assert_int_equal(f->notes, 100);
    bench_stop(bench);
}

TEST(calibration_gives_figures_and_refuses_unknown_ones)
{
    struct fake_bench *f = *state;
    struct bench *bench = fake_bench_start(f);
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
