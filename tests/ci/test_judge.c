// SPDX-License-Identifier: Apache-2.0
//
// Predictions of a run: by the policy's model, times the bias of a kernel where the policy names a
// file of them. And what a plain run blames: never the kernel for code that did not change, and no
// absolute time for a code that was compared side by side with the one before it.
#include "baselines/store.h"
#include "ci/gate/judge.h"
#include "ci/gate/measuring.h"
#include "ci/settings/context.h"
#include "ci/settings/gpu_file.h"
#include "model/gate/verdict.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/helper_store.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct helper_opened repo;
static struct options options = {.policy = "given.cfg"};

// Two kernels alike; only the first has a bias of a factor of two.
static int predict(double times_ns[2], const struct policy *policy, struct error *err)
{
    struct context context = {.options = &options, .repository = repo.open, .policy = *policy};
    struct context_device device = {.gpu = *gpu_find("h200-sxm")};
    struct result results[2] = {{.kernel = "biased"}, {.kernel = "plain"}};
    struct task tasks[2] = {{.device = &device}, {.device = &device}};
    struct run run = {.results = results, .count = 2};
    const struct task_list list = {.items = tasks, .count = 2};
    for (int i = 0; i < 2; i++)
        results[i].problem = (struct problem){
            .m = 4096, .n = 4096, .k = 4096, .batch = 1, .in = DTYPE_BF16, .out = DTYPE_BF16};
    if (predicting_ready(&context, err) || predicting_fill(&run, &list, &context, err))
        return -1;
    for (int i = 0; i < 2; i++)
        times_ns[i] = results[i].prediction.time_ns;
    return 0;
}

TEST(predictions_carry_the_bias_of_their_kernel)
{
    const char *path = helper_file("");
    struct bias biases[] = {
        {.kernel = "biased", .in = DTYPE_BF16, .log_factor = log(2), .band = 0.02, .rows = 9}};
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
}

TEST(missing_models_and_biases_are_errors_before_measuring)
{
    double times_ns[2];
    struct error err;
    const struct policy unknown = {.label = "policy", .model = "crystal-ball"};
    assert_int_equal(predict(times_ns, &unknown, &err), -1);
    assert_non_null(strstr(err.text, "crystal-ball"));
    const struct policy absent = {.label = "policy", .model = "hopper", .bias = "bias.csv"};
    assert_int_equal(predict(times_ns, &absent, &err), -1);
    char *path = xprintf("%s/bias.csv", repo.repo.directory);
    assert_non_null(strstr(err.text, path));
    free(path);
}

TEST(a_committed_policy_names_no_bias_outside_of_the_repository)
{
    static const char *const outside[] = {"/etc/passwd", "../bias.csv", "ci/../../bias.csv"};
    double times_ns[2];
    struct error err;
    options.policy = NULL;
    for (size_t i = 0; i < ARRAY_COUNT(outside); i++) {
        const struct policy policy = {.label = "policy", .model = "hopper", .bias = outside[i]};
        assert_int_equal(predict(times_ns, &policy, &err), -1);
        assert_non_null(strstr(err.text, "cannot name a file outside of the repository"));
    }
    options.policy = "given.cfg";
}

static int set_up(void **state)
{
    void *opened;
    if (helper_opened_set_up(&opened))
        return -1;
    repo = *(struct helper_opened *)opened;
    free(opened);
    return scratch_set_up(state);
}

static int tear_down(void **state)
{
    repository_close(repo.open);
    helper_repo_remove(&repo.repo);
    arena_free(&repo.arena);
    return scratch_tear_down(state);
}

AROUND_ALL(set_up, tear_down);

// A series whose earlier runs took 100 us, of code "old", and that takes `time_ns` now; the store
// has `link`, of which this fills the rest (NULL: none).
static struct verdict judge_now(const char *code, double time_ns, struct link *link, char *sentence)
{
    enum { RUNS = 12 };
    struct history_point points[RUNS];
    struct error err;
    for (size_t i = 0; i < RUNS; i++)
        points[i] = (struct history_point){.time_ns = 1e5 * (1 + 1e-3 * (double)(i % 3)),
                                           .same_code = i > 0};
    struct run run;
    make_run(&run, RUN_MEASURE, 3, 1, 5);
    struct result *r = &run.results[0];
    struct policy_device named = {.name = "gpu", .kind = "cuda"};
    struct context_device device = {.policy = &named,
                                    .unit = {.uuid = run.devices[r->device].uuid}};
    struct context_device devices[8];
    assert_true(r->device < ARRAY_COUNT(devices));
    devices[r->device] = device;
    struct context context = {.store = scratch_store(scratch_in("links.db"), STORE_WRITE),
                              .devices = devices};
    struct sample sample = {.time_ns = time_ns, .launches = 1};
    r->head = (struct measurement){.state = MEASURED_OK, .samples = &sample, .count = 1};
    r->history = (struct history){.points = points, .count = RUNS, .newest_code = "old"};
    text_copy(r->head_code, sizeof(r->head_code), code);
    save_whole_run(context.store, &run);
    if (link) {
        const struct series series = {r->kernel, &r->problem, device.unit.uuid};
        text_copy(link->head_code, sizeof(link->head_code), code);
        link->head = link->base = run.head;
        memset(link->base.id, 'b', 40);
        assert_int_equal(store_run_uid(link->uid, context.store, run.id, &err), 0);
        if (store_save_link(context.store, &series, link, &err))
            fail_msg("%s", err.text);
    }
    const struct policy_kernel rule = {0};
    struct task task = {.rule = &rule, .result = r, .device = &device, .run = &run};
    const struct task_list tasks = {.items = &task, .count = 1};
    assert_int_equal(judge_run(&run, &tasks, &context, &err), 0);
    const struct verdict verdict = r->verdict;
    if (sentence)
        snprintf(sentence, 400, "%s", verdict.sentence);
    store_close(context.store);
    unlink(scratch_in("links.db"));
    run_free(&run);
    return verdict;
}

// Twelve per cent of absolute time are nothing beside a hundred pairs.
TEST(a_linked_code_has_the_verdict_of_its_link)
{
    char sentence[400];
    struct link link = {.base_code = "old",
                        .tool_version = "1",
                        .made_s = 1795000000,
                        .back = 1,
                        .kind = VERDICT_SLOWER,
                        .log_ratio = log(1.007),
                        .error = 3e-4,
                        .log_evidence = 40,
                        .pairs = 96,
                        .processes = 2};
    const struct verdict slower = judge_now("new", 0.93e5, &link, sentence);
    assert_int_equal(slower.kind, VERDICT_SLOWER);
    assert_true(cause_fails(&slower));
    assert_int_equal(slower.pairs, 96);
    assert_string_equal(slower.model, "gate"); // who computed it
    assert_true(slower.log_ratio.low > 0 && slower.log_ratio.high < 0.02);
    assert_non_null(strstr(sentence, "slower with cold caches: +0.70 % ("));
    assert_non_null(strstr(sentence, "side by side with bbbbbbbbbb"));
    link.kind = VERDICT_SAME;
    link.log_ratio = 1e-4;
    const struct verdict same = judge_now("new", 1.2e5, &link, NULL);
    assert_int_equal(same.kind, VERDICT_SAME);
    assert_false(cause_fails(&same));
    link.back = 8; // a mark is no neighbour
    assert_int_equal(judge_now("new", 1.2e5, &link, NULL).kind, VERDICT_SLOWER);
}

TEST(same_code_measured_again_is_never_the_kernels_fault)
{
    const struct verdict again = judge_now("old", 1.2e5, NULL, NULL),
                         changed = judge_now("new", 1.2e5, NULL, NULL);
    assert_int_equal(again.kind, VERDICT_SLOWER);
    assert_int_equal(again.cause, CAUSE_ENVIRONMENT);
    assert_string_equal(again.model, "drift");
    assert_false(cause_fails(&again));
    assert_int_equal(changed.kind, VERDICT_SLOWER);
    assert_int_equal(changed.cause, CAUSE_KERNEL);
    assert_true(cause_fails(&changed));
    assert_int_equal(judge_now("old", 0.8e5, NULL, NULL).cause, CAUSE_ENVIRONMENT);
    const struct verdict open = judge_now("old", 1.05e5, NULL, NULL);
    assert_int_equal(open.kind, VERDICT_UNDECIDED);
    assert_int_equal(open.cause, CAUSE_ENVIRONMENT);
    assert_int_equal(judge_now("new", 1.05e5, NULL, NULL).cause, CAUSE_NONE);
}

// It is no kernel that does not do the problem, in a run as in a gate.
TEST(a_plain_run_says_why_a_kernel_was_not_recorded)
{
    static const char why[] =
        "cannot be recorded, and the policy trusts device code alone: a reason";
    struct error err;
    struct run run;
    make_run(&run, RUN_MEASURE, 3, 1, 5);
    struct result *r = &run.results[0];
    struct policy_device named = {.name = "gpu", .kind = "cuda"};
    struct context_device device = {.policy = &named};
    struct context context = {0};
    r->head = (struct measurement){
        .state = MEASURED_UNSUPPORTED, .regime = "not recorded", .detail = why};
    assert_true(recording_refused(&r->head));
    const struct policy_kernel rule = {.device_code = true};
    struct task task = {.rule = &rule, .result = r, .device = &device, .run = &run};
    const struct task_list tasks = {.items = &task, .count = 1};
    assert_int_equal(judge_run(&run, &tasks, &context, &err), 0);
    assert_int_equal(r->verdict.kind, VERDICT_NOT_MEASURED);
    assert_non_null(strstr(r->verdict.sentence, why));
    run_free(&run);
}

// ---- What an undecided series is advised: figures that are worth another run.

// 432 pairs in four processes, of which the first may have 400; 16 more are thought to be missing.
TEST(a_budget_that_is_advised_is_a_quarter_larger_at_least)
{
    static const struct {
        uint32_t more, own; // max-pairs of the kernel's section, 0: none
        const char *says;
    } cases[] = {
        {16, 0,
         "about 16 more pairs would decide it: set gate.max-pairs = 504 (now 400 for the first "
         "process)"},
        {432, 0, "set gate.max-pairs = 800 (now 400"},
        {432, 200, "set kernel.loud*.max-pairs = 400 (now 200"},
    };
    const struct policy policy = {.gate = {.max_pairs = 400, .processes = 4, .seconds = 60}};
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct result result = {.head.state = MEASURED_OK,
                                .verdict = {.kind = VERDICT_UNDECIDED,
                                            .limit = LIMIT_PAIRS,
                                            .pairs = 432,
                                            .processes = 4,
                                            .more_pairs = cases[i].more,
                                            .sentence = "k undecided"}};
        struct run run = {.results = &result, .count = 1};
        const struct policy_kernel rule = {.pattern = "loud*", .max_pairs = cases[i].own};
        const struct context_device device = {0};
        struct task task = {.result = &result, .run = &run, .rule = &rule, .device = &device};
        const struct task_list tasks = {.items = &task, .count = 1};
        say_next_steps(&run, &tasks, &policy);
        if (!strstr(result.verdict.sentence, cases[i].says))
            fail_msg("%s", result.verdict.sentence);
        arena_free(&run.arena);
    }
}
