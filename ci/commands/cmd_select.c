// SPDX-License-Identifier: Apache-2.0
//
// plumb select: the tile and group a model would choose for a problem. No GPU is needed.
#include "ci/command.h"
#include "ci/settings/gpu_file.h"
#include "ci/settings/options.h"
#include "model/predict/parts/origami.h"
#include "model/predict/parts/select.h"

#include <stdio.h>
#include <string.h>

struct arguments {
    const char *model;
    struct gpu_option gpu;
    struct origami_search search;
    char **problems;
    size_t problem_count, top;
};

enum { OPT_REGISTERS = 1000, OPT_PIPELINE, OPT_SPLIT, OPT_TOP, TOP_MOST = 100 };

static const struct argp_option table[] = {
    {"model", 'm', "NAME", 0, "Model [origami]; `plumb list models`", 0},
    {"registers", OPT_REGISTERS, NULL, 0, "Leave out tiles that spill registers (origami)", 0},
    {"pipeline", OPT_PIPELINE, NULL, 0, "Search stages and warps too (origami)", 0},
    {"split-k", OPT_SPLIT, NULL, 0, "Search splits of K too (origami)", 0},
    {"top", OPT_TOP, "N", 0, "The N best, best first [1] (not origami)", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->gpu;
        return 0;
    case 'm':
        a->model = arg;
        return 0;
    case OPT_REGISTERS:
        a->search.registers = true;
        return 0;
    case OPT_PIPELINE:
        a->search.pipeline = true;
        return 0;
    case OPT_SPLIT:
        a->search.split_k = true;
        return 0;
    case OPT_TOP:
        a->top = (size_t)option_count(arg, "top", 1, TOP_MOST, state);
        return 0;
    case ARGP_KEY_ARGS:
        a->problems = state->argv + state->next;
        a->problem_count = (size_t)(state->argc - state->next);
        return 0;
    case ARGP_KEY_END:
        if (a->problem_count == 0)
            argp_error(state, "which problem? e.g. 4096x4096x4096 or 4096x4096x4096:bf16");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&gpu_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {
    .children = children,
    .options = table,
    .parser = parse,
    .args_doc = "MxNxK[:TYPE]...",
    .doc =
        "Prints the configuration a model chooses: tile, GROUP_SIZE_M, stages, cluster. A problem "
        "without a type is fp32, as everywhere.",
};

static void print_choice(const struct problem *p, const struct selection *s)
{
    const struct traits *t = &s->traits;
    printf("%lldx%lldx%lld", (long long)p->m, (long long)p->n, (long long)p->k);
    printf(" tile %dx%dx%d group %d stages %d threads %d", t->tile_m, t->tile_n, t->tile_k,
           t->raster_group, t->stages, t->threads);
    if (t->cluster_m)
        printf(" cluster %dx%d", t->cluster_m, t->cluster_n);
    if (t->split_k > 1)
        printf(" split-k %d", t->split_k);
    else if (t->split_k < 0)
        printf(" stream-k");
    printf(" predicted_us %.4f bound %s of %d candidates\n", s->time_ns / 1e3, bound_name(s->bound),
           s->valid);
}

static int choose(const struct arguments *a, const struct model *model, const struct gpu *gpu,
                  const char *text, struct error *err)
{
    struct problem p;
    struct selection best[TOP_MOST];
    size_t count;
    if (problem_parse(&p, text, err))
        return -1;
    const char *why = select_best(best, &count, a->top, model, gpu, &p, 0, &a->search);
    if (why)
        printf("%lldx%lldx%lld infeasible: %s\n", (long long)p.m, (long long)p.n, (long long)p.k,
               why);
    for (size_t i = 0; i < count; i++)
        print_choice(&p, &best[i]);
    return 0;
}

static int choose_all(const struct arguments *a, const struct gpu *gpu, struct error *err)
{
    const struct model *model = model_find(a->model);
    if (!model)
        return error_set(err, "%.60s: no such model; `plumb list models` names those there are",
                         a->model);
    if ((a->search.registers || a->search.pipeline || a->search.split_k) &&
        strcmp(model->name, "origami"))
        return error_set(err, "--registers, --pipeline and --split-k belong to the model origami");
    if (a->top > 1 && strcmp(model->name, "origami") == 0)
        return error_set(err, "origami chooses one configuration in two phases; --top is for the "
                              "other models, e.g. -m hopper");
    for (size_t i = 0; i < a->problem_count; i++) {
        if (choose(a, model, gpu, a->problems[i], err))
            return -1;
    }
    return 0;
}

static int run_select(int argc, char **argv)
{
    struct arguments a = {.model = "origami", .gpu.name = "h200-sxm", .top = 1};
    struct gpu_profile profile;
    struct error err;
    int code = options_parse(&argp, argc, argv, &a);
    if (code)
        return code - 1;
    if (gpu_option_resolve(&profile, &a.gpu, &err))
        return fail(&err);
    code = choose_all(&a, &profile.gpu, &err) ? fail(&err) : CONCLUDE_OK;
    gpu_profile_free(&profile);
    return code;
}

const struct command command_select = {
    .name = "select",
    .summary = "The tile and group a model chooses for a problem",
    .run = run_select,
};
