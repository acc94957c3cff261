// SPDX-License-Identifier: Apache-2.0
//
// Fits the constants of model/predict/hopper.h to measured rows:
//     fit_hopper [--folds] [--only BEGINNING[,...]] [--whole WEIGHT] GPU ROWS.csv...
// Files are those of the lists `fit`, `drawn`, `aligned` and `odd`, which nothing is judged on.
// Prints the list of constants as the header has it, and per class of kernel the residuals that
// band_of() stands for. With --folds those are of problems left out: one half of the problems is
// predicted by what the other half gave. With --only the constants whose names begin so are fitted,
// and the others are as they were.
//
// The loss is log(1 + (x / 0.05)^2) of x = log(predicted / measured) less the kernel's bias, and
// 0.15 (or WEIGHT) of that of x itself; rows more than 2 (1.3) times slower than the best of their
// problem weigh 0.7 (0.85). Damped Gauss-Newton steps in the logarithms of the constants, with the
// weights that the loss gives each row.
#define hopper_fitted hopper_fitted_const // the model's own is replaced by one that can change
#include "model/predict/hopper.h"
#undef hopper_fitted
#include "ci/settings/rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define X(name, value) .name = (value),
struct hopper_constants hopper_fitted = {HOPPER_CONSTANTS(X)};
#undef X
const struct hopper_constants blackwell_fitted;

#define X(name, value) #name,
static const char *const names[] = {HOPPER_CONSTANTS(X)};
#undef X

enum { CONSTANTS = ARRAY_COUNT(names), STEPS = 14, CLASSES = 8 };
static const char *only = ""; // names of what is fitted begin so; commas are between beginnings
static double whole_weight = 0.15;
static const double scale = 0.05, prior = 30, shift = 0.01;

struct fit_row {
    struct row row;
    char problem[PROBLEM_TEXT], kernel[KERNEL_NAME_TEXT];
    double measured_ns, weight;
    size_t kernel_index;
    int fold, class;
};

struct fit_rows {
    struct fit_row *items;
    size_t count, room, kernels;
};

static double *constant(size_t i)
{
    return (double *)(void *)&hopper_fitted + i;
}

// As band_of() of hopper.c has them; the second half is of uneven rows.
static int class_of(const struct fit_row *s, const struct hopper_breakdown *b)
{
    const struct traits *t = &s->row.traits;
    const bool alone =
        t->overlap != OVERLAP_PINGPONG && (t->threads > 0 ? t->threads <= 256 : b->tile_m <= 64);
    const int kind = t->split_k < 0                  ? 3
                     : t->split_k > 1                ? 2
                     : alone || b->blocks_per_sm > 1 ? 1
                                                     : 0;
    return 2 * kind + !b->even;
}

static int read_rows(struct fit_rows *out, const char *path, const struct gpu *gpu)
{
    struct csv csv = {0};
    struct error err;
    if (rows_open(&csv, path, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return -1;
    }
    const struct row defaults = {.input.gpu = gpu};
    struct rows_table table;
    rows_find_columns(&table, &csv, path);
    for (size_t i = 0; i < csv.count; i++) {
        struct fit_row s = {0};
        struct hopper_breakdown b;
        double us = 0;
        if (row_read(&s.row, &table, i, &defaults, &err) || row_measured(&us, &table, i, &err)) {
            fprintf(stderr, "%s\n", err.text);
            csv_free(&csv);
            return -1;
        }
        s.measured_ns = us * 1e3;
        if (!(us > 0) || s.row.traits.tile_m <= 0 || hopper(&b, row_input(&s.row)))
            continue;
        problem_format(s.problem, &s.row.problem);
        text_copy(s.kernel, sizeof(s.kernel), s.row.kernel);
        s.class = class_of(&s, &b);
        if (out->count == out->room) {
            out->room = out->room * 2 + 1024;
            out->items = xrealloc(out->items, out->room, sizeof(*out->items));
        }
        out->items[out->count++] = s;
    }
    csv_free(&csv);
    return 0;
}

static int by_problem(const void *a, const void *b)
{
    return strcmp(((const struct fit_row *)a)->problem, ((const struct fit_row *)b)->problem);
}

static int by_kernel(const void *a, const void *b)
{
    return strcmp(((const struct fit_row *)a)->kernel, ((const struct fit_row *)b)->kernel);
}

// Weights by the best of each problem, folds by problem, numbers by kernel.
static void arrange(struct fit_rows *all)
{
    struct fit_row *s = all->items;
    int fold = 0;
    qsort(s, all->count, sizeof(*s), by_problem);
    for (size_t begin = 0, end; begin < all->count; begin = end, fold = !fold) {
        double best = s[begin].measured_ns;
        for (end = begin; end < all->count && !by_problem(&s[begin], &s[end]); end++)
            best = fmin(best, s[end].measured_ns);
        for (size_t i = begin; i < end; i++) {
            const double slower = s[i].measured_ns / best;
            s[i].weight = slower > 2 ? 0.7 : slower > 1.3 ? 0.85 : 1;
            s[i].fold = fold;
        }
    }
    qsort(s, all->count, sizeof(*s), by_kernel);
    for (size_t i = 0; i < all->count; i++) {
        all->kernels += i > 0 && by_kernel(&s[i - 1], &s[i]) != 0;
        s[i].kernel_index = all->kernels;
    }
    all->kernels++;
}

static void residuals(double *x, struct fit_rows *all)
{
    for (size_t i = 0; i < all->count; i++) {
        struct hopper_breakdown b;
        x[i] = hopper(&b, row_input(&all->items[i].row))
                   ? 0
                   : log(b.time_ns / all->items[i].measured_ns);
    }
}

// Weighted means of each kernel's residuals, the weights as the loss has them; two further rows of
// zero stand for what is expected of a kernel.
static void biases(double *bias, const double *x, const struct fit_rows *all, int left_out)
{
    double *sum = xcalloc(all->kernels, sizeof(*sum)), *of = xcalloc(all->kernels, sizeof(*of));
    memset(bias, 0, all->kernels * sizeof(*bias));
    for (int turn = 0; turn < 6; turn++) {
        for (size_t k = 0; k < all->kernels; k++)
            sum[k] = 0, of[k] = 2;
        for (size_t i = 0; i < all->count; i++) {
            const struct fit_row *s = &all->items[i];
            const double left = (x[i] - bias[s->kernel_index]) / scale;
            if (s->fold == left_out)
                continue;
            sum[s->kernel_index] += s->weight / (1 + left * left) * x[i];
            of[s->kernel_index] += s->weight / (1 + left * left);
        }
        for (size_t k = 0; k < all->kernels; k++)
            bias[k] = sum[k] / of[k];
    }
    free(sum);
    free(of);
}

static double loss(const double *x, const double *bias, const struct fit_rows *all, int left_out)
{
    double sum = 0;
    for (size_t i = 0; i < all->count; i++) {
        const struct fit_row *s = &all->items[i];
        const double left = (x[i] - bias[s->kernel_index]) / scale, whole = x[i] / scale;
        if (s->fold != left_out)
            sum += s->weight * (log1p(left * left) + whole_weight * log1p(whole * whole));
    }
    return sum;
}

struct equations {
    double a[CONSTANTS][CONSTANTS], b[CONSTANTS];
};

static void add_row(struct equations *e, const double *slope, double residual, double weight)
{
    for (size_t i = 0; i < CONSTANTS; i++) {
        e->b[i] -= weight * slope[i] * residual;
        for (size_t j = 0; j <= i; j++)
            e->a[i][j] += weight * slope[i] * slope[j];
    }
}

// Cholesky, in place; the answer is left in b.
static void solve(struct equations *e)
{
    for (size_t i = 0; i < CONSTANTS; i++) {
        for (size_t j = 0; j <= i; j++) {
            double sum = e->a[i][j];
            for (size_t k = 0; k < j; k++)
                sum -= e->a[i][k] * e->a[j][k];
            e->a[i][j] = i == j ? sqrt(fmax(sum, 1e-12)) : sum / e->a[j][j];
        }
        for (size_t k = 0; k < i; k++)
            e->b[i] -= e->a[i][k] * e->b[k];
        e->b[i] /= e->a[i][i];
    }
    for (size_t i = CONSTANTS; i-- > 0;) {
        for (size_t k = i + 1; k < CONSTANTS; k++)
            e->b[i] -= e->a[k][i] * e->b[k];
        e->b[i] /= e->a[i][i];
    }
}

static bool is_fitted(const char *name)
{
    for (const char *at = only;; at += strcspn(at, ",") + 1) {
        const size_t length = strcspn(at, ",");
        if (strncmp(name, at, length) == 0)
            return true;
        if (!at[length])
            return false;
    }
}

// slopes[i * CONSTANTS + c]: of row i's residual by the logarithm of constant c.
static void slopes_of(double *slopes, const double *x, struct fit_rows *all)
{
    double *moved = xcalloc(all->count, sizeof(*moved));
    for (size_t c = 0; c < CONSTANTS; c++) {
        const double before = *constant(c);
        if (!is_fitted(names[c]))
            continue; // of no slope, so that no step moves it
        *constant(c) = before * exp(shift);
        residuals(moved, all);
        *constant(c) = before;
        for (size_t i = 0; i < all->count; i++)
            slopes[i * CONSTANTS + c] = (moved[i] - x[i]) / shift;
    }
    free(moved);
}

// One step; kernels' own factors are free, so slopes count against their mean.
static void direction(struct equations *e, const double *slopes, const double *x,
                      const double *bias, const struct fit_rows *all, int left_out)
{
    double(*mean)[CONSTANTS] = xcalloc(all->kernels, sizeof(*mean));
    double *of = xcalloc(all->kernels, sizeof(*of)), against[CONSTANTS];
    memset(e, 0, sizeof(*e));
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < all->count; i++) {
            const struct fit_row *s = &all->items[i];
            const double left = (x[i] - bias[s->kernel_index]) / scale, whole = x[i] / scale;
            const double weight = s->weight / (1 + left * left);
            const double *slope = slopes + i * CONSTANTS;
            if (s->fold == left_out)
                continue;
            of[s->kernel_index] += pass ? 0 : weight;
            for (size_t c = 0; c < CONSTANTS; c++) {
                if (!pass)
                    mean[s->kernel_index][c] += weight * slope[c];
                against[c] = slope[c] - mean[s->kernel_index][c] / (of[s->kernel_index] + 2);
            }
            if (pass) {
                add_row(e, against, left * scale, weight);
                add_row(e, slope, x[i], s->weight * whole_weight / (1 + whole * whole));
            }
        }
    }
    free(mean);
    free(of);
}

static void fit(struct fit_rows *all, int left_out)
{
    double *x = xcalloc(all->count, sizeof(*x)), *bias = xcalloc(all->kernels, sizeof(*bias));
    double *slopes = xcalloc(all->count * CONSTANTS, sizeof(*slopes)), damping = prior;
    struct equations *e = xcalloc(1, sizeof(*e));
    residuals(x, all);
    biases(bias, x, all, left_out);
    double least = loss(x, bias, all, left_out);
    for (int step = 0; step < STEPS; step++) {
        const struct hopper_constants before = hopper_fitted;
        slopes_of(slopes, x, all);
        direction(e, slopes, x, bias, all, left_out);
        for (size_t c = 0; c < CONSTANTS; c++)
            e->a[c][c] += damping;
        solve(e);
        for (size_t c = 0; c < CONSTANTS; c++)
            *constant(c) *= exp(fmax(-0.3, fmin(0.3, e->b[c])));
        residuals(x, all);
        biases(bias, x, all, left_out);
        const double now = loss(x, bias, all, left_out);
        fprintf(stderr, "step %d: loss %.1f\n", step, now);
        damping *= now < least ? 0.5 : 8;
        if (now < least) {
            least = now;
            continue;
        }
        hopper_fitted = before;
        residuals(x, all);
        biases(bias, x, all, left_out);
    }
    free(x);
    free(bias);
    free(slopes);
    free(e);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_classes(const double *x, const double *bias, const struct fit_rows *all)
{
    static const char *const kinds[] = {"wide", "narrow", "split", "stream"};
    double *plain = xcalloc(all->count, sizeof(*plain)), *less = xcalloc(all->count, sizeof(*less));
    for (int class = 0; class < CLASSES; class ++) {
        size_t count = 0;
        for (size_t i = 0; i < all->count; i++) {
            if (all->items[i].class != class)
                continue;
            plain[count] = fabs(x[i]);
            less[count++] = fabs(x[i] - bias[i]);
        }
        if (count == 0)
            continue;
        qsort(plain, count, sizeof(*plain), by_value);
        qsort(less, count, sizeof(*less), by_value);
        const size_t at68 = count * 68 / 100, at95 = count * 95 / 100;
        printf("// %-6s %-6s rows %5zu, q68 %.3f, q95 / 2 %.3f, band %.3f; less the bias %.3f\n",
               kinds[class / 2], class % 2 ? "uneven" : "even", count, plain[at68], plain[at95] / 2,
               (plain[at68] + plain[at95] / 2) / 2, (less[at68] + less[at95] / 2) / 2);
    }
    free(plain);
    free(less);
}

int main(int argc, char **argv)
{
    const bool folds = argc > 1 && strcmp(argv[1], "--folds") == 0;
    int first = 1 + folds;
    if (argc > first + 1 && strcmp(argv[first], "--only") == 0) {
        only = argv[first + 1];
        first += 2;
    }
    if (argc > first + 1 && strcmp(argv[first], "--whole") == 0) {
        whole_weight = strtod(argv[first + 1], NULL);
        first += 2;
    }
    const struct gpu *gpu = argc > first + 1 ? gpu_find(argv[first]) : NULL;
    struct fit_rows all = {0};
    if (!gpu) {
        fprintf(stderr, "fit_hopper [--folds] [--only BEGINNING[,...]] [--whole WEIGHT] GPU "
                        "ROWS.csv...\n");
        return 4;
    }
    for (int i = first + 1; i < argc; i++) {
        if (read_rows(&all, argv[i], gpu))
            return 4;
    }
    arrange(&all);
    double *x = xcalloc(all.count, sizeof(*x)), *of_fold = xcalloc(all.count, sizeof(*x));
    double *bias = xcalloc(all.kernels, sizeof(*bias)), *of_row = xcalloc(all.count, sizeof(*x));
    const struct hopper_constants before = hopper_fitted;
    for (int fold = folds ? 0 : -1; fold < (folds ? 2 : 0); fold++) {
        hopper_fitted = before;
        fit(&all, fold);
        residuals(of_fold, &all);
        biases(bias, of_fold, &all, fold);
        for (size_t i = 0; i < all.count; i++) {
            if (fold < 0 || all.items[i].fold == fold)
                x[i] = of_fold[i], of_row[i] = bias[all.items[i].kernel_index];
        }
    }
    for (size_t c = 0; c < CONSTANTS && !folds; c++)
        printf("    X(%s, %.4g)\n", names[c], *constant(c));
    print_classes(x, of_row, &all);
    free(x);
    free(of_fold);
    free(bias);
    free(of_row);
    free(all.items);
    return 0;
}
