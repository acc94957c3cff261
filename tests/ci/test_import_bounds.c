// SPDX-License-Identifier: Apache-2.0
//
// 64 MiB of a stranger's, whatever they hold, are refused or read within 256 MiB and five seconds
// of a processor by what reads JSON: the result that an untrusted gate leaves, and other tools'.
// Label: unsanitized
#include "model/base.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 64 << 20, MEMORY_KIB = 256 << 10, SECONDS = 5 };

static const struct {
    const char *name, *begin, *again, *end; // "%d" is a number that is another each time
} texts[] = {
    {"numbers", "[", "0,", "0]"},
    {"names", "{", "\"%d\":0,", "\"x\":0}"},
    {"lists", "", "[", ""},
    {"one text", "\"", "a", "\""},
    {"exports", "", "{\"plumb\":{\"export\":1}}\n", ""},
};

static void write_text(const char *path, size_t which)
{
    FILE *file = fopen(path, "w");
    size_t used = strlen(texts[which].begin) + strlen(texts[which].end);
    assert_non_null(file);
    fputs(texts[which].begin, file);
    for (int i = 0; used + 16 < BYTES; i++) {
        const bool numbered = strchr(texts[which].again, '%') != NULL;
        const char *again = texts[which].again;
        used += numbered ? (size_t)fprintf(file, "\"%d\":0,", i) : strlen(again);
        if (!numbered)
            fputs(again, file);
    }
    fputs(texts[which].end, file);
    assert_int_equal(fclose(file), 0);
}

static void import(const char *folder, const char *path, const char *format, const char *name)
{
    char *store = xprintf("%s/%s.db", folder, format);
    struct rusage used;
    int status;
    const pid_t child = fork();
    if (child == 0) {
        const int nothing = open("/dev/null", O_WRONLY);
        dup2(nothing, 1);
        dup2(nothing, 2);
        execl(TEST_BIN "/plumb", "plumb", "import", path, "--format", format, "--store", store,
              NULL);
        _exit(99);
    }
    assert_int_equal(wait4(child, &status, 0, &used), child);
    const double seconds = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                           1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    if (!WIFEXITED(status) || (WEXITSTATUS(status) != 4 && WEXITSTATUS(status) != 0) ||
        used.ru_maxrss > MEMORY_KIB || seconds > SECONDS)
        fail_msg("%s as %s: status %x, %ld MiB, %.1f s", name, format, status, used.ru_maxrss >> 10,
                 seconds);
    unlink(store);
    free(store);
}

static void every_form_is_read_in_its_bounds(void **state)
{
    // One reader has lines, and another the files of all other tools.
    static const char *const formats[] = {"json", "google"};
    (void)state;
    char *folder = helper_directory(), *path = xprintf("%s/file", folder);
    for (size_t i = 0; i < ARRAY_COUNT(texts); i++) {
        write_text(path, i);
        for (size_t f = 0; f < ARRAY_COUNT(formats); f++)
            import(folder, path, formats[f], texts[i].name);
    }
    helper_discard(folder);
    free(path);
    free(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_form_is_read_in_its_bounds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
