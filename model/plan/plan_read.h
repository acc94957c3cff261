// SPDX-License-Identifier: Apache-2.0
//
// A plan being read; internal to model/plan/plan_*.c.
#ifndef PLUMB_PLAN_READ_H
#define PLUMB_PLAN_READ_H

#include "model/config.h"
#include "model/plan/plan.h"

// Names that every formula may use; those of [let] follow.
enum { PLAN_M, PLAN_N, PLAN_K, PLAN_BATCH, PLAN_SMS, PLAN_INPUTS };

struct plan_reader {
    struct launch_plan *plan;
    const struct config_entry *entry; // that is being read
    struct expression_names names;    // that a formula may use here
    struct error *err;
};

// -1 with "LABEL:LINE: [SECTION] KEY: TEXT".
int plan_refuse(const struct plan_reader *r, const char *format, ...) PRINTF_LIKE(2, 3);
// The entry's value, "" when it has none.
const char *plan_text(const struct plan_reader *r);

// Reads the entry into what its section is about.
int plan_read_key(void *object, const struct plan_reader *r);
int plan_read_formula(struct plan_formula *out, const struct plan_reader *r, const char *text);
int plan_read_list(struct plan_formula *out, size_t most, const struct plan_reader *r);
int plan_read_place(struct plan_place *out, const struct plan_reader *r, const char *text);
// A parameter's or a field's value; `parameter` is the one that it is in.
int plan_read_value(struct plan_value *out, uint32_t parameter, const struct plan_reader *r);

#endif
