// SPDX-License-Identifier: Apache-2.0
//
// Shares out the series of a study, and puts the rows of its parts into one run.
#include "ci/study/study_joining.h"
#include "ci/gate/pieces.h"
#include "model/text.h"

#include <string.h>

static uint64_t stamp_of(const struct studied *studied)
{
    uint64_t stamp = HASH_START;
    for (size_t d = 0; d < studied->run.device_count; d++) {
        const struct study *study = &studied->studies[d];
        if (!study->count)
            continue; // another unit: how many there are is the machine's business
        stamp = hash_text(stamp, study->kind);
        for (size_t i = 0; i < study->count; i++) {
            char problem[PROBLEM_TEXT];
            problem_format(problem, &study->series[i].sum.problem);
            stamp = hash_text(stamp, study_kind_name(study->series[i].sum.kind));
            stamp = hash_text(stamp, study->series[i].sum.kernel);
            stamp = hash_text(stamp, problem);
        }
    }
    return stamp;
}

void study_take_part(struct studied *studied, const struct part *part)
{
    const struct part_note note = {*part, stamp_of(studied)};
    size_t at = 0;
    if (!part->count)
        return;
    for (size_t d = 0; d < studied->run.device_count; d++) {
        struct study *study = &studied->studies[d];
        size_t kept = 0;
        for (size_t i = 0; i < study->count; i++) {
            if (part_has(part, at++))
                study->series[kept++] = study->series[i];
        }
        study->count = kept;
    }
    part_note_write(&studied->run, &note);
}

static size_t place_device(struct run *run, const struct device *unit)
{
    size_t at = 0;
    while (at < run->device_count && strcmp(run->devices[at].uuid, unit->uuid) != 0)
        at++;
    if (at == run->device_count)
        run->devices[run->device_count++] = *unit;
    return at;
}

static void join_piece(struct run *run, struct run *piece)
{
    if (!run->device_count || piece->started_s < run->started_s)
        run->started_s = piece->started_s;
    run->tool_version = piece->tool_version;
    run->repository = piece->repository;
    run->base = piece->base;
    run->head = piece->head;
    for (size_t i = 0; i < piece->device_count; i++)
        place_device(run, &piece->devices[i]);
    for (size_t i = 0; i < piece->study_count; i++) {
        struct study_result *s = &run->studies[run->study_count++];
        *s = piece->studies[i];
        s->device = place_device(run, &piece->devices[s->device]);
    }
    arena_adopt(&run->arena, &piece->arena);
}

int study_join(struct run *out, const char **missing, uint32_t *parts, const char *path,
               struct error *err)
{
    const struct pieces_wanted wanted = {.kind = RUN_STUDY};
    struct run run = {.kind = RUN_STUDY};
    struct pieces pieces;
    size_t devices = 1, studies = 1;
    const int status = pieces_read(&pieces, path, &wanted, err);
    for (uint32_t i = 0; status == 0 && i < pieces.count; i++) {
        devices += pieces.items[i].run.device_count;
        studies += pieces.items[i].run.study_count;
    }
    if (status == 0) {
        run.devices = arena_alloc(&run.arena, devices * sizeof(*run.devices));
        run.studies = arena_alloc(&run.arena, studies * sizeof(*run.studies));
        run.policy = pieces_policy(&pieces, &run.arena);
        *missing = pieces_missing(&pieces, &run.arena);
        *parts = pieces.count;
        for (uint32_t i = 0; i < pieces.count; i++) {
            if (pieces.items[i].uid[0])
                join_piece(&run, &pieces.items[i].run);
        }
        *out = run;
    }
    pieces_free(&pieces);
    return status;
}

int study_save_joined(struct store *store, struct run *run, struct error *err)
{
    int64_t known;
    if (pieces_stored(&known, store, run, err))
        return -1;
    if (known)
        return 0;
    if (store_begin_batch(store, err))
        return -1;
    if (store_begin_run(store, run, err) || store_save_study(store, run, err) ||
        store_finish_run(store, run, err)) {
        store_cancel_batch(store);
        return -1;
    }
    return store_commit_batch(store, err);
}
