// SPDX-License-Identifier: Apache-2.0
//
// plumb gate: is HEAD slower than its base? The exit code is the answer.
#include "ci/command.h"
#include "ci/commands/output.h"
#include "ci/gate/pipeline.h"
#include "ci/settings/options.h"

#include <string.h>

struct arguments {
    struct options options;
    const char *base, *head;
    bool merge_base;
};

enum { OPT_BASE = 2000, OPT_HEAD, OPT_MERGE_BASE, OPT_STATIC };

static const struct argp_option table[] = {
    {"base", OPT_BASE, "REV", 0, "Baseline [the head's first parent]", 1},
    {"head", OPT_HEAD, "REV", 0, "Candidate [HEAD]", 1},
    {"merge-base", OPT_MERGE_BASE, NULL, 0,
     "Compare with the commit where the head's branch left the base", 1},
    {"static", OPT_STATIC, NULL, 0,
     "Measure nothing: compare what the compiler says of the CUDA kernels", 1},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->options;
        a->options.static_use = STATIC_AUTO;
        return 0;
    case OPT_BASE:
        a->base = arg;
        return 0;
    case OPT_HEAD:
        a->head = arg;
        return 0;
    case OPT_MERGE_BASE:
        a->merge_base = true;
        return 0;
    case OPT_STATIC:
        a->options.static_use = STATIC_ONLY;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&options_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {
    .options = table,
    .parser = parse,
    .doc = "Measures the kernels of two commits side by side and judges each series.\v"
           "The policy is read from the BASE commit. Only kernels whose machine code differs are "
           "measured; code that is known to hang or crash here is not tried again (`plumb run "
           "--again` does). An epoch that comes with HEAD (`plumb accept`) accepts a slowdown or a "
           "removal.\n\nExit: 0 no regression, 1 regression, 2 undecided, void, or nothing of what "
           "changed was judged, 3 a kernel is broken and was not on the base, 4 the tool could not "
           "do its work.",
    .children = children,
};

static int find_commits(struct commit *base, struct commit *head, struct context *context,
                        const struct arguments *a, struct error *err)
{
    const struct repository *repository = context->repository;
    struct arena *arena = &context->arena;
    if (repository_commit(head, repository, a->head ? a->head : "HEAD", arena, err))
        return -1;
    if (!a->base)
        return repository_parent(base, repository, head, arena, err);
    if (a->merge_base)
        return repository_merge_base(base, repository, a->base, head->id, arena, err);
    return repository_commit(base, repository, a->base, arena, err);
}

static int gate(struct run *run, struct context *context, const struct arguments *a,
                struct error *err)
{
    struct commit base, head;
    const char *out = a->options.out ? a->options.out : "plumb-report";
    if ((!a->options.dry_run && report_directory(out, err)) ||
        context_open(context, &a->options, err) || find_commits(&base, &head, context, a, err) ||
        context_policy(context, base.id, err) || context_store(context, STORE_WRITE, err) ||
        context_builder(context, err) || context_stations(context, err))
        return -1;
    int status = pipeline_gate(run, context, &base, &head, err);
    if (a->options.dry_run)
        return status ? status : output_plan(run, context);
    return output_measured(run, status, context, out, err);
}

static int run_gate(int argc, char **argv)
{
    struct arguments a = {0};
    struct context context = {0};
    struct run run = {0};
    struct error err;
    int code = options_parse(&argp, argc, argv, &a);
    if (code)
        return code - 1;
    code = gate(&run, &context, &a, &err) ? fail(&err) : (int)run.conclusion;
    run_free(&run);
    context_close(&context);
    return code;
}

const struct command command_gate = {
    .name = "gate",
    .summary = "Compare two commits side by side; the exit code is the verdict",
    .run = run_gate,
};
