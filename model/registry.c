// SPDX-License-Identifier: Apache-2.0
//
// Lookup by name of models and GPU profiles. The tables are made from file names by registry() in
// ci/cmake/registry.cmake: predict/foo.c must define model_foo, gpu/foo.c must define gpu_foo.
#include "model/predict.h"

#include <ctype.h>
#include <string.h>

#define X(name) extern const struct model model_##name;
#include "model/predict.inc"
#undef X
#define X(name) extern const struct gpu gpu_##name;
#include "model/gpu.inc"
#undef X

#define X(name) &model_##name,
const struct model *const models[] = {
#include "model/predict.inc"
};
#undef X
const size_t model_count = ARRAY_COUNT(models);

#define X(name) &gpu_##name,
const struct gpu *const gpus[] = {
#include "model/gpu.inc"
};
#undef X
const size_t gpu_count = ARRAY_COUNT(gpus);

// Equal up to case and separators: "RTX-4090" finds rtx4090, "ws_persistent" ws-persistent.
static bool same_name(const char *a, const char *b)
{
    for (;; a++, b++) {
        while (*a == '-' || *a == '_')
            a++;
        while (*b == '-' || *b == '_')
            b++;
        if (*a == '\0' || tolower((unsigned char)*a) != tolower((unsigned char)*b))
            return *a == *b;
    }
}

const struct model *model_find(const char *name)
{
    for (size_t i = 0; i < model_count; i++) {
        if (same_name(models[i]->name, name))
            return models[i];
    }
    return NULL;
}

const struct gpu *gpu_find(const char *name)
{
    for (size_t i = 0; i < gpu_count; i++) {
        if (same_name(gpus[i]->name, name))
            return gpus[i];
    }
    return NULL;
}

const struct gpu *gpu_for_device(const char *device_name)
{
    for (size_t i = 0; i < gpu_count; i++) {
        if (gpus[i]->match && strstr(device_name, gpus[i]->match))
            return gpus[i];
    }
    return NULL;
}
