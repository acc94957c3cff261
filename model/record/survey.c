// SPDX-License-Identifier: Apache-2.0
//
// Reads what kernels/capture/survey.c writes:
//
//     survey version=1 process=N note=TEXT taken=FILE refused=TEXT ranges=TEXT pushes=N
//     kernel name= launches= first= grid=X,Y,Z block= cluster= shared= static= registers= local=
//            touched= time_ns= refused=            any number
//     end
#include "model/record/record.h"

#include "model/wire.h"

#include <stdio.h>
#include <string.h>

static int take_three(uint32_t out[3], const struct wire_record *line, const char *key,
                      struct error *err)
{
    const char *text = wire_text(line, key);
    char left;
    if (!text || strspn(text, "0123456789,") != strlen(text) || strlen(text) > 40 ||
        sscanf(text, "%10u,%10u,%10u%c", &out[0], &out[1], &out[2], &left) != 3)
        return error_set(err, "a survey's %s is not three numbers", key);
    return 0;
}

static int take_u32(uint32_t *out, const struct wire_record *line, const char *key,
                    struct error *err)
{
    int64_t value;
    if (wire_int(&value, line, key, 0, UINT32_MAX, err))
        return -1;
    *out = (uint32_t)value;
    return 0;
}

static int take_text(const char **out, const struct wire_record *line, const char *key,
                     struct arena *arena, struct error *err)
{
    const char *text = wire_text(line, key);
    if (!text)
        return error_set(err, "a survey's line without %s", key);
    *out = arena_strdup(arena, text);
    return 0;
}

static int take_kernel(struct survey_kernel *out, const struct wire_record *line,
                       struct arena *arena, struct error *err)
{
    int64_t launches, first, touched;
    if (take_text(&out->name, line, "name", arena, err) ||
        wire_int(&launches, line, "launches", 1, INT64_MAX, err) ||
        wire_int(&first, line, "first", 1, INT64_MAX, err) ||
        take_three(out->grid, line, "grid", err) || take_three(out->block, line, "block", err) ||
        take_three(out->cluster, line, "cluster", err) ||
        take_u32(&out->shared_bytes, line, "shared", err) ||
        take_u32(&out->static_bytes, line, "static", err) ||
        take_u32(&out->registers, line, "registers", err) ||
        take_u32(&out->local_bytes, line, "local", err) ||
        wire_int(&touched, line, "touched", 0, INT64_MAX, err) ||
        wire_double(&out->time_ns, line, "time_ns", 0, 1e15, err) ||
        take_text(&out->refused, line, "refused", arena, err))
        return -1;
    out->launches = (uint64_t)launches;
    out->first = (uint64_t)first;
    out->touched_bytes = (uint64_t)touched;
    return 0;
}

static int take_head(struct survey *out, const struct wire_record *line, struct arena *arena,
                     struct error *err)
{
    int64_t version, pushes = 0;
    const char *ranges = wire_text(line, "ranges"); // captures that are older have none
    if (strcmp(line->name, "survey") != 0)
        return error_set(err, "not a survey: it does not begin with one's first line");
    if (wire_int(&version, line, "version", 0, INT32_MAX, err))
        return -1;
    if (version != 1)
        return error_set(err, "a survey of version %lld, this plumb reads 1", (long long)version);
    if (ranges && wire_int(&pushes, line, "pushes", 0, INT64_MAX, err))
        return -1;
    out->ranges = arena_strdup(arena, ranges ? ranges : "");
    out->pushes = (uint64_t)pushes;
    return wire_int(&out->process, line, "process", 0, INT64_MAX, err) ||
                   take_text(&out->note, line, "note", arena, err) ||
                   take_text(&out->taken, line, "taken", arena, err) ||
                   take_text(&out->refused, line, "refused", arena, err)
               ? -1
               : 0;
}

static struct survey_kernel *new_kernel(struct survey *s, size_t *room, struct arena *arena)
{
    if (s->count == *room) {
        const size_t more = *room ? 2 * *room : 64;
        struct survey_kernel *grown = arena_alloc(arena, more * sizeof(*grown));
        if (s->count)
            memcpy(grown, s->kernels, s->count * sizeof(*grown));
        s->kernels = grown;
        *room = more;
    }
    return &s->kernels[s->count++];
}

int survey_parse(struct survey *out, char *bytes, size_t size, struct arena *arena,
                 struct error *err)
{
    struct survey survey = {0};
    size_t room = 0;
    for (size_t number = 0, at = 0;; number++) {
        struct wire_record line;
        char *text = bytes + at, *end = memchr(text, '\n', size - at);
        if (!end || memchr(text, '\0', (size_t)(end - text)))
            return error_set(err, "a survey without an end");
        *end = '\0';
        at = (size_t)(end + 1 - bytes);
        if (wire_parse(&line, text, err))
            return -1;
        if (number && strcmp(line.name, "end") == 0)
            break;
        if (number == SURVEY_KERNELS_MAX)
            return error_set(err, "a survey of more than %d kernels", SURVEY_KERNELS_MAX);
        if (number && strcmp(line.name, "kernel") != 0)
            return error_set(err, "a line '%.40s' that no survey has", line.name);
        if (number ? take_kernel(new_kernel(&survey, &room, arena), &line, arena, err)
                   : take_head(&survey, &line, arena, err))
            return -1;
    }
    *out = survey;
    return 0;
}
