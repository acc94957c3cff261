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

// ==== captured series ====
//
// The memory of a captured series: what a program's allocations held before its launches, for both
// builds the same. There is no reference: right is what the base computes on these contents, bit by
// bit or within the record's tolerance. What a launch changes is restored before the next.

struct captured;

// Whether a record has contents of its own.
bool captured_is(const struct arm *arm);
// Lays out one set with the base's contents (the head's where there is no base), binds both arms to
// it, runs both and holds them to each other. Returns 0, 1 (the state says what is wrong) or -1.
// The caller frees, also after a failure.
int captured_open(struct captured **out, struct arm arms[2], struct series_state *state,
                  struct error *err);
void captured_free(struct captured *captured); // NULL does nothing
// As many sets as so many launches want, where memory allows.
int captured_grow(struct captured *captured, uint32_t launches, struct error *err);
uint32_t captured_sets(const struct captured *captured);
// Whether launches may follow each other on one set: a second one computes the same.
bool captured_repeats(const struct captured *captured);
// Writes what the role's launches have changed in the first `sets` sets. *beside: kernels that this
// queues, and that captured_hold() will, more than the noise and the look of another series (struct
// batch).
int captured_restore(int32_t *beside, struct captured *captured, enum sample_role role,
                     uint32_t sets, struct error *err);
// Holds what a set has now to what the base computes. Returns 0, 1 or -1; `when` comes before what
// is wrong.
int captured_hold(struct captured *captured, enum sample_role role, uint32_t set, const char *when,
                  struct series_state *state, struct error *err);
// Launches each arm once and holds both: as captured_open() did.
int captured_check(struct captured *captured, struct series_state *state, struct error *err);
// The largest difference that was seen, and what is allowed, both over the largest result.
void captured_errors(double *seen, double *allowed, const struct captured *captured);

// ==== what a kernel may not change ====
//
// What a kernel may not change of its output: gaps between rows, which a leading dimension makes,
// and rows that are no group's, which are zeros. Where an output has neither, nothing is done.
//
// Rows are held in chunks, all of them or, of outputs of gigabytes, as many as can be read back in
// some hundredths of a second. Then the seed draws them anew for each check; half are those right
// behind a group, where a tile that is not cut off ends.

enum { UNTOUCHED_CHUNK = 64, UNTOUCHED_BYTES = 64 << 20 }; // rows; of all sets together

struct untouched_chunk {
    int64_t row;
    int32_t count;
    bool used; // the rows are multiplied: only what lies between them is held
};
struct untouched {
    struct untouched_chunk *chunks; // in order of rows
    size_t count;
    unsigned char **before; // of each set, chunk by chunk; NULL: there is nothing to hold
    uint32_t sets;
};
// Keeps the outputs of all sets as they are, between poison and launch.
int untouched_keep(struct untouched *out, struct buffers *buffers, struct error *err);
// *row of an output is that of the first change; -1: there is none. Frees what was kept.
int untouched_hold(int64_t *row, struct untouched *kept, struct buffers *buffers,
                   struct error *err);
// Chooses by this seed the rows that are held, of a problem with so many sets. The caller frees the
// chunks.
size_t untouched_choose(struct untouched_chunk **out, const struct problem *problem, int64_t rows,
                        size_t pitch_bytes, uint32_t sets, uint64_t seed);

#endif
