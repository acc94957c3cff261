// SPDX-License-Identifier: Apache-2.0
//
// What only computes keeps away from the processor that somebody measures on, also where that
// begins while it runs, and has it back afterwards.
#include "runner/child/process.h"
#include "tests/helpers/helper_process.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char scope[64];
static cpu_set_t ours;
static struct processors_site site = {.root = "/no/such/root", .scope = scope, .ours = &ours};

// Two of ours.
static int set_up(void **state)
{
    snprintf(scope, sizeof(scope), "plumb-test-%ld", (long)getpid());
    assert_int_equal(sched_getaffinity(0, sizeof(ours), &ours), 0);
    for (int cpu = 0, kept = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &ours) && ++kept > 2)
            CPU_CLR(cpu, &ours);
    }
    return 0;
}

AROUND_ALL(set_up, NULL);

static void take(struct processors *out)
{
    struct error why;
    if (CPU_COUNT(&ours) < 2)
        skip_without("processors", "fewer than two processors are ours");
    if (!processors_take(out, &site, NULL, &why))
        fail_msg("%s", why.text);
}

// "all", "rest" or what else the child says of a child of its own.
static const char *where(struct process *process, const struct processors *taken)
{
    static char line[512];
    cpu_set_t set, rest;
    CPU_XOR(&rest, &ours, &taken->set);
    assert_int_equal(process_write(process, "where\n", 10), 0);
    assert_int_equal(process_read(process, line, sizeof(line), 20), PROCESS_LINE);
    const char *list = strchr(line, '\t');
    if (!list || topology_parse(&set, list + 1))
        return line;
    CPU_AND(&set, &set, &ours);
    return CPU_EQUAL(&set, &ours) ? "all" : CPU_EQUAL(&set, &rest) ? "rest" : line;
}

static void await(struct process *process, const struct processors *taken, const char *wanted)
{
    const struct timespec pause = {.tv_nsec = 50000000};
    for (int i = 0; i < 200 && strcmp(where(process, taken), wanted) != 0; i++)
        nanosleep(&pause, NULL);
    assert_string_equal(where(process, taken), wanted);
}

static struct process *start(const struct processors_site *aside)
{
    static const char *const argv[] = {
        "sh", "-c", "while read x; do grep Cpus_allowed_list /proc/self/status; done", NULL};
    const struct process_plan plan = {.argv = argv, .aside = aside};
    struct process *process;
    struct error err;
    if (process_start(&process, &plan, &err))
        fail_msg("%s", err.text);
    return process;
}

TEST(it_begins_aside_and_comes_back)
{
    struct processors taken;
    take(&taken);
    struct process *process = start(&site);
    assert_string_equal(where(process, &taken), "rest");
    const struct processors was = taken;
    processors_give_back(&taken);
    await(process, &was, "all");
    process_stop(NULL, process, 5);
}

TEST(it_goes_aside_when_somebody_begins)
{
    struct processors taken;
    struct process *process = start(&site), *other = start(NULL);
    take(&taken);
    await(process, &taken, "rest");
    assert_string_equal(where(other, &taken), "all");
    processors_give_back(&taken);
    process_stop(NULL, process, 5);
    process_stop(NULL, other, 5);
}
