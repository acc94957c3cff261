// SPDX-License-Identifier: Apache-2.0
//
// Slow creep is seen against the accepted level.
#include "model/history/shape.h"
#include "tests/helpers/helper_cp_series.h"
#include "tests/helpers/test.h"

#include <math.h>

// Twenty times 0.2 %, each far below the noise of one value.
TEST(creep_is_seen_against_the_epoch)
{
    struct random random = {27};
    double values[20];
    int seen = 0, false_alarms = 0;
    for (int game = 0; game < 200; game++) {
        cp_series(values, 20, CP_NORMAL, &random);
        for (size_t i = 0; i < 20; i++)
            values[i] = 0.005 * (values[i] - 100);
        false_alarms += creep_test(0, 0.0005, values, 20, 0.003, 0.99).moved;
        for (size_t i = 0; i < 20; i++)
            values[i] += 0.04;
        struct creep creep = creep_test(0, 0.0005, values, 20, 0.003, 0.99);
        seen += creep.moved && creep.evidence > 7;
        assert_true(creep.size.low < creep.size.value && creep.size.value < creep.size.high);
    }
    assert_true(seen >= 190);
    assert_true(false_alarms <= 4);
    assert_false(creep_test(0, 0, values, 2, 0, 0.99).moved);
    assert_true(creep_test(1, 0, (double[]){2, 2, 2, NAN}, 4, 0.5, 0.99).moved);
}
