// SPDX-License-Identifier: Apache-2.0
//
// A page shows as many levels of a long history as points: its extremes, both sides of every
// change, and the newest.
#include "baselines/store.h"
#include "ci/site/site_data.h"
#include "reports/charts/charts.h"
#include "tests/helpers/helper_open_store.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CODES = 1500, STEP = 700 };

static void add_link(struct store *store, const struct series *series, unsigned head)
{
    struct error err;
    struct link l = {.tool_version = "0.1",
                     .made_s = 1700000000 + head,
                     .back = 1,
                     .kind = head == STEP ? VERDICT_SLOWER : VERDICT_SAME,
                     .log_ratio = head == STEP ? 0.001 : 0.004 * (head % 2 ? 1 : -1),
                     .error = 0.0004,
                     .log_evidence = head == STEP ? 30 : -3,
                     .pairs = 64,
                     .processes = 2};
    snprintf(l.uid, sizeof(l.uid), "%032x", head);
    snprintf(l.base_code, sizeof(l.base_code), "%040x", 0x10000 + head - 1);
    snprintf(l.head_code, sizeof(l.head_code), "%040x", 0x10000 + head);
    l.base = (struct commit){.summary = "", .author = "", .time_s = 1600000000 + head - 1};
    l.head = (struct commit){.summary = "", .author = "", .time_s = 1600000000 + head};
    snprintf(l.base.id, sizeof(l.base.id), "%08x%032x", (head - 1) * 2654435761u, head - 1);
    snprintf(l.head.id, sizeof(l.head.id), "%08x%032x", head * 2654435761u, head);
    assert_ok(store_save_link(store, series, &l, &err), &err);
}

static void fill(struct open_store *f)
{
    struct series_entry *entries;
    size_t count;
    struct error err;
    save_runs_at(f->path, 4);
    assert_ok(store_list_series(&entries, &count, f->store, &f->arena, &err), &err);
    assert_true(count > 0);
    const struct series series = {entries[0].kernel, &entries[0].problem, entries[0].device_uuid};
    assert_ok(store_begin_batch(f->store, &err), &err);
    for (unsigned i = 1; i < CODES; i++)
        add_link(f->store, &series, i);
    assert_ok(store_commit_batch(f->store, &err), &err);
}

AROUND_EACH(open_store_set_up, open_store_tear_down);

TEST(long_history_shows_its_extremes_and_its_changes)
{
    struct open_store *f = *state;
    struct site_data data = {0};
    struct site_detail detail;
    struct error err;
    char before[OBJECT_ID_TEXT], at[OBJECT_ID_TEXT];
    bool has_before = false, has_at = false;
    fill(f);
    assert_ok(site_data_load(&data, f->store, NULL, NULL, NULL, 0, true, &err), &err);
    size_t index = 0;
    while (data.set.series[index].linked.level_count == 0)
        index++;
    assert_ok(site_detail_load(&detail, index, data.site.context, &f->arena, &err), &err);
    const struct site_levels *l = &detail.linked;
    // The page that compares runs has what each pair of codes said, the newest first.
    assert_int_equal(data.site.pair_count, CODES - 1);
    assert_int_equal(data.site.pairs[0].series, index);
    assert_int_equal(data.site.pairs[0].base, data.site.pairs[1].head);
    assert_int_equal(data.site.pairs[CODES - 1 - STEP].kind, VERDICT_SLOWER);
    assert_true(data.site.pairs[CODES - 1 - STEP].log_ratio == 0.001);
    assert_int_equal(l->total, CODES);
    assert_true(l->count > SERIES_CHART_POINTS / 2 && l->count < SERIES_CHART_POINTS + 4);
    snprintf(before, sizeof(before), "%08x%032x", (STEP - 1) * 2654435761u, STEP - 1);
    snprintf(at, sizeof(at), "%08x%032x", STEP * 2654435761u, STEP);
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < l->count; i++) {
        assert_true(i == 0 || l->levels[i].time_s > l->levels[i - 1].time_s);
        has_before |= strcmp(l->levels[i].commit, before) == 0;
        has_at |= strcmp(l->levels[i].commit, at) == 0;
        low = fmin(low, l->levels[i].level.value);
        high = fmax(high, l->levels[i].level.value);
    }
    assert_true(has_before && has_at);
    assert_true(high - low > 0.004);
    assert_int_equal(l->levels[l->count - 1].time_s, 1600000000 + CODES - 1);
    site_data_free(&data);
}

// The first look goes through the links and keeps their levels; the second finds them judged, and
// works levels out for the page.
TEST(levels_are_the_same_where_links_were_gone_through_and_where_they_were_judged_before)
{
    struct open_store *f = *state;
    struct site_detail details[2];
    struct site_data looks[2] = {0};
    struct error err;
    fill(f);
    for (size_t i = 0; i < 2; i++) {
        size_t index = 0;
        assert_ok(site_data_load(&looks[i], f->store, NULL, NULL, NULL, 0, true, &err), &err);
        while (looks[i].set.series[index].linked.level_count == 0)
            index++;
        assert_int_equal(looks[i].set.levels[index].step_count > 0, i == 0);
        assert_ok(site_detail_load(&details[i], index, looks[i].site.context, &f->arena, &err),
                  &err);
    }
    const struct site_levels *a = &details[0].linked, *b = &details[1].linked;
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->total, CODES);
    assert_int_equal(b->total, CODES);
    for (size_t i = 0; i < a->count; i++) {
        assert_string_equal(a->levels[i].commit, b->levels[i].commit);
        assert_memory_equal(&a->levels[i].level, &b->levels[i].level, sizeof(a->levels[i].level));
        assert_int_equal(a->levels[i].mark, b->levels[i].mark);
    }
    for (size_t i = 0; i < 2; i++)
        site_data_free(&looks[i]);
}
