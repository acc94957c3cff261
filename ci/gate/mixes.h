// SPDX-License-Identifier: Apache-2.0
//
// Judges the mixes of a policy from the results of a run: while they are measured, in a gate that
// has just ended, and in a stored gate that is reported again.
//
// A mix is judged in each regime in which its problems are measured, unless each problem names its
// own. It is slower or faster when it lies beyond its margin with 99.9 % confidence, the same when
// its interval lies within the margin, and undecided otherwise. As long as it is undecided, a gate
// takes more pairs of the series that leave it open. A mix can be accepted like a series, by an
// epoch whose problem is written "mix:NAME", or "mix:NAME:REGIME" where the regime is not cold.
#ifndef PLUMB_MIXES_H
#define PLUMB_MIXES_H

#include "baselines/epoch.h"
#include "ci/settings/policy.h"

// Fills run->mixes, what decides first: one entry for each mix and each kernel that the mix asks
// for and that supports all of its problems. A kernel that the mix names without a wildcard has an
// entry even if it does not support them. A mix that no kernel supports has one entry without a
// kernel. A run that compares nothing has none.
void mixes_find(struct run *run, const struct policy *policy);
// Does the same by the policy that the run was made with. If that policy cannot be read any more,
// there are no mixes.
void mixes_restore(struct run *run);
// Adds to the text of the run's policy which changes of mixes are accepted. mixes_find() reads that
// note.
void mixes_note(struct run *run, const struct epoch_list *accepted);
// The mixes for the verdict's line, such as "mix decode +0.21 % (0.10 to 0.33 %), ", in run->arena;
// "" if there are none.
const char *mixes_text(struct run *run);
// The first mix with this verdict that has a margin, or NULL.
const struct mix_result *mixes_judged(const struct run *run, enum verdict_kind kind);
// The name of the mix in an epoch's series.
const char *mix_series(const struct run *run, const struct mix_result *mix, struct arena *arena);

// ---- while its series are measured ----

// What a mix wants of a series. MIX_DECIDED is also used for a mix that will never be known.
enum mix_wish { MIX_DECIDED, MIX_WAITS, MIX_WANTS_PAIRS };

struct mix_part; // model/gate/verdict.h
struct mix_asked {
    const struct run *run;
    const struct policy *policy;
    // Asks for the present knowledge of a result. 1: *out is filled in; 0: nothing is known yet;
    // -1: nothing will be known.
    int (*now)(struct mix_part *out, void *context, const struct result *result);
    void *context;
};

// What the judged mixes want of a series: more of its pairs if these help to decide a mix, or that
// it waits for other series.
enum mix_wish mixes_wish(const struct mix_asked *asked, const struct result *of);

#endif
