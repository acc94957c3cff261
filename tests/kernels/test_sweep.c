// SPDX-License-Identifier: Apache-2.0
//
// What bin/sweep says where there is no GPU: it lists modules all the same, and names what is
// missing for the rest. Its times are bench's (kernels/device), which have tests of their own.
//
// sweep is built with CUDA only; without it the test is skipped (exit code 77), and says so.
#include "model/base.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char program[] = TEST_BIN "/sweep";

// Runs sweep with these arguments and no device: it ends with `code` and says `part`.
static void says(const char *arguments, int code, const char *part)
{
    char text[65536];
    char *command = xprintf("CUDA_VISIBLE_DEVICES= '%s' %s 2>&1", program, arguments);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    text[fread(text, 1, sizeof(text) - 1, pipe)] = '\0';
    const int status = pclose(pipe);
    free(command);
    if (!strstr(text, part))
        fail_msg("sweep %s: no '%s' in:\n%s", arguments, part, text);
    assert_int_equal(WEXITSTATUS(status), code);
}

TEST(modules_are_listed_without_a_device)
{
    says("list " TEST_BIN "/../kernels/libbf16_streamk.so", 0, "bf16_streamk.so bf16-streamk\n");
}

TEST(what_needs_a_device_says_that_there_is_none)
{
    says("check " TEST_BIN "/../kernels/libbf16_streamk.so", 4, "cuda: there is no such device");
    says("run 64 64 64 " TEST_BIN "/../kernels/libbf16_streamk.so bf16-streamk", 4,
         "cuda: there is no such device");
}

TEST(what_is_no_module_is_named)
{
    says("list " TEST_BIN "/sweep", 4, "sweep: cannot be loaded");
    says("list /nowhere.so", 4, "/nowhere.so: cannot be loaded");
}

int main(void)
{
    if (access(program, X_OK) == 0)
        return test_main();
    return program_skipped("cuda", "this build has no CUDA, or no cuBLASLt");
}
