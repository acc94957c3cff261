// SPDX-License-Identifier: Apache-2.0
//
// The suite says what it did not do: a test without its sandbox is named with the reason, is no
// passed test, and fails where it is required. Its scripts refuse words that they do not have.
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

static int tear_down(void **state)
{
    helper_discard(folder);
    free(folder);
    free(said);
    return 0;
}

static void what_is_skipped_is_named_with_its_reason(void **state)
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

static void what_is_required_is_not_skipped(void **state)
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

static void scripts_refuse_words_that_they_do_not_have(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_skipped_is_named_with_its_reason),
        cmocka_unit_test(what_is_required_is_not_skipped),
        cmocka_unit_test(scripts_refuse_words_that_they_do_not_have),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
