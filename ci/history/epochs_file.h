// SPDX-License-Identifier: Apache-2.0
//
// The repository's file of accepted changes of baseline (baselines/epoch.h says what is in it).
#ifndef PLUMB_EPOCHS_FILE_H
#define PLUMB_EPOCHS_FILE_H

#include "baselines/epoch.h"

// A file that is not there has no epochs. `text` gets its bytes ("" if none); NULL: not wanted.
int epochs_read(struct epoch_list *out, char **text, const char *path, struct arena *arena,
                struct error *err);

#endif
