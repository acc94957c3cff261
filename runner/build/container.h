// SPDX-License-Identifier: Apache-2.0
//
// The files of a container image, as a folder that a sandbox shows in place of this machine's
// system. Whatever container runner is here (podman, docker, nerdctl, buildah) is asked once for
// them; nothing ever runs in a container of its: builds have the same sandbox, limits and keeper as
// all others. Nothing is fetched: the image must be on this machine.
#ifndef PLUMB_CONTAINER_H
#define PLUMB_CONTAINER_H

#include "model/base.h"

// Whether it can be an image's name: letters, digits and ._-/:@ that begin with no -.
bool container_name_sound(const char *image);

struct container {
    const char *id;   // of the image's content, hexadecimal
    const char *root; // absolute folder with its files, in the cache
};
// Finds the image, and unpacks it into the cache (an absolute folder) unless that was done before.
// Strings live in the arena. -1: there is no runner, none has the image, or it cannot be unpacked.
int container_open(struct container *out, const char *image, const char *cache, struct arena *arena,
                   struct error *err);

#endif
