// SPDX-License-Identifier: Apache-2.0
//
// Makes a scratch repository whose object ids are the same everywhere.
#include "tests/helpers/helper_repo.h"

#include "tests/helpers/test.h"

#include <git2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// libgit2 1.5 keeps what it matched a name with when the name is no revision.
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libpcre2\n";
}

// Of LeakSanitizer, where it is linked in: what is allocated between the two is no leak.
__attribute__((weak)) void __lsan_disable(void);
__attribute__((weak)) void __lsan_enable(void);

void helper_repo_may_leak(bool may)
{
    if (may && __lsan_disable)
        __lsan_disable();
    if (!may && __lsan_enable)
        __lsan_enable();
}

static void need(int code, const char *what)
{
    if (code == 0)
        return;
    const git_error *error = git_error_last();
    fprintf(stderr, "helper_repo: %s: %s\n", what, error ? error->message : "failed");
    abort();
}

static void add_file(git_index *index, git_repository *git, const struct helper_file *file)
{
    git_oid id;
    if (!file->contents) {
        need(git_index_remove(index, file->path, 0), file->path);
        return;
    }
    need(git_blob_create_from_buffer(&id, git, file->contents, strlen(file->contents)), file->path);
    git_index_entry entry = {.mode = file->mode ? (uint32_t)file->mode : GIT_FILEMODE_BLOB,
                             .path = file->path,
                             .id = id};
    need(git_index_add(index, &entry), file->path);
}

static void write_tree(git_oid *out, git_repository *git, const git_commit *parent,
                       const struct helper_file *files, size_t count)
{
    git_index *index = NULL;
    need(git_index_new(&index), "index");
    if (parent) {
        git_tree *tree = NULL;
        need(git_commit_tree(&tree, parent), "tree");
        need(git_index_read_tree(index, tree), "read tree");
        git_tree_free(tree);
    }
    for (size_t i = 0; i < count; i++)
        add_file(index, git, &files[i]);
    need(git_index_write_tree_to(out, index, git), "write tree");
    git_index_free(index);
}

void helper_repo_commit(char out[OBJECT_ID_TEXT], const char *directory, const char *branch,
                        const char *const *parents, size_t parent_count, int number,
                        const char *message, const struct helper_file *files, size_t count)
{
    enum { FIRST_S = 1700000000, HOUR_S = 3600, PARENTS_MAX = 8 };
    git_repository *git = NULL;
    git_commit *commits[PARENTS_MAX] = {NULL};
    const git_commit *given[PARENTS_MAX] = {NULL};
    git_signature *who = NULL;
    git_reference *reference = NULL;
    git_oid tree_id, id;
    git_tree *tree = NULL;
    need(git_libgit2_init() < 1, "libgit2");
    need(git_repository_open(&git, directory), directory);
    for (size_t i = 0; i < parent_count; i++) {
        need(git_oid_fromstr(&id, parents[i]), parents[i]);
        need(git_commit_lookup(&commits[i], git, &id), parents[i]);
        given[i] = commits[i];
    }
    write_tree(&tree_id, git, commits[0], files, count);
    need(git_tree_lookup(&tree, git, &tree_id), "tree");
    need(git_signature_new(&who, "Test", "test@example.com", FIRST_S + number * HOUR_S, 60), "who");
    need(git_commit_create(&id, git, NULL, who, who, NULL, message, tree, parent_count, given),
         message);
    char *name = xprintf("refs/heads/%s", branch);
    need(git_reference_create(&reference, git, name, &id, 1, NULL), name);
    git_oid_tostr(out, OBJECT_ID_TEXT, &id);
    free(name);
    git_reference_free(reference);
    git_signature_free(who);
    git_tree_free(tree);
    for (size_t i = 0; i < parent_count; i++)
        git_commit_free(commits[i]);
    git_repository_free(git);
}

// The kernel file: a comment, how a row is computed, and what launch does with rows.
static const char kernel_format[] =
    "// %s\n"
    "#include \"kernel.h\"\n"
    "#include <unistd.h>\n"
    "\n"
    "__attribute__((noinline)) static void rows(const struct plumb_args *args, int64_t from,\n"
    "                                           int64_t to)\n"
    "{\n"
    "    const float *a = args->a, *b = args->b;\n"
    "    float *c = args->c;\n"
    "    int64_t n = args->problem.n, k = args->problem.k;\n"
    "    for (int64_t i = from; i < to; i++) {\n"
    "%s"
    "    }\n"
    "}\n"
    "\n"
    "static int supports(const struct plumb_problem *p)\n"
    "{\n"
    "    return p->in_type == PLUMB_FP32 && p->out_type == PLUMB_FP32 &&\n"
    "           p->layout == PLUMB_TN && p->batch == 1 && p->epilogue == 0;\n"
    "}\n"
    "\n"
    "static int launch(const struct plumb_args *args, void *stream)\n"
    "{\n"
    "    (void)stream;\n"
    "    int64_t m = args->problem.m;\n"
    "%s"
    "    return 0;\n"
    "}\n"
    "\n"
    "static const struct plumb_kernel kernel = {\n"
    "    .name = \"%s\",\n"
    "    .summary = \"%s\",\n"
    "    .traits = {.in_type = PLUMB_FP32, .out_type = PLUMB_FP32, .acc_type = PLUMB_FP32,\n"
    "               .threads = 1},\n"
    "    .supports = supports,\n"
    "    .launch = launch,\n"
    "};\n"
    "PLUMB_LIBRARY(\"host\", kernel)\n";

static const char plain_row[] = "        for (int64_t j = 0; j < n; j++) {\n"
                                "            float sum = 0;\n"
                                "            for (int64_t l = 0; l < k; l++)\n"
                                "                sum += a[i * k + l] * b[j * k + l];\n"
                                "            c[i * n + j] = sum;\n"
                                "        }\n";
static const char tuned_row[] = "        const float *left = a + i * k;\n"
                                "        for (int64_t j = 0; j < n; j++) {\n"
                                "            const float *right = b + j * k;\n"
                                "            float sum = -0.0f;\n"
                                "            for (int64_t l = 0; l < k; l++)\n"
                                "                sum += left[l] * right[l];\n"
                                "            c[i * n + j] = sum;\n"
                                "        }\n";
static const char wrong_row[] = "        const float *left = a + i * k;\n"
                                "        for (int64_t j = 0; j < n; j++) {\n"
                                "            const float *right = b + j * k;\n"
                                "            float sum = -0.0f;\n"
                                "            for (int64_t l = 0; l < k - 1; l++)\n"
                                "                sum += left[l] * right[l];\n"
                                "            c[i * n + j] = sum;\n"
                                "        }\n";
// Four independent sums hide the latency of each addition.
static const char fast_row[] = "        const float *left = a + i * k;\n"
                               "        int64_t j = 0;\n"
                               "        for (; j + 4 <= n; j += 4) {\n"
                               "            const float *right = b + j * k;\n"
                               "            float s0 = 0, s1 = 0, s2 = 0, s3 = 0;\n"
                               "            for (int64_t l = 0; l < k; l++) {\n"
                               "                s0 += left[l] * right[l];\n"
                               "                s1 += left[l] * right[k + l];\n"
                               "                s2 += left[l] * right[2 * k + l];\n"
                               "                s3 += left[l] * right[3 * k + l];\n"
                               "            }\n"
                               "            float *to = c + i * n + j;\n"
                               "            to[0] = s0, to[1] = s1, to[2] = s2, to[3] = s3;\n"
                               "        }\n"
                               "        for (; j < n; j++) {\n"
                               "            float sum = 0;\n"
                               "            for (int64_t l = 0; l < k; l++)\n"
                               "                sum += left[l] * b[j * k + l];\n"
                               "            c[i * n + j] = sum;\n"
                               "        }\n";

static const char all_rows[] = "    rows(args, 0, m);\n";
static const char more_rows[] = "    rows(args, 0, m);\n"
                                "    rows(args, 0, (m + 5) / 10); // a tenth again\n";
static const char many_rows[] = "    rows(args, 0, m);\n"
                                "    rows(args, 0, (m + 3) / 4); // a fourth again\n";
static const char no_rows[] = "    rows(args, 0, m);\n"
                              "    for (;;)\n"
                              "        pause();\n";
static const char bad_rows[] = "    rows(args, 0, m_of_no_such_name);\n";

const char helper_repo_command[] =
    "for file in \"$PLUMB_SOURCE\"/kernels/*.c; do\n"
    "    cc -O2 -std=gnu17 -shared -fPIC -I\"$PLUMB_SOURCE\"/include"
    " -o \"$PLUMB_OUT/$(basename \"$file\" .c).so\" \"$file\" || exit 1\n"
    "done";
const char *const helper_repo_inputs[] = {"kernels", "include"};
const size_t helper_repo_input_count = ARRAY_COUNT(helper_repo_inputs);

const struct export_terms helper_any_memory = {.free_bytes = UINT64_MAX};

void helper_repo_policy(const char *path, const char *problems, const char *rest)
{
    FILE *file = fopen(path, "we");
    if (!file) {
        perror(path);
        abort();
    }
    fputs("[build]\n", file);
    for (size_t i = 0; i < helper_repo_input_count; i++)
        fprintf(file, "\tinput = %s\n", helper_repo_inputs[i]);
    fprintf(
        file,
        "\tcommand = \"for file in \\\"$PLUMB_SOURCE\\\"/kernels/*.c; do "
        "cc -O2 -std=gnu17 -shared -fPIC -I\\\"$PLUMB_SOURCE\\\"/include "
        "-o \\\"$PLUMB_OUT/$(basename \\\"$file\\\" .c).so\\\" \\\"$file\\\" || exit 1; done\"\n"
        "[device \"host\"]\n\tkind = host\n"
        "[problems \"small\"]\n%s[kernel \"*\"]\n\tproblems = small\n%s",
        problems, rest);
    if (fclose(file)) {
        perror(path);
        abort();
    }
}

static char *simple(const char *comment, const char *row, const char *launch)
{
    // A format of this file; xprintf checks literals only.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    return xprintf(kernel_format, comment, row, launch, "simple", "three nested loops");
}

static char *blocked(void)
{
    return xprintf(kernel_format, "never changes", fast_row, all_rows, "blocked",
                   "four columns at once");
#pragma GCC diagnostic pop
}

// Commits one version of simple on main.
static void commit_simple(struct helper_repo *repo, enum helper_commit at, enum helper_commit after,
                          const char *path, const char *message, char *source)
{
    const char *parents[] = {repo->ids[after]};
    const struct helper_file files[] = {{path, source, 0}};
    helper_repo_commit(repo->ids[at], repo->directory, "main", parents, 1, (int)at, message, files,
                       1);
    free(source);
}

static void first_half(struct helper_repo *repo)
{
    char *abi = helper_read(TEST_SOURCE "/kernels/kernel.h", NULL), *other = blocked();
    char *start = simple("The plainest way.", plain_row, many_rows);
    const struct helper_file files[] = {
        {"README.md", "Two kernels.\n", 0},
        {"include/kernel.h", abi, 0},
        {"kernels/blocked.c", other, 0},
        {"kernels/simple.c", start, 0},
    };
    helper_repo_commit(repo->ids[REPO_START], repo->directory, "main", NULL, 0, REPO_START,
                       "Start with two kernels\n", files, ARRAY_COUNT(files));
    free(abi);
    free(other);
    free(start);
    commit_simple(repo, REPO_TUNE, REPO_START, "kernels/simple.c", "simple: hoist the row\n",
                  simple("The plainest way.", tuned_row, all_rows));
    commit_simple(repo, REPO_COMMENT, REPO_TUNE, "kernels/simple.c", "simple: say more\n",
                  simple("The plainest way there is.\n// It is here to be compared with.",
                         tuned_row, all_rows));
    const char *comment[] = {repo->ids[REPO_COMMENT]};
    const struct helper_file docs[] = {{"README.md", "Two kernels, and how to build them.\n", 0}};
    helper_repo_commit(repo->ids[REPO_DOCS], repo->directory, "docs", comment, 1, REPO_DOCS,
                       "README: how to build\n", docs, 1);
    char *same = simple("The plainest way there is.\n// It is here to be compared with.", tuned_row,
                        all_rows);
    const struct helper_file moved[] = {{"kernels/simple.c", NULL, 0},
                                        {"kernels/plain.c", same, 0}};
    helper_repo_commit(repo->ids[REPO_RENAME], repo->directory, "main", comment, 1, REPO_RENAME,
                       "simple: move to plain.c\n", moved, 2);
    free(same);
    const char *both[] = {repo->ids[REPO_RENAME], repo->ids[REPO_DOCS]};
    helper_repo_commit(repo->ids[REPO_MERGE], repo->directory, "main", both, 2, REPO_MERGE,
                       "Merge branch 'docs'\n", docs, 1);
}

static void second_half(struct helper_repo *repo)
{
    static const char comment[] = "The plainest way there is.\n// It is here to be compared with.";
    static const char path[] = "kernels/plain.c";
    commit_simple(repo, REPO_SLOWER, REPO_MERGE, path, "simple: be sure of the first rows\n",
                  simple(comment, tuned_row, more_rows));
    commit_simple(repo, REPO_REVERT, REPO_SLOWER, path,
                  "Revert \"simple: be sure of the first rows\"\n",
                  simple(comment, tuned_row, all_rows));
    commit_simple(repo, REPO_UNBUILDABLE, REPO_REVERT, path, "simple: name the rows\n",
                  simple(comment, tuned_row, bad_rows));
    commit_simple(repo, REPO_FIXED, REPO_UNBUILDABLE, path, "simple: build again\n",
                  simple(comment, tuned_row, all_rows));
    commit_simple(repo, REPO_WRONG, REPO_FIXED, path, "simple: one product less\n",
                  simple(comment, wrong_row, all_rows));
    commit_simple(repo, REPO_RIGHT, REPO_WRONG, path, "simple: all products again\n",
                  simple(comment, tuned_row, all_rows));
    commit_simple(repo, REPO_HANG, REPO_RIGHT, path, "simple: wait for something\n",
                  simple(comment, tuned_row, no_rows));
    commit_simple(repo, REPO_AWAKE, REPO_HANG, path, "simple: wait no more\n",
                  simple(comment, tuned_row, all_rows));
    commit_simple(repo, REPO_FASTER, REPO_AWAKE, path, "simple: four sums at once\n",
                  simple(comment, fast_row, all_rows));
}

static void tag(git_repository *git, const char *name, const char *commit, bool annotated)
{
    git_oid id, tag_id;
    git_object *object = NULL;
    git_signature *who = NULL;
    need(git_oid_fromstr(&id, commit), commit);
    need(git_object_lookup(&object, git, &id, GIT_OBJECT_COMMIT), commit);
    need(git_signature_new(&who, "Test", "test@example.com", 1700000000, 60), "who");
    if (annotated)
        need(git_tag_create(&tag_id, git, name, object, who, "released\n", 0), name);
    else
        need(git_tag_create_lightweight(&tag_id, git, name, object, 0), name);
    git_signature_free(who);
    git_object_free(object);
}

void helper_repo_create(struct helper_repo *out)
{
    git_repository *git = NULL;
    git_repository_init_options options;
    git_checkout_options checkout;
    struct helper_repo repo = {0};
    char *directory = helper_directory();
    text_copy(repo.directory, sizeof(repo.directory), directory);
    snprintf(repo.policy, sizeof(repo.policy), "%s/policy.cfg", directory);
    free(directory);
    need(git_libgit2_init() < 1, "libgit2");
    git_repository_init_options_init(&options, GIT_REPOSITORY_INIT_OPTIONS_VERSION);
    options.initial_head = "main";
    options.flags = GIT_REPOSITORY_INIT_MKPATH;
    need(git_repository_init_ext(&git, repo.directory, &options), repo.directory);
    first_half(&repo);
    second_half(&repo);
    tag(git, "v0.1", repo.ids[REPO_TUNE], false);
    tag(git, "v0.2", repo.ids[REPO_MERGE], true);
    git_checkout_options_init(&checkout, GIT_CHECKOUT_OPTIONS_VERSION);
    checkout.checkout_strategy = GIT_CHECKOUT_FORCE;
    need(git_checkout_head(git, &checkout), "checkout");
    git_repository_free(git);
    *out = repo;
}

void helper_repo_remove(const struct helper_repo *repo)
{
    helper_discard(repo->directory);
}

int helper_opened_set_up(void **state)
{
    struct helper_opened *f = xcalloc(1, sizeof(*f));
    struct error err;
    helper_repo_create(&f->repo);
    if (repository_open(&f->open, f->repo.directory, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return -1;
    }
    *state = f;
    return 0;
}

int helper_opened_tear_down(void **state)
{
    struct helper_opened *f = *state;
    repository_close(f->open);
    arena_free(&f->arena);
    helper_repo_remove(&f->repo);
    free(f);
    return 0;
}

void helper_repo_know_host(const struct helper_repo *repo, const char *store)
{
    static const char known[] = TEST_BIN "/host_profile.db", plumb[] = TEST_BIN "/plumb";
    char *policy = xprintf("%s/.git/calibrate.cfg", repo->directory);
    store = store ? store : ".plumb/store.db";
    helper_write_text(policy, "[build]\n\tcommand = true\n[problems \"p\"]\n"
                              "\tproblem = 32x32x32:fp32\n[kernel \"*\"]\n\tproblems = p\n"
                              "[device \"host\"]\n\tkind = host\n");
    // Two programs may make it at once; each puts a whole one in place.
    char *command =
        xprintf("cd '%s' && { test '%s' -nt '%s' || { rm -f .git/known.db; '%s' calibrate "
                "--policy '%s' --store .git/known.db >/dev/null 2>&1; cp .git/known.db '%s.%d' && "
                "mv '%s.%d' '%s'; }; } && mkdir -p \"$(dirname '%s')\" && cp '%s' '%s'",
                repo->directory, known, plumb, plumb, policy, known, (int)getpid(), known,
                (int)getpid(), known, store, known, store);
    if (system(command)) {
        fprintf(stderr, "helper_repo: %s\n", command);
        abort();
    }
    free(command);
    free(policy);
}

void helper_remote(const char *directory, const char *commit)
{
    git_repository *git = NULL;
    git_remote *remote = NULL;
    git_reference *branch = NULL;
    git_oid id;
    assert_int_equal(git_repository_open(&git, directory), 0);
    git_oid_fromstr(&id, commit);
    if (git_remote_lookup(&remote, git, "origin"))
        assert_int_equal(git_remote_create(&remote, git, "origin", "https://example.org/x"), 0);
    assert_int_equal(
        git_reference_create(&branch, git, "refs/remotes/origin/main", &id, true, NULL), 0);
    git_reference_free(branch);
    git_remote_free(remote);
    git_repository_free(git);
}

void helper_configure(const char *directory, const char *key, const char *value)
{
    git_repository *git = NULL;
    git_config *config = NULL;
    assert_int_equal(git_repository_open(&git, directory), 0);
    assert_int_equal(git_repository_config(&config, git), 0);
    assert_int_equal(git_config_set_string(config, key, value), 0);
    git_config_free(config);
    git_repository_free(git);
}

static const char kernel[] =
    "#include \"kernel.h\"\n"
    "#include \"twice.h\"\n"
    "#include \"vendor/deep/deep.h\"\n"
    "static int supports(const struct plumb_problem *p)\n"
    "{\n"
    "    return p->in_type == PLUMB_FP32 && p->out_type == PLUMB_FP32 && p->layout == PLUMB_TN &&\n"
    "           p->batch == 1 && p->epilogue == 0;\n"
    "}\n"
    "static int launch(const struct plumb_args *args, void *stream)\n"
    "{\n"
    "    const float *a = args->a, *b = args->b;\n"
    "    float *c = args->c;\n"
    "    int64_t m = args->problem.m, n = args->problem.n, k = args->problem.k;\n"
    "    (void)stream;\n"
    "    for (int again = 0; again < TWICE + DEEP; again++)\n"
    "        for (int64_t i = 0; i < m; i++)\n"
    "            for (int64_t j = 0; j < n; j++) {\n"
    "                float sum = 0;\n"
    "                for (int64_t l = 0; l < k; l++)\n"
    "                    sum += a[i * k + l] * b[j * k + l];\n"
    "                c[i * n + j] = sum;\n"
    "            }\n"
    "    return 0;\n"
    "}\n"
    "static const struct plumb_kernel plain = {\n"
    "    .name = \"plain\", .summary = \"three loops\",\n"
    "    .traits = {.in_type = PLUMB_FP32, .out_type = PLUMB_FP32, .acc_type = PLUMB_FP32},\n"
    "    .supports = supports, .launch = launch,\n"
    "};\n"
    "PLUMB_LIBRARY(\"host\", plain)\n";

static const char scene[] =
    "git init -q -b main deep && echo '#define DEEP 0' >deep/deep.h\n"
    "git -C deep add . && git -C deep commit -q -m deep\n"
    "git init -q -b main other && echo secret >other/private.h\n"
    "git -C other add . && git -C other commit -q -m other\n"
    "git init -q -b main lib && mkdir lib/include\n"
    "echo '#define TWICE 1' >lib/include/twice.h\n"
    "git -C lib submodule --quiet add \"$PWD/deep\" vendor/deep\n"
    "git -C lib add . && git -C lib commit -q -m one\n"
    "git init -q -b main top && mkdir top/kernels top/include\n"
    "cp '" TEST_SOURCE "/kernels/kernel.h' top/include && mv plain.c top/kernels\n"
    "git -C top submodule --quiet add \"$PWD/lib\" third_party/lib\n"
    "git -C top add . && git -C top commit -q -m first\n"
    "echo '#define TWICE 2' >lib/include/twice.h && git -C lib commit -q -a -m two\n"
    "git -C top/third_party/lib pull -q && git -C top commit -q -a -m second\n";

// Nothing of the machine's own configuration takes part.
static char *prepared(const char *directory, const char *folder, const char *words)
{
    return xprintf("set -e; export GIT_CONFIG_GLOBAL='%s/gitconfig' GIT_CONFIG_NOSYSTEM=1 "
                   "GIT_CONFIG_COUNT=0\ncd '%s/%s'\n%s",
                   directory, directory, folder, words);
}

void helper_shell(const char *directory, const char *folder, const char *words)
{
    char *text = prepared(directory, folder, words);
    if (system(text) != 0)
        fail_msg("in %s: %s", folder, words);
    free(text);
}

char *helper_shell_says(const char *directory, const char *folder, const char *words)
{
    char *text = prepared(directory, folder, words), *said = xcalloc(4096, 1);
    FILE *pipe = popen(text, "r");
    assert_non_null(pipe);
    said[fread(said, 1, 4095, pipe)] = '\0';
    if (pclose(pipe) != 0)
        fail_msg("in %s: %s", folder, words);
    said[strcspn(said, "\n")] = '\0';
    free(text);
    return said;
}

char *helper_submodules(void)
{
    char *directory = helper_directory(), *config = xprintf("%s/gitconfig", directory);
    char *source = xprintf("%s/plain.c", directory);
    helper_write_text(config, "[user]\n\tname = T\n\temail = t@example.com\n"
                              "[protocol \"file\"]\n\tallow = always\n"
                              "[advice]\n\tdetachedHead = false\n");
    helper_write_text(source, kernel);
    helper_shell(directory, ".", scene);
    free(source);
    free(config);
    return directory;
}

void helper_submodules_policy(const char *path, const char *rest)
{
    char *text = xprintf("[build]\n%s"
                         "\tcommand = \"cc -O2 -shared -fPIC -Iinclude -Ithird_party/lib/include "
                         "-Ithird_party/lib -o \\\"$PLUMB_OUT/plain.so\\\" kernels/plain.c\"\n"
                         "[device \"host\"]\n\tkind = host\n"
                         "[problems \"small\"]\n\tproblem = 64x64x64:fp32\n"
                         "[kernel \"*\"]\n\tproblems = small\n"
                         "[gate]\n\tself-test = 0\n[measure]\n\tsamples = 4\n",
                         rest);
    helper_write_text(path, text);
    free(text);
}
