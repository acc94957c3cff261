// SPDX-License-Identifier: Apache-2.0
//
// What links say is worked out once: it comes back from the store as it was, and is believed until
// a link comes.
#include "baselines/store.h"
#include "ci/history/load.h"
#include "tests/helpers/helper_open_store.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdio.h>
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

// What is said of the series now, with the code at `accepted` or NULL.
static struct kept_links said(struct open_store *f, const struct run *run, const char *accepted,
                              bool *fresh)
{
    struct kept_links out;
    struct linked_levels levels;
    struct commit_places places = {0};
    struct error err;
    const struct series series = series_of(run);
    assert_ok(store_commit_places(&places, f->store, &f->arena, &err), &err);
    assert_ok(history_links_kept(&out, &levels, fresh, f->store, &places, &series, accepted,
                                 &f->arena, &f->arena, &err),
              &err);
    return out;
}

static void keep(struct open_store *f, const struct run *run, const struct kept_links *kept)
{
    struct error err;
    const struct series series = series_of(run);
    assert_ok(store_save_kept_links(f->store, &series, kept, &err), &err);
}

static void check_reals(const double *a, const double *b, size_t count)
{
    for (size_t i = 0; i < count; i++) // NaN too
        assert_memory_equal(isnan(a[i]) ? &(double){NAN} : &a[i],
                            isnan(b[i]) ? &(double){NAN} : &b[i], sizeof(*a));
}

static void check_intervals(struct interval a, struct interval b)
{
    check_reals((double[]){a.value, a.low, a.high}, (double[]){b.value, b.low, b.high}, 3);
}

static void check_commits(const struct history_commit *a, const struct history_commit *b)
{
    assert_string_equal(a->id, b->id);
    assert_int_equal(a->time_s, b->time_s);
}

static void check_same(const struct linked_history *a, const struct linked_history *b)
{
    const size_t counts[][2] = {{a->change_count, b->change_count},
                                {a->misfit_count, b->misfit_count},
                                {a->level_count, b->level_count},
                                {a->newest, b->newest},
                                {a->links, b->links},
                                {a->loops, b->loops},
                                {a->neighbours, b->neighbours},
                                {a->moved, b->moved},
                                {(size_t)a->newest_link, (size_t)b->newest_link}};
    for (size_t i = 0; i < ARRAY_COUNT(counts); i++)
        assert_int_equal(counts[i][0], counts[i][1]);
    check_intervals(a->now, b->now);
    check_intervals(a->accepted, b->accepted);
    check_reals(&a->misclosure, &b->misclosure, 1);
    check_commits(&a->since, &b->since);
    for (size_t i = 0; i < a->change_count; i++) {
        const struct linked_change *c = &a->changes[i], *d = &b->changes[i];
        check_commits(&c->at, &d->at);
        check_commits(&c->base, &d->base);
        check_intervals(c->size, d->size);
        check_reals((double[]){c->evidence, c->left}, (double[]){d->evidence, d->left}, 2);
        assert_int_equal(c->link, d->link);
        assert_true(c->misfit == d->misfit && c->sure == d->sure && c->back == d->back &&
                    c->filled == d->filled);
    }
    for (size_t i = 0; i < a->misfit_count; i++) {
        check_commits(&a->misfits[i].at, &b->misfits[i].at);
        check_commits(&a->misfits[i].base, &b->misfits[i].base);
        assert_int_equal(a->misfits[i].back, b->misfits[i].back);
    }
}

AROUND_EACH(open_store_set_up, open_store_tear_down);

TEST(what_was_worked_out_is_believed_until_a_link_comes)
{
    struct open_store *f = *state;
    struct run run;
    bool fresh;
    fill(f->store, &run);
    const struct kept_links first = said(f, &run, NULL, &fresh);
    assert_true(fresh);
    assert_int_equal(first.history.change_count, 2);
    assert_int_equal(first.history.level_count, CODES);
    keep(f, &run, &first);
    run_sql(f->path, "UPDATE links SET log_ratio = log_ratio + 0.5"); // no look at them sees it
    const struct kept_links again = said(f, &run, NULL, &fresh);
    assert_false(fresh);
    check_same(&again.history, &first.history);
    run_sql(f->path, "UPDATE links SET log_ratio = log_ratio - 0.5; "
                     "UPDATE commits SET order_s = order_s + 1 WHERE commit_key = 1");
    const struct kept_links reordered = said(f, &run, NULL, &fresh);
    assert_true(fresh); // commits stand in another order, and links with them
    keep(f, &run, &reordered);
    add_link(f->store, &run, CODES, 1);
    const struct kept_links later = said(f, &run, NULL, &fresh);
    assert_true(fresh);
    assert_int_equal(later.history.links, first.history.links + 1);
    run_free(&run);
}

TEST(another_makers_and_another_accepted_code_are_worked_out_anew)
{
    struct open_store *f = *state;
    struct run run;
    char accepted[OBJECT_ID_TEXT];
    bool fresh;
    fill(f->store, &run);
    const struct kept_links first = said(f, &run, NULL, &fresh);
    keep(f, &run, &first);
    snprintf(accepted, sizeof(accepted), "%040x", 303);
    const struct kept_links since = said(f, &run, accepted, &fresh);
    assert_true(fresh && since.history.accepted.value > 0.02);
    run_sql(f->path, "UPDATE kept_links SET maker = 'other'");
    const struct kept_links again = said(f, &run, NULL, &fresh);
    assert_true(fresh);
    check_same(&again.history, &first.history);
    run_free(&run);
}

// An exact revert, a wide link that was filled, a misfit, and a code that is accepted.
TEST(every_figure_comes_back_as_it_was)
{
    struct open_store *f = *state;
    struct run run;
    char accepted[OBJECT_ID_TEXT];
    size_t back = 0, filled = 0;
    bool fresh;
    fill(f->store, &run);
    for (unsigned i = CODES; i < 40; i++) {
        add_link(f->store, &run, i, 1);
        add_link(f->store, &run, i, 8);
    }
    add_link(f->store, &run, 38, 6);
    run_sql(f->path, "UPDATE links SET back = 1, kind = 'slower' WHERE link_key = "
                     "(SELECT max(link_key) FROM links); "
                     "UPDATE links SET log_ratio = log_ratio + 0.2 WHERE link_key = 20; "
                     "UPDATE links SET head_code_key = (SELECT base_code_key FROM links WHERE "
                     "link_key = 5) WHERE link_key = 12");
    snprintf(accepted, sizeof(accepted), "%040x", 325);
    const struct kept_links first = said(f, &run, accepted, &fresh);
    for (size_t i = 0; i < first.history.change_count; i++) {
        back += first.history.changes[i].back;
        filled += first.history.changes[i].filled;
    }
    assert_true(back && filled && first.history.misfit_count);
    assert_true(isfinite(first.history.accepted.value));
    keep(f, &run, &first);
    const struct kept_links again = said(f, &run, accepted, &fresh);
    assert_false(fresh);
    check_same(&again.history, &first.history);
    keep(f, &run, &again); // in their place
    const struct kept_links third = said(f, &run, accepted, &fresh);
    check_same(&third.history, &first.history);
    run_free(&run);
}

// Two links came since the commits were read: one of a commit that came with it, and one behind it
// whose commits are known. The next look has both.
TEST(a_link_of_a_commit_that_is_not_known_yet_is_not_passed_over)
{
    struct open_store *f = *state;
    struct run run;
    struct kept_links early;
    struct linked_levels levels;
    struct commit_places before = {0};
    struct error err;
    bool fresh;
    fill(f->store, &run);
    const struct series series = series_of(&run);
    assert_ok(store_commit_places(&before, f->store, &f->arena, &err), &err);
    add_link(f->store, &run, CODES, 1);
    add_link(f->store, &run, 7, 3);
    assert_ok(history_links_kept(&early, &levels, &fresh, f->store, &before, &series, NULL,
                                 &f->arena, &f->arena, &err),
              &err);
    keep(f, &run, &early);
    const struct kept_links late = said(f, &run, NULL, &fresh);
    assert_int_equal(late.history.links, early.history.links + 2);
    run_free(&run);
}

// Whichever of the links says it; one that others fill in says nothing.
TEST(a_change_point_is_linked_where_any_link_says_it)
{
    struct linked_change said[3] = {{.at.id = "aaaa"}, {.at.id = "bbbb"}, {.at.id = "cccc"}};
    const struct linked_history linked = {.changes = said, .change_count = ARRAY_COUNT(said)};
    said[1].filled = true;
    const struct history_change first = {.at.id = "aaaa"}, filled = {.at.id = "bbbb"},
                                last = {.at.id = "cccc"}, none = {.at.id = "dddd"},
                                held = {.at.id = "dddd", .held = "eeee cccc dddd"};
    assert_true(history_is_linked(&linked, &first) && history_is_linked(&linked, &last));
    assert_true(history_is_linked(&linked, &held));
    assert_false(history_is_linked(&linked, &filled) || history_is_linked(&linked, &none));
}

// A link of plain times confirmed by pairs is a change of its own, and is in no history.
TEST(a_link_alone_is_sure_where_it_lies_far_from_nothing)
{
    const struct link_fact far = {.key = 7, .log_ratio = 0.05, .error = 0.001, .log_evidence = 30};
    struct linked_change c = history_alarm(&far);
    assert_true(c.alarm && c.sure && c.link == 7 && c.evidence == 30 && isnan(c.left));
    assert_true(c.size.value == 0.05 && c.size.low > 0.04 && c.size.high < 0.06);
    const struct link_fact near = {.log_ratio = -0.003, .error = 0.001};
    c = history_alarm(&near);
    assert_true(c.alarm && !c.sure && c.size.value == -0.003);
    assert_true(c.size.high - c.size.value > 2 * 0.001); // it allows for what pairs cannot see
}
