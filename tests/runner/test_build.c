// SPDX-License-Identifier: Apache-2.0
//
// What a build gives: libraries, or a reason that is the commit's own or the machine's.
#include "runner/build/build.h"
#include "tests/helpers/helper_build.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

AROUND_ALL(helper_builds_set_up, helper_builds_tear_down);

TEST(toolchain_names_its_compilers)
{
    struct helper_builds *f = *state;
    assert_memory_equal(f->toolchain.text, "cc: ", 4);
    assert_non_null(strstr(f->toolchain.text, "\nc++: "));
    assert_non_null(strstr(f->toolchain.text, "\nnvcc: "));
    assert_non_null(strstr(f->toolchain.text, "\nmachine: "));
}

// Its settings, its name, its prefix before what PATH finds; not what the caller of the program has
// set by the same name.
TEST(toolchain_reaches_the_build)
{
    struct helper_builds *f = *state;
    static const char *const settings[] = {"PLUMB_TEST_FLAGS=of the toolchain", "CC=cc -m64"};
    static const char *const passed[] = {"PLUMB_TEST_FLAGS"};
    struct toolchain named = {
        .name = "test-1", .settings = settings, .setting_count = 2, .prefix = f->directory};
    const struct builder builder = f->builder;
    struct recipe recipe = f->recipe;
    struct error err;
    struct build build;
    setenv("PLUMB_TEST_FLAGS", "of the caller", 1);
    if (toolchain_detect(&named, &f->sandbox, &err))
        fail_msg("%s", err.text);
    assert_non_null(strstr(named.text, "toolchain 6:test-1\n"));
    assert_non_null(strstr(named.text, "set 10:CC=cc -m64\n"));
    assert_non_null(strstr(named.text, "\ncc: cc "));
    recipe.environment = passed;
    recipe.environment_count = 1;
    recipe.command = "test \"$PLUMB_TEST_FLAGS $PLUMB_TOOLCHAIN $CC\" = "
                     "\"of the toolchain test-1 cc -m64\" && echo \"$PATH\" && exit 7";
    f->builder.toolchain = &named;
    build = helper_build(f, REPO_START, &recipe);
    f->builder = builder;
    unsetenv("PLUMB_TEST_FLAGS");
    assert_string_equal(build.reason, "exit status 7");
    assert_memory_equal(build.log, f->directory, strlen(f->directory));
    assert_memory_equal(build.log + strlen(f->directory), "/bin:", 5);
    toolchain_free(&named);
}

TEST(build_makes_the_libraries_once)
{
    struct helper_builds *f = *state;
    struct build first = helper_build(f, REPO_START, &f->recipe);
    if (first.state != BUILD_OK)
        fail_msg("%s\n%s", first.reason, first.log);
    assert_false(first.cached);
    assert_int_equal(first.library_count, 2);
    assert_non_null(strstr(first.libraries[0], "/out/blocked.so"));
    assert_non_null(strstr(first.libraries[1], "/out/simple.so"));
    assert_true(first.seconds > 0);
    assert_string_equal(first.reason, "");
    struct build again = helper_build(f, REPO_START, &f->recipe);
    assert_true(again.cached);
    assert_string_equal(again.key, first.key);
    assert_string_equal(again.libraries[1], first.libraries[1]);
    assert_true(again.seconds > 0);
    assert_int_equal(helper_build_leftovers(f), 0);
}

TEST(unbuildable_commit_is_data_and_kept)
{
    struct helper_builds *f = *state;
    struct build first = helper_build(f, REPO_UNBUILDABLE, &f->recipe);
    assert_int_equal(first.state, BUILD_FAILED);
    assert_string_equal(first.reason, "exit status 1");
    assert_non_null(strstr(first.log, "m_of_no_such_name"));
    assert_false(first.cached);
    struct build again = helper_build(f, REPO_UNBUILDABLE, &f->recipe);
    assert_int_equal(again.state, BUILD_FAILED);
    assert_true(again.cached);
    assert_string_equal(again.reason, first.reason);
    assert_string_equal(again.log, first.log);
}

TEST(command_without_libraries_has_failed)
{
    struct helper_builds *f = *state;
    struct build empty = helper_build_with(f, "echo nothing to do", 0);
    assert_int_equal(empty.state, BUILD_FAILED);
    assert_string_equal(empty.reason, "no file matches *.so");
}

TEST(links_and_folders_are_no_libraries)
{
    struct helper_builds *f = *state;
    struct build linked = helper_build_with(
        f, "ln -s /usr/lib/os-release \"$PLUMB_OUT/a.so\"; mkdir \"$PLUMB_OUT/b.so\"", 0);
    assert_int_equal(linked.state, BUILD_FAILED);
    struct recipe recipe = f->recipe;
    recipe.command = "ln -s /usr/lib \"$PLUMB_OUT/d\"; cp /usr/lib/os-release \"$PLUMB_OUT/x.so\"";
    recipe.outputs = "*/os-release";
    assert_int_equal(helper_build(f, REPO_START, &recipe).state, BUILD_FAILED);
}

TEST(library_of_two_patterns_is_one)
{
    struct helper_builds *f = *state;
    struct recipe recipe = f->recipe;
    recipe.command = "for f in b a ab; do cp /usr/lib/os-release \"$PLUMB_OUT/$f.so\"; done";
    recipe.outputs = "b*.so *.so a?.so b.so";
    struct build build = helper_build(f, REPO_START, &recipe);
    assert_int_equal(build.library_count, 3);
    assert_non_null(strstr(build.libraries[0], "/a.so"));
    assert_non_null(strstr(build.libraries[1], "/ab.so"));
    assert_non_null(strstr(build.libraries[2], "/b.so"));
}

// A build that root confines can make a file of root's that everybody runs as root, and does here
// what it can: nobody else gets at it.
TEST(what_a_build_makes_is_out_of_others_reach)
{
    struct helper_builds *f = *state;
    struct recipe recipe = f->recipe;
    struct stat entry;
    recipe.command = "cp /bin/sh \"$PLUMB_OUT/sh\" && chmod 6777 \"$PLUMB_OUT/sh\" && exit 5";
    struct build build = helper_build(f, REPO_START, &recipe);
    assert_string_equal(build.reason, "exit status 5");
    char *directory = xprintf("%s/%s", f->builder.cache, build.key);
    assert_int_equal(stat(directory, &entry), 0);
    assert_int_equal(entry.st_mode & 07777, 0700);
    free(directory);
}

TEST(absent_inputs_are_the_commits_failure)
{
    struct helper_builds *f = *state;
    static const char *const inputs[] = {"no/such/folder"};
    struct recipe recipe = f->recipe;
    recipe.inputs = inputs;
    recipe.input_count = 1;
    struct build absent = helper_build(f, REPO_START, &recipe);
    assert_int_equal(absent.state, BUILD_FAILED);
    assert_non_null(strstr(absent.reason, "no/such/folder"));
    assert_int_equal(helper_build_leftovers(f), 0);
}

// Of a build that fails, what the commit has not is said: shims that nobody has committed yet.
TEST(inputs_that_a_failed_build_went_without_are_told)
{
    struct helper_builds *f = *state;
    static const char *const inputs[] = {"kernels", "ci/shims", "ci/plumb_kernel.h"};
    struct recipe recipe = f->recipe;
    recipe.inputs = inputs;
    recipe.input_count = ARRAY_COUNT(inputs);
    recipe.command = "exit 3";
    assert_string_equal(helper_build(f, REPO_START, &recipe).reason,
                        "exit status 3; 'ci/shims' is, with 1 more, an input that the commit does "
                        "not have");
    recipe.command = "cp kernels/simple.c \"$PLUMB_OUT/simple.so\"";
    assert_int_equal(helper_build(f, REPO_START, &recipe).state, BUILD_OK);
}

// It may be installed before the next try; a file that a compiler misses is the commit's.
TEST(a_program_that_is_missing_is_asked_for_again)
{
    struct helper_builds *f = *state;
    static const struct {
        const char *command;
        bool kept;
    } cases[] = {{"plumb-no-such-program", false},
                 {"plumb-no-such-program || exit 1", false},
                 {"exit 127", false}, // it says no word
                 {"echo 'make: *** [Makefile:2: a.o] Error 127' && exit 2", false},
                 {"echo \"a.c:1: fatal error: 'x.h' file not found\" && exit 1", true},
                 {"cp /usr/lib/os-release \"$PLUMB_OUT/a.so\"; plumb-no-such-program", true}};
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct recipe recipe = f->recipe;
        recipe.command = cases[i].command;
        assert_int_equal(helper_build(f, REPO_START, &recipe).state, BUILD_FAILED);
        const struct build again = helper_build(f, REPO_START, &recipe);
        assert_int_equal(again.state, BUILD_FAILED);
        assert_int_equal(again.cached, cases[i].kept);
    }
    assert_int_equal(helper_build_leftovers(f), 0);
}

TEST(timeout_is_not_kept)
{
    struct helper_builds *f = *state;
    struct build slow = helper_build_with(f, "echo started; sleep 60", 1.5);
    assert_int_equal(slow.state, BUILD_TIMEOUT);
    assert_non_null(strstr(slow.log, "started"));
    assert_string_equal(slow.directory, "");
    assert_false(helper_build_with(f, "echo started; sleep 60", 1.5).cached);
    assert_int_equal(helper_build_leftovers(f), 0);
}

TEST(full_disk_is_not_the_commits_fault)
{
    struct helper_builds *f = *state;
    static const char command[] = "echo 'cc1: fatal error: No space left on device'; exit 1";
    assert_int_equal(helper_build_with(f, command, 0).state, BUILD_STARVED);
    assert_false(helper_build_with(f, command, 0).cached);
    assert_int_equal(helper_build_with(f, "kill -9 $$", 0).state, BUILD_STARVED);
}

TEST(limit_of_processes_is_not_the_commits_fault)
{
    struct helper_builds *f = *state;
    static const char *const said[] = {"build.sh: 1: Cannot fork",
                                       "build.sh: fork: retry: Resource temporarily unavailable",
                                       "cc: fatal error: vfork: Resource temporarily unavailable"};
    for (size_t i = 0; i < ARRAY_COUNT(said); i++) {
        char *command = xprintf("echo '%s' >&2; exit 2", said[i]);
        assert_int_equal(helper_build_with(f, command, 0).state, BUILD_STARVED);
        free(command);
    }
}

TEST(a_sandbox_that_cannot_begin_is_not_the_commits_fault)
{
    struct helper_builds *f = *state;
    const struct sandbox broken = {.active = true, .program = "false"};
    struct builder builder = f->builder;
    struct build build;
    struct error err;
    builder.sandbox = &broken;
    builder.cache = arena_printf(&f->arena, "%s/begins", f->directory);
    assert_int_equal(build_commit(&build, &builder, f->open, f->repo.ids[REPO_START], NULL,
                                  &f->recipe, &f->arena, &err),
                     -1);
    assert_non_null(strstr(err.text, "no build can begin here"));
}

TEST(build_sees_only_what_it_was_given)
{
    struct helper_builds *f = *state;
    if (!f->sandbox.active)
        skip_without("sandbox", f->sandbox.reason);
    setenv("PLUMB_TEST_SECRET", "hidden", 1);
    struct build seen = helper_build_with(
        f, "env; ls -d /home /root; touch \"$PLUMB_SOURCE/x\" && echo WRITTEN; exit 1", 0);
    assert_int_equal(seen.state, BUILD_FAILED);
    assert_null(strstr(seen.log, "PLUMB_TEST_SECRET"));
    assert_null(strstr(seen.log, "WRITTEN"));
    assert_non_null(strstr(seen.log, "PLUMB_SOURCE=/plumb/source\n"));
    assert_non_null(strstr(seen.log, "PLUMB_OUT=/plumb/out\n"));
}

// A program that is captured may have been built in place, and may write beside itself.
TEST(a_program_that_is_captured_may_write_where_it_lies)
{
    struct helper_builds *f = *state;
    if (!f->sandbox.active)
        skip_without("sandbox", f->sandbox.reason);
    struct recipe recipe = f->recipe;
    recipe.command = "touch made && echo WRITTEN; exit 1";
    recipe.in_place = true;
    assert_non_null(strstr(helper_build(f, REPO_START, &recipe).log, "WRITTEN"));
    // What it writes there counts.
    recipe.command = "head -c 8388608 /dev/zero >made; sleep 60";
    recipe.disk_bytes = 4194304;
    assert_int_equal(helper_build(f, REPO_START, &recipe).state, BUILD_STARVED);
}

static struct build build_without_a_sandbox(struct helper_builds *f, const struct recipe *recipe)
{
    struct sandbox off;
    struct error err;
    struct build build;
    assert_int_equal(sandbox_probe(&off, SANDBOX_OFF, &err), 0);
    struct builder builder = f->builder;
    builder.sandbox = &off;
    builder.cache = arena_printf(&f->arena, "%s/open", f->directory);
    assert_int_equal(build_commit(&build, &builder, f->open, f->repo.ids[REPO_START], NULL, recipe,
                                  &f->arena, &err),
                     0);
    return build;
}

// As systemd does it to a scope that has run out of memory; by the sandbox's own processes or,
// where there is none, the build's.
TEST(what_is_ended_from_outside_is_not_the_commits_fault)
{
    struct helper_builds *f = *state;
    struct recipe recipe = f->recipe;
    recipe.command = "kill -TERM $$; sleep 60";
    struct build build = build_without_a_sandbox(f, &recipe);
    assert_int_equal(build.state, BUILD_STARVED);
    assert_string_equal(
        build.reason,
        "signal 15 (Terminated), out of memory or disk, or at a limit of this machine");
    assert_false(build_without_a_sandbox(f, &recipe).cached);
    // A limit that was set for this program and what it starts.
    static const char *const limits[] = {
        "kill -XCPU $$; sleep 60", "sh -c 'kill -XCPU $$'; exit $?",
        "ulimit -f 1; head -c 9999 /dev/zero >\"$PLUMB_BUILD/much\"; exit 1",
        "ulimit -n 3; cat /dev/null; exit 1"};
    for (size_t i = 0; i < ARRAY_COUNT(limits); i++) {
        recipe.command = limits[i];
        build = build_without_a_sandbox(f, &recipe);
        if (build.state != BUILD_STARVED)
            fail_msg("%s: %d, %s\n%s", limits[i], build.state, build.reason, build.log);
    }
}

TEST(build_works_without_a_sandbox)
{
    struct helper_builds *f = *state;
    const struct build build = build_without_a_sandbox(f, &f->recipe);
    assert_int_equal(build.state, BUILD_OK);
    assert_int_equal(build.library_count, 2);
}
