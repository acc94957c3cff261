// SPDX-License-Identifier: Apache-2.0
//
// What the files of a series share: its state, a turn, and what its output must be.
//
// A turn is what one pair, or one sample of head alone, is taken on: contents that no launch has
// seen. Before each sample its outputs are filled with noise that might be a product, by both sides
// alike. After it, what every launch wrote is digested; the two sides of a pair must agree. In
// turns that nobody knows beforehand the contents are ones whose product is known, and an output is
// held against the reference, element by element. A wrong launch is remembered until the series is
// closed: which sample it was in is nobody's business before.
#ifndef PLUMB_SERIES_PARTS_H
#define PLUMB_SERIES_PARTS_H

#include "kernels/bench/arm.h"
#include "kernels/bench/buffers.h"
#include "kernels/bench/series.h"

// ---- exact.c ----
//
// What the output of a series must be: by the device's reference of plain problems, by that of
// forms, or, where the kernel is no GEMM, by its library's own. Of a pair the base's library says
// it: a change cannot bring its own truth.

struct exact;

// Where a reference can come from. `arm` is asked for problems of named integers alone.
struct exact_source {
    const struct device_ops *ops;
    struct device_base *device;
    const struct problem *problem;
    struct arm *arm;
    const char *of;                     // that arm's file, its kernel and the problem, in lines
    const struct plumb_buffers *stated; // by that arm
};

// From the inputs of a set as they are. seed: of these inputs, which no other ones have: what is
// known of them is kept for others; NULL: they are nobody else's. The caller frees. out: NULL: a
// library that says it may begin; who opens it later waits for the end of that.
int exact_open(struct exact **out, const struct exact_source *source, struct buffers *buffers,
               uint32_t set, const uint64_t *seed, struct error *err);
// Holds the output of a set against it. signs: as device_ops' compare.
int exact_compare(struct comparison *out, const struct exact *exact, const struct buffers *buffers,
                  uint32_t set, const struct inputs_signs *signs, double tolerance,
                  struct error *err);
void exact_free(struct exact *exact); // NULL does nothing

// The tolerance that comparisons are held to, and by how much one element may be off at most, in
// its own units.
double exact_tolerance(const struct problem *problem);
double exact_allowed(const struct exact *exact, double tolerance);

// ---- a turn ----

// How a regime wants each sample to be taken.
struct manner {
    enum flush flush;
    bool each;    // every launch alone, behind a flush of its own
    bool runup;   // launches in one stretch, behind some that are not timed
    bool quiet;   // the device rests for a moment before a launch
    bool still;   // and before the sample, from all that was written for it
    bool touched; // A and C are brought into the cache behind the flush
    bool heated;  // power and clock are settled before
    bool again;   // each launch once on its set, untimed, and then on fresh contents
};

struct turn {
    uint64_t key;
    bool known;            // the reference is of these contents, but for signs
    bool half;             // the first side's digests are there
    bool whole;            // all of the inputs is written, for they are no noise yet
    bool stays;            // the inputs are not written before a sample
    bool renewed;          // what the next sample wants is written already
    bool disturbed;        // a library worked while it should stand still: nothing of it counts
    uint32_t strays;       // of both libraries, before it
    enum sample_role role; // of the last sample
    struct findings findings;
};

struct timed_series {
    const struct device_ops *ops;
    struct device_base *device;
    struct series_spec spec;
    struct arm arms[2]; // by enum sample_role
    struct buffers buffers;
    struct buffers apart;      // base's own, when spec.apart
    struct captured *captured; // NULL: a series with buffers and a reference
    struct parts parts;
    struct exact_source source;
    char *source_of;
    struct exact *reference;
    double allowed; // how far one element may be off, in its own units
    void *digests;  // of the first side of a pair; NULL without base
    double tolerance, error;
    double reference_s;   // that its references took
    struct manner manner; // of its regime
    uint64_t kin;         // the same in series of one kernel, problem and regime; never 0
    uint32_t runup, launches, next_pair;
    bool graphs;               // a stream's launches are queued as graphs
    uint32_t heats, heat_sets; // launches before a sample, and sets of theirs, behind all others
    struct noise fresh[2];     // what the operands of all others hold, to be looked at
    struct turn turn;
    uint64_t turns;            // begun
    uint64_t checks;           // of contents that no turn had
    uint32_t looked_at;        // timed launches of each side whose output was looked at
    struct series_state found; // MEASURED_OK while no timed launch was wrong
};

extern const char *const series_role_names[2];
struct buffers *series_buffers(struct timed_series *series, enum sample_role role);
// Fills the buffers with the numbers of the reference, with signs drawn from `key` (0: none).
int series_known(struct timed_series *series, uint64_t key, struct error *err);
// Room for the digests of all sets.
int series_make_digests(struct timed_series *series, struct error *err);

// Begins a turn: of a pair, or `alone`.
int series_turn(struct timed_series *series, bool alone, struct error *err);
// One sample of a turn.
int series_take(struct sample *out, struct timed_series *series, enum sample_role role,
                uint32_t launches, struct error *err);
// Holds the C of a set against the reference. Returns 0, 1 (the state says what is wrong; `when`
// comes before it) or -1.
int series_hold(struct timed_series *series, enum sample_role role, uint32_t set, const char *when,
                struct series_state *state, struct error *err);

#endif
