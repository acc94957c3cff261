// SPDX-License-Identifier: Apache-2.0
//
// Alarms of many series released together keep their false share under q.
#include "model/gate/gate.h"
#include "tests/helpers/helper_random.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <string.h>

TEST(release_pools_the_shapes_of_a_kernel)
{
    bool released[6];
    // Kernel 0: one clear shape of three. Kernel 1: nothing. Limits at q = 0.01: mean e >= 200,
    // then e >= 3 / 0.005 = 600.
    const size_t kernel[6] = {0, 0, 0, 1, 1, 1};
    double log_e[6] = {0, log(700), -1, 0.5, -3, -INFINITY};
    assert_int_equal(gate_release(released, log_e, kernel, 6, 0.01), 1);
    assert_true(!released[0] && released[1] && !released[3]);
    log_e[1] = log(500);
    assert_int_equal(gate_release(released, log_e, kernel, 6, 0.01), 0);
    // The kernel stands, its second shape (100 < 300) does not.
    log_e[0] = log(900);
    log_e[1] = log(100);
    assert_int_equal(gate_release(released, log_e, kernel, 6, 0.01), 1);
    assert_true(released[0] && !released[1]);
    // All shapes of one kernel at 250, each too weak for e-BH over six single series (600, 300,
    // 200).
    for (int i = 0; i < 3; i++)
        log_e[i] = log(250);
    assert_int_equal(gate_release(released, log_e, kernel, 6, 0.01), 3);
}

TEST(release_counts_every_kernel_once)
{
    bool released[3];
    // Limits over three kernels: 300, 150, 100.
    const size_t three[3] = {0, 1, 2}, gaps[2] = {7, 2};
    const double weak[3] = {log(150), log(60), 0}, strong[3] = {log(160), log(151), 0};
    assert_int_equal(gate_release(released, weak, three, 3, 0.01), 0);
    assert_int_equal(gate_release(released, strong, three, 3, 0.01), 2);
    const double one[2] = {log(250), 0}; // numbers need not be dense: two kernels, limit 200
    assert_int_equal(gate_release(released, one, gaps, 2, 0.01), 1);
    assert_int_equal(gate_release(NULL, NULL, NULL, 0, 0.01), 0);
}

TEST(false_releases_stay_under_q)
{
    int wrong_gates = 0;
    for (uint64_t seed = 0; seed < 3000; seed++) {
        struct random random = {seed * 53 + 1};
        double log_e[40], common = random_normal(&random);
        size_t kernel[40];
        bool released[40];
        for (size_t i = 0; i < 40; i++) {
            kernel[i] = i / 4;
            double z = 0.9 * common + sqrt(0.19) * random_normal(&random);
            log_e[i] = 3.5 * z - 0.5 * 3.5 * 3.5;
        }
        wrong_gates += gate_release(released, log_e, kernel, 40, 0.05) > 0;
    }
    assert_true(wrong_gates <= 0.05 * 3000);
}
