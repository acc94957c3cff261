// SPDX-License-Identifier: Apache-2.0
//
// How much memory may be taken, in made /proc and /sys trees.
#include "runner/build/build.h"
#include "runner/child/files.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/test.h"

#include <stdlib.h>
#include <string.h>

static char *root;

static int set_up(void **state)
{
    root = helper_directory();
    return 0;
}

static int tear_down(void **state)
{
    helper_discard(root);
    free(root);
    return 0;
}

AROUND_ALL(set_up, tear_down);

static void put(const char *path, const char *text)
{
    struct error err;
    char *name = xprintf("%s%s", root, path), *folder = xstrdup(name);
    *strrchr(folder, '/') = '\0';
    assert_int_equal(files_make_directory(folder, &err), 0);
    helper_write_text(name, text);
    free(name);
    free(folder);
}

TEST(where_nobody_says_any_amount_may_be_taken)
{
    assert_true(spare_memory_bytes(root) == UINT64_MAX);
}

TEST(half_of_what_a_machine_has_left_may_be_taken)
{
    put("/proc/meminfo", "MemTotal:  9000 kB\nMemFree:  1000 kB\nMemAvailable:    6000 kB\n");
    assert_int_equal(spare_memory_bytes(root), 3000 * 1024);
    // Version 1 has another tree, and no say here.
    put("/proc/self/cgroup", "5:memory:/job\n");
    assert_int_equal(spare_memory_bytes(root), 3000 * 1024);
}

TEST(the_tightest_group_that_we_are_in_decides)
{
    put("/proc/meminfo", "MemAvailable:    6000 kB\n");
    put("/proc/self/cgroup", "1:name=systemd:/x\n0::/outer/inner\n");
    put("/sys/fs/cgroup/outer/inner/memory.max", "max\n");
    put("/sys/fs/cgroup/outer/inner/memory.current", "1000\n");
    assert_int_equal(spare_memory_bytes(root), 3000 * 1024);
    put("/sys/fs/cgroup/outer/memory.max", "10000\n");
    put("/sys/fs/cgroup/outer/memory.current", "4000\n");
    assert_int_equal(spare_memory_bytes(root), 3000);
    put("/sys/fs/cgroup/outer/memory.stat", "anon 2000\ninactive_file 900\nactive_file 100\n");
    assert_int_equal(spare_memory_bytes(root), 3500); // what was read makes room
    put("/sys/fs/cgroup/memory.max", "5000\n");       // as a container shows its own
    put("/sys/fs/cgroup/memory.current", "6000\n");
    assert_int_equal(spare_memory_bytes(root), 0);
}

TEST(this_machine_has_some)
{
    assert_true(spare_memory_bytes("") > 0);
}
