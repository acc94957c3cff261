// SPDX-License-Identifier: Apache-2.0
//
// plumb store, export, import and accept, as a user runs them.
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/helper_store.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct helper_repo repo;
static struct plumb_outcome outcome;
static struct arena strings;

static const char *in_repo(const char *name)
{
    return scratch_path(&strings, repo.directory, name);
}

static int set_up(void **state)
{
    helper_repo_create(&repo);
    struct store *store = scratch_store(in_repo(".plumb/store.db"), STORE_WRITE);
    for (unsigned i = 0; i < 4; i++) {
        struct run run;
        make_run(&run, i % 2 ? RUN_GATE : RUN_MEASURE, i, 6, i);
        run.results[0].verdict.kind = VERDICT_SAME;
        run.results[1].verdict.log_ratio.value = 0.0305;
        save_whole_run(store, &run);
        run_free(&run);
    }
    store_close(store);
    return 0;
}

AROUND_ALL(set_up, NULL);

#define EXPECT(code, part, ...) PLUMB_EXPECT(&outcome, repo.directory, code, part, __VA_ARGS__)

TEST(sound_store_is_said_to_be_so)
{
    EXPECT(0, "sound, 4 runs, 36 measurements", "store", "check");
    EXPECT(0, "measurements  36", "store", "info");
}

TEST(bad_use_ends_with_4_and_one_line)
{
    EXPECT(4, "no action 'fix'", "store", "fix");
    EXPECT(4, "plumb store: needs more words; see `plumb store --help`", "store");
    EXPECT(4, "takes no 'x'", "store", "check", "x");
    EXPECT(4, "give --before", "store", "prune");
    EXPECT(4, "--before=soon", "store", "prune", "--before=soon");
    EXPECT(4, "name the stores", "store", "merge");
    EXPECT(4, "No such file", "store", "merge", "nothing.db");
    EXPECT(4, "is the store it shall be merged into", "store", "merge", ".plumb/store.db");
    EXPECT(4, "there is none", "store", "info", "--store=nothing.db");
    EXPECT(4, "has no run 77; `plumb report --list` shows them", "report", "--run=77");
    EXPECT(4, "has no run 77", "export", "--run=77");
    EXPECT(4, "name the files", "import");
    EXPECT(4, "nothing.csv: No such file", "import", "nothing.csv");
    helper_write_text(in_repo("words.txt"), "some words\n");
    EXPECT(4, "words.txt: of no form that is read", "import", "words.txt");
    EXPECT(4, "--problem=8x8: MxNxK:TYPE", "import", "--problem=8x8", "words.txt");
    EXPECT(4, "csv, links, metrics, json, bmf or openmetrics", "export", "--format=xml");
}

TEST(damaged_store_is_said_to_be_so)
{
    const char *copy = in_repo("damaged.db");
    EXPECT(0, "added", "store", "--store=damaged.db", "merge", ".plumb/store.db");
    struct stat info;
    assert_int_equal(stat(copy, &info), 0);
    FILE *file = fopen(copy, "r+");
    assert_non_null(file);
    for (long at = 3 * 8192; at < info.st_size; at += 4096) {
        fseek(file, at, SEEK_SET);
        fputs("XXXXXXXXXXXXXXXX", file);
    }
    fclose(file);
    EXPECT(4, "damaged.db", "store", "--store=damaged.db", "check");
    unlink(copy);
}

TEST(export_import_and_merge_give_the_same_store)
{
    EXPECT(0, "", "export", "--output=all.json");
    EXPECT(0, "4 runs, 24 results added", "import", "--store=a.db", "all.json");
    EXPECT(0, "0 runs, 0 results added", "import", "--store=a.db", "all.json");
    EXPECT(0, "4 runs and 36 measurements", "store", "--store=b.db", "merge", ".plumb/store.db");
    EXPECT(0, "0 runs and 0 measurements", "store", "--store=b.db", "merge", "a.db");
    EXPECT(0, "", "export", "--store=b.db", "--output=again.json");
    char *first = helper_read(in_repo("all.json"), NULL),
         *second = helper_read(in_repo("again.json"), NULL);
    assert_string_equal(first, second);
    free(first);
    free(second);
    EXPECT(0, "run,kind,started_s,commit", "export", "--kernel=tile-01");
    assert_null(strstr(outcome.output, "tile-00"));
    EXPECT(0, "{\"plumb\":{\"export\":1", "export", "--run=1", "--format=json");
}

TEST(failed_export_leaves_no_file)
{
    struct stat info;
    EXPECT(4, "has no run 9", "export", "--run=9", "--output=none.json");
    assert_int_equal(stat(in_repo("none.json"), &info), -1);
    EXPECT(4, "cannot be written", "export", "--output=no/such/folder/x.csv");
}

TEST(nvbench_file_is_of_the_commit_named)
{
    helper_write_text(
        in_repo("bench.json"),
        "{\"devices\":[{\"id\":0,\"name\":\"NVIDIA H200\"}],\"benchmarks\":[{\"name\":"
        "\"gemm\",\"states\":[{\"name\":\"s\",\"device\":0,\"axis_values\":["
        "{\"name\":\"M\",\"value\":\"64\"},{\"name\":\"N\",\"value\":\"64\"},"
        "{\"name\":\"K\",\"value\":\"64\"}],\"summaries\":[{\"tag\":"
        "\"nv/cold/time/gpu/mean\",\"data\":[{\"name\":\"value\",\"value\":\"1e-5\"}]}]}]}]}");
    EXPECT(0, "1 run, 1 result", "import", "--store=n.db", "--commit=HEAD~2", "bench.json");
    EXPECT(0, "gemm,64x64x64:fp32-fp32:tn", "export", "--store=n.db");
    EXPECT(4, "nonsense", "import", "--store=n.db", "--format=nvbench", "--commit=nonsense",
           "bench.json");
}

// pytest-benchmark's own word for the commit is taken where the repository knows it.
TEST(tool_that_knows_the_commit_is_believed)
{
    static const char *const dirty[] = {"false", "true"};
    const char *const measured[] = {repo.ids[REPO_AWAKE], repo.ids[REPO_FASTER]};
    for (size_t i = 0; i < 2; i++) {
        char *text = xprintf("{\"machine_info\":{\"node\":\"h\"},\"commit_info\":{\"id\":"
                             "\"%s\",\"dirty\":%s},\"benchmarks\":[{\"name\":\"test[8-8-8]\","
                             "\"stats\":{\"median\":0.5}}]}",
                             repo.ids[REPO_AWAKE], dirty[i]);
        char *store = xprintf("--store=%s.db", dirty[i]), *said = xprintf(",%s,", measured[i]);
        helper_write_text(in_repo("p.json"), text);
        EXPECT(0, "1 result", "import", store, "p.json");
        EXPECT(0, said, "export", store);
        free(text);
        free(store);
        free(said);
    }
    helper_write_text(in_repo("p.json"),
                      "{\"machine_info\":{},\"commit_info\":{\"id\":\"0123456789\"},"
                      "\"benchmarks\":[]}");
    EXPECT(4, "measured 0123456789, which is not in", "import", "--store=e.db", "p.json");
}

TEST(prune_says_what_goes)
{
    EXPECT(0, "4 runs", "store", "--store=p.db", "merge", ".plumb/store.db");
    EXPECT(0, "would remove 4 runs, 36 measurements", "store", "--store=p.db", "prune", "--runs",
           "--before=1d", "--dry-run");
    EXPECT(0, "sound, 4 runs", "store", "--store=p.db", "check");
    EXPECT(0, "removed 0.0", "store", "--store=p.db", "prune", "--before=1d");
    EXPECT(0, "raw samples   0.000 MB", "store", "--store=p.db", "info");
    EXPECT(0, "removed 4 runs", "store", "--store=p.db", "prune", "--runs", "--before=2023-11-16");
    EXPECT(0, "sound, 0 runs", "store", "--store=p.db", "check");
}

static struct epoch_list load_epochs(void)
{
    struct epoch_list list;
    struct error err = {0};
    char *text = helper_read(in_repo("baselines/epochs.txt"), NULL);
    if (epoch_parse(&list, text, strlen(text), "epochs.txt", &strings, &err))
        fail_msg("%s", err.text);
    free(text);
    return list;
}

TEST(accept_writes_what_the_gate_found)
{
    const char *who = "--who=A. Author <author@example.org>";
    EXPECT(4, "say why", "accept", who);
    EXPECT(4, "nothing slower, faster or gone matches", "accept", who, "-m", "r", "none*");
    EXPECT(0, "1 epoch would be added", "accept", who, "-m", "r", "-n", "tile-00 2048*");
    struct stat info;
    assert_int_equal(stat(in_repo("baselines/epochs.txt"), &info), -1);
    EXPECT(0, "1 epoch added", "accept", who, "-m", "wider tiles", "tile-00 2048*");
    struct epoch_list list = load_epochs();
    assert_int_equal(list.count, 1);
    assert_string_equal(list.epochs[0].series,
                        "tile-00 2048x4096x512:bf16-bf16:tn GPU-00000000-0001");
    assert_true(list.epochs[0].level == 0.0305);
    assert_string_equal(list.epochs[0].commit, "0000000000000000000000000000000000000004");
    assert_string_equal(list.epochs[0].reason, "wider tiles");
    assert_string_equal(list.epochs[0].who, "A. Author <author@example.org>");
    EXPECT(0, "4 epochs added", "accept", who, "-m", "all of it"); // 6 less 1 same, 1 known
    EXPECT(0, "has them all already", "accept", who, "-m", "all of it");
    assert_int_equal(load_epochs().count, 5);
}

TEST(accept_of_a_level_needs_no_run)
{
    const char *who = "--who=A. Author";
    EXPECT(4, "--level needs the series", "accept", who, "-m", "r", "--level=+3%");
    EXPECT(4, "--level=much", "accept", who, "-m", "r", "--level=much", "x");
    EXPECT(0, "1 epoch added", "accept", who, "-m", "r", "--level=+3%", "--commit=HEAD~1", "n*");
    struct epoch_list list = load_epochs();
    const struct epoch *last = &list.epochs[list.count - 1];
    assert_string_equal(last->series, "n* * *");
    assert_true(fabs(last->level - log(1.03)) < 1e-15);
    assert_string_equal(last->commit, repo.ids[REPO_AWAKE]);
    EXPECT(4, "who", "accept", "--who=two\nlines", "-m", "r", "--level=1%", "x");
}

TEST(broken_epochs_are_not_made_longer)
{
    helper_write_text(in_repo("broken.txt"), "series = a * *\nlevle = 3\n");
    EXPECT(4, "broken.txt:2: unknown key levle", "accept", "--who=A", "-m", "r", "--level=1%", "x",
           "--file=broken.txt");
    char *text = helper_read(in_repo("broken.txt"), NULL);
    assert_string_equal(text, "series = a * *\nlevle = 3\n");
    free(text);
}
