// SPDX-License-Identifier: Apache-2.0
//
// Stores for tests: runs made from a seed, and comparing what came back.
#ifndef PLUMB_HELPER_STORE_H
#define PLUMB_HELPER_STORE_H

#include "baselines/store.h"
#include "tests/helpers/helper_files.h"

// folder/name, in a buffer of the arena.
const char *scratch_path(struct arena *arena, const char *folder, const char *name);

// A store for writing in the folder; fails the program with the error's text if it cannot.
struct store *scratch_store(const char *path, enum store_mode mode);

// Deterministic numbers.
uint64_t draw_bits(uint64_t *state);
double draw_unit(uint64_t *state); // 0 <= x < 1
double draw_normal(uint64_t *state);

// A plain run (or a gate) of commit number `number` with `count` results, times and all else drawn
// from the seed. Not saved.
void make_run(struct run *out, enum run_kind kind, unsigned number, size_t count, uint64_t seed);
void make_result(struct result *out, struct run *run, unsigned kernel, uint64_t *state);

// Begins, saves and finishes; fails the program on error.
void save_whole_run(struct store *store, struct run *run);

// Equal in all that the store keeps; the first difference is printed.
bool same_measurement(const struct measurement *a, const struct measurement *b);
bool same_result(const struct result *a, const struct result *b);
bool same_run(const struct run *a, const struct run *b);

// A scratch folder and an arena for all tests of a program: cmocka's set-up and tear-down of a
// group.

extern struct scratch {
    char *folder;
    struct arena arena;
} scratch;

int scratch_set_up(void **state);
int scratch_tear_down(void **state);

// folder/name, until the tear-down.
const char *scratch_in(const char *name);

#endif
