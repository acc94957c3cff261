// SPDX-License-Identifier: Apache-2.0
//
// What calibrate makes of readings that a device gave: here of clocks under load.
#include "kernels/calibrate/calibrate.h"
#include "tests/helpers/test.h"

#include <math.h>

static void keep(void *state, const struct calibration *reading)
{
    *(struct calibration *)state = *reading;
}

static struct calibration loaded(const double *windows, double share)
{
    struct calibration reading = {0};
    calibrate_send_loaded(keep, &reading, "cap_clock_fp8_hz", windows, share);
    return reading;
}

// An H200 (GPU-310e22d7, driver 580.159.04, 700 W, 2026-11-29) under 8192^3 in FP8 without a pause,
// in MHz. The limit acts after a tenth of a second, and then swings with a period of 0.8 s.
static const double recorded[CALIBRATE_WINDOWS] = {1386.5, 1292.5, 1291.6, 1287.9, 1298.6, 1301.1,
                                                   1312.4, 1247.7, 1049.7, 1264.9, 1313.1, 1309.8,
                                                   1289.7, 1303.8, 1299.5, 1308.3};

TEST(a_power_limits_swings_do_not_move_its_clock)
{
    double steady[CALIBRATE_WINDOWS];
    for (int i = 0; i < CALIBRATE_WINDOWS; i++)
        steady[i] = i < 4 ? recorded[i] : 1300;
    const struct calibration swung = loaded(recorded, 0.94), flat = loaded(steady, 0.94);
    assert_true(fabs(swung.value / flat.value - 1) < 0.005);
    assert_true(swung.stable && flat.stable && flat.value == 1300);
    assert_int_equal(flat.repeats, 10);
}

// A load that waits for its operands leaves the clock higher than a GEMM does.
TEST(a_load_below_a_gemms_rate_tells_no_clock)
{
    assert_false(loaded(recorded, 0.8).stable);
    assert_true(loaded(recorded, 0.8).value == 0);
}
