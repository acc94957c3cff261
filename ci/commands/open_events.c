// SPDX-License-Identifier: Apache-2.0
//
// The same events as `plumb events` has, as reports want them: texts and figures that outlive the
// histories they were found in.
#include "ci/commands/open_events.h"
#include "ci/history/epochs_file.h"
#include "ci/history/events.h"

#include <time.h>

static struct report_event told(const struct event *e, const struct history_set *set,
                                struct arena *arena)
{
    struct report_event r = {.name = arena_strdup(arena, e->name),
                             .state = e->state,
                             .cause = e->cause,
                             .what = e->what ? arena_strdup(arena, e->what) : NULL,
                             .sentence = event_sentence(e, set, arena),
                             .log_ratio = event_largest(e)->size.value,
                             .commit = {.summary = "", .author = ""},
                             .commits = e->culprit_count};
    if (e->culprit_count) {
        r.commit.summary = arena_strdup(arena, e->commits[0].summary);
        r.commit.time_s = e->commits[0].time_s;
        text_copy(r.commit.id, sizeof(r.commit.id), e->commits[0].id);
    }
    return r;
}

static void keep_open(struct report_events *out, const struct event_list *list,
                      const struct history_set *set, struct arena *arena)
{
    struct report_event *items = arena_alloc(arena, (list->count + 1) * sizeof(*items));
    for (size_t i = 0; i < list->count; i++) {
        const struct event *e = &list->events[i];
        if (e->state == EVENT_NEW || e->state == EVENT_CONFIRMED)
            items[out->count++] = told(e, set, arena);
    }
    out->items = items;
}

int open_events_read(struct report_events *out, struct context *context, bool keeps,
                     struct error *err)
{
    const struct history_wanted wanted = {.keeps = keeps, .repository = context->repository};
    struct history_set set = {0};
    struct events events;
    struct events_asked asked = {.now_s = keeps ? (int64_t)time(NULL) : 0};
    const char *path = context->repository ? epochs_path(context, NULL) : NULL;
    int status = history_load(&set, context->store, &wanted, path, err);
    if (status == 0)
        status = events_sources(&asked.sources, context->store, context->repository,
                                &context->arena, err);
    if (status == 0)
        status = events_load(&events, &set, context->store, &asked, &context->arena, err);
    *out = (struct report_events){.known = status == 0};
    if (status == 0)
        keep_open(out, &events.list, &set, &context->arena);
    history_free(&set);
    return status;
}
