// SPDX-License-Identifier: Apache-2.0
//
// Rows of single things, for the room's own use: saved and loaded, or found by content, added when
// missing and read back checked. All but those that load and find need a transaction of the
// caller.
#ifndef PLUMB_BASELINES_ROWS_H
#define PLUMB_BASELINES_ROWS_H

#include "baselines/statement.h"
#include "model/json.h"

// A run with a uid of the caller's choice, and its end.
int save_run(int64_t *run_id, struct store *store, const struct run *run, const char *uid,
             struct error *err);
int save_finish(struct store *store, const struct run *run, int64_t finished_s, struct error *err);
int save_profile(struct store *store, const struct device *device, const struct gpu *gpu,
                 int64_t measured_s, struct error *err);

// key 0: an absent measurement. A measurement whose samples were pruned has one sample that stands
// for all: its time and clock.
int load_measurement(struct measurement *out, struct store *store, int64_t key, struct arena *arena,
                     struct error *err);
int load_build(struct build_record *out, struct store *store, int64_t key, struct arena *arena,
               struct error *err);

// Whether the verdicts of a study add up to its gates.
bool study_sound(const struct study_result *study);

// The errors of a commit that does not build, as the store and the exchange hold them. The caller
// frees.
char *unbuilt_errors_text(const struct build_failure *failure);
// Reads them back; false when that is no such text.
bool unbuilt_errors_parse(struct build_failure *out, const char *text, struct arena *arena);

// ==== found by content ====

int content_commit(int64_t *key, struct store *store, const struct commit *commit,
                   struct error *err); // key 0 when commit->id is ""
int content_device(int64_t *key, struct store *store, const struct device *device,
                   struct error *err);
int content_kernel(int64_t *key, struct store *store, const char *name, struct error *err);
// traits NULL: not known. key 0 when code is "".
int content_code(int64_t *key, struct store *store, int64_t kernel, const char *code,
                 const struct traits *traits, struct error *err);
int content_series(int64_t *key, struct store *store, const struct series *series, int64_t kernel,
                   struct error *err); // the device must be known

// Key 0: unknown to this store.
int content_find_series(int64_t *key, struct store *store, const struct series *series,
                        struct error *err);

int content_load_commit(struct commit *out, struct store *store, int64_t key, struct arena *arena,
                        struct error *err); // key 0: an empty commit
int content_load_traits(struct traits *out, struct store *store, const char *json,
                        struct error *err);
// The JSON object that content_load_traits() reads; what is 0 is left out.
void content_write_traits(struct json *json, const char *name, const struct traits *traits);
// An array of names and times.
void content_write_parts(struct json *json, const char *name, const struct prediction *prediction);

// Lists as JSON arrays, to be bound as one parameter. The caller frees.
char *content_json_list(size_t count, const char *(*get)(const void *list, size_t index),
                        const void *list);

// The spread of pairs of two measurements of one run; pairs 0 when there are none.
struct pair_scale content_pair_scale(const struct measurement *base,
                                     const struct measurement *head);

#endif
