// SPDX-License-Identifier: Apache-2.0
//
// What a command leaves behind of a run: its reports in a folder, what a store knows beside them,
// and the last line.
#include "ci/commands/output.h"
#include "tests/helpers/helper_open_store.h"
#include "tests/helpers/helper_run.h"
#include "tests/helpers/test.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

AROUND_EACH(open_store_set_up, open_store_tear_down);

// A folder of reports that nobody asked for must not be committed by accident. Who names a folder
// says what becomes of it.
TEST(git_ignores_a_folder_of_reports_only_where_nobody_named_it)
{
    static const char *const files[] = {"index.html", "junit.xml", "summary.md"};
    const struct open_store *f = *state;
    for (int named = 0; named < 2; named++) {
        char *folder = xprintf("%s/%s/reports", f->folder, named ? "named" : "usual");
        const struct options options = {.out = named ? folder : NULL};
        const struct context context = {.options = &options};
        struct run run = helper_run();
        struct error err = {""};
        assert_ok(output_reports(&run, &context, folder, &err), &err);
        for (size_t i = 0; i < ARRAY_COUNT(files); i++)
            assert_true(helper_exists(folder, files[i]));
        assert_int_equal(helper_exists(folder, ".gitignore"), !named);
        run_free(&run);
        free(folder);
    }
}

TEST(only_a_store_knows_how_often_identical_code_raised_an_alarm)
{
    const struct open_store *f = *state;
    const struct options options = {0};
    struct context context = {.options = &options, .policy = {.site_url = "https://site"}};
    struct report_context known;
    struct error err = {""};
    struct run run = helper_run();
    assert_ok(output_context(&known, &run, &context, &run.arena, &err), &err);
    assert_null(known.records);
    assert_true(isnan(known.series[0].false_alarm_rate));
    assert_string_equal(known.site_url, "https://site");
    context.store = f->store;
    assert_ok(output_context(&known, &run, &context, &run.arena, &err), &err);
    for (size_t i = 0; i < run.device_count; i++)
        assert_int_equal(known.records[i].gates, 0); // an empty store
    run_free(&run);
}

// What it prints, in the arena.
static const char *last_line(struct run *run, const char *path)
{
    fflush(stdout);
    const int kept = dup(STDOUT_FILENO), file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(file, STDOUT_FILENO);
    output_headline(run);
    fflush(stdout);
    dup2(kept, STDOUT_FILENO);
    close(kept);
    close(file);
    char *text = helper_read(path, NULL);
    const char *copy = arena_strdup(&run->arena, text);
    free(text);
    return copy;
}

TEST(the_last_line_is_one_line_without_what_a_log_would_obey)
{
    const struct open_store *f = *state;
    char *path = xprintf("%s/said", f->folder);
    struct run run = {.conclusion = CONCLUDE_OK};
    assert_string_equal(last_line(&run, path), "nothing was measured\n");
    run.headline = "SLOWER: k \033[31mred\n::error::x";
    run.conclusion = CONCLUDE_REGRESSION;
    const char *said = last_line(&run, path);
    assert_int_equal(strncmp(said, "SLOWER: k ", strlen("SLOWER: k ")), 0);
    assert_null(strchr(said, '\033')); // no terminal, no colour, whatever the text says
    assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
    arena_free(&run.arena);
    free(path);
}
