// SPDX-License-Identifier: Apache-2.0
//
// A GPU profile that somebody wrote, and names of kernels that a sweep timed.
#include "ci/settings/gpu_file.h"
#include "model/predict/parts/space_name.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

void fuzz_one(const uint8_t *bytes, size_t size)
{
    struct gpu_profile profile;
    struct error err;
    struct traits traits;
    if (gpu_file_parse(&profile, (const char *)bytes, size, "fuzz", &err) == 0)
        gpu_profile_free(&profile);
    char *name = xcalloc(size + 1, 1);
    memcpy(name, bytes, size);
    space_traits(&traits, name);
    free(name);
}
