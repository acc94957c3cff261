// SPDX-License-Identifier: Apache-2.0
//
// The kernels' own recipe (ci/plumb.cfg, kernels/gemm/CMakeLists.txt) states what each library is
// made from, takes what is the same, and leaves out what the policy skips. Host kernels alone: the
// CUDA ones go the same way, and take a compiler and minutes.
#include "ci/settings/policy.h"
#include "tests/helpers/helper_build.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FILES_MAX = 64 };
struct fixture {
    struct helper_builds *builds;
    struct policy policy;
    char first[OBJECT_ID_TEXT];
};

static size_t add_files(struct helper_file *files, size_t count, const char *pattern)
{
    glob_t found;
    char *whole = xprintf(TEST_SOURCE "/%s", pattern);
    assert_int_equal(glob(whole, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc && count < FILES_MAX; i++) {
        struct stat status;
        assert_int_equal(stat(found.gl_pathv[i], &status), 0);
        files[count++] = (struct helper_file){
            .path = xstrdup(found.gl_pathv[i] + strlen(TEST_SOURCE "/")),
            .contents = helper_read(found.gl_pathv[i], NULL),
            .mode = status.st_mode & 0111 ? 0100755 : 0100644,
        };
    }
    globfree(&found);
    free(whole);
    return count;
}

static void commit_kernels(struct fixture *f)
{
    static const char *const patterns[] = {"kernels/kernel.h", "kernels/gemm/CMakeLists.txt",
                                           "kernels/gemm/*.sh", "kernels/gemm/host/*"};
    struct helper_file files[FILES_MAX];
    const char *parent = f->builds->repo.ids[REPO_START];
    size_t count = 0;
    for (size_t i = 0; i < ARRAY_COUNT(patterns); i++)
        count = add_files(files, count, patterns[i]);
    files[count++] = (struct helper_file){"kernels/gemm/host/space_of_all.c", "#error swept", 0};
    helper_repo_commit(f->first, f->builds->repo.directory, "ours", &parent, 1, 100, "kernels",
                       files, count);
    for (size_t i = 0; i + 1 < count; i++) {
        free((char *)(uintptr_t)files[i].path);
        free((char *)(uintptr_t)files[i].contents);
    }
}

static int set_up(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    struct error err;
    void *builds;
    if (helper_builds_set_up(&builds) || policy_load(&f->policy, TEST_SOURCE "/ci/plumb.cfg", &err))
        return -1;
    f->builds = builds;
    f->builds->recipe = f->policy.recipe;
    f->builds->builder.cache = arena_printf(&f->builds->arena, "%s/cache", f->builds->directory);
    commit_kernels(f);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    void *builds = f->builds;
    policy_free(&f->policy);
    free(f);
    return helper_builds_tear_down(&builds);
}

AROUND_ALL(set_up, tear_down);

static struct build make(struct fixture *f, const char *commit, const char *base)
{
    return helper_build_ok(f->builds, commit, base);
}

static struct build make_with(struct fixture *f, const char *path, const char *more)
{
    char *source = xprintf(TEST_SOURCE "/%s", path), *text = helper_read(source, NULL);
    char *longer = xprintf("%s%s", text, more), head[OBJECT_ID_TEXT];
    const struct helper_file file = {path, longer, strstr(path, ".sh") ? 0100755 : 0};
    const char *parent = f->first;
    helper_repo_commit(head, f->builds->repo.directory, "ours", &parent, 1, 101, "touched", &file,
                       1);
    free(longer);
    free(text);
    free(source);
    return make(f, head, f->first);
}

static bool took(const struct build *build, const char *kernel)
{
    char *words = xprintf("Kernel %s: taken", kernel), *built = xprintf("kernel_%s", kernel);
    bool taken = strstr(build->log, words) != NULL;
    assert_int_equal(taken, strstr(build->log, built) == NULL); // one or the other
    free(words);
    free(built);
    return taken;
}

TEST(only_what_was_touched_is_compiled)
{
    struct fixture *f = *state;
    const struct build first = make(f, f->first, NULL);
    assert_false(took(&first, "naive"));
    assert_false(took(&first, "simd"));
    struct build build = make_with(f, "kernels/gemm/host/naive.c", "\n// touched\n");
    assert_false(took(&build, "naive"));
    assert_true(took(&build, "simd"));
    assert_true(took(&build, "blocked"));
    assert_int_equal(build.library_count, first.library_count);
    build = make_with(f, "kernels/gemm/host/simd.h", "\n// touched\n");
    assert_false(took(&build, "simd"));
    assert_true(took(&build, "naive"));
    static const struct {
        const char *path, *more;
    } all[] = {{"kernels/gemm/CMakeLists.txt", "# touched\n"},
               {"kernels/gemm/inputs.sh", "# touched\n"},
               {"kernels/kernel.h", "// touched\n"}};
    for (size_t i = 0; i < ARRAY_COUNT(all); i++) {
        build = make_with(f, all[i].path, all[i].more);
        assert_false(took(&build, "naive"));
        assert_false(took(&build, "simd"));
    }
}

// A file named for the space is an error in this fixture: it would fail the build.
TEST(skipped_files_are_not_compiled)
{
    struct fixture *f = *state;
    const struct build first = make(f, f->first, NULL);
    for (size_t i = 0; i < first.library_count; i++)
        assert_null(strstr(first.libraries[i], "space_"));
}
