// SPDX-License-Identifier: Apache-2.0
//
// An event's entries put together from the store's and from those of the epochs file.
#include "ci/history/events_decided.h"

#include <string.h>

// ---- accepted baselines ----

// Does the level accepted there hold what the event did?
static bool is_behind(const struct epoch *epoch, const struct event *e, const struct timeline *t)
{
    const size_t at = timeline_find(t, epoch->commit);
    return at != SIZE_MAX ? at >= e->last : t->commits[e->last].time_s < epoch->when_s;
}

// The file grows at its end: the first that holds the change is the one that was made for it.
static const struct epoch *accepting(const struct event *e, const struct event_change *c,
                                     const struct history_set *set, const struct timeline *t)
{
    const struct series_entry *s = set->series[c->series].series;
    for (size_t i = 0; i < set->epochs.count; i++) {
        const struct epoch *epoch = &set->epochs.epochs[i];
        if (!epoch->removed && epoch_matches(epoch, s->kernel, &s->problem, s->device_uuid) &&
            is_behind(epoch, e, t))
            return epoch;
    }
    return NULL;
}

// The epoch of the largest change that needs one; NULL: some change that needs one has none.
static const struct epoch *accepted_with(const struct event *e, const struct history_set *set,
                                         const struct timeline *t)
{
    const struct epoch *largest = NULL;
    bool slower = false;
    for (size_t i = 0; i < e->count; i++)
        slower |= e->changes[i].size.value > 0;
    for (size_t i = 0; i < e->count; i++) {
        if (slower && !(e->changes[i].size.value > 0))
            continue;
        const struct epoch *epoch = accepting(e, &e->changes[i], set, t);
        if (!epoch)
            return NULL;
        largest = largest ? largest : epoch;
    }
    return largest;
}

// ---- entries ----

// A person's word has a day and no hour: it comes behind what the tool said on that day.
static void add_word(struct event *e, struct event_entry *entries, const struct event_entry *word)
{
    size_t at = e->entry_count++;
    for (; at > 0 && entries[at - 1].when_s > word->when_s + 86399; at--)
        entries[at] = entries[at - 1];
    entries[at] = *word;
    e->state = word->state;
}

void events_decide(struct event *event, const struct stored_event *stored,
                   const struct event_entry *now, const struct history_set *set,
                   const struct timeline *timeline, struct arena *arena)
{
    const struct epoch_list *epochs = &set->epochs;
    const size_t known = stored ? stored->entry_count : 0;
    struct event_entry *entries =
        arena_alloc(arena, (known + epochs->decision_count + 2) * sizeof(*entries));
    bool decided = false;
    event->state = now->state;
    event->entries = entries;
    event->entry_count = 0;
    for (size_t i = 0; i < known; i++)
        entries[event->entry_count++] = stored->entries[i];
    if (known == 0 || stored->entries[known - 1].state != now->state)
        entries[event->entry_count++] = *now;
    for (size_t i = 0; i < epochs->decision_count; i++) {
        const struct epoch_decision *d = &epochs->decisions[i];
        if (strcmp(d->event, event->name) != 0)
            continue;
        add_word(event, entries, &(struct event_entry){d->state, d->when_s, d->who, d->reason});
        decided = true;
    }
    if (decided || (now->state != EVENT_NEW && now->state != EVENT_CONFIRMED))
        return;
    const struct epoch *epoch = accepted_with(event, set, timeline);
    if (epoch)
        add_word(event, entries,
                 &(struct event_entry){EVENT_ACCEPTED, epoch->when_s, epoch->who, epoch->reason});
}
