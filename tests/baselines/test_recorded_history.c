// SPDX-License-Identifier: Apache-2.0
//
// Histories as they were linked on H200s, this repository's and three strangers': from the links
// alone come the events that were reported there and no other, every bisection that was made on
// those GPUs ends at one of them, and what one GPU found the other found again.
#include "ci/history/events.h"
#include "model/csv.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_gates.h"
#include "tests/helpers/helper_open_store.h"
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
    assert_ok(import_text(store, text, strlen(text), IMPORT_JSON, &added, &err), &err);
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
    return strcmp(csv_field(csv, row, "store"), name) == 0;
}

// By name; the largest change as it is said since loops that miss are blamed on unlike codes, to
// what other groupings of a gap leave open.
static void expect_events(const char *name, size_t count)
{
    struct csv csv;
    size_t expected = 0;
    look(name);
    csv_open(&csv, RECORDED "events.csv");
    for (size_t i = 0; i < csv.count; i++) {
        if (!is_of(&csv, i, name))
            continue;
        const struct event *e = named(csv_field(&csv, i, "event"));
        assert_int_equal(e->cause, ATTRIBUTION_KERNEL);
        assert_string_equal(event_state_name(e->state), csv_field(&csv, i, "state"));
        const double change =
            change_of(e, csv_field(&csv, i, "kernel"), csv_field(&csv, i, "problem"));
        assert_false(isnan(change));
        assert_true(fabs(change - csv_number(&csv, i, "change_pct")) < 0.02);
        assert_int_equal(e->count, csv_number(&csv, i, "series"));
        expected++;
    }
    csv_free(&csv);
    assert_int_equal(expected, count);
    assert_int_equal(events.list.count, expected);
}

static void events_of_this_repository_come_again_and_no_other(void **state)
{
    expect_events("own", 9);
}

static void events_of_a_strangers_repository_come_again_and_no_other(void **state)
{
    expect_events("foreign", 7);
}

static void the_step_of_fast_cu_comes_again_and_no_other(void **state)
{
    expect_events("fast", 1);
}

static void the_steps_of_simplegemm_come_again_and_no_other(void **state)
{
    expect_events("simple", 11);
}

static void events_of_this_repository_come_again_on_another_gpu_and_no_other(void **state)
{
    expect_events("second/own", 9);
}

static void events_of_this_repository_come_again_on_a_third_gpu_and_no_other(void **state)
{
    expect_events("third/own", 9);
}

// 30 codes and more of each of its nine kernels, all in one run.
static void all_codes_of_the_third_are_linked(void **state)
{
    look("third/own");
    assert_int_equal(set.count, 14);
    for (size_t i = 0; i < set.count; i++)
        assert_true(set.series[i].linked.level_count >= 30);
}

static void events_of_the_strangers_whole_history_come_again_and_no_other(void **state)
{
    expect_events("second/sgemm", 10);
}

static void every_bisection_ended_at_an_event(void **state)
{
    struct csv csv;
    csv_open(&csv, RECORDED "bisections.csv");
    assert_int_equal(csv.count, 9);
    for (size_t i = 0; i < csv.count; i++) {
        look(csv_field(&csv, i, "store"));
        const struct event *e = named(csv_field(&csv, i, "found"));
        const double change =
            change_of(e, csv_field(&csv, i, "kernel"), csv_field(&csv, i, "problem"));
        assert_true(change * csv_number(&csv, i, "change_pct") > 0);
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

static void loops_close_within_a_tenth_of_a_percent(void **state)
{
    expect_closed("own", 98);
    expect_closed("second/own", 286);
    expect_closed("second/sgemm", 74);
    expect_closed("third/own", 426);
}

// A change as one GPU found it; the texts are the caller's.
struct found {
    char *kernel, *problem;
    char commit[OBJECT_ID_TEXT];
    double size; // log ratio
};

static struct found *list_found(size_t *count, const char *name)
{
    struct found *list = NULL;
    *count = 0;
    look(name);
    for (size_t i = 0; i < set.count; i++) {
        const struct linked_history *l = &set.series[i].linked;
        char problem[PROBLEM_TEXT];
        problem_format(problem, &set.series[i].series->problem);
        for (size_t k = 0; k < l->change_count; k++) {
            list = xrealloc(list, *count + 1, sizeof(*list));
            struct found *f = &list[(*count)++];
            *f = (struct found){xstrdup(set.series[i].series->kernel), xstrdup(problem), "",
                                l->changes[k].size.value};
            text_copy(f->commit, sizeof(f->commit), l->changes[k].at.id);
        }
    }
    return list;
}

static void free_found(struct found *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(list[i].kernel);
        free(list[i].problem);
    }
    free(list);
}

static bool found_again(const struct found *f, const struct found *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(f->kernel, list[i].kernel) == 0 && strcmp(f->problem, list[i].problem) == 0 &&
            strcmp(f->commit, list[i].commit) == 0)
            return (f->size > 0) == (list[i].size > 0);
    }
    return false;
}

// Of changes by 0.8 % and more; smaller ones are near the margin, and may be "same" elsewhere.
static void expect_again(const char *first, const char *second, size_t expected)
{
    size_t counts[2], large = 0;
    struct found *lists[2] = {list_found(&counts[0], first), list_found(&counts[1], second)};
    for (size_t i = 0; i < counts[0]; i++) {
        const struct found *f = &lists[0][i];
        if (fabs(f->size) < 0.008)
            continue;
        if (!found_again(f, lists[1], counts[1]))
            fail_msg("%s %s at %s", f->kernel, f->problem, f->commit);
        large++;
    }
    assert_int_equal(large, expected);
    free_found(lists[0], counts[0]);
    free_found(lists[1], counts[1]);
}

static void what_one_gpu_found_another_found_again(void **state)
{
    expect_again("own", "second/own", 24);
    expect_again("foreign", "second/sgemm", 12);
    expect_again("own", "third/own", 24);
    expect_again("second/own", "third/own", 25);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_of_this_repository_come_again_and_no_other),
        cmocka_unit_test(events_of_a_strangers_repository_come_again_and_no_other),
        cmocka_unit_test(the_step_of_fast_cu_comes_again_and_no_other),
        cmocka_unit_test(the_steps_of_simplegemm_come_again_and_no_other),
        cmocka_unit_test(events_of_this_repository_come_again_on_another_gpu_and_no_other),
        cmocka_unit_test(events_of_this_repository_come_again_on_a_third_gpu_and_no_other),
        cmocka_unit_test(all_codes_of_the_third_are_linked),
        cmocka_unit_test(events_of_the_strangers_whole_history_come_again_and_no_other),
        cmocka_unit_test(every_bisection_ended_at_an_event),
        cmocka_unit_test(loops_close_within_a_tenth_of_a_percent),
        cmocka_unit_test(what_one_gpu_found_another_found_again),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
