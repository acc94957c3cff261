// SPDX-License-Identifier: Apache-2.0
//
// fuzz_<what> RUNS SEED...: gives the target each seed as it is, then RUNS inputs made from them:
// bytes flipped, cut out, doubled, moved from one seed to another, numbers made large, lines taken
// twice. The same order each time, so that a failure is met again; without coverage it finds less
// than libFuzzer.
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUT_MAX = 1 << 19, SEEDS_MAX = 16 };

static uint64_t state = 0x9e3779b97f4a7c15u;

// xorshift64*: Marsaglia, Xorshift RNGs (2003), with Vigna's multiplier.
static size_t draw(size_t below)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return below ? (size_t)((state * 0x2545f4914f6cdd1du) >> 33) % below : 0;
}

struct input {
    uint8_t bytes[INPUT_MAX];
    size_t size;
};

static void read_seed(struct input *out, const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        fprintf(stderr, "%s: cannot be read\n", path);
        exit(1);
    }
    out->size = fread(out->bytes, 1, INPUT_MAX / 2, file);
    fclose(file);
}

static void insert(struct input *in, size_t at, const void *what, size_t size)
{
    if (in->size + size > INPUT_MAX)
        return;
    memmove(in->bytes + at + size, in->bytes + at, in->size - at);
    memcpy(in->bytes + at, what, size);
    in->size += size;
}

static void cut(struct input *in, size_t at, size_t size)
{
    size = size > in->size - at ? in->size - at : size;
    memmove(in->bytes + at, in->bytes + at + size, in->size - at - size);
    in->size -= size;
}

static void double_line(struct input *in, size_t at)
{
    uint8_t line[4096];
    while (at > 0 && in->bytes[at - 1] != '\n')
        at--;
    const uint8_t *end = memchr(in->bytes + at, '\n', in->size - at);
    const size_t size = end ? (size_t)(end - in->bytes) + 1 - at : in->size - at;
    if (size > sizeof(line))
        return;
    memcpy(line, in->bytes + at, size);
    insert(in, at, line, size);
}

static void mutate(struct input *in, const struct input *other)
{
    static const char *const words[] = {
        "-1",  "0",    "18446744073709551616", "1e400", "nan", "\t", "\n", "\"", "{", "]", "=",
        "%00", "\xff", "\xed\xa0\x80"};
    const size_t at = draw(in->size + 1), word = draw(sizeof(words) / sizeof(words[0]));
    switch (draw(6)) {
    case 0:
        if (at < in->size)
            in->bytes[at] ^= (uint8_t)(1u << draw(8));
        break;
    case 1:
        if (at < in->size)
            in->bytes[at] = (uint8_t)draw(256);
        break;
    case 2:
        cut(in, at, 1 + draw(16));
        break;
    case 3:
        insert(in, at, words[word], strlen(words[word]));
        break;
    case 4:
        if (other->size) {
            const size_t from = draw(other->size), left = other->size - from;
            insert(in, at, other->bytes + from, 1 + draw(left < 200 ? left : 200));
        }
        break;
    default:
        if (in->size)
            double_line(in, at < in->size ? at : in->size - 1);
    }
}

int main(int argc, char **argv)
{
    static struct input seeds[SEEDS_MAX], input;
    const long runs = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
    const int count = argc - 2 < SEEDS_MAX ? argc - 2 : SEEDS_MAX;
    if (runs < 1 || count < 1) {
        fprintf(stderr, "usage: %s RUNS SEED...\n", argv[0]);
        return 1;
    }
    for (int i = 0; i < count; i++) {
        read_seed(&seeds[i], argv[2 + i]);
        fuzz_one(seeds[i].bytes, seeds[i].size);
    }
    fuzz_one((const uint8_t *)"", 0);
    for (long run = 0; run < runs; run++) {
        const struct input *seed = &seeds[draw((size_t)count)];
        input.size = seed->size;
        memcpy(input.bytes, seed->bytes, seed->size);
        for (size_t n = 1 + draw(4); n > 0; n--)
            mutate(&input, &seeds[draw((size_t)count)]);
        fuzz_one(input.bytes, input.size);
    }
    printf("%ld inputs from %d seeds\n", runs, count);
    return 0;
}
