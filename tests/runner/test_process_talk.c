// SPDX-License-Identifier: Apache-2.0
//
// Children that are talked with in lines, and every way in which they stop answering.
#include "runner/child/process.h"
#include "tests/helpers/helper_process.h"
#include "tests/helpers/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

TEST(process_talks_in_lines)
{
    struct process *process = process_talk("while read line; do echo \"<$line>\"; done; exit 4", 0);
    char line[100];
    for (int i = 0; i < 100; i++) {
        char text[32];
        snprintf(text, sizeof(text), "line %d\n", i);
        assert_int_equal(process_write(process, text, 5), 0);
        assert_int_equal(process_read(process, line, sizeof(line), 60), PROCESS_LINE);
        snprintf(text, sizeof(text), "<line %d>", i);
        assert_string_equal(line, text);
    }
    struct process_result result;
    process_stop(&result, process, 60);
    assert_int_equal(result.end, PROCESS_EXITED);
    assert_int_equal(result.code, 4);
}

TEST(process_silent_child_times_out_and_is_stopped)
{
    struct process *process = process_talk("trap '' TERM; sleep 60", 0);
    char line[100];
    assert_int_equal(process_read(process, line, sizeof(line), 0.1), PROCESS_LINE_TIMEOUT);
    struct process_result result;
    process_stop(&result, process, 0.05);
    assert_int_equal(result.end, PROCESS_STOPPED);
    assert_true(result.wall_s < 40);
}

TEST(process_wall_limit_ends_a_talking_child)
{
    struct process *process = process_talk("while :; do echo again; sleep 0.01; done", 0.3);
    char line[100];
    enum process_line kind;
    while ((kind = process_read(process, line, sizeof(line), 60)) == PROCESS_LINE)
        ;
    assert_true(kind == PROCESS_LINE_TIMEOUT || kind == PROCESS_LINE_END);
    struct process_result result;
    process_stop(&result, process, 1);
    assert_int_equal(result.end, PROCESS_TIMED_OUT);
}

TEST(process_dead_child_is_the_end_not_a_signal)
{
    struct process *process = process_talk("echo bye; printf cut; exit 2", 0);
    char line[100];
    assert_int_equal(process_read(process, line, sizeof(line), 60), PROCESS_LINE);
    assert_int_equal(process_read(process, line, sizeof(line), 60), PROCESS_LINE_END);
    int sent = 0;
    for (int i = 0; i < 500 && sent == 0; i++) { // until its keeper has closed the pipe too
        sent = process_write(process, "hello?\n", 0.2);
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    assert_int_equal(sent, -1);
    struct process_result result;
    process_stop(&result, process, 60);
    assert_int_equal(result.code, 2);
}

TEST(process_deaf_child_does_not_block_a_write)
{
    struct process *process = process_talk("sleep 60", 0);
    char *much = xcalloc(4000001, 1);
    memset(much, 'x', 4000000);
    assert_int_equal(process_write(process, much, 0.2), -1);
    free(much);
    process_stop(NULL, process, 0);
}

TEST(process_overlong_and_binary_lines_are_dropped_whole)
{
    struct process *process =
        process_talk("head -c 300000 /dev/zero | tr '\\0' x; echo; echo 0123456789;"
                     "printf 'a\\0b\\n'; echo 123456789; echo end",
                     0);
    char line[11];
    assert_int_equal(process_read(process, line, 10, 5), PROCESS_LINE_LONG);
    assert_int_equal(process_read(process, line, 10, 5), PROCESS_LINE_LONG);
    assert_int_equal(process_read(process, line, 10, 5), PROCESS_LINE_LONG);
    assert_int_equal(process_read(process, line, 10, 5), PROCESS_LINE);
    assert_string_equal(line, "123456789");
    assert_int_equal(process_read(process, line, 10, 5), PROCESS_LINE);
    assert_string_equal(line, "end");
    assert_int_equal(process_read(process, line, 10, 5), PROCESS_LINE_END);
    process_stop(NULL, process, 1);
}

TEST(process_many_do_not_leak_descriptors)
{
    int before = dup(0);
    close(before);
    for (int i = 0; i < 30; i++) {
        process_script("true", (struct process_plan){0});
        process_stop(NULL, process_talk("cat", 0), 1);
    }
    int after = dup(0);
    close(after);
    assert_int_equal(before, after);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); // and no zombies
    assert_int_equal(errno, ECHILD);
}

TEST(process_stop_accepts_null)
{
    process_stop(NULL, NULL, 1);
}
