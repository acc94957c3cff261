// SPDX-License-Identifier: Apache-2.0
//
// The memory of a captured series: what a program's allocations held before its launches, for both
// builds the same. There is no reference: right is what the base computes on these contents, bit by
// bit or within the record's tolerance. What a launch changes is restored before the next.
#ifndef PLUMB_BENCH_CAPTURED_H
#define PLUMB_BENCH_CAPTURED_H

#include "kernels/bench/arm.h"

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

#endif
