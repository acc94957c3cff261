// SPDX-License-Identifier: Apache-2.0
//
// The few functions of NVML that are used. They are declared here by their documented signatures
// (NVML API reference), because not every CUDA package has its header.
#include "kernels/device/nvml.h"

#include "model/result.h"

#include <dlfcn.h>
#include <stdlib.h>

// nvmlClocksEventReasons: the documented bits, mapped to the few reasons that a verdict needs.
static const struct {
    unsigned long long bit;
    enum throttle throttle;
} reasons[] = {
    {0x02, THROTTLE_OTHER},   // application clocks were set
    {0x04, THROTTLE_POWER},   // software power cap
    {0x08, THROTTLE_HARD},    // hardware slowdown
    {0x10, THROTTLE_OTHER},   // sync boost
    {0x20, THROTTLE_THERMAL}, // software thermal slowdown
    {0x40, THROTTLE_THERMAL}, // hardware thermal slowdown
    {0x40, THROTTLE_HARD},    //
    {0x80, THROTTLE_HARD},    // hardware power brake
};

enum { SUCCESS = 0, TEMPERATURE_GPU = 0 };

struct nvml {
    void *library;
    void *device;
    int (*shutdown)(void);
    int (*reasons)(void *device, unsigned long long *out);
    int (*temperature)(void *device, int sensor, unsigned *out);
    int (*power)(void *device, unsigned *out_mw);
    int (*limit)(void *device, unsigned *out_mw);
    int (*driver)(char *out, unsigned size);
};

static void find(void *library, const char *name, void *out)
{
    *(void **)out = dlsym(library, name);
}

struct nvml *nvml_open(const char *uuid)
{
    int (*init)(void), (*by_uuid)(const char *, void **);
    struct nvml *nvml = xcalloc(1, sizeof(*nvml));
    nvml->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!nvml->library)
        goto failed;
    find(nvml->library, "nvmlInit_v2", &init);
    find(nvml->library, "nvmlDeviceGetHandleByUUID", &by_uuid);
    find(nvml->library, "nvmlShutdown", &nvml->shutdown);
    find(nvml->library, "nvmlDeviceGetCurrentClocksEventReasons", &nvml->reasons);
    if (!nvml->reasons) // its name before driver 535
        find(nvml->library, "nvmlDeviceGetCurrentClocksThrottleReasons", &nvml->reasons);
    find(nvml->library, "nvmlDeviceGetTemperature", &nvml->temperature);
    find(nvml->library, "nvmlDeviceGetPowerUsage", &nvml->power);
    find(nvml->library, "nvmlDeviceGetEnforcedPowerLimit", &nvml->limit);
    find(nvml->library, "nvmlSystemGetDriverVersion", &nvml->driver);
    if (!init || !by_uuid || !nvml->shutdown || init() != SUCCESS)
        goto failed;
    if (by_uuid(uuid, &nvml->device) != SUCCESS) {
        nvml->shutdown();
        goto failed;
    }
    return nvml;
failed:
    if (nvml->library)
        dlclose(nvml->library);
    free(nvml);
    return NULL;
}

void nvml_close(struct nvml *nvml)
{
    if (!nvml)
        return;
    nvml->shutdown();
    dlclose(nvml->library);
    free(nvml);
}

struct nvml_state nvml_read(struct nvml *nvml)
{
    struct nvml_state state = {.temperature_c = INT16_MIN, .power_mw = -1};
    unsigned long long bits = 0;
    unsigned value;
    if (!nvml)
        return state;
    if (nvml->reasons && nvml->reasons(nvml->device, &bits) == SUCCESS) {
        for (size_t i = 0; i < ARRAY_COUNT(reasons); i++)
            state.throttle |= bits & reasons[i].bit ? (int)reasons[i].throttle : 0;
    }
    if (nvml->temperature && nvml->temperature(nvml->device, TEMPERATURE_GPU, &value) == SUCCESS &&
        value < 1000)
        state.temperature_c = (int)value;
    if (nvml->power && nvml->power(nvml->device, &value) == SUCCESS && value < INT32_MAX)
        state.power_mw = (int)value;
    return state;
}

void nvml_driver(struct nvml *nvml, char *out, size_t size)
{
    if (!nvml || !nvml->driver || nvml->driver(out, (unsigned)size) != SUCCESS)
        out[0] = '\0';
}

double nvml_power_limit_w(struct nvml *nvml)
{
    unsigned mw;
    if (!nvml || !nvml->limit || nvml->limit(nvml->device, &mw) != SUCCESS)
        return 0;
    return mw * 1e-3;
}
