// SPDX-License-Identifier: Apache-2.0
//
// /plumb gate in a comment: what it asks for, and what is refused without a word of it coming back.
#include "ci/gate/asking.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/test.h"

#include <stdlib.h>
#include <string.h>

static int parse(struct asking *out, const char *text, struct error *err)
{
    return asking_parse(out, text, strlen(text), err);
}

TEST(words_are_options)
{
    struct asking a;
    struct error err = {0};
    assert_int_equal(parse(&a, "/plumb gate", &err), 0);
    assert_string_equal(a.kernel, "");
    assert_int_equal(parse(&a,
                           "/plumb  gate\tkernel=gemm-[ab]* problem=M=4,N=*:bf16 base=v1.2~3 "
                           "head=0123456789abcdef\r\n/plumb gate kernel=other\n",
                           &err),
                     0);
    assert_string_equal(a.kernel, "gemm-[ab]*");
    assert_string_equal(a.problem, "M=4,N=*:bf16");
    assert_string_equal(a.base, "v1.2~3");
    assert_string_equal(a.head, "0123456789abcdef");
}

TEST(what_is_no_request_is_refused)
{
    static const struct {
        const char *text, *said;
    } cases[] = {{"", "the first line is no '/plumb gate'"},
                 {"thanks", "the first line is no '/plumb gate'"},
                 {"/plumb", "the first line is no '/plumb gate'"},
                 {"/plumb run", "the first line is no '/plumb gate'"},
                 {"/plumb gatekernel=a", "the first line is no '/plumb gate'"},
                 {"/plumb gate\xc2\xa0kernel=a", "the first line is no '/plumb gate'"},
                 {"/plumb gate/", "the first line is no '/plumb gate'"},
                 {"/plumb run kernel=a", "the first line is no '/plumb gate'"},
                 {"please\n/plumb gate", "the first line is no '/plumb gate'"},
                 {"/plumb gate --store=x", "word 3: it is kernel=, problem=, base= or head="},
                 {"/plumb gate gemm", "word 3: it is kernel="},
                 {"/plumb gate kernel=", "word 3: kernel= is a pattern"},
                 {"/plumb gate kernel=$(id)", "word 3: kernel= is a pattern"},
                 {"/plumb gate kernel=a;id", "word 3: kernel= is a pattern"},
                 {"/plumb gate kernel=`id`", "word 3: kernel= is a pattern"},
                 {"/plumb gate kernel=-x", "word 3: kernel= is a pattern"},
                 {"/plumb gate kernel=a kernel=b", "word 4: kernel= stands there twice"},
                 {"/plumb gate base=a..b", "word 3: base= is a branch"},
                 {"/plumb gate base=--upload-pack=x", "word 3: base= is a branch"},
                 {"/plumb gate base=../x", "word 3: base= is a branch"},
                 {"/plumb gate base=@{u}", "word 3: base= is a branch"},
                 {"/plumb gate head=HEAD", "word 3: head= is the commit's id"},
                 {"/plumb gate head=012345678", "word 3: head= is the commit's id"},
                 {"/plumb gate problem=8x8x8\xc2\xa0:bf16", "word 3: problem= is a pattern"}};
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct asking a;
        struct error err = {0};
        if (parse(&a, cases[i].text, &err) == 0 ||
            strncmp(err.text, cases[i].said, strlen(cases[i].said)) != 0)
            fail_msg("'%s': %s", cases[i].text, err.text);
    }
    char text[400] = "/plumb gate kernel=";
    struct asking a;
    struct error err = {0};
    memset(text + strlen(text), 'a', ASKING_WORD);
    assert_int_equal(parse(&a, text, &err), -1);
    assert_non_null(strstr(err.text, "longer than 127 bytes"));
}

TEST(the_command_prints_options)
{
    struct plumb_outcome outcome;
    char *directory = helper_directory(), *path = xprintf("%s/comment.md", directory);
    helper_write_text(path, "/plumb gate kernel=gemm-* base=main\n");
    PLUMB_EXPECT(&outcome, directory, 0, "--kernel=gemm-*\n--base=main\n", "asked", "comment.md");
    helper_write_text(path, "/plumb gate kernel=$HOME\n");
    PLUMB_EXPECT(&outcome, directory, 4, "word 3: kernel= is a pattern", "asked", "comment.md");
    assert_null(strstr(outcome.output, "HOME"));
    free(path);
    helper_discard(directory);
    free(directory);
}
