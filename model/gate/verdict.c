// SPDX-License-Identifier: Apache-2.0
//
// Verdicts from states alone, causes from a series and its controls, comparisons of devices, and
// mixes.
#include "model/gate/verdict.h"

#include "model/base.h"
#include "model/result.h"
#include "model/robust.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

// ---- verdicts from states ----
//
// The table of verdicts that follow from the two states alone, first row first.

#define AT(state) (1u << MEASURED_##state)

#define BAD (AT(WRONG) | AT(CRASHED) | AT(TIMEOUT))

#define ANY (~0u)

enum { SAME_CODE = 1, AWAY = 2, UNPROVEN = 4 };

// The first row that fits counts. A change is to blame only for a series that worked on the base,
// or whose state on the base nobody can know; or for one that never worked, so that a first gate
// does not pass it.
static const struct {
    unsigned base, head; // states
    unsigned needs;      // a combination of SAME_CODE, AWAY and UNPROVEN
    struct standing standing;
} table[] = {
    {AT(UNBUILDABLE),
     AT(UNBUILDABLE),
     0,
     {VERDICT_BROKEN, CAUSE_BASE, "does not build, nor does it on the base"}},
    {ANY, AT(UNBUILDABLE), 0, {VERDICT_BROKEN, CAUSE_KERNEL, "does not build"}},
    {ANY,
     AT(MISSING),
     0,
     {VERDICT_BROKEN, CAUSE_KERNEL,
      "is gone from this commit: `plumb accept` accepts that, gate.removed = allow always does"}},
    {ANY,
     BAD,
     SAME_CODE | UNPROVEN,
     {VERDICT_BROKEN, CAUSE_KERNEL, "{head}, and no run ever saw it work"}},
    {ANY,
     BAD,
     SAME_CODE,
     {VERDICT_BROKEN, CAUSE_BASE, "{head}, on the base too: it is the same machine code"}},
    {ANY, AT(UNSUPPORTED), SAME_CODE, {VERDICT_NOT_MEASURED, CAUSE_NONE, "{head}"}},
    {ANY,
     ANY,
     SAME_CODE,
     {VERDICT_SAME, CAUSE_NONE, "runs the machine code of the base: the same by identity"}},
    {AT(OK), AT(UNSUPPORTED), 0, {VERDICT_BROKEN, CAUSE_KERNEL, "{head}, which the base does"}},
    {ANY, AT(UNSUPPORTED), 0, {VERDICT_NOT_MEASURED, CAUSE_NONE, "{head}"}},
    {BAD, BAD, 0, {VERDICT_BROKEN, CAUSE_BASE, "{head}; on the base it {base}"}},
    {ANY, BAD, 0, {VERDICT_BROKEN, CAUSE_KERNEL, "{head}"}},
    {ANY,
     AT(NOT_TAKEN),
     AWAY,
     {VERDICT_NOT_MEASURED, CAUSE_NONE, "was not measured: device {device} is not here"}},
    {ANY,
     AT(NOT_TAKEN),
     0,
     {VERDICT_UNDECIDED, CAUSE_NONE,
      "was not measured: the time of the gate (gate.seconds) was spent before"}},
    {AT(NOT_TAKEN),
     AT(OK),
     0,
     {VERDICT_UNDECIDED, CAUSE_NONE,
      "has no time of the base: that of the gate (gate.seconds) was spent before"}},
    {AT(MISSING), AT(OK), 0, {VERDICT_NEW, CAUSE_NONE, "is new (the base has no such kernel)"}},
    {AT(UNSUPPORTED),
     AT(OK),
     0,
     {VERDICT_NEW, CAUSE_NONE, "is new (the base does not do this problem)"}},
    {AT(UNBUILDABLE),
     AT(OK),
     0,
     {VERDICT_NEW, CAUSE_NONE, "is new (the base does not build, so it has no time)"}},
    {BAD,
     AT(OK),
     0,
     {VERDICT_NEW, CAUSE_NONE, "works, and is new: on the base, also when run alone, it {base}"}},
};

const struct standing *standing_of(const struct standing_input *input)
{
    const unsigned have = (input->same_code ? SAME_CODE : 0) | (input->away ? AWAY : 0) |
                          (input->unproven ? UNPROVEN : 0);
    for (size_t i = 0; i < ARRAY_COUNT(table); i++) {
        if (table[i].base & 1u << input->base && table[i].head & 1u << input->head &&
            (table[i].needs & have) == table[i].needs)
            return &table[i].standing;
    }
    return NULL;
}

const char *standing_text(enum measurement_state state)
{
    static const char *const texts[MEASUREMENT_STATES] = {
        [MEASURED_NOT_TAKEN] = "was not measured",
        [MEASURED_OK] = "works",
        [MEASURED_WRONG] = "gives wrong results",
        [MEASURED_CRASHED] = "crashes",
        [MEASURED_TIMEOUT] = "does not finish in time",
        [MEASURED_UNBUILDABLE] = "does not build",
        [MEASURED_UNSUPPORTED] = "does not do this problem",
        [MEASURED_MISSING] = "is gone",
    };
    return texts[state];
}

const char *standing_words(const struct standing *standing, const struct standing_input *input,
                           const char *device, struct arena *arena)
{
    const struct {
        const char *place, *text;
    } places[] = {{"{head}", standing_text(input->head)},
                  {"{base}", standing_text(input->base)},
                  {"{device}", device}};
    const char *words = standing->words;
    for (size_t i = 0; i < ARRAY_COUNT(places); i++) {
        const char *at = strstr(words, places[i].place);
        if (at)
            words = arena_printf(arena, "%.*s%s%s", (int)(at - words), words, places[i].text,
                                 at + strlen(places[i].place));
    }
    return words;
}

// ---- causes ----
//
// Finds the cause of a gate's verdict (kernel, environment, model, or broken before), from the
// series itself and the controls beside it.

struct common_mode common_mode_of(const struct interval *controls, size_t count, double floor,
                                  struct arena *arena)
{
    double *work = arena_alloc(arena, count * sizeof(*work));
    struct common_mode common = {0};
    for (size_t i = 0; i < count; i++) {
        if (isfinite(controls[i].value))
            work[common.count++] = controls[i].value;
    }
    if (common.count == 0)
        return common;
    common.shift = robust_median(work, common.count);
    size_t sure = 0;
    for (size_t i = 0; i < count; i++) {
        if (isfinite(controls[i].value))
            sure += common.shift > 0 ? controls[i].low > 0 : controls[i].high < 0;
    }
    common.moved = fabs(common.shift) >= floor && 2 * sure > common.count;
    return common;
}

static bool moved_with_controls(const struct verdict *v, const struct common_mode *controls)
{
    // An alarm is at least a margin away from 0, so this implies the same side.
    return controls->moved && fabs(v->log_ratio.value - controls->shift) < v->margin;
}

enum cause cause_of(const struct cause_input *input)
{
    const struct verdict *v = input->verdict;
    bool alarm = v->kind == VERDICT_SLOWER || v->kind == VERDICT_FASTER;
    if (input->placement && (alarm || v->kind == VERDICT_UNDECIDED))
        return CAUSE_PLACEMENT;
    if (!alarm)
        return CAUSE_NONE;
    // actual/predicted fell by as much as the prediction rose; adding that leaves the change of the
    // time itself.
    if (input->log_model != 0 && fabs(v->log_ratio.value + input->log_model) < v->margin)
        return CAUSE_MODEL;
    if (!input->code_changed || moved_with_controls(v, &input->controls))
        return CAUSE_ENVIRONMENT;
    return CAUSE_KERNEL;
}

bool cause_fails(const struct verdict *verdict)
{
    if (verdict->kind == VERDICT_BROKEN)
        return verdict->cause != CAUSE_BASE;
    return verdict->kind == VERDICT_SLOWER &&
           (verdict->cause == CAUSE_KERNEL || verdict->cause == CAUSE_NONE);
}

// ---- devices ----
//
// A trimmed mean over the series, with an error from their scatter, and a limit of four such
// errors. Effects of places in memory differ from series to series, while an effect of the device
// is common to all of them. Differences below half a percent are not reported: two H200s of one
// host differed by 0.19 %, clearly so over 198 series.

static const struct moderation by_place = {.sd = 0.003, .weight = 8};

static const double errors = 4, least = 0.005;

struct apart apart_of(double *differences, size_t count)
{
    struct apart out = {.log_ratio = NAN, .se = INFINITY};
    if (!count)
        return out;
    out.log_ratio = robust_mean(differences, count).mean;
    const double sd = count > 1 ? robust_sd(differences, count) : 0;
    out.se = moderate_sd(by_place, sd, (double)count - 1) / sqrt((double)count);
    out.told = count > 1 && fabs(out.log_ratio) > fmax(errors * out.se, least);
    return out;
}

// ---- mixes ----
//
// For parts with weights w and base times t, the base takes sum(w t), and the head takes sum(w t
// exp(r)), where r is a part's log ratio. With the shares s = w t / sum(w t) the change is
// log(sum(s exp(r))). The ratios are small, so its error is that of sum(s r). Parts are measured
// separately, so the squares of their half-widths add up. An error that stands in one direction for
// a whole process, as that of its places does, is small (baselines/recorded/h200/README.md, "Other
// binaries"), and also independent between parts.

struct interval mix_change(const struct mix_part *parts, size_t count)
{
    double total = 0, ratio = 0, below = 0, above = 0;
    assert(count > 0);
    for (size_t i = 0; i < count; i++)
        total += parts[i].weight * parts[i].time_ns;
    for (size_t i = 0; i < count; i++) {
        const struct interval r = parts[i].log_ratio;
        const double share = parts[i].weight * parts[i].time_ns / total;
        ratio += share * exp(r.value);
        below += pow(share * (r.value - r.low), 2);
        above += pow(share * (r.high - r.value), 2);
    }
    const double change = log(ratio);
    return (struct interval){change, change - sqrt(below), change + sqrt(above)};
}

enum verdict_kind mix_standing(struct interval change, double margin)
{
    // The interval is that of a normal error at CONFIDENCE; the verdict needs 99.9 %.
    const double wider = normal_quantile(0.9995) / normal_quantile(0.5 + 0.5 * CONFIDENCE);
    const double low = change.value - wider * (change.value - change.low);
    const double high = change.value + wider * (change.high - change.value);
    if (low > margin || high < -margin)
        return low > margin ? VERDICT_SLOWER : VERDICT_FASTER;
    return change.low >= -margin && change.high <= margin ? VERDICT_SAME : VERDICT_UNDECIDED;
}
