// SPDX-License-Identifier: Apache-2.0
//
// Writes and reads a store as complete lines of JSON: one object per line, for people and for git.
// Results belong to the run whose line precedes them. README.md describes the forms.

#include "baselines/exchange/import.h"
#include "baselines/fields.h"
#include "baselines/store.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- writing runs ----

// A line, {"what":{...}}, which is composed in memory and then written at once.
struct export_line {
    struct buffer text;
    struct json json; // writes into `text`
};

static struct json *export_begin(struct export_line *line, const char *what)
{
    line->text = (struct buffer){0};
    line->json = (struct json){.out = &line->text};
    json_begin(&line->json, NULL, '{');
    json_begin(&line->json, what, '{');
    return &line->json;
}

static void export_end(struct export_line *line, FILE *file)
{
    json_end(&line->json, '}');
    json_end(&line->json, '}');
    json_newline(&line->json);
    fwrite(line->text.bytes, 1, line->text.length, file);
    buffer_free(&line->text);
}

// Does the same as json_text(), but writes NULL as "".
static void export_text(struct json *json, const char *name, const char *text)
{
    json_text(json, name, text ? text : "");
}

// Writes fields as an object.
static void put_fields(struct json *json, const char *name, const struct stored_fields *fields,
                       const void *thing)
{
    json_begin(json, name, '{');
    fields_json(json, fields, thing, export_text);
    json_end(json, '}');
}

// Writes a commit; null when its id is "".
static void export_commit(struct json *json, const char *name, const struct commit *c)
{
    if (c->id[0])
        put_fields(json, name, &commit_fields, c);
    else
        json_text(json, name, NULL);
}

// Writes a device. A line of a profile has the profile's own "name", so the name of the device is
// called "device" everywhere.
static void put_device(struct json *json, const struct device *d)
{
    export_text(json, "kind", d->kind);
    export_text(json, "uuid", d->uuid);
    export_text(json, "device", d->name);
}

static struct device read_device(const struct node *node)
{
    return (struct device){.kind = node_text(node, "kind", ""),
                           .uuid = node_text(node, "uuid", ""),
                           .name = node_text(node, "device", "")};
}

static void put_unbuilt(struct json *json, const char *name, const struct build_failure *f)
{
    struct arena arena = {0};
    const struct unbuilt unbuilt = unbuilt_of(f, &arena);
    if (f->reason)
        put_fields(json, name, &unbuilt_fields, &unbuilt);
    arena_free(&arena);
}

static void put_metrics(struct json *json, const struct run *run)
{
    if (!run->metric_count)
        return;
    json_begin(json, "metrics", '[');
    for (size_t i = 0; i < run->metric_count; i++)
        put_fields(json, NULL, &metric_fields, &run->metrics[i]);
    json_end(json, ']');
}

static void put_run(FILE *file, const struct run *run, const char *uid)
{
    struct export_line line;
    struct json *json = export_begin(&line, "run");
    export_text(json, "uid", uid);
    fields_json(json, &run_fields, run, export_text);
    export_commit(json, "base", &run->base);
    export_commit(json, "head", &run->head);
    fields_json(json, &run_toolchain_fields, run, export_text);
    json_begin(json, "devices", '[');
    for (size_t i = 0; i < run->device_count; i++) {
        json_begin(json, NULL, '{');
        fields_json(json, &device_fields, &run->devices[i], export_text);
        fields_json(json, &run_device_fields, &run->devices[i], export_text);
        json_end(json, '}');
    }
    json_end(json, ']');
    put_fields(json, "self_test", &self_test_fields, &run->self_test);
    put_unbuilt(json, "base_unbuilt", &run->unbuilt[ROLE_BASE]);
    put_unbuilt(json, "head_unbuilt", &run->unbuilt[ROLE_HEAD]);
    put_metrics(json, run);
    fields_json(json, &run_end_fields, run, export_text);
    export_end(&line, file);
}

// Writes a column of samples: one number if all of them are equal, else an array.
static void put_column(struct json *json, const char *name, const struct measurement *m,
                       double (*get)(const struct sample *))
{
    bool equal = true;
    for (size_t i = 1; i < m->count; i++)
        equal = equal && get(&m->samples[i]) == get(&m->samples[0]);
    if (equal) {
        json_number(json, name, get(&m->samples[0]));
        return;
    }
    json_begin(json, name, '[');
    for (size_t i = 0; i < m->count; i++)
        json_number(json, NULL, get(&m->samples[i]));
    json_end(json, ']');
}

// A field of a sample as a double, in which every value is exact.
#define X(field, low, high)                                                                        \
    static double get_##field(const struct sample *s)                                              \
    {                                                                                              \
        return (double)s->field;                                                                   \
    }

SAMPLE_COLUMNS(X)

#undef X

static void put_samples(struct json *json, const struct measurement *m)
{
    json_begin(json, "samples", '{');
    json_int(json, "count", (int64_t)m->count);
#define X(field, low, high) put_column(json, #field, m, get_##field);
    SAMPLE_COLUMNS(X)
#undef X
    json_end(json, '}');
}

static void put_measurement(struct json *json, const char *name, const struct measurement *m)
{
    if (m->state == MEASURED_NOT_TAKEN) {
        json_text(json, name, NULL);
        return;
    }
    json_begin(json, name, '{');
    fields_json(json, &measurement_fields, m, export_text);
    if (m->count)
        put_samples(json, m);
    json_end(json, '}');
}

static void put_prediction(struct json *json, const struct prediction *p)
{
    if (!p->model)
        return;
    json_begin(json, "prediction", '{');
    export_text(json, "model", p->model);
    export_text(json, "version", p->version);
    json_bool(json, "feasible", p->feasible);
    fields_json(json, &prediction_fields, p, export_text);
    content_write_parts(json, "parts", p);
    json_end(json, '}');
}

static void put_verdict(struct json *json, const struct verdict *v)
{
    if (!v->sentence)
        return;
    json_begin(json, "verdict", '{');
    export_text(json, "model", v->model);
    export_text(json, "version", v->version);
    fields_json(json, &verdict_fields, v, export_text);
    json_end(json, '}');
}

static void put_result(FILE *file, const struct result *r)
{
    char problem[PROBLEM_TEXT];
    problem_format(problem, &r->problem);
    struct export_line line;
    struct json *json = export_begin(&line, "result");
    export_text(json, "kernel", r->kernel);
    export_text(json, "problem", problem);
    json_int(json, "device", (int64_t)r->device);
    content_write_traits(json, "traits", &r->traits);
    export_text(json, "base_code", r->base_code);
    export_text(json, "head_code", r->head_code);
    fields_json(json, &result_fields, r, export_text);
    put_measurement(json, "base", &r->base);
    put_measurement(json, "head", &r->head);
    put_prediction(json, &r->prediction);
    put_verdict(json, &r->verdict);
    export_end(&line, file);
}

static void put_study(FILE *file, const struct study_result *s)
{
    char problem[PROBLEM_TEXT];
    problem_format(problem, &s->problem);
    struct export_line line;
    struct json *json = export_begin(&line, "study");
    export_text(json, "kind", study_kind_name(s->kind));
    export_text(json, "kernel", s->kernel);
    export_text(json, "problem", problem);
    json_int(json, "device", (int64_t)s->device);
    fields_json(json, &study_fields, s, export_text);
    export_end(&line, file);
}

static void put_whole_run(FILE *file, const struct export_filter *filter, const struct run *run,
                          const char *uid)
{
    put_run(file, run, uid);
    for (size_t i = 0; i < run->count; i++) {
        if (!filter->kernel || strcmp(filter->kernel, run->results[i].kernel) == 0)
            put_result(file, &run->results[i]);
    }
    for (size_t i = 0; i < run->study_count; i++) {
        if (!filter->kernel || strcmp(filter->kernel, run->studies[i].kernel) == 0)
            put_study(file, &run->studies[i]);
    }
}

// ---- writing profiles, epochs and builds ----

// Writes figures, each as a list of its fields.
static int put_figures(struct json *json, struct store *store, int64_t profile, struct error *err)
{
    struct arena arena = {0};
    struct stored_figure *figures = NULL;
    size_t count = 0;
    const int status = fields_list(&figures, &count, sizeof(*figures), store, SQL_LOAD_FIGURES,
                                   profile, &figure_fields, &arena, err);
    json_begin(json, "figures", '[');
    for (size_t i = 0; status == 0 && i < count; i++) {
        json_begin(json, NULL, '[');
        for (size_t k = 0; k < figure_fields.count; k++) {
            struct stored_field field = figure_fields.items[k];
            field.name = NULL;
            field_json(json, &field, &figures[i], export_text);
        }
        json_end(json, ']');
    }
    json_end(json, ']');
    arena_free(&arena);
    return status;
}

static int export_profiles(struct store *store, const struct export_filter *filter, FILE *file,
                           struct error *err)
{
    sqlite3_stmt *row = statement_bind(store, SQL_LIST_PROFILES, CELLS(INT(filter->run_id)));
    int status;
    while ((status = statement_step(store, row, err)) > 0) {
        struct arena arena = {0};
        struct stored_profile profile;
        struct export_line line;
        if (fields_load(&profile, &profile_fields, store, row, 4, &arena, err)) {
            status = -1;
            arena_free(&arena);
            break;
        }
        struct json *json = export_begin(&line, "profile");
        fields_json(json, &profile_fields, &profile, export_text);
        arena_free(&arena);
        put_device(json, &(struct device){.kind = (const char *)sqlite3_column_text(row, 1),
                                          .uuid = (const char *)sqlite3_column_text(row, 2),
                                          .name = (const char *)sqlite3_column_text(row, 3)});
        if ((status = put_figures(json, store, row_int(row, 0), err)) != 0) {
            buffer_free(&line.text);
            break;
        }
        export_end(&line, file);
    }
    sqlite3_reset(row);
    return status;
}

static int export_epochs(struct store *store, const struct export_filter *filter, FILE *file,
                         struct error *err)
{
    sqlite3_stmt *row = statement_bind(store, SQL_LIST_EPOCHS, CELLS(INT(filter->run_id)));
    int status;
    while ((status = statement_step(store, row, err)) > 0) {
        struct arena arena = {0};
        struct epoch epoch;
        struct export_line line;
        if (fields_load(&epoch, &epoch_fields, store, row, 1, &arena, err)) {
            status = -1;
        } else {
            fields_json(export_begin(&line, "epoch"), &epoch_fields, &epoch, export_text);
            export_end(&line, file);
        }
        arena_free(&arena);
        if (status < 0)
            break;
    }
    sqlite3_reset(row);
    return status;
}

// A build's line has the fields of its commit beside its own, and calls the commit's id "commit".
static struct stored_fields rest_of_commit(void)
{
    return (struct stored_fields){commit_fields.table, commit_fields.items + 1,
                                  commit_fields.count - 1};
}

static void put_build(FILE *file, const struct commit *commit, const struct build_record *build)
{
    const struct stored_fields rest = rest_of_commit();
    struct export_line line;
    struct json *json = export_begin(&line, "build");
    export_text(json, "commit", commit->id);
    fields_json(json, &rest, commit, export_text);
    fields_json(json, &build_fields, build, export_text);
    json_begin(json, "kernels", '[');
    for (size_t i = 0; i < build->count; i++) {
        json_begin(json, NULL, '{');
        export_text(json, "name", build->kernels[i].name);
        export_text(json, "code", build->kernels[i].code);
        content_write_traits(json, "traits", &build->kernels[i].traits);
        json_end(json, '}');
    }
    json_end(json, ']');
    export_end(&line, file);
}

static int export_builds(struct store *store, const struct export_filter *filter, FILE *file,
                         struct error *err)
{
    sqlite3_stmt *row = statement_bind(store, SQL_LIST_BUILDS, CELLS(INT(filter->run_id)));
    int status;
    while ((status = statement_step(store, row, err)) > 0) {
        struct arena arena = {0};
        struct commit commit;
        struct build_record build;
        int failed = content_load_commit(&commit, store, row_int(row, 0), &arena, err) ||
                     load_build(&build, store, row_int(row, 1), &arena, err);
        if (!failed)
            put_build(file, &commit, &build);
        arena_free(&arena);
        if (failed) {
            sqlite3_reset(row);
            return -1;
        }
    }
    return status;
}

// Reads a commit. False: it is none. null is a commit without an id. Strings live in the arena.
static bool import_commit(struct commit *out, const struct node *node, struct arena *arena)
{
    *out = (struct commit){.summary = "", .author = ""};
    if (!node || node->type != NODE_OBJECT)
        return true; // null: there is no commit
    return !fields_read(out, &commit_fields, node, arena) && import_is_object_id(out->id);
}

// ---- links: a line needs no run, because the run that measured a link may have been pruned ----

static void put_link(FILE *file, const struct link_owner *owner, const struct link *l)
{
    struct export_line line;
    struct json *json = export_begin(&line, "link");
    export_text(json, "run", l->uid);
    export_text(json, "kernel", owner->kernel);
    export_text(json, "problem", owner->problem);
    put_device(json, &owner->device);
    export_text(json, "base_code", l->base_code);
    export_text(json, "head_code", l->head_code);
    export_commit(json, "base", &l->base);
    export_commit(json, "head", &l->head);
    fields_json(json, &link_fields, l, export_text);
    export_end(&line, file);
}

static int export_links(struct store *store, const struct export_filter *filter, FILE *file,
                        struct error *err)
{
    return export_each_link(store, filter, file, put_link, err);
}

static int import_link(struct import *in, const struct node *node, struct arena *arena,
                       struct error *err)
{
    const struct device device = read_device(node);
    const char *base = node_text(node, "base_code", ""), *head = node_text(node, "head_code", "");
    struct link link = {0};
    struct problem problem;
    struct error ignored;
    char kernel[KERNEL_NAME_TEXT];
    const bool sound =
        device.uuid[0] && text_copy(kernel, sizeof(kernel), node_text(node, "kernel", "")) &&
        kernel[0] && problem_parse(&problem, node_text(node, "problem", ""), &ignored) == 0 &&
        import_is_code(base) && import_is_code(head) &&
        text_copy(link.base_code, sizeof(link.base_code), base) &&
        text_copy(link.head_code, sizeof(link.head_code), head) &&
        text_copy(link.uid, sizeof(link.uid), node_text(node, "run", "")) &&
        import_commit(&link.base, node_member(node, "base"), arena) &&
        import_commit(&link.head, node_member(node, "head"), arena) &&
        !fields_read(&link, &link_fields, node, NULL) && link_sound(&link);
    if (!sound)
        return import_refuse(in,
                             "a link has a run, kernel, problem, uuid, two codes and commits, a "
                             "verdict and figures in range",
                             err);
    const struct series series = {kernel, &problem, device.uuid};
    return import_put_link(in, &series, &device, &link, err);
}

// ---- events: each was reported, concerns some series, and the tool concluded something of it
// later. The decisions of people are in the epochs, which have lines of their own. ----

static int put_change(struct json *json, struct store *store, const struct stored_event_change *c,
                      struct error *err)
{
    sqlite3_stmt *row = statement_bind(store, SQL_NAME_SERIES, CELLS(INT(c->series)));
    const int status = statement_step(store, row, err);
    if (status <= 0)
        return status < 0 ? -1 : store_damaged(store, "a series of an event", err);
    json_begin(json, NULL, '{');
    export_text(json, "kernel", (const char *)sqlite3_column_text(row, 0));
    export_text(json, "problem", (const char *)sqlite3_column_text(row, 1));
    put_device(json, &(struct device){.kind = (const char *)sqlite3_column_text(row, 2),
                                      .uuid = (const char *)sqlite3_column_text(row, 3),
                                      .name = (const char *)sqlite3_column_text(row, 4)});
    fields_json(json, &event_change_fields, c, export_text);
    json_end(json, '}');
    sqlite3_reset(row);
    return 0;
}

static int put_event(FILE *file, struct store *store, const struct stored_event *e,
                     struct error *err)
{
    struct export_line line;
    struct json *json = export_begin(&line, "event");
    fields_json(json, &event_fields, e, export_text);
    json_begin(json, "changes", '[');
    for (size_t i = 0; i < e->change_count; i++) {
        if (put_change(json, store, &e->changes[i], err)) {
            buffer_free(&line.text);
            return -1;
        }
    }
    json_end(json, ']');
    json_begin(json, "entries", '[');
    for (size_t i = 0; i < e->entry_count; i++)
        put_fields(json, NULL, &event_entry_fields, &e->entries[i]);
    json_end(json, ']');
    export_end(&line, file);
    return 0;
}

// Exports the events. They belong to the whole history, so an export of one run or kernel has none.
static int export_events(struct store *store, const struct export_filter *filter, FILE *file,
                         struct error *err)
{
    struct arena arena = {0};
    struct stored_event *events;
    size_t count = 0;
    if (filter->run_id || filter->kernel) // events belong to the whole history
        return 0;
    int status = store_load_events(&events, &count, store, &arena, err);
    for (size_t i = 0; status == 0 && i < count; i++)
        status = put_event(file, store, &events[i], err);
    arena_free(&arena);
    return status;
}

// ---- reading ----

// Reads a change of an event. *sound is false: it is malformed.
static int read_change(struct stored_event_change *out, bool *sound, struct store *store,
                       const struct node *node, struct error *err)
{
    const struct device device = read_device(node);
    const char *kernel = node_text(node, "kernel", "");
    struct problem problem;
    struct error ignored;
    int64_t key;
    *sound = range_is_name(device.uuid, IMPORT_WHERE) && range_is_name(kernel, KERNEL_NAME_TEXT) &&
             problem_parse(&problem, node_text(node, "problem", ""), &ignored) == 0 &&
             !fields_read(out, &event_change_fields, node, NULL) &&
             fields_sound(&event_change_fields, out) && import_is_object_id(out->first) &&
             import_is_object_id(out->last);
    const struct series series = {kernel, &problem, device.uuid};
    return *sound && (content_device(&key, store, &device, err) ||
                      content_kernel(&key, store, kernel, err) ||
                      content_series(&out->series, store, &series, key, err))
               ? -1
               : 0;
}

// Reads an entry that the tool itself made; a store keeps no other.
static bool read_entry(struct event_entry *out, const struct node *node)
{
    return !fields_read(out, &event_entry_fields, node, NULL) &&
           (out->state == EVENT_NEW || out->state == EVENT_CONFIRMED || out->state == EVENT_FIXED ||
            out->state == EVENT_WITHDRAWN) &&
           range_is_name(out->who, IMPORT_WHERE) && (!out->why[0] || range_is_name(out->why, 4096));
}

static int read_event(struct stored_event *out, bool *sound, struct store *store,
                      const struct node *node, struct arena *arena, struct error *err)
{
    const struct node *changes = node_member(node, "changes");
    const struct node *entries = node_member(node, "entries");
    *sound = !fields_read(out, &event_fields, node, NULL) &&
             range_is_name(out->name, sizeof(out->name)) && out->cause != ATTRIBUTION_NONE &&
             (!out->culprit[0] || import_is_object_id(out->culprit)) &&
             (!out->what[0] || range_is_name(out->what, 4096)) && changes &&
             changes->type == NODE_ARRAY && entries && entries->type == NODE_ARRAY;
    if (!*sound)
        return 0;
    out->changes = arena_alloc(arena, (changes->count + 1) * sizeof(*out->changes));
    out->entries = arena_alloc(arena, (entries->count + 1) * sizeof(*out->entries));
    for (const struct node *at = changes->children; at && *sound; at = at->next) {
        if (read_change(&out->changes[out->change_count++], sound, store, at, err))
            return -1;
    }
    for (const struct node *at = entries->children; at && *sound; at = at->next)
        *sound = read_entry(&out->entries[out->entry_count++], at);
    return 0;
}

// Saves an event as merging does: of an event that the store has, only entries can be new.
static int save_event(struct import *in, struct stored_event *e, struct error *err)
{
    struct store *store = in->store;
    if (statement_get(&e->key, store, err, SQL_FIND_EVENT, CELLS(TEXT(e->name))))
        return -1;
    if (!e->key) {
        if (store_save_event(store, e, err))
            return -1;
        in->added.events++;
    }
    for (size_t i = 0; i < e->entry_count; i++) {
        if (store_add_event_entry(store, e->key, &e->entries[i], err))
            return -1;
    }
    return 0;
}

static int import_event(struct import *in, const struct node *node, struct arena *arena,
                        struct error *err)
{
    struct stored_event event = {0};
    bool sound;
    if (read_event(&event, &sound, in->store, node, arena, err))
        return import_blame(in, err);
    if (!sound)
        return import_refuse(in,
                             "an event has a name, a cause, changes with series, commits and "
                             "sizes, and entries with state, time and who",
                             err);
    return save_event(in, &event, err) ? import_blame(in, err) : 0;
}

// ---- writing everything ----

int store_export_json(struct store *store, const struct export_filter *filter, FILE *file,
                      struct error *err)
{
    fputs("{\"plumb\":{\"export\":1,\"tool_version\":\"" PLUMB_VERSION "\"}}\n", file);
    if (export_profiles(store, filter, file, err) || export_epochs(store, filter, file, err) ||
        export_builds(store, filter, file, err))
        return -1;
    return export_runs(store, filter, file, put_whole_run, err) ||
                   export_links(store, filter, file, err) || export_events(store, filter, file, err)
               ? -1
               : 0;
}

// ---- reading builds, profiles, epochs and studies ----

// Reads traits. A missing trait becomes 0 or fp32; one that is out of range is ignored.
static void import_traits(struct traits *out, const struct node *node)
{
    dtype_parse(&out->in, node_text(node, "in", "fp32"));
    dtype_parse(&out->out, node_text(node, "out", "fp32"));
    dtype_parse(&out->acc, node_text(node, "acc", "fp32"));
#define X(name)                                                                                    \
    int64_t name = node_int(node, #name, 0);                                                       \
    if (name >= INT32_MIN && name <= INT32_MAX)                                                    \
        out->name = (int32_t)name;
    TRAITS(X)
#undef X
}

static int import_build(struct import *in, const struct node *node, struct arena *arena,
                        struct error *err)
{
    const struct node *kernels = node_member(node, "kernels");
    const struct stored_fields rest = rest_of_commit();
    struct build_record build = {.count = kernels ? kernels->count : 0};
    struct commit commit = {0};
    bool sound = text_copy(commit.id, sizeof(commit.id), node_text(node, "commit", "")) &&
                 import_is_object_id(commit.id) && !fields_read(&commit, &rest, node, NULL) &&
                 !fields_read(&build, &build_fields, node, NULL) && build.content[0] &&
                 (build.state == MEASURED_OK || build.state == MEASURED_UNBUILDABLE);
    build.kernels = arena_alloc(arena, build.count * sizeof(*build.kernels));
    const struct node *at = kernels ? kernels->children : NULL;
    for (size_t i = 0; sound && at && i < build.count; i++, at = at->next) {
        struct build_kernel *k = &build.kernels[i];
        const char *code = node_text(at, "code", "");
        sound = text_copy(k->name, sizeof(k->name), node_text(at, "name", "")) &&
                range_is_name(k->name, sizeof(k->name)) && import_is_code(code) && code[0] &&
                text_copy(k->code, sizeof(k->code), code);
        import_traits(&k->traits, node_member(at, "traits"));
    }
    if (!sound)
        return import_refuse(in, "a build has a commit, a content, a state and kernels with codes",
                             err);
    if (store_record_build(in->store, &commit, &build, err))
        return import_blame(in, err);
    in->added.builds++;
    return 0;
}

static int import_profile(struct import *in, const struct node *node, struct error *err)
{
    const struct device device = read_device(node);
    struct stored_profile profile = {.measured_s = 0};
    const struct node *list = node_member(node, "figures");
    if (!range_is_name(device.uuid, IMPORT_WHERE) ||
        fields_read(&profile, &profile_fields, node, NULL) || profile.measured_s <= 0)
        return import_refuse(in, "a profile has a uuid and the time it was measured", err);
    struct gpu gpu = {.name = profile.name};
    const struct node *at = list && list->type == NODE_ARRAY ? list->children : NULL;
    for (; at; at = at->next) {
        struct stored_figure read;
        if (fields_read_list(&read, &figure_fields, at, NULL))
            return import_refuse(in, "a profile's figure is [name, value, source]", err);
        struct figure *figure = gpu_figure(&gpu, read.name);
        if (figure) // a figure of another version is ignored
            *figure = (struct figure){read.value, ORIGIN_CALIBRATED, read.source};
    }
    if (save_profile(in->store, &device, &gpu, profile.measured_s, err))
        return import_blame(in, err);
    in->added.profiles++;
    return 0;
}

static int import_epoch(struct import *in, const struct node *node, struct error *err)
{
    struct epoch epoch;
    const struct epoch_list list = {.epochs = &epoch, .count = 1};
    struct arena arena = {0};
    char *text;
    bool sound = !fields_read(&epoch, &epoch_fields, node, NULL) &&
                 epoch_format(&text, &epoch, &arena, err) == 0;
    arena_free(&arena);
    if (!sound)
        return import_refuse(in, "an epoch has series, commit, level, reason, who and when_s", err);
    if (store_save_epochs(in->store, &list, err))
        return import_blame(in, err);
    in->added.epochs++;
    return 0;
}

static int import_study(struct import *in, const struct node *node, struct error *err)
{
    struct study_result study = {.kind = STUDY_AA};
    const int64_t device = node_int(node, "device", -1);
    struct error ignored;
    bool sound = in->open && device >= 0 && (uint64_t)device < in->run.device_count &&
                 text_copy(study.kernel, sizeof(study.kernel), node_text(node, "kernel", "")) &&
                 range_is_name(study.kernel, sizeof(study.kernel)) &&
                 problem_parse(&study.problem, node_text(node, "problem", ""), &ignored) == 0 &&
                 study_kind_parse(&study.kind, node_text(node, "kind", "")) == 0;
    if (!sound || fields_read(&study, &study_fields, node, NULL) || !study_sound(&study))
        return import_refuse(in, "a study has kind, kernel, problem, device and counts that add up",
                             err);
    if (in->known)
        return 0; // the store has the results of this study
    study.device = (size_t)device;
    struct run run = in->run;
    run.studies = &study;
    run.study_count = 1;
    return store_save_study(in->store, &run, err) ? import_blame(in, err) : 0;
}

static bool read_unbuilt(struct run *run, enum sample_role role, const struct node *node)
{
    if (!node || node->type != NODE_OBJECT)
        return true; // the commit builds
    struct unbuilt unbuilt;
    return !fields_read(&unbuilt, &unbuilt_fields, node, &run->arena) &&
           unbuilt_failure(&run->unbuilt[role], &unbuilt, &run->arena);
}

// Reads metrics; their texts live as long as the run.
static bool read_metrics(struct run *run, const struct node *list)
{
    const size_t count = list && list->type == NODE_ARRAY ? list->count : 0;
    const struct node *node = count ? list->children : NULL;
    run->metrics = arena_alloc(&run->arena, (count + 1) * sizeof(*run->metrics));
    for (; node; node = node->next) {
        if (node->type != NODE_OBJECT ||
            fields_read(&run->metrics[run->metric_count++], &metric_fields, node, &run->arena))
            return false;
    }
    return true;
}

static bool read_devices(struct run *run, const struct node *list)
{
    const size_t count = list && list->type == NODE_ARRAY ? list->count : 0;
    const struct node *node = count ? list->children : NULL;
    run->devices = arena_alloc(&run->arena, count * sizeof(*run->devices));
    for (; node; node = node->next) {
        struct device *d = &run->devices[run->device_count++];
        if (fields_read(d, &device_fields, node, &run->arena) ||
            fields_read(d, &run_device_fields, node, &run->arena) || !d->uuid[0])
            return false;
    }
    return count > 0;
}

static bool toolchain_sound(const char *name)
{
    return !name || toolchain_name_sound(name);
}

static int read_run(struct import *in, const struct node *node, struct error *err)
{
    struct run run = {0};
    const char *uid = node_text(node, "uid", "");
    const struct node *test = node_member(node, "self_test");
    struct arena *arena = &run.arena;
    if (import_end(in, err))
        return -1;
    // Every run has these three, so a missing one is an error and not 0.
    bool sound = node_int(node, "started_s", 0) > 0 && node_int(node, "finished_s", -1) >= 0 &&
                 node_int(node, "conclusion", -1) >= 0;
    sound = sound && strlen(uid) == STORE_UID_TEXT - 1 && strspn(uid, "0123456789abcdef") == 32 &&
            !fields_read(&run, &run_fields, node, arena) &&
            !fields_read(&run, &run_toolchain_fields, node, arena) &&
            !fields_read(&run, &run_end_fields, node, arena) &&
            !fields_read(&run.self_test, &self_test_fields, test, arena);
    sound = sound && import_commit(&run.base, node_member(node, "base"), arena) &&
            import_commit(&run.head, node_member(node, "head"), arena) &&
            toolchain_sound(run.toolchain[ROLE_BASE]) && toolchain_sound(run.toolchain[ROLE_HEAD]);
    sound = sound && read_unbuilt(&run, ROLE_BASE, node_member(node, "base_unbuilt")) &&
            read_unbuilt(&run, ROLE_HEAD, node_member(node, "head_unbuilt")) &&
            read_metrics(&run, node_member(node, "metrics")) &&
            read_devices(&run, node_member(node, "devices"));
    in->run = run;
    if (!sound)
        return import_refuse(in, "a run needs uid, kind, times, conclusion, commits and devices",
                             err);
    return import_begin(in, uid, err);
}

// Reads a column of `count` values: one number for all, or an array of that length.
static bool read_column(double *out, size_t count, const struct node *samples, const char *name,
                        double low, double high)
{
    const struct node *node = node_member(samples, name);
    bool array = node && node->type == NODE_ARRAY;
    if (array && node->count != count)
        return false;
    const struct node *at = array ? node->children : node;
    for (size_t i = 0; i < count; i++) {
        out[i] = node_value(at);
        if (!(out[i] >= low && out[i] <= high))
            return false;
        at = array ? at->next : at;
    }
    return true;
}

static bool read_samples(struct measurement *m, const struct node *node, struct arena *arena)
{
    enum { SAMPLES_LIMIT = 1 << 17 };
    int64_t count = node_int(node, "count", -1);
    if (!node)
        return true;
    if (count < 1 || count > SAMPLES_LIMIT)
        return false;
    m->count = (size_t)count;
    m->samples = arena_alloc(arena, m->count * sizeof(*m->samples));
    double *column = xcalloc(m->count, sizeof(*column));
    bool sound = true;
#define X(field, low, high)                                                                        \
    sound = sound && read_column(column, m->count, node, #field, low, high);                       \
    for (size_t i = 0; sound && i < m->count; i++)                                                 \
        m->samples[i].field = (__typeof__(m->samples->field))column[i];
    SAMPLE_COLUMNS(X)
#undef X
    free(column);
    return sound;
}

static bool read_measurement(struct measurement *out, const struct node *node, struct arena *arena)
{
    struct measurement m = {.regime = "", .detail = ""};
    *out = m;
    if (!node || node->type != NODE_OBJECT)
        return true;
    if (fields_read(&m, &measurement_fields, node, NULL) || m.state == MEASURED_NOT_TAKEN)
        return false;
    if (!read_samples(&m, node_member(node, "samples"), arena) ||
        (m.state == MEASURED_OK && m.count == 0))
        return false;
    *out = m;
    return true;
}

static bool read_prediction(struct prediction *out, const struct node *node)
{
    struct prediction p = {.model = node_text(node, "model", NULL),
                           .version = node_text(node, "version", ""),
                           .feasible = node_bool(node, "feasible", true)};
    const struct node *parts = node_member(node, "parts");
    if (!node)
        return true;
    if (fields_read(&p, &prediction_fields, node, NULL))
        return false;
    p.why = p.feasible ? NULL : p.why ? p.why : "";
    const struct node *part = parts && parts->type == NODE_ARRAY ? parts->children : NULL;
    for (; part && p.part_count < PREDICTION_PARTS; part = part->next) {
        if (part->type != NODE_ARRAY || part->count != 2 || part->children->type != NODE_TEXT)
            return false;
        p.parts[p.part_count++] =
            (struct prediction_part){part->children->text, node_value(part->children->next)};
    }
    *out = p;
    return p.model != NULL;
}

static bool read_verdict(struct verdict *out, const struct node *node)
{
    struct verdict v = {.model = node_text(node, "model", ""),
                        .version = node_text(node, "version", "")};
    if (!node)
        return true;
    if (fields_read(&v, &verdict_fields, node, NULL))
        return false;
    *out = v;
    return true;
}

static int read_result(struct import *in, const struct node *node, struct arena *arena,
                       struct error *err)
{
    struct result r = {0};
    int64_t device = node_int(node, "device", -1);
    const char *base = node_text(node, "base_code", ""), *head = node_text(node, "head_code", "");
    if (!in->open)
        return import_refuse(in, "a result before its run", err);
    if (!text_copy(r.kernel, sizeof(r.kernel), node_text(node, "kernel", "")) || !r.kernel[0])
        return import_refuse(in, "a result's kernel is 1 to 200 bytes", err);
    if (problem_parse(&r.problem, node_text(node, "problem", ""), err))
        return import_blame(in, err);
    if (device < 0 || (size_t)device >= in->run.device_count)
        return import_refuse(in, "a result's device is not one of its run", err);
    if (fields_read(&r, &result_fields, node, NULL))
        return import_refuse(in, "a result's `control` and `reused` are true or false", err);
    if (!import_is_code(base) || !import_is_code(head))
        return import_refuse(in, "a code id is one word of at most 64 bytes", err);
    r.device = (size_t)device;
    text_copy(r.base_code, sizeof(r.base_code), base);
    text_copy(r.head_code, sizeof(r.head_code), head);
    import_traits(&r.traits, node_member(node, "traits"));
    if (!read_measurement(&r.base, node_member(node, "base"), arena) ||
        !read_measurement(&r.head, node_member(node, "head"), arena))
        return import_refuse(in, "a measurement has a state and columns of samples in range", err);
    if (!read_prediction(&r.prediction, node_member(node, "prediction")) ||
        !read_verdict(&r.verdict, node_member(node, "verdict")))
        return import_refuse(in, "a prediction or verdict this version does not know", err);
    return import_result(in, &r, err);
}

static int read_line(struct import *in, const struct node *line, struct arena *arena,
                     struct error *err)
{
    const struct node *node = line->type == NODE_OBJECT ? line->children : NULL;
    if (!node || node->type != NODE_OBJECT)
        return import_refuse(in, "a line is one object such as {\"run\":{...}}", err);
    if (strcmp(node->name, "run") == 0)
        return read_run(in, node, err);
    if (strcmp(node->name, "result") == 0)
        return read_result(in, node, arena, err);
    if (strcmp(node->name, "study") == 0)
        return import_study(in, node, err);
    if (strcmp(node->name, "build") == 0)
        return import_build(in, node, arena, err);
    if (strcmp(node->name, "profile") == 0)
        return import_profile(in, node, err);
    if (strcmp(node->name, "epoch") == 0)
        return import_epoch(in, node, err);
    if (strcmp(node->name, "link") == 0)
        return import_link(in, node, arena, err);
    if (strcmp(node->name, "event") == 0)
        return import_event(in, node, arena, err);
    if (strcmp(node->name, "plumb") != 0)
        return import_refuse(
            in, "neither plumb, run, result, study, link, event, build, profile nor epoch", err);
    if (node_int(node, "export", 0) != 1)
        return import_refuse(in, "an export of another version; install a newer plumb", err);
    return 0;
}

// The line of a result with all its samples takes a few MiB. What was read of a line is in memory
// twice.
enum { LINE_MOST = 32 << 20 };

static int import_json(struct import *in, const struct import_file *file, struct error *err)
{
    const char *text = file->text;
    const char *end = text + file->length;
    int status = 0;
    in->whole = true;
    for (in->line = 1; status == 0 && text < end; in->line++) {
        char where[IMPORT_WHERE];
        struct arena arena = {0};
        const struct node *line = NULL;
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        size_t bytes = (size_t)((stop ? stop : end) - text);
        if (bytes > 0)
            snprintf(where, sizeof(where), "%.200s:%zu", in->name, in->line);
        if (bytes > LINE_MOST)
            status = import_refuse(in, "longer than 32 MiB", err);
        else if (bytes > 0)
            status = node_parse(&line, text, bytes, where, &arena, err) ||
                             read_line(in, line, &arena, err)
                         ? -1
                         : 0;
        arena_free(&arena);
        text = stop ? stop + 1 : end;
    }
    return status;
}

// The names with which our lines begin. A line that begins with none of them belongs to another
// tool.
static bool is_json(const struct import_file *file)
{
    static const char *const names[] = {"plumb", "run",   "result",  "study", "link",
                                        "event", "build", "profile", "epoch"};
    size_t at = 0;
    while (at < file->length && file->text[at] && strchr(" \t\r\n", file->text[at]))
        at++;
    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        char begin[16];
        const int length = snprintf(begin, sizeof(begin), "{\"%s\":", names[i]);
        if (file->length - at >= (size_t)length &&
            memcmp(file->text + at, begin, (size_t)length) == 0)
            return true;
    }
    return false;
}

const struct importer importer_json = {"json", is_json, import_json, NULL};
