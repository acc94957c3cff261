// SPDX-License-Identifier: Apache-2.0
//
// The host device's noise and digests.
#include "kernels/device/host.h"
#include "kernels/device/noise.h"

#include <math.h>

static void write_noise(const struct noise *noise, uint32_t place)
{
    const uint64_t signs = noise_signs(noise->type), key = inputs_mix(noise->key + place);
    for (uint64_t segment = 0; segment < noise_segments(noise->bytes, noise->one_in, noise->line);
         segment++) {
        const uint64_t line = noise_line(key, segment, noise->one_in);
        for (uint64_t at = line * noise->line; at < (line + 1) * noise->line; at++) {
            const struct noise_vector v = noise_at(noise->pool, signs, key, noise->coarse, at);
            if (at * NOISE_VECTOR >= noise->bytes)
                continue;
            const size_t left = noise->bytes - at * NOISE_VECTOR;
            memcpy((char *)noise->to[place] + at * NOISE_VECTOR, &v,
                   left < sizeof(v) ? left : sizeof(v));
        }
    }
}

int host_noise(struct device_base *device, const struct noise *noise, uint32_t count,
               struct error *err)
{
    (void)device;
    (void)err;
    for (uint32_t job = 0; job < count; job++) {
        for (uint32_t i = 0; i < noise[job].count; i++)
            write_noise(&noise[job], i);
    }
    return 0;
}

static double sum_of(const struct look *d, const void *from, uint64_t key, uint64_t first)
{
    const uint64_t end = first + DIGEST_CHUNK < d->elements ? first + DIGEST_CHUNK : d->elements;
    double sum = 0;
    for (uint64_t at = first; at < end; at++) {
        const double value = inputs_load(d->type, from, at);
        sum += digest_signs(key, at) >> at % 64 & 1 ? -value : value;
    }
    return sum;
}

static uint64_t changed_spots(const struct noise *noise, uint64_t spots)
{
    const uint64_t signs = noise_signs(noise->type), whole = noise->bytes / NOISE_VECTOR;
    uint64_t changed = 0;
    for (uint32_t i = 0; i < noise->count; i++) {
        const uint64_t key = inputs_mix(noise->key + i);
        for (uint64_t s = 0; s < noise_segments(noise->bytes, noise->one_in, noise->line); s++) {
            const uint64_t at = noise_spot(spots, noise_line(key, s, noise->one_in), noise->line);
            const struct noise_vector v = noise_at(noise->pool, signs, key, noise->coarse, at);
            changed += at < whole &&
                       memcmp((char *)noise->to[i] + at * NOISE_VECTOR, &v, NOISE_VECTOR) != 0;
        }
    }
    return changed;
}

static uint64_t changed_inputs(const struct look *look)
{
    uint64_t changed = 0;
    for (int i = 0; i < 2; i++) {
        if (look->inputs)
            changed += changed_spots(&look->inputs[i], look->key);
        if (look->scales[i])
            changed += memcmp(look->scales[i], &look->scale, sizeof(look->scale)) != 0;
    }
    return changed;
}

void host_look(struct findings *out, const struct look *look)
{
    double *store = look->store;
    if (look->first)
        *out = (struct findings){0};
    out->changed += changed_inputs(look);
    const uint64_t chunks = digest_count(look->elements);
    for (uint32_t i = 0; store && i < look->count; i++) {
        const uint64_t key = inputs_mix(look->key + i);
        for (uint64_t s = 0; s * look->one_in < chunks; s++, store++) {
            const uint64_t chunk = digest_chunk(key, s, look->one_in);
            const double sum = sum_of(look, look->from[i], key, chunk * DIGEST_CHUNK);
            const double off = fabs(sum - *store);
            if (look->first)
                *store = sum;
            else if (!(off <= out->worst))
                out->worst = isnan(off) ? INFINITY : off;
        }
    }
}
