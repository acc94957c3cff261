// SPDX-License-Identifier: Apache-2.0
//
// What a study found, as a table and as JSON.
#include "ci/commands/study_print.h"
#include "ci/commands/answer.h"
#include "model/gate/study.h"

#include <math.h>
#include <stdio.h>

static void print_series(const struct study_result *s)
{
    char problem[PROBLEM_TEXT];
    const double gates = s->gates ? s->gates : 1;
    problem_format(problem, &s->problem);
    printf("%-7s %-20s %-28s %9.2f us %+8.3f %% sd %.3f %%  slower %u faster %u same %u undecided "
           "%u broken %u of %u  pairs %.0f  detectable %.2f %%  %.3f GPU s  %.3f s\n",
           study_kind_name(s->kind), s->kernel, problem, s->time_ns / 1e3, 100 * s->log_ratio,
           100 * s->pair_sd, s->slower, s->faster, s->same, s->undecided, s->broken, s->gates,
           s->pairs, 100 * expm1(s->detectable), s->gpu_s / gates, s->wall_s / gates);
}

static void series_json(struct json *row, const struct study_result *s)
{
    char problem[PROBLEM_TEXT];
    problem_format(problem, &s->problem);
    json_clean(row, "kind", study_kind_name(s->kind));
    json_clean(row, "kernel", s->kernel);
    json_clean(row, "problem", problem);
    json_number(row, "time_ns", s->time_ns);
    json_number(row, "log_ratio", s->log_ratio);
    json_number(row, "pair_sd", s->pair_sd);
    json_int(row, "gates", s->gates);
    json_int(row, "slower", s->slower);
    json_int(row, "faster", s->faster);
    json_int(row, "same", s->same);
    json_int(row, "undecided", s->undecided);
    json_int(row, "broken", s->broken);
    json_number(row, "pairs", s->pairs);
    json_number(row, "detectable", expm1(s->detectable));
    json_number(row, "gpu_s", s->gpu_s);
    json_number(row, "wall_s", s->wall_s);
}

struct study_totals study_totals_of(const struct studied *studied)
{
    struct study_totals t = {0};
    for (size_t i = 0; i < studied->run.study_count; i++) {
        const struct study_result *s = &studied->run.studies[i];
        t.gates += s->gates;
        t.gates_s += s->wall_s;
        t.gpu_s += s->gpu_s;
        if (s->kind != STUDY_AA)
            continue;
        t.aa += s->gates - s->broken;
        t.alarms += s->slower + s->faster;
        t.first += s->first_alarms;
    }
    for (size_t i = 0; studied->studies && i < studied->run.device_count; i++) {
        t.rounds += studied->studies[i].rounds_done;
        t.processes += studied->studies[i].processes;
        t.wall_s += studied->studies[i].wall_s;
    }
    return t;
}

void study_print(const struct studied *studied, const struct study_totals *t)
{
    for (size_t i = 0; i < studied->run.study_count; i++)
        print_series(&studied->run.studies[i]);
    for (size_t d = 0; studied->studies && d < studied->run.device_count; d++) {
        if (studied->studies[d].pairs)
            study_print_processes(&studied->studies[d], stdout);
    }
    printf("A/A: %llu false alarms in %llu gates (%llu before confirmation), %u rounds, %u fresh "
           "processes: rate at most %.2g %% (95 %%, exact)\n",
           (unsigned long long)t->alarms, (unsigned long long)t->aa, (unsigned long long)t->first,
           t->rounds, t->processes, 100 * study_rate_upper(t->alarms, t->aa, 0.95));
    printf("time: %.1f s in all, of it %.1f s of kernels; per gate of one series %.3f s\n",
           t->wall_s, t->gpu_s, t->gates ? t->gates_s / (double)t->gates : 0);
}

void study_print_json(const struct studied *studied, const struct study_totals *t)
{
    struct answer answer;
    answer_begin(&answer, "studies");
    for (size_t i = 0; i < studied->run.study_count; i++)
        series_json(answer_row(&answer), &studied->run.studies[i]);
    struct json *whole = answer_whole(&answer);
    json_int(whole, "aa_gates", (int64_t)t->aa);
    json_int(whole, "false_alarms", (int64_t)t->alarms);
    json_int(whole, "before_confirmation", (int64_t)t->first);
    json_number(whole, "rate_at_most", study_rate_upper(t->alarms, t->aa, 0.95));
    json_int(whole, "rounds", t->rounds);
    json_int(whole, "processes", t->processes);
    json_number(whole, "wall_s", t->wall_s);
    json_number(whole, "gpu_s", t->gpu_s);
    json_clean(whole, "headline", studied->run.headline);
    json_int(whole, "exit_code", (int64_t)studied->run.conclusion);
    answer_end(&answer);
}
