// SPDX-License-Identifier: Apache-2.0
//
// A problem's text, line by line, as it stands in a policy, a store or on a command line. What is
// read is written, and what is written reads back to the same problem and is written the same.
#include "model/problem.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void one(const char *text)
{
    struct problem problem, back;
    struct error err;
    char written[PROBLEM_TEXT], again[PROBLEM_TEXT];
    if (problem_parse(&problem, text, &err)) {
        assert(strlen(err.text) > 0);
        return;
    }
    problem_format(written, &problem);
    const int known = problem_parse(&back, written, &err);
    assert(known == 0 && problem_equal(&problem, &back));
    problem_format(again, &back);
    assert(strcmp(written, again) == 0);
    assert(problem_bytes(&problem) >= 0 && problem_flops(&problem) >= 0);
    assert(problem.number_count || problem_used_rows(&problem) > 0);
}

void fuzz_one(const uint8_t *bytes, size_t size)
{
    char *text = malloc(size + 1), *rest = text;
    assert(text);
    memcpy(text, bytes, size);
    text[size] = '\0';
    for (int lines = 0; rest && lines < 64; lines++)
        one(strsep(&rest, "\n"));
    free(text);
}
