// SPDX-License-Identifier: Apache-2.0
//
// A part is the share of one task where several machines measure one gate, study or range
// (ci/fleet, a CI matrix). The share follows from the part's number alone, so that a task that runs
// again does the same.
#ifndef PLUMB_PART_H
#define PLUMB_PART_H

#include "baselines/store.h"
#include "ci/gate/task_list.h"
#include "ci/settings/context.h"

struct work_part {
    uint32_t number, count; // 1 to count; count 0: all of the work
};

// Parses "3/8". -1: the text has no such form, or there are more than 100,000 parts.
int part_parse(struct work_part *out, const char *text);

// Whether item `at` (0-based) of a list is this part's. Neighbours go to different parts, and every
// round begins with another one, so that the largest problem of each kernel does not always meet
// the same part.
bool part_has(const struct work_part *part, size_t at);

// This part's stretch of `count` items in a row, from *first to before *end; it may be empty.
void part_stretch(size_t *first, size_t *end, const struct work_part *part, size_t count);

// Leaves this part's tasks in the list and their results in the run; compared tasks are shared out
// apart from the others. The run notes the part and a stamp of all tasks with their code ids: parts
// of one gate have the same stamp. A whole is left as it is.
void part_take(struct task_list *tasks, struct run *run, const struct work_part *part);

// The note that a partial run keeps in its policy's text; false: the run is no part.
struct part_note {
    struct work_part part;
    uint64_t stamp;
};

bool part_note_read(struct part_note *out, const struct run *run);

// Notes it behind the run's policy.
void part_note_write(struct run *run, const struct part_note *note);

// The policy and the other notes of a run that is a part, in `arena`.
const char *part_policy(const struct run *run, struct arena *arena);

// ---- parts in a store ----
//
// The parts of one gate or study, as runs of a store that their shards were merged into.

struct part_run {
    struct run run;
    char uid[STORE_UID_TEXT]; // "": this part is missing
};

struct part_runs {
    struct part_run *items; // by number, from 0
    uint32_t count;         // of the whole
    size_t missing;
    uint64_t stamp; // of the plan
};

// The runs that are wanted: of this kind, of these commits unless NULL, by these toolchains.
struct pieces_wanted {
    enum run_kind kind;
    const char *base, *head;
    const char *toolchain[2]; // by enum sample_role; NULL: the default
};

// Reads the parts. A part that is there twice counts once: the run that began first counts, in
// whatever order the shards were merged. -1: the store cannot be read, or has no part or parts of
// two plans. The caller pieces_free()s it, also after a failure.
int pieces_read(struct part_runs *out, const char *path, const struct pieces_wanted *wanted,
                struct error *err);

void pieces_free(struct part_runs *pieces);

// The numbers of the parts that are missing: "3, 5".
const char *pieces_missing(const struct part_runs *pieces, struct arena *arena);

// The text of the joined run's policy: the policy and notes of its parts, a note that there was no
// sandbox where one part says so, and the ids of the runs that were joined.
const char *pieces_policy(const struct part_runs *pieces, struct arena *arena);

// Whether `store` has the whole already: *run_id is not 0. Its parts may be joined any number of
// times.
int pieces_stored(int64_t *run_id, struct store *store, const struct run *whole, struct error *err);

// ---- the whole of them ----
//
// Parts of a gate back into one run: their results side by side, each with the verdict that its
// series has by itself. What needs all of them (release_alarms(), conclude.h) comes afterwards.

struct joined {
    uint32_t parts;      // of the whole
    const char *missing; // their numbers, "3, 5"; "" when all are there. In the run's arena
    int64_t stored;      // the run that the context's store has of them already; 0: none
};

// Fills `run`, begun for the gate of its base and head, with what its parts in the store at `path`
// found, and the context's devices with theirs. -1 as pieces_read().
int joining_read(struct joined *out, struct run *run, struct context *context, const char *path,
                 struct error *err);

#endif
