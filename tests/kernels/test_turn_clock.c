// SPDX-License-Identifier: Apache-2.0
//
// A turn is timed without waits for a processor, and no work hides in them.
#include "kernels/bench/arm.h"
#include "model/base.h"
#include "tests/helpers/test.h"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static double timed(double took_ns, double waited_ns, double worked_ns)
{
    const struct turn_mark begin = {5e9, 7e9}, end = {5e9 + waited_ns, 7e9 + worked_ns};
    return turn_time_ns(took_ns, 6e3, 1024, &begin, &end);
}

TEST(waits_are_no_part_of_a_turn)
{
    assert_true(timed(1006e3, 0, 1000e3) == 1000e3);
    assert_true(timed(1006e3, 9e3, 1000e3) == 1000e3); // less than a hundredth
    assert_true(timed(5006e3, 4000e3, 1000e3) == 1000e3);
}

// The empty turns were slower: others had the processor while they were taken.
TEST(no_launch_takes_less_than_a_nanosecond)
{
    assert_true(timed(5e3, 0, 0) == 1024);
    assert_true(timed(7e3, 6900, 0) == 1024); // one that waited, too
}

// What sleeps, or waits for anything but a processor, is no wait.
TEST(sleeping_is_part_of_a_turn)
{
    assert_true(timed(5006e3, 1000e3, 100e3) == 4000e3);
}

// It says that it is done, and goes on while bench waits for the processor it has; or a thread of
// its own works while the first one waits for that.
TEST(work_does_not_hide_in_waits)
{
    assert_true(timed(3006e3, 2900e3, 3000e3) == 3000e3);
    assert_true(timed(3006e3, 5900e3, 2900e3) == 2900e3);
    assert_true(timed(3006e3, 2900e3, 9000e3) == 3000e3); // many threads: never more than it took
}

static void burn(double seconds)
{
    struct timespec now;
    do
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    while ((double)now.tv_sec + 1e-9 * (double)now.tv_nsec < seconds);
}

static pid_t burner(double seconds)
{
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        burn(seconds);
        _exit(0);
    }
    return pid;
}

// Two processes on one processor: each waits for as long as the other works.
TEST(linux_counts_what_processes_wait)
{
    cpu_set_t all, one;
    struct turn_clock clock;
    int cpu = 0;
    assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
    while (!CPU_ISSET(cpu, &all))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    const pid_t pid = burner(0.2), other = burner(10);
    assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
    turn_clock_open(&clock, pid);
    if (clock.waits[0] < 0) {
        print_message("no /proc/PID/schedstat here\n");
    } else {
        const struct turn_mark begin = turn_mark_now(&clock);
        siginfo_t info;
        assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
        const struct turn_mark end = turn_mark_now(&clock);
        assert_true(end.waited_ns - begin.waited_ns > 50e6);
        assert_true(end.worked_ns > 190e6 && end.worked_ns < 300e6);
    }
    turn_clock_close(&clock);
    kill(other, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(waitpid(other, NULL, 0), other);
    const struct turn_mark none = turn_mark_now(&clock);
    assert_true(none.waited_ns == 0 && none.worked_ns == 0);
}
