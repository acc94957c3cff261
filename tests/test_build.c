// SPDX-License-Identifier: Apache-2.0
#include "runner/build.h"
#include "runner/files.h"
#include "tests/helper_repo.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct fixture {
    struct helper_repo repo;
    struct repository *open;
    struct sandbox sandbox;
    struct toolchain toolchain;
    struct builder builder;
    struct recipe recipe;
    struct arena arena;
    char *directory;
};

static int set_up(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    struct error err = {{0}};
    helper_repo_create(&f->repo);
    f->directory = helper_directory();
    if (repository_open(&f->open, f->repo.directory, &err) ||
        sandbox_probe(&f->sandbox, SANDBOX_AUTO, &err) || toolchain_detect(&f->toolchain, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return -1;
    }
    f->builder = (struct builder){
        .cache = arena_printf(&f->arena, "%s/a/cache [1]*", f->directory),
        .sandbox = &f->sandbox,
        .toolchain = &f->toolchain,
    };
    f->recipe = (struct recipe){
        .inputs = helper_repo_inputs,
        .input_count = helper_repo_input_count,
        .command = helper_repo_command,
        .outputs = "*.so",
    };
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    repository_close(f->open);
    toolchain_free(&f->toolchain);
    arena_free(&f->arena);
    helper_repo_remove(&f->repo);
    helper_discard(f->directory);
    free(f->directory);
    free(f);
    return 0;
}

static struct build build(struct fixture *f, enum helper_commit commit, const struct recipe *recipe)
{
    struct build build;
    struct error err;
    if (build_commit(&build, &f->builder, f->open, f->repo.ids[commit], recipe, &f->arena, &err))
        fail_msg("%s", err.text);
    return build;
}

static struct build build_with(struct fixture *f, const char *command, double timeout_s)
{
    struct recipe recipe = f->recipe;
    recipe.command = command;
    recipe.timeout_s = timeout_s;
    return build(f, REPO_START, &recipe);
}

// Folders that builders made and did not take away.
static size_t leftovers(const struct fixture *f)
{
    size_t count = 0;
    DIR *cache = opendir(f->builder.cache);
    assert_non_null(cache);
    for (struct dirent *entry; (entry = readdir(cache));)
        count += strncmp(entry->d_name, "tmp-", 4) == 0;
    closedir(cache);
    return count;
}

static void toolchain_names_its_compilers(void **state)
{
    struct fixture *f = *state;
    assert_memory_equal(f->toolchain.text, "cc: ", 4);
    assert_non_null(strstr(f->toolchain.text, "\nc++: "));
    assert_non_null(strstr(f->toolchain.text, "\nnvcc: "));
    assert_non_null(strstr(f->toolchain.text, "\nmachine: "));
}

static void build_makes_the_libraries_once(void **state)
{
    struct fixture *f = *state;
    struct build first = build(f, REPO_START, &f->recipe);
    if (first.state != BUILD_OK)
        fail_msg("%s\n%s", first.reason, first.log);
    assert_false(first.cached);
    assert_int_equal(first.library_count, 2);
    assert_non_null(strstr(first.libraries[0], "/out/blocked.so"));
    assert_non_null(strstr(first.libraries[1], "/out/simple.so"));
    assert_true(first.seconds > 0);
    assert_string_equal(first.reason, "");
    struct build again = build(f, REPO_START, &f->recipe);
    assert_true(again.cached);
    assert_string_equal(again.key, first.key);
    assert_string_equal(again.libraries[1], first.libraries[1]);
    assert_true(again.seconds > 0);
    assert_int_equal(leftovers(f), 0);
}

static void equal_contents_are_built_once(void **state)
{
    struct fixture *f = *state;
    struct build merge = build(f, REPO_MERGE, &f->recipe);
    struct build revert = build(f, REPO_REVERT, &f->recipe);
    assert_string_equal(merge.key, revert.key); // a revert
    assert_true(revert.cached);
    struct build docs = build(f, REPO_DOCS, &f->recipe);
    struct build comment = build(f, REPO_COMMENT, &f->recipe);
    assert_string_equal(docs.key, comment.key); // a commit that touches no input
    assert_true(comment.cached);
    assert_string_not_equal(comment.key, merge.key); // a rename is another input
}

static void key_depends_on_all_that_matters(void **state)
{
    struct fixture *f = *state;
    char key[OBJECT_ID_TEXT], other[OBJECT_ID_TEXT];
    struct error err;
    const char *commit = f->repo.ids[REPO_START];
    assert_int_equal(build_key(key, &f->builder, f->open, commit, &f->recipe, &err), 0);

    struct recipe recipe = f->recipe;
    recipe.command = "true";
    assert_int_equal(build_key(other, &f->builder, f->open, commit, &recipe, &err), 0);
    assert_string_not_equal(key, other);

    recipe = f->recipe;
    recipe.outputs = "*.so*";
    assert_int_equal(build_key(other, &f->builder, f->open, commit, &recipe, &err), 0);
    assert_string_not_equal(key, other);

    recipe = f->recipe;
    recipe.input_count = 1;
    assert_int_equal(build_key(other, &f->builder, f->open, commit, &recipe, &err), 0);
    assert_string_not_equal(key, other);

    static const char *const names[] = {"PLUMB_TEST_FLAGS"};
    recipe = f->recipe;
    recipe.environment = names;
    recipe.environment_count = 1;
    unsetenv("PLUMB_TEST_FLAGS");
    assert_int_equal(build_key(key, &f->builder, f->open, commit, &recipe, &err), 0);
    setenv("PLUMB_TEST_FLAGS", "", 1);
    assert_int_equal(build_key(other, &f->builder, f->open, commit, &recipe, &err), 0);
    assert_string_not_equal(key, other);
    unsetenv("PLUMB_TEST_FLAGS");

    struct toolchain toolchain = {xprintf("%s.", f->toolchain.text)};
    struct builder builder = f->builder;
    builder.toolchain = &toolchain;
    assert_int_equal(build_key(other, &builder, f->open, commit, &recipe, &err), 0);
    assert_string_not_equal(key, other);
    toolchain_free(&toolchain);
}

static void unbuildable_commit_is_data_and_kept(void **state)
{
    struct fixture *f = *state;
    struct build first = build(f, REPO_UNBUILDABLE, &f->recipe);
    assert_int_equal(first.state, BUILD_FAILED);
    assert_string_equal(first.reason, "exit status 1");
    assert_non_null(strstr(first.log, "m_of_no_such_name"));
    assert_false(first.cached);
    struct build again = build(f, REPO_UNBUILDABLE, &f->recipe);
    assert_int_equal(again.state, BUILD_FAILED);
    assert_true(again.cached);
    assert_string_equal(again.reason, first.reason);
    assert_string_equal(again.log, first.log);
}

static void command_without_libraries_has_failed(void **state)
{
    struct fixture *f = *state;
    struct build empty = build_with(f, "echo nothing to do", 0);
    assert_int_equal(empty.state, BUILD_FAILED);
    assert_string_equal(empty.reason, "no file matches *.so");
}

static void links_and_folders_are_no_libraries(void **state)
{
    struct fixture *f = *state;
    struct build linked = build_with(
        f, "ln -s /usr/lib/os-release \"$PLUMB_OUT/a.so\"; mkdir \"$PLUMB_OUT/b.so\"", 0);
    assert_int_equal(linked.state, BUILD_FAILED);
    struct recipe recipe = f->recipe;
    recipe.command = "ln -s /usr/lib \"$PLUMB_OUT/d\"; cp /usr/lib/os-release \"$PLUMB_OUT/x.so\"";
    recipe.outputs = "*/os-release";
    assert_int_equal(build(f, REPO_START, &recipe).state, BUILD_FAILED);
}

static void absent_inputs_are_the_commits_failure(void **state)
{
    struct fixture *f = *state;
    static const char *const inputs[] = {"no/such/folder"};
    struct recipe recipe = f->recipe;
    recipe.inputs = inputs;
    recipe.input_count = 1;
    struct build absent = build(f, REPO_START, &recipe);
    assert_int_equal(absent.state, BUILD_FAILED);
    assert_non_null(strstr(absent.reason, "no/such/folder"));
    assert_int_equal(leftovers(f), 0);
}

static void timeout_is_not_kept(void **state)
{
    struct fixture *f = *state;
    struct build slow = build_with(f, "echo started; sleep 60", 1.5);
    assert_int_equal(slow.state, BUILD_TIMEOUT);
    assert_non_null(strstr(slow.log, "started"));
    assert_string_equal(slow.directory, "");
    assert_false(build_with(f, "echo started; sleep 60", 1.5).cached);
    assert_int_equal(leftovers(f), 0);
}

static void full_disk_is_not_the_commits_fault(void **state)
{
    struct fixture *f = *state;
    static const char command[] = "echo 'cc1: fatal error: No space left on device'; exit 1";
    assert_int_equal(build_with(f, command, 0).state, BUILD_STARVED);
    assert_false(build_with(f, command, 0).cached);
    assert_int_equal(build_with(f, "kill -9 $$", 0).state, BUILD_STARVED);
}

static void build_sees_only_what_it_was_given(void **state)
{
    struct fixture *f = *state;
    if (!f->sandbox.active)
        skip();
    setenv("PLUMB_TEST_SECRET", "hidden", 1);
    struct build seen = build_with(
        f, "env; ls -d /home /root; touch \"$PLUMB_SOURCE/x\" && echo WRITTEN; exit 1", 0);
    assert_int_equal(seen.state, BUILD_FAILED);
    assert_null(strstr(seen.log, "PLUMB_TEST_SECRET"));
    assert_null(strstr(seen.log, "WRITTEN"));
    assert_non_null(strstr(seen.log, "PLUMB_SOURCE=/plumb/source\n"));
    assert_non_null(strstr(seen.log, "PLUMB_OUT=/plumb/out\n"));
}

static void build_works_without_a_sandbox(void **state)
{
    struct fixture *f = *state;
    struct sandbox off;
    struct error err;
    assert_int_equal(sandbox_probe(&off, SANDBOX_OFF, &err), 0);
    struct builder builder = f->builder;
    builder.sandbox = &off;
    builder.cache = arena_printf(&f->arena, "%s/open", f->directory);
    struct build build;
    assert_int_equal(build_commit(&build, &builder, f->open, f->repo.ids[REPO_START], &f->recipe,
                                  &f->arena, &err),
                     0);
    assert_int_equal(build.state, BUILD_OK);
    assert_int_equal(build.library_count, 2);
}

static void two_builders_of_one_key_build_once(void **state)
{
    struct fixture *f = *state;
    static const char command[] =
        "sleep 0.3; echo x > \"$PLUMB_OUT/a.so\"; date +%N >> \"$PLUMB_OUT/a.so\"";
    pid_t others[3];
    for (size_t i = 0; i < ARRAY_COUNT(others); i++) {
        if ((others[i] = fork()) == 0) {
            struct build made = build_with(f, command, 0);
            _exit(made.state != BUILD_OK ? 9 : made.cached ? 1 : 0);
        }
    }
    int made = 0, found = 0;
    for (size_t i = 0; i < ARRAY_COUNT(others); i++) {
        int status;
        assert_int_equal(waitpid(others[i], &status, 0), others[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) <= 1);
        *(WEXITSTATUS(status) ? &found : &made) += 1;
    }
    assert_int_equal(made, 1);
    assert_int_equal(found, 2);
}

static void killed_builder_leaves_nothing_that_hinders(void **state)
{
    struct fixture *f = *state;
    static const char command[] = "echo x > \"$PLUMB_OUT/a.so\"; sleep 1; echo y";
    const struct timespec pause = {.tv_nsec = 20000000};
    for (size_t i = 0; i < 3; i++) {
        pid_t other = fork();
        if (other == 0) {
            build_with(f, command, 0);
            _exit(0);
        }
        do // until it has begun
            nanosleep(&pause, NULL);
        while (leftovers(f) <= i);
        kill(other, SIGKILL);
        waitpid(other, NULL, 0);
    }
    struct build after = build_with(f, command, 0);
    assert_int_equal(after.state, BUILD_OK);
    assert_false(after.cached);
    struct prune_result pruned;
    struct error err;
    assert_true(leftovers(f) > 0);
    assert_int_equal(build_prune(&pruned, f->builder.cache, 0, 0, &err), 0);
    assert_int_equal(leftovers(f), 0);
    assert_true(build_with(f, command, 0).cached);
}

static void prune_removes_the_longest_unused_first(void **state)
{
    struct fixture *f = *state;
    struct builder builder = f->builder;
    struct prune_result pruned;
    struct error err;
    builder.cache = arena_printf(&f->arena, "%s/prune", f->directory);
    assert_int_equal(build_prune(&pruned, builder.cache, 1, 1, &err), 0); // not there yet
    struct build builds[3];
    static const char *const commands[] = {"head -c 300000 /dev/zero > \"$PLUMB_OUT/a.so\"",
                                           "head -c 300001 /dev/zero > \"$PLUMB_OUT/a.so\"",
                                           "head -c 300002 /dev/zero > \"$PLUMB_OUT/a.so\""};
    for (int i = 0; i < 3; i++) {
        struct recipe recipe = f->recipe;
        recipe.command = commands[i];
        assert_int_equal(
            build_commit(&builds[i], &builder, f->open, f->repo.ids[0], &recipe, &f->arena, &err),
            0);
        char *path = xprintf("%s/state", builds[i].directory);
        const struct timespec times[2] = {{.tv_sec = 1000L * (i + 1)}, {.tv_sec = 1000L * (i + 1)}};
        assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
        free(path);
    }
    struct recipe recipe = f->recipe;
    recipe.command = commands[0];
    struct build used;
    assert_int_equal(
        build_commit(&used, &builder, f->open, f->repo.ids[0], &recipe, &f->arena, &err), 0);
    assert_true(used.cached); // so it is the youngest now
    assert_int_equal(build_prune(&pruned, builder.cache, 0, 800000, &err), 0);
    assert_int_equal(pruned.removed, 1);
    assert_int_equal(pruned.kept, 2);
    assert_int_equal(access(builds[0].directory, F_OK), 0);
    assert_int_equal(access(builds[1].directory, F_OK), -1);
    assert_int_equal(build_prune(&pruned, builder.cache, 3600, 0, &err), 0);
    assert_int_equal(pruned.removed, 1);
    assert_int_equal(access(builds[0].directory, F_OK), 0);
    assert_int_equal(access(builds[2].directory, F_OK), -1);
}

static void unwritable_cache_is_an_error(void **state)
{
    struct fixture *f = *state;
    struct builder builder = f->builder;
    struct build build;
    struct error err;
    builder.cache = "/proc/plumb/cache";
    assert_int_equal(
        build_commit(&build, &builder, f->open, f->repo.ids[0], &f->recipe, &f->arena, &err), -1);
    assert_non_null(strstr(err.text, "/proc/plumb"));
    builder.cache = arena_printf(&f->arena, "%s/README.md", f->repo.directory);
    assert_int_equal(
        build_commit(&build, &builder, f->open, f->repo.ids[0], &f->recipe, &f->arena, &err), -1);
    assert_non_null(strstr(err.text, "README.md: is not a directory"));
}

static void remove_does_not_follow_links_and_opens_closed_folders(void **state)
{
    struct fixture *f = *state;
    char *command = xprintf("cd '%s' && mkdir -p safe tree/a/b && touch safe/file tree/a/b/c && "
                            "ln -s ../safe tree/link && chmod 000 tree/a/b && chmod 555 tree/a",
                            f->directory);
    assert_int_equal(system(command), 0);
    char *tree = xprintf("%s/tree", f->directory), *file = xprintf("%s/safe/file", f->directory);
    struct error err;
    assert_int_equal(files_remove(tree, &err), 0);
    assert_int_equal(access(tree, F_OK), -1);
    assert_int_equal(access(file, F_OK), 0);
    assert_int_equal(files_remove(tree, &err), 0); // again: not there is fine
    free(command);
    free(tree);
    free(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(toolchain_names_its_compilers),
        cmocka_unit_test(build_makes_the_libraries_once),
        cmocka_unit_test(equal_contents_are_built_once),
        cmocka_unit_test(key_depends_on_all_that_matters),
        cmocka_unit_test(unbuildable_commit_is_data_and_kept),
        cmocka_unit_test(command_without_libraries_has_failed),
        cmocka_unit_test(links_and_folders_are_no_libraries),
        cmocka_unit_test(absent_inputs_are_the_commits_failure),
        cmocka_unit_test(timeout_is_not_kept),
        cmocka_unit_test(full_disk_is_not_the_commits_fault),
        cmocka_unit_test(build_sees_only_what_it_was_given),
        cmocka_unit_test(build_works_without_a_sandbox),
        cmocka_unit_test(two_builders_of_one_key_build_once),
        cmocka_unit_test(killed_builder_leaves_nothing_that_hinders),
        cmocka_unit_test(prune_removes_the_longest_unused_first),
        cmocka_unit_test(unwritable_cache_is_an_error),
        cmocka_unit_test(remove_does_not_follow_links_and_opens_closed_folders),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
