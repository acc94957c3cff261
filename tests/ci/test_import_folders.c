// SPDX-License-Identifier: Apache-2.0
//
// plumb import FOLDER: whole histories at once, in any order, and once only.
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct helper_repo repo;
static struct plumb_outcome outcome;

static void put(const char *folder, const char *name, const char *text)
{
    char *path = xprintf("%s/%s/%s", repo.directory, folder, name);
    helper_write_text(path, text);
    free(path);
}

static void make_folder(const char *name)
{
    char *path = xprintf("%s/%s", repo.directory, name);
    assert_int_equal(mkdir(path, 0777), 0);
    free(path);
}

static char *google(int time_us)
{
    return xprintf("{\"context\":{},\"benchmarks\":[{\"name\":\"g/8/8/8\",\"real_time\":%d,"
                   "\"time_unit\":\"us\"}]}",
                   time_us);
}

static int set_up(void **state)
{
    helper_repo_create(&repo);
    make_folder("results");
    for (int i = 0; i < REPO_COMMITS; i++) { // the commit is in the folder's name or the file's
        char *text = google(100 + i), *name = xprintf("night_%.10s.json", repo.ids[i]);
        char *folder = xprintf("results/%s", repo.ids[i]);
        if (i % 2) {
            make_folder(folder);
            put(folder, "gemm.json", text);
        } else {
            put("results", name, text);
        }
        free(folder);
        free(name);
        free(text);
    }
    return 0;
}

AROUND_ALL(set_up, NULL);

#define EXPECT(code, part, ...) PLUMB_EXPECT(&outcome, repo.directory, code, part, __VA_ARGS__)

TEST(each_file_goes_to_the_commit_that_its_path_names)
{
    EXPECT(0, "results: 15 files read, 0 not", "import", "--store", "a.db", "results");
    EXPECT(0, "results: 15 files read, 0 not", "import", "--store", "a.db", "results");
    assert_int_equal(helper_occurrences(outcome.output, ": 0 runs, 0 results added"), 15);
    EXPECT(0, "", "export", "--store", "a.db", "--format", "csv");
    for (int i = 0; i < REPO_COMMITS; i++) {
        char *time = xprintf(",%d,", (100 + i) * 1000);
        const char *row = strstr(outcome.output, time);
        assert_non_null(row);
        while (row > outcome.output && row[-1] != '\n')
            row--;
        char *line = xprintf("%.*s", (int)strcspn(row, "\n"), row);
        assert_non_null(strstr(line, repo.ids[i]));
        free(line);
        free(time);
    }
}

// What is no result of a commit is told, and costs the others nothing; --strict refuses.
TEST(what_cannot_be_read_of_a_folder_is_told)
{
    char *text = google(7);
    make_folder("odd");
    put("odd", "README.md", "# results\n");
    put("odd", "latest.json", text);
    put("odd", "0000000000.json", text);
    char *name = xprintf("%.12s.json", repo.ids[0]);
    put("odd", name, text);
    EXPECT(0, "odd: 1 file read, 3 not", "import", "--store", "b.db", "odd");
    assert_non_null(strstr(outcome.output, "not read: odd/README.md: of no form that is read"));
    assert_non_null(strstr(outcome.output, "not read: odd/latest.json: it does not say which"));
    EXPECT(0, "odd: 3 files read, 1 not", "import", "--store", "c.db", "--commit", "HEAD", "odd");
    EXPECT(4, "it does not say which commit", "import", "--store", "d.db", "--strict", "odd");
    free(name);
    free(text);
}

// One file with many commits, whatever their order, and the same file grown.
TEST(a_history_in_one_file_may_grow)
{
#define ENTRY(id, time)                                                                            \
    "{\"commit\":{\"id\":\"" id "\",\"timestamp\":\"2024-05-0" time "T00:00:00Z\"},\"benches\":["  \
    "{\"name\":\"f/8/8/8\",\"value\":" time ",\"unit\":\"us\"}]}"
#define FILE_OF(entries)                                                                           \
    "window.BENCHMARK_DATA = {\"lastUpdate\":1,\"entries\":{\"s\":[" entries "]}}"
    make_folder("js");
    put("js", "data.js", FILE_OF(ENTRY("aaaaaaaa", "1") "," ENTRY("bbbbbbbb", "2")));
    EXPECT(0, "2 runs, 2 results added", "import", "--store", "e.db", "js/data.js");
    put("js", "data.js",
        FILE_OF(ENTRY("cccccccc", "3") "," ENTRY("bbbbbbbb", "2") "," ENTRY("aaaaaaaa", "1")));
    EXPECT(0, "1 run, 1 result added", "import", "--store", "e.db", "js/data.js");
    EXPECT(0, "f", "history", "--store", "e.db", "--format", "csv");
}
