// SPDX-License-Identifier: Apache-2.0
//
// The engine of gates and studies, against a bench that keeps a journal of what it was asked: in
// which order duets are played, how many at once, and when it stops.
#include "ci/gate/duets.h"
#include "ci/settings/progress.h"
#include "tests/helpers/helper_played.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <string.h>

// ---- the order of things

AROUND_EACH(played_set_up, played_tear_down);

TEST(blocks_go_round_and_what_decides_is_closed)
{
    struct played *p = *state;
    played_all(p, (const char *const[]){"good-1", "good-2", "good-3", NULL});
    assert_string_equal(p->journal, "start;open good-1;open good-2;open good-3;"
                                    "pairs good-1;pairs good-2;pairs good-3;"
                                    "pairs good-1;close good-1;pairs good-2;close good-2;"
                                    "pairs good-3;close good-3;end;");
    for (size_t i = 0; i < 3; i++) {
        played_whole(&p->items[i], VERDICT_SAME);
        assert_int_equal(p->over[i], i);
    }
}

// A clock that goes with the kernel at work would be the neighbours', where blocks took turns.
TEST(blocks_that_are_wanted_on_end_are_not_parted)
{
    struct played *p = *state;
    played_all(p, (const char *const[]){"on-end-1", "good-1", "on-end-2", "good-2", NULL});
    assert_string_equal(p->journal,
                        "start;open on-end-1;open good-1;open on-end-2;open good-2;"
                        "pairs on-end-1;pairs on-end-1;close on-end-1;"
                        "pairs good-1;pairs on-end-2;pairs on-end-2;close on-end-2;"
                        "pairs good-2;pairs good-1;close good-1;pairs good-2;close good-2;end;");
    for (size_t i = 0; i < 4; i++)
        played_whole(&p->items[i], VERDICT_SAME);
}

// What scatters so much that it takes many pairs gives way when it has had as many as others take.
TEST(what_plays_on_end_gives_way_to_others)
{
    struct played *p = *state;
    int here = 0, runs = 0;
    played_all(p, (const char *const[]){"scatter-2-1-on-end", "scatter-2-2-on-end", NULL});
    const char *last = "", *end = strstr(p->journal, "close ");
    for (const char *at = strstr(p->journal, "pairs "); at < end; at = strchr(at, ';') + 1) {
        const bool same = strncmp(at, last, strlen("pairs scatter-2-1")) == 0;
        if (!same && *last)
            assert_int_equal(here % 9, 0);
        here = same ? here + 1 : 1;
        runs += !same;
        last = at;
    }
    assert_true(runs > 2);
}

TEST(all_alarms_share_each_further_process)
{
    struct played *p = *state;
    played_all(p, (const char *const[]){"slower-1", "good-1", "slower-2", "slower-3", "good-2",
                                        "slower-4", NULL});
    assert_int_equal(p->duets.processes, 4);
    assert_int_equal(played_times(p, "start;"), 4);
    assert_int_equal(played_times(p, "open slower-"), 16);
    assert_int_equal(played_times(p, "open good-"), 2);
    assert_int_equal(p->over[0], 1); // told at once, not after the alarms
    assert_int_equal(p->over[1], 4);
    assert_int_equal(p->over_in[1], 1);
    for (size_t i = 0; i < 6; i++) {
        const struct duet *d = &p->items[i];
        bool slower = d->kernel[0] == 's';
        played_whole(d, slower ? VERDICT_SLOWER : VERDICT_SAME);
        assert_true(d->alarmed == slower);
        assert_int_equal(d->decision.processes, slower ? 4 : 1);
        assert_int_equal(d->base_samples.items[d->base_samples.count - 1].process, slower ? 3 : 0);
    }
}

static enum duet_wish pairs_of_the_first(void *context, const struct duet *d)
{
    const struct played *p = context;
    if (strcmp(d->kernel, "good-1") != 0)
        return DUET_ENOUGH;
    for (size_t i = 0; i < p->duets.count; i++) {
        if (!p->items[i].judged)
            return DUET_LATER;
    }
    return d->gate.pairs < 300 ? DUET_PAIRS : DUET_ENOUGH;
}

// A mix's: two processes' worth, and no end before, though the series itself decided in its first.
TEST(what_is_decided_gives_pairs_while_they_are_wanted)
{
    struct played *p = *state;
    p->duets.wish = pairs_of_the_first;
    played_all(p, (const char *const[]){"good-1", "good-2", NULL});
    assert_in_range(p->items[0].gate.pairs, 300, 320);
    assert_true(p->items[1].gate.pairs < 200);
    played_whole(&p->items[0], VERDICT_SAME);
    played_whole(&p->items[1], VERDICT_SAME);
}

TEST(alarms_take_turns_in_further_processes_too)
{
    struct played *p = *state;
    played_all(p, (const char *const[]){"slower-1", "slower-2", NULL});
    const char *second = strstr(p->journal + 1, "start;");
    assert_non_null(second);
    second = strstr(second, "open "); // the first may end before or behind the second's start
    const char *expected = "open slower-1;open slower-2;pairs slower-1;pairs slower-2;"
                           "pairs slower-1;close slower-1;pairs slower-2;close slower-2;";
    assert_non_null(second);
    assert_memory_equal(second, expected, strlen(expected));
}

// To end a process and start the next takes a third of a second on a GPU, one after the other.
TEST(a_process_ends_while_the_next_one_starts)
{
    struct played *p = *state;
    int living = 0, together = 0;
    fake_bench_write(&p->fake, "ends", "1500");
    played_all(p, (const char *const[]){"slower-1", "slower-2", NULL});
    for (const char *at = p->journal; *at; at = strchr(at, ';') + 1) {
        together += living == 1 && strncmp(at, "start;", 6) == 0;
        living += (strncmp(at, "start;", 6) == 0) - (strncmp(at, "end;", 4) == 0);
        // Nothing is opened or timed beside another process.
        if (strncmp(at, "open ", 5) == 0 || strncmp(at, "pairs ", 6) == 0)
            assert_int_equal(living, 1);
    }
    assert_int_equal(living, 0);
    assert_int_equal(together, 3);
}

// Scatter that hides everything in one process; the next one, loaded the other way round, has none.
TEST(what_one_process_leaves_open_is_played_in_another)
{
    struct played *p = *state;
    played_all(p, (const char *const[]){"places", "good", "slower", NULL});
    played_whole(&p->items[0], VERDICT_SAME);
    assert_int_equal(p->items[0].decision.processes, 2);
    assert_false(p->items[0].alarmed);
    assert_int_equal(p->items[1].decision.processes, 1);
    assert_int_equal(p->items[2].decision.processes, 4);
    assert_int_equal(p->duets.processes, 4); // the open one and the alarm share the second
    assert_int_equal(p->over_in[1], 2);
}

// The same, beside which nothing plays any more: nobody waits for it.
TEST(a_control_ends_when_those_beside_it_have)
{
    struct played *p = *state;
    p->items[p->duets.count++] = (struct duet){.kernel = "places",
                                               .problem = &fake_problem,
                                               .base = "/x/base.so",
                                               .head = "/x/base.so",
                                               .control = true};
    played_all(p, (const char *const[]){"places", "good", "slower", NULL});
    played_whole(&p->items[0], VERDICT_UNDECIDED);
    assert_in_range(p->items[0].gate.pairs, 16, 24); // a block more than `slower` has there
    assert_int_equal(p->items[0].decision.processes, 1);
    played_whole(&p->items[1], VERDICT_SAME);
    played_whole(&p->items[2], VERDICT_SLOWER);
    assert_int_equal(p->over[0], 1);
    assert_int_equal(p->over[1], 0);
}

// The fake's times are about 1000 ns.
TEST(pairs_that_are_faster_than_the_device_can_be_are_void)
{
    struct played *p = *state;
    p->least_ns = 2000;
    played_all(p, (const char *const[]){"faster", NULL});
    const struct duet *d = &p->items[0];
    assert_int_equal(d->decision.kind, VERDICT_UNDECIDED);
    assert_int_equal(d->decision.pairs, 0);
    assert_in_range(d->base_samples.count, 32, 64); // and it ends
    assert_int_equal(d->voided, d->base_samples.count);
    for (size_t i = 0; i < d->base_samples.count; i++)
        assert_true(d->base_samples.items[i].excluded && d->head_samples.items[i].excluded);
}

TEST(pairs_that_take_their_time_are_not_void)
{
    struct played *p = *state;
    p->least_ns = 500;
    played_all(p, (const char *const[]){"good", NULL});
    played_whole(&p->items[0], VERDICT_SAME);
    assert_int_equal(p->items[0].voided, 0);
}

// The fake's choice depends on which module is loaded first, as a real one's may on anything.
TEST(launches_per_sample_are_those_of_the_first_process)
{
    struct played *p = *state;
    played_all(p, (const char *const[]){"slower", NULL});
    for (size_t i = 0; i < p->items[0].base_samples.count; i++)
        assert_int_equal(p->items[0].base_samples.items[i].launches, 4);
}

TEST(what_prepare_chooses_is_the_choice_of_the_first_process)
{
    struct played *p = *state;
    played_all(p, (const char *const[]){"slower-tries", NULL});
    const struct duet *d = &p->items[0];
    assert_true(d->visit_count > 1);
    assert_non_null(strstr(d->pins[ROLE_HEAD], "choice of "));
    assert_string_equal(d->pins[ROLE_HEAD], d->outcome.detail); // of the last process
    assert_string_equal(d->pins[ROLE_BASE], d->outcome.base_note);
}

// ---- room

TEST(what_has_no_room_waits_for_what_is_open)
{
    struct played *p = *state;
    fake_bench_write(&p->fake, "room", "2");
    played_all(p, (const char *const[]){"good-1", "good-2", "good-3", "good-4", "good-5", NULL});
    assert_int_equal(p->duets.processes, 1);
    assert_int_equal(played_times(p, "full "), 3); // the third, fourth and fifth, once each
    for (size_t i = 0; i < 5; i++)
        played_whole(&p->items[i], VERDICT_SAME);
}

TEST(no_more_are_open_than_asked_for)
{
    struct played *p = *state;
    p->duets.open_most = 2;
    fake_bench_write(&p->fake, "room", "2");
    played_all(p, (const char *const[]){"good-1", "good-2", "good-3", NULL});
    assert_int_equal(played_times(p, "full "), 0);
    played_whole(&p->items[2], VERDICT_SAME);
}

TEST(what_is_refused_alone_too_is_broken)
{
    struct played *p = *state;
    played_all(p, (const char *const[]){"good-1", "good-2", "good-3", "good-4", "good-5", "good-6",
                                        "refuse", NULL});
    assert_int_equal(p->items[6].outcome.state, MEASURED_CRASHED);
    assert_string_equal(p->items[6].outcome.detail, "bench: open: no memory for the inputs");
    assert_int_equal(played_times(p, "open refuse"), 4 + 1); // beside others, and alone
    assert_int_equal(p->duets.processes, 1);
    for (size_t i = 0; i < 6; i++)
        played_whole(&p->items[i], VERDICT_SAME);
}

// ---- time

TEST(deadline_before_the_start_measures_nothing)
{
    struct played *p = *state;
    p->duets.deadline_s = monotonic_s() - 1;
    played_all(p, (const char *const[]){"good-1", "good-2", NULL});
    assert_string_equal(p->journal, "");
    assert_int_equal(p->items[1].outcome.state, MEASURED_NOT_TAKEN);
    assert_false(p->items[1].judged);
}

TEST(deadline_ends_with_what_is_there)
{
    struct played *p = *state;
    p->stop_after_first_block = true;
    played_all(p, (const char *const[]){"slower-1", "good-1", NULL});
    assert_string_equal(p->journal, "start;open slower-1;open good-1;pairs slower-1;"
                                    "close slower-1;close good-1;end;");
    assert_int_equal(p->items[0].decision.kind, VERDICT_UNDECIDED);
    assert_int_equal(p->items[0].base_samples.count, 8);
    assert_int_equal(p->items[1].base_samples.count, 0);
}

TEST(no_duets_need_no_process)
{
    struct played *p = *state;
    played_all(p, (const char *const[]){NULL});
    assert_int_equal(p->duets.processes, 0);
}

// ---- looks in other regimes

static bool stream_and_alone(enum regime *out, void *context, const struct duet *d)
{
    static const enum regime both[] = {REGIME_STREAM, REGIME_ISOLATED};
    for (size_t i = 0; i < 2; i++) {
        *out = both[i];
        if (!(d->looked & 1u << both[i]))
            return true;
    }
    return false;
}

// Its pairs and its verdict stay what they were, and no process is started for it.
TEST(what_is_over_is_looked_at_in_its_last_process)
{
    struct played *p = *state;
    p->duets.beside = stream_and_alone;
    played_all(p, (const char *const[]){"turns-1", "good-1", NULL});
    const struct duet *d = &p->items[0];
    played_whole(d, VERDICT_SLOWER);
    assert_int_equal(p->duets.processes, 4);
    assert_int_equal(d->look_count, 2);
    assert_int_equal(d->looks[0].regime, REGIME_STREAM);
    assert_int_equal(d->looks[0].pairs, BESIDE_BLOCK);
    assert_true(fabs(d->looks[0].log_ratio.value - log(0.9)) < 1e-9);
    assert_int_equal(d->looks[1].regime, REGIME_ISOLATED);
    assert_true(fabs(d->looks[1].log_ratio.value - log(1.05)) < 1e-9);
    assert_int_equal(played_times(p, "look turns-1"), 2);
    assert_int_equal(played_times(p, "look good-1"), 2);
    const char *last = strstr(p->journal, "look turns-1");
    assert_null(strstr(last, "start;"));
    assert_non_null(strstr(last, "close turns-1;end;"));
}

// What a device must do for a regime, rest or heat, it does for all that are looked at there; and
// no block is played behind it.
TEST(looks_come_last_one_regime_after_the_other)
{
#define LOOK(name) "look " name ";pairs " name ";close " name ";"
    struct played *p = *state;
    p->duets.beside = stream_and_alone;
    played_all(p, (const char *const[]){"good-1", "good-2", NULL});
    assert_non_null(strstr(p->journal, "pairs good-2;close good-2;" LOOK("good-1") LOOK("good-2")
                                           LOOK("good-1") LOOK("good-2") "end;"));
    assert_int_equal(played_times(p, "look "), 4);
}

// The kernel's own verdict stands; what was open beside it goes on in another process.
TEST(a_look_that_kills_its_process_costs_no_verdict)
{
    struct played *p = *state;
    p->duets.beside = stream_and_alone;
    played_all(p, (const char *const[]){"crash-look", "slower-1", "good-1", NULL});
    played_whole(&p->items[0], VERDICT_SAME);
    played_whole(&p->items[1], VERDICT_SLOWER);
    played_whole(&p->items[2], VERDICT_SAME);
    assert_int_equal(p->items[0].look_count, 1);
    assert_int_equal(p->items[0].looks[0].state, MEASURED_CRASHED);
    assert_int_equal(p->items[1].look_count, 2);
}

// A look is none of the gate's time.
TEST(looks_move_the_deadline)
{
    struct played *p = *state;
    p->duets.beside = stream_and_alone;
    fake_bench_write(&p->fake, "opens", "50");
    p->duets.deadline_s = monotonic_s() + 30;
    const double before_s = p->duets.deadline_s;
    played_all(p, (const char *const[]){"good-1", NULL});
    assert_true(p->duets.deadline_s - before_s > 0.1);
    fake_bench_write(&p->fake, "opens", NULL);
}

// ---- Pairs under a hard limit (heat, a power brake): they are waited out, do not count, and end
// with the gate's time.

static double rested_s, longest_s;
static size_t rests;

static void rest(void *context, const struct duet *duet, double seconds)
{
    rested_s += seconds;
    longest_s = seconds > longest_s ? seconds : longest_s;
    rests++;
}

static double clock_of(void *context)
{
    const struct played *p = context;
    double sum_s = rested_s;
    for (size_t i = 0; i < p->duets.count; i++)
        sum_s += 0.01 * (double)p->items[i].base_samples.count;
    return sum_s;
}

static void play(struct played *p, const char *kernel, double seconds)
{
    rested_s = longest_s = 0;
    rests = 0;
    p->duets.now = clock_of;
    p->duets.deadline_s = seconds;
    p->duets.rest = rest;
    played_all(p, (const char *const[]){kernel, NULL});
}

static size_t excluded(const struct duet *d)
{
    size_t count = 0;
    for (size_t i = 0; i < d->base_samples.count; i++)
        count += d->base_samples.items[i].excluded;
    return count;
}

// The head is held back by half in 40 pairs: what counts are the others, and they are the same.
TEST(a_device_that_cools_down_is_waited_for)
{
    struct played *p = *state;
    play(p, "hot-40", 600);
    const struct duet *d = &p->items[0];
    assert_int_equal(d->decision.kind, VERDICT_SAME);
    assert_int_equal(excluded(d), 40);
    assert_int_equal(d->gate.pairs, d->base_samples.count - 40);
    assert_true(rests >= 2 && rested_s >= 3 && longest_s <= 16);
}

// What is measured until then is no verdict, and no time of it is known.
TEST(a_device_that_stays_limited_ends_with_the_time)
{
    struct played *p = *state;
    play(p, "brake-1", 50);
    const struct duet *d = &p->items[0];
    assert_int_equal(d->gate.pairs, 0);
    assert_int_equal(excluded(d), d->base_samples.count);
    assert_true(clock_of(p) >= 49 && clock_of(p) < 52);
    assert_true(longest_s > 8 && longest_s <= 16);
}

TEST(without_an_end_it_rests_a_minute)
{
    struct played *p = *state;
    play(p, "brake-1", 0);
    assert_int_equal(p->items[0].gate.pairs, 0);
    assert_true(rested_s >= 60 && rested_s < 90);
}

// The software's power cap is no limit of this kind.
TEST(a_power_cap_is_no_reason_to_rest)
{
    struct played *p = *state;
    play(p, "slower", 600);
    assert_int_equal(rests, 0);
    assert_int_equal(p->items[0].decision.kind, VERDICT_SLOWER);
}
