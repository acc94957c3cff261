// SPDX-License-Identifier: Apache-2.0
//
// ci/comment, the trusted half of a gate on a stranger's pull request: whatever the untrusted half
// left, one short comment comes out that speaks of the commit that ran, or says that there is no
// verdict. The bounds that it gives plumb on memory are less than what a sanitizer asks for.
// Label: unsanitized
#include "model/base.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define RECORD TEST_SOURCE "/baselines/recorded/h200/fp32-run-3.jsonl"
#define HEAD   "a03b37ede9b90413e6f094e1f563995b76bdbe97"

enum { GITHUB_LIMIT = 65536 };

static char *folder;

static int set_up(void **state)
{
    folder = helper_directory();
    return 0;
}

AROUND_ALL(set_up, NULL);

// The comment on what `make` leaves in the file `result`; the caller frees.
static char *comment_on(const char *make, const char *head)
{
    char *command = xprintf("cd '%s' && rm -rf result comment.md && { %s; } && sh '" TEST_SOURCE
                            "/ci/comment' --plumb '" TEST_BIN "/plumb' --result result --head %s "
                            "--url https://example.org/run --out comment.md",
                            folder, make, head);
    assert_int_equal(system(command), 0);
    free(command);
    char *path = xprintf("%s/comment.md", folder), *text = helper_read(path, NULL);
    free(path);
    assert_int_equal(strncmp(text, "<!-- plumb -->\n### ", 19), 0);
    assert_true(strlen(text) < GITHUB_LIMIT);
    assert_non_null(strstr(text, "https://example.org/run"));
    return text;
}

TEST(a_gate_becomes_a_line_a_kernel)
{
    char *text = comment_on("cp '" RECORD "' result", HEAD);
    assert_non_null(strstr(text, "plumb: regression: 1 kernel slower"));
    assert_non_null(strstr(text, "the worst of 10 series"));
    assert_non_null(strstr(text, "plumb gate --base d9f93f668e --head a03b37ede9"));
    assert_null(strstr(text, "= same"));
    free(text);
}

TEST(a_file_that_is_no_result_gives_no_verdict)
{
    static const char *const makes[] = {"true",
                                        "ln -s '" RECORD "' result",
                                        "mkdir result",
                                        "head -c 1000 /dev/zero > result",
                                        "echo '{\"run\": {}}' > result",
                                        "truncate -s 65M result",
                                        "head -c 200000 '" RECORD "' > result"};
    for (size_t i = 0; i < ARRAY_COUNT(makes); i++) {
        char *text = comment_on(makes[i], HEAD);
        if (!strstr(text, "no verdict"))
            fail_msg("%s: %s", makes[i], text);
        free(text);
    }
}

// Cut between two lines, with nothing left open.
TEST(what_is_too_long_is_cut_and_says_so)
{
    char *text, *last;
    char *program = xprintf("%s/long", folder);
    helper_write_text(
        program,
        "#!/bin/sh\n"
        "case \"$*\" in\n"
        "import*) ;;\n"
        "*--list) echo '1 gate d9f93f668e..a03b37ede9' ;;\n"
        "*) echo '### plumb: long'; echo '<details><summary>x</summary>'; echo;\n"
        "   seq -f '| kernel-%05.0f | \303\251\303\251\303\251 |' 1 9000; echo '</details>' ;;\n"
        "esac\n");
    char *command = xprintf("cd '%s' && chmod +x long && echo x >result && sh '" TEST_SOURCE
                            "/ci/comment' --plumb ./long --result result --head " HEAD
                            " --newest 0123456789abcdef --url https://example.org/run "
                            "--out comment.md",
                            folder);
    assert_int_equal(system(command), 0);
    free(command);
    command = xprintf("%s/comment.md", folder);
    text = helper_read(command, NULL);
    assert_true(strlen(text) < GITHUB_LIMIT);
    last = strstr(text, "\n</details>\n");
    assert_non_null(last);
    assert_non_null(strstr(last, "more lines are left out here; the whole report has them."));
    assert_non_null(strstr(last, "Of commit `a03b37ede9`."));
    assert_non_null(strstr(last, "**The newest commit, `0123456789`, is not measured.**"));
    while (last > text && *--last == '\n')
        ;
    assert_int_equal(*last, '|'); // a whole row
    free(text);
    free(command);
    free(program);
}

// A result of another commit must not stand under this one.
TEST(a_gate_of_another_commit_is_not_believed)
{
    char *text = comment_on("cp '" RECORD "' result", "0123456789012345678901234567890123456789");
    assert_non_null(strstr(text, "no gate of the commit 0123456789"));
    free(text);
}

// Names and sentences that would mention people, close the table or bring markup of their own.
TEST(hostile_text_stays_text)
{
    char *text = comment_on("sed 's/NVIDIA H200/@team <img src=x> | [a](http:b) `/g;"
                            "s/tiled_fp32 \\([0-9]\\)/@all #1 **\\1/g' '" RECORD "' > result",
                            HEAD);
    assert_null(strstr(text, "@team"));
    assert_null(strstr(text, "@all"));
    assert_null(strstr(text, "<img"));
    assert_null(strstr(text, "](http:b"));
    free(text);
}

// The commands are there to be copied into a shell: a name is one word of them.
TEST(hostile_names_run_nothing_when_copied)
{
    char *text = comment_on(
        "sed \"s/tiled_fp32/x'; touch evil; \\$(touch evil) GH-1/g\" '" RECORD "' > result", HEAD);
    char *at = strstr(text, "<code>plumb accept -m REASON ");
    assert_non_null(at);
    at[strcspn(at, "\n")] = '\0';
    assert_non_null(strstr(at, "REASON 'x'\\\\''; touch evil; "
                               "\\$(touch evil) GH&#45;&#8203;1'</code>"));
    free(text);
}

// 60 MB of sentences of a character that takes four in a page: no report of them fits into 224 MiB.
TEST(large_result_takes_no_more_than_its_bounds)
{
    enum { MEMORY_KIB = 256 << 10 };
    struct rusage used;
    char *text =
        comment_on("long=$(head -c 20000 /dev/zero | tr '\\0' '<') && awk -v long=\"$long\" "
                   "'/^{\"result\"/ { for "
                   "(i = 0; i < 60; i++) { line = $0; sub(/\"kernel\":\"/, \"&x\" i, line); "
                   "sub(/\"sentence\":\"[^\"]*\"/, \"\\\"sentence\\\":\\\"\" long \"\\\"\", line); "
                   "print line } next } "
                   "/^{\"link\"/ { next } { print }' '" RECORD "' >result",
                   HEAD " --reports report");
    getrusage(RUSAGE_CHILDREN, &used);
    assert_true(used.ru_maxrss <= MEMORY_KIB);
    assert_non_null(strstr(text, "The job's result cannot be reported."));
    char *report = xprintf("%s/report", folder);
    assert_int_not_equal(access(report, F_OK), 0);
    free(report);
    free(text);
}
