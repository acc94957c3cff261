// SPDX-License-Identifier: Apache-2.0
//
// What links say is worked out once: it comes back from bytes as it was, is believed until a link
// comes, and bytes that cannot have been written are not.
#include "baselines/link.h"
#include "ci/history/history_links.h"
#include "ci/history/links_pack.h"
#include "tests/helpers/helper_open_store.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CODES = 12 };

static struct problem problem;

static struct series series_of(const struct run *run)
{
    struct error err;
    assert_int_equal(problem_parse(&problem, "64x64x128:fp32", &err), 0);
    return (struct series){"alpha", &problem, run->devices[0].uuid};
}

// Code `number` beside the one `back` before it; every fifth is 3 % slower than the one before.
static void add_link(struct store *store, const struct run *run, unsigned number, unsigned back)
{
    struct error err;
    struct link l = {.tool_version = "0.1",
                     .made_s = 1700000000 + number,
                     .back = back,
                     .kind = number % 5 == 0 && back == 1 ? VERDICT_SLOWER : VERDICT_SAME,
                     .log_ratio = 0.03 * (double)(number / 5 - (number - back) / 5) +
                                  0.0002 * (double)(number % 3),
                     .error = 0.0004,
                     .log_evidence = 12.5,
                     .pairs = 64,
                     .processes = 2};
    snprintf(l.uid, sizeof(l.uid), "%032x", 100 * number + back);
    snprintf(l.base_code, sizeof(l.base_code), "%040x", 100 + number - back);
    snprintf(l.head_code, sizeof(l.head_code), "%040x", 100 + number);
    l.base = (struct commit){.summary = "", .author = "", .time_s = 1000 + number - back};
    l.head = (struct commit){.summary = "", .author = "", .time_s = 1000 + number};
    snprintf(l.base.id, sizeof(l.base.id), "%040x", 300 + number - back);
    snprintf(l.head.id, sizeof(l.head.id), "%040x", 300 + number);
    const struct series series = series_of(run);
    assert_ok(store_save_link(store, &series, &l, &err), &err);
}

static void fill(struct store *store, struct run *run)
{
    struct error err;
    make_run(run, RUN_MEASURE, 1, 0, 5);
    assert_ok(store_begin_run(store, run, &err), &err);
    assert_ok(store_finish_run(store, run, &err), &err);
    for (unsigned i = 1; i < CODES; i++) {
        add_link(store, run, i, 1);
        if (i >= 8)
            add_link(store, run, i, 8);
    }
}

static void pack_levels(struct buffer *out, const struct linked_levels *levels)
{
    size_t *numbers = xcalloc(levels->level_count, sizeof(*numbers));
    for (size_t i = 0; i < levels->level_count; i++)
        numbers[i] = i;
    linked_part_pack(out, &(struct linked_part){numbers, levels->levels, levels->level_count,
                                                levels->steps, levels->step_count});
    free(numbers);
}

// Packed, for comparing, levels behind the rest; the caller frees.
static struct buffer said(struct open_store *f, const struct run *run, struct kept_links *fresh)
{
    struct linked_history linked;
    struct linked_levels levels;
    struct commit_places places = {0};
    struct buffer out = {0};
    struct error err;
    const struct series series = series_of(run);
    assert_ok(store_commit_places(&places, f->store, &f->arena, &err), &err);
    assert_ok(history_links_kept(&linked, fresh, f->store, &places, &series, NULL, &f->arena,
                                 &f->arena, &err),
              &err);
    assert_ok(
        history_linked_levels(&levels, &linked, f->store, &places, &series, NULL, &f->arena, &err),
        &err);
    linked_pack(&out, &linked);
    pack_levels(&out, &levels);
    return out;
}

static void what_was_worked_out_is_believed_until_a_link_comes(void **state)
{
    struct open_store *f = *state;
    struct run run;
    struct kept_links fresh, none;
    struct error err;
    fill(f->store, &run);
    const struct series series = series_of(&run);
    struct buffer first = said(f, &run, &fresh);
    assert_true(fresh.size > 0);
    assert_ok(store_save_kept_links(f->store, &series, &fresh, &err), &err);
    run_sql(f->path, "UPDATE links SET log_ratio = log_ratio + 0.5"); // no look at them sees it
    struct buffer again = said(f, &run, &none);
    assert_int_equal(none.size, 0);
    assert_int_equal(again.length, first.length);
    assert_memory_equal(again.bytes, first.bytes, first.length);
    run_sql(f->path, "UPDATE links SET log_ratio = log_ratio - 0.5; "
                     "UPDATE commits SET order_s = order_s + 1 WHERE commit_key = 1");
    struct buffer reordered = said(f, &run, &none);
    assert_true(none.size > 0); // commits stand in another order, and links with them
    buffer_free(&reordered);
    add_link(f->store, &run, CODES, 1);
    struct buffer later = said(f, &run, &none);
    assert_true(none.size > 0);
    assert_true(later.length > first.length);
    buffer_free(&first);
    buffer_free(&again);
    buffer_free(&later);
    run_free(&run);
}

static void another_makers_bytes_and_damaged_ones_are_worked_out_anew(void **state)
{
    struct open_store *f = *state;
    struct run run;
    struct kept_links fresh, anew;
    struct error err;
    fill(f->store, &run);
    const struct series series = series_of(&run);
    struct buffer first = said(f, &run, &fresh);
    static const char *const damages[] = {"UPDATE kept_links SET maker = 'other'",
                                          "UPDATE kept_links SET found = substr(found, 1, 40)",
                                          "UPDATE kept_links SET found = x''"};
    static const char *const levels[] = {"UPDATE kept_links SET levels = substr(levels, 1, 40)",
                                         "UPDATE kept_links SET levels = x''"};
    for (size_t i = 0; i < ARRAY_COUNT(damages); i++) {
        assert_ok(store_save_kept_links(f->store, &series, &fresh, &err), &err);
        run_sql(f->path, damages[i]);
        struct buffer again = said(f, &run, &anew);
        assert_true(anew.size > 0);
        assert_memory_equal(again.bytes, first.bytes, first.length);
        buffer_free(&again);
    }
    for (size_t i = 0; i < ARRAY_COUNT(levels); i++) {
        assert_ok(store_save_kept_links(f->store, &series, &fresh, &err), &err);
        run_sql(f->path, levels[i]);
        struct buffer again = said(f, &run, &anew);
        assert_int_equal(anew.size, 0); // what every look asks for is whole
        assert_int_equal(again.length, first.length);
        assert_memory_equal(again.bytes, first.bytes, first.length);
        buffer_free(&again);
    }
    buffer_free(&first);
    run_free(&run);
}

// Two links came since the commits were read: one of a commit that came with it, and one behind it
// whose commits are known. The next look has both.
static void a_link_of_a_commit_that_is_not_known_yet_is_not_passed_over(void **state)
{
    struct open_store *f = *state;
    struct run run;
    struct kept_links fresh;
    struct linked_history early, late;
    struct commit_places before = {0}, after = {0};
    struct error err;
    fill(f->store, &run);
    const struct series series = series_of(&run);
    assert_ok(store_commit_places(&before, f->store, &f->arena, &err), &err);
    add_link(f->store, &run, CODES, 1);
    add_link(f->store, &run, 7, 3);
    assert_ok(history_links_kept(&early, &fresh, f->store, &before, &series, NULL, &f->arena,
                                 &f->arena, &err),
              &err);
    assert_ok(store_save_kept_links(f->store, &series, &fresh, &err), &err);
    assert_ok(store_commit_places(&after, f->store, &f->arena, &err), &err);
    assert_ok(history_links_kept(&late, &fresh, f->store, &after, &series, NULL, &f->arena,
                                 &f->arena, &err),
              &err);
    assert_int_equal(late.links, early.links + 2);
    run_free(&run);
}

// An overview of thousands of codes asks for none of their levels.
static void levels_are_not_read_until_they_are_asked_for(void **state)
{
    struct open_store *f = *state;
    struct run run;
    struct kept_links fresh, kept;
    struct error err;
    fill(f->store, &run);
    const struct series series = series_of(&run);
    struct buffer first = said(f, &run, &fresh);
    assert_true(fresh.levels_size > CODES * 3 * sizeof(double));
    assert_true(fresh.size + fresh.levels_size < first.length + 16); // how many stretches before
    assert_ok(store_save_kept_links(f->store, &series, &fresh, &err), &err);
    assert_int_equal(store_load_kept_links(&kept, f->store, &series, &f->arena, &err), 0);
    assert_int_equal(kept.size, fresh.size);
    assert_null(kept.levels);
    assert_int_equal(store_load_kept_levels(&kept, f->store, &series, &f->arena, &err), 0);
    assert_int_equal(kept.levels_size, fresh.levels_size);
    buffer_free(&first);
    run_free(&run);
}

static int unpack(const void *bytes, size_t size, bool levels, const struct commit_places *places,
                  struct arena *arena)
{
    struct linked_history linked;
    struct linked_part all;
    return levels ? linked_part_unpack(&all, bytes, size, places, arena)
                  : linked_unpack(&linked, bytes, size, arena);
}

static void check_damage(const void *bytes, size_t size, bool levels,
                         const struct commit_places *places, struct arena *arena)
{
    assert_int_equal(unpack(bytes, size, levels, places, arena), 0);
    for (size_t length = 0; length < size; length++)
        assert_int_equal(unpack(bytes, length, levels, places, arena), -1);
    // Any byte may be any other: refused or read, never out of bounds (the sanitizers watch).
    for (size_t i = 0; i < size; i++) {
        char *damaged = malloc(size);
        assert_non_null(damaged);
        memcpy(damaged, bytes, size);
        damaged[i] = (char)~damaged[i];
        (void)unpack(damaged, size, levels, places, arena);
        free(damaged);
    }
}

static void bytes_that_cannot_have_been_written_are_refused(void **state)
{
    struct open_store *f = *state;
    struct run run;
    struct kept_links fresh;
    struct linked_history linked;
    struct commit_places places = {0}, none = {0};
    struct error err;
    fill(f->store, &run);
    struct buffer whole = said(f, &run, &fresh);
    assert_ok(store_commit_places(&places, f->store, &f->arena, &err), &err);
    assert_int_equal(linked_unpack(&linked, fresh.found, fresh.size, &f->arena), 0);
    assert_int_equal(linked.change_count, 2);
    assert_int_equal(linked.level_count, CODES);
    assert_int_equal(linked.step_count, CODES);
    check_damage(fresh.found, fresh.size, false, &places, &f->arena);
    const char *levels = whole.bytes + fresh.size;
    const size_t size = whole.length - fresh.size;
    check_damage(levels, size, true, &places, &f->arena);
    assert_int_equal(unpack(levels, size, true, &none, &f->arena), -1);
    buffer_free(&whole);
    run_free(&run);
}

#define kept_test(name)                                                                            \
    cmocka_unit_test_setup_teardown(name, open_store_set_up, open_store_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        kept_test(what_was_worked_out_is_believed_until_a_link_comes),
        kept_test(another_makers_bytes_and_damaged_ones_are_worked_out_anew),
        kept_test(a_link_of_a_commit_that_is_not_known_yet_is_not_passed_over),
        kept_test(levels_are_not_read_until_they_are_asked_for),
        kept_test(bytes_that_cannot_have_been_written_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
