// SPDX-License-Identifier: Apache-2.0
//
// Reads the history that github-action-benchmark keeps (data.js, or the object in it): "entries"
// has for each suite many commits with their "benches". Every commit becomes a run of its own,
// which is identified by its measurements: if a file has grown, only the new commits are added.
//   kernel   the benchmark's name up to its first blank or '/', with the suite before it if the
//            file has several
//   problem  MxNxK:TYPE, or M, N and K, after that; or --problem
//   time     value in "unit": a time (ns, us, ms, s, also per iteration or operation) or a rate
//            (iter/sec, ops/sec); values with other units are left out
//   commit   the repository's commit with that id; if it has none, the commit as the file has it
//   device   the file does not say it: --device
// Fields: github.com/benchmark-action/github-action-benchmark, src/extract.ts and src/write.ts.
#include "baselines/exchange/foreign.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

// Reads a time such as "2024-05-06T07:08:09+02:00" or with a Z; 0: it is no such time.
static int64_t read_time(const char *text)
{
    int y, mo, d, h, mi, s, zone_h = 0, zone_m = 0, used = 0;
    if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d%n", &y, &mo, &d, &h, &mi, &s, &used) != 6 ||
        y < 1970 || y > 9999 || mo < 1 || mo > 12 || d < 1 || d > 31)
        return 0;
    const char *zone = text + used;
    if (*zone == '.')
        zone += 1 + strspn(zone + 1, "0123456789");
    const bool west = *zone == '-';
    if ((*zone == '+' || west) && sscanf(zone + 1, "%2d:%2d", &zone_h, &zone_m) != 2)
        return 0;
    // Days since 1970 of a date; years begin in March here.
    const int64_t year = mo <= 2 ? y - 1 : y, era = year / 400, of_era = year - era * 400;
    const int64_t of_year = (153 * (mo + (mo > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    const int64_t days = era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
    const int64_t offset = (zone_h * 60 + zone_m) * (west ? -60 : 60);
    return days * 86400 + h * 3600 + mi * 60 + s - offset;
}

static bool read_commit(struct commit *out, const struct node *entry, struct arena *arena)
{
    const struct node *commit = node_member(entry, "commit");
    const char *id = node_text(commit, "id", "");
    if (!import_is_object_id(id))
        return false;
    *out = foreign_commit(id);
    const char *message = node_text(commit, "message", "");
    out->summary = arena_strndup(arena, message, strcspn(message, "\r\n"));
    out->author = node_text(node_member(commit, "author"), "name", "");
    out->time_s = read_time(node_text(commit, "timestamp", ""));
    const double date_ms = node_real(entry, "date", 0);
    if (out->time_s <= 0 && date_ms > 0 && date_ms < 1e15)
        out->time_s = (int64_t)(date_ms / 1000);
    return true;
}

// A value in nanoseconds, given its unit; NaN: it is no time.
static double read_value(double value, const char *unit)
{
    char word[24];
    const size_t length = strcspn(unit, "/");
    snprintf(word, sizeof(word), "%.*s", (int)length, unit);
    const double ns = foreign_unit_ns(word);
    if (ns > 0 && (!unit[length] || !strstr(unit, "byte")))
        return value * ns;
    const bool rate = strcasecmp(unit, "iter/sec") == 0 || strcasecmp(unit, "ops/sec") == 0 ||
                      strcasecmp(unit, "iter/s") == 0 || strcasecmp(unit, "ops/s") == 0;
    return rate ? 1e9 / value : NAN;
}

static int read_bench(struct import *in, const struct node *bench, const char *suite, size_t device,
                      struct error *err)
{
    const char *unit = node_text(bench, "unit", "");
    struct foreign f = {.name = node_text(bench, "name", ""),
                        .device = device,
                        .state = MEASURED_OK,
                        .regime = "github-action-benchmark"};
    const double time_ns = read_value(node_real(bench, "value", 0), unit);
    foreign_at(in, bench);
    if (suite)
        foreign_part(&f, NULL, suite);
    if (foreign_words(&f, f.name, &in->run.arena))
        return foreign_leave(in, &f, 1, "M, N, K or a type that is none", err);
    if (isnan(time_ns)) {
        char why[80];
        snprintf(why, sizeof(why), "'%.30s' is no unit of time", unit);
        return foreign_leave(in, &f, 1, why, err);
    }
    return foreign_add(in, &f, &time_ns, 1, err);
}

static int leave_rows(struct import *in, const struct node *of, size_t rows, const char *why,
                      struct error *err)
{
    struct foreign f = {.name = of->name ? of->name : ""};
    foreign_at(in, of);
    foreign_part(&f, NULL, f.name);
    return foreign_leave(in, &f, rows, why, err);
}

static int read_entry(struct import *in, const struct node *entry, const char *suite,
                      struct arena *arena, struct error *err)
{
    const struct node *benches = node_member(entry, "benches");
    struct commit commit;
    if (!benches || benches->type != NODE_ARRAY)
        return leave_rows(in, entry, 1, "an entry without a list of benches", err);
    if (!read_commit(&commit, entry, arena))
        return leave_rows(in, entry, benches->count ? benches->count : 1,
                          "an entry whose commit has no id of 7 to 64 hexadecimal digits", err);
    if (foreign_begin(in, "github-action-benchmark", &commit, NULL, err))
        return -1;
    const size_t device = foreign_device(in, "host", "github-action-benchmark", "unknown");
    for (const struct node *at = benches->children; at; at = at->next) {
        if (read_bench(in, at, suite, device, err))
            return -1;
    }
    return foreign_end(in, err);
}

static int read_suites(struct import *in, const struct node *file, struct error *err)
{
    const struct node *entries = node_member(file, "entries");
    struct arena arena = {0}; // commits must live as long as all runs
    int status = 0;
    if (!entries || entries->type != NODE_OBJECT)
        return error_set(err, "%.200s: not github-action-benchmark's data: no entries", in->name);
    in->tool = "github-action-benchmark";
    for (const struct node *suite = entries->children; suite && status == 0; suite = suite->next) {
        const struct node *at = suite->type == NODE_ARRAY ? suite->children : NULL;
        if (suite->type != NODE_ARRAY)
            status = leave_rows(in, suite, 1, "a suite that is no list of entries", err);
        for (; at && status == 0; at = at->next)
            status = read_entry(in, at, entries->count > 1 ? suite->name : NULL, &arena, err);
    }
    if (import_end(in, err))
        status = -1;
    arena_free(&arena);
    return status;
}

static const char *script_begin(const struct import_file *file)
{
    static const char begin[] = "window.BENCHMARK_DATA";
    const char *end = file->text + file->length, *at = file->text;
    while (at < end && *at && strchr(" \t\r\n", *at))
        at++;
    if ((size_t)(end - at) < sizeof(begin) || memcmp(at, begin, sizeof(begin) - 1) != 0)
        return NULL;
    return memchr(at, '{', (size_t)(end - at));
}

static bool is_ghbench(const struct import_file *file)
{
    return script_begin(file) ||
           (node_member(file->json, "entries") && node_member(file->json, "lastUpdate"));
}

static int import_ghbench(struct import *in, const struct import_file *file, struct error *err)
{
    const char *begin = script_begin(file), *end = file->text + file->length;
    struct import_file script = *file;
    struct arena arena = {0};
    int status = 0;
    if (begin) { // the file is a script, which ends after the last brace
        while (end > begin && end[-1] != '}')
            end--;
        script = (struct import_file){.text = begin, .length = (size_t)(end - begin)};
        status = node_parse_lines(&script.json, begin, script.length, in->name, NULL, &arena, err);
    }
    in->file = &script;
    if (status == 0)
        status = read_suites(in, script.json, err);
    in->file = file;
    arena_free(&arena);
    return status;
}

const struct importer importer_ghbench = {"ghbench", is_ghbench, import_ghbench, NULL};
