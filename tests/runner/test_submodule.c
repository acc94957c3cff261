// SPDX-License-Identifier: Apache-2.0
//
// A submodule is exported at the commit that is pinned, from objects that the repository itself has
// here; where they are not, what is said brings them; and what a commit says of its submodules
// leads nowhere else.
#include "runner/git/repository.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *scene;          // the repositories
static char *out;            // the export
static struct exported told; // of the export
static struct error err;     // of the export
static struct export_terms terms;

static int make(void **state)
{
    scene = helper_submodules();
    out = xprintf("%s/out", scene);
    return 0;
}

static int set_up(void **state)
{
    helper_shell(scene, ".", "rm -rf clone tree full full_tree bare.git");
    terms = helper_any_memory;
    return 0;
}

AROUND_EACH(set_up, NULL);

AROUND_ALL(make, NULL);

static int export(const char *folder, const char *revision, const char *const *paths, size_t count)
{
    char *where = xprintf("%s/%s", scene, folder);
    struct repository *repository;
    struct arena arena = {0};
    struct commit commit;
    told = (struct exported){0};
    helper_shell(scene, ".", "rm -rf out");
    if (repository_open(&repository, where, &err) ||
        repository_commit(&commit, repository, revision, &arena, &err))
        fail_msg("%s", err.text);
    const int result =
        repository_export(&told, repository, commit.id, paths, count, &terms, out, &err);
    assert_int_equal(helper_exists(scene, "out"), result == 0);
    repository_close(repository);
    arena_free(&arena);
    free(where);
    return result;
}

static void exported(const char *folder, const char *revision)
{
    if (export(folder, revision, NULL, 0))
        fail_msg("%s", err.text);
}

static void holds(const char *name, const char *text)
{
    char *path = xprintf("%s/%s", out, name);
    if (!helper_says(path, text))
        fail_msg("%s does not say %s", name, text);
    free(path);
}

// It is missing, and the text says so; then what it says is typed in `folder`.
static void lacks(const char *folder, const char *revision, const char *part, const char *url)
{
    if (export(folder, revision, NULL, 0) != EXPORT_LACKS)
        fail_msg("%s", err.text);
    if (!strstr(err.text, part))
        fail_msg("%s", err.text);
    char *begin = strchr(err.text, '`'), *end = begin ? strchr(begin + 1, '`') : NULL;
    assert_non_null(end);
    char *words = xprintf("%.*s >/dev/null 2>&1", (int)(end - begin) - 1, begin + 1);
    char *place = strstr(words, "<its url>");
    char *typed =
        place ? xprintf("%.*s%s%s", (int)(place - words), words, url, place + strlen("<its url>"))
              : xstrdup(words);
    helper_shell(scene, folder, typed);
    free(typed);
    free(words);
}

TEST(submodules_are_exported_at_their_pinned_commits)
{
    helper_shell(scene, ".", "git clone -q --recursive top clone");
    helper_shell(scene, "clone", "echo mine >third_party/lib/include/twice.h");
    helper_shell(scene, "clone", "git -C third_party/lib checkout -q -f HEAD~");
    exported("clone", "HEAD");
    holds("third_party/lib/include/twice.h", "TWICE 2");
    holds("third_party/lib/vendor/deep/deep.h", "DEEP 0");
    assert_true(helper_exists(out, "third_party/lib/.gitmodules"));
    assert_false(helper_exists(out, "third_party/lib/.git"));
    exported("clone", "HEAD~");
    holds("third_party/lib/include/twice.h", "TWICE 1");
}

TEST(path_may_lead_into_a_submodule)
{
    static const char *const inside[] = {"kernels", "third_party/lib/include"};
    static const char *const deep[] = {"./third_party/lib/vendor/deep/deep.h"};
    static const char *const wrong[] = {"third_party/lib/nothing"};
    helper_shell(scene, ".", "git clone -q --recursive top clone");
    assert_int_equal(export("clone", "HEAD", inside, 2), 0);
    holds("third_party/lib/include/twice.h", "TWICE 2");
    assert_false(helper_exists(out, "third_party/lib/vendor"));
    assert_int_equal(export("clone", "HEAD", deep, 1), 0);
    holds("third_party/lib/vendor/deep/deep.h", "DEEP 0");
    assert_int_equal(export("clone", "HEAD", wrong, 1), EXPORT_REFUSED);
    assert_non_null(strstr(err.text, "is not in it"));
}

TEST(what_is_missing_is_told_with_what_brings_it)
{
    helper_shell(scene, ".", "git clone -q top clone");
    lacks("clone", "HEAD", "submodule 'third_party/lib' at commit ", "");
    exported("clone", "HEAD");
    holds("third_party/lib/vendor/deep/deep.h", "DEEP 0");
    // The nested one alone is missing.
    helper_shell(scene, "clone",
                 "git submodule --quiet deinit --all -f && rm -rf .git/modules && "
                 "git submodule --quiet update --init");
    lacks("clone", "HEAD", "submodule 'third_party/lib/vendor/deep' at commit ", "");
    exported("clone", "HEAD");
}

// As CI services clone: the newest commit of each alone.
TEST(commit_beyond_a_shallow_submodule_is_told)
{
    helper_shell(scene, ".", "git clone -q top clone");
    helper_shell(scene, "clone",
                 "git submodule --quiet init && git config "
                 "submodule.third_party/lib.url \"file://$PWD/../lib\" && "
                 "git submodule --quiet update --depth 1 && "
                 "git submodule --quiet update --init --recursive");
    exported("clone", "HEAD");
    lacks("clone", "HEAD~", "`git -C third_party/lib fetch origin ", "");
    exported("clone", "HEAD~");
    holds("third_party/lib/include/twice.h", "TWICE 1");
}

TEST(worktrees_have_their_own_and_the_others)
{
    helper_shell(scene, ".", "git clone -q top clone && git -C clone worktree add -q ../tree");
    lacks("tree", "HEAD", "third_party/lib", "");
    exported("tree", "HEAD");
    if (export("clone", "HEAD", NULL, 0) != EXPORT_LACKS) // git does not look there either
        fail_msg("%s", err.text);
    helper_shell(scene, ".",
                 "git clone -q --recursive top full && "
                 "git -C full worktree add -q ../full_tree");
    exported("full_tree", "HEAD");
}

// As git made them before 1.7.8, and still leaves them where a clone is added.
TEST(repositories_inside_the_checkout_are_found)
{
    helper_shell(scene, ".",
                 "git clone -q top clone && rmdir clone/third_party/lib && "
                 "git clone -q lib clone/third_party/lib && "
                 "git clone -q deep clone/third_party/lib/vendor/deep");
    exported("clone", "HEAD");
    holds("third_party/lib/vendor/deep/deep.h", "DEEP 0");
}

TEST(submodule_under_an_older_name_is_found)
{
    helper_shell(scene, ".", "git clone -q --recursive top clone");
    helper_shell(scene, "clone",
                 "sed -i 's,\"third_party/lib\",\"lib\",' .gitmodules && "
                 "git commit -q -a -m renamed");
    exported("clone", "HEAD");
    holds("third_party/lib/include/twice.h", "TWICE 2");
}

TEST(what_the_policy_leaves_out_stays_empty)
{
    static const char *const both[] = {"./third_party/lib/"};
    static const char *const nested[] = {"third_party/lib/vendor/deep"};
    helper_shell(scene, ".", "git clone -q top clone");
    terms.without = both;
    terms.without_count = 1;
    exported("clone", "HEAD");
    assert_true(helper_exists(out, "third_party/lib"));
    assert_false(helper_exists(out, "third_party/lib/include"));
    helper_shell(scene, "clone", "git submodule --quiet update --init");
    terms.without = nested;
    exported("clone", "HEAD");
    assert_true(helper_exists(out, "third_party/lib/include/twice.h"));
    assert_false(helper_exists(out, "third_party/lib/vendor/deep/deep.h"));
}

TEST(what_gitmodules_does_not_name_is_empty_and_told)
{
    helper_shell(scene, ".", "git clone -q --recursive top clone");
    helper_shell(scene, "clone", "git rm -q --cached .gitmodules && git commit -q -m nameless");
    exported("clone", "HEAD");
    assert_false(helper_exists(out, "third_party/lib/include"));
    assert_int_equal(told.nameless.count, 1);
    assert_string_equal(told.nameless.first, "third_party/lib");
}

TEST(pointers_of_lfs_are_told)
{
    helper_shell(scene, "other",
                 "printf 'version https://git-lfs.github.com/spec/v1\\noid sha256:"
                 "00\\nsize 5\\n' >data.bin; cp data.bin more.bin; git add .; "
                 "git commit -q -m data");
    exported("other", "HEAD");
    assert_int_equal(told.pointers.count, 2);
    assert_string_equal(told.pointers.first, "data.bin");
}

// What a partial clone left out is fetched by nobody here.
TEST(partial_clone_of_a_submodule_is_told)
{
    helper_shell(scene, "lib", "git config uploadpack.allowFilter true");
    helper_shell(scene, ".", "git clone -q top clone");
    helper_shell(scene, "clone",
                 "git submodule --quiet init && git clone -q --no-checkout "
                 "--filter=blob:none \"file://$PWD/../lib\" third_party/lib");
    assert_int_equal(export("clone", "HEAD", NULL, 0), -1);
    assert_non_null(strstr(err.text, "partial clone"));
}

// A stranger's .gitmodules names what it likes; `other` is on this machine and has the commit.
static void strange(const char *name, const char *prepare)
{
    helper_shell(scene, ".", "rm -rf clone && git clone -q top clone");
    char *pin = helper_shell_says(scene, "other", "git rev-parse HEAD");
    char *words = xprintf("%s\ncat >.gitmodules <<'END'\n[submodule \"%s\"]\n\tpath = taken\n"
                          "\turl = %s/other\nEND\n"
                          "git add .gitmodules && git update-index --add --cacheinfo "
                          "160000,%s,taken && git commit -q -m strange",
                          prepare, name, scene, pin);
    helper_shell(scene, "clone", words);
    const int result = export("clone", "HEAD", (const char *const[]){"taken"}, 1);
    assert_true(result == EXPORT_REFUSED || result == EXPORT_LACKS);
    free(words);
    free(pin);
}

TEST(names_and_links_lead_nowhere_else)
{
    strange("../../../other/.git", "");
    assert_non_null(strstr(err.text, "a name that leads elsewhere"));
    strange("x/../../../../other/.git", "");
    strange("/tmp/other/.git", "");
    strange(".", "");
    strange("..", "");
    strange("a//b", "");
    strange("a\\\\..\\\\b", "");
    strange("", "");
    // A url is nothing that is opened.
    strange("taken", "");
    assert_non_null(strstr(err.text, "is not on this machine"));
    strange("taken", "mkdir -p .git/modules && ln -s ../../../other/.git .git/modules/taken");
    strange("taken", "ln -s ../other taken");
    strange("taken", "mkdir taken && ln -s ../../other/.git taken/.git");
    strange("taken", "mkdir taken && echo 'gitdir: ../../other/.git' >taken/.git");
    // What would be typed holds no name that a shell understands.
    strange("a$(touch x)b", "");
    assert_null(strstr(err.text, "touch"));
}

TEST(gitmodules_that_is_no_file_of_settings_is_the_commits_fault)
{
    helper_shell(scene, ".", "git clone -q --recursive top clone");
    helper_shell(scene, "clone",
                 "echo '[include] path = /etc/passwd' >.gitmodules && "
                 "git commit -q -a -m include");
    assert_int_equal(export("clone", "HEAD", NULL, 0), EXPORT_REFUSED);
    assert_non_null(strstr(err.text, ".gitmodules:1: other files cannot be included"));
    helper_shell(scene, "clone",
                 "rm .gitmodules && ln -s include/kernel.h .gitmodules && "
                 "git add .gitmodules && git commit -q -m link");
    exported("clone", "HEAD");
    assert_int_equal(told.nameless.count, 1);
    // A pin that is the id of a file.
    helper_shell(scene, "clone",
                 "git checkout -q HEAD~2 && git update-index --cacheinfo 160000,$("
                 "git -C third_party/lib rev-parse HEAD:include/twice.h),"
                 "third_party/lib && git commit -q -m blob");
    assert_int_equal(export("clone", "HEAD", NULL, 0), EXPORT_REFUSED);
    assert_non_null(strstr(err.text, "third_party/lib"));
}

// It comes last: it adds commits.
TEST(bare_clones_keep_them_beside_their_objects)
{
    char *lib = xprintf("%s/lib", scene), *deep = xprintf("%s/deep", scene);
    helper_shell(scene, ".", "git clone -q --mirror top bare.git");
    lacks("bare.git", "HEAD", "git clone --bare <its url> ", lib);
    lacks("bare.git", "HEAD", "'third_party/lib/vendor/deep'", deep);
    exported("bare.git", "HEAD");
    holds("third_party/lib/vendor/deep/deep.h", "DEEP 0");
    helper_shell(scene, "lib", "echo '#define TWICE 3' >include/twice.h; git commit -q -a -m 3");
    helper_shell(scene, "top/third_party/lib", "git pull -q");
    helper_shell(scene, "top", "git commit -q -a -m third");
    helper_shell(scene, "bare.git", "git fetch -q");
    lacks("bare.git", "HEAD", "`git --git-dir=", "");
    exported("bare.git", "HEAD");
    holds("third_party/lib/include/twice.h", "TWICE 3");
    free(lib);
    free(deep);
}
