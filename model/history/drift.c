// SPDX-License-Identifier: Apache-2.0
//
// Judges a new measurement by its level: the mean log time of the newest stretch of history that
// ran one machine code. The noise is that between processes. Each stretch of identical code is an
// A/A experiment, so
//     s^2 = (prior_runs prior^2 + sum over stretches sum (x - mean)^2) /
//           (prior_runs + sum over stretches (n - 1)),
// a scaled-inverse-chi-square estimate with the prior's weight in runs. The error of the new value
// against the mean of n earlier ones is s sqrt(1 + 1/n). The interval uses the t quantile of the
// denominator's degrees of freedom (Hill's expansion, accurate enough for 0.99). For m new values
// of one code, their mean is judged, its error is s sqrt(1/m + 1/n), and their squares count, too.
// The verdict is slower if the whole interval lies above +margin, faster if below -margin, same if
// inside, and otherwise undecided.
#include "model/history/drift.h"
#include "model/robust.h"

#include <math.h>
#include <string.h>

struct drift_policy drift_policy_default(const char *device_kind)
{
    bool host = strcmp(device_kind, "host") == 0;
    return (struct drift_policy){
        .prior_sd = host ? 0.03 : 0.02, .prior_runs = 4, .margin = 0.02, .confidence = 0.99};
}

// Student's t from the normal quantile, Abramowitz & Stegun 26.7.5, first three terms.
static double t_quantile(double p, double freedom)
{
    double z = normal_quantile(p), z3 = z * z * z, z5 = z3 * z * z;
    return z + (z3 + z) / (4 * freedom) + (5 * z5 + 16 * z3 + 3 * z) / (96 * freedom * freedom);
}

struct level {
    double mean;
    size_t count;
    double squares, freedom; // pooled over stretches of the same code
};

static void close_stretch(struct level *level, double sum, double sum_squares, size_t count)
{
    if (count < 2)
        return;
    double mean = sum / (double)count;
    level->squares += fmax(0, sum_squares - (double)count * mean * mean);
    level->freedom += (double)count - 1;
}

static struct level find_level(const struct history *history)
{
    struct level level = {0};
    double sum = 0, sum_squares = 0;
    size_t count = 0;
    for (size_t i = 0; i < history->count; i++) {
        const struct history_point *point = &history->points[i];
        if (!(point->time_ns > 0) || !isfinite(point->time_ns))
            continue;
        if (count && !point->same_code) {
            close_stretch(&level, sum, sum_squares, count);
            sum = sum_squares = 0;
            count = 0;
        }
        double x = log(point->time_ns);
        sum += x;
        sum_squares += x * x;
        count++;
    }
    close_stretch(&level, sum, sum_squares, count);
    level.count = count;
    level.mean = count ? sum / (double)count : 0;
    return level;
}

void drift_hold(struct verdict *out, const struct history *history, const double *times_ns,
                size_t count, bool same_code, const struct drift_policy *policy)
{
    *out = (struct verdict){.kind = VERDICT_NEW,
                            .log_ratio = interval_unknown,
                            .confidence = policy->confidence,
                            .margin = policy->margin,
                            .detectable = NAN,
                            .model = DRIFT_MODEL,
                            .version = "1"};
    struct level level = find_level(history);
    double sum = 0, sum_squares = 0;
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        const double x = times_ns[i] > 0 ? log(times_ns[i]) : NAN;
        used += isfinite(x);
        sum += isfinite(x) ? x : 0;
        sum_squares += isfinite(x) ? x * x : 0;
    }
    if (!level.count || !used)
        return;
    close_stretch(&level, sum, sum_squares, used);
    double freedom = policy->prior_runs + level.freedom;
    double variance =
        (policy->prior_runs * policy->prior_sd * policy->prior_sd + level.squares) / freedom;
    double half = t_quantile(0.5 + policy->confidence / 2, freedom) *
                  sqrt(variance * (1 / (double)used + 1 / (double)level.count));
    double margin = log1p(policy->margin);
    out->log_ratio = interval_about(sum / (double)used - level.mean, half);
    const double low = out->log_ratio.low, high = out->log_ratio.high;
    if (low > margin)
        out->kind = VERDICT_SLOWER;
    else if (high < -margin)
        out->kind = VERDICT_FASTER;
    else
        out->kind = low > -margin && high < margin ? VERDICT_SAME : VERDICT_UNDECIDED;
    if (out->kind != VERDICT_SAME && same_code)
        out->cause = CAUSE_ENVIRONMENT;
    else if (out->kind == VERDICT_SLOWER || out->kind == VERDICT_FASTER)
        out->cause = CAUSE_KERNEL;
}

void drift_judge(struct verdict *out, const struct history *history, const struct measurement *now,
                 bool same_code, const struct drift_policy *policy)
{
    const double time_ns = measurement_time_ns(now);
    drift_hold(out, history, &time_ns, 1, same_code, policy);
}
