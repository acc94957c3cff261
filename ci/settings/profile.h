// SPDX-License-Identifier: Apache-2.0
//
// A device's profile: driver's figures < shipped < calibrated. What is measured is kept in the
// store; a reading that does not repeat is refused by name and changes nothing.
#ifndef PLUMB_PROFILE_H
#define PLUMB_PROFILE_H

#include "ci/settings/context.h"

// The first two of these, for the device of this bench, on top of a zeroed `out`.
void profile_shipped(struct gpu *out, const struct bench *bench, struct arena *arena);
// Fills device->gpu; measures a host that has no profile yet.
int profile_resolve(struct context_device *device, struct context *context, struct bench *bench,
                    struct error *err);
// Runs the micro-benchmarks (`only`: one figure, NULL: all), takes what is stable, keeps it.
// `readings`, which lives in the context's arena, is all that was read; where it is NULL, refusals
// become notes.
int profile_measure(struct bench_figure_list *readings, struct context_device *device,
                    struct context *context, struct bench *bench, const char *only,
                    struct error *err);

#endif
