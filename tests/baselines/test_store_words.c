// SPDX-License-Identifier: Apache-2.0
//
// The words of verdicts and states in the store: those of older stores stay readable, the newer
// ones come back from it, from an export and from a merge, and what no measurement can be is
// refused.
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_open_store.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void run_migration(const char *path, const char *name)
{
    char *file = xprintf("%s/baselines/migrations/%s", TEST_SOURCE, name);
    char *sql = helper_read(file, NULL);
    run_sql(path, sql);
    free(sql);
    free(file);
}

// A store as it was before the words: one gate of one series, which is slower.
static void write_old_store(const char *path)
{
    static const char *const migrations[] = {
        "0001_init.sql",    "0002_explanation.sql", "0003_judgements.sql", "0004_studies.sql",
        "0005_newest.sql",  "0006_breaks.sql",      "0007_order.sql",      "0008_detectable.sql",
        "0009_unbuilt.sql", "0010_held.sql"};
    for (size_t i = 0; i < ARRAY_COUNT(migrations); i++)
        run_migration(path, migrations[i]);
    run_sql(
        path,
        "PRAGMA application_id = 1886156141; PRAGMA user_version = 10;"
        "INSERT INTO texts VALUES (1, '');"
        "INSERT INTO commits VALUES (1, 'aaaaaaa', '', '', '', '', 100, 100);"
        "INSERT INTO devices VALUES (1, 'GPU-1', 'cuda', 'H');"
        "INSERT INTO problems VALUES (1, '8x8x8:fp32-fp32:tn');"
        "INSERT INTO kernels VALUES (1, 'k');"
        "INSERT INTO series VALUES (1, 1, 1, 1);"
        "INSERT INTO models VALUES (1, 'gate', '1');"
        "INSERT INTO runs VALUES (1, '0123456789abcdef0123456789abcdef', 'gate', 5, 6, 1, 1, 1,"
        " 1, 1, 1, 'SLOWER');"
        "INSERT INTO run_devices VALUES (1, 0, 1, 1, 1, 1);"
        "INSERT INTO results (run_key, series_key, control, reused, pairs)"
        " VALUES (1, 1, 0, 0, 0);"
        "INSERT INTO verdicts VALUES (1, 1, 1, 6, 'slower', 'kernel', 0.03, 0.02, 0.04, 0.95, 9,"
        " 0.003, 64, 4, 0.1, 'k is slower', 'why', 0.001);"
        "INSERT INTO epochs VALUES (1, 'k * *', 'aaaaaaa', 0.03, 'r', 'A', 0);");
}

AROUND_EACH(open_store_set_up_two, open_store_tear_down);

TEST_WITH(verdicts_of_older_stores_stay, open_store_set_up_none, open_store_tear_down)
{
    struct open_store *f = *state;
    struct error err = {0};
    struct run run;
    write_old_store(f->path);
    struct store *store = scratch_store(f->path, STORE_WRITE);
    assert_ok(store_load_run(&run, store, 1, &err), &err);
    assert_int_equal(run.count, 1);
    const struct verdict *v = &run.results[0].verdict;
    assert_int_equal(v->kind, VERDICT_SLOWER);
    assert_int_equal(v->cause, CAUSE_KERNEL);
    assert_string_equal(v->sentence, "k is slower");
    assert_string_equal(v->explanation, "why");
    assert_true(v->log_ratio.value == 0.03 && v->detectable == 0.001 && v->pairs == 64);
    assert_int_equal(run.results[0].head.state, MEASURED_NOT_TAKEN); // there is no row of it
    run_free(&run);
    assert_int_equal(sound_counts(store).epochs, 1);
    store_close(store);
}

static void make_words(struct run *run)
{
    make_run(run, RUN_GATE, 0, 3, 3);
    run->results[0].verdict.kind = VERDICT_NOT_MEASURED;
    run->results[0].base = run->results[0].head = (struct measurement){.regime = "", .detail = ""};
    run->results[1].verdict.kind = VERDICT_ACCEPTED;
    run->results[2].verdict.kind = VERDICT_BROKEN;
    run->results[2].verdict.cause = CAUSE_BASE;
}

static void expect_words(struct store *store, int64_t id)
{
    struct error err = {0};
    struct run run;
    assert_ok(store_load_run(&run, store, id, &err), &err);
    assert_int_equal(run.results[0].verdict.kind, VERDICT_NOT_MEASURED);
    assert_int_equal(run.results[0].head.state, MEASURED_NOT_TAKEN);
    assert_int_equal(run.results[1].verdict.kind, VERDICT_ACCEPTED);
    assert_int_equal(run.results[1].head.state, MEASURED_OK);
    assert_int_equal(run.results[2].verdict.cause, CAUSE_BASE);
    run_free(&run);
}

TEST_WITH(a_name_of_200_bytes_is_kept, open_store_set_up, open_store_tear_down)
{
    struct open_store *f = *state;
    struct error err = {0};
    struct run run, back;
    make_run(&run, RUN_GATE, 0, 1, 1);
    memset(run.results[0].kernel, 'k', KERNEL_NAME_TEXT - 1);
    assert_int_equal(strlen(run.results[0].kernel), 200);
    save_whole_run(f->store, &run);
    assert_ok(store_load_run(&back, f->store, run.id, &err), &err);
    assert_string_equal(back.results[0].kernel, run.results[0].kernel);
    run_free(&run);
    run_free(&back);
}

// Not inlined: gcc at -O3 takes what open_memstream() left in `text` for the address of `text`.
static __attribute__((noinline)) char *exported(struct store *store)
{
    const struct export_filter filter = {0};
    struct error err = {0};
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    assert_ok(store_export_json(store, &filter, file, &err), &err);
    fclose(file);
    return text;
}

TEST(words_come_back_from_the_store_and_from_an_export)
{
    struct open_store *f = *state;
    struct error err = {0};
    struct run run;
    int64_t id;
    make_words(&run);
    save_whole_run(f->store, &run);
    expect_words(f->store, run.id);
    char *text = exported(f->store);
    assert_ok(import_text(f->other, text, strlen(text), "json", NULL, &err), &err);
    assert_ok(store_last_run(&id, f->other, RUN_GATE, &err), &err);
    expect_words(f->other, id);
    free(text);
    run_free(&run);
}

TEST_WITH(a_verdict_that_nobody_gave_is_not_measured, open_store_set_up, open_store_tear_down)
{
    struct open_store *f = *state;
    struct error err = {0};
    struct run run, loaded;
    make_run(&run, RUN_GATE, 0, 1, 3);
    run.results[0].verdict = (struct verdict){0};
    save_whole_run(f->store, &run);
    assert_ok(store_load_run(&loaded, f->store, run.id, &err), &err);
    assert_int_equal(loaded.results[0].verdict.kind, VERDICT_NOT_MEASURED);
    run_free(&run);
    run_free(&loaded);
}

// Replaces the first `from` of the store's export and expects that to be refused.
static void refused_with(struct open_store *f, const char *from, const char *to)
{
    struct error err = {0};
    char *text = exported(f->store), *at = strstr(text, from);
    assert_non_null(at);
    char *bad = xprintf("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    assert_int_equal(import_text(f->other, bad, strlen(bad), "json", NULL, &err), -1);
    free(bad);
    free(text);
}

TEST(states_that_no_measurement_has_are_refused)
{
    struct open_store *f = *state;
    static const char csv[] = "commit,kernel,problem,time_ns,state\naaaaaaa,k,1x1x1,5,not taken\n";
    struct error err = {0};
    struct run run;
    make_words(&run);
    save_whole_run(f->store, &run);
    refused_with(f, "\"state\":\"ok\"", "\"state\":\"not taken\"");
    refused_with(f, "\"kind\":\"accepted\"", "\"kind\":\"Accepted\"");
    refused_with(f, "\"kind\":\"not measured\"", "\"kind\":\"\"");
    assert_int_equal(import_text(f->other, csv, strlen(csv), "csv", NULL, &err), -1);
    assert_non_null(strstr(err.text, "file:2: state"));
    // Well, and without a single sample: there is no such thing.
    struct run empty;
    make_run(&empty, RUN_GATE, 1, 1, 3);
    empty.results[0].head = (struct measurement){.state = MEASURED_OK, .regime = "", .detail = ""};
    assert_ok(store_begin_run(f->store, &empty, &err), &err);
    assert_int_equal(store_save_result(f->store, &empty, &empty.results[0], &err), -1);
    assert_non_null(strstr(err.text, "a measurement that is ok has samples"));
    run_free(&run);
    run_free(&empty);
}
