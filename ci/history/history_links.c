// SPDX-License-Identifier: Apache-2.0
//
// A series levelled from the links in the store. A change is a link with the code before that the
// gate's rule called slower or faster; its size is the difference of the two levels, so that marks
// count too, and its interval knows what the loops of links do not add up to.
#include "ci/history/history_links.h"

#include "model/history/levels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CONFIDENCE 0.95

struct node { // a code, and where it was first met
    const char *code;
    const struct commit *at;
    size_t order; // of meeting it
};

static int by_code(const void *a, const void *b)
{
    const struct node *x = a, *y = b;
    const int code = strcmp(x->code, y->code);
    return code ? code : (x->order > y->order) - (x->order < y->order);
}

static int by_order(const void *a, const void *b)
{
    const struct node *x = a, *y = b;
    return (x->order > y->order) - (x->order < y->order);
}

// Each code once, in the order in which the links name them; `nodes` has room for two per link.
static size_t number_codes(struct node *nodes, const struct link *links, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        nodes[2 * i] = (struct node){links[i].base_code, &links[i].base, 2 * i};
        nodes[2 * i + 1] = (struct node){links[i].head_code, &links[i].head, 2 * i + 1};
    }
    qsort(nodes, 2 * count, sizeof(*nodes), by_code);
    for (size_t i = 0; i < 2 * count; i++) {
        if (kept == 0 || strcmp(nodes[kept - 1].code, nodes[i].code) != 0)
            nodes[kept++] = nodes[i];
    }
    qsort(nodes, kept, sizeof(*nodes), by_order);
    for (size_t i = 0; i < kept; i++)
        nodes[i].order = i;
    qsort(nodes, kept, sizeof(*nodes), by_code);
    return kept;
}

static size_t number_of(const struct node *nodes, size_t count, const char *code)
{
    size_t low = 0, high = count;
    while (high - low > 1) {
        const size_t middle = (low + high) / 2;
        *(strcmp(nodes[middle].code, code) <= 0 ? &low : &high) = middle;
    }
    return nodes[low].order;
}

static struct history_commit place(const struct commit *commit)
{
    struct history_commit at = {.time_s = commit->time_s};
    text_copy(at.id, sizeof(at.id), commit->id);
    return at;
}

// A link that counts alone: its own size, and an error that knows how such links close.
static void alone(struct linked_change *c, const struct link *l)
{
    const double reach = normal_quantile(0.5 + 0.5 * CONFIDENCE);
    c->size = interval_about(l->log_ratio, reach * hypot(l->error, levels_prior.sd));
}

static bool same_codes(const struct link *a, const struct link *b)
{
    return strcmp(a->base_code, b->base_code) == 0 && strcmp(a->head_code, b->head_code) == 0;
}

// The same two codes were compared once more, with an answer: that is what counts. The links come
// by their heads, so the other is near.
static bool measured_again(const struct link *links, size_t count, size_t i)
{
    bool again = false;
    for (size_t k = i + 1; k < count && strcmp(links[k].head.id, links[i].head.id) == 0; k++)
        again |= links[k].back == 1 && links[k].kind != VERDICT_UNDECIDED &&
                 same_codes(&links[k], &links[i]);
    return again;
}

static void take_changes(struct linked_history *out, const struct levels *levels,
                         const struct node *nodes, const struct link *links, size_t count)
{
    const double reach = out->trouble ? 0 : levels_reach(levels, CONFIDENCE);
    for (size_t i = 0; i < count; i++) {
        const struct link *l = &links[i];
        struct linked_change *c = &out->changes[out->change_count];
        double size, error;
        if (l->back != 1 || (l->kind != VERDICT_SLOWER && l->kind != VERDICT_FASTER) ||
            measured_again(links, count, i))
            continue;
        *c = (struct linked_change){.at = place(&l->head),
                                    .base = place(&l->base),
                                    .evidence = l->log_evidence,
                                    .run = l->uid,
                                    .misfit = !out->trouble && levels->fit[i] != LINK_FITS};
        out->change_count++;
        if (out->trouble) {
            alone(c, l);
            continue;
        }
        levels_between(&size, &error, levels, number_of(nodes, out->level_count, l->base_code),
                       number_of(nodes, out->level_count, l->head_code));
        c->size = interval_about(size, reach * error);
    }
}

static void take_misfits(struct linked_history *out, const struct levels *levels,
                         const struct link *links, size_t count, struct arena *arena)
{
    out->misfits = arena_alloc(arena, count * sizeof(*out->misfits));
    for (size_t i = 0; i < count; i++) {
        size_t times = 0;
        if (levels->fit[i] == LINK_FITS)
            continue;
        for (size_t k = 0; k < count; k++)
            times += same_codes(&links[i], &links[k]);
        if (times == 1)
            out->misfits[out->misfit_count++] =
                (struct linked_misfit){place(&links[i].head), place(&links[i].base), links[i].back};
    }
}

// The codes of the line of first parents, and the newest of them.
static void take_line(struct linked_history *out, const struct node *nodes,
                      const struct link *links, size_t count)
{
    for (size_t i = 0; i < out->level_count; i++)
        out->levels[i].tried = true;
    for (size_t i = 0; i < count; i++) {
        if (links[i].back == 0)
            continue;
        out->newest = number_of(nodes, out->level_count, links[i].head_code);
        out->levels[out->newest].tried = false;
        out->levels[number_of(nodes, out->level_count, links[i].base_code)].tried = false;
    }
}

static void take_levels(struct linked_history *out, const struct levels *levels,
                        const struct node *nodes)
{
    const double reach = levels_reach(levels, CONFIDENCE);
    double *errors = xcalloc(levels->codes, sizeof(*errors));
    levels_errors(errors, levels);
    for (size_t i = 0; i < out->level_count; i++) {
        const size_t n = nodes[i].order;
        out->levels[n] =
            (struct linked_level){.at = place(nodes[i].at),
                                  .level = interval_about(levels->level[n], reach * errors[n]),
                                  .mark = levels->mark[n]};
    }
    free(errors);
}

// Each link with the code before says with which commit a code came; the first code has none
// before.
static void take_steps(struct linked_history *out, const struct node *nodes,
                       const struct link *links, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct link *l = &links[i];
        if (l->back != 1)
            continue;
        if (out->step_count == 0)
            out->steps[out->step_count++] = (struct linked_step){
                place(&l->base), number_of(nodes, out->level_count, l->base_code)};
        const size_t level = number_of(nodes, out->level_count, l->head_code);
        const struct linked_step *last = &out->steps[out->step_count - 1];
        if (last->level != level)
            out->steps[out->step_count++] = (struct linked_step){place(&l->head), level};
    }
}

// Creep: however many steps it took, each of them may be too small to be one.
static void take_accepted(struct linked_history *out, const struct levels *levels,
                          const struct node *nodes, const struct link *links, size_t count,
                          const char *accepted)
{
    const char *code = NULL;
    double size, error;
    for (size_t i = 0; accepted && i < count && !code; i++) {
        const bool head = strncmp(links[i].head.id, accepted, strlen(accepted)) == 0;
        const bool base = strncmp(links[i].base.id, accepted, strlen(accepted)) == 0;
        code = head ? links[i].head_code : base ? links[i].base_code : NULL;
    }
    if (!code)
        return;
    levels_between(&size, &error, levels, number_of(nodes, out->level_count, code), out->newest);
    if (isfinite(error))
        out->accepted = interval_about(size, levels_reach(levels, CONFIDENCE) * error);
}

int history_links(struct linked_history *out, struct store *store, const struct series *series,
                  const char *accepted, struct arena *arena, struct error *err)
{
    struct linked_history found = {.accepted = interval_none};
    struct link *links;
    size_t count;
    if (store_links(&links, &count, store, series, arena, err))
        return -1;
    if (count == 0) {
        *out = found;
        return 0;
    }
    struct levels *levels = levels_new();
    struct node *nodes = arena_alloc(arena, 2 * count * sizeof(*nodes));
    found.links = count;
    for (size_t i = 0; i < count; i++)
        found.neighbours += links[i].back == 1;
    found.level_count = number_codes(nodes, links, count);
    for (size_t i = 0; i < count; i++)
        levels_add(levels,
                   &(struct level_link){number_of(nodes, found.level_count, links[i].base_code),
                                        number_of(nodes, found.level_count, links[i].head_code),
                                        links[i].log_ratio, links[i].error});
    struct error why;
    found.changes = arena_alloc(arena, count * sizeof(*found.changes));
    if (levels_close(levels, &levels_prior, &why))
        found.trouble = arena_strdup(arena, why.text);
    take_changes(&found, levels, nodes, links, count);
    if (!found.trouble) {
        found.levels = arena_alloc(arena, found.level_count * sizeof(*found.levels));
        found.loops = levels->loops;
        found.misclosure = levels->misclosure;
        take_levels(&found, levels, nodes);
        take_misfits(&found, levels, links, count, arena);
        take_line(&found, nodes, links, count);
        take_accepted(&found, levels, nodes, links, count, accepted);
        found.steps = arena_alloc(arena, (count + 1) * sizeof(*found.steps));
        take_steps(&found, nodes, links, count);
    }
    found.level_count = found.trouble ? 0 : found.level_count;
    *out = found;
    levels_free(levels);
    return 0;
}

bool history_is_linked(const struct linked_history *linked, const struct history_change *change)
{
    for (size_t i = 0; i < linked->change_count; i++) {
        const char *commit = linked->changes[i].at.id;
        if (strcmp(commit, change->at.id) == 0 || (change->held && strstr(change->held, commit)))
            return true;
    }
    return false;
}
