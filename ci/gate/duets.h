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

// DUET_OPENS: a unit is opening the duet now. DUET_ASIDE: the duet waits for another process.
enum duet_place { DUET_WAITS, DUET_OPENS, DUET_OPEN, DUET_ASIDE, DUET_OVER };

// What to do with a duet that is decided: end it, ask again when more is known of other duets, or
// play more pairs.
enum duet_wish { DUET_ENOUGH, DUET_LATER, DUET_PAIRS };

// A process in which a duet was open: its number in the duet's samples, and the unit that it ran
// on.
struct duet_visit {
    uint16_t process;
    uint8_t unit;
};

struct duet {
    // Set by the caller. The paths are absolute; base and head may be the same file.
    const char *kernel;
    const struct problem *problem;
    const char *base, *head;
    uint64_t seed;
    uint64_t known;  // as in bench_series
    double least_ns; // no launch can take less time than this, so a pair with a shorter one is
                     // void; 0: no such limit
    size_t only;     // the one unit, from 1, that may play it; 0: any unit may
    bool control;    // useful only beside other duets: it ends when none of them plays any more
    void *owner;     // a pointer of the caller's

    // Results. If the state is not ok, this says what went wrong on which side. A duet that was not
    // taken got no time.
    struct bench_outcome outcome;
    struct sample_list base_samples, head_samples; // the caller frees
    bool judged;                                   // the next two members are set
    struct gate_series gate;
    struct gate_decision decision;
    bool alarmed;                          // it alarmed in its first process, whether or not the
                                           // alarm was confirmed
    double wall_s;                         // seconds that its own commands took
    double reference_s;                    // of these, seconds for references since it was opened
                                           // last
    double play_s;                         // of these, seconds that measured
    struct duet_visit visits[VISITS_MOST]; // in the order of time; the first one has the first
                                           // samples
    size_t visit_count;
    struct beside looks[REGIMES]; // what it showed in other regimes
    size_t look_count;
    uint32_t looked; // one bit for each regime in which it was looked at, or could not be
    bool to_look;    // it is over, and may still be looked at in other regimes

    // The rest belongs to the engine.
    enum duet_place place;
    struct bench_handle handle;
    size_t unit;               // the unit where it is open, or was last
    size_t claim;              // the unit, from 1, that must confirm it; 0: any unit may open it
    uint16_t been[UNITS_MOST]; // by unit: the number, from 1, of the child there that last had it
    uint32_t launches;         // launches per sample, as its first process chose
    const char *pins[2];       // what prepare() chose in that process, by role; NULL: it told
                               // nothing
    size_t fed;                // pairs that the gate was given
    double block_s;            // device time of its last block
    double outlook;            // number of verdicts that its next block is expected to bring
    struct gate_left left;     // an estimate of the pairs and processes that it still needs
    uint32_t confirm_pairs;    // pairs that confirming its alarm still needs
    uint16_t block;
    uint32_t voided;   // void pairs
    double rest_s;     // how long the next rest is, where its device is limited
    double rested_s;   // how long it has rested in all
    uint32_t refusals; // how often it was refused because there was no room
    bool wished;       // decided and kept aside, because more of its pairs may be wanted
    bool killed;       // it was killed once from outside, and gets another process
    bool faulted;      // a fault of the device hit it while it was alone; it gets another process
    bool parted;       // its process died while another duet was at work
    bool suspect;      // it must be played alone
    bool thorough;     // it was wrong beside others, so it plays its whole budget whatever it shows
};

struct duets {
    struct duet *items;
    size_t count;
    size_t units;      // number of equal devices; 0: 1
    size_t open_most;  // how many duets may be open at once on each; 0: 64
    double deadline_s; // in the time of `now`: no block begins after it; 0: none. It moves (see
                       // Time)
    double closing_s;  // in the time of `now`: no duet begins after it; 0: all of them begin
    struct arena *arena;
    void *context;
    double (*now)(void *context); // seconds; NULL: monotonic_s()
    // Starts a fresh child on a unit. Several units may start theirs at once: this is the only
    // callback that runs beside the others.
    int (*start)(struct bench **out, void *context, size_t unit, struct error *err);
    // Called once for each duet, after its first block.
    int (*policy)(struct gate_policy *out, void *context, const struct duet *duet,
                  struct error *err);
    // Called for a duet that is decided, to ask whether it should go on; NULL: it never goes on.
    enum duet_wish (*wish)(void *context, const struct duet *duet);
    // Asks for the next regime in which a finished duet should be looked at; false: there is no
    // further one. NULL: no duet is looked at in other regimes.
    bool (*beside)(enum regime *out, void *context, const struct duet *duet);
    // Called after each such look with the seconds that it took; may be NULL.
    void (*looked)(void *context, const struct duet *duet, enum regime regime, double seconds);
    // Called whenever a duet was opened or has played a block; may be NULL.
    void (*played)(void *context, const struct duets *duets, const struct duet *duet);
    // Waits while a duet's device is limited; NULL: the engine sleeps.
    void (*rest)(void *context, const struct duet *duet, double seconds);
    // Called as soon as a duet is over; may be NULL.
    int (*over)(void *context, struct duet *duet, struct error *err);
    // Called when the device of a unit is lost and others remain; may be NULL.
    void (*lost)(void *context, size_t unit, const char *why);
    uint16_t processes; // number of processes that were started
    double start_s;     // the longest time that one of them took to start
};

// The time and pairs that a duet still needs, estimated from its blocks so far.
struct duet_left {
    double seconds;   // NaN before its first block
    double least_s;   // of these, the seconds that it takes whatever it shows; a control that is
                      // left alone takes no more
    double processes; // how many processes it still has to be opened in
};
struct duet_left duet_left(const struct duet *duet);

// Plays all duets. When it returns 0, every duet is over. -1: all devices are lost, no child
// starts, or a callback failed.
int duets_play(struct duets *duets, struct error *err);

#endif
