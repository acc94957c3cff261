// SPDX-License-Identifier: Apache-2.0
//
// plumb study: measures how good the gate is on this device: its false alarms on libraries compared
// with themselves, with an exact bound, and how well it finds slowdowns that were added on purpose.
#include "ci/command.h"
#include "ci/commands/output.h"
#include "ci/gate/conclude.h"
#include "ci/gate/duets.h"
#include "ci/gate/part.h"
#include "ci/gate/task_list.h"
#include "ci/settings/context.h"
#include "ci/settings/progress.h"
#include "model/base.h"
#include "model/csv.h"
#include "model/gate/gate.h"
#include "model/predict/parts/limits.h"
#include "runner/bench/measure.h"
#include "runner/child/files.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// ==== a study ====
//
// Repeats whole gates: of libraries with themselves (A/A, every alarm is false) and of libraries
// that differ by work added on purpose. A round is a number of gates of every series in one set of
// fresh processes; each gate has contents, an order of pairs and an end of its own. The alarms of a
// round are confirmed together, in as few further processes as the policy wants. The effect of a
// process's placement in memory is drawn anew with each round, and for records with each gate.
//
// Runs the gates round by round and counts their verdicts. The libraries come from two directories
// or two commits; model/gate/study.c computes the rates.

struct study_series {
    const char *base, *head; // absolute paths of libraries
    // The caller sets kernel, problem, device and kind; the other members are sums over all rounds,
    // not means.
    struct study_result sum;
    bool unsupported; // the kernel does not support this problem; the series is left out
    bool record;      // it is timed from records, not from libraries
    double size_ns;   // the gate_size_ns() of its gates
    double squares;   // sum of the squared log ratios
    double largest;   // the largest log ratio in either direction
    double *pairs;    // the pairs of each gate with a verdict
    size_t timed, room;
};

// The series of a study on one device.
struct study {
    const char *kind; // "host" or "cuda"
    struct gpu gpu;   // the device's profile
    size_t units;     // number of equal devices that share each round; 0: 1
    // Starts a fresh child on one of them.
    int (*start)(struct bench **out, void *context, size_t unit, struct error *err);
    void *context;
    // Called after each round; may be NULL.
    int (*round_over)(void *state, struct error *err);
    void *state;
    struct study_series *series;
    size_t count, room;
    uint32_t rounds;    // the most rounds
    uint32_t gates;     // gates of each series in a round; 0: 1
    double deadline_s;  // no round begins after it, and no gate if a round has several; monotonic;
                        // 0: none
    double margin;      // 0: the default for the device and size
    uint32_t open_most; // how many series are open at once; 0: as in a gate
    uint32_t max_pairs; // the first process's budget; 0: the default
    uint32_t pairs;     // for a recording: each gate plays exactly so many pairs in one process,
                        // decided or not; 0: real gates
    FILE *csv;          // gets a row for each gate; NULL: none
    FILE *samples;      // gets a row for each gate and process with its times; NULL: none
    uint32_t rounds_done, gates_done, processes; // gates_done: of each series
    double wall_s;                               // including the starts of processes
};

// What a study compares: the libraries of two directories, or the builds of two commits.
struct study_request {
    const char *base, *head;     // two directories or two revisions; head NULL: only A/A
    const char *device;          // for directories "host" or "cuda"; for commits one of the
                                 // policy's devices
    const char *kernel;          // a glob that selects kernels; NULL: all
    const char *const *problems; // for commits it may be empty; then the policy's problems are used
    size_t problem_count;
    uint32_t units;      // for directories: the number of equal devices that share each round; 0: 1
    bool faster;         // compares in the other direction, too
    const char *records; // for directories: a folder in which every kernel is recorded; NULL:
                         // libraries are timed
};

// A study for each device, and the run that contains them.
struct studied {
    struct run run;
    struct study *studies; // [run.device_count]
    // How children are started:
    struct bench_plan plan;     // for directories
    struct sandbox sandbox;     // for directories that may be a stranger's
    struct context *context;    // for commits; borrowed
    const char *directories[3]; // of libraries and captures
    size_t directory_count;
    struct study_start *starts; // one for each study
};

// The gate's policy for a series whose base has this size (gate_size_ns()).
static struct gate_policy study_policy(const struct study *study, const struct study_series *s,
                                       double size_ns)
{
    struct gate_policy policy = gate_policy_default(study->kind, size_ns);
    if (s->record)
        gate_policy_records(&policy);
    if (study->margin > 0) {
        policy.floor *= study->margin / policy.margin;
        policy.margin = study->margin;
    }
    if (study->max_pairs) {
        policy.max_pairs = study->max_pairs;
        if (policy.min_pairs > policy.max_pairs)
            policy.min_pairs = policy.max_pairs;
    }
    if (study->pairs) {
        policy.min_pairs = policy.max_pairs = study->pairs;
        policy.processes = 1;
        policy.stretch = 1;
    }
    return policy;
}

// ---- the results of a round ----

static double device_s(const struct sample_list *list)
{
    double sum_ns = 0;
    for (size_t i = 0; i < list->count; i++)
        sum_ns += list->items[i].time_ns * list->items[i].launches;
    return 1e-9 * sum_ns;
}

static double size_ns(const struct study *study, const struct duet *d)
{
    return gate_size_ns(d->base_samples.items, d->base_samples.count, d->problem, &study->gpu);
}

static double pair_sd(const struct duet *d)
{
    size_t count = d->base_samples.count;
    double *y = xcalloc(count + 1, sizeof(*y));
    for (size_t i = 0; i < count; i++)
        y[i] = log(d->head_samples.items[i].time_ns / d->base_samples.items[i].time_ns);
    double sd = count > 1 ? robust_sd(y, count) : 0;
    free(y);
    return sd;
}

static bool is_broken(const struct duet *d)
{
    return d->outcome.state != MEASURED_OK && d->outcome.state != MEASURED_NOT_TAKEN;
}

// Counts a verdict. A duet that got no time is undecided, like one that got too little.
static void count_verdict(struct study_result *s, const struct duet *d)
{
    const bool broken = is_broken(d);
    const enum verdict_kind kind = d->judged ? d->decision.kind : VERDICT_UNDECIDED;
    s->gates++;
    s->first_alarms += d->alarmed;
    s->broken += broken;
    s->slower += !broken && kind == VERDICT_SLOWER;
    s->faster += !broken && kind == VERDICT_FASTER;
    s->same += !broken && kind == VERDICT_SAME;
    s->undecided += !broken && kind == VERDICT_UNDECIDED;
}

// Writes times as whole multiples of a hundred-thousandth of `unit_ns`, the median of the base.
// That is precise enough and takes a tenth of the space. The SM clock of each time follows, 0 if it
// is not known.
static void put_times(struct csv_line *line, const struct duet *d, size_t from, size_t to)
{
    const struct measurement base = {.samples = d->base_samples.items + from, .count = to - from};
    const double unit_ns = measurement_time_ns(&base);
    struct buffer times = {0}, clocks = {0};
    for (size_t i = from; i < to; i++) {
        const struct sample *b = &d->base_samples.items[i], *h = &d->head_samples.items[i];
        const char *blank = i > from ? " " : "";
        buffer_printf(&times, "%s%.0f %.0f", blank, 1e5 * (b->time_ns / unit_ns - 1),
                      1e5 * (h->time_ns / unit_ns - 1));
        buffer_printf(&clocks, "%s%.0f %.0f", blank, 1e-6 * b->clock_hz, 1e-6 * h->clock_hz);
    }
    csv_int(line, d->base_samples.items[from].launches);
    csv_rounded(line, unit_ns);
    csv_raw(line, times.bytes); // a number may begin with a minus and is no formula
    csv_raw(line, clocks.bytes);
    buffer_free(&times);
    buffer_free(&clocks);
}

// Writes the first cells of a row in either table.
static void put_series(struct csv_line *line, const struct study_series *s, uint32_t gate,
                       const char *problem)
{
    csv_text(line, study_kind_name(s->sum.kind));
    csv_text(line, s->sum.kernel);
    csv_text(line, problem);
    csv_int(line, gate);
}

static void end_row(struct csv_line *line, FILE *file)
{
    csv_end(line, "\n");
    buffer_print(line->out, file);
}

static void write_samples(const struct study *study, const struct duet *d, uint32_t gate,
                          const char *problem)
{
    const struct study_series *s = d->owner;
    for (size_t from = 0, to; from < d->base_samples.count; from = to) {
        const uint16_t process = d->base_samples.items[from].process;
        struct buffer out = {0};
        struct csv_line row = {.out = &out};
        for (to = from; to < d->base_samples.count && d->base_samples.items[to].process == process;)
            to++;
        put_series(&row, s, gate, problem);
        csv_int(&row, process);
        put_times(&row, d, from, to);
        end_row(&row, study->samples);
    }
}

static void write_gate(const struct study *study, const struct duet *d, uint32_t gate,
                       const char *problem, double gpu_s, double sd)
{
    const struct study_series *s = d->owner;
    const bool broken = is_broken(d);
    const struct measurement base = {.samples = d->base_samples.items,
                                     .count = d->base_samples.count};
    struct interval interval = interval_unknown;
    struct buffer out = {0};
    struct csv_line row = {.out = &out};
    if (d->judged && !broken)
        interval = gate_series_interval(&d->gate);
    put_series(&row, s, gate, problem);
    csv_text(&row, broken ? "broken" : verdict_kind_name(d->decision.kind));
    csv_int(&row, d->alarmed);
    csv_int(&row, d->decision.pairs);
    csv_int(&row, d->decision.processes);
    const double figures[] = {measurement_time_ns(&base) / 1e3,
                              100 * d->decision.log_ratio,
                              100 * interval.low,
                              100 * interval.high,
                              100 * sd,
                              d->decision.log_evidence,
                              gpu_s,
                              d->wall_s};
    for (size_t i = 0; i < ARRAY_COUNT(figures); i++)
        csv_rounded(&row, figures[i]);
    end_row(&row, study->csv);
}

// Takes a verdict; `gate` is its number among the gates of its series.
static void take_verdict(struct study *study, const struct duet *d, uint32_t gate)
{
    struct study_series *s = d->owner;
    const struct measurement base = {.samples = d->base_samples.items,
                                     .count = d->base_samples.count};
    const double gpu_s = device_s(&d->base_samples) + device_s(&d->head_samples), sd = pair_sd(d);
    char problem[PROBLEM_TEXT];
    if (d->outcome.state == MEASURED_UNSUPPORTED) {
        s->unsupported = true;
        return;
    }
    count_verdict(&s->sum, d);
    s->sum.wall_s += d->wall_s;
    s->sum.gpu_s += gpu_s;
    problem_format(problem, &s->sum.problem);
    if (is_broken(d))
        fprintf(stderr, "%s %s %s: %s\n", study_kind_name(s->sum.kind), s->sum.kernel, problem,
                d->outcome.detail);
    if (study->csv)
        write_gate(study, d, gate, problem, gpu_s, sd);
    if (!d->judged || d->outcome.state != MEASURED_OK)
        return;
    s->sum.log_ratio += d->decision.log_ratio;
    s->squares += d->decision.log_ratio * d->decision.log_ratio;
    s->largest = fmax(s->largest, fabs(d->decision.log_ratio));
    s->sum.pairs += d->decision.pairs;
    s->pairs = xgrow(s->pairs, s->timed, &s->room, sizeof(*s->pairs));
    s->pairs[s->timed++] = d->decision.pairs;
    s->sum.time_ns += measurement_time_ns(&base);
    s->size_ns += size_ns(study, d);
    s->sum.pair_sd += sd;
    if (study->samples)
        write_samples(study, d, gate, problem);
}

// Returns the result of a series, with means instead of sums.
static struct study_result study_found(const struct study *study, const struct study_series *series)
{
    struct study_result found = series->sum;
    const double timed = found.gates - found.broken;
    if (!(timed > 0)) {
        found.pairs = found.time_ns = found.log_ratio = found.pair_sd = found.detectable = NAN;
        return found;
    }
    found.pairs /= timed;
    found.time_ns /= timed;
    found.log_ratio /= timed;
    found.pair_sd /= timed;
    const struct gate_policy policy = study_policy(study, series, series->size_ns / timed);
    found.detectable = study_detectable(&policy, found.pair_sd,
                                        gate_budget(&policy, found.pair_sd, policy.max_pairs), 0.9);
    return found;
}

static void print_processes(const struct study *study, FILE *out)
{
    static const struct column_head columns[] = {
        {"kind", -7},  {"kernel", -22}, {"problem", -30}, {"processes", 9},
        {"mean %", 9}, {"SD %", 9},     {"by pairs", 9},  {"largest %", 9}};
    struct buffer text = {0};
    const struct text_table table = {&text, columns, ARRAY_COUNT(columns)};
    table_heads(&table);
    for (size_t i = 0; i < study->count; i++) {
        const struct study_series *s = &study->series[i];
        const struct study_result found = study_found(study, s);
        const double n = found.gates - found.broken, mean = found.log_ratio;
        char problem[PROBLEM_TEXT];
        if (s->unsupported || n < 2)
            continue;
        problem_format(problem, &found.problem);
        // For normal pairs, a mean trimmed by 10 % has 1.03 times the error of the plain mean.
        table_row(&table, "%s\t%s\t%s\t%.0f\t%+.3f\t%.3f\t%.3f\t%.3f", study_kind_name(found.kind),
                  found.kernel, problem, n, 100 * mean,
                  100 * sqrt(fmax(0, s->squares - n * mean * mean) / (n - 1)),
                  103 * found.pair_sd / sqrt(found.pairs), 100 * s->largest);
    }
    buffer_print(&text, out);
}

// Sums over the series of one kind in one regime.
struct of_regime {
    struct study_result sum;
    double *pairs;
    size_t timed;
};

static void add_series(struct of_regime *to, const struct study_series *s)
{
    to->sum.gates += s->sum.gates;
    to->sum.slower += s->sum.slower;
    to->sum.faster += s->sum.faster;
    to->sum.undecided += s->sum.undecided;
    to->sum.broken += s->sum.broken;
    to->sum.gpu_s += s->sum.gpu_s;
    to->sum.wall_s += s->sum.wall_s;
    memcpy(to->pairs + to->timed, s->pairs, s->timed * sizeof(*s->pairs));
    to->timed += s->timed;
}

static void print_regime(FILE *out, struct of_regime *r, enum study_kind kind, enum regime regime)
{
    const uint32_t alarms = r->sum.slower + r->sum.faster;
    const double gates = r->sum.gates,
                 median_pairs = r->timed ? robust_median(r->pairs, r->timed) : NAN;
    fprintf(out, "%-7s %-12s %7u %7u %10u %7u %13.0f %8.4f %8.3f", study_kind_name(kind),
            regime_name(regime), r->sum.gates, alarms, r->sum.undecided, r->sum.broken,
            median_pairs, r->sum.gpu_s / gates, r->sum.wall_s / gates);
    if (kind == STUDY_AA)
        fprintf(out, "  false alarms: at most %.2g %%\n",
                100 * study_rate_upper(alarms, r->sum.gates, CONFIDENCE));
    else
        fprintf(out, "  found: %.1f %%\n",
                100 * (kind == STUDY_SLOWER ? r->sum.slower : r->sum.faster) / gates);
}

static void print_regimes(const struct study *study, FILE *out)
{
    size_t all = 0;
    for (size_t i = 0; i < study->count; i++)
        all += study->series[i].timed;
    double *pairs = xcalloc(all + 1, sizeof(*pairs));
    fprintf(out, "%-7s %-12s %7s %7s %10s %7s %13s %8s %8s\n", "kind", "regime", "gates", "alarms",
            "undecided", "broken", "median pairs", "GPU s", "s a gate");
    for (enum study_kind kind = 0; kind < STUDY_KINDS; kind++) {
        for (enum regime regime = 0; regime < REGIMES; regime++) {
            struct of_regime r = {.pairs = pairs};
            for (size_t i = 0; i < study->count; i++) {
                const struct study_series *s = &study->series[i];
                if (!s->unsupported && s->sum.kind == kind && s->sum.problem.regime == regime)
                    add_series(&r, s);
            }
            if (r.sum.gates)
                print_regime(out, &r, kind, regime);
        }
    }
    free(pairs);
}

// Prints a line for each regime and kind of series: the results of its gates, and their cost. For a
// recording, in which each gate is one process, prints a line for each series: how far the means of
// the processes differ, and how far the scatter of their own pairs would let them differ.
static void study_print_summary(const struct study *study, FILE *out)
{
    (study->pairs ? print_processes : print_regimes)(study, out);
}

// ---- one round ----

static int ask_policy(struct gate_policy *out, void *context, const struct duet *d,
                      struct error *err)
{
    (void)err;
    const struct study *study = context;
    *out = study_policy(study, d->owner, size_ns(study, d));
    return 0;
}

static int start(struct bench **out, void *context, size_t unit, struct error *err)
{
    const struct study *study = context;
    return study->start(out, study->context, unit, err);
}

static void lost(void *context, size_t unit, const char *why)
{
    (void)context;
    fprintf(stderr, "unit %zu is lost, its series go to the others: %s\n", unit, why);
}

// Fills in the duets of one gate, one for each series. `known` is the seed of inputs whose product
// is known. All gates of a round share it, because a library with a reference of its own may take
// seconds to compute it.
static size_t fill_duets(struct duet *out, const struct study *study, uint64_t known)
{
    const uint64_t seed = bench_draw_seed();
    size_t count = 0;
    for (size_t i = 0; i < study->count; i++) {
        struct study_series *s = &study->series[i];
        if (!s->unsupported)
            out[count++] = (struct duet){.kernel = s->sum.kernel,
                                         .problem = &s->sum.problem,
                                         .base = s->base,
                                         .head = s->head,
                                         .seed = seed,
                                         .known = known,
                                         .least_ns = least_time_ns(&study->gpu, &s->sum.problem),
                                         .owner = s};
    }
    return count;
}

static int run_round(struct study *study, uint32_t gates, struct error *err)
{
    const uint64_t known = bench_draw_seed();
    struct arena arena = {0};
    size_t each = 0;
    struct duets duets = {.items = xcalloc(gates * study->count, sizeof(*duets.items)),
                          .units = study->units,
                          .open_most = study->open_most,
                          .closing_s = gates > 1 ? study->deadline_s : 0,
                          .arena = &arena,
                          .context = study,
                          .start = start,
                          .policy = ask_policy,
                          .lost = lost};
    for (uint32_t i = 0; i < gates; i++) {
        each = fill_duets(duets.items + duets.count, study, known);
        duets.count += each;
    }
    int status = duets_play(&duets, err);
    study->processes += duets.processes;
    for (size_t i = 0; i < duets.count; i++) {
        if (status == 0 && duets.items[i].visit_count)
            take_verdict(study, &duets.items[i], study->gates_done + (uint32_t)(i / each));
        sample_list_free(&duets.items[i].base_samples);
        sample_list_free(&duets.items[i].head_samples);
    }
    free(duets.items);
    arena_free(&arena);
    return status;
}

static bool nothing_supported(const struct study *study)
{
    for (size_t i = 0; i < study->count; i++) {
        if (!study->series[i].unsupported)
            return false;
    }
    return true;
}

// The caller that closes the files reports failures of writing.
static void flush(const struct study *study)
{
    if (study->csv)
        fflush(study->csv);
    if (study->samples)
        fflush(study->samples);
}

// Runs a study. -1: the device is gone, no bench can be started, or nothing is supported. A series
// that is wrong or dies counts as broken, and its process is replaced.
static int study_run(struct study *study, struct error *err)
{
    const uint32_t gates = study->gates ? study->gates : 1;
    const double begun_s = monotonic_s();
    int status = 0;
    while (status == 0 && study->rounds_done < study->rounds) {
        if (study->deadline_s > 0 && monotonic_s() > study->deadline_s)
            break;
        status = run_round(study, gates, err);
        study->rounds_done += status == 0;
        study->gates_done += status == 0 ? gates : 0;
        flush(study);
        if (status == 0 && nothing_supported(study))
            return error_set(err, "no library has a kernel for these problems");
        if (status == 0 && study->round_over)
            status = study->round_over(study->state, err);
    }
    study->wall_s = monotonic_s() - begun_s;
    return status;
}

// The heads of the two tables.
static void study_csv_header(FILE *csv)
{
    fputs("kind,kernel,problem,gate,verdict,alarmed,pairs,processes,base_us,log_ratio_pct,"
          "lower_pct,upper_pct,pair_sd_pct,log_evidence,gpu_s,wall_s\n",
          csv);
}

static void study_samples_header(FILE *samples)
{
    fputs("kind,kernel,problem,gate,process,launches,unit_ns,base_head_1e5,base_head_mhz\n",
          samples);
}

// Adds a series; `kernel` is shorter than KERNEL_NAME_TEXT.
static void study_add(struct study *study, enum study_kind kind, const char *kernel,
                      const char *base, const char *head, const struct problem *problem,
                      size_t device)
{
    study->series = xgrow(study->series, study->count, &study->room, sizeof(*study->series));
    struct study_series *s = &study->series[study->count++];
    *s = (struct study_series){.base = base, .head = head};
    s->sum = (struct study_result){.kind = kind, .problem = *problem, .device = device};
    text_copy(s->sum.kernel, sizeof(s->sum.kernel), kernel);
}

// ---- records ----
//
// Replaces the libraries of a study by records of them.

struct study_recorder {
    struct studied *studied;
    const char *folder;
    struct bench *bench; // runs the libraries' host code; NULL: none runs
};

// The path of a record; a library has a record for each of its kernels and problems.
static const char *file_of(const struct study_recorder *r, const char *library,
                           const struct study_series *s)
{
    char problem[PROBLEM_TEXT];
    problem_format(problem, &s->sum.problem);
    const uint64_t hash =
        hash_text(hash_text(hash_text(HASH_START, library), s->sum.kernel), problem);
    return arena_printf(&r->studied->run.arena, "%s/%s-%016llx.record", r->folder, s->sum.kernel,
                        (unsigned long long)hash);
}

static int record_one(struct study_recorder *r, const char **path, struct study_series *s,
                      struct error *err)
{
    struct bench_outcome outcome;
    const struct bench_series series = {
        .kernel = s->sum.kernel, .problem = &s->sum.problem, .head = *path};
    const char *file = file_of(r, *path, s);
    if (s->unsupported)
        return 0;
    if (access(file, R_OK) == 0) {
        *path = file;
        return 0;
    }
    if (!r->bench && bench_start(&r->bench, &r->studied->plan, err))
        return -1;
    if (record_write(&outcome, file, r->bench, &series, err))
        return -1;
    if (outcome.state != MEASURED_OK) { // a stream or context may be left in a state that other
                                        // kernels cannot use
        bench_stop(r->bench);
        r->bench = NULL;
    }
    s->unsupported = outcome.state != MEASURED_OK;
    if (s->unsupported)
        printf("%s cannot be recorded: %s\n", s->sum.kernel, outcome.detail);
    else
        *path = file;
    return 0;
}

// Records the series of a study of directories in `folder`, and studies the records. Existing
// records are used. A series that cannot be recorded is left out, with a message.
static int study_record(struct studied *studied, const char *folder, struct error *err)
{
    struct study_recorder r = {.studied = studied, .folder = folder};
    struct study *study = &studied->studies[0];
    int status = 0;
    for (size_t i = 0; i < study->count && status == 0; i++) {
        struct study_series *s = &study->series[i];
        s->record = true;
        status = record_one(&r, &s->base, s, err) || record_one(&r, &s->head, s, err) ? -1 : 0;
    }
    bench_stop(r.bench);
    return status;
}

// ---- sources ----
//
// Finds what a study compares, in two directories or two commits, and copies or builds it. Nothing
// is measured here.

struct study_start {
    struct studied *studied;
    const struct context_device *device; // NULL: started from the plan
};

static int start_bench(struct bench **out, void *context, size_t unit, struct error *err)
{
    const struct study_start *start = context;
    const struct studied *s = start->studied;
    if (start->device)
        return context_bench(out, s->context, start->device + unit, s->directories,
                             s->directory_count, err);
    struct bench_plan plan = s->plan;
    struct bench *bench = NULL;
    plan.index = (int32_t)unit;
    if (bench_start(&bench, &plan, err))
        return -1;
    if (strcmp(bench_device(bench)->name, s->run.devices[0].name) != 0) {
        const int status =
            error_set(err, "%s device %zu is a %.100s, the first is a %.100s", plan.kind, unit,
                      bench_device(bench)->name, s->run.devices[0].name);
        bench_stop(bench);
        return status;
    }
    *out = bench;
    return 0;
}

static void begin(struct studied *s, size_t devices)
{
    s->run = (struct run){.kind = RUN_STUDY,
                          .started_s = (int64_t)time(NULL),
                          .tool_version = PLUMB_VERSION,
                          .repository = "",
                          .policy = "",
                          .device_count = devices};
    s->run.devices = arena_alloc(&s->run.arena, devices * sizeof(*s->run.devices));
    s->studies = xcalloc(devices + 1, sizeof(*s->studies));
    s->starts = xcalloc(devices + 1, sizeof(*s->starts));
    for (size_t i = 0; i < devices; i++) {
        s->starts[i] = (struct study_start){.studied = s};
        s->studies[i] = (struct study){.start = start_bench, .context = &s->starts[i]};
    }
}

static void studied_free(struct studied *s)
{
    for (size_t d = 0; s->studies && d < s->run.device_count; d++) {
        for (size_t i = 0; i < s->studies[d].count; i++)
            free(s->studies[d].series[i].pairs);
        free(s->studies[d].series);
    }
    free(s->studies);
    free(s->starts);
    run_free(&s->run);
}

static void add_pair(struct study *study, const struct study_request *request, const char *kernel,
                     const char *base, const char *head, const struct problem *problem,
                     size_t device)
{
    study_add(study, STUDY_AA, kernel, base, base, problem, device);
    if (head)
        study_add(study, STUDY_SLOWER, kernel, base, head, problem, device);
    if (head && request->faster)
        study_add(study, STUDY_FASTER, kernel, head, base, problem, device);
}

// ---- directories ----

static int add_library(struct studied *s, const struct study_request *request, const char *name,
                       struct bench *bench, struct error *err)
{
    struct bench_outcome outcome;
    struct bench_kernel_list kernels = {0};
    struct arena *arena = &s->run.arena;
    const char *base = arena_printf(arena, "%s/%s", request->base, name);
    const char *head = request->head ? arena_printf(arena, "%s/%s", request->head, name) : NULL;
    if (head && access(head, R_OK))
        head = NULL;
    if (bench_list(&outcome, &kernels, bench, base, arena, err))
        return -1;
    if (outcome.state != MEASURED_OK)
        return error_set(err, "%s: %.300s", base, outcome.detail);
    for (size_t k = 0; k < kernels.count; k++) {
        if (strcmp(kernels.items[k].device, s->plan.kind) ||
            (request->kernel && fnmatch(request->kernel, kernels.items[k].name, 0)))
            continue;
        for (size_t i = 0; i < request->problem_count; i++) {
            struct problem problem;
            if (problem_parse(&problem, request->problems[i], err))
                return -1;
            if (!problem.regime_named)
                problem.regime = regime_usual(s->plan.kind);
            add_pair(&s->studies[0], request, kernels.items[k].name, base, head, &problem, 0);
        }
    }
    return 0;
}

static int is_library(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return length > 3 && strcmp(entry->d_name + length - 3, ".so") == 0;
}

static int add_libraries(struct studied *s, const struct study_request *request,
                         struct bench *bench, struct error *err)
{
    struct dirent **names = NULL;
    int count = scandir(request->base, &names, is_library, alphasort), status = 0;
    if (count < 0)
        return error_set(err, "%s: %s", request->base, strerror(errno));
    for (int i = 0; i < count; i++) {
        if (status == 0)
            status = add_library(s, request, names[i]->d_name, bench, err);
        free(names[i]);
    }
    free(names);
    if (status == 0 && s->studies[0].count == 0)
        return error_set(err, "%s: no library there has a kernel for %s", request->base,
                         s->plan.kind);
    return status;
}

// Refuses two kernels of one name, because the store identifies a series by kernel and problem.
static int check_names(const struct study *study, const char *directory, struct error *err)
{
    for (size_t i = 0; i < study->count; i++) {
        for (size_t j = 0; j < i; j++) {
            const struct study_series *a = &study->series[i], *b = &study->series[j];
            if (a->sum.kind == b->sum.kind && strcmp(a->sum.kernel, b->sum.kernel) == 0 &&
                problem_equal(&a->sum.problem, &b->sum.problem))
                return error_set(err,
                                 "%s: two libraries have a kernel %s, or a problem is "
                                 "given twice; each may be there once",
                                 directory, a->sum.kernel);
        }
    }
    return 0;
}

static struct device copy_device(const struct device *d, struct arena *arena)
{
    return (struct device){arena_strdup(arena, d->kind),    arena_strdup(arena, d->uuid),
                           arena_strdup(arena, d->name),    arena_strdup(arena, d->driver),
                           arena_strdup(arena, d->runtime), arena_strdup(arena, d->profile)};
}

// Chooses the sandbox. The user's own libraries run without one. Libraries in a checkout that may
// be a stranger's may have been built from its commit.
static int confine(struct studied *s, const char *directory, const char *asked, struct error *err)
{
    char *checkout;
    if (context_sandbox_of(&s->sandbox, &checkout, directory, asked, err))
        return -1;
    if (s->sandbox.active && (checkout || asked))
        s->plan.sandbox = &s->sandbox;
    free(checkout);
    return 0;
}

// Adds the libraries that have the same name in both directories, with every kernel for this kind
// of device.
static int study_of_directories(struct studied *out, const struct study_request *request,
                                const struct options *options, struct error *err)
{
    struct bench *child;
    *out = (struct studied){
        .plan = {.program = options->bench, .kind = request->device ? request->device : "host"}};
    begin(out, 1);
    const char **builds = arena_alloc(&out->run.arena, 2 * sizeof(*builds));
    builds[0] = request->base;
    builds[1] = request->head;
    out->plan.read_only = builds;
    out->plan.read_only_count = out->plan.build_count = request->head ? 2 : 1;
    if (!request->problem_count)
        return error_set(err, "a study of directories needs --problem; try plumb study --help");
    for (size_t i = 0; i < out->plan.read_only_count; i++) {
        if (confine(out, builds[i], options->sandbox, err))
            return -1;
    }
    if (bench_start(&child, &out->plan, err))
        return -1;
    out->run.devices[0] = copy_device(bench_device(child), &out->run.arena);
    out->studies[0].kind = out->plan.kind;
    out->studies[0].units = request->units;
    profile_shipped(&out->studies[0].gpu, bench_device(child), bench_gpu(child), &out->run.arena);
    int status = add_libraries(out, request, child, err);
    bench_stop(child);
    if (status == 0 && request->records)
        status = study_record(out, request->records, err);
    return status ? -1 : check_names(&out->studies[0], request->base, err);
}

// ---- commits ----

static int parse_problems(struct problem **out, const struct study_request *request,
                          struct arena *arena, struct error *err)
{
    struct problem *problems = arena_alloc(arena, request->problem_count * sizeof(*problems));
    for (size_t i = 0; i < request->problem_count; i++) {
        if (problem_parse(&problems[i], request->problems[i], err))
            return -1;
    }
    *out = problems;
    return 0;
}

// Whether a problem was asked for. A problem whose text has no regime stands for all regimes in
// which the policy has it.
static bool wanted(const struct study_request *request, const struct problem *problems,
                   const struct problem *problem)
{
    for (size_t i = 0; i < request->problem_count; i++) {
        const struct problem there =
            problems[i].regime_named ? *problem : problem_in(problem, REGIME_COLD);
        if (problem_equal(&problems[i], &there))
            return true;
    }
    return request->problem_count == 0;
}

// Adds series. Code that is the same on both sides is only compared with itself.
static int add_tasks(struct studied *s, const struct study_request *request,
                     const struct task_list *tasks, struct error *err)
{
    struct problem *problems;
    size_t added = 0;
    if (parse_problems(&problems, request, &s->run.arena, err))
        return -1;
    for (size_t i = 0; i < tasks->count; i++) {
        const struct task *task = &tasks->items[i];
        const struct result *r = task->result;
        if (!task->base || task->device->is_static || !wanted(request, problems, &r->problem))
            continue;
        if (task->base->plan || (task->head && task->head->plan)) {
            progress_note(&s->context->progress, "%s: a plan's kernel is not studied", r->kernel);
            continue;
        }
        const bool differs = task->head && strcmp(r->base_code, r->head_code) != 0;
        const size_t first = s->studies[r->device].count;
        add_pair(&s->studies[r->device], request, r->kernel, task->base->library,
                 differs ? task->head->library : NULL, &r->problem, r->device);
        for (size_t k = first; k < s->studies[r->device].count; k++)
            s->studies[r->device].series[k].record = task->base->captured != NULL;
        added++;
    }
    return added ? 0 : error_set(err, "no series of the policy is left to study");
}

static int build(struct studied *s, struct built *base, struct built *head,
                 const struct study_request *request, struct error *err)
{
    struct context *context = s->context;
    struct arena *arena = &s->run.arena;
    if (built_make(base, context, &(struct to_build){.commit = &s->run.base}, arena, err))
        return -1;
    *head = *base;
    const struct to_build other = {.commit = &s->run.head, .base = &s->run.base};
    if (request->head && built_make(head, context, &other, arena, err))
        return -1;
    if (base->state != MEASURED_OK || head->state != MEASURED_OK)
        return error_set(err, "%s does not build: %.300s",
                         base->state != MEASURED_OK ? request->base : request->head,
                         base->state != MEASURED_OK ? base->detail : head->detail);
    s->directories[s->directory_count++] = base->directories[0];
    if (base->directories[1])
        s->directories[s->directory_count++] = base->directories[1];
    if (request->head && head->directories[1])
        s->directories[s->directory_count++] = head->directories[1];
    return 0;
}

// Builds both commits as a gate does, under the base's policy. Call context_open() before.
static int study_of_commits(struct studied *out, const struct study_request *request,
                            struct context *context, struct error *err)
{
    struct commit base, head;
    struct built base_built, head_built;
    struct task_list tasks;
    *out = (struct studied){.context = context};
    const char *other = request->head ? request->head : request->base;
    if (repository_commit(&base, context->repository, request->base, &context->arena, err) ||
        repository_commit(&head, context->repository, other, &context->arena, err) ||
        context_policy(context, base.id, err) || context_store(context, STORE_WRITE, err))
        return -1;
    if (context_builder(context, err) || context_devices(context, err))
        return -1;
    begin(out, context->device_count);
    out->run.base = base;
    out->run.head = head;
    out->run.repository = arena_strdup(&out->run.arena, repository_name(context->repository));
    out->run.policy = arena_strdup(&out->run.arena, context->policy.text);
    for (size_t i = 0; i < context->device_count; i++) {
        out->run.devices[i] = context->devices[i].unit;
        out->starts[i].device = &context->devices[i];
        out->studies[i].kind = context->devices[i].policy->kind;
        out->studies[i].gpu = context->devices[i].gpu;
        out->studies[i].units = context->devices[i].units;
    }
    if (build(out, &base_built, &head_built, request, err) ||
        task_list_make(&tasks, &out->run, context, &base_built, &head_built, err))
        return -1;
    const int status = add_tasks(out, request, &tasks, err);
    out->run.count = 0; // a study has no results of its own
    return status;
}

// ---- parts ----
//
// Divides the series of a study among parts, and joins the rows of the parts into one run.

static uint64_t stamp_of(const struct studied *studied)
{
    uint64_t stamp = HASH_START;
    for (size_t d = 0; d < studied->run.device_count; d++) {
        const struct study *study = &studied->studies[d];
        if (!study->count)
            continue; // another unit; the number of units depends on the machine
        stamp = hash_text(stamp, study->kind);
        for (size_t i = 0; i < study->count; i++) {
            char problem[PROBLEM_TEXT];
            problem_format(problem, &study->series[i].sum.problem);
            stamp = hash_text(stamp, study_kind_name(study->series[i].sum.kind));
            stamp = hash_text(stamp, study->series[i].sum.kernel);
            stamp = hash_text(stamp, problem);
        }
    }
    return stamp;
}

// Keeps this part's series in the study, and notes the part in its run. Undivided work is left as
// it is.
static void study_take_part(struct studied *studied, const struct work_part *part)
{
    const struct part_note note = {*part, stamp_of(studied)};
    size_t at = 0;
    if (!part->count)
        return;
    for (size_t d = 0; d < studied->run.device_count; d++) {
        struct study *study = &studied->studies[d];
        size_t kept = 0;
        for (size_t i = 0; i < study->count; i++) {
            if (part_has(part, at++))
                study->series[kept++] = study->series[i];
        }
        study->count = kept;
    }
    part_note_write(&studied->run, &note);
}

static size_t place_device(struct run *run, const struct device *unit)
{
    size_t at = 0;
    while (at < run->device_count && strcmp(run->devices[at].uuid, unit->uuid) != 0)
        at++;
    if (at == run->device_count)
        run->devices[run->device_count++] = *unit;
    return at;
}

static void join_piece(struct run *run, struct run *piece)
{
    if (!run->device_count || piece->started_s < run->started_s)
        run->started_s = piece->started_s;
    run->tool_version = piece->tool_version;
    run->repository = piece->repository;
    run->base = piece->base;
    run->head = piece->head;
    for (size_t i = 0; i < piece->device_count; i++)
        place_device(run, &piece->devices[i]);
    for (size_t i = 0; i < piece->study_count; i++) {
        struct study_result *s = &run->studies[run->study_count++];
        *s = piece->studies[i];
        s->device = place_device(run, &piece->devices[s->device]);
    }
    arena_adopt(&run->arena, &piece->arena);
}

// Joins a study whose parts are in the store at `path`. *missing has the numbers of missing parts,
// "" if there are none; in the run's arena. Fails as pieces_read() does. The caller calls
// run_free().
static int study_join(struct run *out, const char **missing, uint32_t *parts, const char *path,
                      struct error *err)
{
    const struct pieces_wanted wanted = {.kind = RUN_STUDY};
    struct run run = {.kind = RUN_STUDY};
    struct part_runs pieces;
    size_t devices = 1, studies = 1;
    const int status = pieces_read(&pieces, path, &wanted, &run.arena, err);
    for (uint32_t i = 0; status == 0 && i < pieces.count; i++) {
        devices += pieces.items[i].run.device_count;
        studies += pieces.items[i].run.study_count;
    }
    if (status == 0) {
        run.devices = arena_alloc(&run.arena, devices * sizeof(*run.devices));
        run.studies = arena_alloc(&run.arena, studies * sizeof(*run.studies));
        run.policy = pieces.policy;
        *missing = pieces.missing;
        *parts = pieces.count;
        for (uint32_t i = 0; i < pieces.count; i++) {
            if (pieces.items[i].uid[0])
                join_piece(&run, &pieces.items[i].run);
        }
        *out = run;
    }
    pieces_free(&pieces);
    return status;
}

// Saves a joined study, unless the store has it already.
static int study_save_joined(struct store *store, struct run *run, struct error *err)
{
    int64_t known;
    if (pieces_stored(&known, store, run, err))
        return -1;
    if (known)
        return 0;
    if (store_begin_batch(store, err))
        return -1;
    if (store_begin_run(store, run, err) || store_save_study(store, run, err) ||
        store_finish_run(store, run, err)) {
        store_cancel_batch(store);
        return -1;
    }
    return store_commit_batch(store, err);
}

// ==== the command ====

// Totals over all series. For parts that were joined, rounds, processes and wall time are not
// known: 0.
struct study_totals {
    uint64_t gates, aa, alarms, first; // aa: gates of identical code; first: alarms before
                                       // confirmation
    uint32_t rounds, processes;
    double wall_s, gates_s, gpu_s;
};

// ---- printing the results as a table and as JSON ----

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

// Prints a line for each series and two for the whole; or one object.
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
    OPTION_TEXT("sandbox", 0, "MODE",
                "auto, require or off [of commits: the policy's; of directories: require where "
                "they may be a stranger's]",
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

// Makes the rows of the run from the counts so far.
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

// Saves the results after each round, so that a killed study keeps the rounds that it finished.
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
    {"repo policy", of_commits, "a study of commits"},
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
        return error_set(err, "%s: cannot be written: %s", path, write_failure(errno));
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
        study_of_directories(s, request, &a->options, err))
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
    // A recording decides nothing, so it says nothing about the gate's rates.
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

// Joins the parts of a study; an incomplete study is printed and not kept.
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
    .summary = "Count the gate's false alarms on this device, and what it finds",
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
    .doc = "Measures what the gate is worth on this device: how often it raises a false alarm, "
           "and what it finds.\v"
           "Every kernel of --base is gated against itself, where an alarm is false, and "
           "against the kernel of the same name in --head. A study of commits is stored; a "
           "study of directories is stored if --store names a store. `plumb report` shows the "
           "result, and later gates on the device mention it. Libraries of directories run "
           "unconfined, but in the sandbox if their checkout may be a stranger's.\n\n"
           "A gate of one series takes less time than the start of its processes. So with "
           "--gates 20 a round plays twenty gates of each series in one set of processes; each "
           "gate has other contents, an order of pairs and a verdict of its own. These gates "
           "share one error: where things lie in a process adds to a time. So take several "
           "rounds.\n\n"
           "Many machines: each studies some of the series (--part 1/8 --store shard-1.db), "
           "`plumb store merge` merges the stores, and --join adds them up; ci/fleet does it "
           "by Slurm.\n\n"
           "Exit: 0, or 2 if there are more false alarms than the gate promises, or 4.",
};
