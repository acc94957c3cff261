// SPDX-License-Identifier: Apache-2.0
//
// The commands optimise and estimate, as the program runs them: seed 1's search on a machine from a
// file, and its parameters from measured times.
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MACHINE                                                                                    \
    "[machine]\nlaunch = 1680\nload-startup = 100\nload-block = 40\nmath-startup = 20\n"           \
    "math-block = 40\nepilogue-startup = 900\nepilogue-block = 20\nsmem-blocks = 96\n"             \
    "sms = 84\ndepth = 4\n"

static void optimised(struct plumb_outcome *out, const char *machine, const char *problem)
{
    const char *path = helper_file(machine);
    plumb_run(out, "/tmp", (const char *const[]){"optimise", "--machine", path, problem, NULL}, 0);
}

TEST(the_best_tiling_is_printed_for_a_machine_from_a_file)
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

TEST(parameters_come_from_measured_times)
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

#define A6000 TEST_SOURCE "/baselines/recorded/a6000/"

// Every printed digit is held in test_pipeline; this is the way there from the command line.
TEST(table_2_of_seed_1_is_one_command)
{
    struct plumb_outcome *out = xcalloc(1, sizeof(*out));
    plumb_run(out, "/tmp",
              (const char *const[]){"optimise", "--machine", A6000 "machine.cfg", "--csv",
                                    A6000 "table2.csv", NULL},
              0);
    static const char *const lines[] = {
        ("256x256x256 tile 128x128x64 depth 3 ticks 8188 wait 6080 predicted_us 8.188 "
         "measured_us 8.79698 error -6.92 %\n"),
        "1024x1024x512 tile 128x64x64 depth 3 ticks 23736 ",
        "predicted_us 41.816 measured_us 41.8747",
        "\n36 measured rows: predicted times are 4.85 % off in the mean, 17.47 % at most\n"};
    for (size_t i = 0; i < ARRAY_COUNT(lines); i++)
        plumb_said(out, 0, lines[i]);
    plumb_run(out, "/tmp",
              (const char *const[]){"optimise", "--machine", A6000 "machine.cfg", "--csv",
                                    A6000 "table2.csv", "--format", "json", NULL},
              0);
    plumb_said(out, 0, "\"mean_error\":0.04845");
    free(out);
}

static void tiled(struct plumb_outcome *out, const char *tile, const char *problem)
{
    plumb_run(out, "/tmp",
              (const char *const[]){"optimise", "--machine", A6000 "machine.cfg", "--tile", tile,
                                    problem, NULL},
              0);
}

TEST(a_given_tile_is_simulated_or_refused)
{
    struct plumb_outcome *out = xcalloc(1, sizeof(*out));
    tiled(out, "128x64x64", "1024x1024x1024");
    plumb_said(out, 0, "ticks 41816 wait 394240 predicted_us 41.816\n");
    tiled(out, "128x100x64", "1024x1024x1024");
    plumb_said(out, 4, "a tile of 128x100x64 is no multiple of 32");
    tiled(out, "128x384x64", "1024x1024x1024");
    plumb_said(out, 4, "does not divide the problem");
    tiled(out, "128x128", "1024x1024x1024");
    plumb_said(out, 4, "is no tiling: three sizes");
    const char *words[] = {"optimise", "--machine", A6000 "machine.cfg", "--tile", "128x128x64",
                           "--depth",  "4",         "256x256x256",       NULL};
    plumb_run(out, "/tmp", words, 0);
    plumb_said(out, 4, "4 stages of a tile of 128x128x64 do not fit; at most 3");
    words[6] = "1"; // loads wait for the product: 1680 + 4 (1130 + 1000) + 988
    plumb_run(out, "/tmp", words, 0);
    plumb_said(out, 0, "depth 1 ticks 11188 ");
    free(out);
}

static char *whole(const char *path)
{
    char *text = xcalloc(100000, 1);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_true(fread(text, 1, 99999, file) > 0);
    fclose(file);
    return text;
}

TEST(a_given_tile_is_drawn)
{
    struct plumb_outcome *out = xcalloc(1, sizeof(*out));
    const char *trace = helper_file(""), *svg = helper_file("");
    plumb_run(out, "/tmp",
              (const char *const[]){"optimise", "--machine", A6000 "machine.cfg", "--tile",
                                    "128x64x64", "--trace", trace, "--svg", svg, "1024x1024x256",
                                    NULL},
              0);
    plumb_said(out, 0, "ticks 14696 ");
    char *text = whole(trace);
    assert_non_null(strstr(text, "\"ts\":1.68,"));                      // us
    assert_non_null(strstr(text, "\"args\":{\"wave\":2,\"stage\":4}")); // of two waves
    assert_null(strstr(text, "\"wave\":3"));
    free(text);
    text = whole(svg);
    assert_non_null(strstr(text, "math 4: 4520 to 5520"));
    assert_non_null(strstr(text, " ns</text>"));
    free(text);
    free(out);
}
