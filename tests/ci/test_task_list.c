// SPDX-License-Identifier: Apache-2.0
//
// What a gate takes from earlier runs: the scale of its series, a margin that does not go by how
// hot the GPU is, and what is known of a code. And the tasks of a comparison.
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
    assert_int_equal(task_policy(&own, &context, &task, r->base.samples, r->base.count, &err), 0);
    task.run = &other;
    assert_int_equal(task_policy(&later, &context, &task, r->base.samples, r->base.count, &err), 0);
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

// ---- what is known of a code

struct known {
    struct arena arena;
    struct context context;
    struct policy_device policy;
    struct context_device device;
    struct run now;
    struct result result;
    struct task task;
    char *folder;
};

// A store with one measurement of the head's code, and a task of a later run that has that code.
static void begin_known(struct known *k, enum measurement_state state, enum regime regime)
{
    struct run before;
    *k = (struct known){.folder = helper_directory(), .policy = {.kind = "cuda"}};
    k->context.policy.timeout_s = 10;
    k->context.store = scratch_store(scratch_path(&k->arena, k->folder, "s.db"), STORE_WRITE);
    make_run(&before, RUN_MEASURE, 1, 1, 7);
    k->result = before.results[0];
    k->result.base = k->result.head = (struct measurement){0};
    text_copy(k->result.base_code, sizeof(k->result.base_code), "ba5e");
    k->device =
        (struct context_device){.units = 1, .policy = &k->policy, .unit = before.devices[0]};
    before.results[0].problem.regime = regime;
    if (state != MEASURED_OK)
        before.results[0].head = (struct measurement){
            .state = state, .detail = "it ended", .regime = task_failure_regime(&k->context)};
    save_whole_run(k->context.store, &before);
    k->now.kind = RUN_GATE;
    k->task = (struct task){.run = &k->now, .result = &k->result, .device = &k->device};
    k->device.unit = (struct device){.kind = "cuda",
                                     .uuid = arena_strdup(&k->arena, before.devices[0].uuid),
                                     .driver = arena_strdup(&k->arena, before.devices[0].driver)};
    run_free(&before);
}

static void end_known(struct known *k)
{
    store_close(k->context.store);
    arena_free(&k->context.arena);
    arena_free(&k->now.arena);
    arena_free(&k->arena);
    helper_discard(k->folder);
    free(k->folder);
}

TEST(code_that_hangs_by_its_own_fault_is_not_launched_again_under_that_limit)
{
    struct known k;
    struct task_failure failure;
    struct error err;
    begin_known(&k, MEASURED_TIMEOUT, REGIME_COLD);
    assert_int_equal(task_known_to_fail(&failure, &k.task, &k.context, &err), 0);
    assert_true(failure.head && !failure.base);
    assert_int_equal(k.result.head.state, MEASURED_TIMEOUT);
    assert_string_equal(k.result.head.detail,
                        "it ended; known from before and not tried, `plumb run --again` does");
    k.context.policy.timeout_s = 60; // it may end within a minute
    k.result.head = (struct measurement){0};
    assert_int_equal(task_known_to_fail(&failure, &k.task, &k.context, &err), 0);
    assert_false(failure.head || failure.base);
    assert_null(k.result.head.detail);
    end_known(&k);
}

TEST(wrong_code_is_launched_again_because_that_costs_little)
{
    struct known k;
    struct task_failure failure;
    struct error err;
    begin_known(&k, MEASURED_WRONG, REGIME_COLD);
    assert_int_equal(task_known_to_fail(&failure, &k.task, &k.context, &err), 0);
    assert_false(failure.head || failure.base);
    end_known(&k);
}

// A code computes the same in every regime: once correct, it needs no first look in another.
TEST(code_that_was_right_in_one_regime_was_launched)
{
    struct known k;
    struct error err;
    bool found;
    begin_known(&k, MEASURED_OK, REGIME_STREAM);
    assert_int_equal(task_launched(&found, &k.task, &k.context, &err), 0);
    assert_true(found);
    assert_int_equal(k.result.head.count, 0); // its time is of the other regime
    text_copy(k.result.head_code, sizeof(k.result.head_code), "another");
    assert_int_equal(task_launched(&found, &k.task, &k.context, &err), 0);
    assert_false(found);
    end_known(&k);
    begin_known(&k, MEASURED_WRONG, REGIME_STREAM); // wrong for a reason that may be the regime's
    assert_int_equal(task_launched(&found, &k.task, &k.context, &err), 0);
    assert_false(found);
    end_known(&k);
    begin_known(&k, MEASURED_WRONG, REGIME_COLD);
    assert_int_equal(task_launched(&found, &k.task, &k.context, &err), 0);
    assert_true(found && k.result.head.state == MEASURED_WRONG);
    end_known(&k);
}

// A run that was interrupted goes on where it was, on the unit that had the series.
TEST(an_interrupted_run_has_what_it_measured)
{
    struct known k;
    struct error err;
    bool found;
    begin_known(&k, MEASURED_OK, REGIME_COLD);
    struct context_device units[] = {k.device, k.device};
    units[0].units = 2;
    units[0].unit.uuid = "GPU-first";
    k.context.devices = units;
    k.task.device = &units[0];
    assert_int_equal(store_last_run(&k.now.id, k.context.store, STORE_ALL_RUNS, &err), 0);
    assert_int_equal(task_resumed(&found, &k.task, &k.context, &err), 0);
    assert_true(found && k.result.head.state == MEASURED_OK && k.result.head.count == 20);
    assert_ptr_equal(k.task.device, &units[1]);
    assert_int_equal(k.result.device, 1);
    k.now.id++;
    assert_int_equal(task_resumed(&found, &k.task, &k.context, &err), 0);
    assert_false(found);
    end_known(&k);
}

TEST(a_task_is_paired_where_both_builds_have_it_here_and_their_codes_differ)
{
    const struct built_kernel old = {.code = "old"}, new = {.code = "new"};
    struct context_device device = {.units = 1};
    struct task task = {.device = &device, .base = &old, .head = &new};
    assert_true(task_is_paired(&task));
    device.away = true;
    assert_false(task_is_paired(&task));
    device.away = false;
    task.head = &old;
    assert_false(task_is_paired(&task));
    task.head = NULL;
    assert_false(task_is_paired(&task));
}

// A plan has no library that could be opened, whatever the policy trusts.
TEST(a_task_is_recorded_for_trust_in_device_code_or_because_it_is_a_plan)
{
    struct policy_device policy = {.kind = "cuda"};
    const struct policy_kernel all = {0}, code = {.device_code = true};
    const struct context_device device = {.policy = &policy};
    const struct built_kernel library = {.plan = false}, plan = {.plan = true};
    struct task task = {.device = &device, .rule = &all, .base = &library, .head = &library};
    assert_false(task_is_recorded(&task));
    task.rule = &code;
    assert_true(task_is_recorded(&task));
    task.rule = &all;
    task.base = NULL;
    task.head = &plan;
    assert_true(task_is_recorded(&task));
    policy.kind = "host";
    assert_false(task_is_recorded(&task));
}

// ---- comparisons

TEST(a_comparison_has_its_series_in_their_order)
{
    struct context context = {0};
    struct error err;
    assert_int_equal(policy_parse(&context.policy, policy_text, strlen(policy_text), "p", &err), 0);
    struct context_device device = {.units = 1, .policy = &context.policy.devices[0]};
    context.devices = &device;
    struct built_kernel kernels[][2] = {{{.name = "a", .code = "a0", .device = "host"},
                                         {.name = "b", .code = "b0", .device = "host"}},
                                        {{.name = "a", .code = "a1", .device = "host"},
                                         {.name = "c", .code = "c1", .device = "host"}}};
    const struct built base = {.state = MEASURED_OK, .kernels = kernels[0], .count = 2};
    const struct built head = {.state = MEASURED_OK, .kernels = kernels[1], .count = 2};
    struct problem problem;
    assert_int_equal(problem_parse(&problem, "4x4x4:fp32", &err), 0);
    const struct compared_series series[] = {{&device, "b", &problem, 0, GATE_FOR_VERDICT},
                                             {&device, "a", &problem, 8, GATE_FOR_LEVEL},
                                             {&device, "c", &problem, 0, GATE_FOR_VERDICT}};
    struct commit_comparison what = {&base, &head, series, 2};
    struct task_list tasks;
    struct run run = {.kind = RUN_BISECT};
    assert_int_equal(task_list_of_comparison(&tasks, &run, &context, &what, &err), 0);
    assert_true(tasks.count == 2 && run.count == 2);
    assert_string_equal(run.results[0].kernel, "b");
    assert_string_equal(run.results[0].base_code, "b0");
    assert_int_equal(run.results[0].head.state, MEASURED_MISSING); // the head has none
    assert_string_equal(run.results[1].base_code, "a0");
    assert_string_equal(run.results[1].head_code, "a1");
    assert_ptr_equal(tasks.items[1].result, &run.results[1]);
    assert_int_equal(tasks.items[1].use, GATE_FOR_LEVEL);
    what.count = 3;
    assert_int_equal(task_list_of_comparison(&tasks, &run, &context, &what, &err), -1);
    assert_string_equal(err.text, "c: the commit it is compared with has no such kernel");
    arena_free(&run.arena);
    policy_free(&context.policy);
}
