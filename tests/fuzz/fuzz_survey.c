// SPDX-License-Identifier: Apache-2.0
//
// What a captured program's library tells of its launches, and the sentence that is made of it if
// there is no record: what was asked for, and what was seen instead.
#include "runner/bench/capture.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

// Two processes left the same survey, so what is counted is counted twice.
static void ask(struct survey *survey, const struct capture_wish *wish)
{
    char why[200];
    struct survey both[] = {*survey, *survey};
    const struct capture_surveys surveys = {.items = both, .count = 2};
    memset(why, 'x', sizeof(why));
    capture_why_none(why, sizeof(why), &surveys, wish);
    const char *end = memchr(why, '\0', sizeof(why));
    must(end && end > why, "it is not said why there is no record");
    const bool told = survey->refused[0] || survey->note[0];
    if (told || !wish->range)
        return;
    const char *pushed = strstr(why, "; it pushed ");
    must(!pushed == (survey->pushes != 0), "ranges are counted wrongly");
    const char *ranges = survey->ranges[0] ? survey->ranges : "none";
    const size_t length = strlen(ranges);
    must(!pushed || strncmp(pushed + 12, ranges, length < 99 ? length : 99) == 0,
         "it is not said which ranges were pushed");
}

void fuzz_one(const uint8_t *bytes, size_t size)
{
    static const struct capture_wish wishes[] = {{.kernel = "*softmax*"},
                                                 {.range = "block.*"},
                                                 {.kernel = "*", .launch = 9},
                                                 {.range = "*"}};
    struct arena arena = {0};
    struct survey survey;
    struct error err;
    if (survey_parse(&survey, arena_copy(&arena, bytes, size), size, &arena, &err) == 0) {
        for (size_t i = 0; i < ARRAY_COUNT(wishes); i++)
            ask(&survey, &wishes[i]);
    }
    arena_free(&arena);
}
