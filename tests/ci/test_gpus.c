// SPDX-License-Identifier: Apache-2.0
//
// ci/gpus on the host device: parts side by side, a GPU that fails, and the one verdict of all.
// What is compared becomes the same bytes, so that no verdict hangs on this machine's time.
#include "model/base.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

static struct helper_repo repo;
static char policy_path[320], plumb_path[320];

// "GPU" 1 fails, as one whose driver does not start.
static int set_up(void **state)
{
    helper_repo_create(&repo);
    snprintf(policy_path, sizeof(policy_path), "%s/p.cfg", repo.directory);
    snprintf(plumb_path, sizeof(plumb_path), "%s/plumb", repo.directory);
    helper_repo_policy(policy_path, "\tproblem = 32x32x32:fp32\n",
                       "[gate]\n\tself-test = 0\n[toolchain \"again\"]\n\tset = UNUSED=1\n");
    helper_write_text(plumb_path, "#!/bin/sh\n"
                                  "if [ \"${CUDA_VISIBLE_DEVICES:-}\" = 1 ]; then\n"
                                  "    echo 'plumb: the device is lost'; exit 4\n"
                                  "fi\n"
                                  "exec '" TEST_BIN "/plumb' \"$@\"\n");
    return chmod(plumb_path, 0755);
}

static int tear_down(void **state)
{
    helper_repo_remove(&repo);
    return 0;
}

static int gate(const char *list, char **said)
{
    char *log = xprintf("%s/said", repo.directory);
    char *command =
        xprintf("cd '%s' && '" TEST_SOURCE "/ci/gpus' --gpus '%s' --plumb '%s' -- "
                "--policy '%s' --head %s --head-toolchain again --out report >'%s' 2>&1",
                repo.directory, list, plumb_path, policy_path, repo.ids[REPO_MERGE], log);
    const int status = system(command);
    *said = helper_read(log, NULL);
    free(command);
    free(log);
    return WEXITSTATUS(status);
}

static void expect(const char *said, const char *part)
{
    if (!strstr(said, part))
        fail_msg("it does not say \"%s\":\n%s", part, said);
}

static void part_of_a_gpu_that_fails_moves_to_another(void **state)
{
    char *said;
    const int code = gate("0 1", &said);
    expect(said, "part 2 failed on GPU 1 and moves to 0: plumb: the device is lost");
    expect(said, "2 of 2 the same bytes");
    assert_int_equal(code, 0);
    free(said);
}

static void without_a_gpu_that_works_there_is_no_verdict(void **state)
{
    char *said;
    assert_int_equal(gate("1", &said), 4);
    expect(said, "the device is lost");
    free(said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(part_of_a_gpu_that_fails_moves_to_another),
        cmocka_unit_test(without_a_gpu_that_works_there_is_no_verdict),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
