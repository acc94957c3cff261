// SPDX-License-Identifier: Apache-2.0
//
// Links and events in the store: they come back, through merging and JSON too, links outlive the
// run that measured them, and what cannot be one is refused wherever it comes from.
#include "baselines/store.h"
#include "tests/helpers/helper_open_store.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct problem problem;

static struct series series_in(const struct run *run)
{
    struct error err;
    assert_int_equal(problem_parse(&problem, "64x64x128:fp32", &err), 0);
    return (struct series){"alpha", &problem, run->devices[0].uuid};
}

static struct link sound_link(unsigned number)
{
    struct link l = {.tool_version = "0.1",
                     .made_s = 1700000000 + number,
                     .back = number,
                     .kind = VERDICT_SLOWER,
                     .log_ratio = 0.0123456789012345,
                     .error = 0.00045,
                     .log_evidence = 12.5,
                     .pairs = 64,
                     .processes = 2};
    snprintf(l.uid, sizeof(l.uid), "%032x", number);
    snprintf(l.base_code, sizeof(l.base_code), "%040x", 100 + number);
    snprintf(l.head_code, sizeof(l.head_code), "%040x", 200 + number);
    l.base = (struct commit){.summary = "base", .author = "A", .time_s = 1000 + number};
    l.head = (struct commit){.summary = "head", .author = "B", .time_s = 2000 + number};
    snprintf(l.base.id, sizeof(l.base.id), "%040x", 300 + number);
    snprintf(l.head.id, sizeof(l.head.id), "%040x", 400 + number);
    return l;
}

// A run of the device, and `count` links of one of its series.
static void save_links(struct store *store, struct run *run, unsigned count)
{
    struct error err;
    make_run(run, RUN_MEASURE, 1, 0, 5);
    assert_ok(store_begin_run(store, run, &err), &err);
    assert_ok(store_finish_run(store, run, &err), &err);
    const struct series series = series_in(run);
    for (unsigned i = count; i > 0; i--) {
        const struct link l = sound_link(i);
        for (int again = 0; again < 2; again++)
            assert_ok(store_save_link(store, &series, &l, &err), &err);
    }
}

static void expect_links(struct store *store, const struct run *run, unsigned count)
{
    struct arena arena = {0};
    struct link *links;
    struct error err;
    size_t found;
    const struct series series = series_in(run);
    assert_ok(store_links(&links, &found, store, &series, &arena, &err), &err);
    assert_int_equal(found, count);
    for (unsigned i = 0; i < count; i++) {
        const struct link expected = sound_link(i + 1), *l = &links[i];
        assert_string_equal(l->uid, expected.uid);
        assert_string_equal(l->base_code, expected.base_code);
        assert_string_equal(l->head_code, expected.head_code);
        assert_string_equal(l->base.id, expected.base.id);
        assert_string_equal(l->head.summary, "head");
        assert_string_equal(l->tool_version, "0.1");
        assert_true(l->made_s == expected.made_s && l->back == expected.back &&
                    l->kind == expected.kind && l->pairs == 64 && l->processes == 2);
        assert_true(l->log_ratio == expected.log_ratio && l->error == expected.error &&
                    l->log_evidence == expected.log_evidence);
    }
    arena_free(&arena);
}

static char *exported(struct store *store, size_t *size)
{
    struct error err;
    FILE *file = tmpfile();
    assert_ok(store_export_json(store, &(struct export_filter){0}, file, &err), &err);
    *size = (size_t)ftell(file);
    rewind(file);
    char *text = xcalloc(*size + 1, 1);
    assert_int_equal(fread(text, 1, *size, file), *size);
    fclose(file);
    return text;
}

AROUND_EACH(open_store_set_up, open_store_tear_down);

TEST(links_come_back_through_merging_and_json)
{
    struct open_store *f = *state;
    struct run run;
    struct error err;
    size_t size;
    save_links(f->store, &run, 3);
    expect_links(f->store, &run, 3);
    struct store *merged = scratch_store(scratch_path(&f->arena, f->folder, "b.db"), STORE_WRITE);
    for (int again = 0; again < 2; again++)
        assert_ok(store_merge(merged, store_path(f->store), NULL, &err), &err);
    expect_links(merged, &run, 3);
    store_close(merged);
    struct store *read = scratch_store(scratch_path(&f->arena, f->folder, "c.db"), STORE_WRITE);
    char *text = exported(f->store, &size);
    for (int again = 0; again < 2; again++)
        assert_ok(import_text(read, text, size, "json", NULL, &err), &err);
    expect_links(read, &run, 3);
    sound_counts(read);
    free(text);
    store_close(read);
    run_free(&run);
}

// A gate's link is of no step of the history: it is zero codes back.
TEST(a_gates_link_comes_back_through_json)
{
    struct open_store *f = *state;
    struct arena arena = {0};
    struct run run;
    struct error err;
    struct link *links, l = sound_link(1);
    size_t size, count;
    l.back = 0;
    save_links(f->store, &run, 0);
    const struct series series = series_in(&run);
    assert_ok(store_save_link(f->store, &series, &l, &err), &err);
    struct store *read = scratch_store(scratch_path(&f->arena, f->folder, "g.db"), STORE_WRITE);
    char *text = exported(f->store, &size);
    assert_ok(import_text(read, text, size, "json", NULL, &err), &err);
    assert_ok(store_links(&links, &count, read, &series, &arena, &err), &err);
    assert_int_equal(count, 1);
    assert_int_equal(links[0].back, 0);
    free(text);
    store_close(read);
    run_free(&run);
    arena_free(&arena);
}

static struct stored_event *events_of(struct store *store, size_t count, struct arena *arena)
{
    struct stored_event *events;
    struct error err;
    size_t found;
    assert_ok(store_load_events(&events, &found, store, arena, &err), &err);
    assert_int_equal(found, count);
    return events;
}

static void expect_event(struct store *store, const char *who)
{
    struct arena arena = {0};
    const struct stored_event *e = events_of(store, 1, &arena);
    struct error err;
    struct series_entry *series;
    size_t count;
    assert_string_equal(e->name, "2026-01-01 aaaa");
    assert_int_equal(e->cause, ATTRIBUTION_KERNEL);
    assert_string_equal(e->what, "");
    assert_string_equal(e->culprit, sound_link(1).head.id);
    assert_int_equal(e->change_count, 1);
    assert_true(e->changes[0].log_ratio == 0.05 && e->changes[0].log_evidence == 12);
    assert_string_equal(e->changes[0].first, sound_link(1).base.id);
    assert_string_equal(e->changes[0].last, sound_link(1).head.id);
    assert_ok(store_list_series(&series, &count, store, &arena, &err), &err);
    assert_int_equal(count, 1);
    assert_true(series[0].key == e->changes[0].series);
    assert_int_equal(e->entry_count, 2);
    assert_int_equal(e->entries[1].state, EVENT_CONFIRMED);
    assert_string_equal(e->entries[1].who, who);
    assert_string_equal(e->entries[1].why, "\"quoted\", and more");
    arena_free(&arena);
}

TEST(events_come_back_through_json)
{
    struct open_store *f = *state;
    struct arena arena = {0};
    struct run run;
    struct error err;
    struct series_entry *series;
    size_t size, count;
    const struct link l = sound_link(1);
    const struct event_entry entries[] = {
        {EVENT_NEW, 1700000000, "plumb 0.1", ""},
        {EVENT_CONFIRMED, 1700000001, "plumb 0.1", "\"quoted\", and more"}};
    save_links(f->store, &run, 1);
    assert_ok(store_list_series(&series, &count, f->store, &arena, &err), &err);
    struct stored_event_change change = {
        .series = series[0].key, .log_ratio = 0.05, .log_evidence = 12};
    text_copy(change.first, sizeof(change.first), l.base.id);
    text_copy(change.last, sizeof(change.last), l.head.id);
    struct stored_event event = {.name = "2026-01-01 aaaa",
                                 .cause = ATTRIBUTION_KERNEL,
                                 .what = "",
                                 .changes = &change,
                                 .change_count = 1};
    text_copy(event.culprit, sizeof(event.culprit), l.head.id);
    assert_ok(store_save_event(f->store, &event, &err), &err);
    for (size_t i = 0; i < ARRAY_COUNT(entries); i++)
        assert_ok(store_add_event_entry(f->store, event.key, &entries[i], &err), &err);
    expect_event(f->store, "plumb 0.1");
    struct store *read = scratch_store(scratch_path(&f->arena, f->folder, "e.db"), STORE_WRITE);
    char *text = exported(f->store, &size);
    for (int again = 0; again < 2; again++)
        assert_ok(import_text(read, text, size, "json", NULL, &err), &err);
    expect_event(read, "plumb 0.1");
    sound_counts(read);
    free(text);
    store_close(read);
    run_free(&run);
    arena_free(&arena);
}

TEST(hostile_events_of_a_file_are_refused)
{
    static const char sound[] =
        "{\"event\":{\"name\":\"n\",\"cause\":\"kernel\",\"changes\":[],\"entries\":[{"
        "\"state\":\"new\",\"when_s\":1,\"who\":\"p\"}]}}";
    static const char *const parts[][2] = {{"\"n\"", "\"\""},
                                           {"\"n\"", "\"\\u001b[31m\""},
                                           {"kernel", "luck"},
                                           {"\"changes\":[]", "\"changes\":[{}]"},
                                           {"\"changes\":[]", "\"changes\":7"},
                                           {"\"new\"", "\"accepted\""},
                                           {"\"p\"", "\"\""},
                                           {"\"when_s\":1", "\"when_s\":999999999999999"}};
    struct open_store *f = *state;
    struct error err;
    assert_ok(import_text(f->store, sound, strlen(sound), "json", NULL, &err), &err);
    for (size_t i = 0; i < ARRAY_COUNT(parts); i++) {
        char line[512];
        const char *at = strstr(sound, parts[i][0]);
        snprintf(line, sizeof(line), "%.*s%s%s", (int)(at - sound), sound, parts[i][1],
                 at + strlen(parts[i][0]));
        assert_int_equal(import_text(f->store, line, strlen(line), "json", NULL, &err), -1);
        assert_non_null(strstr(err.text, ":1: an event has"));
    }
}

TEST(links_outlive_their_runs)
{
    struct open_store *f = *state;
    struct run run;
    struct error err;
    struct store_counts removed;
    save_links(f->store, &run, 2);
    const struct prune_rule all = {.before_s = INT64_MAX, .runs = true};
    assert_ok(store_prune(f->store, &all, &removed, &err), &err);
    assert_int_equal(removed.runs, 1);
    expect_links(f->store, &run, 2);
    sound_counts(f->store);
    run_free(&run);
}

TEST(what_cannot_be_a_link_is_not_saved)
{
    struct open_store *f = *state;
    struct run run;
    struct error err;
    save_links(f->store, &run, 1);
    const struct series series = series_in(&run);
    struct link bad[9];
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++)
        bad[i] = sound_link(2);
    bad[0].error = 0;
    bad[1].error = NAN;
    bad[2].log_ratio = INFINITY;
    bad[3].pairs = 0;
    bad[4].kind = VERDICT_BROKEN;
    text_copy(bad[5].head_code, OBJECT_ID_TEXT, bad[5].base_code);
    text_copy(bad[6].uid, STORE_UID_TEXT, "short");
    bad[7].back = LINK_BACK_MOST + 1;
    bad[8].log_evidence = NAN;
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++)
        assert_int_equal(store_save_link(f->store, &series, &bad[i], &err), -1);
    expect_links(f->store, &run, 1);
    run_free(&run);
}

TEST(hostile_links_of_a_file_are_refused)
{
    struct open_store *f = *state;
    static const char *const changes[][2] = {
        {"\"error\":0.00045", "\"error\":0"},
        {"\"error\":0.00045", "\"error\":null"},
        {"\"log_ratio\":0.0123456789012345", "\"log_ratio\":1e9"},
        {"\"pairs\":64", "\"pairs\":-1"},
        {"\"processes\":2", "\"processes\":70000"},
        {"\"verdict\":\"slower\"", "\"verdict\":\"broken\""},
        {"\"kernel\":\"alpha\"", "\"kernel\":\"\""},
        {"\"problem\":\"64x64x128", "\"problem\":\"64x-4x128"},
        {"\"back\":1", "\"back\":-1"},
        {"\"run\":\"0000", "\"run\":\"xyz0"},
    };
    struct run run;
    struct error err;
    size_t size;
    save_links(f->store, &run, 1);
    char *text = exported(f->store, &size);
    char *line = strstr(text, "{\"link\"");
    assert_non_null(line);
    for (size_t i = 0; i < ARRAY_COUNT(changes); i++) {
        struct store *read = scratch_store(scratch_path(&f->arena, f->folder, "h.db"), STORE_WRITE);
        char *at = strstr(line, changes[i][0]);
        assert_non_null(at);
        char *changed =
            xprintf("%.*s%s%s", (int)(at - line), line, changes[i][1], at + strlen(changes[i][0]));
        assert_int_equal(import_text(read, changed, strlen(changed), "json", NULL, &err), -1);
        assert_non_null(strstr(err.text, "file:1: "));
        free(changed);
        store_close(read);
    }
    free(text);
    run_free(&run);
}

TEST(hostile_links_of_a_store_are_refused)
{
    struct open_store *f = *state;
    struct run run;
    struct error err;
    struct arena arena = {0};
    struct link *links;
    size_t count;
    save_links(f->store, &run, 1);
    run_sql(f->path, "UPDATE links SET uid = 'ZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZ'");
    const struct series series = series_in(&run);
    assert_int_equal(store_links(&links, &count, f->store, &series, &arena, &err), -1);
    assert_non_null(strstr(err.text, "damaged, a link"));
    arena_free(&arena);
    run_free(&run);
}
