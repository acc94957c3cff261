// SPDX-License-Identifier: Apache-2.0
//
// A repository whose kernels need a submodule: list, gate, run and doctor build with it, and say
// what is missing where it is not here. A commit that pins another one is another build.
// Label: unsanitized
#include "runner/build/build.h"
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *scene, *checkout, *policy;
static struct plumb_outcome outcome;

static int make(void **state)
{
    scene = helper_submodules();
    checkout = xprintf("%s/clone", scene);
    policy = xprintf("%s/plumb.cfg", scene);
    return 0;
}

// A new clone, `options` being git's, whose store knows this machine: a new one has it measured.
static void clone_again(const char *options)
{
    struct helper_repo made;
    char *words = xprintf("rm -rf clone && git clone -q %s top clone", options);
    helper_shell(scene, ".", words);
    text_copy(made.directory, sizeof(made.directory), checkout);
    helper_repo_know_host(&made, NULL);
    free(words);
}

static int set_up(void **state)
{
    clone_again("--recursive");
    helper_submodules_policy(policy, "");
    return 0;
}

AROUND_EACH(set_up, NULL);

AROUND_ALL(make, NULL);

static void type(int code, const char *part, const char *const *argv)
{
    plumb_run(&outcome, checkout, argv, 0);
    plumb_said(&outcome, code, part);
}

#define TYPE(code, part, ...)                                                                      \
    type(code, part, (const char *const[]){__VA_ARGS__, "--policy", policy, NULL})

TEST(kernels_of_a_submodule_are_built_and_judged)
{
    TYPE(0, "plain ", "list", "kernels");
    TYPE(1, "SLOWER", "gate"); // the new commit of the submodule makes it loop twice
    plumb_run(&outcome, checkout, (const char *const[]){"doctor", "--policy", policy, NULL}, 0);
    plumb_said(&outcome, outcome.code, "ok        submodules   2, each with the commit");
}

TEST(missing_one_is_told_alike)
{
    static const char missing[] = "submodule 'third_party/lib' at commit ";
    static const char typed[] = "`git submodule update --init --recursive third_party/lib`";
    clone_again("");
    TYPE(4, missing, "list", "kernels");
    plumb_said(&outcome, 4, typed);
    TYPE(4, missing, "gate");
    plumb_said(&outcome, 4, typed);
    TYPE(4, missing, "run");
    plumb_said(&outcome, 4, typed);
    TYPE(4, missing, "run", "HEAD~..HEAD");
    TYPE(2, missing, "doctor");
    plumb_said(&outcome, 2, typed);
    // What failed for this is not kept as a failure of the commit.
    helper_shell(scene, "clone", "git submodule --quiet update --init --recursive third_party/lib");
    TYPE(0, "plain ", "list", "kernels");
}

// An older commit of a range is passed over, and tried again.
TEST(range_goes_on_without_a_commit_that_lacks_one)
{
    clone_again("");
    helper_shell(scene, "clone",
                 "git submodule --quiet init && git config submodule.third_party/lib.url "
                 "\"file://$PWD/../lib\" && git submodule --quiet update --depth 1 && "
                 "git submodule --quiet update --init --recursive");
    TYPE(3, "third_party/lib", "run", "ALL"); // its worst commit's code, and the other is measured
    plumb_said(&outcome, 3, "is not on this machine");
    plumb_said(&outcome, 3, "OK: 1 new");
    helper_shell(scene, "clone", "git -C third_party/lib fetch -q --unshallow");
    TYPE(0, "commit 1 of 2", "run", "ALL");
    assert_null(strstr(outcome.output, "is not on this machine"));
}

TEST(policy_may_leave_one_out)
{
    clone_again("");
    helper_submodules_policy(policy, "\twithout = third_party/lib\n");
    TYPE(3, "twice.h", "list", "kernels");
}

TEST(failure_names_what_is_empty)
{
    helper_shell(scene, "clone", "git rm -q --cached .gitmodules && git commit -q -m nameless");
    TYPE(3, "twice.h", "list", "kernels");
    plumb_said(&outcome, 3, "'third_party/lib' is a submodule without a line in .gitmodules");
    TYPE(3, "without a line in .gitmodules", "gate");
    TYPE(3, "without a line in .gitmodules", "gate"); // from the cache too
}

// Whatever part of it is an input, and where .gitmodules alone changes.
TEST(pinned_commit_is_part_of_the_builds_key)
{
    static const char *const inputs[] = {"third_party", "third_party/lib",
                                         "third_party/lib/include", ""};
    struct repository *repository;
    struct arena arena = {0};
    struct error err;
    struct commit at[3];
    helper_shell(scene, "clone", "git rm -q --cached .gitmodules && git commit -q -m nameless");
    assert_int_equal(repository_open(&repository, checkout, &err), 0);
    static const char *const revisions[] = {"HEAD~2", "HEAD~", "HEAD"};
    for (size_t i = 0; i < ARRAY_COUNT(at); i++)
        assert_int_equal(repository_commit(&at[i], repository, revisions[i], &arena, &err), 0);
    const struct toolchain toolchain = {.text = "none"};
    const struct builder builder = {.cache = scene, .toolchain = &toolchain};
    for (size_t i = 0; i < ARRAY_COUNT(inputs); i++) {
        char keys[3][OBJECT_ID_TEXT];
        const struct recipe recipe = {
            .inputs = &inputs[i], .input_count = 1, .command = "true", .outputs = "*.so"};
        for (size_t k = 0; k < ARRAY_COUNT(at); k++)
            assert_int_equal(build_key(keys[k], &builder, repository, at[k].id, &recipe, &err), 0);
        assert_string_not_equal(keys[0], keys[1]);
        assert_string_not_equal(keys[1], keys[2]);
    }
    struct path_list names;
    assert_int_equal(repository_names(&names, repository, at[0].id, &inputs[2], 1, &arena, &err),
                     0);
    assert_non_null(strstr(names.submodules, " third_party/lib"));
    repository_close(repository);
    arena_free(&arena);
}
