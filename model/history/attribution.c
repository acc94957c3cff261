// SPDX-License-Identifier: Apache-2.0
//
// What series that changed together have in common: one kernel, one class, one device or one model.
// It is asked after changes are found and finds none.
#include "model/history/attribution.h"

#include <assert.h>
#include <string.h>

static const char *const names[ATTRIBUTIONS] = {
    [ATTRIBUTION_NONE] = "none",
    [ATTRIBUTION_KERNEL] = "kernel",
    [ATTRIBUTION_MEMORY] = "memory",
    [ATTRIBUTION_POWER] = "power",
    [ATTRIBUTION_ENVIRONMENT] = "environment",
    [ATTRIBUTION_MODEL] = "model",
    [ATTRIBUTION_BREAK] = "break",
};

enum { FEWEST = 3 };
static const double most = 0.8;
static const double calm = 0.2;

const char *attribution_name(enum attribution attribution)
{
    assert((unsigned)attribution < ATTRIBUTIONS);
    return names[attribution];
}

int attribution_parse(enum attribution *out, const char *name)
{
    for (int i = 0; i < ATTRIBUTIONS; i++) {
        if (strcmp(names[i], name) == 0) {
            *out = (enum attribution)i;
            return 0;
        }
    }
    return -1;
}

struct tally {
    size_t count, slower, faster;
    size_t old_slower, old_faster; // of them by code that is not new, or not known
};

static void tally_add(struct tally *tally, const struct attribution_series *s)
{
    tally->count++;
    tally->slower += s->changed && s->size > 0;
    tally->faster += s->changed && s->size < 0;
    const bool old = !(s->code_changed && s->code_known);
    tally->old_slower += s->changed && s->size > 0 && old;
    tally->old_faster += s->changed && s->size < 0 && old;
}

static size_t moved(const struct tally *tally)
{
    return tally->slower + tally->faster;
}

static bool together(const struct tally *tally, double size)
{
    const size_t same = size > 0 ? tally->slower : tally->faster;
    const size_t old = size > 0 ? tally->old_slower : tally->old_faster;
    return old > 0 && same >= FEWEST && (double)same >= most * (double)tally->count;
}

// Who shares what with one series.
struct company {
    struct tally device, class, others, model;
};

static struct company company_of(const struct attribution_series *one,
                                 const struct attribution_series *series, size_t count)
{
    struct company company = {0};
    for (size_t i = 0; i < count; i++) {
        const struct attribution_series *s = &series[i];
        if (s->model_changed && !s->code_changed)
            tally_add(&company.model, s);
        if (s->device != one->device)
            continue;
        tally_add(&company.device, s);
        tally_add(s->bound == one->bound ? &company.class : &company.others, s);
    }
    return company;
}

static enum attribution judge(const struct attribution_series *one, const struct company *company)
{
    if (one->model_changed && !one->code_changed &&
        (double)moved(&company->model) >= most * (double)company->model.count)
        return ATTRIBUTION_MODEL;
    bool alone = company->others.count > 0 &&
                 (double)moved(&company->others) <= calm * (double)company->others.count;
    if (alone && together(&company->class, one->size)) {
        if (one->bound == BOUND_MEMORY)
            return ATTRIBUTION_MEMORY;
        if (one->bound == BOUND_COMPUTE)
            return ATTRIBUTION_POWER;
    }
    return together(&company->device, one->size) ? ATTRIBUTION_ENVIRONMENT : ATTRIBUTION_KERNEL;
}

void attribution_find(struct attributed *out, const struct attribution_series *series, size_t count,
                      const struct attribution_break *breaks, size_t break_count)
{
    for (size_t i = 0; i < count; i++) {
        out[i] = (struct attributed){ATTRIBUTION_NONE, NULL};
        if (!series[i].changed)
            continue;
        for (size_t b = 0; b < break_count && !out[i].what; b++) {
            if (breaks[b].device == SIZE_MAX || breaks[b].device == series[i].device)
                out[i] = (struct attributed){ATTRIBUTION_BREAK, breaks[b].what};
        }
        if (out[i].what)
            continue;
        struct company company = company_of(&series[i], series, count);
        out[i].attribution = judge(&series[i], &company);
    }
}
