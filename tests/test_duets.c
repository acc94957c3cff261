// SPDX-License-Identifier: Apache-2.0
//
// The engine of gates and studies, against a bench that keeps a journal of what it was asked.
#include "ci/duets.h"
#include "ci/progress.h"
#include "tests/helper_repo.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DUETS_MAX = 16, JOURNAL = 1 << 16 };

static const struct problem problem = {
    .m = 4, .n = 4, .k = 4, .in = DTYPE_FP32, .out = DTYPE_FP32, .batch = 1};

struct fixture {
    char *directory, *program;
    struct sandbox sandbox;
    struct bench_plan plan;
    struct duet items[DUETS_MAX];
    struct duets duets;
    struct arena arena;
    size_t over[DUETS_MAX], over_count; // which, in the order they ended
    uint16_t over_in[DUETS_MAX];        // processes started by then
    bool stop_after_first_block;
    char journal[JOURNAL];
};

static int start(struct bench **out, void *context, uint16_t process, struct error *err)
{
    struct fixture *f = context;
    f->plan.process = process;
    return bench_start(out, &f->plan, err);
}

static int policy(struct gate_policy *out, void *context, const struct duet *duet,
                  struct error *err)
{
    struct fixture *f = context;
    (void)err;
    assert_true(duet->base_samples.count > 0);
    *out = gate_policy_default("host", 1e3);
    if (f->stop_after_first_block)
        f->duets.deadline_s = 1e-9;
    return 0;
}

static int over(void *context, struct duet *duet, struct error *err)
{
    struct fixture *f = context;
    (void)err;
    assert_int_equal(duet->place, DUET_OVER);
    f->over_in[f->over_count] = f->duets.processes;
    f->over[f->over_count++] = (size_t)(duet - f->items);
    return 0;
}

static void write_beside(const struct fixture *f, const char *ending, const char *text)
{
    char *path = xprintf("%s%s", f->program, ending);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    free(path);
}

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
        .limits = {.start_s = 20, .open_s = 20, .measure_s = 20, .close_s = 20}};
    f->duets = (struct duets){.items = f->items,
                              .arena = &f->arena,
                              .context = f,
                              .start = start,
                              .policy = policy,
                              .over = over};
    write_beside(f, ".journal", "");
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < f->duets.count; i++) {
        sample_list_free(&f->items[i].base_samples);
        sample_list_free(&f->items[i].head_samples);
    }
    helper_discard(f->directory);
    arena_free(&f->arena);
    free(f->directory);
    free(f->program);
    free(f);
    return 0;
}

// Plays one duet of each kernel; what the child was asked is then in the journal, a ';' a line.
static int play(struct fixture *f, const char *const *kernels, struct error *err)
{
    for (; kernels[f->duets.count]; f->duets.count++)
        f->items[f->duets.count] = (struct duet){.kernel = kernels[f->duets.count],
                                                 .problem = &problem,
                                                 .base = "/x/base.so",
                                                 .head = "/x/head.so",
                                                 .seed = 1};
    int status = duets_play(&f->duets, err);
    char *path = xprintf("%s.journal", f->program);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    f->journal[fread(f->journal, 1, JOURNAL - 1, file)] = '\0';
    fclose(file);
    free(path);
    for (char *c = f->journal; *c; c++)
        *c = *c == '\n' ? ';' : *c;
    return status;
}

static void played(struct fixture *f, const char *const *kernels)
{
    struct error err;
    if (play(f, kernels, &err))
        fail_msg("%s", err.text);
    assert_int_equal(f->over_count, f->duets.count);
}

static size_t times(const struct fixture *f, const char *what)
{
    size_t count = 0;
    for (const char *at = f->journal; (at = strstr(at, what)); at++)
        count++;
    return count;
}

static void assert_whole(const struct duet *d, enum verdict_kind kind)
{
    assert_int_equal(d->outcome.state, MEASURED_OK);
    assert_true(d->judged);
    assert_int_equal(d->decision.kind, kind);
    assert_int_equal(d->base_samples.count, d->head_samples.count);
    assert_int_equal(d->base_samples.count, d->decision.pairs);
}

// ---- the order of things

static void blocks_go_round_and_what_decides_is_closed(void **state)
{
    struct fixture *f = *state;
    played(f, (const char *const[]){"good-1", "good-2", "good-3", NULL});
    assert_string_equal(f->journal, "start;open good-1;open good-2;open good-3;"
                                    "pairs good-1;pairs good-2;pairs good-3;"
                                    "pairs good-1;close good-1;pairs good-2;close good-2;"
                                    "pairs good-3;close good-3;");
    for (size_t i = 0; i < 3; i++) {
        assert_whole(&f->items[i], VERDICT_SAME);
        assert_int_equal(f->over[i], i);
    }
}

static void all_alarms_share_each_further_process(void **state)
{
    struct fixture *f = *state;
    played(f, (const char *const[]){"slower-1", "good-1", "slower-2", "slower-3", "good-2",
                                    "slower-4", NULL});
    assert_int_equal(f->duets.processes, 4);
    assert_int_equal(times(f, "start;"), 4);
    assert_int_equal(times(f, "open slower-"), 16);
    assert_int_equal(times(f, "open good-"), 2);
    assert_int_equal(f->over[0], 1); // told at once, not after the alarms
    assert_int_equal(f->over[1], 4);
    assert_int_equal(f->over_in[1], 1);
    for (size_t i = 0; i < 6; i++) {
        const struct duet *d = &f->items[i];
        bool slower = d->kernel[0] == 's';
        assert_whole(d, slower ? VERDICT_SLOWER : VERDICT_SAME);
        assert_true(d->alarmed == slower);
        assert_int_equal(d->decision.processes, slower ? 4 : 1);
        assert_int_equal(d->base_samples.items[d->base_samples.count - 1].process, slower ? 3 : 0);
    }
}

static void alarms_take_turns_in_further_processes_too(void **state)
{
    struct fixture *f = *state;
    played(f, (const char *const[]){"slower-1", "slower-2", NULL});
    const char *second = strstr(f->journal + 1, "start;");
    assert_non_null(second);
    const char *expected = "start;open slower-1;open slower-2;pairs slower-1;pairs slower-2;"
                           "pairs slower-1;close slower-1;pairs slower-2;close slower-2;start;";
    assert_memory_equal(second, expected, strlen(expected));
}

// The fake's choice depends on which module is loaded first, as a real one's may on anything.
static void launches_per_sample_are_those_of_the_first_process(void **state)
{
    struct fixture *f = *state;
    played(f, (const char *const[]){"slower", NULL});
    for (size_t i = 0; i < f->items[0].base_samples.count; i++)
        assert_int_equal(f->items[0].base_samples.items[i].launches, 4);
}

// ---- room

static void what_has_no_room_waits_for_what_is_open(void **state)
{
    struct fixture *f = *state;
    write_beside(f, ".room", "2");
    played(f, (const char *const[]){"good-1", "good-2", "good-3", "good-4", "good-5", NULL});
    assert_int_equal(f->duets.processes, 1);
    assert_int_equal(times(f, "full "), 3); // the third, fourth and fifth, once each
    for (size_t i = 0; i < 5; i++)
        assert_whole(&f->items[i], VERDICT_SAME);
}

static void no_more_are_open_than_asked_for(void **state)
{
    struct fixture *f = *state;
    f->duets.open_most = 2;
    write_beside(f, ".room", "2");
    played(f, (const char *const[]){"good-1", "good-2", "good-3", NULL});
    assert_int_equal(times(f, "full "), 0);
    assert_whole(&f->items[2], VERDICT_SAME);
}

static void what_is_refused_alone_too_is_broken(void **state)
{
    struct fixture *f = *state;
    played(f, (const char *const[]){"good-1", "good-2", "good-3", "good-4", "good-5", "good-6",
                                    "refuse", NULL});
    assert_int_equal(f->items[6].outcome.state, MEASURED_CRASHED);
    assert_string_equal(f->items[6].outcome.detail, "bench: open: no memory for the inputs");
    assert_int_equal(times(f, "open refuse"), 4 + 1); // beside others, and alone
    assert_int_equal(f->duets.processes, 1);
    for (size_t i = 0; i < 6; i++)
        assert_whole(&f->items[i], VERDICT_SAME);
}

// ---- trouble

static void others_of_a_dead_child_keep_their_pairs(void **state)
{
    struct fixture *f = *state;
    played(f, (const char *const[]){"good-1", "crash-pairs", "good-2", "slower-1", NULL});
    assert_int_equal(f->items[1].outcome.state, MEASURED_CRASHED);
    assert_true(f->items[1].outcome.gone);
    const struct duet *first = &f->items[0];
    assert_whole(first, VERDICT_SAME);
    assert_int_equal(first->base_samples.count, 16);
    for (size_t i = 0; i < 16; i++) {
        assert_int_equal(first->base_samples.items[i].process, i < 8 ? 0 : 1);
        assert_int_equal(first->base_samples.items[i].block, i / 8);
    }
    assert_whole(&f->items[2], VERDICT_SAME);
    assert_whole(&f->items[3], VERDICT_SLOWER);
    // The one that died was tried again alone, and three processes confirmed the alarm.
    assert_int_equal(times(f, "open crash-pairs"), 2);
    assert_int_equal(f->duets.processes, 3 + 3);
}

static void judging_again_agrees_after_a_death(void **state)
{
    struct fixture *f = *state;
    played(f, (const char *const[]){"slower-1", "crash-pairs", NULL});
    const struct duet *d = &f->items[0];
    const struct measurement base = {.samples = d->base_samples.items,
                                     .count = d->base_samples.count};
    const struct measurement head = {.samples = d->head_samples.items,
                                     .count = d->head_samples.count};
    const struct gate_policy again = gate_policy_default("host", 1e3);
    struct verdict verdict;
    gate_judge(&verdict, &base, &head, &again, &f->arena);
    assert_int_equal(verdict.kind, VERDICT_SLOWER);
    assert_int_equal(verdict.pairs, d->decision.pairs);
    assert_int_equal(verdict.processes, 5); // 8 pairs of the first are from the one that died
    assert_int_equal(d->decision.processes, 5);
    assert_true(verdict.log_evidence == d->decision.log_evidence);
}

static void what_fails_only_beside_others_is_not_broken(void **state)
{
    struct fixture *f = *state;
    played(f, (const char *const[]){"good-1", "touchy-pairs", "good-2", NULL});
    assert_whole(&f->items[1], VERDICT_SAME);
    assert_int_equal(f->over[2], 1);                                // last, alone
    assert_int_equal(f->items[1].base_samples.items[0].process, 2); // nothing of half a block
    assert_int_equal(f->duets.processes, 3);
}

static void wrong_results_are_believed_when_alone(void **state)
{
    struct fixture *f = *state;
    played(f, (const char *const[]){"wrong", "good-1", "late-wrong", "good-2", NULL});
    assert_int_equal(f->items[0].outcome.state, MEASURED_WRONG);
    assert_int_equal(f->items[2].outcome.state, MEASURED_WRONG);
    assert_int_equal(times(f, "open wrong"), 1);
    assert_int_equal(times(f, "open late-wrong"), 2);
    assert_whole(&f->items[1], VERDICT_SAME);
    assert_whole(&f->items[3], VERDICT_SAME);
}

static void hang_costs_its_limit_once(void **state)
{
    struct fixture *f = *state;
    f->plan.limits.measure_s = 1;
    played(f, (const char *const[]){"good-1", "hang-pairs", "good-2", NULL});
    assert_int_equal(f->items[1].outcome.state, MEASURED_TIMEOUT);
    assert_int_equal(times(f, "open hang-pairs"), 1);
    assert_int_equal(f->duets.processes, 2);
    assert_whole(&f->items[0], VERDICT_SAME);
    assert_whole(&f->items[2], VERDICT_SAME);
}

static void other_shapes_of_a_dead_kernel_are_played_alone(void **state)
{
    struct fixture *f = *state;
    played(f, (const char *const[]){"good-1", "crash", "crash", "crash", "good-2", NULL});
    for (size_t i = 1; i < 4; i++)
        assert_int_equal(f->items[i].outcome.state, MEASURED_CRASHED);
    assert_int_equal(times(f, "open crash"), 1 + 3 + 4); // once beside, alone, and the base's trial
    assert_int_equal(times(f, "open good-1"), 2);
    assert_whole(&f->items[4], VERDICT_SAME);
}

static void kernel_that_died_alone_is_not_put_beside_others(void **state)
{
    struct fixture *f = *state;
    played(f, (const char *const[]){"crash", "good-1", "crash", NULL});
    assert_int_equal(f->items[2].outcome.state, MEASURED_CRASHED);
    assert_int_equal(times(f, "open good-1"), 1);
    assert_whole(&f->items[1], VERDICT_SAME);
}

static void base_that_dies_is_named(void **state)
{
    struct fixture *f = *state;
    f->items[0] = (struct duet){
        .kernel = "good", .problem = &problem, .base = "/x/bad-base.so", .head = "/x/head.so"};
    f->duets.count = 1;
    played(f, (const char *const[]){"", "good-1", NULL});
    assert_int_equal(f->items[0].outcome.state, MEASURED_CRASHED);
    assert_int_equal(f->items[0].outcome.role, ROLE_BASE);
    assert_whole(&f->items[1], VERDICT_SAME);
}

static void lost_device_ends_it(void **state)
{
    struct fixture *f = *state;
    struct error err;
    assert_int_equal(play(f, (const char *const[]){"good-1", "lost-pairs", NULL}, &err), -1);
    assert_non_null(strstr(err.text, "device Fake device was lost"));
}

// ---- time

static void deadline_before_the_start_measures_nothing(void **state)
{
    struct fixture *f = *state;
    f->duets.deadline_s = monotonic_s() - 1;
    played(f, (const char *const[]){"good-1", "good-2", NULL});
    assert_string_equal(f->journal, "");
    assert_int_equal(f->items[1].outcome.state, MEASURED_OK);
    assert_false(f->items[1].judged);
}

static void deadline_ends_with_what_is_there(void **state)
{
    struct fixture *f = *state;
    f->stop_after_first_block = true;
    played(f, (const char *const[]){"slower-1", "good-1", NULL});
    assert_string_equal(f->journal, "start;open slower-1;open good-1;pairs slower-1;"
                                    "close slower-1;close good-1;");
    assert_int_equal(f->items[0].decision.kind, VERDICT_UNDECIDED);
    assert_int_equal(f->items[0].base_samples.count, 8);
    assert_int_equal(f->items[1].base_samples.count, 0);
}

static void no_duets_need_no_process(void **state)
{
    struct fixture *f = *state;
    played(f, (const char *const[]){NULL});
    assert_int_equal(f->duets.processes, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(blocks_go_round_and_what_decides_is_closed),
        TEST(all_alarms_share_each_further_process),
        TEST(alarms_take_turns_in_further_processes_too),
        TEST(launches_per_sample_are_those_of_the_first_process),
        TEST(what_has_no_room_waits_for_what_is_open),
        TEST(no_more_are_open_than_asked_for),
        TEST(what_is_refused_alone_too_is_broken),
        TEST(others_of_a_dead_child_keep_their_pairs),
        TEST(judging_again_agrees_after_a_death),
        TEST(what_fails_only_beside_others_is_not_broken),
        TEST(wrong_results_are_believed_when_alone),
        TEST(hang_costs_its_limit_once),
        TEST(other_shapes_of_a_dead_kernel_are_played_alone),
        TEST(kernel_that_died_alone_is_not_put_beside_others),
        TEST(base_that_dies_is_named),
        TEST(lost_device_ends_it),
        TEST(deadline_before_the_start_measures_nothing),
        TEST(deadline_ends_with_what_is_there),
        TEST(no_duets_need_no_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
