// SPDX-License-Identifier: Apache-2.0
//
// Memory that libraries' processes share with bench: they see inputs and outputs where bench has
// them, cannot write to the inputs, and pieces that were given back come again as zeros.
#include "kernels/device/host.h"
#include "tests/helpers/test.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 8192 };

static struct host_memory *memory;

static int set_up(void **state)
{
    struct error err;
    return host_memory_open(&memory, &err);
}

static int tear_down(void **state)
{
    host_memory_close(memory);
    host_memory_close(NULL);
    return 0;
}

AROUND_EACH(set_up, tear_down);

// What another process that has joined does to this byte: it adds one. Returns its wait status.
static int adds_one(unsigned char *at)
{
    const int segments[HOST_RANGES] = {host_memory_segment(memory, HOST_INPUTS),
                                       host_memory_segment(memory, HOST_OUTPUTS)};
    int status = -1;
    // The child's copies of bench's ranges go with them, as where bench starts another program.
    const pid_t pid = fork();
    if (pid == 0) {
        struct error err;
        signal(SIGSEGV, SIG_DFL);
        host_memory_close(memory);
        if (host_memory_join(segments, &err))
            _exit(1);
        if (*at != 7)
            _exit(2);
        ++*(volatile unsigned char *)at;
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

TEST(another_process_reads_inputs_and_writes_outputs_alone)
{
    unsigned char *input = host_memory_take(memory, HOST_INPUTS, BYTES);
    unsigned char *output = host_memory_take(memory, HOST_OUTPUTS, BYTES);
    input[5] = output[5] = 7;
    const int wrote = adds_one(&output[5]), spoiled = adds_one(&input[5]);
    assert_true(WIFEXITED(wrote) && WEXITSTATUS(wrote) == 0);
    assert_int_equal(output[5], 8);
    assert_false(WIFEXITED(spoiled) && WEXITSTATUS(spoiled) < 3); // it died, or a sanitizer said so
    assert_int_equal(input[5], 7);
}

TEST(pieces_that_were_given_back_come_again_as_zeros)
{
    unsigned char *first = host_memory_take(memory, HOST_OUTPUTS, BYTES);
    unsigned char *second = host_memory_take(memory, HOST_OUTPUTS, BYTES);
    assert_true(second >= first + BYTES || first >= second + BYTES);
    memset(first, 9, BYTES);
    memset(second, 9, BYTES);
    host_memory_give_back(memory, first);
    unsigned char *again = host_memory_take(memory, HOST_OUTPUTS, BYTES);
    assert_ptr_equal(again, first);
    for (int i = 0; i < BYTES; i++) {
        assert_int_equal(again[i], 0);
        assert_int_equal(second[i], 9);
    }
}

TEST(what_has_no_room_is_not_taken)
{
    assert_null(host_memory_take(memory, HOST_INPUTS, (size_t)1 << 40));
    assert_non_null(host_memory_take(memory, HOST_INPUTS, 0));
}
