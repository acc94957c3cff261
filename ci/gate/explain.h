// SPDX-License-Identifier: Apache-2.0
//
// Explains to people what changed between base and head. The sentence of an alarm gives the
// likeliest reason; the explanation lists the facts. Nothing here decides a verdict.
#ifndef PLUMB_CI_EXPLAIN_H
#define PLUMB_CI_EXPLAIN_H

#include "ci/gate/built.h"
#include "ci/gate/task_list.h"
#include "model/predict.h"
#include "model/predict/parts/limits.h"
#include "runner/code/code_id.h"

// ---- facts ----
//
// What a kernel's library contains, as the compiler left it, and how two libraries differ. These
// are the facts of the explanations and of the gate without a device.

// ptxas's notes that a kernel lost performance: C7508, C7510 and C7511 (wgmma.mma_async was
// serialised), and C7515 (setmaxnreg was ignored).
enum { PTXAS_NOTES = 4 };

struct code_facts {
    struct code_function_list functions;
    struct operation_list operations;
    uint32_t notes[PTXAS_NOTES]; // how often the build's log has each note for this library
};

// Counts the notes of ptxas in a build's log (untrusted). A note that names a function counts only
// if `list` has that function. A note that names none counts always.
void code_facts_notes(uint32_t notes[PTXAS_NOTES], const char *log,
                      const struct code_function_list *list);

// A function that both sides have, or only one of them (then the other pointer is NULL).
struct function_pair {
    const struct code_function *base, *head;
};

// Pairs functions by architecture and name. Functions with internal linkage carry a hash of the
// source in their names, so those left over on both sides are paired in order. `out` needs room for
// the functions of both sides; returns the number of pairs.
size_t code_facts_pair(struct function_pair *out, const struct code_facts *base,
                       const struct code_facts *head);

// The explanations of a gate's alarms. Disassembling a kernel's two libraries takes a second; it
// begins at the kernel's first alarm, while further pairs confirm that alarm.
struct explaining;
struct explaining *explaining_begin(const struct task_list *tasks, const struct context *context,
                                    const struct built *base, const struct built *head);

// Tells that a series of the task's kernel raised an alarm, confirmed or not. One thread at a time
// may call it.
void explaining_alarm(struct explaining *explaining, const struct task *task);

// For each slower or faster result: appends the reason to verdict.sentence and sets
// verdict.explanation. If a library cannot be read, the explanation says so; that is no error.
void explain_alarms(struct explaining *explaining, struct run *run, const struct task_list *tasks);

// Waits for libraries that are still being read. NULL is allowed.
void explaining_end(struct explaining *explaining);

// Writes the lines about code, traits and occupancy, each ended by '\n'. *why is the most telling
// clause ("it now spills 48 bytes ..."), or "" when nothing that a compiler reports has changed.
const char *explain_code(const char **why, const struct code_facts *base,
                         const struct code_facts *head, const struct task *task,
                         struct arena *arena);

// ---- the gate without a device ----
//
// The compiler's output for base and head is compared. This gate never measures and never claims a
// time; each of its sentences begins with "static:". The rules, first fit:
//   worse        The head has a new ptxas note of lost performance (C7508, C7510, C7511, C7515), or
//                it spills more bytes, or the model's time grows by more than the margin and the
//                model's own error band. A reviewer would stop each of these changes, so the
//                verdict is "slower".
//   fewer warps  Fewer warps fit on an SM. Only a device can tell whether that is slower, so the
//                verdict is "undecided".
//   unreadable   There is no machine code. The verdict is "undecided".
//   better       The head spills fewer bytes, or lost a ptxas note, or the model's time falls by
//                more than the same bound.
//   alike        everything else
// The last two findings do not prove that the kernel takes the same time or less. Their verdict is
// "not measured", which passes unless the policy says gate.static-alone = fail (conclude.c).

struct static_change {
    int32_t notes;     // number of ptxas's notes, head - base
    int64_t spill;     // bytes spilled by all functions, head - base
    int32_t warps;     // the smallest head - base of all functions whose warps are known on both
                       // sides
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

// The reason that the sentence gives. `why` is the clause of explain_code(), "" when it has none.
// The text is in the arena, constant, or `why` itself.
const char *static_reason(const struct static_change *change, enum static_finding finding,
                          const char *why, struct arena *arena);

// Fills in the task's verdict. Base and head both have the kernel, with different code.
void static_judge(struct run *run, const struct task *task, const struct context *context,
                  const struct built *base, const struct built *head);

#endif
