// SPDX-License-Identifier: Apache-2.0
//
// The parts of one gate or study, as runs of a store that their shards were merged into.
#ifndef PLUMB_PIECES_H
#define PLUMB_PIECES_H

#include "baselines/store.h"
#include "ci/gate/part.h"

struct piece {
    struct run run;
    char uid[STORE_UID_TEXT]; // "": this part is missing
};
struct pieces {
    struct piece *items; // by number, from 0
    uint32_t count;      // of the whole
    size_t missing;
    uint64_t stamp; // of the plan
};

// What is wanted: runs of this kind, of these commits unless they are NULL, by these toolchains.
struct pieces_wanted {
    enum run_kind kind;
    const char *base, *head;
    const char *toolchain[2]; // by enum sample_role; NULL: the default
};
// A part that is there twice counts once: the one that began first, whatever the order in which the
// shards were merged. -1: the store cannot be read, has no such part, or has parts of two plans.
// The caller pieces_free()s it, also after a failure.
int pieces_read(struct pieces *out, const char *path, const struct pieces_wanted *wanted,
                struct error *err);
void pieces_free(struct pieces *pieces);

// The numbers of those that are missing, "3, 5".
const char *pieces_missing(const struct pieces *pieces, struct arena *arena);
// The policy and the notes of the whole: those of its parts, the sandbox's absence if one says so,
// and of which runs it was made.
const char *pieces_policy(const struct pieces *pieces, struct arena *arena);

// Whether `store` has the whole already: *run_id is not 0. Its parts may be joined any number of
// times.
int pieces_stored(int64_t *run_id, struct store *store, const struct run *whole, struct error *err);

#endif
