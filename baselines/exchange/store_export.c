// SPDX-License-Identifier: Apache-2.0
//
// A store as lines of JSON: complete, one object per line, readable by a person and by git. The
// forms are described in README.md; store_import.c reads them back.
#include "baselines/content.h"
#include "baselines/exchange/export.h"
#include "baselines/study.h"
#include "baselines/unbuilt.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct json *export_begin(struct export_line *line, const char *what)
{
    line->text = (struct buffer){0};
    line->json = (struct json){.out = &line->text};
    json_begin(&line->json, NULL, '{');
    json_begin(&line->json, what, '{');
    return &line->json;
}

void export_end(struct export_line *line, FILE *file)
{
    json_end(&line->json, '}');
    json_end(&line->json, '}');
    json_newline(&line->json);
    fwrite(line->text.bytes, 1, line->text.length, file);
    buffer_free(&line->text);
}

void export_text(struct json *json, const char *name, const char *text)
{
    json_text(json, name, text ? text : "");
}

void export_commit(struct json *json, const char *name, const struct commit *c)
{
    if (!c->id[0]) {
        json_text(json, name, NULL);
        return;
    }
    json_begin(json, name, '{');
    export_text(json, "id", c->id);
    export_text(json, "tree", c->tree);
    export_text(json, "parent", c->parent);
    export_text(json, "summary", c->summary);
    export_text(json, "author", c->author);
    json_int(json, "time_s", c->time_s);
    json_end(json, '}');
}

static void put_device(struct json *json, const struct device *d)
{
    json_begin(json, NULL, '{');
    export_text(json, "kind", d->kind);
    export_text(json, "uuid", d->uuid);
    export_text(json, "name", d->name);
    export_text(json, "driver", d->driver);
    export_text(json, "runtime", d->runtime);
    export_text(json, "profile", d->profile);
    json_end(json, '}');
}

static void put_self_test(struct json *json, const struct self_test *t)
{
    json_begin(json, "self_test", '{');
    json_int(json, "series", t->series);
    json_int(json, "alarms", t->alarms);
    json_number(json, "worst_log_evidence", t->worst_log_evidence);
    json_bool(json, "void", t->void_run);
    json_end(json, '}');
}

static void put_unbuilt(struct json *json, const char *name, const struct build_failure *f)
{
    if (!f->reason)
        return;
    char *errors = unbuilt_errors_text(f);
    json_begin(json, name, '{');
    export_text(json, "reason", f->reason);
    export_text(json, "log", f->log);
    export_text(json, "errors", errors);
    json_end(json, '}');
    free(errors);
}

static void put_run(FILE *file, const struct run *run, const char *uid)
{
    struct export_line line;
    struct json *json = export_begin(&line, "run");
    export_text(json, "uid", uid);
    export_text(json, "kind", run_kind_name(run->kind));
    json_int(json, "started_s", run->started_s);
    json_int(json, "finished_s", run->finished_s);
    export_text(json, "tool_version", run->tool_version);
    export_text(json, "repository", run->repository);
    export_text(json, "policy", run->policy);
    export_commit(json, "base", &run->base);
    export_commit(json, "head", &run->head);
    if (run->toolchain[ROLE_BASE])
        export_text(json, "base_toolchain", run->toolchain[ROLE_BASE]);
    if (run->toolchain[ROLE_HEAD])
        export_text(json, "head_toolchain", run->toolchain[ROLE_HEAD]);
    json_begin(json, "devices", '[');
    for (size_t i = 0; i < run->device_count; i++)
        put_device(json, &run->devices[i]);
    json_end(json, ']');
    put_self_test(json, &run->self_test);
    put_unbuilt(json, "base_unbuilt", &run->unbuilt[ROLE_BASE]);
    put_unbuilt(json, "head_unbuilt", &run->unbuilt[ROLE_HEAD]);
    json_int(json, "conclusion", run->conclusion);
    export_text(json, "headline", run->headline);
    export_end(&line, file);
}

// A column: one number when all samples agree, else an array.
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

// Every field of a sample as a double: all are exact in one.
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
    char seed[24];
    if (m->state == MEASURED_NOT_TAKEN) {
        json_text(json, name, NULL);
        return;
    }
    snprintf(seed, sizeof(seed), "%" PRIu64, m->seed); // text: 64 bits do not fit JSON's habits
    json_begin(json, name, '{');
    export_text(json, "state", measurement_state_name(m->state));
    json_number(json, "max_error", m->max_error);
    json_number(json, "tolerance", m->tolerance);
    export_text(json, "regime", m->regime);
    export_text(json, "detail", m->detail);
    export_text(json, "seed", seed);
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
    if (!p->feasible)
        export_text(json, "why", p->why);
    json_number(json, "time_ns", p->time_ns);
    json_number(json, "clock_hz", p->clock_hz);
    json_number(json, "clock_exponent", p->clock_exponent);
    json_number(json, "band", p->band);
    export_text(json, "bound", bound_name(p->bound));
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
    export_text(json, "kind", verdict_kind_name(v->kind));
    export_text(json, "cause", cause_name(v->cause));
    json_number(json, "log_ratio", v->log_ratio.value);
    json_number(json, "lower", v->log_ratio.low);
    json_number(json, "upper", v->log_ratio.high);
    json_number(json, "confidence", v->confidence);
    json_number(json, "log_evidence", v->log_evidence);
    json_number(json, "margin", v->margin);
    json_int(json, "pairs", v->pairs);
    json_int(json, "processes", v->processes);
    json_number(json, "gpu_s", v->gpu_s);
    json_number(json, "detectable", v->detectable > 0 ? v->detectable : NAN);
    export_text(json, "sentence", v->sentence);
    if (v->explanation)
        export_text(json, "explanation", v->explanation);
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
    json_bool(json, "control", r->control);
    json_bool(json, "reused", r->reused);
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
#define X(name) json_int(json, #name, s->name);
    STUDY_COUNTS(X)
#undef X
#define X(name) json_number(json, #name, s->name);
    STUDY_REALS(X)
#undef X
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

int export_runs(struct store *store, const struct export_filter *filter, FILE *file,
                export_run *put, struct error *err)
{
    struct arena arena = {0};
    struct run_entry *entries = NULL;
    size_t count = 0;
    bool found = filter->run_id == 0;
    int status = store_list_runs(&entries, &count, store, STORE_ALL_RUNS, 0, &arena, err);
    // Oldest first, so that what is reused comes before who reuses it.
    for (size_t i = count; status == 0 && i > 0 && !ferror(file); i--) {
        struct run run;
        const struct run_entry *entry = &entries[i - 1];
        if (filter->run_id ? entry->id != filter->run_id : entry->finished_s == 0)
            continue;
        found = true;
        status = store_load_run(&run, store, entry->id, err);
        if (status == 0) {
            put(file, filter, &run, entry->uid);
            run_free(&run);
        }
    }
    arena_free(&arena);
    if (status == 0 && !found)
        status = error_set(err, "store %s: has no run %lld; `plumb report --list` shows them",
                           store->path, (long long)filter->run_id);
    return status;
}

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
