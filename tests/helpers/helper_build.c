// SPDX-License-Identifier: Apache-2.0
//
// Builds commits of the scratch repository in a cache that goes with the test.
#include "tests/helpers/helper_build.h"
#include "tests/helpers/test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int helper_builds_set_up(void **state)
{
    struct helper_builds *f = xcalloc(1, sizeof(*f));
    struct error err = {{0}};
    helper_repo_create(&f->repo);
    f->directory = helper_directory();
    if (repository_open(&f->open, f->repo.directory, &err) ||
        sandbox_probe(&f->sandbox, SANDBOX_AUTO, &err) ||
        toolchain_detect(&f->toolchain, &f->sandbox, &err)) {
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

int helper_builds_tear_down(void **state)
{
    struct helper_builds *f = *state;
    repository_close(f->open);
    toolchain_free(&f->toolchain);
    arena_free(&f->arena);
    helper_repo_remove(&f->repo);
    helper_discard(f->directory);
    free(f->directory);
    free(f);
    return 0;
}

struct build helper_build(struct helper_builds *f, enum helper_commit commit,
                          const struct recipe *recipe)
{
    struct build build;
    struct error err;
    if (build_commit(&build, &f->builder, f->open, f->repo.ids[commit], NULL, recipe, &f->arena,
                     &err))
        fail_msg("%s", err.text);
    return build;
}

struct build helper_build_ok(struct helper_builds *f, const char *commit, const char *base)
{
    struct build build;
    struct error err;
    if (build_commit(&build, &f->builder, f->open, commit, base, &f->recipe, &f->arena, &err))
        fail_msg("%s", err.text);
    if (build.state != BUILD_OK)
        fail_msg("%s\n%s", build.reason, build.log);
    return build;
}

struct build helper_build_with(struct helper_builds *f, const char *command, double timeout_s)
{
    struct recipe recipe = f->recipe;
    recipe.command = command;
    recipe.timeout_s = timeout_s;
    return helper_build(f, REPO_START, &recipe);
}

size_t helper_build_leftovers(const struct helper_builds *f)
{
    size_t count = 0;
    DIR *cache = opendir(f->builder.cache);
    assert_non_null(cache);
    for (struct dirent *entry; (entry = readdir(cache));)
        count += strncmp(entry->d_name, "tmp-", 4) == 0;
    closedir(cache);
    return count;
}
