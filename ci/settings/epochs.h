// SPDX-License-Identifier: Apache-2.0
//
// The repository's file of accepted changes of baseline (baselines/epoch.h says what is in it), and
// from which commit of a line of first parents each counts. An epoch names the commit that its
// author accepted. A pull request that is squashed, or merged with a commit of its own, leaves that
// one off the line; there, the commit that brought the epoch stands for it.
#ifndef PLUMB_EPOCHS_H
#define PLUMB_EPOCHS_H

#include "baselines/epoch.h"
#include "ci/settings/context.h"
#include "runner/git/repository.h"

// A file that is not there has no epochs. `text` gets its bytes ("" if none); NULL: not wanted.
int epochs_read(struct epoch_list *out, char **text, const char *path, struct arena *arena,
                struct error *err);
// Adds blocks of text behind the file's own (`before`, as epochs_read() gave it); makes a file that
// is not there, and its folder.
int epochs_add(const char *path, const char *before, const char *added, struct error *err);
// PATH, or the repository's file; in the context's arena.
const char *epochs_path(struct context *context, const char *path);
// The name of the person who decides: `given`, or the user of git's configuration. In the context's
// arena.
int epochs_who(const char **out, const char *given, struct context *context, struct error *err);

// Gives an epoch whose commit is not on the line of `head` (a revision) the commit that brought its
// block into EPOCHS_PATH there. An epoch stays as it is where the repository cannot tell: it has no
// such revision, is a shallow clone, or the epoch is not committed yet.
int epochs_on_line(struct epoch_list *list, const struct repository *repository, const char *head,
                   struct arena *arena, struct error *err);

#endif
