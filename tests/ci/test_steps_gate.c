// SPDX-License-Identifier: Apache-2.0
//
// Commands in a repository in which each step that may fail fails once: every call of SQLite,
// libgit2, libxml2 or the system that plumb makes (helpers/helper_steps.h). The kernels are built
// by copying, for compiling takes longer than all the rest of a gate.
// Label: unsanitized
#include "tests/helpers/helper_fake_bench.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/helper_steps.h"
#include "tests/helpers/test.h"

#include <stdlib.h>

static struct fake_gate fake;
static char base[OBJECT_ID_TEXT], head[OBJECT_ID_TEXT];

static void commit(char id[OBJECT_ID_TEXT], const char *branch, const char *parent, int value)
{
    static const char *const names[] = {"slower-pairs", "two-pairs"};
    struct helper_file files[2] = {0};
    for (size_t i = 0; i < 2; i++) {
        const char *folder = fake.bench.directory;
        char *text =
            xprintf("int value = %d;\nconst char name[] = \"fake library %s\";\n", value, names[i]);
        char *words = xprintf("printf '%s' | cc -shared -fPIC -x c -o .built/%s-%d.so -", text,
                              names[i], value);
        files[i].path = xprintf("kernels/%s", names[i]);
        files[i].contents = xprintf("%s-%d.so\n", names[i], value);
        helper_shell(folder, ".", words);
        free(text);
        free(words);
    }
    helper_repo_commit(id, fake.bench.directory, branch, &parent, parent ? 1 : 0, value, "x\n",
                       files, 2);
    for (size_t i = 0; i < 2; i++) {
        free((char *)(uintptr_t)files[i].path);
        free((char *)(uintptr_t)files[i].contents);
    }
}

// A repository whose main branch has been judged, and a head with other code that has not.
static int set_up(void **state)
{
    (void)state;
    fake_gate_make(&fake);
    char *text = xprintf("[build]\n\tinput = kernels\n\tcommand = \"for f in "
                         "\\\"$PLUMB_SOURCE\\\"/kernels/*; do read -r so <\\\"$f\\\"; cp "
                         "'%s/.built/'$so \\\"$PLUMB_OUT/${f##*/}.so\\\"; done\"\n"
                         "[device \"pair\"]\n\tkind = host\n"
                         "[problems \"p\"]\n\tproblem = 4x4x4:fp32\n"
                         "[kernel \"*\"]\n\tproblems = p\n[gate]\n\tself-test = 0\n",
                         fake.bench.directory);
    helper_write_text(fake.policy, text);
    free(text);
    helper_shell(fake.bench.directory, ".", "mkdir .built");
    commit(base, "main", NULL, 1);
    commit(head, "head", base, 2);
    fake_gate_run(&fake, base, base, 0);
    plumb_said(&fake.outcome, 0, "");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fake_gate_remove(&fake);
    return 0;
}
AROUND_ALL(set_up, tear_down);

TEST(a_gate_whose_steps_fail_gives_no_other_verdict)
{
    struct steps_place place;
    steps_place_begin(&place, fake.bench.directory, "store.db");
    place.every = 16;
    place.measures = true;
    STEPS_FAIL(&place, "gate", "--base", base, "--head", head, "--policy", fake.policy, "--bench",
               fake.bench.program, "--store", "store.db", "--sandbox", "off", "--out", "reports");
    steps_place_end(&place);
}

TEST(an_acceptance_whose_steps_fail_is_whole_or_absent)
{
    struct steps_place place;
    fake_gate_run(&fake, base, head, 0);
    steps_place_begin(&place, fake.bench.directory, "store.db");
    STEPS_FAIL(&place, "accept", "--store", "store.db", "--file", "epochs.txt", "--who", "a <a@b>",
               "--reason", "It is needed.");
    steps_place_end(&place);
}

TEST(a_run_whose_steps_fail_gives_no_other_verdict)
{
    struct steps_place place;
    steps_place_begin(&place, fake.bench.directory, "store.db");
    place.every = 2;
    place.measures = true;
    STEPS_FAIL(&place, "run", head, "--policy", fake.policy, "--bench", fake.bench.program,
               "--store", "store.db", "--sandbox", "off");
    steps_place_end(&place);
}

TEST(a_bisection_whose_steps_fail_blames_no_other_commit)
{
    struct steps_place place;
    steps_place_begin(&place, fake.bench.directory, "store.db");
    place.every = 2;
    place.measures = true;
    STEPS_FAIL(&place, "bisect", "--good", base, "--bad", head, "--series",
               "slower-pairs/4x4x4:fp32", "--policy", fake.policy, "--bench", fake.bench.program,
               "--store", "store.db", "--sandbox", "off");
    steps_place_end(&place);
}
