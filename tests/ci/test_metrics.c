// SPDX-License-Identifier: Apache-2.0
//
// What a policy asks for beside time: each metric is found when it gets worse beyond its margin,
// and quiet within; it ends a gate with 1 and says why, stands in every report, in the store and
// its exports, in `history` and `events`, and can be accepted. Builds, store and program are real;
// the times are told (tests/helpers/told_time.h).
#include "baselines/store.h"
#include "ci/gate/conclude.h"
#include "ci/history/load.h"
#include "ci/settings/metric.h"
#include "tests/helpers/helper_fake_bench.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_library.h"
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct plumb_outcome outcome;

// ---- the rule ----

TEST(what_is_beyond_the_margin_is_worse_in_the_direction_that_is_said)
{
    static const struct {
        double base, head, margin, least;
        bool higher;
        enum verdict_kind kind;
    } cases[] = {
        {64, 64, 0, 0, false, VERDICT_SAME},          {64, 65, 0, 0, false, VERDICT_SLOWER},
        {64, 63, 0, 0, false, VERDICT_FASTER},        {64, 65, 0, 0, true, VERDICT_FASTER},
        {64, 63, 0, 0, true, VERDICT_SLOWER},         {1000, 1010, 0.01, 0, false, VERDICT_SAME},
        {1000, 1011, 0.01, 0, false, VERDICT_SLOWER}, {1000, 989, 0.01, 0, true, VERDICT_SLOWER},
        {1000, 1200, 0.01, 256, false, VERDICT_SAME}, {0, 48, 0.5, 0, false, VERDICT_SLOWER},
        {48, 0, 0.5, 0, false, VERDICT_FASTER},       {0, 0, 0, 0, false, VERDICT_SAME},
        {NAN, 64, 0, 0, false, VERDICT_NEW},          {64, NAN, 0, 0, false, VERDICT_NOT_MEASURED},
        {NAN, NAN, 0, 0, true, VERDICT_NOT_MEASURED}, {1e18, 1e18, 0, 0, false, VERDICT_SAME},
        {0.1, 0.125, 0.25, 0, false, VERDICT_SAME}};
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        const enum verdict_kind kind = metric_standing(
            cases[i].base, cases[i].head, cases[i].margin, cases[i].least, cases[i].higher);
        if (kind != cases[i].kind)
            fail_msg("case %zu: %s", i, verdict_kind_name(kind));
    }
    assert_true(fabs(metric_worse_by(100, 110, false) - log(1.1)) < 1e-12);
    assert_true(fabs(metric_worse_by(100, 110, true) + log(1.1)) < 1e-12);
    assert_true(isfinite(metric_worse_by(0, 48, false)));
}

// ---- the policy ----

TEST(bad_words_of_a_metric_are_refused_with_their_line)
{
    static const char begin[] = "[build]\n\tcommand = make\n[device \"cpu\"]\n\tkind = host\n"
                                "[problems \"p\"]\n\tproblem = 4x4x4:fp32\n[kernel \"*\"]\n"
                                "\tproblems = p\n";
    static const char *const cases[][2] = {
        {"[metric]\n\tmargin = 1%\n", "[metric] needs a name"},
        {"[metric \"registers\"]\n\tmargin = -1%\n", "p:10: metric.margin = -1%: needs a number"},
        {"[metric \"registers\"]\n\tmargin = nan\n", "needs a number"},
        {"[metric \"registers\"]\n\tleast = -3\n", "needs a number from 0"},
        {"[metric \"registers\"]\n\tleast = 1e400\n", "needs a number from 0"},
        {"[metric \"registers\"]\n\tbetter = best\n", "is either lower or higher"},
        {"[metric \"registers\"]\n\tbuilds = 0\n", "needs a whole number from 1 to 9"},
        {"[metric \"registers\"]\n\tcolour = red\n", "unknown key colour"},
        {"[metric \"registers\"]\n\tmargin = 1%\n\tmargin = 2%\n", "is given twice"},
        {"[metric \"speed\"]\n",
         "what = speed is no metric; there are build-seconds, library-size"},
        {"[metric \"a b\"]\n\twhat = registers\n", "its name is a word"},
        {"[metric \"*\"]\n\twhat = registers\n", "its name is a word"},
        {"[metric \"build-seconds\"]\n\tkernel = gemm\n", "leave `kernel` out"}};
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct policy policy;
        struct error err;
        char *text = xprintf("%s%s", begin, cases[i][0]);
        assert_int_equal(policy_parse(&policy, text, strlen(text), "p", &err), -1);
        if (!strstr(err.text, cases[i][1]))
            fail_msg("%s said: %s", cases[i][0], err.text);
        free(text);
    }
}

// A head's policy cannot loosen what the trusted one asks.
TEST(of_two_policies_the_smaller_margin_counts)
{
    static const char format[] = "[build]\n\tcommand = make\n[device \"cpu\"]\n\tkind = host\n"
                                 "[problems \"p\"]\n\tproblem = 4x4x4:fp32\n[kernel \"*\"]\n"
                                 "\tproblems = p\n[metric \"library-size\"]\n\tmargin = %s\n%s";
    struct policy ours, trusted;
    struct error err;
    bool changed;
    char *loose = xprintf(format, "90%", "[metric \"stack\"]\n"),
         *strict = xprintf(format, "2%", "");
    assert_int_equal(policy_parse(&ours, loose, strlen(loose), "o", &err), 0);
    assert_int_equal(policy_parse(&trusted, strict, strlen(strict), "t", &err), 0);
    assert_int_equal(policy_confine(&changed, &ours, &trusted, &err), 0);
    assert_int_equal(ours.metric_count, 2);
    assert_true(fabs(metric_margin(&ours.metrics[0]) - 0.02) < 1e-12);
    policy_free(&ours);
    policy_free(&trusted);
    free(loose);
    free(strict);
}

TEST(a_margin_alone_is_that_margin_where_nothing_scatters)
{
    struct arena arena = {0};
    struct policy_metric m = {.metric = metric_find("library-size"), .margin = -1, .least = -1};
    assert_true(metric_margin(&m) > 0 && metric_least(&m) > 0);
    m.margin = 0.5;
    assert_true(metric_least(&m) <= 0);
    m.least = 7;
    assert_true(metric_least(&m) > 6);
    m = (struct policy_metric){.metric = metric_find("build-seconds"), .margin = 0.1, .least = -1};
    assert_true(metric_least(&m) > 0);
    const char *words = metric_words(&arena);
    for (char *word = strtok(arena_strdup(&arena, words), ", "); word; word = strtok(NULL, ", "))
        assert_non_null(metric_find(word));
    assert_null(metric_find("register"));
    arena_free(&arena);
}

// ---- each metric of the table, found and quiet ----

struct sides {
    char *paths[2];
    struct built built[2];
    struct built_kernel kernels[2];
    struct run run;
    struct context context;
    struct policy_metric metric;
};

static void make_sides(struct sides *s, const char *what, const char *device)
{
    static const struct options options = {0};
    *s = (struct sides){.context = {.options = &options},
                        .metric = {.name = what, .margin = -1, .least = -1, .builds = 1}};
    s->metric.metric = metric_find(what);
    assert_non_null(s->metric.metric);
    s->context.policy.metrics = &s->metric;
    s->context.policy.metric_count = 1;
    for (int role = ROLE_BASE; role <= ROLE_HEAD; role++) {
        s->paths[role] = library_path(role == ROLE_BASE ? "base.so" : "head.so");
        s->kernels[role] = (struct built_kernel){
            .name = "gemm", .file = "gemm.so", .device = device, .library = s->paths[role]};
        s->built[role] =
            (struct built){.state = MEASURED_OK, .kernels = &s->kernels[role], .count = 1};
    }
}

static const struct metric_result *find(struct sides *s)
{
    struct error err;
    const struct to_build *const to[] = {NULL, NULL};
    const struct work_part whole = {0};
    if (metrics_find(&s->run, &s->context, &s->built[ROLE_BASE], &s->built[ROLE_HEAD], to, &whole,
                     &err))
        fail_msg("%s", err.text);
    assert_int_equal(s->run.metric_count, 1);
    return s->run.metrics;
}

static void free_sides(struct sides *s)
{
    for (int role = ROLE_BASE; role <= ROLE_HEAD; role++)
        free(s->paths[role]);
    run_free(&s->run);
}

static void make_two(const char *name, uint32_t first, uint32_t second)
{
    static unsigned char fat[32768];
    const uint32_t registers[] = {first, second};
    const char *const names[] = {"one", "two"};
    size_t used = 0;
    for (size_t i = 0; i < 2; i++) {
        struct cubin_plan plan = library_usual_cubin;
        struct cubin cubin;
        plan.kernel = names[i];
        plan.registers = registers[i];
        cubin_make(&cubin, &plan);
        used += fatbin_make(fat + used, 2, cubin.bytes, cubin.used);
    }
    library_make(name, fat, used);
}

TEST(of_several_functions_the_largest_figure_counts)
{
    struct sides s;
    make_two("base", 40, 64);
    make_two("head", 40, 72);
    make_sides(&s, "registers", "cuda");
    assert_int_equal(find(&s)->kind, VERDICT_SLOWER);
    assert_true(s.run.metrics[0].base == 64 && s.run.metrics[0].head == 72);
    free_sides(&s);
    make_two("head", 64, 40); // in another order
    make_sides(&s, "registers", "cuda");
    assert_int_equal(find(&s)->kind, VERDICT_SAME);
    free_sides(&s);
}

TEST(what_the_cubin_says_is_held_to_the_base)
{
    struct cubin_plan base = library_usual_cubin, head = library_usual_cubin;
    struct sides s;
    base.registers = 64;
    head.registers = 72;
    base.shared = head.shared = 1024;
    library_make_cuda("base", &base);
    library_make_cuda("head", &head);
    make_sides(&s, "registers", "cuda");
    assert_int_equal(find(&s)->kind, VERDICT_SLOWER);
    assert_string_equal(s.run.metrics[0].sentence,
                        "registers of gemm worse: 64 -> 72 (+12.50 %; margin 0 %)");
    s.metric.margin = 0.125;
    assert_int_equal(find(&s)->kind, VERDICT_SAME);
    s.metric.margin = -1;
    s.metric.higher = true;
    assert_int_equal(find(&s)->kind, VERDICT_FASTER);
    s.metric.higher = false;
    s.metric.kernel = "other*";
    assert_int_equal(find(&s)->kind, VERDICT_NOT_MEASURED);
    assert_non_null(strstr(s.run.metrics[0].sentence, "no library that it is asked of"));
    free_sides(&s);
    static const char *const same[] = {"spills", "stack", "shared-memory", "code-size"};
    for (size_t i = 0; i < ARRAY_COUNT(same); i++) {
        make_sides(&s, same[i], "cuda");
        assert_int_equal(find(&s)->kind, VERDICT_SAME);
        free_sides(&s);
    }
    head.shared = 2048;
    library_make_cuda("head", &head);
    make_sides(&s, "shared-memory", "cuda");
    assert_int_equal(find(&s)->kind, VERDICT_SLOWER);
    free_sides(&s);
}

TEST(a_file_is_as_long_as_it_is_and_host_code_has_no_registers)
{
    struct sides s;
    library_compile("base", "int a(void) { return 1; }\n", "");
    library_compile("head", "const char b[9000] = {1}; int a(void) { return b[3]; }\n", "");
    make_sides(&s, "library-size", "host");
    assert_int_equal(find(&s)->kind, VERDICT_SLOWER);
    assert_string_equal(s.run.metrics[0].subject, "gemm.so");
    free_sides(&s);
    make_sides(&s, "registers", "host");
    assert_int_equal(find(&s)->kind, VERDICT_NOT_MEASURED);
    free_sides(&s);
}

// Of what was measured; the same code is not looked at again.
TEST(memory_is_what_was_seen_while_measuring)
{
    struct sides s;
    struct device device = {.uuid = "GPU-1"};
    struct result results[2] = {{.kernel = "gemm"}, {.kernel = "gemm"}};
    for (int i = 0; i < 2; i++) {
        results[i].problem = (struct problem){.m = 16 << i, .n = 64, .k = 64, .batch = 1};
        results[i].base.memory_bytes = 64e6;
    }
    results[0].head.memory_bytes = 80e6;
    make_sides(&s, "memory-peak", "cuda");
    s.run.results = results;
    s.run.count = 2;
    s.run.devices = &device;
    s.run.device_count = 1;
    assert_int_equal(find(&s)->kind, VERDICT_SLOWER);
    results[0].head.memory_bytes = 65e6;
    assert_int_equal(find(&s)->kind, VERDICT_SAME);
    results[0].head.memory_bytes = 30e6;
    assert_int_equal(find(&s)->kind, VERDICT_FASTER);
    free_sides(&s);
}

// ---- as a user ----

static char *directory, *bench, *policy;
static char ids[8][OBJECT_ID_TEXT];

static void write_policy(const char *end)
{
    char *text = xprintf(
        "[build]\n\tsandbox = off\n\tinput = kernels\n"
        "\tcommand = \"cc -shared -fPIC -o \\\"$PLUMB_OUT/simple.so\\\" "
        "\\\"$PLUMB_SOURCE\\\"/kernels/simple.c && i=0 && read n < "
        "\\\"$PLUMB_SOURCE\\\"/kernels/work && while test $i -lt $n; do i=$((i+1)); done\"\n"
        "[device \"host\"]\n\tkind = host\n[problems \"p\"]\n\tproblem = 4x4x4:fp32\n"
        "[kernel \"*\"]\n\tproblems = p\n\tmargin = 4%%\n[gate]\n\tprocesses = 2\n\tself-test = "
        "0\n\tundecided = pass\n%s",
        end);
    helper_write_text(policy, text);
    free(text);
}

// A commit whose library holds so many bytes, and whose build counts so far.
static void commit(int at, const char *bytes, const char *work)
{
    char *text =
        xprintf("const char takes[] = \"fake-time=1\";\nconst char room[%s] = {1};\n", bytes);
    char *counts = xprintf("%s\n", work);
    const struct helper_file files[] = {{"kernels/simple.c", text, 0}, {"kernels/work", counts, 0}};
    const char *parents[] = {at ? ids[at - 1] : NULL};
    helper_repo_commit(ids[at], directory, "main", parents, at > 0, at, "step\n", files, 2);
    free(counts);
    free(text);
}

static int set_up(void **state)
{
    if (library_set_up(state))
        return -1;
    directory = fake_bench_repository(&bench);
    policy = xprintf("%s/policy.cfg", directory);
    commit(0, "100", "10");
    commit(1, "20000", "10");
    commit(2, "20004", "11");
    commit(3, "90", "900000");
    commit(4, "80", "12");
    return 0;
}

static int tear_down(void **state)
{
    helper_discard(directory);
    free(directory);
    free(bench);
    free(policy);
    return library_tear_down(state);
}

AROUND_ALL(set_up, tear_down);

#define GATE(base, head, code, part)                                                               \
    PLUMB_EXPECT(&outcome, directory, code, part, "gate", "--policy", policy, "--bench", bench,    \
                 "--base", ids[base], "--head", ids[head], "--quiet")

static void has(const char *file, const char *part)
{
    char *path = xprintf("%s/plumb-report/%s", directory, file), *text = helper_read(path, NULL);
    if (!strstr(text, part))
        fail_msg("%s lacks %s:\n%.3000s", file, part, text);
    free(text);
    free(path);
}

TEST(a_larger_library_fails_the_gate_and_every_report_says_why)
{
    write_policy("[metric \"library-size\"]\n\tmargin = 5%\n");
    GATE(0, 1, 1, "WORSE: 1 same, 1 metric worse: library-size of simple.so worse: ");
    has("results.json", "\"kind\":\"worse\"");
    has("junit.xml", "<failure type=\"worse\"");
    has("comment.md", "library-size of simple.so worse");
    has("summary.md", "worse | library");
    has("index.html", "Beside time");
    has("annotations.txt", "::error title=library-size worse::");
    has("metrics.csv", "base_commit,commit,name,what,subject,");
    has("metrics.csv", ",library-size,library-size,simple.so,,B,");
    GATE(1, 2, 0, "OK: 1 same");
    GATE(2, 3, 0, "better       library-size of simple.so better");
    write_policy("[metric \"library-size\"]\n\tmargin = 5%\n\tbetter = higher\n");
    GATE(2, 3, 1, "library-size of simple.so worse");
    write_policy("[metric \"library-size\"]\n\tmargin = 5%\n\tleast = 1m\n");
    GATE(0, 1, 0, "OK: 1 same");
}

TEST(a_slower_build_is_built_again_before_it_fails)
{
    write_policy("[metric \"build-seconds\"]\n\tleast = 0.2\n");
    GATE(0, 1, 0, "OK: 1 same");
    GATE(2, 3, 1, "WORSE: 1 same, 1 metric worse: build-seconds worse: ");
    GATE(3, 4, 0, "better       build-seconds better");
    GATE(4, 4, 0, "OK: 1 same");
}

// Of three builds each, in turn, the base's last one and the head's first two are slow: the medians
// lie apart, the builds do not.
TEST(builds_that_scatter_beyond_the_margin_are_undecided)
{
    char *script = xprintf("%s/build.sh", directory), *counted = xprintf("%s/counted", directory);
    char *text = xprintf("cc -shared -fPIC -o \"$PLUMB_OUT/simple.so\" "
                         "\"$PLUMB_SOURCE\"/kernels/simple.c\nread c < '%s'\n"
                         "echo $((c + 1)) > '%s'\ni=0\n"
                         "case $c in 1 | 3 | 4)\n"
                         "while test $i -lt 900000; do i=$((i + 1)); done ;; esac\n",
                         counted, counted);
    static const char *const ends[] = {"", "[metric \"build-seconds\"]\n\tleast = 0.2\n",
                                       ("\tundecided = pass\n[metric \"build-seconds\"]\n"
                                        "\tleast = 0.2\n")};
    static const char *const says[] = {"OK: 1 same",
                                       ("UNDECIDED: 1 same, 1 metric undecided: build-seconds "
                                        "undecided: "),
                                       "OK: 1 same, 1 metric undecided"};
    helper_write_text(script, text);
    for (size_t i = 0; i < ARRAY_COUNT(ends); i++) {
        char *whole = xprintf("[build]\n\tsandbox = off\n\tinput = kernels\n"
                              "\tcommand = sh '%s'\n[device \"host\"]\n\tkind = host\n"
                              "[problems \"p\"]\n\tproblem = 4x4x4:fp32\n[kernel \"*\"]\n"
                              "\tproblems = p\n\tmargin = 4%%\n[gate]\n\tprocesses = 2\n"
                              "\tself-test = 0\n%s",
                              script, ends[i]);
        helper_write_text(counted, "0\n");
        helper_write_text(policy, whole);
        GATE(0, 1, i == 1 ? 2 : 0, says[i]);
        free(whole);
    }
    plumb_said(&outcome, 0, "but builds of one side are among the other's");
    free(text);
    free(counted);
    free(script);
}

// Accepted by what comes with the change, named by what the gate found.
TEST(what_is_meant_is_accepted)
{
    write_policy("[metric \"library-size\"]\n\tmargin = 5%\n");
    GATE(0, 1, 1, "WORSE");
    PLUMB_EXPECT(&outcome, directory, 0, "series = simple.so metric:library-size *", "accept",
                 "--dry-run", "--who", "Ann <a@b>", "--reason", "a table");
    struct metric_result m = {.name = "library-size",
                              .subject = "simple.so",
                              .device = "",
                              .sentence = "s",
                              .base = 1000,
                              .head = 1500,
                              .margin = 0.05,
                              .kind = VERDICT_SLOWER};
    struct run run = {.metrics = &m, .metric_count = 1};
    struct epoch epoch = {
        .series = "simple.so metric:library-size *", .level = log(1.4), .reason = "r", .who = "w"};
    const struct epoch_list list = {.epochs = &epoch, .count = 1};
    const struct metric_result *first;
    metrics_accept(&run, &list);
    assert_int_equal(m.kind, VERDICT_SLOWER); // it is more than was accepted
    epoch.level = log(1.5);
    metrics_accept(&run, &list);
    assert_int_equal(m.kind, VERDICT_ACCEPTED);
    assert_int_equal(metrics_of_kind(&first, &run, VERDICT_SLOWER), 0);
    assert_string_equal(metric_short(&m, &run.arena), "s; accepted in this change: r");
    m.kind = VERDICT_UNDECIDED; // a gate of the same change, whose builds scattered
    text_copy(run.base.id, sizeof(run.base.id), "1");
    metrics_accept(&run, &list);
    assert_int_equal(m.kind, VERDICT_ACCEPTED);
    run_free(&run);
}

// Each part measures its own series; the figures of builds are the first part's. What the parts
// found stands in the whole, as one gate would have said it.
TEST(a_gate_in_parts_says_it_once_when_it_is_joined)
{
    write_policy("[metric \"library-size\"]\n\tmargin = 5%\n[problems \"q\"]\n"
                 "\tproblem = 8x8x8:fp32\n\tproblem = 16x16x16:fp32\n[kernel \"s*\"]\n\tproblems = "
                 "p\n\tproblems = q\n");
    static const char *const parts[][2] = {{"1/2", "one.db"}, {"2/2", "two.db"}};
    for (size_t i = 0; i < ARRAY_COUNT(parts); i++)
        PLUMB_EXPECT(&outcome, directory, 0, "", "gate", "--policy", policy, "--bench", bench,
                     "--base", ids[0], "--head", ids[1], "--quiet", "--part", parts[i][0],
                     "--store", parts[i][1]);
    PLUMB_EXPECT(&outcome, directory, 0, "", "store", "merge", "two.db", "one.db", "--store",
                 "parts.db");
    PLUMB_EXPECT(&outcome, directory, 1,
                 "1 metric worse: library-size of simple.so worse: ", "gate", "--policy", policy,
                 "--base", ids[0], "--head", ids[1], "--join", "parts.db", "--quiet");
    plumb_said(&outcome, 1, "worse        library-size of simple.so");
    has("metrics.csv", ",library-size,library-size,simple.so,,B,");
    PLUMB_EXPECT(&outcome, directory, 0, "simple.so metric:library-size *", "accept", "--dry-run",
                 "--who", "Ann <a@b>", "--reason", "r");
    write_policy("");
    GATE(0, 1, 0, "OK: 1 same");
    char *path = xprintf("%s/plumb-report/metrics.csv", directory), *text = helper_read(path, NULL);
    assert_int_equal(helper_occurrences(text, "\n"), 1);
    free(text);
    free(path);
}

static void run_of(int at, int code, const char *part)
{
    PLUMB_EXPECT(&outcome, directory, code, part, "run", ids[at], "--policy", policy, "--bench",
                 bench, "--store", "runs.db", "--quiet");
}

static void the_name_of_an_event_may_be_cut(const char *name)
{
    struct store *store;
    struct metric_history history;
    struct arena arena = {0};
    struct error err;
    const struct epoch_list none = {0};
    char *path = xprintf("%s/runs.db", directory), cut[6];
    snprintf(cut, sizeof(cut), "%.5s", name);
    assert_int_equal(store_open(&store, path, STORE_READ, &err), 0);
    assert_int_equal(metric_history_load(&history, store, NULL, &none, &arena, &err), 0);
    assert_non_null(metric_history_event(&history, cut));
    assert_null(metric_history_event(&history, ""));
    assert_null(metric_history_event(&history, "zzz"));
    store_close(store);
    arena_free(&arena);
    free(path);
}

// The newest value of each in what other tools read, all of them in a table, and on the site where
// they changed.
static void exports_and_site_have_it(void)
{
    static const char *const site[][2] = {
        {"index.html", "Worse beside time"},
        {"index.json", "\"worse\":["},
        {"metrics.html", "library-size of simple.so worse: "},
        {"metrics.html", "id=\"m-"},
        {"metrics.json", "\"metric\":\"library-size\",\"subject\":\"simple.so\""},
        {"feed.xml", "library-size of simple.so worse: "}};
    PLUMB_EXPECT(&outcome, directory, 0, "{\n\"simple 4x4x4:fp32-fp32:tn ", "export", "--store",
                 "runs.db", "--format", "bmf");
    plumb_said(&outcome, 0, "\"simple.so\":{\"library-size\":{\"value\":");
    PLUMB_EXPECT(&outcome, directory, 0,
                 "plumb_metric{metric=\"library-size\",what=\"library-size\",of=\"simple.so\","
                 "device=\"\",unit=\"B\"} ",
                 "export", "--store", "runs.db", "--format", "openmetrics");
    PLUMB_EXPECT(&outcome, directory, 0, ",library-size,library-size,simple.so,,B,", "export",
                 "--store", "runs.db", "--format", "metrics");
    plumb_said(&outcome, 0, ids[1]);
    PLUMB_EXPECT(&outcome, directory, 0, "series", "site", "--store", "runs.db", "--out", "site");
    for (size_t i = 0; i < ARRAY_COUNT(site); i++) {
        char *path = xprintf("%s/site/%s", directory, site[i][0]), *text = helper_read(path, NULL);
        if (!strstr(text, site[i][1]))
            fail_msg("%s lacks %s", site[i][0], site[i][1]);
        free(text);
        free(path);
    }
}

// Runs of all commits: the history has each value, and names the commits of changes; what was taken
// back is fixed; what is exported is imported as it was.
TEST(history_and_events_tell_it_commit_by_commit)
{
    write_policy("[metric \"library-size\"]\n\tmargin = 5%\n");
    const char *store = "runs.db", *other = "other.db";
    run_of(0, 0, "OK");
    run_of(1, 1, "WORSE: ");
    PLUMB_EXPECT(&outcome, directory, 1, "WORSE: 1 event of metrics is open", "events", "--check",
                 "--store", store);
    run_of(2, 0, "OK");
    run_of(3, 0, "library-size of simple.so better");
    char *name = xprintf("%.10s-metrics", ids[1]), *row = xprintf("%.10s library-size", ids[1]);
    PLUMB_EXPECT(&outcome, directory, 0, "library-size of simple.so: 4 commits", "history",
                 "--store", store);
    plumb_said(&outcome, 0, row);
    PLUMB_EXPECT(&outcome, directory, 0, "metric-change", "history", "--store", store, "--format",
                 "csv");
    PLUMB_EXPECT(&outcome, directory, 0, "\"metric\":\"library-size\"", "history", "--store", store,
                 "--format", "json");
    PLUMB_EXPECT(&outcome, directory, 0, "fixed", "events", "show", name, "--store", store);
    PLUMB_EXPECT(&outcome, directory, 0, name, "events", "--check", "--store", store);
    PLUMB_EXPECT(&outcome, directory, 0, "metric:library-size", "events", "accept", name,
                 "--dry-run", "--reason", "r", "--who", "Ann <a@b>", "--store", store);
    PLUMB_EXPECT(&outcome, directory, 0, "", "export", "--store", store, "--output", "all.json");
    PLUMB_EXPECT(&outcome, directory, 0, "", "import", "all.json", "--store", other);
    PLUMB_EXPECT(&outcome, directory, 0, row, "history", "--store", other);
    PLUMB_EXPECT(&outcome, directory, 0, "", "store", "merge", store, other, "--store", "all.db");
    PLUMB_EXPECT(&outcome, directory, 0, row, "history", "--store", "all.db");
    the_name_of_an_event_may_be_cut(name);
    exports_and_site_have_it();
    free(row);
    free(name);
}
