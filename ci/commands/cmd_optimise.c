// SPDX-License-Identifier: Apache-2.0
//
// plumb optimise: the tiling and buffer depth that are best on a machine described by a file, under
// seed 1's model of a warp-specialised kernel. Every tiling is tried, and where the module that
// knows Z3 is installed, it is asked the same.
#include "ci/command.h"
#include "ci/commands/output.h"
#include "ci/settings/text_file.h"
#include "model/config.h"
#include "model/predict/parts/pipeline_optimise.h"
#include "runner/child/files.h"

#include <dlfcn.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct arguments {
    struct options options;
    const char *machine;
    enum pipeline_goal goal;
    bool json;
};

static int take_goal(void *arguments, const char *text)
{
    struct arguments *a = arguments;
    a->goal = strcmp(text, "wait") == 0 ? PIPELINE_LEAST_WAIT : PIPELINE_LEAST_TIME;
    return strcmp(text, "wait") && strcmp(text, "time") ? -1 : 0;
}

static const struct command_option own_options[] = {
    OPTION_TEXT("machine", 0, "FILE", "The machine, in ticks; see below", machine),
    OPTION_OWN("goal", 0, "time|wait", "Least time, or least waiting of computing warps [time]",
               take_goal, "is no goal: time or wait"),
    OPTION_FORMAT(json),
    {0},
};

static const struct {
    const char *key;
    size_t offset;
    bool small; // int32_t
} keys[] = {
    {"launch", offsetof(struct pipeline_machine, launch), false},
    {"load-startup", offsetof(struct pipeline_machine, load_startup), false},
    {"load-block", offsetof(struct pipeline_machine, load_block), false},
    {"math-startup", offsetof(struct pipeline_machine, math_startup), false},
    {"math-block", offsetof(struct pipeline_machine, math_block), false},
    {"epilogue-startup", offsetof(struct pipeline_machine, epilogue_startup), false},
    {"epilogue-block", offsetof(struct pipeline_machine, epilogue_block), false},
    {"smem-blocks", offsetof(struct pipeline_machine, smem_blocks), false},
    {"sms", offsetof(struct pipeline_machine, sms), true},
    {"depth", offsetof(struct pipeline_machine, depth_max), true},
    {"load-warps", offsetof(struct pipeline_machine, dma_warps), true},
    {"math-warps", offsetof(struct pipeline_machine, math_warps), true},
};

static int read_key(struct pipeline_machine *out, bool seen[], const struct config_entry *e,
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

static int read_machine(struct pipeline_machine *out, const char *path, struct error *err)
{
    char *text = NULL;
    size_t length;
    struct config config = {0};
    bool seen[ARRAY_COUNT(keys)] = {0};
    *out = (struct pipeline_machine){.dma_warps = 1, .math_warps = 1};
    if (text_file_read(&text, &length, path, err))
        return -1;
    int status = config_parse(&config, text, length, path, err);
    for (size_t i = 0; i < config.count && status == 0; i++)
        status = read_key(out, seen, &config.entries[i], path, err);
    for (size_t i = 0; i < ARRAY_COUNT(keys) && status == 0; i++) {
        if (!seen[i] && strcmp(keys[i].key, "load-warps") && strcmp(keys[i].key, "math-warps"))
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

// pipeline_optimise_z3() of the module; NULL: it is not installed. Loaded once, for good.
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

// Two answers that differ are an error of this program.
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

static int optimise(struct answer *answer, const struct pipeline_machine *machine, const char *text,
                    enum pipeline_goal goal, struct error *err)
{
    struct problem p;
    struct pipeline_choice c;
    struct json *row = NULL;
    if (problem_parse(&p, text, err))
        return -1;
    const int64_t mnk[3] = {p.m, p.n, p.k};
    if (pipeline_optimise(&c, machine, mnk, goal, err))
        return -1;
    char who[96];
    snprintf(who, sizeof(who), "%lldx%lldx%lld", (long long)p.m, (long long)p.n, (long long)p.k);
    if (answer) {
        row = answer_row(answer);
        choice_json(row, who, &c);
    } else {
        print_choice(who, &c);
        printf("\n");
    }
    return ask_z3(row, &c, machine, mnk, goal, err);
}

static int optimise_all(struct answer *answer, const struct arguments *a,
                        const struct pipeline_machine *machine, struct error *err)
{
    for (size_t i = 0; i < a->options.words.count; i++) {
        if (optimise(answer, machine, a->options.words.items[i], a->goal, err))
            return -1;
    }
    return 0;
}

static int run(enum conclusion *out, struct context *context, void *arguments, struct error *err)
{
    const struct arguments *a = arguments;
    struct pipeline_machine machine;
    (void)out;
    (void)context;
    if (!a->machine)
        return error_set(err, "which machine? --machine FILE");
    if (read_machine(&machine, a->machine, err))
        return -1;
    struct answer kept, *answer = answer_if(&kept, a->json, "choices");
    return answer_leave(answer, optimise_all(answer, a, &machine, err));
}

const struct command command_optimise = {
    .name = "optimise",
    .summary = "The best tiling on a machine described by a file",
    .words = "MxNxK...",
    .words_least = 1,
    .words_most = WORDS_ANY,
    .json = "choices (problem, tile_m, tile_n, tile_k, depth, ticks, wait_ticks; where Z3 was "
            "asked, proved and proof_cpu_s).",
    .options = own_options,
    .size = sizeof(struct arguments),
    .run = run,
    .doc = "Tries every tiling of multiples of 32 that divide the problem and fit in shared "
           "memory, and "
           "prints the best, its buffer depth, its time and the waiting of all computing warps. "
           "Where built with Z3, that is asked too, of K up to 1024, and says in how many "
           "seconds it proved that there is nothing better.\v"
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
           "    math-warps = 1           ; [1] share a stage",
};
