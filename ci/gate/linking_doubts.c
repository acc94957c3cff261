// SPDX-License-Identifier: Apache-2.0
//
// A link with a mark claims nothing: a change is a link with the code before. So it is measured in
// one process, however large it is, because most are as the levels foretell: eight codes after a
// change have a mark before it, and to confirm each of these in three more processes took half of
// all openings of a backfill (baselines/recorded/h200/history). Doubtful is one that
// - misses what all other links say of its two codes by more than chance lets a good link miss once
//   in a hundred, or
// - is slower or faster by the gate's rule, where no link of neighbours between its two codes is,
//   and so would be creep.
// It is measured once more, in a process that is new to it: a second fact beside the first. Levels
// weigh both, and set aside what does not fit.
#include "ci/gate/linking_doubts.h"
#include "baselines/link.h"
#include "model/history/levels.h"

#include <stdlib.h>
#include <string.h>

static const double seldom = 0.01;

// All links of a series, in the order of their heads.
struct doubting {
    struct link *links;
    size_t count;
    struct levels *levels; // NULL: they cannot be levelled
};

// Most links name a code that was named not long before.
static size_t number_of(const char **codes, size_t *count, const char *code)
{
    for (size_t i = *count; i-- > 0;) {
        if (strcmp(codes[i], code) == 0)
            return i;
    }
    codes[*count] = code;
    return (*count)++;
}

static void level_all(struct doubting *d)
{
    const char **codes = xcalloc(2 * d->count + 1, sizeof(*codes));
    size_t known = 0;
    struct error tangled;
    d->levels = levels_new();
    for (size_t i = 0; i < d->count; i++) {
        const struct link *l = &d->links[i];
        struct level_link link = {.log_ratio = l->log_ratio, .error = l->error};
        link.from = number_of(codes, &known, l->base_code);
        link.to = number_of(codes, &known, l->head_code);
        levels_add(d->levels, &link);
    }
    if (levels_close(d->levels, &levels_prior, &tangled)) {
        levels_free(d->levels);
        d->levels = NULL;
    }
    free(codes);
}

// A link of neighbours on the way back from its head to its base says the same.
static bool is_claimed(const struct doubting *d, const struct link *mark)
{
    const char *code = mark->head_code;
    for (uint32_t steps = 0; steps < mark->back && strcmp(code, mark->base_code) != 0; steps++) {
        const struct link *before = NULL;
        for (size_t i = 0; i < d->count; i++) {
            if (d->links[i].back == 1 && strcmp(d->links[i].head_code, code) == 0)
                before = &d->links[i];
        }
        if (!before || before->kind == mark->kind)
            return before != NULL;
        code = before->base_code;
    }
    return false;
}

static bool is_alone(const struct doubting *d, const struct link *link)
{
    size_t same = 0;
    for (size_t i = 0; i < d->count; i++)
        same += strcmp(d->links[i].base_code, link->base_code) == 0 &&
                strcmp(d->links[i].head_code, link->head_code) == 0;
    return same == 1;
}

static bool is_doubtful(const struct doubting *d, size_t i)
{
    const struct link *l = &d->links[i];
    const bool alarm = l->kind == VERDICT_SLOWER || l->kind == VERDICT_FASTER;
    return is_alone(d, l) && ((alarm && !is_claimed(d, l)) ||
                              (d->levels && levels_fit_chance(d->levels, i) < seldom));
}

// The link that a comparison gave; the number of links: it gave none.
static size_t link_of(const struct doubting *d, const struct comparison *what, uint32_t back)
{
    size_t i = 0;
    while (i < d->count &&
           (d->links[i].back != back || strcmp(d->links[i].base.id, what->base->commit.id) != 0 ||
            strcmp(d->links[i].head.id, what->head->commit.id) != 0))
        i++;
    return i;
}

static bool same_series(const struct compared *a, const struct compared *b)
{
    return a->device == b->device && strcmp(a->kernel, b->kernel) == 0 &&
           problem_equal(a->problem, b->problem);
}

struct asking {
    const struct comparison *what;
    size_t count;
    bool **asked; // by comparison and series
    struct compared **series;
    struct comparison *again; // copies of `what` with those series that are doubtful
};

// Every link with a mark of one series; its levels are found once.
static int ask_series(struct asking *a, const struct compared *series, struct context *context,
                      struct error *err)
{
    struct arena scratch = {0};
    struct doubting d = {0};
    const struct series of = {series->kernel, series->problem, series->device->unit.uuid};
    const int status = store_links(&d.links, &d.count, context->store, &of, &scratch, err);
    if (status == 0)
        level_all(&d);
    for (size_t i = 0; status == 0 && i < a->count; i++) {
        const struct comparison *what = &a->what[i];
        struct comparison *again = &a->again[i];
        for (size_t k = 0; k < what->count; k++) {
            const struct compared *c = &what->series[k];
            if (c->use != GATE_FOR_LEVEL || !same_series(c, series))
                continue;
            const size_t link = link_of(&d, what, c->back);
            a->asked[i][k] = true;
            if (link < d.count && is_doubtful(&d, link))
                a->series[i][again->count++] = *c;
        }
    }
    levels_free(d.levels);
    arena_free(&scratch);
    return status;
}

int linking_doubts(struct comparison **out, size_t *count, const struct comparison *what,
                   size_t what_count, struct context *context, struct arena *arena,
                   struct error *err)
{
    struct asking a = {.what = what,
                       .count = what_count,
                       .asked = arena_alloc(arena, what_count * sizeof(*a.asked)),
                       .series = arena_alloc(arena, what_count * sizeof(*a.series)),
                       .again = arena_alloc(arena, what_count * sizeof(*a.again))};
    for (size_t i = 0; i < what_count; i++) {
        a.asked[i] = arena_alloc(arena, what[i].count * sizeof(**a.asked));
        memset(a.asked[i], 0, what[i].count * sizeof(**a.asked));
        a.series[i] = arena_alloc(arena, what[i].count * sizeof(**a.series));
        a.again[i] = (struct comparison){what[i].base, what[i].head, a.series[i], 0};
    }
    for (size_t i = 0; i < what_count; i++) {
        for (size_t k = 0; k < what[i].count; k++) {
            const struct compared *c = &what[i].series[k];
            if (c->use == GATE_FOR_LEVEL && !a.asked[i][k] && ask_series(&a, c, context, err))
                return -1;
        }
    }
    *count = 0;
    for (size_t i = 0; i < what_count; i++) {
        if (a.again[i].count)
            a.again[(*count)++] = a.again[i];
    }
    *out = a.again;
    return 0;
}
