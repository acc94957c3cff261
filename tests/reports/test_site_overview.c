// SPDX-License-Identifier: Apache-2.0
//
// The first screen of the site: what is slower than accepted, since when, by which commit and whom
// to ask; what got faster; whether the machines are as they were.
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_json.h"
#include "tests/helpers/helper_run.h"
#include "tests/helpers/helper_site_folder.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// What stands between two texts of a page, tags left out; the caller frees.
static char *between(const char *page, const char *from, const char *to)
{
    const char *begin = strstr(page, from), *end = begin ? strstr(begin, to) : NULL;
    if (!end)
        fail_msg("the page has no \"%s\" before \"%s\"", from, to);
    char *text = xcalloc((size_t)(end - begin) + 1, 1), *out = text;
    bool tag = false;
    for (const char *c = begin; c < end; c++) {
        tag = *c == '<' || (tag && c[-1] != '>');
        if (!tag)
            *out++ = *c;
    }
    return text;
}

static char *answers_of(struct helper_site *h, const char *folder)
{
    site_folder_write(h, folder);
    char *page = site_folder_read(folder, "index.html"),
         *json = site_folder_read(folder, "index.json");
    assert_true(helper_json_is_valid(json));
    char *text = between(page, "<dl class=\"answers\">", "</dl>");
    free(page);
    free(json);
    return text;
}

static void expect(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in: %s", part, text);
}

// Series are copied, so that a test may change them; so are the events' commits.
static struct site_series *own_series(struct helper_site *h)
{
    struct site_series *series = arena_alloc(&h->arena, h->site.series_count * sizeof(*series));
    memcpy(series, h->site.series, h->site.series_count * sizeof(*series));
    h->site.series = series;
    return series;
}

static struct event *own_event(struct helper_site *h, size_t index)
{
    struct site_event *events = arena_alloc(&h->arena, h->site.event_count * sizeof(*events));
    memcpy(events, h->site.events, h->site.event_count * sizeof(*events));
    struct event *e = arena_alloc(&h->arena, sizeof(*e));
    *e = *events[index].event;
    struct event_commit *commits = arena_alloc(&h->arena, 2 * sizeof(*commits));
    memcpy(commits, e->commits, e->culprit_count * sizeof(*commits));
    e->commits = commits;
    events[index].event = e;
    h->site.events = events;
    return e;
}

static void set_author(struct event *e, struct helper_site *h, const char *author)
{
    struct event_commit *commits = arena_alloc(&h->arena, 2 * sizeof(*commits));
    memcpy(commits, e->commits, e->culprit_count * sizeof(*commits));
    commits[0].author = author;
    e->commits = commits;
}

AROUND_EACH(site_folder_set_up, site_folder_tear_down);

TEST(a_regression_has_size_commit_day_and_whom_to_ask)
{
    struct helper_site h;
    helper_site(&h, 40, 200, false);
    struct event *e = own_event(&h, 0);
    set_author(e, &h, "B. Writer <b.writer@example.org>");
    char *text = answers_of(&h, *state);
    expect(text, "up to +3.46 % kernel_12 and 3 more series, since 2025-10-15 by ");
    expect(text, " kernels: one stage fewer; ask B. Writer (its author)");
    assert_null(strstr(text, "b.writer@example.org"));
    expect(text, "broken cublaslt 832x128x4096:bf16-bf16:tn, since 2025-10-15 by ");
    expect(text, "+1.2"); // of the creep, with its commit
    free(text);
    helper_site_free(&h);
}

// Who took it stands where whom to ask did, also where the kernel has an owner.
TEST(who_took_a_regression_is_told_in_place_of_whom_to_ask)
{
    struct helper_site h;
    helper_site(&h, 40, 200, false);
    struct event *e = own_event(&h, 0);
    set_author(e, &h, "B. Writer <b.writer@example.org>");
    struct site_series *series = own_series(&h);
    for (size_t i = 0; i < 40; i++)
        series[i].owner = "Kernel team";
    e->taken = (struct event_taken){"C. <b>Taker <c@example.org>", "reverts it", 1795219200};
    char *text = answers_of(&h, *state);
    expect(text, " kernels: one stage fewer; C. is on it since 2026-11-21");
    assert_null(strstr(text, "B. Writer"));
    assert_null(strstr(text, "c@example.org"));
    free(text);
    assert_true(site_folder_has(*state, "index.json", "\"taken_s\":1795219200"));
    helper_site_free(&h);
}

TEST(who_looks_after_a_kernel_is_asked_before_the_author)
{
    struct helper_site h;
    helper_site(&h, 40, 200, false);
    set_author(own_event(&h, 0), &h, "B. Writer");
    struct site_series *series = own_series(&h);
    for (size_t i = 0; i < 40; i++)
        series[i].owner = "<b>Kernel</b> team";
    char *text = answers_of(&h, *state);
    expect(text, "ask &lt;b"); // what is behind it would be an address
    assert_null(strstr(text, "B. Writer"));
    free(text);
    helper_site_free(&h);
}

TEST(many_causes_are_three_lines_and_a_count)
{
    struct helper_site h;
    static char ids[20][OBJECT_ID_TEXT];
    helper_site(&h, 40, 60, false);
    h.site.event_count = 0;
    struct site_series *series = own_series(&h);
    for (size_t i = 0; i < 40; i++) {
        helper_site_commit_id(ids[i / 2], 1000 + i / 2);
        series[i].kind = VERDICT_SLOWER;
        series[i].cause = CAUSE_KERNEL;
        series[i].log_ratio = interval_about(0.001 * (double)(i + 10), 0.001);
        series[i].since = ids[i / 2];
    }
    char *text = answers_of(&h, *state);
    expect(text, "up to +5.02 % ");
    expect(text, " and 1 more series,");
    expect(text, "17 more causes");
    expect(text, "Faster in 30 daysnothing");
    free(text);
    helper_site_free(&h);
}

// What `events --check` fails for is no good news on the site: where the series was faster before,
// or has too few times to tell, its open slowdown is told by itself.
TEST(an_open_slowdown_is_told_though_no_series_is_slower_than_accepted)
{
    struct helper_site h;
    helper_site(&h, 40, 200, false);
    struct event *e = own_event(&h, 0);
    struct site_series *series = own_series(&h);
    for (size_t i = 0; i < 40; i++)
        series[i].kind = VERDICT_UNDECIDED;
    h.site.event_count = 1;
    h.site.metric_event_count = 0;
    e->cause = ATTRIBUTION_KERNEL;
    assert_true(event_is_slowdown(e));
    char *text = answers_of(&h, *state);
    expect(text, "Slower than acceptednothing");
    expect(text, "Accepted by nobody");
    expect(text, "slower up to +");
    free(text);
    char *page = site_folder_read(*state, "index.html");
    expect(page, "1 slowdown is open that nobody has accepted</h1>");
    expect(page, ">regression<");
    free(page);
    e->state = EVENT_ACCEPTED;
    text = answers_of(&h, *state);
    assert_null(strstr(text, "Accepted by nobody"));
    free(text);
    page = site_folder_read(*state, "index.html");
    expect(page, "No series is slower than accepted</h1>");
    free(page);
    helper_site_free(&h);
}

// Nothing is told of what is of the machine, lost again, dismissed or older than 30 days.
TEST(what_got_faster_is_of_the_last_30_days_and_still_there)
{
    struct helper_site h;
    helper_site(&h, 40, 200, false);
    struct event *e = own_event(&h, 0);
    char *text = answers_of(&h, *state);
    expect(text, "Faster in 30 daysnothing");
    free(text);
    h.site.made_s = e->commits[0].time_s + 29 * 86400;
    text = answers_of(&h, *state);
    expect(text, "faster −2.08 % tiled 384x128x4096:bf16-bf16:tn, since 2025-10-15 by ");
    free(text);
    struct event_change *changes = arena_alloc(&h.arena, e->count * sizeof(*changes));
    memcpy(changes, e->changes, e->count * sizeof(*changes));
    e->changes = changes;
    for (size_t i = 0; i < e->count; i++) {
        changes[i].levelled = true;
        changes[i].left = 0;
    }
    text = answers_of(&h, *state);
    expect(text, "Faster in 30 daysnothing");
    free(text);
    for (size_t i = 0; i < e->count; i++)
        changes[i].levelled = false;
    e->state = EVENT_DISMISSED;
    text = answers_of(&h, *state);
    expect(text, "Faster in 30 daysnothing");
    free(text);
    e->state = EVENT_ACCEPTED;
    text = answers_of(&h, *state);
    expect(text, "faster −2.08 % tiled");
    free(text);
    helper_site_free(&h);
}

TEST(machines_are_well_sick_void_changed_or_not_judged)
{
    struct helper_site h;
    helper_site(&h, 40, 200, false);
    struct site_health health[2] = {{SITE_WELL, false, "its 3 controls are as they were"},
                                    {SITE_SICK, false, "its 3 controls are +9.1 % slower"}};
    h.site.health = health;
    char *text = answers_of(&h, *state);
    expect(text, "sick NVIDIA H100 80GB HBM3: its 3 controls are +9.1 % slower");
    expect(text, "well NVIDIA H200: its 3 controls are as they were");
    assert_true(strstr(text, "sick") < strstr(text, "well")); // bad news first
    free(text);
    health[1] = (struct site_health){SITE_WELL, true, "its 3 controls are as they were"};
    health[0] = (struct site_health){SITE_UNJUDGED, false, NULL};
    text = answers_of(&h, *state);
    expect(text, "void NVIDIA H100 80GB HBM3: the newest run on it failed its test of itself");
    expect(text, "not judged NVIDIA H200: it has no controls that could tell");
    free(text);
    const struct device twins[] = {h.site.devices[0],
                                   {"cuda", "GPU-11aa33bb-77cc", "NVIDIA H200", "", "", ""}};
    const struct device *devices = h.site.devices;
    h.site.devices = twins; // of one name: then the id says which
    text = answers_of(&h, *state);
    expect(text, "not judged NVIDIA H200 GPU-6f1d2c9a: it has no controls that could tell");
    expect(text, "void NVIDIA H200 GPU-11aa33bb: ");
    free(text);
    h.site.devices = devices;
    struct event *e = own_event(&h, 0);
    e->cause = ATTRIBUTION_BREAK;
    e->what = "driver 570.86 -> 580.65";
    text = answers_of(&h, *state);
    expect(text, "changed NVIDIA H200: driver 570.86 -&gt; 580.65, ");
    free(text);
    helper_site_free(&h);
}

TEST(nothing_measured_has_no_answers)
{
    struct helper_site h;
    helper_site(&h, 0, 0, false);
    site_folder_write(&h, *state);
    assert_false(site_folder_has(*state, "index.html", "class=\"answers\""));
    helper_site_free(&h);
}

// Three commits made figures worse: one line each, and a count where there are more; a page has
// all, a kernel's page its own. What has no time, and a name like markup, breaks nothing.
TEST(what_is_worse_beside_time_is_told_with_its_commit)
{
    static const char *const texts[] = {"registers of tiled worse: 64 -> 80 (+25.00 %)",
                                        "spills of <b>tiled worse: 0 -> 48 B"};
    static const char *const whys[] = {NULL, "A. Author: meant"};
    static const double values[] = {0, 0, 48};
    static const size_t changes[] = {2};
    struct helper_site h;
    struct commit commits[3] = {
        {.summary = "first", .time_s = 1700000000},
        {.summary = "second", .time_s = 1700086400},
        {.summary = "third <i>", .time_s = 1700172800, .author = "B <b@c>"}};
    const struct commit *const at[] = {&commits[0], &commits[1], &commits[2]};
    const struct site_metric metrics[] = {
        {"spills", "tiled", "", "B", values, at, 3, changes, 1},
        {"spills", "tiled_old", "", "B", values, at, 2, changes, 0},
        {"memory", "tiled 1x1x1:fp32", "GPU <b>", "B", values, at, 3, changes, 1}};
    struct site_metric_event events[5];
    helper_site(&h, 40, 60, false);
    for (size_t i = 0; i < ARRAY_COUNT(commits); i++)
        helper_site_commit_id(commits[i].id, 2000 + i);
    for (size_t i = 0; i < ARRAY_COUNT(events); i++)
        events[i] = (struct site_metric_event){i ? "b-metrics" : "a-metrics",
                                               texts[i % 2],
                                               &commits[2],
                                               1,
                                               EVENT_CONFIRMED,
                                               i != 3,
                                               2,
                                               texts,
                                               whys,
                                               {i ? NULL : "T. Taker <t@x>", "", 1795219200}};
    h.site.metrics = metrics;
    h.site.metric_count = ARRAY_COUNT(metrics);
    h.site.metric_events = events;
    h.site.metric_event_count = ARRAY_COUNT(events);
    char *text = answers_of(&h, *state);
    expect(text, "Worse beside time");
    expect(text, "worse registers of tiled worse: 64 -&gt; 80 (+25.00 %), since 2023-11-16 by ");
    expect(text, " third &lt;i&gt;; ask B (its author)");
    expect(text, " third &lt;i&gt;; T. Taker is on it since 2026-11-21");
    expect(text, "1 more");
    free(text);
    assert_true(site_folder_has(*state, "metrics.html", "spills of &lt;b&gt;tiled"));
    assert_true(site_folder_has(*state, "metrics.html", "A. Author: meant"));
    assert_true(site_folder_has(*state, "metrics.html", "from 0 B in "));
    assert_false(site_folder_has(*state, "metrics.html", "nan"));
    char *json = site_folder_read(*state, "metrics.json");
    assert_true(helper_json_is_valid(json));
    assert_int_equal(helper_occurrences(json, "\"metric\":"), 3);
    free(json);
    char *page = site_folder_read(*state, "kernel/tiled.html");
    assert_int_equal(helper_occurrences(page, "GPU &lt;b&gt;"), 1);
    assert_null(strstr(page, "tiled_old<"));
    free(page);
    // Another value makes the kernel's page again, and no other.
    struct site_metric moved[3];
    memcpy(moved, metrics, sizeof(moved));
    moved[0].count = 2;
    moved[0].change_count = 0;
    h.site.metrics = moved;
    assert_int_equal(site_folder_write(&h, *state).pages, 4); // two pages and their figures
    helper_site_free(&h);
}
