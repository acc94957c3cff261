// SPDX-License-Identifier: Apache-2.0
//
// Text of strangers on a terminal or in a CI service's log is text: no escape, no command.
#include "ci/settings/progress.h"
#include "tests/helpers/test.h"

#include <stdlib.h>
#include <string.h>

static void assert_plain(const char *text, const char *expected)
{
    char *line = plain_line(text);
    assert_string_equal(line, expected);
    free(line);
}

TEST(usual_text_stays)
{
    assert_plain("slower: naïve::kernel +1.5 % (#12)", "slower: naïve::kernel +1.5 % (#12)");
    assert_plain("", "");
}

TEST(nothing_moves_the_cursor_or_the_reading_direction)
{
    assert_plain("a\nb\tc\x1b[2Jd\x7f", "a b cd");
    assert_plain("a\xc2\x9b"
                 "2Jb",
                 "a2Jb"); // CSI as one character
    assert_plain("a\xe2\x80\xae.\xff.", "a\xef\xbf\xbd.\xef\xbf\xbd.");
    assert_plain("sim\xe2\x80\x8bple", "sim\xef\xbf\xbdple"); // which nobody would see
}

TEST(nothing_is_a_command_of_a_ci_service)
{
    assert_plain("::stop-commands::x", "  stop-commands::x");
    assert_plain("  ::error file=a.c,line=1:1: error: x", "    error file=a.c,line=1:1: error: x");
    assert_plain(":: ::add-mask::SLOWER", "     add-mask::SLOWER");
    assert_plain("error: ##[add-mask]SLOWER", "error: # [add-mask]SLOWER");
    assert_plain("####vso[task.prependpath]/x", "# # vso[task.prependpath]/x");
}
