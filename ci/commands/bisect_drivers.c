// SPDX-License-Identifier: Apache-2.0
//
// A line for each driver that followed another on a device. A driver is found when the interval of
// its shift leaves no doubt of the direction, and the shift counts as a change in a history.
#include "ci/commands/bisect_drivers.h"
#include "ci/commands/answer.h"
#include "ci/history/drivers.h"
#include "ci/settings/plain.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_found(const struct driver_step *s)
{
    const struct interval *size = &s->shift.size;
    return fabs(size->value) >= log1p(history_defaults.margin) && (size->low > 0 || size->high < 0);
}

static bool is_bounded(const struct driver_step *s)
{
    return isfinite(s->shift.size.low) && isfinite(s->shift.size.high);
}

static const char *verdict_of(const struct driver_step *s, struct arena *arena)
{
    const struct driver_shift *shift = &s->shift;
    const struct interval size = interval_relative(shift->size);
    if (!shift->series)
        return "nothing was timed under both";
    const char *runs = arena_printf(arena, "%zu %s, %zu and %zu runs%s", shift->series,
                                    s->levelled ? "series by links" : "codes", shift->before,
                                    shift->after, is_found(s) ? "  <- changed" : "");
    return is_bounded(s) ? arena_printf(arena, "%+.2f %% (95 %% interval %+.2f to %+.2f), %s",
                                        100 * size.value, 100 * size.low, 100 * size.high, runs)
                         : arena_printf(arena, "%+.2f %%, and nothing tells it from the day: %s",
                                        100 * size.value, runs);
}

static void row_json(struct json *row, const struct driver_step *s)
{
    json_clean(row, "device", s->device_uuid);
    json_clean(row, "from", s->from);
    json_clean(row, "to", s->to);
    json_number(row, "log_ratio", s->shift.size.value);
    json_number(row, "low", s->shift.size.low);
    json_number(row, "high", s->shift.size.high);
    json_number(row, "run_sd", s->shift.run_sd);
    json_int(row, "codes", (int64_t)s->shift.series);
    json_int(row, "runs_before", (int64_t)s->shift.before);
    json_int(row, "runs_after", (int64_t)s->shift.after);
    json_bool(row, "by_links", s->levelled);
    json_bool(row, "changed", is_found(s));
}

static void print_line(const char *text)
{
    char *line = plain_line(text);
    puts(line);
    free(line);
}

static void print_steps(const struct driver_steps *steps, struct arena *arena)
{
    const char *device = "";
    for (size_t i = 0; i < steps->count; i++) {
        const struct driver_step *s = &steps->items[i];
        if (strcmp(device, s->device_uuid) != 0)
            print_line(arena_printf(arena, "%s, %s", s->device_name, s->device_uuid));
        device = s->device_uuid;
        print_line(
            arena_printf(arena, "  driver %s -> %s: %s", s->from, s->to, verdict_of(s, arena)));
    }
}

static size_t count_found(const struct driver_step **first, size_t *open,
                          const struct driver_steps *steps)
{
    size_t found = 0;
    for (size_t i = 0; i < steps->count; i++) {
        if (is_found(&steps->items[i]) && found++ == 0)
            *first = &steps->items[i];
        *open += !is_bounded(&steps->items[i]);
    }
    return found;
}

static const char *headline(const struct driver_steps *steps, size_t found, size_t open,
                            const struct driver_step *first, struct arena *arena)
{
    if (!steps->count)
        return "NOTHING: no device has results of two drivers";
    if (found)
        return arena_printf(arena, "FOUND: driver %s made %s %.2f %% %s%s", first->to,
                            first->device_name, 100 * fabs(expm1(first->shift.size.value)),
                            first->shift.size.value > 0 ? "slower" : "faster",
                            found > 1 ? ", and it is not the only one" : "");
    return open ? "UNDECIDED: one run under a driver tells nothing of the day; `plumb run --again`"
                : "NONE: no driver changed what the same code takes";
}

int bisect_drivers(enum conclusion *out, struct context *context, const struct options *options,
                   const char *kernel, const char *problem, bool as_json, struct error *err)
{
    const struct history_wanted wanted = {
        .kernel = kernel, .problem = problem, .device = options->device};
    struct driver_steps steps;
    const struct driver_step *first = NULL;
    struct arena *arena = &context->arena;
    size_t open = 0;
    struct answer answer;
    if (context_open(context, options, err) || context_store(context, STORE_READ, err) ||
        drivers_find(&steps, context->store, &wanted, false, arena, err))
        return -1;
    const size_t found = count_found(&first, &open, &steps);
    const char *text = headline(&steps, found, open, first, arena);
    *out = found ? CONCLUDE_OK : CONCLUDE_UNDECIDED;
    if (!as_json) {
        print_steps(&steps, arena);
        print_line(text);
        return 0;
    }
    answer_begin(&answer, "drivers");
    for (size_t i = 0; i < steps.count; i++)
        row_json(answer_row(&answer), &steps.items[i]);
    json_clean(answer_whole(&answer), "headline", text);
    answer_end(&answer);
    return 0;
}
