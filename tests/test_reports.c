// SPDX-License-Identifier: Apache-2.0
#include "tests/helper_json.h"
#include "tests/helper_run.h"

#include "reports/view.h"

#include <setjmp.h> // cmocka.h needs these before it
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static struct buffer write_report(const char *name, struct run run)
{
    struct buffer out = {0};
    struct report_context context = helper_context(&run);
    report_find(name)->write(&out, &run, &context);
    buffer_puts(&out, "");
    run_free(&run);
    return out;
}

static size_t count_of(const char *text, const char *wanted)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, wanted)); at += strlen(wanted))
        count++;
    return count;
}

static void reports_are_pure(void **state)
{
    (void)state;
    for (size_t i = 0; i < report_count; i++) {
        struct buffer a = write_report(reports[i]->name, helper_run());
        struct buffer b = write_report(reports[i]->name, helper_run());
        assert_int_equal(a.length, b.length);
        assert_memory_equal(a.bytes, b.bytes, a.length);
        buffer_free(&a);
        buffer_free(&b);
    }
}

static void reports_need_no_context_and_no_results(void **state)
{
    (void)state;
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
static void reports_hold_no_control_bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < report_count; i++) {
        struct buffer out = write_report(reports[i]->name, helper_run_hostile());
        for (size_t k = 0; k < out.length; k++) {
            unsigned char c = (unsigned char)out.bytes[k];
            assert_true(c >= 0x20 || c == '\n' || c == '\t' ||
                        (c == '\r' && reports[i]->name[0] == 'c'));
            assert_true(c != 0x7f && c != 0xff && c != 0xc0);
        }
        assert_null(strstr(out.bytes, "\xe2\x80\xae"));
        buffer_free(&out);
    }
}

static void markdown_keeps_hostile_text_in_its_cell(void **state)
{
    (void)state;
    struct buffer out = write_report("markdown", helper_run_hostile());
    assert_null(strstr(out.bytes, "<script"));
    assert_null(strstr(out.bytes, "@someone"));
    assert_null(strstr(out.bytes, "](javascript"));
    assert_null(strstr(out.bytes, "![i]"));
    assert_null(strstr(out.bytes, "\n::error"));
    assert_null(strstr(out.bytes, "\n# heading"));
    for (char *line = strtok(out.bytes, "\n"); line; line = strtok(NULL, "\n")) {
        if (line[0] == '|' && count_of(line, "|") != 3)
            assert_int_equal(count_of(line, "|"), 9);
    }
    buffer_free(&out);
}

// Addresses come from a policy and ids from a store; neither may become a script or markup.
static void only_web_addresses_and_hexadecimal_ids_are_linked(void **state)
{
    (void)state;
    static const struct {
        const char *url, *id;
        bool linked;
    } cases[] = {{"https://example.org/commit/", "0123abc", true},
                 {"http://localhost/", "f", true},
                 {"javascript:alert(1)//", "0123abc", false},
                 {"https://example.org/", "0123\"onclick=", false},
                 {"https://example.org/", ") ![x](http://y", false},
                 {"https://example.org/", "", false},
                 {NULL, "0123abc", false}};
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct buffer out = {0};
        assert_int_equal(view_commit_link(&out, cases[i].url, cases[i].id), cases[i].linked);
        assert_int_equal(out.length > 0, cases[i].linked);
        buffer_free(&out);
    }
    struct run run = helper_run();
    text_copy(run.head.id, sizeof(run.head.id), "`](javascript:x) <script>");
    struct buffer out = write_report("markdown", run);
    assert_null(strstr(out.bytes, "javascript"));
    assert_null(strstr(out.bytes, "<script"));
    buffer_free(&out);
}

static void markdown_tells_the_verdict_first(void **state)
{
    (void)state;
    struct buffer out = write_report("markdown", helper_run());
    assert_ptr_equal(strstr(out.bytes, "## ❌ plumb: broken"), out.bytes);
    assert_non_null(
        strstr(out.bytes, "2 broken · 4 slower · 1 undecided · 3 faster · 1 new · 7 same"));
    assert_true(strstr(out.bytes, "✕ broken") < strstr(out.bytes, "▲ slower"));
    assert_true(strstr(out.bytes, "▼ faster") < strstr(out.bytes, "<details><summary>7 series"));
    buffer_free(&out);
}

static void markdown_fits_a_comment(void **state)
{
    (void)state;
    struct buffer out = write_report("markdown", helper_run_large(3000));
    assert_true(out.length < 65536);
    assert_non_null(strstr(out.bytes, "more are not shown here"));
    buffer_free(&out);
}

static void annotations_are_one_command_a_line(void **state)
{
    (void)state;
    struct buffer out = write_report("annotations", helper_run_hostile());
    for (char *line = strtok(out.bytes, "\n"); line; line = strtok(NULL, "\n")) {
        assert_true(strncmp(line, "::error ", 8) == 0 || strncmp(line, "::warning ", 10) == 0 ||
                    strncmp(line, "::notice ", 9) == 0);
        for (const char *at = line; (at = strchr(at, '%')); at++)
            assert_true(strncmp(at, "%25", 3) == 0 || strncmp(at, "%0A", 3) == 0 ||
                        strncmp(at, "%3A", 3) == 0 || strncmp(at, "%2C", 3) == 0);
    }
    buffer_free(&out);
}

static void annotations_do_not_fail_for_the_environment(void **state)
{
    (void)state;
    struct buffer out = write_report("annotations", helper_run());
    assert_int_equal(count_of(out.bytes, "::error "), 5);
    assert_int_equal(count_of(out.bytes, "::warning "), 2);
    assert_non_null(strstr(out.bytes, "::warning title=slower%3A host_simd"));
    buffer_free(&out);
    out = write_report("annotations", helper_run_large(900));
    assert_int_equal(count_of(out.bytes, "::error "), 10);
    assert_non_null(strstr(out.bytes, "more of level error"));
    buffer_free(&out);
}

// A reader of RFC 4180: every row has the header's number of fields.
static void csv_rows_have_all_fields(void **state)
{
    (void)state;
    struct buffer out = write_report("csv", helper_run_hostile());
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

static void json_is_well_formed(void **state)
{
    (void)state;
    struct run runs[] = {helper_run(), helper_run_hostile(), helper_run_empty()};
    for (size_t i = 0; i < ARRAY_COUNT(runs); i++) {
        struct buffer out = write_report("json", runs[i]);
        assert_true(helper_json_is_valid(out.bytes));
        assert_null(strstr(out.bytes, "nan"));
        assert_null(strstr(out.bytes, "inf,"));
        buffer_free(&out);
    }
    assert_false(helper_json_is_valid("{\"a\":nan}"));
    assert_false(helper_json_is_valid("{\"a\":1,}"));
    assert_false(helper_json_is_valid("{} {}"));
}

static void html_shows_findings_by_kernel(void **state)
{
    (void)state;
    struct buffer out = write_report("html", helper_run());
    assert_non_null(strstr(out.bytes, "3 of 5 series"));
    assert_non_null(strstr(out.bytes, "up to +4.32 %"));
    assert_non_null(strstr(out.bytes, "not this change"));
    assert_non_null(strstr(out.bytes, "default-src 'none'"));
    *strstr(out.bytes, "</main>") = '\0'; // dygraphs itself comes after it
    assert_null(strstr(out.bytes, " style=\""));
    assert_null(strstr(out.bytes, "unsafe-inline"));
    buffer_free(&out);
}

static void html_says_a_void_run_is_void(void **state)
{
    (void)state;
    struct run run = helper_run();
    run.self_test = (struct self_test){.series = 4, .alarms = 2, .void_run = true};
    struct buffer out = write_report("html", run);
    assert_non_null(strstr(out.bytes, "This run is void."));
    assert_non_null(strstr(out.bytes, "2 of 4 self-test series"));
    buffer_free(&out);
}

static void view_puts_the_worst_first(void **state)
{
    (void)state;
    struct run run = helper_run();
    struct view *views = view_all(&run, NULL);
    for (size_t i = 1; i < run.count; i++)
        assert_true(views[i - 1].outcome <= views[i].outcome);
    assert_int_equal(views[0].outcome, OUTCOME_BROKEN);
    assert_int_equal(views[2].outcome, OUTCOME_REGRESSED);
    assert_true(views[2].change > views[3].change);
    free(views);
    run_free(&run);
}

// 0.4 % noise per pair and a margin of 0.3 %: a change just above the margin is found.
static void view_knows_what_could_be_detected(void **state)
{
    (void)state;
    struct run run = helper_run();
    struct view *views = view_all(&run, NULL);
    for (size_t i = 0; i < run.count; i++) {
        const struct result *r = views[i].result;
        bool paired = r->base.count > 0 && r->head.count > 0;
        assert_int_equal(isfinite(views[i].detectable), paired);
        if (paired)
            assert_true(views[i].detectable > r->verdict.margin && views[i].detectable < 0.009);
    }
    free(views);
    run_free(&run);
}

static void view_reason_leaves_out_the_name(void **state)
{
    (void)state;
    struct run run = helper_run();
    struct result *r = &run.results[0];
    struct buffer out = {0};
    r->verdict.sentence = "tma_persistent 4096x4096x4096:bf16-bf16:tn slower: +4 %";
    run.count = 1;
    struct view *view = view_all(&run, NULL);
    view_reason(&out, view);
    assert_string_equal(out.bytes, "slower: +4 %");
    buffer_free(&out);
    r->verdict.sentence = "tma_persistent is slower";
    view_reason(&out, view);
    assert_string_equal(out.bytes, "tma_persistent is slower");
    buffer_free(&out);
    free(view);
    run_free(&run);
}

static void view_shape_reads_back_as_the_problem(void **state)
{
    (void)state;
    static const char *const texts[] = {"1x2x3:bf16",       "64x64x64:fp8-fp32:nt:b8",
                                        "9x9x9:fp16-fp32",  "5x5x5:fp32:nn",
                                        "8x8x8:bf16:tn:b2", "256x4096x7168:bf16:dual-silu"};
    struct run run = {.count = 1};
    run.results = arena_alloc(&run.arena, sizeof(*run.results));
    for (size_t i = 0; i < ARRAY_COUNT(texts); i++) {
        struct error err;
        struct problem again;
        assert_int_equal(problem_parse(&run.results[0].problem, texts[i], &err), 0);
        struct view *view = view_all(&run, NULL);
        assert_int_equal(problem_parse(&again, view->shape, &err), 0);
        assert_true(problem_equal(&again, &run.results[0].problem));
        assert_true(strlen(view->shape) <= strlen(view->problem));
        free(view);
    }
    run_free(&run);
}

static void view_writes_numbers_for_people(void **state)
{
    (void)state;
    static const struct {
        double ns;
        const char *text;
    } times[] = {{0.5, "0.500 ns"},     {9.02e3, "9.020 µs"}, {182.44e3, "182.4 µs"},
                 {1.563e6, "1.563 ms"}, {2e9, "2.000 s"},     {NAN, "-"}};
    char text[VIEW_TEXT];
    for (size_t i = 0; i < ARRAY_COUNT(times); i++) {
        view_time(text, times[i].ns);
        assert_string_equal(text, times[i].text);
    }
    view_percent(text, 0.0321);
    assert_string_equal(text, "+3.21 %");
    view_percent(text, -0.5);
    assert_string_equal(text, "−50.0 %");
    view_interval(text, -0.001, INFINITY);
    assert_string_equal(text, "[−0.10, +inf] %");
}

// ---- files --------------------------------------------------------------------------------------

static char *make_folder(void)
{
    char *path = xprintf("%s/plumb-reports-XXXXXX", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
    assert_non_null(mkdtemp(path));
    return path;
}

static void remove_folder(char *path)
{
    char *command = xprintf("rm -rf '%s'", path);
    assert_int_equal(system(command), 0);
    free(command);
    free(path);
}

static void write_all_makes_every_file_and_leaves_nothing_else(void **state)
{
    (void)state;
    struct error err;
    struct run run = helper_run();
    char *folder = make_folder(), *output = xprintf("%s/output", folder);
    assert_int_equal(report_write_all(output, &run, NULL, &err), 0);
    assert_int_equal(report_write_all(output, &run, NULL, &err), 0);
    char *command = xprintf("test $(ls -A '%s' | wc -l) -eq %zu", output, report_count);
    assert_int_equal(system(command), 0);
    for (size_t i = 0; i < report_count; i++) {
        struct stat st;
        char *path = xprintf("%s/%s", output, reports[i]->file);
        assert_int_equal(stat(path, &st), 0);
        assert_true(st.st_size > 100);
        free(path);
    }
    free(command);
    free(output);
    remove_folder(folder);
    run_free(&run);
}

static void replace_keeps_the_old_file_when_it_fails(void **state)
{
    (void)state;
    struct error err;
    char *folder = make_folder(), *path = xprintf("%s/target", folder);
    assert_int_equal(mkdir(path, 0755), 0);
    assert_int_equal(report_replace_file(path, "x", 1, &err), -1);
    assert_non_null(strstr(err.text, path));
    char *command = xprintf("test $(ls -A '%s' | wc -l) -eq 1", folder);
    assert_int_equal(system(command), 0);
    free(command);
    free(path);
    remove_folder(folder);
}

static void write_names_the_folder_it_cannot_make(void **state)
{
    (void)state;
    struct error err;
    struct run run = helper_run_empty();
    assert_int_equal(report_write_all("/nonexistent/a", &run, NULL, &err), -1);
    assert_non_null(strstr(err.text, "/nonexistent/a"));
    assert_null(strchr(err.text, '\n'));
    run_free(&run);
}

// Someone who can write to the folder must not make us write elsewhere.
static void planted_link_is_not_followed(void **state)
{
    (void)state;
    struct error err;
    char *folder = make_folder(), *path = xprintf("%s/file", folder);
    char *temporary = xprintf("%s.%ld.tmp", path, (long)getpid());
    char *victim = xprintf("%s/victim", folder);
    assert_int_equal(symlink(victim, temporary), 0);
    assert_int_equal(report_replace_file(path, "new", 3, &err), -1);
    assert_int_equal(access(victim, F_OK), -1);
    free(victim);
    free(temporary);
    free(path);
    remove_folder(folder);
}

// A file size limit refuses bytes in the middle of a file, as a full disk does.
static void full_disk_keeps_the_old_file(void **state)
{
    (void)state;
    struct error err;
    struct rlimit before, small;
    char text[8] = "", large[8192] = "";
    char *folder = make_folder(), *path = xprintf("%s/file", folder);
    assert_int_equal(report_replace_file(path, "old", 3, &err), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 4096;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    int status = report_replace_file(path, large, sizeof(large), &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(status, -1);
    FILE *file = fopen(path, "r");
    assert_non_null(fgets(text, sizeof(text), file));
    fclose(file);
    assert_string_equal(text, "old");
    char *command = xprintf("test $(ls -A '%s' | wc -l) -eq 1", folder);
    assert_int_equal(system(command), 0);
    free(command);
    free(path);
    remove_folder(folder);
}

static void find_knows_every_report_by_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < report_count; i++) {
        assert_ptr_equal(report_find(reports[i]->name), reports[i]);
        assert_true(i == 0 || strcmp(reports[i - 1]->name, reports[i]->name) < 0);
        assert_true(strlen(reports[i]->why) > 10);
    }
    assert_null(report_find("docx"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reports_are_pure),
        cmocka_unit_test(reports_need_no_context_and_no_results),
        cmocka_unit_test(reports_hold_no_control_bytes),
        cmocka_unit_test(markdown_keeps_hostile_text_in_its_cell),
        cmocka_unit_test(only_web_addresses_and_hexadecimal_ids_are_linked),
        cmocka_unit_test(markdown_tells_the_verdict_first),
        cmocka_unit_test(markdown_fits_a_comment),
        cmocka_unit_test(annotations_are_one_command_a_line),
        cmocka_unit_test(annotations_do_not_fail_for_the_environment),
        cmocka_unit_test(csv_rows_have_all_fields),
        cmocka_unit_test(json_is_well_formed),
        cmocka_unit_test(html_shows_findings_by_kernel),
        cmocka_unit_test(html_says_a_void_run_is_void),
        cmocka_unit_test(view_puts_the_worst_first),
        cmocka_unit_test(view_knows_what_could_be_detected),
        cmocka_unit_test(view_reason_leaves_out_the_name),
        cmocka_unit_test(view_shape_reads_back_as_the_problem),
        cmocka_unit_test(view_writes_numbers_for_people),
        cmocka_unit_test(write_all_makes_every_file_and_leaves_nothing_else),
        cmocka_unit_test(replace_keeps_the_old_file_when_it_fails),
        cmocka_unit_test(write_names_the_folder_it_cannot_make),
        cmocka_unit_test(planted_link_is_not_followed),
        cmocka_unit_test(full_disk_keeps_the_old_file),
        cmocka_unit_test(find_knows_every_report_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
