// SPDX-License-Identifier: Apache-2.0
//
// Opens the store for commands that need no more than it, and the file or stdout that they write
// to.
#include "ci/settings/store_option.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// A store where plumb itself puts it tells which repository it is of, and so what was accepted.
static void open_around(struct context *context)
{
    struct error ignored; // then it lies elsewhere
    char *path = realpath(store_path(context->store), NULL);
    char *slash = path ? strrchr(path, '/') : NULL;
    if (slash)
        *slash = '\0';
    char *folder = slash ? strrchr(path, '/') : NULL;
    if (folder && strcmp(folder, "/" STATE) == 0)
        (void)repository_open(&context->repository, path, &ignored);
    free(path);
}

int store_option_open(struct context *context, const struct options *options, enum store_mode mode,
                      struct error *err)
{
    const bool opened = context->repository != NULL; // by the command, which needs it
    if (!opened && (!options->store || options->repository) && context_open(context, options, err))
        return -1;
    context->options = options;
    if (context_store(context, mode, err))
        return -1;
    if (!context->repository)
        open_around(context);
    return 0;
}

int store_option_open_kept(struct context *context, const struct options *options, bool wanted,
                           bool *keeps, struct error *err)
{
    struct store *store;
    struct error refused;
    *keeps = false;
    if (store_option_open(context, options, STORE_READ, err))
        return -1;
    if (!wanted || access(store_path(context->store), W_OK))
        return 0;
    if (store_open(&store, store_path(context->store), STORE_WRITE, &refused)) {
        fprintf(stderr, "plumb: %s; what is concluded is not kept\n", refused.text);
        return 0;
    }
    *keeps = true;
    store_close(context->store);
    context->store = store;
    return 0;
}
