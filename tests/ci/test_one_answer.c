// SPDX-License-Identifier: Apache-2.0
//
// One store, one answer: what is said of a series is the same whether `history` is asked for all
// series or for one, with a store that can be written or not, or whether the site is.
#include "baselines/link.h"
#include "ci/site/site_data.h"
#include "tests/helpers/helper_scene.h"
#include "tests/helpers/helper_scratch.h"
#include "tests/helpers/helper_stepped.h"
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
        assert_int_equal(x->newest, y->newest);
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
    ok(site_data_load(&site, store, NULL, NULL, 0, true, &err));
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

static void long_series_have_one_answer(void **state)
{
    struct store *store = stepped_store(scratch_in("long.db"), 0, 1300);
    assert_true(one_answer(store) > 0);
    store_close(store);
}

// Alone, the one whose code changed with the others would be called the kernel's change.
static void series_asked_for_alone_are_judged_beside_the_others(void **state)
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

// Five points say nothing; the link between the codes of two of them says +10 %.
static void the_site_says_what_links_say(void **state)
{
    static const struct scene scene = {.step = 0};
    struct store *store = scratch_store(scratch_in("linked.db"), STORE_WRITE);
    struct problem problem;
    struct site_data site = {0};
    struct link link = {.tool_version = "1",
                        .made_s = 1700000000,
                        .back = 1,
                        .kind = VERDICT_SLOWER,
                        .log_ratio = 0.0953,
                        .error = 0.0005,
                        .log_evidence = 40,
                        .pairs = 64,
                        .processes = 4};
    scene_save(store, &scene, STEP - 3, STEP + 2, 7);
    ok(problem_parse(&problem, "64x64x64:fp32", &err));
    snprintf(link.uid, sizeof(link.uid), "%032d", 1);
    snprintf(link.base_code, sizeof(link.base_code), "%040d", 0);
    snprintf(link.head_code, sizeof(link.head_code), "%040d", 1);
    link.base = link.head = (struct commit){.summary = "", .author = "", .time_s = 1700000000};
    snprintf(link.base.id, sizeof(link.base.id), "aaaa%036d", STEP - 1);
    snprintf(link.head.id, sizeof(link.head.id), "aaaa%036d", STEP);
    const struct series series = {"kernel", &problem, "GPU-1"};
    ok(store_save_link(store, &series, &link, &err));
    ok(site_data_load(&site, store, NULL, NULL, 0, true, &err));
    for (size_t i = 0; i < site.set.count; i++) {
        const struct site_series *s = &site.site.series[i];
        const struct history_now now = history_now(&site.set.series[i]);
        const bool linked = strcmp(s->kernel, "kernel") == 0;
        assert_int_equal(now.linked, linked);
        if (!linked)
            continue;
        assert_int_equal(s->kind, VERDICT_SLOWER);
        assert_true(now.moved && s->log_ratio.value == now.size.value && now.size.low > 0.09);
        assert_string_equal(s->since, link.head.id);
        assert_non_null(strstr(s->sentence, "side by side with aaaa000000"));
    }
    site_data_free(&site);
    store_close(store);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_series_have_one_answer),
        cmocka_unit_test(series_asked_for_alone_are_judged_beside_the_others),
        cmocka_unit_test(the_site_says_what_links_say),
    };
    return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
