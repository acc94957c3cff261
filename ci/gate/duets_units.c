// SPDX-License-Identifier: Apache-2.0
//
// All players of a gate's duets: each in a thread of its own, who confirms what, and what becomes
// of a lost device's duets. One player alone needs no thread.
#include "ci/gate/duets_player.h"
#include "ci/settings/progress.h"

#include <stdlib.h>

// ---- what is left to confirm

// In a further process; one that may have no more of them goes on in the last one's place.
static void go_on(struct duet *d)
{
    if (d->gate.processes < d->gate.policy.processes)
        gate_series_fresh_process(&d->gate);
    else
        d->parted = true;
    d->place = DUET_WAITS;
}

// Aside, and for this player: another unit has it, unless there is no other.
static bool is_for(const struct player *p, const struct duet *d)
{
    return d->place == DUET_ASIDE && player_may(p, d) &&
           (p->table->living == 1 || d->only || d->unit != p->unit);
}

static bool been_here(const struct player *p, const struct duet *d)
{
    return p->bench && d->been[p->unit] == p->process + 1;
}

struct aside {
    size_t alarms, fresh; // fresh: it was not in the child at work
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

// Takes alarms, and what is open unless time presses, to be played in a process that is new to
// them: the one at work, where there are such, else a fresh one. A player with sisters takes a
// share, so that all end together, and has a fresh process only when nobody has anything else left:
// what comes from the others may still be new to the one at work, and each start costs as much as
// many pairs. False: there are none now.
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
        count = count_aside(p); // all are new to the next one
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

// Whoever waits looks again.
static void tell_all(struct player *p)
{
    struct table *table = p->table;
    for (size_t i = 0; i < table->count; i++)
        table->players[i].waits = false;
    pthread_cond_broadcast(&table->changed);
}

// Something that one of those who wait could play in a fresh process.
static bool is_left(const struct table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        if (!table->players[i].left && count_aside(&table->players[i]).all)
            return true;
    }
    return false;
}

// For what the others may leave to it; false: nobody has anything left.
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

// Its device is gone: what it had goes on elsewhere, and what it alone could play is over.
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
        const bool late = player_late(p);
        if (player_move(&moved, p, err))
            return -1;
        if (late)
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
