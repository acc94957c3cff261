// SPDX-License-Identifier: Apache-2.0
//
// Whatever is said to the real bench: it answers, and its exit code tells.
#include "tests/helpers/helper_bench.h"
#include "tests/helpers/helper_random.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

TEST(bad_commands_fail_and_bench_goes_on)
{
    static const char *const lines[] = {"dance",
                                        "open\tid=1",
                                        "open\tid=x\tkernel=right\tproblem=8x8x8\thead=h\tseed=1",
                                        "open\tid=1\tkernel=right\tproblem=0x8x8\thead=h\tseed=1",
                                        "open\tid=1\tkernel=right\tproblem=8x8x8\thead=h\tseed=-1",
                                        "pairs\tid=1\tcount=1\tblock=0",
                                        "solo\tid=1\tcount=0\tblock=0",
                                        "close\tid=77",
                                        "list",
                                        "list\tlibrary=/nowhere.so",
                                        "open\tid",
                                        "=",
                                        "\t",
                                        "open\tid=%zz",
                                        "OPEN\tid=1",
                                        "pairs\tid=99999999999999999999"};
    struct transcript t;
    char *script = xcalloc(1, BENCH_SCRIPT);
    for (size_t i = 0; i < ARRAY_COUNT(lines); i++) {
        strcat(script, lines[i]);
        strcat(script, "\n");
    }
    strcat(script, "quit\n");
    bench_script(&t, "", script);
    assert_int_equal(transcript_count(&t, "fail"), ARRAY_COUNT(lines));
    assert_int_equal(transcript_count(&t, "done"), 0);
    assert_int_equal(transcript_exit(&t), 0);
    transcript_free(&t);
    free(script);
}

TEST(overlong_lines_fail_once)
{
    struct transcript t;
    char *script = xcalloc(1, 3 * WIRE_LINE);
    memset(script, 'a', 2 * WIRE_LINE);
    strcat(script, "\nquit\n");
    bench_script(&t, "", script);
    assert_int_equal(transcript_count(&t, "fail"), 1);
    assert_int_equal(transcript_exit(&t), 0);
    transcript_free(&t);
    free(script);
}

// Changes, drops or doubles characters of valid lines. Foreign bytes must never bring bench down.
static char *mutated(struct random *random)
{
    static const char valid[] = "open\tid=1\tkernel=right\tproblem=8x8x8:fp32\thead=/x\tseed=1\n"
                                "list\tlibrary=/x%20y\n"
                                "pairs\tid=1\tcount=2\tblock=0\nsolo\tid=1\tcount=2\tblock=0\n"
                                "close\tid=1\n";
    char *text = xcalloc(1, 2 * sizeof(valid));
    size_t used = 0;
    for (size_t i = 0; valid[i]; i++) {
        uint64_t dice = (uint64_t)(random_uniform(random) * 40);
        if (dice == 0)
            continue;
        text[used++] = dice == 1 ? (char)(1 + (int)(random_uniform(random) * 255)) : valid[i];
        if (dice == 2)
            text[used++] = valid[i];
    }
    return text;
}

TEST(mutated_lines_never_end_bench)
{
    struct random random = {5};
    size_t size = 1 << 20, used = 0;
    char *script = xcalloc(1, size);
    for (int i = 0; i < 400; i++) {
        char *text = mutated(&random);
        used += (size_t)snprintf(script + used, size - used, "%s\n", text);
        free(text);
    }
    struct transcript t;
    bench_script(&t, "", script);
    assert_int_equal(transcript_exit(&t), 0);
    assert_true(transcript_count(&t, "fail") > 1000);
    transcript_free(&t);
    free(script);
}

TEST(by_hand_the_exit_code_tells)
{
    static const struct {
        const char *arguments;
        int code;
    } cases[] = {
        {"--help", 0},
        {"dance", 4},
        {"--flush sideways time", 4},
        {"time", 4},
        {"list", 4},
        {"list /nowhere.so", 4},
        {"calibrate nothing", 4},
        {"time --kernel right --problem 8x8x8 --pairs 0", 4},
        {"time --kernel right --problem eight --head %s", 4},
        {"list %s", 0},
        {"time --kernel right --problem 9x8x7 --pairs 3 --head %s --base %s --blocks 2", 0},
        {"time --kernel right --problem 9x8x7 --pairs 3 --head %s --warm --flush none", 0},
        // Two kernels beside each other: the base's is looked at by its own name.
        {"time --kernel right --base-kernel right --problem 9x8x7 --pairs 3 --head %s --base %s",
         0},
        {"time --kernel right --base-kernel none --problem 9x8x7 --pairs 3 --head %s --base %s", 3},
        {"time --kernel none --base-kernel right --problem 9x8x7 --pairs 3 --head %s --base %s", 3},
        {"time --kernel right --base-kernel right --problem 9x8x7 --pairs 3 --head %s", 4},
        {"time --kernel wrong --problem 9x8x7 --pairs 3 --head %s", 3},
        {"time --kernel right --problem 9x8x7 --head %s --variant sideways", 4},
        // An operand of 1 MiB, of which a part is written anew, and looked at afterwards.
        {"time --kernel right --problem 4x1024x256 --pairs 3 --head %s --base %s --variant wide",
         0},
        {"time --kernel right --problem 4x1024x256 --pairs 3 --head %s --base %s --variant "
         "coarse,whole,first,rest,twice,again,shared,cache",
         0},
        {"time --kernel right --problem 4x1024x256 --pairs 3 --head %s --base %s --variant "
         "outputs",
         0},
        {"time --kernel wrong --problem 4x1024x256 --pairs 3 --head %s --variant still,blind", 3},
        {"time --kernel late --problem 100x100x100 --launches 1 --pairs 64 --blocks 3 --head %s",
         3},
        {"time --kernel none --problem 9x8x7 --head %s", 3},
        {"time --kernel right --problem 9x8x7 --head %s --csv /nowhere/x", 4}};
    char *broken = test_module("broken");
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        char *arguments = xprintf("%s", cases[i].arguments);
        for (char *at; (at = strstr(arguments, "%s")) != NULL;) {
            char *filled = xprintf("%.*s'%s'%s", (int)(at - arguments), arguments, broken, at + 2);
            free(arguments);
            arguments = filled;
        }
        char *command =
            xprintf("exec '%s/bench' %s >/dev/null 2>&1 </dev/null", TEST_BIN, arguments);
        int status = system(command);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != cases[i].code)
            fail_msg("bench %s: status %x, not %d", arguments, status, cases[i].code);
        free(command);
        free(arguments);
    }
    free(broken);
}

// A block's scatter is that of all of its pairs: of one pair there is none.
TEST(by_hand_a_block_is_told_by_all_of_its_pairs)
{
    char *module = test_module("broken"), line[1024] = "";
    char *command = xprintf("exec '%s/bench' time --kernel right --problem 64x64x64 --pairs 24 "
                            "--head '%s' --base '%s' 2>/dev/null </dev/null | grep '^block 0 '",
                            TEST_BIN, module, module);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_non_null(fgets(line, sizeof(line), pipe));
    assert_int_equal(pclose(pipe), 0);
    const char *scatter = strstr(line, " pair_sd_pct "), *error = strstr(line, " se_pct ");
    if (!scatter || !error)
        fail_msg("%s", line);
    const double sd = strtod(scatter + strlen(" pair_sd_pct "), NULL),
                 se = strtod(error + strlen(" se_pct "), NULL);
    if (!(sd > 0 && se > 0 && se < sd))
        fail_msg("%s", line);
    free(command);
    free(module);
}

TEST(end_of_input_ends_bench)
{
    struct transcript t;
    bench_play(&t, BENCH_OPEN(1, "right", ""));
    assert_string_equal(field(transcript_find(&t, "opened", 0), "state"), "ok");
    assert_int_equal(transcript_exit(&t), 0);
    transcript_free(&t);
}

TEST(missing_devices_have_their_own_exit_code)
{
    struct transcript t;
    bench_script(&t, "--device host:3", "");
    assert_int_equal(transcript_exit(&t), 40);
    transcript_free(&t);
    bench_script(&t, "--device abacus", "");
    assert_int_equal(transcript_exit(&t), 4);
    transcript_free(&t);
    // On a machine with a GPU there is no device 1000; without one, or without CUDA, none at all.
    bench_script(&t, "--device cuda:1000", "");
    assert_int_equal(transcript_exit(&t), 40);
    assert_int_equal(transcript_count(&t, "hello"), 0);
    assert_true(strlen(t.errors) > 0);
    transcript_free(&t);
}
