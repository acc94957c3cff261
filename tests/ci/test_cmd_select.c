// SPDX-License-Identifier: Apache-2.0
//
// `plumb select --trial`: what the kernels of a library choose, beside what a model would take.
#include "tests/helpers/helper_bench.h"
#include "tests/helpers/helper_library.h"
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/test.h"

#include <stdlib.h>

static struct plumb_outcome outcome;
static char *library;

static int set_up(void **state)
{
    library = test_module("broken");
    return 0;
}

AROUND_ALL(set_up, NULL);

TEST(the_choice_and_the_models_are_both_said)
{
    PLUMB_EXPECT(&outcome, "/tmp", 0,
                 "16x16x16:fp32 tries takes second in the regime cold, the model alone first\n",
                 "select", "--trial", library, "--device", "host", "--kernel", "tries",
                 "16x16x16:fp32");
    PLUMB_EXPECT(&outcome, "/tmp", 0, "\"choice\":\"second\",\"model_alone\":\"first\"", "select",
                 "--trial", library, "--device", "host", "--kernel", "tries", "--format", "json",
                 "16x16x16:fp32");
}

// The library is told in prepare() and in launch(), by an option or by the problem itself.
TEST(what_is_tried_is_tried_in_the_regime_that_is_measured)
{
    PLUMB_EXPECT(&outcome, "/tmp", 0, "tries takes third in the regime warm, the model alone first",
                 "select", "--trial", library, "--device", "host", "--kernel", "tries", "--regime",
                 "warm", "16x16x16:fp32");
    PLUMB_EXPECT(&outcome, "/tmp", 0,
                 "\"regime\":\"warm\",\"kernel\":\"tries\",\"state\":\"ok\",\"choice\":\"third\"",
                 "select", "--trial", library, "--device", "host", "--kernel", "tries", "--format",
                 "json", "16x16x16:fp32:warm");
}

// Where nobody says the regime, it is the one that a gate measures in.
TEST(a_choice_is_of_the_regime_that_a_gate_measures)
{
    PLUMB_EXPECT(&outcome, "/tmp", 0,
                 "tile 128x128x64 group 8 stages 6 threads 384 cluster 1x1 "
                 "regime stream predicted_us",
                 "select", "--gpu", "h200-sxm", "--model", "hopper", "4096x4096x4096:bf16");
    PLUMB_EXPECT(&outcome, "/tmp", 0, " regime cold predicted_us", "select", "--gpu", "h200-sxm",
                 "--model", "hopper", "4096x4096x4096:bf16:cold");
    PLUMB_EXPECT(&outcome, "/tmp", 0, "\"regime\":\"dirty\"", "select", "--gpu", "h200-sxm",
                 "--model", "hopper", "--regime", "dirty", "--format", "json",
                 "4096x4096x4096:bf16");
}

TEST(what_cannot_be_timed_says_why)
{
    PLUMB_EXPECT(&outcome, "/tmp", 0, "16x16x16:fp32 unprepared crashed: prepare() returned 5\n",
                 "select", "--trial", library, "--device", "host", "--kernel", "unprepared",
                 "16x16x16:fp32");
    PLUMB_EXPECT(&outcome, "/tmp", 4, "nobody: ", "select", "--trial", library, "--device", "host",
                 "--kernel", "nobody", "16x16x16:fp32");
    PLUMB_EXPECT(&outcome, "/tmp", 4, "crash on 16x16x16:fp32: the process died", "select",
                 "--trial", library, "--device", "host", "--kernel", "crash", "16x16x16:fp32");
}
