// SPDX-License-Identifier: Apache-2.0
//
// The online detector: an alarm before the segmentation has one, and rarely about noise.
#include "model/history/focus.h"
#include "tests/helpers/helper_cp_series.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static enum focus_state newest(struct change *out, const double *values, size_t n)
{
    struct changepoints found;
    changepoints_find(&found, values, n, NULL);
    enum focus_state state =
        found.count ? FOCUS_LEARNING : focus_newest(out, values, n, &found, NULL);
    changepoints_free(&found);
    return state;
}

// Short series with a step of three standard deviations near the end: the alarm often tells of it
// where the segmentation still waits for more values.
static void focus_reports_the_newest_before_the_segmentation(void **state)
{
    int alarms = 0, right = 0, segmented = 0;
    for (uint64_t game = 0; game < 40; game++) {
        struct random random = {300 + game};
        double values[60];
        struct change change;
        cp_series(values, 60, game % 2 ? CP_SPIKES : CP_NORMAL, &random);
        cp_add_step(values, 60, 45, game % 4 < 2 ? 3 : -3);
        enum focus_state now = newest(&change, values, 60);
        segmented += now == FOCUS_LEARNING;
        if (now != FOCUS_ALARM)
            continue;
        alarms++;
        right += change.earliest <= 45 && 45 <= change.latest &&
                 change.size.low < (game % 4 < 2 ? 3 : -3) &&
                 change.size.high > (game % 4 < 2 ? 3 : -3);
        assert_true(change.earliest <= change.index && change.index <= change.latest);
        assert_true(change.latest < 60 && change.evidence > 0);
    }
    assert_true(alarms >= 5);
    assert_true(alarms + segmented >= 25);
    assert_true(10 * right >= 8 * alarms);
}

// Asked after every value, of all kinds of noise, louder and wandering too.
static void focus_rarely_alarms_about_the_newest_of_noise(void **state)
{
    size_t alarms = 0;
    for (int kind = 0; kind < CP_KINDS; kind++) {
        for (uint64_t game = 0; game < draws(8); game++) {
            struct random random = {700 + game};
            double values[200];
            struct change change;
            cp_series(values, 200, kind, &random);
            for (size_t n = 41; n <= 200; n += 3)
                alarms += newest(&change, values, n) == FOCUS_ALARM;
        }
    }
    assert_counted(alarms <= 12); // of 4240 looks; an alarm stands for several
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(focus_reports_the_newest_before_the_segmentation),
        cmocka_unit_test(focus_rarely_alarms_about_the_newest_of_noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
