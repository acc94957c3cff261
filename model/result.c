// SPDX-License-Identifier: Apache-2.0
//
// The names of states, verdicts and causes, and the one time and clock of a measurement's samples.
#include "model/result.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int find_name(const char *const *names, int count, const char *name)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0)
            return i;
    }
    return -1;
}

// Names are part of the store, the reports and the command line: never change one.
#define NAMED_ENUM(function, type, count, ...)                                                     \
    static const char *const function##s[count] = {__VA_ARGS__};                                   \
    const char *function##_name(type value)                                                        \
    {                                                                                              \
        return function##s[value];                                                                 \
    }
#define PARSED_ENUM(function, type, count)                                                         \
    int function##_parse(type *out, const char *name)                                              \
    {                                                                                              \
        int found = find_name(function##s, count, name);                                           \
        if (found < 0)                                                                             \
            return -1;                                                                             \
        *out = (type)found;                                                                        \
        return 0;                                                                                  \
    }

NAMED_ENUM(measurement_state, enum measurement_state, MEASUREMENT_STATES, "not taken", "ok",
           "wrong", "crashed", "timeout", "unbuildable", "unsupported", "missing")
PARSED_ENUM(measurement_state, enum measurement_state, MEASUREMENT_STATES)
NAMED_ENUM(verdict_kind, enum verdict_kind, VERDICT_KINDS, "not measured", "same", "slower",
           "faster", "undecided", "broken", "new", "accepted")
PARSED_ENUM(verdict_kind, enum verdict_kind, VERDICT_KINDS)
NAMED_ENUM(cause, enum cause, CAUSES, "none", "kernel", "environment", "model", "placement", "base")
NAMED_ENUM(run_kind, enum run_kind, RUN_KINDS, "measure", "gate", "study", "bisect", "import")
PARSED_ENUM(run_kind, enum run_kind, RUN_KINDS)
NAMED_ENUM(study_kind, enum study_kind, STUDY_KINDS, "aa", "slower", "faster")
PARSED_ENUM(study_kind, enum study_kind, STUDY_KINDS)
NAMED_ENUM(bound, enum bound, BOUNDS, "unknown", "compute", "memory", "latency", "epilogue")

const enum verdict_kind verdict_order[VERDICT_KINDS] = {
    VERDICT_ACCEPTED,     VERDICT_BROKEN, VERDICT_SLOWER, VERDICT_UNDECIDED,
    VERDICT_NOT_MEASURED, VERDICT_FASTER, VERDICT_NEW,    VERDICT_SAME,
};

// 10 % off each side: 0.02 % of samples are host stalls over 30 % long, and one moves a plain mean.
static double trimmed_mean(double *values, size_t count)
{
    if (count == 0)
        return 0;
    qsort(values, count, sizeof(*values), rising_doubles);
    size_t cut = count / 10;
    double sum = 0;
    for (size_t i = cut; i < count - cut; i++)
        sum += values[i];
    return sum / (double)(count - 2 * cut);
}

static double mean_of(const struct measurement *m, double (*get)(const struct sample *))
{
    double *values = xcalloc(m->count, sizeof(*values));
    size_t used = 0;
    for (size_t i = 0; i < m->count; i++) {
        double value = get(&m->samples[i]);
        if (!m->samples[i].excluded && value > 0)
            values[used++] = value;
    }
    double mean = trimmed_mean(values, used);
    free(values);
    return mean;
}

static double sample_time(const struct sample *s)
{
    return s->time_ns;
}

static double sample_clock(const struct sample *s)
{
    return s->clock_hz;
}

double measurement_time_ns(const struct measurement *m)
{
    return mean_of(m, sample_time);
}

double measurement_clock_hz(const struct measurement *m)
{
    return mean_of(m, sample_clock);
}

void run_free(struct run *run)
{
    arena_free(&run->arena);
    memset(run, 0, sizeof(*run));
}

void run_count_verdicts(const struct run *run, size_t counts[VERDICT_KINDS])
{
    memset(counts, 0, VERDICT_KINDS * sizeof(*counts));
    for (size_t i = 0; i < run->count; i++)
        counts[run->results[i].verdict.kind]++;
}

// Notes are the last lines; what looks like one further up is the policy's own.
static bool run_note(char *out, size_t size, const struct run *run, const char *wanted)
{
    static const char *const notes[] = {RUN_POLICY_NOTE,     RUN_OVERLAY_NOTE,   RUN_REQUEST_NOTE,
                                        RUN_UNCONFINED_NOTE, RUN_UNLIMITED_NOTE, RUN_PART_NOTE,
                                        RUN_JOINED_NOTE,     RUN_MIX_NOTE};
    const char *begin = run->policy ? run->policy : "", *end = begin + strlen(begin);
    snprintf(out, size, "%s", "");
    while (end > begin) {
        const char *stop = end[-1] == '\n' ? end - 1 : end, *line = stop;
        while (line > begin && line[-1] != '\n')
            line--;
        bool note = line == stop;
        for (size_t i = 0; i < ARRAY_COUNT(notes); i++)
            note |= strncmp(line, notes[i], strlen(notes[i])) == 0;
        if (!note)
            return false;
        if (line < stop && strncmp(line, wanted, strlen(wanted)) == 0) {
            const size_t skip = strlen(wanted);
            snprintf(out, size, "%.*s", (int)((size_t)(stop - line) - skip), line + skip);
            return true;
        }
        end = line;
    }
    return false;
}

bool run_overlay(char *out, size_t size, const struct run *run)
{
    return run_note(out, size, run, RUN_OVERLAY_NOTE);
}

bool run_policy(char *out, size_t size, const struct run *run)
{
    return run_note(out, size, run, RUN_POLICY_NOTE);
}

const struct run_lack_words *run_lack_words(enum run_lack lack)
{
    static const struct run_lack_words words[] = {
        [LACKS_SANDBOX] = {"unconfined", "No sandbox",
                           "builds and kernels of this run were not confined"},
        [LACKS_GROUP] = {"unlimited", "No control group",
                         "what builds and kernels of this run used together was looked at now and "
                         "then, and not held"},
    };
    return &words[lack];
}

bool run_lacks(char *out, size_t size, const struct run *run, enum run_lack lack)
{
    static const char *const notes[] = {
        [LACKS_SANDBOX] = RUN_UNCONFINED_NOTE, [LACKS_GROUP] = RUN_UNLIMITED_NOTE};
    return run_note(out, size, run, notes[lack]);
}

bool run_part(char *out, size_t size, const struct run *run)
{
    return run_note(out, size, run, RUN_PART_NOTE);
}

const char *result_timed(const struct result *result)
{
    const struct measurement *m = result->head.count ? &result->head : &result->base;
    const char *regime = m->regime ? m->regime : "";
    if (!m->count || strcmp(m->detail ? m->detail : "", "imported") == 0)
        return "";
    return strstr(regime, REGIME_DEVICE_CODE) ? "device code" : "library";
}

const char *result_timed_note(const struct result *result, const struct device *device)
{
    return strcmp(result_timed(result), "library") == 0 && strcmp(device->kind, "host") != 0
               ? " (its host code could have set the clock, changed or broken the other build, or "
                 "kept the processor from it: tests/cheats/README.md)"
               : "";
}

bool toolchain_name_sound(const char *name)
{
    const size_t length = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                       "0123456789._+-");
    return length && !name[length] && length < TOOLCHAIN_NAME_TEXT && name[0] != '-';
}

const char *metric_word(enum verdict_kind kind)
{
    return kind == VERDICT_SLOWER   ? "worse"
           : kind == VERDICT_FASTER ? "better"
                                    : verdict_kind_name(kind);
}

const char *run_toolchain(const struct run *run, enum sample_role role)
{
    return run->toolchain[role] ? run->toolchain[role] : TOOLCHAIN_DEFAULT;
}

bool run_names_toolchain(const struct run *run)
{
    return run->toolchain[ROLE_BASE] || run->toolchain[ROLE_HEAD];
}
