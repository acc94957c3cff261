// SPDX-License-Identifier: Apache-2.0
//
// plumb record: one kernel on one problem as data. `make` writes a record from a library, `show`
// says what one holds. Needs no repository.
#include "ci/command.h"
#include "ci/commands/output.h"
#include "ci/settings/context.h"
#include "ci/settings/text_file.h"
#include "model/record/record.h"
#include "runner/bench/measure.h"
#include "runner/code/plan_file.h"
#include "runner/git/repository.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arguments {
    struct options options;
    bool make; // else `show`
    uint32_t sms;
    const char *file; // for `make` a library or a plan; for `show` a record
    const char *kernel, *problem, *output, *pin;
};

static const struct command_option own_options[] = {
    OPTION_TEXT("kernel", 'k', "NAME", "make: a kernel of the library", kernel),
    OPTION_TEXT("problem", 0, "PROBLEM", "make: MxNxK:TYPE..., e.g. 4096x4096x4096:bf16", problem),
    OPTION_TEXT("output", 'o', "FILE", "make: the record's file", output),
    OPTION_TEXT("pin", 0, "NOTE", "make: the kernel's note of an earlier choice to reproduce", pin),
    OPTION_COUNT("sms", "N", "make, of a plan: multiprocessors of the device, e.g. 132", sms, 1,
                 4096),
    OPTION_TEXT("bench", 0, "FILE", "The bench program [beside plumb]", options.bench),
    OPTION_TEXT("sandbox", 0, "MODE",
                "make: require, auto or off [require where the library may be a stranger's]",
                options.sandbox),
    {0},
};

static int check(void *arguments, struct error *err)
{
    struct arguments *a = arguments;
    const struct words *words = &a->options.words;
    a->make = words->count == 2 && strcmp(words->items[0], "make") == 0;
    if (words->count != 2 || (!a->make && strcmp(words->items[0], "show") != 0))
        return error_set(err, "write `record make LIBRARY ...` or `record show FILE`");
    a->file = words->items[1];
    const bool plan = plan_file_is(a->file);
    if (a->make && ((plan ? !a->sms : !a->kernel) || !a->problem || !a->output))
        return error_set(err, "make needs --%s, --problem and --output", plan ? "sms" : "kernel");
    return 0;
}

// ---- make ----

static int tell_made(enum conclusion *out, const struct arguments *a,
                     const struct bench_outcome *outcome)
{
    if (outcome->state == MEASURED_OK) {
        printf("record     %s\n", a->output);
        return 0;
    }
    fprintf(stderr, "plumb: %s cannot be recorded: %s\n", a->kernel ? a->kernel : a->file,
            outcome->detail);
    *out = CONCLUDE_BROKEN;
    return 0;
}

static int make(enum conclusion *out, const struct arguments *a, struct error *err)
{
    char library[PATH_MAX];
    struct problem problem;
    struct library_bench bench;
    struct bench_outcome outcome = {.state = MEASURED_OK};
    if (!realpath(a->file, library))
        return error_set(err, "%s: %s", a->file, strerror(errno));
    if (problem_parse(&problem, a->problem, err) ||
        repository_refuse_brought(a->output, BROUGHT_LINKS, err))
        return -1;
    if (plan_file_is(library)) {
        const int status = record_of_plan(&outcome, a->output, library, &problem, a->sms, err);
        return status ? -1 : tell_made(out, a, &outcome);
    }
    int status = library_bench_start(&bench, library, &a->options, "cuda", err);
    const struct bench_series series = {
        .kernel = a->kernel, .problem = &problem, .head = library, .pins = {[ROLE_HEAD] = a->pin}};
    if (status == 0)
        status = record_write(&outcome, a->output, bench.bench, &series, err);
    library_bench_stop(&bench);
    return status ? -1 : tell_made(out, a, &outcome);
}

// ---- show ----

static int show(const struct arguments *a, struct error *err)
{
    struct arena arena = {0};
    struct record record;
    struct error why;
    char *bytes = NULL;
    size_t size = 0;
    int status = text_file_read(&bytes, &size, a->file, err);
    if (status == 0 && record_parse(&record, bytes, size, &arena, &why))
        status = error_set(err, "%s: %.900s", a->file, why.text);
    if (status == 0) {
        printf("kernel     %s\n", record.kernel);
        launch_print_all(&record);
    }
    arena_free(&arena);
    free(bytes);
    return status;
}

static int run(enum conclusion *out, struct context *context, void *arguments, struct error *err)
{
    const struct arguments *a = arguments;
    (void)context;
    return a->make ? make(out, a, err) : show(a, err);
}

static bool makes(const void *arguments)
{
    const struct arguments *a = arguments;
    return a->make;
}

static bool makes_of_plan(const void *arguments)
{
    const struct arguments *a = arguments;
    return a->make && plan_file_is(a->file);
}

static bool makes_of_library(const void *arguments)
{
    const struct arguments *a = arguments;
    return a->make && !plan_file_is(a->file);
}

static const struct option_use uses[] = {
    {"problem output", makes, "make"},
    {"sms", makes_of_plan, "make of a plan"},
    {"kernel pin bench sandbox", makes_of_library, "make of a library"},
    {0},
};

const struct command command_record = {
    .name = "record",
    .summary = "Write a CUDA kernel as data to replay without its host code, or show it",
    .words = "make LIBRARY|PLAN\nshow FILE",
    .words_most = 2,
    .options = own_options,
    .check = check,
    .uses = uses,
    .size = sizeof(struct arguments),
    .run = run,
    .doc = "Writes one CUDA kernel on one problem as data, or shows such a record.\v"
           "A record has device code and a list of launches. plumb replays it without any host "
           "code of the library. Making a record runs the library's host code in a process of "
           "its own, in the sandbox if there is one, and runs nothing on the device. If the "
           "library is in a checkout that may be a stranger's, plumb does not run it without "
           "the sandbox.",
};
