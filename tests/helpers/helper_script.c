// SPDX-License-Identifier: Apache-2.0
//
// Runs the recording scripts with stand-ins for all that needs a GPU.
#include "tests/helpers/helper_script.h"
#include "model/base.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

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

char *script_folder, script_output[SCRIPT_OUTPUT];

void script_program(const char *name, const char *text)
{
    char *path = xprintf("%s/%s", script_folder, name), *command = xprintf("chmod +x '%s'", path);
    helper_write_text(path, text);
    assert_int_equal(system(command), 0);
    free(path);
    free(command);
}

void script_put(const char *name, const char *text)
{
    char *path = xprintf("%s/%s", script_folder, name);
    helper_write_text(path, text);
    free(path);
}

int script_set_up(void **state)
{
    script_folder = helper_directory();
    char *make = xprintf("mkdir -p '%s/bin' '%s/tools' '%s/kernels' '%s/libs/cost.git'",
                         script_folder, script_folder, script_folder, script_folder);
    assert_int_equal(system(make), 0);
    free(make);
    script_program("bin/sweep", fake_sweep);
    script_program("bin/plumb", fake_plumb);
    script_program("bin/bench", fake_bench);
    script_program("tools/compute-sanitizer", fake_sanitizer);
    script_program("tools/nvidia-smi", "#!/bin/sh\necho H200\n");
    script_program("libs/load", "#!/bin/sh\necho works\nexec sleep 60\n");
    script_put("commit", "0123456789012345678901234567890123456789\n");
    for (size_t i = 0; i < sizeof(modules) / sizeof(*modules); i++) {
        char *name = xprintf("kernels/%s.so", modules[i]);
        script_put(name, "");
        free(name);
    }
    return 0;
}

int script_tear_down(void **state)
{
    helper_discard(script_folder);
    free(script_folder);
    return 0;
}

// The script of baselines/recorded/h200 with these arguments, in `script_folder`; its exit code.
static int run(const char *arguments)
{
    char *command =
        xprintf("cd '%s' && PATH=\"$PWD/tools:$PATH\" sh %s/baselines/recorded/h200/%s 2>&1",
                script_folder, TEST_SOURCE, arguments);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    script_output[fread(script_output, 1, SCRIPT_OUTPUT - 1, pipe)] = '\0';
    const int status = pclose(pipe);
    free(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void script_ran(const char *arguments, int code)
{
    const int got = run(arguments);
    if (got != code)
        fail_msg("%s: exit %d, not %d:\n%s", arguments, got, code, script_output);
}

void script_said(const char *part)
{
    if (!strstr(script_output, part))
        fail_msg("not said: %s\nbut: %s", part, script_output);
}

void script_file_says(const char *name, const char *part)
{
    char *path = xprintf("%s/%s", script_folder, name), *text = helper_read(path, NULL);
    if (!strstr(text, part))
        fail_msg("%s lacks %s:\n%s", name, part, text);
    free(text);
    free(path);
}
