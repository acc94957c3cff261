// SPDX-License-Identifier: Apache-2.0
//
// Repeats one micro-benchmark and sends its median and spread. What is measured is in the devices'
// own files.
#include "kernels/calibrate/calibrate.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void calibrate_send(calibration_sink *sink, void *state, const char *key, const double *values,
                    int count, const char *note)
{
    assert(count >= 3 && count <= CALIBRATE_REPEATS_MAX);
    double sorted[CALIBRATE_REPEATS_MAX], sum = 0, squares = 0;
    struct calibration reading = {.key = key, .repeats = count};
    for (int i = 0; i < count; i++) {
        sorted[i] = isfinite(values[i]) ? values[i] : 0;
        sum += sorted[i];
    }
    const double mean = sum / count;
    for (int i = 0; i < count; i++)
        squares += (sorted[i] - mean) * (sorted[i] - mean);
    qsort(sorted, (size_t)count, sizeof(*sorted), rising_doubles);
    reading.value = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
    if (sorted[0] > 0)
        reading.cv = sqrt(squares / (count - 1)) / mean;
    else
        reading.value = 0;
    reading.stable = reading.value > 0 && reading.cv <= CALIBRATE_CV_LIMIT;
    text_copy(reading.note, sizeof(reading.note), note);
    sink(state, &reading);
}

bool calibrate_wanted(const char *only, const char *key)
{
    size_t length = only ? strlen(only) : 0;
    if (length > 0 && only[length - 1] == '*')
        return strncmp(only, key, length - 1) == 0;
    return !only || strcmp(only, key) == 0;
}

bool calibrate_studied(const char *only, const char *key)
{
    return only && calibrate_wanted(only, key);
}
