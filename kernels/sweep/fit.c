// SPDX-License-Identifier: Apache-2.0
//
// fit: fits the selectors' costs to recorded sweeps, without a GPU.
//
//   fit report KIND FILE.csv... [-- FILE.csv...]
//                                  how near the selector comes to brute force, list by list;
//                                  nothing is ever fitted to the lists after "--"
//   fit costs KIND TABLE FILE.csv...
//                                  prints TABLE (kernels/gemm/cuda/configurations/KIND.h) with new
//                                  costs in place of its own
//   fit trial KIND TABLE FILE.csv...
//                                  how near the fastest of the first 1, 2, 4, 6, 8 and 16 of the
//                                  model's ranking comes to brute force, by TABLE's costs
//   fit picks KIND FILE.csv...     what a selector with that table chooses:
//                                  KIND,m,n,k,configuration
//   KIND: bf16, tf32, e4m3, e4m3-promoted, e4m3-scaled, bf16-dual
//
// A file is what `sweep time` printed: one list of problems (times.h). The four costs of each
// configuration minimise the weighted squares of log(model / measured), by a pattern search over
// their logarithms. The weight of a time is the square of best / time, because a selector need not
// know how bad a bad choice is. The report fits to all lists but one, and judges by that one: the
// time of the chosen configuration over the time of the fastest.
//
// The selector chooses at the nominal clock. Its candidates are configurations that come within 3 %
// of the best on some problem, and whose mistakes on others cost less than they gain. Starting with
// all of them, the one is left out without which the squares of (time / best - 1) of the choices
// fall most, and then the next.
#include "../gemm/cuda/configurations/cost.h"
#include "times.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// ---- the fit ----

static int is_fitted_to(const struct data *d, const struct sweep_sample *s, int left_out)
{
    return s->list < d->fitted && s->list != left_out;
}

// The expected cost, in cycles, of storing a tile's elements one by one, and the weight of that
// expectation against a cost that differs from it by its logarithm. A quarter of the problems has
// such rows of C, so few times of a configuration tell this cost. (Among dual GEMMs and block
// scales hardly any does.)
static double expected_elements(const struct sweep_row *row)
{
    const struct plumb_traits *t = &row->traits;
    const double area = (double)t->tile_m * t->tile_n, shares = t->split_k > 1 ? t->split_k : 1;
    const double each = row->swapped     ? (t->out_type == PLUMB_FP32 ? 0.02 : 0.2)
                        : t->split_k < 0 ? 0.5
                                         : 0.8;
    return fmax(1, each * area / shares);
}

static double doubt(const struct sweep_row *row, const struct plumb_cost *cost)
{
    if (row->dual || strstr(row->kind, "scaled"))
        return 0;
    const double off = log(cost->elements / expected_elements(row));
    return 0.001 * off * off;
}

static double loss(const struct data *d, int config, const struct plumb_cost *cost, int left_out)
{
    const struct plumb_traits *traits = &d->configs[config].row.traits;
    double sum = 0, weights = 0;
    for (size_t i = 0; i < d->count; ++i) {
        const struct sweep_sample *s = &d->samples[i];
        if (s->config != config || !is_fitted_to(d, s, left_out))
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
    return doubt(&d->configs[config].row, cost) + (weights > 0 ? sum / weights : 0);
}

static void fit_config(struct data *d, int config, int left_out)
{
    const struct plumb_traits *traits = &d->configs[config].row.traits;
    struct plumb_cost *cost = &d->configs[config].cost;
    const float area = (float)(traits->tile_m * traits->tile_n);
    *cost = (struct plumb_cost){fmaxf(1, area / 32), 2000, 2000, 8000};
    double least = loss(d, config, cost, left_out);
    for (double step = 0.3; step > 0.004;) {
        int better = 0;
        for (int which = 0; which < 8; ++which) {
            struct plumb_cost next = *cost;
            float *const values[] = {&next.slab, &next.tile, &next.elements, &next.launch};
            float *value = values[which / 2];
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

// ---- the candidates ----

// The two cheapest candidates of the problem of samples first .. end; `end` if there is none.
static void choose(const struct data *d, size_t first, size_t end, size_t best[2])
{
    double least[2] = {INFINITY, INFINITY};
    best[0] = best[1] = end;
    for (size_t i = first; i < end; ++i) {
        const struct sweep_config *c = &d->configs[d->samples[i].config];
        if (!c->candidate)
            continue;
        const double cycles =
            plumb_cost_cycles(&c->row.traits, &c->cost, &d->samples[i].problem, &plumb_cost_h200);
        if (cycles < least[0]) {
            least[1] = least[0];
            best[1] = best[0];
            least[0] = cycles;
            best[0] = i;
        } else if (cycles < least[1]) {
            least[1] = cycles;
            best[1] = i;
        }
    }
}

static double slowness(const struct data *d, size_t i)
{
    const double over = 1 / sqrt(d->samples[i].weight) - 1;
    return over * over;
}

// The candidate without which the choices would become better by most: where it is chosen, the next
// best choice is faster. -1: no candidate loses as much as one choice that is 3 % slower.
static int worst_candidate(const struct data *d, int left_out)
{
    double gains[configs_max] = {0}, most = 0.03 * 0.03;
    int worst = -1;
    for (size_t first = 0, end; first < d->count; first = end) {
        size_t best[2];
        end = times_problem_end(d, first);
        if (!is_fitted_to(d, &d->samples[first], left_out))
            continue;
        choose(d, first, end, best);
        if (best[1] == end) // there is only one
            gains[d->samples[best[0] == end ? first : best[0]].config] -= INFINITY;
        else
            gains[d->samples[best[0]].config] += slowness(d, best[0]) - slowness(d, best[1]);
    }
    for (int i = 0; i < d->config_count; ++i)
        if (gains[i] > most) {
            most = gains[i];
            worst = i;
        }
    return worst;
}

// Whether the configuration is within 3 % of the best on some problem.
static int may_be_candidate(const struct data *d, int config, int left_out)
{
    double most = 0;
    for (size_t i = 0; i < d->count; ++i)
        if (d->samples[i].config == config && is_fitted_to(d, &d->samples[i], left_out))
            most = fmax(most, d->samples[i].weight);
    return most >= 1 / (1.03 * 1.03);
}

static void fit_all(struct data *d, int left_out)
{
    for (int i = 0; i < d->config_count; ++i) {
        fit_config(d, i, left_out);
        d->configs[i].candidate = may_be_candidate(d, i, left_out);
    }
    for (int worst; (worst = worst_candidate(d, left_out)) >= 0;)
        d->configs[worst].candidate = 0;
}

// ---- the report ----

// The chosen configuration's speed over the fastest one's for the problem of samples first .. end.
static double judge(const struct data *d, size_t first, size_t end, size_t *chosen, size_t *fastest)
{
    size_t best[2];
    choose(d, first, end, best);
    *chosen = best[0] == end ? first : best[0];
    *fastest = first;
    for (size_t i = first; i < end; ++i)
        if (d->samples[i].us < d->samples[*fastest].us)
            *fastest = i;
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
        end = times_problem_end(d, first);
        if (d->samples[first].list != list)
            continue;
        const double speed = judge(d, first, end, &chosen, &fastest);
        const struct sweep_sample *c = &d->samples[chosen], *f = &d->samples[fastest];
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
        report_list(d, list, paths[list], list < d->fitted ? "fitted to" : "unseen",
                    list < d->fitted ? 0 : 0.93);
    for (int list = 0; list < d->fitted && d->fitted > 1; ++list) {
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
        end = times_problem_end(d, first);
        judge(d, first, end, &chosen, &fastest);
        const struct sweep_sample *c = &d->samples[chosen];
        printf("%s,%ld,%ld,%ld,%s\n", kind, (long)c->problem.m, (long)c->problem.n,
               (long)c->problem.k, d->configs[c->config].row.name);
    }
}

// ---- trial ----

// A row of a table: its costs by its name, which leaves the type out. 0: another line. *trusted: it
// is no row that is only tried.
static int read_row(char name[64], struct plumb_cost *cost, int *trusted, const char *line)
{
    *trusted = strncmp(line, "ROW(", 4) == 0;
    return (*trusted || strncmp(line, "TRY(", 4) == 0) &&
           sscanf(line + 4, "\"%63[^\"]\", %f, %f, %f, %f)", name, &cost->slab, &cost->tile,
                  &cost->elements, &cost->launch) == 5;
}

static FILE *open_table(const char *path)
{
    FILE *table = fopen(path, "r");
    if (!table)
        fprintf(stderr, "%s: cannot be read\n", path);
    return table;
}

static int take_costs(struct data *d, const char *kind, const char *path)
{
    char line[256], name[64], whole[80];
    struct plumb_cost cost;
    int trusted;
    FILE *table = open_table(path);
    if (!table)
        return -1;
    while (fgets(line, sizeof line, table)) {
        if (!read_row(name, &cost, &trusted, line))
            continue;
        snprintf(whole, sizeof whole, "%.4s-%s", kind, name);
        for (int i = 0; i < d->config_count; ++i)
            if (strcmp(d->configs[i].row.name, whole) == 0) {
                d->configs[i].cost = cost;
                d->configs[i].tried = cost.launch > 0;
                d->configs[i].candidate = trusted && cost.launch > 0;
            }
    }
    fclose(table);
    return 0;
}

enum { depths = 6 };
static const int depth_of[depths] = {1, 2, 4, 6, 8, 16};

// speeds[i]: of the fastest of the first depth_of[i] of the ranking, over the fastest of all.
static void try_problem(double speeds[depths], const struct data *d, size_t first, size_t end)
{
    static char tried[1 << 16];
    double best_us = INFINITY, least_us = INFINITY;
    int depth = 0;
    for (size_t i = first; i < end; ++i) {
        tried[i - first] = 0;
        best_us = fmin(best_us, d->samples[i].us);
    }
    for (int rank = 1; rank <= depth_of[depths - 1]; ++rank) {
        size_t next = end;
        double least = INFINITY;
        for (size_t i = first; i < end; ++i) {
            const struct sweep_config *c = &d->configs[d->samples[i].config];
            const double cycles = (rank == 1 ? c->candidate : c->tried) && !tried[i - first]
                                      ? plumb_cost_cycles(&c->row.traits, &c->cost,
                                                          &d->samples[i].problem, &plumb_cost_h200)
                                      : INFINITY;
            if (cycles < least) {
                least = cycles;
                next = i;
            }
        }
        if (next < end) {
            tried[next - first] = 1;
            least_us = fmin(least_us, d->samples[next].us);
        }
        if (rank == depth_of[depth])
            speeds[depth++] = best_us / least_us;
    }
}

static int print_trial(struct data *d, char **paths, int lists)
{
    double(*speeds)[depths] = calloc(d->count + 1, sizeof *speeds);
    double *sorted = calloc(d->count + 1, sizeof *sorted);
    for (int list = 0; speeds && sorted && list < lists; ++list) {
        size_t count = 0;
        for (size_t first = 0, end; first < d->count; first = end) {
            end = times_problem_end(d, first);
            if (d->samples[first].list == list)
                try_problem(speeds[count++], d, first, end);
        }
        printf("%s: %zu problems\n", paths[list], count);
        for (int i = 0; i < depths && count; ++i) {
            double logs = 0;
            for (size_t k = 0; k < count; ++k)
                logs += log(sorted[k] = speeds[k][i]);
            qsort(sorted, count, sizeof *sorted, compare);
            printf("    best of %2d: median %.3f, mean %.3f, worst %.3f\n", depth_of[i],
                   (sorted[(count - 1) / 2] + sorted[count / 2]) / 2, exp(logs / (double)count),
                   sorted[0]);
        }
    }
    free(sorted);
    free(speeds);
    return 0;
}

// ---- the table ----

static int is_fitted(const struct data *d, int config)
{
    for (size_t i = 0; i < d->count; ++i)
        if (d->samples[i].config == config && is_fitted_to(d, &d->samples[i], -1))
            return 1;
    return 0;
}

// A row by its name in a table, which leaves the type out; NULL: the lists do not have it.
static const struct sweep_config *config_of(const struct data *d, const char *kind,
                                            const char *name)
{
    char whole[80];
    snprintf(whole, sizeof whole, "%.4s-%s", kind, name);
    for (int i = 0; i < d->config_count; ++i)
        if (strcmp(d->configs[i].row.name, whole) == 0 && is_fitted(d, i))
            return &d->configs[i];
    return NULL;
}

static int print_costs(struct data *d, const char *kind, const char *path)
{
    char line[256], name[64], quoted[80];
    struct plumb_cost c;
    int trusted;
    FILE *table = open_table(path);
    if (!table)
        return -1;
    fit_all(d, -1);
    while (fgets(line, sizeof line, table)) {
        const struct sweep_config *row =
            read_row(name, &c, &trusted, line) ? config_of(d, kind, name) : NULL;
        if (!row) { // a row that no list has stays as it is
            fputs(line, stdout);
            continue;
        }
        c = row->cost;
        snprintf(quoted, sizeof quoted, "\"%s\",", name);
        printf("%s(%-44s %5.0f, %5.0f, %8.0f, %6.0f)\n", row->candidate ? "ROW" : "TRY", quoted,
               c.slab, c.tile, c.elements, c.launch);
    }
    fclose(table);
    return 0;
}

static int print_usage(void)
{
    fprintf(stderr, "usage: fit report|picks KIND FILE.csv...\n"
                    "       fit costs|trial KIND TABLE FILE.csv...\n");
    return 4;
}

int main(int argc, char **argv)
{
    static struct data d;
    const char *verb = argc > 3 ? argv[1] : "";
    const int trial = strcmp(verb, "trial") == 0, costs = strcmp(verb, "costs") == 0;
    const int first = trial || costs ? 4 : 3;
    char **paths = argv + first;
    int lists = 0, failed = 0;
    if ((first == 3 && strcmp(verb, "report") != 0 && strcmp(verb, "picks") != 0) || argc <= first)
        return print_usage();
    d.fitted = argc - first;
    for (int i = first; i < argc; ++i) {
        if (strcmp(argv[i], "--") == 0) {
            d.fitted = lists;
            continue;
        }
        if (times_read(&d, argv[2], argv[i], lists))
            return 4;
        paths[lists++] = argv[i];
    }
    if (d.count == 0) {
        fprintf(stderr, "no times of kind %s in these files; sweep time writes them\n", argv[2]);
        return 4;
    }
    times_weigh(&d);
    if (strcmp(verb, "report") == 0)
        report(&d, paths, lists);
    else if (strcmp(verb, "picks") == 0)
        print_picks(&d, argv[2]);
    else if (trial)
        failed = take_costs(&d, argv[2], argv[3]) || print_trial(&d, paths, lists);
    else
        failed = print_costs(&d, argv[2], argv[3]);
    free(d.samples);
    return failed ? 4 : 0;
}
