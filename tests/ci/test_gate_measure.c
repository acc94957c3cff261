// SPDX-License-Identifier: Apache-2.0
//
// Whole gates by the real program, with a bench that keeps a journal: how many processes they take,
// what a killed one does again, and what becomes of series there was no time for.
#include "tests/helpers/helper_fake_bench.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { JOURNAL = 1 << 16 };

static struct fake_gate fake;
static char base[OBJECT_ID_TEXT];
static char journal[JOURNAL];

static void write_policy(const char *gate)
{
    char *rest = xprintf("[gate]\n\tprocesses = 3\n%s[measure]\n\ttimeout = 20\n", gate);
    fake_gate_policy(&fake, "", rest);
    free(rest);
}

// All libraries are different from those of other values.
static void commit(char id[OBJECT_ID_TEXT], const char *branch, const char *parent,
                   const char *const *names, int value)
{
    fake_gate_commit(id, &fake, branch, parent, names, "", value);
}

static int set_up(void **state)
{
    fake_gate_make(&fake);
    return 0;
}

static int tear_down(void **state)
{
    fake_gate_remove(&fake);
    return 0;
}

AROUND_ALL(set_up, tear_down);

static void read_journal(void)
{
    char *path = xprintf("%s.journal", fake.bench.program);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    journal[fread(journal, 1, JOURNAL - 1, file)] = '\0';
    fclose(file);
    free(path);
}

static void gate(const char *head, double kill_after_s)
{
    fake_bench_write(&fake.bench, "journal", "");
    fake_gate_run(&fake, base, head, kill_after_s);
    read_journal();
}

static size_t times(const char *what)
{
    return helper_occurrences(journal, what);
}

static const char *const names[] = {"good-1",   "good-2",   "good-3",   "hang-close",
                                    "slower-1", "slower-2", "slower-3", NULL};

TEST(all_series_and_the_self_test_share_the_processes)
{
    char head[OBJECT_ID_TEXT];
    fake_bench_write(&fake.bench, "calm", "");
    write_policy("\tself-test = 2\n");
    commit(base, "base", NULL, names, 1);
    commit(head, "together", base, names, 2);
    gate(head, 0);
    plumb_said(&fake.outcome, 1, "SLOWER: 3 slower, 4 same");
    assert_non_null(strstr(fake.outcome.output, "7 series side by side in 3 processes"));
    // Besides: one child tells what device there is, and each build's kernels are listed by one.
    assert_int_equal(times("start\n"), 3 + 3);
    assert_int_equal(times("open slower-") + times("open good-") + times("open hang-"),
                     3 * 3 + 4 + 2);
    fake_bench_write(&fake.bench, "calm", NULL);
}

// A recorder takes longer to start than to record. Both of the first library's wait for all four
// processes, which start after the two that list the builds, before they tell their records: so
// those of the next one start beside them, or nobody comes. The same holds for first looks at what
// did not change, which need the head's alone: one waits for the other. No record is made here, so
// nothing else starts a process in between.
TEST(recorders_of_the_next_library_start_beside_those_at_work)
{
    static const char *const recorded[] = {"cuda-changed-joined-6-1", "cuda-changed-last-2",
                                           "cuda-same-joined-8-3", "cuda-same-last-4", NULL};
    char first[OBJECT_ID_TEXT], head[OBJECT_ID_TEXT];
    char *cuda = xprintf("%s.cuda", fake.bench.program);
    helper_write_text(cuda, "");
    fake_gate_policy(&fake, "[device \"gpu\"]\n\tkind = cuda\n",
                     "\ttrust = device-code\n[gate]\n\tself-test = 0\n");
    fake_gate_commit(first, &fake, "recorded", NULL, recorded, "cuda-changed", 21);
    fake_gate_commit(head, &fake, "recorded", first, recorded, "cuda-changed", 22);
    fake_bench_write(&fake.bench, "journal", "");
    fake_gate_run(&fake, first, head, 0);
    read_journal();
    plumb_said(&fake.outcome, 2, "cannot be recorded");
    assert_int_equal(times("start\n") - times("ask\n"), 2 + 4 + 2);
    assert_int_equal(times("joined\n"), 2 + 1); // of both builds, and of the look
    assert_int_equal(times("alone\n"), 0);
    unlink(cuda);
    free(cuda);
}

// Of two devices in the policy each is told by its own series.
TEST(each_device_tests_itself)
{
    char head[OBJECT_ID_TEXT];
    fake_bench_write(&fake.bench, "calm", "");
    fake_bench_write(&fake.bench, "units", "2");
    fake_gate_policy(&fake, "[device \"second\"]\n\tkind = host\n\tindex = 1\n",
                     "[gate]\n\tprocesses = 3\n\tself-test = 2\n[measure]\n\ttimeout = 20\n");
    commit(head, "two", base, names, 3);
    gate(head, 0);
    plumb_said(&fake.outcome, 1, "SLOWER: 6 slower, 8 same");
    assert_int_equal(times("open slower-") + times("open good-") + times("open hang-"),
                     2 * (3 * 3 + 4) + 2); // the self test has two series in all
    fake_bench_write(&fake.bench, "units", NULL);
    fake_bench_write(&fake.bench, "calm", NULL);
}

// Whatever the self test opens it opens for itself alone, unless the gate does so anyway: a series
// of another kernel costs its library and its reference.
TEST(self_test_opens_no_kernel_that_is_not_compared)
{
    char head[OBJECT_ID_TEXT];
    fake_bench_write(&fake.bench, "calm", "");
    write_policy("\tself-test = 3\n");
    fake_gate_commit(head, &fake, "some", base, names, "slower-", 11);
    gate(head, 0);
    plumb_said(&fake.outcome, 1, "SLOWER: 3 slower, 4 same");
    assert_non_null(strstr(fake.outcome.output, "3 series side by side in 3 processes"));
    assert_int_equal(times("start\n"), 3 + 3);
    assert_int_equal(times("open slower-"), 3 * 3 + 3);
    assert_int_equal(times("open "), times("open slower-"));
    fake_bench_write(&fake.bench, "calm", NULL);
}

// A self-test says whether the run's pairs can be believed: without pairs nothing is measured.
TEST(gate_that_compares_nothing_measures_nothing)
{
    write_policy("\tself-test = 2\n");
    gate(base, 0);
    plumb_said(&fake.outcome, 0, "OK: 7 same");
    assert_int_equal(times("open "), 0);
}

// One library of three does not build: the two others are judged, and only its series is broken.
TEST(a_library_that_does_not_build_takes_no_other_with_it)
{
    static const char *const three[] = {"good-1", "slower-1", "good-2", NULL};
    char start[OBJECT_ID_TEXT], half[OBJECT_ID_TEXT], own[OBJECT_ID_TEXT];
    const struct helper_file files[] = {{"kernels/good-1.c", "int value = ;\n", 0},
                                        {"kernels/slower-1.c", "int value = 4;\n", 0}};
    text_copy(own, sizeof(own), base);
    fake_bench_write(&fake.bench, "calm", "");
    write_policy("\tself-test = 0\n");
    fake_gate_commit(start, &fake, "three", NULL, three, "", 1);
    const char *parent = start;
    helper_repo_commit(half, fake.bench.directory, "half", &parent, 1, 9, "x\n", files, 2);
    text_copy(base, sizeof(base), start);
    gate(half, 0);
    plumb_said(&fake.outcome, 3, "does not build: kernels/good-1.c:1: error: ");
    plumb_said(&fake.outcome, 3, "the libraries that were built all the same are judged");
    plumb_said(&fake.outcome, 3,
               "broken       good-1 4x4x4:fp32-fp32:tn does not build: kernels/good-1.c");
    plumb_said(&fake.outcome, 3, "slower       slower-1 4x4x4:fp32-fp32:tn");
    plumb_said(&fake.outcome, 3, "BROKEN: commit ");
    assert_int_equal(helper_occurrences(fake.outcome.output, "does not build: exit status"), 1);
    // And where the base lacks it, it is new, and nothing is said of what it had before.
    text_copy(base, sizeof(base), half);
    gate(start, 0);
    plumb_said(&fake.outcome, 1, "SLOWER: 1 slower, 1 new");
    plumb_said(&fake.outcome, 1, "good-1 4x4x4:fp32-fp32:tn is new (the base does not build");
    text_copy(base, sizeof(base), own);
    fake_bench_write(&fake.bench, "calm", NULL);
}

TEST(killed_gate_goes_on_and_measures_nothing_twice)
{
    char head[OBJECT_ID_TEXT], *at = xprintf("%s.journal", fake.bench.program);
    write_policy("\tself-test = 0\n");
    commit(head, "killed", base, names, 3);
    // hang-close hangs when it has decided, after the three before it. An alarm is raised sooner
    // than "same" is said, but none of them is confirmed by then.
    plumb_mark = (struct plumb_mark){at, "close hang-close"};
    gate(head, 1);
    plumb_mark = (struct plumb_mark){0};
    free(at);
    assert_int_equal(fake.outcome.code, -1);
    assert_int_equal(times("close good-"), 3);
    assert_int_equal(times("close hang-close"), 1);
    fake_bench_write(&fake.bench, "calm", "");
    gate(head, 0);
    plumb_said(&fake.outcome, 1, "SLOWER: 3 slower, 4 same");
    assert_non_null(strstr(fake.outcome.output, "going on with the run that was interrupted"));
    assert_int_equal(times("open good-"), 0);
    assert_int_equal(times("open hang-close"), 1);
    assert_int_equal(times("open slower-"), 9);
    gate(head, 0); // a finished run is not gone on with
    assert_int_equal(times("open good-"), 3);
    fake_bench_write(&fake.bench, "calm", NULL);
}

// Pairs that scatter by 10 % and a budget of 16: the store keeps who judged and what could be
// found.
TEST(undecided_series_names_the_next_step)
{
    char head[OBJECT_ID_TEXT];
    struct run run;
    char start[OBJECT_ID_TEXT];
    text_copy(start, sizeof(start), base);
    write_policy("\tmax-pairs = 16\n\tself-test = 0\n");
    commit(base, "loud-base", NULL, (const char *const[]){"scatter-4-1", NULL}, 8);
    commit(head, "loud", base, (const char *const[]){"scatter-4-1", NULL}, 9);
    gate(head, 0);
    plumb_said(&fake.outcome, 2, "UNDECIDED: 1 undecided");
    assert_non_null(
        strstr(fake.outcome.output, " more pairs would decide it: set gate.max-pairs = "));
    assert_non_null(strstr(fake.outcome.output, " (now 16 for the first process)"));
    fake_gate_newest(&run, &fake, RUN_GATE);
    const struct verdict *v = &run.results[0].verdict;
    assert_string_equal(v->model, "gate");
    assert_true(atoi(v->version) >= 3);
    assert_true(v->detectable > 0.03 && v->detectable < 0.1);
    run_free(&run);
    text_copy(base, sizeof(base), start);
}

TEST(series_without_time_are_undecided_not_new)
{
    char head[OBJECT_ID_TEXT];
    static const char *const slow[] = {"good-1", "hang-pairs", "slower-1", NULL};
    write_policy("\tself-test = 0\n\tseconds = 1\n");
    char start[OBJECT_ID_TEXT];
    text_copy(start, sizeof(start), base);
    commit(base, "late-base", NULL, slow, 4);
    commit(head, "late", base, slow, 5);
    // The hang lasts for the policy's 20 s, and then the second is long over.
    gate(head, 0);
    plumb_said(&fake.outcome, 3, "BROKEN: 1 broken, 2 undecided");
    assert_non_null(strstr(fake.outcome.output, "set gate.seconds"));
    text_copy(base, sizeof(base), start);
}

// Slower as it is measured, and faster in a stream: each report says so, and the last line too.
TEST(a_look_that_says_the_opposite_stands_in_the_first_line)
{
    static const char *const turning[] = {"turns-1", "good-1", NULL};
    static const char *const files[] = {"index.html", "junit.xml", "summary.md", "results.json"};
    char head[OBJECT_ID_TEXT], start[OBJECT_ID_TEXT];
    text_copy(start, sizeof(start), base);
    fake_bench_write(&fake.bench, "calm", "");
    fake_bench_write(&fake.bench, "opens", "120");
    write_policy("\tself-test = 0\n\tbeside = stream isolated\n");
    commit(base, "turn-base", NULL, turning, 12);
    commit(head, "turn", base, turning, 13);
    gate(head, 0);
    plumb_said(&fake.outcome, 1, "SLOWER: 1 slower, 1 same");
    plumb_said(&fake.outcome, 1,
               ": turns-1 4x4x4:fp32-fp32:tn:cold +5.00 %, but -10.00 % in a stream\n");
    plumb_said(&fake.outcome, 1,
               "turns-1 4x4x4:fp32-fp32:tn slower with cold caches, but in a stream -10.00 % "
               "(-10.00 to -10.00): ");
    plumb_said(&fake.outcome, 1,
               "; in a stream -10.00 % (-10.00 to -10.00), alone "
               "+5.00 %");
    for (size_t i = 0; i < ARRAY_COUNT(files); i++) {
        char *path = xprintf("%s/plumb-report/%s", fake.bench.directory, files[i]);
        size_t size;
        char *text = helper_read(path, &size);
        assert_non_null(strstr(text, "in a stream -10.00 % (-10.00 to -10.00)"));
        free(text);
        free(path);
    }
    // What the store gives back says it, too.
    struct run run;
    fake_gate_newest(&run, &fake, RUN_GATE);
    assert_int_equal(run.count, 2);
    assert_non_null(strstr(run.results[1].head.beside, "stream ok -0.105361 "));
    run_free(&run);
    // Nor is anything looked at where the policy says so.
    write_policy("\tself-test = 0\n\tbeside = none\n");
    gate(head, 0);
    plumb_said(&fake.outcome, 1,
               "SLOWER: 1 slower, 1 same: turns-1 4x4x4:fp32-fp32:tn:cold +5.00 %\n");
    assert_int_equal(times("look "), 0);
    fake_bench_write(&fake.bench, "opens", NULL);
    fake_bench_write(&fake.bench, "calm", NULL);
    text_copy(base, sizeof(base), start);
}
