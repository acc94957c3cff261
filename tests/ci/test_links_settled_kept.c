// SPDX-License-Identifier: Apache-2.0
//
// What is kept of settled links: nothing behind it is read again, and what is damaged, of another
// version or of another look is not believed.
#include "ci/history/links_pack.h"
#include "tests/helpers/helper_linked.h"
#include "tests/helpers/test.h"

#include <string.h>

// Behind the store's back old links say something else, and nobody asks them.
static void settled_links_are_not_read_again(void **state)
{
    static const char other[] =
        "UPDATE links SET log_evidence = -log_evidence WHERE link_key < 2600";
    struct linked_scene s;
    struct kept_links fresh;
    struct linked_history linked;
    struct error err;
    struct open_store *f = *state;
    linked_scene_begin(&s, f, 2);
    linked_add_codes(&s, 2000);
    linked_check_same(&s);
    linked_add_codes(&s, 2001);
    assert_ok(store_commit_batch(f->store, &err), &err);
    run_sql(f->path, other);
    struct buffer now = linked_said_now(&s, &fresh), others = linked_said_anew(&s, &linked);
    run_sql(f->path, other);
    assert_ok(store_begin_batch(f->store, &err), &err);
    struct buffer anew = linked_said_anew(&s, &linked);
    assert_true(fresh.size > 0 && linked.change_count > 20);
    assert_int_equal(now.length, anew.length);
    assert_memory_equal(now.bytes, anew.bytes, now.length);
    assert_memory_not_equal(now.bytes, others.bytes, now.length);
    buffer_free(&now);
    buffer_free(&anew);
    buffer_free(&others);
    linked_scene_end(&s);
}

static void what_is_damaged_or_of_another_maker_is_made_anew(void **state)
{
    static const char *const damages[] = {
        ("UPDATE settled_links SET maker = 'other'; " // and what it says is no more so
         "UPDATE links SET log_evidence = -log_evidence WHERE link_key < 2000"),
        "UPDATE settled_links SET settled = substr(settled, 1, 4000)",
        "UPDATE settled_links SET settled = x''",
        "DELETE FROM settled_stretches WHERE stretch = 0",
        "UPDATE settled_stretches SET levels = substr(levels, 1, 40)",
        "UPDATE settled_stretches SET levels = CAST(levels || x'00' AS BLOB)",
        "UPDATE commits SET order_s = order_s + 15 WHERE commit_key = 300",
        "DELETE FROM settled_links; DELETE FROM settled_stretches"};
    struct linked_scene s;
    struct error err;
    struct open_store *f = *state;
    linked_scene_begin(&s, f, 9);
    linked_add_codes(&s, 1400);
    linked_check_same(&s);
    for (size_t i = 0; i < ARRAY_COUNT(damages); i++) {
        assert_ok(store_commit_batch(f->store, &err), &err);
        run_sql(f->path, damages[i]);
        assert_ok(store_begin_batch(f->store, &err), &err);
        linked_add_codes(&s, s.codes + 3);
        assert_int_equal(linked_check_same(&s), 1);
    }
    linked_scene_end(&s);
}

// Stretches of another look lie there: they are of links that came in between.
static void stretches_of_another_look_are_not_taken(void **state)
{
    struct linked_scene s;
    struct kept_links before, after;
    struct error err;
    struct open_store *f = *state;
    linked_scene_begin(&s, f, 10);
    linked_add_codes(&s, 1400);
    struct buffer first = linked_said_now(&s, &before);
    linked_add_between(&s, 499, 500, 499, 500, 1);
    struct buffer second = linked_said_now(&s, &after);
    struct kept_links mixed = after;
    mixed.stretches = before.stretches;
    assert_ok(store_save_kept_links(f->store, &s.series, &mixed, &err), &err);
    struct buffer third = linked_said_now(&s, &after);
    assert_int_equal(third.length, second.length);
    assert_memory_equal(third.bytes, second.bytes, third.length);
    assert_true(first.length != second.length ||
                memcmp(first.bytes, second.bytes, first.length) != 0);
    buffer_free(&first);
    buffer_free(&second);
    buffer_free(&third);
    linked_scene_end(&s);
}

// Any bytes may be any others: they are refused or read, never out of bounds (the sanitizers
// watch).
static void settled_bytes_that_cannot_have_been_written_are_refused(void **state)
{
    struct linked_scene s;
    struct kept_links fresh;
    struct settled_links settled;
    struct open_store *f = *state;
    linked_scene_begin(&s, f, 11);
    linked_add_codes(&s, 1400);
    struct buffer now = linked_said_now(&s, &fresh);
    const char *bytes = fresh.settled.settled;
    const size_t size = fresh.settled.size;
    assert_true(size > 10000);
    assert_int_equal(settled_unpack(&settled, bytes, size, &f->arena), 0);
    struct buffer again = {0};
    settled_pack(&again, &settled);
    assert_int_equal(again.length, size);
    assert_memory_equal(again.bytes, bytes, size);
    for (size_t length = 0; length < size; length += length < 300 ? 1 : 211) {
        struct arena arena = {0};
        assert_int_equal(settled_unpack(&settled, bytes, length, &arena), -1);
        arena_free(&arena);
    }
    for (size_t i = 0; i < size; i += i < 300 ? 1 : 53) {
        struct arena arena = {0};
        char *damaged = arena_copy(&arena, bytes, size);
        damaged[i] = (char)~damaged[i];
        (void)settled_unpack(&settled, damaged, size, &arena);
        arena_free(&arena);
    }
    buffer_free(&now);
    buffer_free(&again);
    linked_scene_end(&s);
}

#define settled_test(name)                                                                         \
    cmocka_unit_test_setup_teardown(name, open_store_set_up, open_store_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        settled_test(settled_links_are_not_read_again),
        settled_test(what_is_damaged_or_of_another_maker_is_made_anew),
        settled_test(stretches_of_another_look_are_not_taken),
        settled_test(settled_bytes_that_cannot_have_been_written_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
