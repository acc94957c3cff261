// SPDX-License-Identifier: Apache-2.0
//
// Whole gates by the real program with a bench that misbehaves when asked (fake_bench.c), in a
// repository of one's own. Each of these ends the test program, or fails the test, on failure.
#ifndef PLUMB_HELPER_FAKE_GATE_H
#define PLUMB_HELPER_FAKE_GATE_H

#include "model/result.h"
#include "tests/helpers/helper_fake_bench.h"
#include "tests/helpers/helper_plumb.h"

struct fake_gate {
    struct fake_bench bench; // its folder is the repository
    char *policy, *store;    // paths
    struct plumb_outcome outcome;
};

void fake_gate_make(struct fake_gate *gate);
void fake_gate_remove(struct fake_gate *gate);

// Every kernel, on one problem and the host device; `device` is more lines of that section, `rest`
// what follows the kernels'.
void fake_gate_policy(const struct fake_gate *gate, const char *device, const char *rest);

// A commit with a library for each of `names` (which end with NULL). Those that begin with
// `beginning` are of this value, the others of value 1, and libraries of different values differ.
// parent: NULL: none.
void fake_gate_commit(char id[OBJECT_ID_TEXT], const struct fake_gate *gate, const char *branch,
                      const char *parent, const char *const *names, const char *beginning,
                      int value);

// kill_after_s as plumb_run()'s.
void fake_gate_run(struct fake_gate *gate, const char *base, const char *head, double kill_after_s);
// The store's newest run of this kind; run_free() ends it.
void fake_gate_newest(struct run *out, const struct fake_gate *gate, enum run_kind kind);

#endif
