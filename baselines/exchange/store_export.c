// SPDX-License-Identifier: Apache-2.0
//
// A store as lines of JSON: complete, one object per line, readable by a person and by git. The
// forms are described in README.md; store_import.c reads them back.
#include "baselines/content.h"
#include "baselines/exchange/export.h"
#include "baselines/jsonl.h"
#include "baselines/study.h"
#include "baselines/unbuilt.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void export_commit(FILE *file, bool *outer, const char *name, const struct commit *c)
{
    bool first = true;
    jsonl_name(file, outer, name);
    if (!c->id[0]) {
        fputs("null", file);
        return;
    }
    fputc('{', file);
    jsonl_text_member(file, &first, "id", c->id);
    jsonl_text_member(file, &first, "tree", c->tree);
    jsonl_text_member(file, &first, "parent", c->parent);
    jsonl_text_member(file, &first, "summary", c->summary);
    jsonl_text_member(file, &first, "author", c->author);
    jsonl_int_member(file, &first, "time_s", c->time_s);
    fputc('}', file);
}

static void put_device(FILE *file, const struct device *d)
{
    bool first = true;
    fputc('{', file);
    jsonl_text_member(file, &first, "kind", d->kind);
    jsonl_text_member(file, &first, "uuid", d->uuid);
    jsonl_text_member(file, &first, "name", d->name);
    jsonl_text_member(file, &first, "driver", d->driver);
    jsonl_text_member(file, &first, "runtime", d->runtime);
    jsonl_text_member(file, &first, "profile", d->profile);
    fputc('}', file);
}

static void put_self_test(FILE *file, bool *outer, const struct self_test *t)
{
    bool first = true;
    jsonl_name(file, outer, "self_test");
    fputc('{', file);
    jsonl_int_member(file, &first, "series", t->series);
    jsonl_int_member(file, &first, "alarms", t->alarms);
    jsonl_real_member(file, &first, "worst_log_evidence", t->worst_log_evidence);
    jsonl_bool_member(file, &first, "void", t->void_run);
    fputc('}', file);
}

static void put_unbuilt(FILE *file, bool *outer, const char *name, const struct build_failure *f)
{
    bool first = true;
    if (!f->reason)
        return;
    char *errors = unbuilt_errors_text(f);
    jsonl_name(file, outer, name);
    fputc('{', file);
    jsonl_text_member(file, &first, "reason", f->reason);
    jsonl_text_member(file, &first, "log", f->log);
    jsonl_text_member(file, &first, "errors", errors);
    fputc('}', file);
    free(errors);
}

static void put_run(FILE *file, const struct run *run, const char *uid)
{
    bool first = true;
    fputs("{\"run\":{", file);
    jsonl_text_member(file, &first, "uid", uid);
    jsonl_text_member(file, &first, "kind", run_kind_name(run->kind));
    jsonl_int_member(file, &first, "started_s", run->started_s);
    jsonl_int_member(file, &first, "finished_s", run->finished_s);
    jsonl_text_member(file, &first, "tool_version", run->tool_version);
    jsonl_text_member(file, &first, "repository", run->repository);
    jsonl_text_member(file, &first, "policy", run->policy);
    export_commit(file, &first, "base", &run->base);
    export_commit(file, &first, "head", &run->head);
    jsonl_name(file, &first, "devices");
    for (size_t i = 0; i < run->device_count; i++) {
        fputc(i ? ',' : '[', file);
        put_device(file, &run->devices[i]);
    }
    fputs(run->device_count ? "]" : "[]", file);
    put_self_test(file, &first, &run->self_test);
    put_unbuilt(file, &first, "base_unbuilt", &run->unbuilt[ROLE_BASE]);
    put_unbuilt(file, &first, "head_unbuilt", &run->unbuilt[ROLE_HEAD]);
    jsonl_int_member(file, &first, "conclusion", run->conclusion);
    jsonl_text_member(file, &first, "headline", run->headline);
    fputs("}}\n", file);
}

void export_traits(FILE *file, bool *outer, const struct traits *traits)
{
    jsonl_name(file, outer, "traits");
    content_write_traits(file, traits);
}

// A column: one number when all samples agree, else an array.
static void put_column(FILE *file, bool *first, const char *name, const struct measurement *m,
                       double (*get)(const struct sample *))
{
    bool equal = true;
    jsonl_name(file, first, name);
    for (size_t i = 1; i < m->count; i++)
        equal = equal && get(&m->samples[i]) == get(&m->samples[0]);
    if (equal) {
        jsonl_real(file, get(&m->samples[0]));
        return;
    }
    for (size_t i = 0; i < m->count; i++) {
        fputc(i ? ',' : '[', file);
        jsonl_real(file, get(&m->samples[i]));
    }
    fputc(']', file);
}

// Every field of a sample as a double: all are exact in one.
#define X(field, low, high)                                                                        \
    static double get_##field(const struct sample *s)                                              \
    {                                                                                              \
        return (double)s->field;                                                                   \
    }
SAMPLE_COLUMNS(X)
#undef X

static void put_samples(FILE *file, bool *outer, const struct measurement *m)
{
    bool first = true;
    jsonl_name(file, outer, "samples");
    fputc('{', file);
    jsonl_int_member(file, &first, "count", (int64_t)m->count);
#define X(field, low, high) put_column(file, &first, #field, m, get_##field);
    SAMPLE_COLUMNS(X)
#undef X
    fputc('}', file);
}

static void put_measurement(FILE *file, bool *outer, const char *name, const struct measurement *m)
{
    char seed[24];
    bool first = true;
    jsonl_name(file, outer, name);
    if (m->state == MEASURED_NOT_TAKEN) {
        fputs("null", file);
        return;
    }
    snprintf(seed, sizeof(seed), "%" PRIu64, m->seed); // text: 64 bits do not fit JSON's habits
    fputc('{', file);
    jsonl_text_member(file, &first, "state", measurement_state_name(m->state));
    jsonl_real_member(file, &first, "max_error", m->max_error);
    jsonl_real_member(file, &first, "tolerance", m->tolerance);
    jsonl_text_member(file, &first, "regime", m->regime);
    jsonl_text_member(file, &first, "detail", m->detail);
    jsonl_text_member(file, &first, "seed", seed);
    if (m->count)
        put_samples(file, &first, m);
    fputc('}', file);
}

static void put_prediction(FILE *file, bool *outer, const struct prediction *p)
{
    bool first = true;
    if (!p->model)
        return;
    jsonl_name(file, outer, "prediction");
    fputc('{', file);
    jsonl_text_member(file, &first, "model", p->model);
    jsonl_text_member(file, &first, "version", p->version);
    jsonl_bool_member(file, &first, "feasible", p->feasible);
    if (!p->feasible)
        jsonl_text_member(file, &first, "why", p->why);
    jsonl_real_member(file, &first, "time_ns", p->time_ns);
    jsonl_real_member(file, &first, "clock_hz", p->clock_hz);
    jsonl_real_member(file, &first, "clock_exponent", p->clock_exponent);
    jsonl_real_member(file, &first, "band", p->band);
    jsonl_text_member(file, &first, "bound", bound_name(p->bound));
    jsonl_name(file, &first, "parts");
    fputc('[', file);
    for (size_t i = 0; i < p->part_count; i++) {
        fputs(i ? ",[" : "[", file);
        jsonl_text(file, p->parts[i].name);
        fputc(',', file);
        jsonl_real(file, p->parts[i].time_ns);
        fputc(']', file);
    }
    fputs("]}", file);
}

static void put_verdict(FILE *file, bool *outer, const struct verdict *v)
{
    bool first = true;
    if (!v->sentence)
        return;
    jsonl_name(file, outer, "verdict");
    fputc('{', file);
    jsonl_text_member(file, &first, "model", v->model);
    jsonl_text_member(file, &first, "version", v->version);
    jsonl_text_member(file, &first, "kind", verdict_kind_name(v->kind));
    jsonl_text_member(file, &first, "cause", cause_name(v->cause));
    jsonl_real_member(file, &first, "log_ratio", v->log_ratio.value);
    jsonl_real_member(file, &first, "lower", v->log_ratio.low);
    jsonl_real_member(file, &first, "upper", v->log_ratio.high);
    jsonl_real_member(file, &first, "confidence", v->confidence);
    jsonl_real_member(file, &first, "log_evidence", v->log_evidence);
    jsonl_real_member(file, &first, "margin", v->margin);
    jsonl_int_member(file, &first, "pairs", v->pairs);
    jsonl_int_member(file, &first, "processes", v->processes);
    jsonl_real_member(file, &first, "gpu_s", v->gpu_s);
    jsonl_real_member(file, &first, "detectable", v->detectable > 0 ? v->detectable : NAN);
    jsonl_text_member(file, &first, "sentence", v->sentence);
    if (v->explanation)
        jsonl_text_member(file, &first, "explanation", v->explanation);
    fputc('}', file);
}

static void put_result(FILE *file, const struct result *r)
{
    char problem[PROBLEM_TEXT];
    bool first = true;
    problem_format(problem, &r->problem);
    fputs("{\"result\":{", file);
    jsonl_text_member(file, &first, "kernel", r->kernel);
    jsonl_text_member(file, &first, "problem", problem);
    jsonl_int_member(file, &first, "device", (int64_t)r->device);
    export_traits(file, &first, &r->traits);
    jsonl_text_member(file, &first, "base_code", r->base_code);
    jsonl_text_member(file, &first, "head_code", r->head_code);
    jsonl_bool_member(file, &first, "control", r->control);
    jsonl_bool_member(file, &first, "reused", r->reused);
    put_measurement(file, &first, "base", &r->base);
    put_measurement(file, &first, "head", &r->head);
    put_prediction(file, &first, &r->prediction);
    put_verdict(file, &first, &r->verdict);
    fputs("}}\n", file);
}

static void put_study(FILE *file, const struct study_result *s)
{
    char problem[PROBLEM_TEXT];
    bool first = true;
    problem_format(problem, &s->problem);
    fputs("{\"study\":{", file);
    jsonl_text_member(file, &first, "kind", study_kind_name(s->kind));
    jsonl_text_member(file, &first, "kernel", s->kernel);
    jsonl_text_member(file, &first, "problem", problem);
    jsonl_int_member(file, &first, "device", (int64_t)s->device);
#define X(name) jsonl_int_member(file, &first, #name, s->name);
    STUDY_COUNTS(X)
#undef X
#define X(name) jsonl_real_member(file, &first, #name, s->name);
    STUDY_REALS(X)
#undef X
    fputs("}}\n", file);
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
    for (size_t i = count; status == 0 && i > 0; i--) {
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
    if (status == 0 && (fflush(file) || ferror(file)))
        status = error_set(err, "export of %s: the file cannot be written; is the disk full?",
                           store->path);
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
                   export_links(store, filter, file, err)
               ? -1
               : 0;
}
