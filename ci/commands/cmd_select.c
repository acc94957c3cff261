// SPDX-License-Identifier: Apache-2.0
//
// plumb select: shows the tile and group that a model would choose for a problem, without a GPU; or
// the choice of a library's kernels that try which variant is fastest.
#include "ci/command.h"
#include "ci/commands/output.h"
#include "ci/settings/context.h"
#include "ci/settings/gpu_file.h"
#include "ci/settings/rows.h"
#include "model/predict/parts/select.h"
#include "reports/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOP_MOST = 32768 }; // larger than the number of configurations

struct arguments {
    struct options options;
    const char *model;
    const char *trial, *kernel,
        *kind; // a library, one of its kernels, and their kind of device
    struct gpu_option gpu;
    struct origami_search search;
    uint32_t top;
    struct row timed; // how launches meet the device, for problems that do not say it
    bool all, json;
};

static const struct command_option own_options[] = {
    OPTION_TEXT("model", 0, "NAME", "Model [origami]; `plumb list models`", model),
    GPU_OPTIONS(gpu),
    OPTION_FLAG("registers", 0,
                "Leave out tiles whose sums or, from Hopper on, stages do not fit (origami)",
                search.registers),
    OPTION_FLAG("pipeline", 0, "Search stages and warps too (origami)", search.pipeline),
    OPTION_FLAG("split-k", 0, "Search splits of K too (origami)", search.split_k),
    OPTION_COUNT("top", "N", "The N best, best first [1]", top, 1, TOP_MOST),
    OPTION_FLAG("all", 0, "All configurations, best first", all),
    ROWS_OPTIONS(timed, "stream"),
    OPTION_TEXT("trial", 0, "LIBRARY",
                "What its kernels choose, which prepare() tries on the device", trial),
    OPTION_TEXT("kernel", 'k', "NAME", "trial: one of them [all]", kernel),
    OPTION_TEXT("device", 'd', "KIND", "trial: cuda, or host [cuda]", kind),
    OPTION_TEXT("bench", 0, "FILE", "trial: the bench program [beside plumb]", options.bench),
    OPTION_TEXT("sandbox", 0, "MODE",
                "trial: require, auto or off [require where the library may be a stranger's]",
                options.sandbox),
    OPTION_FORMAT(json),
    {0},
};
static const struct arguments usual = {.model = "origami", .top = 1, .kind = "cuda"};

static int check(void *arguments, struct error *err)
{
    const struct arguments *a = arguments;
    if (rows_check_options(&a->timed, err))
        return -1;
    return a->options.words.count
               ? 0
               : error_set(err, "which problem? e.g. 4096x4096x4096 or 4096x4096x4096:bf16");
}

// Reads a problem. Its own regime counts; without one, it is the regime that a gate uses on such a
// device. `model` is NULL if the device itself is asked. A model that does not distinguish regimes
// predicts cold launches.
static int read_problem(struct problem *out, const struct arguments *a, const struct model *model,
                        const char *text, struct error *err)
{
    const struct row *timed = &a->timed;
    const bool is_cold = timed->warm_stated || (model && !model->knows_regimes);
    if (problem_parse(out, text, err))
        return -1;
    if (!out->regime_named)
        out->regime = timed->regime_stated ? timed->problem.regime
                      : is_cold            ? REGIME_COLD
                                           : regime_usual(a->kind);
    return 0;
}

// Prints a choice; rank 0: only one was asked for.
static void print_choice(const struct problem *p, const struct selection *s, size_t rank)
{
    const struct traits *t = &s->traits;
    char shape[PROBLEM_TEXT];
    const struct problem shaped = problem_in(p, REGIME_COLD);
    problem_format(shape, &shaped);
    printf("%s", shape); // with its type, even if that is the default
    printf(" tile %dx%dx%d group %d stages %d threads %d", t->tile_m, t->tile_n, t->tile_k,
           t->raster_group, t->stages, t->threads);
    if (t->cluster_m)
        printf(" cluster %dx%d", t->cluster_m, t->cluster_n);
    if (t->split_k > 1)
        printf(" split-k %d", t->split_k);
    else if (t->split_k < 0)
        printf(" stream-k");
    printf(" regime %s predicted_us %.4f bound %s", regime_name(p->regime), s->time_ns / 1e3,
           bound_name(s->bound));
    if (rank)
        printf(" #%zu", rank);
    printf(" of %d candidates\n", s->valid);
}

static void choice_json(struct json *row, const struct problem *p, const struct selection *s,
                        size_t rank)
{
    char problem[PROBLEM_TEXT];
    const struct traits *t = &s->traits;
    problem_format(problem, p);
    json_clean(row, "problem", problem);
    json_clean(row, "regime", regime_name(p->regime));
    json_int(row, "tile_m", t->tile_m);
    json_int(row, "tile_n", t->tile_n);
    json_int(row, "tile_k", t->tile_k);
    json_int(row, "group", t->raster_group);
    json_int(row, "stages", t->stages);
    json_int(row, "threads", t->threads);
    json_int(row, "cluster_m", t->cluster_m);
    json_int(row, "cluster_n", t->cluster_n);
    json_int(row, "split_k", t->split_k < 0 ? 1 : t->split_k);
    json_bool(row, "stream_k", t->split_k < 0);
    json_number(row, "predicted_us", s->time_ns / 1e3);
    json_clean(row, "bound", bound_name(s->bound));
    json_int(row, "candidates", s->valid);
    if (rank)
        json_int(row, "rank", (int64_t)rank);
}

static void print_infeasible(struct answer *answer, const struct problem *p, const char *why)
{
    char problem[PROBLEM_TEXT];
    if (!answer) {
        problem_format(problem, p);
        printf("%s infeasible: %s\n", problem, why);
        return;
    }
    struct json *row = answer_row(answer);
    problem_format(problem, p);
    json_clean(row, "problem", problem);
    json_clean(row, "infeasible", why);
}

static int choose(struct answer *answer, const struct arguments *a, const struct model *model,
                  const struct gpu *gpu, const char *text, struct error *err)
{
    struct problem p;
    size_t count;
    if (read_problem(&p, a, model, text, err))
        return -1;
    const struct predict_input in = {.gpu = gpu,
                                     .problem = &p,
                                     .clock_hz = a->timed.input.clock_hz,
                                     .warm = a->timed.input.warm && !p.regime_named};
    const size_t most = a->all ? TOP_MOST : a->top;
    struct selection *best = xcalloc(most, sizeof(*best));
    const char *why = select_best(best, &count, most, model, &in, &a->search);
    if (why)
        print_infeasible(answer, &p, why);
    for (size_t i = 0; i < count; i++) {
        const size_t rank = most > 1 ? i + 1 : 0;
        best[i].time_ns -= a->timed.without_launch ? best[i].launch_ns : 0;
        if (answer)
            choice_json(answer_row(answer), &p, &best[i], rank);
        else
            print_choice(&p, &best[i], rank);
    }
    free(best);
    return 0;
}

static int choose_all(struct answer *answer, const struct arguments *a, const struct gpu *gpu,
                      struct error *err)
{
    const struct model *model = model_find(a->model);
    if (!model)
        return error_set(err, "%.60s: no such model; `plumb list models` names those there are",
                         a->model);
    if ((a->search.registers || a->search.pipeline || a->search.split_k) &&
        strcmp(model->name, "origami"))
        return error_set(err, "--registers, --pipeline and --split-k belong to the model origami");
    for (size_t i = 0; i < a->options.words.count; i++) {
        if (choose(answer, a, model, gpu, a->options.words.items[i], err))
            return -1;
    }
    return 0;
}

// ---- the choice of a library's kernels ----

static const char model_alone[] = ", the model alone ";

// Prints a kernel's choice. Its note is the choice; or the choice, model_alone, and what the model
// would take without a trial.
static void print_trial(struct answer *answer, const char *problem, enum regime regime,
                        const char *kernel, const struct bench_outcome *opened, struct arena *arena)
{
    const bool fine = opened->state == MEASURED_OK;
    const char *alone = strstr(opened->detail, model_alone);
    const char *choice =
        alone ? arena_printf(arena, "%.*s", (int)(alone - opened->detail), opened->detail)
              : opened->detail;
    alone = alone ? alone + strlen(model_alone) : choice;
    if (!answer) {
        if (fine)
            printf("%s %s takes %s in the regime %s, the model alone %s\n", problem, kernel, choice,
                   regime_name(regime), alone);
        else
            printf("%s %s %s: %s\n", problem, kernel, measurement_state_name(opened->state),
                   opened->detail);
        return;
    }
    struct json *row = answer_row(answer);
    json_clean(row, "problem", problem);
    json_clean(row, "regime", regime_name(regime));
    json_clean(row, "kernel", kernel);
    json_clean(row, "state", measurement_state_name(opened->state));
    json_clean(row, "choice", fine ? choice : NULL);
    json_clean(row, "model_alone", fine ? alone : NULL);
}

// Asks one kernel. A kernel that chooses nothing has no note, and gets no row.
static int try_kernel(struct answer *answer, const struct arguments *a, struct library_bench *bench,
                      const char *kernel, const char *text, struct arena *arena, struct error *err)
{
    struct bench_outcome outcome, closed;
    struct bench_handle handle;
    struct problem problem;
    bool able = false;
    if (read_problem(&problem, a, NULL, text, err) ||
        bench_supports(&outcome, &able, bench->bench, bench->library, kernel, &problem, err))
        return -1;
    const struct bench_series series = {
        .kernel = kernel, .problem = &problem, .head = bench->library, .seed = bench_draw_seed()};
    if (outcome.state == MEASURED_OK && !able)
        return 0;
    if (outcome.state == MEASURED_OK && bench_open(&outcome, &handle, bench->bench, &series, err))
        return -1;
    if (outcome.detail[0])
        print_trial(answer, text, problem.regime, kernel, &outcome, arena);
    if (outcome.gone)
        return error_set(err, "%s on %s: %s", kernel, text, outcome.detail);
    return outcome.state == MEASURED_OK ? bench_close(&closed, bench->bench, &handle, err) : 0;
}

static int try_all(struct answer *answer, const struct arguments *a, struct arena *arena,
                   struct error *err)
{
    const struct words *problems = &a->options.words;
    struct library_bench bench;
    struct bench_outcome outcome;
    struct bench_kernel_list kernels = {0};
    int status = library_bench_start(&bench, a->trial, &a->options, a->kind, err);
    if (status == 0)
        status = bench_list(&outcome, &kernels, bench.bench, bench.library, arena, err);
    if (status == 0 && outcome.state != MEASURED_OK)
        status = error_set(err, "%s: %s", a->trial, outcome.detail);
    bool known = !a->kernel;
    for (size_t k = 0; k < kernels.count; k++)
        known |= a->kernel && strcmp(a->kernel, kernels.items[k].name) == 0;
    if (status == 0 && !known)
        status = error_set(err, "%s: %s has no such kernel", a->kernel, a->trial);
    for (size_t i = 0; i < problems->count && status == 0; i++) {
        for (size_t k = 0; k < kernels.count && status == 0; k++) {
            const char *kernel = kernels.items[k].name;
            if (!a->kernel || strcmp(a->kernel, kernel) == 0)
                status = try_kernel(answer, a, &bench, kernel, problems->items[i], arena, err);
        }
    }
    library_bench_stop(&bench);
    return status;
}

static int run(enum conclusion *out, struct context *context, void *arguments, struct error *err)
{
    const struct arguments *a = arguments;
    struct gpu_profile profile;
    (void)out;
    if (a->trial) {
        struct answer kept, *answer = answer_if(&kept, a->json, "choices");
        struct arena arena = {0};
        const int status = answer_leave(answer, try_all(answer, a, &arena, err));
        arena_free(&arena);
        return status;
    }
    if (measured_profile(&profile, &a->gpu, context, &a->options, err))
        return -1;
    struct answer kept, *answer = answer_if(&kept, a->json, "choices");
    const int status = answer_leave(answer, choose_all(answer, a, &profile.gpu, err));
    gpu_profile_free(&profile);
    return status;
}

static bool tries(const void *arguments)
{
    const struct arguments *a = arguments;
    return a->trial != NULL;
}

static bool predicts(const void *arguments)
{
    return !tries(arguments);
}

static bool finds_profile(const void *arguments)
{
    const struct arguments *a = arguments;
    return !a->gpu.name;
}

static const struct option_use uses[] = {
    {"kernel bench sandbox device", tries, "--trial LIBRARY"},
    {"model gpu set registers pipeline split-k top all warm launch clock repo store", predicts,
     "a model's choice; --trial asks the device"},
    {"repo store", finds_profile, "the profile that was measured last; --gpu names another"},
    {0}};

const struct command command_select = {
    .name = "select",
    .summary = "Print the tile and group that a model chooses for a problem",
    .words = "MxNxK[:TYPE]...",
    .words_most = WORDS_ANY,
    .json = "choices (problem, regime, tile_m, tile_n, tile_k, group, stages, threads, cluster_m, "
            "cluster_n, split_k, stream_k, predicted_us, bound, candidates, with --top and --all "
            "rank; or problem and why it is infeasible; with --trial problem, regime, kernel, "
            "state, choice, model_alone).",
    .shared = SHARED_STORE,
    .options = own_options,
    .defaults = &usual,
    .check = check,
    .uses = uses,
    .size = sizeof(struct arguments),
    .run = run,
    .doc = "Prints the configuration that a model chooses: tile, GROUP_SIZE_M, stages, "
           "cluster. A problem without a type is fp32. Without --gpu the profile is that of "
           "the device that `plumb calibrate` measured last (in --store or the repository's "
           "store), or else the H200's. A line on standard error says which. The launches are "
           "taken to be in a stream, as a gate measures them, unless the problem, --regime or "
           "--warm says otherwise. With --trial LIBRARY plumb prepares the kernels of a "
           "library on the device, as it does before timing them in that regime. Each kernel "
           "that chooses among configurations says which one it takes, and which one its model "
           "alone would take.",
};
