// SPDX-License-Identifier: Apache-2.0
//
// What links say, as bytes: integers as little-endian base-128 varints, reals as 8 bytes, binary64,
// little-endian, texts with their length before them. Levels name commits by their keys in the
// store.
#include "ci/history/links_kept.h"

#include "ci/history/link_facts.h"
#include "model/text.h"

#include <stdio.h>
#include <string.h>

// Raised when the same links would say something else, or say it in other bytes.
enum { LINKS_KEPT_VERSION = 11 };

// ---- packing ----

static void put(struct buffer *out, uint64_t value)
{
    for (; value >= 128; value >>= 7)
        buffer_add(out, &(char){(char)(value % 128 + 128)}, 1);
    buffer_add(out, &(char){(char)value}, 1);
}

static void put_real(struct buffer *out, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    for (int i = 0; i < 8; i++)
        buffer_add(out, &(char){(char)(bits >> (8 * i) & 255)}, 1);
}

static void put_text(struct buffer *out, const char *text)
{
    put(out, strlen(text));
    buffer_add(out, text, strlen(text));
}

static void put_commit(struct buffer *out, const struct history_commit *commit)
{
    put_text(out, commit->id);
    put(out, (uint64_t)commit->time_s);
}

static void put_interval(struct buffer *out, const struct interval *interval)
{
    put_real(out, interval->value);
    put_real(out, interval->low);
    put_real(out, interval->high);
}

void linked_pack(struct buffer *out, const struct linked_history *l)
{
    put(out, l->change_count);
    put(out, l->misfit_count);
    put(out, l->level_count);
    put(out, l->step_count);
    put(out, l->newest);
    put(out, l->links);
    put(out, l->loops);
    put(out, (uint64_t)l->newest_link);
    put(out, l->neighbours);
    put(out, l->trouble != NULL);
    put_text(out, l->trouble ? l->trouble : "");
    put_real(out, l->misclosure);
    put_interval(out, &l->now);
    put_commit(out, &l->since);
    put_interval(out, &l->accepted);
    put(out, l->moved);
    for (size_t i = 0; i < l->change_count; i++) {
        put_commit(out, &l->changes[i].at);
        put_commit(out, &l->changes[i].base);
        put_interval(out, &l->changes[i].size);
        put_real(out, l->changes[i].evidence);
        put(out, (uint64_t)l->changes[i].link);
        put(out, l->changes[i].misfit);
        put(out, l->changes[i].sure);
        put(out, l->changes[i].back);
        put_real(out, l->changes[i].left);
    }
    for (size_t i = 0; i < l->misfit_count; i++) {
        put_commit(out, &l->misfits[i].at);
        put_commit(out, &l->misfits[i].base);
        put(out, l->misfits[i].back);
    }
}

void linked_levels_pack(struct buffer *out, const struct linked_levels *all)
{
    put(out, all->level_count);
    put(out, all->step_count);
    for (size_t i = 0; i < all->level_count; i++) {
        const struct linked_level *l = &all->levels[i];
        put(out, (uint64_t)l->at->key);
        put_interval(out, &l->level);
        put(out, l->mark);
        put(out, l->tried);
    }
    for (size_t i = 0; i < all->step_count; i++) {
        put(out, (uint64_t)all->steps[i].at->key);
        put(out, all->steps[i].level);
    }
}

// ---- unpacking ----

struct reader {
    const unsigned char *at, *end;
    struct arena *arena;
    bool bad;
};

static uint64_t get(struct reader *r)
{
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        if (r->at == r->end)
            break;
        const unsigned char byte = *r->at++;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return value;
    }
    r->bad = true;
    return 0;
}

// A number of things of which each takes a byte at least.
static size_t get_count(struct reader *r)
{
    const uint64_t count = get(r);
    r->bad |= count > (uint64_t)(r->end - r->at);
    return r->bad ? 0 : (size_t)count;
}

static size_t get_index(struct reader *r, size_t count)
{
    const uint64_t index = get(r);
    r->bad |= index >= count;
    return r->bad ? 0 : (size_t)index;
}

static double get_real(struct reader *r)
{
    uint64_t bits = 0;
    double value;
    if (r->end - r->at < 8) {
        r->bad = true;
        return 0;
    }
    for (int i = 0; i < 8; i++)
        bits |= (uint64_t)*r->at++ << (8 * i);
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static const char *get_text(struct reader *r)
{
    const size_t length = get_count(r);
    const char *text = arena_strndup(r->arena, (const char *)r->at, length);
    r->at += length;
    r->bad |= strlen(text) != length;
    return text;
}

static struct history_commit get_commit(struct reader *r)
{
    struct history_commit commit = {0};
    const size_t length = get_count(r);
    r->bad |= length >= sizeof(commit.id);
    if (r->bad)
        return commit;
    memcpy(commit.id, r->at, length);
    r->at += length;
    commit.time_s = (int64_t)get(r);
    return commit;
}

static struct interval get_interval(struct reader *r)
{
    const double value = get_real(r), low = get_real(r);
    return (struct interval){value, low, get_real(r)};
}

static void get_changes(struct reader *r, struct linked_history *l)
{
    l->changes = arena_alloc(r->arena, (l->change_count + 1) * sizeof(*l->changes));
    for (size_t i = 0; i < l->change_count && !r->bad; i++) {
        struct linked_change *c = &l->changes[i];
        c->at = get_commit(r);
        c->base = get_commit(r);
        c->size = get_interval(r);
        c->evidence = get_real(r);
        c->link = (int64_t)get(r);
        c->misfit = get(r) != 0;
        c->sure = get(r) != 0;
        c->back = get(r) != 0;
        c->left = get_real(r);
    }
    l->misfits = arena_alloc(r->arena, (l->misfit_count + 1) * sizeof(*l->misfits));
    for (size_t i = 0; i < l->misfit_count && !r->bad; i++) {
        l->misfits[i].at = get_commit(r);
        l->misfits[i].base = get_commit(r);
        l->misfits[i].back = (uint32_t)get_index(r, UINT32_MAX);
    }
}

int linked_unpack(struct linked_history *out, const void *bytes, size_t size, struct arena *arena)
{
    struct reader r = {bytes, (const unsigned char *)bytes + size, arena, false};
    struct linked_history l = {.change_count = get_count(&r)};
    l.misfit_count = get_count(&r);
    l.level_count = (size_t)get(&r);
    l.step_count = (size_t)get(&r);
    l.newest = get_index(&r, l.level_count ? l.level_count : 1);
    l.links = (size_t)get(&r);
    l.loops = (size_t)get(&r);
    l.newest_link = (int64_t)get(&r);
    l.neighbours = (size_t)get(&r);
    const bool trouble = get(&r) != 0;
    const char *why = get_text(&r);
    l.trouble = trouble ? why : NULL;
    l.misclosure = get_real(&r);
    l.now = get_interval(&r);
    l.since = get_commit(&r);
    l.accepted = get_interval(&r);
    l.moved = get(&r) != 0;
    get_changes(&r, &l);
    if (r.bad || r.at != r.end)
        return -1;
    *out = l;
    return 0;
}

static const struct commit_place *get_place(struct reader *r, const struct commit_places *places)
{
    const struct commit_place *place = commit_place_find(places, (int64_t)get(r));
    r->bad |= place == NULL;
    return place;
}

int linked_levels_unpack(struct linked_levels *out, const void *bytes, size_t size,
                         const struct commit_places *places, struct arena *arena)
{
    struct reader r = {bytes, (const unsigned char *)bytes + size, arena, false};
    struct linked_levels l = {.level_count = get_count(&r), .step_count = get_count(&r)};
    l.levels = arena_alloc(r.arena, (l.level_count + 1) * sizeof(*l.levels));
    for (size_t i = 0; i < l.level_count && !r.bad; i++) {
        l.levels[i].at = get_place(&r, places);
        l.levels[i].level = get_interval(&r);
        l.levels[i].mark = get_index(&r, l.level_count);
        l.levels[i].tried = get(&r) != 0;
    }
    l.steps = arena_alloc(r.arena, (l.step_count + 1) * sizeof(*l.steps));
    for (size_t i = 0; i < l.step_count && !r.bad; i++) {
        l.steps[i].at = get_place(&r, places);
        l.steps[i].level = get_index(&r, l.level_count);
    }
    if (r.bad || r.at != r.end)
        return -1;
    *out = l;
    return 0;
}

// ---- both ----

// What they say depends on the newest code, too, which may have come without a link.
static int maker_of(char out[KEPT_LINKS_MAKER], struct store *store,
                    const struct commit_places *places, const struct series *series,
                    const char *accepted, struct error *err)
{
    int64_t code;
    size_t run;
    if (link_newest_code(&code, &run, store, places, series, err))
        return -1;
    const uint64_t hash = hash_bytes(HASH_START, &code, sizeof(code));
    snprintf(out, KEPT_LINKS_MAKER, "%d/%016llx", LINKS_KEPT_VERSION,
             (unsigned long long)hash_text(hash, accepted ? accepted : ""));
    return 0;
}

static const void *bytes_of(struct buffer *from, size_t *size, struct arena *arena)
{
    *size = from->length;
    const void *bytes = arena_copy(arena, from->bytes, from->length);
    buffer_free(from);
    return bytes;
}

int history_links_kept(struct linked_history *out, struct kept_links *fresh, struct store *store,
                       const struct commit_places *places, const struct series *series,
                       const char *accepted, struct arena *arena, struct arena *kept_in,
                       struct error *err)
{
    struct kept_links kept;
    struct linked_levels levels;
    struct buffer bytes = {0}, more = {0};
    struct arena scratch = {0};
    int64_t newest;
    *out = (struct linked_history){.accepted = interval_none, .now = interval_none};
    *fresh = (struct kept_links){0};
    int status = store_newest_link(&newest, store, series, err);
    if (status == 0 && newest)
        status = store_load_kept_links(&kept, store, series, &scratch, err);
    if (status == 0 && newest)
        status = maker_of(fresh->maker, store, places, series, accepted, err);
    if (status || newest == 0)
        goto done;
    if (strcmp(kept.maker, fresh->maker) == 0 && kept.newest_link == newest &&
        linked_unpack(out, kept.found, kept.size, arena) == 0)
        goto done;
    status = history_links(out, &levels, store, places, series, accepted, arena, &scratch, err);
    if (status)
        goto done;
    linked_pack(&bytes, out);
    linked_levels_pack(&more, &levels);
    fresh->newest_link = out->newest_link;
    fresh->found = bytes_of(&bytes, &fresh->size, kept_in);
    fresh->levels = bytes_of(&more, &fresh->levels_size, kept_in);
done:
    arena_free(&scratch);
    return status;
}

int history_linked_levels(struct linked_levels *out, const struct linked_history *linked,
                          struct store *store, const struct commit_places *places,
                          const struct series *series, const char *accepted, struct arena *arena,
                          struct error *err)
{
    struct kept_links kept;
    struct linked_history again;
    struct arena scratch = {0};
    char maker[KEPT_LINKS_MAKER];
    int status = 0;
    *out = (struct linked_levels){0};
    if (linked->level_count == 0)
        return 0;
    if (maker_of(maker, store, places, series, accepted, err))
        return -1;
    status = store_load_kept_levels(&kept, store, series, &scratch, err);
    const bool here = status == 0 && strcmp(kept.maker, maker) == 0 &&
                      kept.newest_link == linked->newest_link &&
                      linked_levels_unpack(out, kept.levels, kept.levels_size, places, arena) == 0;
    if (status == 0 && !here)
        status = history_links(&again, out, store, places, series, accepted, &scratch, arena, err);
    arena_free(&scratch);
    return status;
}
