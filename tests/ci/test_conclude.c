// SPDX-License-Identifier: Apache-2.0
//
// What a run says as a whole: what was not judged is counted and does not pass for judged.
#include "baselines/store.h"
#include "ci/gate/conclude.h"
#include "ci/gate/measuring.h"
#include "model/buffer.h"
#include "reports/report.h"
#include "tests/helpers/helper_fake_bench.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4 };

struct scene {
    struct run run;
    struct result results[MOST];
};

// A series of code that changed.
static struct result *add(struct scene *s, enum verdict_kind kind, enum cause cause)
{
    static const char *const kernels[MOST] = {"a", "b", "c", "d"};
    static struct device host = {.kind = "host", .uuid = "host"};
    struct result *r = &s->results[s->run.count];
    *r = (struct result){.problem = {.m = 8, .n = 8, .k = 8, .batch = 1}};
    text_copy(r->kernel, sizeof(r->kernel), kernels[s->run.count++]);
    text_copy(r->base_code, sizeof(r->base_code), "old");
    text_copy(r->head_code, sizeof(r->head_code), "new");
    r->verdict = (struct verdict){.kind = kind, .cause = cause, .sentence = "why"};
    s->run.results = s->results;
    s->run.devices = s->run.devices ? s->run.devices : &host;
    return r;
}

static void is(struct scene *s, enum conclusion conclusion, const char *headline)
{
    const struct policy_gate gate = {0};
    conclude_run(&s->run, &gate, "");
    assert_string_equal(s->run.headline, headline);
    assert_int_equal(s->run.conclusion, conclusion);
    run_free(&s->run);
}

TEST(what_the_compiler_does_not_condemn_passes_unless_the_policy_says_otherwise)
{
    struct device devices[] = {{.kind = "cuda", .uuid = DEVICE_STATIC "h200-sxm"},
                               {.kind = "host", .uuid = "host"}};
    for (int fails = 0; fails < 2; fails++) {
        const struct policy_gate gate = {.static_fails = fails};
        struct scene s = {.run = {.devices = devices}};
        add(&s, VERDICT_NOT_MEASURED, CAUSE_NONE);
        conclude_run(&s.run, &gate, "");
        assert_int_equal(s.run.conclusion, fails ? CONCLUDE_UNDECIDED : CONCLUDE_OK);
        run_free(&s.run);
    }
    // Of a device that was here, or a kernel that does not do its problem, it says nothing.
    for (int i = 0; i < 2; i++) {
        struct scene s = {.run = {.devices = devices}};
        struct result *r = add(&s, VERDICT_NOT_MEASURED, CAUSE_NONE);
        r->device = i == 0;
        r->head.state = i ? MEASURED_UNSUPPORTED : MEASURED_NOT_TAKEN;
        is(&s, CONCLUDE_UNDECIDED, "NOTHING JUDGED: 1 not measured: why");
    }
}

TEST(no_series_at_all_is_no_pass)
{
    struct scene s = {0};
    is(&s, CONCLUDE_UNDECIDED, "NOTHING JUDGED: no series");
}

TEST(what_changed_and_was_not_measured_is_no_pass)
{
    struct scene s = {0};
    add(&s, VERDICT_NOT_MEASURED, CAUSE_NONE);
    struct result *same = add(&s, VERDICT_SAME, CAUSE_NONE);
    text_copy(same->head_code, sizeof(same->head_code), "old");
    is(&s, CONCLUDE_UNDECIDED, "NOTHING JUDGED: 1 not measured, 1 same: why");
}

TEST(what_was_not_measured_beside_what_was_is_counted)
{
    struct scene s = {0};
    add(&s, VERDICT_NOT_MEASURED, CAUSE_NONE);
    add(&s, VERDICT_SAME, CAUSE_NONE);
    is(&s, CONCLUDE_OK, "OK: 1 not measured, 1 same");
}

TEST(broken_on_the_base_too_is_counted_and_not_this_changes_fault)
{
    struct scene s = {0};
    add(&s, VERDICT_BROKEN, CAUSE_BASE);
    add(&s, VERDICT_SAME, CAUSE_NONE);
    is(&s, CONCLUDE_OK, "OK: 1 broken, 1 same");
    s = (struct scene){0};
    add(&s, VERDICT_BROKEN, CAUSE_BASE);
    is(&s, CONCLUDE_UNDECIDED, "NOTHING JUDGED: 1 broken: why");
    s = (struct scene){0};
    add(&s, VERDICT_BROKEN, CAUSE_BASE);
    add(&s, VERDICT_BROKEN, CAUSE_KERNEL)->verdict.sentence = "this one";
    is(&s, CONCLUDE_BROKEN, "BROKEN: 2 broken: this one");
}

TEST(a_text_only_change_passes_beside_what_was_broken_before)
{
    struct scene s = {0};
    for (int i = 0; i < 2; i++) {
        struct result *r = add(&s, i ? VERDICT_SAME : VERDICT_BROKEN, i ? CAUSE_NONE : CAUSE_BASE);
        text_copy(r->head_code, sizeof(r->head_code), "old");
    }
    is(&s, CONCLUDE_OK, "OK: 1 broken, 1 same");
}

TEST(what_the_environment_leaves_open_of_unchanged_code_passes)
{
    struct scene s = {0};
    add(&s, VERDICT_UNDECIDED, CAUSE_ENVIRONMENT);
    add(&s, VERDICT_SLOWER, CAUSE_ENVIRONMENT);
    is(&s, CONCLUDE_OK, "OK: 1 slower, 1 undecided");
    s = (struct scene){0};
    add(&s, VERDICT_UNDECIDED, CAUSE_PLACEMENT);
    is(&s, CONCLUDE_UNDECIDED, "UNDECIDED: 1 undecided: why");
}

TEST(what_is_accepted_is_said)
{
    struct scene s = {0};
    add(&s, VERDICT_SAME, CAUSE_NONE);
    add(&s, VERDICT_ACCEPTED, CAUSE_KERNEL)->verdict.sentence = "slower; accepted in this change";
    is(&s, CONCLUDE_OK, "OK: 1 accepted, 1 same: slower; accepted in this change");
}

TEST(devices_that_are_away_are_said)
{
    struct scene s = {0};
    const struct policy_gate gate = {0};
    add(&s, VERDICT_SAME, CAUSE_NONE);
    conclude_run(&s.run, &gate, "; nothing was measured on gpu, which is not here");
    assert_string_equal(s.run.headline,
                        "OK: 1 same; nothing was measured on gpu, which is not here");
    run_free(&s.run);
}

static size_t words_of(const char *text, size_t length)
{
    size_t words = 0;
    for (size_t i = 0; i < length; i++)
        words += text[i] != ' ' && (i == 0 || text[i - 1] == ' ');
    return words;
}

// Of the first line of a report, marks of Markdown aside.
static void few_words_in(const char *report, const struct run *run)
{
    struct buffer text = {0};
    report_find(report)->write(&text, run, NULL);
    const char *line = text.bytes + strspn(text.bytes, "# ");
    const size_t words = words_of(line, strcspn(line, "\n"));
    if (words > HEADLINE_WORDS)
        fail_msg("%s, %zu words: %.*s", report, words, (int)strcspn(line, "\n"), line);
    buffer_free(&text);
}

static void few_words(const struct run *run)
{
    const size_t words = words_of(run->headline, strlen(run->headline));
    if (words > HEADLINE_WORDS)
        fail_msg("%zu words: %s", words, run->headline);
    few_words_in("comment", run);
    few_words_in("markdown", run);
}

// All kinds beside each other, long reasons, devices that are away, mixes.
TEST(a_headline_has_few_words_whatever_came_out)
{
    static const char *const reasons[] = {"why",
                                          "a b c d e f g h i j k l m n o p q r s t u v w x y z",
                                          ("c 4096x7168x2048:bf16 slower: +7.18 % (95 % interval "
                                           "6.9 to 7.4), 128 pairs in 2 processes")};
    static const char *const away[] = {"", "; nothing was measured on cuda",
                                       " (only kernels 'a b c', problems 'd e f g h')"};
    const struct policy_gate gate = {0};
    struct device host = {.kind = "host", .uuid = "host"};
    for (int set = 0; set < 1 << VERDICT_KINDS; set++) {
        for (size_t k = 0; k < ARRAY_COUNT(reasons) * ARRAY_COUNT(away); k++) {
            struct result results[VERDICT_KINDS] = {0};
            struct mix_result mixes[2] = {{.name = "decode", .kernel = "a", .sentence = reasons[2]},
                                          {.name = "prefill", .kernel = "a", .sentence = "b c d"}};
            struct run run = {
                .results = results, .devices = &host, .mixes = mixes, .mix_count = k % 3};
            for (int kind = 0; kind < VERDICT_KINDS; kind++) {
                struct result *r = &results[run.count];
                if (!(set & 1 << kind))
                    continue;
                snprintf(r->kernel, sizeof(r->kernel), "kernel-%d", kind);
                r->problem = (struct problem){.m = 8, .n = 8, .k = 8, .batch = 1};
                r->verdict = (struct verdict){.kind = (enum verdict_kind)kind,
                                              .pairs = k % 2 ? 64 : 0,
                                              .sentence = reasons[k / ARRAY_COUNT(away)]};
                run.count++;
            }
            conclude_run(&run, &gate, away[k % ARRAY_COUNT(away)]);
            few_words(&run);
            run_free(&run);
        }
    }
}

TEST(a_regime_does_not_cut_the_size_off)
{
    struct scene s = {0};
    const struct policy_gate gate = {0};
    struct result *r = add(&s, VERDICT_SLOWER, CAUSE_KERNEL);
    r->problem.regime = REGIME_STREAM;
    r->verdict.pairs = 96;
    r->verdict.log_ratio.value = log(1.0062);
    r->verdict.sentence =
        "a 8x8x8 slower in a stream: one two three four five six seven eight nine";
    add(&s, VERDICT_UNDECIDED, CAUSE_NONE);
    add(&s, VERDICT_SAME, CAUSE_NONE);
    conclude_run(&s.run, &gate, " (only kernels 'e4m3-persistent')");
    assert_non_null(strstr(s.run.headline, ":stream +0.62 %"));
    run_free(&s.run);
}

// The typical launch is +2 % within a margin of 3 %; one launch in five takes twice as long.
TEST(slow_launches_are_told_by_the_mean)
{
    struct scene s = {0};
    struct result *r = add(&s, VERDICT_SLOWER, CAUSE_KERNEL);
    struct sample samples[2][10] = {0};
    for (size_t i = 0; i < 10; i++) {
        samples[0][i].time_ns = 100;
        samples[1][i].time_ns = i % 5 ? 102 : 204;
    }
    r->base = (struct measurement){.samples = samples[0], .count = 10};
    r->head = (struct measurement){.samples = samples[1], .count = 10};
    r->verdict.pairs = 10;
    r->verdict.margin = 0.03;
    r->verdict.log_ratio = interval_about(0.02, 0.001);
    r->verdict.sentence = "a 8x8x8 slower: one two three four five six seven eight nine ten eleven "
                          "twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen";
    is(&s, CONCLUDE_REGRESSION, "SLOWER: 1 slower: a 8x8x8:fp32-fp32:tn:cold mean +22.40 %");
}

TEST(a_headline_of_recorded_runs_has_few_words)
{
    static const char *const names[] = {"fp32-run-1", "fp32-run-3"};
    char *folder = helper_directory();
    const struct policy_gate gate = {0};
    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        char *path = xprintf("%s/%zu.db", folder, i);
        char *source = xprintf(TEST_SOURCE "/baselines/recorded/h200/%s.jsonl", names[i]);
        const struct import_source from = {.name = source, .format = "json"};
        struct store *store = NULL;
        struct error err = {""};
        struct store_counts added;
        struct run run = {0};
        int64_t id;
        FILE *file = fopen(source, "r");
        assert_non_null(file);
        if (store_open(&store, path, STORE_WRITE, &err) ||
            store_import(store, file, &from, &added, NULL, &err) ||
            store_last_run(&id, store, STORE_ALL_RUNS, &err) ||
            store_load_run(&run, store, id, &err))
            fail_msg("%s", err.text);
        conclude_run(&run, &gate, "");
        few_words(&run);
        run_free(&run);
        store_close(store);
        fclose(file);
        free(path);
        free(source);
    }
    helper_discard(folder);
    free(folder);
}

// Three kernels, two problems; nobody does the second.
TEST(a_problem_that_no_kernel_does_stays_once)
{
    struct scene s = {0};
    for (int i = 0; i < MOST; i++) {
        struct result *r = add(&s, VERDICT_NOT_MEASURED, CAUSE_NONE);
        r->problem.m = i < 2 ? 8 : 16;
        r->head.state = MEASURED_UNSUPPORTED;
    }
    s.results[1].head.state = MEASURED_OK;
    s.results[1].verdict.kind = VERDICT_SAME;
    drop_unsupported(&s.run);
    assert_int_equal(s.run.count, 2);
    assert_string_equal(s.results[0].kernel, "b");
    assert_string_equal(s.results[1].kernel, "c");
    assert_int_equal(s.results[1].verdict.kind, VERDICT_NOT_MEASURED);
    assert_non_null(strstr(s.results[1].verdict.sentence, "no kernel does this problem"));
    run_free(&s.run);
}

TEST(why_no_kernel_does_a_problem_is_said_where_it_is_known)
{
    struct scene s = {0};
    struct result *r = add(&s, VERDICT_NOT_MEASURED, CAUSE_NONE);
    r->head.state = MEASURED_UNSUPPORTED;
    r->head.detail = "buffers() states 4152 MiB with copies, of which there are 4096";
    drop_unsupported(&s.run);
    assert_non_null(strstr(r->verdict.sentence, "was not measured: buffers() states 4152 MiB"));
    run_free(&s.run);
}

// ---- A kernel that cannot be recorded, where the policy trusts device code alone, is no kernel
// that does not do its problem: its row stays, and a change of it does not pass unseen.

static struct result result_of(const char *kernel, enum measurement_state state, const char *regime,
                               enum verdict_kind kind, const char *base, const char *head)
{
    struct result r = {.head = {.state = state, .regime = regime, .detail = ""},
                       .verdict = {.kind = kind, .sentence = kernel}};
    text_copy(r.kernel, sizeof(r.kernel), kernel);
    text_copy(r.base_code, sizeof(r.base_code), base);
    text_copy(r.head_code, sizeof(r.head_code), head);
    r.problem =
        (struct problem){.m = 4, .n = 4, .k = 4, .in = DTYPE_BF16, .out = DTYPE_BF16, .batch = 1};
    return r;
}

static enum conclusion concluded(struct run *run, struct result *results, size_t count)
{
    const struct policy_gate gate = {0};
    *run = (struct run){.results = results, .count = count};
    drop_unsupported(run);
    conclude_run(run, &gate, "");
    return run->conclusion;
}

TEST(changed_kernel_that_cannot_be_recorded_does_not_pass)
{
    struct run run;
    struct result results[] = {
        result_of("works", MEASURED_OK, "", VERDICT_FASTER, "a", "b"),
        result_of("refused", MEASURED_UNSUPPORTED, "not recorded", VERDICT_NOT_MEASURED, "c", "d")};
    assert_true(recording_refused(&results[1].head));
    assert_int_equal(concluded(&run, results, 2), CONCLUDE_UNDECIDED);
    assert_int_equal(run.count, 2);
    assert_non_null(strstr(run.headline, "refused"));
    arena_free(&run.arena);
}

TEST(unchanged_one_does)
{
    struct run run;
    struct result results[] = {
        result_of("works", MEASURED_OK, "", VERDICT_FASTER, "a", "b"),
        result_of("refused", MEASURED_UNSUPPORTED, "not recorded", VERDICT_NOT_MEASURED, "c", "c")};
    assert_int_equal(concluded(&run, results, 2), CONCLUDE_OK);
    assert_int_equal(run.count, 2);
    arena_free(&run.arena);
}

// As before: where another kernel does the problem, one that does not says nothing.
TEST(kernel_that_does_not_do_its_problem_has_no_row)
{
    struct run run;
    struct result results[] = {
        result_of("works", MEASURED_OK, "", VERDICT_FASTER, "a", "b"),
        result_of("cannot", MEASURED_UNSUPPORTED, "cold", VERDICT_NOT_MEASURED, "c", "d")};
    assert_int_equal(concluded(&run, results, 2), CONCLUDE_OK);
    assert_int_equal(run.count, 1);
    arena_free(&run.arena);
}

// The recorder of neither kernel makes a record; of one, supports() says why.
TEST(one_that_supports_nothing_is_not_told_as_one_that_cannot_be_recorded)
{
    static const char *const names[] = {"cuda-elsewhere", "cuda-copies", NULL};
    static struct fake_gate gate;
    char base[OBJECT_ID_TEXT], head[OBJECT_ID_TEXT];
    fake_gate_make(&gate);
    char *cuda = xprintf("%s.cuda", gate.bench.program);
    helper_write_text(cuda, "");
    fake_gate_policy(&gate, "[device \"gpu\"]\n\tkind = cuda\n", "\ttrust = device-code\n");
    fake_gate_commit(base, &gate, "main", NULL, names, "cuda", 1);
    fake_gate_commit(head, &gate, "main", base, names, "cuda", 2);
    fake_gate_run(&gate, base, head, 0);
    plumb_said(&gate.outcome, CONCLUDE_UNDECIDED,
               "cuda-copies 4x4x4:fp32-fp32:tn in a stream cannot be recorded");
    plumb_said(&gate.outcome, CONCLUDE_UNDECIDED, "1 not measured");
    assert_null(strstr(gate.outcome.output, "cuda-elsewhere"));
    free(cuda);
    fake_gate_remove(&gate);
}

TEST(a_change_is_to_blame_for_what_does_not_build_only_where_its_base_does)
{
    struct build_error error = {.file = "a.cu", .line = 7, .text = "no such name"};
    struct build_failure failure = {.reason = "make failed; a.h is not committed"};
    struct run run = {.head.id = "0123456789abcdef", .base.id = "fedcba9876543210"};
    const char *detail = built_first_error(&failure, &run.arena);
    assert_string_equal(detail, failure.reason);
    failure.errors = &error;
    failure.count = 1;
    detail = built_first_error(&failure, &run.arena);
    assert_string_equal(detail, "a.cu:7: no such name; a.h is not committed");
    conclude_unbuilt(&run, "main", detail);
    assert_int_equal(run.conclusion, CONCLUDE_BROKEN);
    assert_string_equal(run.headline, "BROKEN: commit 0123456789ab does not build: a.cu:7: no such "
                                      "name; a.h is not committed");
    run.unbuilt[ROLE_BASE] = failure;
    conclude_unbuilt(&run, NULL, "a.cu:7: no");
    assert_int_equal(run.conclusion, CONCLUDE_FAILED);
    assert_string_equal(run.headline, "NOT BUILT: commit 0123456789ab does not build, nor does its "
                                      "base fedcba987654: a.cu:7: no");
    conclude_unbuilt(&run, "main", "a.cu:7: no");
    assert_non_null(strstr(run.headline, "main captures by another command by now, merge it"));
    arena_free(&run.arena);
}
