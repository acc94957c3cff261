// SPDX-License-Identifier: Apache-2.0
//
// An alarm that nobody confirms is no verdict, so what confirmation needs is kept for it: the pairs
// that its evidence so far lets one expect (gate_confirmation_pairs()), at the pace of its pairs so
// far, and the starts of the further processes. A slowdown of 20 % is clear after 16 pairs; without
// a reserve, what was near its margin took the rest of the time, and the slowdown stayed undecided.
//
// A change that shows late leaves no time to be confirmed in processes of its own. But pairs of all
// processes count together, so it costs little to go on in a fresh process at half of the time:
// what shows then has been seen in two.
#include "ci/gate/duets_time.h"

#include <math.h>

// A little more than is expected, so that it suffices.
static const double room = 1.25;

// What a duet costs to be opened in a process.
static double open_s(const struct duet *d)
{
    return (d->wall_s - d->play_s) / d->gate.processes;
}

static size_t units_of(const struct duets *duets)
{
    return duets->units ? duets->units : 1;
}

// All alarms share the further processes, and each is opened in all of them. Equal units share the
// alarms.
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

// How many are open without an alarm; `begun`: each of them has had what a decision needs at least.
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

bool duets_pressed(const struct duets *duets, const struct duets_time *time)
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

double duet_left_s(const struct duet *d)
{
    const struct gate_series *gate = &d->gate;
    const struct gate_policy *policy = &gate->policy;
    if (d->place == DUET_OVER)
        return 0;
    if (!d->judged || gate->pairs == 0)
        return NAN;
    const double here = gate->streams[gate->processes - 1].pairs;
    const double least = d->place == DUET_OPEN ? fmax(0, policy->min_pairs - here) : 0;
    const double pairs = fmin(fmax(least, d->left.pairs), gate->capacity - gate->pairs);
    return pairs * d->play_s / gate->pairs + d->left.processes * open_s(d);
}
