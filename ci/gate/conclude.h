// SPDX-License-Identifier: Apache-2.0
//
// From the verdicts of a run to what it says as a whole: the last line that is printed, and the
// exit code.
#ifndef PLUMB_CONCLUDE_H
#define PLUMB_CONCLUDE_H

#include "ci/settings/policy.h"
#include "model/result.h"

// A headline has no more words than this; what is longer ends in "...".
enum { HEADLINE_WORDS = 15 };

// A headline that begins so is of a run in which nothing of what changed was judged.
#define HEADLINE_UNJUDGED "NOTHING JUDGED"

// run->conclusion and run->headline (in the run's arena) from its verdicts and its self test:
// broken comes before void, void before slower, slower before undecided. Where nothing was judged,
// or nothing of what changed, that is no pass either. `away` is said behind the counts: which
// devices of the policy are not here, or "".
void conclude_run(struct run *run, const struct policy_gate *gate, const char *away);

// Of a run whose head does not build, and so has no series; `detail` is one line that says why. A
// base that does not build either is named: then it was not this change.
void conclude_unbuilt(struct run *run, const char *detail);

// Of one of `parts` parts of a gate: the verdicts of its series are not those of the gate.
void conclude_part(struct run *run, uint32_t number, uint32_t parts);

// Of a gate of which parts are missing (their numbers, as a text): it is undecided whatever the
// others say, unless these have found something broken.
void conclude_incomplete(struct run *run, const char *missing, uint32_t parts);

// Leaves out the series that a kernel says it cannot do and another does: they are stored, so that
// they are not asked again, but not shown. Of a problem that no kernel does one series stays, not
// measured. One that the base could do is broken, and stays.
void drop_unsupported(struct run *run);

#endif
