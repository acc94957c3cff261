// SPDX-License-Identifier: Apache-2.0
//
// Whether a commit still needs a run: what the store knows of it is enough, or is not.
#ifndef PLUMB_KNOWN_H
#define PLUMB_KNOWN_H

#include "ci/gate/built.h"

// True when pipeline_measure() would find nothing to do for this commit and toolchain (NULL: the
// default); with `any_driver`, when it had been so
// under one of the drivers that the device has had.
int run_known(bool *known, struct context *context, const struct to_build *head, bool any_driver,
              struct error *err);

#endif
