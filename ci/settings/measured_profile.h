// SPDX-License-Identifier: Apache-2.0
//
// The profile of commands that predict without a device.
#ifndef PLUMB_MEASURED_PROFILE_H
#define PLUMB_MEASURED_PROFILE_H

#include "ci/settings/context.h"
#include "ci/settings/gpu_file.h"

// What --gpu names. Without it, the device that `plumb calibrate` measured last, of the store that
// --store names or else of the repository here: its figures on the shipped ones of its kind.
// Without such a device, the shipped profile of an H200. Says on standard error which of the last
// two it was, and the figures of --set lie on top of all. Free with gpu_profile_free(); the context
// is closed by the caller.
int measured_profile(struct gpu_profile *out, const struct gpu_option *option,
                     struct context *context, const struct options *options, struct error *err);

#endif
