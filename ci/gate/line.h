// SPDX-License-Identifier: Apache-2.0
//
// What came before a commit is decided by its first parents and by codes, never by dates or by when
// something was measured. The line of a commit is its first parents. A code was measured where it
// was measured; on the line it is at the commits whose build has it. So what a branch measured
// counts for the commit that brings its code by a merge, a squash or a rebase, and what no commit
// of the line has is of another history.
#ifndef PLUMB_LINE_H
#define PLUMB_LINE_H

#include "baselines/store.h"
#include "ci/settings/context.h"

struct line_past {
    struct stored_points points; // of the line before the head, oldest first; newest_code is the
                                 // code before: of the nearest commit that has one with a time
    bool returned;               // the head's code was on the line before, and another is since
};

// The past of a result of the run, at most `limit` points of it. Points carry the commit of the
// line that they count for. In the run's arena. A series of which the repository knows no commit is
// an import's: its order is that of dates. Beyond the edge of a shallow clone dates count, too.
int line_past(struct line_past *out, struct run *run, const struct result *r,
              const struct series *series, size_t limit, struct context *context,
              struct error *err);

// Whether a commit is on the line before the run's head.
bool line_has(const struct run *run, const char *commit, struct context *context);

#endif
