// SPDX-License-Identifier: Apache-2.0
//
// Facts about a machine are read as they stand in a made /proc and /sys, and from a made
// nvidia-smi; what is not there is unknown.
#include "runner/bench/health.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char *root;

static void say_smi(const char *script)
{
    helper_put(root, "/bin/nvidia-smi", script);
    char *name = xprintf("%s/bin/nvidia-smi", root);
    assert_int_equal(chmod(name, 0700), 0);
    free(name);
}

static int set_up(void **state)
{
    root = helper_directory();
    char *path = xprintf("%s/bin:%s", root, getenv("PATH"));
    setenv("PATH", path, 1);
    free(path);
    return 0;
}

AROUND_ALL(set_up, NULL);

TEST(facts_of_the_host_are_read)
{
    struct arena arena = {0};
    struct health health;
    helper_put(root, "/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
    helper_put(root, "/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
    helper_put(root, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
    helper_put(root, "/proc/loadavg", "3.50 1.00 1.00 1/2 3\n");
    helper_put(root, "/proc/self/cgroup", "0::/job\n");
    helper_put(root, "/sys/fs/cgroup/job/cpu.max", "150000 100000\n");
    helper_put(root, "/sys/fs/cgroup/memory.max", "1073741824\n"); // of the root, as in a container
    health_read(&health, root, root, &arena);
    assert_string_equal(health.clock_source, "hpet");
    assert_string_equal(health.huge_pages, "never");
    assert_string_equal(health.governor, "powersave");
    assert_true(health.load == 3.5 && health.cpu_limit == 1.5);
    assert_int_equal(health.memory_limit, 1073741824);
    assert_true(health.disk_free > 0 && health.cpus > 0);
    helper_put(root, "/sys/fs/cgroup/job/cpu.max", "max 100000\n");
    helper_put(root, "/sys/fs/cgroup/memory.max", "max\n");
    health_read(&health, root, "/no/such/folder", &arena);
    assert_true(health.cpu_limit == 0 && health.memory_limit == 0 && health.disk_free == -1);
    health_read(&health, "/no/such/root", root, &arena);
    assert_string_equal(health.clock_source, "");
    assert_string_equal(health.huge_pages, "");
    assert_true(health.load == -1);
    arena_free(&arena);
}

TEST(gpus_are_what_nvidia_smi_says)
{
    struct arena arena = {0};
    struct health health;
    // A driver that knows only the older name of the clocks' reasons.
    say_smi("#!/bin/sh\n"
            "case $1 in\n"
            "*event_reasons*) echo 'Field \"x\" is not a valid field to query.'; exit 2;;\n"
            "--query-gpu*)\n"
            "echo 'GPU-a, NVIDIA H200, 570.1, Enabled, Disabled, Enabled, 0, 0x0000000000000004, "
            "1500, 1980, 41'\n"
            "echo 'GPU-b, NVIDIA H200, 570.1, Disabled, [N/A], [N/A], [N/A], [N/A], [N/A], 1980, "
            "x';;\n"
            "*) echo 'GPU-b, python3'; echo 'GPU-b, other'; echo 'GPU-c, third';;\n"
            "esac\n");
    health_read(&health, root, root, &arena);
    assert_null(health.no_gpu);
    assert_int_equal(health.gpu_count, 2);
    const struct health_gpu *a = &health.gpus[0], *b = &health.gpus[1];
    assert_string_equal(a->uuid, "GPU-a");
    assert_string_equal(a->driver, "570.1");
    assert_int_equal(a->reasons, 4);
    assert_int_equal(a->clock_mhz, 1500);
    assert_int_equal(a->temperature_c, 41);
    assert_int_equal(a->processes, 0);
    assert_string_equal(b->persistence, "Disabled");
    assert_true(b->ecc_errors == -1 && b->reasons == -1 && b->clock_mhz == -1);
    assert_int_equal(b->processes, 2);
    assert_string_equal(b->process, "python3");
    arena_free(&arena);
}

TEST(no_answer_is_no_gpu_and_says_why)
{
    static const struct {
        const char *script, *why;
    } cases[] = {
        {"#!/bin/sh\necho 'No devices were found'; exit 6\n", "exit status 6: No devices were"},
        {"#!/bin/sh\n", "lists no GPU"},
        {"#!/bin/sh\necho 'one, two'\n", "2 fields of 11"},
        {"#!/bin/sh\necho '\"'\n", "never closed"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct arena arena = {0};
        struct health health;
        say_smi(cases[i].script);
        health_read(&health, root, root, &arena);
        assert_int_equal(health.gpu_count, 0);
        assert_non_null(health.no_gpu);
        assert_int_equal(health.gpu_device, i > 0);
        helper_put(root, "/dev/nvidiactl", "");
        if (!strstr(health.no_gpu, cases[i].why))
            fail_msg("\"%s\" does not say \"%s\"", health.no_gpu, cases[i].why);
        arena_free(&arena);
    }
}
