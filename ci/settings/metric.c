// SPDX-License-Identifier: Apache-2.0
//
// The table of metrics.
#include "ci/settings/metric.h"

#include <math.h>
#include <string.h>

#define MEMBER(name)                                                                               \
    {                                                                                              \
        offsetof(struct code_function, name), sizeof(((struct code_function *)0)->name)            \
    }
#define NO_MEMBER                                                                                  \
    {                                                                                              \
        0, 0                                                                                       \
    }

// The columns are what, unit, whose, sum, noisy, margin, least, why. Processor seconds of a build
// vary by some percent each time, so they are noisy; a compiler's report is not.
static const struct metric metrics[] = {
    {"build-seconds",
     "s",
     METRIC_OF_BUILD,
     {NO_MEMBER},
     false,
     true,
     0.25,
     1,
     "processor time of a build from nothing"},
    {"library-size",
     "B",
     METRIC_OF_LIBRARY,
     {NO_MEMBER},
     false,
     false,
     0.01,
     256,
     "of a library's file, without symbols"},
    {"registers",
     "",
     METRIC_OF_CODE,
     {MEMBER(registers)},
     false,
     false,
     0,
     0,
     "per thread, the most of any function"},
    {"spills",
     "B",
     METRIC_OF_CODE,
     {MEMBER(local_load_bytes), MEMBER(local_store_bytes)},
     true,
     false,
     0,
     0,
     "local loads and stores, of all functions"},
    {"stack",
     "B",
     METRIC_OF_CODE,
     {MEMBER(stack_bytes)},
     false,
     false,
     0,
     0,
     "local memory per thread, the most of any function"},
    {"shared-memory",
     "B",
     METRIC_OF_CODE,
     {MEMBER(shared_bytes)},
     false,
     false,
     0,
     0,
     "static, per block, the most of any function"},
    {"code-size",
     "B",
     METRIC_OF_CODE,
     {MEMBER(code_bytes)},
     true,
     false,
     0.02,
     256,
     "machine code of all device functions"},
    {"memory-peak",
     "B",
     METRIC_OF_SERIES,
     {NO_MEMBER},
     false,
     false,
     0.1,
     1 << 20,
     "beside the operands: the workspace, and on the host the library's process"},
};

const struct metric *metric_find(const char *what)
{
    for (size_t i = 0; i < ARRAY_COUNT(metrics); i++) {
        if (strcmp(metrics[i].what, what) == 0)
            return &metrics[i];
    }
    return NULL;
}

const char *metric_words(struct arena *arena)
{
    const char *text = "";
    for (size_t i = 0; i < ARRAY_COUNT(metrics); i++)
        text = arena_printf(arena, "%s%s%s", text, i ? ", " : "", metrics[i].what);
    return text;
}

enum verdict_kind metric_standing(double base, double head, double margin, double least,
                                  bool higher)
{
    if (!isfinite(head))
        return VERDICT_NOT_MEASURED;
    if (!isfinite(base))
        return VERDICT_NEW;
    // A value exactly at the margin counts as within it, whatever the last digit is.
    const double most = fmax(margin * fabs(base), least) + 1e-9 * fabs(base);
    const double worse = higher ? base - head : head - base;
    return worse > most ? VERDICT_SLOWER : -worse > most ? VERDICT_FASTER : VERDICT_SAME;
}

double metric_worse_by(double base, double head, bool higher)
{
    const double change =
        base > 0 && head > 0 ? log(head / base) : log1p(fmax(head, 0)) - log1p(fmax(base, 0));
    return higher ? -change : change;
}

static const char *word_of(const char *text, struct arena *arena)
{
    char *word = arena_strdup(arena, *text ? text : "*");
    for (char *c = word; *c; c++) {
        if (*c == ' ' || *c == '\t')
            *c = '?'; // a blank would end it
    }
    return word;
}

const char *metric_epoch_series(const char *subject, const char *name, const char *device,
                                struct arena *arena)
{
    return arena_printf(arena, "%s metric:%s %s", word_of(subject, arena), name,
                        word_of(device, arena));
}

bool metric_epoch_matches(const struct epoch *epoch, const char *subject, const char *name,
                          const char *device)
{
    struct arena arena = {0};
    const char *problem = arena_printf(&arena, "metric:%s", name);
    const bool matches =
        epoch_matches_text(epoch, word_of(subject, &arena), problem, word_of(device, &arena));
    arena_free(&arena);
    return matches;
}

const char *metric_value_text(double value, const char *unit, struct arena *arena)
{
    const char *space = *unit ? " " : "";
    return fabs(value - round(value)) < 1e-9 ? arena_printf(arena, "%.0f%s%s", value, space, unit)
                                             : arena_printf(arena, "%.3g%s%s", value, space, unit);
}
