// SPDX-License-Identifier: Apache-2.0
//
// Our gate and other tools' rules on the same recorded duets, at equal device time.
//     bench_gate [--host] [--trials N] [--roc FILE] [CSV...]
//     bench_gate --simulate [--trials N]
// CSV: one line per pair with at least the columns shape,batch,variant,process,us_a,us_b (times of
// a sample of `batch` launches, pairs in the order taken); variant "same" is a build against
// itself. Without one: tests/data/h200-noise-pairs.csv.
//
// A trial draws processes of one series in random order, begins each at a random pair (wrapping
// round, so correlation stays), swaps the builds of a whole process by a coin where both are the
// same, and multiplies the head's times by 1 + change. The gate stops when it wants; each other
// rule gets as many pairs as the gate took on average for that change. "Separate runs" gives a rule
// the base of one process and the head of another, as tools do that compare two stored results.
// Trials share the recorded processes: rates are over resampled data, not over fresh runs.
#include "model/gate/gate.h"
#include "tests/helpers/helper_duets.h"
#include "tests/helpers/helper_peers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHANGES = 7 };

static const double cuda_changes[CHANGES] = {0, 0.001, 0.003, 0.005, 0.01, 0.02, 0.05};
static const double host_changes[CHANGES] = {0, 0.01, 0.03, 0.05, 0.1, 0.15, 0.2};

struct options {
    const char *roc, *device;
    char **csv; // gathered at the front of argv
    size_t csv_count;
    const double *changes;
    size_t trials;
    bool simulate;
};

static struct gate_policy policy_for(const struct duet_series *s, const char *device)
{
    const struct duet_process *p = &s->processes[0];
    double sum = 0;
    for (size_t i = 0; i < p->count; i++)
        sum += p->us_a[i] / (double)p->count;
    struct gate_policy policy = gate_policy_default(device, 1e3 * sum / s->batch);
    size_t available = p->count; // a recorded pair must not count twice
    for (size_t i = 0; i < s->count; i++)
        available = s->processes[i].count < available ? s->processes[i].count : available;
    if (policy.max_pairs > available)
        policy.max_pairs = (uint32_t)available;
    if (policy.confirm_pairs > available)
        policy.confirm_pairs = (uint32_t)available;
    policy.stretch = 1; // there are no more of a process
    if (policy.processes > s->count)
        policy.processes = (uint32_t)s->count;
    return policy;
}

static struct gate_decision run_gate(const struct gate_policy *policy, const struct draw *draw)
{
    struct arena arena = {0};
    struct gate_series series;
    gate_series_init(&series, policy, &arena);
    struct gate_decision d = gate_series_decide(&series);
    size_t at = 0;
    while (d.next != GATE_DONE) {
        if (d.next == GATE_CONFIRM) {
            at = draw->end[series.processes - 1];
            gate_series_fresh_process(&series);
        }
        for (uint32_t i = 0; i < policy->block_pairs; i++, at++)
            gate_series_add(&series, (double[]){log(draw->head[at] / draw->base[at])}, 1);
        d = gate_series_decide(&series);
    }
    arena_free(&arena);
    return d;
}

// One process, all its pairs, no stopping: what the ROC compares. Alarm at >= 1.
static double gate_score(const struct gate_policy *policy, const struct draw *draw)
{
    struct arena arena = {0};
    struct gate_series series;
    gate_series_init(&series, policy, &arena);
    for (size_t i = 0; i < draw->end[0]; i++)
        gate_series_add(&series, (double[]){log(draw->head[i] / draw->base[i])}, 1);
    struct gate_decision d = gate_series_decide(&series);
    arena_free(&arena);
    return fmin(d.log_evidence / -log(policy->alpha), fabs(d.log_ratio) / policy->margin);
}

// ---- the table ----

struct tally {
    size_t alarms, undecided, same, covered, trials;
    double pairs, processes; // means
};

static struct tally tally_gate(const struct duet_series *s, double change,
                               const struct options *options)
{
    size_t trials = options->trials;
    struct tally tally = {.trials = trials};
    struct draw draw = draw_new(s);
    struct random random = {20261121};
    struct gate_policy policy = policy_for(s, options->device);
    for (size_t t = 0; t < trials; t++) {
        draw_trial(&draw, s, change, false, &random);
        struct gate_decision d = run_gate(&policy, &draw);
        tally.alarms += d.kind == VERDICT_SLOWER || d.kind == VERDICT_FASTER;
        tally.undecided += d.kind == VERDICT_UNDECIDED;
        tally.same += d.kind == VERDICT_SAME;
        tally.pairs += (double)d.pairs / (double)trials;
    }
    draw_free(&draw);
    return tally;
}

static double rate_peer(const struct duet_series *s, const struct peer *peer, double change,
                        size_t pairs, bool separate, size_t trials)
{
    size_t alarms = 0;
    struct draw draw = draw_new(s);
    struct random random = {20261121};
    for (size_t t = 0; t < trials; t++) {
        draw_trial(&draw, s, change, separate, &random);
        size_t room = draw.end[draw.processes - 1];
        // Two runs are two processes; more of them would be another tool.
        room = separate ? draw.end[0] : room;
        struct peer_data data = {draw.base, draw.head, pairs < room ? pairs : room};
        alarms += peer->score(&data) >= peer->limit;
    }
    draw_free(&draw);
    return (double)alarms / (double)trials;
}

static void print_series(const struct duet_series *s, const struct options *options)
{
    const double *changes = options->changes;
    size_t trials = options->trials;
    bool same = strcmp(s->variant, "same") == 0;
    size_t columns = same ? CHANGES : 1;
    struct gate_policy policy = policy_for(s, options->device);
    printf("\n%s, batches of %.0f, %s: %zu processes, margin %.1f %%\n", s->shape, s->batch,
           same ? "a build against itself, head slowed by" : s->variant, s->count,
           100 * policy.margin);
    printf("%-34s", "share of trials with an alarm");
    for (size_t c = 0; c < columns; c++)
        printf("%+7.1f %%", 100 * changes[c]);
    struct tally tallies[CHANGES];
    printf("\n%-34s", "plumb");
    for (size_t c = 0; c < columns; c++) {
        tallies[c] = tally_gate(s, changes[c], options);
        printf("%9.4f", (double)tallies[c].alarms / (double)trials);
    }
    printf("\n%-34s", "  undecided");
    for (size_t c = 0; c < columns; c++)
        printf("%9.4f", (double)tallies[c].undecided / (double)trials);
    printf("\n%-34s", "  pairs taken, mean");
    for (size_t c = 0; c < columns; c++)
        printf("%9.1f", tallies[c].pairs);
    printf("\n");
    for (size_t i = 0; i < 2 * peer_count; i++) {
        const struct peer *peer = &peers[i % peer_count];
        bool separate = i >= peer_count;
        if (separate && peer->paired)
            continue;
        printf("%-18s%-16s", peer->name, separate ? "separate runs" : "interleaved");
        for (size_t c = 0; c < columns; c++)
            printf("%9.4f", rate_peer(s, peer, changes[c], (size_t)ceil(tallies[c].pairs), separate,
                                      trials));
        printf("\n");
    }
}

// ---- the ROC ----

static void scores_of(double *out, const struct duet_series *s, const struct peer *peer,
                      double change, bool separate, const struct options *options)
{
    struct draw draw = draw_new(s);
    struct random random = {7 + (uint64_t)(1e6 * change)};
    struct gate_policy policy = policy_for(s, options->device);
    for (size_t t = 0; t < options->trials; t++) {
        draw_trial(&draw, s, change, separate, &random);
        struct peer_data data = {draw.base, draw.head, draw.end[0]};
        out[t] = peer ? peer->score(&data) : gate_score(&policy, &draw);
    }
    draw_free(&draw);
}

static void write_curve(FILE *file, const struct duet_series *s, const struct peer *peer,
                        double change, bool separate, const struct options *options)
{
    size_t trials = options->trials;
    double *nulls = xcalloc(trials, sizeof(*nulls)), *changed = xcalloc(trials, sizeof(*changed));
    struct roc_point *points = xcalloc(2 * trials + 1, sizeof(*points));
    scores_of(nulls, s, peer, 0, separate, options);
    scores_of(changed, s, peer, change, separate, options);
    size_t count = roc_points(points, nulls, trials, changed, trials);
    double area = roc_area(points, count), limit = peer ? peer->limit : 1;
    size_t step = count / 100 + 1;
    for (size_t i = 0; i < count; i++) {
        bool default_here =
            points[i].threshold >= limit && (i + 1 == count || points[i + 1].threshold < limit);
        if (i % step == 0 || i + 1 == count || default_here)
            fprintf(file, "%s,%.0f,%s,%s,%g,%zu,%.5g,%.5f,%.5f,%.5f,%d\n", s->shape, s->batch,
                    peer ? peer->name : "plumb", separate ? "separate" : "interleaved", change,
                    s->processes[0].count, points[i].threshold, points[i].false_rate,
                    points[i].true_rate, area, default_here);
    }
    free(nulls);
    free(changed);
    free(points);
}

static int write_roc(const struct duets *data, const struct options *options)
{
    FILE *file = fopen(options->roc, "w");
    if (!file) {
        fprintf(stderr, "%s: cannot be written\n", options->roc);
        return -1;
    }
    fprintf(file, "shape,batch,rule,arrangement,change,pairs,threshold,false_rate,true_rate,area,"
                  "default\n");
    for (size_t i = 0; i < data->count; i++) {
        const struct duet_series *s = &data->series[i];
        if (strcmp(s->variant, "same") != 0)
            continue;
        for (size_t c = 2; c <= 4; c++) {
            double change = options->changes[c];
            write_curve(file, s, NULL, change, false, options);
            for (size_t p = 0; p < peer_count; p++) {
                write_curve(file, s, &peers[p], change, false, options);
                if (!peers[p].paired)
                    write_curve(file, s, &peers[p], change, true, options);
            }
        }
    }
    return fclose(file);
}

// ---- simulated noise ----

// A gate of a kernel above 100 us, with the default's budget and margin.
struct simulated {
    enum noise noise;
    double sd;                 // of a pair, if the launches were normal
    double change;             // log ratio
    double place;              // SD of what each process adds
    double slow_rate, slow_by; // so many of the head's launches take so much longer
    struct interval interval;  // that the gate said
};

static struct gate_decision simulate(struct simulated *gate, uint64_t seed)
{
    struct arena arena = {0};
    struct gate_policy policy = gate_policy_default("cuda", 183e3);
    struct gate_series series;
    gate_series_init(&series, &policy, &arena);
    struct duet duet = duet_start(gate->noise, gate->sd * M_SQRT1_2, gate->change, seed);
    struct random random = {seed * 31 + 7};
    double shift = gate->place * random_normal(&random);
    struct gate_decision d = gate_series_decide(&series);
    for (; d.next != GATE_DONE; d = gate_series_decide(&series)) {
        if (d.next == GATE_CONFIRM) {
            gate_series_fresh_process(&series);
            shift = gate->place * random_normal(&random);
        }
        for (uint32_t i = 0; i < policy.block_pairs; i++) {
            const bool slow = random_uniform(&random) < gate->slow_rate;
            const double y = duet_log_ratio(&duet) + shift + (slow ? log1p(gate->slow_by) : 0);
            gate_series_add(&series, (double[]){y}, 1);
        }
    }
    gate->interval = gate_series_interval(&series);
    arena_free(&arena);
    return d;
}

static struct tally simulate_all(struct simulated gate, size_t trials, uint64_t seed)
{
    struct tally tally = {.trials = trials};
    const double n = (double)trials;
    for (size_t t = 0; t < trials; t++) {
        const struct gate_decision d = simulate(&gate, seed + t);
        tally.alarms += d.kind == VERDICT_SLOWER || d.kind == VERDICT_FASTER;
        tally.same += d.kind == VERDICT_SAME;
        tally.undecided += d.kind == VERDICT_UNDECIDED;
        tally.covered += gate.interval.low <= gate.change && gate.change <= gate.interval.high;
        tally.pairs += d.pairs / n;
        tally.processes += d.processes / n;
    }
    return tally;
}

static void print_tally(const struct tally *tally)
{
    const double n = (double)tally->trials;
    printf("%9.4f%9.4f%10.4f%9.1f%10.2f%9.4f\n", (double)tally->alarms / n, (double)tally->same / n,
           (double)tally->undecided / n, tally->pairs, tally->processes,
           (double)tally->covered / n);
}

static const char simulated_columns[] =
    "    alarm     same undecided    pairs processes  covered\n";

// What places add, by pairs that scatter little and much, about the margin.
static void print_places(size_t trials)
{
    static const double places[] = {0, 0.0005, 0.001, 0.002}, sds[] = {0.001, 0.004, 0.007};
    static const double changes[] = {0, 0.002, 0.003, 0.004};
    printf("\n%-9s%9s%9s%s", "place %", "pair %", "change %", simulated_columns);
    for (size_t p = 0; p < ARRAY_COUNT(places); p++) {
        for (size_t i = 0; i < ARRAY_COUNT(sds) * ARRAY_COUNT(changes); i++) {
            const struct simulated gate = {.sd = sds[i / ARRAY_COUNT(changes)],
                                           .change = changes[i % ARRAY_COUNT(changes)],
                                           .place = places[p]};
            const struct tally tally = simulate_all(gate, trials, 1);
            printf("%-9.2f%9.2f%9.2f", 100 * gate.place, 100 * gate.sd, 100 * gate.change);
            print_tally(&tally);
        }
    }
}

static void print_slow(size_t trials)
{
    static const double cases[][2] = {{0.1, 0.2}, {0.05, 0.3}, {0.08, 0.1}},
                        sds[] = {0.004, 0.0095};
    printf("\n%-9s%9s%9s%s", "slow %", "by %", "pair %", simulated_columns);
    for (size_t i = 0; i < ARRAY_COUNT(cases) * ARRAY_COUNT(sds); i++) {
        const struct simulated gate = {.sd = sds[i % ARRAY_COUNT(sds)],
                                       .slow_rate = cases[i / ARRAY_COUNT(sds)][0],
                                       .slow_by = cases[i / ARRAY_COUNT(sds)][1]};
        const struct tally tally = simulate_all(gate, trials, 1);
        printf("%-9.0f%9.0f%9.2f", 100 * gate.slow_rate, 100 * gate.slow_by, 100 * gate.sd);
        print_tally(&tally);
    }
}

// Pairs of SD 0.4 %: what becomes of a change of each size.
static void print_simulation(size_t trials)
{
    static const double sizes[] = {0, 0.001, 0.0015, 0.002, 0.003, 0.004, 0.005, 0.01};
    size_t null_alarms = 0, nulls = 0;
    printf("%-9s%9s%s", "noise", "change %", simulated_columns);
    for (int noise = 0; noise < NOISE_KINDS; noise++) {
        for (size_t c = 0; c < ARRAY_COUNT(sizes); c++) {
            const struct simulated gate = {
                .noise = (enum noise)noise, .sd = 0.004, .change = sizes[c]};
            const struct tally tally = simulate_all(gate, trials, 1 + 1000003 * c);
            printf("%-9s%9.2f", noise_names[noise], 100 * sizes[c]);
            print_tally(&tally);
            if (c == 0) {
                null_alarms += tally.alarms;
                nulls += trials;
            }
        }
    }
    print_places(trials);
    print_slow(trials);
    printf("no change: %zu alarms in %zu gates, at most %.2g with 95 %% confidence\n", null_alarms,
           nulls, study_rate_upper(null_alarms, nulls, 0.95));
}

static int parse_options(struct options *options, int argc, char **argv)
{
    *options =
        (struct options){.device = "cuda", .changes = cuda_changes, .trials = 1000, .csv = argv};
    for (int i = 1; i < argc; i++) {
        int64_t number;
        if (strcmp(argv[i], "--roc") == 0 && i + 1 < argc) {
            options->roc = argv[++i];
        } else if (strcmp(argv[i], "--trials") == 0 && i + 1 < argc) {
            if (parse_int64(&number, argv[++i]) || number < 1 || number > 1000000)
                return -1;
            options->trials = (size_t)number;
        } else if (strcmp(argv[i], "--simulate") == 0) {
            options->simulate = true;
        } else if (strcmp(argv[i], "--host") == 0) {
            options->device = "host";
            options->changes = host_changes;
        } else if (argv[i][0] == '-') {
            return -1;
        } else {
            options->csv[options->csv_count++] = argv[i];
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct options options;
    if (parse_options(&options, argc, argv)) {
        fprintf(stderr, "usage: bench_gate [--host] [--trials N] [--roc FILE] [CSV...]\n"
                        "       bench_gate --simulate [--trials N]\n");
        return 2;
    }
    if (options.simulate) {
        print_simulation(options.trials);
        return 0;
    }
    struct duets *data = xcalloc(1, sizeof(*data));
    struct error err;
    int failed = 0;
    if (options.csv_count == 0)
        failed = duets_read(data, TEST_DATA "/h200-noise-pairs.csv", &err);
    for (size_t i = 0; i < options.csv_count && !failed; i++)
        failed = duets_read(data, options.csv[i], &err);
    if (failed)
        fprintf(stderr, "%s\n", err.text);
    for (size_t i = 0; i < data->count && !failed; i++)
        print_series(&data->series[i], &options);
    if (options.roc && !failed)
        failed = write_roc(data, &options);
    duets_free(data);
    return failed ? 1 : 0;
}
