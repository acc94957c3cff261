// SPDX-License-Identifier: Apache-2.0
//
// What changed between base and head, for people: the sentence of an alarm says the likeliest
// reason, the explanation lists the facts. Nothing here decides a verdict.
#ifndef PLUMB_CI_EXPLAIN_H
#define PLUMB_CI_EXPLAIN_H

#include "ci/gate/built.h"
#include "ci/gate/task_list.h"
#include "model/predict.h"
#include "model/predict/parts/limits.h"
#include "runner/code/code_id.h"

// ---- facts ----
//
// The contents of a kernel's library, as the compiler left it, and the differences between two of
// them: the facts of explanations and of the static gate.

// ptxas's notes that a kernel lost performance it was written for: C7508, C7510, C7511, C7515 (of
// wgmma.mma_async that is serialised, and setmaxnreg that is ignored).
enum { PTXAS_NOTES = 4 };

struct code_facts {
    struct code_function_list functions;
    struct operation_list operations;
    uint32_t notes[PTXAS_NOTES]; // how often each is in the build's log, about this library
};

// Notes of ptxas in a build's log (untrusted). A note that names a function counts only if `list`
// has it; one that names none counts.
void code_facts_notes(uint32_t notes[PTXAS_NOTES], const char *log,
                      const struct code_function_list *list);

// One function on both sides, or on one (the other NULL).
struct function_pair {
    const struct code_function *base, *head;
};

// Pairs functions by architecture and name, and those left over on both sides in order, since names
// of functions with internal linkage carry a hash of the source. `out` has room for all functions
// of both; returns how many.
size_t code_facts_pair(struct function_pair *out, const struct code_facts *base,
                       const struct code_facts *head);

// The explanations of a gate's alarms. To disassemble a kernel's two libraries takes a second, so
// that begins when its first alarm does, beside the pairs that confirm it.
struct explaining;
struct explaining *explaining_begin(const struct task_list *tasks, const struct context *context,
                                    const struct built *base, const struct built *head);

// A series of the task's kernel has an alarm, confirmed or not. By one thread at a time.
void explaining_alarm(struct explaining *explaining, const struct task *task);

// For each slower or faster result: appends the reason to verdict.sentence and sets
// verdict.explanation. A library that cannot be read is said, not an error.
void explain_alarms(struct explaining *explaining, struct run *run, const struct task_list *tasks);

// Waits for what is still being read. NULL is fine.
void explaining_end(struct explaining *explaining);

// The lines about code, traits and occupancy, each ended by '\n'; *why is the one clause that says
// most ("it now spills 48 bytes ..."), or "" when nothing a compiler reports has changed.
const char *explain_code(const char **why, const struct code_facts *base,
                         const struct code_facts *head, const struct task *task,
                         struct arena *arena);

// ---- the gate without a device ----
//
// The compiler's output for base and head is compared. This gate never measures and never claims a
// time; each of its sentences begins with "static:". The rules, first fit:
//   worse        a ptxas note of lost performance (C7508, C7510, C7511, C7515) appears; or spills
//                grow (what local loads and stores move); or the model's time for the traits grows
//                by more than the margin and the model's own error band: each is what a person
//                would stop a change for, so the verdict is slower
//   fewer warps  fit on an SM: only a device can tell, undecided
//   unreadable   there is no machine code: undecided
//   better       spills shrink or a note goes, or the model's time falls by more than the same
//   bound alike        everything else
// No fact of these says that the time is the same or less: the verdict of the last two is "not
// measured", which passes unless the policy says gate.static-alone = fail (conclude.c).

struct static_change {
    int32_t notes;     // of ptxas, head - base
    int64_t spill;     // bytes, head - base, of all functions
    int32_t warps;     // smallest head - base of all functions where both are known
    double log_model;  // log(predicted head / base); 0 where there is no prediction
    double model_band; // the prediction's relative error
    bool unreadable;   // all device code of one side is PTX or compressed
};

enum static_finding {
    STATIC_WORSE,
    STATIC_FEWER_WARPS,
    STATIC_UNREADABLE,
    STATIC_BETTER,
    STATIC_ALIKE
};

enum static_finding static_find(const struct static_change *change, double margin);

enum verdict_kind static_verdict(enum static_finding finding);

struct static_change static_compare(const struct code_facts *base, const struct code_facts *head,
                                    const struct task *task, const struct model *model,
                                    struct arena *arena);

// The reason that the sentence gives; `why` is explain_code()'s clause, "" when it has none. In the
// arena, constant, or `why` itself.
const char *static_reason(const struct static_change *change, enum static_finding finding,
                          const char *why, struct arena *arena);

// Fills the task's verdict. Base and head both have the kernel, with different code.
void static_judge(struct run *run, const struct task *task, const struct context *context,
                  const struct built *base, const struct built *head);

#endif
