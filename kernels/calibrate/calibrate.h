// SPDX-License-Identifier: Apache-2.0
//
// One reading of a micro-benchmark: it is repeated, and has a median and a coefficient of
// variation. All devices use this.
#ifndef PLUMB_CALIBRATE_H
#define PLUMB_CALIBRATE_H

#ifdef __cplusplus
extern "C" {
#endif

#include "kernels/device/device.h"

enum { CALIBRATE_REPEATS = 5, CALIBRATE_REPEATS_MAX = 16, CALIBRATE_WINDOWS = 16 };

// If readings differ by more, they are no single figure; it is sent with stable = false.
#define CALIBRATE_CV_LIMIT 0.05

// Sends the median of `count` >= 3 values, or nothing if the key was not asked for. A value that is
// not finite and positive is sent as 0, unstable.
void calibrate_send(calibration_sink *sink, void *state, const char *key, const double *values,
                    int count, const char *note);
// Sends a clock under load that was read in CALIBRATE_WINDOWS windows of a tenth of a second. The
// first ones are left out, because a power limit takes some to act; after that it swings, so the
// lowest and the highest are left out, too. It is refused if the load had too small a share of the
// tensor cores' rate to speak for a GEMM.
void calibrate_send_loaded(calibration_sink *sink, void *state, const char *key,
                           const double *windows, double share);
// Whether `key` is wanted: `only` is NULL, or the same text, or a prefix of it followed by '*'.
bool calibrate_wanted(const char *only, const char *key);
// The same for figures of `plumb calibrate --study`, whose keys begin with "study_". These are only
// wanted if they are asked for.
bool calibrate_studied(const char *only, const char *key);

#ifdef __cplusplus
}
#endif

#endif
