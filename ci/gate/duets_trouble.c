// SPDX-License-Identifier: Apache-2.0
//
// What a child that died, or a result that was wrong, costs the duets that were open in it, and who
// is tried again alone (duets.h, "Trouble").
#include "ci/gate/duets_player.h"

#include <string.h>

// The child is dead: those that were open in it go on in another.
static void part_all(struct player *p)
{
    player_end_child(p);
    for (size_t i = 0; i < p->all->count; i++) {
        struct duet *d = &p->all->items[i];
        if (d->place != DUET_OPEN || d->unit != p->unit)
            continue;
        d->place = DUET_WAITS;
        d->parted = true;
    }
    p->open = 0;
}

static void suspect_kernel(struct player *p, const char *kernel)
{
    for (size_t i = 0; i < p->all->count; i++) {
        if (strcmp(p->all->items[i].kernel, kernel) == 0)
            p->all->items[i].suspect = true;
    }
}

int player_failed(struct player *p, struct duet *d, const struct bench_outcome *outcome,
                  struct error *err)
{
    const bool beside = p->open > (d->place == DUET_OPEN);
    const bool doubtful = outcome->state == MEASURED_CRASHED || outcome->state == MEASURED_WRONG;
    // A person, or the machine's want of memory: nobody of those here, the first time.
    const bool outside =
        outcome->gone && !outcome->own_fault && !d->killed && outcome->state == MEASURED_CRASHED;
    player_take_out(p, d, DUET_WAITS);
    if (outcome->gone)
        part_all(p);
    const bool again = doubtful && (beside || outside) && !player_late(p);
    d->killed |= outside;
    if (outcome->gone || outcome->state == MEASURED_WRONG || again)
        suspect_kernel(p, d->kernel);
    if (again && outcome->state == MEASURED_WRONG) {
        // Whoever is to blame: what this process timed was not the product. Next time it is looked
        // at longer.
        d->judged = d->alarmed = false;
        d->fed = d->base_samples.count = d->head_samples.count = 0;
        d->voided = d->confirm_pairs = 0;
        d->thorough = true;
        return 0;
    }
    if (again) {
        d->base_samples.count = d->head_samples.count = d->fed;
        d->parted = true;
        return 0;
    }
    d->outcome = *outcome;
    d->outcome.own_fault &= !beside || outcome->role == ROLE_BASE; // which was tried alone
    return player_finish(p, d, err);
}
