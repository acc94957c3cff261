// SPDX-License-Identifier: Apache-2.0
//
// Cores and what lies near a device, as a made /sys says them.
#include "runner/child/process.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>

static char *root;
static struct arena arena;

static void put_siblings(int cpu, const char *list)
{
    char path[128];
    snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
             cpu);
    helper_put(root, path, list);
}

static int set_up(void **state)
{
    root = helper_directory();
    return 0;
}

AROUND_ALL(set_up, NULL);

static cpu_set_t set_of(const char *list)
{
    cpu_set_t set;
    assert_int_equal(topology_parse(&set, list), 0);
    return set;
}

static void assert_core(const struct core *core, int number, const char *list)
{
    const cpu_set_t wanted = set_of(list);
    assert_int_equal(core->number, number);
    assert_true(CPU_EQUAL(&core->set, &wanted));
}

TEST(lists_of_the_kernel_are_read)
{
    static const char *const none[] = {"a", "1,", "3-1", "1024", "0-", "1;2", "-1"};
    cpu_set_t set = set_of("0-2,8,10-11\n");
    assert_int_equal(CPU_COUNT(&set), 6);
    assert_true(CPU_ISSET(2, &set) && CPU_ISSET(8, &set) && CPU_ISSET(11, &set));
    assert_int_equal(topology_parse(&set, "\n"), 0);
    assert_int_equal(CPU_COUNT(&set), 0);
    for (size_t i = 0; i < ARRAY_COUNT(none); i++) {
        if (topology_parse(&set, none[i]) == 0)
            fail_msg("'%s' was read", none[i]);
    }
}

TEST(hyperthreads_are_one_core_as_far_as_they_are_ours)
{
    struct topology cores;
    const cpu_set_t all = set_of("0-7"), some = set_of("1,4,5,6");
    for (int cpu = 0; cpu < 8; cpu++) {
        char list[16];
        snprintf(list, sizeof(list), "%d,%d\n", cpu % 4, cpu % 4 + 4);
        put_siblings(cpu, list);
    }
    topology_read(&cores, root, &all, &arena);
    assert_int_equal(cores.count, 4);
    assert_core(&cores.items[0], 0, "0,4");
    assert_core(&cores.items[3], 3, "3,7");
    // The core of 4 is known by 0, which is not ours.
    topology_read(&cores, root, &some, &arena);
    assert_int_equal(cores.count, 3);
    assert_core(&cores.items[0], 1, "1,5");
    assert_core(&cores.items[1], 0, "4");
    assert_core(&cores.items[2], 2, "6");
}

TEST(without_sys_each_processor_is_a_core)
{
    struct topology cores;
    const cpu_set_t ours = set_of("2,9");
    topology_read(&cores, "/no/such/root", &ours, &arena);
    assert_int_equal(cores.count, 2);
    assert_core(&cores.items[0], 2, "2");
    assert_core(&cores.items[1], 9, "9");
}

TEST(what_lies_near_a_device_is_read_by_its_bus)
{
    cpu_set_t near;
    const cpu_set_t wanted = set_of("4-7");
    helper_put(root, "/sys/bus/pci/devices/0000:1b:00.0/local_cpulist", "4-7\n");
    assert_true(topology_near(&near, root, "0000:1B:00.0"));
    assert_true(CPU_EQUAL(&near, &wanted));
    assert_false(topology_near(&near, root, "0000:2b:00.0"));
    assert_int_equal(CPU_COUNT(&near), 0);
    // What a device is called is no path.
    helper_put(root, "/sys/bus/pci/local_cpulist", "0\n");
    assert_false(topology_near(&near, root, ".."));
    assert_false(topology_near(&near, root, ""));
    assert_false(topology_near(&near, root, "0000:1b:00.0/../0000:1b:00.0"));
}
