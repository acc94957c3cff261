// SPDX-License-Identifier: Apache-2.0
//
// One reading of a micro-benchmark: repeated, its median and coefficient of variation. Shared by
// the devices.
#ifndef PLUMB_CALIBRATE_H
#define PLUMB_CALIBRATE_H

#ifdef __cplusplus
extern "C" {
#endif

#include "kernels/device/device.h"

enum { CALIBRATE_REPEATS = 5, CALIBRATE_REPEATS_MAX = 16 };

// Two readings that differ by more are not one figure; it is sent with stable = false.
#define CALIBRATE_CV_LIMIT 0.05

// Sends the median of `count` >= 3 values, or nothing when the key is not the one asked for. A
// value that is not finite and positive is sent as 0, unstable.
void calibrate_send(calibration_sink *sink, void *state, const char *key, const double *values,
                    int count, const char *note);
// Whether `key` is wanted: only == NULL, or the same text, or a prefix of it that ends in '*'.
bool calibrate_wanted(const char *only, const char *key);
// The same of a figure of `plumb calibrate --study`, whose keys begin with "study_": never unasked.
bool calibrate_studied(const char *only, const char *key);

#ifdef __cplusplus
}
#endif

#endif
