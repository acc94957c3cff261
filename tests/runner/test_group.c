// SPDX-License-Identifier: Apache-2.0
//
// Where a control group can be made, by what /proc says: on trees of plain folders, which take what
// is written as the kernel's would. What the kernel's do is in test_sandbox.c.
#include "runner/child/process.h"
#include "runner/child/sandbox.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/test.h"

#include <stdlib.h>
#include <string.h>

static char *tree;

static int set_up(void **state)
{
    tree = helper_directory();
    return 0;
}

static int tear_down(void **state)
{
    helper_discard(tree);
    free(tree);
    return 0;
}

AROUND_EACH(set_up, tear_down);

// A group of version 2 that gives its children these limits.
static void make_group(const char *path, const char *gives)
{
    char *command = xprintf("mkdir -p '%s%s'", tree, path);
    char *file = xprintf("%s%s/cgroup.subtree_control", tree, path);
    assert_int_equal(system(command), 0);
    helper_write_text(file, gives);
    free(file);
    free(command);
}

static int find_unified(struct group *out, const char *own, const char *root)
{
    struct error err;
    char *mounts = xprintf("22 1 0:20 / /proc rw - proc proc rw\n"
                           "41 31 0:38 %s %s rw,relatime - cgroup2 cgroup2 rw\n",
                           root, tree);
    char *groups = xprintf("0::%s\n", own);
    const int status = group_find(out, groups, mounts, &err);
    if (status)
        assert_non_null(strstr(err.text, "no control group here is ours"));
    free(groups);
    free(mounts);
    return status;
}

static void assert_below(const struct group *group, const char *path)
{
    char *wanted = xprintf("%s%s", tree, path);
    assert_string_equal(group->trees[GROUP_MEMORY].path, wanted);
    assert_string_equal(group->trees[GROUP_TASKS].path, wanted);
    assert_true(group->trees[GROUP_MEMORY].unified);
    free(wanted);
}

TEST(beside_our_own_group_where_a_service_is_delegated)
{
    struct group group;
    make_group("/runner.service", "cpu memory pids\n");
    make_group("/runner.service/main", "\n");
    assert_int_equal(find_unified(&group, "/runner.service/main", "/"), 0);
    assert_below(&group, "/runner.service");
    // Shown from that service on, as in a container.
    make_group("/main", "\n");
    make_group("", "\n");
    assert_int_equal(find_unified(&group, "/runner.service/main", "/runner.service"), -1);
}

TEST(below_our_own_group_where_it_gives_limits)
{
    struct group group;
    make_group("/own", "memory pids\n");
    assert_int_equal(find_unified(&group, "/own", "/"), 0);
    assert_below(&group, "/own");
    assert_string_equal(group.trees[GROUP_CPU].path, "");
}

TEST(nowhere_where_nothing_is_ours)
{
    struct group group;
    assert_int_equal(find_unified(&group, "/gone", "/"), -1);
    assert_int_equal(find_unified(&group, "/elsewhere/x", "/pod"), -1);
}

TEST(version_1_has_a_tree_for_each_limit)
{
    struct group group;
    struct error err;
    make_group("/memory/a", "");
    make_group("/pids/b", "");
    char *mounts = xprintf("33 31 0:30 / %s/memory rw - cgroup cgroup rw,memory\n"
                           "34 31 0:31 / %s/pids rw - cgroup cgroup rw,pids\n",
                           tree, tree);
    assert_int_equal(group_find(&group, "4:memory:/a\n3:pids:/b\n0::/\n", mounts, &err), 0);
    assert_non_null(strstr(group.trees[GROUP_MEMORY].path, "/memory/a"));
    assert_non_null(strstr(group.trees[GROUP_TASKS].path, "/pids/b"));
    assert_false(group.trees[GROUP_TASKS].unified);
    assert_int_equal(group_find(&group, "3:pids:/b\n0::/\n", mounts, &err), -1);
    free(mounts);
}

TEST(the_command_is_in_it_with_its_limits)
{
    struct group group;
    struct arena arena = {0};
    struct process_result result;
    struct error err;
    make_group("/own", "cpu memory pids\n");
    assert_int_equal(find_unified(&group, "/own", "/"), 0);
    char *script = xprintf("cd '%s'/own/plumb-$$ && cat memory.max pids.max cpu.weight && "
                           "[ \"$(cat cgroup.procs)\" = $$ ] && echo inside \"$1\"",
                           tree);
    const char *argv[] = {"sh", "-c", script, "sh", "a word", NULL};
    const struct group_limits limits = {
        {[GROUP_MEMORY] = 1000000, [GROUP_TASKS] = 77, [GROUP_CPU] = 20}};
    const struct process_plan plan = {.argv = group_argv(&group, &limits, argv, &arena),
                                      .log_bytes = 1000,
                                      .limits = {.time_s = 60}};
    char *said;
    if (process_capture(&result, &said, &plan, &err))
        fail_msg("%s", err.text);
    assert_string_equal(said, "1000000\n77\n20\ninside a word\n");
    free(said);
    free(script);
    arena_free(&arena);
}
