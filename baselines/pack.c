// SPDX-License-Identifier: Apache-2.0
//
// Samples are packed by columns, because neighbouring values differ little: times of one kernel by
// a few hundred nanoseconds, pair numbers by one, temperatures not at all.
#include "baselines/pack.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PACK_VERSION = 1, PACK_DECIMALS = 6, VARINT_BYTES = 10 };
enum encoding { ENCODE_CONSTANT, ENCODE_DIFFERENCES, ENCODE_RAW };

static const double powers[PACK_DECIMALS + 1] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6};

struct pack_writer {
    unsigned char *bytes;
    size_t used;
};

static void put_byte(struct pack_writer *w, unsigned value)
{
    w->bytes[w->used++] = (unsigned char)value;
}

static void put_unsigned(struct pack_writer *w, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        put_byte(w, (unsigned)(value & 0x7f) | 0x80);
    put_byte(w, (unsigned)value);
}

static void put_signed(struct pack_writer *w, int64_t value)
{
    put_unsigned(w, ((uint64_t)value << 1) ^ (value < 0 ? UINT64_MAX : 0));
}

static bool all_equal(const int64_t *values, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (values[i] != values[0])
            return false;
    }
    return true;
}

static void put_values(struct pack_writer *w, const int64_t *values, size_t count)
{
    int64_t before = 0;
    size_t written = count && all_equal(values, count) ? 1 : count;
    for (size_t i = 0; i < written; i++) {
        put_signed(w, values[i] - before);
        before = values[i];
    }
}

static unsigned encoding_of(const int64_t *values, size_t count)
{
    return count && all_equal(values, count) ? ENCODE_CONSTANT : ENCODE_DIFFERENCES;
}

// Computes value * 10^decimals, if that is a whole number from which division gives back exactly
// the value.
static bool as_decimal(int64_t *out, double value, int decimals)
{
    double scaled = nearbyint(value * powers[decimals]);
    if (!(fabs(scaled) < 0x1p53) || scaled / powers[decimals] != value ||
        (value == 0 && signbit(value)))
        return false;
    *out = (int64_t)scaled;
    return true;
}

static bool all_decimal(int64_t *out, const double *values, size_t count, int decimals)
{
    for (size_t i = 0; i < count; i++) {
        if (!as_decimal(&out[i], values[i], decimals))
            return false;
    }
    return true;
}

static void put_raw(struct pack_writer *w, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    for (int shift = 0; shift < 64; shift += 8)
        put_byte(w, (unsigned)(bits >> shift) & 0xff);
}

static void put_reals(struct pack_writer *w, const double *values, int64_t *scratch, size_t count)
{
    for (int decimals = 0; decimals <= PACK_DECIMALS; decimals++) {
        if (all_decimal(scratch, values, count, decimals)) {
            put_byte(w, encoding_of(scratch, count));
            put_byte(w, (unsigned)decimals);
            put_values(w, scratch, count);
            return;
        }
    }
    put_byte(w, ENCODE_RAW);
    put_byte(w, 0);
    for (size_t i = 0; i < count; i++)
        put_raw(w, values[i]);
}

void pack_samples(unsigned char **out, size_t *size, const struct sample *samples, size_t count)
{
    assert(count <= PACK_SAMPLES);
    enum { COLUMNS = 12 };
    struct pack_writer w = {.bytes = xcalloc(COLUMNS * (count * VARINT_BYTES + 2) + 16, 1)};
    int64_t *integers = xcalloc(count, sizeof(*integers));
    double *reals = xcalloc(count, sizeof(*reals));
    put_byte(&w, PACK_VERSION);
    put_unsigned(&w, count);
    for (size_t i = 0; i < count; i++)
        reals[i] = samples[i].time_ns;
    put_reals(&w, reals, integers, count);
    for (size_t i = 0; i < count; i++)
        reals[i] = samples[i].clock_hz;
    put_reals(&w, reals, integers, count);
#define X(field, low, high)                                                                        \
    for (size_t i = 0; i < count; i++)                                                             \
        integers[i] = samples[i].field;                                                            \
    put_byte(&w, encoding_of(integers, count));                                                    \
    put_values(&w, integers, count);
    SAMPLE_INTEGERS(X)
#undef X
    free(integers);
    free(reals);
    *out = w.bytes;
    *size = w.used;
}

struct pack_reader {
    const unsigned char *bytes;
    size_t left;
};

static bool get_byte(struct pack_reader *r, unsigned *out)
{
    if (r->left == 0)
        return false;
    *out = *r->bytes++;
    r->left--;
    return true;
}

static bool get_unsigned(struct pack_reader *r, uint64_t *out)
{
    uint64_t value = 0;
    unsigned byte = 0x80;
    for (int shift = 0; byte & 0x80; shift += 7) {
        if (shift > 63 || !get_byte(r, &byte) || (shift == 63 && byte > 1))
            return false;
        value |= (uint64_t)(byte & 0x7f) << shift;
    }
    *out = value;
    return true;
}

static bool get_signed(struct pack_reader *r, int64_t *out)
{
    uint64_t value;
    if (!get_unsigned(r, &value))
        return false;
    *out = (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
    return true;
}

static bool get_values(struct pack_reader *r, int64_t *values, size_t count, unsigned encoding,
                       int64_t low, int64_t high)
{
    int64_t value = 0, step = 0;
    for (size_t i = 0; i < count; i++) {
        if ((i == 0 || encoding == ENCODE_DIFFERENCES) &&
            (!get_signed(r, &step) || __builtin_add_overflow(value, step, &value)))
            return false;
        if (value < low || value > high)
            return false;
        values[i] = value;
    }
    return true;
}

static bool get_integers(struct pack_reader *r, int64_t *values, size_t count, int64_t low,
                         int64_t high)
{
    unsigned encoding;
    return get_byte(r, &encoding) && encoding <= ENCODE_DIFFERENCES &&
           get_values(r, values, count, encoding, low, high);
}

static bool get_raw(struct pack_reader *r, double *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t bits = 0;
        unsigned byte = 0;
        for (int shift = 0; shift < 64; shift += 8) {
            if (!get_byte(r, &byte))
                return false;
            bits |= (uint64_t)byte << shift;
        }
        memcpy(&values[i], &bits, sizeof(bits));
    }
    return true;
}

static bool get_reals(struct pack_reader *r, double *values, int64_t *scratch, size_t count)
{
    unsigned encoding, decimals;
    if (!get_byte(r, &encoding) || !get_byte(r, &decimals) || encoding > ENCODE_RAW ||
        decimals > PACK_DECIMALS)
        return false;
    if (encoding == ENCODE_RAW)
        return get_raw(r, values, count);
    const int64_t limit = (int64_t)1 << 53;
    if (!get_values(r, scratch, count, encoding, -limit, limit))
        return false;
    for (size_t i = 0; i < count; i++)
        values[i] = (double)scratch[i] / powers[decimals];
    return true;
}

static bool get_columns(struct pack_reader *r, struct sample *samples, int64_t *integers,
                        double *reals, size_t count)
{
    if (!get_reals(r, reals, integers, count))
        return false;
    for (size_t i = 0; i < count; i++)
        samples[i].time_ns = reals[i];
    if (!get_reals(r, reals, integers, count))
        return false;
    for (size_t i = 0; i < count; i++)
        samples[i].clock_hz = reals[i];
#define X(field, low, high)                                                                        \
    if (!get_integers(r, integers, count, low, high))                                              \
        return false;                                                                              \
    for (size_t i = 0; i < count; i++)                                                             \
        samples[i].field = (__typeof__(samples->field))integers[i];
    SAMPLE_INTEGERS(X)
#undef X
    return r->left == 0;
}

int unpack_samples(struct sample **out, size_t *count, const void *bytes, size_t size,
                   struct arena *arena, struct error *err)
{
    struct pack_reader r = {bytes, size};
    unsigned version;
    uint64_t samples;
    if (!get_byte(&r, &version) || version != PACK_VERSION)
        return error_set(err, "packed samples: not of version %d", PACK_VERSION);
    if (!get_unsigned(&r, &samples) || samples > PACK_SAMPLES)
        return error_set(err, "packed samples: damaged count");
    struct sample *unpacked = arena_alloc(arena, samples * sizeof(*unpacked));
    int64_t *integers = xcalloc(samples, sizeof(*integers));
    double *reals = xcalloc(samples, sizeof(*reals));
    bool whole = get_columns(&r, unpacked, integers, reals, samples);
    free(integers);
    free(reals);
    if (!whole)
        return error_set(err, "packed samples: damaged columns");
    *out = unpacked;
    *count = samples;
    return 0;
}
