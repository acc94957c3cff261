// SPDX-License-Identifier: Apache-2.0
//
// plumb optimise: finds the best tiling and buffer depth on a machine that a file describes, by
// seed 1's model of a warp-specialised kernel. Every tiling is tried; if the module with Z3 is
// installed, it solves the same problem. A tiling that is given is simulated instead, and compared
// with a measured time if there is one.
#include "ci/command.h"
#include "ci/commands/output.h"
#include "ci/settings/rows.h"
#include "ci/settings/text_file.h"
#include "model/config.h"
#include "model/predict/parts/pipeline.h"
#include "reports/charts/charts.h"
#include "runner/child/files.h"

#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct arguments {
    struct options options;
    const char *machine, *csv, *trace, *svg;
    enum pipeline_goal goal;
    struct pipeline_choice tile; // tile_m 0: it is searched for; depth 0: the deepest that fits
    bool json;
};

struct machine {
    struct pipeline_machine costs;
    int64_t tick_ns; // 0: the length of a tick is not known
};

static int take_goal(void *arguments, const char *text)
{
    struct arguments *a = arguments;
    a->goal = strcmp(text, "wait") == 0 ? PIPELINE_LEAST_WAIT : PIPELINE_LEAST_TIME;
    return strcmp(text, "wait") && strcmp(text, "time") ? -1 : 0;
}

static int take_tile(void *arguments, const char *text)
{
    struct pipeline_choice *t = &((struct arguments *)arguments)->tile;
    char end;
    return sscanf(text, "%5dx%5dx%5d%c", &t->tile_m, &t->tile_n, &t->tile_k, &end) == 3 ? 0 : -1;
}

static int take_depth(void *arguments, const char *text)
{
    int64_t depth;
    if (parse_int64(&depth, text) || depth < 1 || depth > 8)
        return -1;
    ((struct arguments *)arguments)->tile.depth = (int32_t)depth;
    return 0;
}

static const struct command_option own_options[] = {
    OPTION_TEXT("machine", 0, "FILE", "The machine, in ticks; see below", machine),
    OPTION_OWN("goal", 0, "time|wait", "Least time, or least waiting of computing warps [time]",
               take_goal, "is no goal: time or wait"),
    OPTION_OWN("tile", 0, "MxNxK", "Simulate this tiling; do not search", take_tile,
               "is no tiling: three sizes joined by x, e.g. 128x128x64"),
    OPTION_OWN("depth", 0, "N", "Its stages in the buffer [the most that fit]", take_depth,
               "must be a whole number from 1 to 8"),
    OPTION_TEXT("csv", 0, "FILE", "Problems and tilings to simulate, - for standard input", csv),
    OPTION_TEXT("trace", 0, "FILE", "Chrome trace of the first problem", trace),
    OPTION_TEXT("svg", 0, "FILE", "Timeline of one wave of the first problem", svg),
    OPTION_FORMAT(json),
    {0},
};

static const struct {
    const char *key;
    size_t offset;
    bool small; // it must fit an int32_t
} keys[] = {
    {"launch", offsetof(struct machine, costs.launch), false},
    {"load-startup", offsetof(struct machine, costs.load_startup), false},
    {"load-block", offsetof(struct machine, costs.load_block), false},
    {"math-startup", offsetof(struct machine, costs.math_startup), false},
    {"math-block", offsetof(struct machine, costs.math_block), false},
    {"epilogue-startup", offsetof(struct machine, costs.epilogue_startup), false},
    {"epilogue-block", offsetof(struct machine, costs.epilogue_block), false},
    {"smem-blocks", offsetof(struct machine, costs.smem_blocks), false},
    {"sms", offsetof(struct machine, costs.sms), true},
    {"depth", offsetof(struct machine, costs.depth_max), true},
    {"load-warps", offsetof(struct machine, costs.dma_warps), true},
    {"math-warps", offsetof(struct machine, costs.math_warps), true},
    {"tick-ns", offsetof(struct machine, tick_ns), false},
};

static int read_key(struct machine *out, bool seen[], const struct config_entry *e,
                    const char *path, struct error *err)
{
    int64_t value;
    if (strcmp(e->section, "machine"))
        return error_set(err, "%s:%u: [%.40s]: a machine has one section, [machine]", path, e->line,
                         e->section);
    if (e->key[0] == '\0')
        return 0;
    for (size_t i = 0; i < ARRAY_COUNT(keys); i++) {
        if (strcmp(keys[i].key, e->key))
            continue;
        if (!e->value || config_int(&value, e->value) || value < 0 || value > INT32_MAX)
            return error_set(err, "%s:%u: %s must be a whole number, not negative", path, e->line,
                             e->key);
        if (keys[i].small)
            *(int32_t *)(void *)((char *)out + keys[i].offset) = (int32_t)value;
        else
            *(int64_t *)(void *)((char *)out + keys[i].offset) = value;
        seen[i] = true;
        return 0;
    }
    return error_set(err, "%s:%u: unknown key machine.%.40s", path, e->line, e->key);
}

static int read_machine(struct machine *out, const char *path, struct error *err)
{
    char *text = NULL;
    size_t length;
    struct config_file config = {0};
    bool seen[ARRAY_COUNT(keys)] = {0};
    *out = (struct machine){.costs = {.dma_warps = 1, .math_warps = 1}};
    if (text_file_read(&text, &length, path, err))
        return -1;
    int status = config_parse(&config, text, length, path, err);
    for (size_t i = 0; i < config.count && status == 0; i++)
        status = read_key(out, seen, &config.entries[i], path, err);
    for (size_t i = 0; i < ARRAY_COUNT(keys) && status == 0; i++) {
        if (!seen[i] && strcmp(keys[i].key, "load-warps") && strcmp(keys[i].key, "math-warps") &&
            strcmp(keys[i].key, "tick-ns"))
            status = error_set(err, "%s: no machine.%s", path, keys[i].key);
    }
    config_free(&config);
    free(text);
    return status;
}

static void print_choice(const char *who, const struct pipeline_choice *c)
{
    printf("%s tile %dx%dx%d depth %d ticks %lld wait %lld", who, c->tile_m, c->tile_n, c->tile_k,
           c->depth, (long long)c->time, (long long)c->wait);
}

static void choice_json(struct json *json, const char *problem, const struct pipeline_choice *c)
{
    json_clean(json, "problem", problem);
    json_int(json, "tile_m", c->tile_m);
    json_int(json, "tile_n", c->tile_n);
    json_int(json, "tile_k", c->tile_k);
    json_int(json, "depth", c->depth);
    json_int(json, "ticks", c->time);
    json_int(json, "wait_ticks", c->wait);
}

enum { Z3_TIMEOUT_MS = 60000 };

// pipeline_optimise_z3() of the module; NULL: it is not installed. It is loaded once and stays
// loaded.
#define NAME_OF(function) #function
typedef int z3_function(struct pipeline_choice *, const struct pipeline_machine *, const int64_t *,
                        enum pipeline_goal, unsigned, struct error *);
static z3_function *load_z3(void)
{
    char path[PATH_MAX];
    void *module = files_own(path, "plumb_z3.so") ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    void *symbol = module ? dlsym(module, NAME_OF(pipeline_optimise_z3)) : NULL;
    z3_function *found;
    memcpy(&found, &symbol, sizeof(found));
    return found;
}

static double cpu_s(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

// Asks Z3. If its answer differs from ours, this program has a defect.
static int ask_z3(struct json *row, const struct pipeline_choice *ours,
                  const struct pipeline_machine *machine, const int64_t mnk[3],
                  enum pipeline_goal goal, struct error *err)
{
    struct pipeline_choice c;
    static z3_function *ask;
    const double begin_s = cpu_s();
    ask = ask ? ask : load_z3();
    if (!ask) {
        if (!row)
            printf("  Z3: not asked, it is not installed\n");
        return 0;
    }
    if (mnk[2] > PIPELINE_Z3_K_MAX) {
        if (!row)
            printf("  Z3: not asked, K is above %d\n", PIPELINE_Z3_K_MAX);
        return 0;
    }
    if (ask(&c, machine, mnk, goal, Z3_TIMEOUT_MS, err))
        return -1;
    const bool equal = goal == PIPELINE_LEAST_TIME ? c.time == ours->time : c.wait == ours->wait;
    const double spent_s = cpu_s() - begin_s;
    if (row) {
        json_bool(row, "proved", equal);
        json_number(row, "proof_cpu_s", spent_s);
    } else {
        print_choice("  Z3:", &c);
        printf(", %.2f CPU s: %s\n", spent_s,
               equal ? "there is nothing better" : "NOT the same optimum");
    }
    return equal ? 0 : error_set(err, "the search and Z3 differ; please report this machine");
}

static void shape_text(char out[96], const int64_t mnk[3])
{
    snprintf(out, 96, "%lldx%lldx%lld", (long long)mnk[0], (long long)mnk[1], (long long)mnk[2]);
}

static int optimise(struct answer *answer, struct pipeline_choice *c, const struct arguments *a,
                    const struct machine *machine, const int64_t mnk[3], struct error *err)
{
    struct json *row = NULL;
    char who[96];
    if (pipeline_optimise(c, &machine->costs, mnk, a->goal, err))
        return -1;
    shape_text(who, mnk);
    if (answer) {
        row = answer_row(answer);
        choice_json(row, who, c);
    } else {
        print_choice(who, c);
        printf("\n");
    }
    return ask_z3(row, c, &machine->costs, mnk, a->goal, err);
}

// ---- tilings that are given ----

// The model's errors relative to measured times.
struct errors {
    double sum, most;
    size_t count;
};

static void print_simulated(struct answer *answer, struct errors *errors,
                            const struct machine *machine, const struct pipeline_choice *c,
                            const int64_t mnk[3], double measured_us)
{
    const double us = (double)(c->time * machine->tick_ns) / 1e3;
    const double error = measured_us > 0 && us > 0 ? us / measured_us - 1 : NAN;
    char who[96];
    shape_text(who, mnk);
    if (isfinite(error)) {
        errors->sum += fabs(error);
        errors->most = fmax(errors->most, fabs(error));
        errors->count++;
    }
    if (answer) {
        struct json *row = answer_row(answer);
        choice_json(row, who, c);
        json_number(row, "predicted_us", us > 0 ? us : NAN);
        json_number(row, "measured_us", measured_us > 0 ? measured_us : NAN);
        json_number(row, "error", error);
        return;
    }
    print_choice(who, c);
    if (us > 0)
        printf(" predicted_us %.6g", us);
    if (isfinite(error))
        printf(" measured_us %.6g error %+.2f %%", measured_us, 100 * error);
    printf("\n");
}

static int draw(const struct arguments *a, const struct machine *machine,
                const struct pipeline_choice *c, const int64_t mnk[3], struct error *err)
{
    struct pipeline pipeline;
    struct pipeline_events events;
    struct buffer trace = {0};
    const int64_t tiles = mnk[0] / c->tile_m * (mnk[1] / c->tile_n);
    const double ticks_us = machine->tick_ns ? 1e-3 * (double)machine->tick_ns : 1;
    pipeline_of_choice(&pipeline, &machine->costs, c, mnk);
    if (pipeline_simulate(&events, &pipeline, err))
        return -1;
    const struct pipeline_kernel kernel =
        pipeline_kernel(&pipeline, tiles, machine->costs.sms, (double)machine->costs.launch);
    pipeline_write_trace(&trace, &pipeline, &events, (double)machine->costs.launch,
                         kernel.waves < 100 ? kernel.waves : 100, ticks_us);
    int result = a->trace ? text_file_write(a->trace, &trace, err) : 0;
    if (result == 0 && a->svg) {
        struct markup *figure = markup_new(MARKUP_XML);
        chart_wave(figure, &pipeline, &events, machine->tick_ns == 1 ? "ns" : "ticks");
        result = output_figure(a->svg, figure, err);
    }
    buffer_free(&trace);
    pipeline_events_free(&events);
    return result;
}

static int simulate(struct pipeline_choice *c, const struct machine *machine, const int64_t mnk[3],
                    struct error *err)
{
    char who[96];
    struct pipeline_tilings tilings;
    int32_t deepest = 0;
    shape_text(who, mnk);
    if (pipeline_machine_check(&machine->costs, mnk, err))
        return -1;
    pipeline_tilings(&tilings, &machine->costs, mnk);
    for (size_t i = 0; i < tilings.count; i++) {
        const struct pipeline_choice *t = &tilings.items[i];
        if (t->tile_m == c->tile_m && t->tile_n == c->tile_n && t->tile_k == c->tile_k)
            deepest = t->depth;
    }
    pipeline_tilings_free(&tilings);
    if (deepest == 0)
        return error_set(err,
                         "%s: a tile of %dx%dx%d is no multiple of 32 in each direction, does not "
                         "divide the problem, or does not fit in shared memory once",
                         who, c->tile_m, c->tile_n, c->tile_k);
    if (c->depth > deepest)
        return error_set(err, "%s: %d stages of a tile of %dx%dx%d do not fit; at most %d", who,
                         c->depth, c->tile_m, c->tile_n, c->tile_k, deepest);
    c->depth = c->depth ? c->depth : deepest;
    pipeline_evaluate(c, &machine->costs, mnk);
    return 0;
}

static int simulate_row(struct answer *answer, struct errors *errors, const struct arguments *a,
                        const struct machine *machine, const struct rows_table *table, size_t index,
                        struct error *err)
{
    static const struct row unsaid = {0};
    struct row row;
    double measured_us;
    if (row_read(&row, table, index, &unsaid, err) || row_measured(&measured_us, table, index, err))
        return -1;
    const int64_t mnk[3] = {row.problem.m, row.problem.n, row.problem.k};
    const struct traits *t = &row.traits;
    struct pipeline_choice c = {t->tile_m, t->tile_n, t->tile_k, t->stages, 0, 0};
    if (!t->tile_m)
        c = a->tile;
    if (!c.tile_m || !c.tile_n || !c.tile_k)
        return error_set(err, "%s:%zu: which tile? columns cta_m, cta_n and cta_k, or --tile",
                         a->csv, table->csv->rows[index].line);
    if (simulate(&c, machine, mnk, err))
        return -1;
    print_simulated(answer, errors, machine, &c, mnk, measured_us);
    return index == 0 ? draw(a, machine, &c, mnk, err) : 0;
}

static int simulate_csv(struct answer *answer, const struct arguments *a,
                        const struct machine *machine, struct error *err)
{
    struct csv csv;
    struct errors errors = {0};
    if (rows_open(&csv, a->csv, err))
        return -1;
    int result = rows_refuse_misspelt(&csv, a->csv, err);
    struct rows_table table;
    rows_find_columns(&table, &csv, a->csv);
    for (size_t i = 0; i < csv.count && result == 0; i++)
        result = simulate_row(answer, &errors, a, machine, &table, i, err);
    csv_free(&csv);
    if (result || !errors.count)
        return result;
    const double mean = errors.sum / (double)errors.count;
    if (answer) {
        json_number(answer_whole(answer), "mean_error", mean);
        json_number(answer_whole(answer), "largest_error", errors.most);
    } else {
        printf("%zu measured %s: predicted times are %.2f %% off in the mean, %.2f %% at most\n",
               errors.count, plural(errors.count, "row", "rows"), 100 * mean, 100 * errors.most);
    }
    return 0;
}

static int answer_all(struct answer *answer, const struct arguments *a,
                      const struct machine *machine, struct error *err)
{
    struct errors none = {0};
    for (size_t i = 0; i < a->options.words.count; i++) {
        struct problem p;
        struct pipeline_choice c = a->tile;
        if (problem_parse(&p, a->options.words.items[i], err))
            return -1;
        const int64_t mnk[3] = {p.m, p.n, p.k};
        if (c.tile_m ? simulate(&c, machine, mnk, err) : optimise(answer, &c, a, machine, mnk, err))
            return -1;
        if (a->tile.tile_m)
            print_simulated(answer, &none, machine, &c, mnk, 0);
        if (i == 0 && draw(a, machine, &c, mnk, err))
            return -1;
    }
    return a->csv ? simulate_csv(answer, a, machine, err) : 0;
}

static int check(void *arguments, struct error *err)
{
    const struct arguments *a = arguments;
    if (!a->machine)
        return error_set(err, "which machine? --machine FILE");
    if (a->tile.depth && !a->tile.tile_m)
        return error_set(err, "--depth is of a tiling that is given by --tile");
    return !a->csv == !a->options.words.count
               ? error_set(err, "give problems (MxNxK) or --csv FILE, and not both")
               : 0;
}

static int run(enum conclusion *out, struct context *context, void *arguments, struct error *err)
{
    const struct arguments *a = arguments;
    struct machine machine;
    (void)out;
    (void)context;
    if (read_machine(&machine, a->machine, err))
        return -1;
    struct answer kept, *answer = answer_if(&kept, a->json, "choices");
    return answer_leave(answer, answer_all(answer, a, &machine, err));
}

static bool searches(const void *arguments)
{
    const struct arguments *a = arguments;
    return !a->tile.tile_m && !a->csv;
}

static const struct option_use uses[] = {
    {"goal", searches, "a search; --tile and --csv give tilings"}, {0}};

const struct command command_optimise = {
    .name = "optimise",
    .summary = "Find the best tiling on a machine that a file describes",
    .words = "[MxNxK...]",
    .words_most = WORDS_ANY,
    .json = "choices (problem, tile_m, tile_n, tile_k, depth, ticks, wait_ticks; where Z3 was "
            "asked, proved and proof_cpu_s; of a tiling that was given predicted_us, measured_us "
            "and error), and of a CSV with measured times mean_error and largest_error.",
    .options = own_options,
    .check = check,
    .uses = uses,
    .size = sizeof(struct arguments),
    .run = run,
    .doc =
        "Tries every tiling of multiples of 32 that divide the problem and fit in shared "
        "memory, and "
        "prints the best, its buffer depth, its time and the waiting of all computing warps. "
        "Where built with Z3, that is asked too, of K up to 1024, and says in how many "
        "seconds it proved that there is nothing better. A tiling that is given by --tile, or "
        "by the rows of a CSV (m, n, k or problem, cta_m, cta_n, cta_k, stages, measured_us), is "
        "simulated instead.\v"
        "The file, in ticks of any length and blocks of 32 x 32 elements:\n\n"
        "  [machine]\n"
        "    launch = 1680\n"
        "    load-startup = 100\n"
        "    load-block = 40          ; per block of A or B\n"
        "    math-startup = 20\n"
        "    math-block = 40          ; per block of a product\n"
        "    epilogue-startup = 900\n"
        "    epilogue-block = 20\n"
        "    smem-blocks = 96         ; that shared memory holds\n"
        "    sms = 84\n"
        "    depth = 4                ; the deepest buffer\n"
        "    load-warps = 2           ; [1] and\n"
        "    math-warps = 1           ; [1] share a stage\n"
        "    tick-ns = 1              ; [unknown] the length of a tick, for times in us",
};
