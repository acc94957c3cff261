// SPDX-License-Identifier: Apache-2.0
//
// The gate without a device: what the compiler says of base and head, compared. It never measures
// and never claims a time; each of its sentences begins with "static:". The rules, first fit:
//
//   worse        a ptxas note of lost performance (C7508, C7510, C7511, C7515) appears; or spills
//                grow (what local loads and stores move); or the model's time for the traits grows
//                by more than the margin and the model's own error band: each is what a person
//                would stop a change for, so the verdict is slower
//   fewer warps  fit on an SM: only a device can tell, undecided
//   unreadable   there is no machine code
//   better       spills shrink or a note goes, or the model's time falls by more than the same
//   bound alike        everything else
//
// No fact of these says that the time is the same or less: the verdict of the last three is "not
// measured".
#ifndef PLUMB_STATIC_GATE_H
#define PLUMB_STATIC_GATE_H

#include "ci/gate/code_facts.h"
#include "ci/gate/task_list.h"
#include "model/predict.h"

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

// What the sentence says of it; `why` is explain_code()'s clause, "" when it has none. In the
// arena, constant, or `why` itself.
const char *static_reason(const struct static_change *change, enum static_finding finding,
                          const char *why, struct arena *arena);

// Fills the task's verdict. Base and head both have the kernel, with different code.
void static_judge(struct run *run, const struct task *task, const struct context *context,
                  const struct built *base, const struct built *head);

#endif
