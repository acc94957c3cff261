// SPDX-License-Identifier: Apache-2.0
//
// Why a verdict of a gate is what it is: kernel, environment, model or broken, from the series
// itself and the controls beside it.
#include "model/gate/cause.h"

#include "model/robust.h"

#include <math.h>

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
    // actual/predicted fell by what the prediction rose: adding it back leaves the time's own
    // change.
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
