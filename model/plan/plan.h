// SPDX-License-Identifier: Apache-2.0
//
// A plan: a text beside a cubin from which a record is made. It is for kernels that no program
// launches; a kernel that a program launches is captured. A plan says what a host program would do:
// which entry point is launched, on how many blocks, with which parameters, as formulas of the
// problem. kernels/PLANS.md shows how to write one. The syntax is git's (model/config.h); formulas
// are described below.
//
//     [kernel]             name = NAME   summary = TEXT   in = TYPE   out = TYPE   acc = TYPE
//                          layout = tn|nn|nt|tt   batched = BOOL
//                          supports = FORMULA   tile = MxNxK   and traits: stages = N, ...
//     [tensormap "NAME"]   place = PLACE   type = TYPE   dims = LIST   strides = LIST (bytes, from
//                          the second dimension on)   box = LIST   swizzle = none|32|64|128
//                          promote = none|64|128|256
//     [launch "NAME"]      cubin = FILE   entry = NAME   grid, block, cluster = LIST of up to 3
//                          shared = FORMULA (dynamic, bytes)
//                          parameter = VALUE (one per parameter, in order)
//     VALUE                pointer PLACE | int8|int16|int32|int64 FORMULA | float NUMBER |
//                          double NUMBER | tensormap NAME
//     PLACE                null | a|b|c [+ FORMULA]
//
// Formulas may name m, n, k, batch and sms (multiprocessors of the device). A tensormap stands
// above the launches that take it. Launches are queued in the order of the text. A plan cannot
// describe memory beside the operands, memsets, structs or launch attributes: a kernel that needs
// them has a host program, which is captured or has a shim. Everything here is hostile: every error
// names the file and the line, and a launch with a value out of its range never runs.
#ifndef PLUMB_LAUNCH_PLAN_H
#define PLUMB_LAUNCH_PLAN_H

#include "model/base.h"
#include "model/record/record.h"

// The number of names that formulas may use: m, n, k, batch and sms.
enum { PLAN_INPUTS = 5 };

// A formula, or formulas separated by commas, with the line where they stand.
struct plan_formula {
    const char *text; // NULL: the plan does not give it
    size_t count;
    uint32_t line;
};

enum plan_place_kind { PLAN_NOWHERE, PLAN_NULL, PLAN_BUFFER };
struct plan_place {
    enum plan_place_kind kind; // PLAN_NOWHERE: the plan does not give it
    enum record_buffer buffer;
    struct plan_formula offset; // in bytes
};

enum plan_type {
    PLAN_POINTER,
    PLAN_INT8,
    PLAN_INT16,
    PLAN_INT32,
    PLAN_INT64,
    PLAN_FLOAT,
    PLAN_DOUBLE,
    PLAN_TENSORMAP
};
struct plan_value {
    enum plan_type type;
    struct plan_place place;    // for a pointer
    struct plan_formula number; // for an integer
    double real;
    size_t map; // index of the tensormap
};

struct plan_map {
    const char *name;
    struct plan_place place;
    uint32_t type, line;
    struct plan_formula dims, strides, box;
    uint32_t swizzle, promote;
};

struct plan_launch {
    const char *name;
    uint32_t line;
    const char *cubin, *entry; // name of a file beside the plan, and of a function in it
    struct plan_formula grid, block, cluster, shared;
    struct plan_value *parameters;
    uint32_t parameter_count;
};

struct launch_plan {
    const char *label; // the file's name, with which errors begin
    uint32_t line;     // the line of [kernel]
    char name[RECORD_NAME];
    const char *summary;
    struct traits traits; // only those that a text can give; in, out, acc
    enum layout layout;
    bool batched;
    struct plan_formula supports;
    struct plan_map *maps;
    size_t map_count;
    struct plan_launch *launches;
    size_t launch_count;
    struct arena arena; // owns everything above
};

// The caller frees with plan_free().
int plan_parse(struct launch_plan *out, const char *text, size_t size, const char *label,
               struct error *err);
void plan_free(struct launch_plan *plan);

// The offsets of an entry point's parameters, which its cubin states. They follow from no rule: the
// first parameter of a kernel with TMA descriptors may begin at byte 48.
struct plan_entry {
    const struct record_parameter *parameters;
    uint32_t count;
};

// Checks that a launch's parameters match those of the entry point, in number and length.
int plan_check_entry(const struct launch_plan *plan, const struct plan_launch *launch,
                     const struct plan_entry *entry, struct error *err);

// Whether types, layout, epilogue and `supports` fit the problem. -1: a formula fails.
int plan_supports(bool *yes, const struct launch_plan *plan, const struct problem *problem,
                  int64_t sms, struct error *err);
// Makes the launches of a problem in the arena, but no device code (record->images is empty).
// `entries` has one entry for each launch of the plan. With NULL, parameters are laid out as C
// would do it, which is enough to look at them. -1 also when the plan does not support the problem.
int plan_record(struct record *out, const struct launch_plan *plan, const struct problem *problem,
                int64_t sms, const struct plan_entry *entries, struct arena *arena,
                struct error *err);

// ==== formulas ====
//
// Formulas of whole numbers, as a plan writes them: ceil_div(m, 128) * ceil_div(n, 256).
//
//     &&     ==     <=  >=     +  -     *  /  %     ( )     ceil_div(a, b)  min(a, b)
//
// Operators bind as in C. Numbers are signed with 64 bits; true is 1 and false 0. A formula is
// hostile text. Overflow, division by less than 1 and nesting deeper than 64 levels are errors and
// never give a number.

// Computes formulas separated by commas, 1 to `most` of them. `values` are the values of the names;
// with NULL the formulas are only parsed, and each result is 0.
int plan_formulas(int64_t *out, size_t *count, size_t most, const char *text,
                  const int64_t values[PLAN_INPUTS], struct error *err);

#endif
