// SPDX-License-Identifier: Apache-2.0
//
// The expected output of a series, from the device or from a library: what is right is found right,
// also with other signs, and one wrong element is told by its place.
#include "kernels/bench/series_parts.h"
#include "kernels/device/check.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_host.h"
#include "tests/helpers/helper_problem.h"
#include "tests/helpers/test.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>

static int tear_down(void **state)
{
    references_drop(host);
    host_tear_down(state);
    return 0;
}

AROUND_ALL(host_set_up, tear_down);

static void multiply(const struct buffers *b)
{
    const float *x = b->inputs[0][0], *y = b->inputs[1][0];
    float *c = b->outputs[0];
    const int64_t n = b->problem.n, k = b->problem.k;
    for (int64_t i = 0; i < b->problem.m; i++) {
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t l = 0; l < k; l++)
                sum += (double)x[i * k + l] * (double)y[j * k + l];
            c[i * n + j] = (float)sum;
        }
    }
}

static struct comparison compared(const struct exact *exact, const struct buffers *b,
                                  double tolerance)
{
    const struct inputs_signs signs = buffers_signs(b, 0);
    struct comparison found;
    struct error err;
    if (exact_compare(&found, exact, b, 0, &signs, tolerance, &err))
        fail_msg("%s", err.text);
    return found;
}

TEST(a_product_is_held_to_the_reference_with_the_signs_of_its_inputs)
{
    const struct problem p = helper_problem("9x11x64:fp32");
    const struct exact_source source = {.ops = host, .device = device, .problem = &p};
    const double tolerance = check_tolerance(&p);
    const uint64_t seed = 5;
    struct buffers b;
    struct parts parts;
    struct exact *exact, *own;
    struct error err;
    parts_of(&parts, &p);
    assert_int_equal(buffers_open(&b, host, device, &p, &parts, seed, 0, &err), 0);
    assert_int_equal(exact_open(&exact, &source, &b, 0, &seed, &err), 0);
    assert_true(exact_allowed(exact, tolerance) == tolerance * check_scale(&p));
    for (uint64_t key = 0; key < 3; key++) {
        assert_int_equal(buffers_known(&b, key, &err), 0);
        multiply(&b);
        assert_int_equal(compared(exact, &b, tolerance).wrong, 0);
    }
    // Without a seed it is that of the inputs as they are, so no signs differ.
    const struct inputs_signs none = {.m = 9, .n = 11};
    struct comparison found;
    assert_int_equal(exact_open(&own, &source, &b, 0, NULL, &err), 0);
    assert_int_equal(exact_compare(&found, own, &b, 0, &none, tolerance, &err), 0);
    assert_int_equal(found.wrong, 0);
    ((float *)b.outputs[0])[4 * 11 + 7] += 1;
    assert_int_equal(exact_compare(&found, own, &b, 0, &none, tolerance, &err), 0);
    assert_true(found.wrong == 1 && found.row == 4 && found.col == 7);
    found = compared(exact, &b, tolerance);
    assert_true(found.wrong == 1 && found.row == 4 && found.col == 7);
    exact_free(own);
    exact_free(exact);
    exact_free(NULL);
    buffers_free(&b);
}

static int files_in(const char *folder)
{
    int count = 0;
    DIR *open = opendir(folder);
    for (struct dirent *entry; (entry = readdir(open));)
        count += entry->d_name[0] != '.';
    closedir(open);
    return count;
}

// Begun ahead, it is computed by another process, and stays for a third one.
TEST(a_library_of_its_own_kind_is_held_to_its_own_reference)
{
    struct series_spec spec = {.kernel = "softmax",
                               .problem = helper_problem("S=6,H=9:fp32"),
                               .head = TEST_BIN "/../examples/libsoftmax.so",
                               .inside = true};
    struct series_state said = {.state = MEASURED_OK};
    struct arm arm = ARM_NONE;
    struct buffers b;
    struct parts parts;
    struct exact *exact;
    struct error err;
    const uint64_t seed = 5;
    char *folder = helper_directory();
    setenv(REFERENCES_FOLDER, folder, 1);
    assert_int_equal(arm_load(&arm, ROLE_HEAD, false, &spec, host, device, &said, &err), 0);
    assert_int_equal(parts_stated(&parts, &arm.stated, &err), 0);
    assert_int_equal(buffers_open(&b, host, device, &spec.problem, &parts, seed, 0, &err), 0);
    assert_int_equal(arm_prepare(&arm, ROLE_HEAD, NULL, &b, &said, &err), 0);
    const struct exact_source source = {.ops = host,
                                        .device = device,
                                        .problem = &spec.problem,
                                        .arm = &arm,
                                        .of = "libsoftmax.so\nsoftmax\nS=6,H=9:fp32\n",
                                        .stated = &arm.stated};
    assert_int_equal(exact_open(NULL, &source, &b, 0, &seed, &err), 0);
    assert_int_equal(exact_open(&exact, &source, &b, 0, &seed, &err), 0);
    assert_int_equal(files_in(folder), 1);
    assert_int_equal(arm_launch(&arm, 0, NULL), 0);
    assert_int_equal(compared(exact, &b, 1).wrong, 0);
    double largest = 0;
    for (int i = 0; i < 54; i++)
        largest = fmax(largest, (double)((float *)b.outputs[0])[i]);
    assert_true(fabs(exact_allowed(exact, 1) - (1e-12 + 2 * 1e-5 * largest)) < 1e-10);
    ((float *)b.outputs[0])[31] *= 1.01f;
    const struct comparison found = compared(exact, &b, 1);
    assert_true(found.wrong == 1 && found.row == -1 && found.col == 31);
    exact_free(exact);
    buffers_free(&b);
    arm_release(&arm);
    unsetenv(REFERENCES_FOLDER);
    free(folder);
}
