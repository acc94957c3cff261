// SPDX-License-Identifier: Apache-2.0
//
// A limit of time counts what a child could use. On one processor that many others want, who is
// sound and quick does not come to it, and who hangs does, however it hangs. With real processes,
// and with the real bench and its libraries, whose two processes pass each other a baton.
//
// Label: measured
// Label: alone
// Label: unsanitized
#include "ci/settings/progress.h"
#include "runner/bench/measure.h"
#include "tests/helpers/helper_bench.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_process.h"
#include "tests/helpers/test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

// All that this program starts shares one processor.
static int set_up(void **state)
{
    cpu_set_t ours, one;
    int last = 0;
    if (sched_getaffinity(0, sizeof(ours), &ours))
        return -1;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &ours))
            last = cpu;
    }
    CPU_ZERO(&one);
    CPU_SET(last, &one);
    return sched_setaffinity(0, sizeof(one), &one);
}

AROUND_ALL(set_up, NULL);

// ---- busy loops beside a child

enum { CROWD_MOST = 64 };
static pid_t crowd[CROWD_MOST];
static int crowd_count;

// Each in a session of its own, so that no scheduler takes them for one.
static void crowd_of(int count)
{
    const pid_t parent = getpid();
    for (crowd_count = 0; crowd_count < count; crowd_count++) {
        const pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            setsid();
            if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
                _exit(1);
            for (volatile unsigned i = 0;; i++)
                ;
        }
        crowd[crowd_count] = pid;
    }
}

static int crowd_leaves(void **state)
{
    for (int i = 0; i < crowd_count; i++) {
        kill(crowd[i], SIGKILL);
        waitpid(crowd[i], NULL, 0);
    }
    crowd_count = 0;
    return 0;
}

AROUND_EACH(NULL, crowd_leaves);

// ---- what a child does

// Works until the kernel has seen it work for so many hundredths of a second. Beside others that
// takes as many times longer as there are.
#define WORKS(hundredths)                                                                          \
    "while read line </proc/self/stat; do set -- ${line##*)};"                                     \
    "test $((${12} + ${13})) -lt " #hundredths " || exit 7; done"
#define SPINS "while :; do :; done"

static struct process_result run(const char *script, double time_s)
{
    char *folder = helper_directory(); // where a lock may lie
    const struct process_plan plan = {.directory = folder, .limits = {.time_s = time_s}};
    char *whole = xprintf("exec 9>lock; %s", script);
    const struct process_result result = process_script(whole, plan);
    free(whole);
    helper_discard(folder);
    free(folder);
    return result;
}

// ---- tests

TEST(who_is_sound_is_not_ended_because_others_work)
{
    crowd_of(16);
    const struct process_result result = run(WORKS(25), 1);
    print_message("%.1f s of wall, %.2f s of work\n", result.wall_s, result.cpu_s);
    assert_int_equal(result.end, PROCESS_EXITED);
    assert_int_equal(result.code, 7);
    assert_true(result.wall_s > 1); // else the limit was not put to the test
}

// A short limit may end while the child still waits for its first turn.
TEST(nor_is_who_has_a_short_limit_and_waits_when_it_ends)
{
    crowd_of(60);
    for (int i = 0; i < 6; i++) {
        const struct process_result result = run("exit 7", 0.5);
        print_message("%.1f s of wall, %.2f s of work\n", result.wall_s, result.cpu_s);
        assert_int_equal(result.end, PROCESS_EXITED);
        assert_int_equal(result.code, 7);
    }
}

TEST(who_sleeps_or_waits_beside_them_is_ended_as_soon_as_alone)
{
    static const char *const hangs[] = {
        "sleep 100", "trap '' TERM; while :; do sleep 1; done",
        "flock -x 9; (exec 9>&-; exec 8>lock; flock -x 8) & wait" // for a lock
    };
    crowd_of(16);
    for (size_t i = 0; i < ARRAY_COUNT(hangs); i++) {
        const struct process_result result = run(hangs[i], 1);
        print_message("%.1f s of wall: %s\n", result.wall_s, hangs[i]);
        assert_int_equal(result.end, PROCESS_TIMED_OUT);
        assert_true(result.wall_s < 12);
    }
}

TEST(who_spins_beside_them_is_ended)
{
    crowd_of(4);
    const struct process_result result = run(SPINS, 1);
    print_message("%.1f s of wall, %.2f s of work\n", result.wall_s, result.cpu_s);
    assert_int_equal(result.end, PROCESS_TIMED_OUT);
    assert_true(result.cpu_s < 3);
}

TEST(threads_that_wait_for_each_other_gain_nothing)
{
    const struct process_result result =
        run("for i in 1 2 3 4 5 6 7 8; do (" SPINS ") & done; wait", 1);
    print_message("%.1f s of wall\n", result.wall_s);
    assert_int_equal(result.end, PROCESS_TIMED_OUT);
    assert_true(result.wall_s < 12);
}

// Who speaks meanwhile is held to one limit, too, and is told from a machine without time.
TEST(a_machine_without_time_is_told_from_a_child_that_hangs)
{
    char line[100];
    for (int others = 0; others <= 60; others += 60) {
        crowd_of(others);
        struct process *process = process_talk("echo begun; " SPINS, 0);
        process_allow(process, 1);
        assert_int_equal(process_read(process, line, sizeof(line), 60), PROCESS_LINE);
        assert_int_equal(process_read(process, line, sizeof(line), 60), PROCESS_LINE_TIMEOUT);
        assert_int_equal(process_crowded(process), others > 0);
        process_stop(NULL, process, 0);
        crowd_leaves(NULL);
    }
}

// What is written to a child may take so long, too: one that works first, and then reads, is sound.
TEST(who_reads_late_because_others_work_is_written_to)
{
    char *much = xcalloc(4000001, 1);
    memset(much, 'x', 4000000);
    crowd_of(16);
    struct process *process = process_talk("(" WORKS(50) "); exec cat >/dev/null", 0);
    const double begun_s = monotonic_s();
    assert_int_equal(process_write(process, much, 3), 0);
    print_message("%.1f s of wall\n", monotonic_s() - begun_s);
    assert_true(monotonic_s() - begun_s > 3); // else the limit was not put to the test
    process_stop(NULL, process, 0);
    process = process_talk("exec sleep 100", 0);
    const double again_s = monotonic_s();
    assert_int_equal(process_write(process, much, 1), -1);
    assert_true(monotonic_s() - again_s < 12);
    process_stop(NULL, process, 0);
    free(much);
}

// ---- the real bench

static struct bench_outcome measure(const char *library, const char *kernel, uint32_t pairs)
{
    struct bench_outcome outcome;
    struct error err;
    struct problem problem;
    char *program = xprintf("%s/bench", TEST_BIN);
    char *folder = helper_directory(), *log = xprintf("%s/log", folder);
    const struct bench_plan plan = {.program = program,
                                    .kind = "host",
                                    .log_path = log,
                                    .limits = {.start_s = 20, .open_s = 3, .measure_s = 3}};
    const struct bench_series series = {
        .kernel = kernel, .problem = &problem, .head = library, .base = library, .seed = 1};
    struct sample_list base = {0}, head = {0};
    struct bench_handle handle;
    struct bench *bench = NULL;
    const double begun_s = monotonic_s();
    assert_int_equal(problem_parse(&problem, "64x64x64:fp32", &err), 0);
    int status = bench_start(&bench, &plan, &err);
    if (status == 0)
        status = bench_open(&outcome, &handle, bench, &series, &err);
    if (status == 0 && outcome.state == MEASURED_OK)
        status = bench_pairs(&outcome, &base, &head, bench, &handle, pairs, 0, &err);
    print_message("%.1f s: %s %s\n", monotonic_s() - begun_s,
                  status ? err.text : measurement_state_name(outcome.state),
                  status ? "" : outcome.detail);
    bench_stop(bench);
    sample_list_free(&base);
    sample_list_free(&head);
    free(log);
    helper_discard(folder);
    free(folder);
    free(program);
    if (status)
        fail_msg("%s", err.text);
    return outcome;
}

// 200 pairs pass the baton 400 times.
TEST(a_sound_kernel_beside_busy_loops_is_not_broken)
{
    char *library = ladder_module("naive");
    crowd_of(16);
    assert_int_equal(measure(library, "naive", 200).state, MEASURED_OK);
    free(library);
}

TEST(a_kernel_that_hangs_beside_them_is)
{
    char *library = test_module("broken");
    crowd_of(16);
    const struct bench_outcome outcome = measure(library, "hang", 1);
    assert_int_equal(outcome.state, MEASURED_TIMEOUT);
    assert_true(outcome.own_fault);
    free(library);
}
