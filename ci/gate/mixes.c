// SPDX-License-Identifier: Apache-2.0
//
// Finds for each problem of a mix its time and its change. If a series was not measured now because
// its code is the same, its change is 0. Its time is then the newest known one, or the model's
// prediction, which is good enough for a weight.
#include "ci/gate/mixes.h"

#include "model/gate/verdict.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
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

// Whether two results belong together: a gate on several units of one model has each series on one
// of them.
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

// ---- regimes ----

// The problem of a part. One that names no regime has the one in which the mix is judged.
static struct problem problem_of(const struct policy_mix_part *part, enum regime regime)
{
    return part->problem.regime ? part->problem : problem_in(&part->problem, regime);
}

static bool names_regimes(const struct policy_mix *mix)
{
    size_t named = 0;
    for (size_t i = 0; i < mix->count; i++)
        named += mix->parts[i].problem.regime != REGIME_COLD;
    return named == mix->count;
}

static bool is_of(const struct policy_mix *mix, const struct result *r)
{
    return !r->control && (!mix->kernel || fnmatch(mix->kernel, r->kernel, 0) == 0);
}

// ---- parts ----

static double time_known(const struct result *r)
{
    const double base_ns = measurement_time_ns(&r->base), head_ns = measurement_time_ns(&r->head);
    if (base_ns > 0 || head_ns > 0)
        return base_ns > 0 ? base_ns : head_ns;
    if (r->history.count)
        return r->history.points[r->history.count - 1].time_ns;
    return r->prediction.model && r->prediction.feasible ? r->prediction.time_ns : 0;
}

static bool is_unchanged(const struct result *r)
{
    return r->base_code[0] && strcmp(r->base_code, r->head_code) == 0;
}

// If no part has changed, the mix has not changed either, whatever each part's time is.
static bool all_unchanged(const struct run *run, const struct policy_mix *mix,
                          const struct result *like, enum regime regime)
{
    for (size_t i = 0; i < mix->count; i++) {
        const struct problem problem = problem_of(&mix->parts[i], regime);
        const struct result *r = find(run, like, &problem);
        if (!r || !is_unchanged(r) || r->head.state == MEASURED_UNSUPPORTED)
            return false;
    }
    return true;
}

// Makes a part of a mix. False: its time or its change is not known.
static bool part_of(struct mix_part *out, const struct result *r, double weight, bool unchanged)
{
    *out = (struct mix_part){.weight = weight, .time_ns = unchanged ? 1 : time_known(r)};
    if (!is_unchanged(r))
        out->log_ratio = r->verdict.log_ratio;
    return out->time_ns > 0 && isfinite(out->log_ratio.low) && isfinite(out->log_ratio.high);
}

// Whether the policy wants this series and the run does not have it, because it was not asked for.
static bool left_out(const struct run *run, const struct policy *policy, const struct result *like,
                     const struct problem *problem)
{
    const struct problem wanted = problem_in(problem, REGIME_COLD);
    for (size_t d = 0; d < policy->device_count; d++) {
        const struct policy_kernel *rule = policy_rule(policy, like->kernel, &policy->devices[d]);
        if (!rule || strcmp(policy->devices[d].kind, run->devices[like->device].kind) != 0)
            continue;
        for (size_t s = 0; s < rule->set_count; s++) {
            const struct policy_set *set = policy_set_find(policy, rule->sets[s]);
            for (size_t i = 0; set && i < set->count; i++) {
                const struct problem work = problem_in(&set->problems[i], REGIME_COLD);
                if (problem_equal(&work, &wanted))
                    return true;
            }
        }
    }
    return false;
}

// ---- what a change accepts ----

const char *mix_series(const struct run *run, const struct mix_result *mix, struct arena *arena)
{
    const char *device = run->device_count ? run->devices[mix->device].uuid : "";
    char *name = arena_strdup(arena, mix->name);
    for (char *c = name; *c; c++) {
        if (*c == ' ' || *c == '\t')
            *c = '?'; // a blank would end the name
    }
    return arena_printf(arena, "%s mix:%s%s%s %s", mix->kernel, name, mix->regime ? ":" : "",
                        mix->regime ? regime_name(mix->regime) : "", device);
}

void mixes_note(struct run *run, const struct epoch_list *accepted)
{
    for (size_t i = 0; i < accepted->count; i++) {
        const struct epoch *e = &accepted->epochs[i];
        const char *problem = e->series + strcspn(e->series, " ");
        if (strncmp(problem, " mix:", strlen(" mix:")) == 0 && !e->removed)
            run->policy =
                arena_printf(&run->arena, "%s\n" RUN_MIX_NOTE "%s up to %.9g: %.200s (%.100s)\n",
                             run->policy, e->series, e->level, e->reason, e->who);
    }
}

// A note of mixes_note(); it borrows the text.
struct accepted {
    struct epoch epoch;
    const char *why; // the reason, and who accepted it
};

static bool read_note(struct accepted *out, const char *line, struct arena *arena)
{
    static const char between[] = " up to ";
    char *text = arena_strndup(arena, line, strcspn(line, "\n"));
    char *level = strstr(text, between), *why = level ? strstr(level, ": ") : NULL;
    if (!why)
        return false;
    *level = *why = '\0';
    *out = (struct accepted){{.series = text}, why + 2};
    return parse_double(&out->epoch.level, level + strlen(between)) == 0;
}

// Whether an epoch accepts the change of a mix. As for a series (linking.h), it may exceed the
// epoch's size by half the margin at most.
static bool covers(const struct epoch *epoch, const struct mix_result *mix)
{
    const double most = epoch->level + log1p(mix->margin) / 2;
    if (!(epoch->level > 0) || !(mix->margin > 0))
        return false;
    return mix->kind == VERDICT_SLOWER
               ? mix->log_ratio.low <= most
               : mix->kind == VERDICT_UNDECIDED && mix->log_ratio.high <= most;
}

static void accept(struct mix_result *mix, struct run *run)
{
    const char *name = mix_series(run, mix, &run->arena), *at = run->policy;
    const char *problem = name + strcspn(name, " ") + 1, *device = strchr(problem, ' ') + 1;
    const char *work = arena_strndup(&run->arena, problem, (size_t)(device - 1 - problem));
    while ((at = strstr(at, "\n" RUN_MIX_NOTE))) {
        struct accepted note;
        at += strlen("\n" RUN_MIX_NOTE);
        if (!read_note(&note, at, &run->arena) || !covers(&note.epoch, mix) ||
            !epoch_matches_text(&note.epoch, mix->kernel, work, device))
            continue;
        mix->kind = VERDICT_ACCEPTED;
        mix->sentence = arena_printf(&run->arena, "%s; accepted in this change, up to %+.2f %%: %s",
                                     mix->sentence, 100 * expm1(note.epoch.level), note.why);
        return;
    }
}

// ---- in a run that has ended ----

static const char *name_of(const struct mix_result *m, struct arena *arena)
{
    return arena_printf(arena, "mix %s by %s %s", m->name, m->kernel, mix_regime_words(m));
}

static void judge(struct mix_result *m, struct run *run, const struct mix_part *parts, size_t count)
{
    m->log_ratio = mix_change(parts, count);
    m->kind = mix_standing(m->log_ratio, log1p(m->margin));
    const struct interval change = interval_relative(m->log_ratio);
    const bool open = m->kind == VERDICT_UNDECIDED && m->margin > 0;
    m->sentence = arena_printf(&run->arena, "%s%s: %+.2f %% (%.2f to %.2f %%)",
                               name_of(m, &run->arena), open ? " undecided" : "",
                               100 * change.value, 100 * change.low, 100 * change.high);
    // The 95 % interval may lie beyond the margin when the 99.9 % interval does not.
    const double margin = log1p(m->margin);
    if (open && (m->log_ratio.low > margin || m->log_ratio.high < -margin))
        m->sentence = arena_printf(&run->arena, "%s, not yet surely beyond %.4g %%", m->sentence,
                                   100 * m->margin);
    accept(m, run);
}

// Adds one mix, for the kernel, the device and the regime of `like`.
static void add(struct run *run, const struct policy *policy, const struct policy_mix *mix,
                const struct result *like)
{
    struct mix_part *parts = xcalloc(mix->count, sizeof(*parts));
    struct mix_result m = {.name = arena_strdup(&run->arena, mix->name),
                           .regime = names_regimes(mix) ? REGIME_COLD : like->problem.regime,
                           .apart = names_regimes(mix),
                           .device = like->device,
                           .log_ratio = interval_unknown,
                           .margin = mix->margin,
                           .kind = VERDICT_NOT_MEASURED};
    struct problem missing;
    const bool unchanged = all_unchanged(run, mix, like, m.regime);
    bool all = true, known = true;
    text_copy(m.kernel, sizeof(m.kernel), like->kernel);
    for (size_t i = 0; i < mix->count; i++) {
        const struct problem problem = problem_of(&mix->parts[i], m.regime);
        const struct result *r = find(run, like, &problem);
        all &= r ? r->head.state != MEASURED_UNSUPPORTED : left_out(run, policy, like, &problem);
        if (known && (!r || !part_of(&parts[i], r, mix->parts[i].weight, unchanged))) {
            missing = problem;
            known = false;
        }
    }
    if (known) {
        judge(&m, run, parts, mix->count);
    } else {
        char text[PROBLEM_TEXT];
        problem_format(text, &missing);
        m.sentence = arena_printf(&run->arena, "%s: not known, as %s is not",
                                  name_of(&m, &run->arena), text);
    }
    free(parts);
    if (all || (mix->kernel && strcmp(mix->kernel, like->kernel) == 0))
        run->mixes[run->mix_count++] = m;
}

// Whether a result is the first one of its kernel in its regime (with `whatever`, in any regime).
// Only results count on its device, or on units of one model that share the kernel's problems.
// Results are sorted by device, kernel and problem.
static bool is_first(const struct run *run, size_t at, bool whatever)
{
    const struct result *r = &run->results[at];
    for (size_t i = 0; i < at; i++) {
        const struct result *before = &run->results[i];
        if (strcmp(before->kernel, r->kernel) == 0 &&
            (whatever || before->problem.regime == r->problem.regime) &&
            (before->device == r->device ||
             (alike(run, before->device, r->device) &&
              !find_on(run, before->device, r->kernel, &r->problem))))
            return false;
    }
    return true;
}

// Whether the mix has the result's problem, in any regime.
static bool is_part(const struct policy_mix *mix, const struct result *r)
{
    for (size_t i = 0; i < mix->count; i++) {
        const struct problem problem = problem_of(&mix->parts[i], r->problem.regime);
        if (problem_equal(&problem, &r->problem))
            return true;
    }
    return false;
}

// Adds a mix that no kernel supports, once.
static void add_unknown(struct run *run, const struct policy_mix *mix)
{
    struct mix_result m = {.name = arena_strdup(&run->arena, mix->name),
                           .log_ratio = interval_unknown,
                           .margin = mix->margin,
                           .kind = VERDICT_NOT_MEASURED};
    m.sentence =
        arena_printf(&run->arena, "mix %s: not known, no kernel here does all of it", m.name);
    run->mixes[run->mix_count++] = m;
}

// How early people are told of a mix: first those that are judged, by their verdicts.
static size_t rank_of(const struct mix_result *m)
{
    size_t at = 0;
    while (at + 1 < VERDICT_KINDS && verdict_order[at] != m->kind)
        at++;
    return at + (m->margin > 0 ? 0 : VERDICT_KINDS);
}

// Every report shows the first ones and may leave out the last ones, so what decides comes first.
// Those of one rank stay in the order of the policy.
static void put_in_order(struct run *run)
{
    for (size_t i = 1; i < run->mix_count; i++) {
        const struct mix_result m = run->mixes[i];
        size_t at = i;
        for (; at > 0 && rank_of(&run->mixes[at - 1]) > rank_of(&m); at--)
            run->mixes[at] = run->mixes[at - 1];
        run->mixes[at] = m;
    }
}

void mixes_find(struct run *run, const struct policy *policy)
{
    run->mix_count = 0;
    if (!run->base.id[0] || !policy->mix_count)
        return;
    run->mixes =
        arena_alloc(&run->arena, policy->mix_count * (run->count + 1) * sizeof(*run->mixes));
    for (size_t m = 0; m < policy->mix_count; m++) {
        const struct policy_mix *mix = &policy->mixes[m];
        const bool whatever = names_regimes(mix);
        const size_t before = run->mix_count;
        for (size_t i = 0; i < run->count; i++) {
            if (is_first(run, i, whatever) && is_of(mix, &run->results[i]))
                add(run, policy, mix, &run->results[i]);
        }
        if (run->mix_count == before)
            add_unknown(run, mix);
    }
    put_in_order(run);
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

const struct mix_result *mixes_judged(const struct run *run, enum verdict_kind kind)
{
    for (size_t i = 0; i < run->mix_count; i++) {
        if (run->mixes[i].kind == kind && run->mixes[i].margin > 0)
            return &run->mixes[i];
    }
    return NULL;
}

// ---- while its series are measured ----

// The share of the variance of n parts from which on a part's pairs are worth taking: a quarter of
// an even share.
static double least_share(size_t n)
{
    return 0.25 / (double)n;
}

static double half_width(const struct mix_part *part)
{
    return part->weight * part->time_ns * (part->log_ratio.high - part->log_ratio.low) / 2;
}

static enum mix_wish wish(const struct policy_mix *mix, const struct mix_part *parts, size_t own)
{
    double all = 0;
    if (mix_standing(mix_change(parts, mix->count), log1p(mix->margin)) != VERDICT_UNDECIDED)
        return MIX_DECIDED;
    for (size_t i = 0; i < mix->count; i++)
        all += pow(half_width(&parts[i]), 2);
    return pow(half_width(&parts[own]), 2) >= least_share(mix->count) * all ? MIX_WANTS_PAIRS
                                                                            : MIX_WAITS;
}

static enum mix_wish ask(const struct mix_asked *asked, const struct policy_mix *mix,
                         const struct result *of)
{
    struct mix_part *parts = xcalloc(mix->count, sizeof(*parts));
    enum mix_wish found = MIX_WANTS_PAIRS;
    size_t own = SIZE_MAX;
    for (size_t i = 0; i < mix->count && found != MIX_DECIDED; i++) {
        const struct problem problem = problem_of(&mix->parts[i], of->problem.regime);
        const struct result *r = find(asked->run, of, &problem);
        const int known = r ? asked->now(&parts[i], asked->context, r) : -1;
        parts[i].weight = mix->parts[i].weight;
        own = r == of ? i : own;
        if (known < 1)
            found = known < 0 ? MIX_DECIDED : MIX_WAITS;
    }
    if (found == MIX_WANTS_PAIRS)
        found = own == SIZE_MAX ? MIX_DECIDED : wish(mix, parts, own);
    free(parts);
    return found;
}

enum mix_wish mixes_wish(const struct mix_asked *asked, const struct result *of)
{
    enum mix_wish most = MIX_DECIDED;
    for (size_t m = 0; m < asked->policy->mix_count; m++) {
        const struct policy_mix *mix = &asked->policy->mixes[m];
        if (!(mix->margin > 0) || !is_of(mix, of) || !is_part(mix, of))
            continue;
        const enum mix_wish found = ask(asked, mix, of);
        most = found > most ? found : most;
    }
    return most;
}
