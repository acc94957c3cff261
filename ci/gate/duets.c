// SPDX-License-Identifier: Apache-2.0
//
// A player's moves with its bench: whose block is next, and what is closed to make room. What a
// dead child costs is duets_trouble.c; confirmation in other processes, and several players, are
// duets_units.c. When a series is decided is the business of model/gate/gate.c.
#include "ci/gate/duets_player.h"
#include "ci/gate/duets_time.h"
#include "ci/gate/duets_void.h"
#include "ci/settings/progress.h"

#include <math.h>
#include <string.h>

// 64 at once are enough to mix what a device does over time; more would only hold memory. What was
// refused four times for want of room is not tried again beside others.
enum { OPEN_MOST = 64, FIRST_BLOCK = 8, REFUSALS = 4 };

double player_now(const struct player *p)
{
    return p->all->now ? p->all->now(p->all->context) : monotonic_s();
}

bool player_late(const struct player *p)
{
    return p->all->deadline_s > 0 && player_now(p) > p->all->deadline_s;
}

// ---- the child, beside which the others go on

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

void player_end_child(struct player *p)
{
    if (p->bench && p->leaving)
        end_leaving(p);
    if (p->bench)
        p->leaving = p->bench;
    bench_leave(p->leaving);
    p->bench = NULL;
    p->full = p->mixed = false;
}

void player_end_all(struct player *p)
{
    player_end_child(p);
    end_leaving(p);
}

static int close_series(struct bench_outcome *out, struct player *p, struct duet *d,
                        struct error *err)
{
    leave(p);
    return back(p, bench_close(out, p->bench, &d->handle, err));
}

void player_take_out(struct player *p, struct duet *d, enum duet_place place)
{
    if (d->place == DUET_OPEN) {
        p->open--;
        p->full = false;
    }
    d->place = place;
}

int player_finish(struct player *p, struct duet *d, struct error *err)
{
    d->place = DUET_OVER;
    return p->all->over ? p->all->over(p->all->context, d, err) : 0;
}

// ---- open, play, close ----

bool player_may(const struct player *p, const struct duet *d)
{
    return (!d->only || d->only == p->unit + 1) && (!d->claim || d->claim == p->unit + 1);
}

// How many of those that nobody has claimed a player has open at most: its share of what is left.
// The first of many units to have a child would else open all while the others start, and who is
// behind at the end would hold what the others could play.
static size_t fair_share(const struct player *p)
{
    size_t left = 0;
    for (size_t i = 0; i < p->all->count; i++)
        left += p->all->items[i].place <= DUET_OPEN;
    return (left + p->table->living - 1) / p->table->living;
}

// While time presses, only what has an alarm.
static struct duet *next_to_open(struct player *p)
{
    const size_t most = p->all->open_most ? p->all->open_most : OPEN_MOST;
    const size_t share = fair_share(p);
    struct duet *suspect = NULL;
    if (p->full || p->open >= most)
        return NULL;
    for (size_t i = 0; i < p->all->count; i++) {
        struct duet *d = &p->all->items[i];
        if (d->place != DUET_WAITS || (p->pressed && !d->confirm_pairs) || !player_may(p, d) ||
            (!d->claim && p->open >= share))
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
    end_leaving(p); // nothing is opened beside it
    p->start_s = fmax(p->start_s, player_now(p) - begun_s);
    return 0;
}

// Numbered as the child is, or later than where it was before: what is stored is read in this
// order.
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
        .process = visit(p, d),
        // Placement must not decide.
        .head_first = d->judged && d->gate.processes % 2 == 0,
        .launches = d->launches,
    };
    leave(p);
    return back(p, bench_open(out, &d->handle, p->bench, &series, err));
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
    if (open_series(&outcome, p, d, err))
        return -1;
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
    d->outcome = outcome; // its note is the kernel's, e.g. the algorithm id
    d->launches = d->launches ? d->launches : outcome.launches;
    d->place = DUET_OPEN;
    p->open++;
    return 0;
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
    return confirm ? 0 : player_finish(p, d, err);
}

static double block_seconds(const struct duet *d)
{
    double sum_ns = 0;
    for (size_t i = d->fed; i < d->base_samples.count; i++)
        sum_ns += d->base_samples.items[i].time_ns * d->base_samples.items[i].launches +
                  d->head_samples.items[i].time_ns * d->head_samples.items[i].launches;
    return 1e-9 * sum_ns;
}

static int feed(struct player *p, struct duet *d, struct error *err)
{
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
    return 0;
}

static bool wants_more(const struct duet *d)
{
    const bool more = d->thorough && d->gate.pairs < d->gate.policy.max_pairs;
    return (d->decision.next == GATE_MORE || more) && !duet_is_void(d);
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
        return wants_more(d) ? 0 : close_duet(p, d, err);
    }
    if (!outcome.gone) { // only its memory matters now
        if (close_series(&closed, p, d, err))
            return -1;
        outcome.gone = closed.gone;
    }
    return player_failed(p, d, &outcome, err);
}

static struct duet *next_to_play(struct player *p)
{
    for (size_t i = 0; i < p->all->count; i++) {
        const struct duet *d = &p->all->items[i];
        p->turns[i] = (struct gate_turn){.next = GATE_DONE};
        if (d->place != DUET_OPEN || d->unit != p->unit)
            continue;
        // In every process each has its turn before any is preferred.
        p->turns[i] = (struct gate_turn){
            .next = GATE_MORE,
            .pairs = d->judged ? d->gate.streams[d->gate.processes - 1].pairs : 0,
            .min_pairs = d->judged ? d->gate.policy.min_pairs : 1,
            .outlook = d->outlook,
            .block_s = d->block_s,
        };
    }
    const size_t next = gate_next_series(p->turns, p->all->count);
    return next == SIZE_MAX ? NULL : &p->all->items[next];
}

// ---- time ----

static bool must_make_way(const struct player *p)
{
    const struct duets_time time = {p->table->begun_s, p->start_s, player_now(p)};
    return !p->pressed && duets_pressed(p->all, &time);
}

// What has no alarm is closed, and goes on when the alarms are confirmed.
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

int player_move(bool *moved, struct player *p, struct error *err)
{
    struct duet *d = NULL;
    int status = 0;
    *moved = true;
    if (player_late(p))
        return give_up(p, err);
    if (must_make_way(p))
        status = make_way(p, err);
    else if ((d = next_to_open(p)))
        status = open_duet(p, d, err);
    else if ((d = next_to_play(p)))
        status = play_block(p, d, err);
    else
        *moved = false;
    if (status == 0 && d && p->all->played)
        p->all->played(p->all->context, p->all, d);
    return status;
}
