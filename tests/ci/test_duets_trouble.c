// SPDX-License-Identifier: Apache-2.0
//
// The engine of gates and studies when kernels crash, hang, compute nonsense or lose the device:
// who is blamed, and that the others keep what was measured.
#include "ci/gate/duets.h"
#include "ci/settings/progress.h"
#include "tests/helpers/helper_played.h"
#include "tests/helpers/test.h"

#include <string.h>

AROUND_EACH(played_set_up, played_tear_down);

TEST(others_of_a_dead_child_keep_their_pairs)
{
    struct played *p = *state;
    played_all(p, (const char *const[]){"good-1", "crash-pairs", "good-2", "slower-1", NULL});
    assert_int_equal(p->items[1].outcome.state, MEASURED_CRASHED);
    assert_true(p->items[1].outcome.gone);
    const struct duet *first = &p->items[0];
    played_whole(first, VERDICT_SAME);
    assert_int_equal(first->base_samples.count, 16);
    for (size_t i = 0; i < 16; i++) {
        assert_int_equal(first->base_samples.items[i].process, i < 8 ? 0 : 1);
        assert_int_equal(first->base_samples.items[i].block, i / 8);
    }
    played_whole(&p->items[2], VERDICT_SAME);
    played_whole(&p->items[3], VERDICT_SLOWER);
    // The one that died was tried again alone, and three processes confirmed the alarm.
    assert_int_equal(played_times(p, "open crash-pairs"), 2);
    assert_int_equal(p->duets.processes, 3 + 3);
}

TEST(judging_again_agrees_after_a_death)
{
    struct played *p = *state;
    played_all(p, (const char *const[]){"slower-1", "crash-pairs", NULL});
    const struct duet *d = &p->items[0];
    const struct measurement base = {.samples = d->base_samples.items,
                                     .count = d->base_samples.count};
    const struct measurement head = {.samples = d->head_samples.items,
                                     .count = d->head_samples.count};
    struct gate_policy again = gate_policy_default("host", 1e3);
    again.tail_pairs = 0;
    struct verdict verdict;
    gate_replay(&verdict, &base, &head, &again, &p->fake.arena);
    assert_int_equal(verdict.kind, VERDICT_SLOWER);
    assert_int_equal(verdict.pairs, d->decision.pairs);
    assert_int_equal(verdict.processes, 5); // 8 pairs of the first are from the one that died
    assert_int_equal(d->decision.processes, 5);
    assert_true(verdict.log_evidence == d->decision.log_evidence);
}

TEST(what_fails_only_beside_others_is_not_broken)
{
    struct played *p = *state;
    played_all(p, (const char *const[]){"good-1", "touchy-pairs", "good-2", NULL});
    played_whole(&p->items[1], VERDICT_SAME);
    assert_int_equal(p->over[2], 1);                                // last, alone
    assert_int_equal(p->items[1].base_samples.items[0].process, 2); // nothing of half a block
    assert_int_equal(p->duets.processes, 3);
}

TEST(wrong_results_are_believed_when_alone)
{
    struct played *p = *state;
    played_all(p, (const char *const[]){"wrong", "good-1", "late-wrong", "good-2", NULL});
    assert_int_equal(p->items[0].outcome.state, MEASURED_WRONG);
    assert_int_equal(p->items[2].outcome.state, MEASURED_WRONG);
    assert_int_equal(played_times(p, "open wrong"), 1);
    assert_int_equal(played_times(p, "open late-wrong"), 2);
    played_whole(&p->items[1], VERDICT_SAME);
    played_whole(&p->items[3], VERDICT_SAME);
}

TEST(hang_costs_its_limit_once)
{
    struct played *p = *state;
    p->fake.plan.limits.measure_s = 1;
    played_all(p, (const char *const[]){"good-1", "hang-pairs", "good-2", NULL});
    assert_int_equal(p->items[1].outcome.state, MEASURED_TIMEOUT);
    assert_int_equal(played_times(p, "open hang-pairs"), 1);
    assert_int_equal(p->duets.processes, 2);
    played_whole(&p->items[0], VERDICT_SAME);
    played_whole(&p->items[2], VERDICT_SAME);
}

// By a person, or for want of memory: no verdict on the kernel that was running.
TEST(a_kill_from_outside_is_nobodys_fault)
{
    struct played *p = *state;
    played_all(p, (const char *const[]){"once-pairs", NULL});
    played_whole(&p->items[0], VERDICT_SAME);
    assert_int_equal(played_times(p, "open once-pairs"), 2);
}

// What was taken before stays.
TEST(a_kill_from_outside_costs_no_pairs)
{
    struct played *p = *state;
    played_all(p, (const char *const[]){"once-close", NULL});
    const struct duet *d = &p->items[0];
    played_whole(d, VERDICT_SAME);
    assert_int_equal(d->base_samples.items[0].process, 0);
    assert_int_equal(d->base_samples.items[d->base_samples.count - 1].process, 1);
}

// A neighbour's fault on one GPU ends all contexts of it; a kernel's own comes again.
TEST(a_fault_that_does_not_come_again_alone_is_nobodys)
{
    struct played *p = *state;
    played_all(p, (const char *const[]){"faulted-pairs", NULL});
    played_whole(&p->items[0], VERDICT_SAME);
    assert_int_equal(played_times(p, "open faulted-pairs"), 2);
}

TEST(a_fault_that_comes_again_alone_is_the_kernels)
{
    struct played *p = *state;
    played_all(p, (const char *const[]){"faults", NULL});
    assert_int_equal(p->items[0].outcome.state, MEASURED_CRASHED);
    assert_true(p->items[0].outcome.own_fault);
    assert_non_null(strstr(p->items[0].outcome.detail, "unspecified launch failure"));
}

TEST(want_of_memory_ends_it_and_blames_no_kernel)
{
    struct played *p = *state;
    struct error err;
    assert_int_equal(played_try(p, (const char *const[]){"good-1", "lacks", NULL}, &err), -1);
    assert_non_null(strstr(err.text, "lacks 4x4x4:fp32"));
    assert_non_null(strstr(err.text, "cannot be measured on device Fake device: cuda: memory for"));
    assert_non_null(strstr(err.text, "leave the problem out of the policy"));
}

TEST(want_of_a_process_blames_no_kernel_either)
{
    struct played *p = *state;
    struct error err;
    assert_int_equal(played_try(p, (const char *const[]){"good-1", "unable", NULL}, &err), -1);
    assert_string_equal(err.text, "unable 4x4x4:fp32-fp32:tn cannot be measured on device Fake "
                                  "device: host: no process for a library");
}

// Beside others, or with both builds in one process, it may have been another's.
TEST(only_what_failed_alone_is_its_own_fault)
{
    struct played *p = *state;
    p->fake.plan.limits.open_s = p->fake.plan.limits.measure_s = 2;
    played_all(p, (const char *const[]){"good-1", "hang-pairs", "hang", "crash", "killed", NULL});
    assert_int_equal(p->items[1].outcome.state, MEASURED_TIMEOUT);
    assert_false(p->items[1].outcome.own_fault);
    for (size_t i = 2; i < 5; i++) {
        assert_int_equal(p->items[i].outcome.role, ROLE_BASE); // of fakes both builds fail
        assert_int_equal(p->items[i].outcome.own_fault, i < 4);
    }
    played_whole(&p->items[0], VERDICT_SAME);
}

TEST(other_shapes_of_a_dead_kernel_are_played_alone)
{
    struct played *p = *state;
    played_all(p, (const char *const[]){"good-1", "crash", "crash", "crash", "good-2", NULL});
    for (size_t i = 1; i < 4; i++)
        assert_int_equal(p->items[i].outcome.state, MEASURED_CRASHED);
    assert_int_equal(played_times(p, "open crash"),
                     1 + 3 + 4); // once beside, alone, and the base's trial
    assert_int_equal(played_times(p, "open good-1"), 2);
    played_whole(&p->items[4], VERDICT_SAME);
}

TEST(kernel_that_died_alone_is_not_put_beside_others)
{
    struct played *p = *state;
    played_all(p, (const char *const[]){"crash", "good-1", "crash", NULL});
    assert_int_equal(p->items[2].outcome.state, MEASURED_CRASHED);
    assert_int_equal(played_times(p, "open good-1"), 1);
    played_whole(&p->items[1], VERDICT_SAME);
}

TEST(base_that_dies_is_named)
{
    struct played *p = *state;
    p->items[0] = (struct duet){
        .kernel = "good", .problem = &fake_problem, .base = "/x/bad-base.so", .head = "/x/head.so"};
    p->duets.count = 1;
    played_all(p, (const char *const[]){"", "good-1", NULL});
    assert_int_equal(p->items[0].outcome.state, MEASURED_CRASHED);
    assert_int_equal(p->items[0].outcome.role, ROLE_BASE);
    played_whole(&p->items[1], VERDICT_SAME);
}

TEST(lost_device_ends_it)
{
    struct played *p = *state;
    struct error err;
    assert_int_equal(played_try(p, (const char *const[]){"good-1", "lost-pairs", NULL}, &err), -1);
    assert_non_null(strstr(err.text, "device Fake device was lost"));
}
