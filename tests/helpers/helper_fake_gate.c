// SPDX-License-Identifier: Apache-2.0
//
// A repository, a policy and a store beside a copy of fake_bench.
#include "tests/helpers/helper_fake_gate.h"

#include "baselines/store.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <git2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KERNELS_MOST = 16 };

void fake_gate_make(struct fake_gate *gate)
{
    git_repository *git = NULL;
    fake_bench_make(&gate->bench);
    const char *directory = gate->bench.directory;
    gate->policy = xprintf("%s/policy.cfg", directory);
    gate->store = xprintf("%s/store.db", directory);
    if (git_libgit2_init() < 1 || git_repository_init(&git, directory, 0)) {
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
