// SPDX-License-Identifier: Apache-2.0
//
// Other tools' rules on the data of a study with kernels that really are slower, at equal device
// time, beside what the gate itself said of the same kernels.
//     bench_rules SAMPLES.csv [--svg FILE] GATES.csv...
// SAMPLES.csv: `plumb study --exact-pairs N --samples`; GATES.csv: `plumb study --csv`, whole
// gates.
//
// A trial of a rule draws recorded processes in random order, begins each at a random pair, swaps
// the builds of a process by a coin where both are the same, and takes as many pairs as the gates
// of that series and effect took on average. "Separate" gives it the base of one process and the
// head of another, as tools do that compare two stored results. Trials share the recorded
// processes: their rates are over resampled data, those of the gate over fresh runs.
#include "model/gate/gate.h"
#include "tests/helpers/helper_duets.h"
#include "tests/helpers/helper_peers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRIALS = 1000, CELLS_MOST = 64 };

// Gates of one series and effect, as they came out.
struct cell {
    const struct duet_series *null, *changed; // changed NULL: the A/A gates of the series
    size_t gates, alarms, pairs;
};

struct cells {
    struct cell items[CELLS_MOST];
    size_t count;
};

static const struct duet_series *find(const struct duets *data, const char *shape,
                                      const char *variant)
{
    for (size_t i = 0; i < data->count; i++) {
        if (strcmp(data->series[i].shape, shape) == 0 &&
            strcmp(data->series[i].variant, variant) == 0)
            return &data->series[i];
    }
    return NULL;
}

static void list_cells(struct cells *out, const struct duets *data)
{
    for (size_t i = 0; i < data->count && out->count < CELLS_MOST; i++) {
        const struct duet_series *s = &data->series[i], *null = find(data, s->shape, "same");
        if (null)
            out->items[out->count++] = (struct cell){null, s == null ? NULL : s, 0, 0, 0};
    }
}

static void count_gate(struct cells *cells, const char *shape, const char *variant,
                       const char *verdict, size_t pairs)
{
    for (size_t i = 0; i < cells->count; i++) {
        struct cell *c = &cells->items[i];
        const char *own = c->changed ? c->changed->variant : "same";
        if (strcmp(c->null->shape, shape) != 0 || strcmp(own, variant) != 0)
            continue;
        c->gates++;
        c->pairs += pairs;
        c->alarms += strcmp(verdict, "slower") == 0 || strcmp(verdict, "faster") == 0;
    }
}

// kind,kernel,problem,round,verdict,alarmed,pairs,...
static int read_gates(struct cells *cells, const char *path)
{
    char line[1024], kind[16], kernel[64], problem[64], verdict[16], shape[64], variant[32];
    unsigned round, alarmed, pairs;
    FILE *file = fopen(path, "r");
    if (!file)
        return -1;
    while (fgets(line, sizeof(line), file)) {
        if (sscanf(line, "%15[^,],%63[^,],%63[^,],%u,%15[^,],%u,%u,", kind, kernel, problem, &round,
                   verdict, &alarmed, &pairs) != 7)
            continue; // the header
        char *effect = strrchr(kernel, '_');
        if (!effect || strcmp(kind, "faster") == 0)
            continue;
        *effect++ = '\0';
        snprintf(shape, sizeof(shape), "%.20s %.40s", kernel, problem);
        snprintf(variant, sizeof(variant), "%.15s %.15s", kind, effect);
        count_gate(cells, shape, strcmp(kind, "aa") == 0 ? "same" : variant, verdict, pairs);
    }
    return fclose(file);
}

static size_t mean_pairs(const struct cell *c)
{
    return c->gates ? (c->pairs + c->gates - 1) / c->gates : 64;
}

static void draw_scores(double *out, const struct duet_series *s, const struct peer *peer,
                        size_t pairs, bool separate)
{
    struct draw draw = draw_new(s);
    struct random random = {20261121};
    for (size_t t = 0; t < TRIALS; t++) {
        draw_trial(&draw, s, 0, separate, &random);
        // Two runs are two processes; more of them would be another tool.
        size_t room = separate ? draw.end[0] : draw.end[draw.processes - 1];
        struct peer_data data = {draw.base, draw.head, pairs < room ? pairs : room};
        out[t] = peer->score(&data);
    }
    draw_free(&draw);
}

static double share_above(const double *scores, double limit)
{
    size_t above = 0;
    for (size_t t = 0; t < TRIALS; t++)
        above += scores[t] >= limit;
    return (double)above / TRIALS;
}

// ---- the table ----

static void print_gate(const struct cells *cells)
{
    printf("%-36s%-12s%14s%10s%8s\n", "series", "effect", "gate's alarms", "of gates", "pairs");
    for (size_t i = 0; i < cells->count; i++) {
        const struct cell *c = &cells->items[i];
        printf("%-36s%-12s%14zu%10zu%8zu\n", c->null->shape,
               c->changed ? c->changed->variant : "none", c->alarms, c->gates, mean_pairs(c));
    }
}

static void print_peer(const struct cells *cells, const struct peer *peer, bool separate)
{
    double *scores = xcalloc(TRIALS, sizeof(*scores));
    printf("%-18s%-12s", peer->name, separate ? "separate" : "interleaved");
    for (size_t i = 0; i < cells->count; i++) {
        const struct cell *c = &cells->items[i];
        draw_scores(scores, c->changed ? c->changed : c->null, peer, mean_pairs(c), separate);
        printf("%7.3f", share_above(scores, peer->limit));
    }
    printf("\n");
    free(scores);
}

static void print_table(const struct cells *cells)
{
    print_gate(cells);
    printf("\nshare of trials with an alarm, in the order of the rows above\n%-30s", "the gate");
    for (size_t i = 0; i < cells->count; i++) {
        const struct cell *c = &cells->items[i];
        printf("%7.3f", c->gates ? (double)c->alarms / (double)c->gates : NAN);
    }
    printf("\n");
    for (size_t i = 0; i < 2 * peer_count; i++) {
        const bool separate = i >= peer_count;
        if (!separate || !peers[i % peer_count].paired)
            print_peer(cells, &peers[i % peer_count], separate);
    }
}

// ---- the figure: all series together ----

enum { WIDTH = 860, HEIGHT = 460, LEFT = 60, TOP = 20, PLOT_W = 430, PLOT_H = 380 };

static const double least_rate = 1e-3;

static double x_of(double rate)
{
    return LEFT + PLOT_W * (1 - log10(fmax(rate, least_rate)) / log10(least_rate));
}

static double y_of(double rate)
{
    return TOP + PLOT_H * (1 - rate);
}

// The effects that the gate shall find: half a percent above 100 us, one below.
static bool is_target(const struct cell *c)
{
    if (!c->changed)
        return false;
    const bool small = strncmp(c->null->shape, "latency", 7) == 0;
    return strcmp(c->changed->variant, small ? "slower 0100" : "slower 0050") == 0;
}

static void draw_axes(FILE *f)
{
    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            WIDTH, HEIGHT);
    for (int power = -3; power <= 0; power++) {
        const double x = x_of(pow(10, power));
        fprintf(f, "<path d=\"M%.1f %dV%d\" stroke=\"#ddd\"/>", x, TOP, TOP + PLOT_H);
        fprintf(f, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g %%</text>\n", x,
                TOP + PLOT_H + 18, 100 * pow(10, power));
    }
    for (int i = 0; i <= 5; i++) {
        const double y = y_of(0.2 * i);
        fprintf(f, "<path d=\"M%d %.1fH%d\" stroke=\"#ddd\"/>", LEFT, y, LEFT + PLOT_W);
        fprintf(f, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%d %%</text>\n", LEFT - 6, y + 4,
                20 * i);
    }
    fprintf(f,
            "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">false alarms on identical code (0.1 %% "
            "and less at the left edge)</text>\n"
            "<text transform=\"translate(14 %d) rotate(-90)\" text-anchor=\"middle\">found of 0.5 "
            "%% (large) and 1 %% (small kernels)</text>\n",
            LEFT + PLOT_W / 2, TOP + PLOT_H + 40, TOP + PLOT_H / 2);
}

static void legend(FILE *f, size_t row, const char *colour, const char *dash, const char *name,
                   double found, double wrong)
{
    const int x = LEFT + PLOT_W + 16, y = TOP + 14 + 22 * (int)row;
    fprintf(f,
            "<path d=\"M%d %dh24\" stroke=\"%s\" stroke-width=\"2\" stroke-dasharray=\"%s\"/>"
            "<text x=\"%d\" y=\"%d\">%s: %.0f %%, false %.2g %%</text>\n",
            x, y - 4, colour, dash, x + 30, y, name, 100 * found, 100 * wrong);
}

static void draw_peer(FILE *f, const struct cells *cells, size_t index, bool separate, size_t row)
{
    static const char *const colours[] = {"#7b3294", "#c51b7d", "#1b7837", "#2166ac", "#b35806",
                                          "#878787", "#8c510a", "#01665e", "#4d4d4d"};
    const struct peer *peer = &peers[index];
    const char *colour = colours[index % ARRAY_COUNT(colours)], *dash = separate ? "4 3" : "none";
    double *null = xcalloc(TRIALS * CELLS_MOST, sizeof(*null));
    double *changed = xcalloc(TRIALS * CELLS_MOST, sizeof(*changed));
    size_t n = 0;
    for (size_t i = 0; i < cells->count; i++) {
        const struct cell *c = &cells->items[i];
        if (!is_target(c))
            continue;
        draw_scores(null + n, c->null, peer, mean_pairs(c), separate);
        draw_scores(changed + n, c->changed, peer, mean_pairs(c), separate);
        n += TRIALS;
    }
    struct roc_point *points = xcalloc(2 * n + 1, sizeof(*points)), own = {0};
    const size_t count = n ? roc_points(points, null, n, changed, n) : 0;
    fprintf(f,
            "<path fill=\"none\" stroke=\"%s\" stroke-dasharray=\"%s\" stroke-width=\"1.5\" d=\"",
            colour, dash);
    double last_x = -9, last_y = -9;
    for (size_t i = 0; i < count; i++) {
        const double x = x_of(points[i].false_rate), y = y_of(points[i].true_rate);
        if (points[i].threshold >= peer->limit)
            own = points[i];
        if (fabs(x - last_x) + fabs(y - last_y) < 1 && i + 1 < count)
            continue;
        fprintf(f, "%s%.1f %.1f", i ? "L" : "M", x, y);
        last_x = x;
        last_y = y;
    }
    fprintf(f, "\"/>\n<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"/>\n",
            x_of(own.false_rate), y_of(own.true_rate), colour);
    char name[64];
    snprintf(name, sizeof(name), "%s%s", peer->name, separate ? ", separate" : "");
    legend(f, row, colour, dash, name, own.true_rate, own.false_rate);
    free(points);
    free(null);
    free(changed);
}

// Where the gates themselves were: found over gates, and the exact bound on their false alarms.
static void draw_gate(FILE *f, const struct cells *cells)
{
    size_t found = 0, gates = 0, alarms = 0, nulls = 0;
    for (size_t i = 0; i < cells->count; i++) {
        const struct cell *c = &cells->items[i];
        found += is_target(c) ? c->alarms : 0;
        gates += is_target(c) ? c->gates : 0;
        alarms += c->changed ? 0 : c->alarms;
        nulls += c->changed ? 0 : c->gates;
    }
    const double bound = study_rate_upper(alarms, nulls, 0.95);
    const double share = gates ? (double)found / (double)gates : 0;
    fprintf(f,
            "<path d=\"M%.1f %.1fH%.1f\" stroke=\"#d00\" stroke-width=\"3\"/>"
            "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"6\" fill=\"#d00\"/>\n",
            x_of(least_rate), y_of(share), x_of(bound), x_of((double)alarms / (double)nulls),
            y_of(share));
    legend(f, 0, "#d00", "none", "plumb gate", share, (double)alarms / (double)nulls);
}

static int write_figure(const struct cells *cells, const char *path)
{
    FILE *f = fopen(path, "w");
    size_t row = 1;
    if (!f)
        return -1;
    draw_axes(f);
    for (size_t i = 0; i < 2 * peer_count; i++) {
        const bool separate = i >= peer_count;
        if (!separate || !peers[i % peer_count].paired)
            draw_peer(f, cells, i % peer_count, separate, row++);
    }
    draw_gate(f, cells);
    fputs("</svg>\n", f);
    return fclose(f);
}

int main(int argc, char **argv)
{
    struct duets *data = xcalloc(1, sizeof(*data));
    struct cells cells = {0};
    const char *svg = NULL;
    struct error err;
    int failed = argc < 2;
    if (!failed && duets_read(data, argv[1], &err)) {
        fprintf(stderr, "%s\n", err.text);
        failed = 1;
    }
    list_cells(&cells, data);
    for (int i = 2; i < argc && !failed; i++) {
        if (strcmp(argv[i], "--svg") == 0 && i + 1 < argc)
            svg = argv[++i];
        else
            failed = read_gates(&cells, argv[i]);
    }
    if (failed)
        fprintf(stderr, "usage: bench_rules SAMPLES.csv [--svg FILE] GATES.csv...\n");
    else
        print_table(&cells);
    if (!failed && svg)
        failed = write_figure(&cells, svg);
    duets_free(data);
    return failed ? 2 : 0;
}
