// SPDX-License-Identifier: Apache-2.0
//
// Opens the store for commands that need no more than it, and the file or stdout that they write
// to.
#include "ci/settings/store_option.h"

#include <unistd.h>

int store_option_open(struct context *context, const struct options *options, enum store_mode mode,
                      struct error *err)
{
    const bool opened = context->repository != NULL; // by the command, which needs it
    if (!opened && (!options->store || options->repository) && context_open(context, options, err))
        return -1;
    context->options = options;
    return context_store(context, mode, err);
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
