// SPDX-License-Identifier: Apache-2.0
//
// `plumb status` says what is here in any state of a repository, leaves nothing behind, and names
// the command that helps.
#include "tests/helpers/helper_open_store.h"
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct helper_repo repo;
static struct plumb_outcome outcome;

static int set_up(void **state)
{
    helper_repo_create(&repo);
    helper_repo_policy(repo.policy, "\tproblem = 8x8x8:fp32\n",
                       "[gate]\n\tself-test = 0\n[measure]\n\tsamples = 4\n");
    return 0;
}

AROUND_ALL(set_up, NULL);

static void ask(const char *format)
{
    const char *argv[] = {"status", "--policy", repo.policy, "--format", format, NULL};
    plumb_run(&outcome, repo.directory, argv, 0);
}

TEST(before_anything_ran_it_names_the_gate_and_writes_nothing)
{
    char *left = xprintf("%s/.plumb", repo.directory);
    ask("table");
    plumb_said(&outcome, 0, "store.db: not there yet");
    plumb_said(&outcome, 0, "1 problem in 1 set");
    plumb_said(&outcome, 0, "HEAD changes what the build reads; its own times are not all");
    plumb_said(&outcome, 0, "`plumb gate` judges HEAD against its parent");
    assert_int_equal(access(left, F_OK), -1);
    free(left);
}

// Whoever looks at a stranger's pull request reads its subject first.
TEST(a_commits_subject_is_text)
{
    char id[OBJECT_ID_TEXT];
    const char *parent = repo.ids[REPO_FASTER];
    const struct helper_file file = {"README.md", "hello\n", 0};
    helper_repo_commit(id, repo.directory, "main", &parent, 1, 99,
                       "\x1b[2J##[error]a\xc2\x9b"
                       "2Jb\n",
                       &file, 1);
    ask("table");
    plumb_said(&outcome, 0, " # [error]a2Jb");
    assert_null(strchr(outcome.output, '\x1b'));
}

TEST(without_its_devices_it_names_what_needs_none)
{
    char *policy = xprintf("%s/away.cfg", repo.directory);
    FILE *file = fopen(policy, "w");
    assert_non_null(file);
    fputs("[build]\n\tcommand = \"true\"\n[device \"far\"]\n\tkind = cuda\n\tindex = 63\n"
          "[problems \"few\"]\n\tproblem = 64x64x64:fp32\n[kernel \"*\"]\n\tproblems = few\n",
          file);
    assert_int_equal(fclose(file), 0);
    plumb_run(&outcome, repo.directory, (const char *[]){"status", "--policy", policy, NULL}, 0);
    plumb_said(&outcome, 0, "far: not on this machine");
    plumb_said(&outcome, 0, "`plumb gate --static` compares");
    unlink(policy);
    free(policy);
}

TEST(without_a_policy_it_names_init)
{
    plumb_run(&outcome, repo.directory, (const char *[]){"status", NULL}, 0);
    plumb_said(&outcome, 0, "`plumb init` writes");
}

TEST(after_a_gate_it_shows_the_verdict)
{
    plumb_run(&outcome, repo.directory,
              (const char *[]){"run", "HEAD", "--policy", repo.policy, "--quiet", NULL}, 0);
    ask("table");
    plumb_said(&outcome, 0, " measure ");
    plumb_said(&outcome, 0, "its own times are measured");
    // Whatever it says.
    plumb_run(&outcome, repo.directory,
              (const char *[]){"gate", "--policy", repo.policy, "--seconds", "1", "--quiet", NULL},
              0);
    ask("table");
    plumb_said(&outcome, 0, " gate ");
    plumb_said(&outcome, 0, "HEAD was judged: `plumb report --run 2` shows it again");
}

TEST(a_gate_that_judged_nothing_is_no_judgement)
{
    char *path = xprintf("%s/.plumb/store.db", repo.directory);
    run_sql(path, "UPDATE runs SET headline = 'NOTHING JUDGED: 1 not measured' WHERE run_key = 2");
    ask("table");
    plumb_said(&outcome, 0, "nothing of HEAD was judged: `plumb report --run 2` says why");
    free(path);
}

TEST(a_damaged_store_is_a_line_and_not_the_end)
{
    char *path = xprintf("%s/broken.db", repo.directory);
    helper_write_text(path, "this is no store");
    plumb_run(&outcome, repo.directory,
              (const char *[]){"status", "--policy", repo.policy, "--store", path, NULL}, 0);
    plumb_said(&outcome, 0, "broken.db");
    plumb_said(&outcome, 0, "its own times are not known");
    plumb_said(&outcome, 0, "next        the store first");
    free(path);
}

TEST(a_folder_that_an_option_names_is_made_aloud)
{
    char *path = xprintf("%s/slip/store.db", repo.directory);
    const char *argv[] = {"import", "--store", path, TEST_DATA "/stores/d4c778d.jsonl", NULL};
    char *said = xprintf("made the folder %s/slip for the store", repo.directory);
    plumb_run(&outcome, repo.directory, argv, 0);
    plumb_said(&outcome, 0, said);
    plumb_run(&outcome, repo.directory, argv, 0);
    assert_null(strstr(outcome.output, "made the folder"));
    free(said);
    free(path);
}

TEST(as_json_it_is_the_same_table)
{
    ask("json");
    plumb_said(&outcome, 0, "{\"topic\":\"repository\",\"text\":\"");
    ask("yaml");
    plumb_said(&outcome, 4, "--format=yaml: is table or json");
}
