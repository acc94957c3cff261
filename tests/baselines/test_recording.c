// SPDX-License-Identifier: Apache-2.0
//
// baselines/recorded/h200/ladder.sh and its table, with stand-ins for what needs a GPU. One is lent
// for minutes; every branch has to be right before.
#include "model/base.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_script.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void ladder_records_every_part(void **state)
{
    script_ran("ladder.sh out 300 .", 0);
    // The five single kernels are one process.
    script_said("check: 5 of 5 processes found nothing wrong, 70 products of 10 kernels");
    script_said("dsv3.bf16: 40 of 40 problems");
    script_said("wide.more.tf32: 20 of 20 problems");
    script_said("dual: 4 of 4 problems");
    script_said("mlp: 20 of 20 problems");
    script_said("dual-unseen: 24 of 24 problems");
    script_said("ragged.bf16: 12 of 12 problems");
    script_said("soak: 19 of 19 without a difference");
    // Five single kernels and four rows, three tools, two sizes; tf32-nn says no to all six. For
    // m = 1 one size.
    script_said("sanitize: 51 clean, 0 not, 6 ended by a limit or not for the problem, 0 left out");
    script_said("| dsv3 | bf16 | 40 | 1.250 (1.250) | - | 1.111 (1.111) | 0.889 (0.889) |");
    script_said("in all: ");
    script_file_says("out/machine.txt", "0123456789");
    script_file_says("out/sanitizer.txt", "bf16-persistent synccheck 1500 3000 400 rc 0");
    script_file_says("asked", "import --format=csv - --store");
    assert_true(helper_exists(script_folder, "out/store.db"));
    assert_false(helper_exists(script_folder, "out/dsv3.bf16.err"));
}

static void ladder_says_what_is_wrong(void **state)
{
    script_put("wrong", "space_bf16_few");
    script_put("differs", "");
    script_put("racy", "bf16-persistent");
    script_ran("ladder.sh out 300 . check soak sanitize", 3);
    script_said("check libspace_bf16_few.so: check: 1 wrong of 14");
    script_said("check: 4 of 5 processes found nothing wrong");
    script_said("soak 3000 5000 272: soak bf16-gemv 3000x5000x272: 1000 launches, 7 words differ");
    script_said("sanitize: bf16-persistent racecheck");
    script_file_says("out/sanitizer.bf16-persistent.racecheck.txt", "2 hazards");
    assert_false(helper_exists(script_folder, "out/dsv3.bf16.csv"));
}

// One module ends every process that has it; the others are still seen, alone.
static void ladder_goes_on_after_what_dies(void **state)
{
    script_put("dies", "libtf32_nn.so");
    script_ran("ladder.sh out 300 . check soak seed2 record", 4);
    script_said("check libtf32_nn.so: no context");
    script_said("check: 9 of 10 processes found nothing wrong, 126 products of 9 kernels");
    script_said("soak 16 2112 7168 libtf32_nn.so: exit 139: no context");
    script_said("soak: 16 of 16 without a difference");
    script_said("seed2: exit 4: device gone");
    script_file_says("out/check.txt", "libtf32_9_persistent.so rc 0");
    script_put("commit", "0123456789012345678901234567890123456789\n");
    script_program("bin/plumb", "#!/bin/sh\necho 'plumb: no room'\nexit 4\n");
    script_ran("ladder.sh out 300 . record", 4);
    script_said("record: plumb import: exit 4");
    script_said("record: plumb: no room");
}

static void ladder_keeps_to_its_time(void **state)
{
    script_put("slow", "");
    script_ran("ladder.sh out 14 . seed2 times check", 0);
    script_said("seed2: 1 of 1 problems in");
    script_said("ended by its time limit");
    script_said("dsv3.tf32: left out, no time");
    script_said("check single kernels: left out, no time");
    script_ran("ladder.sh out 1 . sanitize record", 0);
    script_said("sanitize: left out, no time");
    script_said("record: left out, no time");
}

static void ladder_says_what_is_missing(void **state)
{
    script_ran("ladder.sh", 4);
    script_said("ladder.sh OUT [SECONDS [FOLDER");
    script_ran("ladder.sh out 60 . nothing", 4);
    script_said("nothing: no such part");
    script_ran("ladder.sh out 60 ./tools", 4);
    script_said("bin/sweep is not there");
    script_program("tools/nvidia-smi", "#!/bin/sh\necho 'no devices were found'\nexit 6\n");
    script_ran("ladder.sh out 60 . check", 4);
    script_said("no GPU here: no devices were found");
    script_program("tools/nvidia-smi", "#!/bin/sh\necho H200\n");
    char *command = xprintf("rm '%s/tools/compute-sanitizer' '%s/kernels/libtf32_nn.so'",
                            script_folder, script_folder);
    assert_int_equal(system(command), 0);
    free(command);
    if (system("command -v compute-sanitizer >/dev/null || "
               "test -x /usr/local/cuda/bin/compute-sanitizer") != 0) {
        script_ran("ladder.sh out 60 . sanitize", 4);
        script_said("compute-sanitizer is not installed here");
    }
}

// The table of recorded times is the one in kernels/README.md.
static void table_is_what_the_readme_says(void **state)
{
    static const char *const figures[] = {
        "| dsv3 | bf16 | 39 | 1.115 (0.990) | 1.105 (0.964) |",
        "| dsv3 | tf32 | 39 | 1.114 (1.015) | 1.105 (1.000) |",
        "| dsv3 | e4m3 fast | 37 | 1.013 (0.989) | 1.009 (0.971) |",
        "| dsv3 | e4m3 promoted | 37 | 1.046 (1.003) | 1.041 (0.970) |",
        "| more | bf16 | 20 | 1.052 (0.946) | 1.043 (0.921) |",
        "| more | tf32 | 20 | 1.127 (1.015) | 1.122 (0.971) |",
        "| more | e4m3 fast | 19 | 1.006 (0.962) | 0.999 (0.953) |",
        "| more | e4m3 promoted | 19 | 1.015 (0.928) | 1.010 (0.919) |",
        "| smallm | bf16 | 20 | 1.019 (0.945) | 1.007 (0.931) |",
        "| smallm | tf32 | 20 | 1.077 (0.959) | 1.060 (0.955) |",
        "| smallm | e4m3 fast | 20 | 1.048 (0.978) | 1.035 (0.955) |",
        "| smallm | e4m3 promoted | 20 | 1.019 (0.931) | 0.999 (0.914) |",
        "| dsv3.bf16 | 39 | 1.007 (1.111) | 4 | 1.108 (0.988) |",
        "| dsv3.e4m3 | 37 | 1.002 (1.024) | 2 | 1.011 (0.984) |",
        "| dsv3.tf32 | 24 | 1.007 (1.038) | 5 | 1.049 (1.010) |",
        "| more.bf16 | 20 | 1.002 (1.017) | 2 | 1.050 (0.938) |",
        "| more.e4m3 | 17 | 1.004 (1.030) | 3 | 1.006 (0.954) |",
        "| more.tf32 | 20 | 1.006 (1.028) | 5 | 1.121 (1.010) |"};
    char *command =
        xprintf("ladder-table.sh %s/baselines/recorded/h200/ladder %s/fit", TEST_SOURCE, TEST_BIN);
    script_ran(command, 0);
    free(command);
    char *path = xprintf("%s/kernels/README.md", TEST_SOURCE), *readme = helper_read(path, NULL);
    for (size_t i = 0; i < sizeof(figures) / sizeof(*figures); i++) {
        char cell[16];
        script_said(figures[i]);
        assert_int_equal(sscanf(strchr(figures[i], '('), "(%15[0-9.]", cell), 1);
        if (i < 12 && !strstr(readme, cell)) // the worst of brute force
            fail_msg("%s is not in kernels/README.md", cell);
    }
    free(readme);
    free(path);
}

int main(void)
{
#define EACH(test) cmocka_unit_test_setup_teardown(test, script_set_up, script_tear_down)
    const struct CMUnitTest tests[] = {
        EACH(ladder_records_every_part),      EACH(ladder_says_what_is_wrong),
        EACH(ladder_goes_on_after_what_dies), EACH(ladder_keeps_to_its_time),
        EACH(ladder_says_what_is_missing),    EACH(table_is_what_the_readme_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
