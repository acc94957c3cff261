// SPDX-License-Identifier: Apache-2.0
//
// ci/nightly and ci/quickstart, as far as they are more than the commands they call: what is wrong
// before a verdict is exit code 4, never the code of a verdict. And ci/format, by which release.
// Label: unsanitized
#include "model/base.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static struct helper_repo repo;
static char *tree; // a checkout of this project, as far as the scripts look at it
static char *said;

static int shell(const char *script)
{
    char *command = xprintf("cd '%s' && exec 2>said >&2; %s", tree, script);
    char *path = xprintf("%s/said", tree);
    int status = system(command);
    free(said);
    said = helper_read(path, NULL);
    free(path);
    free(command);
    assert_true(status != -1 && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int set_up(void **state)
{
    helper_repo_create(&repo);
    tree = helper_directory();
    char *path = xprintf("%s/night.cfg", repo.directory);
    helper_write_text(
        path, "[build]\n\tinput = kernels\n\tinput = include\n"
              "\tcommand = \"cc -O2 -std=gnu17 -shared -fPIC -Iinclude -o \\\"$PLUMB_OUT/k.so\\\" "
              "kernels/blocked.c\"\n"
              "[device \"host\"]\n\tkind = host\n[problems \"p\"]\n\tproblem = 32x32x32:fp32\n"
              "[kernel \"*\"]\n\tproblems = p\n[measure]\n\tsamples = 4\n");
    free(path);
    return shell("mkdir -p ci build/dev && cp '" TEST_SOURCE "/ci/nightly' '" TEST_SOURCE
                 "/ci/quickstart' ci && ln -s '" TEST_BIN "' build/dev/bin");
}

AROUND_ALL(set_up, NULL);

TEST(nightly_of_another_repository_finds_its_own_plumb)
{
    char *script = xprintf("ci/nightly --repo '%s' --back 1 --policy night.cfg", repo.directory);
    int code = shell(script);
    if (code > 2)
        fail_msg("exit %d: %s", code, said);
    assert_true(helper_exists(repo.directory, "nightly/site/index.html"));
    assert_true(helper_exists(repo.directory, "nightly/searches.txt"));
    assert_true(helper_exists(repo.directory, "nightly/events.json"));
    free(script);
}

// The newest commit is the same as the one before, which was slower.
TEST(night_does_not_pass_while_a_slowdown_is_open)
{
    static const struct {
        const char *newest, *check;
        int code;
        bool named;
    } nights[] = {{"0", "0", 0, false},  {"0", "1", 1, true}, {"2", "0", 2, false},
                  {"2", "1", 1, true},   {"3", "1", 3, true}, {"0", "4", 4, false},
                  {"0", "139", 4, false}};
    for (size_t i = 0; i < ARRAY_COUNT(nights); i++) {
        char *script =
            xprintf("printf '%%s\\n' '#!/bin/sh' 'case $* in run*) exit %s ;; "
                    "*--check*) echo SLOWER: one; exit %s ;; esac' >fake && chmod +x fake && "
                    "ci/nightly --repo '%s' --back 1 --plumb \"$PWD/fake\" >&2",
                    nights[i].newest, nights[i].check, repo.directory);
        assert_int_equal(shell(script), nights[i].code);
        assert_true(!strstr(said, "SLOWER: one") == !nights[i].named);
        free(script);
    }
}

// `.` is where the caller is, and not where the script lies, which is a repository too.
TEST(nightly_looks_for_the_repository_from_where_it_is_called)
{
    char *script = xprintf("rm -rf '%s/nightly' nightly; git init -q .; at=$PWD; cd '%s'; "
                           "\"$at/ci/nightly\" --repo . --back 1 --policy night.cfg",
                           repo.directory, repo.directory);
    int code = shell(script);
    if (code > 2)
        fail_msg("exit %d: %s", code, said);
    assert_true(helper_exists(repo.directory, "nightly/site/index.html"));
    assert_false(helper_exists(tree, "nightly"));
    free(script);
}

TEST(what_is_wrong_before_a_verdict_is_code_4)
{
    static const struct {
        const char *script, *says;
    } cases[] = {
        {"ci/nightly --repo", "One night"},
        {"ci/nightly --repo /nowhere/at/all", "/nowhere/at/all"},
        {"cd ci && ./nightly --nonsense x", "One night"},
        {"ci/nightly --back none", "One night"},
        {"echo > file; ci/nightly --out file/night", "file"},
        {"git init -q empty; ci/nightly --repo empty", "HEAD"},
        {"PLUMB_SKIP_SETUP=1 ci/quickstart --base", "ci/quickstart"},
        {"PLUMB_SKIP_SETUP=1 ci/quickstart --nonsense x", "ci/quickstart"},
        {"echo 'exit 1' > ci/setup; ci/quickstart", ""},
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        int code = shell(cases[i].script);
        if (code != 4 || !strstr(said, cases[i].says))
            fail_msg("%s: exit %d: %s", cases[i].script, code, said);
    }
}

// Asked for help a script says what it is, does nothing, and that is no failure.
TEST(help_is_no_failure)
{
    static const char *const scripts[] = {"ci/nightly", "ci/quickstart", "ci/bundle"};
    assert_int_equal(shell("cp '" TEST_SOURCE "/ci/bundle' ci"), 0);
    for (size_t i = 0; i < ARRAY_COUNT(scripts); i++) {
        char *command = xprintf("%s --help", scripts[i]);
        int code = shell(command);
        if (code != 0 || !strstr(said, scripts[i]) || strstr(said, "GNU"))
            fail_msg("%s: exit %d: %s", command, code, said);
        free(command);
    }
    assert_int_equal(shell("ci/nightly --help"), 0);
    assert_non_null(strstr(said, "these, 4 failed.\n")); // to its last line
    assert_int_equal(shell("ci/bundle --nonsense"), 4);
    assert_non_null(strstr(said, "ci/bundle DIR|FILE.tar.gz"));
}

// A clang-format of another release would call half of the files wrong.
TEST(another_clang_format_checks_nothing_and_says_so)
{
    static const char fake[] =
        "git init -q . && cp '" TEST_SOURCE
        "/ci/format' ci && echo 'int  a;' >a.c && git add a.c && "
        "mkdir -p own && for t in git dirname basename grep wc; do "
        "ln -sf \"$(command -v $t)\" own; done; "
        "printf '#!/bin/sh\\n[ $1 != --version ] || echo \"clang-format version %s.0\"; "
        "[ $1 = --version ]\\n' ";
    static const struct {
        const char *release, *mode, *says;
        int code;
    } cases[] = {
        {"19", "--check", "NOT CHECKED: needs clang-format 14; here is clang-format version 19", 0},
        {"19", "", "NOT CHECKED", 4},
        {"14", "--check", "", 1}, // the fake calls every file wrong
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        char *script =
            xprintf("%s %s >own/clang-format; chmod +x own/clang-format; sh=$(command -v "
                    "sh); PATH=$PWD/own $sh ci/format %s",
                    fake, cases[i].release, cases[i].mode);
        int code = shell(script);
        if (code != cases[i].code || !strstr(said, cases[i].says))
            fail_msg("%s %s: exit %d: %s", cases[i].release, cases[i].mode, code, said);
        free(script);
    }
}
