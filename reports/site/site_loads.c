// SPDX-License-Identifier: Apache-2.0
//
// What pages load when they are asked for it. From a folder (file:) a page can run scripts but read
// no other file, so these are scripts that hand JSON over, and the same JSON without the call lies
// beside each: compare/runs.js lists all runs, compare/N.js has the times of those with ids from N
// * SITE_RUNS_PER_FILE on, series.js names all series, points/NAME.js has the points of a long
// series that its page leaves out.
//
// Times are named by their series, not by a place in a table that is sorted anew every time, so a
// file stays as it is once its runs are there.
#include "reports/site/site_parts.h"

#include "model/text.h"
#include "reports/text/clean.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TIME_DIGITS = 6, // 1 ppm
};

// [id, kind, started_s, head, its summary, its time]
void site_put_run(struct json *j, const struct site_run *run)
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

void site_run_list(struct buffer *js, struct buffer *json, const struct site_map *map)
{
    struct json j = {.out = json};
    json_begin(&j, NULL, '[');
    for (size_t i = 0; i < map->site->run_count; i++) {
        if (site_comparable(&map->site->runs[i]))
            site_put_run(&j, &map->site->runs[i]);
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
                uint64_t stamp)
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
        json_end(&j, '}');
    }
    json_end(&j, ']');
    json_end(&j, '}');
    free(columns);
    site_wrap(js, "plumbTimes", json);
}

// ---- the points of one series ----

// Runs as steps from one to the next, which are short.
void site_settled(struct buffer *js, struct buffer *json, const char *name,
                  const struct site_point *points, size_t count, uint64_t stamp)
{
    struct json j = {.out = json};
    char text[32];
    int64_t last = 0;
    snprintf(text, sizeof(text), "%016llx", (unsigned long long)stamp);
    json_begin(&j, NULL, '{');
    json_clean(&j, "stamp", text);
    json_clean(&j, "series", name);
    json_begin(&j, "runs", '[');
    for (size_t i = 0; i < count; i++) {
        json_int(&j, NULL, points[i].run - last);
        last = points[i].run;
    }
    json_end(&j, ']');
    json_begin(&j, "times_ns", '[');
    for (size_t i = 0; i < count; i++)
        json_rounded(&j, NULL, points[i].time_ns > 0 ? points[i].time_ns : NAN, TIME_DIGITS);
    json_end(&j, ']');
    json_end(&j, '}');
    site_wrap(js, "plumbPoints", json);
}

// ---- all series ----

// [name, its kernel's page, kernel, problem, device, whether it is a control]
void site_series_list(struct buffer *js, struct buffer *json, const struct site_map *map)
{
    struct json j = {.out = json};
    json_begin(&j, NULL, '[');
    for (size_t k = 0; k < map->kernel_count; k++) {
        for (size_t i = 0; i < map->kernels[k].count; i++) {
            const size_t index = map->kernels[k].series[i];
            const struct site_series *s = &map->site->series[index];
            char name[SITE_ANCHOR], shape[PROBLEM_TEXT];
            site_series_name(name, map->site, index);
            view_shape(shape, &s->problem);
            json_newline(&j);
            json_begin(&j, NULL, '[');
            json_clean(&j, NULL, name);
            json_clean(&j, NULL, map->kernels[k].slug);
            json_clean(&j, NULL, s->kernel);
            json_clean(&j, NULL, shape);
            json_clean(&j, NULL, map->site->devices[s->device].name);
            json_bool(&j, NULL, s->control);
            json_end(&j, ']');
        }
    }
    json_end(&j, ']');
    site_wrap(js, "plumbSeries", json);
}
