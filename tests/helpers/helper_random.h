// SPDX-License-Identifier: Apache-2.0
//
// Seeded noise for property tests: the same on every machine. A duet is simulated slot by slot (two
// launches one after the other), then a coin says which build ran first; so drift, correlation and
// a penalty for the second place act as they do on a device.
#ifndef PLUMB_TESTS_HELPER_RANDOM_H
#define PLUMB_TESTS_HELPER_RANDOM_H

#include "model/base.h"
#include "model/gate/gate.h"

struct random {
    uint64_t state;
};
double random_uniform(struct random *random); // in (0, 1)
double random_normal(struct random *random);
bool random_coin(struct random *random);

enum noise {
    NOISE_NORMAL,
    NOISE_T3,      // Student t, 3 degrees of freedom
    NOISE_CAUCHY,  // no mean
    NOISE_AR5,     // AR(1), correlation 0.5 between launches
    NOISE_AR9,     // AR(1), 0.9
    NOISE_DRIFT,   // normal plus 0.05 SD per launch, for ever
    NOISE_BIMODAL, // two states 4 SD apart that last about 20 launches
    NOISE_SKEW,    // exponential: no launch is much too short, many are too long
    NOISE_SPIKES,  // normal, and one launch in 50 is 30 SD late
    NOISE_STEP,    // normal, and 20 SD slower after 61 launches: a clock step inside a pair
    NOISE_BURSTS,  // a neighbour at work: normal, then 5 times noisier and 10 SD slower for a while
    NOISE_KINDS
};
extern const char *const noise_names[NOISE_KINDS];

struct duet {
    struct random random;
    enum noise noise;
    double sd;         // of one launch's log time (scale for Cauchy)
    double log_ratio;  // true log(head / base)
    double second;     // log time added to the second launch of each pair
    double head_sd;    // further normal noise of the head alone: its variance changed
    double level;      // state of correlated noise
    uint64_t launches; // so far
    bool high;         // state of bimodal noise and of bursts
};
struct duet duet_start(enum noise noise, double sd, double log_ratio, uint64_t seed);
// Times of one pair in nanoseconds about 1e6, and which came first.
void duet_pair(struct duet *duet, double *base_ns, double *head_ns, bool *head_first);
double duet_log_ratio(struct duet *duet);

// Samples of a simulated duet, stored as a run would, and judged again from what is stored.

enum { STORED_ROOM = 1024 }; // pairs

struct stored {
    struct sample base_samples[STORED_ROOM], head_samples[STORED_ROOM];
    struct measurement base, head;
    struct arena arena;
};

// None yet; ended by stored_free().
struct stored *stored_new(void);
void stored_free(struct stored *s);

// Adds one pair; the program ends when there is no room.
void store_pair(struct stored *s, double base_ns, double head_ns, bool head_first, uint32_t pair,
                uint32_t process);
// Adds `pairs` of each of so many processes: noise of 0.3 % a launch about this log ratio.
void store_duet(struct stored *s, double log_ratio, uint32_t pairs, uint32_t processes);

// gate_replay() of what is stored; its texts live as long as `s`.
struct verdict stored_judge(struct stored *s, const struct gate_policy *policy);

#endif
