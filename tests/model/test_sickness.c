// SPDX-License-Identifier: Apache-2.0
//
// When a device's controls say that the device itself is slow.
#include "model/history/device.h"
#include "tests/helpers/test.h"

#include <math.h>

enum { POINTS = 12, CONTROLS = 4 };

// Levels from 10 us to 80 us with noise of 0.3 %; the last `shifted` points lie higher by `shift`.
static struct sickness judge(double shift, size_t shifted, size_t controls, size_t points,
                             size_t moved)
{
    static double values[CONTROLS][POINTS];
    struct sickness_control list[CONTROLS];
    struct sickness found;
    for (size_t c = 0; c < controls; c++) {
        for (size_t i = 0; i < points; i++) {
            const double noise = 0.003 * sin((double)(7 * i + 3 * c));
            values[c][i] = log(1e4 * (double)(1u << c)) + noise +
                           (c < moved && i + shifted >= points ? shift : 0);
        }
        list[c] = (struct sickness_control){values[c], points};
    }
    sickness_find(&found, list, controls, 0.05);
    return found;
}

TEST(two_slow_runs_of_most_controls_are_a_sick_device)
{
    const struct sickness found = judge(0.12, 2, CONTROLS, POINTS, CONTROLS);
    assert_true(found.known && found.slow);
    assert_int_equal(found.controls, CONTROLS);
    assert_true(fabs(found.log_ratio - 0.12) < 0.01);
    assert_true(judge(0.12, 2, CONTROLS, POINTS, 3).slow);
}

TEST(what_is_less_is_none)
{
    assert_false(judge(0.12, 1, CONTROLS, POINTS, CONTROLS).slow); // one run: a neighbour
    assert_false(judge(0.12, 2, CONTROLS, POINTS, 1).slow);        // one control: its own affair
    assert_false(judge(0.03, 2, CONTROLS, POINTS, CONTROLS).slow); // within the margin
    assert_false(judge(-0.12, 2, CONTROLS, POINTS, CONTROLS).slow);
    assert_true(judge(0, 2, CONTROLS, POINTS, CONTROLS).known);
}

TEST(too_few_controls_or_points_are_not_judged)
{
    assert_false(judge(0.5, 2, SICKNESS_CONTROLS - 1, POINTS, CONTROLS).known);
    assert_false(judge(0.5, 2, CONTROLS, SICKNESS_EARLIER + 1, CONTROLS).known);
    assert_true(judge(0.5, 2, CONTROLS, SICKNESS_EARLIER + 2, CONTROLS).slow);
    assert_false(judge(0.5, 2, 0, POINTS, 0).known);
}
