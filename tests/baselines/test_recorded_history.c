// SPDX-License-Identifier: Apache-2.0
//
// Histories as they were linked on H200s, this repository's and three strangers': from the links
// alone come the events that were reported there and no other, and every bisection that was made on
// those GPUs ends at one of them.
#include "ci/history/events.h"
#include "model/csv.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_open_store.h"
#include "tests/helpers/helper_table.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORDED TEST_SOURCE "/baselines/recorded/h200/history/"

static struct arena arena;
static struct history_set set;
static struct events events;

static int tear_down(void **state)
{
    history_free(&set);
    arena_free(&arena);
    return 0;
}

AROUND_ALL(NULL, tear_down);

static char *recorded(const char *name, const char *end)
{
    char *path = xprintf(RECORDED "%s%s", name, end);
    char *text = helper_read(path, NULL);
    free(path);
    return text;
}

static void look(const char *name)
{
    struct error err = {""};
    struct store_counts added;
    char *folder = helper_directory(), *path = xprintf("%s/s.db", folder);
    char *text = recorded(name, ".jsonl");
    struct store *store;
    const struct history_wanted wanted = {0};
    const struct events_asked asked = {0};
    assert_ok(store_open(&store, path, STORE_WRITE, &err), &err);
    assert_ok(import_text(store, text, strlen(text), "json", &added, &err), &err);
    history_free(&set);
    assert_ok(history_load(&set, store, &wanted, NULL, &err), &err);
    assert_ok(events_load(&events, &set, store, &asked, &arena, &err), &err);
    store_close(store);
    helper_discard(folder);
    free(folder);
    free(path);
    free(text);
}

static const struct event *named(const char *name)
{
    for (size_t i = 0; i < events.list.count; i++) {
        if (strcmp(events.list.events[i].name, name) == 0)
            return &events.list.events[i];
    }
    fail_msg("no event %s", name);
    return NULL;
}

// The change of this series in the event, per cent; NaN: it has none.
static double change_of(const struct event *e, const char *kernel, const char *problem)
{
    for (size_t i = 0; i < e->count; i++) {
        char text[PROBLEM_TEXT];
        const struct series_entry *s = set.series[e->changes[i].series].series;
        problem_format(text, &s->problem);
        if (strcmp(s->kernel, kernel) == 0 && strcmp(text, problem) == 0)
            return 100 * expm1(e->changes[i].size.value);
    }
    return NAN;
}

static bool is_of(const struct csv *csv, size_t row, const char *name)
{
    return strcmp(table_text(csv, row, "store"), name) == 0;
}

// By name; the largest change as it is said since loops that miss are blamed on unlike codes, to
// what other groupings of a gap leave open.
static void expect_events(const char *name, size_t count)
{
    struct csv csv;
    size_t expected = 0;
    look(name);
    csv = table_read("../../baselines/recorded/h200/history/events.csv");
    for (size_t i = 0; i < csv.count; i++) {
        if (!is_of(&csv, i, name))
            continue;
        const struct event *e = named(table_text(&csv, i, "event"));
        assert_int_equal(e->cause, ATTRIBUTION_KERNEL);
        assert_string_equal(event_state_name(e->state), table_text(&csv, i, "state"));
        const double change =
            change_of(e, table_text(&csv, i, "kernel"), table_text(&csv, i, "problem"));
        assert_false(isnan(change));
        assert_true(fabs(change - table_number(&csv, i, "change_pct")) < 0.02);
        assert_int_equal(e->count, table_number(&csv, i, "series"));
        expected++;
    }
    csv_free(&csv);
    assert_int_equal(expected, count);
    assert_int_equal(events.list.count, expected);
}

TEST(events_of_this_repository_come_again_and_no_other)
{
    expect_events("own", 9);
}

TEST(the_step_of_fast_cu_comes_again_and_no_other)
{
    expect_events("fast", 1);
}

TEST(the_steps_of_simplegemm_come_again_and_no_other)
{
    expect_events("simple", 11);
}

TEST(events_of_the_strangers_whole_history_come_again_and_no_other)
{
    expect_events("sgemm", 10);
}

TEST(every_bisection_ended_at_an_event)
{
    struct csv csv;
    csv = table_read("../../baselines/recorded/h200/history/bisections.csv");
    assert_int_equal(csv.count, 5);
    for (size_t i = 0; i < csv.count; i++) {
        look(table_text(&csv, i, "store"));
        const struct event *e = named(table_text(&csv, i, "found"));
        const double change =
            change_of(e, table_text(&csv, i, "kernel"), table_text(&csv, i, "problem"));
        assert_true(change * table_number(&csv, i, "change_pct") > 0);
    }
    csv_free(&csv);
}

// Good links of good codes close: what pairs cannot see is about what the prior says.
static void expect_closed(const char *name, size_t expected)
{
    size_t loops = 0;
    look(name);
    for (size_t i = 0; i < set.count; i++) {
        const struct linked_history *l = &set.series[i].linked;
        assert_null(l->trouble);
        assert_true(l->misclosure < 0.0015);
        loops += l->loops;
    }
    assert_int_equal(loops, expected);
}

TEST(loops_close_within_a_tenth_of_a_percent)
{
    expect_closed("own", 98);
    expect_closed("sgemm", 74);
}
