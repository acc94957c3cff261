// SPDX-License-Identifier: Apache-2.0
//
// A gate of a commit whose build, or one of whose files, is larger than anyone reads: broken, by
// name, and nothing of that size is ever made.
#include "tests/helpers/helper_claimed.h"
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_repo.h"

#include "model/result.h"
#include "tests/helpers/test.h"

#include <git2.h>
#include <stdio.h>
#include <stdlib.h>

static struct helper_repo repo;
static struct plumb_outcome outcome;
static char policy_path[320];

static int set_up(void **state)
{
    helper_repo_create(&repo);
    helper_repo_know_host(&repo, NULL);
    snprintf(policy_path, sizeof(policy_path), "%s/plumb-policy.cfg", repo.directory);
    return 0;
}

AROUND_ALL(set_up, NULL);

static void gate(const char *head)
{
    const char *argv[] = {"gate", "--base", repo.ids[REPO_FASTER], "--head",
                          head,   "-p",     policy_path,           NULL};
    plumb_run(&outcome, repo.directory, argv, 0);
}

// Libraries are made as long as a file of the commit says; what is added are holes.
static void write_policy(const char *memory)
{
    char *text = xprintf(
        "[build]\n\tinput = include\n\tinput = kernels\n%s\tcommand = \"cd \\\"$PLUMB_SOURCE\\\" "
        "&& "
        "cc -O2 -std=gnu17 -shared -fPIC -Iinclude -o \\\"$PLUMB_OUT/plain.so\\\" kernels/plain.c "
        "&& { [ ! -f kernels/length ] || truncate -s $(cat kernels/length) "
        "\\\"$PLUMB_OUT/plain.so\\\"; }\"\n"
        "[device \"host\"]\n\tkind = host\n[problems \"small\"]\n\tproblem = 32x32x32:fp32\n"
        "[kernel \"*\"]\n\tproblems = small\n",
        memory);
    helper_write_text(policy_path, text);
    free(text);
}

TEST(library_over_the_limit_is_broken)
{
    char id[OBJECT_ID_TEXT];
    const char *parent = repo.ids[REPO_FASTER];
    const struct helper_file file = {"kernels/length", "1025M\n", 0};
    helper_repo_commit(id, repo.directory, "long", &parent, 1, 41, "long\n", &file, 1);
    write_policy("");
    gate(id);
    plumb_said(&outcome, CONCLUDE_BROKEN, "plain.so: is not a file of at most 1 GiB");
    plumb_said(&outcome, CONCLUDE_BROKEN, "BROKEN: ");
}

// On top of main's newest: kernels/large is what HELPER_CLAIMED says it is.
static void commit_claimed(char out[OBJECT_ID_TEXT])
{
    git_repository *git;
    git_commit *parent;
    git_tree *top, *kernels;
    git_treebuilder *builder;
    git_signature *who;
    git_oid id;
    assert_int_equal(git_repository_open(&git, repo.directory), 0);
    git_oid_fromstr(&id, repo.ids[REPO_FASTER]);
    assert_int_equal(git_commit_lookup(&parent, git, &id), 0);
    assert_int_equal(git_commit_tree(&top, parent), 0);
    const git_tree_entry *folder = git_tree_entry_byname(top, "kernels");
    assert_int_equal(git_tree_lookup(&kernels, git, git_tree_entry_id(folder)), 0);
    assert_int_equal(git_treebuilder_new(&builder, git, kernels), 0);
    git_oid_fromstr(&id, HELPER_CLAIMED);
    assert_int_equal(git_treebuilder_insert(NULL, builder, "large", &id, GIT_FILEMODE_BLOB), 0);
    assert_int_equal(git_treebuilder_write(&id, builder), 0);
    git_treebuilder_free(builder);
    assert_int_equal(git_treebuilder_new(&builder, git, top), 0);
    assert_int_equal(git_treebuilder_insert(NULL, builder, "kernels", &id, GIT_FILEMODE_TREE), 0);
    assert_int_equal(git_treebuilder_write(&id, builder), 0);
    git_treebuilder_free(builder);
    git_tree_free(top);
    assert_int_equal(git_tree_lookup(&top, git, &id), 0);
    assert_int_equal(git_signature_new(&who, "T", "t@e", 1700000000, 0), 0);
    const git_commit *parents[] = {parent};
    assert_int_equal(
        git_commit_create(&id, git, NULL, who, who, NULL, "large\n", top, 1, (void *)parents), 0);
    git_oid_tostr(out, OBJECT_ID_TEXT, &id);
    git_signature_free(who);
    git_tree_free(kernels);
    git_tree_free(top);
    git_commit_free(parent);
    git_repository_free(git);
}

TEST(file_beyond_the_memory_of_a_build_is_broken)
{
    char id[OBJECT_ID_TEXT];
    helper_claim(repo.directory, (uint64_t)900 << 20);
    commit_claimed(id);
    write_policy("\tmemory = 800M\n");
    gate(id);
    plumb_said(&outcome, CONCLUDE_BROKEN,
               "'large' is larger than the memory that building it may take");
    plumb_said(&outcome, CONCLUDE_BROKEN, "BROKEN: ");
}

TEST(problem_beyond_the_memory_of_this_machine_is_no_kernels_fault)
{
    helper_repo_policy(policy_path, "\tproblem = 400000x400000x400000:fp32\n", "");
    gate(repo.ids[REPO_SLOWER]);
    plumb_said(&outcome, 4, "cannot be measured on device ");
    plumb_said(&outcome, 4, "host: no memory for 610351 MiB");
    plumb_said(&outcome, 4, "leave the problem out of the policy");
    const char *argv[] = {"run", repo.ids[REPO_SLOWER], "-p", policy_path, NULL};
    plumb_run(&outcome, repo.directory, argv, 0);
    plumb_said(&outcome, 4, "host: no memory for 610351 MiB");
}

// Where the policy says nothing, by what this machine has: a tebibyte and a half is in none, and
// nothing of that is ever asked for.
TEST(file_beyond_the_memory_of_this_machine_is_broken)
{
    char id[OBJECT_ID_TEXT];
    helper_claim(repo.directory, (uint64_t)3 << 39);
    commit_claimed(id);
    write_policy("");
    gate(id);
    plumb_said(&outcome, CONCLUDE_BROKEN, "'large' is larger than the memory");
    plumb_said(&outcome, CONCLUDE_BROKEN, "BROKEN: ");
}
