// SPDX-License-Identifier: Apache-2.0
//
// The pages of series, commits and runs: levels, what began with a commit, the points left out.
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_json.h"
#include "tests/helpers/helper_run.h"
#include "tests/helpers/helper_site_folder.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

AROUND_EACH(site_folder_set_up, site_folder_tear_down);

TEST(levels_are_drawn_above_times)
{
    struct helper_site h;
    helper_site(&h, 40, 200, false);
    site_folder_write(&h, *state);
    char *page = site_folder_read(*state, "kernel/tma_persistent.html");
    const char *series = strstr(page, "<details"), *level = strstr(series, "curve level");
    const char *times = strstr(series, "curve head");
    assert_true(level && times && level < times);
    assert_non_null(strstr(page, "by 60 links with 40 loops that close to 0.10 %"));
    free(page);
    assert_true(
        site_folder_shell("cat $(grep -l '\"links\":60,\"loops\":40' series/*.json | head -n 1) "
                          "> one.json",
                          *state));
    char *data = site_folder_read(*state, "one.json");
    assert_true(helper_json_is_valid(data));
    free(data);
    helper_site_free(&h);
}

// A page shows 600 points of a series; the settled ones lie beside it, all of them, and are read
// again only when they are others.
TEST(points_left_out_lie_beside)
{
    struct helper_site h;
    helper_site(&h, 3, 1000, false);
    assert_int_equal(site_folder_write(&h, *state).loaded_points, 3);
    assert_true(site_folder_shell("test $(ls points/*.js | wc -l) -eq 3", *state));
    assert_true(site_folder_shell("cat points/*.json > all.txt", *state));
    char *all = site_folder_read(*state, "all.txt"), *times = strstr(all, "\"times_ns\":[");
    *strchr(times, ']') = '\0';
    assert_int_equal(helper_occurrences(times, ",") + 1, 900);
    free(all);
    struct site_series *series = arena_alloc(&h.arena, 3 * sizeof(*series));
    memcpy(series, h.site.series, 3 * sizeof(*series));
    series[1].revision++;
    h.site.series = series;
    struct site_written night = site_folder_write(&h, *state);
    assert_int_equal(night.loaded, 3);
    assert_int_equal(night.loaded_points, 0);
    helper_site_free(&h);
}

TEST(commit_tells_what_began_with_it)
{
    struct helper_site h;
    helper_site_of(&h, 40, 100, 100, false);
    site_folder_write(&h, *state);
    char name[64];
    snprintf(name, sizeof(name), "commit/%.10s.html", h.site.events[0].event->commits[0].id);
    char *page = site_folder_read(*state, name);
    assert_int_equal(helper_occurrences(page, "side by side</td>"),
                     h.site.events[0].event->count + h.site.events[1].event->count);
    assert_non_null(strstr(page, "event brisk-owl: one step"));
    assert_non_null(strstr(page, "accepted on 2026-12-05 by A. Author"));
    assert_int_equal(helper_occurrences(page, "../run/71.html"), 1);
    assert_non_null(strstr(page, "A. Author &lt;author@example.org&gt;"));
    assert_non_null(strstr(page, "before:"));
    free(page);
    // Nothing says when an event of links alone was confirmed.
    static const struct event_entry undated = {EVENT_CONFIRMED, 0, "plumb", "the links suffice"};
    struct event event = *h.site.events[0].event;
    event.entries = &undated;
    event.entry_count = 1;
    struct site_event alone = h.site.events[0];
    alone.event = &event;
    h.site.events = &alone;
    h.site.event_count = 1;
    site_folder_write(&h, *state);
    assert_true(site_folder_has(*state, name, "confirmed by plumb: the links suffice"));
    // The overview and the feed's series lead to it.
    assert_true(site_folder_has(*state, "index.html", name));
    helper_site_free(&h);
}

// One cause, one row, whatever it touches; what is decided stands in events.html alone. A series
// that an event touches stands below too, with where it is now and which event that is.
TEST(event_is_one_row_beside_the_series_it_made_slower)
{
    struct helper_site h;
    char link[128];
    helper_site(&h, 40, 200, false);
    site_folder_write(&h, *state);
    char *index = site_folder_read(*state, "index.html");
    assert_int_equal(helper_occurrences(index, "id=\"e-"), 1);
    char *rest = strstr(index, "Where series stand against the last accepted state");
    *strstr(rest, "All series") = '\0';
    assert_int_equal(helper_occurrences(rest, "<tr"), 1 + 7); // 5 slower, 1 faster, 1 broken
    snprintf(link, sizeof(link), "events.html#e-%s\">%s</a>", h.site.events[0].slug,
             h.site.events[0].event->name);
    assert_int_equal(helper_occurrences(rest, link), h.site.events[0].event->count);
    assert_non_null(strstr(rest, "An event is one change and all that it touched"));
    free(index);
    char *all = site_folder_read(*state, "events.html");
    assert_int_equal(helper_occurrences(all, "id=\"e-"), 2);
    assert_non_null(strstr(all, "wider tiles"));
    free(all);
    helper_site_free(&h);
}

TEST(run_has_its_page)
{
    struct helper_site h;
    helper_site(&h, 40, 60, false);
    site_folder_write(&h, *state);
    assert_true(site_folder_has(*state, "run/29.html", "compare.html#28..29"));
    assert_true(site_folder_has(*state, "run/25.html", "It has no times to compare."));
    assert_true(site_folder_has(*state, "run/29.html", "script-src 'none'"));
    assert_true(site_folder_has(*state, "runs.html", "run/29.html"));
    helper_site_free(&h);
}

// What began with a commit may be found long after its page was written; then the times of its runs
// are as they were.
TEST(later_finding_changes_the_commits_page)
{
    struct helper_site h;
    helper_site_of(&h, 40, 100, 100, false);
    struct site before = h.site;
    h.site.event_count = 0;
    site_folder_write(&h, *state);
    h.site.event_count = before.event_count;
    assert_int_equal(site_folder_write(&h, *state).loaded_runs, 0);
    char name[64];
    snprintf(name, sizeof(name), "commit/%.10s.html", h.site.events[0].event->commits[0].id);
    assert_true(site_folder_has(*state, name, "event brisk-owl"));
    helper_site_free(&h);
}

// A link more moves every level of a series, mostly by less than is shown.
TEST(what_moves_by_less_than_is_shown_leaves_the_commits_page)
{
    struct helper_site h;
    struct event moved;
    helper_site_of(&h, 40, 100, 100, false);
    struct site_event *events = arena_alloc(&h.arena, h.site.event_count * sizeof(*events));
    memcpy(events, h.site.events, h.site.event_count * sizeof(*events));
    h.site.events = events;
    site_folder_write(&h, *state);
    moved = *events[0].event;
    struct event_change *changes =
        arena_copy(&h.arena, moved.changes, moved.count * sizeof(*changes));
    moved.changes = changes;
    events[0].event = &moved;
    assert_true(site_folder_shell("touch -d 2020-01-01 commit/*", *state));
    for (size_t i = 0; i < moved.count; i++)
        changes[i].size.value += 1e-12;
    site_folder_write(&h, *state);
    assert_true(
        site_folder_shell("test -z \"$(find commit -type f -newermt 2021-01-01)\"", *state));
    changes[0].size.value += 0.01;
    site_folder_write(&h, *state);
    assert_true(
        site_folder_shell("test -n \"$(find commit -type f -newermt 2021-01-01)\"", *state));
    helper_site_free(&h);
}

// Three commits with one short id, and ids that are no hexadecimal number.
TEST(commits_never_share_a_page)
{
    static const char *const ids[] = {"0123456789aaaaaaaa",
                                      "0123456789bbbbbbbb",
                                      "0123456789cccccccc",
                                      "../../etc",
                                      "v1.0",
                                      "V1.0"};
    struct helper_site h;
    helper_site_of(&h, 3, 20, ARRAY_COUNT(ids), false);
    struct site_run *runs = arena_alloc(&h.arena, ARRAY_COUNT(ids) * sizeof(*runs));
    memcpy(runs, h.site.runs, ARRAY_COUNT(ids) * sizeof(*runs));
    for (size_t i = 0; i < ARRAY_COUNT(ids); i++)
        text_copy(runs[i].head, sizeof(runs[i].head), ids[i]);
    h.site.runs = runs;
    site_folder_write(&h, *state);
    assert_true(site_folder_shell("test $(ls commit/*.html | wc -l) -eq 6", *state));
    assert_true(site_folder_shell("test -f commit/0123456789.html", *state));
    helper_site_free(&h);
}

// ---- very many ----

enum { MANY_CHANGES = 60 };

struct with_changes {
    struct helper_site h;
    struct site_change changes[MANY_CHANGES];
};

static int load_many(struct site_detail *out, size_t index, void *context, struct arena *arena,
                     struct error *err)
{
    struct with_changes *w = context;
    if (w->h.site.load(out, index, &w->h, arena, err))
        return -1;
    if (index == 0) {
        out->changes = w->changes;
        out->change_count = MANY_CHANGES;
    }
    return 0;
}

static int load_many_points(struct site_point *points, size_t count, size_t index, void *context,
                            struct error *err)
{
    struct with_changes *w = context;
    return w->h.site.load_points(points, count, index, &w->h, err);
}

static int load_many_times(double *times_ns, int64_t *codes, size_t run, void *context,
                           struct error *err)
{
    struct with_changes *w = context;
    return w->h.site.load_times(times_ns, codes, run, &w->h, err);
}

// The page of its kernel has the newest changes and leads to all of them.
TEST(series_of_many_changes_has_a_page_of_its_own)
{
    struct with_changes w;
    struct error err;
    helper_site(&w.h, 3, 200, false);
    for (size_t i = 0; i < MANY_CHANGES; i++) {
        w.changes[i] = (struct site_change){.index = 3 * i,
                                            .commits = 1,
                                            .time_s = 1600000000 + 100 * (int64_t)i,
                                            .log_ratio = {0.01, 0.009, 0.011}};
        helper_site_commit_id(w.changes[i].commit, 3 * i);
    }
    struct site site = w.h.site;
    site.load = load_many;
    site.load_points = load_many_points;
    site.load_times = load_many_times;
    site.context = &w;
    assert_int_equal(site_write(&site, *state, NULL, &err), 0);
    assert_true(site_folder_shell("test $(ls series/*.html | wc -l) -eq 1", *state));
    assert_true(site_folder_shell("cat series/*.html > own.txt", *state));
    char *own = site_folder_read(*state, "own.txt");
    assert_int_equal(helper_occurrences(own, "data-label=\"began in\""), MANY_CHANGES);
    free(own);
    assert_true(site_folder_shell("cat kernel/*.html > kernels.txt", *state));
    char *kernels = site_folder_read(*state, "kernels.txt"),
         *part = strstr(kernels, "All 60 changes");
    assert_non_null(part);
    assert_in_range(helper_occurrences(kernels, "data-label=\"began in\""), 8, 8 + 2 * 8);
    free(kernels);
    helper_site_free(&w.h);
}

// Older events have pages of their own, which stay as they are when another comes.
TEST(very_many_events_are_shown_page_by_page)
{
    enum { EVENTS = 1000 };
    struct helper_site h;
    helper_site(&h, 40, 200, false);
    const struct site_event first = h.site.events[0];
    struct site_event *events = arena_alloc(&h.arena, (EVENTS + 1) * sizeof(*events));
    for (size_t i = 0; i < EVENTS + 1; i++) {
        events[i] = first;
        snprintf(events[i].slug, sizeof(events[i].slug), "%012zx", EVENTS + 1 - i);
    }
    h.site.events = events + 1;
    h.site.event_count = EVENTS;
    site_folder_write(&h, *state);
    assert_true(site_folder_shell("test $(ls events/*.html | wc -l) -eq 2", *state));
    assert_true(
        site_folder_shell("test $(cat events.html events/*.html | grep -o 'id=\"e-' | wc -l) "
                          "-eq 1000",
                          *state));
    assert_true(site_folder_has(*state, "events/0.html", "id=\"e-000000000001\""));
    assert_true(site_folder_has(*state, "events.html", "events/1.html"));
    assert_true(site_folder_shell("cat events/*.html | cksum > before.txt", *state));
    h.site.events = events;
    h.site.event_count = EVENTS + 1;
    site_folder_write(&h, *state);
    assert_true(site_folder_shell("cat events/*.html | cksum | cmp - before.txt", *state));
    assert_true(site_folder_shell("test $(wc -c < events.html) -lt 700000", *state));
    helper_site_free(&h);
}

// A series that gates alone know: no point has a time, so that nothing says with which one an
// acceptance begins to count.
static int (*load_all)(struct site_detail *, size_t, void *, struct arena *, struct error *);
static int load_without_times(struct site_detail *out, size_t index, void *context,
                              struct arena *arena, struct error *err)
{
    const int status = load_all(out, index, context, arena, err);
    for (size_t i = 0; i < out->history.count; i++)
        out->history.points[i].time_ns = NAN;
    out->total = 0;
    if (out->epoch_count)
        ((struct site_epoch *)(uintptr_t)out->epochs)->index = 0;
    return status;
}

TEST(accepted_mark_stands_at_the_commit_that_was_accepted)
{
    struct helper_site h;
    helper_site(&h, 40, 200, false);
    load_all = h.site.load;
    h.site.load = load_without_times;
    site_folder_write(&h, *state);
    assert_true(site_folder_shell("grep -hoE '\"at\":[0-9]+,\"text\":\"accepted [^\"]*\",\"kind\":"
                                  "\"epoch\"' series/*.json | sed 's/,.*//' | sort -u > marks; "
                                  "test \"$(cat marks)\" = '\"at\":140'",
                                  *state));
    helper_site_free(&h);
}
