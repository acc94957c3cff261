// SPDX-License-Identifier: Apache-2.0
//
// The scripts that record on a GPU (baselines/recorded/h200/*.sh), with stand-ins for what needs
// one: a sweep, a compute-sanitizer, a plumb and a load that behave, are wrong, differ, or are slow
// as files beside them say. A GPU is lent for minutes; every branch has to be right before.
#include "model/base.h"
#include "tests/helper_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { OUTPUT = 1 << 16 };

static const char fake_sweep[] =
    "#!/bin/sh\n"
    "here=$(dirname \"$0\")/..\n"
    "verb=$1\n"
    "shift\n"
    "name() { basename \"$1\" .so | sed 's/^lib//; s/_/-/g'; }\n"
    "rows() { while read -r m n k; do case $m in [0-9]*) ;; *) continue ;; esac\n"
    "  for kernel in cublaslt#0,100 row-a,80 select-bf16,90; do\n"
    "    echo \"$1$m,$n,$k,${kernel%,*},${kernel#*,}.0,1,1.25,1.5,79.0,5\"; done\n"
    "  echo \"$1$m,$n,$k,no-finalist,50.0,1,2,1.5,50.0,3\"\n"
    "  [ ! -e $here/slow ] || exec sleep 60\n"
    "done; }\n"
    "case $verb in\n"
    "list) for file; do echo \"$file $(name \"$file\")\"; done ;;\n"
    "check) case \"$*\" in\n"
    "  *\"$(cat $here/wrong 2>/dev/null || echo none)\"*)\n"
    "    echo \"check: 1 wrong of 14 ($# kernels)\"; exit 3 ;;\n"
    "  *\"$(cat $here/dies 2>/dev/null || echo none)\"*) echo 'no context'; exit 139 ;;\n"
    "  esac\n"
    "  echo \"check: 0 wrong of 14 ($# kernels)\" ;;\n"
    "soak) size=$2x$3x$4; count=$1; shift 4\n"
    "  case \"$*\" in\n"
    "  *\"$(cat $here/dies 2>/dev/null || echo none)\"*) echo 'no context'; exit 139 ;;\n"
    "  esac\n"
    "  words=0; [ ! -e $here/differs ] || words=7\n"
    "  for file; do\n"
    "    echo \"soak $(name \"$file\") $size: $count launches, $words words differ\"; done\n"
    "  [ $words = 0 ] || exit 3 ;;\n"
    "time) [ ! -e $here/dies ] || { echo 'device gone' >&2; exit 4; }\n"
    "  echo in_type,m,n,k,kernel,us,tflops,ratio,ghz,min_us,samples; rows 2, <\"$2\" ;;\n"
    "record) echo commit,kernel,problem,time_ns,clock_hz,device,device_name,regime\n"
    "  while read -r m n k; do\n"
    "    echo \"$1,row-a,${m}x${n}x${k}:bf16,80000,1500000000,GPU-x,H200,cold\"; done <\"$3\" ;;\n"
    "run) ;;\n"
    "esac\n";

static const char fake_sanitizer[] =
    "#!/bin/sh\n"
    "here=$(dirname \"$0\")/..\n"
    "case \"$*\" in\n"
    "*tf32-nn*) echo 'tf32-nn: no such kernel for this problem'; exit 4 ;;\n"
    "*racecheck*$(cat $here/racy 2>/dev/null || echo none)*)\n"
    "  echo '========= RACECHECK SUMMARY: 2 hazards displayed (2 errors, 0 warnings)' ;;\n"
    "*racecheck*)\n"
    "  echo '========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)' ;;\n"
    "*) echo '========= ERROR SUMMARY: 0 errors' ;;\n"
    "esac\n";

// A study writes a gate of identical code and one of another binary, a clock that steps, and what
// it was asked into `asked`.
static const char fake_plumb[] =
    "#!/bin/sh\n"
    "here=$(dirname \"$0\")/..\n"
    "echo \"$*\" >>$here/asked\n"
    "verb=$1\n"
    "while [ $# -gt 0 ]; do\n"
    "  case $1 in\n"
    "  --csv) printf 'kind,kernel\\naa,x,p,0,same\\nslower,bf16_again,p,0,slower\\n' >\"$2\" ;;\n"
    "  --samples) { echo kind,base_head_mhz; echo \"aa,$(for i in $(seq 32); do\n"
    "    echo $((1300 + 400 * (i / 17))); done | tr '\\n' ' ')\"; } >\"$2\" ;;\n"
    "  --store) : >>\"$2\" ;;\n"
    "  esac\n"
    "  shift\n"
    "done\n"
    "case $verb in\n"
    "study) [ ! -e $here/broken ] || { echo 'plumb: no device'; exit 4; }\n"
    "  echo 'A/A: 0 false alarms in 1 gates' ;;\n"
    "gate) echo 'plumb: 1 series side by side in 4 processes'; echo 'SLOWER: one'; exit 1 ;;\n"
    "esac\n";

// Every block 64 pairs: head is 2 % slower where base is on its own memory, else as fast; one
// series in three processes has no answer.
static const char fake_bench[] =
    "#!/bin/sh\n"
    "exec awk -F '\\t' '\n"
    "/apart=1/ { own[substr($2, 4)] = 1 }\n"
    "$1 == \"pairs\" { id = substr($2, 4)\n"
    "  for (i = 0; i < 64; i++) { noise = 1 + (i % 8) / 1000\n"
    "    printf \"sample\\tid=%d\\trole=base\\torder=0\\tlaunches=2\\ttime_ns=1000\\n\", id\n"
    "    printf \"sample\\tid=%d\\trole=head\\torder=1\\tlaunches=2\\ttime_ns=%.4f\\n\", id,\n"
    "      1000 * noise * (own[id] ? 1.02 : 1) } }\n"
    "$1 == \"open\" { print \"opened\\t\" $2 \"\\tstate=\" ($0 ~ /latency.*apart=1/ ? \"wrong\" : "
    "\"ok\") }\n"
    "{ print $1 == \"close\" ? \"closed\\t\" $2 \"\\tstate=ok\" : \"done\" }'\n";

static const char *const modules[] = {
    "libtf32_1_mma",     "libtf32_nn",         "libtf32_9_persistent", "libtf32_pingpong",
    "libbf16_gemv",      "libbf16_persistent", "libspace_bf16_few",    "libselect_bf16",
    "libspace_e4m3_few", "libspace_tf32_few",  "libcublaslt_wide",     "libcublaslt_wide_fast"};

static char *folder, output[OUTPUT];

static void program(const char *name, const char *text)
{
    char *path = xprintf("%s/%s", folder, name), *command = xprintf("chmod +x '%s'", path);
    helper_write_text(path, text);
    assert_int_equal(system(command), 0);
    free(path);
    free(command);
}

static void put(const char *name, const char *text)
{
    char *path = xprintf("%s/%s", folder, name);
    helper_write_text(path, text);
    free(path);
}

static int set_up(void **state)
{
    (void)state;
    folder = helper_directory();
    char *make = xprintf("mkdir -p '%s/bin' '%s/tools' '%s/kernels' '%s/libs/cost.git'", folder,
                         folder, folder, folder);
    assert_int_equal(system(make), 0);
    free(make);
    program("bin/sweep", fake_sweep);
    program("bin/plumb", fake_plumb);
    program("bin/bench", fake_bench);
    program("tools/compute-sanitizer", fake_sanitizer);
    program("tools/nvidia-smi", "#!/bin/sh\necho H200\n");
    program("libs/load", "#!/bin/sh\necho works\nexec sleep 60\n");
    put("commit", "0123456789012345678901234567890123456789\n");
    for (size_t i = 0; i < sizeof(modules) / sizeof(*modules); i++) {
        char *name = xprintf("kernels/%s.so", modules[i]);
        put(name, "");
        free(name);
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    helper_discard(folder);
    free(folder);
    return 0;
}

// The script of baselines/recorded/h200 with these arguments, in `folder`; its exit code.
static int run(const char *arguments)
{
    char *command =
        xprintf("cd '%s' && PATH=\"$PWD/tools:$PATH\" sh %s/baselines/recorded/h200/%s 2>&1",
                folder, TEST_SOURCE, arguments);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    output[fread(output, 1, OUTPUT - 1, pipe)] = '\0';
    const int status = pclose(pipe);
    free(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void ran(const char *arguments, int code)
{
    const int got = run(arguments);
    if (got != code)
        fail_msg("%s: exit %d, not %d:\n%s", arguments, got, code, output);
}

static void said(const char *part)
{
    if (!strstr(output, part))
        fail_msg("not said: %s\nbut: %s", part, output);
}

static void file_says(const char *name, const char *part)
{
    char *path = xprintf("%s/%s", folder, name), *text = helper_read(path, NULL);
    if (!strstr(text, part))
        fail_msg("%s lacks %s:\n%s", name, part, text);
    free(text);
    free(path);
}

// ---- ladder.sh ----

static void ladder_records_every_part(void **state)
{
    (void)state;
    ran("ladder.sh out 300 .", 0);
    // The five single kernels are one process.
    said("check: 5 of 5 processes found nothing wrong, 70 products of 10 kernels");
    said("dsv3.bf16: 40 of 40 problems");
    said("wide.more.tf32: 20 of 20 problems");
    said("soak: 19 of 19 without a difference");
    // Five single kernels and four rows, three tools, two sizes; tf32-nn says no to all six. For
    // m = 1 one size.
    said("sanitize: 51 clean, 0 not, 6 ended by a limit or not for the problem, 0 left out");
    said("| dsv3 | bf16 | 40 | 1.250 (1.250) | - | 1.111 (1.111) | 0.889 (0.889) |");
    said("in all: ");
    file_says("out/machine.txt", "0123456789");
    file_says("out/sanitizer.txt", "bf16-persistent synccheck 1500 3000 400 rc 0");
    file_says("asked", "import --format=csv - --store");
    assert_true(helper_exists(folder, "out/store.db"));
    assert_false(helper_exists(folder, "out/dsv3.bf16.err"));
}

static void ladder_says_what_is_wrong(void **state)
{
    (void)state;
    put("wrong", "space_bf16_few");
    put("differs", "");
    put("racy", "bf16-persistent");
    ran("ladder.sh out 300 . check soak sanitize", 3);
    said("check libspace_bf16_few.so: check: 1 wrong of 14");
    said("check: 4 of 5 processes found nothing wrong");
    said("soak 3000 5000 272: soak bf16-gemv 3000x5000x272: 1000 launches, 7 words differ");
    said("sanitize: bf16-persistent racecheck");
    file_says("out/sanitizer.bf16-persistent.racecheck.txt", "2 hazards");
    assert_false(helper_exists(folder, "out/dsv3.bf16.csv"));
}

// One module ends every process that has it; the others are still seen, alone.
static void ladder_goes_on_after_what_dies(void **state)
{
    (void)state;
    put("dies", "libtf32_nn.so");
    ran("ladder.sh out 300 . check soak seed2 record", 4);
    said("check libtf32_nn.so: no context");
    said("check: 9 of 10 processes found nothing wrong, 126 products of 9 kernels");
    said("soak 16 2112 7168 libtf32_nn.so: exit 139: no context");
    said("soak: 16 of 16 without a difference");
    said("seed2: exit 4: device gone");
    file_says("out/check.txt", "libtf32_9_persistent.so rc 0");
    put("commit", "0123456789012345678901234567890123456789\n");
    program("bin/plumb", "#!/bin/sh\necho 'plumb: no room'\nexit 4\n");
    ran("ladder.sh out 300 . record", 4);
    said("record: plumb import: exit 4");
    said("record: plumb: no room");
}

static void ladder_keeps_to_its_time(void **state)
{
    (void)state;
    put("slow", "");
    ran("ladder.sh out 14 . seed2 times check", 0);
    said("seed2: 1 of 1 problems in");
    said("ended by its time limit");
    said("dsv3.tf32: left out, no time");
    said("check single kernels: left out, no time");
    ran("ladder.sh out 1 . sanitize record", 0);
    said("sanitize: left out, no time");
    said("record: left out, no time");
}

static void ladder_says_what_is_missing(void **state)
{
    (void)state;
    ran("ladder.sh", 4);
    said("ladder.sh OUT [SECONDS [FOLDER");
    ran("ladder.sh out 60 . nothing", 4);
    said("nothing: no such part");
    ran("ladder.sh out 60 ./tools", 4);
    said("bin/sweep is not there");
    program("tools/nvidia-smi", "#!/bin/sh\necho 'no devices were found'\nexit 6\n");
    ran("ladder.sh out 60 . check", 4);
    said("no GPU here: no devices were found");
    program("tools/nvidia-smi", "#!/bin/sh\necho H200\n");
    char *command =
        xprintf("rm '%s/tools/compute-sanitizer' '%s/kernels/libtf32_nn.so'", folder, folder);
    assert_int_equal(system(command), 0);
    free(command);
    if (system("command -v compute-sanitizer >/dev/null || "
               "test -x /usr/local/cuda/bin/compute-sanitizer") != 0) {
        ran("ladder.sh out 60 . sanitize", 4);
        said("compute-sanitizer is not installed here");
    }
}

// The table of recorded times is the one in kernels/README.md.
static void table_is_what_the_readme_says(void **state)
{
    (void)state;
    static const char *const figures[] = {
        "| dsv3 | bf16 | 39 | 1.115 (0.990) | 1.108 (0.964) |",
        "| dsv3 | tf32 | 39 | 1.114 (1.015) | 1.107 (0.996) |",
        "| dsv3 | e4m3 fast | 37 | 1.013 (0.989) | 1.009 (0.971) |",
        "| dsv3 | e4m3 promoted | 37 | 1.046 (1.003) | 1.044 (0.990) |",
        "| more | bf16 | 20 | 1.052 (0.946) | 1.039 (0.854) |",
        "| more | tf32 | 20 | 1.127 (1.015) | 1.120 (0.971) |",
        "| more | e4m3 fast | 19 | 1.006 (0.962) | 0.996 (0.910) |",
        "| more | e4m3 promoted | 19 | 1.015 (0.928) | 1.011 (0.928) |",
        "| smallm | bf16 | 20 | 1.019 (0.945) | 1.008 (0.929) |",
        "| smallm | tf32 | 20 | 1.077 (0.959) | 1.057 (0.933) |",
        "| smallm | e4m3 fast | 20 | 1.048 (0.978) | 1.036 (0.970) |",
        "| smallm | e4m3 promoted | 20 | 1.019 (0.931) | 1.000 (0.914) |",
        "| dsv3.bf16 | 39 | 1.007 (1.111) | 4 | 1.108 (0.988) |",
        "| dsv3.e4m3 | 37 | 1.002 (1.024) | 2 | 1.011 (0.984) |",
        "| dsv3.tf32 | 24 | 1.007 (1.038) | 5 | 1.049 (1.010) |",
        "| more.bf16 | 20 | 1.002 (1.017) | 2 | 1.050 (0.938) |",
        "| more.e4m3 | 17 | 1.004 (1.030) | 3 | 1.006 (0.954) |",
        "| more.tf32 | 20 | 1.006 (1.028) | 5 | 1.121 (1.010) |"};
    char *command =
        xprintf("ladder-table.sh %s/baselines/recorded/h200/ladder %s/fit", TEST_SOURCE, TEST_BIN);
    ran(command, 0);
    free(command);
    char *path = xprintf("%s/kernels/README.md", TEST_SOURCE), *readme = helper_read(path, NULL);
    for (size_t i = 0; i < sizeof(figures) / sizeof(*figures); i++) {
        char cell[16];
        said(figures[i]);
        assert_int_equal(sscanf(strchr(figures[i], '('), "(%15[0-9.]", cell), 1);
        if (i < 12 && !strstr(readme, cell)) // the worst of brute force
            fail_msg("%s is not in kernels/README.md", cell);
    }
    free(readme);
    free(path);
}

// ---- study.sh, cost.sh, clocks.sh ----

static void study_plays_the_most_important_first(void **state)
{
    (void)state;
    ran("study.sh out bin/plumb libs half step:20 cost neighbour", 0);
    const char *half = strstr(output, "half: "), *step = strstr(output, "step: ");
    assert_true(half && step && half < step);
    said("samples-step: SM clock p10 1.300, p90 1.700 GHz in 32 samples; 1 of 1 neighbouring "
         "blocks 3 % apart or more, at most 30.8 %\n");
    said("step: other binaries of the same kernel: 1 alarms in 1");
    said("samples-neighbour: SM clock");
    file_says("out/clocks-step.csv", "1300.0 1700.0,");
    said("== mixed");
    said("1 series side by side");
    file_says("asked", "--rounds 11 --seconds 55");
    file_says("asked", "/libs/half/base");
    file_says("asked", "--rounds 30 --seconds 20");
    file_says("asked", "gate -C");
    file_says("out/load-step.txt", "works");
    assert_true(helper_exists(folder, "out/cost/gates.txt"));
    assert_true(helper_exists(folder, "out/study.jsonl"));
}

static void study_keeps_to_its_time(void **state)
{
    (void)state;
    ran("study.sh --seconds 60 out bin/plumb libs half near", 0);
    file_says("asked", "--rounds 11 --seconds 4"); // 48 or less on a busy machine: 55 does not fit
    ran("study.sh --seconds 15 out bin/plumb libs half", 0);
    said("half: left out, no time");
    ran("study.sh --short out bin/plumb libs near", 0);
    file_says("asked", "--rounds 1 --seconds 85");
    ran("study.sh", 4);
    said("most important first");
}

static void pairs_that_are_no_gates_are_not_counted_as_such(void **state)
{
    (void)state;
    ran("study.sh out bin/plumb libs gemmcross", 0);
    said("no gates");
    if (strstr(output, "A/A"))
        fail_msg("counted: %s", output);
}

// 64 pairs of 0 to 0.7 %: trimmed mean of their logarithms 0.349 %, winsorised SD 0.230 %, standard
// error 0.230 / (0.8 x 8) %; 2 % more are 1.980 in logarithms.
static void memory_is_compared_block_by_block(void **state)
{
    (void)state;
    ran("study.sh --short out bin/plumb libs memory", 0);
    said("memory.sh: process 0: nothing of latency_0050,64x64x256:fp32,own");
    said("| all |  |  | shared | 7 | 0.036 % | +0.349 % | 0.000 % | 9.70 | 7 | 7 |");
    said("| all |  |  | own | 6 | 0.036 % | +2.329 % | 0.000 % | 64.71 | 6 | 6 |");
    file_says("out/memory.csv", "0,compute_0050,1024x1024x2048:fp32,shared,2,1.000,0.3492,0.036");
    file_says("out/memory.txt", "| bf16_0050 | 4096x4096x4096:bf16 | 1.0 us | own | 1 |");
    ran("memory.sh --table out/memory.csv", 0);
    said("| all |  |  | own | 6 |");
    ran("memory.sh out/memory.csv", 4);
    program("bin/bench", "#!/bin/sh\nexit 40\n");
    ran("study.sh --short out bin/plumb libs memory", 0);
    said("memory.sh: process 0: bench ended with 40");
}

static void study_goes_on_after_a_part_that_fails(void **state)
{
    (void)state;
    put("broken", "");
    ran("study.sh out bin/plumb libs half step", 0);
    said("half: exit 4: plumb: no device");
    said("step: exit 4");
}

// The table of recorded gates is the one in the README beside them.
static void study_table_is_what_the_readme_says(void **state)
{
    (void)state;
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
    ran("study-table.sh " H200 "study " H200 "study/second " H200 "study/alone " H200 "study/third",
        0);
    for (size_t i = 0; i < sizeof(figures) / sizeof(*figures); i++)
        said(figures[i]);
    ran("study-table.sh " H200 "study " H200 "study/second " H200 "study/third " H200
        "study/fourth",
        0);
    said("False alarms, with those beside another process: 0 of 5180 gates of identical code");
    ran("study-table.sh kernels", 4);
    said("no study-*.csv in kernels");
}

static void clocks_that_stand_still_are_no_step(void **state)
{
    (void)state;
    char text[512] = "kind,base_head_mhz\naa,";
    for (int i = 0; i < 32; i++)
        strcat(text, i % 2 ? "1710 " : "1700 ");
    put("still.csv", text);
    ran("clocks.sh still.csv", 0);
    said("0 of 1 neighbouring blocks 3 % apart or more, at most 0.0 %: NO STEP");
    put("none.csv", "kind,base_head_mhz\naa,0 0 0 0\n");
    ran("clocks.sh none.csv", 0);
    said("no clocks were recorded");
}

int main(void)
{
#define EACH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        EACH(ladder_records_every_part),
        EACH(ladder_says_what_is_wrong),
        EACH(ladder_goes_on_after_what_dies),
        EACH(ladder_keeps_to_its_time),
        EACH(ladder_says_what_is_missing),
        EACH(table_is_what_the_readme_says),
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
