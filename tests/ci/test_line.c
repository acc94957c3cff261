// SPDX-License-Identifier: Apache-2.0
//
// The line of a commit is its first parents: a branch that was merged is on none, nor is what came
// later; and the line of one commit is no part of another's, whichever was asked for before. Where
// its times raise an alarm, a link must confirm it.
#include "ci/gate/linking.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

static bool before(struct context *context, const struct helper_opened *opened,
                   enum helper_commit head, enum helper_commit commit)
{
    struct run run = {0};
    struct error err;
    assert_int_equal(repository_commit(&run.head, context->repository, opened->repo.ids[head],
                                       &context->arena, &err),
                     0);
    return line_has(&run, opened->repo.ids[commit], context);
}

AROUND_ALL(helper_opened_set_up, helper_opened_tear_down);

TEST(a_line_has_first_parents_alone)
{
    const struct helper_opened *opened = *state;
    struct context context = {.repository = opened->open};
    assert_true(before(&context, opened, REPO_FASTER, REPO_START));
    assert_true(before(&context, opened, REPO_FASTER, REPO_MERGE));
    assert_true(before(&context, opened, REPO_FASTER, REPO_RENAME));
    assert_false(before(&context, opened, REPO_FASTER, REPO_DOCS));
    assert_false(before(&context, opened, REPO_FASTER, REPO_FASTER));
    assert_true(before(&context, opened, REPO_DOCS, REPO_COMMENT));
    assert_false(before(&context, opened, REPO_DOCS, REPO_RENAME));
    assert_false(before(&context, opened, REPO_MERGE, REPO_SLOWER));
    assert_true(before(&context, opened, REPO_SLOWER, REPO_MERGE));
    arena_free(&context.arena);
}

// Times alone say that a code is slower; then a link must say so, too, unless the policy links all
// codes, or none.
TEST(an_alarm_of_times_is_raised_for_a_new_code_of_a_host_alone)
{
    struct policy_device policies[] = {{.name = "host", .kind = "host"},
                                       {.name = "gpu", .kind = "cuda"}};
    struct context_device devices[] = {{.policy = &policies[0]}, {.policy = &policies[1]}};
    struct context context = {.devices = devices, .device_count = 2};
    struct history_point points[12];
    for (size_t i = 0; i < ARRAY_COUNT(points); i++)
        points[i] = (struct history_point){.time_s = 60 * (int64_t)i,
                                           .time_ns = 1e6 * (1 + 1e-4 * (double)(i % 3))};
    struct sample samples[8];
    for (size_t i = 0; i < ARRAY_COUNT(samples); i++)
        samples[i] = (struct sample){.role = ROLE_HEAD, .time_ns = 1.5e6};
    struct result r = {.head_code = "new",
                       .head = {.state = MEASURED_OK, .samples = samples, .count = 8},
                       .history = {.points = points, .count = 12, .newest_code = "old"}};
    const struct run run = {.kind = RUN_MEASURE};
    assert_true(linking_alarms(&run, &r, &context));
    for (size_t i = 0; i < ARRAY_COUNT(samples); i++)
        samples[i].time_ns = 1e6;
    assert_false(linking_alarms(&run, &r, &context)); // as fast as ever
    for (size_t i = 0; i < ARRAY_COUNT(samples); i++)
        samples[i].time_ns = 0.5e6;
    assert_true(linking_alarms(&run, &r, &context)); // faster
    r.control = true;
    assert_false(linking_alarms(&run, &r, &context));
    r.control = false;
    context.policy.link = "off";
    assert_false(linking_alarms(&run, &r, &context));
    context.policy.link = NULL;
    text_copy(r.head_code, sizeof(r.head_code), "old");
    assert_false(linking_alarms(&run, &r, &context)); // the machine's doing
    text_copy(r.head_code, sizeof(r.head_code), "new");
    r.device = 1;
    assert_false(linking_alarms(&run, &r, &context)); // every code of a GPU is linked
    r.device = 0;
    r.history.count = 0;
    assert_false(linking_alarms(&run, &r, &context));
}
