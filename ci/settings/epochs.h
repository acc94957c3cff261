// SPDX-License-Identifier: Apache-2.0
//
// The repository's file of accepted changes of baseline (baselines/epoch.h describes it), and the
// commit of a line of first parents from which each epoch counts. An epoch names the commit that
// its author accepted. If a pull request is squashed, or merged by a commit of its own, that commit
// is not on the line; the commit that brought the epoch then takes its place.
#ifndef PLUMB_EPOCHS_H
#define PLUMB_EPOCHS_H

#include "baselines/epoch.h"
#include "ci/settings/context.h"
#include "runner/git/repository.h"

// Reads an epochs file. A missing file has no epochs. `text` receives its bytes ("" if there is
// none); NULL: they are not wanted.
int epochs_read(struct epoch_list *out, char **text, const char *path, struct arena *arena,
                struct error *err);
// Appends blocks of text to the file (`before` is its present text, as epochs_read() returned it).
// Makes a missing file and its folder.
int epochs_add(const char *path, const char *before, const char *added, struct error *err);
// `path`, or if that is NULL the path of the repository's file; in the context's arena.
const char *epochs_path(struct context *context, const char *path);
// The name of the person who decides: `given`, or the user of git's configuration; in the context's
// arena.
int epochs_who(const char **out, const char *given, struct context *context, struct error *err);

// Places epochs on the line of `head` (a revision). An epoch whose commit is not on that line gets
// the commit that brought its block into EPOCHS_PATH there. An epoch stays as it is if the
// repository cannot tell: it has no such revision, it is a shallow clone, or the epoch is not
// committed yet.
int epochs_on_line(struct epoch_list *list, const struct repository *repository, const char *head,
                   struct arena *arena, struct error *err);

#endif
