// SPDX-License-Identifier: Apache-2.0
//
// fit: the selectors' costs from recorded sweeps, with no GPU.
//
//   fit report KIND FILE.csv...    how near the selector comes to brute force, list by list
//   fit costs KIND FILE.csv...     the table kernels/gemm/cuda/costs_KIND.cuh on stdout
//   fit picks KIND FILE.csv...     what a selector with that table chooses:
//   KIND,m,n,k,configuration
//
// KIND: bf16, tf32, e4m3 or e4m3-promoted. A file is what `sweep time` printed: one list of
// problems. Each configuration's three costs minimise the weighted squares of log(model /
// measured), by a pattern search over their logarithms; a time counts by the square of best / time,
// since a selector need not know by how much a bad choice is bad. The report fits to all lists but
// one and judges by that one: the time of the configuration chosen over the fastest one's.
//
// Times are medians, turned into cycles by the problem's clock; the choice is made at the nominal
// one, as selectors do. What was no finalist was sampled a few times among kernels of any power, at
// clocks from 1.25 to 1.6 GHz for one problem, and counts as long as its cycles take at the
// problem's clock.
#include "../gemm/cuda/cost.h"
#include "rows.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { configs_max = 256, finalist_rounds = 5 }; // at least (sweep's time_problem)

struct config {
    struct sweep_row row;
    struct plumb_cost cost;
    double closest; // the least of its time / the best time, over all problems
};

struct sample {
    struct plumb_problem problem;
    double us, ghz, cycles, weight;
    int config, list, rounds; // rounds: that it was sampled in
};

struct data {
    struct config configs[configs_max];
    int config_count;
    struct sample *samples; // a problem's follow one another
    size_t count, room;
};

static int find_config(struct data *d, const struct sweep_row *row)
{
    for (int i = 0; i < d->config_count; ++i)
        if (strcmp(d->configs[i].row.name, row->name) == 0)
            return i;
    if (d->config_count == configs_max)
        return -1;
    d->configs[d->config_count] = (struct config){
        .row = *row,
        .cost = {fmaxf(1, (float)(row->traits.tile_m * row->traits.tile_n) / 32), 2000, 8000},
        .closest = INFINITY};
    return d->config_count++;
}

static int add_sample(struct data *d, const char *kind, char *line, int list)
{
    struct sample s = {.list = list, .weight = 1};
    struct sweep_row row;
    long type, m, n, k;
    char name[128];
    if (sscanf(line, "%ld,%ld,%ld,%ld,%127[^,],%lf,%*f,%*f,%lf,%*f,%d", &type, &m, &n, &k, name,
               &s.us, &s.ghz, &s.rounds) != 8 ||
        !sweep_row_parse(&row, name) || strcmp(row.kind, kind) != 0)
        return 0;
    if (!(s.us > 0 && s.ghz > 0.5 && s.ghz < 3))
        return 0;
    s.problem = (struct plumb_problem){.m = m, .n = n, .k = k, .in_type = (int32_t)type};
    s.config = find_config(d, &row);
    if (s.config < 0)
        return -1;
    if (d->count == d->room) {
        d->room = d->room ? 2 * d->room : 4096;
        struct sample *more = realloc(d->samples, d->room * sizeof *more);
        if (!more)
            return -1;
        d->samples = more;
    }
    d->samples[d->count++] = s;
    return 0;
}

static int read_list(struct data *d, const char *kind, const char *path, int list)
{
    FILE *file = fopen(path, "r");
    if (!file) {
        fprintf(stderr, "%s: cannot be read\n", path);
        return -1;
    }
    char line[512];
    int error = 0;
    while (!error && fgets(line, sizeof line, file))
        error = add_sample(d, kind, line, list);
    if (error)
        fprintf(stderr, "%s: out of memory, or more than %d configurations\n", path, configs_max);
    fclose(file);
    return error;
}

// One past the last sample of the problem that begins at `first`.
static size_t problem_end(const struct data *d, size_t first)
{
    const struct sample *a = &d->samples[first];
    size_t i = first;
    while (i < d->count && d->samples[i].list == a->list &&
           d->samples[i].problem.m == a->problem.m && d->samples[i].problem.n == a->problem.n &&
           d->samples[i].problem.k == a->problem.k)
        ++i;
    return i;
}

// The clock of a problem, in GHz: the mean of its finalists'.
static double problem_ghz(const struct data *d, size_t first, size_t end)
{
    double sum = 0, count = 0;
    int most = 0;
    for (size_t i = first; i < end; ++i)
        most = d->samples[i].rounds > most ? d->samples[i].rounds : most;
    for (size_t i = first; i < end; ++i)
        if (d->samples[i].rounds == most) {
            sum += d->samples[i].ghz;
            count += 1;
        }
    return sum / count;
}

// Gives each sample its weight, and its cycles and time at the clock of the problem. (At their own
// clocks, the finalist that draws more power and runs slower for it would look as good as another.)
static void weigh(struct data *d)
{
    for (size_t first = 0, end; first < d->count; first = end) {
        double best = INFINITY;
        end = problem_end(d, first);
        const double ghz = problem_ghz(d, first, end);
        for (size_t i = first; i < end; ++i) {
            struct sample *s = &d->samples[i];
            if (s->rounds < finalist_rounds)
                s->us *= s->ghz / ghz;
            best = fmin(best, s->us);
        }
        for (size_t i = first; i < end; ++i) {
            struct sample *s = &d->samples[i];
            s->cycles = s->us * ghz * 1e3;
            struct config *c = &d->configs[s->config];
            s->weight = best * best / (s->us * s->us);
            c->closest = fmin(c->closest, s->us / best);
        }
    }
}

// ---- the fit ----

static double loss(const struct data *d, int config, const struct plumb_cost *cost, int left_out)
{
    const struct plumb_traits *traits = &d->configs[config].row.traits;
    double sum = 0, weights = 0;
    for (size_t i = 0; i < d->count; ++i) {
        const struct sample *s = &d->samples[i];
        if (s->config != config || s->list == left_out)
            continue;
        struct plumb_cost_device device = plumb_cost_h200;
        device.hz = s->cycles / (s->us * 1e-6);
        const double cycles = plumb_cost_cycles(traits, cost, &s->problem, &device);
        if (isinf(cycles))
            continue;
        const double e = log(cycles / s->cycles);
        sum += s->weight * e * e;
        weights += s->weight;
    }
    return weights > 0 ? sum / weights : 0;
}

static void fit_config(struct data *d, int config, int left_out)
{
    struct plumb_cost *cost = &d->configs[config].cost;
    double least = loss(d, config, cost, left_out);
    for (double step = 0.3; step > 0.004;) {
        int better = 0;
        for (int which = 0; which < 6; ++which) {
            struct plumb_cost next = *cost;
            float *value = which / 2 == 0 ? &next.slab : which / 2 == 1 ? &next.tile : &next.launch;
            *value = fmaxf(1, *value * expf((float)(which % 2 ? step : -step)));
            const double l = loss(d, config, &next, left_out);
            if (l < least) {
                least = l;
                *cost = next;
                better = 1;
            }
        }
        if (!better)
            step /= 2;
    }
}

static void fit_all(struct data *d, int left_out)
{
    for (int i = 0; i < d->config_count; ++i)
        fit_config(d, i, left_out);
}

// What the selector chooses from: configurations that come within 3 % of the best somewhere. Not
// two blocks per SM: their times depend on whether both are there, which the model does not know,
// and they gain less than that costs. Of swapped operands only split-K: the others are the best
// where rows of C are stored element by element, which it does not know either.
static int is_candidate(const struct config *c)
{
    const int split = c->row.traits.split_k > 1, twice = c->row.traits.blocks_per_sm == 2;
    return c->closest <= 1.03 && (c->row.swapped ? split : !twice);
}

// ---- the report ----

// The chosen configuration's speed over the fastest one's for the problem of samples first .. end.
static double judge(const struct data *d, size_t first, size_t end, size_t *chosen, size_t *fastest)
{
    double least = INFINITY;
    *chosen = *fastest = first;
    for (size_t i = first; i < end; ++i) {
        const struct config *c = &d->configs[d->samples[i].config];
        const double cycles =
            plumb_cost_cycles(&c->row.traits, &c->cost, &d->samples[i].problem, &plumb_cost_h200);
        if (is_candidate(c) && cycles < least) {
            least = cycles;
            *chosen = i;
        }
        if (d->samples[i].us < d->samples[*fastest].us)
            *fastest = i;
    }
    return d->samples[*fastest].us / d->samples[*chosen].us;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Prints median, mean and worst over one list, and the problems below `mention`.
static void report_list(const struct data *d, int list, const char *path, const char *how,
                        double mention)
{
    double *speeds = calloc(d->count + 1, sizeof *speeds), logs = 0;
    size_t count = 0, end;
    if (!speeds)
        return;
    for (size_t first = 0; first < d->count; first = end) {
        size_t chosen, fastest;
        end = problem_end(d, first);
        if (d->samples[first].list != list)
            continue;
        const double speed = judge(d, first, end, &chosen, &fastest);
        const struct sample *c = &d->samples[chosen], *f = &d->samples[fastest];
        logs += log(speed);
        speeds[count++] = speed;
        if (speed < mention)
            printf("    %.3f at %ld %ld %ld: %s %.2f us, not %s %.2f us\n", speed,
                   (long)c->problem.m, (long)c->problem.n, (long)c->problem.k,
                   d->configs[c->config].row.name, c->us, d->configs[f->config].row.name, f->us);
    }
    qsort(speeds, count, sizeof *speeds, compare);
    if (count)
        printf("%s, %s: %zu problems, median %.3f, mean %.3f, worst %.3f\n", path, how, count,
               (speeds[(count - 1) / 2] + speeds[count / 2]) / 2, exp(logs / (double)count),
               speeds[0]);
    free(speeds);
}

// How long one selection takes on this machine, in microseconds.
static double selection_us(const struct data *d)
{
    struct timespec from, to;
    double sum = 0, rounds = 2000;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (int round = 0; round < (int)rounds; ++round)
        for (int i = 0; i < d->config_count; ++i) {
            const struct plumb_problem p = {.m = 1 + round, .n = 4096, .k = 4096};
            sum += plumb_cost_cycles(&d->configs[i].row.traits, &d->configs[i].cost, &p,
                                     &plumb_cost_h200);
        }
    clock_gettime(CLOCK_MONOTONIC, &to);
    const double ns = (double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec);
    return sum > 0 ? ns / rounds / 1e3 : 0;
}

static void report(struct data *d, char **paths, int lists)
{
    fit_all(d, -1);
    for (int list = 0; list < lists; ++list)
        report_list(d, list, paths[list], "fitted to", 0);
    for (int list = 0; list < lists && lists > 1; ++list) {
        fit_all(d, list);
        report_list(d, list, paths[list], "left out of the fit", 0.93);
    }
    printf("%d configurations; one selection takes %.1f us here\n", d->config_count,
           selection_us(d));
}

static void print_picks(struct data *d, const char *kind)
{
    fit_all(d, -1);
    for (size_t first = 0, end; first < d->count; first = end) {
        size_t chosen, fastest;
        end = problem_end(d, first);
        judge(d, first, end, &chosen, &fastest);
        const struct sample *c = &d->samples[chosen];
        printf("%s,%ld,%ld,%ld,%s\n", kind, (long)c->problem.m, (long)c->problem.n,
               (long)c->problem.k, d->configs[c->config].row.name);
    }
}

static void print_costs(struct data *d, const char *kind)
{
    char macro[32], text[256];
    size_t length = 0;
    for (; kind[length] && length < sizeof macro - 1; ++length)
        macro[length] = kind[length] == '-' ? '_' : (char)toupper((unsigned char)kind[length]);
    macro[length] = 0;
    fit_all(d, -1);
    printf("// SPDX-License-Identifier: Apache-2.0\n//\n"
           "// Costs of the configurations that the selector chooses from, in cycles: of a slab, a "
           "tile, a\n// launch (cost.h). What `fit costs %s` prints for the times recorded in\n"
           "// baselines/recorded/h200/ladder.\n"
           "#ifndef PLUMB_COSTS_%s_CUH\n#define PLUMB_COSTS_%s_CUH\n\n"
           "#define PLUMB_COSTS_%s(C, type)",
           kind, macro, macro, macro);
    for (int i = 0; i < d->config_count; ++i) {
        const struct config *c = &d->configs[i];
        if (!is_candidate(c))
            continue;
        sweep_row_print(text, sizeof text, &c->row);
        printf(" \\\n    C(%s, %.0f, %.0f, %.0f)", text, c->cost.slab, c->cost.tile,
               c->cost.launch);
    }
    printf("\n\n#endif\n");
}

int main(int argc, char **argv)
{
    static struct data d;
    const char *verb = argc > 3 ? argv[1] : "";
    const int lists = argc - 3;
    if (strcmp(verb, "report") != 0 && strcmp(verb, "costs") != 0 && strcmp(verb, "picks") != 0) {
        fprintf(stderr, "usage: fit report|costs|picks bf16|tf32|e4m3|e4m3-promoted FILE.csv...\n");
        return 4;
    }
    for (int list = 0; list < lists; ++list)
        if (read_list(&d, argv[2], argv[3 + list], list))
            return 4;
    if (d.count == 0) {
        fprintf(stderr, "no times of kind %s in these files; sweep time writes them\n", argv[2]);
        return 4;
    }
    weigh(&d);
    if (strcmp(verb, "report") == 0)
        report(&d, argv + 3, lists);
    else if (strcmp(verb, "picks") == 0)
        print_picks(&d, argv[2]);
    else
        print_costs(&d, argv[2]);
    free(d.samples);
    return 0;
}
