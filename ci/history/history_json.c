// SPDX-License-Identifier: Apache-2.0
//
// Everything that is known of stored series' histories as one JSON object. Names in a store are
// untrusted text.
#include "ci/history/history_store.h"
#include "reports/text/clean.h"

#include <math.h>
#include <stdio.h>

static void json_place(struct json *json, const char *name, const char *id, int64_t time_s)
{
    json_begin(json, name, '{');
    json_clean(json, "id", id);
    json_time(json, "time_s", time_s);
    json_end(json, '}');
}

static void json_size(struct json *json, const char *name, struct interval size)
{
    json_number(json, name, size.value);
    json_number(json, "low", size.low);
    json_number(json, "high", size.high);
}

static void json_change(struct json *json, const struct history_change *c)
{
    json_newline(json);
    json_begin(json, NULL, '{');
    json_place(json, "commit", c->at.id, c->at.time_s);
    json_place(json, "earliest", c->earliest.id, c->earliest.time_s);
    json_place(json, "latest", c->latest.id, c->latest.time_s);
    json_int(json, "commits", (int64_t)c->commits);
    json_int(json, "index", (int64_t)c->change.index);
    json_size(json, "log_ratio", c->change.size);
    json_number(json, "evidence", c->change.evidence);
    json_bool(json, "confirmed", !c->newest);
    json_clean(json, "cause", attribution_name(c->attribution));
    json_clean(json, "what", c->what);
    json_end(json, '}');
}

static void json_linked(struct json *json, const struct linked_history *linked,
                        const struct linked_levels *all)
{
    json_begin(json, "linked", '{');
    json_int(json, "links", (int64_t)linked->links);
    json_int(json, "loops", (int64_t)linked->loops);
    json_number(json, "misclosure", linked->misclosure);
    json_clean(json, "trouble", linked->trouble);
    json_begin(json, "changes", '[');
    for (size_t i = 0; i < linked->change_count; i++) {
        const struct linked_change *c = &linked->changes[i];
        json_begin(json, NULL, '{');
        json_place(json, "commit", c->at.id, c->at.time_s);
        json_place(json, "base", c->base.id, c->base.time_s);
        json_size(json, "log_ratio", c->size);
        json_number(json, "evidence", c->evidence);
        json_bool(json, "fits", !c->misfit);
        json_end(json, '}');
    }
    json_end(json, ']');
    json_int(json, "newest", linked->level_count ? (int64_t)linked->newest : -1);
    json_begin(json, "levels", '[');
    for (size_t i = 0; i < all->level_count; i++) {
        const struct linked_level *l = &all->levels[i];
        json_begin(json, NULL, '{');
        json_place(json, "commit", l->at->id, l->at->time_s);
        json_int(json, "mark", (int64_t)l->mark);
        json_bool(json, "tried", l->tried);
        json_size(json, "level", l->level);
        json_end(json, '}');
    }
    json_end(json, ']');
    json_end(json, '}');
}

static void json_now(struct json *json, const struct series_history *s)
{
    json_begin(json, "now", '{');
    json_clean(json, "commit", s->newest.commit);
    const struct history_now now = history_now(s);
    json_size(json, "log_ratio", now.size);
    json_number(json, "evidence", now.linked ? NAN : s->creep.evidence);
    json_bool(json, "moved", now.moved);
    json_bool(json, "linked", now.linked);
    json_clean(json, "accepted", s->epoch ? s->epoch->commit : NULL);
    json_clean(json, "reason", s->epoch ? s->epoch->reason : NULL);
    json_end(json, '}');
}

static void json_series(struct json *json, const struct series_history *s,
                        const struct linked_levels *all)
{
    char problem[PROBLEM_TEXT];
    problem_format(problem, &s->series->problem);
    json_newline(json);
    json_begin(json, NULL, '{');
    json_clean(json, "kernel", s->series->kernel);
    json_clean(json, "problem", problem);
    json_clean(json, "device", s->series->device_uuid);
    json_int(json, "points", (int64_t)s->stored.count);
    json_clean(json, "value", s->against_model ? "log actual / predicted" : "log time");
    json_bool(json, "common_mode_removed", s->common_mode);
    json_number(json, "noise", s->sigma);
    json_number(json, "correlation", s->correlation);
    json_bool(json, "drift", s->drift);
    json_begin(json, "changes", '[');
    for (size_t i = 0; i < s->change_count; i++)
        json_change(json, &s->changes[i]);
    json_end(json, ']');
    json_begin(json, "breaks", '[');
    for (size_t i = 0; i < s->break_count; i++) {
        json_begin(json, NULL, '{');
        json_place(json, "commit", s->breaks[i].at.id, s->breaks[i].at.time_s);
        json_clean(json, "what", s->breaks[i].what);
        json_bool(json, "device", s->breaks[i].device);
        json_size(json, "log_ratio", s->breaks[i].device ? s->breaks[i].size : interval_none);
        json_end(json, '}');
    }
    json_end(json, ']');
    json_linked(json, &s->linked, all);
    json_now(json, s);
    json_end(json, '}');
}

void history_print_json(const struct history_set *set)
{
    struct buffer out = {0};
    struct json json = {.out = &out};
    json_begin(&json, NULL, '{');
    json_begin(&json, "series", '[');
    for (size_t i = 0; i < set->count; i++)
        json_series(&json, &set->series[i], &set->levels[i]);
    json_end(&json, ']');
    json_end(&json, '}');
    puts(out.bytes);
    buffer_free(&out);
}
