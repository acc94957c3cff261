// SPDX-License-Identifier: Apache-2.0
//
// Any two runs side by side. The page has the two newest that fit together; page.js loads others on
// demand: compare/runs.js lists all runs, compare/N.js has the times and codes of those with ids
// from N * SITE_RUNS_PER_FILE on, compare/pairs.js what pairs of codes said.
//
// What is said of a series rests on the best that is known: the same machine code is the same
// kernel; codes that were measured side by side have that verdict; else there are two times of two
// runs, and how far a time of that series strays.
//
// Times are named by their series, not by a place in a table that is sorted anew every time, so a
// file stays as it is once its runs are there.
#include "reports/site/site_files.h"
#include "reports/site/site_parts.h"

#include "model/base.h"
#include "reports/text/clean.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- what the page loads ------------------------------------------------------------------------

enum {
    TIME_DIGITS = 6, // 1 ppm
};

// [id, kind, started_s, head, its summary, its time]
static void put_run(struct json *j, const struct site_run *run)
{
    char head[VIEW_TEXT];
    struct buffer summary = {0};
    view_short_id(head, run->head);
    clean_line(&summary, run->summary, SITE_SUMMARY);
    json_newline(j);
    json_begin(j, NULL, '[');
    json_int(j, NULL, run->id);
    json_clean(j, NULL, run_kind_name(run->kind));
    json_int(j, NULL, run->started_s);
    json_clean(j, NULL, head);
    json_clean(j, NULL, summary.bytes ? summary.bytes : "");
    json_time(j, NULL, run->commit_s);
    json_end(j, ']');
    buffer_free(&summary);
}

static void run_list(struct buffer *js, struct buffer *json, const struct site_map *map)
{
    struct json j = {.out = json};
    json_begin(&j, NULL, '[');
    for (size_t i = 0; i < map->site->run_count; i++) {
        if (site_comparable(&map->site->runs[i]))
            put_run(&j, &map->site->runs[i]);
    }
    json_end(&j, ']');
    site_wrap(js, "plumbRuns", json);
}

static bool is_measured(const double *times_ns, size_t series, size_t index, size_t runs)
{
    for (size_t r = 0; r < runs; r++) {
        if (times_ns[r * series + index] > 0)
            return true;
    }
    return false;
}

// The series that any of the runs has, then each run's times in their order.
void site_times(struct buffer *js, struct buffer *json, const struct site_map *map,
                const struct site_run *const *runs, size_t count, const double *times_ns,
                const int64_t *codes, uint64_t stamp)
{
    struct json j = {.out = json};
    size_t series = map->site->series_count, used = 0;
    size_t *columns = xcalloc(series + 1, sizeof(*columns));
    char text[32];
    snprintf(text, sizeof(text), "%016llx", (unsigned long long)stamp);
    json_begin(&j, NULL, '{');
    json_clean(&j, "stamp", text);
    json_begin(&j, "series", '[');
    for (size_t i = 0; i < series; i++) {
        char name[SITE_ANCHOR];
        if (!is_measured(times_ns, series, i, count))
            continue;
        columns[used++] = i;
        site_series_name(name, map->site, i);
        json_clean(&j, NULL, name);
    }
    json_end(&j, ']');
    json_begin(&j, "runs", '[');
    for (size_t r = 0; r < count; r++) {
        json_newline(&j);
        json_begin(&j, NULL, '{');
        json_int(&j, "id", runs[r]->id);
        json_begin(&j, "times_ns", '[');
        for (size_t k = 0; k < used; k++) {
            double time = times_ns[r * series + columns[k]];
            json_rounded(&j, NULL, time > 0 ? time : NAN, TIME_DIGITS);
        }
        json_end(&j, ']');
        json_begin(&j, "codes", '[');
        for (size_t k = 0; k < used; k++)
            json_int(&j, NULL, codes[r * series + columns[k]]);
        json_end(&j, ']');
        json_end(&j, '}');
    }
    json_end(&j, ']');
    json_end(&j, '}');
    free(columns);
    site_wrap(js, "plumbTimes", json);
}

// [series, code, code, kind, log ratio, its standard error, pairs]; the series by its place in the
// list of those that have any.
static void pair_list(struct buffer *js, struct buffer *json, const struct site *site)
{
    struct json j = {.out = json};
    int64_t used = -1;
    char name[SITE_ANCHOR];
    json_begin(&j, NULL, '{');
    json_begin(&j, "series", '[');
    for (size_t i = 0; i < site->pair_count; i++) {
        if (i && site->pairs[i].series == site->pairs[i - 1].series)
            continue;
        site_series_name(name, site, site->pairs[i].series);
        json_clean(&j, NULL, name);
    }
    json_end(&j, ']');
    json_begin(&j, "pairs", '[');
    for (size_t i = 0; i < site->pair_count; i++) {
        const struct site_pair *p = &site->pairs[i];
        used += !i || p->series != site->pairs[i - 1].series;
        json_newline(&j);
        json_begin(&j, NULL, '[');
        json_int(&j, NULL, used);
        json_int(&j, NULL, p->base);
        json_int(&j, NULL, p->head);
        json_clean(&j, NULL, verdict_kind_name(p->kind));
        json_rounded(&j, NULL, p->log_ratio, TIME_DIGITS);
        json_rounded(&j, NULL, p->error, TIME_DIGITS);
        json_int(&j, NULL, p->pairs);
        json_end(&j, ']');
    }
    json_end(&j, ']');
    json_end(&j, '}');
    site_wrap(js, "plumbPairs", json);
}

enum {
    FIRST_CHOICE = 100,
    NEAR = 200, // runs among which one like another is looked for
};

// ---- which runs ---------------------------------------------------------------------------------

bool site_comparable(const struct site_run *run)
{
    return run->revision != 0 && run->id > 0;
}

static bool is_plain(const struct site_run *run)
{
    return run->kind == RUN_MEASURE || run->kind == RUN_IMPORT;
}

// The newest one before it of the same device and another commit that measured it for itself, for
// there is most to see.
size_t site_run_before(const struct site *site, size_t run)
{
    const struct site_run *newer = &site->runs[run];
    size_t any = SIZE_MAX;
    for (size_t i = run + 1; i < site->run_count && i < run + NEAR; i++) {
        const struct site_run *r = &site->runs[i];
        if (!site_comparable(r))
            continue;
        if (is_plain(r) && r->device == newer->device && strcmp(r->head, newer->head) != 0)
            return i;
        any = any == SIZE_MAX ? i : any;
    }
    return any;
}

// The newest plain run that another is before, or else the newest; site->run_count: there is none.
static size_t newest(const struct site *site)
{
    size_t any = site->run_count;
    for (size_t i = 0; i < site->run_count; i++) {
        if (!site_comparable(&site->runs[i]))
            continue;
        if (is_plain(&site->runs[i]) && site_run_before(site, i) != SIZE_MAX)
            return i;
        any = any == site->run_count ? i : any;
    }
    return any;
}

// ---- the page -----------------------------------------------------------------------------------

static void figure_cell(struct markup *m, const char *label, double value, const char *text)
{
    page_cell(m, label, "right nowrap", value, false);
    markup_text(m, text);
    markup_end(m);
}

// Which of two runs have a time of a series. The table stands in this order, and page.js sorts by
// it.
enum share { IN_BOTH, ONLY_FIRST, ONLY_SECOND, IN_NEITHER, SHARES };

static const char *const share_words[SHARES] = {"in both", "only in the first",
                                                "only in the second", "in neither"};

static enum share share_of(double before, double after)
{
    return before > 0 ? after > 0 ? IN_BOTH : ONLY_FIRST : after > 0 ? ONLY_SECOND : IN_NEITHER;
}

// The times and codes of the two runs, one per series.
struct two_runs {
    double *times_ns[2];
    int64_t *codes[2];
};

static enum share share_at(const struct two_runs *two, size_t index)
{
    return share_of(two->times_ns[0][index], two->times_ns[1][index]);
}

// The evidence for the statement about one series.
enum basis { BY_NOTHING, BY_CODE, BY_PAIRS, BY_TIMES };
struct compared {
    enum basis basis;
    enum verdict_kind kind;
    struct interval change; // relative
    uint32_t pairs;
};

#define TWO_SIDED_95 1.96

static struct interval change_of(double log_ratio, double half)
{
    return (struct interval){expm1(log_ratio), expm1(log_ratio - half), expm1(log_ratio + half)};
}

static const struct site_pair *pair_of(const struct site *site, size_t series, int64_t a, int64_t b)
{
    size_t low = 0, high = site->pair_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (site->pairs[middle].series < series)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < site->pair_count && site->pairs[low].series == series; low++) {
        const struct site_pair *p = &site->pairs[low];
        if ((p->base == a && p->head == b) || (p->base == b && p->head == a))
            return p;
    }
    return NULL;
}

static struct compared by_pairs(const struct site_pair *p, bool forwards)
{
    struct compared c = {.basis = BY_PAIRS, .kind = p->kind, .pairs = p->pairs};
    c.change = change_of(forwards ? p->log_ratio : -p->log_ratio, TWO_SIDED_95 * p->error);
    if (!forwards && (p->kind == VERDICT_SLOWER || p->kind == VERDICT_FASTER))
        c.kind = p->kind == VERDICT_SLOWER ? VERDICT_FASTER : VERDICT_SLOWER;
    return c;
}

// Two runs met other clocks and temperatures: that they are the same, times never say.
static struct compared by_times(double before, double after, double sigma)
{
    struct compared c = {.basis = BY_TIMES, .kind = VERDICT_UNDECIDED};
    const double log_ratio = log(after / before);
    const double half = sigma > 0 ? TWO_SIDED_95 * sqrt(2) * sigma : NAN;
    c.change = change_of(log_ratio, half);
    if (log_ratio - half > 0)
        c.kind = VERDICT_SLOWER;
    else if (log_ratio + half < 0)
        c.kind = VERDICT_FASTER;
    return c;
}

// page.js says the same of other runs.
static struct compared compare(const struct site *site, const struct two_runs *two, size_t index)
{
    const double before = two->times_ns[0][index], after = two->times_ns[1][index];
    const int64_t a = two->codes[0][index], b = two->codes[1][index];
    if (share_of(before, after) != IN_BOTH)
        return (struct compared){BY_NOTHING, VERDICT_NOT_MEASURED, {NAN, NAN, NAN}, 0};
    if (a && a == b)
        return (struct compared){BY_CODE, VERDICT_SAME, change_of(log(after / before), NAN), 0};
    const struct site_pair *pair = a && b ? pair_of(site, index, a, b) : NULL;
    return pair ? by_pairs(pair, pair->base == a)
                : by_times(before, after, site->series[index].sigma);
}

static void verdict_words(char out[VIEW_TEXT], const struct compared *c)
{
    const char *kind = verdict_kind_name(c->kind);
    if (c->basis == BY_CODE)
        snprintf(out, VIEW_TEXT, "same machine code");
    else if (c->basis == BY_PAIRS)
        snprintf(out, VIEW_TEXT, "%s, %u pairs", kind, c->pairs);
    else if (c->basis == BY_TIMES)
        snprintf(out, VIEW_TEXT, "%s, by times", kind);
    else
        snprintf(out, VIEW_TEXT, "-");
}

// data-series: what the loaded times call it; page.js fills the row from them.
static void compare_row(struct site_page *p, size_t index, const struct two_runs *two)
{
    const struct site_series *s = &p->map->site->series[index];
    const struct compared c = compare(p->map->site, two, index);
    char shape[PROBLEM_TEXT], text[VIEW_TEXT], name[SITE_ANCHOR], sigma[32];
    double before = two->times_ns[0][index], after = two->times_ns[1][index];
    problem_format(shape, &s->problem);
    markup_start(p->m, "tr");
    site_series_name(name, p->map->site, index);
    markup_attr(p->m, "data-series", name);
    markup_attr(p->m, "data-device", p->map->site->devices[s->device].name);
    snprintf(sigma, sizeof(sigma), "%.6g", s->sigma);
    markup_attr(p->m, "data-sigma", sigma);
    page_cell(p->m, "kernel", NULL, NAN, true);
    site_series_link(p, index, s->kernel);
    markup_end(p->m);
    page_cell(p->m, "problem", "mono nowrap", NAN, false);
    markup_text(p->m, shape);
    markup_end(p->m);
    page_cell(p->m, "device", NULL, NAN, false);
    markup_text(p->m, p->map->site->devices[s->device].name);
    markup_end(p->m);
    view_time(text, before > 0 ? before : NAN);
    figure_cell(p->m, "first", before, text);
    view_time(text, after > 0 ? after : NAN);
    figure_cell(p->m, "second", after, text);
    view_percent(text, c.change.value);
    figure_cell(p->m, "change", c.change.value,
                c.basis ? text : share_words[share_of(before, after)]);
    view_interval(text, c.change);
    figure_cell(p->m, "95 %", c.change.low, text);
    verdict_words(text, &c);
    page_cell(p->m, "verdict", NULL, NAN, false);
    markup_text(p->m, text);
    markup_end(p->m);
    markup_end(p->m);
}

static const char *const basis_names[] = {"none", "code", "pairs", "times"};

static void compare_json(struct site_page *p, size_t index, const struct two_runs *two)
{
    const struct site_series *s = &p->map->site->series[index];
    const struct compared c = compare(p->map->site, two, index);
    struct json *j = &p->json;
    double before = two->times_ns[0][index], after = two->times_ns[1][index];
    char problem[PROBLEM_TEXT];
    problem_format(problem, &s->problem);
    json_newline(j);
    json_begin(j, NULL, '{');
    json_clean(j, "kernel", s->kernel);
    json_clean(j, "problem", problem);
    json_clean(j, "device", p->map->site->devices[s->device].uuid);
    json_rounded(j, "first_ns", before > 0 ? before : NAN, 7);
    json_rounded(j, "second_ns", after > 0 ? after : NAN, 7);
    json_rounded(j, "change", c.change.value, 7);
    json_rounded(j, "lower", c.change.low, 7);
    json_rounded(j, "upper", c.change.high, 7);
    json_clean(j, "verdict", verdict_kind_name(c.kind));
    json_clean(j, "by", basis_names[c.basis]);
    json_int(j, "pairs", c.pairs);
    json_end(j, '}');
}

// Series that both runs have come first; each part keeps the site's order.
static void compare_rows(struct site_page *p, const struct two_runs *two)
{
    for (int share = 0; share < SHARES; share++) {
        for (size_t i = 0; i < p->map->site->series_count; i++) {
            size_t index = p->map->order[i];
            if ((int)share_at(two, index) != share)
                continue;
            compare_row(p, index, two);
            compare_json(p, index, two);
        }
    }
}

static void compare_table(struct site_page *p, const struct two_runs *two)
{
    page_table_begin(p->m, "cards sortable filter compare", "The two runs side by side");
    page_table_head(p->m, "Kernel", PAGE_SORT_TEXT, NULL);
    page_table_head(p->m, "Problem", PAGE_SORT_TEXT, NULL);
    page_table_head(p->m, "Device", PAGE_SORT_TEXT, NULL);
    page_table_head(p->m, "First", PAGE_SORT_NUMBER, "right");
    page_table_head(p->m, "Second", PAGE_SORT_NUMBER, "right");
    page_table_head(p->m, "Change", PAGE_SORT_NUMBER, "right");
    page_table_head(p->m, "95 %", PAGE_SORT_NUMBER, "right");
    page_table_head(p->m, "Verdict", PAGE_SORT_TEXT, NULL);
    page_table_body(p->m);
    compare_rows(p, two);
    page_table_end(p->m);
}

// Why a run may lack a series that another has.
static const char *why_missing(enum run_kind kind)
{
    switch (kind) {
    case RUN_MEASURE:
        return "a plain run has no time of kernels that were not there or broken, nor of what it "
               "was not asked for";
    case RUN_IMPORT:
        return "an import has what its file had";
    default:
        return "a gate, a study or a bisection measures only machine code that differs";
    }
}

// Writes the choice of runs that page.js offers before anything is loaded.
static void write_choice(struct markup *m, const struct site *site, const struct site_run *first,
                         const struct site_run *second)
{
    struct buffer data = {0};
    struct json j = {.out = &data};
    json_begin(&j, NULL, '{');
    json_int(&j, "first", first->id);
    json_int(&j, "second", second->id);
    json_int(&j, "per_file", SITE_RUNS_PER_FILE);
    size_t shown = 0, known = 0;
    json_begin(&j, "runs", '[');
    for (size_t i = 0; i < site->run_count; i++) {
        if (!site_comparable(&site->runs[i]))
            continue;
        known++;
        if (shown < FIRST_CHOICE || &site->runs[i] == first || &site->runs[i] == second)
            put_run(&j, &site->runs[i]);
        shown++;
    }
    json_end(&j, ']');
    json_int(&j, "known", (int64_t)known);
    json_begin(&j, "shares", '[');
    for (size_t i = 0; i < SHARES; i++)
        json_clean(&j, NULL, share_words[i]);
    json_end(&j, ']');
    json_begin(&j, "missing", '{');
    for (int kind = 0; kind < RUN_KINDS; kind++)
        json_clean(&j, run_kind_name((enum run_kind)kind), why_missing((enum run_kind)kind));
    json_end(&j, '}');
    json_end(&j, '}');
    markup_start(m, "script");
    markup_attr(m, "type", "application/json");
    markup_attr(m, "id", "compare-data");
    markup_raw(m, data.bytes);
    markup_end(m);
    buffer_free(&data);
}

// As page.js writes it; the caller frees.
static char *run_label(const struct site_run *run)
{
    char when[VIEW_TEXT];
    struct buffer summary = {0};
    view_date(when, run->started_s);
    clean_line(&summary, run->summary, SITE_SUMMARY);
    char *label = xprintf("%lld: %.10s, %.16s %s, %s", (long long)run->id, run->head, when,
                          run_kind_name(run->kind), summary.bytes ? summary.bytes : "");
    buffer_free(&summary);
    return label;
}

// How many series can be compared, and why the others cannot; page.js writes the same of others.
static void write_shared(struct site_page *p, const struct site_run *const runs[2],
                         const struct two_runs *two)
{
    size_t counts[SHARES] = {0};
    for (size_t i = 0; i < p->map->site->series_count; i++)
        counts[share_at(two, i)]++;
    markup_open(p->m, "p", "shared");
    markup_textf(p->m, "%zu of %zu series have a time in both", counts[IN_BOTH],
                 p->map->site->series_count);
    for (int side = 0; side < 2; side++) {
        const size_t alone = counts[side ? ONLY_SECOND : ONLY_FIRST];
        markup_textf(p->m, ", %zu only in the %s", alone, side ? "second" : "first");
    }
    markup_textf(p->m, ", %zu in neither.", counts[IN_NEITHER]);
    for (int side = 0; side < 2; side++) { // what the other run has alone, this one lacks
        if (counts[side ? ONLY_FIRST : ONLY_SECOND])
            markup_textf(p->m, " Run %lld lacks some: %s.", (long long)runs[side]->id,
                         why_missing(runs[side]->kind));
    }
    markup_end(p->m);
}

// "By pairs: 1 slower, 12 same. By times alone: 3 undecided. Of the same machine code: 24.";
// page.js writes the same of others.
static void write_verdict(struct site_page *p, const struct two_runs *two)
{
    static const char *const titles[] = {
        [BY_PAIRS] = "By pairs: ", [BY_TIMES] = "By times alone: "};
    static const enum basis order[] = {BY_PAIRS, BY_TIMES};
    size_t counts[ARRAY_COUNT(basis_names)][VERDICT_KINDS] = {{0}};
    for (size_t i = 0; i < p->map->site->series_count; i++) {
        const struct compared c = compare(p->map->site, two, i);
        counts[c.basis][c.kind]++;
    }
    markup_open(p->m, "p", "compared-verdict");
    for (size_t o = 0; o < ARRAY_COUNT(order); o++) {
        const char *before = titles[order[o]];
        static const enum verdict_kind kinds[] = {VERDICT_SLOWER, VERDICT_FASTER, VERDICT_SAME,
                                                  VERDICT_UNDECIDED};
        for (size_t k = 0; k < ARRAY_COUNT(kinds); k++) {
            const size_t count = counts[order[o]][kinds[k]];
            if (!count)
                continue;
            markup_textf(p->m, "%s%zu %s", before, count, verdict_kind_name(kinds[k]));
            before = ", ";
        }
        if (before != titles[order[o]])
            markup_text(p->m, ". ");
    }
    markup_textf(p->m, "Of the same machine code: %zu.", counts[BY_CODE][VERDICT_SAME]);
    markup_end(p->m);
}

static void write_comparison(struct site_page *p, const struct site_run *older,
                             const struct site_run *newer, const struct two_runs *two)
{
    char *first = run_label(older), *second = run_label(newer);
    markup_elementf(p->m, "p", "muted compared", "%s against %s", first, second);
    write_verdict(p, two);
    write_shared(p, (const struct site_run *const[]){older, newer}, two);
    markup_element(
        p->m, "p", "muted",
        "The change is the second against the first; minus is faster. Where both codes were "
        "measured side by side, in any run, it is what their pairs said. By times alone it is of "
        "two runs, which saw different clocks and temperatures: its interval is what times of this "
        "series stray, and a gate, which measures side by side, decides. The same machine code is "
        "the same kernel, whatever its times.");
    write_choice(p->m, p->map->site, older, newer);
    json_clean(&p->json, "first", first);
    json_clean(&p->json, "second", second);
    json_begin(&p->json, "series", '[');
    compare_table(p, two);
    json_end(&p->json, ']');
    free(first);
    free(second);
}

static int load_two(struct two_runs *out, const struct site *site, const size_t runs[2],
                    struct error *err)
{
    int status = 0;
    for (size_t i = 0; i < 2; i++) {
        out->times_ns[i] = xcalloc(site->series_count + 1, sizeof(*out->times_ns[i]));
        out->codes[i] = xcalloc(site->series_count + 1, sizeof(*out->codes[i]));
        if (status == 0 && runs[0] != SIZE_MAX)
            status = site->load_times(out->times_ns[i], out->codes[i], runs[i], site->context, err);
    }
    return status;
}

static int compare_page(struct buffer *html, struct buffer *json, const struct site_map *map,
                        struct error *err)
{
    const struct site *site = map->site;
    struct site_page p = {.map = map, .root = "", .json = {.out = json}};
    struct page page;
    struct two_runs two;
    size_t newer = newest(site), older = SIZE_MAX;
    if (newer < site->run_count)
        older = site_run_before(site, newer);
    const int status = load_two(&two, site, (const size_t[]){older, newer}, err);
    if (status == 0) {
        site_begin(&p, &page, "Compare runs", older == SIZE_MAX ? SITE_PLAIN : SITE_LOADS);
        markup_element(p.m, "h1", NULL, "Compare two runs");
        if (older == SIZE_MAX)
            markup_element(
                p.m, "p", NULL,
                "Two finished runs are needed to compare: `plumb run` makes one of each commit.");
        else
            write_comparison(&p, &site->runs[older], &site->runs[newer], &two);
        site_finish(&p, &page, html);
    }
    for (size_t i = 0; i < 2; i++) {
        free(two.times_ns[i]);
        free(two.codes[i]);
    }
    return status;
}

int site_write_compare(struct site_target *target, const struct site_map *map, struct error *err)
{
    struct buffer html = {0}, json = {0};
    run_list(&html, &json, map);
    if (site_put_both(target, "compare/", "runs", ".js", &html, &json, err))
        return -1;
    pair_list(&html, &json, map->site);
    if (site_put_both(target, "compare/", "pairs", ".js", &html, &json, err) ||
        compare_page(&html, &json, map, err))
        return -1;
    return site_put_both(target, "", "compare", ".html", &html, &json, err);
}
