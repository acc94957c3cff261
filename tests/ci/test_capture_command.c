// SPDX-License-Identifier: Apache-2.0
//
// Captures as a user meets them, with a program in place of a CUDA one that leaves what the library
// in it would leave: `plumb capture` prints its kernels and shows records, and a policy's capture
// is built, listed and gated.
#include "model/buffer.h"
#include "model/record/record.h"
#include "runner/child/sandbox.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_library.h"
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_random.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <git2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct plumb_outcome outcome;
static char *folder;

#define SEEDS TEST_SOURCE "/tests/fuzz/seeds/"

// $1: threads of a block. The library's part: a survey, a record, and the contents beside it.
static const char program[] =
    "cp " SEEDS "survey.txt $PLUMB_CAPTURE/survey.7\n"
    "sed \"s/block_x=128/block_x=$1/\" " SEEDS "captured.record >$PLUMB_CAPTURE/record.7\n"
    "head -c 4096 /dev/zero >$PLUMB_CAPTURE/7.0.before\n"
    "head -c 8192 /dev/zero >$PLUMB_CAPTURE/7.1.before\n"
    "head -c 8192 /dev/zero >$PLUMB_CAPTURE/7.1.after\n"
    "echo said by the program: $PLUMB_CAPTURE_KERNEL\nexit ${2:-0}\n";

static int set_up(void **state)
{
    library_set_up(state);
    folder = library_path(".");
    helper_put(folder, "program.sh", program);
    return 0;
}

static int tear_down(void **state)
{
    free(folder);
    return library_tear_down(state);
}

AROUND_ALL(set_up, tear_down);

// ---- the command ----

TEST(the_table_names_kernels_and_what_cannot_be_recorded)
{
    need_capture();
    PLUMB_EXPECT(&outcome, folder, CONCLUDE_OK, "sgemm", "capture", "--", "sh", "program.sh", "128",
                 "5");
    plumb_said(&outcome, CONCLUDE_OK, "235.4");
    plumb_said(&outcome, CONCLUDE_OK, "its image launches kernels from the device");
    plumb_said(&outcome, CONCLUDE_OK, "said by the program:");
    plumb_said(&outcome, CONCLUDE_OK, "program    sh: exit code 5");
}

// A kernel whose numbers are others in each launch is one line.
TEST(shapes_of_one_look_are_one_line)
{
    need_capture();
    static const char shapes[] = "sed -e '2{p;s/launches=5/launches=10/;s/time_ns=235446/"
                                 "time_ns=100000/}' " SEEDS "survey.txt >$PLUMB_CAPTURE/survey.7\n";
    char *path = xprintf("%s/shapes.sh", folder);
    helper_write_text(path, shapes);
    PLUMB_EXPECT(&outcome, folder, CONCLUDE_OK, "yes, 2 shapes", "capture", "--", "sh",
                 "shapes.sh");
    plumb_said(&outcome, CONCLUDE_OK,
               "       15          32x32      32x32     8192    32      145.1");
    free(path);
}

// Names and reasons are the program's: they reach a terminal and a policy as words or not at all.
TEST(what_a_program_says_of_itself_is_made_harmless)
{
    need_capture();
    static const char hostile[] =
        "sed -e 's/name=[^\t]*/name=a\\\\n[gate]\x1b[2Jb/' -e "
        "'s/refused=[^\t]*$/refused=\x1b]0;x\x07/' " SEEDS "survey.txt >$PLUMB_CAPTURE/survey.7\n";
    char *path = xprintf("%s/hostile.sh", folder);
    helper_write_text(path, hostile);
    assert_int_equal(library_shell("mkdir -p ci; : >ci/plumb.cfg"), 0);
    PLUMB_EXPECT(&outcome, folder, CONCLUDE_FAILED, "device function", "capture", "--write", "--",
                 "sh", "hostile.sh");
    assert_null(strchr(outcome.output, '\x1b'));
    assert_null(strchr(outcome.output, '\a'));
    assert_null(strstr(outcome.output, "\n[gate]"));
    free(path);
    path = xprintf("%s/ci/plumb.cfg", folder);
    size_t size;
    char *text = helper_read(path, &size);
    assert_null(strstr(text, "[gate]"));
    free(text);
    free(path);
}

// What lies in a checkout that may be a stranger's runs in the sandbox, and leaves records.
TEST(program_of_a_checkout_that_may_be_a_strangers_is_confined)
{
    need_capture();
    struct sandbox sandbox;
    struct error err;
    if (sandbox_probe(&sandbox, SANDBOX_REQUIRE, &err))
        skip_without("sandbox", err.text);
    char *text =
        xprintf("cd '%s' && rm -rf theirs && mkdir theirs && cd theirs && git init -q . && "
                "git remote add origin https://example.org/x && sed 's|" SEEDS
                "||' ../program.sh >program.sh && cp " SEEDS "survey.txt " SEEDS
                "captured.record . && echo secret >../kept && echo 'cat ../kept; echo "
                "token: $TOKEN_OF_CI.; touch left; :' >theirs.sh && sed -i '1i . "
                "./theirs.sh' program.sh",
                folder);
    assert_int_equal(system(text), 0);
    free(text);
    setenv("TOKEN_OF_CI", "hunter2", 1);
    char *theirs = xprintf("%s/theirs", folder);
    PLUMB_EXPECT(&outcome, theirs, CONCLUDE_OK, "the program runs in the sandbox", "capture", "-k",
                 "soft*", "-o", "../one", "--", "sh", "program.sh", "128", "5");
    plumb_said(&outcome, CONCLUDE_OK, "token: .");
    plumb_said(&outcome, CONCLUDE_OK, "said by the program: soft*");
    plumb_said(&outcome, CONCLUDE_OK, "program    sh: exit code 5");
    plumb_said(&outcome, CONCLUDE_OK, "one/record.7");
    assert_null(strstr(outcome.output, "secret"));
    text = xprintf("%s/left", theirs);
    assert_int_not_equal(access(text, F_OK), 0);
    PLUMB_EXPECT(&outcome, theirs, CONCLUDE_OK, "token: hunter2.", "capture", "--sandbox", "off",
                 "--", "sh", "program.sh", "128");
    assert_int_equal(access(text, F_OK), 0);
    unsetenv("TOKEN_OF_CI");
    free(text);
    free(theirs);
}

TEST(a_program_without_cuda_is_told)
{
    need_capture();
    PLUMB_EXPECT(&outcome, folder, CONCLUDE_OK, "did not start the CUDA driver", "capture", "--",
                 "true");
    PLUMB_EXPECT(&outcome, folder, CONCLUDE_FAILED, "false: exit code 1, and it did not start",
                 "capture", "--", "false");
    PLUMB_EXPECT(&outcome, folder, CONCLUDE_FAILED, "nowhere: exit code 127, and it did not start",
                 "capture", "--", "nowhere");
    PLUMB_EXPECT(&outcome, folder, CONCLUDE_FAILED, "nothing was captured", "capture", "--write",
                 "--", "true");
    PLUMB_EXPECT(&outcome, folder, CONCLUDE_FAILED, "capture [options] -- COMMAND", "capture");
    PLUMB_EXPECT(&outcome, folder, CONCLUDE_FAILED, "one of both", "capture", "-k", "a", "--range",
                 "b", "--", "true");
}

// What it has launched until then; and one that is killed has told that.
TEST(a_long_program_is_told_of_while_it_runs)
{
    need_capture();
    static const char *const begins =
        "cp " SEEDS "survey.txt $PLUMB_CAPTURE/survey.7\nsleep 2.3\nkill -9 $$\n";
    char *path = xprintf("%s/long.sh", folder);
    helper_write_text(path, begins);
    PLUMB_EXPECT(&outcome, folder, CONCLUDE_OK, "235.4", "capture", "--", "sh", "long.sh");
    plumb_said(&outcome, CONCLUDE_OK, "the program has run for 1 s: 8 launches of 2 shapes");
    plumb_said(&outcome, CONCLUDE_OK, "program    sh: killed by signal 9");
    free(path);
}

TEST(a_record_is_kept_shown_and_compared)
{
    need_capture();
    PLUMB_EXPECT(&outcome, folder, CONCLUDE_OK, "said by the program: soft*", "capture", "-k",
                 "soft*", "-o", "one", "--", "sh", "program.sh", "128");
    PLUMB_EXPECT(&outcome, folder, CONCLUDE_OK, "block 128 x 1 x 1", "capture", "--show",
                 "one/record.7");
    plumb_said(&outcome, CONCLUDE_OK, "captured1  8192 bytes, 7.1.before, then 7.1.after");
    PLUMB_EXPECT(&outcome, folder, CONCLUDE_OK, "two/record.7", "capture", "-k", "soft*", "-o",
                 "two", "--", "sh", "program.sh", "256");
    PLUMB_EXPECT(&outcome, folder, CONCLUDE_BROKEN, "launch 0: its shape or its parameters",
                 "capture", "--show", "one/record.7", "--with", "two/record.7");
    PLUMB_EXPECT(&outcome, folder, CONCLUDE_OK, "the same launches of the same code", "capture",
                 "--show", "one/record.7", "--with", "one/record.7");
    // Memsets beside kernels.
    PLUMB_EXPECT(&outcome, folder, CONCLUDE_BROKEN, "launch 0: another function", "capture",
                 "--show", "one/record.7", "--with", SEEDS "split.record");
    PLUMB_EXPECT(&outcome, folder, CONCLUDE_FAILED, "program.sh: not a record", "capture", "--show",
                 "program.sh");
}

// Where buffers lay is not compared; what they held is, and files that are gone are told.
TEST(a_captures_contents_are_held_to_its_files)
{
    assert_int_equal(library_shell("mkdir one two; for i in one two; do "
                                   "PLUMB_CAPTURE=$i sh program.sh 128; done; "
                                   "printf abc | dd of=two/7.1.after conv=notrunc"),
                     0);
    PLUMB_EXPECT(&outcome, folder, CONCLUDE_BROKEN,
                 "captured1: 3 of 8192 bytes after the launches\n1 difference\n", "capture",
                 "--show", "one/record.7", "--with", "two/record.7");
    assert_int_equal(library_shell("rm two/7.1.after; echo >>two/7.0.before"), 0);
    PLUMB_EXPECT(&outcome, folder, CONCLUDE_BROKEN, "then 7.1.after (IS NOT THERE)", "capture",
                 "--show", "two/record.7");
    plumb_said(&outcome, CONCLUDE_BROKEN, "7.0.before (HAS ANOTHER SIZE)");
    PLUMB_EXPECT(&outcome, folder, CONCLUDE_BROKEN, "what it held after the launches is not there",
                 "capture", "--show", "one/record.7", "--with", "two/record.7");
}

TEST(sections_are_written_for_what_takes_time)
{
    need_capture();
    assert_int_equal(library_shell("mkdir -p ci; : >ci/plumb.cfg"), 0);
    PLUMB_EXPECT(&outcome, folder, CONCLUDE_OK, "1 [capture] section to ci/plumb.cfg", "capture",
                 "--write", "--", "sh", "program.sh", "a'b \"c");
    char *path = xprintf("%s/ci/plumb.cfg", folder);
    size_t size;
    char *text = helper_read(path, &size);
    assert_non_null(strstr(text, "[capture \"sgemm\"]\n"));
    assert_non_null(strstr(text, "kernel = _Z5sgemm*\n"));
    assert_non_null(strstr(text, "command = \"sh program.sh 'a'\\\\''b \\\"c'\"\n"));
    assert_null(strstr(text, "softmax_kernel")); // it cannot be recorded
    PLUMB_EXPECT(&outcome, folder, CONCLUDE_OK, "kept       [capture \"sgemm\"]", "capture",
                 "--write", "--", "sh", "program.sh", "64");
    free(text);
    free(path);
}

// Whether the policy that `capture --write` began below `where` has this text.
static bool policy_has(const char *where, const char *part)
{
    char *path = xprintf("%s/%s/ci/plumb.cfg", folder, where);
    size_t size;
    char *text = helper_read(path, &size);
    const bool has = strstr(text, part) != NULL;
    free(text);
    free(path);
    return has;
}

// A shell stands for the program: it is compiled, and runs the script in place of CUDA.
TEST(a_program_that_was_compiled_here_is_built_by_the_policy)
{
    need_capture();
    char *own = xprintf("%s/own", folder);
    assert_int_equal(library_shell("mkdir -p own/build && cp /bin/sh own/bench && "
                                   "cp /bin/sh own/build/bench && cp program.sh own && "
                                   "touch own/Makefile"),
                     0);
    PLUMB_EXPECT(&outcome, own, CONCLUDE_OK, "written", "capture", "--write", "--", "./bench",
                 "program.sh", "128");
    assert_true(policy_has("own", "[build]\n    command = \"make\"\n"));
    assert_int_equal(library_shell("cd own && rm -r ci Makefile && touch CMakeLists.txt"), 0);
    PLUMB_EXPECT(&outcome, own, CONCLUDE_OK, "written", "capture", "--write", "--", "build/bench",
                 "program.sh", "128");
    assert_true(policy_has("own", "command = \"cmake -S . -B 'build' -DCMAKE_BUILD_TYPE=Release && "
                                  "cmake --build 'build' -j $PLUMB_JOBS\"\n"));
    assert_int_equal(library_shell("cd own && rm -r ci CMakeLists.txt"), 0);
    PLUMB_EXPECT(&outcome, own, CONCLUDE_OK, "./bench was built here, and no file says how",
                 "capture", "--write", "--", "./bench", "program.sh", "128");
    assert_false(policy_has("own", "[build]"));
    PLUMB_EXPECT(&outcome, own, CONCLUDE_OK, "kept       [build] of", "capture", "--write",
                 "--build", "make", "--", "./bench", "program.sh", "128");
    assert_int_equal(library_shell("cd own && rm -r ci"), 0);
    PLUMB_EXPECT(&outcome, own, CONCLUDE_OK, "written", "capture", "--write", "--build",
                 "nvcc -o \"bench\" a.cu", "--", "./bench", "program.sh", "128");
    assert_true(policy_has("own", "    command = \"nvcc -o \\\"bench\\\" a.cu\"\n"));
    // The system's needs no build, whatever lies here.
    assert_int_equal(library_shell("cd own && rm -r ci && touch Makefile"), 0);
    PLUMB_EXPECT(&outcome, own, CONCLUDE_OK, "written", "capture", "--write", "--", "sh",
                 "program.sh", "128");
    assert_false(policy_has("own", "[build]"));
    PLUMB_EXPECT(&outcome, own, CONCLUDE_FAILED, "--write", "capture", "--build", "make", "--",
                 "sh", "program.sh", "128");
    free(own);
}

// Another line of the survey for each name, which takes so many ns.
static void survey_of(const char *const *names, const char *time)
{
    struct buffer text = {0};
    buffer_puts(&text, "rm -rf named && mkdir named && sed -e '2,$d' " SEEDS
                       "survey.txt >named/survey && { :");
    for (; *names; names++)
        buffer_printf(
            &text,
            "; sed -n -e '2s/name=[^\t]*/name=%s/' -e '2s/time_ns=[0-9]*/time_ns=%s/p' " SEEDS
            "survey.txt",
            *names, time);
    buffer_puts(&text, "; echo end; } >>named/survey && "
                       "echo 'cp survey $PLUMB_CAPTURE/survey.7' >named/run.sh");
    buffer_add(&text, "", 1);
    assert_int_equal(library_shell(text.bytes), 0);
    buffer_free(&text);
    char *named = xprintf("%s/named", folder);
    PLUMB_EXPECT(&outcome, named, CONCLUDE_OK, "written", "capture", "--write", "--", "sh",
                 "run.sh");
    free(named);
}

// A template's arguments and a function's parameters change with the code; the name stays.
TEST(functions_are_named_by_what_commits_keep)
{
    need_capture();
    static const char *const one[] = {"_ZN2ns4gemmILi128EEEviPf", "_Z4add3iPf", "plain_kernel",
                                      "_ZN40_GLOBAL__N__0123abcd_7_x_cu_4c0ffee_12344scanEPf",
                                      NULL};
    survey_of(one, "1000");
    assert_true(policy_has("named", "[capture \"ns_gemm\"]"));
    assert_true(policy_has("named", "kernel = _ZN2ns4gemm*\n"));
    assert_true(policy_has("named", "kernel = _Z4add3*\n"));
    assert_true(policy_has("named", "kernel = plain_kernel\n"));
    assert_true(policy_has("named", "kernel = _ZN*4scan*\n"));
    // Two instances are told apart by their arguments alone.
    static const char *const two[] = {"_Z4gemmILi64EEviPf", "_Z4gemmILi128EEviPf", NULL};
    survey_of(two, "1000");
    assert_true(policy_has("named", "[capture \"gemm_64\"]"));
    assert_true(policy_has("named", "kernel = _Z4gemmILi64EEviPf\n"));
    assert_true(policy_has("named", "kernel = _Z4gemmILi128EEviPf\n"));
    // What a library's kernels take does not hide the program's own.
    static const char *const mixed[] = {"_ZN2at6native4fillEPf", "nvjet_hsh_128x256", "own", NULL};
    survey_of(mixed, "1000");
    assert_true(policy_has("named", "kernel = own\n"));
    assert_false(policy_has("named", "_ZN2at"));
    assert_false(policy_has("named", "nvjet"));
    static const char *const library[] = {"nvjet_hsh_128x256", NULL};
    survey_of(library, "1000");
    assert_true(policy_has("named", "kernel = nvjet_hsh_128x256\n"));
}

TEST(a_range_is_written_as_one_section)
{
    need_capture();
    char *own = xprintf("%s/range", folder);
    assert_int_equal(library_shell("mkdir range && cp program.sh range && sed '$i sed -i "
                                   "\"s/taken=[^\\t]*/taken=/\" $PLUMB_CAPTURE/survey.7' "
                                   "program.sh >range/none.sh"),
                     0);
    PLUMB_EXPECT(&outcome, own, CONCLUDE_OK, "1 [capture] section", "capture", "--write", "--range",
                 "m=*", "--", "sh", "program.sh", "128");
    assert_true(policy_has("range", "[capture \"m\"]\n    command = \"sh program.sh 128\"\n"
                                    "    range = \"m=*\"\n"));
    assert_false(policy_has("range", "kernel ="));
    PLUMB_EXPECT(&outcome, own, CONCLUDE_OK, "kept       [capture \"m\"]", "capture", "--write",
                 "--range", "m=*", "--", "sh", "program.sh", "128");
    PLUMB_EXPECT(&outcome, own, CONCLUDE_FAILED, "of the ranges none matched", "capture", "--write",
                 "--range", "k=*", "--", "sh", "none.sh", "128");
    free(own);
}

// A virtual environment in a home is seen by the user's shell and by no gate.
TEST(a_program_that_no_sandbox_shows_is_told)
{
    need_capture();
    char *path = xprintf("%s", getenv("PATH")), *home = helper_directory();
    char *link = xprintf("%s/shell", home), *longer = xprintf("%s:%s", home, path);
    char *said = xprintf("shell is %s, which no sandbox shows to a gate", link);
    assert_int_equal(symlink("/bin/sh", link), 0);
    setenv("PATH", longer, 1);
    PLUMB_EXPECT(&outcome, folder, CONCLUDE_OK, said, "capture", "--write", "--", "shell",
                 "program.sh", "64");
    setenv("PATH", path, 1);
    PLUMB_EXPECT(&outcome, folder, CONCLUDE_OK, "kept", "capture", "--write", "--", "sh",
                 "program.sh", "64");
    assert_null(strstr(outcome.output, "no sandbox shows"));
    free(home);
    free(said);
    free(longer);
    free(link);
    free(path);
}

// ---- the policy ----

// A commit whose program launches blocks of so many threads.
static void commit(char id[OBJECT_ID_TEXT], const char *parent, int number, const char *run)
{
    const struct helper_file file = {"run.sh", run, 0};
    helper_repo_commit(id, folder, "main", &parent, parent ? 1 : 0, number, "run", &file, 1);
}

static void make_repository(void)
{
    git_repository *git = NULL;
    git_libgit2_init();
    assert_int_equal(git_repository_init(&git, folder, 0), 0);
    git_repository_free(git);
    helper_put(folder, ".git/HEAD", "ref: refs/heads/main\n");
}

// In a repository without a policy they are one, which is read.
TEST(a_first_policy_is_begun)
{
    need_capture();
    assert_int_equal(library_shell("rm -rf ci"), 0);
    setenv("PYTHONPATH", "/somewhere", 1);
    unsetenv("LD_LIBRARY_PATH");
    PLUMB_EXPECT(&outcome, folder, CONCLUDE_OK, "1 [capture] section to ci/plumb.cfg", "capture",
                 "--write", "--", "sh", "program.sh", "128");
    unsetenv("PYTHONPATH");
    assert_int_equal(
        library_shell("head -n 4 ci/plumb.cfg | tr -d '\\n' >begun; printf '%s' "
                      "'[device \"gpu\"]    kind = cuda[build]    pass = PYTHONPATH' | "
                      "cmp - begun"),
        0);
    const struct helper_file file = {"program.sh", program, 0};
    char id[OBJECT_ID_TEXT];
    make_repository();
    helper_repo_commit(id, folder, "first", NULL, 0, 1, "a program", &file, 1);
    char *copy = xprintf("cp " TEST_BIN "/fake_bench %s/bench; : >%s/bench.cuda", folder, folder);
    char *bench = xprintf("%s/bench", folder);
    assert_int_equal(library_shell(copy), 0);
    PLUMB_EXPECT(&outcome, folder, CONCLUDE_OK, "sgemm", "list", "series", id, "--policy",
                 "ci/plumb.cfg", "--bench", bench, "--sandbox", "off");
    free(bench);
    free(copy);
}

static void gate(const char *base, const char *head, int code, const char *part)
{
    char *bench = xprintf("%s/bench", folder), *policy = xprintf("%s/gate.cfg", folder);
    PLUMB_EXPECT(&outcome, folder, code, part, "gate", "--base", base, "--head", head, "--policy",
                 policy, "--bench", bench);
    free(bench);
    free(policy);
}

// The fake bench has a device of kind cuda here, and takes longer for the other of two files.
TEST(a_policys_capture_is_gated)
{
    char ids[6][OBJECT_ID_TEXT];
    char *policy = xprintf("%s/gate.cfg", folder), *bench = xprintf("%s/bench", folder);
    char *copy = xprintf("cp " TEST_BIN "/fake_bench %s/bench; : >%s/bench.cuda", folder, folder);
    char *run[] = {
        xprintf("sh %s/program.sh 128\n", folder),
        xprintf("# a comment\nsh %s/program.sh 128\n", folder),
        xprintf("sh %s/program.sh 64\n", folder),
        xprintf("echo no CUDA here\n"),
        xprintf("echo this went wrong; exit 9\n"),
        xprintf("sh %s/program.sh 64; cd $PLUMB_CAPTURE; cp record.7 record.71\n", folder)};
    helper_write_text(policy, "[build]\n\tsandbox = off\n[device \"gpu\"]\n\tkind = cuda\n"
                              "[capture \"slower\"]\n\tcommand = sh run.sh\n\tkernel = softmax*\n"
                              "\tproblem = rows=8:bf16\n[gate]\n\tself-test = 0\n");
    assert_int_equal(library_shell(copy), 0);
    make_repository();
    for (int i = 0; i < 6; i++)
        commit(ids[i], i ? ids[i - 1] : NULL, i + 1, run[i]);
    gate(ids[0], ids[1], CONCLUDE_OK, "OK: 1 same");
    gate(ids[1], ids[2], CONCLUDE_REGRESSION, "SLOWER: 1 slower");
    // A study of it is judged as its gate is, by the margin of what is timed from records.
    PLUMB_EXPECT(&outcome, folder, CONCLUDE_OK, "detectable 0.30 %", "study", "--base", ids[0],
                 "--policy", policy, "--bench", bench, "--rounds", "1", "--gates", "2");
    // Their buffers hold two contents, 4096 and 8192 zeros, which lie once; what nobody has goes.
    assert_int_equal(library_shell("test $(ls .plumb/contents | wc -l) = 2 && "
                                   "test $(find .plumb/cache -links +3 | wc -l) -ge 6 && "
                                   "echo x >.plumb/contents/nobody"),
                     0);
    gate(ids[2], ids[3], CONCLUDE_BROKEN, "capture slower: it did not use CUDA");
    gate(ids[2], ids[4], CONCLUDE_BROKEN, "exit status 9");
    gate(ids[2], ids[5], CONCLUDE_BROKEN, "several of its processes took a launch");
    assert_int_equal(library_shell("test $(ls .plumb/contents | wc -l) = 2"), 0);
    PLUMB_EXPECT(&outcome, folder, CONCLUDE_OK, "slower                       rows=8:bf16-bf16",
                 "list", "series", ids[2], "--policy", policy, "--bench", bench);
    PLUMB_EXPECT(&outcome, folder, CONCLUDE_OK, "threads 64", "list", "kernels", ids[2], "--policy",
                 policy, "--bench", bench);
    for (int i = 0; i < 6; i++)
        free(run[i]);
    free(policy);
    free(bench);
    free(copy);
}

// A program is built where it lies, which is no fault of it; and nothing is called a kernel's.
TEST(without_a_gpu_a_captured_program_is_built_and_not_judged)
{
    char id[OBJECT_ID_TEXT];
    char *policy = xprintf("%s/gate.cfg", folder);
    helper_write_text(policy, "[build]\n\tcommand = echo >program\n\tsandbox = auto\n"
                              "[device \"gpu\"]\n\tkind = cuda\n\tindex = 63\n"
                              "[capture \"x\"]\n\tcommand = ./program\n\tkernel = f\n");
    make_repository();
    commit(id, NULL, 1, "built in place\n");
    PLUMB_EXPECT(&outcome, folder, CONCLUDE_FAILED,
                 "nothing to measure here: its kernels are captured, and that takes a GPU", "list",
                 "series", id, "--policy", policy);
    plumb_said(&outcome, CONCLUDE_FAILED, "1 capture is not taken: no GPU of the policy is here");
    assert_null(strstr(outcome.output, "Read-only"));
    free(policy);
}

// Two shapes are two series; their ranges name the problems, and m, n and k are a GEMM.
TEST(each_shape_is_a_series_of_what_its_range_is_named_as)
{
    static const char more[] =
        "sed 's/problem=[^\t]*/problem=64x64x64:bf16/' $PLUMB_CAPTURE/record.7 "
        ">$PLUMB_CAPTURE/record.7.2\n";
    char id[OBJECT_ID_TEXT], other[OBJECT_ID_TEXT];
    char *policy = xprintf("%s/gate.cfg", folder), *bench = xprintf("%s/bench", folder);
    char *copy = xprintf("cp " TEST_BIN "/fake_bench %s/bench; : >%s/bench.cuda", folder, folder);
    char *run[] = {xprintf("sh %s/program.sh 128\n%s", folder, more),
                   xprintf("sh %s/program.sh 64\n%s", folder, more)};
    helper_write_text(policy, "[build]\n\tsandbox = off\n[device \"gpu\"]\n\tkind = cuda\n"
                              "[capture \"soft\"]\n\tcommand = sh run.sh\n\tkernel = soft*\n"
                              "[gate]\n\tself-test = 0\n");
    assert_int_equal(library_shell(copy), 0);
    make_repository();
    commit(id, NULL, 1, run[0]);
    commit(other, id, 2, run[1]);
    PLUMB_EXPECT(&outcome, folder, CONCLUDE_OK, "soft.2                       64x64x64:bf16",
                 "list", "series", id, "--policy", policy, "--bench", bench);
    plumb_said(&outcome, CONCLUDE_OK, "soft                         capture=1:fp32");
    gate(id, other, CONCLUDE_OK, "OK: 2 same");
    helper_write_text(policy, "[build]\n\tsandbox = off\n[device \"gpu\"]\n\tkind = cuda\n"
                              "[capture \"soft\"]\n\tcommand = sh run.sh\n\tkernel = soft*\n"
                              "\tproblem = m=8,k=32,n=16:bf16\n[gate]\n\tself-test = 0\n");
    gate(id, other, CONCLUDE_FAILED, "it launched 2 shapes, and the policy names one problem");
    free(run[0]);
    free(run[1]);
    free(policy);
    free(bench);
    free(copy);
}

// A record of a launch whose output a TMA descriptor is of, in BF16, and no policy names a problem.
static const char described[] =
    "{ printf "
    "'record\\tversion=4\\tkernel=capture\\tproblem=capture=1:fp32\\tworkspace=0\\tnote=\\n"
    "image\\tsize=1\\ncontent\\tbytes=4096\\tbefore=7.0.before\\tafter=7.0.after\\n"
    "launch\\tfunction=f\\tgrid_x=1\\tgrid_y=1\\tgrid_z=1\\tblock_x=32\\tblock_y=1\\tblock_z=1"
    "\\tcluster_x=1\\tcluster_y=1\\tcluster_z=1\\tshared=0\\tcooperative=0\\tprogrammatic=0"
    "\\tcarveout=-1\\timage=1\\nparameter\\toffset=0\\tbytes='\n"
    "head -c 256 /dev/zero | tr '\\0' 0\n"
    "printf '\\ntensormap\\tat=0\\tbuffer=captured0\\toffset=0\\ttype=bf16\\tdims=64\\tstrides="
    "\\tbox=64\\telements=1\\tinterleave=0\\tswizzle=0\\tpromote=0\\tnan=0\\nend\\nx'; } "
    ">$PLUMB_CAPTURE/record.7\n"
    "head -c 4096 /dev/zero >$PLUMB_CAPTURE/7.0.before\n"
    "head -c 4096 /dev/zero >$PLUMB_CAPTURE/7.0.after\n";

TEST(a_type_that_is_declared_or_described_gives_a_tolerance)
{
    char id[OBJECT_ID_TEXT];
    char *policy = xprintf("%s/gate.cfg", folder), *bench = xprintf("%s/bench", folder);
    char *copy = xprintf("cp " TEST_BIN "/fake_bench %s/bench; : >%s/bench.cuda", folder, folder);
    helper_write_text(policy, "[build]\n\tsandbox = off\n[device \"gpu\"]\n\tkind = cuda\n"
                              "[capture \"told\"]\n\tcommand = sh run.sh\n\tkernel = f\n"
                              "\ttolerance = type\n\tproblem = rows=8:fp16\n"
                              "[capture \"seen\"]\n\tcommand = sh run.sh\n\tkernel = f\n"
                              "\ttolerance = type\n");
    assert_int_equal(library_shell(copy), 0);
    make_repository();
    char *both = xprintf("%scp $PLUMB_CAPTURE/*7* $PLUMB_CAPTURE_2/\n", described);
    commit(id, NULL, 1, both);
    free(both);
    PLUMB_EXPECT(&outcome, folder, CONCLUDE_OK, "seen                         capture=1:bf16",
                 "list", "series", id, "--policy", policy, "--bench", bench);
    assert_int_equal(
        library_shell("grep -aq tolerance=0.0078125 .plumb/cache/*/out/*seen/series.1"), 0);
    assert_int_equal(library_shell("grep -aq tolerance=0.0009765625 "
                                   ".plumb/cache/*/out/*told/series.1"),
                     0);
    free(policy);
    free(bench);
    free(copy);
}

// Each has its own folder, kernel and limit; what another command runs is run by itself.
TEST(a_program_of_several_sections_runs_once)
{
    char id[OBJECT_ID_TEXT];
    char *policy = xprintf("%s/gate.cfg", folder), *bench = xprintf("%s/bench", folder);
    char *copy = xprintf("cp " TEST_BIN "/fake_bench %s/bench; : >%s/bench.cuda", folder, folder);
    char *run = xprintf("sh %s/program.sh 128 >/dev/null\necho $1 $PLUMB_CAPTURE_KERNEL "
                        "$PLUMB_CAPTURE_RANGE_2 $PLUMB_CAPTURE_LIMIT_2 $PLUMB_CAPTURE_3 >>%s/ran\n"
                        "test -z \"$PLUMB_CAPTURE_2\" || cp $PLUMB_CAPTURE/*7* $PLUMB_CAPTURE_2/\n",
                        folder, folder);
    helper_write_text(policy, "[build]\n\tsandbox = off\n[device \"gpu\"]\n\tkind = cuda\n"
                              "[capture \"one\"]\n\tcommand = sh run.sh a\n\tkernel = soft*\n"
                              "[capture \"apart\"]\n\tcommand = sh run.sh b\n\tkernel = soft*\n"
                              "[capture \"two\"]\n\tcommand = sh run.sh a\n\trange = layer\n"
                              "\tlimit = 65536\n");
    assert_int_equal(library_shell(copy), 0);
    make_repository();
    commit(id, NULL, 1, run);
    PLUMB_EXPECT(&outcome, folder, CONCLUDE_OK, "two                          capture=1:fp32",
                 "list", "series", id, "--policy", policy, "--bench", bench);
    plumb_said(&outcome, CONCLUDE_OK, "one                          capture=1:fp32");
    plumb_said(&outcome, CONCLUDE_OK, "apart                        capture=1:fp32");
    assert_int_equal(library_shell("test \"$(cat ran)\" = 'a soft* layer 65536\nb soft*'"), 0);
    free(run);
    free(policy);
    free(bench);
    free(copy);
}

TEST(m_n_and_k_are_a_gemm)
{
    static const char *const same[][2] = {{"m=4096,n=4097,k=7168:bf16", "4096x4097x7168:bf16"},
                                          {"k=3,m=1,n=2:e4m3-bf16:nn", "1x2x3:e4m3-bf16:nn"},
                                          {"128x7168x2048:bf16", "128x7168x2048:bf16"},
                                          {"m=1,n=2,k=3,d=4:bf16", "d=4,k=3,m=1,n=2:bf16"}};
    struct problem one, other;
    struct error err;
    for (size_t i = 0; i < ARRAY_COUNT(same); i++) {
        assert_int_equal(problem_parse_named(&one, same[i][0], &err), 0);
        assert_int_equal(problem_parse(&other, same[i][1], &err), 0);
        assert_true(problem_equal(&one, &other));
    }
    assert_int_equal(problem_parse_named(&one, "attention", &err), -1);
    assert_int_equal(problem_parse_named(&one, "m=1,n=0,k=3:bf16", &err), -1);
}

// ---- surveys ----

static int parsed(const char *text, size_t size)
{
    struct arena arena = {0};
    struct survey survey;
    struct error err = {""};
    const int status = survey_parse(&survey, arena_copy(&arena, text, size), size, &arena, &err);
    if (status)
        assert_true(err.text[0] && !strchr(err.text, '\n'));
    arena_free(&arena);
    return status;
}

TEST(every_cut_and_every_flipped_byte_of_a_survey_is_survived)
{
    size_t size;
    char *text = helper_read(SEEDS "survey.txt", &size);
    struct random random = {3};
    assert_int_equal(parsed(text, size), 0);
    for (size_t cut = 0; cut < size; cut++)
        assert_int_equal(parsed(text, cut), -1);
    for (int i = 0; i < 20000; i++) {
        char *bytes = xcalloc(size, 1);
        memcpy(bytes, text, size);
        for (int flips = 0; flips < 3; flips++)
            bytes[(size_t)(random_uniform(&random) * (double)size)] =
                (char)(random_uniform(&random) * 256);
        parsed(bytes, size);
        free(bytes);
    }
    free(text);
}
