// SPDX-License-Identifier: Apache-2.0
//
// What is read of NVIDIA's management library, on a stand-in for it: reasons of throttling as a
// verdict names them, and unknown figures wherever it says nothing.
#include "kernels/device/nvml.h"
#include "model/result.h"
#include "tests/helpers/test.h"

#include <stdlib.h>
#include <string.h>

enum { FAILS = 999 };

static struct {
    bool gone;         // there is no such library
    const char *lacks; // a function that it does not have
    bool mute;         // every question fails
    unsigned long long bits;
    int open, running; // libraries that are loaded, and how often it was started and not ended
} library;

static int start(void)
{
    library.running++;
    return 0;
}

static int end(void)
{
    library.running--;
    return 0;
}

static int by_uuid(const char *uuid, void **device)
{
    *device = &library;
    return strcmp(uuid, "GPU-ours") == 0 ? 0 : FAILS;
}

static int reasons(void *device, unsigned long long *out)
{
    assert_ptr_equal(device, &library);
    *out = library.bits;
    return library.mute ? FAILS : 0;
}

static int temperature(void *device, int sensor, unsigned *out)
{
    *out = 61;
    return library.mute || sensor != 0 ? FAILS : 0;
}

static int power(void *device, unsigned *out)
{
    *out = 512345;
    return library.mute ? FAILS : 0;
}

static int limit(void *device, unsigned *out)
{
    *out = 700000;
    return library.mute ? FAILS : 0;
}

static int driver(char *out, unsigned size)
{
    strncpy(out, "580.65.06", size);
    return library.mute ? FAILS : 0;
}

// What nvml.c calls instead of the loader (tests/CMakeLists.txt).
void *stand_in_dlopen(const char *name, int flags);
void *stand_in_dlsym(void *of, const char *name);
int stand_in_dlclose(void *of);

void *stand_in_dlopen(const char *name, int flags)
{
    assert_string_equal(name, "libnvidia-ml.so.1");
    library.open += !library.gone;
    return library.gone ? NULL : &library;
}

void *stand_in_dlsym(void *of, const char *name)
{
#define FUNCTION(name, function)                                                                   \
    {                                                                                              \
        name, (void (*)(void))function                                                             \
    }
    static const struct {
        const char *name;
        void (*function)(void);
    } functions[] = {FUNCTION("nvmlInit_v2", start),
                     FUNCTION("nvmlShutdown", end),
                     FUNCTION("nvmlDeviceGetHandleByUUID", by_uuid),
                     FUNCTION("nvmlDeviceGetCurrentClocksEventReasons", reasons),
                     FUNCTION("nvmlDeviceGetCurrentClocksThrottleReasons", reasons),
                     FUNCTION("nvmlDeviceGetTemperature", temperature),
                     FUNCTION("nvmlDeviceGetPowerUsage", power),
                     FUNCTION("nvmlDeviceGetEnforcedPowerLimit", limit),
                     FUNCTION("nvmlSystemGetDriverVersion", driver)};
    void *found = NULL;
    for (size_t i = 0; i < ARRAY_COUNT(functions); i++) {
        if (strcmp(name, functions[i].name) == 0 &&
            (!library.lacks || strcmp(name, library.lacks) != 0))
            memcpy(&found, &functions[i].function, sizeof(found));
    }
    return found;
}

int stand_in_dlclose(void *of)
{
    library.open--;
    return 0;
}

static int set_up(void **state)
{
    memset(&library, 0, sizeof(library));
    return 0;
}

AROUND_EACH(set_up, NULL);

TEST(reasons_are_those_that_a_verdict_names)
{
    static const struct {
        unsigned long long bits;
        int throttle;
    } cases[] = {{0, 0},
                 {0x01, 0}, // idle is no reason
                 {0x04, THROTTLE_POWER},
                 {0x08, THROTTLE_HARD},
                 {0x20, THROTTLE_THERMAL},
                 {0x40, THROTTLE_THERMAL | THROTTLE_HARD},
                 {0x80, THROTTLE_HARD},
                 {0x02 | 0x10, THROTTLE_OTHER},
                 {0x04 | 0x20, THROTTLE_POWER | THROTTLE_THERMAL}};
    struct nvml *nvml = nvml_open("GPU-ours");
    assert_non_null(nvml);
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        library.bits = cases[i].bits;
        assert_int_equal(nvml_read(nvml).throttle, cases[i].throttle);
    }
    nvml_close(nvml);
    assert_true(library.open == 0 && library.running == 0);
}

TEST(figures_are_read_in_their_units)
{
    struct nvml *nvml = nvml_open("GPU-ours");
    const struct nvml_state read = nvml_read(nvml);
    char version[32];
    assert_int_equal(read.temperature_c, 61);
    assert_int_equal(read.power_mw, 512345);
    assert_true(nvml_power_limit_w(nvml) == 700);
    nvml_driver(nvml, version, sizeof(version));
    assert_string_equal(version, "580.65.06");
    nvml_close(nvml);
}

static void assert_unknown(struct nvml *nvml)
{
    const struct nvml_state read = nvml_read(nvml);
    char version[32] = "x";
    assert_true(read.throttle == 0 && read.temperature_c == INT16_MIN && read.power_mw == -1);
    assert_true(nvml_power_limit_w(nvml) == 0);
    nvml_driver(nvml, version, sizeof(version));
    assert_string_equal(version, "");
}

TEST(what_it_does_not_say_is_unknown)
{
    struct nvml *nvml = nvml_open("GPU-ours");
    library.mute = true;
    library.bits = 0xff;
    assert_unknown(nvml);
    nvml_close(nvml);
    assert_unknown(NULL);
    nvml_close(NULL);
}

// Nothing fails, and nothing stays loaded or started.
TEST(without_the_library_or_the_gpu_there_is_none)
{
    static const char *const needed[] = {"nvmlInit_v2", "nvmlShutdown",
                                         "nvmlDeviceGetHandleByUUID"};
    assert_null(nvml_open("GPU-another"));
    for (size_t i = 0; i < ARRAY_COUNT(needed); i++) {
        library.lacks = needed[i];
        assert_null(nvml_open("GPU-ours"));
    }
    library.gone = true;
    assert_null(nvml_open("GPU-ours"));
    assert_true(library.open == 0 && library.running == 0);
}

TEST(a_driver_before_535_has_the_reasons_under_another_name)
{
    library.lacks = "nvmlDeviceGetCurrentClocksEventReasons";
    struct nvml *nvml = nvml_open("GPU-ours");
    library.bits = 0x04;
    assert_int_equal(nvml_read(nvml).throttle, THROTTLE_POWER);
    nvml_close(nvml);
}
