// SPDX-License-Identifier: Apache-2.0
//
// Long histories by links: whether links are gone through at once or as they come, the same is said
// to the last bit, whatever comes.
// Label: unsanitized
#include "baselines/link.h"
#include "model/buffer.h"
#include "tests/helpers/helper_linked.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <string.h>

enum { FIRST_SETTLED = STRETCH + LAG }; // codes, when one more comes

static void what_comes_link_by_link_says_what_all_say_at_once(void **state)
{
    static const unsigned ends[] = {2,    3,    700,  FIRST_SETTLED,           FIRST_SETTLED + 1,
                                    1282, 1290, 1700, FIRST_SETTLED + STRETCH, 2305,
                                    2306, 2330, 3400};
    struct linked_scene s;
    size_t settled = 0, most = 0;
    linked_scene_begin(&s, *state, 1);
    for (size_t i = 0; i < ARRAY_COUNT(ends); i++) {
        linked_add_codes(&s, ends[i]);
        settled = linked_check_same(&s);
        most = settled > most ? settled : most;
        assert_int_equal(settled, ends[i] <= FIRST_SETTLED                 ? 0
                                  : ends[i] <= FIRST_SETTLED + STRETCH     ? 1
                                  : ends[i] <= FIRST_SETTLED + 2 * STRETCH ? 2
                                                                           : 3);
    }
    assert_int_equal(most, 3);
    linked_scene_end(&s);
}

static void a_link_that_belongs_before_makes_it_begin_anew(void **state)
{
    struct linked_scene s;
    linked_scene_begin(&s, *state, 3);
    linked_add_codes(&s, 1400);
    assert_int_equal(linked_check_same(&s), 1);
    linked_add_between(&s, 499, 500, 499, 500, 1); // measured again
    assert_int_equal(linked_check_same(&s), 1);
    linked_add_between(&s, 1192, 1200, 1192, 1200,
                       8); // it was looked at when the stretch was settled
    assert_int_equal(linked_check_same(&s), 1);
    linked_add_codes(&s, 1401);
    linked_add_between(&s, 20000, 700, 650, 700, 0); // a code that nobody had heard of
    assert_int_equal(linked_check_same(&s), 1);
    linked_add_codes(&s, 2400);
    assert_int_equal(linked_check_same(&s), 2);
    linked_scene_end(&s);
}

static void an_old_code_that_comes_back_is_kept_from_the_beginning(void **state)
{
    struct linked_scene s;
    linked_scene_begin(&s, *state, 4);
    linked_add_codes(&s, 1500);
    assert_int_equal(linked_check_same(&s), 1);
    linked_add_between(&s, 1499, 300, 1499, 1500, 1); // an exact revert of all since
    s.codes = 1501;
    assert_int_equal(linked_check_same(&s), 1);
    linked_add_between(&s, 300, 1501, 1500, 1501, 1);
    assert_int_equal(linked_check_same(&s), 1);
    for (unsigned i = 1502; i < 1600; i++)
        linked_add(&s, i - 1, i, 1);
    s.codes = 1600;
    linked_add_codes(&s, 2600);
    assert_int_equal(linked_check_same(&s), 2);
    linked_scene_end(&s);
}

static void a_code_that_is_named_late_is_kept_from_then_on(void **state)
{
    struct linked_scene s;
    linked_scene_begin(&s, *state, 12);
    linked_add_codes(&s, 1290);
    assert_int_equal(linked_check_same(&s), 1);
    linked_add(&s, 950, 1289, 339);
    linked_add_codes(&s, 1300);
    assert_int_equal(linked_check_same(&s), 1);
    linked_add_codes(&s, 2400);
    assert_int_equal(linked_check_same(&s), 2);
    linked_add(&s, 950, 2399, 1449);
    assert_int_equal(linked_check_same(&s), 2);
    linked_scene_end(&s);
}

// The accepted commit was met behind what is settled; then a link comes that names it before that.
static void the_accepted_code_is_that_of_the_first_link(void **state)
{
    struct linked_scene s;
    struct linked_history first, then;
    char accepted[OBJECT_ID_TEXT];
    linked_scene_begin(&s, *state, 13);
    memcpy(accepted, linked_commit(1290).id, sizeof(accepted));
    s.accepted = accepted;
    linked_add_codes(&s, 1400);
    assert_int_equal(linked_check_same(&s), 1);
    struct buffer before = linked_said_anew(&s, &first);
    linked_add_between(&s, 1260, 1285, 1290, 1285, 0);
    assert_int_equal(linked_check_same(&s), 1);
    struct buffer after = linked_said_anew(&s, &then);
    assert_true(first.accepted.value < then.accepted.value ||
                first.accepted.value > then.accepted.value);
    buffer_free(&before);
    buffer_free(&after);
    linked_scene_end(&s);
}

// Each new code is linked with the accepted one, too.
static void an_accepted_code_is_kept(void **state)
{
    struct linked_scene s;
    char accepted[OBJECT_ID_TEXT];
    linked_scene_begin(&s, *state, 5);
    linked_add_codes(&s, 1500);
    assert_int_equal(linked_check_same(&s), 1);
    memcpy(accepted, linked_commit(600).id, sizeof(accepted));
    s.accepted = accepted;
    assert_int_equal(linked_check_same(&s), 0); // that code is gone: all are levelled together
    for (unsigned end = 1501; end < 2500; end += end < 1510 ? 1 : 97) {
        for (unsigned code = s.codes; code < end; code++)
            linked_add(&s, 600, code, code - 600);
        linked_add_codes(&s, end);
        assert_int_equal(linked_check_same(&s), end > FIRST_SETTLED + STRETCH ? 2 : 1);
    }
    s.accepted = NULL;
    assert_int_equal(linked_check_same(&s), 2);
    linked_scene_end(&s);
}

static void components_are_joined_or_stay_apart(void **state)
{
    struct linked_scene s;
    linked_scene_begin(&s, *state, 6);
    linked_add_codes(&s, 100);
    for (s.codes = 200; s.codes < 210; s.codes++) // nobody linked them with those before
        linked_add(&s, s.codes, s.codes + 1, 1);
    s.codes = 300;
    for (unsigned i = 300; i < 420; i++)
        linked_add(&s, i, i + 1, 1);
    s.codes = 421;
    linked_add_codes(&s, 1700);
    assert_int_equal(linked_check_same(&s), 1);
    linked_add_codes(&s, 1800);
    assert_int_equal(linked_check_same(&s), 1);
    linked_add_between(&s, 210, 1800, 210, 1800, 0);
    assert_int_equal(linked_check_same(&s), 1);
    linked_add_codes(&s, 2900);
    assert_int_equal(linked_check_same(&s), 2);
    linked_scene_end(&s);
}

// A night that skipped commits, and those between were measured later.
static void a_wide_link_over_the_end_of_a_stretch_is_filled(void **state)
{
    struct linked_scene s;
    struct linked_history linked;
    linked_scene_begin(&s, *state, 7);
    linked_add_codes(&s, 1300);
    linked_add_between(&s, 850, 1299, 850, 1299, 1);
    assert_int_equal(linked_check_same(&s), 1);
    linked_add_codes(&s, 1310);
    linked_add_between(&s, 1000, 1309, 1000, 1309, 1);
    assert_int_equal(linked_check_same(&s), 1);
    struct buffer anew = linked_said_anew(&s, &linked);
    for (size_t i = 0; i < linked.change_count; i++)
        assert_true(linked.changes[i].filled ||
                    (strcmp(linked.changes[i].base.id, linked_commit(850).id) != 0 &&
                     (strcmp(linked.changes[i].base.id, linked_commit(1000).id) != 0 ||
                      strcmp(linked.changes[i].at.id, linked_commit(1001).id) == 0)));
    buffer_free(&anew);
    linked_scene_end(&s);
}

// What a machine sends later, with its own order: keys do not follow the commits.
static void the_order_of_keys_does_not_matter(void **state)
{
    struct linked_scene s;
    linked_scene_begin(&s, *state, 8);
    for (unsigned code = 1500; code-- > 1;) {
        linked_add(&s, code - 1, code, 1);
        if (code >= 8)
            linked_add(&s, code - 8, code, 8);
    }
    s.codes = 1500;
    assert_int_equal(linked_check_same(&s), 1);
    for (unsigned end = 1501; end < 1600; end += 33) {
        linked_add_codes(&s, end);
        assert_int_equal(linked_check_same(&s), 1);
    }
    linked_scene_end(&s);
}

static bool same_commit(const struct history_commit *a, const struct history_commit *b)
{
    return strcmp(a->id, b->id) == 0;
}

static void compare_changes(const struct linked_history *a, const struct linked_history *b)
{
    assert_int_equal(a->change_count, b->change_count);
    for (size_t i = 0; i < a->change_count; i++) {
        const struct linked_change *c = &a->changes[i], *d = &b->changes[i];
        const double half = 0.5 * (d->size.high - d->size.low);
        assert_true(same_commit(&c->at, &d->at) && same_commit(&c->base, &d->base));
        assert_int_equal(c->back, d->back);
        assert_int_equal(c->misfit, d->misfit);
        assert_true(fabs(c->size.value - d->size.value) < 0.05 * half);
        assert_true(fabs((c->size.high - c->size.low) / 2 - half) < 0.1 * half);
        assert_true(fabs(c->left - d->left) < 0.1 * half);
    }
    assert_true(a->misfit_count > 2 && b->misfit_count > 2);
    assert_int_equal(a->misfit_count, b->misfit_count);
    for (size_t i = 0; i < a->misfit_count; i++)
        assert_true(same_commit(&a->misfits[i].at, &b->misfits[i].at));
}

static void compare_levels(const struct linked_levels *a, const struct linked_levels *b)
{
    assert_int_equal(a->level_count, b->level_count);
    assert_int_equal(a->step_count, b->step_count);
    for (size_t i = 0; i < a->level_count; i++) {
        const struct linked_level *l = &a->levels[i], *m = &b->levels[i];
        const double half = 0.5 * (m->level.high - m->level.low);
        assert_ptr_equal(l->at, m->at);
        assert_int_equal(l->mark, m->mark);
        assert_int_equal(l->tried, m->tried);
        assert_true(fabs(l->level.value - m->level.value) <= 0.1 * half);
        assert_true(fabs((l->level.high - l->level.low) / 2 - half) <= 0.1 * half);
    }
    for (size_t i = 0; i < a->step_count; i++)
        assert_true(a->steps[i].at == b->steps[i].at && a->steps[i].level == b->steps[i].level);
}

// Where a code is asked for that is gone, all are levelled together.
static void stretches_say_what_all_links_say_together(void **state)
{
    struct linked_scene s;
    struct linked_history settled, whole;
    struct linked_levels levels, all;
    struct commit_places places = {0};
    struct error err;
    char accepted[OBJECT_ID_TEXT];
    linked_scene_begin(&s, *state, 14);
    memcpy(accepted, linked_commit(300).id, sizeof(accepted));
    linked_add_codes(&s, 990);
    linked_add_between(&s, 989, 960, 989, 990, 1); // a revert of 30 codes
    linked_add_between(&s, 960, 990, 990, 991, 1);
    s.codes = 992;
    linked_add(&s, 990, 992, 1);
    s.codes = 993;
    linked_add_codes(&s, 1012);
    s.off = 0.03;
    linked_add_between(&s, 1005, 1011, 1005, 1011, 6);
    linked_add_between(&s, 1001, 1011, 1001, 1011, 10);
    s.off = 0;
    linked_add_codes(&s, 1050);
    linked_add_between(&s, 1049, 990, 1049, 1050, 1); // another, over the end of a stretch
    linked_add_between(&s, 990, 1050, 1050, 1051, 1);
    s.codes = 1052;
    linked_add(&s, 1050, 1052, 1);
    s.codes = 1053;
    linked_add_codes(&s, 1400);
    linked_add_between(&s, 1005, 1011, 1005, 1390, 6); // measured again
    linked_add_between(&s, 960, 5000, 960, 1010, 0);   // a gate, and nobody merged it
    linked_add_between(&s, 1399, 990, 1399, 1400, 0);
    for (s.codes = 1401; s.codes < 1404; s.codes++)
        linked_add(&s, s.codes - 2, s.codes, 1);
    linked_add_codes(&s, 2600);
    assert_int_equal(linked_check_same(&s), 2);
    assert_ok(store_commit_places(&places, s.f->store, &s.arena, &err), &err);
    assert_ok(history_links(&settled, &levels, s.f->store, &places, &s.series, NULL, &s.arena,
                            &s.arena, &err),
              &err);
    assert_ok(history_links(&whole, &all, s.f->store, &places, &s.series, accepted, &s.arena,
                            &s.arena, &err),
              &err);
    compare_changes(&settled, &whole);
    compare_levels(&levels, &all);
    linked_scene_end(&s);
}

// Whatever comes: near and far links, gates, reverts, old pairs measured again, gaps, and looks in
// between.
static void anything_that_comes_says_the_same(void **state)
{
    for (uint64_t seed = 20; seed < 22; seed++) {
        open_store_tear_down(state);
        open_store_set_up(state);
        struct linked_scene s;
        size_t most = 0;
        linked_scene_begin(&s, *state, seed);
        while (s.codes < 2700) {
            const double what = random_uniform(&s.random);
            const unsigned last = s.codes ? s.codes - 1 : 0, near = last < 100 ? last : 100;
            const unsigned old = (unsigned)(random_uniform(&s.random) * last);
            const unsigned recent = last - (unsigned)(random_uniform(&s.random) * near);
            if (what < 0.02 && recent > 0)
                linked_add(&s, recent - 1, recent, 1);
            else if (what < 0.03 && recent < last)
                linked_add_between(&s, recent, s.codes + 20000, recent, last, 0);
            else if (what < 0.032 && s.codes > 1500 && old < last)
                linked_add_between(&s, last, old, last, s.codes, 1);
            else if (what < 0.034 && s.codes > 2000 && old > 0)
                linked_add(&s, old - 1, old, 1);
            else if (what < 0.036)
                s.codes += 70; // a gap
            else if (what < 0.04 && s.codes > 0)
                linked_add(&s, recent, s.codes++, 3);
            else
                linked_add_codes(&s, s.codes + 1 + (unsigned)(20 * random_uniform(&s.random)));
            if (random_uniform(&s.random) < 0.12) {
                const size_t settled = linked_check_same(&s);
                most = settled > most ? settled : most;
            }
        }
        linked_check_same(&s);
        assert_true(most >= 1);
        linked_scene_end(&s);
    }
}

#define settled_test(name)                                                                         \
    cmocka_unit_test_setup_teardown(name, open_store_set_up, open_store_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        settled_test(what_comes_link_by_link_says_what_all_say_at_once),
        settled_test(a_link_that_belongs_before_makes_it_begin_anew),
        settled_test(an_old_code_that_comes_back_is_kept_from_the_beginning),
        settled_test(an_accepted_code_is_kept),
        settled_test(a_code_that_is_named_late_is_kept_from_then_on),
        settled_test(the_accepted_code_is_that_of_the_first_link),
        settled_test(stretches_say_what_all_links_say_together),
        settled_test(components_are_joined_or_stay_apart),
        settled_test(a_wide_link_over_the_end_of_a_stretch_is_filled),
        settled_test(the_order_of_keys_does_not_matter),
        settled_test(anything_that_comes_says_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
