// SPDX-License-Identifier: Apache-2.0
//
// A series levelled from the links in the store, stretch by stretch.
#include "ci/history/links_found.h"

#include "ci/history/links_judged.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double moved_margin = 0.003;

// A look: what it goes by, and what it has found so far.
struct look {
    struct facts f;
    struct levels *levels; // of the links that are not settled; NULL: each counts alone
    struct settled_change *changes;
    size_t change_count, part_room;
    struct links_found *found;
    const char *accepted;
    bool lacking; // not all that is needed was read
};

// ---- changes ----

// The level of a code that may be gone, with its mark; both by number.
static double level_of(size_t *mark, const struct look *look, const struct settled_change *c)
{
    const struct facts *f = &look->f;
    *mark = c->mark;
    if (c->from < f->settled.codes && !link_kept_code(f, c->from))
        return c->level;
    const size_t handle = link_handle(f, c->from);
    *mark = link_number(f, look->levels->mark[handle]);
    return look->levels->level[handle];
}

static void take_changes(struct look *look, struct arena *arena)
{
    const struct settled_links *s = &look->f.settled;
    struct linked_history *out = &look->found->history;
    look->change_count = s->change_count;
    look->changes =
        arena_alloc(look->f.arena, (s->change_count + look->f.count + 1) * sizeof(*look->changes));
    if (s->change_count)
        memcpy(look->changes, s->changes, s->change_count * sizeof(*look->changes));
    links_take_changes(look->changes, &look->change_count, &look->lacking, &look->f, look->levels,
                       look->f.count);
    out->changes = arena_alloc(arena, (look->change_count + 1) * sizeof(*out->changes));
    out->change_count = look->change_count;
    for (size_t i = 0; i < look->change_count; i++)
        out->changes[i] = look->changes[i].change;
}

static void take_left(struct look *look)
{
    const size_t newest = link_handle(&look->f, look->f.newest);
    const size_t mark = link_number(&look->f, look->levels->mark[newest]);
    for (size_t i = 0; i < look->change_count; i++) {
        size_t from_mark;
        const double level = level_of(&from_mark, look, &look->changes[i]);
        if (from_mark == mark)
            look->found->history.changes[i].left = look->levels->level[newest] - level;
    }
}

static void take_misfits(struct look *look, struct arena *arena)
{
    const struct facts *f = &look->f;
    const struct settled_links *s = &f->settled;
    struct linked_history *out = &look->found->history;
    struct settled_misfit *all =
        arena_alloc(f->arena, (s->misfit_count + f->count + 1) * sizeof(*all));
    out->misfit_count = s->misfit_count;
    if (s->misfit_count)
        memcpy(all, s->misfits, s->misfit_count * sizeof(*all));
    links_take_misfits(all, &out->misfit_count, f, look->levels, f->count, f->count);
    out->misfits = arena_alloc(arena, (out->misfit_count + 1) * sizeof(*out->misfits));
    for (size_t i = 0; i < out->misfit_count; i++)
        out->misfits[i] = all[i].misfit;
}

// ---- levels ----

// Those of all codes that are not gone.
static void take_levels(struct linked_part *out, const struct look *look)
{
    const struct facts *f = &look->f;
    const struct levels *levels = look->levels;
    const double reach = levels_reach(levels, LINKS_CONFIDENCE);
    double *errors = arena_alloc(f->arena, levels->codes * sizeof(*errors));
    levels_errors(errors, levels);
    out->level_count = levels->codes;
    out->numbers = arena_alloc(f->arena, levels->codes * sizeof(*out->numbers));
    out->levels = arena_alloc(f->arena, levels->codes * sizeof(*out->levels));
    for (size_t i = 0; i < levels->codes; i++) {
        const size_t number = link_number(f, i);
        const struct settled_code *kept = number < f->settled.codes ? link_kept_code(f, number) : 0;
        out->numbers[i] = number;
        out->levels[i] =
            (struct linked_level){.at = link_met_at(f, number),
                                  .level = interval_about(levels->level[i], reach * errors[i]),
                                  .mark = link_number(f, levels->mark[i]),
                                  .tried = !kept || !kept->line};
    }
    for (size_t i = f->first; i < f->count; i++) {
        if (f->items[i].link->back == 0)
            continue;
        out->levels[link_handle(f, f->items[i].from)].tried = false;
        out->levels[link_handle(f, f->items[i].to)].tried = false;
    }
}

// One that came back without a link has the first run that saw it.
static int take_steps(struct linked_part *out, const struct look *look, struct error *err)
{
    const struct facts *f = &look->f;
    const struct settled_links *s = &f->settled;
    out->steps = arena_alloc(f->arena, (f->count - f->first + 2) * sizeof(*out->steps));
    links_take_steps(out, f, s->step_count > 0, s->step, f->count);
    if (f->line_run == SIZE_MAX || s->step_count + out->step_count == 0)
        return 0;
    out->steps[out->step_count].level = f->newest;
    return link_newest_since(&out->steps[out->step_count++].at, f, err);
}

static void take_line(struct look *look, const struct linked_part *rest)
{
    const struct facts *f = &look->f;
    struct linked_history *out = &look->found->history;
    const size_t newest = link_handle(f, f->newest);
    out->newest = f->newest;
    out->now = rest->levels[newest].level;
    out->since = link_commit(link_met_at(f, rest->levels[newest].mark));
}

// ---- what moved ----

// The code that came with the accepted commit, and the first link that names that; before anything
// more is settled.
static void find_accepted(struct facts *f, const char *accepted)
{
    struct settled_links *s = &f->settled;
    const size_t length = accepted ? strlen(accepted) : 0;
    text_copy(s->accepted, sizeof(s->accepted), accepted ? accepted : "");
    s->accepted_found &= s->accepted_place < s->links;
    for (size_t i = f->first; length && !s->accepted_found && i < f->count; i++) {
        const struct fact *one = &f->items[i];
        s->accepted_head = strncmp(one->head->id, accepted, length) == 0;
        if (!s->accepted_head && strncmp(one->base->id, accepted, length) != 0)
            continue;
        s->accepted_found = true;
        s->accepted_code = s->accepted_head ? one->to : one->from;
        s->accepted_place = s->links + (i - f->first);
    }
}

// A change towards where the series is now, from that link on.
static bool changed_since(const struct look *look, size_t first, double size)
{
    bool changed = false;
    for (size_t i = 0; i < look->change_count; i++) {
        const struct settled_change *c = &look->changes[i];
        changed |= c->place >= first && c->slower == (size > 0) && !c->change.misfit;
    }
    return changed;
}

// What changed was judged by the gate; what crept, however many steps it took, was by nobody, for
// each of them may be too small to be one.
static bool has_moved(const struct look *look, size_t first, double size, double error)
{
    const bool changed = changed_since(look, first, size);
    const double reach = levels_reach(look->levels, changed ? LINKS_CONFIDENCE : LINKS_SURE);
    return fabs(size) > moved_margin && fabs(size) > reach * error;
}

static void take_moved(struct look *look)
{
    const struct facts *f = &look->f;
    struct linked_history *out = &look->found->history;
    const size_t newest = link_handle(f, f->newest);
    size_t code = look->levels->mark[newest], first = 0;
    double size, error;
    if (look->accepted) {
        const struct settled_links *s = &f->settled;
        if (!s->accepted_found)
            return;
        first = s->accepted_place + s->accepted_head; // after it
        code = link_handle(f, s->accepted_code);
    }
    levels_between(&size, &error, look->levels, code, newest);
    if (!isfinite(error))
        return;
    if (look->accepted)
        out->accepted = interval_about(size, levels_reach(look->levels, LINKS_CONFIDENCE) * error);
    out->moved = has_moved(look, first, size, error);
}

// ---- all ----

static struct linked_part *add_part(struct look *look)
{
    struct links_found *found = look->found;
    if (found->part_count == look->part_room) {
        look->part_room = look->part_room ? 2 * look->part_room : 4;
        struct linked_part *grown = arena_alloc(look->f.arena, look->part_room * sizeof(*grown));
        if (found->part_count)
            memcpy(grown, found->parts, found->part_count * sizeof(*grown));
        found->parts = grown;
    }
    found->parts[found->part_count] = (struct linked_part){0};
    return &found->parts[found->part_count];
}

static void settle(struct look *look)
{
    while (links_settle(add_part(look), &look->f, &look->lacking, look->f.arena))
        look->found->part_count++;
}

static bool is_gone(const struct facts *f, size_t number)
{
    return number < f->settled.codes && !link_kept_code(f, number);
}

// What was settled does not do: a code that is gone is asked for, or they are too tangled.
static bool asks_for_more(const struct look *look)
{
    const struct facts *f = &look->f;
    const struct settled_links *s = &f->settled;
    return is_gone(f, f->newest) || (s->accepted_found && is_gone(f, s->accepted_code)) ||
           (!look->levels && s->stretches);
}

static void begin(struct look *look)
{
    const struct facts *f = &look->f;
    struct linked_history *out = &look->found->history;
    *out = (struct linked_history){.accepted = interval_none,
                                   .now = interval_none,
                                   .links = f->settled.links + f->count - f->first,
                                   .neighbours = f->settled.neighbours,
                                   .newest_link = f->newest_link};
    for (size_t i = f->first; i < f->count; i++)
        out->neighbours += f->items[i].link->back == 1;
}

static int conclude(struct look *look, struct arena *arena, struct error *err)
{
    struct links_found *found = look->found;
    struct linked_history *out = &found->history;
    const struct facts *f = &look->f;
    begin(look);
    take_changes(look, arena);
    if (!look->levels)
        return 0;
    out->loops = look->levels->loops;
    out->misclosure = look->levels->misclosure;
    struct linked_part *rest = add_part(look);
    found->part_count++;
    take_levels(rest, look);
    take_left(look);
    take_misfits(look, arena);
    take_line(look, rest);
    take_moved(look);
    out->level_count = f->code_count;
    if (take_steps(rest, look, err))
        return -1;
    out->step_count = f->settled.step_count + rest->step_count;
    return 0;
}

// All links are levelled together.
static void unsettle(struct look *look)
{
    struct settled_links *s = &look->f.settled;
    levels_free(look->levels);
    s->levels = (struct levels_settled){0};
    s->stretches = s->links = s->neighbours = s->codes = 0;
    s->change_count = s->misfit_count = s->step_count = 0;
    look->f.first = look->found->part_count = 0;
}

// *holds: nothing that is not here is asked for.
static int look_at(struct look *look, bool *holds, struct arena *arena, struct error *err)
{
    struct facts *f = &look->f;
    struct error why;
    settle(look);
    look->levels = links_level(f, f->count, &why);
    *holds = !look->lacking && (!f->partial || !asks_for_more(look));
    if (!*holds)
        return 0;
    if (asks_for_more(look)) {
        unsettle(look);
        look->levels = links_level(f, f->count, &why);
    }
    const int status = conclude(look, arena, err);
    if (!look->levels)
        look->found->history.trouble = arena_strdup(arena, why.text);
    *holds = !look->lacking;
    return status;
}

int links_find(struct links_found *out, bool *holds, const struct settled_links *from,
               struct store *store, const struct commit_places *places, const struct series *series,
               const char *accepted, struct arena *arena, struct arena *scratch, struct error *err)
{
    static const struct settled_links none;
    struct links_found found = {.history = {.accepted = interval_none, .now = interval_none}};
    struct look look = {.found = &found, .accepted = accepted};
    *out = found;
    *holds = !from || strcmp(from->accepted, accepted ? accepted : "") == 0;
    if (!*holds)
        return 0;
    if (link_facts_read(&look.f, holds, from ? from : &none, store, places, series, scratch, err))
        return -1;
    *holds &= !look.f.newest_gone;
    if (!*holds || look.f.count == 0)
        return 0;
    find_accepted(&look.f, accepted);
    const int status = look_at(&look, holds, arena, err);
    levels_free(look.levels);
    found.settled = look.f.settled;
    if (status == 0 && *holds)
        *out = found;
    return status;
}

// ---- as one ----

static bool put_part(struct linked_levels *out, size_t *steps, const struct linked_part *part)
{
    for (size_t i = 0; i < part->level_count; i++) {
        const size_t number = part->numbers[i];
        if (number >= out->level_count || out->levels[number].at ||
            part->levels[i].mark >= out->level_count)
            return false;
        out->levels[number] = part->levels[i];
    }
    for (size_t i = 0; i < part->step_count; i++) {
        if (*steps == out->step_count || part->steps[i].level >= out->level_count)
            return false;
        out->steps[(*steps)++] = part->steps[i];
    }
    return true;
}

int links_join(struct linked_levels *out, const struct linked_history *history,
               const struct linked_part *parts, size_t count, struct arena *arena)
{
    struct linked_levels all = {.level_count = history->level_count,
                                .step_count = history->step_count};
    size_t levels = 0, steps = 0;
    for (size_t i = 0; i < count; i++)
        levels += parts[i].level_count;
    if (levels != all.level_count)
        return -1;
    all.levels = arena_alloc(arena, (all.level_count + 1) * sizeof(*all.levels));
    all.steps = arena_alloc(arena, (all.step_count + 1) * sizeof(*all.steps));
    for (size_t i = 0; i < count; i++) {
        if (!put_part(&all, &steps, &parts[i]))
            return -1;
    }
    if (steps != all.step_count)
        return -1;
    *out = all;
    return 0;
}

int history_links(struct linked_history *out, struct linked_levels *levels, struct store *store,
                  const struct commit_places *places, const struct series *series,
                  const char *accepted, struct arena *arena, struct arena *scratch,
                  struct error *err)
{
    struct links_found found;
    bool holds;
    if (links_find(&found, &holds, NULL, store, places, series, accepted, arena, scratch, err))
        return -1;
    *levels = (struct linked_levels){0};
    if (links_join(levels, &found.history, found.parts, found.part_count, scratch))
        return error_set(err, "the levels of %s do not fit together", series->kernel);
    *out = found.history;
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
