// SPDX-License-Identifier: Apache-2.0
//
// Counts the verdicts of a run, and says in one line and one exit code what follows. It changes no
// verdict.
#include "ci/gate/conclude.h"

#include "model/gate/cause.h"

#include <string.h>

// The result a person should hear of first: broken, then the largest slowdown.
static const struct result *worst(const struct run *run, enum verdict_kind kind)
{
    const struct result *found = NULL;
    for (size_t i = 0; i < run->count; i++) {
        const struct result *r = &run->results[i];
        if (r->verdict.kind != kind || (kind == VERDICT_SLOWER && !cause_fails(&r->verdict)))
            continue;
        if (!found || r->verdict.log_ratio > found->verdict.log_ratio)
            found = r;
    }
    return found;
}

static const char *tally(struct run *run, const size_t counts[VERDICT_KINDS])
{
    const char *text = "";
    static const enum verdict_kind order[] = {VERDICT_BROKEN, VERDICT_SLOWER, VERDICT_UNDECIDED,
                                              VERDICT_FASTER, VERDICT_NEW,    VERDICT_SAME};
    for (size_t i = 0; i < ARRAY_COUNT(order); i++) {
        if (counts[order[i]])
            text = arena_printf(&run->arena, "%s%s%zu %s", text, *text ? ", " : "",
                                counts[order[i]], verdict_kind_name(order[i]));
    }
    return *text ? text : "no series";
}

static void conclude(struct run *run, enum conclusion conclusion, const char *label,
                     const struct result *which, const size_t counts[VERDICT_KINDS])
{
    run->conclusion = conclusion;
    run->headline = arena_printf(&run->arena, "%s: %s%s%s", label, tally(run, counts),
                                 which ? ": " : "", which ? which->verdict.sentence : "");
}

void conclude_run(struct run *run, const struct policy_gate *gate)
{
    size_t counts[VERDICT_KINDS];
    run_count_verdicts(run, counts);
    const struct result *slower = worst(run, VERDICT_SLOWER);
    if (counts[VERDICT_BROKEN])
        conclude(run, CONCLUDE_BROKEN, "BROKEN", worst(run, VERDICT_BROKEN), counts);
    else if (run->self_test.void_run)
        conclude(run, CONCLUDE_UNDECIDED,
                 "VOID (a build differs from itself here: something disturbs the device)", NULL,
                 counts);
    else if (slower)
        conclude(run, CONCLUDE_REGRESSION, "SLOWER", slower, counts);
    else if (counts[VERDICT_UNDECIDED] && !gate->undecided_passes)
        conclude(run, CONCLUDE_UNDECIDED, "UNDECIDED", worst(run, VERDICT_UNDECIDED), counts);
    else
        conclude(run, CONCLUDE_OK, "OK", NULL, counts);
}

void conclude_unbuilt(struct run *run, const char *detail)
{
    const char *too = "";
    if (run->unbuilt[ROLE_BASE].reason)
        too = arena_printf(&run->arena, ", nor does its base %.12s", run->base.id);
    run->conclusion = CONCLUDE_BROKEN;
    const size_t length = strcspn(detail, "\n");
    run->headline = arena_printf(&run->arena, "BROKEN: commit %.12s does not build%s: %.*s",
                                 run->head.id, too, (int)(length < 300 ? length : 300), detail);
}

void drop_unsupported(struct run *run)
{
    size_t kept = 0;
    for (size_t i = 0; i < run->count; i++) {
        const struct result *r = &run->results[i];
        bool other = r->verdict.kind == VERDICT_BROKEN; // it did support it before
        if (r->head.state != MEASURED_UNSUPPORTED || other)
            run->results[kept++] = run->results[i];
    }
    run->count = kept;
}
