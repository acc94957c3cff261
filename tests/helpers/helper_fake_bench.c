// SPDX-License-Identifier: Apache-2.0
//
// Starts a bench that does what a test asks of it, also what no bench should. What it can do is
// listed in fake_bench.c.
#include "tests/helpers/helper_fake_bench.h"

#include "baselines/store.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <git2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct problem fake_problem = {
    .m = 4, .n = 4, .k = 4, .in = DTYPE_FP32, .out = DTYPE_FP32, .batch = 1};

static void count_note(void *context, const char *text)
{
    struct fake_bench *fake = context;
    fake->notes += text != NULL;
}

_Noreturn static void die(const char *what, const char *why)
{
    fprintf(stderr, "helper_fake_bench: %s: %s\n", what, why);
    abort();
}

void fake_bench_make(struct fake_bench *fake)
{
    struct error err;
    fake->directory = helper_directory();
    fake->program = xprintf("%s/bench", fake->directory);
    char *copy = xprintf("cp '%s/fake_bench' '%s'", TEST_BIN, fake->program);
    if (system(copy) != 0)
        die(copy, "failed");
    if (sandbox_probe(&fake->sandbox, SANDBOX_OFF, &err))
        die("sandbox", err.text);
    free(copy);
    fake->plan = (struct bench_plan){
        .program = fake->program,
        .kind = "host",
        .sandbox = &fake->sandbox,
        .limits = {.start_s = 20, .list_s = 20, .open_s = 20, .measure_s = 20, .close_s = 20},
        .note = count_note,
        .note_context = fake,
    };
}

void fake_bench_remove(struct fake_bench *fake)
{
    helper_discard(fake->directory);
    arena_free(&fake->arena);
    free(fake->directory);
    free(fake->program);
}

int fake_bench_set_up(void **state)
{
    struct fake_bench *fake = xcalloc(1, sizeof(*fake));
    fake_bench_make(fake);
    *state = fake;
    return 0;
}

int fake_bench_tear_down(void **state)
{
    fake_bench_remove(*state);
    free(*state);
    return 0;
}

void fake_bench_write(const struct fake_bench *fake, const char *ending, const char *text)
{
    char *path = xprintf("%s.%s", fake->program, ending);
    if (text)
        helper_write_text(path, text);
    else
        unlink(path);
    free(path);
}

struct bench *fake_bench_start(struct fake_bench *fake)
{
    struct bench *bench;
    struct error err;
    if (bench_start(&bench, &fake->plan, &err))
        die("bench_start", err.text);
    return bench;
}

struct bench_outcome fake_bench_open(struct bench_handle *handle, struct bench *bench,
                                     const char *kernel)
{
    const struct bench_series series = {
        .kernel = kernel, .problem = &fake_problem, .head = "/x/head.so", .base = "/x/base.so"};
    struct bench_outcome outcome;
    struct error err;
    if (bench_open(&outcome, handle, bench, &series, &err))
        die(kernel, err.text);
    return outcome;
}

char *fake_bench_repository(char **bench)
{
    git_repository *git = NULL;
    char *directory = helper_directory();
    *bench = xprintf("%s/bench", directory);
    char *copy = xprintf("cp '%s/fake_bench' '%s'", TEST_BIN, *bench);
    if (system(copy) || git_libgit2_init() < 1 || git_repository_init(&git, directory, 0))
        die(directory, "no repository can be made with a bench in it");
    git_repository_free(git);
    free(copy);
    return directory;
}

enum { KERNELS_MOST = 16 };

void fake_gate_make(struct fake_gate *gate)
{
    git_repository *git = NULL;
    git_repository_init_options options = {.version = GIT_REPOSITORY_INIT_OPTIONS_VERSION};
    options.flags = GIT_REPOSITORY_INIT_MKPATH;
    options.initial_head = "main"; // whatever init.defaultBranch says
    fake_bench_make(&gate->bench);
    const char *directory = gate->bench.directory;
    gate->policy = xprintf("%s/policy.cfg", directory);
    gate->store = xprintf("%s/store.db", directory);
    if (git_libgit2_init() < 1 || git_repository_init_ext(&git, directory, &options)) {
        fprintf(stderr, "helper_fake_gate: %s: no repository can be made\n", directory);
        abort();
    }
    git_repository_free(git);
    git_libgit2_shutdown();
}

void fake_gate_remove(struct fake_gate *gate)
{
    fake_bench_remove(&gate->bench);
    free(gate->policy);
    free(gate->store);
}

void fake_gate_policy(const struct fake_gate *gate, const char *device, const char *rest)
{
    char *text = xprintf(
        "[build]\n\tinput = kernels\n\tcommand = \"bad=0; for f in "
        "\\\"$PLUMB_SOURCE\\\"/kernels/*.c; do cc -shared -fPIC -o "
        "\\\"$PLUMB_OUT/$(basename \\\"$f\\\" .c).so\\\" \\\"$f\\\" || bad=1; done; exit "
        "$bad\"\n[device \"pair\"]\n\tkind = host\n%s[problems \"p\"]\n\tproblem = 4x4x4:fp32\n"
        "[kernel \"*\"]\n\tproblems = p\n%s",
        device, rest);
    helper_write_text(gate->policy, text);
    free(text);
}

void fake_gate_commit(char id[OBJECT_ID_TEXT], const struct fake_gate *gate, const char *branch,
                      const char *parent, const char *const *names, const char *beginning,
                      int value)
{
    struct helper_file files[KERNELS_MOST] = {0};
    size_t count = 0;
    for (; names[count] && count < KERNELS_MOST; count++) {
        const bool changed = strncmp(names[count], beginning, strlen(beginning)) == 0;
        // A library is not called by its name where it is loaded, so it says it.
        files[count] = (struct helper_file){
            xprintf("kernels/%s.c", names[count]),
            xprintf("int value = %d;\nconst char name[] = \"fake library %s\";\n",
                    changed ? value : 1, names[count]),
            0};
    }
    helper_repo_commit(id, gate->bench.directory, branch, &parent, parent ? 1 : 0, value, "x\n",
                       files, count);
    for (size_t i = 0; i < count; i++) {
        free((char *)(uintptr_t)files[i].path);
        free((char *)(uintptr_t)files[i].contents);
    }
}

void fake_gate_run(struct fake_gate *gate, const char *base, const char *head, double kill_after_s)
{
    const char *argv[] = {"gate",       "--base",    base,
                          "--head",     head,        "--policy",
                          gate->policy, "--bench",   gate->bench.program,
                          "--store",    gate->store, "--sandbox",
                          "off",        NULL};
    plumb_run(&gate->outcome, gate->bench.directory, argv, kill_after_s);
}

void fake_gate_newest(struct run *out, const struct fake_gate *gate, enum run_kind kind)
{
    struct store *stored;
    struct error err;
    int64_t newest;
    assert_int_equal(store_open(&stored, gate->store, STORE_READ, &err), 0);
    assert_int_equal(store_last_run(&newest, stored, kind, &err), 0);
    assert_int_equal(store_load_run(out, stored, newest, &err), 0);
    store_close(stored);
}
