// SPDX-License-Identifier: Apache-2.0
//
// What levelled links say of changes and misfits: of those that are settled now, and of the rest.
#ifndef PLUMB_LINKS_JUDGED_H
#define PLUMB_LINKS_JUDGED_H

#include "ci/history/link_facts.h"

#define LINKS_CONFIDENCE 0.95
// Links see what no gate would call a change, and codes that only crept are looked at again and
// again, in every series: one in 10,000 is called moved that is not. A gate's evidence does not
// know what pairs cannot see: where that is 0.1 %, 5 of 1,000 codes that are equal are called
// slower or faster by more than 0.3 %. For those to be few among the changes, the same holds.
#define LINKS_SURE 0.9999

struct history_commit link_commit(const struct commit_place *commit);
// Those that are called slower or faster, not settled and before `end`, behind out[0..*count - 1],
// with room for all; *lacking: what lies within one was not read. `levels` NULL: each link alone.
void links_take_changes(struct settled_change *out, size_t *count, bool *lacking,
                        const struct facts *facts, const struct levels *levels, size_t end);
// Those before `end`, likewise; `seen`: how far the links are levelled. Misfits that were out[] and
// have been measured again by then are gone.
void links_take_misfits(struct settled_misfit *out, size_t *count, const struct facts *facts,
                        const struct levels *levels, size_t end, size_t seen);
// The line's codes one after the other, from `out`'s last step on; out->steps has room. `code`: of
// the last step before these, if there is one (`any`).
void links_take_steps(struct linked_part *out, const struct facts *facts, bool any, size_t code,
                      size_t end);

#endif
