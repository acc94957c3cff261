// SPDX-License-Identifier: Apache-2.0
//
// What the files of a series share: its state, a turn, and the expected output.
//
// A turn is the taking of one pair, or of one sample of the head alone, with contents that no
// launch has seen. Before each sample the outputs of both sides are filled with noise that could be
// a product. After it, everything that a launch wrote is digested; the two sides of a pair must
// agree.
// In turns that nobody can know beforehand the contents have a known product, and an output is
// compared with the reference, element by element. A wrong launch is remembered until the series is
// closed, so that nobody learns before in which sample it was.
#ifndef PLUMB_SERIES_PARTS_H
#define PLUMB_SERIES_PARTS_H

#include "kernels/bench/arm.h"
#include "kernels/bench/buffers.h"
#include "kernels/bench/series.h"

// ---- exact.c ----
//
// The expected output of a series: from the device's reference for plain problems, from that for
// forms, or, if the kernel is no GEMM, from its library's own. In a pair the base's library
// computes it, so that a change cannot bring its own reference.

struct exact;

// The sources of a reference. `arm` is only asked for problems of named integers.
struct exact_source {
    const struct device_ops *ops;
    struct device_base *device;
    const struct problem *problem;
    struct arm *arm;
    const char *of;                     // the arm's file, its kernel and the problem, as lines
    const struct plumb_buffers *stated; // the buffers as the arm states them
};

// Computes the expected output from the present inputs of a set. `seed` is that of these inputs, if
// they are exactly the seed's; the result is then kept for other series. NULL: only this series has
// such inputs. The caller frees. With `out` NULL, a library that computes the result may begin; the
// caller that opens it later waits for the end.
int exact_open(struct exact **out, const struct exact_source *source, struct buffers *buffers,
               uint32_t set, const uint64_t *seed, struct error *err);
// Compares a set's output with the expected one. `signs` is that of device_ops' compare.
int exact_compare(struct comparison *out, const struct exact *exact, const struct buffers *buffers,
                  uint32_t set, const struct inputs_signs *signs, double tolerance,
                  struct error *err);
void exact_free(struct exact *exact); // NULL is allowed

// The most by which one element may differ at this tolerance, in its own units.
double exact_allowed(const struct exact *exact, double tolerance);

// ---- a turn ----

// How samples are taken in a regime.
struct manner {
    enum flush flush;
    bool each;    // every launch alone, with a flush of its own before it
    bool runup;   // launches in one stretch, after some that are not timed
    bool quiet;   // the device rests for a moment before a launch
    bool still;   // the same rest, before the sample, after everything was written for it
    bool touched; // A and C are brought into the cache after the flush
    bool heated;  // power and clock are settled before
    bool again;   // each launch runs twice: once untimed, and then on fresh contents
};

struct turn {
    uint64_t key;
    bool known;            // the reference belongs to these contents, apart from signs
    bool half;             // the first side's digests exist
    bool whole;            // all inputs must be written, because they hold no noise yet
    bool stays;            // the inputs are not written before a sample
    bool renewed;          // the contents for the next sample are written already
    bool disturbed;        // a library worked while it had to stand still, so the turn does not
                           // count
    uint32_t strays;       // strays of both libraries before the turn
    enum sample_role role; // the side that the last sample timed
    struct findings findings;
};

struct timed_series {
    const struct device_ops *ops;
    struct device_base *device;
    struct series_spec spec;
    struct arm arms[2]; // by enum sample_role
    struct buffers buffers;
    struct buffers apart;      // the base's own buffers, if spec.apart is set
    struct captured *captured; // NULL: the series has buffers and a reference
    struct parts parts;
    struct exact_source source;
    char *source_of;
    struct exact *reference;
    double allowed; // how much one element may differ, in its own units
    void *digests;  // digests of the first side of a pair; NULL without a base
    double tolerance, error;
    double reference_s;   // seconds that its references took
    struct manner manner; // how samples are taken in its regime
    uint64_t kin;         // equal in series of one kernel, problem and regime; never 0
    uint32_t runup, launches, next_pair;
    bool graphs;               // a stream's launches are queued as graphs
    uint32_t heats, heat_sets; // launches before a sample, and their sets, which come after all
                               // others
    struct noise fresh[2];     // the noise in the operands of all other sets, which is checked
    struct turn turn;
    uint64_t turns;            // number of turns that have begun
    uint64_t checks;           // number of checks on contents that no turn had
    uint32_t looked_at;        // number of timed launches of each side whose output was checked
    struct series_state found; // MEASURED_OK as long as no timed launch was wrong
};

extern const char *const series_role_names[2];
static inline struct buffers *series_buffers(struct timed_series *s, enum sample_role role)
{
    return s->spec.apart && role == ROLE_BASE ? &s->apart : &s->buffers;
}
// Fills the buffers with the numbers of the reference, with signs drawn from `key` (0: none).
int series_known(struct timed_series *series, uint64_t key, struct error *err);

// Begins a turn: of a pair, or of one sample (`alone`).
int series_turn(struct timed_series *series, bool alone, struct error *err);
// Takes one sample of a turn.
int series_take(struct sample *out, struct timed_series *series, enum sample_role role,
                uint32_t launches, struct error *err);
// Compares the C of a set with the reference. Returns 0, 1 (the state says what is wrong; its text
// begins with `when`) or -1.
int series_hold(struct timed_series *series, enum sample_role role, uint32_t set, const char *when,
                struct series_state *state, struct error *err);

// ==== captured series ====
//
// The memory of a captured series: what a program's allocations held before its launches, the same
// for both builds. There is no reference. A result is correct if it equals the base's on these
// contents, bit by bit or within the record's tolerance. What a launch changes is restored before
// the next one.

struct captured;

// Prepares one set with the base's contents (the head's if there is no base), binds both arms to
// it, runs both and compares their results. Returns 0, 1 (the state says what is wrong) or -1. The
// caller frees, also after a failure.
int captured_open(struct captured **out, struct arm arms[2], struct series_state *state,
                  struct error *err);
void captured_free(struct captured *captured); // NULL is allowed
// Makes as many sets as that many launches need, if memory allows.
int captured_grow(struct captured *captured, uint32_t launches, struct error *err);
uint32_t captured_sets(const struct captured *captured);
// Whether launches may follow each other on one set, because a second one computes the same.
bool captured_repeats(const struct captured *captured);
// Restores what the role's launches have changed in the first `sets` sets. *beside: the number of
// kernels that this and captured_hold() queue, beyond the noise and the look of another series
// (struct batch).
int captured_restore(int32_t *beside, struct captured *captured, enum sample_role role,
                     uint32_t sets, struct error *err);
// Compares the present content of a set with what the base computes. Returns 0, 1 or -1; the text
// begins with `when`.
int captured_hold(struct captured *captured, enum sample_role role, uint32_t set, const char *when,
                  struct series_state *state, struct error *err);
// Launches each arm once and compares both, as captured_open() did.
int captured_check(struct captured *captured, struct series_state *state, struct error *err);
// The largest difference seen, and the allowed one, both relative to the largest result.
void captured_errors(double *seen, double *allowed, const struct captured *captured);

// ==== what a kernel may not change ====
//
// The parts of its output that a kernel may not change: gaps between rows, which a leading
// dimension makes, and rows that belong to no group, which are zeros. For an output without these
// nothing is done.
//
// Rows are kept in chunks: all of them, or for outputs of gigabytes as many as can be read back in
// some hundredths of a second. In the latter case the seed draws other rows for each check; half of
// them lie directly after a group, where a tile that was not cut off ends.

enum { UNTOUCHED_CHUNK = 64, UNTOUCHED_BYTES = 64 << 20 }; // rows; bytes of all sets together

struct untouched_chunk {
    int64_t row;
    int32_t count;
    bool used; // the rows are multiplied, so only the gaps between them are kept
};
struct untouched {
    struct untouched_chunk *chunks; // sorted by row
    size_t count;
    unsigned char **before; // of each set, chunk by chunk; NULL: there is nothing to keep
    uint32_t sets;
};
// Keeps the outputs of all sets as they are, between poisoning and the launch.
int untouched_keep(struct untouched *out, struct buffers *buffers, struct error *err);
// Compares an output with what was kept, and frees that. *row is the row of the first change; -1:
// there is none.
int untouched_hold(int64_t *row, struct untouched *kept, struct buffers *buffers,
                   struct error *err);
// Chooses, by this seed, the rows that are kept, for a problem with that many sets. The caller
// frees the chunks.
size_t untouched_choose(struct untouched_chunk **out, const struct problem *problem, int64_t rows,
                        size_t pitch_bytes, uint32_t sets, uint64_t seed);

#endif
