// SPDX-License-Identifier: Apache-2.0
//
// Finds where accepted epochs begin. The line of commits is followed back once. An epoch is settled
// when its commit is reached, or when the walk has passed both that commit's time and the commit
// that brought the epoch.
#include "ci/settings/epochs.h"

#include "baselines/epoch.h"
#include "ci/settings/context.h"
#include "ci/settings/text_file.h"
#include "runner/git/repository.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// ---- the file ----

int epochs_read(struct epoch_list *out, char **text, const char *path, struct arena *arena,
                struct error *err)
{
    enum { LIMIT = 16 << 20 };
    struct stat info;
    struct epoch_list list = {0};
    char *bytes = arena_strdup(arena, "");
    if (stat(path, &info) == 0) {
        if (!S_ISREG(info.st_mode) || info.st_size > LIMIT)
            return error_set(err, "%s: not a file of epochs", path);
        FILE *file = fopen(path, "r");
        if (!file)
            return error_set(err, "%s: %s", path, strerror(errno));
        bytes = arena_alloc(arena, (size_t)info.st_size + 1);
        size_t size = fread(bytes, 1, (size_t)info.st_size, file);
        fclose(file);
        if (epoch_parse(&list, bytes, size, path, arena, err))
            return -1;
    } else if (errno != ENOENT && errno != ENOTDIR) {
        return error_set(err, "%s: %s", path, strerror(errno));
    }
    *out = list;
    if (text)
        *text = bytes;
    return 0;
}

int epochs_add(const char *path, const char *before, const char *added, struct error *err)
{
    struct output_file out;
    const char *slash = strrchr(path, '/');
    char *folder = slash ? xprintf("%.*s", (int)(slash - path), path) : NULL;
    if (folder && folder[0])
        mkdir(folder, 0777); // if this fails, opening the file reports it
    free(folder);
    if (output_file_open(&out, path, err))
        return -1;
    if (!before[0])
        fputs("# Accepted changes of baseline, and what was decided of events: plumb accept and\n"
              "# plumb events write them, review accepts them.\n",
              out.file);
    size_t length = strlen(before);
    fprintf(out.file, "%s%s%s", before, length && before[length - 1] != '\n' ? "\n" : "", added);
    return output_file_close(&out, 0, err);
}

const char *epochs_path(struct context *context, const char *path)
{
    return path ? path
                : arena_printf(&context->arena, "%s/" EPOCHS_PATH,
                               repository_directory(context->repository));
}

int epochs_who(const char **out, const char *given, struct context *context, struct error *err)
{
    char *name, *mail;
    struct error why;
    *out = given;
    if (given)
        return 0;
    if (repository_user(&name, &mail, context->repository, &context->arena, &why))
        return error_set(err, "who accepts it? %s; give --who='NAME <MAIL>', or set them",
                         why.text);
    *out = arena_printf(&context->arena, "%s <%s>", name, mail);
    return 0;
}

enum { LINE_MOST = 20000, CLOCKS_DIFFER_S = 86400 };

struct sought {
    struct epoch *epoch;
    int64_t time_s; // time of its commit; INT64_MAX: the repository does not have it
    char brought[OBJECT_ID_TEXT];
    bool settled;
};

struct epochs_line {
    const struct repository *repository;
    struct sought *items;
    size_t count, open;
    struct arena *arena;
};

static void begin(struct epochs_line *l, struct epoch_list *list)
{
    l->items = arena_alloc(l->arena, (list->count + 1) * sizeof(*l->items));
    for (size_t i = 0; i < list->count; i++) {
        struct commit named;
        struct error gone;
        struct epoch *e = &list->epochs[i];
        const bool known =
            repository_commit(&named, l->repository, e->commit, l->arena, &gone) == 0;
        l->items[l->count++] = (struct sought){e, known ? named.time_s : INT64_MAX, "", false};
    }
    l->open = l->count;
}

static int file_at(struct epoch_list *out, const struct epochs_line *l, const char *commit,
                   const char *id, struct error *err)
{
    char *text = NULL;
    size_t size;
    struct error unreadable; // a version that cannot be parsed brings no epoch
    *out = (struct epoch_list){0};
    if (!id[0])
        return 0;
    if (repository_read(&text, &size, l->repository, commit, EPOCHS_PATH, err))
        return -1;
    if (epoch_parse(out, text, size, EPOCHS_PATH, l->arena, &unreadable))
        *out = (struct epoch_list){0};
    free(text);
    return 0;
}

// Finds the epochs that the file has at this commit and does not have at its parent ("": none).
static int find_brought(struct epochs_line *l, const char *commit, const char *parent,
                        struct error *err)
{
    char now[OBJECT_ID_TEXT], before[OBJECT_ID_TEXT] = "";
    struct epoch_list with, without;
    if (repository_path_id(now, l->repository, commit, EPOCHS_PATH, err) ||
        (parent[0] && repository_path_id(before, l->repository, parent, EPOCHS_PATH, err)))
        return -1;
    if (strcmp(now, before) == 0)
        return 0;
    if (file_at(&with, l, commit, now, err) || file_at(&without, l, parent, before, err))
        return -1;
    for (size_t i = 0; i < l->count; i++) {
        struct sought *s = &l->items[i];
        if (!s->settled && !s->brought[0] && epoch_known(&with, s->epoch) &&
            !epoch_known(&without, s->epoch))
            text_copy(s->brought, sizeof(s->brought), commit);
    }
    return 0;
}

static void settle(struct epochs_line *l, const struct commit *at)
{
    for (size_t i = 0; i < l->count; i++) {
        struct sought *s = &l->items[i];
        const bool met = strncmp(at->id, s->epoch->commit, strlen(s->epoch->commit)) == 0;
        const bool passed = s->brought[0] && s->time_s - CLOCKS_DIFFER_S > at->time_s;
        if (s->settled || (!met && !passed))
            continue;
        if (met)
            s->brought[0] = '\0';
        s->settled = true;
        l->open--;
    }
}

int epochs_on_line(struct epoch_list *list, const struct repository *repository, const char *head,
                   struct arena *arena, struct error *err)
{
    struct epochs_line l = {.repository = repository, .arena = arena};
    struct commit at;
    struct error none;
    if (!list->count || repository_commit(&at, repository, head, arena, &none))
        return 0;
    begin(&l, list);
    for (size_t n = 0; n < LINE_MOST && l.open; n++) {
        struct commit parent = {0};
        const bool last = repository_parent(&parent, repository, &at, arena, &none) != 0;
        if (last && at.parent[0])
            break; // at the edge of a shallow clone it is not known what its first commit brought
        if (find_brought(&l, at.id, last ? "" : parent.id, err))
            return -1;
        settle(&l, &at);
        if (last)
            break;
        at = parent;
    }
    for (size_t i = 0; i < l.count; i++) {
        if (l.items[i].brought[0])
            text_copy(l.items[i].epoch->commit, OBJECT_ID_TEXT, l.items[i].brought);
    }
    return 0;
}
