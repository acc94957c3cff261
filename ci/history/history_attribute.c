// SPDX-License-Identifier: Apache-2.0
//
// All series together: whose a change is that several of them share.
#include "ci/history/history.h"

#include <stdlib.h>
#include <string.h>

struct place {
    const struct history_change *change;
    size_t series, index;
};

static int by_commit(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    int order = strcmp(a->change->at.id, b->change->at.id);
    return order ? order : a->series < b->series ? -1 : a->series > b->series;
}

static struct place *all_places(size_t *count, const struct series_history *all, size_t series)
{
    size_t total = 0;
    for (size_t i = 0; i < series; i++)
        total += all[i].change_count;
    struct place *places = xcalloc(total, sizeof(*places));
    total = 0;
    for (size_t i = 0; i < series; i++) {
        for (size_t k = 0; k < all[i].change_count; k++)
            places[total++] = (struct place){&all[i].changes[k], i, k};
    }
    if (total)
        qsort(places, total, sizeof(*places), by_commit);
    *count = total;
    return places;
}

static size_t device_number(const struct series_history *all, size_t i)
{
    size_t d = 0;
    while (d < i && strcmp(all[d].series->device_uuid, all[i].series->device_uuid) != 0)
        d++;
    return d;
}

static bool holds(const struct history_change *change, const char *commit)
{
    const size_t length = strlen(commit);
    for (const char *at = change->held; (at = strstr(at, commit)); at++) {
        const bool begins = at == change->held || at[-1] == ' ';
        if (begins && (at[length] == ' ' || at[length] == '\0'))
            return true;
    }
    return false;
}

// The change of a series that may have begun with this commit.
static const struct history_change *change_at(const struct series_history *s, const char *commit)
{
    for (size_t i = 0; i < s->change_count; i++) {
        if (holds(&s->changes[i], commit))
            return &s->changes[i];
    }
    return NULL;
}

static void attribute_commit(struct series_history *all, size_t count, const size_t *devices,
                             const struct place *places, size_t place_count)
{
    struct attribution_series *input = xcalloc(count, sizeof(*input));
    struct attributed *output = xcalloc(count, sizeof(*output));
    for (size_t i = 0; i < count; i++) {
        const struct history_change *c = change_at(&all[i], places->change->at.id);
        input[i] = (struct attribution_series){.device = devices[i],
                                               .bound = all[i].newest.bound,
                                               .changed = c != NULL,
                                               .size = c ? c->change.size.value : 0,
                                               .code_changed = c && c->code_changed,
                                               .code_known = all[i].newest.code != 0,
                                               .model_changed = c && c->model_changed};
    }
    attribution_find(output, input, count, NULL, 0);
    for (size_t i = 0; i < place_count; i++) {
        struct history_change *c = &all[places[i].series].changes[places[i].index];
        enum attribution found = output[places[i].series].attribution;
        if (found == ATTRIBUTION_NONE || found == ATTRIBUTION_KERNEL)
            continue;
        c->shared = true;
        if (c->attribution != ATTRIBUTION_BREAK)
            c->attribution = found;
    }
    free(input);
    free(output);
}

void history_attribute(struct series_history *all, size_t count)
{
    size_t place_count;
    struct place *places = all_places(&place_count, all, count);
    size_t *devices = xcalloc(count, sizeof(*devices));
    for (size_t i = 0; i < count; i++)
        devices[i] = device_number(all, i);
    for (size_t first = 0, end; first < place_count; first = end) {
        for (end = first + 1; end < place_count; end++) {
            if (strcmp(places[end].change->at.id, places[first].change->at.id) != 0)
                break;
        }
        if (end - first >= CONTROLS_FEWEST)
            attribute_commit(all, count, devices, places + first, end - first);
    }
    free(devices);
    free(places);
}
