// SPDX-License-Identifier: Apache-2.0
//
// Links in the store: paired comparisons of two codes of one series on one device. A link is a
// fact: it is added once, never changed, and outlives the run whose samples it was made from.
#ifndef PLUMB_LINK_H
#define PLUMB_LINK_H

#include "baselines/store.h"

enum { LINK_BACK_MOST = 1000000 };

struct link {
    char uid[STORE_UID_TEXT]; // of the run that measured it and has its samples
    char base_code[OBJECT_ID_TEXT], head_code[OBJECT_ID_TEXT];
    struct commit base, head; // commits that have these codes
    const char *tool_version;
    int64_t made_s;
    // How many codes the base was before the head along first parents, up to LINK_BACK_MOST; 0:
    // they met in a gate or a bisection, and the head may be of a branch.
    uint32_t back;
    enum verdict_kind kind; // same, slower, faster or undecided, by the gate's rule
    double log_ratio;       // log(head time / base time), -50 to 50
    double error;           // its standard error by its own pairs, 1e-6 to 50
    double log_evidence;
    uint32_t pairs, processes; // at least 1
};

// What can be stored, and is ever handed out.
bool link_sound(const struct link *link);
// The series' device must be known to the store. A link of this run and series is left as it is.
int store_save_link(struct store *store, const struct series *series, const struct link *link,
                    struct error *err);
int store_run_uid(char out[STORE_UID_TEXT], struct store *store, int64_t run_id, struct error *err);
// In order of the head's commit, then of making. An unknown series has none.
int store_links(struct link **out, size_t *count, struct store *store, const struct series *series,
                struct arena *arena, struct error *err);

// The evidence of every link of neighbouring codes, in the order in which they were measured.
struct link_evidence {
    int64_t series, base_code, head_code; // keys of this file
    char uid[STORE_UID_TEXT];             // of the run
    double log_evidence;
};
int store_link_evidence(struct link_evidence **out, size_t *count, struct store *store,
                        struct arena *arena, struct error *err);

#endif
