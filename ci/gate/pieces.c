// SPDX-License-Identifier: Apache-2.0
//
// Reads all runs that note to be parts, and checks that they are of one plan.
#include "ci/gate/pieces.h"
#include "model/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int be_of_one_plan(struct pieces *pieces, const struct part_note *note, const char *path,
                          struct error *err)
{
    if (!pieces->items) {
        pieces->items = xcalloc(note->part.count, sizeof(*pieces->items));
        pieces->count = note->part.count;
        pieces->stamp = note->stamp;
    }
    if (pieces->count != note->part.count)
        return error_set(err,
                         "store %s: has parts of %" PRIu32 " and parts of %" PRIu32
                         "; join those of one gate or study",
                         path, pieces->count, note->part.count);
    if (pieces->stamp != note->stamp)
        return error_set(err,
                         "store %s: part %" PRIu32 " planned other series or built other machine "
                         "code than another part; give all of them one policy, compiler and cache",
                         path, note->part.number);
    return 0;
}

// Of two runs of one part.
static bool is_earlier(const struct run *run, const char *uid, const struct piece *than)
{
    if (!than->uid[0] || run->started_s != than->run.started_s)
        return !than->uid[0] || run->started_s < than->run.started_s;
    return strcmp(uid, than->uid) < 0;
}

static int read_piece(struct pieces *pieces, struct store *store, const struct run_entry *entry,
                      struct error *err)
{
    struct run run = {0};
    struct part_note note;
    if (store_load_run(&run, store, entry->id, err))
        return -1;
    int status = 0;
    if (part_note_read(&note, &run)) {
        status = be_of_one_plan(pieces, &note, store_path(store), err);
        struct piece *piece = status ? NULL : &pieces->items[note.part.number - 1];
        if (piece && is_earlier(&run, entry->uid, piece)) {
            const struct run unused = piece->run;
            piece->run = run;
            run = unused;
            text_copy(piece->uid, sizeof(piece->uid), entry->uid);
        }
    }
    run_free(&run);
    return status;
}

static bool of_toolchains(const struct run_entry *e, const char *const toolchain[2])
{
    for (int role = ROLE_BASE; role <= ROLE_HEAD; role++) {
        if (strcmp(e->toolchain[role], toolchain[role] ? toolchain[role] : "") != 0)
            return false;
    }
    return true;
}

static int read_all(struct pieces *pieces, struct store *store, const struct pieces_wanted *wanted,
                    struct arena *arena, struct error *err)
{
    struct run_entry *entries = NULL;
    size_t count = 0;
    if (store_list_runs(&entries, &count, store, (int)wanted->kind, 0, arena, err))
        return -1;
    for (size_t i = 0; i < count; i++) {
        const struct run_entry *e = &entries[i];
        if (e->finished_s && (!wanted->base || strcmp(e->base, wanted->base) == 0) &&
            (!wanted->head || strcmp(e->head, wanted->head) == 0) &&
            of_toolchains(e, wanted->toolchain) && read_piece(pieces, store, e, err))
            return -1;
    }
    if (!pieces->items)
        return error_set(err, "store %s: has no part of this %s", store_path(store),
                         run_kind_name(wanted->kind));
    for (uint32_t i = 0; i < pieces->count; i++)
        pieces->missing += !pieces->items[i].uid[0];
    return 0;
}

int pieces_read(struct pieces *out, const char *path, const struct pieces_wanted *wanted,
                struct error *err)
{
    struct arena arena = {0};
    struct store *store = NULL;
    *out = (struct pieces){0};
    if (store_open(&store, path, STORE_READ, err))
        return -1;
    const int status = read_all(out, store, wanted, &arena, err);
    store_close(store);
    arena_free(&arena);
    return status;
}

void pieces_free(struct pieces *pieces)
{
    for (uint32_t i = 0; i < pieces->count; i++)
        run_free(&pieces->items[i].run);
    free(pieces->items);
    *pieces = (struct pieces){0};
}

const char *pieces_missing(const struct pieces *pieces, struct arena *arena)
{
    const char *text = "";
    for (uint32_t i = 0; i < pieces->count; i++) {
        if (!pieces->items[i].uid[0])
            text = arena_printf(arena, "%s%s%" PRIu32, text, *text ? ", " : "", i + 1);
    }
    return text;
}

static enum run_lack worst_lack(const struct run *run)
{
    enum run_lack lack = 0;
    char reason[8];
    while (lack < RUN_LACKS && !run_lacks(reason, sizeof(reason), run, lack))
        lack++;
    return lack;
}

// With what some part of it lacked.
const char *pieces_policy(const struct pieces *pieces, struct arena *arena)
{
    const struct run *chosen = NULL;
    uint64_t of = HASH_START;
    for (uint32_t i = 0; i < pieces->count; i++) {
        const struct piece *piece = &pieces->items[i];
        of = hash_text(of, piece->uid);
        if (piece->uid[0] && (!chosen || worst_lack(&piece->run) < worst_lack(chosen)))
            chosen = &piece->run;
    }
    return arena_printf(arena, "%s\n" RUN_JOINED_NOTE "%" PRIu32 " parts, %016" PRIx64 "\n",
                        part_policy(chosen, arena), pieces->count, of);
}

int pieces_stored(int64_t *run_id, struct store *store, const struct run *whole, struct error *err)
{
    struct arena arena = {0};
    struct run_entry *entries = NULL;
    size_t count = 0;
    int64_t found = 0;
    int status = store_list_runs(&entries, &count, store, (int)whole->kind, 0, &arena, err);
    for (size_t i = 0; status == 0 && !found && i < count; i++) {
        const struct run_entry *e = &entries[i];
        struct run run = {0};
        if (!e->finished_s || e->started_s != whole->started_s ||
            strcmp(e->base, whole->base.id) != 0 || strcmp(e->head, whole->head.id) != 0 ||
            !of_toolchains(e, whole->toolchain))
            continue;
        status = store_load_run(&run, store, e->id, err);
        if (status == 0 && strcmp(run.policy, whole->policy) == 0)
            found = e->id;
        run_free(&run);
    }
    arena_free(&arena);
    if (status == 0)
        *run_id = found;
    return status;
}
