// SPDX-License-Identifier: Apache-2.0
//
// Captures of the policy, taken while a commit is built: behind build.command, in the same sandbox
// but with the GPU, each program runs once with the library that watches it (kernels/capture). So a
// capture is kept and trusted as a build is, and a policy with captures needs no build.command.
#ifndef PLUMB_CAPTURING_H
#define PLUMB_CAPTURING_H

#include "ci/settings/context.h"
#include "runner/bench/capture.h"

// Whether there are captures, and a GPU here that they can be taken on.
bool capturing_possible(const struct context *context);
// Adds the captures to what a build runs and leaves.
void capturing_recipe(struct recipe *recipe, const struct context *context, struct arena *arena);
// A file that captures leave beside libraries, which is none.
bool capturing_is_mark(const char *path);
// The series of one capture, from the output folder of a build. 0; 1: it was not taken, `err` says
// why; -1: the tool could not do its work.
int capturing_make(struct capture_made **out, size_t *count, const struct context *context,
                   const struct policy_capture *capture, const char *folder, struct arena *arena,
                   struct error *err);

#endif
