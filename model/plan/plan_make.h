// SPDX-License-Identifier: Apache-2.0
//
// A record being made from a plan; internal to model/plan/plan_*.c.
#ifndef PLUMB_PLAN_MAKE_H
#define PLUMB_PLAN_MAKE_H

#include "model/plan/plan.h"

enum { POINTER_BYTES = 8 };

struct making {
    const struct launch_plan *plan;
    const struct problem *problem;
    int64_t *values;          // that formulas may name
    uint64_t *scratch_offset; // of each, in the workspace
    struct record record;
    struct arena *arena;
    struct error *err;
};

// -1 with "LABEL:LINE: WHAT: WHY for PROBLEM".
int plan_wrong(const struct making *m, uint32_t line, const char *what, const char *why);
// A formula that is not there has the value `otherwise`; what it gives is held to its range.
int plan_number(int64_t *out, const struct making *m, const struct plan_formula *formula,
                int64_t otherwise, int64_t min, int64_t max, const char *what);
int plan_small_number(uint32_t *out, const struct making *m, const struct plan_formula *formula,
                      uint32_t otherwise, int64_t min, int64_t max, const char *what);
int plan_find_place(enum record_buffer *buffer, uint64_t *offset, const struct making *m,
                    const struct plan_place *place);
// Parameters, addresses and maps of a launch. entry: NULL lays them out as C does it.
int plan_put_parameters(struct record_launch *out, const struct making *m,
                        const struct plan_launch *launch, const struct plan_entry *entry);

#endif
