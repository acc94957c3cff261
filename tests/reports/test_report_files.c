// SPDX-License-Identifier: Apache-2.0
//
// Report files are replaced whole or not at all.
#include "reports/report.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_run.h"
#include "tests/helpers/test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

TEST(write_all_makes_every_file_and_leaves_nothing_else)
{
    struct error err;
    struct run run = helper_run();
    char *folder = helper_directory(), *output = xprintf("%s/output", folder);
    assert_int_equal(report_write_all(output, &run, NULL, &err), 0);
    assert_int_equal(report_write_all(output, &run, NULL, &err), 0);
    char *command = xprintf("test $(ls -A '%s' | wc -l) -eq %zu", output, report_count);
    assert_int_equal(system(command), 0);
    for (size_t i = 0; i < report_count; i++) {
        struct stat st;
        char *path = xprintf("%s/%s", output, reports[i]->file);
        assert_int_equal(stat(path, &st), 0);
        assert_true(st.st_size > 100);
        free(path);
    }
    free(command);
    free(output);
    helper_discard(folder);
    free(folder);
    run_free(&run);
}

TEST(replace_keeps_the_old_file_when_it_fails)
{
    struct error err;
    char *folder = helper_directory(), *path = xprintf("%s/target", folder);
    assert_int_equal(mkdir(path, 0755), 0);
    assert_int_equal(report_replace_file(path, "x", 1, &err), -1);
    assert_non_null(strstr(err.text, path));
    char *command = xprintf("test $(ls -A '%s' | wc -l) -eq 1", folder);
    assert_int_equal(system(command), 0);
    free(command);
    free(path);
    helper_discard(folder);
    free(folder);
}

TEST(write_names_the_folder_it_cannot_make)
{
    struct error err;
    struct run run = helper_run_empty();
    assert_int_equal(report_write_all("/proc/nonexistent/a", &run, NULL, &err), -1);
    assert_non_null(strstr(err.text, "/proc/nonexistent"));
    assert_null(strchr(err.text, '\n'));
    run_free(&run);
}

// Someone who can write to the folder must not make us write elsewhere.
TEST(planted_link_is_not_followed)
{
    struct error err;
    char *folder = helper_directory(), *path = xprintf("%s/file", folder);
    char *temporary = xprintf("%s.%ld.tmp", path, (long)getpid());
    char *victim = xprintf("%s/victim", folder);
    assert_int_equal(symlink(victim, temporary), 0);
    assert_int_equal(report_replace_file(path, "new", 3, &err), -1);
    assert_int_equal(access(victim, F_OK), -1);
    free(victim);
    free(temporary);
    free(path);
    helper_discard(folder);
    free(folder);
}

// A file size limit refuses bytes in the middle of a file, as a full disk does.
TEST(full_disk_keeps_the_old_file)
{
    struct error err;
    struct rlimit before, small;
    char large[8192] = "";
    char *folder = helper_directory(), *path = xprintf("%s/file", folder);
    assert_int_equal(report_replace_file(path, "old", 3, &err), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 4096;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    int status = report_replace_file(path, large, sizeof(large), &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(status, -1);
    assert_non_null(strstr(err.text, "`ulimit -f`"));
    char *text = helper_read(path, NULL);
    assert_string_equal(text, "old");
    free(text);
    char *command = xprintf("test $(ls -A '%s' | wc -l) -eq 1", folder);
    assert_int_equal(system(command), 0);
    free(command);
    free(path);
    helper_discard(folder);
    free(folder);
}

TEST(find_knows_every_report_by_name)
{
    for (size_t i = 0; i < report_count; i++) {
        assert_ptr_equal(report_find(reports[i]->name), reports[i]);
        assert_true(i == 0 || strcmp(reports[i - 1]->name, reports[i]->name) < 0);
        assert_true(strlen(reports[i]->why) > 10);
    }
    assert_null(report_find("docx"));
}

// Asked before an hour of measuring: it makes what is missing, leaves nothing, and says what is
// wrong.
TEST(a_folder_is_tried_before_it_is_needed)
{
    struct error err;
    char *folder = helper_directory(), *deep = xprintf("%s/a/b/c", folder);
    char *file = xprintf("%s/a/file", folder), *below = xprintf("%s/a/file/d", folder);
    assert_int_equal(report_directory(deep, &err), 0);
    assert_int_equal(report_directory(deep, &err), 0);
    char *command = xprintf("test -z \"$(ls -A '%s')\"", deep);
    assert_int_equal(system(command), 0);
    assert_int_equal(report_put_file(file, "x", 1, &err), 0);
    assert_int_equal(report_directory(below, &err), -1);
    assert_non_null(strstr(err.text, "choose another folder with --out"));
    free(command);
    free(below);
    free(file);
    free(deep);
    helper_discard(folder);
    free(folder);
}

// A page that can be made again: the old one stays until the new one is whole.
TEST(a_page_is_put_whole_or_not_at_all)
{
    struct error err;
    char *folder = helper_directory(), *path = xprintf("%s/page", folder), text[16] = "";
    assert_int_equal(report_put_file(path, "old", 3, &err), 0);
    assert_int_equal(report_put_file(path, "newer", 5, &err), 0);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fread(text, 1, sizeof(text), file), 5);
    fclose(file);
    assert_string_equal(text, "newer");
    char *missing = xprintf("%s/none/page", folder);
    assert_int_equal(report_put_file(missing, "x", 1, &err), -1);
    assert_non_null(strstr(err.text, missing));
    char *command = xprintf("test $(ls -A '%s' | wc -l) -eq 1", folder);
    assert_int_equal(system(command), 0);
    free(command);
    free(missing);
    free(path);
    helper_discard(folder);
    free(folder);
}
