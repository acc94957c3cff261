// SPDX-License-Identifier: Apache-2.0
//
// One key is built once, by whoever comes first, and killed builders leave no trace in the cache.
#include "runner/build/build.h"
#include "tests/helpers/helper_build.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

AROUND_ALL(helper_builds_set_up, helper_builds_tear_down);

TEST(equal_contents_are_built_once)
{
    struct helper_builds *f = *state;
    struct build merge = helper_build(f, REPO_MERGE, &f->recipe);
    struct build revert = helper_build(f, REPO_REVERT, &f->recipe);
    assert_string_equal(merge.key, revert.key); // a revert
    assert_true(revert.cached);
    struct build docs = helper_build(f, REPO_DOCS, &f->recipe);
    struct build comment = helper_build(f, REPO_COMMENT, &f->recipe);
    assert_string_equal(docs.key, comment.key); // a commit that touches no input
    assert_true(comment.cached);
    assert_string_not_equal(comment.key, merge.key); // a rename is another input
}

TEST(key_depends_on_all_that_matters)
{
    struct helper_builds *f = *state;
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

    struct toolchain toolchain = {.text = xprintf("%s.", f->toolchain.text)};
    struct builder builder = f->builder;
    builder.toolchain = &toolchain;
    assert_int_equal(build_key(other, &builder, f->open, commit, &recipe, &err), 0);
    assert_string_not_equal(key, other);
    toolchain_free(&toolchain);
}

TEST(two_builders_of_one_key_build_once)
{
    struct helper_builds *f = *state;
    static const char command[] =
        "sleep 0.3; echo x > \"$PLUMB_OUT/a.so\"; date +%N >> \"$PLUMB_OUT/a.so\"";
    pid_t others[3];
    for (size_t i = 0; i < ARRAY_COUNT(others); i++) {
        if ((others[i] = fork()) == 0) {
            struct build made = helper_build_with(f, command, 0);
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

TEST(killed_builder_leaves_nothing_that_hinders)
{
    struct helper_builds *f = *state;
    static const char command[] = "echo x > \"$PLUMB_OUT/a.so\"; sleep 1; echo y";
    const struct timespec pause = {.tv_nsec = 20000000};
    for (size_t i = 0; i < 3; i++) {
        pid_t other = fork();
        if (other == 0) {
            helper_build_with(f, command, 0);
            _exit(0);
        }
        do // until it has begun
            nanosleep(&pause, NULL);
        while (helper_build_leftovers(f) <= i);
        kill(other, SIGKILL);
        waitpid(other, NULL, 0);
    }
    struct build after = helper_build_with(f, command, 0);
    assert_int_equal(after.state, BUILD_OK);
    assert_false(after.cached);
    assert_true(helper_build_leftovers(f) > 0);
    build_tidy(f->builder.cache);
    assert_int_equal(helper_build_leftovers(f), 0);
    assert_true(helper_build_with(f, command, 0).cached);
}

TEST(a_day_later_what_is_old_goes_by_itself)
{
    struct helper_builds *f = *state;
    struct recipe recipe = f->recipe;
    struct build build;
    struct error err;
    recipe.command = "echo old > \"$PLUMB_OUT/a.so\"";
    assert_int_equal(
        build_commit(&build, &f->builder, f->open, f->repo.ids[0], NULL, &recipe, &f->arena, &err),
        0);
    build_tidy(f->builder.cache); // today's look
    char *state_file = xprintf("%s/state", build.directory);
    char *stamp = xprintf("%s/tidied", f->builder.cache);
    const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    assert_int_equal(utimensat(AT_FDCWD, state_file, old, 0), 0);
    build_tidy(f->builder.cache);
    assert_int_equal(access(build.directory, F_OK), 0);
    assert_int_equal(utimensat(AT_FDCWD, stamp, old, 0), 0);
    build_tidy(f->builder.cache);
    assert_int_equal(access(build.directory, F_OK), -1);
    // A clock that went back: or nobody would look for a long time.
    const struct timespec later[2] = {{.tv_sec = time(NULL) + 1000000},
                                      {.tv_sec = time(NULL) + 1000000}};
    struct stat looked;
    assert_int_equal(utimensat(AT_FDCWD, stamp, later, 0), 0);
    build_tidy(f->builder.cache);
    assert_int_equal(stat(stamp, &looked), 0);
    assert_true(looked.st_mtime < later[0].tv_sec - 1000);
    build_tidy("/no/such/cache"); // nothing is there to be tidied
    assert_int_equal(access("/no/such", F_OK), -1);
    free(state_file);
    free(stamp);
}

// A prune removes the lock's file while another waits for it: that one must not hold a file that
// nobody else will find.
TEST(lock_whose_file_went_is_taken_anew)
{
    struct helper_builds *f = *state;
    static const char key[] = "0123456789012345678901234567890123456789";
    struct error err;
    char *path = xprintf("%s/%s.lock", f->builder.cache, key);
    int told[2], held = build_cache_lock(f->builder.cache, key, &err), status = 0;
    assert_true(held >= 0 && pipe(told) == 0);
    pid_t other = fork();
    if (other == 0) {
        close(held);
        if (write(told[1], "x", 1) != 1)
            _exit(1);
        _exit(build_cache_lock(f->builder.cache, key, &err) < 0 || access(path, F_OK) ? 2 : 0);
    }
    char byte;
    const struct timespec pause = {.tv_nsec = 200000000};
    assert_int_equal(read(told[0], &byte, 1), 1);
    nanosleep(&pause, NULL); // it waits by now; if not, it finds what it would anyway
    assert_int_equal(unlink(path), 0);
    close(held);
    assert_int_equal(waitpid(other, &status, 0), other);
    assert_int_equal(status, 0);
    close(told[0]);
    close(told[1]);
    free(path);
}

TEST(prune_removes_the_longest_unused_first)
{
    struct helper_builds *f = *state;
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
        assert_int_equal(build_commit(&builds[i], &builder, f->open, f->repo.ids[0], NULL, &recipe,
                                      &f->arena, &err),
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
        build_commit(&used, &builder, f->open, f->repo.ids[0], NULL, &recipe, &f->arena, &err), 0);
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

TEST(unwritable_cache_is_an_error)
{
    struct helper_builds *f = *state;
    struct builder builder = f->builder;
    struct build build;
    struct error err;
    builder.cache = "/proc/plumb/cache";
    assert_int_equal(
        build_commit(&build, &builder, f->open, f->repo.ids[0], NULL, &f->recipe, &f->arena, &err),
        -1);
    assert_non_null(strstr(err.text, "/proc/plumb"));
    builder.cache = arena_printf(&f->arena, "%s/README.md", f->repo.directory);
    assert_int_equal(
        build_commit(&build, &builder, f->open, f->repo.ids[0], NULL, &f->recipe, &f->arena, &err),
        -1);
    assert_non_null(strstr(err.text, "README.md: is not a directory"));
}
