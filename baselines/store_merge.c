// SPDX-License-Identifier: Apache-2.0
//
// Merges shards. The shard is checked like any store before its rows are read, and so is each of
// its values. What it says about known runs must agree with the store. What was merged must be
// readable. All steps are one transaction, and temporary tables are removed afterwards.
#include "baselines/fields.h"
#include "baselines/pack.h"
#include "baselines/statement.h"
#include "baselines/store.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// The steps of merging. The shard is attached as `shard`. A thing of the shard is matched with ours
// by its content, never by its key; a temporary table map_X (theirs, ours) translates the keys. ON
// CONFLICT DO NOTHING adds equal content once; a value that violates a CHECK fails the whole merge.
// Only two kinds of our rows are changed: unknown traits, and runs that are not finished here. A
// run that is finished here is known: nothing of the shard is added to it, and a shard that says
// something different about it is refused below. The layout of the statements is easiest to read as
// it is.
// clang-format off
static const char *const merge_steps[] = {
    // ---- things by name ----
    "INSERT INTO main.texts (text) SELECT text FROM shard.texts WHERE true "
    "ON CONFLICT (text) DO NOTHING",
    "CREATE TEMP TABLE map_text (theirs INTEGER PRIMARY KEY, ours INTEGER)",
    "INSERT INTO map_text SELECT s.text_key, m.text_key FROM shard.texts s "
    "CROSS JOIN main.texts m ON m.text = s.text",
    "INSERT INTO main.commits (order_s" COMMIT_FIELDS(FIELD_COLUMNS) ") SELECT x.order_s"
    COMMIT_FIELDS(FIELD_MERGES) " FROM shard.commits x WHERE true "
    "ON CONFLICT (commit_id) DO NOTHING",
    "CREATE TEMP TABLE map_commit (theirs INTEGER PRIMARY KEY, ours INTEGER)",
    "INSERT INTO map_commit SELECT s.commit_key, m.commit_key FROM shard.commits s "
    "CROSS JOIN main.commits m ON m.commit_id = s.commit_id",
    "INSERT INTO main.devices (device_key" DEVICE_FIELDS(FIELD_COLUMNS) ") SELECT NULL"
    DEVICE_FIELDS(FIELD_MERGES) " FROM shard.devices x WHERE true ON CONFLICT (uuid) DO NOTHING",
    "CREATE TEMP TABLE map_device (theirs INTEGER PRIMARY KEY, ours INTEGER)",
    "INSERT INTO map_device SELECT s.device_key, m.device_key FROM shard.devices s "
    "CROSS JOIN main.devices m ON m.uuid = s.uuid",
    "INSERT INTO main.problems (problem) SELECT problem FROM shard.problems WHERE true "
    "ON CONFLICT (problem) DO NOTHING",
    "INSERT INTO main.kernels (name) SELECT name FROM shard.kernels WHERE true "
    "ON CONFLICT (name) DO NOTHING",
    "CREATE TEMP TABLE map_kernel (theirs INTEGER PRIMARY KEY, ours INTEGER)",
    "INSERT INTO map_kernel SELECT s.kernel_key, m.kernel_key FROM shard.kernels s "
    "CROSS JOIN main.kernels m ON m.name = s.name",
    "INSERT INTO main.models (name, version) SELECT name, version FROM shard.models WHERE true "
    "ON CONFLICT (name, version) DO NOTHING",
    "CREATE TEMP TABLE map_model (theirs INTEGER PRIMARY KEY, ours INTEGER)",
    "INSERT INTO map_model SELECT s.model_key, m.model_key FROM shard.models s "
    "CROSS JOIN main.models m ON m.name = s.name AND m.version = s.version",

    // ---- codes, series, builds ----
    "INSERT INTO main.codes (kernel_key, code_id, traits) "
    "SELECT k.ours, c.code_id, c.traits FROM shard.codes c "
    "JOIN map_kernel k ON k.theirs = c.kernel_key WHERE true "
    "ON CONFLICT (kernel_key, code_id) DO UPDATE SET traits = excluded.traits WHERE traits = '{}'",
    "CREATE TEMP TABLE map_code (theirs INTEGER PRIMARY KEY, ours INTEGER)",
    "INSERT INTO map_code SELECT c.code_key, m.code_key FROM shard.codes c "
    "JOIN map_kernel k ON k.theirs = c.kernel_key "
    "CROSS JOIN main.codes m ON m.kernel_key = k.ours AND m.code_id = c.code_id",
    "INSERT INTO main.series (kernel_key, problem_key, device_key) "
    "SELECT k.ours, p.problem_key, d.ours FROM shard.series s "
    "JOIN map_kernel k ON k.theirs = s.kernel_key "
    "JOIN shard.problems q ON q.problem_key = s.problem_key "
    "JOIN main.problems p ON p.problem = q.problem "
    "JOIN map_device d ON d.theirs = s.device_key WHERE true "
    "ON CONFLICT (kernel_key, problem_key, device_key) DO NOTHING",
    "CREATE TEMP TABLE map_series (theirs INTEGER PRIMARY KEY, ours INTEGER)",
    "INSERT INTO map_series SELECT s.series_key, m.series_key FROM shard.series s "
    "JOIN map_kernel k ON k.theirs = s.kernel_key "
    "JOIN shard.problems q ON q.problem_key = s.problem_key "
    "JOIN main.problems p ON p.problem = q.problem "
    "JOIN map_device d ON d.theirs = s.device_key "
    "CROSS JOIN main.series m ON m.kernel_key = k.ours AND m.problem_key = p.problem_key "
    "AND m.device_key = d.ours",
    // A build's kernels are added with the build or not at all, because the result of a content
    // never changes.
    "CREATE TEMP TABLE map_build (theirs INTEGER PRIMARY KEY, ours INTEGER, fresh INTEGER)",
    "INSERT INTO map_build SELECT b.build_key, NULL, NOT EXISTS (SELECT 1 FROM main.builds m "
    "WHERE m.content = b.content) FROM shard.builds b",
    "INSERT INTO main.builds (build_key" BUILD_FIELDS(FIELD_COLUMNS) ") SELECT NULL"
    BUILD_FIELDS(FIELD_MERGES) " FROM shard.builds x WHERE true ON CONFLICT (content) DO NOTHING",
    "UPDATE map_build SET ours = (SELECT m.build_key FROM shard.builds b "
    "JOIN main.builds m ON m.content = b.content WHERE b.build_key = theirs)",
    "INSERT INTO main.build_codes (build_key, kernel_key, code_key) "
    "SELECT b.ours, k.ours, c.ours FROM shard.build_codes x "
    "JOIN map_build b ON b.theirs = x.build_key AND b.fresh "
    "JOIN map_kernel k ON k.theirs = x.kernel_key JOIN map_code c ON c.theirs = x.code_key",
    "INSERT INTO main.commit_builds (commit_key, build_key) "
    "SELECT c.ours, b.ours FROM shard.commit_builds x "
    "JOIN map_commit c ON c.theirs = x.commit_key JOIN map_build b ON b.theirs = x.build_key "
    "WHERE true ON CONFLICT DO NOTHING",

    // ---- runs and what they measured ----
    "CREATE TEMP TABLE map_known (theirs INTEGER PRIMARY KEY, ours INTEGER, finished INTEGER)",
    "INSERT INTO map_known SELECT s.run_key, m.run_key, m.finished_s > 0 FROM shard.runs s "
    "CROSS JOIN main.runs m ON m.uid = s.uid",
    "INSERT INTO main.runs (uid, base_commit_key, head_commit_key" ALL_RUN_FIELDS(FIELD_COLUMNS)
    ") SELECT x.uid, b.ours, h.ours" ALL_RUN_FIELDS(FIELD_MERGES) " FROM shard.runs x "
    "LEFT JOIN map_commit b ON b.theirs = x.base_commit_key "
    "LEFT JOIN map_commit h ON h.theirs = x.head_commit_key WHERE true "
    "ON CONFLICT (uid) DO UPDATE SET finished_s = excluded.finished_s" RUN_END_FIELDS(FIELD_RENEWS)
    " WHERE finished_s = 0 AND excluded.finished_s > 0",
    "CREATE TEMP TABLE map_run (theirs INTEGER PRIMARY KEY, ours INTEGER)",
    "INSERT INTO map_run SELECT s.run_key, m.run_key FROM shard.runs s "
    "CROSS JOIN main.runs m ON m.uid = s.uid WHERE NOT EXISTS (SELECT 1 FROM map_known k "
    "WHERE k.theirs = s.run_key AND k.finished)",
    "INSERT INTO main.run_devices (run_key, position, device_key" RUN_DEVICE_FIELDS(FIELD_COLUMNS)
    ") SELECT r.ours, x.position, d.ours" RUN_DEVICE_FIELDS(FIELD_MERGES)
    " FROM shard.run_devices x JOIN map_run r ON r.theirs = x.run_key "
    "JOIN map_device d ON d.theirs = x.device_key WHERE true ON CONFLICT DO NOTHING",
    "INSERT INTO main.self_tests (run_key" SELF_TEST_FIELDS(FIELD_COLUMNS) ") "
    "SELECT r.ours" SELF_TEST_FIELDS(FIELD_MERGES) " FROM shard.self_tests x "
    "JOIN map_run r ON r.theirs = x.run_key WHERE true ON CONFLICT DO NOTHING",
    "INSERT INTO main.unbuilt (run_key, role" UNBUILT_FIELDS(FIELD_COLUMNS) ") "
    "SELECT r.ours, x.role" UNBUILT_FIELDS(FIELD_MERGES) " FROM shard.unbuilt x "
    "JOIN map_run r ON r.theirs = x.run_key WHERE true ON CONFLICT DO NOTHING",
    "INSERT INTO main.metrics (run_key" METRIC_FIELDS(FIELD_COLUMNS) ") "
    "SELECT r.ours" METRIC_FIELDS(FIELD_MERGES) " FROM shard.metrics x "
    "JOIN map_run r ON r.theirs = x.run_key WHERE true ON CONFLICT DO NOTHING",
    // A study that went on has more gates.
    "INSERT INTO main.studies (run_key, series_key, kind" STUDY_FIELDS(FIELD_COLUMNS) ") "
    "SELECT r.ours, s.ours, x.kind" STUDY_FIELDS(FIELD_MERGES) " FROM shard.studies x "
    "JOIN map_run r ON r.theirs = x.run_key "
    "JOIN map_series s ON s.theirs = x.series_key WHERE true ON CONFLICT DO UPDATE SET "
    "kind = excluded.kind" STUDY_FIELDS(FIELD_RENEWS) " WHERE excluded.gates > gates",
    "INSERT INTO main.measurements (run_key, series_key, role, plain, commit_key, commit_s, "
    "code_key, time_ns, clock_hz, samples" MEASUREMENT_FIELDS(FIELD_COLUMNS) ") "
    "SELECT r.ours, s.ours, x.role, x.plain, c.ours, "
    "(SELECT k.order_s FROM main.commits k WHERE k.commit_key = c.ours), d.ours, "
    "x.time_ns, x.clock_hz, x.samples" MEASUREMENT_FIELDS(FIELD_MERGES) " "
    "FROM shard.measurements x JOIN map_run r ON r.theirs = x.run_key "
    "JOIN map_series s ON s.theirs = x.series_key JOIN map_commit c ON c.theirs = x.commit_key "
    "LEFT JOIN map_code d ON d.theirs = x.code_key WHERE true "
    "ON CONFLICT (run_key, series_key, role) DO NOTHING",
    "CREATE TEMP TABLE map_measurement (theirs INTEGER PRIMARY KEY, ours INTEGER)",
    "INSERT INTO map_measurement SELECT x.measurement_key, m.measurement_key "
    "FROM shard.measurements x JOIN map_run r ON r.theirs = x.run_key "
    "JOIN map_series s ON s.theirs = x.series_key "
    "CROSS JOIN main.measurements m ON m.run_key = r.ours AND m.series_key = s.ours "
    "AND m.role = x.role",
    "INSERT INTO main.samples (measurement_key, packed) "
    "SELECT m.ours, x.packed FROM shard.samples x "
    "JOIN map_measurement m ON m.theirs = x.measurement_key WHERE true ON CONFLICT DO NOTHING",
    "INSERT INTO main.results (run_key, series_key, base_code_key, head_code_key, base_key, "
    "head_key, pairs, pair_sd, pair_sd_mad" RESULT_FIELDS(FIELD_COLUMNS) ") SELECT r.ours, s.ours, "
    "b.ours, h.ours, m.ours, n.ours, x.pairs, x.pair_sd, x.pair_sd_mad" RESULT_FIELDS(FIELD_MERGES)
    " FROM shard.results x JOIN map_run r ON r.theirs = x.run_key "
    "JOIN map_series s ON s.theirs = x.series_key "
    "LEFT JOIN map_code b ON b.theirs = x.base_code_key "
    "LEFT JOIN map_code h ON h.theirs = x.head_code_key "
    "LEFT JOIN map_measurement m ON m.theirs = x.base_key "
    "LEFT JOIN map_measurement n ON n.theirs = x.head_key WHERE true ON CONFLICT DO NOTHING",

    "INSERT INTO main.links (uid, series_key, base_code_key, head_code_key, base_commit_key, "
    "head_commit_key" LINK_FIELDS(FIELD_COLUMNS) ") SELECT x.uid, s.ours, b.ours, h.ours, c.ours, "
    "d.ours" LINK_FIELDS(FIELD_MERGES) " FROM shard.links x "
    "JOIN map_series s ON s.theirs = x.series_key JOIN map_code b ON b.theirs = x.base_code_key "
    "JOIN map_code h ON h.theirs = x.head_code_key "
    "JOIN map_commit c ON c.theirs = x.base_commit_key "
    "JOIN map_commit d ON d.theirs = x.head_commit_key WHERE NOT EXISTS (SELECT 1 FROM main.runs r "
    "JOIN map_known k ON k.ours = r.run_key AND k.finished WHERE r.uid = x.uid) "
    "ON CONFLICT (uid, series_key) DO NOTHING",

    // ---- conclusions: of one version the later one counts ----
    "INSERT INTO main.predictions (series_key, run_key, model_key, made_s, parts"
    PREDICTION_FIELDS(FIELD_COLUMNS) ") SELECT s.ours, r.ours, m.ours, x.made_s, x.parts"
    PREDICTION_FIELDS(FIELD_MERGES) " FROM shard.predictions x "
    "JOIN map_run r ON r.theirs = x.run_key JOIN map_series s ON s.theirs = x.series_key "
    "JOIN map_model m ON m.theirs = x.model_key WHERE true "
    "ON CONFLICT DO UPDATE SET made_s = excluded.made_s, parts = excluded.parts"
    PREDICTION_FIELDS(FIELD_RENEWS) " WHERE excluded.made_s > made_s",
    "INSERT INTO main.verdicts (series_key, run_key, model_key, made_s"
    VERDICT_FIELDS(FIELD_COLUMNS) ") SELECT s.ours, r.ours, m.ours, x.made_s"
    VERDICT_FIELDS(FIELD_MERGES) " FROM shard.verdicts x "
    "JOIN map_run r ON r.theirs = x.run_key JOIN map_series s ON s.theirs = x.series_key "
    "JOIN map_model m ON m.theirs = x.model_key WHERE true "
    "ON CONFLICT DO UPDATE SET made_s = excluded.made_s" VERDICT_FIELDS(FIELD_RENEWS)
    " WHERE excluded.made_s > made_s",

    // ---- devices' profiles, epochs ----
    "INSERT INTO main.profiles (device_key" PROFILE_FIELDS(FIELD_COLUMNS) ") SELECT d.ours"
    PROFILE_FIELDS(FIELD_MERGES) " FROM shard.profiles x "
    "JOIN map_device d ON d.theirs = x.device_key WHERE true "
    "ON CONFLICT (device_key, measured_s, name) DO NOTHING",
    "INSERT INTO main.figures (profile_key" FIGURE_FIELDS(FIELD_COLUMNS) ") SELECT m.profile_key"
    FIGURE_FIELDS(FIELD_MERGES) " FROM shard.figures x "
    "JOIN shard.profiles p ON p.profile_key = x.profile_key "
    "JOIN map_device d ON d.theirs = p.device_key "
    "JOIN main.profiles m ON m.device_key = d.ours AND m.measured_s = p.measured_s "
    "AND m.name = p.name WHERE true ON CONFLICT DO NOTHING",
    "INSERT INTO main.epochs (epoch_key" EPOCH_FIELDS(FIELD_COLUMNS) ") SELECT NULL"
    EPOCH_FIELDS(FIELD_MERGES) " FROM shard.epochs x WHERE true ON CONFLICT DO NOTHING",

    "INSERT INTO main.device_entries (device_key, state, when_s, who, why) "
    "SELECT d.ours, x.state, x.when_s, x.who, x.why FROM shard.device_entries x "
    "JOIN map_device d ON d.theirs = x.device_key WHERE true ON CONFLICT DO NOTHING",

    // ---- events: reported once by their names ----
    "INSERT INTO main.events (event_key" EVENT_FIELDS(FIELD_COLUMNS) ") SELECT NULL"
    EVENT_FIELDS(FIELD_MERGES) " FROM shard.events x WHERE true ON CONFLICT (name) DO NOTHING",
    "INSERT INTO main.event_changes (event_key, series_key" EVENT_CHANGE_FIELDS(FIELD_COLUMNS) ") "
    "SELECT e.event_key, s.ours" EVENT_CHANGE_FIELDS(FIELD_MERGES)
    " FROM shard.event_changes x JOIN shard.events y ON y.event_key = x.event_key "
    "JOIN main.events e ON e.name = y.name JOIN map_series s ON s.theirs = x.series_key WHERE true "
    "ON CONFLICT DO NOTHING",
    "INSERT INTO main.event_entries (event_key" EVENT_ENTRY_FIELDS(FIELD_COLUMNS) ") "
    "SELECT e.event_key" EVENT_ENTRY_FIELDS(FIELD_MERGES) " FROM shard.event_entries x "
    "JOIN shard.events y ON y.event_key = x.event_key "
    "JOIN main.events e ON e.name = y.name WHERE true ON CONFLICT DO NOTHING",

    // ---- conclusions that no longer cover all rows ----
    "UPDATE main.judgements SET marks = marks + 1, "
    "changed_s = min(ifnull(changed_s, x.first_s), x.first_s) FROM (SELECT s.ours, "
    "min(m.commit_s) AS first_s FROM shard.measurements m "
    "JOIN map_series s ON s.theirs = m.series_key GROUP BY s.ours) AS x WHERE series_key = x.ours",
    "DELETE FROM main.run_accuracy_known WHERE run_key IN (SELECT ours FROM map_run)",
};
// clang-format on

static const char *const merge_maps[] = {"text",  "commit", "device",     "kernel",
                                         "model", "code",   "series",     "build",
                                         "known", "run",    "measurement"};

static int run_sql(struct store *store, const char *sql, struct error *err)
{
    return sqlite3_exec(store->db, sql, NULL, NULL, NULL) ? store_fail(store, err) : 0;
}

static int check_shard(const struct store *store, const char *path, struct error *err)
{
    struct stat ours, theirs;
    if (store_verify(path, err))
        return -1;
    if (stat(store->path, &ours) == 0 && stat(path, &theirs) == 0 && ours.st_dev == theirs.st_dev &&
        ours.st_ino == theirs.st_ino)
        return error_set(err, "store %s: is the store it shall be merged into", path);
    return 0;
}

static int attach(struct store *store, const char *path, struct error *err)
{
    char *uri = store_uri(path, "?mode=ro");
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(store->db, "ATTACH ? AS shard", -1, &statement, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_bind_text(statement, 1, uri, -1, SQLITE_STATIC);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    sqlite3_finalize(statement);
    free(uri);
    if (code == SQLITE_DONE)
        return 0;
    if (store_limit(store->db))
        return error_set(err, "store %s: %s", path, store_limit(store->db));
    return error_set(err,
                     "store %s: cannot be attached (%s); copy it to a folder that can be written",
                     path, sqlite3_errmsg(store->db));
}

// The member that counts the rows of a step; NULL: they are not counted.
static int64_t *counter_of(struct store_counts *counts, const char *step)
{
    const struct {
        const char *table;
        int64_t *counter;
    } counters[] = {
        {"runs ", &counts->runs},
        {"commits ", &counts->commits},
        {"builds ", &counts->builds},
        {"series ", &counts->series},
        {"measurements ", &counts->measurements},
        {"predictions ", &counts->predictions},
        {"verdicts ", &counts->verdicts},
        {"profiles ", &counts->profiles},
        {"epochs ", &counts->epochs},
    };
    static const char insert[] = "INSERT INTO main.";
    if (strncmp(step, insert, strlen(insert)) != 0)
        return NULL;
    for (size_t i = 0; i < ARRAY_COUNT(counters); i++) {
        if (strncmp(step + strlen(insert), counters[i].table, strlen(counters[i].table)) == 0)
            return counters[i].counter;
    }
    return NULL;
}

// Conditions that must not hold after a merge. Each query tells with EXISTS whether one holds.
static const struct {
    const char *sql, *what;
} refusals[] = {
    // A uid is drawn at random, so somebody who knows it has seen the run, and could say different
    // things about it.
    {"SELECT EXISTS (SELECT 1 FROM map_known k JOIN shard.runs s ON s.run_key = k.theirs "
     "JOIN main.runs m ON m.run_key = k.ours LEFT JOIN map_text t ON t.theirs = s.tool_key "
     "LEFT JOIN map_text o ON o.theirs = s.repository_key "
     "LEFT JOIN map_text p ON p.theirs = s.policy_key "
     "LEFT JOIN map_commit b ON b.theirs = s.base_commit_key "
     "LEFT JOIN map_commit h ON h.theirs = s.head_commit_key "
     "WHERE s.kind <> m.kind OR s.started_s <> m.started_s OR t.ours IS NOT m.tool_key "
     "OR o.ours IS NOT m.repository_key OR p.ours IS NOT m.policy_key "
     "OR b.ours IS NOT m.base_commit_key OR h.ours IS NOT m.head_commit_key "
     "OR (SELECT ours FROM map_text WHERE theirs = s.base_toolchain_key) "
     "IS NOT m.base_toolchain_key OR (SELECT ours FROM map_text "
     "WHERE theirs = s.head_toolchain_key) IS NOT m.head_toolchain_key)",
     "it has a run that is here with another beginning"},
    {"SELECT EXISTS (SELECT 1 FROM map_known k JOIN shard.measurements x ON x.run_key = k.theirs "
     "JOIN map_series s ON s.theirs = x.series_key JOIN map_commit c ON c.theirs = x.commit_key "
     "LEFT JOIN map_code d ON d.theirs = x.code_key "
     "LEFT JOIN main.measurements m ON m.run_key = k.ours AND m.series_key = s.ours "
     "AND m.role = x.role WHERE CASE WHEN m.run_key IS NULL THEN k.finished ELSE "
     "m.state <> x.state OR m.time_ns IS NOT x.time_ns OR m.samples <> x.samples "
     "OR m.seed <> x.seed OR m.commit_key <> c.ours OR m.code_key IS NOT d.ours END)",
     "it adds measurements to a run that is here and finished, or has others than are here"},
    // Two runs with one uid would be joined, and have results of devices that the run did not use.
    // CROSS JOIN goes from the shard's runs to their results instead of through all results of the
    // store.
    {"SELECT EXISTS (SELECT 1 FROM map_run r CROSS JOIN main.results x ON x.run_key = r.ours "
     "CROSS JOIN main.series s ON s.series_key = x.series_key WHERE NOT EXISTS (SELECT 1 "
     "FROM run_devices v WHERE v.run_key = x.run_key AND v.device_key = s.device_key))",
     "it has results of a device that their run was not on"},
};

static int check_known(struct store *store, const char *path, struct error *err)
{
    int status = 0;
    for (size_t i = 0; status == 0 && i < ARRAY_COUNT(refusals); i++) {
        sqlite3_stmt *statement = NULL;
        int code = sqlite3_prepare_v2(store->db, refusals[i].sql, -1, &statement, NULL);
        if (code == SQLITE_OK)
            code = sqlite3_step(statement);
        status = code == SQLITE_ROW ? 0 : store_fail(store, err);
        if (status == 0 && sqlite3_column_int(statement, 0))
            status = error_set(err, "merging %s: %s; nothing was merged", path, refusals[i].what);
        sqlite3_finalize(statement);
    }
    return status;
}

static int check_run(struct store *store, int64_t run_id, struct error *err)
{
    struct run run;
    if (store_load_run(&run, store, run_id, err))
        return -1;
    run_free(&run);
    return 0;
}

static int read_runs(struct store *store, struct error *err)
{
    sqlite3_stmt *row = NULL;
    int code = sqlite3_prepare_v2(store->db, "SELECT ours FROM map_run", -1, &row, NULL);
    int status = code == SQLITE_OK ? 0 : store_fail(store, err);
    while (status == 0 && (code = sqlite3_step(row)) == SQLITE_ROW)
        status = check_run(store, sqlite3_column_int64(row, 0), err);
    if (status == 0 && code != SQLITE_DONE)
        status = store_fail(store, err);
    sqlite3_finalize(row);
    return status;
}

// Checks that everything can be read. Each value may be in range while the whole is something that
// no reader accepts. It would stay forever, and everything that reads its run, a series' links or
// the events would fail. So it is read before the merge is committed. Links with keys beyond `link`
// are the shard's.
static int check_readable(struct store *store, const char *path, int64_t link, struct error *err)
{
    struct arena arena = {0};
    struct link *links;
    struct error why;
    size_t count;
    const bool readable = read_runs(store, &why) == 0 &&
                          store_links_beyond(&links, &count, store, link, &arena, &why) == 0;
    arena_free(&arena);
    if (readable)
        return 0;
    return error_set(err, "merging %s: nothing was merged, for with it one would read: %s", path,
                     why.text);
}

// ---- the ranges of what a shard has ----
//
// One table says what each column holds; the tables of fields give the ranges. NULL is in range
// where the schema allows it. Conclusions have no range: errors, evidence and the ends of intervals
// may be infinite.

enum { DEVICE_TEXT = 256 };

enum rule {
    A_KERNEL,   // a kernel's name
    A_DEVICE,   // a device's id or name
    A_WORD,     // an object id, or one of this program's own words; may be empty
    A_UID,      // a run's uid
    A_PROBLEM,  // a problem that problem_parse() accepts
    A_TIME,     // seconds since 1970
    A_DURATION, // nanoseconds above 0
    A_CLOCK,    // Hz
    A_COUNT,    // 0 to UINT32_MAX
    A_NUMBER,   // finite
    A_FIELD     // within the range of its field
};

struct ranged_column {
    const char *table, *name;
    enum rule rule;
    const struct stored_field *field;
};

static const struct ranged_column columns[] = {
    {"commits", "order_s", A_TIME, NULL},
    {"devices", "uuid", A_DEVICE, NULL},
    {"devices", "kind", A_WORD, NULL},
    {"problems", "problem", A_PROBLEM, NULL},
    {"kernels", "name", A_KERNEL, NULL},
    {"codes", "code_id", A_WORD, NULL},
    {"runs", "uid", A_UID, NULL},
    {"run_devices", "position", A_COUNT, NULL},
    {"measurements", "commit_s", A_TIME, NULL},
    {"measurements", "time_ns", A_DURATION, NULL},
    {"measurements", "clock_hz", A_CLOCK, NULL},
    {"measurements", "samples", A_COUNT, NULL},
    {"results", "pairs", A_COUNT, NULL},
    {"figures", "value", A_NUMBER, NULL},
    {"epochs", "level", A_NUMBER, NULL},
    {"predictions", "made_s", A_TIME, NULL},
    {"verdicts", "made_s", A_TIME, NULL},
    {"links", "uid", A_UID, NULL},
    {"device_entries", "when_s", A_TIME, NULL},
};

static bool is_word(const char *text)
{
    for (const char *c = text; *c; c++) {
        if (*c <= ' ' || *c >= 0x7f)
            return false;
    }
    return strlen(text) < OBJECT_ID_TEXT;
}

static bool is_problem(const char *text)
{
    struct problem problem;
    struct error ignored;
    return problem_parse(&problem, text, &ignored) == 0;
}

static bool text_fits(enum rule rule, const char *text, size_t bytes)
{
    if (!text || strlen(text) != bytes)
        return false; // it is damaged, or contains a NUL
    switch (rule) {
    case A_KERNEL:
        return range_is_name(text, KERNEL_NAME_TEXT);
    case A_DEVICE:
        return range_is_name(text, DEVICE_TEXT);
    case A_UID:
        return bytes == STORE_UID_TEXT - 1 && strspn(text, "0123456789abcdef") == bytes;
    case A_PROBLEM:
        return is_problem(text);
    default:
        return is_word(text);
    }
}

static bool fits(sqlite3_stmt *row, int at, const struct ranged_column *column)
{
    const double real = sqlite3_column_double(row, at);
    const int64_t whole = sqlite3_column_int64(row, at);
    switch (column->rule) {
    case A_FIELD:
        return real >= column->field->range.low && real <= column->field->range.high;
    case A_TIME:
        return range_is_time(whole);
    case A_COUNT:
        return whole >= 0 && whole <= UINT32_MAX;
    case A_DURATION:
        return real > 0 && real <= SAMPLE_TIME_NS;
    case A_CLOCK:
        return real >= 0 && real <= SAMPLE_CLOCK_HZ;
    case A_NUMBER:
        return isfinite(real);
    default:
        return text_fits(column->rule, (const char *)sqlite3_column_text(row, at),
                         (size_t)sqlite3_column_bytes(row, at));
    }
}

static int check_row(sqlite3_stmt *row, const struct ranged_column *of, size_t count,
                     struct error *err)
{
    for (int i = 0; i < (int)count; i++) {
        if (sqlite3_column_type(row, i) == SQLITE_NULL || fits(row, i, &of[i]))
            continue;
        const char *text = (const char *)sqlite3_column_text(row, i);
        return error_set(err, "%s.%s = %.60s is out of range", of[i].table, of[i].name,
                         text ? text : "");
    }
    return 0;
}

// Checks the columns of one table.
static int check_table(struct store *store, const char *schema, const struct ranged_column *of,
                       size_t count, struct error *err)
{
    struct buffer sql = {0};
    sqlite3_stmt *row = NULL;
    for (size_t i = 0; i < count; i++)
        buffer_printf(&sql, "%s%s", i ? ", " : "SELECT ", of[i].name);
    buffer_printf(&sql, " FROM %s.%s", schema, of->table);
    int status = 0, code = sqlite3_prepare_v2(store->db, sql.bytes, -1, &row, NULL);
    if (code != SQLITE_OK)
        status = store_fail(store, err);
    while (status == 0 && (code = sqlite3_step(row)) == SQLITE_ROW)
        status = check_row(row, of, count, err);
    if (status == 0 && code != SQLITE_DONE)
        status = store_fail(store, err);
    sqlite3_finalize(row);
    buffer_free(&sql);
    return status;
}

static int check_fields(struct store *store, const char *schema, const struct stored_fields *fields,
                        struct error *err)
{
    struct ranged_column of[FIELDS_MOST];
    size_t count = 0;
    for (size_t i = 0; i < fields->count; i++) {
        const struct stored_field *f = &fields->items[i];
        const bool word = f->type == FIELD_ID;
        const bool bounded = isfinite(f->range.low) || isfinite(f->range.high);
        if (word || bounded)
            of[count++] =
                (struct ranged_column){fields->table, f->column, word ? A_WORD : A_FIELD, f};
    }
    return count ? check_table(store, schema, of, count, err) : 0;
}

// Whether times and clocks of all samples are in range.
static bool samples_fit(const struct sample *samples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!(samples[i].time_ns > 0 && samples[i].time_ns <= SAMPLE_TIME_NS &&
              samples[i].clock_hz >= 0 && samples[i].clock_hz <= SAMPLE_CLOCK_HZ))
            return false;
    }
    return true;
}

static int check_samples(struct store *store, const char *schema, struct error *err)
{
    char *sql = xprintf("SELECT s.packed, m.samples FROM %s.samples s "
                        "JOIN %s.measurements m ON m.measurement_key = s.measurement_key",
                        schema, schema);
    sqlite3_stmt *row = NULL;
    int status = 0, code = sqlite3_prepare_v2(store->db, sql, -1, &row, NULL);
    if (code != SQLITE_OK)
        status = store_fail(store, err);
    while (status == 0 && (code = sqlite3_step(row)) == SQLITE_ROW) {
        struct arena arena = {0};
        struct sample *samples;
        size_t count;
        status = unpack_samples(&samples, &count, sqlite3_column_blob(row, 0),
                                (size_t)sqlite3_column_bytes(row, 0), &arena, err);
        if (status == 0 &&
            ((int64_t)count != sqlite3_column_int64(row, 1) || !samples_fit(samples, count)))
            status = error_set(err, "samples.packed: a sample is out of range, or their number is");
        arena_free(&arena);
    }
    if (status == 0 && code != SQLITE_DONE)
        status = store_fail(store, err);
    sqlite3_finalize(row);
    free(sql);
    return status;
}

// Checks every value of the database `schema` ("main", or one that is attached). Refuses the first
// bad value with a message that names its table, its column and the value.
static int range_check(struct store *store, const char *schema, struct error *err)
{
    for (size_t i = 0, count; i < ARRAY_COUNT(columns); i += count) {
        count = 1;
        while (i + count < ARRAY_COUNT(columns) &&
               strcmp(columns[i].table, columns[i + count].table) == 0)
            count++;
        if (check_table(store, schema, &columns[i], count, err))
            return -1;
    }
    for (size_t i = 0; i < all_fields_count; i++) {
        if (check_fields(store, schema, all_fields[i], err))
            return -1;
    }
    return check_samples(store, schema, err);
}

static int check_values(struct store *store, const char *path, struct error *err)
{
    struct error why;
    return range_check(store, "shard", &why)
               ? error_set(err, "merging %s: %s; nothing was merged", path, why.text)
               : 0;
}

static int run_steps(struct store *store, const char *path, struct store_counts *added,
                     struct error *err)
{
    struct error why;
    int64_t link;
    if (check_values(store, path, err) ||
        statement_get(&link, store, err, SQL_NEWEST_OF_LINKS, NULL, 0))
        return -1;
    for (size_t i = 0; i < ARRAY_COUNT(merge_steps); i++) {
        int64_t *counter = counter_of(added, merge_steps[i]);
        if (run_sql(store, merge_steps[i], &why))
            return error_set(err, "merging %s: %s", path, why.text);
        if (counter)
            *counter += sqlite3_changes64(store->db);
    }
    return check_known(store, path, err) || check_readable(store, path, link, err) ? -1 : 0;
}

// Finds out which file has a fault. SQLite does not say in which file it met one, and reports a
// shard's record that claims gigabytes as a lack of memory. So the shard is checked before the
// store is blamed.
static int blame(struct store *store, const char *path, struct error *err)
{
    sqlite3_stmt *row = NULL;
    int code = sqlite3_prepare_v2(store->db, "PRAGMA shard.integrity_check(1)", -1, &row, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(row);
    const char *said =
        code == SQLITE_ROW ? (const char *)sqlite3_column_text(row, 0) : sqlite3_errmsg(store->db);
    const char *line = said ? strrchr(said, '\n') : NULL; // the line below its title
    if (code == SQLITE_ROW ? said && strcmp(said, "ok") != 0
                           : code == SQLITE_CORRUPT || code == SQLITE_IOERR)
        error_set(err,
                  "merging %s: it cannot be read whole (%s); make it again or restore a copy; "
                  "nothing was merged",
                  path, line ? line + 1 : said);
    sqlite3_finalize(row);
    return -1;
}

static bool met_fault(struct store *store)
{
    switch (sqlite3_errcode(store->db)) {
    case SQLITE_CORRUPT:
    case SQLITE_IOERR:
    case SQLITE_NOMEM:
    case SQLITE_TOOBIG:
        return true;
    default:
        return false;
    }
}

static void drop_maps(struct store *store)
{
    for (size_t i = 0; i < ARRAY_COUNT(merge_maps); i++) {
        char *sql = xprintf("DROP TABLE IF EXISTS temp.map_%s", merge_maps[i]);
        sqlite3_exec(store->db, sql, NULL, NULL, NULL);
        free(sql);
    }
}

int store_merge(struct store *store, const char *shard, struct store_counts *added,
                struct error *err)
{
    struct store_counts counts = {0};
    assert(store->mode == STORE_WRITE && !store->batch);
    if (check_shard(store, shard, err) || attach(store, shard, err))
        return -1;
    int status = transaction_begin(store, err);
    if (status == 0) {
        status = run_steps(store, shard, &counts, err);
        const bool fault = status && met_fault(store);
        status = transaction_end(store, status, err);
        if (fault)
            status = blame(store, shard, err);
    }
    drop_maps(store);
    sqlite3_exec(store->db, "DETACH shard", NULL, NULL, NULL);
    if (status == 0 && added)
        *added = counts;
    return status;
}
