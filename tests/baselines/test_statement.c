// SPDX-License-Identifier: Apache-2.0
//
// A disk that fails at any step of any statement: whatever is asked of a store ends with -1 and a
// text that says why; asked again it answers, and the store is sound. sqlite3_step() is this
// program's own, and fails the step whose turn it is.
#include "baselines/kept/kept_links.h"
#include "baselines/link.h"
#include "ci/history/link_tests.h"
#include "tests/helpers/helper_open_store.h"
#include "tests/helpers/test.h"

#include <dlfcn.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t steps, fails_at; // counted from 1; 0: none fails

int sqlite3_step(sqlite3_stmt *statement)
{
    static int (*step)(sqlite3_stmt *);
    if (!step)
        *(void **)&step = dlsym(RTLD_NEXT, "sqlite3_step");
    return ++steps == fails_at ? SQLITE_IOERR : step(statement);
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

static int test_links(struct open_store *f, struct error *err)
{
    struct link_tests tests;
    return link_tests_read(&tests, f->store, false, &f->arena, err);
}

static int save_run(struct open_store *f, struct error *err)
{
    struct run more;
    make_run(&more, RUN_GATE, 10 + turn, 2, 5);
    int status = store_begin_run(f->store, &more, err);
    for (size_t i = 0; status == 0 && i < more.count; i++)
        status = store_save_result(f->store, &more, &more.results[i], err);
    if (status == 0)
        status = store_finish_run(f->store, &more, err);
    run_free(&more);
    return status;
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

typedef int export(struct store *, const struct export_filter *, FILE *, struct error *);

static int exported(struct open_store *f, export *as, struct error *err)
{
    const struct export_filter all = {0};
    FILE *file = fopen("/dev/null", "w");
    const int status = as(f->store, &all, file, err);
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

static const struct {
    const char *name;
    int (*ask)(struct open_store *f, struct error *err);
} asked[] = {
    {"a commit's build", find_build},
    {"links", read_links},
    {"what links say together", test_links},
    {"all runs", load_all},
    {"lists", list},
    {"CSV", export_csv},
    {"links in CSV", export_links},
    {"JSON", export_json},
    {"BMF", export_bmf},
    {"OpenMetrics", export_openmetrics},
    {"a build", record_build},
    {"a link", save_link},
    {"a run", save_run},
};

AROUND_EACH(open_store_set_up, open_store_tear_down);

TEST(whatever_step_fails_is_told)
{
    struct open_store *f = *state;
    struct error err;
    make_run(&run, RUN_GATE, 1, 2, 5);
    save_whole_run(f->store, &run);
    memcpy(kernel.name, run.results[0].kernel, sizeof(kernel.name));
    kernel.traits = run.results[0].traits;
    assert_int_equal(problem_parse(&problem, "64x64x128:fp32", &err), 0);
    for (turn = 1; turn < 4; turn++) {
        assert_ok(save_link(f, &err), &err);
        assert_ok(record_build(f, &err), &err);
    }
    for (size_t i = 0; i < ARRAY_COUNT(asked); i++) {
        size_t failed = 0;
        for (size_t at = 1;; at++) {
            turn++;
            err.text[0] = '\0';
            steps = 0, fails_at = at;
            const int status = asked[i].ask(f, &err);
            fails_at = 0;
            if (steps < at) { // it has fewer
                assert_ok(status, &err);
                break;
            }
            if (status != -1 || !err.text[0])
                fail_msg("%s: step %zu fails and it ends with %d: '%s'", asked[i].name, at, status,
                         err.text);
            failed++;
            assert_ok(asked[i].ask(f, &err), &err);
        }
        print_message("%s: %zu steps\n", asked[i].name, failed);
        assert_true(failed > 0);
    }
    sound_counts(f->store);
    run_free(&run);
}
