// SPDX-License-Identifier: Apache-2.0
//
// The command `calibrate`: figures of a device, and which of them are believed.
#include "runner/bench/bench_talk.h"

#include <stdlib.h>
#include <string.h>

enum { FIGURES_MAX = 256 };
static const double calibrate_limit_s = 300;

struct figures {
    struct bench_figure items[FIGURES_MAX];
    size_t count;
    struct arena *arena;
};

// Readings beyond the profile's figures (a curve's points, a check) are welcome under any name.
static bool is_key(const char *key)
{
    size_t length = strspn(key, "abcdefghijklmnopqrstuvwxyz0123456789_");
    return length > 0 && length < 40 && !key[length];
}

static int take_figure(void *context, const struct wire_record *record, struct error *err)
{
    struct figures *figures = context;
    int64_t repeats, stable;
    if (strcmp(record->name, "figure") != 0)
        return bench_unexpected(record, err);
    const char *key = wire_text(record, "key"), *note = wire_text(record, "note");
    if (!key || !is_key(key))
        return error_set(err, "'%.40s' is no figure of a device", key ? key : "");
    if (figures->count == FIGURES_MAX)
        return error_set(err, "more than %d figures", FIGURES_MAX);
    struct bench_figure figure = {0};
    if (wire_double(&figure.value, record, "value", 0, 1e30, err) ||
        wire_double(&figure.cv, record, "cv", 0, 1e6, err) ||
        wire_int(&repeats, record, "repeats", 0, INT32_MAX, err) ||
        wire_int(&stable, record, "stable", 0, 1, err))
        return -1;
    char clean[400];
    bench_clean(clean, sizeof(clean), note ? note : "");
    figure.key = arena_strdup(figures->arena, key);
    figure.note = arena_strdup(figures->arena, clean);
    figure.repeats = (uint32_t)repeats;
    figure.stable = stable == 1;
    figures->items[figures->count++] = figure;
    return 0;
}

int bench_calibrate(struct bench_outcome *out, struct bench_figure_list *list, struct bench *bench,
                    const char *only, struct arena *arena, struct error *err)
{
    struct figures *figures = xcalloc(1, sizeof(*figures));
    struct wire_line line;
    figures->arena = arena;
    wire_begin(&line, "calibrate");
    if (only)
        wire_add_text(&line, "only", only);
    double limit_s = bench_limit(bench->plan.limits.calibrate_s, calibrate_limit_s);
    int result = bench_exchange(out, bench, &line, limit_s, take_figure, figures, err);
    if (result == 0 && out->state == MEASURED_OK) {
        list->items = arena_copy(arena, figures->items, figures->count * sizeof(*list->items));
        list->count = figures->count;
    }
    free(figures);
    return result;
}
