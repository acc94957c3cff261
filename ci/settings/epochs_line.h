// SPDX-License-Identifier: Apache-2.0
//
// From which commit of a line of first parents an accepted change counts. An epoch names the commit
// that its author accepted. A pull request that is squashed, or merged with a commit of its own,
// leaves that one off the line; there, the commit that brought the epoch stands for it.
#ifndef PLUMB_EPOCHS_LINE_H
#define PLUMB_EPOCHS_LINE_H

#include "baselines/epoch.h"
#include "runner/git/repository.h"

// Changes the commit of the epochs that name none of the line of `head` (a revision), but whose
// block came into EPOCHS_PATH on it. What the repository cannot tell stays: it has no such
// revision, is a shallow clone, or the epoch is not committed yet.
int epochs_on_line(struct epoch_list *list, const struct repository *repository, const char *head,
                   struct arena *arena, struct error *err);

#endif
