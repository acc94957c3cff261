// SPDX-License-Identifier: Apache-2.0
//
// Packed samples. What is read packs to bytes that read back to the same samples.
#include "baselines/pack.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

void fuzz_one(const uint8_t *bytes, size_t size)
{
    struct arena arena = {0};
    struct error err;
    struct sample *first, *second;
    size_t count, again, packed_size;
    unsigned char *packed;
    if (unpack_samples(&first, &count, bytes, size, &arena, &err) == 0) {
        pack_samples(&packed, &packed_size, first, count);
        if (unpack_samples(&second, &again, packed, packed_size, &arena, &err) || again != count)
            abort();
        for (size_t i = 0; i < count; i++) {
            if (memcmp(&first[i].time_ns, &second[i].time_ns, sizeof(double)) ||
                first[i].pair != second[i].pair || first[i].power_mw != second[i].power_mw)
                abort();
        }
        free(packed);
    }
    arena_free(&arena);
}
