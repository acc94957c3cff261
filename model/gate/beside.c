// SPDX-License-Identifier: Apache-2.0
//
// Looks at a changed series in other regimes: their sizes, their texts, and whether one of them
// contradicts a verdict.
#include "model/gate/verdict.h"

#include "model/base.h"
#include "model/robust.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool usable(const struct sample *s)
{
    return !s->excluded && isfinite(s->time_ns) && s->time_ns > 0;
}

// The quantile of Student's distribution for a 95 % interval, to its first term (Abramowitz and
// Stegun 26.7.5). For 7 degrees of freedom it gives 2.30; the exact value is 2.36.
static double student(double degrees)
{
    const double z = normal_quantile(0.975);
    return z + (z * z * z + z) / (4 * degrees);
}

void beside_take(struct beside *out, const struct sample *base, const struct sample *head,
                 size_t count)
{
    double ratios[BESIDE_PAIRS];
    size_t pairs = 0;
    for (size_t i = 0; i < count && pairs < BESIDE_PAIRS; i++) {
        if (usable(&base[i]) && usable(&head[i]))
            ratios[pairs++] = log(head[i].time_ns / base[i].time_ns);
    }
    out->pairs = (uint32_t)pairs;
    out->log_ratio = interval_unknown;
    if (pairs < 2)
        return;
    const struct robust_mean mean = robust_mean(ratios, pairs);
    out->log_ratio = interval_about(mean.mean, mean.se * student((double)pairs - 1));
}

bool beside_enough(const struct beside *look, double margin)
{
    const struct interval seen = look->log_ratio;
    if (look->pairs >= BESIDE_PAIRS)
        return true;
    if (look->pairs < BESIDE_BLOCK || isnan(seen.value))
        return false;
    return seen.low > margin || seen.high < -margin || (seen.low > -margin && seen.high < margin);
}

const char *beside_format(const struct beside *looks, size_t count, struct arena *arena)
{
    const char *text = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct beside *b = &looks[i];
        const bool sized = b->state == MEASURED_OK;
        text = arena_printf(arena, "%s%s%s %s", text ? text : "", text ? ", " : "",
                            regime_name(b->regime), measurement_state_name(b->state));
        if (sized)
            text = arena_printf(arena, "%s %.6g %.6g %.6g %u", text, b->log_ratio.value,
                                b->log_ratio.low, b->log_ratio.high, b->pairs);
    }
    return text;
}

// Parses one look, up to its comma. False: it is malformed.
static bool parse_one(struct beside *out, const char *text)
{
    char regime[16], state[16];
    unsigned pairs = 0;
    int taken = 0;
    *out = (struct beside){.log_ratio = interval_unknown};
    if (sscanf(text, "%15s %15[a-z]%n", regime, state, &taken) != 2 ||
        regime_parse(&out->regime, regime))
        return false;
    const int which = measurement_state_parse(&out->state, state);
    if (which || out->state == MEASURED_NOT_TAKEN)
        return false;
    text += taken;
    if (out->state != MEASURED_OK)
        return *text == '\0' || *text == ',';
    struct interval *seen = &out->log_ratio;
    if (sscanf(text, " %lf %lf %lf %u%n", &seen->value, &seen->low, &seen->high, &pairs, &taken) !=
        4)
        return false;
    out->pairs = pairs;
    return (text[taken] == '\0' || text[taken] == ',') && isfinite(seen->low) &&
           isfinite(seen->high) && seen->low <= seen->value && seen->value <= seen->high &&
           fabs(seen->value) < 100 && pairs <= BESIDE_PAIRS;
}

size_t beside_parse(struct beside out[REGIMES], const char *text)
{
    size_t count = 0;
    while (text && *text) {
        if (count == REGIMES || !parse_one(&out[count], text))
            return 0;
        count++;
        text = strchr(text, ',');
        text = text ? text + 1 + strspn(text + 1, " ") : NULL;
    }
    return count;
}

const char *beside_say(const struct beside *looks, size_t count, struct arena *arena)
{
    const char *text = "";
    for (size_t i = 0; i < count; i++) {
        const struct beside *b = &looks[i];
        const struct interval change = interval_relative(b->log_ratio);
        const char *between = i ? ", " : "";
        if (b->state != MEASURED_OK)
            text = arena_printf(arena, "%s%s%s %s", text, between, measurement_state_name(b->state),
                                regime_words(b->regime));
        else
            text = arena_printf(arena, "%s%s%s %+.2f %% (%+.2f to %+.2f)", text, between,
                                regime_words(b->regime), 100 * change.value, 100 * change.low,
                                100 * change.high);
    }
    return text;
}

// Adds the results that the run has for this kernel and problem in other regimes, as if each were a
// look. A result without pairs is skipped.
static size_t add_judged(struct beside out[REGIMES], size_t count, const struct run *run,
                         const struct result *result)
{
    for (size_t i = 0; i < run->count && count < REGIMES; i++) {
        const struct result *other = &run->results[i];
        const struct problem there = problem_in(&result->problem, other->problem.regime);
        if (other == result || !other->verdict.pairs ||
            strcmp(other->kernel, result->kernel) != 0 || !problem_equal(&there, &other->problem) ||
            other->problem.regime == result->problem.regime)
            continue;
        out[count++] = (struct beside){.regime = other->problem.regime,
                                       .state = MEASURED_OK,
                                       .log_ratio = other->verdict.log_ratio,
                                       .pairs = other->verdict.pairs};
    }
    return count;
}

bool beside_opposed(struct beside *out, const struct run *run, const struct result *result)
{
    const struct verdict *v = &result->verdict;
    const double sign = v->kind == VERDICT_SLOWER ? 1 : v->kind == VERDICT_FASTER ? -1 : 0;
    struct beside all[REGIMES];
    double most = v->margin;
    bool found = false;
    if (sign == 0 || !v->pairs)
        return false;
    const size_t count = add_judged(all, beside_parse(all, result->head.beside), run, result);
    for (size_t i = 0; i < count; i++) {
        const struct interval seen = all[i].log_ratio;
        // The end of the interval that is nearest to no change.
        const double nearest = sign > 0 ? seen.high : -seen.low;
        if (all[i].state != MEASURED_OK || !(nearest < 0) || !(-sign * seen.value > most))
            continue;
        most = -sign * seen.value;
        *out = all[i];
        found = true;
    }
    return found;
}
