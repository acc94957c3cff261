// SPDX-License-Identifier: Apache-2.0
//
// 64 MiB of a stranger's, whatever they hold, are refused or read within 256 MiB and five seconds
// of a processor by what reads JSON: the result that an untrusted gate leaves, and other tools'.
// Two files are that large, the one that takes the longest and the one that takes the most memory;
// of the others a quarter as much may take a quarter. A processor that is shared with others'
// memory takes longer, so here it may take twice as long.
//
// Label: unsanitized
#include "model/base.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_open_store.h"
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 64 << 20, BYTES = MOST / 4, FIXED_KIB = 64 << 10 };
static const double seconds_of_most = 2 * 5;
static const rlim_t addresses = (rlim_t)2 << 30;

static const struct {
    const char *name, *begin, *again, *then; // between the last two is a number that grows
    const char *end, *format; // NULL: each of the two readers, one of which has lines
    int bytes;
} texts[] = {
    {"numbers", "[", "0,", NULL, "0]", NULL, MOST},
    {"long numbers", "[", "1.2345678901234567e-05,", NULL, "0]", NULL, BYTES},
    {"names", "{", "\"", "\":0,", "\"x\":0}", NULL, MOST},
    {"lists", "", "[", NULL, "", NULL, BYTES},
    {"one text", "\"", "a", NULL, "\"", NULL, BYTES},
    {"exports", "", "{\"plumb\":{\"export\":1}}\n", NULL, "", NULL, BYTES},
    {"columns", "a", ",a", NULL, "\n1\n", "csv", BYTES},
    {"benchmarks", "{\"context\":{},\"benchmarks\":[",
     "{\"run_type\":\"iteration\",\"real_time\":1,\"cpu_time\":1,\"time_unit\":\"ns\",\"name\":"
     "\"g/8x8x8:bf16/some/long/list/of/arguments/that/are/kept/though/the/kernel/s/name/is/cut\","
     "\"run_name\":\"g",
     "/8x8x8:bf16/some/long/list/of/arguments/that/are/kept/though/the/kernel/s/name/is/cut\"},",
     "{}]}", "google", 29 << 20},
    {"claims",
     "{\"devices\":[{\"id\":0,\"name\":\"G\"}],\"benchmarks\":[{\"name\":\"b\",\"states\":[",
     "{\"name\":\"s\",\"device\":0,\"axis_values\":[{\"name\":\"problem\",\"value\":\"8x8x8\"}],"
     "\"summaries\":[{\"tag\":\"nv/json/bin:nv/cold/"
     "sample_times\",\"data\":[{\"name\":\"filename\","
     "\"value\":\"a/b\"},{\"name\":\"size\",\"value\":\"1048576\"}]}]},",
     NULL, "{}]}]}", "nvbench", 1 << 20},
};

static void write_text(const char *path, size_t which)
{
    FILE *file = fopen(path, "w");
    size_t used = strlen(texts[which].begin) + strlen(texts[which].end);
    assert_non_null(file);
    fputs(texts[which].begin, file);
    for (int i = 0; used + 100 < (size_t)texts[which].bytes; i++) {
        const char *again = texts[which].again, *then = texts[which].then;
        used += strlen(again);
        fputs(again, file);
        if (then)
            used += (size_t)fprintf(file, "%d%s", i, then);
    }
    fputs(texts[which].end, file);
    assert_int_equal(fclose(file), 0);
}

// format NULL: by the file's content, which every reader of a table looks at.
static void import(const char *folder, const char *path, const char *format, const char *name,
                   int bytes)
{
    char *store = xprintf("%s/store.db", folder);
    struct rusage used;
    int status;
    const pid_t child = fork();
    if (child == 0) {
        const int nothing = open("/dev/null", O_WRONLY);
        const struct rlimit most = {addresses, addresses}; // also of what it never touches
        setrlimit(RLIMIT_AS, &most);
        dup2(nothing, 1);
        dup2(nothing, 2);
        execl(TEST_BIN "/plumb", "plumb", "import", path, "--store", store,
              format ? "--format" : NULL, format, NULL);
        _exit(99);
    }
    assert_int_equal(wait4(child, &status, 0, &used), child);
    const double seconds = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                           1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    const double share = bytes == BYTES ? 0.25 : 1;
    const long most_kib = FIXED_KIB + (long)(share * ((256 << 10) - FIXED_KIB));
    if (!WIFEXITED(status) || (WEXITSTATUS(status) != 4 && WEXITSTATUS(status) != 0) ||
        used.ru_maxrss > most_kib || seconds > share * seconds_of_most)
        fail_msg("%s as %s: status %x, %ld MiB, %.1f s", name, format ? format : "what it is",
                 status, used.ru_maxrss >> 10, seconds);
    unlink(store);
    free(store);
}

TEST(every_form_is_read_in_its_bounds)
{
    char *folder = helper_directory(), *path = xprintf("%s/file", folder);
    for (size_t i = 0; i < ARRAY_COUNT(texts); i++) {
        const char *format = texts[i].format;
        write_text(path, i);
        import(folder, path, format ? format : "google", texts[i].name, texts[i].bytes);
        if (!format)
            import(folder, path, "json", texts[i].name, texts[i].bytes);
        import(folder, path, NULL, texts[i].name, texts[i].bytes);
    }
    helper_discard(folder);
    free(path);
    free(folder);
}

// A database of nsys with so many launches, each of its own length.
static void write_launches(const char *path, int launches)
{
    char *sql = xprintf(
        "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA page_size = 65536; "
        "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT); "
        "CREATE TABLE TARGET_INFO_GPU (id, name, uuid, cuDevice); "
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, gridX, gridY, gridZ, "
        "blockX, blockY, blockZ, demangledName); INSERT INTO StringIds VALUES (1, 'g(int)'); "
        "INSERT INTO TARGET_INFO_GPU VALUES (0, 'G', 'd8ee7d6a-55aa', 0); "
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) "
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT i, 2 * i + i * 7919 %% 1000, 0, 1, 1, 1, 1, "
        "1, 1, 1 FROM n",
        launches);
    unlink(path);
    run_sql(path, sql);
    free(sql);
}

TEST(database_of_nsys_has_a_limit_of_launches)
{
    struct plumb_outcome outcome;
    char *folder = helper_directory(), *path = xprintf("%s/file", folder);
    write_launches(path, 250000);
    import(folder, path, "nsys", "a sixth of the most", BYTES);
    write_launches(path, 1500001);
    import(folder, path, "nsys", "too many launches", MOST);
    PLUMB_EXPECT(&outcome, folder, 4, "more than 1500000 launches in one database; split it",
                 "import", path, "--format", "nsys", "--problem", "8x8x8:fp32", "--store",
                 "store.db");
    helper_discard(folder);
    free(path);
    free(folder);
}
