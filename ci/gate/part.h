// SPDX-License-Identifier: Apache-2.0
//
// A part is the share of one task where several machines measure one gate, study or range together
// (ci/fleet, a CI matrix). The share depends on the part's number only, so a task that runs again
// takes the same share.
#ifndef PLUMB_PART_H
#define PLUMB_PART_H

#include "baselines/store.h"
#include "ci/gate/task_list.h"
#include "ci/settings/context.h"

struct work_part {
    uint32_t number, count; // 1 to count; count 0: the work is undivided
};

// Parses "3/8". -1: the text has no such form, or there are more than 100,000 parts.
int part_parse(struct work_part *out, const char *text);

// Whether item `at` (0-based) of a list belongs to this part. Neighbours go to different parts, and
// each round begins with another part; otherwise the largest problem of every kernel could always
// go to the same part.
bool part_has(const struct work_part *part, size_t at);

// This part's share as one stretch of `count` items, from *first to before *end; it may be empty.
void part_stretch(size_t *first, size_t *end, const struct work_part *part, size_t count);

// Removes the other parts' tasks from the list and their results from the run; compared tasks are
// shared out separately. The run notes the part and a stamp of all tasks with their code ids. The
// parts of one gate have the same stamp. Undivided work is left as it is.
void part_take(struct task_list *tasks, struct run *run, const struct work_part *part);

// The note that a partial run keeps in the text of its policy. False: the run is not a part.
struct part_note {
    struct work_part part;
    uint64_t stamp;
};

bool part_note_read(struct part_note *out, const struct run *run);

// Appends the note to the run's policy.
void part_note_write(struct run *run, const struct part_note *note);

// The policy of a partial run with its other notes, without the note of the part; in `arena`.
const char *part_policy(const struct run *run, struct arena *arena);

// ---- parts in a store ----
//
// The parts of one gate or study, as runs of a store into which their shards were merged.

struct part_run {
    struct run run;
    char uid[STORE_UID_TEXT]; // "": this part is missing
};

struct part_runs {
    struct part_run *items; // indexed by the part's number, from 0
    uint32_t count;         // number of parts of the whole
    uint64_t stamp;         // the stamp of the plan
    const char *missing;    // the numbers of the missing parts: "3, 5"
    // The text of the joined run's policy: the policy and the notes of its parts, a note if a part
    // had no sandbox, and the ids of the joined runs.
    const char *policy;
};

// Which runs are wanted: those of this kind, of these commits (NULL: any) and by these toolchains.
struct pieces_wanted {
    enum run_kind kind;
    const char *base, *head;
    const char *toolchain[2]; // by enum sample_role; NULL: the default
};

// Reads the parts. If a part exists twice, the run that began first counts, in whatever order the
// shards were merged. The texts are in the arena. -1: the store cannot be read, has no part, or has
// parts of two plans. The caller calls pieces_free(), also after a failure.
int pieces_read(struct part_runs *out, const char *path, const struct pieces_wanted *wanted,
                struct arena *arena, struct error *err);

void pieces_free(struct part_runs *pieces);

// Looks for the joined run in `store`; *run_id is 0 if it is not there. Parts may be joined any
// number of times.
int pieces_stored(int64_t *run_id, struct store *store, const struct run *whole, struct error *err);

// ---- the parts joined ----
//
// Joins the parts of a gate into one run. Their results stand side by side, each with the verdict
// that its series has by itself. The steps that need all of them (release_alarms(), conclude.h)
// come afterwards.

struct joined {
    uint32_t parts;      // number of parts of the whole
    const char *missing; // numbers of the missing parts, "3, 5", in the run's arena; "" when all
                         // are there
    int64_t stored;      // the run of the context's store that has been joined of these parts
                         // already; 0: none
};

// Fills `run`, which was begun for the gate of its base and head, with the results of the parts in
// the store at `path`. The context's devices become those of the parts. Fails as pieces_read()
// does.
int joining_read(struct joined *out, struct run *run, struct context *context, const char *path,
                 struct error *err);

#endif
