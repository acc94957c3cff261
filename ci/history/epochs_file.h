// SPDX-License-Identifier: Apache-2.0
//
// The repository's file of accepted changes of baseline (baselines/epoch.h says what is in it).
#ifndef PLUMB_EPOCHS_FILE_H
#define PLUMB_EPOCHS_FILE_H

#include "baselines/epoch.h"
#include "ci/settings/context.h"

// A file that is not there has no epochs. `text` gets its bytes ("" if none); NULL: not wanted.
int epochs_read(struct epoch_list *out, char **text, const char *path, struct arena *arena,
                struct error *err);

// Adds blocks of text behind what the file has (`before`, as epochs_read() gave it); a file that is
// not there, and its folder, are made.
int epochs_add(const char *path, const char *before, const char *added, struct error *err);
// PATH, or the repository's file; in the context's arena.
const char *epochs_path(struct context *context, const char *path);
// Who decides: `given`, or whom git's configuration names; in the context's arena.
int epochs_who(const char **out, const char *given, struct context *context, struct error *err);

#endif
