// SPDX-License-Identifier: Apache-2.0
//
// Steps that a segmentation with one noise for all values cannot believe, though anybody sees them:
// in very short series, next to a stretch of other noise, and where there is no noise at all. Each
// is a rule of its own that says little more than it must.
#ifndef PLUMB_CLEAR_STEP_H
#define PLUMB_CLEAR_STEP_H

#include "model/history/changepoint.h"

// Whether `y` (finite, in order) is two levels, and which. Of the change, the
// index is of y; where else it may be, and between what its size lies, is not said (changepoint.c).
// Either all values of one side lie beyond those of the other, by many times what both scatter; or
// the means of both sides, each with its own noise and memory, differ by six standard errors; or
// the ranks of both sides do not mix, and their medians lie far apart. `separate`: by the first of
// these rules alone, which leaves no doubt where the step is.
bool clear_step_find(struct change *out, const double *y, size_t n, bool separate);

// Where values repeat exactly: the starts of runs of equal values after the first, when every run
// has at least five. Returns how many, 0 where the rule does not apply; `starts` has room for n
// / 5.
size_t clear_step_runs(size_t *starts, const double *y, size_t n);

#endif
