// SPDX-License-Identifier: Apache-2.0
//
// baselines/recorded/gates/record.sh with stand-ins for what needs a GPU. One is lent for minutes;
// every branch has to be right before.
#include "model/base.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { SCRIPT_OUTPUT = 1 << 16 };

// A directory with the stand-ins, and what the script that ran last printed.
static char *script_folder, script_output[SCRIPT_OUTPUT];

// Ends as the truth of the gate's head says; a file `as` has another head's name that it takes it
// for. A file `slow` has the command that hangs.
static const char fake_plumb[] =
    "#!/bin/sh\n"
    "here=$(dirname \"$0\")/..\n"
    "echo \"$*\" >>$here/asked\n"
    "[ \"$1\" != \"$(cat $here/slow 2>/dev/null)\" ] || exec sleep 60\n"
    "verb=$1 head=\n"
    "while [ $# -gt 0 ]; do\n"
    "  case $1 in\n"
    "  --head) head=$2 ;;\n"
    "  --store) : >>\"$2\" ;;\n"
    "  --out) mkdir -p \"$2\"; echo page >\"$2/index.html\" ;;\n"
    "  esac\n"
    "  shift\n"
    "done\n"
    "[ ! -e $here/as ] || head=$(cat $here/as)\n"
    "case $verb in\n"
    "gate) case $head in\n"
    "  slower) echo 'SLOWER: 1 slower'; exit 1 ;;\n"
    "  unbuildable | wrong) echo \"BROKEN: $head\"; exit 3 ;;\n"
    "  *) echo \"OK: it says \\\"$head\\\"\" ;;\n"
    "  esac ;;\n"
    "export) echo '{}' ;;\n"
    "*) echo \"$verb done\" ;;\n"
    "esac\n";

static void script_program(const char *name, const char *text)
{
    char *path = xprintf("%s/%s", script_folder, name), *command = xprintf("chmod +x '%s'", path);
    helper_write_text(path, text);
    assert_int_equal(system(command), 0);
    free(path);
    free(command);
}

static void script_put(const char *name, const char *text)
{
    char *path = xprintf("%s/%s", script_folder, name);
    helper_write_text(path, text);
    free(path);
}

// The script of baselines/recorded/gates with these arguments, in `script_folder`; its exit code.
static int run(const char *arguments)
{
    char *command =
        xprintf("cd '%s' && PATH=\"$PWD/tools:$PATH\" sh %s/baselines/recorded/gates/%s 2>&1",
                script_folder, TEST_SOURCE, arguments);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    script_output[fread(script_output, 1, SCRIPT_OUTPUT - 1, pipe)] = '\0';
    const int status = pclose(pipe);
    free(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void script_ran(const char *arguments, int code)
{
    const int got = run(arguments);
    if (got != code)
        fail_msg("%s: exit %d, not %d:\n%s", arguments, got, code, script_output);
}

static void script_said(const char *part)
{
    if (!strstr(script_output, part))
        fail_msg("not said: %s\nbut: %s", part, script_output);
}

static void script_file_says(const char *name, const char *part)
{
    char *path = xprintf("%s/%s", script_folder, name), *text = helper_read(path, NULL);
    if (!strstr(text, part))
        fail_msg("%s lacks %s:\n%s", name, part, text);
    free(text);
    free(path);
}

static int script_tear_down(void **state)
{
    helper_discard(script_folder);
    free(script_folder);
    return 0;
}

static int set_up(void **state)
{
    script_folder = helper_directory();
    char *make = xprintf("cd '%s' && mkdir bin tools repository.git", script_folder);
    assert_int_equal(system(make), 0);
    free(make);
    script_program("tools/nvidia-smi", "#!/bin/sh\necho H200\n");
    script_program("bin/plumb", fake_plumb);
    script_put("repository.git/HEAD", "ref: refs/heads/base\n");
    script_put("commits", "ccc\nbbb\naaa\n");
    return 0;
}

static void each_step_is_run_and_kept(void **state)
{
    script_ran("record.sh --commits 2 out . build none comment slower unbuildable wrong "
               "gain builds run history site",
               0);
    script_said("== slower: exit 1 in ");
    script_said("in all: ");
    script_file_says("asked", "list -C ");
    script_file_says("asked", " --first-parent bbb^..base");
    script_file_says("asked", "kernels ccc\n");
    script_file_says("asked", "--base before --head gain");
    script_file_says("out/steps.csv", "step,exit,expected,seconds,last_line\nbuild,0,-,");
    script_file_says("out/steps.csv", "\nwrong,3,3,");
    script_file_says("out/steps.csv", "\"OK: it says gain\"\n");
    script_file_says("out/log.txt", "== comment: bin/plumb gate -C plumbline.git");
    script_file_says("out/machine.txt", "H200\n");
    script_file_says("out/run.jsonl", "{}");
    assert_true(helper_exists(script_folder, "out/gates.jsonl"));
    char *look =
        xprintf("cd '%s/out' && tar -tzf gates.tar.gz | grep -qx gates/wrong/index.html && "
                "tar -tzf run.tar.gz | grep -qx run/history.json && "
                "tar -tzf site.tar.gz | grep -qx site/index.html && test $(ls | wc -l) = 8",
                script_folder);
    assert_int_equal(system(look), 0);
    free(look);
}

static void gates_that_say_another_thing_are_told(void **state)
{
    script_put("as", "none\n");
    script_ran("record.sh out . none slower wrong", 1);
    script_said("== none: exit 0 in ");
    script_said("== slower: NOT 1: exit 0 in ");
    script_said("== wrong: NOT 3: exit 0 in ");
}

static void time_is_kept(void **state)
{
    script_put("slow", "gate\n");
    script_ran("record.sh --seconds 18 out . build none comment history", 1);
    script_said("== build: exit 0 in ");
    script_said("== none: ended by its time limit of ");
    script_said("== comment: left out, no time");
    script_said("== history: left out, no time");
    script_file_says("out/steps.csv", "\ncomment,,,0,left out\n");
}

static void without_what_it_needs_it_says_so(void **state)
{
    script_ran("record.sh", 4);
    script_said("what prepare.sh makes");
    script_ran("record.sh out bin", 4);
    script_said("is not what prepare.sh makes");
    script_program("tools/nvidia-smi", "#!/bin/sh\nexit 9\n");
    script_ran("record.sh out . none", 4);
    script_said("no GPU here");
    script_ran("record.sh --device host out . none", 0);
    script_ran("record.sh --device host out . nine", 1);
    script_said("nine: no such step");
}

// The changes are edits of our own kernels' text, which moves on without them.
static void each_change_changes_one_file_of_the_kernels_as_they_are(void **state)
{
    static const char *const changes[] = {
        "cuda comment", "cuda slower", "cuda unbuildable", "cuda wrong",
        "host comment", "host slower", "host unbuildable", "host wrong",
    };
    char *fresh =
        xprintf("cd '%s' && rm -rf gemm && cp -R '" TEST_SOURCE "/kernels/gemm' .", script_folder);
    char *look = xprintf("cd '%s' && diff -rq '" TEST_SOURCE "/kernels/gemm' gemm | "
                         "tee /dev/stderr | wc -l | grep -qx 1",
                         script_folder);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        assert_int_equal(system(fresh), 0);
        char *change = xprintf("cd '%s/gemm' && test -f \"$(sh '" TEST_SOURCE
                               "/baselines/recorded/gates/change.sh' %s)\"",
                               script_folder, changes[i]);
        assert_int_equal(system(change), 0);
        assert_int_equal(system(look), 0);
        free(change);
    }
    free(look);
    free(fresh);
}

static void a_change_of_a_text_that_moved_on_is_refused(void **state)
{
    char *change =
        xprintf("cd '%s' && mkdir -p gemm/cuda && echo moved >gemm/cuda/tf32_1_mma.cu && "
                "cd gemm && ! sh '" TEST_SOURCE "/baselines/recorded/gates/change.sh' cuda wrong",
                script_folder);
    assert_int_equal(system(change), 0);
    free(change);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_step_is_run_and_kept, set_up, script_tear_down),
        cmocka_unit_test_setup_teardown(gates_that_say_another_thing_are_told, set_up,
                                        script_tear_down),
        cmocka_unit_test_setup_teardown(time_is_kept, set_up, script_tear_down),
        cmocka_unit_test_setup_teardown(without_what_it_needs_it_says_so, set_up, script_tear_down),
        cmocka_unit_test_setup_teardown(each_change_changes_one_file_of_the_kernels_as_they_are,
                                        set_up, script_tear_down),
        cmocka_unit_test_setup_teardown(a_change_of_a_text_that_moved_on_is_refused, set_up,
                                        script_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
