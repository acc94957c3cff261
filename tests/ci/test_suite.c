// SPDX-License-Identifier: Apache-2.0
//
// The suite says what it did not do: a test without its sandbox is named with the reason, is no
// passed test, and fails where it is required. Its scripts refuse words that they do not have. What
// is no test's business, the user's git and what a load left open, changes no verdict of a test.
// Label: unsanitized
#include "tests/helpers/test.h"

#include "model/base.h"
#include "tests/helpers/helper_files.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static char *folder, *said;

// Runs a script where bwrap fails, and takes what it says.
static int shell(const char *script)
{
    char *command = xprintf("exec >'%s/said' 2>&1; cd '" TEST_SOURCE "'; PATH='%s':$PATH "
                            "PLUMB_TEST_NOTES='%s/notes'; export PATH PLUMB_TEST_NOTES; %s",
                            folder, folder, folder, script);
    int status = system(command);
    char *path = xprintf("%s/said", folder);
    free(said);
    said = helper_read(path, NULL);
    free(path);
    free(command);
    assert_true(status != -1 && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static char *notes(void)
{
    char *path = xprintf("%s/notes", folder);
    char *text = helper_read(path, NULL);
    free(path);
    return text;
}

static int set_up(void **state)
{
    folder = helper_directory();
    return shell("printf '#!/bin/sh\\nexit 1\\n' >\"${PATH%%:*}/bwrap\"; "
                 "chmod +x \"${PATH%%:*}/bwrap\"; : >\"$PLUMB_TEST_NOTES\"");
}

AROUND_ALL(set_up, NULL);

TEST(what_is_skipped_is_named_with_its_reason)
{
    assert_int_equal(shell("'" TEST_BIN "/../tests/test_containers'"), 77);
    char *text = notes();
    assert_non_null(strstr(text, "test_containers "));
    assert_non_null(strstr(text, "\tneeds sandbox: "));
    assert_non_null(strstr(text, "bubblewrap does not work here"));
    free(text);
    assert_int_equal(shell("sh tests/skipped.sh browser_chart browser 'no chromium'"), 77);
    text = notes();
    assert_non_null(strstr(text, "browser_chart\tneeds browser: no chromium\n"));
    free(text);
}

TEST(what_is_required_is_not_skipped)
{
    static const char *const scripts[] = {
        "PLUMB_TEST_REQUIRE=axe,sandbox '" TEST_BIN "/../tests/test_containers'",
        "PLUMB_TEST_REQUIRE=axe,sandbox sh tests/skipped.sh boxed sandbox 'no namespaces'"};
    for (size_t i = 0; i < ARRAY_COUNT(scripts); i++) {
        assert_int_equal(shell(scripts[i]), 1);
        assert_non_null(strstr(said, "PLUMB_TEST_REQUIRE names sandbox: "));
    }
    // A word that only begins alike is another one.
    assert_int_equal(
        shell("PLUMB_TEST_REQUIRE=sandboxes,sand sh tests/skipped.sh boxed sandbox no"), 77);
}

TEST(scripts_refuse_words_that_they_do_not_have)
{
    static const char *const scripts[][2] = {{"sh ci/test", "  ci/test --quick "},
                                             {"sh ci/setup", "  ci/setup --package "}};
    for (size_t i = 0; i < ARRAY_COUNT(scripts); i++) {
        char *script = xprintf("%s --nonsense", scripts[i][0]);
        assert_int_equal(shell(script), 4);
        assert_non_null(strstr(said, "\"--nonsense\" is no word of it"));
        free(script);
        script = xprintf("%s --help", scripts[i][0]);
        assert_int_equal(shell(script), 0);
        assert_non_null(strstr(said, scripts[i][1]));
        free(script);
    }
}

TEST(a_requirement_that_nothing_has_is_refused)
{
    static const char *const words[] = {"sandbox", "browser", "axe",   "nvcc",
                                        "CUPTI",   "quiet",   "format"};
    for (size_t i = 0; i < ARRAY_COUNT(words); i++) {
        // Refused for the word behind it, and not for this one.
        char *script = xprintf("PLUMB_TEST_REQUIRE=%s,sandbx sh ci/test", words[i]);
        assert_int_equal(shell(script), 4);
        assert_non_null(strstr(said, "nothing here needs \"sandbx\""));
        free(script);
    }
}

// The test that this program is, started by a user whose git does all that it can.
TEST(what_the_users_git_is_told_changes_no_test)
{
    static const char user[] =
        "home=${PATH%%:*}/user; mkdir -p \"$home/hooks\"; "
        "printf '#!/bin/sh\\nexit 1\\n' >\"$home/hooks/pre-commit\"; "
        "chmod +x \"$home/hooks/pre-commit\"; "
        "printf '[commit]\\n\\tgpgsign = true\\n[gpg]\\n\\tprogram = false\\n[core]\\n\\tautocrlf "
        "= "
        "true\\n\\thooksPath = %s\\n' \"$home/hooks\" >\"$home/.gitconfig\"; "
        "export HOME=\"$home\" GIT_DIR=/nowhere GIT_CONFIG_COUNT=1 "
        "GIT_CONFIG_KEY_0=commit.gpgsign GIT_CONFIG_VALUE_0=true; "
        "exec '" TEST_BIN "/../tests/test_suite' commits";
    const int code = shell(user);
    if (code)
        fail_msg("exit %d: %s", code, said);
}

static int commits(void)
{
    return system("set -e; folder=$(mktemp -d); cd \"$folder\"; git init -q; "
                  "printf 'one\\n' >file; git add file; "
                  "git -c user.name=t -c user.email=t@example.org commit -qm one; "
                  "rm file; git checkout -q -- file; test $(wc -c <file) = 4; "
                  "test \"$(git config --get safe.directory)\" = '*'; rm -rf \"$folder\"") != 0;
}

// A verdict that was left open is not compared, wherever the page has it.
TEST(an_open_verdict_ends_the_tutorial_as_open)
{
    static const char *const cases[][3] = {
        {"accepted abc; it is slower", "accepted abc; it is undecided", "77"},
        {"accepted abc; it is slower", "accepted abc; it is broken", "1"},
        {"OK: 2 same", "UNDECIDED: 1 undecided, 1 same", "77"},
        {"OK: 2 same", "OK: 2 same", "0"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        char *script =
            xprintf("bin=${PATH%%%%:*}; printf '#!/bin/sh\\necho \"%s\"\\n' >\"$bin/plumb\"; "
                    "chmod +x \"$bin/plumb\"; "
                    "printf '```console\\n$ plumb gate\\n%s\\n```\\n' >\"$bin/page.md\"; "
                    "sh tests/tutorial.sh \"$bin/page.md\" \"$bin\"",
                    cases[i][1], cases[i][0]);
        const int code = shell(script);
        if (code != atoi(cases[i][2]))
            fail_msg("%s: exit %d: %s", cases[i][1], code, said);
        free(script);
    }
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "commits") == 0)
        return commits();
    return test_main();
}
