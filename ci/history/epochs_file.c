// SPDX-License-Identifier: Apache-2.0
//
// Reads the epochs file of a checkout and adds to it; what is in it is parsed by baselines/epoch.c.
#include "ci/history/epochs_file.h"
#include "ci/settings/text_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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
        mkdir(folder, 0777); // if it fails, the file says so
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
