// SPDX-License-Identifier: Apache-2.0
//
// plumb study: what the gate is worth on this device: its false alarms on libraries compared with
// themselves, with an exact bound, and what it finds of slowdowns that were put in.
#include "ci/command.h"
#include "ci/commands/output.h"
#include "ci/settings/options.h"
#include "ci/settings/progress.h"
#include "ci/settings/store_option.h"
#include "ci/study/study_sources.h"
#include "model/gate/study.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { PROBLEMS_MOST = 64 };

struct arguments {
    struct options options;
    struct study_request request;
    const char *csv, *samples;
    const char *problems[PROBLEMS_MOST];
    int64_t rounds, seconds, most_pairs, exact_pairs, open;
    double margin;
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
    OPT_OPEN,
    OPT_POLICY,
    OPT_SANDBOX,
    OPT_BENCH
};

static const struct argp_option table[] = {
    {"base", OPT_BASE, "DIR|REV", 0, "Libraries as they should be, or a commit to build", 0},
    {"head", OPT_HEAD, "DIR|REV", 0, "The same made slower: what is found?", 0},
    {"problem", 'p', "PROBLEM", 0, "MxNxK:TYPE; may be given again [commits: the policy's]", 0},
    {"device", 'd', "DEVICE", 0, "host or cuda [host]; commits: one of the policy's [all]", 0},
    {"policy", OPT_POLICY, "FILE", 0, "Of commits [" POLICY_PATH " of the base]", 0},
    {"sandbox", OPT_SANDBOX, "MODE", 0, "Of commits: auto, require or off, not the policy's", 0},
    {"out", 'o', "DIR", 0, "Write reports there", 0},
    {"rounds", OPT_ROUNDS, "N", 0, "Gates of each series, each in fresh processes [20]", 0},
    {"seconds", OPT_SECONDS, "N", 0, "Begin no round after this time", 0},
    {"margin", OPT_MARGIN, "PERCENT", 0, "Smallest change that counts [by device and size]", 0},
    {"max-pairs", OPT_MOST_PAIRS, "N", 0, "Of a gate's first process [as a gate]", 0},
    {"exact-pairs", OPT_EXACT_PAIRS, "N", 0,
     "Of each series in one process, whatever they show: a recording, not a gate", 0},
    {"faster", 'f', NULL, 0, "Also the other way round: improvements", 0},
    {"csv", OPT_CSV, "FILE", 0, "Write a row per gate", 0},
    {"side-by-side", OPT_OPEN, "N", 0, "Series that are open at once [64]", 0},
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
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->options;
        return 0;
    case OPT_BASE:
        a->request.base = arg;
        return 0;
    case OPT_HEAD:
        a->request.head = arg;
        return 0;
    case 'p':
        if (a->request.problem_count == PROBLEMS_MOST)
            argp_error(state, "more than %d problems", PROBLEMS_MOST);
        else
            a->problems[a->request.problem_count++] = arg;
        return 0;
    case 'd':
        a->request.device = a->options.device = arg;
        return 0;
    case OPT_POLICY:
        a->options.policy = arg;
        return 0;
    case OPT_SANDBOX:
        a->options.sandbox = arg;
        return 0;
    case 'o':
        a->options.out = arg;
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
    case OPT_OPEN:
        a->open = count_of(state, arg, "side-by-side");
        return 0;
    case OPT_SAMPLES:
        a->samples = arg;
        return 0;
    case 'f':
        a->request.faster = true;
        return 0;
    case OPT_CSV:
        a->csv = arg;
        return 0;
    case OPT_BENCH:
        a->options.bench = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&store_option_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {
    .options = table,
    .parser = parse,
    .doc = "Measures what the gate is worth on this device.\v"
           "Every kernel of --base is gated against itself (an alarm there is false), and against "
           "the one of its name in --head. What was found goes into the store: of directories "
           "when --store names one, of commits always; `plumb report` shows it, and later gates "
           "on the device what it says of them. Libraries of directories run unconfined: give it "
           "your own.\n\nExit: 0, or 2 when there are more false alarms than the gate promises, "
           "or 4.",
    .children = children,
};

// ---- what was found ----

static void print_series(const struct study_result *s)
{
    char problem[PROBLEM_TEXT];
    const double gates = s->gates ? s->gates : 1;
    problem_format(problem, &s->problem);
    printf("%-7s %-20s %-28s %9.2f us %+8.3f %% sd %.3f %%  slower %u faster %u same %u undecided "
           "%u broken %u of %u  pairs %.0f  detectable %.2f %%  %.3f GPU s  %.3f s\n",
           study_kind_name(s->kind), s->kernel, problem, s->time_ns / 1e3, 100 * s->log_ratio,
           100 * s->pair_sd, s->slower, s->faster, s->same, s->undecided, s->broken, s->gates,
           s->pairs, 100 * expm1(s->detectable), s->gpu_s / gates, s->wall_s / gates);
}

struct totals {
    uint64_t gates, aa, alarms, first;
    uint32_t rounds, processes;
    double wall_s, gates_s, gpu_s;
};

static struct totals add_up(const struct studied *studied)
{
    struct totals t = {0};
    for (size_t i = 0; i < studied->run.study_count; i++) {
        const struct study_result *s = &studied->run.studies[i];
        t.gates += s->gates;
        t.gates_s += s->wall_s;
        t.gpu_s += s->gpu_s;
        if (s->kind != STUDY_AA)
            continue;
        t.aa += s->gates - s->broken;
        t.alarms += s->slower + s->faster;
        t.first += s->first_alarms;
    }
    for (size_t i = 0; i < studied->run.device_count; i++) {
        t.rounds += studied->studies[i].rounds_done;
        t.processes += studied->studies[i].processes;
        t.wall_s += studied->studies[i].wall_s;
    }
    return t;
}

static void print_study(const struct studied *studied, const struct totals *t)
{
    for (size_t i = 0; i < studied->run.study_count; i++)
        print_series(&studied->run.studies[i]);
    for (size_t d = 0; d < studied->run.device_count; d++) {
        if (studied->studies[d].pairs)
            study_print_processes(&studied->studies[d], stdout);
    }
    printf("A/A: %llu false alarms in %llu gates (%llu before confirmation), %u rounds, %u fresh "
           "processes: rate at most %.2g %% (95 %%, exact)\n",
           (unsigned long long)t->alarms, (unsigned long long)t->aa, (unsigned long long)t->first,
           t->rounds, t->processes, 100 * study_rate_upper(t->alarms, t->aa, 0.95));
    printf("time: %.1f s in all, of it %.1f s of kernels; per gate of one series %.3f s\n",
           t->wall_s, t->gpu_s, t->gates ? t->gates_s / (double)t->gates : 0);
}

// ---- the study ----

// Rows of the run from what was counted so far.
static void gather(struct studied *s)
{
    size_t count = 0;
    for (size_t d = 0; d < s->run.device_count; d++)
        count += s->studies[d].count;
    if (!s->run.studies)
        s->run.studies = arena_alloc(&s->run.arena, count * sizeof(*s->run.studies));
    s->run.study_count = 0;
    for (size_t d = 0; d < s->run.device_count; d++) {
        for (size_t i = 0; i < s->studies[d].count; i++) {
            const struct study_series *series = &s->studies[d].series[i];
            if (!series->unsupported && series->sum.gates > 0)
                s->run.studies[s->run.study_count++] = study_found(&s->studies[d], series);
        }
    }
}

static void conclude(struct studied *s, const struct totals *t)
{
    const double alpha = gate_defaults.alpha;
    const bool too_many = t->alarms > 0 && binomial_tail(t->alarms, t->aa, alpha) < 0.01;
    s->run.conclusion = too_many ? CONCLUDE_UNDECIDED : CONCLUDE_OK;
    s->run.headline = arena_printf(
        &s->run.arena, "%s: %llu false alarms in %llu gates of identical code (at most %.2g %%)",
        too_many ? "VOID" : "OK", (unsigned long long)t->alarms, (unsigned long long)t->aa,
        100 * study_rate_upper(t->alarms, t->aa, 0.95));
}

// A study that is killed keeps what its whole rounds found.
struct saving {
    struct studied *studied;
    struct store *store;
};

static int save_round(void *state, struct error *err)
{
    const struct saving *saving = state;
    gather(saving->studied);
    return saving->store ? store_save_study(saving->store, &saving->studied->run, err) : 0;
}

static int play(struct studied *s, const struct arguments *a, struct store *store, FILE *csv,
                FILE *samples, struct error *err)
{
    struct saving saving = {s, store};
    for (size_t d = 0; d < s->run.device_count; d++) {
        struct study *study = &s->studies[d];
        if (!study->count)
            continue;
        printf("device: %s, driver %s\n", s->run.devices[d].name, s->run.devices[d].driver);
        study->rounds = a->rounds ? (uint32_t)a->rounds : 20;
        study->deadline_s = a->seconds ? monotonic_s() + (double)a->seconds : 0;
        study->margin = a->margin / 100;
        study->max_pairs = (uint32_t)a->most_pairs;
        study->pairs = (uint32_t)a->exact_pairs;
        study->open_most = (uint32_t)a->open;
        study->csv = csv;
        study->samples = samples;
        study->round_over = save_round;
        study->state = &saving;
        if (study_run(study, err))
            return -1;
    }
    return 0;
}

static int open_file(FILE **out, const char *path, void (*header)(FILE *), struct error *err)
{
    if (!path)
        return 0;
    if (!(*out = fopen(path, "we")))
        return error_set(err, "%s: %s", path, strerror(errno));
    header(*out);
    return 0;
}

static int close_file(FILE *file, const char *path, struct error *err)
{
    const bool failed = file && (fflush(file) || ferror(file));
    if (file && (fclose(file) || failed))
        return error_set(err, "%s: cannot be written: %s", path, strerror(errno));
    return 0;
}

static int play_all(struct studied *s, const struct arguments *a, struct store *store,
                    struct error *err)
{
    FILE *csv = NULL, *samples = NULL;
    struct error later;
    int status = open_file(&csv, a->csv, study_csv_header, err) ||
                         open_file(&samples, a->samples, study_samples_header, err)
                     ? -1
                     : play(s, a, store, csv, samples, err);
    if (close_file(csv, a->csv, &later) | close_file(samples, a->samples, &later)) {
        if (status == 0)
            *err = later;
        status = -1;
    }
    return status;
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

static bool is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static int prepare(struct studied *s, struct context *context, struct arguments *a,
                   struct error *err)
{
    struct study_request *request = &a->request;
    if (!request->base)
        return error_set(err, "study needs --base DIR or REV; try plumb study --help");
    request->problems = a->problems;
    if (!is_directory(request->base)) {
        struct error why;
        if (context_open(context, &a->options, &why))
            return error_set(err, "%s: no such directory; as a commit: %s", request->base,
                             why.text);
        return study_of_commits(s, request, context, err);
    }
    if (absolute(&request->base, &context->arena, err) ||
        absolute(&request->head, &context->arena, err) ||
        study_of_directories(s, request, a->options.bench, err))
        return -1;
    context->options = &a->options;
    return a->options.store ? context_store(context, STORE_WRITE, err) : 0;
}

static int study(struct studied *s, struct context *context, struct arguments *a, struct error *err)
{
    if (prepare(s, context, a, err))
        return -1;
    // A recording takes no decision: it says nothing of the gate's rates.
    struct store *store = a->exact_pairs ? NULL : context->store;
    if ((store && store_begin_run(store, &s->run, err)) || play_all(s, a, store, err))
        return -1;
    const struct totals totals = add_up(s);
    print_study(s, &totals);
    conclude(s, &totals);
    s->run.finished_s = (int64_t)time(NULL);
    if (store && store_finish_run(store, &s->run, err))
        return -1;
    return output_run(&s->run, context, a->options.out, err);
}

static int run_study(int argc, char **argv)
{
    struct arguments a = {0};
    struct studied s = {0};
    struct context context = {0};
    struct error err;
    int code = options_parse(&argp, argc, argv, &a);
    if (code)
        return code - 1;
    code = study(&s, &context, &a, &err) ? fail(&err) : (int)s.run.conclusion;
    studied_free(&s);
    context_close(&context);
    return code;
}

const struct command command_study = {
    .name = "study",
    .summary = "False alarms and detection of the gate on this device",
    .run = run_study,
};
