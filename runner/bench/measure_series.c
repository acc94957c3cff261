// SPDX-License-Identifier: Apache-2.0
//
// The commands of the protocol that measure a series: what is asked, and what of the answers is
// believed. Those that list libraries are measure_list.c.
#include "runner/bench/bench_talk.h"

#include <assert.h>
#include <float.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double open_limit_s = 120, measure_limit_s = 120, close_limit_s = 60;

int bench_unexpected(const struct wire_record *record, struct error *err)
{
    return error_set(err, "a record '%.40s' that was not asked for", record->name);
}

double bench_limit(double seconds, double otherwise)
{
    return seconds > 0 ? seconds : otherwise;
}

// ---- open and close

struct state_answer {
    int64_t id;
    const char *record; // "opened" or "closed"
    struct bench_outcome outcome;
    bool seen;
};

// An error that is no number is as bad as any: the largest there is.
static int take_error(double *out, const struct wire_record *record, const char *key,
                      struct error *err)
{
    const char *text = wire_text(record, key);
    if (text && (strcmp(text, "inf") == 0 || strstr(text, "nan"))) {
        *out = DBL_MAX;
        return 0;
    }
    return wire_double(out, record, key, 0, DBL_MAX, err);
}

static int take_state(void *context, const struct wire_record *record, struct error *err)
{
    struct state_answer *answer = context;
    struct bench_outcome *outcome = &answer->outcome;
    int64_t seen, launches = 0;
    if (strcmp(record->name, answer->record) != 0 || answer->seen)
        return bench_unexpected(record, err);
    const char *state = wire_text(record, "state"), *role = wire_text(record, "role");
    const char *note = wire_text(record, "note");
    if (wire_int(&seen, record, "id", answer->id, answer->id, err) ||
        take_error(&outcome->max_error, record, "error", err) ||
        take_error(&outcome->tolerance, record, "tolerance", err))
        return -1;
    if (wire_text(record, "launches") &&
        wire_int(&launches, record, "launches", 0, UINT32_MAX, err))
        return -1;
    if (!state || measurement_state_parse(&outcome->state, state) ||
        outcome->state == MEASURED_NOT_TAKEN)
        return error_set(err, "'%.40s' is no state", state ? state : "");
    outcome->role = role && strcmp(role, "base") == 0 ? ROLE_BASE : ROLE_HEAD;
    outcome->launches = (uint32_t)launches;
    bench_clean(outcome->detail, sizeof(outcome->detail), note ? note : "");
    answer->seen = true;
    return 0;
}

// A command that is answered by one state.
static int ask_state(struct bench_outcome *out, struct bench *bench, struct wire_line *line,
                     struct state_answer answer, double limit_s, struct error *err)
{
    struct bench_outcome outcome;
    if (bench_exchange(&outcome, bench, line, limit_s, take_state, &answer, err))
        return -1;
    if (outcome.state == MEASURED_OK && answer.seen) {
        outcome = answer.outcome;
    } else if (outcome.state == MEASURED_OK) {
        outcome.state = MEASURED_CRASHED;
        snprintf(outcome.detail, sizeof(outcome.detail), "broke the protocol: no '%s'",
                 answer.record);
    }
    *out = outcome;
    return 0;
}

// A child has a core of its own from its first series on: one that only says what its device is, or
// that ends while the next one starts, needs none. Said once, not by every child.
static void take_processors(struct bench *bench)
{
    static atomic_bool said;
    struct error why;
    if (bench->processors[0])
        return;
    const struct processors_site *site = bench->plan.site ? bench->plan.site : &processors_here;
    if (!processors_take(&bench->own, site, bench->bus, &why) && bench->plan.note &&
        !atomic_exchange(&said, true)) {
        char text[sizeof(why.text) + 80];
        snprintf(text, sizeof(text), "no processor of its own, so times scatter more: %s",
                 why.text);
        bench->plan.note(bench->plan.note_context, text);
    }
    processors_text(bench->processors, &bench->own);
}

static int open_series(struct bench_outcome *out, struct bench_handle *handle, struct bench *bench,
                       const struct bench_series *series, struct error *err)
{
    char problem[PROBLEM_TEXT];
    struct wire_line line;
    problem_format(problem, series->problem);
    *handle = (struct bench_handle){.id = ++bench->last_id, .process = series->process};
    take_processors(bench);
    wire_begin(&line, "open");
    wire_add_int(&line, "id", handle->id);
    wire_add_text(&line, "kernel", series->kernel);
    wire_add_text(&line, "problem", problem);
    wire_add_text(&line, "head", series->head);
    if (series->base)
        wire_add_text(&line, "base", series->base);
    wire_add_int(&line, "seed", (int64_t)((series->seed + series->process) & INT64_MAX));
    if (series->pin)
        wire_add_text(&line, "pin", series->pin);
    wire_add_int(&line, "order", series->head_first ? 1 : 0);
    wire_add_text(&line, "processors", bench->processors);
    if (series->launches)
        wire_add_int(&line, "launches", series->launches);
    double limit_s = bench_limit(bench->plan.limits.open_s, open_limit_s);
    const struct state_answer answer = {.id = handle->id, .record = "opened"};
    return ask_state(out, bench, &line, answer, limit_s, err);
}

// A child that died with two libraries in it does not say whose fault that was: the base alone, in
// a fresh child, does.
static int blame(struct bench_outcome *out, const struct bench *bench,
                 const struct bench_series *series, struct error *err)
{
    struct bench_series alone = *series;
    struct bench_outcome outcome;
    struct bench_handle handle;
    struct bench *fresh;
    alone.head = series->base;
    alone.base = NULL;
    struct bench_plan plan = bench->plan;
    plan.log_path = NULL; // the dead child's log stays
    if (bench_start(&fresh, &plan, err))
        return -1;
    int result = open_series(&outcome, &handle, fresh, &alone, err);
    bench_stop(fresh);
    if (result == 0 && outcome.gone) {
        outcome.role = ROLE_BASE;
        *out = outcome;
    }
    return result;
}

int bench_open(struct bench_outcome *out, struct bench_handle *handle, struct bench *bench,
               const struct bench_series *series, struct error *err)
{
    struct bench_outcome outcome;
    struct bench_handle opened;
    if (open_series(&outcome, &opened, bench, series, err))
        return -1;
    if (outcome.gone && series->base && strcmp(series->base, series->head) != 0 &&
        blame(&outcome, bench, series, err))
        return -1;
    *out = outcome;
    *handle = opened;
    return 0;
}

int bench_close(struct bench_outcome *out, struct bench *bench, const struct bench_handle *handle,
                struct error *err)
{
    struct wire_line line;
    wire_begin(&line, "close");
    wire_add_int(&line, "id", handle->id);
    double limit_s = bench_limit(bench->plan.limits.close_s, close_limit_s);
    const struct state_answer answer = {.id = handle->id, .record = "closed"};
    return ask_state(out, bench, &line, answer, limit_s, err);
}

// ---- samples

static void sample_list_add(struct sample_list *list, const struct sample *sample)
{
    list->items = xgrow(list->items, list->count, &list->capacity, sizeof(*list->items));
    list->items[list->count++] = *sample;
}

void sample_list_free(struct sample_list *list)
{
    free(list->items);
    *list = (struct sample_list){0};
}

struct sampling {
    struct bench *bench;
    struct bench_handle *handle;
    struct sample_list *base, *head;
    bool pairs;
    uint32_t left; // samples, or pairs
    uint16_t block;
    bool half; // `first` waits for its partner
    struct sample first;
};

// Samples come in the order they were taken: the two of a pair after each other, then the next.
static int take_pair(struct sampling *s, const struct sample *sample, struct error *err)
{
    if (!s->half) {
        if (sample->order != 0)
            return error_set(err, "pair %u begins with its second sample", sample->pair);
        s->first = *sample;
        s->half = true;
        return 0;
    }
    if (sample->order != 1 || sample->role == s->first.role)
        return error_set(err, "pair %u has no second sample", s->first.pair);
    bool head_first = s->first.role == ROLE_HEAD;
    sample_list_add(s->base, head_first ? sample : &s->first);
    sample_list_add(s->head, head_first ? &s->first : sample);
    s->half = false;
    s->left--;
    s->handle->next_pair++;
    return 0;
}

static int take_sample(void *context, const struct wire_record *record, struct error *err)
{
    struct sampling *s = context;
    struct sample sample;
    int64_t id;
    if (strcmp(record->name, "sample") != 0)
        return bench_unexpected(record, err);
    if (wire_int(&id, record, "id", s->handle->id, s->handle->id, err) ||
        wire_sample(&sample, record, err))
        return -1;
    if (s->left == 0)
        return error_set(err, "more samples than were asked for");
    if (sample.block != s->block || sample.pair != s->handle->next_pair)
        return error_set(err, "sample of block %u, pair %u instead of %u, %u", sample.block,
                         sample.pair, s->block, s->handle->next_pair);
    sample.process = s->handle->process;
    if (s->pairs)
        return take_pair(s, &sample, err);
    if (sample.role != ROLE_HEAD)
        return error_set(err, "a sample of the base in a measurement of the head alone");
    sample_list_add(s->head, &sample);
    s->left--;
    s->handle->next_pair++;
    return 0;
}

static int measure(struct bench_outcome *out, struct sampling *sampling, const char *command,
                   struct error *err)
{
    struct bench *bench = sampling->bench;
    uint32_t count = sampling->left;
    struct wire_line line;
    assert(count > 0);
    wire_begin(&line, command);
    wire_add_int(&line, "id", sampling->handle->id);
    wire_add_int(&line, "count", count);
    wire_add_int(&line, "block", sampling->block);
    double limit_s = bench_limit(bench->plan.limits.measure_s, measure_limit_s);
    if (bench_exchange(out, bench, &line, limit_s, take_sample, sampling, err))
        return -1;
    if (out->state == MEASURED_OK && sampling->left > 0) {
        out->state = MEASURED_CRASHED;
        snprintf(out->detail, sizeof(out->detail), "broke the protocol: %u of %u samples",
                 count - sampling->left, count);
    }
    return 0;
}

int bench_pairs(struct bench_outcome *out, struct sample_list *base, struct sample_list *head,
                struct bench *bench, struct bench_handle *handle, uint32_t count, uint16_t block,
                struct error *err)
{
    struct sampling sampling = {.bench = bench,
                                .handle = handle,
                                .base = base,
                                .head = head,
                                .pairs = true,
                                .left = count,
                                .block = block};
    if (measure(out, &sampling, "pairs", err))
        return -1;
    out->own_fault = false; // whose it was cannot be told
    return 0;
}

int bench_solo(struct bench_outcome *out, struct sample_list *head, struct bench *bench,
               struct bench_handle *handle, uint32_t count, uint16_t block, struct error *err)
{
    struct sampling sampling = {
        .bench = bench, .handle = handle, .head = head, .left = count, .block = block};
    return measure(out, &sampling, "solo", err);
}

void measurement_fill(struct measurement *out, const struct bench_outcome *outcome,
                      const struct sample_list *samples, struct arena *arena)
{
    struct measurement measurement = {
        // Well, but stopped before the first sample: nothing is known of it.
        .state =
            outcome->state == MEASURED_OK && !samples->count ? MEASURED_NOT_TAKEN : outcome->state,
        .count = samples->count,
        .max_error = outcome->max_error,
        .tolerance = outcome->tolerance,
        .detail = arena_strdup(arena, outcome->detail),
    };
    measurement.samples = arena_alloc(arena, samples->count * sizeof(*measurement.samples));
    for (size_t i = 0; i < samples->count; i++)
        measurement.samples[i] = samples->items[i];
    *out = measurement;
}
