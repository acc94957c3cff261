// SPDX-License-Identifier: Apache-2.0
//
// Starts shell scripts as children under test.
#include "tests/helpers/helper_process.h"
#include "tests/helpers/test.h"

struct process_result process_script(const char *script, struct process_plan plan)
{
    const char *argv[] = {"sh", "-c", script, NULL};
    struct process_result result;
    struct error err;
    plan.argv = argv;
    if (process_run(&result, &plan, &err))
        fail_msg("%s", err.text);
    return result;
}

struct process *process_talk(const char *script, double time_s)
{
    const char *argv[] = {"sh", "-c", script, NULL};
    struct process_plan plan = {.argv = argv, .limits = {.time_s = time_s}};
    struct process *process;
    struct error err;
    if (process_start(&process, &plan, &err))
        fail_msg("%s", err.text);
    return process;
}
