// SPDX-License-Identifier: Apache-2.0
//
// Opens a store for commands that need nothing else, where every other command finds it.
#ifndef PLUMB_STORE_OPTION_H
#define PLUMB_STORE_OPTION_H

#include "ci/settings/context.h"

// Opens the store that --store names, or the repository's. The caller closes the context, also
// after a failure. A repository is only needed when --store is not given, and
// opened when --repo is.
int store_option_open(struct context *context, const struct options *options, enum store_mode mode,
                      struct error *err);
// For what reads the whole past: a store that is there, opened for writing when what is concluded
// is `wanted` kept in it and it can be written (*keeps), else for reading.
int store_option_open_kept(struct context *context, const struct options *options, bool wanted,
                           bool *keeps, struct error *err);

#endif
