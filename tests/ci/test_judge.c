// SPDX-License-Identifier: Apache-2.0
//
// Predictions of a run: by the policy's model, times the bias of a kernel where the policy names a
// file of them. And what a plain run blames: never the kernel for code that did not change.
#include "ci/gate/judge.h"
#include "ci/settings/bias_file.h"
#include "ci/settings/context.h"
#include "model/gate/cause.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Two kernels alike; only the first has a bias of a factor of two.
static int predict(double times_ns[2], const struct policy *policy, struct error *err)
{
    const struct options options = {.repository = "/nowhere"};
    struct context context = {.options = &options, .policy = *policy};
    struct context_device device = {.gpu = *gpu_find("h200-sxm")};
    struct result results[2] = {{.kernel = "biased"}, {.kernel = "plain"}};
    struct task tasks[2] = {{.device = &device}, {.device = &device}};
    struct run run = {.results = results, .count = 2};
    const struct plan plan = {.tasks = tasks, .count = 2};
    for (int i = 0; i < 2; i++)
        results[i].problem = (struct problem){
            .m = 4096, .n = 4096, .k = 4096, .batch = 1, .in = DTYPE_BF16, .out = DTYPE_BF16};
    if (judge_ready(&context, err) || judge_predict(&run, &plan, &context, err))
        return -1;
    for (int i = 0; i < 2; i++)
        times_ns[i] = results[i].prediction.time_ns;
    return 0;
}

static void predictions_carry_the_bias_of_their_kernel(void **state)
{
    char path[] = "/tmp/plumb-test-XXXXXX";
    close(mkstemp(path));
    struct bias biases[] = {{.kernel = "biased", .log_factor = log(2), .band = 0.02, .rows = 9}};
    const struct bias_table table = {biases, 1};
    struct error err;
    assert_int_equal(bias_file_write(path, &table, model_find("hopper"), "a test", &err), 0);
    const struct policy plain = {.label = "policy", .model = "hopper"};
    const struct policy calibrated = {.label = "policy", .model = "hopper", .bias = path};
    double before[2], after[2];
    assert_int_equal(predict(before, &plain, &err), 0);
    assert_int_equal(predict(after, &calibrated, &err), 0);
    assert_true(before[0] > 0 && before[0] == before[1]);
    assert_true(fabs(after[0] / before[0] - 2) < 1e-9 && after[1] == before[1]);
    unlink(path);
}

static void missing_models_and_biases_are_errors_before_measuring(void **state)
{
    double times_ns[2];
    struct error err;
    const struct policy unknown = {.label = "policy", .model = "crystal-ball"};
    assert_int_equal(predict(times_ns, &unknown, &err), -1);
    assert_non_null(strstr(err.text, "crystal-ball"));
    const struct policy absent = {.label = "policy", .model = "hopper", .bias = "bias.csv"};
    assert_int_equal(predict(times_ns, &absent, &err), -1);
    assert_non_null(strstr(err.text, "/nowhere/bias.csv")); // beside the repository
}

// A series whose earlier runs took 100 us, of code "old", and that takes `time_ns` now.
static struct verdict judge_now(const char *code, double time_ns)
{
    enum { RUNS = 12 };
    struct history_point points[RUNS];
    for (size_t i = 0; i < RUNS; i++)
        points[i] = (struct history_point){.time_ns = 1e5 * (1 + 1e-3 * (double)(i % 3)),
                                           .same_code = i > 0};
    struct policy_device named = {.name = "gpu", .kind = "cuda"};
    struct context_device device = {.policy = &named};
    struct sample sample = {.time_ns = time_ns, .launches = 1};
    struct result result = {
        .kernel = "k",
        .problem = {.m = 8, .n = 8, .k = 8, .batch = 1},
        .head = {.state = MEASURED_OK, .samples = &sample, .count = 1},
        .history = {.points = points, .count = RUNS, .newest_code = "old"},
    };
    text_copy(result.head_code, sizeof(result.head_code), code);
    struct task task = {.result = &result, .device = &device};
    struct run run = {.results = &result, .count = 1};
    const struct plan plan = {.tasks = &task, .count = 1};
    judge_run(&run, &plan);
    const struct verdict verdict = result.verdict;
    run_free(&run);
    return verdict;
}

static void same_code_measured_again_is_never_the_kernels_fault(void **state)
{
    const struct verdict again = judge_now("old", 1.2e5), changed = judge_now("new", 1.2e5);
    assert_int_equal(again.kind, VERDICT_SLOWER);
    assert_int_equal(again.cause, CAUSE_ENVIRONMENT);
    assert_false(cause_fails(&again));
    assert_int_equal(changed.kind, VERDICT_SLOWER);
    assert_int_equal(changed.cause, CAUSE_KERNEL);
    assert_true(cause_fails(&changed));
    assert_int_equal(judge_now("old", 0.8e5).cause, CAUSE_ENVIRONMENT);
    const struct verdict open = judge_now("old", 1.05e5);
    assert_int_equal(open.kind, VERDICT_UNDECIDED);
    assert_int_equal(open.cause, CAUSE_ENVIRONMENT);
    assert_int_equal(judge_now("new", 1.05e5).cause, CAUSE_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(predictions_carry_the_bias_of_their_kernel),
        cmocka_unit_test(missing_models_and_biases_are_errors_before_measuring),
        cmocka_unit_test(same_code_measured_again_is_never_the_kernels_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
