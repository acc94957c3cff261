// SPDX-License-Identifier: Apache-2.0
//
// Measures the pairs of a gate. It decides which series plays the next block, which series is
// closed to make room, and what happens after a child dies; then it confirms alarms in other
// processes, and uses several benches side by side. model/gate/gate.c decides when a series is
// decided.
#include "ci/gate/duets.h"

#include "ci/settings/policy.h"
#include "ci/settings/progress.h"
#include "model/gate/gate.h"
#include "runner/bench/measure.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// The players, one for each unit and each with a child. A player may touch the shared data only
// while it holds the table's lock; it releases the lock while its child works.

struct table {
    struct duets *all;
    struct player *players;
    size_t count, living;
    double begun_s;
    pthread_mutex_t lock;
    pthread_cond_t changed; // signalled when something changed for which another player may wait
    bool extended;          // the deadline was extended, for an alarm that was clear
    uint32_t stalls;        // how often all players waited although work was left
    bool over;
    int status;
    struct error why; // the error, if status is -1
};

struct player {
    struct table *table;
    struct duets *all;
    size_t unit;
    struct bench *bench;
    struct bench *leaving; // its previous child, which ends while the next one starts
    uint16_t process;      // number of this child
    struct gate_turn *turns;
    struct duet *on_end; // the duet whose blocks follow each other directly until it has enough
                         // pairs; NULL: none
    size_t on_end_until;
    size_t open;
    bool full;        // the child has no room for another duet until one is closed
    bool mixed;       // this child has played duets other than suspects
    bool pressed;     // the remaining time belongs to the alarms
    bool lost;        // a command failed because the device is gone
    bool left;        // the player has stopped
    bool waits;       // it waits for work that other players may leave
    uint32_t renewed; // the value of table->stalls when it last ended its child
    double start_s;   // how long a child takes to start
};

// Times of a set of duets, measured by `now`.
struct duets_time {
    double begun_s; // when the first duet was opened
    double start_s; // how long a child takes to start
    double now_s;
};

// ---- time ----
//
// An alarm that is not confirmed is no verdict, so the time for confirmation is reserved: for as
// many pairs as the evidence so far makes likely (gate_confirmation_pairs()), at the pace of the
// pairs so far, and for starting the further processes. A slowdown of 20 % is clear after 16 pairs.
// Without a reserve, series near their margin used up the time, and the slowdown stayed undecided.
// A change that shows late leaves no time for processes of its own. But pairs of all processes
// count together, so going on in a fresh process at half of the time costs little: a change that
// shows then has been seen in two processes.

// A little more than the estimate, so that it is enough.
static const double room = 1.25;

static int player_failed(struct player *p, struct duet *d, const struct bench_outcome *outcome,
                         struct error *err);
static void part_all(struct player *p);

// The seconds that opening a duet in a process takes.
static double open_s(const struct duet *d)
{
    return (d->wall_s - d->play_s) / (double)d->visit_count;
}

static size_t units_of(const struct duets *duets)
{
    return duets->units ? duets->units : 1;
}

// The seconds that must be reserved for alarms. All alarms share the further processes, and each is
// opened in all of them. Equal units share the alarms.
static double reserve_s(const struct duets *duets, double start_s)
{
    double sum_s = 0;
    uint32_t further = 0;
    for (size_t i = 0; i < duets->count; i++) {
        const struct duet *d = &duets->items[i];
        if (d->place == DUET_OVER || d->confirm_pairs == 0)
            continue;
        const uint32_t left = d->gate.policy.processes - d->gate.processes;
        sum_s += left * open_s(d) + d->confirm_pairs * d->play_s / (double)d->fed;
        further = left > further ? left : further;
    }
    return room * (sum_s / (double)units_of(duets) + further * start_s);
}

// Counts the open duets without an alarm. *begun: each of them has had the pairs that
// any decision needs.
static size_t count_others(bool *begun, const struct duets *duets)
{
    size_t others = 0;
    *begun = true;
    for (size_t i = 0; i < duets->count; i++) {
        const struct duet *d = &duets->items[i];
        if (d->place != DUET_OPEN || d->confirm_pairs)
            continue;
        others++;
        *begun &= d->judged && d->gate.pairs >= d->gate.policy.min_pairs;
    }
    return others;
}

// Whether duets without an alarm must be closed: the time up to the deadline is no more than the
// alarms need, or the first process has had half of the time.
static bool duets_pressed(const struct duets *duets, const struct duets_time *time)
{
    bool begun;
    if (!(duets->deadline_s > 0) || count_others(&begun, duets) == 0)
        return false;
    const double needed_s = reserve_s(duets, time->start_s);
    const double left_s = duets->deadline_s - time->now_s;
    const bool half = time->now_s - time->begun_s > left_s;
    return (needed_s > 0 && needed_s > left_s) ||
           (duets->processes <= units_of(duets) && begun && half);
}

// The pairs that a duet plays in this process in any case.
static double least_pairs(const struct duet *d)
{
    const struct gate_series *gate = &d->gate;
    const double here = gate->streams[gate->processes - 1].pairs;
    return d->place == DUET_OPEN ? fmax(0, gate->policy.min_pairs - here) : 0;
}

struct duet_left duet_left(const struct duet *d)
{
    const struct gate_series *gate = &d->gate;
    const double others = gate->policy.processes - gate->processes;
    struct duet_left left = {0};
    if (d->place == DUET_OVER)
        return left;
    if (!d->judged || gate->pairs == 0)
        return (struct duet_left){.seconds = NAN};
    const double pair_s = d->play_s / gate->pairs;
    const double pairs = fmin(fmax(least_pairs(d), d->left.pairs), gate->capacity - gate->pairs);
    left.processes = d->place == DUET_OPEN ? fmin(others, d->left.processes) : d->left.processes;
    left.least_s = least_pairs(d) * pair_s;
    left.seconds = pairs * pair_s + left.processes * open_s(d);
    return left;
}

// ---- void pairs ----
//
// A time that is shorter than the roofline allows cannot be this kernel's, whatever the stopwatch
// read.

enum { ENOUGH = 32 };

// Excludes such pairs among those that the gate has not been given yet.
static void duet_void_pairs(struct duet *d)
{
    for (size_t i = d->fed; i < d->base_samples.count; i++) {
        struct sample *base = &d->base_samples.items[i], *head = &d->head_samples.items[i];
        if (fmin(base->time_ns, head->time_ns) >= d->least_ns)
            continue;
        base->excluded = head->excluded = 1;
        d->voided++;
    }
}

// Excludes pairs that ran under a hard limit, among those that the gate has not been given yet;
// returns their number.
static size_t duet_limited_pairs(struct duet *d)
{
    size_t limited = 0;
    for (size_t i = d->fed; i < d->base_samples.count; i++) {
        struct sample *base = &d->base_samples.items[i], *head = &d->head_samples.items[i];
        if (((base->throttle | head->throttle) & THROTTLE_LIMITED) == 0)
            continue;
        base->excluded = head->excluded = 1;
        limited++;
    }
    return limited;
}

// Whether so many pairs were void that the others cannot count either.
static bool duet_is_void(const struct duet *d)
{
    return d->voided >= ENOUGH && 2 * (size_t)d->voided > d->base_samples.count;
}

// 64 open duets are enough to spread what a device does over time; more would only use memory. A
// duet that was refused four times for lack of room is not tried beside others again.
enum { OPEN_MOST = 64, FIRST_BLOCK = 8, REFUSALS = 4 };

enum { CLEAR = 2 }; // in margins

static double player_now(const struct player *p)
{
    return p->all->now ? p->all->now(p->all->context) : monotonic_s();
}

// Whether the time is over.
static bool player_late(const struct player *p)
{
    return p->all->deadline_s > 0 && player_now(p) > p->all->deadline_s;
}

// ---- the child; while it works, the other players go on

static void leave(struct player *p)
{
    pthread_mutex_unlock(&p->table->lock);
}

static int back(struct player *p, int status)
{
    pthread_mutex_lock(&p->table->lock);
    p->lost |= status != 0;
    return status;
}

static void end_leaving(struct player *p)
{
    struct bench *leaving = p->leaving;
    if (!leaving)
        return;
    p->leaving = NULL;
    leave(p);
    bench_stop(leaving);
    back(p, 0);
}

static void player_end_child(struct player *p)
{
    if (p->bench && p->leaving)
        end_leaving(p);
    if (p->bench)
        p->leaving = p->bench;
    bench_leave(p->leaving);
    p->bench = NULL;
    p->full = p->mixed = false;
}

// Waits until the previous child is gone, too.
static void player_end_all(struct player *p)
{
    player_end_child(p);
    end_leaving(p);
}

// Adds the time that references took to the deadline, because it does not count.
static void give_time(struct player *p, struct duet *d, const struct bench_outcome *outcome,
                      double elapsed_s)
{
    const double more_s = fmin(outcome->reference_s - d->reference_s, elapsed_s);
    d->reference_s = outcome->reference_s;
    if (p->all->deadline_s > 0 && more_s > 0)
        p->all->deadline_s += more_s / (double)units_of(p->all);
}

static int close_series(struct bench_outcome *out, struct player *p, struct duet *d,
                        struct error *err)
{
    const double begun_s = player_now(p);
    leave(p);
    if (back(p, bench_close(out, p->bench, &d->handle, err)))
        return -1;
    give_time(p, d, out, player_now(p) - begun_s);
    for (int role = ROLE_BASE; role <= ROLE_HEAD; role++)
        d->outcome.memory_bytes[role] =
            fmax(d->outcome.memory_bytes[role], out->memory_bytes[role]);
    return 0;
}

// Notes that the child does not have the duet open.
static void player_take_out(struct player *p, struct duet *d, enum duet_place place)
{
    if (d->place == DUET_OPEN) {
        p->open--;
        p->full = false;
    }
    d->place = place;
}

static int player_finish(struct player *p, struct duet *d, struct error *err)
{
    d->place = DUET_OVER;
    return p->all->over ? p->all->over(p->all->context, d, err) : 0;
}

// ---- open, play, close ----

// Whether the player may open this waiting duet: no other unit owns it.
static bool player_may(const struct player *p, const struct duet *d)
{
    return (!d->only || d->only == p->unit + 1) && (!d->claim || d->claim == p->unit + 1);
}

// How many unclaimed duets a player may have open: its share of what is left. Without this, the
// first unit with a child would open all of them while the others start; and the slowest would hold
// duets that the others could play.
static size_t fair_share(const struct player *p)
{
    size_t left = 0;
    for (size_t i = 0; i < p->all->count; i++)
        left += p->all->items[i].place <= DUET_OPEN;
    return (left + p->table->living - 1) / p->table->living;
}

// Chooses the next duet to open. When time is short, only those with an alarm.
static struct duet *next_to_open(struct player *p)
{
    const size_t most = p->all->open_most ? p->all->open_most : OPEN_MOST;
    const size_t share = fair_share(p);
    const bool closed = p->all->closing_s > 0 && player_now(p) > p->all->closing_s;
    struct duet *suspect = NULL;
    if (p->full || p->open >= most)
        return NULL;
    for (size_t i = 0; i < p->all->count; i++) {
        struct duet *d = &p->all->items[i];
        if (d->place != DUET_WAITS || (p->pressed && !d->confirm_pairs) || !player_may(p, d) ||
            (!d->claim && p->open >= share) || (closed && !d->visit_count))
            continue;
        if (!d->suspect && (d->refusals < REFUSALS || p->open == 0))
            return d;
        if (d->suspect && !suspect)
            suspect = d;
    }
    return p->open == 0 ? suspect : NULL;
}

static int make_child(struct player *p, const struct duet *d, struct error *err)
{
    if (d->suspect && p->mixed)
        player_end_child(p);
    p->mixed |= !d->suspect;
    if (p->bench)
        return 0;
    const double begun_s = player_now(p);
    struct bench *bench = NULL;
    p->process = p->all->processes++;
    leave(p);
    if (back(p, p->all->start(&bench, p->all->context, p->unit, err)))
        return -1;
    p->bench = bench;
    end_leaving(p); // nothing is opened while it still runs
    p->start_s = fmax(p->start_s, player_now(p) - begun_s);
    p->all->start_s = fmax(p->all->start_s, p->start_s);
    return 0;
}

// Notes that the duet is open in this process, and returns the process's number for its samples.
// Numbers must grow with time, because stored samples are read in their order.
static uint16_t visit(struct player *p, struct duet *d)
{
    const struct duet_visit *last = d->visit_count ? &d->visits[d->visit_count - 1] : NULL;
    const bool later = last && last->process >= p->process;
    const uint16_t process = later ? (uint16_t)(last->process + 1) : p->process;
    if (d->visit_count == VISITS_MOST)
        d->visit_count--;
    d->visits[d->visit_count++] = (struct duet_visit){process, (uint8_t)p->unit};
    d->been[p->unit] = (uint16_t)(p->process + 1);
    d->claim = 0;
    return process;
}

static int open_series(struct bench_outcome *out, struct player *p, struct duet *d,
                       struct error *err)
{
    const struct bench_series series = {
        .kernel = d->kernel,
        .problem = d->problem,
        .base = d->base,
        .head = d->head,
        .seed = d->seed,
        .known = d->known,
        .process = visit(p, d),
        // The side that is loaded first changes with each process, so that a place in memory
        // favours neither side.
        .head_first = d->judged && d->gate.processes % 2 == 0,
        .launches = d->launches,
        .pins = {d->pins[ROLE_BASE], d->pins[ROLE_HEAD]},
    };
    leave(p);
    return back(p, bench_open(out, &d->handle, p->bench, &series, err));
}

// Keeps the choice that prepare() made. A kernel that tries which variant is fastest would choose
// anew in each process; all processes repeat the choice of the first, so that all pairs are of
// the same code.
static void keep_choices(const struct player *p, struct duet *d, const struct bench_outcome *opened)
{
    const char *const notes[] = {[ROLE_BASE] = opened->base_note, [ROLE_HEAD] = opened->detail};
    for (int role = 0; role < 2; role++) {
        if (!d->pins[role] && notes[role][0])
            d->pins[role] = arena_strdup(p->all->arena, notes[role]);
    }
}

static int open_duet(struct player *p, struct duet *d, struct error *err)
{
    struct bench_outcome outcome;
    const double begun_s = player_now(p);
    d->place = DUET_OPENS;
    d->unit = p->unit;
    if (make_child(p, d, err))
        return -1;
    if (d->parted && d->judged)
        gate_series_replace_process(&d->gate, p->all->arena);
    d->parted = false;
    d->reference_s = 0;
    if (open_series(&outcome, p, d, err))
        return -1;
    give_time(p, d, &outcome, player_now(p) - begun_s);
    d->wall_s += player_now(p) - begun_s;
    if (outcome.refused && p->open > 0) {
        d->place = DUET_WAITS;
        d->visit_count--;
        p->full = true;
        d->refusals++;
        return 0;
    }
    if (outcome.state != MEASURED_OK)
        return player_failed(p, d, &outcome, err);
    d->outcome = outcome; // its note is the kernel's, e.g. an algorithm's id
    d->launches = d->launches ? d->launches : outcome.launches;
    keep_choices(p, d, &outcome);
    d->place = DUET_OPEN;
    p->open++;
    return 0;
}

// Whether a mix needs more pairs of a duet whose gate is over.
static enum duet_wish wish_of(const struct player *p, const struct duet *d)
{
    if (!p->all->wish || !d->judged || duet_is_void(d) ||
        d->gate.pairs + d->gate.policy.block_pairs > d->gate.capacity)
        return DUET_ENOUGH;
    return p->all->wish(p->all->context, d);
}

// ---- looks ----

// A look ends after so many seconds of pairs. Opening it and preparing the device for its regime
// takes longer than that, and it only has to show a size.
static const double LOOK_S = 0.06;

// Takes a look in one regime, with pairs until nothing is open. *look is its result; its state is
// not ok if it failed. *refused: there was no room, or the regime is not supported.
static int take_look(struct beside *look, bool *refused, struct bench_outcome *outcome,
                     struct player *p, const struct duet *d, struct error *err)
{
    const struct problem problem = problem_in(d->problem, look->regime);
    const struct bench_series series = {.kernel = d->kernel,
                                        .problem = &problem,
                                        .base = d->base,
                                        .head = d->head,
                                        .seed = d->seed,
                                        .known = d->known,
                                        .process = d->visits[d->visit_count - 1].process,
                                        .pins = {d->pins[ROLE_BASE], d->pins[ROLE_HEAD]}};
    struct sample_list base = {0}, head = {0};
    struct bench_handle handle;
    int status = bench_open(outcome, &handle, p->bench, &series, err);
    const bool opened = status == 0 && outcome->state == MEASURED_OK;
    const double opened_s = player_now(p);
    *refused = status == 0 && (outcome->refused || outcome->state == MEASURED_UNSUPPORTED);
    for (uint16_t block = 0;
         status == 0 && outcome->state == MEASURED_OK && block < BESIDE_PAIRS / BESIDE_BLOCK &&
         !beside_enough(look, d->gate.policy.margin) && player_now(p) - opened_s < LOOK_S;
         block++) {
        status = bench_pairs(outcome, &base, &head, p->bench, &handle, BESIDE_BLOCK, block, err);
        beside_take(look, base.items, head.items, base.count);
    }
    struct bench_outcome closed = *outcome;
    if (status == 0 && opened && !outcome->gone)
        status = bench_close(&closed, p->bench, &handle, err);
    if (outcome->state == MEASURED_OK)
        *outcome = closed;
    look->state = outcome->state;
    sample_list_free(&base);
    sample_list_free(&head);
    return status;
}

// Looks once at a duet that is over, while its process still runs.
static int look_beside(struct player *p, struct duet *d, enum regime regime, struct error *err)
{
    struct beside look = {.regime = regime, .log_ratio = interval_unknown};
    struct bench_outcome outcome;
    bool refused;
    const double begun_s = player_now(p);
    leave(p);
    if (back(p, take_look(&look, &refused, &outcome, p, d, err)))
        return -1;
    const double seconds = player_now(p) - begun_s;
    d->looked |= 1u << regime;
    if (!refused && (look.state != MEASURED_OK || isfinite(look.log_ratio.low)))
        d->looks[d->look_count++] = look;
    if (p->all->deadline_s > 0)
        p->all->deadline_s += seconds / (double)units_of(p->all);
    if (p->all->looked)
        p->all->looked(p->all->context, d, regime, seconds);
    if (outcome.gone)
        part_all(p);
    return 0;
}

// Finds the duet of this player that was looked at in fewest regimes.
static struct duet *next_to_look(const struct player *p)
{
    struct duet *next = NULL;
    for (size_t i = 0; i < p->all->count; i++) {
        struct duet *d = &p->all->items[i];
        if (d->to_look && d->unit == p->unit &&
            (!next || __builtin_popcount(d->looked) < __builtin_popcount(next->looked)))
            next = d;
    }
    return next;
}

// Looks at the next duet; *moved: there was one.
static int look(bool *moved, struct player *p, struct error *err)
{
    struct duet *d = next_to_look(p);
    enum regime regime;
    *moved = d != NULL;
    if (!d)
        return 0;
    d->to_look = p->bench && p->all->beside(&regime, p->all->context, d);
    return d->to_look ? look_beside(p, d, regime, err) : 0;
}

static int close_duet(struct player *p, struct duet *d, struct error *err)
{
    struct bench_outcome outcome;
    const double begun_s = player_now(p);
    if (close_series(&outcome, p, d, err))
        return -1;
    d->wall_s += player_now(p) - begun_s;
    if (outcome.state != MEASURED_OK)
        return player_failed(p, d, &outcome, err);
    const bool confirm = d->judged && d->decision.next == GATE_CONFIRM && !duet_is_void(d);
    player_take_out(p, d, DUET_ASIDE);
    d->alarmed |=
        confirm && d->gate.processes <= d->gate.first && d->decision.kind != VERDICT_UNDECIDED;
    d->wished = !confirm && !player_late(p) && wish_of(p, d) != DUET_ENOUGH;
    if (confirm || d->wished)
        return 0;
    d->to_look = p->all->beside && d->judged && !duet_is_void(d) && !player_late(p);
    return player_finish(p, d, err);
}

static double block_seconds(const struct duet *d)
{
    double sum_ns = 0;
    for (size_t i = d->fed; i < d->base_samples.count; i++)
        sum_ns += d->base_samples.items[i].time_ns * d->base_samples.items[i].launches +
                  d->head_samples.items[i].time_ns * d->head_samples.items[i].launches;
    return 1e-9 * sum_ns;
}

// ---- limits ----

enum { REST_FIRST_S = 1, REST_LONGEST_S = 16, REST_MOST_S = 60 };

static void sleep_s(double seconds)
{
    const struct timespec time = {.tv_sec = (time_t)seconds,
                                  .tv_nsec = (long)(fmod(seconds, 1) * 1e9)};
    nanosleep(&time, NULL);
}

// Lets the device of a duet cool down. The end of the gate's time ends this, too.
static void rest(struct player *p, struct duet *d)
{
    double seconds = fmax(d->rest_s, REST_FIRST_S);
    if (p->all->deadline_s > 0)
        seconds = fmin(seconds, p->all->deadline_s - player_now(p));
    if (seconds <= 0)
        return;
    d->rest_s = fmin(2 * seconds, REST_LONGEST_S);
    d->rested_s += seconds;
    leave(p);
    if (p->all->rest)
        p->all->rest(p->all->context, d, seconds);
    else
        sleep_s(seconds);
    back(p, 0);
}

static bool is_rested(const struct player *p, const struct duet *d)
{
    return p->all->deadline_s <= 0 && d->rested_s >= REST_MOST_S;
}

static int feed(struct player *p, struct duet *d, struct error *err)
{
    const size_t limited = duet_limited_pairs(d), taken = d->base_samples.count - d->fed;
    if (!d->judged && limited == taken) { // it has no usable time yet
        d->fed = d->base_samples.count;
        d->decision.next = GATE_MORE;
        rest(p, d);
        return 0;
    }
    if (!d->judged) {
        struct gate_policy policy;
        if (p->all->policy(&policy, p->all->context, d, err))
            return -1;
        gate_series_init(&d->gate, &policy, p->all->arena);
        d->judged = true;
    }
    d->block_s = block_seconds(d);
    duet_void_pairs(d);
    gate_series_add_samples(&d->gate, d->base_samples.items + d->fed,
                            d->head_samples.items + d->fed, d->base_samples.count - d->fed);
    d->fed = d->base_samples.count;
    d->decision = gate_series_decide(&d->gate);
    d->outlook = gate_outlook(&d->gate, &d->decision);
    d->left = gate_left(&d->gate, &d->decision);
    d->confirm_pairs = gate_confirmation_pairs(&d->gate, &d->decision);
    if (limited)
        rest(p, d);
    else
        d->rest_s = 0;
    return 0;
}

// Whether only controls are left. A control shows what disturbs duets that play beside it. Its own
// certainty is of no interest, and a kernel whose pairs scatter would take longer than all others.
static bool is_last_control(const struct player *p, const struct duet *d)
{
    if (!d->control || d->gate.pairs < d->gate.policy.min_pairs)
        return false;
    for (size_t i = 0; i < p->all->count; i++) {
        if (!p->all->items[i].control && p->all->items[i].place <= DUET_OPEN)
            return false;
    }
    return true;
}

static bool wants_more(const struct player *p, const struct duet *d)
{
    if (d->judged && d->decision.next == GATE_MORE && is_last_control(p, d))
        return false;
    const bool more = d->thorough && d->gate.pairs < d->gate.policy.max_pairs;
    if (d->decision.next == GATE_DONE && wish_of(p, d) == DUET_PAIRS)
        return true;
    return (d->decision.next == GATE_MORE || more) && !duet_is_void(d) && !is_rested(p, d);
}

static int play_block(struct player *p, struct duet *d, struct error *err)
{
    struct bench_outcome outcome, closed;
    const double begun_s = player_now(p);
    const uint32_t pairs = d->judged ? d->gate.policy.block_pairs : FIRST_BLOCK;
    const uint16_t block = d->block++;
    leave(p);
    if (back(p, bench_pairs(&outcome, &d->base_samples, &d->head_samples, p->bench, &d->handle,
                            pairs, block, err)))
        return -1;
    d->play_s += player_now(p) - begun_s;
    d->wall_s += player_now(p) - begun_s;
    if (outcome.state == MEASURED_OK) {
        if (feed(p, d, err))
            return -1;
        return wants_more(p, d) ? 0 : close_duet(p, d, err);
    }
    if (!outcome.gone) { // only its memory matters now
        if (close_series(&closed, p, d, err))
            return -1;
        outcome.gone = closed.gone;
    }
    return player_failed(p, d, &outcome, err);
}

// Whether a duet plays its blocks directly one after the other. A kernel's own launches determine
// its clock, which settles after some tenths of a second of them. With blocks in turns, one edit in
// a gate of six series measured -5.7 %, and nothing when it ran alone. So a duet that asks for it
// plays as many pairs in a row as "same" needs at least.
static bool goes_on(const struct player *p)
{
    const struct duet *d = p->on_end;
    return d && d->place == DUET_OPEN && d->unit == p->unit && d->outcome.on_end &&
           d->fed < p->on_end_until;
}

static struct duet *next_to_play(struct player *p)
{
    if (goes_on(p))
        return p->on_end;
    for (size_t i = 0; i < p->all->count; i++) {
        const struct duet *d = &p->all->items[i];
        p->turns[i] = (struct gate_turn){.next = GATE_DONE};
        if (d->place != DUET_OPEN || d->unit != p->unit)
            continue;
        // In every process each duet has its turn before any is preferred.
        p->turns[i] = (struct gate_turn){
            .next = GATE_MORE,
            .pairs = d->judged ? d->gate.streams[d->gate.processes - 1].pairs : 0,
            .min_pairs = d->judged ? d->gate.policy.min_pairs : 1,
            .outlook = d->outlook,
            .block_s = d->block_s,
        };
    }
    const size_t next = gate_next_series(p->turns, p->all->count);
    if (next == SIZE_MAX)
        return NULL;
    p->on_end = &p->all->items[next];
    p->on_end_until = p->on_end->fed + TAIL_PAIRS;
    return p->on_end;
}

// ---- time ----

static bool must_make_way(const struct player *p)
{
    const struct duets_time time = {p->table->begun_s, p->start_s, player_now(p)};
    return !p->pressed && duets_pressed(p->all, &time);
}

// Closes the duets without an alarm; they continue when the alarms are confirmed.
static int make_way(struct player *p, struct error *err)
{
    for (size_t i = 0; i < p->all->count; i++) {
        struct duet *d = &p->all->items[i];
        struct bench_outcome outcome;
        if (d->place != DUET_OPEN || d->unit != p->unit || d->confirm_pairs)
            continue;
        if (close_series(&outcome, p, d, err))
            return -1;
        if (outcome.state == MEASURED_OK)
            player_take_out(p, d, d->judged ? DUET_ASIDE : DUET_WAITS);
        else if (player_failed(p, d, &outcome, err))
            return -1;
    }
    p->pressed = true;
    return 0;
}

static int give_up(struct player *p, struct error *err)
{
    for (size_t i = 0; i < p->all->count; i++) {
        struct duet *d = &p->all->items[i];
        if (d->place == DUET_OPEN && d->unit == p->unit && close_duet(p, d, err))
            return -1;
    }
    return 0;
}

// Whether an alarm is so clear that no further process will refute it.
static bool is_clear(const struct duet *d)
{
    if (d->place == DUET_OVER || !d->judged || d->confirm_pairs == 0)
        return false;
    const struct interval seen = gate_series_interval(&d->gate);
    return seen.low > CLEAR * d->gate.policy.margin || seen.high < -CLEAR * d->gate.policy.margin;
}

// Extends the time once, if something clear only needs confirmation.
static bool extend(struct player *p)
{
    bool clear = false;
    const double most_s = p->all->deadline_s - p->table->begun_s;
    for (size_t i = 0; i < p->all->count; i++)
        clear |= is_clear(&p->all->items[i]);
    if (!clear || p->table->extended)
        return false;
    p->table->extended = true;
    p->all->deadline_s = player_now(p) + fmin(reserve_s(p->all, p->start_s), most_s);
    return true;
}

// Does one step. *moved: it did something; otherwise nothing is left that it could open or play.
// When the time is over it closes its open duets.
static int player_move(bool *moved, struct player *p, struct error *err)
{
    struct duet *d = NULL;
    int status = 0;
    *moved = true;
    if (player_late(p) && !extend(p))
        return give_up(p, err);
    if (must_make_way(p))
        status = make_way(p, err);
    else if ((d = next_to_open(p)))
        status = open_duet(p, d, err);
    else if ((d = next_to_play(p)))
        status = play_block(p, d, err);
    else
        status = look(moved, p, err);
    if (status == 0 && d && p->all->played)
        p->all->played(p->all->context, p->all, d);
    return status;
}

// ---- trouble ----
//
// What happens to the duets that were open in a child that died or beside a wrong result, and which
// of them are tried again alone (duets.h, "Trouble").

// The child is dead: the duets that were open in it continue in another.
static void part_all(struct player *p)
{
    player_end_child(p);
    for (size_t i = 0; i < p->all->count; i++) {
        struct duet *d = &p->all->items[i];
        if (d->place != DUET_OPEN || d->unit != p->unit)
            continue;
        d->place = DUET_WAITS;
        d->parted = true;
    }
    p->open = 0;
}

static void suspect_kernel(struct player *p, const char *kernel)
{
    for (size_t i = 0; i < p->all->count; i++) {
        if (strcmp(p->all->items[i].kernel, kernel) == 0)
            p->all->items[i].suspect = true;
    }
}

// Handles a duet whose command ended with `outcome`, which is not ok. The child does not have it
// open any more. The duet is finished, or may be tried again.
static int player_failed(struct player *p, struct duet *d, const struct bench_outcome *outcome,
                         struct error *err)
{
    const bool beside = p->open > (d->place == DUET_OPEN);
    const bool doubtful = outcome->state == MEASURED_CRASHED || outcome->state == MEASURED_WRONG;
    // The first time, the cause may be a person or the machine's lack of memory, and none of these
    // duets.
    const bool outside =
        outcome->gone && !outcome->own_fault && !d->killed && outcome->state == MEASURED_CRASHED;
    const bool faulted = outcome->gone && outcome->faulted && !beside && !d->faulted;
    player_take_out(p, d, DUET_WAITS);
    if (outcome->gone)
        part_all(p);
    const bool again = doubtful && (beside || outside || faulted) && !player_late(p);
    d->killed |= outside;
    d->faulted |= faulted;
    if (outcome->gone || outcome->state == MEASURED_WRONG || again)
        suspect_kernel(p, d->kernel);
    if (again && outcome->state == MEASURED_WRONG) {
        // Whatever the cause, this process did not time the product. Next time the duet is watched
        // for longer.
        d->judged = d->alarmed = false;
        d->fed = d->base_samples.count = d->head_samples.count = 0;
        d->voided = d->confirm_pairs = 0;
        d->thorough = true;
        return 0;
    }
    if (again) {
        d->base_samples.count = d->head_samples.count = d->fed;
        d->parted = true;
        return 0;
    }
    d->outcome = *outcome;
    d->outcome.own_fault &= !beside || outcome->role == ROLE_BASE; // the base was tried alone
    return player_finish(p, d, err);
}

// ---- units ----
//
// Runs all players of a gate's duets, each in a thread of its own; decides which player confirms
// what, and what happens to the duets of a lost device. A single player needs no thread.

// ---- what must still be confirmed

// Continues a duet in a further process. If it may have no more processes, the new one replaces the
// last.
static void go_on(struct duet *d)
{
    if (d->gate.processes < d->gate.policy.processes)
        gate_series_fresh_process(&d->gate);
    else
        d->parted = true;
    d->place = DUET_WAITS;
    d->wished = false;
}

// Whether a duet is aside and may go to this player: it should go to another unit, unless there is
// none.
static bool is_for(const struct player *p, const struct duet *d)
{
    return d->place == DUET_ASIDE && player_may(p, d) &&
           (!d->wished || wish_of(p, d) == DUET_PAIRS) &&
           (p->table->living == 1 || d->only || d->unit != p->unit);
}

static bool been_here(const struct player *p, const struct duet *d)
{
    return p->bench && d->been[p->unit] == p->process + 1;
}

struct aside {
    size_t alarms, fresh; // fresh: number of duets that were not in the present child
    size_t all;
};

static struct aside count_aside(const struct player *p)
{
    struct aside count = {0};
    for (size_t i = 0; i < p->all->count; i++) {
        const struct duet *d = &p->all->items[i];
        if (!is_for(p, d))
            continue;
        const bool alarm = d->confirm_pairs > 0;
        count.alarms += alarm;
        count.all += alarm || !p->pressed;
        count.fresh += (alarm || !p->pressed) && !been_here(p, d);
    }
    return count;
}

// Takes alarms, and undecided duets unless time is short, to be played in a process that is new to
// them: the present one if there are such duets, else a fresh one. With several players, each takes
// a share, so that all end together. A player starts a fresh process only when the others have
// nothing left for it: duets from other players are new to its present process, and each start
// costs as much as many pairs. False: there is nothing to take now.
static bool confirm(struct player *p)
{
    const size_t living = p->table->living;
    struct aside count = count_aside(p);
    const bool eased = p->pressed && !count.alarms;
    if (eased) {
        p->pressed = false;
        count = count_aside(p);
    }
    if (!count.all || (!count.fresh && living > 1 && p->renewed == p->table->stalls))
        return eased;
    if (!count.fresh || living == 1) {
        p->renewed = p->table->stalls;
        player_end_child(p);
        count = count_aside(p); // all of them are new to the next process
    }
    size_t share = (count.fresh + living - 1) / living;
    for (size_t i = 0; i < p->all->count && share; i++) {
        struct duet *d = &p->all->items[i];
        if (!is_for(p, d) || been_here(p, d) || (p->pressed && !d->confirm_pairs))
            continue;
        d->claim = p->unit + 1;
        go_on(d);
        share--;
    }
    return true;
}

// ---- one player

// Wakes all players that wait.
static void tell_all(struct player *p)
{
    struct table *table = p->table;
    for (size_t i = 0; i < table->count; i++)
        table->players[i].waits = false;
    pthread_cond_broadcast(&table->changed);
}

// Whether some waiting player could play something in a fresh process.
static bool is_left(const struct table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        if (!table->players[i].left && count_aside(&table->players[i]).all)
            return true;
    }
    return false;
}

// Waits for duets that other players may leave to this one; false: no player has any left.
static bool wait_for_others(struct player *p)
{
    struct table *table = p->table;
    size_t waiting = 0;
    p->waits = true;
    for (size_t i = 0; i < table->count; i++)
        waiting += table->players[i].waits && !table->players[i].left;
    if (waiting == table->living && is_left(table)) {
        table->stalls++;
        tell_all(p);
        return true;
    }
    table->over |= waiting == table->living;
    if (table->over)
        pthread_cond_broadcast(&table->changed);
    while (p->waits && !table->over)
        pthread_cond_wait(&table->changed, &table->lock);
    return !table->over;
}

// Handles a lost device: its duets continue elsewhere, and those that only it could play are over.
static int lose(struct player *p, const char *why, struct error *err)
{
    for (size_t i = 0; i < p->all->count; i++) {
        struct duet *d = &p->all->items[i];
        if (d->claim == p->unit + 1)
            d->claim = 0;
        if ((d->place == DUET_OPEN || d->place == DUET_OPENS) && d->unit == p->unit) {
            d->base_samples.count = d->head_samples.count = d->fed;
            d->place = DUET_WAITS;
            d->parted = true;
        }
        if (d->only == p->unit + 1 && d->place != DUET_OVER && player_finish(p, d, err))
            return -1;
    }
    if (p->all->lost)
        p->all->lost(p->all->context, p->unit, why);
    return 0;
}

static int play(struct player *p, struct error *err)
{
    for (bool moved = true; !p->table->over;) {
        if (player_move(&moved, p, err))
            return -1;
        if (player_late(p) && !p->open && !extend(p))
            return 0;
        if (moved || confirm(p))
            tell_all(p);
        else if (!wait_for_others(p))
            return 0;
    }
    return 0;
}

static void play_to_the_end(struct player *p)
{
    struct table *table = p->table;
    struct error err;
    pthread_mutex_lock(&table->lock);
    int status = play(p, &err);
    player_end_all(p);
    if (status && p->lost && table->living > 1)
        status = lose(p, err.text, &err);
    if (status && table->status == 0) {
        table->status = -1;
        table->why = err;
    }
    table->over |= status != 0;
    p->left = true;
    table->living--;
    tell_all(p);
    pthread_mutex_unlock(&table->lock);
}

static void *run(void *player)
{
    play_to_the_end(player);
    return NULL;
}

// ---- all

static int play_all(struct table *table, struct error *err)
{
    pthread_t threads[UNITS_MOST];
    bool begun[UNITS_MOST] = {false};
    for (size_t i = 1; i < table->count; i++) {
        struct player *p = &table->players[i];
        begun[i] = pthread_create(&threads[i], NULL, run, p) == 0;
        if (begun[i])
            continue;
        pthread_mutex_lock(&table->lock);
        p->left = true;
        table->living--;
        pthread_mutex_unlock(&table->lock);
    }
    play_to_the_end(&table->players[0]);
    for (size_t i = 1; i < table->count; i++) {
        if (begun[i])
            pthread_join(threads[i], NULL);
    }
    if (table->status)
        *err = table->why;
    return table->status;
}

int duets_play(struct duets *duets, struct error *err)
{
    struct player players[UNITS_MOST];
    const size_t count = duets->units ? duets->units : 1;
    struct table table = {.all = duets,
                          .players = players,
                          .count = count < UNITS_MOST ? count : UNITS_MOST,
                          .lock = PTHREAD_MUTEX_INITIALIZER,
                          .changed = PTHREAD_COND_INITIALIZER};
    table.living = table.count;
    for (size_t i = 0; i < table.count; i++)
        players[i] = (struct player){
            .table = &table,
            .all = duets,
            .unit = i,
            .turns = xcalloc(duets->count + 1, sizeof(*players[i].turns)),
        };
    table.begun_s = player_now(&players[0]);
    int status = play_all(&table, err);
    for (size_t i = 0; status == 0 && i < duets->count; i++) {
        if (duets->items[i].place != DUET_OVER)
            status = player_finish(&players[0], &duets->items[i], err);
    }
    for (size_t i = 0; i < table.count; i++)
        free(players[i].turns);
    return status;
}
