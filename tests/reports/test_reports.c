// SPDX-License-Identifier: Apache-2.0
//
// What every report says, and that hostile text stays text in each of them.
#include "reports/view.h"
#include "tests/helpers/helper_json.h"
#include "tests/helpers/helper_run.h"
#include "tests/helpers/test.h"

#include <stdlib.h>
#include <string.h>

static size_t count_of(const char *text, const char *wanted)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, wanted)); at += strlen(wanted))
        count++;
    return count;
}

TEST(reports_are_pure)
{
    for (size_t i = 0; i < report_count; i++) {
        struct buffer a = helper_report(reports[i]->name, helper_run());
        struct buffer b = helper_report(reports[i]->name, helper_run());
        assert_int_equal(a.length, b.length);
        assert_memory_equal(a.bytes, b.bytes, a.length);
        buffer_free(&a);
        buffer_free(&b);
    }
}

TEST(reports_need_no_context_and_no_results)
{
    struct run runs[] = {helper_run(), helper_run_empty(), {0}};
    for (size_t i = 0; i < report_count; i++) {
        for (size_t r = 0; r < ARRAY_COUNT(runs); r++) {
            struct buffer out = {0};
            reports[i]->write(&out, &runs[r], NULL);
            buffer_free(&out);
        }
    }
    run_free(&runs[0]);
    run_free(&runs[1]);
}

// Every report holds only what a cleaned text may hold, whatever came in.
TEST(reports_hold_no_control_bytes)
{
    for (size_t i = 0; i < report_count; i++) {
        struct buffer out = helper_report(reports[i]->name, helper_run_hostile());
        for (size_t k = 0; k < out.length; k++) {
            unsigned char c = (unsigned char)out.bytes[k];
            assert_true(c >= 0x20 || c == '\n' || c == '\t' ||
                        (c == '\r' && strstr(reports[i]->file, ".csv")));
            assert_true(c != 0x7f && c != 0xff && c != 0xc0);
        }
        assert_null(strstr(out.bytes, "\xe2\x80\xae"));
        buffer_free(&out);
    }
}

TEST(markdown_keeps_hostile_text_in_its_cell)
{
    struct buffer out = helper_report("markdown", helper_run_hostile());
    assert_null(strstr(out.bytes, "<script"));
    assert_null(strstr(out.bytes, "@someone"));
    assert_null(strstr(out.bytes, "](javascript"));
    assert_null(strstr(out.bytes, "![i]"));
    assert_null(strstr(out.bytes, "\n::error"));
    assert_null(strstr(out.bytes, "\n# heading"));
    for (char *line = strtok(out.bytes, "\n"); line; line = strtok(NULL, "\n")) {
        const size_t bars = line[0] == '|' ? count_of(line, "|") - count_of(line, "\\|") : 0;
        if (bars && bars != 3 && bars != 6 && bars != 7 &&
            bars != 8) // facts, events, metrics, kernels; series
            assert_int_equal(bars, 11);
    }
    buffer_free(&out);
}

TEST(markdown_tells_the_verdict_first)
{
    const struct run run = helper_run();
    struct buffer out = helper_report("markdown", run);
    size_t devices = 0;
    assert_ptr_equal(strstr(out.bytes, "## ❌ plumb: broken"), out.bytes);
    assert_non_null(
        strstr(out.bytes, "\n2 broken · 4 slower · 1 undecided · 3 faster · 1 new · 7 same\n"));
    assert_true(strstr(out.bytes, "✕ broken") < strstr(out.bytes, "▲ slower"));
    assert_true(strstr(out.bytes, "▼ faster") < strstr(out.bytes, "<details><summary>7 series"));
    for (const char *at = out.bytes; (at = strstr(at, "\n| device | ")) != NULL; at++)
        devices++;
    assert_int_equal(devices, run.device_count);
    buffer_free(&out);
}

// Which of two texts stands first in the page.
static void comes_before(const char *page, const char *first, const char *second)
{
    const char *a = strstr(page, first), *b = strstr(page, second);
    if (!a || !b || a > b)
        fail_msg("%s does not stand before %s", first, second);
}

TEST(what_is_worse_beside_time_stands_above_what_is_the_same)
{
    struct run run = helper_run();
    struct metric_result metrics[] = {
        {"size", "bytes", "first.so", "", "B", 10, 10, 0.1, 1, .kind = VERDICT_SAME},
        {"size", "bytes", "second.so", "", "B", 10, 20, 0.1, 1, .kind = VERDICT_SLOWER},
        {"size", "bytes", "third.so", "", "B", 10, 10, 0.1, 1, .kind = VERDICT_SAME}};
    for (size_t i = 0; i < ARRAY_COUNT(metrics); i++)
        metrics[i].sentence = "";
    run.metrics = metrics;
    run.metric_count = ARRAY_COUNT(metrics);
    struct buffer out = helper_report("html", run);
    comes_before(out.bytes, "second.so", "first.so");
    comes_before(out.bytes, "first.so", "third.so");
    buffer_free(&out);
}

// The text of the first cell of that label behind `from`.
static void cell_says(const char *from, const char *label, const char *says)
{
    char *wanted = xprintf("data-label=\"%s\"", label);
    const char *at = strstr(from, wanted), *end = at ? strstr(at, "</td>") : NULL;
    if (!end || !memmem(at, (size_t)(end - at), says, strlen(says)))
        fail_msg("no %s in %.300s", says, at ? at : wanted);
    free(wanted);
}

TEST(what_has_no_time_says_why_in_place_of_how_much)
{
    struct run run = helper_run();
    size_t broken = 0;
    while (run.results[broken].verdict.kind != VERDICT_BROKEN)
        broken++;
    run.results[0] = run.results[broken];
    run.results[0].head.state = MEASURED_TIMEOUT;
    run.count = 1;
    struct buffer out = helper_report("html", run);
    cell_says(out.bytes, "how much", ">timeout");
    buffer_free(&out);
}

TEST(each_figure_of_a_study_stands_in_its_row)
{
    static struct study_result study = {.kind = STUDY_SLOWER,
                                        .kernel = "studied",
                                        .gates = 41,
                                        .slower = 32,
                                        .faster = 3,
                                        .same = 2,
                                        .undecided = 1,
                                        .broken = 4,
                                        .time_ns = 5000,
                                        .log_ratio = 0.02,
                                        .pair_sd = 0.03,
                                        .detectable = 0.04,
                                        .gpu_s = 12.34};
    static const char *const cells[][2] = {{"gates", "41"}, {"slower", "32"},   {"faster", "3"},
                                           {"same", "2"},   {"broken", "4"},    {"undecided", "1"},
                                           {"base", "5"},   {"GPU s", ">12.34"}};
    struct run run = helper_run();
    run.studies = &study;
    run.study_count = 1;
    struct buffer out = helper_report("html", run);
    const char *row = strstr(out.bytes, "What the study found");
    assert_non_null(row);
    for (size_t i = 0; i < ARRAY_COUNT(cells); i++)
        cell_says(row, cells[i][0], cells[i][1]);
    buffer_free(&out);
}

// What 95 of 100 lie within, wherever a prediction is: in words as a factor.
TEST(reports_say_the_band_of_a_prediction)
{
    static const struct {
        const char *report, *says;
    } wanted[] = {{"csv", ",band,band_95,bias_rows,"},
                  {"json", "\"band\":0.08,\"bound\":\"compute\",\"band_95\":0.18,\"bias_rows\":31"},
                  {"html", "of which 95 of 100 lie within 0.835 to 1.2"},
                  {"html", ", with a bias fitted to 31 measured times"},
                  {"junit", ", with a bias fitted to 31 measured times"},
                  {"junit", "of which 95 of 100 lie within 0.835 to 1.2"}};
    for (size_t i = 0; i < ARRAY_COUNT(wanted); i++) {
        struct buffer out = helper_report(wanted[i].report, helper_run());
        if (!strstr(out.bytes, wanted[i].says))
            fail_msg("%s: no '%s'", wanted[i].report, wanted[i].says);
        buffer_free(&out);
    }
}

// Mean and 95th percentile stand beside the typical ratio wherever a series does.
TEST(every_report_says_what_slow_launches_do)
{
    static const struct {
        const char *report, *says;
    } wanted[] = {{"markdown", " +12.5, +50.0 % |"},
                  {"comment", " +12.5, +50.0 % |"},
                  {"csv", ",0.125,0.5\r\n"},
                  {"json", "\"mean_change\":0.125,\"p95_change\":0.5"},
                  {"html", "mean +12.50 %, 95th percentile +50.00 %"},
                  {"junit", "mean +12.50 %, 95th percentile +50.00 %"}};
    struct sample base[16], head[16];
    struct run run = helper_run();
    struct result *r = &run.results[0];
    for (size_t i = 0; i < ARRAY_COUNT(base); i++) {
        base[i] = head[i] = (struct sample){.time_ns = 1024, .launches = 1, .pair = (uint32_t)i};
        if (i % 4 == 0)
            head[i].time_ns = 1536;
    }
    run.count = 1;
    r->verdict = (struct verdict){.kind = VERDICT_SLOWER, .pairs = 16, .sentence = "slower"};
    r->base = (struct measurement){.state = MEASURED_OK, .samples = base, .count = 16};
    r->head = (struct measurement){.state = MEASURED_OK, .samples = head, .count = 16};
    for (size_t i = 0; i < ARRAY_COUNT(wanted); i++) {
        struct buffer out = {0};
        report_find(wanted[i].report)->write(&out, &run, NULL);
        if (!strstr(out.bytes, wanted[i].says))
            fail_msg("%s: no '%s'", wanted[i].report, wanted[i].says);
        buffer_free(&out);
    }
    run_free(&run);
}

// Both begin with a line a kernel, then say what to type, and link what was compared.
TEST(summary_and_comment_have_a_line_a_kernel_and_what_to_type)
{
    static const char *const names[] = {"markdown", "comment"};
    struct run run = helper_run();
    const struct report_context context = {.commit_url = "https://example.org/o/r/commit/%s"};
    char *range = xprintf("](https://example.org/o/r/compare/%s...%s)", run.base.id, run.head.id);
    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        struct buffer out = {0};
        report_find(names[i])->write(&out, &run, &context);
        const char *next = strstr(out.bytes, "Repeat, find or accept it");
        assert_non_null(next);
        assert_non_null(strstr(next, "<code>plumb gate --base "));
        assert_non_null(strstr(next, "<code>plumb bisect --good "));
        assert_non_null(strstr(next, "<code>plumb accept -m REASON "));
        assert_non_null(strstr(out.bytes, range));
        const char *table =
            strstr(out.bytes, "| verdict | kernel | problem | timed | change | mean, p95 | |");
        assert_true(table && table < next);
        // No kernel has two lines of one verdict.
        for (const char *row = strstr(table, "\n| ▲ slower | "); row && row < next;) {
            const size_t length = strcspn(row + strlen("\n| ▲ slower | "), "|");
            const char *again = strstr(row + 1, "\n| ▲ slower | ");
            if (again && again < next)
                assert_true(strncmp(row, again, strlen("\n| ▲ slower | ") + length) != 0);
            row = again;
        }
        buffer_free(&out);
    }
    free(range);
    run_free(&run);
}

TEST(every_report_for_people_says_what_does_not_build)
{
    static const struct {
        const char *report, *says;
    } wanted[] = {
        {"markdown", "| kernels/gemm,1.cu:34 | error: identifier"},
        {"markdown", "commit b07d4e5a91 does not build: exit status 2"},
        {"markdown", "log: /cache/0123/log"},
        {"annotations",
         "::error file=kernels/gemm%2C1.cu,line=34,title=plumb: does not build::error"},
        {"annotations", "::warning title=plumb::base 3f1c09ab77 does not build"},
        {"html", "kernels/gemm,1.cu:34"},
        {"html", "log: /cache/0123/log"},
        {"html", "commit b07d4e5a91 does not build: exit status 2"},
        {"json", "\"line\":34"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(wanted); i++) {
        struct buffer out = helper_report(wanted[i].report, helper_run_unbuilt());
        if (!strstr(out.bytes, wanted[i].says))
            fail_msg("%s does not say %s:\n%s", wanted[i].report, wanted[i].says, out.bytes);
        buffer_free(&out);
    }
}

// A place outside the repository is no place in the change.
TEST(annotations_name_only_files_of_the_repository)
{
    struct buffer out = helper_report("annotations", helper_run_unbuilt());
    assert_int_equal(count_of(out.bytes, "file="), 1);
    assert_int_equal(count_of(out.bytes, "::error "), 1);
    buffer_free(&out);
}

TEST(markdown_fits_a_comment)
{
    struct buffer out = helper_report("markdown", helper_run_large(3000));
    assert_true(out.length < 65536);
    assert_non_null(strstr(out.bytes, "more are not shown here"));
    buffer_free(&out);
}

TEST(annotations_are_one_command_a_line)
{
    struct buffer out = helper_report("annotations", helper_run_hostile());
    for (char *line = strtok(out.bytes, "\n"); line; line = strtok(NULL, "\n")) {
        assert_true(strncmp(line, "::error ", 8) == 0 || strncmp(line, "::warning ", 10) == 0 ||
                    strncmp(line, "::notice ", 9) == 0);
        for (const char *at = line; (at = strchr(at, '%')); at++)
            assert_true(strncmp(at, "%25", 3) == 0 || strncmp(at, "%0A", 3) == 0 ||
                        strncmp(at, "%3A", 3) == 0 || strncmp(at, "%2C", 3) == 0);
    }
    buffer_free(&out);
}

TEST(annotations_do_not_fail_for_the_environment)
{
    struct buffer out = helper_report("annotations", helper_run());
    assert_int_equal(count_of(out.bytes, "::error "), 5);
    assert_int_equal(count_of(out.bytes, "::warning "), 2);
    assert_non_null(strstr(out.bytes, "::warning title=slower%3A host_simd"));
    buffer_free(&out);
    out = helper_report("annotations", helper_run_large(900));
    assert_int_equal(count_of(out.bytes, "::error "), 10);
    assert_non_null(strstr(out.bytes, "more of level error"));
    buffer_free(&out);
}

// What fails a gate stands in each report, and what is left out is counted.
TEST(mixes_stand_in_every_report_that_tells_of_verdicts)
{
    static const char *const names[] = {"annotations", "comment", "markdown",
                                        "junit",       "json",    "html"};
    struct mix_result mixes[25];
    for (size_t i = 0; i < ARRAY_COUNT(mixes); i++)
        mixes[i] = (struct mix_result){.name = "serving",
                                       .kernel = "gemm",
                                       .regime = REGIME_STREAM,
                                       .kind = i ? VERDICT_UNDECIDED : VERDICT_SLOWER,
                                       .margin = 0.01,
                                       .sentence = "serving by gemm in a stream: +3 %"};
    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        struct run run = helper_run();
        run.mixes = mixes;
        run.mix_count = ARRAY_COUNT(mixes);
        struct buffer out = helper_report(names[i], run);
        if (!strstr(out.bytes, "serving") || !strstr(out.bytes, "stream"))
            fail_msg("%s has no mix", names[i]);
        if (i == 0) {
            assert_non_null(strstr(out.bytes, "::error title=serving slower::serving by gemm in a "
                                              "stream: +3 %25\n::warning title=serving undec"));
            assert_non_null(strstr(out.bytes, "15 more mixes in the report"));
        } else if (i < 3) {
            assert_non_null(strstr(out.bytes, "5 more mixes"));
        }
        buffer_free(&out);
    }
}

// A reader of RFC 4180: every row has the header's number of fields.
TEST(csv_rows_have_all_fields)
{
    struct buffer out = helper_report("csv", helper_run_hostile());
    size_t fields = 1, rows = 0, expected = 0;
    bool quoted = false;
    for (size_t i = 0; i < out.length; i++) {
        char c = out.bytes[i];
        if (c == '"')
            quoted = !quoted;
        if (quoted)
            continue;
        fields += c == ',';
        if (c == '\n') {
            expected = rows++ == 0 ? fields : expected;
            assert_int_equal(fields, expected);
            fields = 1;
        }
    }
    assert_int_equal(rows, 19);
    assert_null(strstr(out.bytes, "\"=cmd"));
    assert_non_null(strstr(out.bytes, "\"'=cmd"));
    buffer_free(&out);
}

TEST(json_is_well_formed)
{
    struct run runs[] = {helper_run(), helper_run_hostile(), helper_run_empty()};
    for (size_t i = 0; i < ARRAY_COUNT(runs); i++) {
        struct buffer out = helper_report("json", runs[i]);
        assert_true(helper_json_is_valid(out.bytes));
        assert_null(strstr(out.bytes, "nan"));
        assert_null(strstr(out.bytes, "inf,"));
        buffer_free(&out);
    }
    struct run run = helper_run(); // with looks in two regimes, which one of them says by itself
    run.results[0].verdict.pairs = 16;
    run.results[0].head.beside = "isolated ok 0.0953102 0.09 0.1 16, cold wrong";
    struct buffer out = helper_report("json", run);
    assert_true(helper_json_is_valid(out.bytes));
    assert_non_null(strstr(out.bytes, "\"beside\":[{\"regime\":\"isolated\",\"state\":\"ok\","));
    assert_non_null(strstr(out.bytes, "\"pairs\":16},{\"regime\":\"cold\",\"state\":\"wrong\","));
    buffer_free(&out);
    assert_false(helper_json_is_valid("{\"a\":nan}"));
    assert_false(helper_json_is_valid("{\"a\":1,}"));
    assert_false(helper_json_is_valid("{} {}"));
}

TEST(html_shows_findings_by_kernel)
{
    struct buffer out = helper_report("html", helper_run());
    assert_non_null(strstr(out.bytes, "3 of 5 series"));
    assert_non_null(strstr(out.bytes, "up to +4.32 %"));
    assert_non_null(strstr(out.bytes, "not this change"));
    assert_non_null(strstr(out.bytes, "default-src 'none'"));
    *strstr(out.bytes, "</main>") = '\0'; // dygraphs itself comes after it
    assert_null(strstr(out.bytes, " style=\""));
    assert_null(strstr(out.bytes, "unsafe-inline"));
    buffer_free(&out);
}

TEST(html_says_a_void_run_is_void)
{
    struct run run = helper_run();
    run.self_test = (struct self_test){.series = 4, .alarms = 2, .void_run = true};
    struct buffer out = helper_report("html", run);
    assert_non_null(strstr(out.bytes, "This run is void."));
    assert_non_null(strstr(out.bytes, "2 of 4 self-test series"));
    buffer_free(&out);
}

// What has no time says why in its place.
TEST(html_says_why_there_is_no_time)
{
    static const enum measurement_state states[] = {MEASURED_WRONG, MEASURED_CRASHED,
                                                    MEASURED_TIMEOUT, MEASURED_UNBUILDABLE};
    for (size_t i = 0; i < ARRAY_COUNT(states); i++) {
        struct run run = helper_run();
        char *fact = xprintf("<dt>head</dt><dd>%s</dd>", measurement_state_name(states[i]));
        run.results[0].head = (struct measurement){.state = states[i], .detail = "why"};
        struct buffer out = helper_report("html", run);
        if (!strstr(out.bytes, fact))
            fail_msg("the page lacks %s", fact);
        buffer_free(&out);
        free(fact);
    }
}

// Nothing counted has no rate, and "at most 100 %" of it is noise.
TEST(html_tells_no_rate_of_no_gates)
{
    struct run run = helper_run();
    struct report_record *records = xcalloc(run.device_count, sizeof(*records));
    const struct report_context context = {.records = records};
    const struct study_result study = {.kind = STUDY_SLOWER, .kernel = "a", .gates = 3};
    for (int studies = 0; studies < 2; studies++) {
        struct buffer out = {0};
        records[0] = (struct report_record){.gates = studies ? 40 : 0, .self_tests = 7};
        run.studies = (struct study_result[]){study};
        run.study_count = !studies;
        report_find("html")->write(&out, &run, &context);
        assert_non_null(strstr(out.bytes, "0 in 7 series of self tests"));
        assert_int_equal(strstr(out.bytes, "0 in 40 gates of identical code") != NULL, studies);
        assert_null(strstr(out.bytes, " in 0 gates"));
        assert_null(strstr(out.bytes, "1e+02 %"));
        buffer_free(&out);
    }
    free(records);
    run_free(&run);
}

// Of a gate of many series most run the code that they had; they are one line to unfold, and no row
// of the table that is read.
TEST(series_of_identical_code_are_folded)
{
    struct run run = helper_run();
    size_t rows = 0;
    for (size_t i = 0; i < run.count; i++) {
        struct result *r = &run.results[i];
        if (r->verdict.kind != VERDICT_SAME)
            continue;
        text_copy(r->base_code, sizeof(r->base_code), "c0de");
        text_copy(r->head_code, sizeof(r->head_code), "c0de");
        r->base = r->head = (struct measurement){.state = MEASURED_NOT_TAKEN};
        r->verdict = (struct verdict){.kind = VERDICT_SAME};
        rows++;
    }
    struct buffer out = {0};
    report_find("html")->write(&out, &run, NULL);
    assert_int_equal(rows, 7);
    assert_non_null(strstr(out.bytes, ">7 series run the machine code of the base<"));
    assert_int_equal(count_of(out.bytes, "data-verdict=\"same\""), 0);
    buffer_free(&out);
    report_find("markdown")->write(&out, &run, NULL);
    assert_non_null(strstr(out.bytes, "7 series run the machine code of the base, and were not"));
    assert_null(strstr(out.bytes, "= same |"));
    buffer_free(&out);
    run_free(&run);
}

// The first screen says what to type next.
TEST(the_page_says_what_to_do_next)
{
    struct buffer out = helper_report("html", helper_run());
    const char *all = strstr(out.bytes, "All series");
    static const char *const words[] = {">plumb gate --base ", ">plumb bisect --good ",
                                        ">plumb accept -m REASON "};
    for (size_t i = 0; i < ARRAY_COUNT(words); i++) {
        const char *at = strstr(out.bytes, words[i]);
        assert_true(at && at < all);
    }
    buffer_free(&out);
}
