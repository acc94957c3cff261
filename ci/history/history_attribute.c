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

// A commit that a change may have begun with: one word of change->held.
struct held {
    const char *id; // `length` bytes
    size_t length, series, index;
};

static int compare_ids(const char *a, size_t a_length, const char *b, size_t b_length)
{
    const int order = memcmp(a, b, a_length < b_length ? a_length : b_length);
    return order ? order : (a_length > b_length) - (a_length < b_length);
}

static int by_id(const void *left, const void *right)
{
    const struct held *a = left, *b = right;
    const int order = compare_ids(a->id, a->length, b->id, b->length);
    if (order)
        return order;
    return a->series != b->series ? (a->series > b->series) - (a->series < b->series)
                                  : (a->index > b->index) - (a->index < b->index);
}

// By id, then by series, then by change.
static struct held *all_held(size_t *count, const struct series_history *all, size_t series)
{
    struct held *list = NULL;
    size_t used = 0, room = 0;
    for (size_t i = 0; i < series; i++) {
        for (size_t k = 0; k < all[i].change_count; k++) {
            const char *word = all[i].changes[k].held;
            for (size_t length; *word; word += length + strspn(word + length, " ")) {
                length = strcspn(word, " ");
                list = xgrow(list, used, &room, sizeof(*list));
                list[used++] = (struct held){word, length, i, k};
            }
        }
    }
    if (used)
        qsort(list, used, sizeof(*list), by_id);
    *count = used;
    return list;
}

// The first of the list with this id, or behind where it would be.
static size_t find_held(const struct held *list, size_t count, const char *commit)
{
    const size_t length = strlen(commit);
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (compare_ids(list[middle].id, list[middle].length, commit, length) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// `held`: from the commit's first on; a series' first change that holds it counts.
static void attribute_commit(struct series_history *all, size_t count, const size_t *devices,
                             const struct place *places, size_t place_count,
                             const struct held *held, size_t held_count)
{
    const char *commit = places->change->at.id;
    struct attribution_series *input = xcalloc(count, sizeof(*input));
    struct attributed *output = xcalloc(count, sizeof(*output));
    const struct history_change **changes = xcalloc(count, sizeof(*changes));
    for (size_t i = 0; i < held_count; i++) {
        if (compare_ids(held[i].id, held[i].length, commit, strlen(commit)) != 0)
            break;
        if (!changes[held[i].series])
            changes[held[i].series] = &all[held[i].series].changes[held[i].index];
    }
    for (size_t i = 0; i < count; i++) {
        const struct history_change *c = changes[i];
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
    free(changes);
    free(input);
    free(output);
}

void history_attribute(struct series_history *all, size_t count)
{
    size_t place_count, held_count;
    struct place *places = all_places(&place_count, all, count);
    struct held *held = all_held(&held_count, all, count);
    size_t *devices = xcalloc(count, sizeof(*devices));
    for (size_t i = 0; i < count; i++)
        devices[i] = device_number(all, i);
    for (size_t first = 0, end; first < place_count; first = end) {
        for (end = first + 1; end < place_count; end++) {
            if (strcmp(places[end].change->at.id, places[first].change->at.id) != 0)
                break;
        }
        if (end - first < CONTROLS_FEWEST)
            continue;
        const size_t at = find_held(held, held_count, places[first].change->at.id);
        attribute_commit(all, count, devices, places + first, end - first, held + at,
                         held_count - at);
    }
    free(devices);
    free(held);
    free(places);
}
