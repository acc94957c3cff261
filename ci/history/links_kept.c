// SPDX-License-Identifier: Apache-2.0
//
// Keeping what links said. What is kept of the levels names how many stretches lie before it, and a
// hash of all of their bytes, so that no stretch of another look is taken for one of this.
#include "ci/history/links_kept.h"

#include "ci/history/link_facts.h"
#include "ci/history/links_found.h"
#include "ci/history/links_pack.h"
#include "model/text.h"

#include <stdio.h>
#include <string.h>

// Raised when the same links would say something else, or say it in other bytes.
enum { LINKS_KEPT_VERSION = 13 };

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

// What is settled follows from the links alone.
static void settled_maker(char out[KEPT_LINKS_MAKER])
{
    snprintf(out, KEPT_LINKS_MAKER, "%d/%d/%d/%d", LINKS_KEPT_VERSION, STRETCH, LAG, LATE_AFTER);
}

// ---- looking ----

// On from what is settled, if that is kept and holds; else from the first link.
static int look(struct links_found *out, struct store *store, const struct commit_places *places,
                const struct series *series, const char *accepted, struct arena *arena,
                struct arena *scratch, struct error *err)
{
    struct kept_settled kept;
    struct settled_links settled;
    char maker[KEPT_LINKS_MAKER];
    bool holds = false;
    settled_maker(maker);
    if (store_load_settled(&kept, store, series, scratch, err))
        return -1;
    if (strcmp(kept.maker, maker) == 0 &&
        settled_unpack(&settled, kept.settled, kept.size, scratch) == 0 &&
        links_find(out, &holds, &settled, store, places, series, accepted, arena, scratch, err))
        return -1;
    return holds ? 0
                 : links_find(out, &holds, NULL, store, places, series, accepted, arena, scratch,
                              err);
}

// ---- keeping ----

static const void *bytes_of(struct buffer *from, size_t *size, struct arena *arena)
{
    *size = from->length;
    const void *bytes = arena_copy(arena, from->bytes, from->length);
    buffer_free(from);
    return bytes;
}

// The stretches that were settled now, and what is settled with them.
static void keep_settled(struct kept_links *fresh, struct links_found *found, struct arena *arena)
{
    struct settled_links *s = &found->settled;
    const size_t count = found->part_count ? found->part_count - 1 : 0;
    struct kept_stretch *stretches = arena_alloc(arena, (count + 1) * sizeof(*stretches));
    struct buffer bytes = {0};
    if (s->stretches == count)
        s->chain = HASH_START;
    for (size_t i = 0; i < count; i++) {
        struct kept_stretch *k = &stretches[i];
        linked_part_pack(&bytes, &found->parts[i]);
        k->number = s->stretches - count + i;
        k->levels = bytes_of(&bytes, &k->size, arena);
        s->chain = hash_bytes(s->chain, k->levels, k->size);
    }
    fresh->stretches = stretches;
    fresh->stretch_count = count;
    if (count == 0)
        return;
    settled_maker(fresh->settled.maker);
    settled_pack(&bytes, s);
    fresh->settled.settled = bytes_of(&bytes, &fresh->settled.size, arena);
}

static void keep(struct kept_links *fresh, struct links_found *found, struct arena *arena)
{
    struct buffer bytes = {0};
    keep_settled(fresh, found, arena);
    linked_pack(&bytes, &found->history);
    fresh->newest_link = found->history.newest_link;
    fresh->found = bytes_of(&bytes, &fresh->size, arena);
    put(&bytes, found->settled.stretches);
    put(&bytes, found->settled.chain);
    if (found->part_count)
        linked_part_pack(&bytes, &found->parts[found->part_count - 1]);
    fresh->levels = bytes_of(&bytes, &fresh->levels_size, arena);
}

int history_links_kept(struct linked_history *out, struct kept_links *fresh, struct store *store,
                       const struct commit_places *places, const struct series *series,
                       const char *accepted, struct arena *arena, struct arena *kept_in,
                       struct error *err)
{
    struct kept_links kept;
    struct links_found found;
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
    status = look(&found, store, places, series, accepted, arena, &scratch, err);
    if (status)
        goto done;
    *out = found.history;
    keep(fresh, &found, kept_in);
done:
    arena_free(&scratch);
    return status;
}

// ---- levels ----

// False: they are not those that `linked` was found with, or not whole.
static bool unpack_levels(struct linked_levels *out, const struct linked_history *linked,
                          const struct kept_links *kept, const struct kept_stretch *stretches,
                          size_t count, const struct commit_places *places, struct arena *arena)
{
    struct reader r = {kept->levels, (const unsigned char *)kept->levels + kept->levels_size, arena,
                       false};
    struct linked_part *parts = arena_alloc(arena, (count + 1) * sizeof(*parts));
    uint64_t chain = HASH_START;
    const uint64_t named = get(&r), whole = get(&r);
    if (r.bad || named > count)
        return false;
    for (size_t i = 0; i < named; i++) {
        if (stretches[i].number != i ||
            linked_part_unpack(&parts[i], stretches[i].levels, stretches[i].size, places, arena))
            return false;
        chain = hash_bytes(chain, stretches[i].levels, stretches[i].size);
    }
    return (named == 0 || chain == whole) &&
           linked_part_unpack(&parts[named], r.at, (size_t)(r.end - r.at), places, arena) == 0 &&
           links_join(out, linked, parts, named + 1, arena) == 0;
}

int history_linked_levels(struct linked_levels *out, const struct linked_history *linked,
                          struct store *store, const struct commit_places *places,
                          const struct series *series, const char *accepted, struct arena *arena,
                          struct error *err)
{
    struct kept_links kept;
    struct kept_stretch *stretches;
    struct linked_history again;
    struct arena scratch = {0};
    char maker[KEPT_LINKS_MAKER];
    size_t count;
    int status = 0;
    *out = (struct linked_levels){0};
    if (linked->level_count == 0)
        return 0;
    if (maker_of(maker, store, places, series, accepted, err) ||
        store_load_kept_levels(&kept, store, series, &scratch, err) ||
        store_load_stretches(&stretches, &count, store, series, &scratch, err))
        status = -1;
    const bool here = status == 0 && strcmp(kept.maker, maker) == 0 &&
                      kept.newest_link == linked->newest_link &&
                      unpack_levels(out, linked, &kept, stretches, count, places, arena);
    if (status == 0 && !here)
        status = history_links(&again, out, store, places, series, accepted, &scratch, arena, err);
    arena_free(&scratch);
    return status;
}
