// SPDX-License-Identifier: Apache-2.0
//
// plumb plan: a text beside a cubin that says how it is launched. `check` shows what would be
// launched for a problem. Needs no repository and no GPU.
#include "ci/command.h"
#include "ci/commands/output.h"
#include "runner/code/code_id.h"
#include "runner/code/plan_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct arguments {
    struct options options;
    const char *file;
    uint32_t sms;
};

static const struct command_option own_options[] = {
    OPTION_COUNT("sms", "N", "Multiprocessors of the device [132]", sms, 1, 4096),
    {0},
};

static int check(void *arguments, struct error *err)
{
    struct arguments *a = arguments;
    const struct words *words = &a->options.words;
    a->sms = a->sms ? a->sms : 132;
    if (words->count < 2 || strcmp(words->items[0], "check") != 0)
        return error_set(err, "write `plan check FILE.plan PROBLEM...`");
    a->file = words->items[1];
    return 0;
}

static int show_functions(const struct arguments *a, struct error *err)
{
    struct arena arena = {0};
    struct code_function_list list;
    int status = code_resources(&list, a->file, &arena, err);
    for (size_t i = 0; status == 0 && i < list.count; i++) {
        const struct code_function *f = &list.items[i];
        printf("function   %s (%s): %d registers, %d bytes of stack, %d bytes of static shared "
               "memory\n",
               f->name, f->architecture, f->registers, f->stack_bytes, f->shared_bytes);
    }
    arena_free(&arena);
    return status;
}

// Shows one problem. If it is not supported, a message says so, and the others are still shown.
static int show_problem(bool *fine, const struct arguments *a, const struct plan_file *file,
                        const char *text, struct error *err)
{
    struct arena arena = {0};
    struct problem problem;
    struct record record;
    struct error why;
    if (problem_parse(&problem, text, err))
        return -1;
    putchar('\n');
    if (plan_record(&record, &file->plan, &problem, a->sms, file->entries, &arena, &why)) {
        fflush(stdout);
        fprintf(stderr, "%s\n", why.text);
        *fine = false;
    } else {
        launch_print_all(&record);
    }
    arena_free(&arena);
    return 0;
}

static int show_plan(enum conclusion *out, const struct arguments *a, struct error *err)
{
    const struct words *words = &a->options.words;
    struct plan_file file;
    struct error why;
    bool fine = true;
    int status = 0;
    if (access(a->file, R_OK))
        return error_set(err, "%s: %s", a->file, strerror(errno));
    if (plan_file_open(&file, a->file, &why)) {
        fprintf(stderr, "%s\n", why.text);
        *out = CONCLUDE_BROKEN;
        return 0;
    }
    printf("kernel     %s%s%s\n", file.plan.name, *file.plan.summary ? ": " : "",
           file.plan.summary);
    status = show_functions(a, err);
    if (words->count > 2)
        printf("device     %u multiprocessors (--sms)\n", a->sms);
    for (size_t i = 2; status == 0 && i < words->count; i++)
        status = show_problem(&fine, a, &file, words->items[i], err);
    plan_file_close(&file);
    *out = fine ? CONCLUDE_OK : CONCLUDE_BROKEN;
    return status;
}

static int run(enum conclusion *out, struct context *context, void *arguments, struct error *err)
{
    const struct arguments *a = arguments;
    (void)context;
    return show_plan(out, a, err);
}

const struct command command_plan = {
    .name = "plan",
    .summary = "Check a plan: a text that says how to launch a cubin",
    .words = "check FILE.plan PROBLEM...",
    .words_most = WORDS_ANY,
    .options = own_options,
    .check = check,
    .size = sizeof(struct arguments),
    .run = run,
    .doc = "Says what a plan would launch.\v"
           "A plan is a text beside a cubin: entry point, grid, shared memory and parameters, "
           "as formulas of the problem. A build that leaves plans and cubins in its output has "
           "kernels without any host code (in the policy: output = *.plan). The command needs "
           "no GPU; exit code 3 says that the plan does not fit a cubin or a problem. For a "
           "kernel that a program launches take `plumb capture`.",
};
