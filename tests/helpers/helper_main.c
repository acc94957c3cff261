// SPDX-License-Identifier: Apache-2.0
//
// How a test program begins and ends: what the user's git is told to do is not for it; its tests
// register themselves; those that cannot run here say so, a program of which none could run ends
// with 77; what lies in its scratch folder goes, whatever failed, and leaks are looked for only
// where no test failed.
#include "model/base.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/test.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { SKIPPED = 77 };

// Whoever starts it, ctest or a hand, and whatever it starts: hooks, signatures, line endings and
// trusted folders are the tests' own.
__attribute__((constructor)) static void be_at_home(void)
{
    static const char *const names[] = {
        "GIT_CONFIG",    "GIT_CONFIG_GLOBAL", "GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS",
        "GIT_DIR",       "GIT_WORK_TREE",     "GIT_INDEX_FILE",   "GIT_TEMPLATE_DIR",
        "GIT_EXEC_PATH", "XDG_CONFIG_HOME"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        unsetenv(names[i]);
    setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
    setenv("HOME", TEST_HOME, 1);
}

// Scratch lies in memory where that has room and runs programs, for stores are synced hundreds of
// times a test: on a disk, test_history took a minute, and two seconds in memory.
__attribute__((constructor)) static void be_in_memory(void)
{
    static const char memory[] = "/dev/shm";
    const uint64_t enough = UINT64_C(2) << 30;
    struct statvfs status;
    if (!getenv("TMPDIR") && access(memory, W_OK) == 0 && statvfs(memory, &status) == 0 &&
        !(status.f_flag & ST_NOEXEC) && (uint64_t)status.f_bavail * status.f_frsize >= enough)
        setenv("TMPDIR", memory, 1);
}

static size_t skipped;
static bool failed_any;

// Whether PLUMB_TEST_REQUIRE, words between commas, names it.
static bool is_required(const char *needs)
{
    const char *list = getenv("PLUMB_TEST_REQUIRE");
    const size_t length = strlen(needs);
    for (const char *at = list; at && *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == length && strncmp(at, needs, length) == 0)
            return true;
    return false;
}

static void note(const char *test, const char *needs, const char *why)
{
    const char *notes = getenv("PLUMB_TEST_NOTES");
    print_message("SKIPPED: needs %s: %s\n", needs, why);
    if (!notes)
        return;
    FILE *to = fopen(notes, "a");
    if (!to || fprintf(to, "%s%s%s\tneeds %s: %.*s\n", program_invocation_short_name,
                       *test ? " " : "", test, needs, (int)strcspn(why, "\n"), why) < 0)
        print_error("PLUMB_TEST_NOTES %s: %s\n", notes, strerror(errno));
    if (to)
        fclose(to);
}

void skip_test(const char *needs, const char *why, const char *test, const char *file, int line)
{
    if (is_required(needs))
        fail_msg("%s: skipped, but PLUMB_TEST_REQUIRE names %s: %s", test, needs, why);
    skipped++;
    note(test, needs, why);
    _skip(file, line);
}

int program_skipped(const char *needs, const char *why)
{
    if (is_required(needs)) {
        print_error("FAILED: skipped, but PLUMB_TEST_REQUIRE names %s: %s\n", needs, why);
        return 1;
    }
    note("", needs, why);
    return SKIPPED;
}

int __lsan_is_turned_off(void); // asked by LeakSanitizer (sanitizer/lsan_interface.h)

int __lsan_is_turned_off(void)
{
    return failed_any;
}

__attribute__((weak)) const struct around around_all = {NULL, NULL};
__attribute__((weak)) const struct around around_each = {NULL, NULL};
static struct test *first_test;

// Constructors run in no order that C promises.
void add_test(struct test *test)
{
    struct test **at = &first_test;
    while (*at && (*at)->line <= test->line)
        at = &(*at)->next;
    test->next = *at;
    *at = test;
}

int test_main(void)
{
    size_t count = 0;
    for (const struct test *test = first_test; test; test = test->next)
        count++;
    struct CMUnitTest *tests = xcalloc(count, sizeof(*tests)), *unit = tests;
    for (const struct test *test = first_test; test; test = test->next, unit++) {
        *unit = test->unit;
        if (!unit->setup_func && !unit->teardown_func) {
            unit->setup_func = around_each.set_up;
            unit->teardown_func = around_each.tear_down;
        }
    }
    char *scratch = helper_directory();
    chmod(scratch, 0711); // a test may let another user into a folder of its own
    setenv("TMPDIR", scratch, 1);
    const int failed = _cmocka_run_group_tests(program_invocation_short_name, tests, count,
                                               around_all.set_up, around_all.tear_down);
    helper_discard(scratch);
    free(scratch);
    free(tests);
    failed_any = failed != 0;
    if (failed || count == 0)
        return 1;
    return skipped == count ? SKIPPED : 0;
}

__attribute__((weak)) int main(void)
{
    return test_main();
}
