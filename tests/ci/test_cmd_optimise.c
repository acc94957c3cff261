// SPDX-License-Identifier: Apache-2.0
//
// The commands optimise and estimate, as the program runs them: seed 1's search on a machine from a
// file, and its parameters from measured times.
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MACHINE                                                                                    \
    "[machine]\nlaunch = 1680\nload-startup = 100\nload-block = 40\nmath-startup = 20\n"           \
    "math-block = 40\nepilogue-startup = 900\nepilogue-block = 20\nsmem-blocks = 96\n"             \
    "sms = 84\ndepth = 4\n"

static void optimised(struct plumb_outcome *out, const char *machine, const char *problem)
{
    char path[] = "/tmp/plumb-machine-XXXXXX";
    int file = mkstemp(path);
    assert_int_equal(write(file, machine, strlen(machine)), (ssize_t)strlen(machine));
    close(file);
    plumb_run(out, "/tmp", (const char *const[]){"optimise", "--machine", path, problem, NULL}, 0);
    unlink(path);
}

static void the_best_tiling_is_printed_for_a_machine_from_a_file(void **state)
{
    struct plumb_outcome *out = xcalloc(1, sizeof(*out));
    // Held against simulation and Z3 in test_pipeline_optimise.
    optimised(out, MACHINE "load-warps = 2\n", "512x512x512");
    plumb_said(out, 0, "512x512x512 tile 64x64x64 depth 2 ticks 5640 wait 16640");
#ifdef PLUMB_HAVE_Z3
    plumb_said(out, 0, "\n  Z3: tile ");
    plumb_said(out, 0, " ticks 5640 wait ");
    plumb_said(out, 0, "there is nothing better");
    optimised(out, MACHINE, "512x512x4096");
    plumb_said(out, 0, "\n  Z3: not asked, K is above 1024");
#endif
    optimised(out, MACHINE "load-warps = 2\n; comment\nmath-warps = 4\n", "512x512x512");
    plumb_said(out, 0, "512x512x512 tile ");
    static const char *const bad[][2] = {
        {MACHINE "colour = red\n", ":12: unknown key machine.colour"},
        {MACHINE "load-warps = 65\n", "1 to 64 loading and computing warps"},
        {MACHINE "math-warps = many\n", ":12: math-warps must be a whole number"},
        {"[machine]\nlaunch = 1\n", "no machine.load-startup"},
        {"[gpu]\nlaunch = 1\n", ":1: [gpu]"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
        optimised(out, bad[i][0], "512x512x512");
        plumb_said(out, 4, bad[i][1]);
    }
    optimised(out, MACHINE, "500x512x512");
    plumb_said(out, 4, "multiples of 32");
    free(out);
}

static void parameters_come_from_measured_times(void **state)
{
    struct plumb_outcome *out = xcalloc(1, sizeof(*out));
    plumb_run(out, "/tmp", (const char *const[]){"estimate", "30:12", "90:32", "60:22", NULL}, 0);
    plumb_said(out, 0, "startup 2 time units, throughput 3 bytes per time unit");
    plumb_run(out, "/tmp", (const char *const[]){"estimate", "30:12", "90:x", NULL}, 0);
    plumb_said(out, 4, "90:x: a measured transfer is BYTES:TIME");
    plumb_run(out, "/tmp", (const char *const[]){"estimate", "30:12", "90:11", NULL}, 0);
    plumb_said(out, 4, "no throughput");
    free(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_tiling_is_printed_for_a_machine_from_a_file),
        cmocka_unit_test(parameters_come_from_measured_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
