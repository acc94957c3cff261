// SPDX-License-Identifier: Apache-2.0
//
// Looks up what each problem of a mix took and how it changed. A series that was not measured now
// because its code is the same has changed by nothing; what it takes is then the newest time that
// is known, or what the model says, which is good enough for a weight.
#include "ci/gate/mixes.h"

#include "model/gate/verdict.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_MOST = 3 };

static const struct result *find_on(const struct run *run, size_t device, const char *kernel,
                                    const struct problem *problem)
{
    for (size_t i = 0; i < run->count; i++) {
        const struct result *r = &run->results[i];
        if (r->device == device && strcmp(r->kernel, kernel) == 0 &&
            problem_equal(&r->problem, problem))
            return r;
    }
    return NULL;
}

// A gate that several units of one model share has each series on one of them.
static bool alike(const struct run *run, size_t a, size_t b)
{
    return a != b && strcmp(run->devices[a].kind, run->devices[b].kind) == 0 &&
           strcmp(run->devices[a].name, run->devices[b].name) == 0;
}

static const struct result *find(const struct run *run, const struct result *like,
                                 const struct problem *problem)
{
    const struct result *found = find_on(run, like->device, like->kernel, problem);
    for (size_t d = 0; !found && d < run->device_count; d++) {
        if (alike(run, d, like->device))
            found = find_on(run, d, like->kernel, problem);
    }
    return found;
}

static double time_known(const struct result *r)
{
    const double base_ns = measurement_time_ns(&r->base), head_ns = measurement_time_ns(&r->head);
    if (base_ns > 0 || head_ns > 0)
        return base_ns > 0 ? base_ns : head_ns;
    if (r->history.count)
        return r->history.points[r->history.count - 1].time_ns;
    return r->prediction.model && r->prediction.feasible ? r->prediction.time_ns : 0;
}

// False: what it takes, or how it changed, is not known.
static bool part_of(struct mix_part *out, const struct result *r, double weight)
{
    const bool same = r->base_code[0] && strcmp(r->base_code, r->head_code) == 0;
    *out = (struct mix_part){.weight = weight, .time_ns = time_known(r)};
    if (!same)
        out->log_ratio = r->verdict.log_ratio;
    return out->time_ns > 0 && isfinite(out->log_ratio.low) && isfinite(out->log_ratio.high);
}

static void judge(struct mix_result *m, struct run *run, const struct mix_part *parts, size_t count)
{
    static const enum verdict_kind kinds[] = {
        [MIX_SAME] = VERDICT_SAME, [MIX_SLOWER] = VERDICT_SLOWER, [MIX_FASTER] = VERDICT_FASTER};
    m->log_ratio = mix_change(parts, count);
    m->kind = kinds[mix_standing(m->log_ratio, log1p(m->margin))];
    const struct interval change = interval_relative(m->log_ratio);
    m->sentence = arena_printf(&run->arena, "mix %s by %s: %+.2f %% (%.2f to %.2f %%)", m->name,
                               m->kernel, 100 * change.value, 100 * change.low, 100 * change.high);
}

// One mix by the kernel and on the device of `like`.
static void add(struct run *run, const struct policy_mix *mix, const struct result *like)
{
    struct mix_part *parts = xcalloc(mix->count, sizeof(*parts));
    struct mix_result m = {.name = arena_strdup(&run->arena, mix->name),
                           .device = like->device,
                           .log_ratio = interval_unknown,
                           .margin = mix->margin,
                           .kind = VERDICT_NOT_MEASURED};
    const struct problem *missing = NULL;
    bool done = true;
    text_copy(m.kernel, sizeof(m.kernel), like->kernel);
    for (size_t i = 0; i < mix->count; i++) {
        const struct result *r = find(run, like, &mix->parts[i].problem);
        done &= r && r->head.state != MEASURED_UNSUPPORTED;
        if (!missing && (!r || !part_of(&parts[i], r, mix->parts[i].weight)))
            missing = &mix->parts[i].problem;
    }
    if (!missing) {
        judge(&m, run, parts, mix->count);
    } else {
        char text[PROBLEM_TEXT];
        problem_format(text, missing);
        m.sentence = arena_printf(&run->arena, "mix %s by %s: not known, as %s is not", m.name,
                                  m.kernel, text);
    }
    free(parts);
    if (done || (mix->kernel && strcmp(mix->kernel, like->kernel) == 0))
        run->mixes[run->mix_count++] = m;
}

// Results stand by device, kernel and problem: the first of a kernel, on its device or on units of
// one model that share the kernel's problems.
static bool is_first(const struct run *run, size_t at)
{
    const struct result *r = &run->results[at];
    for (size_t i = 0; i < at; i++) {
        const struct result *before = &run->results[i];
        if (strcmp(before->kernel, r->kernel) == 0 &&
            (before->device == r->device ||
             (alike(run, before->device, r->device) &&
              !find_on(run, before->device, r->kernel, &r->problem))))
            return false;
    }
    return true;
}

void mixes_find(struct run *run, const struct policy *policy)
{
    run->mix_count = 0;
    if (!run->base.id[0] || !policy->mix_count)
        return;
    run->mixes = arena_alloc(&run->arena, policy->mix_count * run->count * sizeof(*run->mixes));
    for (size_t m = 0; m < policy->mix_count; m++) {
        const struct policy_mix *mix = &policy->mixes[m];
        for (size_t i = 0; i < run->count; i++) {
            if (is_first(run, i) && !run->results[i].control &&
                (!mix->kernel || fnmatch(mix->kernel, run->results[i].kernel, 0) == 0))
                add(run, mix, &run->results[i]);
        }
    }
}

void mixes_restore(struct run *run)
{
    struct policy policy;
    struct error ignored;
    if (policy_parse(&policy, run->policy, strlen(run->policy), "the run's policy", &ignored))
        return;
    mixes_find(run, &policy);
    policy_free(&policy);
}

const char *mixes_text(struct run *run)
{
    const char *text = "";
    for (size_t i = 0; i < run->mix_count && i < SHOWN_MOST; i++)
        text = arena_printf(&run->arena, "%s%s; ", text, run->mixes[i].sentence);
    if (run->mix_count > SHOWN_MOST)
        text = arena_printf(&run->arena, "%s%zu more mixes; ", text, run->mix_count - SHOWN_MOST);
    return text;
}

const struct mix_result *mixes_slower(const struct run *run)
{
    for (size_t i = 0; i < run->mix_count; i++) {
        if (run->mixes[i].kind == VERDICT_SLOWER && run->mixes[i].margin > 0)
            return &run->mixes[i];
    }
    return NULL;
}
