// SPDX-License-Identifier: Apache-2.0
//
// baselines/recorded/h200/study.sh, memory.sh, clocks.sh and their tables, with stand-ins for what
// needs a GPU. One is lent for minutes; every branch has to be right before.
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_script.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void study_plays_the_most_important_first(void **state)
{
    script_ran("study.sh out bin/plumb libs half step:20 cost neighbour", 0);
    const char *half = strstr(script_output, "half: "), *step = strstr(script_output, "step: ");
    assert_true(half && step && half < step);
    script_said(
        "samples-step: SM clock p10 1.300, p90 1.700 GHz in 32 samples; 1 of 1 neighbouring "
        "blocks 3 % apart or more, at most 30.8 %\n");
    script_said("step: other binaries of the same kernel: 1 alarms in 1");
    script_said("samples-neighbour: SM clock");
    script_file_says("out/clocks-step.csv", "1300.0 1700.0,");
    script_said("== mixed");
    script_said("1 series side by side");
    script_file_says("asked", "--rounds 11 --seconds 55");
    script_file_says("asked", "/libs/half/base");
    script_file_says("asked", "--rounds 30 --seconds 20");
    script_file_says("asked", "gate -C");
    script_file_says("out/load-step.txt", "works");
    assert_true(helper_exists(script_folder, "out/cost/gates.txt"));
    assert_true(helper_exists(script_folder, "out/study.jsonl"));
}

static void study_keeps_to_its_time(void **state)
{
    script_ran("study.sh --seconds 60 out bin/plumb libs half near", 0);
    script_file_says("asked",
                     "--rounds 11 --seconds 4"); // 48 or less on a busy machine: 55 does not fit
    script_ran("study.sh --seconds 15 out bin/plumb libs half", 0);
    script_said("half: left out, no time");
    script_ran("study.sh --short out bin/plumb libs near", 0);
    script_file_says("asked", "--rounds 1 --seconds 85");
    script_ran("study.sh", 4);
    script_said("most important first");
}

static void pairs_that_are_no_gates_are_not_counted_as_such(void **state)
{
    script_ran("study.sh out bin/plumb libs gemmcross", 0);
    script_said("no gates");
    if (strstr(script_output, "A/A"))
        fail_msg("counted: %s", script_output);
}

// 64 pairs of 0 to 0.7 %: trimmed mean of their logarithms 0.349 %, winsorised SD 0.230 %, standard
// error 0.230 / (0.8 x 8) %; 2 % more are 1.980 in logarithms.
static void memory_is_compared_block_by_block(void **state)
{
    script_ran("study.sh --short out bin/plumb libs memory", 0);
    script_said("memory.sh: process 0: nothing of latency_0050,64x64x256:fp32,own");
    script_said("| all |  |  | shared | 7 | 0.036 % | +0.349 % | 0.000 % | 9.70 | 7 | 7 |");
    script_said("| all |  |  | own | 6 | 0.036 % | +2.329 % | 0.000 % | 64.71 | 6 | 6 |");
    script_file_says("out/memory.csv",
                     "0,compute_0050,1024x1024x2048:fp32,shared,2,1.000,0.3492,0.036");
    script_file_says("out/memory.txt", "| bf16_0050 | 4096x4096x4096:bf16 | 1.0 us | own | 1 |");
    script_ran("memory.sh --table out/memory.csv", 0);
    script_said("| all |  |  | own | 6 |");
    script_ran("memory.sh out/memory.csv", 4);
    script_program("bin/bench", "#!/bin/sh\nexit 40\n");
    script_ran("study.sh --short out bin/plumb libs memory", 0);
    script_said("memory.sh: process 0: bench ended with 40");
}

static void study_goes_on_after_a_part_that_fails(void **state)
{
    script_put("broken", "");
    script_ran("study.sh out bin/plumb libs half step", 0);
    script_said("half: exit 4: plumb: no device");
    script_said("step: exit 4");
}

// The table of recorded gates is the one in the README beside them.
static void study_table_is_what_the_readme_says(void **state)
{
    static const char *const figures[] = {
        "False alarms: 0 of 3054 gates of identical code (0 before confirmation); at most 0.098 %",
        "beside another process: 0 of 3280 gates of identical code (0 before confirmation); at "
        "most 0.0913 %",
        "| compute_0050 | 1024x1024x2048:fp32-fp32:tn | 241.3 us | 0.49 % | 84 of 84 | 0 | 0 | 654 "
        "| 0.31 s |",
        "| memory_0030 | 65536x4x1024:fp32-fp32:tn | 157.0 us | 0.20 % | 0 of 18 | 0 | 13 | 444 |",
        "| memory_varies | 65536x4x1024:fp32-fp32:tn | 159.2 us | 0.37 % | 3 of 18 | 0 | 15 | 1096 "
        "|",
        "| bf16 | 4096x4096x4096:bf16-bf16:tn | same file | 5 x 23 | 0.125 % | 0.016 % | -0.180 % "
        "| "
        "0.075 % | 0.095 % | 0.33 % |",
        "| memory | 65536x4x1024:fp32-fp32:tn | other binary | 5 x 22 | 0.026 % | 0.023 % | "
        "+0.040 % | 0.110 % | 0.105 % | 0.32 % |",
    };
#define H200 TEST_SOURCE "/baselines/recorded/h200/"
    script_ran("study-table.sh " H200 "study " H200 "study/second " H200 "study/alone " H200
               "study/third",
               0);
    for (size_t i = 0; i < sizeof(figures) / sizeof(*figures); i++)
        script_said(figures[i]);
    script_ran("study-table.sh " H200 "study " H200 "study/second " H200 "study/third " H200
               "study/fourth",
               0);
    script_said(
        "False alarms, with those beside another process: 0 of 5180 gates of identical code");
    script_ran("study-table.sh kernels", 4);
    script_said("no study-*.csv in kernels");
}

static void clocks_that_stand_still_are_no_step(void **state)
{
    char text[512] = "kind,base_head_mhz\naa,";
    for (int i = 0; i < 32; i++)
        strcat(text, i % 2 ? "1710 " : "1700 ");
    script_put("still.csv", text);
    script_ran("clocks.sh still.csv", 0);
    script_said("0 of 1 neighbouring blocks 3 % apart or more, at most 0.0 %: NO STEP");
    script_put("none.csv", "kind,base_head_mhz\naa,0 0 0 0\n");
    script_ran("clocks.sh none.csv", 0);
    script_said("no clocks were recorded");
}

int main(void)
{
#define EACH(test) cmocka_unit_test_setup_teardown(test, script_set_up, script_tear_down)
    const struct CMUnitTest tests[] = {
        EACH(study_plays_the_most_important_first),
        EACH(study_keeps_to_its_time),
        EACH(pairs_that_are_no_gates_are_not_counted_as_such),
        EACH(memory_is_compared_block_by_block),
        EACH(study_goes_on_after_a_part_that_fails),
        EACH(study_table_is_what_the_readme_says),
        EACH(clocks_that_stand_still_are_no_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
