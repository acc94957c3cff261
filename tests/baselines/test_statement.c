// SPDX-License-Identifier: Apache-2.0
//
// A disk that fails at any step of any statement: whatever is asked of a store ends with -1 and a
// text that says why, and not what came of going on; nothing of it is in the store; asked again it
// answers, and the store is sound. sqlite3_step() is this program's own, and fails the step whose
// turn it is; what SQLite says of it, too.
#include "baselines/fields.h"
#include "baselines/judgement.h"
#include "baselines/statement.h"
#include "baselines/store.h"
#include "ci/history/events.h"
#include "tests/helpers/helper_history.h"
#include "tests/helpers/helper_open_store.h"
#include "tests/helpers/test.h"

#include <dlfcn.h>
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t steps, fails_at; // counted from 1; 0: none fails
static bool reads_only;        // what counts are steps of queries
static bool failed;            // the newest step

static void *sqlite_own(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

int sqlite3_step(sqlite3_stmt *statement)
{
    static int (*step)(sqlite3_stmt *);
    if (!step)
        *(void **)&step = sqlite_own("sqlite3_step");
    const char *sql = reads_only && statement ? sqlite3_sql(statement) : NULL;
    const bool counts = !reads_only || (sql && strncmp(sql, "SELECT", 6) == 0);
    steps += counts;
    failed = counts && steps == fails_at;
    return failed ? SQLITE_IOERR : step(statement);
}

int sqlite3_errcode(sqlite3 *db)
{
    static int (*code)(sqlite3 *);
    if (!code)
        *(void **)&code = sqlite_own("sqlite3_errcode");
    return failed ? SQLITE_IOERR : code(db);
}

static const char reason[] = "the disk of this test";

const char *sqlite3_errmsg(sqlite3 *db)
{
    static const char *(*text)(sqlite3 *);
    if (!text)
        *(void **)&text = sqlite_own("sqlite3_errmsg");
    return failed ? reason : text(db);
}

static bool opens_none;

int sqlite3_open_v2(const char *path, sqlite3 **db, int flags, const char *system)
{
    static int (*open_it)(const char *, sqlite3 **, int, const char *);
    if (!open_it)
        *(void **)&open_it = sqlite_own("sqlite3_open_v2");
    failed = false; // SQLite asks the error of an open database, too
    const int code = open_it(path, db, flags, system);
    failed = opens_none;
    return opens_none ? SQLITE_IOERR : code;
}

static struct run run;
static struct problem problem;
static struct build_kernel kernel;
static unsigned turn; // each time what is saved is another

static struct series series(void)
{
    return (struct series){"alpha", &problem, run.devices[0].uuid};
}

static int record_build(struct open_store *f, struct error *err)
{
    char *content = xprintf("tree recipe %u", turn);
    struct commit commit = run.head;
    const struct build_record build = {content, "cuda", MEASURED_OK, "", &kernel, 1};
    snprintf(commit.id, sizeof(commit.id), "%040x", 700 + turn);
    snprintf(kernel.code, sizeof(kernel.code), "%040x", 800 + turn);
    const int status = store_record_build(f->store, &commit, &build, err);
    free(content);
    return status;
}

static int find_build(struct open_store *f, struct error *err)
{
    struct build_record found;
    bool any;
    return store_find_commit_build(&found, &any, f->store, &run.head, "cuda", &f->arena, err);
}

static int save_link(struct open_store *f, struct error *err)
{
    const struct series of = series();
    struct link l = {.tool_version = "0.1",
                     .made_s = 1700000000 + turn,
                     .back = 1,
                     .kind = VERDICT_SLOWER,
                     .log_ratio = 0.01,
                     .error = 0.0005,
                     .log_evidence = 12,
                     .pairs = 64,
                     .processes = 2};
    l.base = l.head = (struct commit){.summary = "", .author = "", .time_s = 1000};
    snprintf(l.uid, sizeof(l.uid), "%032x", turn);
    snprintf(l.base_code, sizeof(l.base_code), "%040x", 100 + turn);
    snprintf(l.head_code, sizeof(l.head_code), "%040x", 101 + turn);
    snprintf(l.base.id, sizeof(l.base.id), "%040x", 300 + turn);
    snprintf(l.head.id, sizeof(l.head.id), "%040x", 301 + turn);
    return store_save_link(f->store, &of, &l, err);
}

static int read_links(struct open_store *f, struct error *err)
{
    const struct series of = series();
    struct link *links;
    size_t count;
    return store_links(&links, &count, f->store, &of, &f->arena, err);
}

static int begin_a_run(struct open_store *f, struct error *err)
{
    struct run more;
    make_run(&more, RUN_GATE, 10 + turn, 2, 5);
    const int status = store_begin_run(f->store, &more, err);
    run_free(&more);
    return status;
}

static struct run begun; // and saved into, each time another result

static int save_a_result(struct open_store *f, struct error *err)
{
    struct result r = begun.results[0];
    snprintf(r.kernel, sizeof(r.kernel), "kernel-%u", turn);
    return store_save_result(f->store, &begun, &r, err);
}

// Which is finished once.
static int finish_a_run(struct open_store *f, struct error *err)
{
    struct run again = begun;
    return store_finish_run(f->store, &again, err);
}

static int load_all(struct open_store *f, struct error *err)
{
    return load_everything(f->store, err);
}

static int list(struct open_store *f, struct error *err)
{
    struct series_entry *all;
    struct device_entry *devices;
    struct run_entry *runs;
    size_t count;
    return store_list_series(&all, &count, f->store, &f->arena, err) ||
                   store_list_devices(&devices, &count, f->store, &f->arena, err) ||
                   store_list_runs(&runs, &count, f->store, RUN_GATE, 0, &f->arena, err)
               ? -1
               : 0;
}

// ---- what a history reads ----

static int facts(struct open_store *f, struct error *err)
{
    const struct series of = series();
    struct link *links;
    struct link_fact *known;
    struct link_pair *pairs;
    size_t count;
    return store_links_beyond(&links, &count, f->store, 0, &f->arena, err) ||
                   store_link_facts(&known, &count, f->store, &of, 0, &f->arena, err) ||
                   store_newest_pairs(&pairs, &count, f->store, 9, &f->arena, err)
               ? -1
               : 0;
}

static int places(struct open_store *f, struct error *err)
{
    const struct series of = series();
    struct commit_places found = {0};
    struct code_at *codes;
    size_t count;
    int64_t order, code, of_link, base, head;
    bool had;
    return store_commit_order(&order, f->store, &run.head, err) ||
                   store_commit_places(&found, f->store, &f->arena, err) ||
                   store_run_code(&code, f->store, run.id, &of, err) ||
                   store_codes_at(&codes, &count, f->store, &run.head, 1, &f->arena, err) ||
                   store_link_codes(&of_link, &base, &head, f->store, 1, err) ||
                   store_had_base(&had, f->store, 1, run.head.id, err)
               ? -1
               : 0;
}

static int times(struct open_store *f, struct error *err)
{
    const struct series of = series();
    const struct history_query all = {0};
    const struct demand wanted = {.recipe = "cuda",
                                  .device_uuid = run.devices[0].uuid,
                                  .problems = &problem,
                                  .problem_count = 1};
    const struct measured_how how = {0};
    struct stored_points points;
    struct pair_scale *scales;
    struct timed_head *heads;
    struct measurement found;
    struct run_time *of_run;
    struct metric_value *values;
    const char *code;
    size_t count;
    bool is;
    return store_points(&points, f->store, &of, &all, &f->arena, err) ||
                   store_scale(&scales, &count, f->store, &of, 0, 0, &f->arena, err) ||
                   store_timed_heads(&heads, &count, f->store, 1, &f->arena, err) ||
                   store_code_id(&code, f->store, 1, &f->arena, err) ||
                   store_ever_right(&is, f->store, &of, err) ||
                   store_commit_measured(&is, f->store, &run.head, &wanted, err) ||
                   store_find_measurement(&found, &is, f->store, &of, kernel.code, &how, &f->arena,
                                          err) ||
                   store_run_times(&of_run, &count, f->store, run.id, &f->arena, err) ||
                   store_metric_values(&values, &count, f->store, &f->arena, err)
               ? -1
               : 0;
}

static int find_runs(struct open_store *f, struct error *err)
{
    const struct result *first = &run.results[0];
    const struct series of = {first->kernel, &first->problem, run.devices[0].uuid};
    struct result result;
    struct alarm_count studies, tests;
    struct store_report report;
    int64_t id;
    bool found;
    return store_last_run(&id, f->store, RUN_GATE, err) ||
                   store_commit_run(&id, f->store, run.head.id, NULL, err) ||
                   store_find_unfinished(&id, &found, f->store, &run, err) ||
                   store_find_result(&result, &found, f->store, run.id, &of, &f->arena, err) ||
                   store_false_alarms(&studies, &tests, f->store, run.devices[0].uuid, err) ||
                   store_series_false_alarms(&studies, f->store, &of, err) ||
                   store_info(&report, f->store, err)
               ? -1
               : 0;
}

// ---- what is said besides ----

static int save_event(struct open_store *f, struct error *err)
{
    struct stored_event_change change = {.series = 1, .log_ratio = 0.01, .log_evidence = 9};
    struct stored_event event = {
        .cause = ATTRIBUTION_KERNEL, .what = "", .changes = &change, .change_count = 1};
    memcpy(change.first, run.base.id, sizeof(change.first));
    memcpy(change.last, run.head.id, sizeof(change.last));
    snprintf(event.name, sizeof(event.name), "event-%u", turn);
    return store_save_event(f->store, &event, err);
}

static int add_entry(struct open_store *f, struct error *err)
{
    const struct event_entry entry = {EVENT_CONFIRMED, 1700000000 + turn, "plumb", "the links"};
    return store_add_event_entry(f->store, 1, &entry, err);
}

static int read_events(struct open_store *f, struct error *err)
{
    struct stored_event *events;
    struct commit *commits;
    size_t count;
    return store_load_events(&events, &count, f->store, &f->arena, err) ||
                   store_commits(&commits, &count, f->store, &f->arena, err)
               ? -1
               : 0;
}

static int save_a_profile(struct open_store *f, struct error *err)
{
    struct gpu gpu = {.name = "host"};
    gpu.dram_bytes_s = (struct figure){20e9 + turn, ORIGIN_CALIBRATED, "measured"};
    return store_save_profile(f->store, &run.devices[0], &gpu, err);
}

static int save_an_epoch(struct open_store *f, struct error *err)
{
    struct epoch epoch = {"* * *", "abcdef0", 0.03, false, "on purpose", "A. Author", 0};
    epoch.level = 0.001 * turn;
    return store_save_epochs(f->store, &(struct epoch_list){.epochs = &epoch, .count = 1}, err);
}

static int read_profile(struct open_store *f, struct error *err)
{
    struct gpu gpu;
    struct device_entry newest;
    bool found;
    return store_load_profile(&gpu, &found, f->store, run.devices[0].uuid, &f->arena, err) ||
                   store_newest_profile(&newest, f->store, &f->arena, err)
               ? -1
               : 0;
}

static int take_out(struct open_store *f, struct error *err)
{
    const struct device_entry_state out = {true, 1700000000 + turn, "plumb", "it is sick"};
    return store_set_device_state(f->store, run.devices[0].uuid, &out, err);
}

static int sick_devices(struct open_store *f, struct error *err)
{
    struct device_entry_state found;
    struct control_failures failures;
    const char *uuid = run.devices[0].uuid;
    int64_t runs;
    bool any;
    return store_device_state(&found, &any, f->store, uuid, &f->arena, err) ||
                   store_device_runs(&runs, f->store, uuid, 0, err) ||
                   store_control_failures(&failures, f->store, uuid, &f->arena, err)
               ? -1
               : 0;
}

// ---- what is kept of a history ----

static int keep_a_judgement(struct open_store *f, struct error *err)
{
    const struct series of = series();
    struct history_change changes[2] = {{.what = "a driver"}, {.what = "a runtime", .held = ""}};
    struct history_break breaks[2] = {{.what = "one"}, {.what = "another"}};
    struct chart_point chart[2] = {{.time_ns = 10 + turn}, {.index = 1, .time_ns = 20}};
    const struct judgement made = {.maker = "1",
                                   .points = turn,
                                   .changes = changes,
                                   .change_count = 2,
                                   .breaks = breaks,
                                   .break_count = 2};
    return store_save_judgement(f->store, &of, &made, chart, 2, err);
}

static int read_a_judgement(struct open_store *f, struct error *err)
{
    const struct series of = series();
    struct judgement found;
    struct chart_point *chart;
    size_t count;
    return store_load_judgement(&found, f->store, &of, &f->arena, err) ||
                   store_load_chart(&chart, &count, f->store, &of, &f->arena, err)
               ? -1
               : 0;
}

static int keep_links(struct open_store *f, struct error *err)
{
    const struct series of = series();
    struct linked_change changes[2] = {{.link = 1}, {.link = 2}};
    struct linked_misfit misfits[2] = {{.back = 1}, {.back = turn}};
    const struct kept_links kept = {
        .maker = "1",
        .history = {.changes = changes, .change_count = 2, .misfits = misfits, .misfit_count = 2}};
    return store_save_kept_links(f->store, &of, &kept, err);
}

static int read_kept_links(struct open_store *f, struct error *err)
{
    const struct series of = series();
    struct kept_links found;
    return store_load_kept_links(&found, f->store, &of, &f->arena, err);
}

// ---- exports ----

typedef int export(struct store *, const struct export_filter *, FILE *, struct error *);

static int exported(struct open_store *f, export *as, struct error *err)
{
    const struct export_filter one = {.run_id = run.id}, all = {0};
    FILE *file = fopen("/dev/null", "w");
    const int status = as(f->store, &all, file, err) || as(f->store, &one, file, err) ? -1 : 0;
    fclose(file);
    return status;
}

static int export_csv(struct open_store *f, struct error *err)
{
    return exported(f, store_export_csv, err);
}
static int export_links(struct open_store *f, struct error *err)
{
    return exported(f, store_export_links, err);
}
static int export_json(struct open_store *f, struct error *err)
{
    return exported(f, store_export_json, err);
}
static int export_bmf(struct open_store *f, struct error *err)
{
    return exported(f, store_export_bmf, err);
}
static int export_openmetrics(struct open_store *f, struct error *err)
{
    return exported(f, store_export_openmetrics, err);
}

struct asking {
    const char *name;
    int (*ask)(struct open_store *f, struct error *err);
};
static const struct asking asked[] = {
    {"a commit's build", find_build},
    {"links", read_links},
    {"all runs", load_all},
    {"lists", list},
    {"CSV", export_csv},
    {"links in CSV", export_links},
    {"JSON", export_json},
    {"BMF", export_bmf},
    {"OpenMetrics", export_openmetrics},
    {"a build", record_build},
    {"a link", save_link},
    {"the beginning of a run", begin_a_run},
    {"a result", save_a_result},
    {"the end of a run", finish_a_run},
    {"links' facts", facts},
    {"commits' places", places},
    {"times", times},
    {"one of the runs", find_runs},
    {"an event", save_event},
    {"what is said of an event", add_entry},
    {"events", read_events},
    {"a profile", save_a_profile},
    {"an epoch", save_an_epoch},
    {"profiles", read_profile},
    {"a device taken out", take_out},
    {"sick devices", sick_devices},
    {"a judgement", keep_a_judgement},
    {"a kept judgement", read_a_judgement},
    {"what links said", keep_links},
    {"what is kept of links", read_kept_links},
};

AROUND_EACH(open_store_set_up, open_store_tear_down);

TEST(every_statement_is_one_that_sqlite_takes)
{
    static const char *const all[] = {
#define X(name, sql) sql,
#include "baselines/statement.inc"
#undef X
    };
    struct open_store *f = *state;
    for (size_t i = 0; i < ARRAY_COUNT(all); i++) {
        sqlite3_stmt *statement = NULL;
        if (sqlite3_prepare_v2(f->store->db, all[i], -1, &statement, NULL) || !statement)
            fail_msg("%s: %s", all[i], sqlite3_errmsg(f->store->db));
        sqlite3_finalize(statement);
    }
}

// A store that is opened is compared with it, and no migration runs again.
TEST(what_the_migrations_make_was_written_when_this_was_built)
{
    extern const unsigned char store_schema[];
    char *made = migration_schema();
    assert_string_equal(made, (const char *)store_schema); // cmocka 2 wants char
    free(made);
}

// Its statement was not prepared before.
TEST(a_statement_that_cannot_be_prepared_says_why)
{
    struct open_store *f = *state;
    struct error err;
    struct metric_value *values;
    size_t found;
    assert_int_equal(sqlite3_exec(f->store->db, "DROP TABLE metrics", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(store_metric_values(&values, &found, f->store, &f->arena, &err), -1);
    assert_non_null(strstr(err.text, "no such table"));
}

TEST(a_store_that_sqlite_does_not_open_says_why)
{
    struct open_store *f = *state;
    const enum store_mode modes[] = {STORE_READ, STORE_WRITE};
    opens_none = true;
    for (size_t i = 0; i < ARRAY_COUNT(modes); i++) {
        struct store *store = NULL;
        struct error err;
        assert_int_equal(store_open(&store, f->path, modes[i], &err), -1);
        assert_null(store);
        assert_non_null(strstr(err.text, "cannot be opened (the disk of this test)"));
    }
    opens_none = failed = false;
}

static int met; // errno of a disk that fails

int sqlite3_file_control(sqlite3 *db, const char *name, int op, void *out)
{
    static int (*own)(sqlite3 *, const char *, int, void *);
    if (!own)
        *(void **)&own = sqlite_own("sqlite3_file_control");
    if (!failed || op != SQLITE_FCNTL_LAST_ERRNO)
        return own(db, name, op, out);
    *(int *)out = met;
    return SQLITE_OK;
}

// SQLite says the same of all of them.
TEST(a_limit_is_told_and_not_what_sqlite_makes_of_it)
{
    static const struct {
        int met;
        const char *says;
    } cases[] = {{EDQUOT, "the quota of disk space is used up"},
                 {EFBIG, "`ulimit -f`"},
                 {EMFILE, "`ulimit -n 256`"},
                 {ENFILE, "too many open files on this machine"},
                 {EIO, reason}};
    struct open_store *f = *state;
    make_run(&run, RUN_GATE, 1, 1, 5);
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct error err = {0};
        met = cases[i].met;
        steps = 0, fails_at = 1;
        assert_int_equal(store_begin_run(f->store, &run, &err), -1);
        fails_at = 0;
        if (!strstr(err.text, cases[i].says) || strchr(err.text, '\n'))
            fail_msg("%s: %s", cases[i].says, err.text);
    }
    met = 0;
    run_free(&run);
}

// What another connection sees of changes that were committed.
static int64_t seen(sqlite3_stmt *version)
{
    assert_int_equal(sqlite3_step(version), SQLITE_ROW);
    const int64_t number = sqlite3_column_int64(version, 0);
    sqlite3_reset(version);
    return number;
}

static void fail_each(struct open_store *f, const struct asking *what, sqlite3_stmt *version)
{
    struct error err;
    size_t count = 0;
    for (size_t at = 1;; at++) {
        turn++;
        err.text[0] = '\0';
        const int64_t before = seen(version);
        steps = 0, fails_at = at;
        const int status = what->ask(f, &err);
        const bool all = steps < at; // it has fewer
        fails_at = 0;
        if (all) {
            assert_ok(status, &err);
            break;
        }
        if (status != -1 || !strstr(err.text, reason))
            fail_msg("%s: step %zu fails and it ends with %d: '%s'", what->name, at, status,
                     err.text);
        if (!reads_only && seen(version) != before)
            fail_msg("%s: step %zu fails, and a part is in the store", what->name, at);
        count++;
        assert_ok(what->ask(f, &err), &err);
    }
    print_message("%s: %zu steps\n", what->name, count);
    assert_true(count > 0);
}

static void fail_all(struct open_store *f, const struct asking *each, size_t count)
{
    sqlite3 *beside;
    sqlite3_stmt *version;
    assert_int_equal(sqlite3_open(f->path, &beside), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(beside, "PRAGMA data_version", -1, &version, NULL),
                     SQLITE_OK);
    for (size_t i = 0; i < count; i++)
        fail_each(f, &each[i], version);
    sqlite3_finalize(version);
    sqlite3_close(beside);
    sound_counts(f->store);
}

TEST(whatever_step_fails_is_told_and_leaves_nothing)
{
    struct open_store *f = *state;
    struct error err;
    make_run(&run, RUN_GATE, 1, 2, 5);
    save_whole_run(f->store, &run);
    make_run(&begun, RUN_GATE, 2, 2, 5);
    assert_ok(store_begin_run(f->store, &begun, &err), &err);
    memcpy(kernel.name, run.results[0].kernel, sizeof(kernel.name));
    kernel.traits = run.results[0].traits;
    assert_int_equal(problem_parse(&problem, "64x64x128:fp32", &err), 0);
    for (turn = 1; turn < 4; turn++) {
        assert_ok(save_link(f, &err), &err);
        assert_ok(record_build(f, &err), &err);
    }
    fail_all(f, asked, ARRAY_COUNT(asked));
    run_free(&run);
    run_free(&begun);
}

// ---- histories ----

static struct store *scene;
static struct arena found;

static int load_with(bool keeps, struct error *err)
{
    const struct history_wanted wanted = {.keeps = keeps, .levels = !keeps};
    const struct events_asked asking = {.now_s = 0};
    struct history_set set;
    struct events events;
    if (history_load(&set, scene, &wanted, NULL, err))
        return -1;
    const int status = events_load(&events, &set, scene, &asking, &found, err);
    history_free(&set);
    return status;
}

static int load(struct open_store *f, struct error *err)
{
    return load_with(false, err);
}

static int load_and_keep(struct open_store *f, struct error *err)
{
    return load_with(true, err);
}

static int find_sick(struct open_store *f, struct error *err)
{
    struct sick_finding *sick;
    size_t count;
    return sick_find(&sick, &count, scene, 0.01, &found, err);
}

static int find_drivers(struct open_store *f, struct error *err)
{
    const struct history_wanted all = {0};
    struct driver_steps moved;
    return drivers_find(&moved, scene, &all, true, &found, err);
}

static void save_scene_link(int head, int head_code)
{
    const struct series of = {"kernel", &problem, "GPU-1"};
    struct error err;
    struct link l = {.tool_version = "0.1",
                     .made_s = 1700000000 + head,
                     .back = 1,
                     .kind = VERDICT_FASTER,
                     .log_ratio = -0.05,
                     .error = 0.0005,
                     .log_evidence = 12,
                     .pairs = 64,
                     .processes = 2};
    l.base = l.head = (struct commit){.summary = "", .author = ""};
    l.base.time_s = 1700000000 + 3600 * (int64_t)(head - 1);
    l.head.time_s = l.base.time_s + 3600;
    snprintf(l.uid, sizeof(l.uid), "%032x", (unsigned)head);
    snprintf(l.base_code, sizeof(l.base_code), "%040d", !head_code);
    snprintf(l.head_code, sizeof(l.head_code), "%040d", head_code);
    snprintf(l.base.id, sizeof(l.base.id), "aaaa%036d", head - 1);
    snprintf(l.head.id, sizeof(l.head.id), "aaaa%036d", head);
    assert_ok(store_save_link(scene, &of, &l, &err), &err);
}

// Of controls that move, a kernel that steps, and links after which an earlier code came back. A
// store that takes nothing stops no look at a history: there only what is read may fail.
TEST(whatever_step_of_a_history_fails_is_told)
{
    static const struct asking each[] = {
        {"histories", load},
        {"histories that are kept", load_and_keep},
        {"devices' health", find_sick},
        {"steps of drivers", find_drivers},
    };
    struct open_store *f = *state;
    const struct scene moved = {.step = 0.05, .common = 0.03, .driver = true};
    struct error err;
    scene = f->store;
    scene_save(scene, &moved, STEP - 5, STEP + 5, 7);
    assert_int_equal(problem_parse(&problem, "64x64x64:fp32", &err), 0);
    save_scene_link(STEP - 4, 1);
    save_scene_link(STEP - 3, 0);
    reads_only = true;
    fail_all(f, each, ARRAY_COUNT(each));
    reads_only = false;
    arena_free(&found);
}
