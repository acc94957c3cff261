// SPDX-License-Identifier: Apache-2.0
//
// The result of levelling a series' links, as it was last computed.
#ifndef PLUMB_KEPT_LINKS_H
#define PLUMB_KEPT_LINKS_H

#include "baselines/judgement.h"
#include "baselines/link.h"
#include "baselines/store.h"

// ---- what they said of the series ----

// A code that the gate's rule calls slower or faster than the one before it.
struct linked_change {
    struct history_commit at, base; // the commit with the new code, and the one it was held against
    struct interval size;           // log ratio by all links, with its 95 % interval
    double evidence;                // of the link itself, nats
    int64_t link;                   // its key
    bool misfit;                    // the link does not fit the others: it should be measured again
    bool sure;                      // its 99.99 % interval, with what pairs cannot see, has no 0
    bool back;                      // to a code that the series had before: an exact revert
    double left;                    // of it, in the newest code; log ratio, NaN: no link says
    const char *was; // the commit that it was measured at, where `at` has got its code since; NULL
    bool aside;      // of a branch that the line of HEAD does not have
    bool alarm;      // of times alone, which pairs confirmed
    bool tried;      // in a gate or a bisection only: an alarm where a plain run met its codes
    bool filled;     // links within it lead from one code to the other: a change only where a line
                     // has these two and none between, as after a merge
};
#define LINKED_CHANGE_FIELDS(F)                                                                    \
    F(link, "", TIME, link, "", FIELD_ANY, 34)                                                     \
    F(size, "", REAL, size.value, "", FIELD_ANY, 34)                                               \
    F(lower, "", REAL, size.low, "", FIELD_ANY, 34)                                                \
    F(upper, "", REAL, size.high, "", FIELD_ANY, 34)                                               \
    F(log_evidence, "", REAL, evidence, "", FIELD_ANY, 34)                                         \
    F(misfit, "", FLAG, misfit, "", FIELD_FLAGS, 34)                                               \
    F(sure, "", FLAG, sure, "", FIELD_FLAGS, 34)                                                   \
    F(back, "", FLAG, back, "", FIELD_FLAGS, 34)                                                   \
    F(filled, "", FLAG, filled, "", FIELD_FLAGS, 34)                                               \
    F(remains, "", REAL, left, "", FIELD_ANY, 34)                                                  \
    F(at_id, "", ID, at.id, "", FIELD_ANY, 34)                                                     \
    F(at_s, "", TIME, at.time_s, "", FIELD_ANY, 34)                                                \
    F(base_id, "", ID, base.id, "", FIELD_ANY, 34)                                                 \
    F(base_s, "", TIME, base.time_s, "", FIELD_ANY, 34)

// A link that does not fit its loops, and was not measured again yet.
struct linked_misfit {
    struct history_commit at, base;
    uint32_t back; // codes
};
#define LINKED_MISFIT_FIELDS(F)                                                                    \
    F(back, "", COUNT, back, "", FIELD_COUNTS, 34)                                                 \
    F(at_id, "", ID, at.id, "", FIELD_ANY, 34)                                                     \
    F(at_s, "", TIME, at.time_s, "", FIELD_ANY, 34)                                                \
    F(base_id, "", ID, base.id, "", FIELD_ANY, 34)                                                 \
    F(base_s, "", TIME, base.time_s, "", FIELD_ANY, 34)

struct linked_history {
    struct linked_change *changes; // in order of their commits
    size_t change_count;
    struct linked_misfit *misfits;
    size_t misfit_count;
    size_t level_count; // of its linked_levels
    size_t newest; // index of the level of the newest code: of the newest commit, or newest link
    struct interval now;         // that level ...
    struct history_commit since; // ... against the code that came with this commit
    struct interval accepted; // log time of the newest code against the accepted one; NaN: no link
    bool moved;               // that one, or without an accepted code `now`, is no chance
    size_t links, loops;
    int64_t newest_link; // the largest key of a link that was looked at
    size_t neighbours;   // links of a code with the one before it; 0: nothing is followed by links
    const char *trouble; // why there are no levels and each link counts alone; NULL: there are
    double misclosure;   // SD of what a link's pairs cannot see, log ratio
};

enum { KEPT_LINKS_MAKER = 33 };
struct kept_links {
    char maker[KEPT_LINKS_MAKER]; // "": there are none
    struct linked_history history;
};
#define KEPT_LINKS_FIELDS(F)                                                                       \
    F(maker, "", ID, maker, "", FIELD_ANY, 34)                                                     \
    F(newest_link, "", TIME, history.newest_link, "", FIELD_ANY, 34)                               \
    F(links, "", SIZE, history.links, "", FIELD_ANY, 34)                                           \
    F(neighbours, "", SIZE, history.neighbours, "", FIELD_ANY, 34)                                 \
    F(loops, "", SIZE, history.loops, "", FIELD_ANY, 34)                                           \
    F(levels, "", SIZE, history.level_count, "", FIELD_ANY, 34)                                    \
    F(newest, "", SIZE, history.newest, "", FIELD_ANY, 34)                                         \
    F(misclosure, "", REAL, history.misclosure, "", FIELD_ANY, 34)                                 \
    F(now, "", REAL, history.now.value, "", FIELD_ANY, 34)                                         \
    F(now_lower, "", REAL, history.now.low, "", FIELD_ANY, 34)                                     \
    F(now_upper, "", REAL, history.now.high, "", FIELD_ANY, 34)                                    \
    F(accepted, "", REAL, history.accepted.value, "", FIELD_ANY, 34)                               \
    F(accepted_lower, "", REAL, history.accepted.low, "", FIELD_ANY, 34)                           \
    F(accepted_upper, "", REAL, history.accepted.high, "", FIELD_ANY, 34)                          \
    F(moved, "", FLAG, history.moved, "", FIELD_FLAGS, 34)                                         \
    F(trouble, "", NOTE, history.trouble, "", FIELD_ANY, 34)                                       \
    F(since_id, "", ID, history.since.id, "", FIELD_ANY, 34)                                       \
    F(since_s, "", TIME, history.since.time_s, "", FIELD_ANY, 34)

// The largest key of a link of the series; 0: it has none. Keys only grow: links are never removed.
int store_newest_link(int64_t *out, struct store *store, const struct series *series,
                      struct error *err);
int store_load_kept_links(struct kept_links *out, struct store *store, const struct series *series,
                          struct arena *arena, struct error *err);
// Replaces them, in one transaction. The series must be known to the store.
int store_save_kept_links(struct store *store, const struct series *series,
                          const struct kept_links *kept, struct error *err);

// ---- links judged a second time ----

// How far the stream of all links was gone through, and what was found in it. The store knows no
// more of it.
enum { KEPT_TESTS_MAKER = 33 };

struct kept_test {
    int64_t link;        // key
    double log_evidence; // with that of earlier links of the same two codes
    bool discovered;
};
struct kept_tests {
    char maker[KEPT_TESTS_MAKER];     // "": there are none
    int64_t newest_link, newest_code; // none beyond them was looked at
    int64_t made_s, series;           // the last test's place in the stream, with its uid
    char uid[STORE_UID_TEXT];
    uint64_t tests, found;
    struct kept_test *items; // those that say more than their link
    size_t count;
};
int store_load_kept_tests(struct kept_tests *out, struct store *store, struct arena *arena,
                          struct error *err);
// Keeps how far it went, and the items from `first` on beside those that are there; first 0:
// instead of them.
int store_save_kept_tests(struct store *store, const struct kept_tests *tests, size_t first,
                          struct error *err);

#endif
