// SPDX-License-Identifier: Apache-2.0
//
// `plumb doctor` says what each fact of a GPU means, told by a made nvidia-smi, and works without.
#include "runner/child/files.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/test.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char *folder;
static struct plumb_outcome outcome;

static int set_up(void **state)
{
    folder = helper_directory();
    char *path = xprintf("%s:%s", folder, getenv("PATH"));
    setenv("PATH", path, 1);
    free(path);
    return 0;
}

AROUND_ALL(set_up, NULL);

// One GPU: persistence, MIG, ECC, errors, reasons; and the processes on it.
static void ask(const char *modes, const char *processes, const char *format)
{
    char *name = xprintf("%s/nvidia-smi", folder);
    char *script =
        xprintf("#!/bin/sh\ncase $1 in\n--query-gpu*) echo 'GPU-a, NVIDIA H200, 580.1, %s, "
                "1500, 1980, 91';;\n*) printf '%s';;\nesac\n",
                modes, processes);
    helper_write_text(name, script);
    assert_int_equal(chmod(name, 0700), 0);
    plumb_run(&outcome, folder, (const char *[]){"doctor", "--format", format, NULL}, 0);
    free(name);
    free(script);
}

static void expect(const char *part)
{
    if (!strstr(outcome.output, part))
        fail_msg("it does not say \"%s\":\n%s", part, outcome.output);
}

TEST(what_disturbs_is_said_with_what_to_do)
{
    ask("Disabled, Enabled, Enabled, 3, 0x0000000000000020",
        "GPU-a, /usr/bin/python3\\nGPU-a, \\033[2Jx\\n", "table");
    plumb_said(&outcome, 2, "DISTURBED: ");
    expect("ok        gpu          NVIDIA H200 GPU-a, driver 580.1");
    expect("DISTURBS  clocks       held down by heat, 91 C, 1500 of 1980 MHz");
    expect("look after cooling");
    expect("DISTURBS  ecc          3 uncorrected memory errors");
    expect("take the GPU out");
    expect("DISTURBS  mig          on");
    expect("DISTURBS  neighbours   2 other processes compute on it, the first is /usr/bin/python3");
    expect("note      driver       is unloaded when idle");
    expect("nvidia-smi -pm 1");
    ask("Enabled, Disabled, Disabled, [N/A], 0x0000000000000004", "", "table");
    expect("DISTURBS  clocks       held down by power or hardware (reasons 0x4)");
    expect("note      ecc          off");
    expect("ok        mig          off");
}

TEST(control_bytes_of_a_process_name_do_not_reach_the_terminal)
{
    ask("Enabled, Disabled, Enabled, 0, 0x0000000000000000", "GPU-a, \\033[2Jx\\n", "table");
    expect("1 other process computes on it");
    assert_null(strchr(outcome.output, '\x1b'));
}

// What `taskset` or a control group leaves counts, not what the machine has.
TEST(processors_are_those_that_we_may_use)
{
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
    CPU_ZERO(&one);
    for (int cpu = 0; CPU_COUNT(&one) == 0; cpu++) {
        if (CPU_ISSET(cpu, &all))
            CPU_SET(cpu, &one);
    }
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    ask("Enabled, Disabled, Enabled, 0, 0x0000000000000000", "", "table");
    assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
    expect("DISTURBS  cpus         ");
    expect(" online, 1.0 for us");
    expect("note      cores        1 of ours, others measure on ");
    expect(", so none is left for a bench alone");
}

// The machine that runs this test may be loaded: that is told from what the GPU adds.
TEST(healthy_gpu_adds_nothing_that_disturbs)
{
    static const char *const topics[] = {"clocks  ", "ecc  ", "mig  ", "neighbours", "driver  "};
    ask("Enabled, Disabled, Enabled, 0, 0x0000000000000001", "", "table");
    assert_true(outcome.code == 0 || outcome.code == 2);
    assert_int_equal(outcome.code == 0, strstr(outcome.output, "OK: nothing") != NULL);
    for (size_t i = 0; i < ARRAY_COUNT(topics); i++) {
        char *line = xprintf("ok        %s", topics[i]);
        expect(line);
        free(line);
    }
}

TEST(without_a_gpu_it_looks_at_the_host)
{
    char *name = xprintf("%s/nvidia-smi", folder);
    helper_write_text(name, "#!/bin/sh\necho 'No devices were found'\nexit 6\n");
    plumb_run(&outcome, folder, (const char *[]){"doctor", NULL}, 0);
    assert_true(outcome.code == 0 || outcome.code == 2);
    expect("note      gpu          none: nvidia-smi: exit status 6: No devices were found");
    expect(" cpus ");
    expect(" disk ");
    expect(" sandbox ");
    plumb_run(&outcome, folder, (const char *[]){"doctor", "--format=json", NULL}, 0);
    expect("{\"weight\":\"note\",\"topic\":\"gpu\",\"fact\":\"none: ");
    plumb_run(&outcome, folder, (const char *[]){"doctor", "--format=xml", NULL}, 0);
    plumb_said(&outcome, 4, "is table or json");
    free(name);
}
