// SPDX-License-Identifier: Apache-2.0
//
// results.json for other tools: everything but the samples. Times are nanoseconds, clocks Hz,
// changes relative (0.01 is 1 %); null is "not known". Fields are added, never renamed or removed;
// `format` rises if that must ever break.
#include "model/fields.h"
#include "model/gate/verdict.h"
#include "reports/text/clean.h"
#include "reports/view.h"

#include <math.h>
#include <stdlib.h>

static void put_commit(struct json *j, const char *name, const struct commit *commit)
{
    json_begin(j, name, '{');
    json_clean(j, "id", commit->id);
    json_clean(j, "tree", commit->tree);
    json_clean(j, "summary", commit->summary);
    json_clean(j, "author", commit->author);
    json_time(j, "time_s", commit->time_s);
    json_end(j, '}');
}

static void put_devices(struct json *j, const struct run *run)
{
    json_begin(j, "devices", '[');
    for (size_t i = 0; i < run->device_count; i++) {
        const struct device *d = &run->devices[i];
        json_newline(j);
        json_begin(j, NULL, '{');
        fields_json(j, &device_fields, d, json_clean);
        fields_json(j, &run_device_fields, d, json_clean);
        json_end(j, '}');
    }
    json_end(j, ']');
}

static void put_measurement(struct json *j, const char *name, const struct measurement *m,
                            double time_ns, double clock_hz)
{
    json_begin(j, name, '{');
    json_clean(j, "state", measurement_state_name(m->state));
    json_number(j, "time_ns", time_ns);
    json_number(j, "clock_hz", clock_hz);
    json_int(j, "samples", (int64_t)m->count);
    json_number(j, "max_error", m->count ? m->max_error : NAN);
    json_clean(j, "regime", m->regime);
    json_clean(j, "detail", m->detail);
    json_end(j, '}');
}

// Writes what looks in other regimes showed of a change.
static void put_beside(struct json *j, const struct result *r)
{
    struct beside looks[REGIMES];
    const size_t count = r->verdict.pairs ? beside_parse(looks, r->head.beside) : 0;
    json_begin(j, "beside", '[');
    for (size_t i = 0; i < count; i++) {
        json_begin(j, NULL, '{');
        json_clean(j, "regime", regime_name(looks[i].regime));
        json_clean(j, "state", measurement_state_name(looks[i].state));
        json_interval(j, "change", interval_relative(looks[i].log_ratio));
        json_int(j, "pairs", looks[i].pairs);
        json_end(j, '}');
    }
    json_end(j, ']');
}

static void put_prediction(struct json *j, const struct prediction *p)
{
    if (!p->model) {
        json_clean(j, "prediction", NULL);
        return;
    }
    json_begin(j, "prediction", '{');
    json_clean(j, "model", p->model);
    json_clean(j, "version", p->version);
    json_bool(j, "feasible", p->feasible);
    fields_json(j, &prediction_fields, p, json_clean);
    json_begin(j, "parts", '[');
    for (size_t i = 0; i < p->part_count; i++) {
        json_begin(j, NULL, '{');
        json_clean(j, "name", p->parts[i].name);
        json_number(j, "time_ns", p->parts[i].time_ns);
        json_end(j, '}');
    }
    json_end(j, ']');
    json_end(j, '}');
}

// The fields that this file has in another form: as a relative change, or in the view's words.
static const char *const placed[] = {"log_ratio", "lower", "upper", "sentence", "detectable"};

static void put_verdict(struct json *j, const struct view *view)
{
    const struct verdict *v = &view->result->verdict;
    struct buffer sentence = {0};
    view_sentence(&sentence, view);
    json_begin(j, "verdict", '{');
    json_interval(j, "change", view->change);
    json_clean(j, "sentence", sentence.bytes);
    json_clean(j, "model", v->model);
    json_clean(j, "version", v->version);
    for (size_t i = 0; i < verdict_fields.count; i++) {
        const struct stored_field *field = &verdict_fields.items[i];
        if (field_named(field, placed, ARRAY_COUNT(placed)))
            continue;
        if (field->type == FIELD_LOG)
            json_number(j, field->name, expm1(field_number(field, v)));
        else
            field_json(j, field, v, json_clean);
    }
    json_end(j, '}');
    buffer_free(&sentence);
}

static void put_result(struct json *j, const struct view *view, const struct run *run)
{
    const struct result *r = view->result;
    json_newline(j);
    json_begin(j, NULL, '{');
    json_clean(j, "kernel", r->kernel);
    json_clean(j, "problem", view->problem);
    json_int(j, "device", (int64_t)r->device);
    fields_json(j, &result_fields, r, json_clean);
    json_clean(j, "timed", result_timed(r)[0] ? result_timed(r) : NULL);
    json_clean(j, "base_code", r->base_code[0] ? r->base_code : NULL);
    json_clean(j, "head_code", r->head_code[0] ? r->head_code : NULL);
    if (run->base.id[0])
        put_measurement(j, "base", &r->base, view->base_ns, view->base_hz);
    put_measurement(j, "head", &r->head, view->head_ns, view->head_hz);
    put_prediction(j, &r->prediction);
    json_number(j, "actual_predicted", view->actual_predicted);
    json_number(j, "throttled", view->throttled);
    put_verdict(j, view);
    put_beside(j, r);
    json_clean(j, "since", view_since(view, run));
    json_number(j, "false_alarm_rate", view->extra->false_alarm_rate);
    json_number(j, "detectable", view->detectable);
    json_number(j, "mean_change", view->mean);
    json_number(j, "p95_change", view->p95);
    json_end(j, '}');
}

static void put_unbuilt(struct json *j, const char *name, const struct build_failure *f)
{
    if (!f->reason)
        return;
    json_begin(j, name, '{');
    json_clean(j, "reason", f->reason);
    json_clean(j, "log", f->log);
    json_begin(j, "errors", '[');
    for (size_t i = 0; i < f->count; i++) {
        json_begin(j, NULL, '{');
        json_clean(j, "file", f->errors[i].file[0] ? f->errors[i].file : NULL);
        json_int(j, "line", f->errors[i].line);
        json_clean(j, "text", f->errors[i].text);
        json_end(j, '}');
    }
    json_end(j, ']');
    json_end(j, '}');
}

static void put_mixes(struct json *j, const struct run *run)
{
    json_begin(j, "mixes", '[');
    for (size_t i = 0; i < run->mix_count; i++) {
        const struct mix_result *mix = &run->mixes[i];
        const bool known = mix->kind != VERDICT_NOT_MEASURED;
        json_newline(j);
        json_begin(j, NULL, '{');
        json_clean(j, "name", mix->name);
        json_clean(j, "kernel", mix->kernel);
        json_clean(j, "regime", mix->apart ? "" : regime_name(mix->regime));
        json_int(j, "device", (int64_t)mix->device);
        json_clean(j, "kind", verdict_kind_name(mix->kind));
        json_interval(j, "change", known ? interval_relative(mix->log_ratio) : interval_none);
        json_number(j, "margin", mix->margin > 0 ? mix->margin : NAN);
        json_clean(j, "sentence", mix->sentence);
        json_end(j, '}');
    }
    json_end(j, ']');
}

static void put_metrics(struct json *j, const struct run *run)
{
    json_begin(j, "metrics", '[');
    for (size_t i = 0; i < run->metric_count; i++) {
        const struct metric_result *m = &run->metrics[i];
        json_newline(j);
        json_begin(j, NULL, '{');
        for (size_t f = 0; f < metric_fields.count; f++) {
            const struct stored_field *field = &metric_fields.items[f];
            if (field->type == FIELD_KIND)
                json_clean(j, field->name, metric_word(m->kind));
            else
                field_json(j, field, m, json_clean);
        }
        json_number(j, "change", m->base > 0 ? m->head / m->base - 1 : NAN);
        json_end(j, '}');
    }
    json_end(j, ']');
}

static void write(struct buffer *out, const struct run *run, const struct report_context *context)
{
    struct view *views = view_all(run, context);
    struct json j = {.out = out};
    char reason[VIEW_TEXT * 4];
    json_begin(&j, NULL, '{');
    json_int(&j, "format", 1);
    json_clean(&j, "tool_version", run->tool_version);
    json_clean(&j, "repository", run->repository);
    json_int(&j, "run", run->id);
    json_clean(&j, "kind", run_kind_name(run->kind));
    json_int(&j, "started_s", run->started_s);
    json_int(&j, "finished_s", run->finished_s);
    json_clean(&j, "conclusion", view_conclusion(run->conclusion));
    json_int(&j, "exit_code", (int64_t)run->conclusion);
    json_clean(&j, "headline", run->headline);
    for (enum run_lack lack = 0; lack < RUN_LACKS; lack++)
        json_clean(&j, run_lack_words(lack)->name,
                   run_lacks(reason, sizeof(reason), run, lack) ? reason : NULL);
    if (run_policy(reason, sizeof(reason), run))
        json_clean(&j, "judged_by", reason);
    if (run->base.id[0])
        put_commit(&j, "base", &run->base);
    put_commit(&j, "head", &run->head);
    if (run->base.id[0])
        json_clean(&j, "base_toolchain", run_toolchain(run, ROLE_BASE));
    json_clean(&j, "head_toolchain", run_toolchain(run, ROLE_HEAD));
    put_unbuilt(&j, "base_unbuilt", &run->unbuilt[ROLE_BASE]);
    put_unbuilt(&j, "head_unbuilt", &run->unbuilt[ROLE_HEAD]);
    json_begin(&j, "self_test", '{');
    fields_json(&j, &self_test_fields, &run->self_test, json_clean);
    json_end(&j, '}');
    put_mixes(&j, run);
    put_metrics(&j, run);
    put_devices(&j, run);
    json_begin(&j, "results", '[');
    for (size_t i = 0; i < run->count; i++)
        put_result(&j, &views[i], run);
    json_end(&j, ']');
    json_end(&j, '}');
    json_newline(&j);
    free(views);
}

const struct report report_json = {
    .name = "json",
    .file = "results.json",
    .why = "every figure, for other tools",
    .write = write,
};
