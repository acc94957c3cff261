// SPDX-License-Identifier: Apache-2.0
//
// What is stored, each thing described once by a list of its fields. From that list come the
// columns of the store (created, saved, loaded, merged, checked), the members of JSON (written and
// read), and the cells of tables. So a new field of a verdict needs one line here, next to its
// member in the struct; it then appears in the store, the exports, the merges and the reports.
//
// A list is an X-macro, F(column, name, type, member, unit, range, since):
//   column  of the store's table
//   name    in JSON and CSV
//   type    how C, SQL and JSON hold it; one of enum field_type, without FIELD_
//   member  of the struct
//   unit    for people, "" where there is none
//   range   the values that are accepted from elsewhere: FIELD_ANY, FIELD_COUNTS, ...; for numbers
//   since   the version of the store that introduced the column. A version without a migration file
//           is made from these: it adds the columns that it introduced.
//   word    follows for a FIELD_WORD only: the name of each value; NULL behind the last.
// What a row refers to (series, runs, codes, commits) is no field: it is part of the store's shape.
// The list of a struct that stands elsewhere stands next to it: links, builds and events
// (baselines/store.h), epochs (baselines/epoch.h), profiles and failed builds (baselines/fields.h).
#ifndef PLUMB_FIELDS_H
#define PLUMB_FIELDS_H

#include "model/buffer.h"
#include "model/csv.h"
#include "model/result.h"

#include <math.h>

enum field_type {
    FIELD_REAL,   // double; NaN: not known
    FIELD_LOG,    // double, a log ratio; NaN: not known; people are shown the relative change
    FIELD_ZERO,   // double; 0: not known
    FIELD_ABOVE,  // double; not above 0: not known, read as NaN
    FIELD_COUNT,  // uint32_t
    FIELD_SIZE,   // size_t; SIZE_MAX: not known
    FIELD_SEED,   // uint64_t, of which all bits count; a text in JSON
    FIELD_TIME,   // int64_t, seconds since 1970
    FIELD_FLAG,   // bool
    FIELD_SET,    // bool, a member of JSON only when it is true
    FIELD_ID,     // char[]: one word, such as an object id; "" when it is missing
    FIELD_TEXT,   // const char *; "" when it is missing
    FIELD_NOTE,   // const char *; NULL when it is missing
    FIELD_SHARED, // const char *, a text that many rows share: the column holds the key of the text
    FIELD_RARE,   // const char *, shared in the same way; NULL when it is missing, and JSON then
                  // has no member
    // An enumeration, stored as the name of its value. It is one of model/result.h, or any other
    // whose names the field's `word` gives.
    FIELD_KIND,
    FIELD_CAUSE,
    FIELD_BOUND,
    FIELD_STATE,
    FIELD_WORD
};

struct field_range {
    double low, high;
};
// The largest time (30 years) and clock that a sample may have; real ones are far below.
#define SAMPLE_TIME_NS  1e18
#define SAMPLE_CLOCK_HZ 1e12
#define RANGE(low, high)                                                                           \
    {                                                                                              \
        low, high                                                                                  \
    }
#define METRIC_MOST       1e18 // the largest figure of a metric
#define FIELD_ANY         RANGE(-INFINITY, INFINITY)
#define FIELD_COUNTS      RANGE(0, UINT32_MAX)
#define FIELD_TIMES       RANGE(OLDEST_TIME_S, LATEST_TIME_S)
#define FIELD_SPANS       RANGE(0, SAMPLE_TIME_NS) // nanoseconds
#define FIELD_SIZES       RANGE(0, METRIC_MOST)
#define FIELD_FLAGS       RANGE(0, 1)
#define FIELD_CLOCKS      RANGE(0, SAMPLE_CLOCK_HZ)
#define FIELD_CONCLUSIONS RANGE(CONCLUDE_OK, CONCLUDE_FAILED)

#define COMMIT_FIELDS(F)                                                                           \
    F(commit_id, "id", ID, id, "", FIELD_ANY, 1)                                                   \
    F(tree_id, "tree", ID, tree, "", FIELD_ANY, 1)                                                 \
    F(parent_id, "parent", ID, parent, "", FIELD_ANY, 1)                                           \
    F(summary, "summary", TEXT, summary, "", FIELD_ANY, 1)                                         \
    F(author, "author", TEXT, author, "", FIELD_ANY, 1)                                            \
    F(time_s, "time_s", TIME, time_s, "s", FIELD_TIMES, 1)

// A device, and what was installed on it in a run.
#define DEVICE_FIELDS(F)                                                                           \
    F(kind, "kind", TEXT, kind, "", FIELD_ANY, 1)                                                  \
    F(uuid, "uuid", TEXT, uuid, "", FIELD_ANY, 1)                                                  \
    F(name, "name", TEXT, name, "", FIELD_ANY, 1)
#define RUN_DEVICE_FIELDS(F)                                                                       \
    F(driver, "driver", SHARED, driver, "", FIELD_ANY, 1)                                          \
    F(runtime, "runtime", SHARED, runtime, "", FIELD_ANY, 1)                                       \
    F(profile, "profile", SHARED, profile, "", FIELD_ANY, 1)

// A run: what it began with, which toolchains built it, and how it ended.
#define RUN_FIELDS(F)                                                                              \
    F(kind, "kind", WORD, kind, "", FIELD_ANY, 1, run_kind_word)                                   \
    F(started_s, "started_s", TIME, started_s, "s", FIELD_TIMES, 1)                                \
    F(finished_s, "finished_s", TIME, finished_s, "s", FIELD_TIMES, 1)                             \
    F(tool, "tool_version", SHARED, tool_version, "", FIELD_ANY, 1)                                \
    F(repository, "repository", SHARED, repository, "", FIELD_ANY, 1)                              \
    F(policy, "policy", SHARED, policy, "", FIELD_ANY, 1)
#define RUN_TOOLCHAIN_FIELDS(F)                                                                    \
    F(base_toolchain, "base_toolchain", RARE, toolchain[ROLE_BASE], "", FIELD_ANY, 20)             \
    F(head_toolchain, "head_toolchain", RARE, toolchain[ROLE_HEAD], "", FIELD_ANY, 20)
#define RUN_END_FIELDS(F)                                                                          \
    F(conclusion, "conclusion", COUNT, conclusion, "", FIELD_CONCLUSIONS, 1)                       \
    F(headline, "headline", TEXT, headline, "", FIELD_ANY, 1)
#define ALL_RUN_FIELDS(F) RUN_FIELDS(F) RUN_TOOLCHAIN_FIELDS(F) RUN_END_FIELDS(F)

#define MEASUREMENT_FIELDS(F)                                                                      \
    F(state, "state", STATE, state, "", FIELD_ANY, 1)                                              \
    F(max_error, "max_error", REAL, max_error, "", FIELD_ANY, 1)                                   \
    F(tolerance, "tolerance", REAL, tolerance, "", FIELD_ANY, 1)                                   \
    F(regime, "regime", SHARED, regime, "", FIELD_ANY, 1)                                          \
    F(detail, "detail", SHARED, detail, "", FIELD_ANY, 1)                                          \
    F(seed, "seed", SEED, seed, "", FIELD_ANY, 1)                                                  \
    F(memory_bytes, "memory_bytes", ZERO, memory_bytes, "B", FIELD_SPANS, 28)                      \
    F(beside, "beside", NOTE, beside, "", FIELD_ANY, 29)

// A result's own fields. Its measurements, prediction and verdict have lists of their own.
#define RESULT_FIELDS(F)                                                                           \
    F(control, "control", FLAG, control, "", FIELD_FLAGS, 1)                                       \
    F(reused, "reused", FLAG, reused, "", FIELD_FLAGS, 1)

// A prediction. Its parts are a list and are stored beside these fields.
#define PREDICTION_FIELDS(F)                                                                       \
    F(why, "why", NOTE, why, "", FIELD_ANY, 1)                                                     \
    F(time_ns, "time_ns", ZERO, time_ns, "ns", FIELD_SPANS, 1)                                     \
    F(clock_hz, "clock_hz", ZERO, clock_hz, "Hz", FIELD_CLOCKS, 1)                                 \
    F(clock_exponent, "clock_exponent", ZERO, clock_exponent, "", FIELD_ANY, 1)                    \
    F(band, "band", ZERO, band, "", FIELD_ANY, 1)                                                  \
    F(bound, "bound", BOUND, bound, "", FIELD_ANY, 1)                                              \
    F(band_95, "band_95", ZERO, band_95, "", FIELD_ANY, 32)                                        \
    F(bias_rows, "bias_rows", COUNT, bias_rows, "", FIELD_COUNTS, 33)

#define VERDICT_FIELDS(F)                                                                          \
    F(kind, "kind", KIND, kind, "", FIELD_ANY, 1)                                                  \
    F(cause, "cause", CAUSE, cause, "", FIELD_ANY, 1)                                              \
    F(log_ratio, "log_ratio", LOG, log_ratio.value, "", FIELD_ANY, 1)                              \
    F(lower, "lower", LOG, log_ratio.low, "", FIELD_ANY, 1)                                        \
    F(upper, "upper", LOG, log_ratio.high, "", FIELD_ANY, 1)                                       \
    F(confidence, "confidence", ZERO, confidence, "", FIELD_ANY, 1)                                \
    F(log_evidence, "log_evidence", ZERO, log_evidence, "", FIELD_ANY, 1)                          \
    F(margin, "margin", ZERO, margin, "", FIELD_ANY, 1)                                            \
    F(pairs, "pairs", COUNT, pairs, "", FIELD_COUNTS, 1)                                           \
    F(processes, "processes", COUNT, processes, "", FIELD_COUNTS, 1)                               \
    F(gpu_s, "gpu_s", ZERO, gpu_s, "s", FIELD_ANY, 1)                                              \
    F(detectable, "detectable", ABOVE, detectable, "", FIELD_ANY, 8)                               \
    F(sentence, "sentence", TEXT, sentence, "", FIELD_ANY, 1)                                      \
    F(explanation, "explanation", NOTE, explanation, "", FIELD_ANY, 2)                             \
    F(more_pairs, "more_pairs", COUNT, more_pairs, "", FIELD_COUNTS, 26)

#define STUDY_FIELDS(F)                                                                            \
    F(gates, "gates", COUNT, gates, "", FIELD_COUNTS, 4)                                           \
    F(first_alarms, "first_alarms", COUNT, first_alarms, "", FIELD_COUNTS, 4)                      \
    F(slower, "slower", COUNT, slower, "", FIELD_COUNTS, 4)                                        \
    F(faster, "faster", COUNT, faster, "", FIELD_COUNTS, 4)                                        \
    F(same, "same", COUNT, same, "", FIELD_COUNTS, 4)                                              \
    F(undecided, "undecided", COUNT, undecided, "", FIELD_COUNTS, 4)                               \
    F(broken, "broken", COUNT, broken, "", FIELD_COUNTS, 4)                                        \
    F(pairs, "pairs", REAL, pairs, "", FIELD_ANY, 4)                                               \
    F(time_ns, "time_ns", REAL, time_ns, "ns", FIELD_SPANS, 4)                                     \
    F(log_ratio, "log_ratio", LOG, log_ratio, "", FIELD_ANY, 4)                                    \
    F(pair_sd, "pair_sd", REAL, pair_sd, "", FIELD_ANY, 4)                                         \
    F(detectable, "detectable", REAL, detectable, "", FIELD_ANY, 4)                                \
    F(gpu_s, "gpu_s", REAL, gpu_s, "s", FIELD_ANY, 4)                                              \
    F(wall_s, "wall_s", REAL, wall_s, "s", FIELD_ANY, 4)

#define SELF_TEST_FIELDS(F)                                                                        \
    F(series, "series", COUNT, series, "", FIELD_COUNTS, 1)                                        \
    F(alarms, "alarms", COUNT, alarms, "", FIELD_COUNTS, 1)                                        \
    F(worst_log_evidence, "worst_log_evidence", ZERO, worst_log_evidence, "", FIELD_ANY, 1)        \
    F(void_run, "void", FLAG, void_run, "", FIELD_ANY, 1)

#define METRIC_FIELDS(F)                                                                           \
    F(name, "name", TEXT, name, "", FIELD_ANY, 27)                                                 \
    F(what, "what", TEXT, what, "", FIELD_ANY, 27)                                                 \
    F(subject, "subject", TEXT, subject, "", FIELD_ANY, 27)                                        \
    F(device, "device", TEXT, device, "", FIELD_ANY, 27)                                           \
    F(unit, "unit", TEXT, unit, "", FIELD_ANY, 27)                                                 \
    F(base, "base", REAL, base, "", FIELD_SIZES, 27)                                               \
    F(head, "head", REAL, head, "", FIELD_SIZES, 27)                                               \
    F(margin, "margin", REAL, margin, "", FIELD_SIZES, 27)                                         \
    F(least, "least", REAL, least, "", FIELD_SIZES, 27)                                            \
    F(higher, "higher", FLAG, higher, "", FIELD_FLAGS, 27)                                         \
    F(noisy, "noisy", FLAG, noisy, "", FIELD_FLAGS, 27)                                            \
    F(kind, "kind", KIND, kind, "", FIELD_ANY, 27)                                                 \
    F(sentence, "sentence", TEXT, sentence, "", FIELD_ANY, 27)

// ---- the lists as data ----

struct stored_field {
    const char *name, *column;
    enum field_type type;
    size_t offset, size; // offset and size of the member in the struct
    const char *unit;
    struct field_range range;
    int since;
    const char *(*word)(int value);
};
struct stored_fields {
    const char *table; // the store's table
    const struct stored_field *items;
    size_t count;
};
#define FIELD_ITEM(thing, itself, called, of, member, in, ...)                                     \
    {.name = called,                                                                               \
     .column = #itself,                                                                            \
     .type = FIELD_##of,                                                                           \
     .offset = offsetof(struct thing, member),                                                     \
     .size = sizeof(((struct thing *)NULL)->member),                                               \
     .unit = in,                                                                                   \
     .range = __VA_ARGS__},
enum { FIELDS_MOST = 32 }; // the most fields that a thing may have
// Defines NAME_fields from the items that FIELD_ITEM made.
#define STORED_FIELDS(name, table, ...)                                                            \
    static const struct stored_field name##_items[] = {__VA_ARGS__};                               \
    _Static_assert(ARRAY_COUNT(name##_items) <= FIELDS_MOST, "raise FIELDS_MOST");                 \
    const struct stored_fields name##_fields = {table, name##_items, ARRAY_COUNT(name##_items)}

extern const struct stored_fields commit_fields, device_fields, run_device_fields, run_fields,
    run_toolchain_fields, run_end_fields, result_fields, measurement_fields, prediction_fields,
    verdict_fields, study_fields, self_test_fields, metric_fields;

// Whether a type is a word, and the value that a word's name stands for (-1: there is no such
// name).
bool field_is_word(enum field_type type);
int field_word_parse(const struct stored_field *field, const char *name);

// The value of a number field of any type, as a double. NaN: not known.
double field_number(const struct stored_field *field, const void *thing);
bool field_is_number(enum field_type type);
// The text or word of a field; NULL: it has none.
const char *field_text(const struct stored_field *field, const void *thing);

// Writes the fields as members of the open object. `text` is the function that writes texts:
// json_clean() where people read them.
typedef void field_text_writer(struct json *json, const char *name, const char *value);
void fields_json(struct json *json, const struct stored_fields *fields, const void *thing,
                 field_text_writer *text);
// Writes one field as a member.
void field_json(struct json *json, const struct stored_field *field, const void *thing,
                field_text_writer *text);
// Whether the field has one of these names. A writer of a table gives the names of the fields that
// it places itself; all others follow in their own order.
bool field_named(const struct stored_field *field, const char *const *names, size_t count);
// Writes a field as a cell. `text` is the function that writes texts: csv_clean() where people read
// them.
typedef void field_cell_writer(struct csv_line *line, const char *value);
void field_csv(struct csv_line *line, const struct stored_field *field, const void *thing,
               field_cell_writer *text);
// Writes all fields of a metric; its kind becomes a "verdict" in words for people. With `metric`
// NULL it writes the columns' heads.
void metric_csv(struct csv_line *line, const struct metric_result *metric, field_cell_writer *text);

#endif
