// SPDX-License-Identifier: Apache-2.0
//
// A history as a user has it: thirty commits of four kernels, one that makes a kernel slower among
// others that change its code and nothing else, and a machine that gets three times slower half-way
// while others load it. What history says of it is one event for the commit and one for the
// machine.
//
// Builds, links, store and program are real. The times are told (tests/helpers/told_time.h), so
// that the machine that runs the test has no part in them.
#include "model/buffer.h"
#include "tests/helpers/helper_fake_bench.h"
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH = 30, ALIKE = 6, STEP = 10, HOT = 16, ALIKE_TOO = 22, KERNELS = 4 };

static char *directory, *bench;
static struct plumb_outcome outcome;
static char ids[LENGTH][OBJECT_ID_TEXT];
static const char *const kernels[KERNELS] = {"simple", "control-1", "control-2", "control-3"};

static char *kernel_text(int kernel, int commit)
{
    const int code =
        kernel ? kernel : 10 + (commit >= ALIKE) + (commit >= STEP) + (commit >= ALIKE_TOO);
    return xprintf("int code = %d;\nconst char takes[] = \"fake-time=%s\";\n", code,
                   kernel == 0 && commit >= STEP ? "1.2" : "1");
}

static void commit_all(void)
{
    for (int i = 0; i < LENGTH; i++) {
        struct helper_file files[KERNELS + 1];
        char *contents[KERNELS], *paths[KERNELS];
        const char *parent = i ? ids[i - 1] : NULL;
        for (int k = 0; k < KERNELS; k++) {
            contents[k] = kernel_text(k, i);
            paths[k] = xprintf("kernels/%s.c", kernels[k]);
            files[k] = (struct helper_file){paths[k], contents[k], 0};
        }
        // Otherwise a commit that changes no code would be the one before.
        char *number = xprintf("%d\n", i);
        files[KERNELS] = (struct helper_file){"kernels/number.txt", number, 0};
        helper_repo_commit(ids[i], directory, "main", &parent, parent != NULL, i, "step\n", files,
                           KERNELS + 1);
        for (int k = 0; k < KERNELS; k++) {
            free(contents[k]);
            free(paths[k]);
        }
        free(number);
    }
}

static void write_beside(const char *ending, const char *text)
{
    char *path = xprintf("%s%s", bench, ending);
    helper_write_text(path, text);
    free(path);
}

// Every process finds the machine as the next of 600 numbers says: 3 % of noise, and every fourth
// time a neighbour's, half to thrice as long again, as two programs that never pause made it.
static void load_machine(double level)
{
    static const double recorded[] = {.03, .04,  0,    .09, 0,    -.02, .5, -.03, -.02, .03,
                                      .02, -.04, 1.07, .25, -.01, -.03, 0,  .95,  -.06, .8};
    struct buffer text = {0};
    for (size_t i = 0; i < 600; i++) {
        char *line = xprintf("%.3f\n", level + recorded[i * 7 % ARRAY_COUNT(recorded)]);
        buffer_add(&text, line, strlen(line));
        free(line);
    }
    buffer_add(&text, "", 1);
    write_beside(".load", text.bytes);
    buffer_free(&text);
}

static int set_up(void **state)
{
    directory = fake_bench_repository(&bench);
    char *policy = xprintf("%s/long.cfg", directory);
    helper_write_text(
        policy, "[build]\n\tsandbox = off\n\tinput = kernels\n"
                "\tcommand = \"for f in \\\"$PLUMB_SOURCE\\\"/kernels/*.c; do cc -shared -fPIC -o "
                "\\\"$PLUMB_OUT/$(basename \\\"$f\\\" .c).so\\\" \\\"$f\\\" || exit 1; done\"\n"
                "[device \"host\"]\n\tkind = host\n[problems \"p\"]\n\tproblem = 4x4x4:fp32\n"
                "[kernel \"control-*\"]\n\tproblems = p\n\tcontrol = true\n"
                "[kernel \"*\"]\n\tproblems = p\n\tmargin = 4%\n[gate]\n\tprocesses = 2\n"
                "[measure]\n\tsamples = 8\n[history]\n\tlink = on\n");
    free(policy);
    commit_all();
    return 0;
}

AROUND_ALL(set_up, NULL);

static void measure(const char *from, const char *to)
{
    char range[2 * OBJECT_ID_TEXT + 2];
    snprintf(range, sizeof(range), "%s..%s", from, to);
    const char *argv[] = {"run",     range, "--again", "--quiet", "--policy", "long.cfg",
                          "--bench", bench, "--store", "s.db",    NULL};
    plumb_run(&outcome, directory, argv, 0);
    // The range has the step, and its exit code is that of its worst commit.
    if (outcome.code > 1)
        print_message("%s\n", outcome.output);
    assert_in_range(outcome.code, 0, 1);
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
        count++;
    return count;
}

TEST(one_commit_and_one_machine_are_two_events)
{
    char text[200];
    load_machine(0);
    measure(ids[0], ids[HOT - 1]);
    load_machine(1.1);
    measure(ids[HOT - 1], ids[LENGTH - 1]);
    const char *argv[] = {"events", "--store", "s.db", NULL};
    plumb_run(&outcome, directory, argv, 0);
    print_message("%s\n", outcome.output);
    snprintf(text, sizeof(text), "confirmed %.10s ", ids[STEP]);
    plumb_said(&outcome, 0, text);
    snprintf(text, sizeof(text), "confirmed %.10s-environment", ids[HOT]);
    plumb_said(&outcome, 0, text);
    plumb_said(&outcome, 0, " 4 series: its controls moved by +");
    plumb_said(&outcome, 0, "2 events: 2 confirmed");
    assert_int_equal(count_of(outcome.output, " kernel "), 1);
}
