// SPDX-License-Identifier: Apache-2.0
//
// How much memory may be taken, in made /proc and /sys trees.
#include "runner/build/build.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/test.h"

#include <stdlib.h>

static char *root;

static int set_up(void **state)
{
    root = helper_directory();
    return 0;
}

AROUND_ALL(set_up, NULL);

TEST(where_nobody_says_any_amount_may_be_taken)
{
    assert_true(spare_memory_bytes(root) == UINT64_MAX);
}

TEST(half_of_what_a_machine_has_left_may_be_taken)
{
    helper_put(root, "/proc/meminfo",
               "MemTotal:  9000 kB\nMemFree:  1000 kB\nMemAvailable:    6000 kB\n");
    assert_int_equal(spare_memory_bytes(root), 3000 * 1024);
    // Version 1 has another tree, and no say here.
    helper_put(root, "/proc/self/cgroup", "5:memory:/job\n");
    assert_int_equal(spare_memory_bytes(root), 3000 * 1024);
}

TEST(the_tightest_group_that_we_are_in_decides)
{
    helper_put(root, "/proc/meminfo", "MemAvailable:    6000 kB\n");
    helper_put(root, "/proc/self/cgroup", "1:name=systemd:/x\n0::/outer/inner\n");
    helper_put(root, "/sys/fs/cgroup/outer/inner/memory.max", "max\n");
    helper_put(root, "/sys/fs/cgroup/outer/inner/memory.current", "1000\n");
    assert_int_equal(spare_memory_bytes(root), 3000 * 1024);
    helper_put(root, "/sys/fs/cgroup/outer/memory.max", "10000\n");
    helper_put(root, "/sys/fs/cgroup/outer/memory.current", "4000\n");
    assert_int_equal(spare_memory_bytes(root), 3000);
    helper_put(root, "/sys/fs/cgroup/outer/memory.stat",
               "anon 2000\ninactive_file 900\nactive_file 100\n");
    assert_int_equal(spare_memory_bytes(root), 3500);        // what was read makes room
    helper_put(root, "/sys/fs/cgroup/memory.max", "5000\n"); // as a container shows its own
    helper_put(root, "/sys/fs/cgroup/memory.current", "6000\n");
    assert_int_equal(spare_memory_bytes(root), 0);
}

TEST(this_machine_has_some)
{
    assert_true(spare_memory_bytes("") > 0);
}
