// SPDX-License-Identifier: Apache-2.0
//
// bench_links [CODES [links|gates [SEED [ROW]]]]: what histories by links say where the truth is
// known. Series of CODES codes (100 when not said), 12,000 codes a row, each linked with those 1, 8
// and 64 codes before it as a plain run does it (ci/gate/linking_doubts.c), 32 codes at once, or a
// 16th of all; `gates`: each link a whole gate. ROW: this one alone, from 1. One in 50 is 0.4
// to 2.4 % slower or faster than the one before. A gate's pairs scatter by 0.4 %, its processes by
// 0.03 %, and every link misses by what pairs cannot see, drawn once for each: of this SD, with
// normal tails or those of Student's t, and here and there a misfit.
//
// A row says how many in 10,000 links of equal codes the gate called slower or faster, and how many
// of those an event confirms (ci/history/history_links.c); how
// many of the changed are; which share of what is confirmed is false; and how often the intervals
// of neighbours, and those of levels, hold the truth; what a link took; how many misfits are set
// aside; and the mean square of an eighth of a series, in standard errors. A level has the errors
// of all before it, so those of one series are off together and few series say little of them;
// eighths are nearly independent, and their mean square is 1 where intervals are right.
#include "model/gate/gate.h"
#include "model/history/event.h"
#include "model/history/levels.h"
#include "tests/helpers/helper_random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CODES_MOST = 10000,
    CODES_A_ROW = 12000,
    SERIES_A_ROW = 12, // at least
    DEGREES = 3,
    LINKS_MOST = 6 * CODES_MOST,
    AT_ONCE = 32, // at least
    LOTS = 16,
    EIGHTHS = 8
};
static const double seldom = 0.01;

struct nature {
    const char *what;
    double unseen, misfits, misfit; // SD, a share of the links, a log ratio
    bool tails;                     // of t with DEGREES
};
static const struct nature natures[] = {
    {"0.05 %", 0.0005, 0, 0, false},
    {"0.1 %", 0.001, 0, 0, false},
    {"0.15 %", 0.0015, 0, 0, false},
    {"0.2 %", 0.002, 0, 0, false},
    {"0.1 %, tails of t", 0.001, 0, 0, true},
    {"0.1 %, misfits: 1 in 100 of 1 %", 0.001, 0.01, 0.01, false},
    {"0.1 %, misfits: 3 in 100 of 3 %", 0.001, 0.03, 0.03, false},
    {"0.1 %, misfits: 5 in 100 of 1 %", 0.001, 0.05, 0.01, false},
    {"0.1 %, misfits: 5 in 100 of 3 %", 0.001, 0.05, 0.03, false},
};

struct counts {
    double equal, alarms, confirmed; // of equal codes
    double changed, changed_confirmed;
    double held[2], level_held[2]; // of the intervals of 95 and of 99 %
    double links, pairs, processes;
    double wrong, wrong_aside; // misfits
    double squares, eighths;   // of their errors, in standard errors
};

// A link that was measured.
struct made {
    size_t from, to;
    enum verdict_kind kind;
    bool again; // its codes were measured once more
    bool wrong; // a misfit
};

struct simulation {
    const struct nature *is;
    size_t codes;
    bool gates, wrong; // wrong: what was missed last is a misfit
    struct gate_policy policy;
    struct made made[LINKS_MOST];
    struct random random;
    struct levels *levels;
    double truth[CODES_MOST];
    bool changed[CODES_MOST], alarm[CODES_MOST];
    size_t link[CODES_MOST]; // of each code with the one before
    struct counts counts;
};

static double missed(struct simulation *s)
{
    double value = s->is->unseen * random_normal(&s->random), square = 0;
    for (int i = 0; s->is->tails && i < DEGREES; i++)
        square += pow(random_normal(&s->random), 2);
    if (s->is->tails)
        value /= sqrt(square / DEGREES) * sqrt(DEGREES / (DEGREES - 2.0)); // the SD stays
    s->wrong = random_uniform(&s->random) < s->is->misfits;
    if (s->wrong)
        value += random_uniform(&s->random) < 0.5 ? -s->is->misfit : s->is->misfit;
    return value;
}

// Two codes that are so far apart.
static struct gate_decision played(struct level_link *out, struct simulation *s, double apart,
                                   enum gate_use use)
{
    struct arena arena = {0};
    struct gate_series series;
    struct gate_policy policy = s->policy;
    gate_policy_use(&policy, s->gates ? GATE_FOR_VERDICT : use, levels_prior.sd);
    double sum = 0, squares = 0, count = 0, process = 0.0003 * random_normal(&s->random);
    gate_series_init(&series, &policy, &arena);
    struct gate_decision d = gate_series_decide(&series);
    for (; d.next != GATE_DONE; d = gate_series_decide(&series)) {
        double block[64];
        if (d.next == GATE_CONFIRM) {
            gate_series_fresh_process(&series);
            process = 0.0003 * random_normal(&s->random);
        }
        for (uint32_t i = 0; i < s->policy.block_pairs; i++) {
            block[i] = apart + process + 0.004 * random_normal(&s->random);
            sum += block[i];
            squares += block[i] * block[i];
            count++;
        }
        gate_series_add(&series, block, s->policy.block_pairs);
    }
    out->log_ratio = sum / count;
    out->error = sqrt((squares / count - out->log_ratio * out->log_ratio) / count);
    s->counts.links++;
    s->counts.pairs += count;
    s->counts.processes += d.processes;
    arena_free(&arena);
    return d;
}

static struct gate_decision add_link(struct simulation *s, size_t from, size_t to)
{
    struct level_link link = {.from = from, .to = to};
    const struct gate_decision d = played(&link, s, s->truth[to] - s->truth[from] + missed(s),
                                          to - from == 1 ? GATE_FOR_CHANGE : GATE_FOR_LEVEL);
    s->made[s->levels->links] = (struct made){from, to, d.kind, false, s->wrong};
    levels_add(s->levels, &link);
    return d;
}

static void add_code(struct simulation *s, size_t code)
{
    static const size_t backs[] = {1, 8, 64};
    const double step = 0.004 + 0.02 * random_uniform(&s->random);
    s->changed[code] = random_uniform(&s->random) < 0.02;
    s->truth[code] = s->truth[code - 1];
    if (s->changed[code])
        s->truth[code] += random_uniform(&s->random) < 0.5 ? -step : step;
    s->link[code] = s->levels->links;
    for (size_t i = 0; i < ARRAY_COUNT(backs) && backs[i] <= code; i++) {
        const struct gate_decision d = add_link(s, code - backs[i], code);
        if (i > 0)
            continue;
        s->alarm[code] = d.kind == VERDICT_SLOWER || d.kind == VERDICT_FASTER;
    }
}

static void close_levels(struct simulation *s)
{
    struct error err;
    if (levels_close(s->levels, &levels_prior, &err)) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
}

static bool is_doubtful(const struct simulation *s, size_t link)
{
    const struct made *m = &s->made[link];
    bool claimed = m->kind != VERDICT_SLOWER && m->kind != VERDICT_FASTER;
    if (m->to - m->from == 1 || m->again)
        return false;
    for (size_t code = m->from + 1; code <= m->to; code++)
        claimed |= s->made[s->link[code]].kind == m->kind;
    return !claimed || levels_fit_chance(s->levels, link) < seldom;
}

// Those of the links since `first` that are doubtful are measured once more.
static void ask_again(struct simulation *s, size_t first)
{
    static bool doubtful[LINKS_MOST];
    const size_t end = s->levels->links;
    if (s->gates)
        return;
    close_levels(s);
    for (size_t i = first; i < end; i++)
        doubtful[i] = is_doubtful(s, i);
    for (size_t i = first; i < end; i++) {
        if (!doubtful[i])
            continue;
        add_link(s, s->made[i].from, s->made[i].to);
        s->made[i].again = s->made[s->levels->links - 1].again = true;
    }
}

static void count(struct simulation *s, size_t code, const double *errors, const double reach[2])
{
    struct counts *c = &s->counts;
    double size, error;
    levels_between(&size, &error, s->levels, code - 1, code);
    const bool sure = s->alarm[code] && s->levels->fit[s->link[code]] == LINK_FITS &&
                      levels_link_chance(s->levels, s->link[code], size / error) < 0.0001;
    *(s->changed[code] ? &c->changed : &c->equal) += 1;
    *(s->changed[code] ? &c->changed_confirmed : &c->confirmed) += sure;
    c->alarms += !s->changed[code] && s->alarm[code];
    for (int i = 0; i < 2; i++) {
        c->held[i] += fabs(size - (s->truth[code] - s->truth[code - 1])) <= reach[i] * error;
        c->level_held[i] +=
            fabs(s->levels->level[code] - s->truth[code]) <= reach[i] * errors[code];
    }
}

static void count_eighths(struct simulation *s)
{
    double size, error;
    for (size_t i = 0; i < EIGHTHS; i++) {
        const size_t from = i * (s->codes - 1) / EIGHTHS, to = (i + 1) * (s->codes - 1) / EIGHTHS;
        levels_between(&size, &error, s->levels, from, to);
        if (from < to)
            s->counts.squares += pow((size - (s->truth[to] - s->truth[from])) / error, 2);
        s->counts.eighths += from < to;
    }
}

static void run_series(struct simulation *s)
{
    double errors[CODES_MOST];
    const size_t lot = s->codes / LOTS > AT_ONCE ? s->codes / LOTS : AT_ONCE;
    size_t asked = 0;
    s->levels = levels_new();
    s->truth[0] = 0;
    for (size_t i = 1; i < s->codes; i++) {
        add_code(s, i);
        if (i % lot && i + 1 < s->codes)
            continue;
        ask_again(s, asked);
        asked = s->levels->links;
    }
    close_levels(s);
    levels_errors(errors, s->levels);
    for (size_t i = 0; i < s->levels->links; i++) {
        s->counts.wrong += s->made[i].wrong;
        s->counts.wrong_aside += s->made[i].wrong && s->levels->fit[i] == LINK_ASIDE;
    }
    const double reach[] = {levels_reach(s->levels, 0.95), levels_reach(s->levels, 0.99)};
    for (size_t i = 1; i < s->codes; i++)
        count(s, i, errors, reach);
    count_eighths(s);
    levels_free(s->levels);
}

static void print_row(const struct nature *is, size_t codes, bool gates, uint64_t seed)
{
    struct simulation *s = xcalloc(1, sizeof(*s));
    *s = (struct simulation){.is = is,
                             .codes = codes,
                             .gates = gates,
                             .policy = gate_policy_default("cuda", 183e3),
                             .random = {seed}};
    for (size_t i = 0; i < CODES_A_ROW / codes || i < SERIES_A_ROW; i++)
        run_series(s);
    const struct counts *c = &s->counts;
    const double all = c->equal + c->changed, confirmed = c->confirmed + c->changed_confirmed;
    printf("| %s | %.1f | %.1f | %.0f of %.0f | %.3f | %.3f, %.3f | %.3f, %.3f | "
           "%.1f, %.2f | %.0f of %.0f | %.2f |\n",
           is->what, 1e4 * c->alarms / c->equal, 1e4 * c->confirmed / c->equal,
           c->changed_confirmed, c->changed, confirmed > 0 ? c->confirmed / confirmed : 0,
           c->held[0] / all, c->held[1] / all, c->level_held[0] / all, c->level_held[1] / all,
           c->pairs / c->links, c->processes / c->links, c->wrong_aside, c->wrong,
           c->squares / c->eighths);
    fflush(stdout);
    free(s);
}

int main(int argc, char **argv)
{
    int64_t codes = 100, seed = 2026, row = 0;
    const bool gates = argc > 2 && strcmp(argv[2], "gates") == 0;
    if (argc > 5 || (argc > 2 && !gates && strcmp(argv[2], "links") != 0) ||
        (argc > 3 && parse_int64(&seed, argv[3])) || (argc > 4 && parse_int64(&row, argv[4])) ||
        (argc > 1 && (parse_int64(&codes, argv[1]) || codes < 2 || codes > CODES_MOST))) {
        fprintf(stderr, "bench_links [CODES [links|gates [SEED [ROW]]]]: a number from 2 to %d\n",
                CODES_MOST);
        return 1;
    }
    puts("| what pairs cannot see | alarms | confirmed | of the changed | false | "
         "neighbours 95, 99 % | levels 95, 99 % | "
         "pairs, processes a link | misfits set aside | eighths "
         "|\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    for (size_t i = 0; i < ARRAY_COUNT(natures); i++) {
        if (row > 0 && i + 1 != (size_t)row)
            continue;
        print_row(&natures[i], (size_t)codes, gates, (uint64_t)seed);
    }
    return 0;
}
