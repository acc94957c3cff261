// SPDX-License-Identifier: Apache-2.0
//
// Writes the newest time of each series and the newest value of each metric, for tools that keep
// their own history:
//   BMF          Bencher Metric Format: one object, "kernel problem device" -> measure -> value
//   OpenMetrics  a text of gauges that Prometheus and the like read, ended by "# EOF"
// They are taken from one run if the filter names it, else from all finished runs except the heads
// of gates. Raw samples are not read. Formats: bencher.dev/docs/reference/bencher-metric-format and
// OpenMetrics 1.0 (prometheus.io/docs/specs/om/open_metrics_spec).
#include "baselines/exchange/import.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct newest {
    const char *kernel, *problem, *uuid, *device;
    const char *commit;
    int64_t commit_s;
    double time_ns, clock_hz, predicted_ns; // 0: unknown
};
struct newest_metric {
    const char *name, *what, *subject, *uuid, *unit;
    int64_t commit_s;
    double value;
};
struct newest_list {
    struct newest *items;
    size_t count, room;
    struct newest_metric *metrics;
    size_t metric_count, metric_room;
    struct arena arena;
};

static struct newest *add(struct newest_list *list, const char *kernel,
                          const struct problem *problem)
{
    char text[PROBLEM_TEXT];
    problem_format(text, problem);
    list->items = xgrow(list->items, list->count, &list->room, sizeof(*list->items));
    struct newest *out = &list->items[list->count++];
    *out = (struct newest){.kernel = arena_strdup(&list->arena, kernel),
                           .problem = arena_strdup(&list->arena, text)};
    return out;
}

static int collect_series(struct newest_list *list, struct store *store,
                          const struct export_filter *filter, struct error *err)
{
    const struct history_query newest = {.limit = 1};
    struct series_entry *series;
    size_t count;
    if (store_list_series(&series, &count, store, &list->arena, err))
        return -1;
    for (size_t i = 0; i < count; i++) {
        const struct series_entry *s = &series[i];
        struct stored_points stored;
        struct arena arena = {0};
        if (filter->kernel && strcmp(filter->kernel, s->kernel) != 0)
            continue;
        const struct series one = {s->kernel, &s->problem, s->device_uuid};
        if (store_points(&stored, store, &one, &newest, &arena, err)) {
            arena_free(&arena);
            return -1;
        }
        if (stored.count) {
            const struct stored_point *p = &stored.points[0];
            struct newest *out = add(list, s->kernel, &s->problem);
            out->uuid = s->device_uuid;
            out->device = s->device_name;
            out->commit = arena_strdup(&list->arena, p->commit);
            out->commit_s = p->time_s;
            out->time_ns = p->time_ns;
            out->clock_hz = p->clock_hz;
            out->predicted_ns = p->predicted_ns;
        }
        arena_free(&arena);
    }
    return 0;
}

// ---- metrics ----

// Whether the filter wants a subject: "gemm" and "gemm 4096x4096x4096:bf16" belong to kernel gemm.
static bool wants(const struct export_filter *filter, const char *subject)
{
    const size_t length = filter->kernel ? strlen(filter->kernel) : 0;
    return !filter->kernel || (strncmp(filter->kernel, subject, length) == 0 &&
                               (subject[length] == '\0' || subject[length] == ' '));
}

static struct newest_metric *add_metric(struct newest_list *list)
{
    list->metrics =
        xgrow(list->metrics, list->metric_count, &list->metric_room, sizeof(*list->metrics));
    return &list->metrics[list->metric_count++];
}

static bool same_metric(const struct newest_metric *a, const struct metric_value *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->subject, b->subject) == 0 &&
           strcmp(a->uuid, b->device) == 0;
}

// Keeps the newest value of each metric. The store returns the values of one metric together, in
// the order of their runs. The value at the newest commit counts; if one commit was measured twice,
// the later value does.
static int collect_metrics(struct newest_list *list, struct store *store,
                           const struct export_filter *filter, struct error *err)
{
    struct metric_value *values;
    size_t count;
    if (store_metric_values(&values, &count, store, &list->arena, err))
        return -1;
    for (size_t i = 0; i < count; i++) {
        const struct metric_value *v = &values[i];
        struct newest_metric *last =
            list->metric_count ? &list->metrics[list->metric_count - 1] : NULL;
        if (v->proposed || !wants(filter, v->subject))
            continue;
        if (!last || !same_metric(last, v))
            last = add_metric(list);
        else if (v->commit_s < last->commit_s)
            continue;
        *last = (struct newest_metric){v->name, v->what,     v->subject, v->device,
                                       v->unit, v->commit_s, v->value};
    }
    return 0;
}

static void collect_run_metrics(struct newest_list *list, const struct run *run,
                                const struct export_filter *filter)
{
    struct arena *arena = &list->arena;
    for (size_t i = 0; i < run->metric_count; i++) {
        const struct metric_result *m = &run->metrics[i];
        if (!isfinite(m->head) || !wants(filter, m->subject))
            continue;
        *add_metric(list) = (struct newest_metric){.name = arena_strdup(arena, m->name),
                                                   .what = arena_strdup(arena, m->what),
                                                   .subject = arena_strdup(arena, m->subject),
                                                   .uuid = arena_strdup(arena, m->device),
                                                   .unit = arena_strdup(arena, m->unit),
                                                   .commit_s = run->head.time_s,
                                                   .value = m->head};
    }
}

// ---- all ----

static int collect_run(struct newest_list *list, struct store *store,
                       const struct export_filter *filter, struct error *err)
{
    struct run run;
    if (store_load_run(&run, store, filter->run_id, err))
        return -1;
    for (size_t i = 0; i < run.count; i++) {
        const struct result *r = &run.results[i];
        const struct device *device = &run.devices[r->device];
        const double time_ns = r->head.state == MEASURED_OK ? measurement_time_ns(&r->head) : 0;
        const double clock_hz = measurement_clock_hz(&r->head);
        if (!(time_ns > 0) || (filter->kernel && strcmp(filter->kernel, r->kernel) != 0))
            continue;
        struct newest *out = add(list, r->kernel, &r->problem);
        out->uuid = arena_strdup(&list->arena, device->uuid);
        out->device = arena_strdup(&list->arena, device->name);
        out->commit = arena_strdup(&list->arena, run.head.id);
        out->commit_s = run.head.time_s;
        out->time_ns = time_ns;
        out->clock_hz = clock_hz > 0 ? clock_hz : 0;
        out->predicted_ns =
            r->prediction.model && r->prediction.feasible ? r->prediction.time_ns : 0;
    }
    collect_run_metrics(list, &run, filter);
    run_free(&run);
    return 0;
}

typedef void put_newest(FILE *file, const struct newest_list *list);

static int export_newest(struct store *store, const struct export_filter *filter, FILE *file,
                         put_newest *put, struct error *err)
{
    struct newest_list list = {0};
    int status = (filter->run_id ? collect_run : collect_series)(&list, store, filter, err);
    if (status == 0 && !filter->run_id)
        status = collect_metrics(&list, store, filter, err);
    if (status == 0)
        put(file, &list);
    free(list.items);
    free(list.metrics);
    arena_free(&list.arena);
    return status;
}

// ---- Bencher Metric Format ----

static void put_measure(struct json *json, const char *name, double value, bool known)
{
    if (!known || !isfinite(value))
        return;
    json_begin(json, name, '{');
    json_number(json, "value", value);
    json_end(json, '}');
}

// Whether a metric belongs to a series. It is then written in the series' object, because a name
// may occur only once.
static bool is_of(const struct newest_metric *m, const struct newest *n)
{
    const size_t length = strlen(n->kernel);
    return strcmp(m->uuid, n->uuid) == 0 && strncmp(m->subject, n->kernel, length) == 0 &&
           m->subject[length] == ' ' && strcmp(m->subject + length + 1, n->problem) == 0;
}

static void put_object(FILE *file, size_t before, const struct buffer *text)
{
    fprintf(file, "%s\n", before ? "," : "");
    fwrite(text->bytes, 1, text->length, file);
}

// Writes a series. "latency" is Bencher's own measure, in nanoseconds.
static void put_series(FILE *file, const struct newest_list *list, size_t index, bool *placed)
{
    const struct newest *n = &list->items[index];
    struct buffer text = {0};
    struct json json = {.out = &text};
    char *name = xprintf("%s %s %s", n->kernel, n->problem, n->uuid);
    json_begin(&json, name, '{');
    put_measure(&json, "latency", n->time_ns, n->time_ns > 0);
    put_measure(&json, "predicted-latency", n->predicted_ns, n->predicted_ns > 0);
    put_measure(&json, "clock", n->clock_hz, n->clock_hz > 0);
    for (size_t i = 0; i < list->metric_count; i++) {
        if (placed[i] || !is_of(&list->metrics[i], n))
            continue;
        put_measure(&json, list->metrics[i].name, list->metrics[i].value, true);
        placed[i] = true;
    }
    json_end(&json, '}');
    put_object(file, index, &text);
    buffer_free(&text);
    free(name);
}

// Writes all metrics of one subject as one object, when the first of them is reached.
static void put_subject(FILE *file, const struct newest_list *list, size_t first, size_t before,
                        bool *placed)
{
    const struct newest_metric *m = &list->metrics[first];
    struct buffer text = {0};
    struct json json = {.out = &text};
    char *name = xprintf("%s%s%s", m->subject, m->uuid[0] ? " " : "", m->uuid);
    json_begin(&json, name, '{');
    for (size_t i = first; i < list->metric_count; i++) {
        const struct newest_metric *other = &list->metrics[i];
        if (placed[i] || strcmp(m->subject, other->subject) != 0 ||
            strcmp(m->uuid, other->uuid) != 0)
            continue;
        put_measure(&json, other->name, other->value, true);
        placed[i] = true;
    }
    json_end(&json, '}');
    put_object(file, before, &text);
    buffer_free(&text);
    free(name);
}

static void put_bmf(FILE *file, const struct newest_list *list)
{
    bool *placed = xcalloc(list->metric_count + 1, sizeof(*placed));
    size_t written = list->count;
    fputs("{", file);
    for (size_t i = 0; i < list->count; i++)
        put_series(file, list, i, placed);
    for (size_t i = 0; i < list->metric_count; i++) {
        if (!placed[i])
            put_subject(file, list, i, written++, placed);
    }
    fputs("\n}\n", file);
    free(placed);
}

int store_export_bmf(struct store *store, const struct export_filter *filter, FILE *file,
                     struct error *err)
{
    return export_newest(store, filter, file, put_bmf, err);
}

// ---- OpenMetrics ----

// Writes a label in quotes. A backslash, a quote and a line end are escaped; bytes that are not
// UTF-8 become U+FFFD.
static void put_label(struct buffer *out, const char *name, const char *value)
{
    size_t left = strlen(value);
    buffer_printf(out, "%s=\"", name);
    while (left) {
        const size_t length = utf8_length(NULL, value, left);
        if (*value == '\n')
            buffer_puts(out, "\\n");
        else if (*value == '\\' || *value == '"')
            buffer_printf(out, "\\%c", *value);
        else if (length == 0)
            buffer_puts(out, "\xef\xbf\xbd");
        else
            buffer_add(out, value, length);
        value += length ? length : 1;
        left -= length ? length : 1;
    }
    buffer_puts(out, "\"");
}

static void put_labels(struct buffer *out, const struct newest *n)
{
    buffer_puts(out, "{");
    put_label(out, "kernel", n->kernel);
    buffer_puts(out, ",");
    put_label(out, "problem", n->problem);
    buffer_puts(out, ",");
    put_label(out, "device", n->uuid);
    buffer_puts(out, ",");
    put_label(out, "device_name", n->device ? n->device : "");
}

static double time_s(const struct newest *n)
{
    return n->time_ns / 1e9;
}

static double predicted_s(const struct newest *n)
{
    return n->predicted_ns / 1e9;
}

static double clock_hz(const struct newest *n)
{
    return n->clock_hz;
}

static double committed_s(const struct newest *n)
{
    return (double)n->commit_s;
}

static const struct {
    const char *name, *unit, *help;
    double (*value)(const struct newest *n);
} families[] = {
    {"plumb_time_seconds", "seconds", "Newest time of one launch.", time_s},
    {"plumb_predicted_time_seconds", "seconds", "What the model says that launch should take.",
     predicted_s},
    {"plumb_clock_hertz", "hertz", "Mean SM clock of that launch.", clock_hz},
    {"plumb_commit_timestamp_seconds", "seconds", "Time of the commit that was measured.",
     committed_s},
};

static void put_family(FILE *file, const struct newest_list *list, size_t family)
{
    const char *name = families[family].name;
    fprintf(file, "# TYPE %s gauge\n# UNIT %s %s\n# HELP %s %s\n", name, name,
            families[family].unit, name, families[family].help);
    for (size_t i = 0; i < list->count; i++) {
        struct buffer line = {0};
        const double value = families[family].value(&list->items[i]);
        if (!(value > 0) || !isfinite(value))
            continue;
        buffer_puts(&line, name);
        put_labels(&line, &list->items[i]);
        buffer_puts(&line, "} ");
        buffer_number(&line, value);
        buffer_puts(&line, "\n");
        fwrite(line.bytes, 1, line.length, file);
        buffer_free(&line);
    }
}

// Writes metrics. The unit is a label, because a family can have only one unit.
static void put_metrics(FILE *file, const struct newest_list *list)
{
    if (!list->metric_count)
        return;
    fputs("# TYPE plumb_metric gauge\n# HELP plumb_metric Newest value of a metric of the "
          "policy.\n",
          file);
    for (size_t i = 0; i < list->metric_count; i++) {
        const struct newest_metric *m = &list->metrics[i];
        const char *const labels[][2] = {{"metric", m->name},
                                         {"what", m->what},
                                         {"of", m->subject},
                                         {"device", m->uuid},
                                         {"unit", m->unit}};
        struct buffer line = {0};
        buffer_puts(&line, "plumb_metric");
        for (size_t l = 0; l < ARRAY_COUNT(labels); l++) {
            buffer_puts(&line, l ? "," : "{");
            put_label(&line, labels[l][0], labels[l][1]);
        }
        buffer_puts(&line, "} ");
        buffer_number(&line, m->value);
        buffer_puts(&line, "\n");
        fwrite(line.bytes, 1, line.length, file);
        buffer_free(&line);
    }
}

static void put_openmetrics(FILE *file, const struct newest_list *list)
{
    for (size_t i = 0; i < ARRAY_COUNT(families); i++)
        put_family(file, list, i);
    fputs("# TYPE plumb_commit info\n# HELP plumb_commit The commit that was measured.\n", file);
    for (size_t i = 0; i < list->count; i++) {
        struct buffer line = {0};
        buffer_puts(&line, "plumb_commit_info");
        put_labels(&line, &list->items[i]);
        buffer_puts(&line, ",");
        put_label(&line, "commit", list->items[i].commit);
        buffer_puts(&line, "} 1\n");
        fwrite(line.bytes, 1, line.length, file);
        buffer_free(&line);
    }
    put_metrics(file, list);
    fputs("# EOF\n", file);
}

int store_export_openmetrics(struct store *store, const struct export_filter *filter, FILE *file,
                             struct error *err)
{
    return export_newest(store, filter, file, put_openmetrics, err);
}
