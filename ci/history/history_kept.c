// SPDX-License-Identifier: Apache-2.0
//
// Joins what was judged of a series before with what is judged of its new points, and says what to
// keep. It judges anew from the beginning when something other than new points has changed; until
// then a change that was surely found stays.
#include "ci/history/history_kept.h"

#include "model/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Raised when this file would conclude something else from the same points.
enum { HISTORY_KEPT_VERSION = 6 };

// What the judgements are made by: settings and the accepted epoch of the series.
static void maker_of(char out[JUDGEMENT_MAKER_TEXT], const struct history_options *options,
                     const struct epoch *epoch)
{
    uint64_t hash = hash_bytes(HASH_START, &options->margin, sizeof(options->margin));
    hash = hash_bytes(hash, &options->confidence, sizeof(options->confidence));
    if (epoch) {
        hash = hash_text(hash_text(hash, epoch->series), epoch->commit);
        hash = hash_bytes(hash, &epoch->level, sizeof(epoch->level));
        hash = hash_bytes(hash, &epoch->when_s, sizeof(epoch->when_s));
    }
    snprintf(out, JUDGEMENT_MAKER_TEXT, "%d.%d/%016llx", CHANGEPOINT_VERSION, HISTORY_KEPT_VERSION,
             (unsigned long long)hash);
}

bool history_kept_believed(const struct judgement *judgement)
{
    char begin[JUDGEMENT_MAKER_TEXT];
    snprintf(begin, sizeof(begin), "%d.%d/", CHANGEPOINT_VERSION, HISTORY_KEPT_VERSION);
    return strncmp(judgement->maker, begin, strlen(begin)) == 0;
}

// How many of `count` points of a series are settled.
static size_t settled_of(size_t count, const struct series_entry *series)
{
    char problem[PROBLEM_TEXT];
    if (count < HISTORY_CONTEXT + 2 * HISTORY_BLOCK)
        return 0;
    problem_format(problem, &series->problem);
    uint64_t hash = hash_text(hash_text(HASH_START, series->kernel), problem);
    size_t offset = (size_t)(hash_text(hash, series->device_uuid) >> 20) % HISTORY_BLOCK;
    return (count - offset) / HISTORY_BLOCK * HISTORY_BLOCK + offset;
}

// ---- reading ----

static int read_points(struct stored_points *out, struct store *store,
                       const struct series_entry *entry, const struct history_query *query,
                       struct arena *arena, struct error *err)
{
    const struct series series = {entry->kernel, &entry->problem, entry->device_uuid};
    return store_points(out, store, &series, query, arena, err);
}

static void begin(struct series_history *out, const struct series_entry *entry,
                  const struct history_options *options)
{
    *out = (struct series_history){.series = entry};
    if (options->epochs)
        out->epoch =
            epoch_find(options->epochs, entry->kernel, &entry->problem, entry->device_uuid);
}

// The series' own part of a judgement, into it and out of it.
static void say(struct judgement *j, const struct series_history *s)
{
    j->against_model = s->against_model;
    j->common_mode = s->common_mode;
    j->drift = s->drift;
    j->sigma = s->sigma;
    j->correlation = s->correlation;
    j->since = s->since_known ? s->since : SIZE_MAX;
    j->level = s->level;
    j->level_se = s->level_se;
    j->creep = s->creep;
    j->changes = s->changes;
    j->change_count = s->change_count;
    j->breaks = s->breaks;
    j->break_count = s->break_count;
}

static void repeat(struct series_history *s, const struct judgement *j)
{
    s->against_model = j->against_model;
    s->common_mode = j->common_mode;
    s->drift = j->drift;
    s->sigma = j->sigma;
    s->correlation = j->correlation;
    s->since_known = j->since != SIZE_MAX;
    s->since = s->since_known ? j->since : 0;
    s->level = j->level;
    s->level_se = j->level_se;
    s->creep = j->creep;
    s->changes = j->changes;
    s->change_count = j->change_count;
    s->breaks = j->breaks;
    s->break_count = j->break_count;
}

int history_kept_find(struct series_history *out, struct history_kept *kept, bool *found,
                      struct store *store, const struct series_entry *entry,
                      const struct history_options *options, struct arena *scratch,
                      struct arena *keep, struct error *err)
{
    const struct series series = {entry->kernel, &entry->problem, entry->device_uuid};
    char maker[JUDGEMENT_MAKER_TEXT];
    *kept = (struct history_kept){0};
    *found = false;
    begin(out, entry, options);
    maker_of(maker, options, out->epoch);
    if (store_load_judgement(&kept->judgement, store, &series, keep, err))
        return -1;
    bool ours = strcmp(kept->judgement.maker, maker) == 0;
    if (!ours)
        kept->judgement = (struct judgement){.marks = kept->judgement.marks};
    memcpy(kept->judgement.maker, maker, sizeof(maker));
    if (!ours || kept->judgement.changed)
        return 0;
    const struct history_query newest = {.limit = HISTORY_RECENT,
                                         .until_key = kept->judgement.newest_key};
    if (kept->judgement.points && read_points(&out->stored, store, entry, &newest, scratch, err))
        return -1;
    if (kept->judgement.points && out->stored.count == 0)
        return 0; // gone without a mark: another program's doing
    if (out->stored.count)
        history_remember(out);
    repeat(out, &kept->judgement);
    out->stored.count = kept->judgement.points;
    *found = true;
    return 0;
}

// ---- judging ----

// A stretch of the points and values, as a series of its own.
static struct series_history stretch(const struct series_history *s, size_t first, size_t end)
{
    struct series_history out = *s;
    out.stored.points += first;
    out.stored.count = end - first;
    out.values += first;
    out.changes = NULL;
    out.change_count = 0;
    out.breaks = NULL;
    out.break_count = 0;
    return out;
}

static bool is_known(const struct history_change *changes, size_t count,
                     const struct history_change *c)
{
    for (size_t i = 0; i < count; i++) {
        const struct history_change *k = &changes[i];
        if (k->change.latest >= c->change.earliest && k->change.earliest <= c->change.latest &&
            (k->change.size.value > 0) == (c->change.size.value > 0))
            return true;
    }
    return false;
}

// Settled changes before `seam`, and those of the newer points, whose first has index `base`.
static void join(struct series_history *out, const struct history_change *settled,
                 size_t settled_count, const struct series_history *newer, size_t base, size_t seam,
                 struct arena *keep)
{
    struct history_change *all =
        arena_alloc(keep, (settled_count + newer->change_count) * sizeof(*all));
    size_t count = 0, before;
    for (size_t i = 0; i < settled_count; i++) {
        if (settled[i].change.index < seam && !settled[i].newest)
            all[count++] = settled[i];
    }
    before = count;
    for (size_t i = 0; i < newer->change_count; i++) {
        struct history_change c = newer->changes[i];
        c.change.index += base;
        c.change.earliest += base;
        c.change.latest += base;
        if (c.change.index >= seam && !is_known(all, before, &c))
            all[count++] = c;
    }
    out->changes = all;
    out->change_count = count;
}

// A break lies between two points: those up to `base` are known, later ones are the newer points'.
static void join_breaks(struct series_history *out, const struct history_break *settled,
                        size_t settled_count, const struct series_history *newer, size_t base,
                        struct arena *keep)
{
    struct history_break *all =
        arena_alloc(keep, (settled_count + newer->break_count) * sizeof(*all));
    size_t count = 0;
    for (size_t i = 0; i < settled_count && settled[i].index <= base; i++)
        all[count++] = settled[i];
    for (size_t i = 0; i < newer->break_count; i++) {
        all[count] = newer->breaks[i];
        all[count++].index += base;
    }
    out->breaks = all;
    out->break_count = count;
}

// All points are there.
static void judge_whole(struct series_history *s, size_t settled,
                        const struct history_options *options, struct arena *keep)
{
    if (settled == 0) {
        history_find(s, true, keep);
    } else {
        struct series_history older = stretch(s, 0, settled);
        struct series_history newer = stretch(s, settled - HISTORY_CONTEXT, s->stored.count);
        history_find(&older, false, keep);
        history_find(&newer, true, keep);
        s->sigma = older.sigma;
        s->correlation = older.correlation;
        s->drift = older.drift;
        join(s, older.changes, older.change_count, &newer, settled - HISTORY_CONTEXT,
             settled - HISTORY_CONTEXT / 2, keep);
        join_breaks(s, older.breaks, older.break_count, &newer, settled - HISTORY_CONTEXT, keep);
    }
    history_accepted(s);
    history_recent(s, s->values, 0, s->stored.count, options);
}

static int judge_anew(struct series_history *s, struct history_kept *kept, struct store *store,
                      const struct common_mode *common, const struct history_options *options,
                      int64_t newest_key, struct arena *scratch, struct arena *keep,
                      struct error *err)
{
    struct judgement *j = &kept->judgement;
    struct history_query query = options->query;
    query.until_key = newest_key;
    if (read_points(&s->stored, store, s->series, &query, scratch, err))
        return -1;
    s->against_model = history_predicted(&s->stored);
    history_values(s, common, scratch);
    j->points = s->stored.count;
    j->settled = settled_of(s->stored.count, s->series);
    j->settled_s = j->settled_key = j->context_s = 0;
    j->settled_marks = j->marks;
    if (s->stored.count == 0)
        return 0;
    history_remember(s);
    judge_whole(s, j->settled, options, keep);
    if (j->settled == 0 || !options->keeps)
        return 0;
    j->settled_s = s->stored.points[j->settled - 1].time_s;
    j->settled_key = s->stored.points[j->settled - 1].measurement;
    j->context_s = s->stored.points[j->settled - HISTORY_CONTEXT].time_s;
    return history_kept_settle(kept, store, &s->stored, keep, err);
}

// The points after the settled ones and the context before them; false: what was settled no longer
// stands as it was, or has to grow.
static bool newer_points(struct stored_points *out, const struct judgement *j,
                         const struct series_entry *entry)
{
    size_t before = 0;
    while (before < out->count && out->points[before].measurement != j->settled_key) {
        if (out->points[before++].measurement > j->newest_key)
            return false;
    }
    before++; // the last settled point too
    if (before > out->count || before < HISTORY_CONTEXT)
        return false;
    out->points += before - HISTORY_CONTEXT;
    out->count -= before - HISTORY_CONTEXT;
    return settled_of(j->settled + out->count - HISTORY_CONTEXT, entry) == j->settled;
}

// The epoch's commit was measured only now, or is still to come: where the accepted state begins is
// looked for among all points.
static bool begins_anew(const struct series_history *s, const struct judgement *j)
{
    if (!s->epoch)
        return false;
    for (size_t i = 0; i < s->stored.count; i++) {
        if (s->stored.points[i].measurement > j->newest_key &&
            strcmp(s->stored.points[i].commit, s->epoch->commit) == 0)
            return true;
    }
    return j->since == SIZE_MAX;
}

// The accepted state begins where it did; its level is measured again while it may still change.
static void accept_newer(struct series_history *s, const struct judgement *j, size_t base)
{
    s->since_known = true;
    s->since = j->since;
    s->level = j->level;
    s->level_se = j->level_se;
    if (s->since < base)
        return;
    struct series_history tail = stretch(s, 0, s->stored.count);
    tail.changes = xcalloc(s->change_count + 1, sizeof(*tail.changes));
    for (size_t i = 0; i < s->change_count; i++) {
        if (s->changes[i].change.index < base)
            continue;
        tail.changes[tail.change_count] = s->changes[i];
        tail.changes[tail.change_count++].change.index -= base;
    }
    history_accepted(&tail);
    free(tail.changes);
    s->since = tail.since + base;
    s->level = tail.level;
    s->level_se = tail.level_se;
}

// What was found before among the points from `base` on, and is still where it was.
static size_t found_before(struct change *out, const struct series_history *s,
                           const struct judgement *j, size_t base)
{
    size_t count = 0;
    for (size_t i = 0; i < j->change_count; i++) {
        struct change c = j->changes[i].change;
        if (j->changes[i].newest || c.earliest <= base || c.latest >= base + s->stored.count)
            continue;
        c.index -= base;
        c.earliest -= base;
        c.latest -= base;
        if (strcmp(s->stored.points[c.index].commit, j->changes[i].at.id) == 0)
            out[count++] = c;
    }
    return count;
}

static int judge_newer(struct series_history *s, struct history_kept *kept, bool *done,
                       struct store *store, const struct common_mode *common,
                       const struct history_options *options, int64_t newest_key,
                       struct arena *scratch, struct arena *keep, struct error *err)
{
    struct judgement *j = &kept->judgement;
    const struct history_query query = {.until_key = newest_key, .from_s = j->context_s};
    *done = false;
    if (j->settled == 0 || (j->changed && j->changed_s <= j->settled_s))
        return 0;
    if (read_points(&s->stored, store, s->series, &query, scratch, err))
        return -1;
    if (!newer_points(&s->stored, j, s->series) || begins_anew(s, j) ||
        (j->against_model && !history_predicted(&s->stored)))
        return 0;
    size_t base = j->settled - HISTORY_CONTEXT;
    s->against_model = j->against_model;
    s->drift = j->drift;
    s->sigma = j->sigma;
    s->correlation = j->correlation;
    history_remember(s);
    history_values(s, common, scratch);
    struct series_history newer = stretch(s, 0, s->stored.count);
    struct change *before = xcalloc(j->change_count + 1, sizeof(*before));
    history_find_again(&newer, before, found_before(before, s, j, base), keep);
    free(before);
    join(s, j->changes, j->change_count, &newer, base, j->settled - HISTORY_CONTEXT / 2, keep);
    join_breaks(s, j->breaks, j->break_count, &newer, base, keep);
    accept_newer(s, j, base);
    history_recent(s, s->values, base, s->stored.count, options);
    s->stored.count += base;
    j->points = s->stored.count;
    *done = true;
    return 0;
}

int history_kept_judge(struct series_history *out, struct history_kept *kept, struct store *store,
                       const struct series_entry *entry, const struct common_mode *common,
                       const struct history_options *options, int64_t newest_key,
                       struct arena *scratch, struct arena *keep, struct error *err)
{
    bool done;
    begin(out, entry, options);
    if (judge_newer(out, kept, &done, store, common, options, newest_key, scratch, keep, err))
        return -1;
    if (!done) {
        begin(out, entry, options);
        if (judge_anew(out, kept, store, common, options, newest_key, scratch, keep, err))
            return -1;
    }
    kept->judgement.newest_key = newest_key;
    say(&kept->judgement, out);
    kept->fresh = true;
    return 0;
}
