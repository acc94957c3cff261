// SPDX-License-Identifier: Apache-2.0
//
// The seconds that would have been enough: all series share the time of a gate, so what is missing
// is counted over all that it ended, in seconds of the device, and the time of the gate grows as
// the device's does. A series that had no time at all counts as one that had its share.
#include "ci/gate/next_step.h"

#include <math.h>

// Device seconds of a pair of this series.
static double pair_s(const struct verdict *v)
{
    return v->gpu_s / fmax(1, v->pairs);
}

static bool had_no_time(const struct result *r)
{
    return r->verdict.kind == VERDICT_UNDECIDED && r->head.state == MEASURED_NOT_TAKEN;
}

static double round_up(double value, double step)
{
    return step * ceil(value / step);
}

// gate.seconds that would decide all that the time ended; 0: it ended nothing.
static double enough_seconds(const struct run *run, const struct policy *policy)
{
    double spent_s = 0, missing_s = 0;
    size_t compared = 0, untouched = 0;
    for (size_t i = 0; i < run->count; i++) {
        const struct verdict *v = &run->results[i].verdict;
        compared += v->pairs > 0;
        untouched += had_no_time(&run->results[i]);
        spent_s += v->pairs ? v->gpu_s : 0;
        if (v->limit == LIMIT_SECONDS)
            missing_s += v->more_pairs * pair_s(v);
    }
    if (compared)
        missing_s += (double)untouched * spent_s / (double)compared;
    if (!(missing_s > 0) || !(spent_s > 0))
        return 0;
    return round_up(policy->gate.seconds * (1 + missing_s / spent_s), 10);
}

// What a series needs that the time of the gate did not reach; 0 seconds: nothing was measured that
// could tell.
static const char *no_time(uint32_t now_s, double seconds, struct arena *arena)
{
    return seconds > 0 ? arena_printf(arena, "set gate.seconds = %.0f (now %u)", seconds, now_s)
                       : arena_printf(arena, "set gate.seconds above %u", now_s);
}

static const char *next_step(const struct verdict *v, const struct policy_kernel *rule,
                             const struct policy_gate *gate, double seconds, struct arena *arena)
{
    switch (v->limit) {
    case LIMIT_SECONDS:
        return arena_printf(arena,
                            "about %u more pairs would decide it: set gate.seconds = %.0f (now %u)",
                            v->more_pairs, seconds, gate->seconds);
    case LIMIT_PAIRS: {
        // What is missing is a guess: less than a quarter more would often say the same again.
        const double more = fmax(0.25, v->more_pairs / fmax(1, v->pairs));
        const char *whose =
            rule->max_pairs ? arena_printf(arena, "kernel.%s.", rule->pattern) : "gate.";
        return arena_printf(arena,
                            "about %u more pairs would decide it: set %smax-pairs = %.0f (now %u "
                            "for the first process)",
                            v->more_pairs, whose, round_up(gate->max_pairs * (1 + more), 8),
                            gate->max_pairs);
    }
    case LIMIT_MARGIN:
        return "it is about as large as the margin, so more pairs would say the same: set "
               "gate.margin below or above it";
    case LIMIT_NOISE:
        return v->detectable > 0
                   ? arena_printf(
                         arena,
                         "its pairs scatter too much for a margin of %.2g %%: measure on a "
                         "quieter machine, or set gate.margin = %.0f%%",
                         100 * v->margin, ceil(100 * expm1(v->detectable)))
                   : "its pairs scatter too much for the margin: measure on a quieter machine";
    case LIMIT_PLACES:
        return arena_printf(arena,
                            "more processes show how places differ: set gate.processes = %u "
                            "(now %u)",
                            2 * gate->processes, gate->processes);
    default:
        return NULL;
    }
}

void say_next_steps(struct run *run, const struct task_list *tasks, const struct policy *policy)
{
    const double seconds = enough_seconds(run, policy);
    for (size_t i = 0; i < tasks->count; i++) {
        struct verdict *v = &tasks->items[i].result->verdict;
        const struct policy_gate gate = policy_gate_for(policy, tasks->items[i].rule);
        if (v->kind != VERDICT_UNDECIDED)
            continue;
        const char *next = had_no_time(tasks->items[i].result)
                               ? no_time(policy->gate.seconds, seconds, &run->arena)
                           : v->pairs
                               ? next_step(v, tasks->items[i].rule, &gate, seconds, &run->arena)
                               : NULL;
        if (next)
            v->sentence = arena_printf(&run->arena, "%s; %s", v->sentence, next);
    }
}
