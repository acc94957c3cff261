// SPDX-License-Identifier: Apache-2.0
//
// The mixes of a policy, from the results of a run: while they are measured, in a gate that has
// just ended, and in a stored one that is reported again.
//
// A mix is judged in each regime that its problems are measured in, unless each of them names its
// own. It is slower or faster beyond its margin with 99.9 % confidence, the same where its interval
// lies within, and undecided else; while it is, a gate takes pairs of the series that leave it
// open. Like a series it can be accepted: by an epoch whose problem is written "mix:NAME", or
// "mix:NAME:REGIME" where that is not cold.
#ifndef PLUMB_MIXES_H
#define PLUMB_MIXES_H

#include "baselines/epoch.h"
#include "ci/settings/policy.h"

// Makes run->mixes: each mix by each kernel that it is asked of, and that does all of its problems
// (one named without a wildcard is told of either way); one that no kernel does is told of without
// one. A run that compares nothing has none.
void mixes_find(struct run *run, const struct policy *policy);
// The same by the policy that the run was made with; one that cannot be read any more gives none.
void mixes_restore(struct run *run);
// Adds to the text of the run's policy which changes of mixes are accepted. mixes_find() reads
// it there.
void mixes_note(struct run *run, const struct epoch_list *accepted);
// "mix decode +0.21 % (0.10 to 0.33 %), " for the verdict's line, in run->arena; or "".
const char *mixes_text(struct run *run);
// The first of this kind that has a margin, or NULL.
const struct mix_result *mixes_judged(const struct run *run, enum verdict_kind kind);
// The mix's name as the series of an epoch.
const char *mix_series(const struct run *run, const struct mix_result *mix, struct arena *arena);

// ---- while its series are measured ----

// MIX_DECIDED is also the wish of a mix of which nothing will be known.
enum mix_wish { MIX_DECIDED, MIX_WAITS, MIX_WANTS_PAIRS };

struct mix_part; // model/gate/verdict.h
struct mix_asked {
    const struct run *run;
    const struct policy *policy;
    // What is known of a result now. 1: *out is filled; 0: nothing yet; -1: nothing, for good.
    int (*now)(struct mix_part *out, void *context, const struct result *result);
    void *context;
};

// The wish of the judging mixes for a series: more of its pairs, if they would help to decide a
// mix; or to wait for others.
enum mix_wish mixes_wish(const struct mix_asked *asked, const struct result *of);

#endif
