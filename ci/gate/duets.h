// SPDX-License-Identifier: Apache-2.0
//
// Many series, one bench per device: plays all duets of a gate, or of a study's round, on one
// device or on several equal ones side by side.
//
// A process opens as many duets at once as have room in it and plays them block by block; the next
// block goes where gate_next_series() says. Where the stopwatch wants a series' blocks on end,
// TAIL_PAIRS of its pairs are played, or until it has decided, before another has its turn. What
// has decided is closed, and makes room for another.
// Alarms, and what is open when its budget is spent, wait until all have been played; then they are
// confirmed together, in one further process for all of them (memory allocated anew, modules loaded
// the other way round, launches per sample as in the first), and in as many of those as the policy
// wants or it takes.
//
// Time. What references take is none of it: the deadline moves by as much. When what is left of it
// is what the alarms need to be confirmed, the others make way: they are closed, keep their pairs,
// and go on when all alarms are. And the first process gets half of the time at most, so that what
// it cannot decide is asked again in another one. When the time ends while an alarm far beyond its
// margin is being confirmed, it goes on for what that takes, once, and for as long again at most.
//
// Trouble. A child that dies or hangs does so in the command of one duet, and that one is known.
// The others are opened again in a fresh child and keep their pairs. Since all share an address
// space and a device's memory, a crash or a wrong result beside others may be another's doing: such
// a duet, and those of the same kernel, are tried again alone in a fresh process, and only what
// fails alone is believed. A hang is believed at once, for it costs its whole time limit. A fault
// of a device may be a neighbour's on it: what faulted alone is believed when it faults alone
// again.
//
// Limits. A pair under a hard limit (heat, a power brake) says nothing of a change: it is excluded.
// A block with such pairs is followed by a rest, longer each time, as long as the time lasts; where
// there is no end of it, a minute in all. What is still limited then has been judged by what was
// not.
//
// Wishes. What is decided may still be wanted, for a question that several series answer together
// (a mix). It waits aside like an alarm until all have been played, and then gives pairs while it
// is wanted, there is room for them, and the time lasts.
//
// Looks. What is over may be looked at in other regimes, by a few pairs each, when nothing is left
// to play in the process that it was in last; all in one regime before
// the next, for a device that must rest or heat for one of them has done so for all. What they take
// is none of the time either.
//
// Units. Each has a child and a thread that talks with it. Who has room takes the next duet, and
// has no more of them open than its share of what is left, so that all end together. What is to be
// confirmed goes to another unit than the one that it was in last; there its process is a fresh one
// for it, whoever else was in it before. A unit whose device is lost leaves its duets to the
// others, and they keep their pairs.
#ifndef PLUMB_DUETS_H
#define PLUMB_DUETS_H

#include "ci/settings/policy.h"
#include "model/gate/gate.h"
#include "model/gate/verdict.h"
#include "runner/bench/measure.h"

#include <pthread.h>

enum { VISITS_MOST = 16 };

// DUET_OPENS: a unit is just opening it. DUET_ASIDE: it waits for another process.
enum duet_place { DUET_WAITS, DUET_OPENS, DUET_OPEN, DUET_ASIDE, DUET_OVER };

// What to do with a decided duet: end it, ask again when other duets know more, or play more pairs.
enum duet_wish { DUET_ENOUGH, DUET_LATER, DUET_PAIRS };

// A process that a duet was open in: the number its samples have there, and whose it was.
struct duet_visit {
    uint16_t process;
    uint8_t unit;
};

struct duet {
    // Given; the paths are absolute, and base and head may be one file.
    const char *kernel;
    const struct problem *problem;
    const char *base, *head;
    uint64_t seed;
    uint64_t known;  // as bench_series has it
    double least_ns; // a pair with a shorter time is void: no launch can take so little; 0: none
    size_t only;     // on this unit alone, from 1; 0: on any
    bool control;    // of interest beside the others alone: it ends when none of them plays
    void *owner;     // the caller's

    // Found. State not ok: what went wrong, and whose. Not taken: there was no time for it.
    struct bench_outcome outcome;
    struct sample_list base_samples, head_samples; // the caller frees
    bool judged;                                   // the next two are there
    struct gate_series gate;
    struct gate_decision decision;
    bool alarmed;                          // in its first process, confirmed or not
    double wall_s;                         // of its own commands
    double reference_s;                    // of these, since it was opened last
    double play_s;                         // of those among them that measured
    struct duet_visit visits[VISITS_MOST]; // in the order of time; the first has the first samples
    size_t visit_count;
    struct beside looks[REGIMES]; // in other regimes
    size_t look_count;
    uint32_t looked; // a bit of each regime that it was or could not be looked at in
    bool to_look;    // it is over, and may still be looked at

    // The engine's.
    enum duet_place place;
    struct bench_handle handle;
    size_t unit;               // that it is or was open at
    size_t claim;              // the unit, from 1, that confirms it; 0: any may open it
    uint16_t been[UNITS_MOST]; // by unit: the child there that had it last, from 1
    uint32_t launches;         // per sample, as its first process chose
    const char *pins[2];       // what prepare() chose there, by role; NULL: it said nothing
    size_t fed;                // pairs that the gate has seen
    double block_s;            // device time of its last block
    double outlook;            // verdicts that its next block promises
    struct gate_left left;     // pairs and processes that it still takes
    uint32_t confirm_pairs;    // that its alarm still takes to be confirmed
    uint16_t block;
    uint32_t voided;   // pairs
    double rest_s;     // the next rest, where its device is limited
    double rested_s;   // in all
    uint32_t refusals; // for want of room
    bool wished;       // decided, and aside because somebody may want more of its pairs
    bool killed;       // once, from outside: it is given another process
    bool faulted;      // alone, by a fault of its device: likewise
    bool parted;       // its process died under another
    bool suspect;      // to be played alone
    bool thorough;     // it was wrong beside others: the whole budget, whatever it shows
};

struct duets {
    struct duet *items;
    size_t count;
    size_t units;      // equal devices; 0: 1
    size_t open_most;  // at once on each; 0: 64
    double deadline_s; // on the clock of `now`: no new block after it; 0: none. It moves (Time)
    double closing_s;  // on the same clock: none is begun after it; 0: all are
    struct arena *arena;
    void *context;
    double (*now)(void *context); // seconds; NULL: monotonic_s()
    // Starts a fresh child on a unit. Several units may start theirs at once: this is the only
    // callback that runs beside the others.
    int (*start)(struct bench **out, void *context, size_t unit, struct error *err);
    // Asked once per duet, after its first block.
    int (*policy)(struct gate_policy *out, void *context, const struct duet *duet,
                  struct error *err);
    // Asked of a duet that is decided: whether to go on with it; NULL: never.
    enum duet_wish (*wish)(void *context, const struct duet *duet);
    // The next regime that a finished duet is to be looked at in; false: there is no further one.
    // NULL: no duet is looked at.
    bool (*beside)(enum regime *out, void *context, const struct duet *duet);
    // Told of each look, and the seconds that it took; NULL: nobody is.
    void (*looked)(void *context, const struct duet *duet, enum regime regime, double seconds);
    // Told whenever a duet was opened or has played a block; NULL: nobody is.
    void (*played)(void *context, const struct duets *duets, const struct duet *duet);
    // Waits while a duet's device is limited; NULL: sleeps.
    void (*rest)(void *context, const struct duet *duet, double seconds);
    // Told as soon as a duet is over; NULL: nobody is.
    int (*over)(void *context, struct duet *duet, struct error *err);
    // Told of a unit whose device is gone while there are others; NULL: nobody is.
    void (*lost)(void *context, size_t unit, const char *why);
    uint16_t processes; // started
    double start_s;     // that one took to start, the longest
};

// The time and pairs that a duet still needs, estimated from its blocks so far.
struct duet_left {
    double seconds;   // NaN before its first block
    double least_s;   // of these, whatever it shows: all that a control does once it is alone
    double processes; // that it is still to be opened in
};
struct duet_left duet_left(const struct duet *duet);

// Every duet is over when it returns 0. -1: all devices are gone, no child starts, or a callback
// failed.
int duets_play(struct duets *duets, struct error *err);

#endif
