// SPDX-License-Identifier: Apache-2.0
#include "ci/output.h"
#include "model/study.h"
#include "reports/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Untrusted text to a terminal: one line, no control bytes.
static void print_line(const char *prefix, const char *text)
{
    fputs(prefix, stdout);
    for (const char *c = text; *c; c++)
        fputc((unsigned char)*c < 0x20 || *c == 0x7f ? ' ' : *c, stdout);
    fputc('\n', stdout);
}

// GitHub reads workflow commands from the log; nobody else wants them there.
static void annotate(const struct run *run)
{
    const char *actions = getenv("GITHUB_ACTIONS");
    const struct report *report = report_find("annotations");
    if (!report || !actions || strcmp(actions, "true"))
        return;
    struct buffer text = {0};
    report->write(&text, run, NULL);
    fwrite(text.bytes, 1, text.length, stdout);
    buffer_free(&text);
}

// The smallest change that as many pairs as this run took show with 90 % power, from their noise.
static double detectable(const struct run *run, const struct result *r, struct arena *arena)
{
    const size_t most = r->base.count < r->head.count ? r->base.count : r->head.count;
    if (!r->verdict.pairs || !most || r->device >= run->device_count)
        return NAN;
    struct gate_pair *pairs = arena_alloc(arena, most * sizeof(*pairs));
    struct gate_policy policy =
        gate_policy_default(run->devices[r->device].kind, measurement_time_ns(&r->base));
    if (r->verdict.margin > 0) {
        policy.floor *= r->verdict.margin / policy.margin;
        policy.margin = r->verdict.margin;
    }
    const size_t count = gate_pairs(pairs, &r->base, &r->head, arena);
    const double change = expm1(study_detectable_of(&policy, pairs, count, 0.9, arena));
    return isfinite(change) ? change : NAN;
}

static int write_reports(const struct run *run, const char *directory, struct error *err)
{
    struct arena arena = {0};
    struct report_series *series = arena_alloc(&arena, (run->count + 1) * sizeof(*series));
    for (size_t i = 0; i < run->count; i++)
        series[i] = (struct report_series){.false_alarm_rate = NAN,
                                           .detectable = detectable(run, &run->results[i], &arena)};
    const struct report_context context = {.series = series};
    int status = report_write_all(directory, run, &context, err);
    arena_free(&arena);
    return status;
}

int output_run(const struct run *run, const char *directory, struct error *err)
{
    if (directory && write_reports(run, directory, err))
        return -1;
    for (size_t i = 0; i < run->count; i++) {
        const struct verdict *v = &run->results[i].verdict;
        if (v->kind != VERDICT_SAME && v->sentence) {
            char prefix[24];
            snprintf(prefix, sizeof(prefix), "%-10s", verdict_kind_name(v->kind));
            print_line(prefix, v->sentence);
        }
    }
    annotate(run);
    if (directory)
        printf("reports    %s/index.html, junit.xml, summary.md\n", directory);
    print_line("", run->headline ? run->headline : "nothing was measured");
    if (fflush(stdout) || ferror(stdout))
        return error_set(err, "standard output: cannot be written");
    return 0;
}

int output_plan(const struct run *run)
{
    size_t measured = 0;
    for (size_t i = 0; i < run->count; i++) {
        const struct result *r = &run->results[i];
        char problem[PROBLEM_TEXT];
        problem_format(problem, &r->problem);
        bool same = r->base_code[0] && strcmp(r->base_code, r->head_code) == 0;
        printf("%-10s %-24s %-32s %s\n", same ? "identical" : "measure", r->kernel, problem,
               run->devices[r->device].name);
        measured += !same;
    }
    printf("dry run: %zu of %zu series would be measured\n", measured, run->count);
    return 0;
}
