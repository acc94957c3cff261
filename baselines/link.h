// SPDX-License-Identifier: Apache-2.0
//
// Links in the store: paired comparisons of two codes of one series on one device. A link is a
// fact: it is added once, never changed, and outlives the run whose samples it was made from.
#ifndef PLUMB_LINK_H
#define PLUMB_LINK_H

#include "baselines/store.h"
#include "model/fields.h"

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
    // Same, slower, faster or undecided, by the gate's rule. Links with the code before are
    // confirmed in fresh processes, as a gate's; those with marks (back > 1) claim nothing and are
    // not.
    enum verdict_kind kind;
    double log_ratio; // log(head time / base time), -50 to 50
    double error;     // its standard error by its own pairs, 1e-6 to 50
    double log_evidence;
    uint32_t pairs, processes; // at least 1
};

// The fields of a link that are figures, as model/fields.h describes them.
#define LINK_FIELDS(F)                                                                             \
    F(tool, "tool_version", SHARED, tool_version, "", FIELD_ANY, 12)                               \
    F(made_s, "made_s", TIME, made_s, "s", FIELD_TIMES, 12)                                        \
    F(back, "back", COUNT, back, "codes", RANGE(0, LINK_BACK_MOST), 12)                            \
    F(kind, "verdict", KIND, kind, "", FIELD_ANY, 12)                                              \
    F(log_ratio, "log_ratio", LOG, log_ratio, "", RANGE(-50, 50), 12)                              \
    F(error, "error", REAL, error, "", RANGE(1e-6, 50), 12)                                        \
    F(log_evidence, "log_evidence", REAL, log_evidence, "", RANGE(-1e9, 1e9), 12)                  \
    F(pairs, "pairs", COUNT, pairs, "", RANGE(1, UINT32_MAX), 12)                                  \
    F(processes, "processes", COUNT, processes, "", RANGE(1, 65535), 12)
extern const struct stored_fields link_fields;

// Whether a link can be stored. A link that cannot is never handed out.
bool link_sound(const struct link *link);
// The series' device must be known to the store. A stored link of this run and series stays.
int store_save_link(struct store *store, const struct series *series, const struct link *link,
                    struct error *err);
int store_run_uid(char out[STORE_UID_TEXT], struct store *store, int64_t run_id, struct error *err);
// A series' links, by the head's commit, then by making. An unknown series has none.
int store_links(struct link **out, size_t *count, struct store *store, const struct series *series,
                struct arena *arena, struct error *err);
// The links of all series whose key is larger than `after`, in no order.
int store_links_beyond(struct link **out, size_t *count, struct store *store, int64_t after,
                       struct arena *arena, struct error *err);

// The part of a link that levelling needs. Codes and commits are keys of this file.
struct link_fact {
    int64_t key; // of the link; they only grow
    int64_t base_code, head_code, base, head, made_s;
    uint32_t back;
    enum verdict_kind kind;
    double log_ratio, error, log_evidence; // as in struct link
};
// Facts of the links with key `from` or larger, by key. An unknown series has none.
int store_link_facts(struct link_fact **out, size_t *count, struct store *store,
                     const struct series *series, int64_t from, struct arena *arena,
                     struct error *err);

// The part of a link that a page of pairs needs; keys of this file.
struct link_pair {
    int64_t series, key, base_code, head_code;
    enum verdict_kind kind;
    double log_ratio, error;
    uint32_t pairs;
};
// The `most` newest pairs of all series, in order of their series' keys.
int store_newest_pairs(struct link_pair **out, size_t *count, struct store *store, size_t most,
                       struct arena *arena, struct error *err);

// The place of a commit. All commits are read at once: every series asks for nearly all of them.
struct commit_place {
    int64_t key, time_s, order_s; // order_s: as links stand, by time and after its parents
    char id[OBJECT_ID_TEXT];
};
// order_s of a commit that the store may not know.
int store_commit_order(int64_t *out, struct store *store, const struct commit *commit,
                       struct error *err);
// A finished plain run of the default toolchain, and its commit; keys.
struct line_run {
    int64_t run, commit;
};
struct commit_places {
    struct commit_place *items; // by key
    size_t count;
    struct line_run *runs; // the LINE_RUNS_MOST of the newest commits, newest first
    size_t run_count;
    bool read;
    bool line; // the runs are of one line of first parents alone, as whoever read them knows it
};
enum { LINE_RUNS_MOST = 512 };
// Reads the places once; later calls return at once.
int store_commit_places(struct commit_places *out, struct store *store, struct arena *arena,
                        struct error *err);
// The code that a series had in a run; 0: the series was not in the run, or had no code.
int store_run_code(int64_t *out, struct store *store, int64_t run, const struct series *series,
                   struct error *err);
// The code of each kernel at each of the commits, by the builds of their trees, in the order of the
// commits; keys. A commit whose codes are not known has no entry.
struct code_at {
    size_t at; // which commit
    int64_t kernel, code;
};
int store_codes_at(struct code_at **out, size_t *count, struct store *store,
                   const struct commit *commits, size_t commit_count, struct arena *arena,
                   struct error *err);
// The kernel of a link, and the codes that it compared.
int store_link_codes(int64_t *kernel, int64_t *base, int64_t *head, struct store *store,
                     int64_t link, struct error *err);
// Whether a plain run of the commit found the series with the code of that link's base.
int store_had_base(bool *out, struct store *store, int64_t link, const char *commit,
                   struct error *err);
// NULL: there is none.
const struct commit_place *commit_place_find(const struct commit_places *places, int64_t key);

// The evidence of the links of neighbouring codes with a key beyond `after`, up to `newest`, in the
// order in which they were measured.
struct link_evidence {
    int64_t key, made_s;
    int64_t series, base_code, head_code; // keys of this file
    char uid[STORE_UID_TEXT];             // of the run
    double log_evidence;
};
int store_link_evidence(struct link_evidence **out, size_t *count, struct store *store,
                        int64_t after, int64_t newest, struct arena *arena, struct error *err);
// The summed evidence of earlier links of neighbours, up to key `newest`, between the same codes.
int store_earlier_evidence(double *out, struct store *store, const struct link_evidence *link,
                           int64_t newest, struct error *err);
// The largest key of all links, and of all codes; 0: there is none.
int store_newest_of_links(int64_t *link, int64_t *code, struct store *store, struct error *err);

#endif
