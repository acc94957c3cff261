// SPDX-License-Identifier: Apache-2.0
//
// A folder outside of every commit that builds see beside the commit, as $PLUMB_OVERLAY: shims and
// a build script for a history that never heard of them. Its content is part of a build's key.
//
// Who names the folder decides what is built, so it comes from whoever runs the tool, never from a
// commit. It holds regular files and folders; a link could lead anywhere and is refused with its
// path. Folders named .git are passed over, so that an overlay may have a history of its own.
#ifndef PLUMB_OVERLAY_H
#define PLUMB_OVERLAY_H

#include "model/result.h"

struct overlay {
    const char *directory;   // absolute
    char id[OBJECT_ID_TEXT]; // of names, contents and rights to execute
};

// At most 10,000 files and 256 MiB. The path lives in the arena.
int overlay_open(struct overlay *out, const char *directory, struct arena *arena,
                 struct error *err);
// Copies it to `to`, which must not exist. -1 too when it is no longer what overlay_open() saw.
int overlay_copy(const struct overlay *overlay, const char *to, struct error *err);

#endif
