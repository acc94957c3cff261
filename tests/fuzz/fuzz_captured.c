// SPDX-License-Identifier: Apache-2.0
//
// The folder that a captured program's processes leave, of which any may write any file: what the
// input holds behind each line "=== NAME" is one of surveys and records. Whatever lies there, a
// series is made of it or it is said why not; what is made reads back.
#include "runner/bench/capture.h"
#include "runner/code/code_id.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <unistd.h>

static const char mark[] = "=== ";
static const char *const names[] = {"survey.7",   "survey.12", "record.7",
                                    "record.7.1", "record.12", "7.0.before"};

static const char *next_mark(const char *at, const char *end)
{
    const char *found = at < end ? memmem(at, (size_t)(end - at), mark, sizeof(mark) - 1) : NULL;
    return found ? found : end;
}

// Of a name that no process has nothing is written.
static void put_file(const char *at, const char *end)
{
    const char *line = memchr(at, '\n', (size_t)(end - at));
    for (size_t i = 0; line && i < ARRAY_COUNT(names); i++) {
        if (strlen(names[i]) != (size_t)(line - at) || memcmp(at, names[i], strlen(names[i])) != 0)
            continue;
        FILE *file = fopen(fuzz_path(names[i]), "wb");
        if (!file)
            abort();
        fwrite(line + 1, 1, (size_t)(end - line - 1), file);
        fclose(file);
    }
}

static void look(const char *folder)
{
    const struct problem problem = {.numbers = {{"x", 1}}, .number_count = 1, .batch = 1};
    const struct capture_series series = {
        .name = "captured", .wish = {.kernel = "*"}, .problem = &problem, .tolerance = 1e-3};
    const struct capture_wish range = {.range = "block.*"};
    char why[1000];
    struct arena arena = {0};
    struct capture_surveys surveys;
    struct capture_made *made;
    size_t count;
    struct code_function_list functions;
    struct record record;
    struct error err;
    if (capture_surveys(&surveys, folder, &arena, &err) == 0) {
        capture_why_none(why, sizeof(why), &surveys, &range);
        must(why[0], "it is not said why there is no record of a range");
    }
    const int status = capture_make(&made, &count, folder, &series, &arena, &err);
    must(status >= 0, "the file of the series cannot be written");
    for (size_t i = 0; status == 0 && i < count; i++) {
        must(capture_read(&record, made[i].file, &arena, &err) == 0, "what was made is refused");
        must(strcmp(record.kernel, made[i].name) == 0, "what was made has another name");
        must(problem_equal(&record.problem, &made[i].problem), "what was made is of another work");
        (void)capture_resources(&functions, made[i].file, &arena, &err);
        unlink(made[i].file);
    }
    arena_free(&arena);
}

void fuzz_one(const uint8_t *bytes, size_t size)
{
    static char *folder;
    const char *at = (const char *)bytes, *end = at + size;
    if (!folder) {
        folder = xstrdup(fuzz_path(""));
        folder[strlen(folder) - 1] = '\0';
    }
    for (at = next_mark(at, end); at < end;) {
        const char *next = next_mark(at + 1, end);
        put_file(at + sizeof(mark) - 1, next);
        at = next;
    }
    look(folder);
    for (size_t i = 0; i < ARRAY_COUNT(names); i++)
        unlink(fuzz_path(names[i]));
}
