// SPDX-License-Identifier: Apache-2.0
//
// Divides tasks among parts by counting, and notes in a run which part it is. Reads the runs that
// are parts, checks that they have one plan, and makes one run of them.
#include "ci/gate/part.h"

#include "baselines/store.h"
#include "ci/gate/task_list.h"
#include "ci/settings/context.h"
#include "model/base.h"
#include "model/gate/gate.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS_MOST = 100000 };

static bool in_range(const struct work_part *part)
{
    return part->count >= 1 && part->count <= PARTS_MOST && part->number >= 1 &&
           part->number <= part->count;
}

int part_parse(struct work_part *out, const char *text)
{
    const char *slash = strchr(text, '/');
    char number[16];
    int64_t first = 0, second = 0;
    if (!slash || (size_t)(slash - text) >= sizeof(number))
        return -1;
    snprintf(number, sizeof(number), "%.*s", (int)(slash - text), text);
    if (parse_int64(&first, number) || parse_int64(&second, slash + 1) || first < 1 ||
        first > second || second > PARTS_MOST)
        return -1;
    *out = (struct work_part){(uint32_t)first, (uint32_t)second};
    return 0;
}

bool part_has(const struct work_part *part, size_t at)
{
    return !part->count || (at + at / part->count) % part->count == part->number - 1;
}

void part_stretch(size_t *first, size_t *end, const struct work_part *part, size_t count)
{
    const size_t parts = part->count ? part->count : 1, number = part->count ? part->number : 1;
    *first = count * (number - 1) / parts;
    *end = count * number / parts;
}

static uint64_t stamp_of(const struct task_list *tasks)
{
    uint64_t stamp = HASH_START;
    for (size_t i = 0; i < tasks->count; i++) {
        const struct task *task = &tasks->items[i];
        char problem[PROBLEM_TEXT];
        problem_format(problem, &task->result->problem);
        stamp = hash_text(stamp, task->device->policy->name);
        stamp = hash_text(stamp, task->result->kernel);
        stamp = hash_text(stamp, problem);
        stamp = hash_text(stamp, task->result->base_code);
        stamp = hash_text(stamp, task->result->head_code);
    }
    return stamp;
}

void part_take(struct task_list *tasks, struct run *run, const struct work_part *part)
{
    size_t kept = 0, compared = 0, others = 0;
    if (!part->count)
        return;
    const struct part_note note = {*part, stamp_of(tasks)};
    for (size_t i = 0; i < tasks->count; i++) {
        const struct result *r = tasks->items[i].result;
        const bool pairs =
            r->base_code[0] && r->head_code[0] && strcmp(r->base_code, r->head_code) != 0;
        if (!part_has(part, pairs ? compared++ : others++))
            continue;
        run->results[kept] = *r;
        tasks->items[kept] = tasks->items[i];
        tasks->items[kept].result = &run->results[kept];
        kept++;
    }
    tasks->count = run->count = kept;
    part_note_write(run, &note);
}

void part_note_write(struct run *run, const struct part_note *note)
{
    run->policy = arena_printf(&run->arena, "%s\n" RUN_PART_NOTE "%u of %u, plan %016" PRIx64 "\n",
                               run->policy, note->part.number, note->part.count, note->stamp);
}

bool part_note_read(struct part_note *out, const struct run *run)
{
    char text[80];
    struct part_note note = {0};
    int end = 0;
    if (!run_part(text, sizeof(text), run) ||
        sscanf(text, "%" SCNu32 " of %" SCNu32 ", plan %16" SCNx64 "%n", &note.part.number,
               &note.part.count, &note.stamp, &end) != 3 ||
        text[end] || !in_range(&note.part))
        return false;
    *out = note;
    return true;
}

const char *part_policy(const struct run *run, struct arena *arena)
{
    const char *end = run->policy;
    for (const char *at = end; (at = strstr(at, "\n" RUN_PART_NOTE)); at++)
        end = at;
    return arena_strndup(arena, run->policy, (size_t)(end - run->policy));
}

// ---- parts in a store ----
//
static int be_of_one_plan(struct part_runs *pieces, const struct part_note *note, const char *path,
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

// Whether this run of a part was made before another run of the same part.
static bool is_earlier(const struct run *run, const char *uid, const struct part_run *than)
{
    if (!than->uid[0] || run->started_s != than->run.started_s)
        return !than->uid[0] || run->started_s < than->run.started_s;
    return strcmp(uid, than->uid) < 0;
}

static int read_piece(struct part_runs *pieces, struct store *store, const struct run_entry *entry,
                      struct error *err)
{
    struct run run = {0};
    struct part_note note;
    if (store_load_run(&run, store, entry->id, err))
        return -1;
    int status = 0;
    if (part_note_read(&note, &run)) {
        status = be_of_one_plan(pieces, &note, store_path(store), err);
        struct part_run *piece = status ? NULL : &pieces->items[note.part.number - 1];
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

static int read_all(struct part_runs *pieces, struct store *store,
                    const struct pieces_wanted *wanted, struct arena *arena, struct error *err)
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
    return 0;
}

static const char *missing_text(const struct part_runs *pieces, struct arena *arena)
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

// The policy as the part noted it that lacked the most protection, and which parts were joined.
static const char *policy_text(const struct part_runs *pieces, struct arena *arena)
{
    const struct run *chosen = NULL;
    uint64_t of = HASH_START;
    for (uint32_t i = 0; i < pieces->count; i++) {
        const struct part_run *piece = &pieces->items[i];
        of = hash_text(of, piece->uid);
        if (piece->uid[0] && (!chosen || worst_lack(&piece->run) < worst_lack(chosen)))
            chosen = &piece->run;
    }
    return arena_printf(arena, "%s\n" RUN_JOINED_NOTE "%" PRIu32 " parts, %016" PRIx64 "\n",
                        part_policy(chosen, arena), pieces->count, of);
}

int pieces_read(struct part_runs *out, const char *path, const struct pieces_wanted *wanted,
                struct arena *arena, struct error *err)
{
    struct arena scratch = {0};
    struct store *store = NULL;
    *out = (struct part_runs){0};
    if (store_open(&store, path, STORE_READ, err))
        return -1;
    const int status = read_all(out, store, wanted, &scratch, err);
    store_close(store);
    arena_free(&scratch);
    if (status == 0) {
        out->missing = missing_text(out, arena);
        out->policy = policy_text(out, arena);
    }
    return status;
}

void pieces_free(struct part_runs *pieces)
{
    for (uint32_t i = 0; i < pieces->count; i++)
        run_free(&pieces->items[i].run);
    free(pieces->items);
    *pieces = (struct part_runs){0};
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

// ---- the whole of them ----
//
// Puts the results of a gate's parts into one run, in the order of an undivided gate: by device of
// the policy, then by kernel.

struct joining {
    struct run *run;
    struct context *context;
};

// ---- devices ----

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

// How many of the policy's devices have been matched with a run's devices so far.
struct device_finding {
    size_t next;
    const struct policy_device *last;
    const struct device *first; // the first unit of the last device
    uint32_t units;             // number of units of the last device
};

// Finds the policy's device for a run's device. They have the same order. So it is another unit of
// the last device, or the next device of that kind, or the one with its name if the run had none.
static const struct policy_device *
policy_device(struct device_finding *f, const struct policy *policy, const struct device *unit)
{
    if (f->last && f->units < f->last->units && strcmp(f->first->kind, unit->kind) == 0 &&
        strcmp(f->first->name, unit->name) == 0) {
        f->units++;
        return f->last;
    }
    for (; f->next < policy->device_count; f->next++) {
        const struct policy_device *d = &policy->devices[f->next];
        if (strcmp(d->kind, unit->kind) == 0 &&
            (!begins(unit->uuid, "away:") || strcmp(unit->uuid + strlen("away:"), d->name) == 0)) {
            *f = (struct device_finding){f->next + 1, d, unit, 1};
            return d;
        }
    }
    return NULL;
}

// Returns the index of the unit among all devices; a new unit is added.
static size_t place_device(struct joining *j, const struct device *unit,
                           const struct policy_device *named)
{
    struct context *context = j->context;
    size_t at = 0;
    while (at < context->device_count && (strcmp(context->devices[at].unit.uuid, unit->uuid) ||
                                          context->devices[at].policy != named))
        at++;
    if (at == context->device_count) {
        context->devices[context->device_count++] = (struct context_device){
            .away = begins(unit->uuid, "away:") || begins(unit->uuid, "static:"),
            .is_static = begins(unit->uuid, "static:"),
            .policy = named,
            .unit = *unit};
    }
    return at;
}

static int join_devices(struct joining *j, struct run *piece, struct error *err)
{
    struct device_finding found = {0};
    size_t *places = xcalloc(piece->device_count + 1, sizeof(*places));
    int status = 0;
    for (size_t i = 0; status == 0 && i < piece->device_count; i++) {
        const struct policy_device *named =
            policy_device(&found, &j->context->policy, &piece->devices[i]);
        if (named)
            places[i] = place_device(j, &piece->devices[i], named);
        else
            status = error_set(err, "%s: has no device for %.80s of a part",
                               j->context->policy.label, piece->devices[i].name);
    }
    for (size_t i = 0; status == 0 && i < piece->count; i++)
        piece->results[i].device = places[piece->results[i].device];
    free(places);
    return status;
}

// ---- the whole ----

static void join_results(struct joining *j, struct run *piece)
{
    struct run *run = j->run;
    memcpy(run->results + run->count, piece->results, piece->count * sizeof(*run->results));
    run->count += piece->count;
    memcpy(run->metrics + run->metric_count, piece->metrics,
           piece->metric_count * sizeof(*run->metrics));
    run->metric_count += piece->metric_count;
    for (int role = ROLE_BASE; role <= ROLE_HEAD; role++) {
        if (!run->unbuilt[role].reason)
            run->unbuilt[role] = piece->unbuilt[role];
    }
    if (piece->started_s < run->started_s)
        run->started_s = piece->started_s;
    arena_adopt(&run->arena, &piece->arena);
}

struct ordered {
    struct result result;
    size_t device, at; // device: index in the policy; at: index among the results
};

static int by_place(const void *left, const void *right)
{
    const struct ordered *a = left, *b = right;
    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    const int kernels = strcmp(a->result.kernel, b->result.kernel);
    return kernels ? kernels : (a->at > b->at) - (a->at < b->at);
}

static void order_results(struct joining *j)
{
    struct run *run = j->run;
    struct ordered *all = xcalloc(run->count + 1, sizeof(*all));
    for (size_t i = 0; i < run->count; i++) {
        const struct policy_device *named = j->context->devices[run->results[i].device].policy;
        all[i] = (struct ordered){run->results[i], (size_t)(named - j->context->policy.devices), i};
    }
    qsort(all, run->count, sizeof(*all), by_place);
    for (size_t i = 0; i < run->count; i++)
        run->results[i] = all[i].result;
    free(all);
}

// Makes room for everything that all parts have.
static void make_room(struct joining *j, const struct part_runs *pieces)
{
    struct run *run = j->run;
    struct context *context = j->context;
    size_t results = 1, devices = 1, metrics = 1;
    for (uint32_t i = 0; i < pieces->count; i++) {
        results += pieces->items[i].run.count;
        devices += pieces->items[i].run.device_count;
        metrics += pieces->items[i].run.metric_count;
    }
    run->results = arena_alloc(&run->arena, results * sizeof(*run->results));
    run->metrics = arena_alloc(&run->arena, metrics * sizeof(*run->metrics));
    run->devices = arena_alloc(&run->arena, devices * sizeof(*run->devices));
    context->devices = arena_alloc(&context->arena, devices * sizeof(*context->devices));
}

static int join_all(struct joining *j, struct part_runs *pieces, struct error *err)
{
    struct run *run = j->run;
    struct self_test *tests = arena_alloc(&run->arena, pieces->count * sizeof(*tests));
    make_room(j, pieces);
    for (uint32_t i = 0; i < pieces->count; i++) {
        struct run *piece = &pieces->items[i].run;
        tests[i] = piece->self_test;
        if (join_devices(j, piece, err))
            return -1;
        if (pieces->items[i].uid[0])
            join_results(j, piece);
    }
    run->self_test = study_self_tests(tests, pieces->count, j->context->policy.gate.alpha);
    run->device_count = j->context->device_count;
    for (size_t i = 0; i < run->device_count; i++)
        run->devices[i] = j->context->devices[i].unit;
    order_results(j);
    return 0;
}

int joining_read(struct joined *out, struct run *run, struct context *context, const char *path,
                 struct error *err)
{
    const struct pieces_wanted wanted = {RUN_GATE,
                                         run->base.id,
                                         run->head.id,
                                         {run->toolchain[ROLE_BASE], run->toolchain[ROLE_HEAD]}};
    struct joining j = {run, context};
    struct joined joined = {0};
    struct part_runs pieces;
    int status = pieces_read(&pieces, path, &wanted, &run->arena, err);
    if (status == 0) {
        joined.parts = pieces.count;
        joined.missing = pieces.missing;
        run->policy = pieces.policy;
        status =
            join_all(&j, &pieces, err) || pieces_stored(&joined.stored, context->store, run, err)
                ? -1
                : 0;
    }
    pieces_free(&pieces);
    if (status == 0)
        *out = joined;
    return status;
}
