// SPDX-License-Identifier: Apache-2.0
//
// What all reports show alike: the order of results, words, numbers, links.
#include "model/base.h"
#include "reports/view.h"
#include "tests/helpers/helper_run.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Addresses come from a policy and ids from a store; neither may become a script or markup.
TEST(only_web_addresses_and_hexadecimal_ids_are_linked)
{
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
    struct buffer out = helper_report("markdown", run);
    assert_null(strstr(out.bytes, "javascript"));
    assert_null(strstr(out.bytes, "<script"));
    buffer_free(&out);
}

TEST(view_puts_the_worst_first)
{
    struct run run = helper_run();
    struct view *views = view_all(&run, NULL);
    for (size_t i = 1; i < run.count; i++)
        assert_true(views[i - 1].outcome <= views[i].outcome);
    assert_int_equal(views[0].outcome, OUTCOME_BROKEN);
    assert_int_equal(views[2].outcome, OUTCOME_REGRESSED);
    assert_true(views[2].change.value > views[3].change.value);
    free(views);
    run_free(&run);
}

// What this change accepts is told first; what nobody measured, and what was broken before, is
// skipped and neither passes nor fails.
TEST(what_is_accepted_comes_first_and_what_is_unjudged_is_skipped)
{
    struct run run = helper_run();
    const struct verdict accepted = {.kind = VERDICT_ACCEPTED,
                                     .sentence = "accepted in this change"};
    run.results[0].verdict =
        (struct verdict){.kind = VERDICT_NOT_MEASURED, .sentence = "no device"};
    run.results[1].verdict = (struct verdict){
        .kind = VERDICT_BROKEN, .cause = CAUSE_BASE, .sentence = "crashes, as on the base"};
    run.results[2].verdict = accepted;
    run.results[2].head.state = MEASURED_MISSING;
    struct view *views = view_all(&run, NULL);
    assert_int_equal(views[0].result->verdict.kind, VERDICT_ACCEPTED);
    assert_int_equal(views[0].outcome, OUTCOME_PASSED);
    for (size_t i = 0; i < run.count; i++) {
        if (views[i].index < 2)
            assert_int_equal(views[i].outcome, OUTCOME_UNDECIDED);
    }
    free(views);
    run_free(&run);
}

// Every report tells each word, and counts it where it counts.
TEST(every_report_tells_the_words)
{
    static const struct {
        const char *format, *parts[4];
    } cases[] = {
        {"junit", {"type=\"not measured\"", "no device here", "accepted in this change", NULL}},
        {"html",
         {"<li class=\"v-unmeasured\"", "<li class=\"v-accepted\"", "data-verdict=\"not measured\"",
          "accepted in this change"}},
        {"markdown", {"1 accepted", "1 not measured", "no device here", "accepted in this change"}},
        {"csv", {"not measured", "accepted", NULL}},
        {"comment",
         {"1 kernel accepted", "not measured |", "no device here", "accepted in this change"}},
        {"json", {"\"not measured\"", "\"accepted\"", "no device here", NULL}},
        {"annotations",
         {"::warning title=not measured", "::notice title=accepted", "no device here", NULL}},
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct run run = helper_run();
        run.results[0].verdict =
            (struct verdict){.kind = VERDICT_NOT_MEASURED, .sentence = "no device here"};
        run.results[2].verdict =
            (struct verdict){.kind = VERDICT_ACCEPTED, .sentence = "accepted in this change"};
        struct buffer out = helper_report(cases[i].format, run);
        for (size_t p = 0; p < 4 && cases[i].parts[p]; p++) {
            if (!strstr(out.bytes, cases[i].parts[p]))
                fail_msg("%s does not say '%s':\n%s", cases[i].format, cases[i].parts[p],
                         out.bytes);
        }
        buffer_free(&out);
    }
}

// Every report says of a series what is stored with its verdict; none works it out again.
TEST(what_could_be_detected_is_what_the_verdict_says)
{
    struct run run = helper_run();
    struct view *views = view_all(&run, NULL);
    size_t known = 0;
    for (size_t i = 0; i < run.count; i++) {
        const struct result *r = views[i].result;
        const double stored = r->verdict.detectable;
        assert_int_equal(isfinite(views[i].detectable), stored > 0);
        assert_true(!(stored > 0) || fabs(views[i].detectable - expm1(stored)) < 1e-12);
        known += stored > 0;
    }
    assert_true(known > 0 && known < run.count);
    free(views);
    run_free(&run);
}

TEST(view_reason_leaves_out_the_name)
{
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

// What stands in columns beside is not said again: the size, its interval, the pairs and the odds.
TEST(view_why_says_what_the_size_does_not)
{
    static const struct {
        const char *sentence, *why;
    } cases[] = {
        {"tma_persistent 4096x4096x4096:bf16-bf16:tn slower: +1.39 % (95 % interval +1.18 to "
         "+1.66), "
         "48 pairs in 3 processes; odds against chance 1e13; its registers went from 168 to 255",
         "its registers went from 168 to 255"},
        {"tma_persistent 4096x4096x4096:bf16-bf16:tn slower: +1.39 %, 48 pairs in 3 processes; "
         "odds "
         "against chance 1e13",
         "its machine code changed"},
        {"tma_persistent 4096x4096x4096:bf16-bf16:tn slower: the base was wrong",
         "slower: the base was wrong"},
        // What other regimes show is a size, too.
        {"tma_persistent 4096x4096x4096:bf16-bf16:tn slower: +1.39 %, 48 pairs; alone +2.1 % (+2 "
         "to "
         "+2.2), in a stream +1.2 % (+1.1 to +1.3)",
         "its machine code changed"},
        {"tma_persistent 4096x4096x4096:bf16-bf16:tn slower: +1.39 %, 48 pairs; alone it dies",
         "alone it dies"},
    };
    struct run run = helper_run();
    struct result *r = &run.results[0];
    run.count = 1;
    text_copy(r->base_code, sizeof(r->base_code), "aaaa");
    text_copy(r->head_code, sizeof(r->head_code), "bbbb");
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct buffer out = {0};
        r->verdict.sentence = cases[i].sentence;
        struct view *view = view_all(&run, NULL);
        view_why(&out, view);
        assert_string_equal(out.bytes, cases[i].why);
        buffer_free(&out);
        free(view);
    }
    // The regime's words stand between the kind and the size.
    struct buffer out = {0};
    r->problem.regime = REGIME_STREAM;
    r->verdict.sentence = "tma_persistent 4096x4096x4096:bf16-bf16:tn slower in a stream: +1.39 % "
                          "(95 % interval +1.18 to +1.66), 48 pairs; an SM now holds 32 warps";
    struct view *view = view_all(&run, NULL);
    view_why(&out, view);
    assert_string_equal(out.bytes, "an SM now holds 32 warps");
    buffer_free(&out);
    free(view);
    run_free(&run);
}

// Of a head with other commits between it and the base nobody knows which one did it.
TEST(since_is_the_head_only_where_it_follows_the_base)
{
    struct run run = helper_run();
    run.count = 1;
    assert_int_equal(run.results[0].verdict.kind, VERDICT_SLOWER);
    text_copy(run.head.parent, sizeof(run.head.parent), run.base.id);
    struct view *view = view_all(&run, NULL);
    assert_string_equal(view_since(view, &run), run.head.id);
    text_copy(run.head.parent, sizeof(run.head.parent), "0123456789");
    assert_null(view_since(view, &run));
    free(view);
    run_free(&run);
}

TEST(view_writes_numbers_for_people)
{
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
    view_interval(text, (struct interval){0, -0.001, INFINITY});
    assert_string_equal(text, "[−0.10, +inf] %");
}

// What slow launches add: nothing is said where one of the two is not known.
TEST(changes_of_slow_launches_stand_together_or_not_at_all)
{
    char text[VIEW_TEXT];
    struct view view = {.mean = 0.012, .p95 = -0.0351};
    view_slow(text, &view);
    assert_string_equal(text, "+1.20, −3.51 %");
    view.p95 = NAN;
    view_slow(text, &view);
    assert_string_equal(text, "-");
}

TEST(a_metric_has_its_unit_and_no_more_digits_than_it_needs)
{
    char text[VIEW_TEXT];
    static const struct {
        double value;
        const char *unit, *shown;
    } cases[] = {{12440, "B", "12440 B"},
                 {3.2649, "s", "3.26 s"},
                 {7, "", "7"},
                 {NAN, "B", "-"},
                 {2, "much too long", "2 much too"}};
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        view_metric_value(text, cases[i].value, cases[i].unit);
        assert_string_equal(text, cases[i].shown);
    }
}

// Names come from a commit, and the commands are copied into a shell.
TEST(commands_quote_names_and_ask_for_what_applies)
{
    struct run run = {.base = {.id = "aaaaaaaaaaaa"}, .head = {.id = "bbbbbbbbbbbb"}};
    struct result r = {.kernel = "a'b c", .verdict = {.kind = VERDICT_SLOWER}};
    struct view view = {.result = &r, .problem = "8x8x8:fp32", .change = {0.1, 0.09, 0.11}};
    struct view_commands commands;
    assert_true(view_has_moved(&view));
    view_commands(&commands, &run, &view);
    assert_string_equal(commands.accept.bytes, "plumb accept -m REASON 'a'\\''b c'");
    assert_non_null(strstr(commands.bisect.bytes, "--series 'a'\\''b c'/8x8x8:fp32"));
    assert_non_null(strstr(commands.again.bytes, "gate --base"));
    view_commands_free(&commands);

    view.change.value = NAN;
    assert_false(view_has_moved(&view));
    view_commands(&commands, &run, NULL); // nothing moved: there is only the gate to repeat
    assert_true(commands.again.length > 0 && !commands.bisect.length && !commands.accept.length);
    view_commands_free(&commands);

    run.base.id[0] = '\0';
    view_commands(&commands, &run, &view);
    assert_false(commands.again.length);
    view_commands_free(&commands);
}
