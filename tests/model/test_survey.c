// SPDX-License-Identifier: Apache-2.0
//
// What a program says of its launches comes from a stranger: each text is a survey or an error.
#include "model/record/record.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_random.h"
#include "tests/helpers/test.h"

#include <stdlib.h>
#include <string.h>

static int parsed(const char *text, size_t size)
{
    struct arena arena = {0};
    struct survey survey;
    struct error err = {""};
    const int status = survey_parse(&survey, arena_copy(&arena, text, size), size, &arena, &err);
    if (status)
        assert_true(err.text[0] && !strchr(err.text, '\n'));
    arena_free(&arena);
    return status;
}

TEST(every_cut_and_every_flipped_byte_of_a_survey_is_survived)
{
    size_t size;
    char *text = helper_read(TEST_SOURCE "/tests/fuzz/seeds/survey.txt", &size);
    struct random random = {3};
    assert_int_equal(parsed(text, size), 0);
    for (size_t cut = 0; cut < size; cut++)
        assert_int_equal(parsed(text, cut), -1);
    for (int i = 0; i < 20000; i++) {
        char *bytes = xcalloc(size, 1);
        memcpy(bytes, text, size);
        for (int flips = 0; flips < 3; flips++)
            bytes[(size_t)(random_uniform(&random) * (double)size)] =
                (char)(random_uniform(&random) * 256);
        parsed(bytes, size);
        free(bytes);
    }
    free(text);
}
