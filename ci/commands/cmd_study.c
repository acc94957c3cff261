// SPDX-License-Identifier: Apache-2.0
//
// plumb study: what the gate is worth on this device: its false alarms on libraries compared with
// themselves, with an exact bound, and what it finds of slowdowns that were put in.

#include "ci/command.h"
#include "ci/commands/output.h"
#include "ci/gate/conclude.h"
#include "ci/settings/context.h"
#include "ci/settings/progress.h"
#include "ci/study/study.h"
#include "model/gate/study.h"
#include "runner/child/files.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

// Over all series. Of parts that were joined the rounds, processes and the wall clock are not
// known: 0.
struct study_totals {
    uint64_t gates, aa, alarms, first; // aa: of identical code; first: before confirmation
    uint32_t rounds, processes;
    double wall_s, gates_s, gpu_s;
};

// ---- what a study found, as a table and as JSON ----

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

static void series_json(struct json *row, const struct study_result *s)
{
    char problem[PROBLEM_TEXT];
    problem_format(problem, &s->problem);
    json_clean(row, "kind", study_kind_name(s->kind));
    json_clean(row, "kernel", s->kernel);
    json_clean(row, "problem", problem);
    json_number(row, "time_ns", s->time_ns);
    json_number(row, "log_ratio", s->log_ratio);
    json_number(row, "pair_sd", s->pair_sd);
    json_int(row, "gates", s->gates);
    json_int(row, "slower", s->slower);
    json_int(row, "faster", s->faster);
    json_int(row, "same", s->same);
    json_int(row, "undecided", s->undecided);
    json_int(row, "broken", s->broken);
    json_number(row, "pairs", s->pairs);
    json_number(row, "detectable", expm1(s->detectable));
    json_number(row, "gpu_s", s->gpu_s);
    json_number(row, "wall_s", s->wall_s);
}

static struct study_totals study_totals_of(const struct studied *studied)
{
    struct study_totals t = {0};
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
    for (size_t i = 0; studied->studies && i < studied->run.device_count; i++) {
        t.rounds += studied->studies[i].rounds_done;
        t.processes += studied->studies[i].processes;
        t.wall_s += studied->studies[i].wall_s;
    }
    return t;
}

// A line per series and two of the whole; or one object.
static void study_print(const struct studied *studied, const struct study_totals *t)
{
    for (size_t i = 0; i < studied->run.study_count; i++)
        print_series(&studied->run.studies[i]);
    for (size_t d = 0; studied->studies && d < studied->run.device_count; d++) {
        if (studied->studies[d].count)
            study_print_summary(&studied->studies[d], stdout);
    }
    printf("A/A: %llu false alarms in %llu gates (%llu before confirmation), %u rounds, %u fresh "
           "processes: rate at most %.2g %% (95 %%, exact)\n",
           (unsigned long long)t->alarms, (unsigned long long)t->aa, (unsigned long long)t->first,
           t->rounds, t->processes, 100 * study_rate_upper(t->alarms, t->aa, CONFIDENCE));
    printf("time: %.1f s in all, of it %.1f s of kernels; per gate of one series %.3f s\n",
           t->wall_s, t->gpu_s, t->gates ? t->gates_s / (double)t->gates : 0);
}

static void study_print_json(const struct studied *studied, const struct study_totals *t)
{
    struct answer answer;
    answer_begin(&answer, "studies");
    for (size_t i = 0; i < studied->run.study_count; i++)
        series_json(answer_row(&answer), &studied->run.studies[i]);
    struct json *whole = answer_whole(&answer);
    json_int(whole, "aa_gates", (int64_t)t->aa);
    json_int(whole, "false_alarms", (int64_t)t->alarms);
    json_int(whole, "before_confirmation", (int64_t)t->first);
    json_number(whole, "rate_at_most", study_rate_upper(t->alarms, t->aa, CONFIDENCE));
    json_int(whole, "rounds", t->rounds);
    json_int(whole, "processes", t->processes);
    json_number(whole, "wall_s", t->wall_s);
    json_number(whole, "gpu_s", t->gpu_s);
    json_clean(whole, "headline", studied->run.headline);
    json_int(whole, "exit_code", (int64_t)studied->run.conclusion);
    answer_end(&answer);
}

enum { PROBLEMS_MOST = 64, GATES_MOST = 1000 };

struct arguments {
    struct options options;
    struct study_request request;
    struct work_part part;
    const char *csv, *samples, *join;
    const char *problems[PROBLEMS_MOST];
    uint32_t rounds, gates, seconds, most_pairs, exact_pairs, open; // 0: not given
    double margin;
    bool json;
};

static int take_problem(void *arguments, const char *text)
{
    struct arguments *a = arguments;
    if (a->request.problem_count == PROBLEMS_MOST)
        return -1;
    a->problems[a->request.problem_count++] = text;
    return 0;
}

static int take_margin(void *arguments, const char *text)
{
    double *margin = &((struct arguments *)arguments)->margin;
    return parse_double(margin, text) || !(*margin > 0 && *margin <= 100) ? -1 : 0;
}

static int take_part(void *arguments, const char *text)
{
    return part_parse(&((struct arguments *)arguments)->part, text);
}

static const struct command_option own_options[] = {
    OPTION_TEXT("base", 0, "DIR|REV", "Libraries as they should be, or a commit to build",
                request.base),
    OPTION_TEXT("head", 0, "DIR|REV", "The same made slower: what is found?", request.head),
    OPTION_TEXT("kernel", 'k', "GLOB", "Only these kernels", options.kernel),
    OPTION_OWN("problem", 0, "PROBLEM", "MxNxK:TYPE; may be given again [commits: the policy's]",
               take_problem, "too many problems"),
    OPTION_TEXT("device", 'd', "NAME", "host or cuda [host]; commits: one of the policy's [all]",
                options.device),
    OPTION_COUNT("units", "N", "Of directories: so many equal devices share each round [1]",
                 request.units, 1, UNITS_MOST),
    OPTION_TEXT("policy", 'p', "FILE", "Of commits [" POLICY_PATH " of the base]", options.policy),
    OPTION_TEXT("sandbox", 0, "MODE", "Of commits: auto, require or off, not the policy's",
                options.sandbox),
    OPTION_TEXT("out", 'o', "DIR", "Write reports there", options.out),
    OPTION_COUNT("rounds", "N", "Rounds, each in fresh processes [20]", rounds, 1, 1000000),
    OPTION_COUNT("gates", "N", "Gates of each series in a round [1]", gates, 1, GATES_MOST),
    OPTION_COUNT("seconds", "N", "Begin no round after this time, and of many gates none", seconds,
                 1, 1000000),
    OPTION_OWN("margin", 0, "PERCENT", "Smallest change that counts [by device and size]",
               take_margin, "needs a percentage"),
    OPTION_COUNT("max-pairs", "N", "Of a gate's first process [as a gate]", most_pairs, 1, 1000000),
    OPTION_COUNT("exact-pairs", "N",
                 "Of each series in one process, whatever they show: a recording, not a gate",
                 exact_pairs, 1, 1000000),
    OPTION_TEXT("records", 0, "DIR", "Of directories: record every kernel there, time the records",
                request.records),
    OPTION_FLAG("faster", 0, "Also the other way round: improvements", request.faster),
    OPTION_TEXT("csv", 0, "FILE", "Write a row per gate", csv),
    OPTION_COUNT("side-by-side", "N", "Series that are open at once [64]", open, 1, 1000000),
    OPTION_TEXT("samples", 0, "FILE", "Write the times, a row per gate and process", samples),
    OPTION_TEXT("bench", 0, "PROGRAM", "The child that times kernels [beside plumb]",
                options.bench),
    OPTION_FORMAT(json),
    OPTION_OWN("part", 0, "I/N", "Only the I-th of N parts of the series, to be joined later",
               take_part, "a part such as 3/8"),
    OPTION_TEXT("join", 0, "STORE", "Measure nothing: add up the parts that are in STORE", join),
    {0},
};

static int check(void *arguments, struct error *err)
{
    struct arguments *a = arguments;
    if (a->join && (a->part.count || a->request.base))
        return error_set(err, "--join takes neither --part nor --base");
    a->request.device = a->options.device;
    a->request.kernel = a->options.kernel;
    return 0;
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

static void conclude(struct run *run, const struct study_totals *t)
{
    const double alpha = gate_defaults.alpha;
    const bool too_many = t->alarms > 0 && binomial_tail(t->alarms, t->aa, alpha) < 0.01;
    run->conclusion = too_many ? CONCLUDE_UNDECIDED : CONCLUDE_OK;
    run->headline = arena_printf(
        &run->arena, "%s: %llu false alarms in %llu gates of identical code (at most %.2g %%)",
        too_many ? "VOID" : "OK", (unsigned long long)t->alarms, (unsigned long long)t->aa,
        100 * study_rate_upper(t->alarms, t->aa, CONFIDENCE));
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
        if (!a->json)
            printf("device: %s, driver %s\n", s->run.devices[d].name, s->run.devices[d].driver);
        study->rounds = a->rounds ? (uint32_t)a->rounds : 20;
        study->gates = (uint32_t)a->gates;
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

static bool is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static bool measures(const void *arguments)
{
    const struct arguments *a = arguments;
    return !a->join;
}

static bool of_directories(const void *arguments)
{
    const struct arguments *a = arguments;
    return a->request.base && is_directory(a->request.base);
}

static bool of_commits(const void *arguments)
{
    const struct arguments *a = arguments;
    return !a->join && !of_directories(a);
}

static bool holds_head(const void *arguments)
{
    const struct arguments *a = arguments;
    return a->request.head;
}

static bool decides(const void *arguments)
{
    const struct arguments *a = arguments;
    return !a->exact_pairs;
}

static const struct option_use uses[] = {
    {"head kernel problem device units policy sandbox rounds gates seconds margin max-pairs "
     "exact-pairs records faster csv side-by-side samples bench",
     measures, "measuring; --join measures nothing"},
    {"units records", of_directories, "a study of directories"},
    {"repo policy sandbox", of_commits, "a study of commits"},
    {"faster", holds_head, "--head, which becomes the base"},
    {"max-pairs margin", decides, "a gate; --exact-pairs makes a recording"},
    {0},
};

static int open_file(FILE **out, const char *path, void (*header)(FILE *), struct error *err)
{
    if (!path)
        return 0;
    if (repository_refuse_brought(path, BROUGHT_LINKS, err))
        return -1;
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
        (request->records && files_make_directory(request->records, err)) ||
        absolute(&request->records, &context->arena, err) ||
        study_of_directories(s, request, a->options.bench, err))
        return -1;
    return a->options.store ? context_store(context, STORE_WRITE, err) : 0;
}

static int tell(const struct studied *s, const struct study_totals *totals, struct context *context,
                const struct arguments *a, struct error *err)
{
    (a->json ? study_print_json : study_print)(s, totals);
    if (a->json)
        return a->options.out ? output_reports(&s->run, context, a->options.out, err) : 0;
    return output_run(NULL, &s->run, context, a->options.out, err);
}

static int study(struct studied *s, struct context *context, struct arguments *a, struct error *err)
{
    if (prepare(s, context, a, err))
        return -1;
    study_take_part(s, &a->part);
    // A recording takes no decision: it says nothing of the gate's rates.
    struct store *store = a->exact_pairs ? NULL : context->store;
    if ((store && store_begin_run(store, &s->run, err)) || play_all(s, a, store, err))
        return -1;
    s->run.finished_s = (int64_t)time(NULL);
    const struct study_totals totals = study_totals_of(s);
    conclude(&s->run, &totals);
    return (store && store_finish_run(store, &s->run, err)) || tell(s, &totals, context, a, err)
               ? -1
               : 0;
}

// The parts of a study as one; what is incomplete is told and not kept.
static int join(struct studied *s, struct context *context, struct arguments *a, struct error *err)
{
    const char *missing = "";
    uint32_t parts = 0;
    if (study_join(&s->run, &missing, &parts, a->join, err) ||
        (a->options.store && context_store(context, STORE_WRITE, err)))
        return -1;
    const struct study_totals totals = study_totals_of(s);
    conclude(&s->run, &totals);
    s->run.finished_s = (int64_t)time(NULL);
    if (missing[0])
        conclude_incomplete(&s->run, missing, parts);
    else if (context->store && study_save_joined(context->store, &s->run, err))
        return -1;
    return tell(s, &totals, context, a, err);
}

static int run(enum conclusion *out, struct context *context, void *arguments, struct error *err)
{
    struct studied s = {0};
    struct arguments *a = arguments;
    int status = a->join ? join(&s, context, a, err) : study(&s, context, a, err);
    *out = s.run.conclusion;
    studied_free(&s);
    return status;
}

static const struct arguments usual = {.options.units = true};

const struct command command_study = {
    .name = "study",
    .summary = "False alarms and detection of the gate on this device",
    .json = "studies (kind, kernel, problem, time_ns, log_ratio, pair_sd, gates, slower, faster, "
            "same, undecided, broken, pairs, detectable, gpu_s, wall_s), then aa_gates, "
            "false_alarms, before_confirmation, rate_at_most (95 %), rounds, processes, wall_s, "
            "gpu_s, headline, exit_code.",
    .shared = SHARED_STORE,
    .options = own_options,
    .defaults = &usual,
    .check = check,
    .uses = uses,
    .size = sizeof(struct arguments),
    .run = run,
    .doc = "Measures what the gate is worth on this device.\v"
           "Every kernel of --base is gated against itself, where an alarm is false, and against "
           "the kernel of the same name in --head. A study of commits is stored; a study of "
           "directories is stored where --store names a store. `plumb report` shows what was "
           "found, and later gates on the device say it. Libraries of directories run unconfined: "
           "give it your own.\n\nA gate of one series takes less time than the start of its "
           "processes. With --gates 20 a round plays twenty gates of each series in one set of "
           "processes, each gate with other contents, its own order of pairs and its own verdict. "
           "These gates share only what the places of things in a process add to a time, so take "
           "several rounds.\n\nMany machines: "
           "each studies some of the series (--part 1/8 --store "
           "shard-1.db), `plumb store merge` joins the stores, and --join adds them up; ci/fleet "
           "does it by Slurm.\n\nExit: 0, or 2 when there are more false alarms than the gate "
           "promises, "
           "or 4.",
};
