// SPDX-License-Identifier: Apache-2.0
//
// A chart is the same drawing in a page and as a file of its own, and such a file stands alone.
#include "model/predict/parts/pipeline.h"
#include "reports/charts/charts.h"
#include "tests/helpers/test.h"

#include <libxml/parser.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct accuracy_row three_rows[] = {
    {"x", 30, 10, NULL, 0, 0}, {"y", 10, 10, NULL, 0, 0}, {"z", 5, 10, NULL, 0, 0}};

static void draw_scurve(struct markup *m)
{
    chart_scurve(m, three_rows, 3, "<model> & rows");
}

static void draw_bars(struct markup *m)
{
    chart_bars(m, three_rows, 3, "<model>");
}

static void draw_wave(struct markup *m, const struct pipeline *p, const char *unit)
{
    struct pipeline_events e;
    struct error err;
    assert_int_equal(pipeline_simulate(&e, p, &err), 0);
    chart_wave(m, p, &e, unit);
    pipeline_events_free(&e);
}

static void draw_short_wave(struct markup *m)
{
    draw_wave(m, &(struct pipeline){3, 2, 4, 5, 2, 1, 4}, "<ns>");
}

static void draw_lines(struct markup *m)
{
    static const double x[] = {1, 2, 4}, y[] = {10, NAN, 1000}, other[] = {1, 10, 0};
    struct chart_lines c = {"lines", "chains", {.low = 1, .high = 4}, {.low = 1, .high = 1000}};
    chart_lines_begin(m, &c);
    chart_lines_add(m, &c, "here", 3, x, y, 3);
    chart_lines_add(m, &c, NULL, 3, x, other, 3);
    markup_end(m);
}

// The caller frees.
static char *drawn(void (*draw)(struct markup *m), enum markup_kind kind)
{
    struct buffer out = {0};
    struct markup *m = markup_new(kind);
    draw(m);
    markup_finish(m, &out);
    return out.bytes;
}

static size_t count_of(const char *text, const char *word)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, word)); at++)
        count++;
    return count;
}

TEST(a_file_stands_alone)
{
    static void (*const all[])(struct markup *) = {draw_scurve, draw_bars, draw_short_wave,
                                                   draw_lines};
    for (size_t i = 0; i < ARRAY_COUNT(all); i++) {
        char *file = drawn(all[i], MARKUP_XML);
        xmlDocPtr document =
            xmlReadMemory(file, (int)strlen(file), "figure", NULL, XML_PARSE_NONET);
        assert_non_null(document);
        xmlFreeDoc(document);
        assert_non_null(strstr(file, "xmlns=\"http://www.w3.org/2000/svg\""));
        assert_non_null(strstr(file, "svg .part { fill: #3b79b3; }")); // and no var(--part1)
        assert_int_equal(count_of(file, "var(--"), count_of(file, "var(--tone)"));
        assert_null(strstr(file, "nan"));
        free(file);
    }
}

// What follows the opening tag of a page's chart is what the file has after its title.
TEST(a_page_and_a_file_have_one_drawing)
{
    char *file = drawn(draw_bars, MARKUP_XML), *page = drawn(draw_bars, MARKUP_PART);
    const char *of_file = strstr(file, "<path"), *of_page = strstr(page, "<path");
    assert_int_equal(count_of(of_file, "<path"), count_of(of_page, "<path"));
    assert_int_equal(count_of(of_file, "<text"), count_of(of_page, "<text"));
    while (of_file && of_page) {
        const size_t length = strcspn(of_file, "/>");
        assert_memory_equal(of_file, of_page, length);
        of_file = strstr(of_file + 1, "<path");
        of_page = strstr(of_page + 1, "<path");
    }
    assert_true(!of_file && !of_page);
    assert_null(strstr(page, "<style")); // it has the page's
    free(file);
    free(page);
}

TEST(a_title_is_told_and_shown_without_its_markup)
{
    char *file = drawn(draw_scurve, MARKUP_XML), *page = drawn(draw_scurve, MARKUP_PART);
    assert_int_equal(count_of(file, "&lt;model&gt; &amp; rows"), 2);
    assert_int_equal(count_of(page, "&lt;model&gt; &amp; rows"), 1); // the page has captions
    free(file);
    free(page);
}

TEST(an_empty_curve_has_its_axes)
{
    struct buffer out = {0};
    struct markup *m = markup_new(MARKUP_PART);
    chart_scurve(m, NULL, 0, "none");
    chart_bars(m, NULL, 0, "none");
    markup_finish(m, &out);
    assert_int_equal(count_of(out.bytes, "</svg>"), 2);
    assert_null(strstr(out.bytes, "nan"));
    buffer_free(&out);
}

// Seed 0's figure: a bar a row from 0, the ratio 1 among the lines.
TEST(bars_rise_from_0_in_order)
{
    char *text = drawn(draw_bars, MARKUP_PART);
    assert_int_equal(count_of(text, "z\"") + count_of(text, "zM"), 3); // closed outlines
    // The plot's 194 px are a ratio of 3.
    const char *half = strstr(text, "v-32.33"), *one = strstr(text, "v-64.67");
    const char *three = strstr(text, "v-194.00");
    assert_true(half && one && three && half < one && one < three);
    static const char *const labels[] = {">0.0<", ">0.5<", ">1.0<",
                                         ">2.5<", ">3.0<", "&lt;model&gt;"};
    for (size_t i = 0; i < ARRAY_COUNT(labels); i++)
        assert_non_null(strstr(text, labels[i]));
    free(text);
}

TEST(of_many_rows_the_last_has_a_bar)
{
    struct accuracy_row *many = xcalloc(5000, sizeof(*many));
    struct buffer out = {0};
    struct markup *m = markup_new(MARKUP_PART);
    for (size_t i = 0; i < 5000; i++)
        many[i] = (struct accuracy_row){"p", 1 + (double)i, 5000, NULL, 0, 0};
    chart_bars(m, many, 5000, "many");
    markup_finish(m, &out);
    assert_int_equal(count_of(out.bytes, "z\"") + count_of(out.bytes, "zM"), 394); // one a pixel
    assert_non_null(strstr(out.bytes, "v-194.00"));
    buffer_free(&out);
    free(many);
}

TEST(a_timeline_has_a_bar_per_event_and_escapes_its_text)
{
    char *text = drawn(draw_short_wave, MARKUP_XML);
    assert_int_equal(count_of(text, "<rect"), 13);
    assert_null(strstr(text, "<ns>"));
    assert_non_null(strstr(text, "MATH waits 8"));
    assert_non_null(strstr(text, "<title>math 4: "));
    assert_non_null(strstr(text, "<title>epilogue: "));
    free(text);
}

// A wave of 6,508: ticks at whole thousands, and half a label has room beside the last.
static void draw_long_wave(struct markup *m)
{
    draw_wave(m, &(struct pipeline){1130, 1130, 1000, 988, 3, 2, 4}, "ticks");
}

TEST(a_timeline_has_round_ticks_inside_the_figure)
{
    char *text = drawn(draw_long_wave, MARKUP_PART);
    int tick = 0;
    double wide = 0, x = 0;
    assert_int_equal(sscanf(strstr(text, "viewBox="), "viewBox=\"0 0 %lf", &wide), 1);
    for (const char *at = text; (at = strstr(at, "<path class=\"grid")); at++) {
        double value = -1;
        assert_int_equal(sscanf(strstr(at, "d=\"M"), "d=\"M%lf", &x), 1);
        assert_int_equal(sscanf(strstr(at, "middle\">"), "middle\">%lf", &value), 1);
        assert_true(value == 1000 * tick++);
    }
    assert_int_equal(tick, 7);
    assert_non_null(strstr(text, ">6000 ticks</text>"));
    assert_true(x + 30 < wide);
    free(text);
}

TEST(lines_leave_out_what_is_not_above_0)
{
    char *text = drawn(draw_lines, MARKUP_PART);
    const char *here = strstr(text, "class=\"line line-3\""),
               *other = strstr(text, "class=\"line dashed line-3\"");
    assert_true(here && other);
    // Two of each three points: one step, and none behind it in the same path.
    assert_true(here[strcspn(here, "L>")] == 'L' && other[strcspn(other, "L>")] == 'L');
    assert_int_equal(strchr(here, 'L')[1 + strcspn(strchr(here, 'L') + 1, "L>")], '>');
    assert_int_equal(strchr(other, 'L')[1 + strcspn(strchr(other, 'L') + 1, "L>")], '>');
    assert_int_equal(count_of(text, ">here</text>"), 1);
    free(text);
}

// ---- what a gate's page draws of a series ----

static struct view view_of(const struct result *result, double value, double low, double high)
{
    return (struct view){.result = result,
                         .change = {value, low, high},
                         .base_ns = 100,
                         .head_ns = 110,
                         .is_environment = false};
}

// The caller frees.
static char *finished(struct markup *m)
{
    struct buffer out = {0};
    markup_finish(m, &out);
    return out.bytes;
}

TEST(a_scale_covers_changes_and_margins_and_has_ends)
{
    const struct result r = {.verdict = {.kind = VERDICT_SLOWER, .margin = 0.003}};
    const struct view views[] = {view_of(&r, 0.02, 0.01, 0.03), view_of(&r, NAN, -9, 9)};
    struct scale x = chart_change_scale(views, 2, 6, 94);
    assert_true(x.from == 6 && x.to == 94);
    assert_true(x.low < -0.003 && x.low > -0.01); // no change: no interval counts
    assert_true(x.high > 0.03 && x.high < 0.04);
    const struct view far = view_of(&r, 3, -INFINITY, INFINITY);
    x = chart_change_scale(&far, 1, 6, 94);
    assert_true(x.low > -0.6 && x.high < 1.2);
}

TEST(an_interval_beyond_the_edge_ends_in_an_arrow)
{
    const struct scale x = {-0.1, 0.1, 10, 90};
    const struct result r = {.verdict = {.kind = VERDICT_SLOWER, .margin = 0.003}};
    const struct view inside = view_of(&r, 0.05, 0.02, 0.08), beyond = view_of(&r, 0.05, 0.02, 0.3);
    struct markup *m = markup_new(MARKUP_PART);
    chart_interval(m, &inside, &x, 100);
    char *text = finished(m);
    assert_non_null(strstr(text, "M58.0 11.0L82.0 11.0"));
    assert_non_null(strstr(text, "band"));
    assert_null(strstr(text, "l-4.0 -3v6z"));
    assert_string_equal(chart_class(&inside), "v-slower");
    assert_non_null(strstr(text, "interval v-slower"));
    free(text);
    m = markup_new(MARKUP_PART);
    chart_interval(m, &beyond, &x, 100);
    text = finished(m);
    assert_non_null(strstr(text, "M58.0 11.0L90.0 11.0"));
    assert_non_null(strstr(text, "M90.0 11.0l-4.0 -3v6z"));
    free(text);
}

TEST(the_axis_of_intervals_is_in_percent)
{
    const struct scale x = {-0.1, 0.1, 10, 90};
    struct markup *m = markup_new(MARKUP_PART);
    chart_interval_axis(m, &x, 100);
    char *text = finished(m);
    assert_non_null(strstr(text, ">−10</text>"));
    assert_non_null(strstr(text, ">0</text>"));
    assert_non_null(strstr(text, ">+10 %</text>"));
    assert_int_equal(count_of(text, "%"), 1);
    free(text);
}

// Two processes of three pairs each, with a stray in each side: 0 ns, and one that is excluded.
static struct measurement six_samples(double time_ns, struct sample samples[7])
{
    for (uint32_t i = 0; i < 7; i++)
        samples[i] = (struct sample){
            .time_ns = time_ns + i, .pair = i % 3, .process = (uint16_t)(i / 3), .launches = 1};
    samples[6].excluded = true;
    return (struct measurement){.samples = samples, .count = 7, .detail = "", .regime = ""};
}

TEST(excluded_samples_are_not_drawn)
{
    struct sample base[7], head[7];
    const struct result r = {.base = six_samples(1000, base), .head = six_samples(1100, head)};
    const struct view view = view_of(&r, 0.1, 0.09, 0.11);
    struct markup *m = markup_new(MARKUP_PART);
    chart_samples(m, &view);
    char *text = finished(m);
    const char *dots = strstr(text, "dots base");
    assert_non_null(dots);
    size_t drawn_dots = 0;
    for (const char *at = dots; *at != '>' && at[0]; at++)
        drawn_dots += strncmp(at, "h0", 2) == 0;
    assert_int_equal(drawn_dots, 6);
    assert_non_null(strstr(text, "curve head"));
    assert_non_null(strstr(text, "µs</text>")); // the axis suits a microsecond
    free(text);
}

TEST(a_line_stands_where_a_process_of_pairs_begins)
{
    struct sample base[7], head[7];
    const struct result r = {.base = six_samples(1000, base),
                             .head = six_samples(1100, head),
                             .verdict = {.margin = 0.003}};
    const struct view view = view_of(&r, 0.1, 0.09, 0.11);
    struct markup *m = markup_new(MARKUP_PART);
    chart_pairs(m, &view);
    char *text = finished(m);
    assert_int_equal(count_of(text, "class=\"border\""), 1);
    const char *dots = strstr(text, "dots head");
    assert_non_null(dots);
    size_t drawn_dots = 0;
    for (const char *at = dots; *at != '>' && at[0]; at++)
        drawn_dots += strncmp(at, "h0", 2) == 0;
    assert_true(drawn_dots >= 5 && drawn_dots <= 6); // the farthest may lie beyond the axis
    free(text);
}

TEST(first_stages_of_a_pipeline_have_their_end_if_it_is_near)
{
    const struct pipeline p = {3, 2, 4, 5, 2, 1, 4};
    struct pipeline_events e;
    struct arena arena = {0};
    struct error err;
    size_t count;
    assert_int_equal(pipeline_simulate(&e, &p, &err), 0);
    const size_t stages = (size_t)e.stages;
    struct chart_span *spans = chart_pipeline(&count, &p, &e, 2, &arena);
    assert_int_equal(count, 6);
    assert_string_equal(spans[5].lane, "math");
    assert_true(spans[5].start == e.start_math[1]);
    spans = chart_pipeline(&count, &p, &e, stages + 1, &arena);
    assert_int_equal(count, 3 * stages + 1);
    assert_string_equal(spans[count - 1].lane, "epilogue");
    pipeline_events_free(&e);
    arena_free(&arena);
}

// A lane keeps its row, and those after the 24th are left out.
TEST(a_timeline_has_a_row_for_each_of_its_first_lanes)
{
    static char names[30][8];
    struct chart_span spans[60];
    for (size_t i = 0; i < ARRAY_COUNT(spans); i++) {
        snprintf(names[i % 30], sizeof(names[0]), "lane %zu", i % 30);
        spans[i] = (struct chart_span){names[i % 30], "", (double)i, (double)i + 1};
    }
    const struct chart_timeline timeline = {"lanes", NULL, spans, ARRAY_COUNT(spans)};
    struct markup *m = markup_new(MARKUP_PART);
    chart_timeline(m, &timeline);
    char *text = finished(m);
    assert_int_equal(count_of(text, "<title>"), 48);
    assert_int_equal(count_of(text, ">lane 23<"), 1);
    assert_null(strstr(text, ">lane 24<"));
    assert_non_null(strstr(text, " ns</text>"));
    free(text);
}
