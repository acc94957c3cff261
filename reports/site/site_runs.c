// SPDX-License-Identifier: Apache-2.0
//
// Pages of runs and commits: the list of the newest runs, a page for each run with its verdicts and
// its largest differences from the run before, and a page for each commit with what began with it.
//
// They are written in blocks of SITE_RUNS_PER_FILE runs. A block has the file of their times, their
// pages, and the pages of the commits whose first run is among them. The file of times carries one
// stamp for times and runs; while it stays the same, nothing is loaded or compared. What began with
// a commit may become known later, so each page of a commit has a stamp of its own; those of a
// block lie together in one file.
#include "reports/site/site_parts.h"

#include "model/base.h"
#include "reports/text/clean.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ==== comparing any two runs ====
//
// compare.html shows two runs side by side. The page has the two newest runs that can be compared;
// page.js loads others on demand: compare/runs.js lists all runs, compare/N.js has the times and
// codes of runs with ids from N * SITE_RUNS_PER_FILE on, compare/pairs.js the results of pairs.
//
// The statement about a series uses the best evidence: the same machine code is the same kernel;
// codes that were measured by pairs have that verdict; otherwise there are only the times of two
// runs, and the spread of such times.
//
// A time is stored under its series and not under a position in a table that is sorted anew each
// time, so a file does not change once its runs are there.

// ---- what the page loads ------------------------------------------------------------------------

enum {
    TIME_DIGITS = 6, // 1 ppm
};

// Writes [id, kind, started_s, head, its summary, its time]
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

static bool site_comparable(const struct site_run *run);

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

// Writes the file of the times of some runs, `count` x series, in the order of the runs: first the
// series that any of the runs has, then each run's times in that order.
static void site_times(struct buffer *js, struct buffer *json, const struct site_map *map,
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

// Writes [series, code, code, kind, log ratio, its standard error, pairs]; the series is given by
// its index in the list of series that have pairs.
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
    NEAR = 200, // number of runs among which a similar one is looked for
};

// ---- choosing runs ------------------------------------------------------------------------------

// Whether compare.html has the run's times.
static bool site_comparable(const struct site_run *run)
{
    return run->revision != 0 && run->id > 0;
}

static bool is_plain(const struct site_run *run)
{
    return run->kind == RUN_MEASURE || run->kind == RUN_IMPORT;
}

// The run with which a run is compared at first: the newest run before it of another commit on the
// same device that measured itself.
static size_t site_run_before(const struct site *site, size_t run)
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

// The run that is shown at first: the newest plain run that has another one before it, or else the
// newest run. site->run_count: there is none.
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

// Which of two runs have a time for a series. The table is sorted by this, and so is page.js.
enum run_sides { IN_BOTH, ONLY_FIRST, ONLY_SECOND, IN_NEITHER, SHARES };

static const char *const share_words[SHARES] = {"in both", "only in the first",
                                                "only in the second", "in neither"};

static enum run_sides share_of(double before, double after)
{
    return before > 0 ? after > 0 ? IN_BOTH : ONLY_FIRST : after > 0 ? ONLY_SECOND : IN_NEITHER;
}

// The times and codes of the two runs, one per series.
struct two_runs {
    double *times_ns[2];
    int64_t *codes[2];
};

static enum run_sides share_at(const struct two_runs *two, size_t index)
{
    return share_of(two->times_ns[0][index], two->times_ns[1][index]);
}

// What the statement about one series is based on.
enum basis { BY_NOTHING, BY_CODE, BY_PAIRS, BY_TIMES };
struct compared {
    enum basis basis;
    enum verdict_kind kind;
    struct interval change; // a fraction
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

// Compares two times. The result is never "same", because two runs differ in clocks and
// temperatures.
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

// Compares two runs in one series; page.js does the same for runs that a reader chooses.
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

// Writes a row of the comparison. data-series is the series' index in the files of times; page.js
// uses it to fill the row.
static void compare_row(struct site_page *p, size_t index, const struct two_runs *two)
{
    const struct site_series *s = &p->map->site->series[index];
    const struct compared c = compare(p->map->site, two, index);
    char shape[PROBLEM_TEXT], text[VIEW_TEXT], name[SITE_ANCHOR], sigma[32];
    double before = two->times_ns[0][index], after = two->times_ns[1][index];
    problem_tell(shape, &s->problem);
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

// Writes the rows. Series that both runs have come first; within each part the site's order is
// kept.
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

// The reason why a run of this kind may lack a series that another run has.
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

// The text for a run, which page.js writes in the same way; the caller frees.
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

// Writes how many series can be compared, and why the others cannot; page.js does the same for
// other runs.
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
    for (int side = 0; side < 2; side++) { // a series that only the other run has is one that this
                                           // run lacks
        if (counts[side ? ONLY_FIRST : ONLY_SECOND])
            markup_textf(p->m, " Run %lld lacks some: %s.", (long long)runs[side]->id,
                         why_missing(runs[side]->kind));
    }
    markup_end(p->m);
}

// Writes "By pairs: 1 slower, 12 same. By times alone: 3 undecided. Of the same machine code: 24.";
// page.js does the same for other runs.
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

// ==== a page for each run and each commit ====

enum { RUNS_SHOWN = 200 };

static const struct {
    const char *class, *sign;
} conclusion_tags[] = {{"v-faster", "✓"},
                       {"v-slower", "▲"},
                       {"v-undecided", "?"},
                       {"v-broken", "✕"},
                       {"v-broken", "!"}};

static size_t conclusion_index(const struct site_run *run)
{
    return (size_t)run->conclusion < ARRAY_COUNT(conclusion_tags) ? run->conclusion : 4;
}

static const char *conclusion_class(const struct site_run *run)
{
    return run->finished_s ? conclusion_tags[conclusion_index(run)].class : "v-same";
}

static void write_conclusion(struct markup *m, const struct site_run *run)
{
    if (run->finished_s != 0)
        page_tag(m, conclusion_class(run), conclusion_tags[conclusion_index(run)].sign,
                 view_conclusion(run->conclusion));
    else
        page_tag(m, "v-same", "…", "interrupted");
}

static void run_link(struct site_page *p, const struct site_run *run)
{
    markup_start(p->m, "a");
    markup_attrf(p->m, "href", "%srun/%lld.html", p->root, (long long)run->id);
    markup_textf(p->m, "%lld", (long long)run->id);
    markup_end(p->m);
}

// Writes a cell that compares a run with the run before it, if both have times.
static void compare_cell(struct site_page *p, size_t index)
{
    const struct site *site = p->map->site;
    size_t before = site_comparable(&site->runs[index]) ? site_run_before(site, index) : SIZE_MAX;
    page_cell(p->m, "compare", before == SIZE_MAX ? "empty" : NULL, NAN, false);
    if (before == SIZE_MAX) {
        markup_text(p->m, "-");
    } else {
        markup_start(p->m, "a");
        markup_attrf(p->m, "href", "%scompare.html#%lld..%lld", p->root,
                     (long long)site->runs[before].id, (long long)site->runs[index].id);
        markup_textf(p->m, "with %lld", (long long)site->runs[before].id);
        markup_end(p->m);
    }
    markup_end(p->m);
}

static void run_row(struct site_page *p, size_t index)
{
    const struct site_run *run = &p->map->site->runs[index];
    struct markup *m = p->m;
    char when[VIEW_TEXT];
    struct buffer summary = {0};
    view_date(when, run->started_s);
    clean_line(&summary, run->summary, CLEAN_LINE);
    page_row_begin(m, NULL);
    page_cell(m, "run", NULL, (double)run->id, true);
    run_link(p, run);
    markup_end(m);
    page_cell(m, "started", "nowrap", (double)run->started_s, false);
    markup_text(m, when);
    markup_end(m);
    page_cell(m, "kind", NULL, NAN, false);
    markup_text(m, run_kind_name(run->kind));
    markup_end(m);
    page_cell(m, "commit", "wrap", NAN, false);
    if (run->base[0]) {
        site_commit_link(p, run->base);
        markup_text(m, " .. ");
    }
    site_commit_link(p, run->head);
    markup_elementf(m, "span", "muted small", " %s", summary.bytes ? summary.bytes : "");
    markup_end(m);
    page_cell(m, "conclusion", "nowrap", NAN, false);
    write_conclusion(m, run);
    markup_end(m);
    page_cell(m, "headline", "wrap", NAN, false);
    markup_text(m, run->headline ? run->headline : "");
    markup_end(m);
    compare_cell(p, index);
    markup_end(m);
    buffer_free(&summary);
}

static void run_json(struct json *j, const struct site_run *run)
{
    json_newline(j);
    json_begin(j, NULL, '{');
    json_int(j, "id", run->id);
    json_clean(j, "kind", run_kind_name(run->kind));
    json_int(j, "started_s", run->started_s);
    json_int(j, "finished_s", run->finished_s);
    json_clean(j, "base", run->base[0] ? run->base : NULL);
    json_clean(j, "head", run->head);
    json_clean(j, "conclusion", view_conclusion(run->conclusion));
    json_int(j, "exit_code", (int64_t)run->conclusion);
    json_clean(j, "headline", run->headline);
    json_end(j, '}');
}

static void runs_of(struct site_page *p, const size_t *runs, size_t count, bool filter)
{
    page_table_begin(p->m, filter ? "cards sortable filter" : "cards", "Runs, newest first");
    page_table_head(p->m, "Run", PAGE_SORT_NUMBER, NULL);
    page_table_head(p->m, "Started", PAGE_SORT_NUMBER, NULL);
    page_table_head(p->m, "Kind", PAGE_SORT_TEXT, NULL);
    page_table_head(p->m, "Commit", PAGE_SORT_NONE, NULL);
    page_table_head(p->m, "Conclusion", PAGE_SORT_TEXT, NULL);
    page_table_head(p->m, "Headline", PAGE_SORT_NONE, NULL);
    page_table_head(p->m, "Compare", PAGE_SORT_NONE, NULL);
    page_table_body(p->m);
    for (size_t i = 0; i < count; i++)
        run_row(p, runs[i]);
    page_table_end(p->m);
}

void site_runs_table(struct site_page *p, size_t most, bool filter)
{
    const size_t known = p->map->site->run_count, count = most < known ? most : known;
    size_t *runs = xcalloc(count + 1, sizeof(*runs));
    for (size_t i = 0; i < count; i++)
        runs[i] = i;
    runs_of(p, runs, count, filter);
    free(runs);
}

static void list_page(struct buffer *html, struct buffer *json, const struct site_map *map)
{
    struct site_page p = {.map = map, .root = "", .json = {.out = json}};
    struct page page;
    size_t known = map->site->run_count, shown = known < RUNS_SHOWN ? known : RUNS_SHOWN;
    site_begin(&p, &page, "Runs", SITE_PLAIN);
    json_begin(&p.json, "runs", '[');
    for (size_t i = 0; i < shown; i++)
        run_json(&p.json, &map->site->runs[i]);
    json_end(&p.json, ']');
    markup_element(p.m, "h1", NULL, "Runs");
    if (known > shown) {
        markup_open(p.m, "p", "muted");
        markup_textf(p.m, "The newest %zu of %zu. Older ones are found where runs are ", shown,
                     known);
        markup_start(p.m, "a");
        markup_attr(p.m, "href", "compare.html");
        markup_text(p.m, "compared");
        markup_end(p.m);
        markup_text(p.m, ".");
        markup_end(p.m);
    }
    if (shown > 0)
        site_runs_table(&p, shown, true);
    else
        markup_element(p.m, "p", NULL,
                       "There are no runs yet: `plumb run` and `plumb gate` make them.");
    site_finish(&p, &page, html);
}

// ---- the verdicts of a run ----------------------------------------------------------------------

// Whether a run's page shows verdicts: that of a gate does, and that of any run that did not end
// well. There are many plain runs, and the pages of kernels show what they say about levels.
static bool run_has_verdicts(const struct site_run *run)
{
    return run->finished_s && (run->kind == RUN_GATE || run->conclusion != CONCLUDE_OK);
}

// Finds the series on this site; SIZE_MAX: the site does not have it.
static size_t find_series(const struct site *site, const struct view *view)
{
    for (size_t i = 0; i < site->series_count; i++) {
        const struct site_series *s = &site->series[i];
        if (strcmp(s->kernel, view->result->kernel) == 0 &&
            problem_equal(&s->problem, &view->result->problem) &&
            strcmp(site->devices[s->device].uuid, view->device->uuid) == 0)
            return i;
    }
    return SIZE_MAX;
}

static void write_row(struct site_page *p, const struct view *view)
{
    const size_t series = find_series(p->map->site, view);
    const enum verdict_kind kind = view->result->verdict.kind;
    char change[VIEW_TEXT], interval[VIEW_TEXT], time[VIEW_TEXT];
    struct buffer reason = {0};
    view_percent(change, view->change.value);
    view_interval(interval, view->change);
    view_why(&reason, view);
    page_row_begin(p->m, NULL);
    page_cell(p->m, "kernel", "nowrap", NAN, true);
    if (series == SIZE_MAX)
        markup_text(p->m, view->result->kernel);
    else
        site_series_link(p, series, view->result->kernel);
    markup_end(p->m);
    page_text_cell(p->m, "problem", "mono nowrap", NAN, view->problem);
    page_cell(p->m, "verdict", "nowrap", NAN, false);
    page_tag(p->m, chart_verdict_class(kind, view->is_environment), view_symbol(kind),
             verdict_kind_name(kind));
    markup_end(p->m);
    page_cell(p->m, "change", "right nowrap", NAN, false);
    markup_textf(p->m, "%s %s", change, isfinite(view->change.low) ? interval : "");
    markup_end(p->m);
    view_time(time, view->base_ns);
    page_text_cell(p->m, "base", "right nowrap", NAN, time);
    view_time(time, view->head_ns);
    page_text_cell(p->m, "head", "right nowrap", NAN, time);
    page_text_cell(p->m, "why", "wrap", NAN, reason.bytes ? reason.bytes : "");
    markup_end(p->m);
    buffer_free(&reason);
}

static void write_table(struct site_page *p, const char *caption, const struct view *views,
                        size_t count, bool same)
{
    static const char *const heads[] = {"Kernel", "Problem", "Verdict", "Change",
                                        "Base",   "Head",    "Why"};
    page_table_begin(p->m, "cards", caption);
    for (size_t i = 0; i < ARRAY_COUNT(heads); i++)
        page_table_head(p->m, heads[i], PAGE_SORT_NONE, i >= 3 && i <= 5 ? "right" : NULL);
    page_table_body(p->m);
    for (size_t i = 0; i < count; i++) {
        if ((views[i].result->verdict.kind == VERDICT_SAME) == same)
            write_row(p, &views[i]);
    }
    page_table_end(p->m);
}

static void write_unbuilt(struct site_page *p, const struct run *run)
{
    static const char *const roles[] = {[ROLE_BASE] = "The base", [ROLE_HEAD] = "The head"};
    for (int role = ROLE_BASE; role <= ROLE_HEAD; role++) {
        const struct build_failure *failure = &run->unbuilt[role];
        if (!failure->reason)
            continue;
        markup_open(p->m, "p", "v-broken");
        page_tag(p->m, "v-broken", "✕", "broken");
        markup_textf(p->m, " %s does not build: %s", run->base.id[0] ? roles[role] : "The commit",
                     failure->count ? failure->errors[0].text : failure->reason);
        markup_end(p->m);
    }
}

static void verdicts(struct site_page *p, const struct run *run)
{
    struct view *views = view_all(run, NULL);
    size_t same = 0;
    for (size_t i = 0; i < run->count; i++)
        same += run->results[i].verdict.kind == VERDICT_SAME;
    site_heading(p->m, run->base.id[0] ? "Verdicts: the head against the base, side by side"
                                       : "Verdicts: the commit against what was measured before");
    write_unbuilt(p, run);
    if (run->count == 0)
        markup_element(p->m, "p", "muted", "No series was judged.");
    if (same < run->count)
        write_table(p, "Verdicts that are not \"same\", worst first", views, run->count, false);
    if (same > 0) {
        markup_open(p->m, "details", "series run");
        markup_attr(p->m, "open", same == run->count ? "" : NULL);
        markup_elementf(p->m, "summary", NULL, "%zu %s the same", same,
                        plural(same, "series is", "series are"));
        markup_start(p->m, "div");
        write_table(p, "Verdicts that are \"same\"", views, run->count, true);
        markup_end(p->m);
        markup_end(p->m);
    }
    free(views);
}

// ---- the page of a run --------------------------------------------------------------------------

enum { SHOWN = 12 };

static void term(struct site_page *p, const char *text)
{
    markup_element(p->m, "dt", NULL, text);
}

static void fact(struct site_page *p, const char *name, const char *value)
{
    if (!value[0])
        return;
    term(p, name);
    markup_element(p->m, "dd", NULL, value);
}

static void commit_fact(struct site_page *p, const char *name, const char *id, const char *summary)
{
    if (!id[0])
        return;
    term(p, name);
    markup_start(p->m, "dd");
    site_commit_link(p, id);
    markup_textf(p->m, " %s", summary ? summary : "");
    markup_end(p->m);
}

static void write_run_facts(struct site_page *p, const struct site_run *run)
{
    char when[VIEW_TEXT], took[VIEW_TEXT] = "";
    view_date(when, run->started_s);
    if (run->finished_s >= run->started_s && run->finished_s)
        snprintf(took, sizeof(took), "%lld s", (long long)(run->finished_s - run->started_s));
    markup_open(p->m, "dl", "facts");
    fact(p, "kind", run_kind_name(run->kind));
    commit_fact(p, "base", run->base, NULL);
    commit_fact(p, run->base[0] ? "head" : "commit", run->head, run->summary);
    fact(p, "started", when);
    fact(p, "took", took);
    if (run->device < p->map->site->device_count)
        fact(p, "device", p->map->site->devices[run->device].name);
    markup_end(p->m);
}

struct difference {
    size_t series;
    double log_ratio;
};

static int largest_first(const void *left, const void *right)
{
    const struct difference *a = left, *b = right;
    const double x = fabs(a->log_ratio), y = fabs(b->log_ratio);
    return x != y ? (x < y) - (x > y) : (a->series > b->series) - (a->series < b->series);
}

static void difference_row(struct site_page *p, const struct difference *d, const double *before_ns,
                           const double *times_ns)
{
    const struct site_series *s = &p->map->site->series[d->series];
    char shape[PROBLEM_TEXT], text[VIEW_TEXT];
    problem_tell(shape, &s->problem);
    page_row_begin(p->m, NULL);
    page_cell(p->m, "kernel", NULL, NAN, true);
    site_series_link(p, d->series, s->kernel);
    markup_end(p->m);
    page_text_cell(p->m, "problem", "mono nowrap", NAN, shape);
    view_time(text, before_ns[d->series]);
    page_text_cell(p->m, "before", "right nowrap", NAN, text);
    view_time(text, times_ns[d->series]);
    page_text_cell(p->m, "this run", "right nowrap", NAN, text);
    view_percent(text, expm1(d->log_ratio));
    page_text_cell(p->m, "difference", "right nowrap", NAN, text);
    markup_end(p->m);
}

static void write_differences(struct site_page *p, const struct site_run *run,
                              const struct site_run *before, const double *before_ns,
                              const double *times_ns)
{
    const size_t count = p->map->site->series_count;
    struct difference *list = xcalloc(count + 1, sizeof(*list));
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (before_ns[i] > 0 && times_ns[i] > 0)
            list[used++] = (struct difference){i, log(times_ns[i] / before_ns[i])};
    }
    qsort(list, used, sizeof(*list), largest_first);
    markup_start(p->m, "p");
    if (used == 0)
        markup_textf(p->m, "No series has a time in both%s. ",
                     run->kind == RUN_GATE || before->kind == RUN_GATE
                         ? ": a gate measures only machine code that differs"
                         : "");
    else
        markup_textf(p->m, "%zu series %s measured in both. ", used, plural(used, "was", "were"));
    markup_start(p->m, "a");
    markup_attrf(p->m, "href", "%scompare.html#%lld..%lld", p->root, (long long)before->id,
                 (long long)run->id);
    markup_text(p->m, "The two side by side");
    markup_end(p->m);
    if (used > 0)
        markup_text(p->m, ". Minus is faster than before; different runs saw different clocks and "
                          "temperatures: read a few percent as a hint");
    markup_text(p->m, ".");
    markup_end(p->m);
    if (used > 0) {
        page_table_begin(p->m, "cards", "Largest differences to the run before");
        page_table_head(p->m, "Kernel", PAGE_SORT_NONE, NULL);
        page_table_head(p->m, "Problem", PAGE_SORT_NONE, NULL);
        page_table_head(p->m, "Before", PAGE_SORT_NONE, "right");
        page_table_head(p->m, "This run", PAGE_SORT_NONE, "right");
        page_table_head(p->m, "Difference", PAGE_SORT_NONE, "right");
        page_table_body(p->m);
        for (size_t i = 0; i < used && i < SHOWN; i++)
            difference_row(p, &list[i], before_ns, times_ns);
        page_table_end(p->m);
    }
    free(list);
}

static void write_run_banner(struct site_page *p, const struct site_run *run, const char *title)
{
    markup_start(p->m, "section");
    markup_attrf(p->m, "class", "card banner %s", conclusion_class(run));
    markup_element(p->m, "div", "word", "run");
    markup_element(p->m, "h1", NULL, title);
    markup_start(p->m, "p");
    write_conclusion(p->m, run);
    markup_textf(p->m, " %s", run->headline ? run->headline : "");
    markup_end(p->m);
    write_run_facts(p, run);
    if (run->href) {
        markup_start(p->m, "a");
        markup_attrf(p->m, "href", "../%s", run->href);
        markup_text(p->m, "Its own report");
        markup_end(p->m);
    }
    markup_end(p->m);
}

static void run_page(struct buffer *html, const struct site_map *map, size_t index,
                     const struct run *whole, const double *before_ns, const double *times_ns)
{
    const struct site_run *run = &map->site->runs[index];
    struct buffer unused = {0};
    struct site_page p = {.map = map, .root = "../", .json = {.out = &unused}};
    struct page page;
    char title[VIEW_TEXT];
    snprintf(title, sizeof(title), "Run %lld", (long long)run->id);
    site_begin(&p, &page, title, SITE_SMALL);
    write_run_banner(&p, run, title);
    if (whole)
        verdicts(&p, whole);
    if (before_ns && times_ns) {
        const struct site_run *before = &map->site->runs[site_run_before(map->site, index)];
        snprintf(title, sizeof(title), "Against run %lld", (long long)before->id);
        site_heading(p.m, title);
        write_differences(&p, run, before, before_ns, times_ns);
    } else {
        markup_element(p.m, "p", "hint",
                       times_ns ? "There is no run before it to hold it against."
                                : "It has no times to compare.");
    }
    site_finish(&p, &page, html);
    buffer_free(&unused);
}

// ---- the page of a commit -----------------------------------------------------------------------

// The class that colours a commit, by the worst of the events that began with it and of its runs'
// conclusions.
static const char *class_of(const struct site *site, const struct site_commit *c)
{
    const char *class = "v-same";
    for (size_t i = 0; i < c->event_count; i++) {
        const struct event *e = site->events[c->events[i]].event;
        const bool slower = site_event_slower(e) > 0;
        if (slower || strcmp(class, "v-same") == 0)
            class = slower ? "v-slower" : "v-faster";
    }
    for (size_t i = 0; i < c->run_count; i++) {
        const struct site_run *run = &site->runs[c->runs[i]];
        if (run->finished_s && run->conclusion == CONCLUDE_BROKEN)
            return "v-broken";
        if (run->finished_s && run->conclusion == CONCLUDE_REGRESSION)
            class = "v-slower";
    }
    return class;
}

static void write_commit_banner(struct site_page *p, const struct site_commit *c)
{
    char when[VIEW_TEXT], id[VIEW_TEXT];
    struct buffer summary = {0};
    view_short_id(id, c->id);
    view_date(when, c->time_s);
    clean_line(&summary, c->summary, CLEAN_LINE);
    markup_start(p->m, "section");
    markup_attrf(p->m, "class", "card banner %s", class_of(p->map->site, c));
    markup_element(p->m, "div", "word", "commit");
    markup_elementf(p->m, "h1", NULL, "%s %s", id, summary.bytes ? summary.bytes : "");
    markup_open(p->m, "dl", "facts");
    markup_element(p->m, "dt", NULL, "id");
    markup_open(p->m, "dd", "mono");
    view_commit(p->m, p->map->site->commit_url, c->id);
    markup_elementf(p->m, "span", "muted", " %s", c->id);
    markup_end(p->m);
    if (c->author[0]) {
        markup_element(p->m, "dt", NULL, "author");
        markup_element(p->m, "dd", NULL, c->author);
    }
    if (c->time_s > 0) {
        markup_element(p->m, "dt", NULL, "date");
        markup_element(p->m, "dd", NULL, when);
    }
    markup_end(p->m);
    markup_end(p->m);
    buffer_free(&summary);
}

static void change_row(struct site_page *p, const struct event_change *c)
{
    const struct site_series *s = &p->map->site->series[c->series];
    char shape[PROBLEM_TEXT], change[VIEW_TEXT], interval[VIEW_TEXT];
    problem_tell(shape, &s->problem);
    view_percent(change, expm1(c->size.value));
    view_interval(interval, interval_relative(c->size));
    page_row_begin(p->m, NULL);
    page_cell(p->m, "kernel", NULL, NAN, true);
    site_series_link(p, c->series, s->kernel);
    markup_end(p->m);
    page_text_cell(p->m, "problem", "mono nowrap", NAN, shape);
    page_text_cell(p->m, "device", NULL, NAN, p->map->site->devices[s->device].name);
    page_cell(p->m, "against the commit before", "right nowrap", NAN, false);
    markup_textf(p->m, "%s %s", change, isfinite(c->size.low) ? interval : "");
    markup_end(p->m);
    page_text_cell(p->m, "measured", NULL, NAN, c->paired ? "side by side" : "from run to run");
    page_cell(p->m, "evidence", "right nowrap", NAN, false);
    markup_textf(p->m, "10^%.1f", c->log_evidence / M_LN10);
    markup_end(p->m);
    markup_end(p->m);
}

static void write_entry(struct site_page *p, const char *state, int64_t when_s, const char *who,
                        const char *why)
{
    char when[VIEW_TEXT];
    view_date(when, when_s);
    markup_start(p->m, "li");
    markup_text(p->m, state);
    if (when_s) // a commit that has only links, and no run, has no time
        markup_textf(p->m, " on %.10s", when);
    markup_textf(p->m, " by %s%s%s", who ? who : "unknown", why && *why ? ": " : "",
                 why ? why : "");
    markup_end(p->m);
}

static void write_entries(struct site_page *p, const struct event *e)
{
    markup_open(p->m, "ul", "epochs");
    for (size_t i = 0; i < e->entry_count; i++) {
        const struct event_entry *entry = &e->entries[i];
        write_entry(p, event_state_name(entry->state), entry->when_s, entry->who, entry->why);
    }
    if (e->taken.who)
        write_entry(p, "taken", e->taken.when_s, e->taken.who, e->taken.why);
    markup_end(p->m);
}

// Writes the commits that may have begun an event, the likeliest first.
static void write_candidates(struct site_page *p, const struct event *e)
{
    if (e->culprit_count < 2)
        return;
    markup_start(p->m, "p");
    markup_text(p->m, "It began with one of these, the likeliest first: ");
    for (size_t i = 0; i < e->culprit_count; i++) {
        markup_text(p->m, i ? ", " : "");
        site_commit_link(p, e->commits[i].id);
    }
    markup_text(p->m, ".");
    markup_end(p->m);
}

static void write_event(struct site_page *p, const struct site_event *event)
{
    const struct event *e = event->event;
    markup_start(p->m, "section");
    markup_attrf(p->m, "aria-label", "Event %s", e->name);
    markup_start(p->m, "p");
    site_event_state(p->m, e);
    markup_text(p->m, " ");
    site_event_size(p->m, e);
    markup_elementf(p->m, "span", "muted", " event %s: %s", e->name,
                    event->sentence ? event->sentence : "");
    markup_end(p->m);
    write_candidates(p, e);
    if (e->entry_count || e->taken.who)
        write_entries(p, e);
    page_table_begin(p->m, "cards", "Series that the event touches, largest change first");
    page_table_head(p->m, "Kernel", PAGE_SORT_NONE, NULL);
    page_table_head(p->m, "Problem", PAGE_SORT_NONE, NULL);
    page_table_head(p->m, "Device", PAGE_SORT_NONE, NULL);
    page_table_head(p->m, "Against the commit before", PAGE_SORT_NONE, "right");
    page_table_head(p->m, "Measured", PAGE_SORT_NONE, NULL);
    page_table_head(p->m, "Evidence", PAGE_SORT_NONE, "right");
    page_table_body(p->m);
    for (size_t i = 0; i < e->count; i++)
        change_row(p, &e->changes[i]);
    page_table_end(p->m);
    markup_end(p->m);
}

// Writes the conclusions of a commit's runs, except good ones; false: there are none.
static bool write_conclusions(struct site_page *p, const struct site_commit *c)
{
    bool any = false;
    for (size_t i = 0; i < c->run_count; i++) {
        const struct site_run *run = &p->map->site->runs[c->runs[i]];
        if (!run->finished_s || run->conclusion == CONCLUDE_OK)
            continue;
        markup_start(p->m, "p");
        write_conclusion(p->m, run);
        markup_text(p->m, " in run ");
        run_link(p, run);
        markup_textf(p->m, " (%s): %s", run_kind_name(run->kind),
                     run->headline ? run->headline : "");
        markup_end(p->m);
        any = true;
    }
    return any;
}

static void write_events(struct site_page *p, const struct site_commit *c)
{
    site_heading(p->m, "What began with it");
    const bool concluded = write_conclusions(p, c);
    if (c->event_count == 0)
        markup_element(p->m, "p", "muted",
                       concluded
                           ? "No change of a level began with it."
                           : "Nothing: no change of a level, and its runs found nothing wrong.");
    for (size_t i = 0; i < c->event_count; i++)
        write_event(p, &p->map->site->events[c->events[i]]);
}

static void write_neighbour(struct site_page *p, const char *what, const struct site_commit *c)
{
    struct buffer summary = {0};
    clean_line(&summary, c->summary, SITE_SUMMARY);
    markup_start(p->m, "li");
    markup_textf(p->m, "%s ", what);
    site_commit_link(p, c->id);
    markup_elementf(p->m, "span", "muted", " %s", summary.bytes ? summary.bytes : "");
    markup_end(p->m);
    buffer_free(&summary);
}

static void commit_page(struct buffer *html, const struct site_map *map, size_t commit)
{
    const struct site_commit *c = &map->commits[commit];
    struct buffer unused = {0};
    struct site_page p = {.map = map, .root = "../", .json = {.out = &unused}};
    struct page page;
    char title[VIEW_TEXT], id[VIEW_TEXT];
    view_short_id(id, c->id);
    snprintf(title, sizeof(title), "Commit %.40s", id);
    site_begin(&p, &page, title, SITE_SMALL);
    write_commit_banner(&p, c);
    write_events(&p, c);
    site_heading(p.m, "Its runs");
    runs_of(&p, c->runs, c->run_count, false);
    site_heading(p.m, "Measured before and after it");
    markup_start(p.m, "ul");
    if (commit > 0)
        write_neighbour(&p, "before:", c - 1);
    if (commit + 1 < map->commit_count)
        write_neighbour(&p, "after:", c + 1);
    markup_end(p.m);
    site_finish(&p, &page, html);
    buffer_free(&unused);
}

// ---- writing, block by block --------------------------------------------------------------------

enum { BLOCK_FORMAT = 7 }; // raised when the files have another form

struct runs_block {
    int64_t number;
    const struct site_run *const *runs; // the runs of this block, sorted by id
    size_t run_count;
    const size_t *commits; // indices into map->commits, of commits whose first run is in this block
    size_t commit_count;
};

// ---- choosing what is written ----

struct placed_run { // a commit with the block of its first run
    int64_t block;
    size_t commit;
};

static int by_block(const void *left, const void *right)
{
    const struct placed_run *a = left, *b = right;
    if (a->block != b->block)
        return a->block < b->block ? -1 : 1;
    return (a->commit > b->commit) - (a->commit < b->commit);
}

static int by_id(const void *left, const void *right)
{
    const struct site_run *const *a = left, *const *b = right;
    return ((*a)->id > (*b)->id) - ((*a)->id < (*b)->id);
}

static struct placed_run *placed_commits(const struct site_map *map)
{
    struct placed_run *list = xcalloc(map->commit_count + 1, sizeof(*list));
    for (size_t i = 0; i < map->commit_count; i++)
        list[i] = (struct placed_run){map->commits[i].first_run / SITE_RUNS_PER_FILE, i};
    qsort(list, map->commit_count, sizeof(*list), by_block);
    return list;
}

// ---- the stamp ----

static uint64_t mix(uint64_t hash, const void *bytes, size_t length)
{
    return hash_bytes(hash, bytes, length);
}

static uint64_t mix_run(uint64_t hash, const struct site_map *map, const struct site_run *run)
{
    const size_t index = (size_t)(run - map->site->runs);
    const size_t before = site_comparable(run) ? site_run_before(map->site, index) : SIZE_MAX;
    const int64_t beside = before == SIZE_MAX ? 0 : map->site->runs[before].id;
    hash = mix(hash, &run->id, sizeof(run->id));
    hash = mix(hash, &run->revision, sizeof(run->revision));
    hash = mix(hash, &run->finished_s, sizeof(run->finished_s));
    return mix(hash, &beside, sizeof(beside));
}

// Adds an event's change to a stamp, with only the digits that are shown: one more link moves each
// level by less than that.
static uint64_t mix_change(uint64_t hash, const struct site_map *map, const struct event_change *c)
{
    char name[SITE_ANCHOR], change[VIEW_TEXT], interval[VIEW_TEXT], evidence[VIEW_TEXT];
    site_series_name(name, map->site, c->series);
    view_percent(change, expm1(c->size.value));
    view_interval(interval, interval_relative(c->size));
    snprintf(evidence, sizeof(evidence), "%.1f", c->log_evidence / M_LN10);
    hash = hash_text(hash_text(hash, name), change);
    return hash_text(hash_text(hash, interval), evidence);
}

static uint64_t mix_event(uint64_t hash, const struct site_map *map, const struct site_event *event)
{
    const struct event *e = event->event;
    hash = hash_text(hash_text(hash, e->name), event->sentence);
    hash = mix(hash, &e->state, sizeof(e->state));
    hash = mix(hash, &e->entry_count, sizeof(e->entry_count));
    if (e->taken.who) {
        hash = mix(hash, &e->taken.when_s, sizeof(e->taken.when_s));
        hash = hash_text(hash_text(hash, e->taken.who), e->taken.why);
    }
    for (size_t i = 0; i < e->culprit_count; i++)
        hash = hash_text(hash, e->commits[i].id);
    for (size_t i = 0; i < e->count; i++)
        hash = mix_change(hash, map, &e->changes[i]);
    return hash;
}

static uint64_t stamp_of_all(const struct site *site)
{
    const uint64_t hash = hash_text(HASH_START + BLOCK_FORMAT, site->tool_version);
    return hash_text(hash_text(hash, site->repository), site->commit_url);
}

static uint64_t stamp_of_commit(const struct site_map *map, size_t index)
{
    const struct site_commit *c = &map->commits[index];
    uint64_t hash = hash_text(stamp_of_all(map->site), c->id);
    hash = hash_text(hash, index ? map->commits[index - 1].id : "");
    hash = hash_text(hash, index + 1 < map->commit_count ? map->commits[index + 1].id : "");
    for (size_t i = 0; i < c->run_count; i++)
        hash = mix_run(hash, map, &map->site->runs[c->runs[i]]);
    for (size_t i = 0; i < c->event_count; i++)
        hash = mix_event(hash, map, &map->site->events[c->events[i]]);
    return hash;
}

static uint64_t stamp_of_runs(const struct site_map *map, const struct runs_block *block)
{
    uint64_t hash = stamp_of_all(map->site);
    for (size_t i = 0; i < block->run_count; i++)
        hash = mix_run(hash, map, block->runs[i]);
    return hash;
}

// ---- writing ----

static int put_run_page(struct site_target *target, void *context, const struct site_map *map,
                        size_t index, const double *before_ns, const double *times_ns,
                        struct error *err)
{
    const struct site *site = map->site;
    const struct site_run *run = &site->runs[index];
    const bool has_verdicts = site->load_run && run_has_verdicts(run);
    struct buffer html = {0};
    struct run whole;
    char name[32];
    if (has_verdicts && site->load_run(&whole, index, context, err))
        return -1;
    run_page(&html, map, index, has_verdicts ? &whole : NULL, before_ns, times_ns);
    if (has_verdicts)
        run_free(&whole);
    snprintf(name, sizeof(name), "%lld", (long long)run->id);
    return site_put(target, "run/", name, ".html", &html, err);
}

// Writes the runs' pages. times_ns has the times of the runs that can be compared, in the order of
// the runs.
static int write_run_pages(struct site_target *target, void *context, const struct site_map *map,
                           const struct runs_block *block, const struct site_run *const *timed,
                           const double *times_ns, size_t timed_count, struct error *err)
{
    const struct site *site = map->site;
    double *other = xcalloc(site->series_count + 1, sizeof(*other));
    int status = 0;
    for (size_t i = 0, k = 0; status == 0 && i < block->run_count; i++) {
        const struct site_run *run = block->runs[i];
        const size_t index = (size_t)(run - site->runs);
        const bool has = k < timed_count && timed[k] == run;
        const size_t before = has ? site_run_before(site, index) : SIZE_MAX;
        const double *now = has ? times_ns + k++ * site->series_count : NULL, *then = NULL;
        for (size_t b = 0; before != SIZE_MAX && !then && b < timed_count; b++)
            then = timed[b] == &site->runs[before] ? times_ns + b * site->series_count : NULL;
        if (before != SIZE_MAX && !then) {
            status = site->load_times(other, NULL, before, context, err);
            target->written.loaded_runs++;
            then = other;
        }
        if (status)
            break;
        status = put_run_page(target, context, map, index, then, now, err);
    }
    free(other);
    return status;
}

// Writes the pages of commits, and their stamps last. If the program is killed before, the pages
// are made again.
static int write_commits(struct site_target *target, const struct site_map *map,
                         const struct runs_block *block, struct error *err)
{
    struct buffer there = {0}, stamps = {0};
    struct json j = {.out = &stamps};
    char name[32];
    int status = 0;
    snprintf(name, sizeof(name), "%lld", (long long)block->number);
    site_read(&there, target, "commit/", name, ".json");
    json_begin(&j, NULL, '{');
    for (size_t i = 0; status == 0 && i < block->commit_count; i++) {
        const struct site_commit *c = &map->commits[block->commits[i]];
        struct buffer html = {0};
        char stamp[32], entry[SLUG_TEXT + 64];
        snprintf(stamp, sizeof(stamp), "%016llx",
                 (unsigned long long)stamp_of_commit(map, block->commits[i]));
        snprintf(entry, sizeof(entry), "\"%s\":\"%s\"", c->slug, stamp);
        json_clean(&j, c->slug, stamp);
        if (there.bytes && strstr(there.bytes, entry)) {
            target->written.unchanged++;
            continue;
        }
        commit_page(&html, map, block->commits[i]);
        status = site_put(target, "commit/", c->slug, ".html", &html, err);
    }
    json_end(&j, '}');
    if (status == 0 && block->commit_count)
        status = site_put(target, "commit/", name, ".json", &stamps, err);
    buffer_free(&there);
    buffer_free(&stamps);
    return status;
}

// Writes the times, and the stamp last. If the program is killed before, everything is made again.
static int write_times(struct site_target *target, void *context, const struct site_map *map,
                       const struct runs_block *block, struct error *err)
{
    const struct site *site = map->site;
    struct buffer js = {0}, json = {0};
    char name[32];
    int status = 0;
    size_t timed_count = 0;
    const uint64_t stamp = stamp_of_runs(map, block);
    snprintf(name, sizeof(name), "%lld", (long long)block->number);
    if (site_has_stamp(target, "compare/", name, ".js", stamp)) {
        target->written.unchanged += 2 + block->run_count;
        return 0;
    }
    const struct site_run **timed = xcalloc(block->run_count + 1, sizeof(*timed));
    double *times_ns = xcalloc(block->run_count * site->series_count + 1, sizeof(*times_ns));
    int64_t *codes = xcalloc(block->run_count * site->series_count + 1, sizeof(*codes));
    for (size_t i = 0; status == 0 && i < block->run_count; i++) {
        if (!site_comparable(block->runs[i]))
            continue;
        status = site->load_times(times_ns + timed_count * site->series_count,
                                  codes + timed_count * site->series_count,
                                  (size_t)(block->runs[i] - site->runs), context, err);
        timed[timed_count++] = block->runs[i];
        target->written.loaded_runs++;
    }
    if (status == 0)
        status = write_run_pages(target, context, map, block, timed, times_ns, timed_count, err);
    if (status == 0) {
        site_times(&js, &json, map, timed, timed_count, times_ns, codes, stamp);
        status = site_put_both(target, "compare/", name, ".js", &js, &json, err);
    }
    free(codes);
    free(times_ns);
    free(timed);
    return status;
}

struct blocks {
    const struct site_map *map;
    struct runs_block *items;
    size_t count;
};

static int write_block(struct site_target *target, void *context, size_t job, void *all,
                       struct error *err)
{
    const struct blocks *blocks = all;
    const struct runs_block *block = &blocks->items[job];
    return write_times(target, context, blocks->map, block, err) ||
                   write_commits(target, blocks->map, block, err)
               ? -1
               : 0;
}

// Sorts runs into blocks by id, and commits into the block of their first run.
static void find_blocks(struct blocks *out, const struct site_run *const *runs, size_t count,
                        const struct placed_run *placed, const size_t *commits)
{
    for (size_t first = 0, end, c = 0; first < count; first = end) {
        struct runs_block block = {.number = runs[first]->id / SITE_RUNS_PER_FILE};
        for (end = first; end < count && runs[end]->id / SITE_RUNS_PER_FILE == block.number;)
            end++;
        block.runs = runs + first;
        block.run_count = end - first;
        block.commits = commits + c;
        for (; c < out->map->commit_count && placed[c].block == block.number; c++)
            block.commit_count++;
        out->items[out->count++] = block;
    }
}

static int write_blocks(struct site_target *target, const struct site_map *map, struct error *err)
{
    const size_t count = map->site->run_count;
    const struct site_run **runs = xcalloc(count + 1, sizeof(*runs));
    struct placed_run *placed = placed_commits(map);
    size_t *commits = xcalloc(map->commit_count + 1, sizeof(*commits));
    struct blocks blocks = {map, xcalloc(count + 1, sizeof(*blocks.items)), 0};
    for (size_t i = 0; i < count; i++)
        runs[i] = &map->site->runs[i];
    qsort(runs, count, sizeof(*runs), by_id);
    for (size_t i = 0; i < map->commit_count; i++)
        commits[i] = placed[i].commit;
    find_blocks(&blocks, runs, count, placed, commits);
    const int status = site_jobs(target, map->site, blocks.count, write_block, &blocks, err);
    free(blocks.items);
    free(commits);
    free(placed);
    free(runs);
    return status;
}

int site_write_runs(struct site_target *target, const struct site_map *map, struct error *err)
{
    struct buffer html = {0}, json = {0};
    list_page(&html, &json, map);
    if (site_put_both(target, "", "runs", ".html", &html, &json, err))
        return -1;
    return write_blocks(target, map, err);
}
