// SPDX-License-Identifier: Apache-2.0
//
// One store, one answer: what is said of a series is the same whether `history` is asked for all
// series or for one, with a store that can be written or not, or whether the site is.
#include "baselines/store.h"
#include "ci/site/site_data.h"
#include "tests/helpers/helper_history.h"
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_store.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct error err;

static void ok(int status)
{
    if (status)
        fail_msg("%s", err.text);
}

static void same_series(const struct series_history *a, const struct series_history *b)
{
    assert_string_equal(a->series->kernel, b->series->kernel);
    assert_int_equal(a->change_count, b->change_count);
    for (size_t i = 0; i < a->change_count; i++) {
        const struct history_change *x = &a->changes[i], *y = &b->changes[i];
        assert_memory_equal(&x->change, &y->change, sizeof(x->change));
        assert_string_equal(x->at.id, y->at.id);
        assert_int_equal(x->attribution, y->attribution);
        assert_int_equal(x->shared, y->shared);
    }
    assert_true(a->sigma == b->sigma && a->since == b->since && a->level == b->level);
    assert_memory_equal(&a->creep.size, &b->creep.size, sizeof(a->creep.size));
    assert_int_equal(a->break_count, b->break_count);
}

// Returns how many changes there are in all.
static size_t one_answer(struct store *store)
{
    struct history_set all, one;
    struct site_data site = {0};
    const struct history_wanted plain = {0};
    size_t changes = 0;
    ok(history_load(&all, store, &plain, NULL, &err));
    ok(site_data_load(&site, store, NULL, NULL, NULL, 0, true, &err));
    assert_int_equal(all.count, site.set.count);
    for (size_t i = 0; i < all.count; i++) {
        struct history_wanted named = {.kernel = all.series[i].series->kernel,
                                       .device = all.series[i].series->device_uuid};
        changes += all.series[i].change_count;
        same_series(&all.series[i], &site.set.series[i]);
        for (named.keeps = false;; named.keeps = true) {
            ok(history_load(&one, store, &named, NULL, &err));
            assert_int_equal(one.count, 1);
            assert_int_equal(one.known, all.count);
            same_series(&all.series[i], &one.series[0]);
            history_free(&one);
            if (named.keeps)
                break;
        }
    }
    history_free(&all);
    site_data_free(&site);
    return changes;
}

AROUND_ALL(scratch_set_up, scratch_tear_down);

TEST(long_series_have_one_answer)
{
    struct store *store = stepped_store(scratch_in("long.db"), 0, 1300);
    assert_true(one_answer(store) > 0);
    store_close(store);
}

// Alone, the one whose code changed with the others would be called the kernel's change.
TEST(series_asked_for_alone_are_judged_beside_the_others)
{
    static const struct scene scenes[] = {{.step = 0.1},
                                          {.common = 0.1, .no_controls = true},
                                          {.common = 0.1, .no_controls = true, .keep_code = true},
                                          {.common = 0.1, .driver = true},
                                          {.step = 0.1, .card = "GPU-2"}};
    for (size_t i = 0; i < ARRAY_COUNT(scenes); i++) {
        const char *name = arena_printf(&scratch.arena, "scene-%zu.db", i);
        struct store *store = scratch_store(scratch_in(name), STORE_WRITE);
        scene_save(store, &scenes[i], 0, COMMITS, 7);
        const size_t changes = one_answer(store);
        assert_true(changes > 0 || scenes[i].card || scenes[i].driver);
        store_close(store);
    }
}

// A link of kernel 0 between two codes, which are numbered as their commits are.
struct between {
    int from, to;
    enum verdict_kind kind;
    double log_ratio;
};

static void add_link(struct store *store, const struct between *b)
{
    struct problem problem;
    struct link link = {.tool_version = "1",
                        .made_s = 1700000000 + b->to,
                        .back = (uint32_t)(b->to - b->from),
                        .kind = b->kind,
                        .log_ratio = b->log_ratio,
                        .error = 0.0005,
                        .log_evidence = b->kind == VERDICT_SAME ? 0 : 40,
                        .pairs = 64,
                        .processes = 4};
    ok(problem_parse(&problem, "64x64x64:fp32", &err));
    snprintf(link.uid, sizeof(link.uid), "%016d%016d", b->from, b->to);
    snprintf(link.base_code, sizeof(link.base_code), "%040d", b->from);
    snprintf(link.head_code, sizeof(link.head_code), "%040d", b->to);
    link.base = link.head = (struct commit){.summary = "", .author = ""};
    link.base.time_s = 1700000000 + 3600 * (STEP + (int64_t)b->from);
    link.head.time_s = 1700000000 + 3600 * (STEP + (int64_t)b->to);
    snprintf(link.base.id, sizeof(link.base.id), "aaaa%036d", STEP - 1 + b->from);
    snprintf(link.head.id, sizeof(link.head.id), "aaaa%036d", STEP - 1 + b->to);
    const struct series series = {"kernel", &problem, "GPU-1"};
    ok(store_save_link(store, &series, &link, &err));
}

// What the site says of kernel 0, which history says too.
static const struct site_series *said_of_kernel(struct site_data *site, struct store *store)
{
    const struct site_series *found = NULL;
    ok(site_data_load(site, store, NULL, NULL, NULL, 0, true, &err));
    for (size_t i = 0; i < site->set.count; i++) {
        const struct site_series *s = &site->site.series[i];
        const struct history_now now = history_now(&site->set.series[i]);
        const bool linked = strcmp(s->kernel, "kernel") == 0;
        assert_int_equal(now.linked, linked);
        if (!linked)
            continue;
        found = s;
        assert_true(s->log_ratio.value == now.size.value);
        assert_int_equal(now.moved, s->kind != VERDICT_SAME);
    }
    assert_non_null(found);
    return found;
}

static struct store *five_points(const char *name)
{
    static const struct scene scene = {.step = 0};
    struct store *store = scratch_store(scratch_in(name), STORE_WRITE);
    scene_save(store, &scene, STEP - 3, STEP + 2, 7);
    return store;
}

static void history_says(const char *name, const char *part)
{
    struct plumb_outcome outcome;
    const char *argv[] = {"history", "--store", scratch_in(name), NULL};
    plumb_run(&outcome, scratch.folder, argv, 0);
    plumb_said(&outcome, 0, part);
}

// Five points say nothing; the link between the codes of two of them says +10 %.
TEST(the_site_says_what_links_say)
{
    struct store *store = five_points("linked.db");
    struct site_data site = {0};
    add_link(store, &(struct between){0, 1, VERDICT_SLOWER, 0.0953});
    const struct site_series *s = said_of_kernel(&site, store);
    assert_int_equal(s->kind, VERDICT_SLOWER);
    assert_true(s->log_ratio.low > 0.09);
    assert_string_equal(s->since, arena_printf(&scratch.arena, "aaaa%036d", STEP));
    assert_non_null(strstr(s->sentence, "side by side with aaaa000000"));
    site_data_free(&site);
    store_close(store);
    history_says("linked.db", ": 1 change\n");
}

// One series in twenty has a level whose 95 % interval is without the truth.
TEST(a_series_whose_links_are_no_change_is_not_slower_by_chance)
{
    struct store *store = five_points("chance.db");
    struct site_data site = {0};
    add_link(store, &(struct between){0, 1, VERDICT_SAME, 0.0045});
    const struct site_series *s = said_of_kernel(&site, store);
    assert_true(s->log_ratio.low > 0);
    assert_int_equal(s->kind, VERDICT_SAME);
    site_data_free(&site);
    store_close(store);
}

TEST(a_level_that_crept_is_said_by_history_too)
{
    static const int backs[] = {1, 8, 64};
    struct store *store = five_points("creep.db");
    struct site_data site = {0};
    for (int code = 1; code <= 150; code++) {
        for (size_t i = 0; i < ARRAY_COUNT(backs) && backs[i] <= code; i++)
            add_link(store, &(struct between){code - backs[i], code, VERDICT_SAME,
                                              0.0001 * backs[i] + 0.0003 * (code * 7 % 5 - 2)});
    }
    const struct site_series *s = said_of_kernel(&site, store);
    assert_int_equal(s->kind, VERDICT_SLOWER);
    assert_true(s->log_ratio.low > 0.01 && s->log_ratio.high < 0.02);
    site_data_free(&site);
    store_close(store);
    history_says("creep.db", ": 0 changes, the level crept\n");
}
