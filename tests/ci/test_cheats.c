// SPDX-License-Identifier: Apache-2.0
//
// Cheats (tests/cheats/host), each gated against the honest kernel: what its header says must
// happen happens. No verdict may be "same" or "faster", for each of them is really slower, or
// wrong. What reaches for the other build or the stopwatch finds neither in its process.
// Label: measured
// Label: unsanitized
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/test.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct plumb_outcome outcome;

// What must happen to the cheat: the words behind "// expect: ".
static void read_expected(char out[128], const char *name)
{
    static const char mark[] = "// expect: ";
    char *path = xprintf("%s/tests/cheats/host/%s.c", TEST_SOURCE, name);
    char *text = helper_read(path, NULL);
    const char *at = strstr(text, mark);
    assert_non_null(at);
    at += strlen(mark);
    snprintf(out, 128, "%.*s", (int)strcspn(at, "\n"), at);
    free(text);
    free(path);
}

// One round of gates over the folder of build/dev/cheats; its rows, one a cheat and problem.
static char *gates(const char *folder)
{
    char *directory = helper_directory();
    char *base = xprintf("%s/../cheats/%s/base", TEST_BIN, folder);
    char *head = xprintf("%s/../cheats/%s/head", TEST_BIN, folder);
    char *csv = xprintf("%s/rows.csv", directory);
    const char *argv[] = {"study",     "--base",        base,       "--head", head,
                          "--problem", "64x64x64:fp32", "--rounds", "1",      "--sandbox",
                          "off",       "--csv",         csv,        NULL};
    plumb_run(&outcome, directory, argv, 0);
    char *rows = helper_read(csv, NULL);
    free(csv);
    free(head);
    free(base);
    helper_discard(directory);
    free(directory);
    return rows;
}

// The verdict of a row "slower,NAME,...": the gate of the cheat against the honest kernel.
static bool next_row(const char **at, char name[64], char verdict[32])
{
    for (const char *line = *at; line && *line; line = *at) {
        const char *end = strchr(line, '\n');
        *at = end ? end + 1 : NULL;
        if (sscanf(line, "slower,%63[^,],%*[^,],%*d,%31[^,]", name, verdict) == 2)
            return true;
    }
    return false;
}

// Without a mount namespace of its own a library's process sees the base's build.
static bool may_borrow(const char *name)
{
    return strcmp(name, "borrows_the_base") == 0 &&
           system("unshare --user --map-root-user --mount true 2>/dev/null") != 0;
}

static bool may_be(const char *name, const char *expected, const char *verdict)
{
    if (strstr(expected, verdict) || may_borrow(name))
        return true;
    // A loaded machine may leave open what it cannot tell; it never turns one into the other.
    return strcmp(verdict, "undecided") == 0 &&
           (strstr(expected, "slower") || strstr(expected, "same"));
}

// As many as were built: one without a verdict would pass unseen.
static size_t cheats(void)
{
    glob_t found;
    assert_int_equal(glob(TEST_BIN "/../cheats/head/*.so", 0, NULL, &found), 0);
    const size_t count = found.gl_pathc;
    globfree(&found);
    return count;
}

TEST(no_cheat_turns_a_verdict)
{
    char *rows = gates(".");
    const char *at = rows;
    char name[64], verdict[32], expected[128];
    size_t count = 0;
    for (; next_row(&at, name, verdict); count++) {
        read_expected(expected, name);
        if (!may_be(name, expected, verdict))
            fail_msg("%s: %s, not %s\n%s", name, verdict, expected, outcome.output);
    }
    assert_int_equal(count, cheats());
    assert_true(count > 15);
    free(rows);
}
