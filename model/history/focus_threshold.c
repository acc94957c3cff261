// SPDX-License-Identifier: Apache-2.0
//
// What a statistic of FOCuS must exceed. Blocks of the series' own past, long enough to carry its
// correlation, are drawn at random into streams that cannot have a change; the maxima of their
// statistics follow a Gumbel law, whose fit gives the level that is crossed once in 1 /
// false_alarms values.
#include "model/history/focus_threshold.h"

#include "model/history/cusum.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>

enum {
    STREAMS = 96,
    STREAM_VALUES = 500,
    SKIP = 20,
    MIN_BLOCK = 5,
};
static const double efficiency = 0.4; // degrees of freedom per value of the scale

// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

// Largest statistic in a stream of blocks drawn from the residuals.
static double stream_maximum(struct cusum *cusum, const double *z, size_t n, size_t block,
                             uint64_t *state)
{
    double largest = 0;
    size_t at = 0, left = 0;
    assert(n > 0);
    cusum_clear(cusum);
    for (int t = 0; t < STREAM_VALUES; t++) {
        if (left == 0) {
            at = next_random(state) % n;
            left = block;
        }
        struct peak peak = cusum_push(cusum, z[at]);
        if (t >= SKIP)
            largest = fmax(largest, peak.statistic);
        at = at + 1 < n ? at + 1 : 0;
        left--;
    }
    return largest;
}

double focus_threshold_least(const struct focus_options *options)
{
    return 1.5 * options->bound * options->bound;
}

double focus_threshold(const double *z, size_t n, double inflation, double share,
                       const struct focus_options *options)
{
    uint64_t state = options->seed;
    struct cusum cusum = {0};
    size_t block = (size_t)fmin((double)n / 4, fmax(MIN_BLOCK, 3 * inflation));
    double sum = 0, squares = 0;
    for (int i = 0; i < STREAMS; i++) {
        double largest = stream_maximum(&cusum, z, n, block, &state);
        sum += largest;
        squares += largest * largest;
    }
    cusum_free(&cusum);
    double mean = sum / STREAMS, variance = squares / STREAMS - mean * mean;
    double scale = sqrt(6 * fmax(variance, 0)) / M_PI, location = mean - 0.5772156649 * scale;
    double rate = options->false_alarms * share * STREAM_VALUES;
    double freedom = efficiency * (double)n / sqrt(inflation);
    double threshold = freedom * expm1(fmin((location - scale * log(rate)) / freedom, 50));
    return fmax(threshold, focus_threshold_least(options));
}
