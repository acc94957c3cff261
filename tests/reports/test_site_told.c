// SPDX-License-Identifier: Apache-2.0
//
// What a reader of the site is told: what a figure is held against, what a run decided, what is bad
// news and what is good, and which series of two runs cannot be compared.
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_run.h"
#include "tests/helpers/helper_site_folder.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

AROUND_EACH(site_folder_set_up, site_folder_tear_down);

// A series of +3.46 % came there in two steps of half that: the last one has its own size beside
// its commit.
TEST(last_step_is_told_apart_from_where_a_series_stands)
{
    struct helper_site h;
    char text[VIEW_TEXT], commit[128];
    helper_site(&h, 40, 200, false);
    site_folder_write(&h, *state);
    const struct site_series *s = &h.site.series[0];
    view_percent(text, expm1(s->step));
    snprintf(commit, sizeof(commit), "%s in </span>", text);
    char *page = site_folder_read(*state, "kernel/tma_persistent.html");
    assert_non_null(strstr(page, commit));
    assert_null(strstr(page, ">Since<button"));
    assert_non_null(
        strstr(page, "against the last accepted state, or, where nothing was accepted"));
    view_percent(text, expm1(s->log_ratio.value));
    snprintf(commit, sizeof(commit), "<span>%s against the beginning</span>", text);
    assert_non_null(strstr(page, commit));
    free(page);
    assert_true(site_folder_has(*state, "index.json", "\"step\":0.0"));
    helper_site_free(&h);
}

TEST(columns_without_a_figure_are_left_out)
{
    struct helper_site h;
    helper_site(&h, 6, 60, false);
    struct site_series *series = arena_alloc(&h.arena, 6 * sizeof(*series));
    memcpy(series, h.site.series, 6 * sizeof(*series));
    h.site.series = series;
    site_folder_write(&h, *state);
    assert_true(site_folder_has(*state, "index.html", "Act. / pred."));
    for (size_t i = 0; i < 6; i++) { // of links alone
        series[i].time_ns = NAN;
        series[i].predicted_ns = 0;
        series[i].bound = BOUND_UNKNOWN;
        series[i].spark_count = 0;
        series[i].since = NULL;
    }
    site_folder_write(&h, *state);
    assert_false(site_folder_has(*state, "index.html", "Act. / pred."));
    assert_false(site_folder_has(*state, "index.html", ">Newest<"));
    assert_false(site_folder_has(*state, "index.html", ">Trend<"));
    assert_false(site_folder_has(*state, "index.html", "Last step:")); // no more than what is there
    helper_site_free(&h);
}

TEST(what_no_run_measured_is_not_where_it_was_accepted)
{
    struct helper_site h;
    helper_site(&h, 6, 60, false);
    struct site_series *series = arena_alloc(&h.arena, 6 * sizeof(*series));
    memcpy(series, h.site.series, 6 * sizeof(*series));
    h.site.series = series;
    h.site.event_count = 0;
    for (size_t i = 0; i < 6; i++)
        series[i].kind = VERDICT_NOT_MEASURED;
    site_folder_write(&h, *state);
    assert_true(
        site_folder_has(*state, "index.html", "No plain run has measured any of 6 series yet"));
    assert_true(site_folder_has(*state, "index.html",
                                "Of 6 nothing can be said: no plain run has measured"));
    assert_false(site_folder_has(*state, "index.html", "where it was accepted."));
    assert_false(site_folder_has(*state, "index.html", "no regression</div>"));
    helper_site_free(&h);
}

// Every fourth run of the site is a gate.
TEST(gates_page_shows_its_verdicts)
{
    struct helper_site h;
    helper_site(&h, 40, 60, false);
    site_folder_write(&h, *state);
    struct run run = helper_run();
    size_t same = 0;
    for (size_t i = 0; i < run.count; i++)
        same += run.results[i].verdict.kind == VERDICT_SAME;
    char *page = site_folder_read(*state, "run/30.html");
    assert_non_null(strstr(page, "Verdicts: the head against the base"));
    assert_int_equal(helper_occurrences(page, "data-label=\"verdict\""), run.count);
    char *folded = strstr(page, "<details");
    assert_non_null(folded);
    assert_int_equal(helper_occurrences(folded, "data-label=\"verdict\""), same);
    free(page);
    assert_false(site_folder_has(*state, "run/29.html",
                                 "Verdicts:")); // a plain run that found nothing wrong
    run_free(&run);
    helper_site_free(&h);
}

static int load_unbuilt(struct run *out, size_t run, void *context, struct error *err)
{
    (void)run;
    (void)context;
    (void)err;
    *out = helper_run_unbuilt();
    return 0;
}

TEST(gate_of_a_commit_that_does_not_build_says_so)
{
    struct helper_site h;
    helper_site(&h, 40, 60, false);
    h.site.load_run = load_unbuilt;
    site_folder_write(&h, *state);
    assert_true(site_folder_has(*state, "run/30.html", "The head does not build: "));
    helper_site_free(&h);
}

// No level changed, but one of its kernels is broken.
TEST(commit_of_a_broken_kernel_says_so)
{
    struct helper_site h;
    char name[64];
    helper_site(&h, 40, 60, false);
    struct site_run *runs = arena_alloc(&h.arena, h.site.run_count * sizeof(*runs));
    memcpy(runs, h.site.runs, h.site.run_count * sizeof(*runs));
    runs[1].conclusion = CONCLUDE_BROKEN;
    runs[1].headline = "BROKEN: tiled gives wrong results";
    h.site.runs = runs;
    site_folder_write(&h, *state);
    snprintf(name, sizeof(name), "commit/%.10s.html", runs[1].head);
    assert_true(site_folder_has(*state, name, "(measure): BROKEN: tiled gives wrong results"));
    assert_true(site_folder_has(*state, name, "card banner v-broken"));
    assert_false(site_folder_has(*state, name, "Nothing"));
    snprintf(name, sizeof(name), "commit/%.10s.html", runs[2].head);
    assert_true(site_folder_has(*state, name, "its runs found nothing wrong"));
    helper_site_free(&h);
}

TEST(improvement_has_not_the_colour_of_an_alarm)
{
    struct helper_site h;
    char name[64];
    helper_site_of(&h, 40, 100, 100, false);
    struct event event = *h.site.events[0].event;
    struct event_change *changes =
        arena_copy(&h.arena, event.changes, event.count * sizeof(*changes));
    struct site_event alone = h.site.events[0];
    event.changes = changes;
    alone.event = &event;
    h.site.events = &alone;
    h.site.event_count = 1;
    snprintf(name, sizeof(name), "commit/%.10s.html", event.commits[0].id);
    for (int slower = 1; slower >= 0; slower--) {
        for (size_t i = 0; i < event.count; i++)
            changes[i].size = (struct interval){slower ? 0.03 : -0.03, -0.04, 0.04};
        site_folder_write(&h, *state);
        char *page = site_folder_read(*state, "events.html");
        char *state_cell = strstr(page, "data-label=\"state\"");
        *strstr(state_cell, "confirmed") = '\0';
        assert_non_null(strstr(state_cell, slower ? "v-slower" : "v-faster"));
        free(page);
        assert_true(site_folder_has(*state, name, slower ? "banner v-slower" : "banner v-faster"));
    }
    helper_site_free(&h);
}

static int load_two(double *times_ns, int64_t *codes, size_t run, void *context, struct error *err)
{
    const struct helper_site *h = context;
    (void)err;
    for (size_t i = 0; i < h->site.series_count; i++)
        times_ns[i] = run == 0 && i >= 2 ? NAN : i == 5 ? NAN : 1000;
    (void)codes;
    return 0;
}

// A gate of two kernels beside a plain run of all: 2 can be compared, and it says why no more.
TEST(compare_says_what_is_not_shared_and_why)
{
    struct helper_site h;
    helper_site_of(&h, 40, 20, 2, false);
    struct site_run *runs = arena_alloc(&h.arena, 2 * sizeof(*runs));
    memcpy(runs, h.site.runs, 2 * sizeof(*runs));
    runs[0].kind = RUN_GATE;
    runs[1].kind = RUN_MEASURE;
    h.site.runs = runs;
    h.site.load_times = load_two;
    site_folder_write(&h, *state);
    char *page = site_folder_read(*state, "compare.html");
    assert_non_null(strstr(page, "2 of 40 series have a time in both, 37 only in the first, 0 only "
                                 "in the second, 1 in neither."));
    assert_non_null(strstr(page, "Run 2 lacks some: a gate, a study or a bisection measures only "
                                 "machine code that differs."));
    assert_null(strstr(page, "Run 1 lacks some"));
    assert_int_equal(helper_occurrences(page, ">only in the first</td>"), 37);
    assert_int_equal(helper_occurrences(page, ">in neither</td>"), 1);
    free(page);
    helper_site_free(&h);
}

static int load_untimed(struct site_detail *out, size_t index, void *context, struct arena *arena,
                        struct error *err)
{
    static struct history_point points[2];
    static struct site_level levels[2] = {{.level = {0, 0, 0}}, {.level = {-0.1, -0.11, -0.09}}};
    struct helper_site *h = context;
    (void)index;
    (void)arena;
    (void)err;
    memcpy(points[0].commit, h->site.runs[0].head, sizeof(points[0].commit));
    snprintf(points[1].commit, sizeof(points[1].commit), "%040d", 7);
    points[0].time_ns = points[1].time_ns = NAN;
    points[0].time_s = 1760000000;
    points[1].time_s = 1770000000;
    for (size_t i = 0; i < 2; i++) {
        memcpy(levels[i].commit, points[i].commit, sizeof(levels[i].commit));
        levels[i].time_s = points[i].time_s;
    }
    *out = (struct site_detail){.history = {.points = points, .count = 2},
                                .linked = {.levels = levels, .count = 2, .total = 2}};
    return 0;
}

// The base of a gate, or what an import brought along: a click on it must not lead nowhere. And no
// chart of times below the levels has the dates.
TEST(levels_alone_have_dates_and_lead_to_pages_that_are_there)
{
    struct helper_site h;
    helper_site_of(&h, 1, 20, 4, false);
    h.site.load = load_untimed;
    site_folder_write(&h, *state);
    assert_true(site_folder_has(*state, "kernel/tma_persistent.html", "commits, oldest first"));
    assert_true(site_folder_has(*state, "kernel/tma_persistent.html", "2026-02-02"));
    assert_true(site_folder_has(*state, "kernel/tma_persistent.html", "gates alone know it"));
    assert_true(
        site_folder_shell("grep -q '\"pageless\":\\[\"0000000000\"\\]' series/*.json", *state));
    helper_site_free(&h);
}
