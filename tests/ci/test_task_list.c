// SPDX-License-Identifier: Apache-2.0
//
// What a gate takes from earlier runs: the scale of its series, and a margin that does not go by
// how hot the GPU is.
#include "ci/gate/task_list.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_store.h"
#include "tests/helpers/test.h"

#include <stdlib.h>
#include <string.h>

static const char policy_text[] = "[build]\n\tcommand = make\n[device \"host\"]\n\tkind = host\n"
                                  "[problems \"p\"]\n\tproblem = 4x4x4:fp32\n"
                                  "[kernel \"*\"]\n\tproblems = p\n\tmargin = 5%\n";

// A run has stored its pairs when it judges them: its scale must be the one it measured with.
TEST(scale_comes_from_other_runs_only)
{
    struct arena arena = {0};
    struct context context = {0};
    struct run run;
    struct gate_policy own, later;
    struct error err;
    char *folder = helper_directory();
    context.store = scratch_store(scratch_path(&arena, folder, "s.db"), STORE_WRITE);
    assert_int_equal(policy_parse(&context.policy, policy_text, strlen(policy_text), "p", &err), 0);
    make_run(&run, RUN_GATE, 1, 1, 7);
    save_whole_run(context.store, &run);
    struct result *r = &run.results[0];
    const struct context_device device = {.policy = &context.policy.devices[0],
                                          .unit = run.devices[r->device]};
    struct task task = {
        .run = &run, .result = r, .rule = &context.policy.kernels[0], .device = &device};
    struct run other = {.id = run.id + 1};
    assert_int_equal(task_policy(&own, &context, &task, r->base.samples, r->base.count, &err),
                     0);
    task.run = &other;
    assert_int_equal(
        task_policy(&later, &context, &task, r->base.samples, r->base.count, &err), 0);
    run_free(&other);
    const struct gate_policy plain = gate_policy_default("host", 1e6);
    assert_true(own.scale == plain.scale && own.scale_pairs == 0);
    assert_true(later.scale != plain.scale && later.scale_pairs > 0);
    assert_true(own.margin == 0.05 && later.margin == 0.05);
    run_free(&run);
    policy_free(&context.policy);
    store_close(context.store);
    helper_discard(folder);
    free(folder);
    arena_free(&arena);
}

// A GPU that another process heats stretches a kernel of 94 us to 118; its margin stays.
TEST(margin_does_not_go_by_how_hot_the_gpu_is)
{
    static const char text[] = "[build]\n\tcommand = make\n[device \"gpu\"]\n\tkind = cuda\n"
                               "[problems \"p\"]\n\tproblem = 4096x4096x4096:e4m3\n"
                               "[kernel \"*\"]\n\tproblems = p\n";
    struct arena arena = {0};
    struct context context = {0};
    struct error err;
    char *folder = helper_directory();
    context.store = scratch_store(scratch_path(&arena, folder, "s.db"), STORE_WRITE);
    assert_int_equal(policy_parse(&context.policy, text, strlen(text), "p", &err), 0);
    struct result result = {.kernel = "k"};
    assert_int_equal(problem_parse(&result.problem, "4096x4096x4096:e4m3", &err), 0);
    const struct context_device device = {.policy = &context.policy.devices[0],
                                          .unit = {.kind = "cuda", .uuid = "GPU-0"},
                                          .gpu = *gpu_find("h200-sxm")};
    struct run run = {.id = 1};
    // Where the policy trusts device code alone, records are timed, and less is enough.
    struct policy_kernel by_code = context.policy.kernels[0];
    by_code.device_code = true;
    struct task task = {.run = &run, .result = &result, .device = &device};
    const struct {
        double time_us, clock_ghz, margin;
    } days[] = {{94, 1.64, 0.005}, {118, 1.31, 0.005}, {150, 1.64, 0.003}, {118, 0, 0.003}};
    for (size_t i = 0; i < ARRAY_COUNT(days); i++) {
        const struct sample first = {.time_ns = days[i].time_us * 1e3,
                                     .clock_hz = days[i].clock_ghz * 1e9};
        struct gate_policy policy;
        task.rule = &context.policy.kernels[0];
        assert_int_equal(task_policy(&policy, &context, &task, &first, 1, &err), 0);
        assert_true(policy.margin == days[i].margin && policy.floor == days[i].margin / 2);
        task.rule = &by_code;
        assert_int_equal(task_policy(&policy, &context, &task, &first, 1, &err), 0);
        const double by_records = days[i].margin == 0.005 ? 0.003 : 0.0015;
        assert_true(policy.margin == by_records && policy.floor == by_records / 2);
    }
    run_free(&run);
    policy_free(&context.policy);
    store_close(context.store);
    helper_discard(folder);
    free(folder);
    arena_free(&arena);
}
