// SPDX-License-Identifier: Apache-2.0
//
// plumb study: what the gate is worth on this device: its false alarms on libraries compared with
// themselves, with an exact bound, and what it finds of slowdowns that were put in.
#include "ci/command.h"
#include "ci/options.h"
#include "ci/progress.h"
#include "ci/study.h"
#include "model/study.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROBLEMS_MOST = 64 };

struct arguments {
    const char *base, *head, *device, *bench, *csv, *samples;
    const char *problems[PROBLEMS_MOST];
    size_t problem_count;
    int64_t rounds, seconds, most_pairs, exact_pairs;
    double margin;
    bool faster;
};

enum {
    OPT_BASE = 1000,
    OPT_HEAD,
    OPT_ROUNDS,
    OPT_SECONDS,
    OPT_CSV,
    OPT_MARGIN,
    OPT_MOST_PAIRS,
    OPT_EXACT_PAIRS,
    OPT_SAMPLES,
    OPT_BENCH
};

static const struct argp_option table[] = {
    {"base", OPT_BASE, "DIR", 0, "Libraries as they should be", 0},
    {"head", OPT_HEAD, "DIR", 0, "Libraries of the same names, made slower: what is found?", 0},
    {"problem", 'p', "PROBLEM", 0, "MxNxK:TYPE; may be given again", 0},
    {"device", 'd', "DEVICE", 0, "host or cuda [host]", 0},
    {"rounds", OPT_ROUNDS, "N", 0, "Gates of each series, each in fresh processes [20]", 0},
    {"seconds", OPT_SECONDS, "N", 0, "Begin no round after this time", 0},
    {"margin", OPT_MARGIN, "PERCENT", 0, "Smallest change that counts [by device and size]", 0},
    {"max-pairs", OPT_MOST_PAIRS, "N", 0, "Of a gate's first process [256]", 0},
    {"exact-pairs", OPT_EXACT_PAIRS, "N", 0,
     "Of each series in one process, whatever they show: a recording, not a gate", 0},
    {"faster", 'f', NULL, 0, "Also the other way round: improvements", 0},
    {"csv", OPT_CSV, "FILE", 0, "Write a row per gate", 0},
    {"samples", OPT_SAMPLES, "FILE", 0, "Write the times, a row per gate and process", 0},
    {"bench", OPT_BENCH, "PROGRAM", 0, "The child that times kernels [beside plumb]", 0},
    {0},
};

static int64_t count_of(struct argp_state *state, const char *arg, const char *name)
{
    int64_t value = 0;
    if (parse_int64(&value, arg) || value < 1 || value > 1000000)
        argp_error(state, "--%s=%s: needs a whole number from 1 to 1000000", name, arg);
    return value;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case OPT_BASE:
        a->base = arg;
        return 0;
    case OPT_HEAD:
        a->head = arg;
        return 0;
    case 'p':
        if (a->problem_count == PROBLEMS_MOST)
            argp_error(state, "more than %d problems", PROBLEMS_MOST);
        else
            a->problems[a->problem_count++] = arg;
        return 0;
    case 'd':
        a->device = arg;
        return 0;
    case OPT_ROUNDS:
        a->rounds = count_of(state, arg, "rounds");
        return 0;
    case OPT_SECONDS:
        a->seconds = count_of(state, arg, "seconds");
        return 0;
    case OPT_MARGIN:
        if (parse_double(&a->margin, arg) || !(a->margin > 0 && a->margin <= 100))
            argp_error(state, "--margin=%s: needs a percentage", arg);
        return 0;
    case OPT_MOST_PAIRS:
        a->most_pairs = count_of(state, arg, "max-pairs");
        return 0;
    case OPT_EXACT_PAIRS:
        a->exact_pairs = count_of(state, arg, "exact-pairs");
        return 0;
    case OPT_SAMPLES:
        a->samples = arg;
        return 0;
    case 'f':
        a->faster = true;
        return 0;
    case OPT_CSV:
        a->csv = arg;
        return 0;
    case OPT_BENCH:
        a->bench = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = table,
    .parser = parse,
    .doc = "Measures what the gate is worth on this device.\v"
           "Every library of --base is gated against itself (an alarm there is false), and against "
           "the file of its name in --head. Runs libraries unconfined: give it your own."};

// ---- series ----

struct listing {
    struct study *study;
    size_t capacity;
    const struct arguments *a;
    struct bench *bench;
    struct arena *arena;
};

static void add_series(struct listing *l, enum study_kind kind, const char *kernel,
                       const char *base, const char *head, const struct problem *problem)
{
    struct study *study = l->study;
    if (study->count == l->capacity) {
        l->capacity = l->capacity ? 2 * l->capacity : 64;
        study->series = xrealloc(study->series, l->capacity, sizeof(*study->series));
    }
    study->series[study->count++] = (struct study_series){
        .kind = kind, .kernel = kernel, .base = base, .head = head, .problem = *problem};
}

// The kernel does this problem: its series open.
static int supported(bool *yes, struct listing *l, const char *kernel, const char *library,
                     const struct problem *problem, struct error *err)
{
    struct bench_outcome outcome;
    struct bench_handle handle;
    const struct bench_series spec = {
        .kernel = kernel, .problem = problem, .head = library, .seed = 1};
    if (bench_open(&outcome, &handle, l->bench, &spec, err))
        return -1;
    *yes = outcome.state == MEASURED_OK;
    if (!*yes && outcome.state != MEASURED_UNSUPPORTED)
        return error_set(err, "%s: %s: %s: %.300s", library, kernel,
                         measurement_state_name(outcome.state), outcome.detail);
    return *yes ? bench_close(&outcome, l->bench, &handle, err) : 0;
}

static int add_kernel(struct listing *l, const char *kernel, const char *base, const char *head,
                      struct error *err)
{
    for (size_t i = 0; i < l->a->problem_count; i++) {
        struct problem problem;
        bool yes = false;
        if (problem_parse(&problem, l->a->problems[i], err) ||
            supported(&yes, l, kernel, base, &problem, err))
            return -1;
        if (!yes)
            continue;
        add_series(l, STUDY_AA, kernel, base, base, &problem);
        if (head)
            add_series(l, STUDY_SLOWER, kernel, base, head, &problem);
        if (head && l->a->faster)
            add_series(l, STUDY_FASTER, kernel, head, base, &problem);
    }
    return 0;
}

static int add_library(struct listing *l, const char *name, struct error *err)
{
    struct bench_outcome outcome;
    struct bench_kernel_list kernels = {0};
    const char *base = arena_printf(l->arena, "%s/%s", l->a->base, name);
    const char *head = l->a->head ? arena_printf(l->arena, "%s/%s", l->a->head, name) : NULL;
    if (head && access(head, R_OK))
        head = NULL;
    if (bench_list(&outcome, &kernels, l->bench, base, l->arena, err))
        return -1;
    if (outcome.state != MEASURED_OK)
        return error_set(err, "%s: %.300s", base, outcome.detail);
    for (size_t i = 0; i < kernels.count; i++) {
        if (strcmp(kernels.items[i].device, l->study->plan.kind) == 0 &&
            add_kernel(l, kernels.items[i].name, base, head, err))
            return -1;
    }
    return 0;
}

static int is_library(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return length > 3 && strcmp(entry->d_name + length - 3, ".so") == 0;
}

static int add_all(struct listing *l, struct error *err)
{
    struct dirent **names = NULL;
    int count = scandir(l->a->base, &names, is_library, alphasort), status = 0;
    if (count < 0)
        return error_set(err, "%s: %s", l->a->base, strerror(errno));
    for (int i = 0; i < count; i++) {
        if (status == 0)
            status = add_library(l, names[i]->d_name, err);
        free(names[i]);
    }
    free(names);
    if (status == 0 && !l->study->count)
        return error_set(err, "%s: no library there has a kernel for these problems", l->a->base);
    return status;
}

// ---- what was found ----

static void print_series(const struct study_series *s, const struct study *study)
{
    char problem[PROBLEM_TEXT];
    const double gates = s->gates ? s->gates : 1, ns = s->sum_ns / gates;
    const struct gate_policy policy = study_policy(study, ns);
    const double sd = s->sum_sd / gates;
    problem_format(problem, &s->problem);
    printf(
        "%-7s %-20s %-28s %9.2f us %+8.3f %% sd %.3f %%  slower %u faster %u same %u undecided "
        "%u broken %u of %u  pairs %.0f  detectable %.2f %%  %.3f GPU s  %.3f s\n",
        study_kind_name(s->kind), s->kernel, problem, ns / 1e3, 100 * s->sum_ratio / gates,
        100 * sd, s->slower, s->faster, s->same, s->undecided, s->broken, s->gates,
        s->sum_pairs / gates,
        100 * expm1(study_detectable(&policy, sd, gate_budget(&policy, sd, policy.max_pairs), 0.9)),
        s->sum_gpu_s / gates, s->sum_wall_s / gates);
}

static void print_study(const struct study *study)
{
    uint64_t gates = 0, alarms = 0, first = 0;
    double wall_s = 0, gpu_s = 0;
    uint64_t all = 0;
    for (size_t i = 0; i < study->count; i++) {
        const struct study_series *s = &study->series[i];
        print_series(s, study);
        all += s->gates;
        wall_s += s->sum_wall_s;
        gpu_s += s->sum_gpu_s;
        if (s->kind != STUDY_AA)
            continue;
        gates += s->gates - s->broken;
        alarms += s->slower + s->faster;
        first += s->first_alarms;
    }
    printf("A/A: %llu false alarms in %llu gates (%llu before confirmation), %u rounds, %u fresh "
           "processes: rate at most %.2g %% (95 %%, exact)\n",
           (unsigned long long)alarms, (unsigned long long)gates, (unsigned long long)first,
           study->rounds_done, study->processes, 100 * study_rate_upper(alarms, gates, 0.95));
    printf("time: %.1f s in all, of it %.1f s of kernels; per gate of one series %.3f s\n",
           study->wall_s, gpu_s, all ? wall_s / (double)all : 0);
}

static int absolute(const char **path, struct arena *arena, struct error *err)
{
    if (!*path)
        return 0;
    char *full = realpath(*path, NULL);
    if (!full)
        return error_set(err, "%s: %s", *path, strerror(errno));
    *path = arena_strdup(arena, full);
    free(full);
    return 0;
}

static int open_file(FILE **out, const char *path, struct error *err)
{
    if (path && !(*out = fopen(path, "we")))
        return error_set(err, "%s: %s", path, strerror(errno));
    return 0;
}

static int close_file(FILE *file, const char *path, struct error *err)
{
    if (file && (fflush(file) || ferror(file) || fclose(file)))
        return error_set(err, "%s: cannot be written: %s", path, strerror(errno));
    return 0;
}

static int study(struct study *s, struct arguments *a, struct arena *arena, struct error *err)
{
    struct listing listing = {.study = s, .a = a, .arena = arena};
    if (!a->base || !a->problem_count)
        return error_set(err, "study needs --base DIR and --problem; try plumb study --help");
    if (absolute(&a->base, arena, err) || absolute(&a->head, arena, err))
        return -1;
    s->plan = (struct bench_plan){.program = a->bench, .kind = a->device ? a->device : "host"};
    if (bench_start(&listing.bench, &s->plan, err))
        return -1;
    printf("device: %s, driver %s\n", bench_device(listing.bench)->name,
           bench_device(listing.bench)->driver);
    int status = add_all(&listing, err);
    bench_stop(listing.bench);
    if (status)
        return -1;
    if (open_file(&s->csv, a->csv, err) || open_file(&s->samples, a->samples, err))
        return -1;
    s->rounds = a->rounds ? (uint32_t)a->rounds : 20;
    s->deadline_s = a->seconds ? monotonic_s() + (double)a->seconds : 0;
    s->margin = a->margin / 100;
    s->max_pairs = (uint32_t)a->most_pairs;
    s->pairs = (uint32_t)a->exact_pairs;
    status = study_run(s, err);
    if (status == 0)
        print_study(s);
    return status;
}

static int run_study(int argc, char **argv)
{
    struct arguments a = {0};
    struct study s = {0};
    struct arena arena = {0};
    struct error err;
    int code = options_parse(&argp, argc, argv, &a);
    if (code)
        return code - 1;
    code = study(&s, &a, &arena, &err) ? fail(&err) : CONCLUDE_OK;
    if ((close_file(s.csv, a.csv, &err) | close_file(s.samples, a.samples, &err)) &&
        code == CONCLUDE_OK)
        code = fail(&err);
    free(s.series);
    arena_free(&arena);
    return code;
}

const struct command command_study = {
    .name = "study",
    .summary = "False alarms and detection of the gate on this device",
    .run = run_study,
};
