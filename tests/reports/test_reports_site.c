// SPDX-License-Identifier: Apache-2.0
//
// The site as files: what is written, what is left alone, and what hostile names cannot do.
#include "tests/helpers/helper_json.h"
#include "tests/helpers/helper_run.h"
#include "tests/helpers/helper_site_folder.h"

#include "reports/charts/charts.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

AROUND_EACH(site_folder_set_up, site_folder_tear_down);

TEST(site_has_a_page_for_everything)
{
    struct helper_site h;
    helper_site(&h, 40, 200, false);
    struct site_written written = site_folder_write(&h, *state);
    // 14 kernels and 2 devices, 6 pages, the lists of runs, of pairs and of series, one file of
    // times and the data of 40 series, each with its JSON; 30 runs and their commits, and what
    // these were made of; the style and the feed.
    assert_int_equal(written.pages, 2 * (14 + 2 + 6 + 4 + 40) + 30 + 30 + 1 + 2);
    assert_int_equal(written.loaded, 40);
    char *index = site_folder_read(*state, "index.html");
    assert_non_null(strstr(index, "1 of 40 series is broken, 5 slower"));
    assert_non_null(strstr(index, "kernel/tma_persistent.html#s-"));
    free(index);
    helper_site_free(&h);
}

TEST(a_site_of_no_repository_has_a_title)
{
    struct helper_site h;
    helper_site(&h, 1, 2, false);
    h.site.repository = "";
    site_folder_write(&h, *state);
    char *index = site_folder_read(*state, "index.html");
    assert_non_null(strstr(index, "<title>plumb</title>"));
    free(index);
    helper_site_free(&h);
}

TEST(site_made_again_writes_nothing)
{
    struct helper_site h;
    helper_site(&h, 40, 200, false);
    size_t pages = site_folder_write(&h, *state).pages;
    struct site_written again = site_folder_write(&h, *state);
    assert_int_equal(again.pages, 0);
    assert_int_equal(again.loaded, 0);
    assert_int_equal(again.unchanged, pages);
    helper_site_free(&h);
}

TEST(new_points_of_one_series_touch_its_kernel_only)
{
    struct helper_site h;
    helper_site(&h, 40, 200, false);
    site_folder_write(&h, *state);
    struct site_series *series = arena_alloc(&h.arena, 40 * sizeof(*series));
    memcpy(series, h.site.series, 40 * sizeof(*series));
    series[7].revision++;
    h.site.series = series;
    struct site_written written = site_folder_write(&h, *state);
    assert_int_equal(written.loaded, 3); // the kernel's three series
    assert_int_equal(written.pages, 1);  // its JSON has the new stamp, the page is the same
    series[7].time_ns *= 1.01;
    written = site_folder_write(&h, *state);
    assert_int_equal(written.loaded, 3);
    assert_int_equal(written.pages, 6); // kernel, device and overview, with their JSON
    helper_site_free(&h);
}

TEST(damaged_page_is_made_again)
{
    struct helper_site h;
    helper_site(&h, 12, 50, false);
    site_folder_write(&h, *state);
    assert_true(site_folder_shell("rm kernel/tiled.html && echo x > index.html", *state));
    struct site_written written = site_folder_write(&h, *state);
    assert_int_equal(written.pages, 2);
    assert_int_equal(written.loaded, 3);
    helper_site_free(&h);
}

TEST(hostile_names_stay_inside_and_apart)
{
    struct helper_site h;
    helper_site(&h, 40, 60, true);
    char *inside = xprintf("%s/inside", (char *)*state);
    site_folder_write(&h, inside);
    assert_true(site_folder_shell("test $(ls -A | wc -l) -eq 1", *state));
    assert_true(site_folder_shell("! ls kernel | grep -v '^[a-z0-9_-]*\\.\\(html\\|json\\|js\\)$'",
                                  inside));
    assert_true(site_folder_shell("test $(ls kernel/*.html | wc -l) -eq 6", inside));
    assert_true(site_folder_shell("! grep -l '<script>alert' *.html */*.html", inside));
    assert_true(site_folder_shell(
        "! grep -lP '[\\x00-\\x08\\x0b-\\x1f\\x7f]' *.xml *.html */*.html", inside));
    free(inside);
    helper_site_free(&h);
}

// Names that differ only in what a file name cannot hold still get a file each.
TEST(kernels_never_share_a_page)
{
    static const char *const names[] = {"tiled", "Tiled", "TILED", "til/ed", "til-ed", "../tiled",
                                        "",      ".",     "..",    "/",      "tiled/"};
    struct helper_site h;
    helper_site(&h, ARRAY_COUNT(names), 10, false);
    struct site_series *series = arena_alloc(&h.arena, ARRAY_COUNT(names) * sizeof(*series));
    memcpy(series, h.site.series, ARRAY_COUNT(names) * sizeof(*series));
    for (size_t i = 0; i < ARRAY_COUNT(names); i++)
        series[i].kernel = names[i];
    h.site.series = series;
    site_folder_write(&h, *state);
    assert_true(site_folder_shell("test $(ls kernel/*.html | wc -l) -eq 11", *state));
    assert_true(site_folder_shell("test $(ls series/*.js | wc -l) -eq 11", *state));
    helper_site_free(&h);
}

TEST(json_beside_every_page_is_valid)
{
    static const char *const names[] = {
        "index.json",         "accuracy.json",     "runs.json",
        "compare.json",       "compare/runs.json", "compare/0.json",
        "compare/pairs.json", "series.json",       "kernel/tiled.json"};
    for (int hostile = 0; hostile < 2; hostile++) {
        struct helper_site h;
        helper_site(&h, 40, 60, hostile);
        site_folder_write(&h, *state);
        for (size_t i = 0; i < ARRAY_COUNT(names) - (size_t)hostile; i++) {
            char *text = site_folder_read(*state, names[i]);
            assert_true(helper_json_is_valid(text));
            free(text);
        }
        helper_site_free(&h);
    }
}

// Of a kernel with many series the worst are on its page whole; every other has a page of its own,
// where all is drawn, and is no longer than what can be read at a glance.
TEST(many_series_of_a_kernel_have_pages_of_their_own)
{
    struct helper_site h;
    helper_site(&h, 300, 700, false); // 15 of each kernel
    site_folder_write(&h, *state);
    char *page = site_folder_read(*state, "kernel/tiled.html");
    size_t whole = 0, links = 0, parts = 0;
    for (const char *c = page; (c = strstr(c, "<details class=\"series")); c++) {
        const char *end = strstr(c, "</details>"), *drawn = strstr(c, "<svg class=\"chart wide"),
                   *link = strstr(c, "href=\"../series/");
        whole += drawn && drawn < end;
        parts++;
        assert_true((drawn && drawn < end) || end - c < 4000);
        if (!link || link > end)
            continue;
        char *name = xprintf("%.26s", link + strlen("href=\"../"));
        char *own = site_folder_read(*state, name);
        assert_non_null(strstr(own, "<svg class=\"chart wide"));
        assert_non_null(strstr(own, "What the predicted time is made of"));
        assert_non_null(strstr(own, "kernel/tiled.html#s-"));
        links++;
        free(own);
        free(name);
    }
    assert_int_equal(parts, 15);
    assert_int_equal(whole, 3);
    assert_int_equal(links, 12);
    free(page);
    helper_site_free(&h);
}

// ---- runs ---------------------------------------------------------------------------------------

// The only plain run is the oldest: nothing is before it, but gates are compared too.
TEST(gates_after_one_plain_run_are_compared)
{
    struct helper_site h;
    helper_site_of(&h, 3, 20, 8, false);
    struct site_run *runs = arena_alloc(&h.arena, h.site.run_count * sizeof(*runs));
    memcpy(runs, h.site.runs, h.site.run_count * sizeof(*runs));
    for (size_t i = 0; i + 1 < h.site.run_count; i++)
        runs[i].kind = RUN_GATE;
    h.site.runs = runs;
    site_folder_write(&h, *state);
    char *page = site_folder_read(*state, "compare.html");
    assert_null(strstr(page, "Two finished runs are needed"));
    assert_non_null(strstr(page, " against "));
    free(page);
    helper_site_free(&h);
}

// A night adds a run: the newest file of times is made again, from its runs alone. A run whose
// revision differs (another store's) takes its file with it; a file that is gone is made again.
TEST(new_runs_touch_their_file_only)
{
    struct helper_site h;
    helper_site_of(&h, 12, 20, 200, false);
    // One was interrupted; the first of a file is held against one of the file before.
    const size_t first = site_folder_write(&h, *state).loaded_runs;
    assert_in_range(first, 199, 199 + 2 * 3);
    assert_true(site_folder_shell("test $(ls compare/*.js | wc -l) -eq 6",
                                  *state)); // 0 .. 3, the list and the pairs
    assert_int_equal(site_folder_write(&h, *state).loaded_runs, 0);
    struct site_run *runs = arena_alloc(&h.arena, 201 * sizeof(*runs));
    memcpy(runs + 1, h.site.runs, 200 * sizeof(*runs));
    runs[0] = runs[1];
    runs[0].id = 201;
    h.site.runs = runs;
    h.site.run_count = 201;
    struct site_written night = site_folder_write(&h, *state);
    assert_in_range(night.loaded_runs, 201 - 192 - 1 + 1, 201 - 192 - 1 + 1 + 2);
    runs[150].revision++; // id 51
    assert_in_range(site_folder_write(&h, *state).loaded_runs, 63, 63 + 2);
    assert_true(site_folder_shell("rm compare/1.js", *state));
    assert_in_range(site_folder_write(&h, *state).loaded_runs, 64, 64 + 2);
    assert_int_equal(site_folder_write(&h, *state).pages, 0);
    helper_site_free(&h);
}

TEST(times_of_a_run_are_those_of_the_store)
{
    struct helper_site h;
    struct error err;
    double times[12];
    helper_site_of(&h, 12, 20, 70, false);
    site_folder_write(&h, *state);
    assert_int_equal(h.site.load_times(times, NULL, 65, &h, &err), 0); // id 5
    char *json = site_folder_read(*state, "compare/0.json"),
         *js = site_folder_read(*state, "compare/0.js");
    char *first = strstr(json, "{\"id\":5,\"times_ns\":[");
    assert_non_null(first);
    assert_true(fabs(strtod(first + strlen("{\"id\":5,\"times_ns\":["), NULL) / times[0] - 1) <
                1e-5);
    assert_true(strncmp(js, "plumbTimes({", 12) == 0);
    assert_memory_equal(js + 11, json, strlen(json));
    free(json);
    free(js);
    helper_site_free(&h);
}

// ---- declared changes ---------------------------------------------------------------------------

TEST(declared_changes_are_named_on_the_kernels_page)
{
    struct helper_site h;
    helper_site(&h, 40, 60, false);
    site_folder_write(&h, *state);
    char *page = site_folder_read(*state, "kernel/tma_persistent.html"); // series 0
    assert_non_null(strstr(page, "driver 570.86 -&gt; 580.159.04 from"));
    free(page);
    assert_true(site_folder_shell("grep -q '\"text\":\"driver\",\"kind\":\"declared\"' series/*.js",
                                  *state));
    assert_true(site_folder_shell(
        "grep -q 'GPU-6f1d2c9a from.*: times moved by +1.21 % .+0.90, +1.51. % with "
        "it' kernel/*.html",
        *state));
    assert_true(site_folder_shell(
        "grep -q '\"what\":\"device NVIDIA H200 GPU-0 -.u003e GPU-6f1d2c9a\",\"change\":"
        "0.012' series/*.json",
        *state));
    helper_site_free(&h);
}

// ---- edges --------------------------------------------------------------------------------------

TEST(empty_site_is_a_site)
{
    struct helper_site h;
    helper_site(&h, 0, 0, false);
    site_folder_write(&h, *state);
    char *index = site_folder_read(*state, "index.html");
    assert_non_null(strstr(index, "Nothing has been measured yet"));
    free(index);
    char *accuracy = site_folder_read(*state, "accuracy.html");
    assert_null(strstr(accuracy, "Trends"));
    free(accuracy);
    char *runs = site_folder_read(*state, "runs.html");
    assert_non_null(strstr(runs, "`plumb run` and `plumb gate` make them"));
    free(runs);
    helper_site_free(&h);
}

// An event may be undone by another: then the series is where it was, and the event is there still.
TEST(open_events_are_shown_beside_series_that_are_back)
{
    struct helper_site h;
    helper_site(&h, 40, 60, false);
    struct site_series *series = xcalloc(h.site.series_count, sizeof(*series));
    memcpy(series, h.site.series, h.site.series_count * sizeof(*series));
    h.site.series = series;
    for (size_t i = 0; i < h.site.series_count; i++)
        series[i].kind = VERDICT_SAME;
    site_folder_write(&h, *state);
    char *index = site_folder_read(*state, "index.html");
    assert_non_null(strstr(index, "Every series is where it was accepted."));
    assert_non_null(strstr(index, "id=\"e-"));
    free(index);
    free(series);
    helper_site_free(&h);
}

TEST(failing_store_leaves_the_old_page)
{
    struct helper_site h;
    struct error err;
    helper_site(&h, 12, 50, false);
    site_folder_write(&h, *state);
    assert_true(site_folder_shell(
        "cat kernel/*.html | cksum > ../before.$$ && mv ../before.$$ before", *state));
    struct site_series *series = arena_alloc(&h.arena, 12 * sizeof(*series));
    memcpy(series, h.site.series, 12 * sizeof(*series));
    for (size_t i = 0; i < 12; i++)
        series[i].revision++;
    h.site.series = series;
    h.loads = 0;
    h.fail_at = 2;
    assert_int_equal(site_write(&h.site, *state, NULL, &err), -1);
    assert_non_null(strstr(err.text, "cannot be read"));
    assert_true(site_folder_shell("cat kernel/*.html | cksum | cmp - before", *state));
    helper_site_free(&h);
}

TEST(unwritable_folder_is_named)
{
    struct helper_site h;
    struct error err;
    helper_site(&h, 3, 10, false);
    assert_int_equal(site_write(&h.site, "/proc/nonexistent/site", NULL, &err), -1);
    assert_non_null(strstr(err.text, "/proc/nonexistent/site"));
    helper_site_free(&h);
}

// ---- thinning -----------------------------------------------------------------------------------

TEST(thinning_keeps_extremes_order_and_the_newest)
{
    static const size_t counts[] = {1, 2, 5, 599, 600, 601, 5000, 10000};
    for (size_t c = 0; c < ARRAY_COUNT(counts); c++) {
        struct history h = {.count = counts[c]};
        h.points = xcalloc(h.count, sizeof(*h.points));
        for (size_t i = 0; i < h.count; i++)
            h.points[i].time_ns = 1000 + (double)(i * 7919 % 101);
        size_t spike = h.count / 3, dip = h.count * 2 / 3;
        h.points[spike].time_ns = 5000;
        h.points[dip].time_ns = dip == spike ? 5000 : 1;
        size_t count, *shown = series_thin(&h, SERIES_CHART_POINTS, &count);
        bool has_spike = false, has_dip = false;
        assert_true(count >= 1 && count <= SERIES_CHART_POINTS);
        for (size_t i = 0; i < count; i++) {
            assert_true(i == 0 || shown[i] > shown[i - 1]);
            has_spike = has_spike || shown[i] == spike;
            has_dip = has_dip || shown[i] == dip;
        }
        assert_true(has_spike && has_dip && shown[count - 1] == h.count - 1);
        free(shown);
        free(h.points);
    }
}

TEST(chart_survives_gaps_and_nonsense)
{
    struct history_point points[] = {{"a", 3, NAN, 0, 0, false},
                                     {"b", 2, -5, 0, NAN, false},
                                     {"c", 1, INFINITY, 0, -1, false},
                                     {"d", -9, 0, 0, INFINITY, false}};
    struct history h = {.points = points, .count = ARRAY_COUNT(points)};
    struct chart_mark mark = {99, "beyond the end", MARK_SLOWER};
    struct series_chart chart = {.history = &h, .marks = &mark, .mark_count = 1};
    struct buffer out = {0};
    struct markup *m = markup_new(MARKUP_HTML);
    series_chart(m, &chart);
    markup_finish(m, &out);
    assert_null(strstr(out.bytes, "nan"));
    assert_null(strstr(out.bytes, "inf"));
    buffer_free(&out);
}

// Many commits have one second, as a rebase leaves them; points then have times that were moved
// apart, and a commit that was measured again has two.
TEST(a_commit_is_placed_at_its_first_point_whatever_its_time)
{
    struct history_point points[] = {{"a", 100, 1, 0, 0, false},
                                     {"b", 101, 1, 0, 0, false},
                                     {"c", 102, 1, 0, 0, false},
                                     {"c", 103, 1, 0, 0, false}};
    struct history h = {.points = points, .count = ARRAY_COUNT(points)};
    const struct series_chart chart = {.history = &h};
    assert_int_equal(series_place(&chart, "a", 100), 0);
    assert_int_equal(series_place(&chart, "b", 100), 1);
    assert_int_equal(series_place(&chart, "c", 100), 2);
    assert_int_equal(series_place(&chart, "not shown", 101), 1);
}
