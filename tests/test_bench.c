// SPDX-License-Identifier: Apache-2.0
//
// The real bench on the host device: the protocol, and that it finds every kernel that is broken.
#include "tests/helper_bench.h"
#include "tests/helper_random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

enum { LONG_SCRIPT = 32768 };

// Runs `script`, in which %B stands for the broken library and %S for the SIMD one.
static void play(struct transcript *out, const char *script)
{
    char *broken = test_module("broken"), *simd = ladder_module("simd");
    char *text = xcalloc(1, LONG_SCRIPT);
    size_t used = 0;
    for (const char *c = script; *c; c++) {
        const char *insert = NULL;
        if (c[0] == '%' && (c[1] == 'B' || c[1] == 'S'))
            insert = *++c == 'B' ? broken : simd;
        used += (size_t)snprintf(text + used, LONG_SCRIPT - used, "%.*s",
                                 insert ? (int)strlen(insert) : 1, insert ? insert : c);
    }
    bench_script(out, "--device host", text);
    free(text);
    free(broken);
    free(simd);
}

#define OPEN(id, kernel, more)                                                                     \
    "open\tid=" #id "\tkernel=" kernel "\tproblem=33x29x47:fp32\thead=%B\tseed=7" more "\n"

static void assert_clean_exit(const struct transcript *t, int code)
{
    assert_true(WIFEXITED(t->status));
    assert_int_equal(WEXITSTATUS(t->status), code);
}

// Opens `kernel` and returns the state it was found in; the note goes to `note`.
static void assert_state(const char *kernel, const char *state, const char *in_note)
{
    struct transcript t;
    char *script =
        xprintf("open\tid=1\tkernel=%s\tproblem=33x29x47:fp32\thead=%%B\tseed=7\nquit\n", kernel);
    play(&t, script);
    const struct wire_record *opened = transcript_find(&t, "opened", 0);
    assert_string_equal(field(opened, "state"), state);
    assert_string_equal(field(opened, "role"), "head");
    if (!strstr(field(opened, "note"), in_note))
        fail_msg("%s: the note says '%s', not '%s'", kernel, field(opened, "note"), in_note);
    assert_int_equal(transcript_count(&t, "done"), 1);
    assert_clean_exit(&t, 0);
    transcript_free(&t);
    free(script);
}

static void greeting_names_wire_and_device(void **state)
{
    (void)state;
    struct transcript t;
    play(&t, "quit\n");
    assert_string_equal(field(transcript_find(&t, "hello", 0), "wire"), "1");
    const struct wire_record *device = transcript_find(&t, "device", 0);
    assert_string_equal(field(device, "kind"), "host");
    assert_true(strncmp(field(device, "uuid"), "HOST-", 5) == 0);
    assert_true(atoi(field(device, "sm_count")) >= 1);
    assert_clean_exit(&t, 0);
    transcript_free(&t);
}

static void device_identity_is_stable(void **state)
{
    (void)state;
    struct transcript first, second;
    play(&first, "quit\n");
    play(&second, "quit\n");
    assert_string_equal(field(transcript_find(&first, "device", 0), "uuid"),
                        field(transcript_find(&second, "device", 0), "uuid"));
    transcript_free(&first);
    transcript_free(&second);
}

static void list_gives_every_kernel_and_its_traits(void **state)
{
    (void)state;
    struct transcript t;
    struct traits traits;
    struct error err;
    play(&t, "list\tlibrary=%B\nlist\tlibrary=%S\nquit\n");
    assert_string_equal(field(transcript_find(&t, "kernel", 0), "name"), "right");
    assert_string_equal(field(transcript_find(&t, "kernel", 0), "summary"), "tabs\tand\nlines");
    assert_int_equal(transcript_count(&t, "done"), 2);
    const struct wire_record *simd =
        transcript_find(&t, "kernel", transcript_count(&t, "kernel") - 1);
    assert_string_equal(field(simd, "name"), "simd");
    assert_int_equal(wire_traits(&traits, simd, &err), 0);
    assert_int_equal(traits.threads, 1);
    assert_int_equal(traits.tile_n, 1024);
    transcript_free(&t);
}

static void pairs_alternate_roles_in_random_order(void **state)
{
    (void)state;
    struct transcript t;
    int head_first = 0;
    play(&t, "open\tid=4\tkernel=simd\tproblem=64x64x64:fp32\thead=%S\tbase=%S\tseed=3\n"
             "pairs\tid=4\tcount=32\tblock=2\npairs\tid=4\tcount=1\tblock=3\nclose\tid=4\nquit\n");
    assert_string_equal(field(transcript_find(&t, "opened", 0), "state"), "ok");
    assert_int_equal(transcript_count(&t, "sample"), 66);
    for (size_t i = 0; i < 66; i += 2) {
        struct sample first, second;
        struct error err;
        assert_int_equal(wire_sample(&first, transcript_find(&t, "sample", i), &err), 0);
        assert_int_equal(wire_sample(&second, transcript_find(&t, "sample", i + 1), &err), 0);
        assert_int_equal(first.pair, i / 2);
        assert_int_equal(second.pair, i / 2);
        assert_int_equal(first.block, i < 64 ? 2 : 3);
        assert_int_equal(first.order, 0);
        assert_int_equal(second.order, 1);
        assert_int_not_equal(first.role, second.role);
        head_first += first.role == ROLE_HEAD;
        assert_true(first.time_ns > 0 && second.time_ns > 0);
    }
    assert_in_range(head_first, 5, 28);
    assert_string_equal(field(transcript_find(&t, "closed", 0), "state"), "ok");
    assert_int_equal(transcript_count(&t, "fail"), 0);
    assert_clean_exit(&t, 0);
    transcript_free(&t);
}

static void order_inside_pairs_follows_the_seed(void **state)
{
    (void)state;
    struct transcript t;
    play(&t, "open\tid=1\tkernel=simd\tproblem=8x8x8:fp32\thead=%S\tbase=%S\tseed=3\n"
             "open\tid=2\tkernel=simd\tproblem=8x8x8:fp32\thead=%S\tbase=%S\tseed=3\n"
             "open\tid=3\tkernel=simd\tproblem=8x8x8:fp32\thead=%S\tbase=%S\tseed=4\n"
             "pairs\tid=1\tcount=40\tblock=0\npairs\tid=2\tcount=40\tblock=0\n"
             "pairs\tid=3\tcount=40\tblock=0\nquit\n");
    int same = 0;
    for (size_t i = 0; i < 80; i++) {
        const char *role = field(transcript_find(&t, "sample", i), "role");
        assert_string_equal(role, field(transcript_find(&t, "sample", 80 + i), "role"));
        same += strcmp(role, field(transcript_find(&t, "sample", 160 + i), "role")) == 0;
    }
    assert_true(same < 80);
    transcript_free(&t);
}

static void solo_samples_are_of_head(void **state)
{
    (void)state;
    struct transcript t;
    play(&t, OPEN(9, "right", "") "solo\tid=9\tcount=5\tblock=0\npairs\tid=9\tcount=1\tblock=0\n"
                                  "close\tid=9\nsolo\tid=9\tcount=1\tblock=0\nquit\n");
    assert_int_equal(transcript_count(&t, "sample"), 5);
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(field(transcript_find(&t, "sample", i), "role"), "head");
    // No base to pair with, and nothing open after close.
    assert_int_equal(transcript_count(&t, "fail"), 2);
    assert_non_null(strstr(field(transcript_find(&t, "fail", 0), "text"), "no base"));
    assert_non_null(strstr(field(transcript_find(&t, "fail", 1), "text"), "not open"));
    assert_clean_exit(&t, 0);
    transcript_free(&t);
}

static void short_kernels_are_batched(void **state)
{
    (void)state;
    struct transcript t;
    play(&t, "open\tid=1\tkernel=simd\tproblem=16x16x16:fp32\thead=%S\tseed=1\n"
             "solo\tid=1\tcount=1\tblock=0\n"
             "open\tid=2\tkernel=simd\tproblem=700x700x700:fp32\thead=%S\tseed=1\nquit\n");
    assert_true(atoi(field(transcript_find(&t, "opened", 0), "launches")) > 8);
    assert_string_equal(field(transcript_find(&t, "opened", 0), "launches"),
                        field(transcript_find(&t, "sample", 0), "launches"));
    assert_string_equal(field(transcript_find(&t, "opened", 1), "launches"), "1");
    transcript_free(&t);
}

static void launches_can_be_fixed_from_outside(void **state)
{
    (void)state;
    struct transcript t;
    play(&t, OPEN(1, "right", "\tlaunches=3") "solo\tid=1\tcount=2\tblock=0\nquit\n");
    assert_string_equal(field(transcript_find(&t, "opened", 0), "launches"), "3");
    assert_string_equal(field(transcript_find(&t, "sample", 1), "launches"), "3");
    assert_clean_exit(&t, 0);
    transcript_free(&t);
}

// A matrix of 2^40 elements fits nowhere; beside an open series it is refused before it is tried.
static void series_without_room_beside_another_is_refused(void **state)
{
    (void)state;
    struct transcript t;
    play(&t, OPEN(1, "right", "") "open\tid=2\tkernel=right\tproblem=1048576x1048576x8:fp32"
                                  "\thead=%B\tseed=7\n"
                                  "solo\tid=1\tcount=2\tblock=0\nquit\n");
    const char *text = field(transcript_find(&t, "fail", 0), "text");
    assert_string_equal(text, "bench: open: no room beside 1 open series; close some");
    assert_int_equal(transcript_count(&t, "sample"), 2);
    assert_clean_exit(&t, 0);
    transcript_free(&t);
}

static void wrong_kernels_are_found(void **state)
{
    (void)state;
    assert_state("wrong", "wrong", "1 of 957 elements wrong");
    assert_state("imprecise", "wrong", "1 of 957 elements wrong");
    assert_state("nan", "wrong", "nan");
    assert_state("unwritten", "wrong", "nan");
    assert_state("short_k", "wrong", "elements wrong");
    assert_state("transposed", "wrong", "elements wrong");
}

static void out_of_bounds_writes_are_found(void **state)
{
    (void)state;
    assert_state("beyond", "wrong", "out of bounds: byte 0 behind C");
    assert_state("before", "wrong", "behind B");
    assert_state("overrun", "wrong", "behind the workspace");
}

static void kernels_that_cannot_run_say_why(void **state)
{
    (void)state;
    assert_state("right", "ok", "");
    assert_state("nowhere", "missing", "no kernel of this name");
    assert_state("unsupported", "unsupported", "does not do this problem");
    assert_state("refuses", "crashed", "launch() returned 7");
    assert_state("unprepared", "crashed", "prepare() returned 5");
}

static void kernel_that_turns_wrong_is_found_at_close(void **state)
{
    (void)state;
    struct transcript t;
    play(&t, OPEN(1, "late", "") "solo\tid=1\tcount=100\tblock=0\nclose\tid=1\nquit\n");
    assert_string_equal(field(transcript_find(&t, "opened", 0), "state"), "ok");
    assert_string_equal(field(transcript_find(&t, "closed", 0), "state"), "wrong");
    transcript_free(&t);
}

static void crash_ends_bench_by_a_signal(void **state)
{
    (void)state;
    struct transcript t;
    play(&t, OPEN(1, "crash", "") "quit\n");
    assert_false(WIFEXITED(t.status) && WEXITSTATUS(t.status) == 0);
    assert_int_equal(transcript_count(&t, "opened"), 0);
    transcript_free(&t);
}

static void what_kernels_print_stays_out_of_the_protocol(void **state)
{
    (void)state;
    struct transcript t;
    play(&t, OPEN(1, "prints", "") "solo\tid=1\tcount=2\tblock=0\nquit\n");
    assert_int_equal(transcript_count(&t, "sample"), 2);
    assert_non_null(strstr(t.errors, "sample\tid=1"));
    transcript_free(&t);
}

static void library_of_the_base_is_blamed_for_its_own(void **state)
{
    (void)state;
    struct transcript t;
    play(&t, "open\tid=1\tkernel=simd\tproblem=8x8x8:fp32\thead=%S\tbase=%B\tseed=1\nquit\n");
    assert_string_equal(field(transcript_find(&t, "opened", 0), "state"), "missing");
    assert_string_equal(field(transcript_find(&t, "opened", 0), "role"), "base");
    transcript_free(&t);
}

static void assert_library_refused(const char *module, const char *state, const char *note)
{
    struct transcript t;
    char *path = test_module(module);
    char *script =
        xprintf("open\tid=1\tkernel=right\tproblem=8x8x8:fp32\thead=%s\tseed=1\nquit\n", path);
    bench_script(&t, "", script);
    const struct wire_record *opened = transcript_find(&t, "opened", 0);
    assert_string_equal(field(opened, "state"), state);
    if (!strstr(field(opened, "note"), note))
        fail_msg("%s: '%s' does not say '%s'", module, field(opened, "note"), note);
    assert_clean_exit(&t, 0);
    transcript_free(&t);
    free(script);
    free(path);
}

static void unusable_libraries_are_refused(void **state)
{
    (void)state;
    assert_library_refused("newer_abi", "unbuildable", "ABI version 2, this bench reads 1");
    assert_library_refused("small_table", "unbuildable", "16 bytes");
    assert_library_refused("bad_name", "unbuildable", "[a-z0-9]");
    assert_library_refused("not_a_library", "unbuildable", "no plumb_library()");
    assert_library_refused("unresolved", "unbuildable", "defined_nowhere");
    assert_library_refused("other_device", "unsupported", "abacus");
    assert_library_refused("there_is_none", "unbuildable", "cannot be loaded");
}

static void one_file_twice_is_two_copies(void **state)
{
    (void)state;
    struct transcript t;
    // Each copy has its own variables, and the second is held to the first one's choice.
    play(&t, OPEN(1, "once", "\tbase=%B") OPEN(2, "chooses", "\tbase=%B") "quit\n");
    assert_string_equal(field(transcript_find(&t, "opened", 0), "state"), "ok");
    const struct wire_record *chosen = transcript_find(&t, "opened", 1);
    assert_string_equal(field(chosen, "state"), "ok");
    assert_non_null(strstr(field(chosen, "note"), "choice of this copy at"));
    transcript_free(&t);
}

static void pin_is_reproduced_or_refused(void **state)
{
    (void)state;
    struct transcript t;
    play(&t, OPEN(1, "chooses", "\tpin=choice 5") OPEN(2, "chooses", "\tpin=other") "quit\n");
    assert_string_equal(field(transcript_find(&t, "opened", 0), "note"), "choice 5");
    assert_string_equal(field(transcript_find(&t, "opened", 1), "state"), "unsupported");
    assert_non_null(strstr(field(transcript_find(&t, "opened", 1), "note"), "reproduce 'other'"));
    transcript_free(&t);
}

static void bad_commands_fail_and_bench_goes_on(void **state)
{
    (void)state;
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
    char *script = xcalloc(1, LONG_SCRIPT);
    for (size_t i = 0; i < ARRAY_COUNT(lines); i++) {
        strcat(script, lines[i]);
        strcat(script, "\n");
    }
    strcat(script, "quit\n");
    bench_script(&t, "", script);
    assert_int_equal(transcript_count(&t, "fail"), ARRAY_COUNT(lines));
    assert_int_equal(transcript_count(&t, "done"), 0);
    assert_clean_exit(&t, 0);
    transcript_free(&t);
    free(script);
}

static void overlong_lines_fail_once(void **state)
{
    (void)state;
    struct transcript t;
    char *script = xcalloc(1, 3 * WIRE_LINE);
    memset(script, 'a', 2 * WIRE_LINE);
    strcat(script, "\nquit\n");
    bench_script(&t, "", script);
    assert_int_equal(transcript_count(&t, "fail"), 1);
    assert_clean_exit(&t, 0);
    transcript_free(&t);
    free(script);
}

static void calibrate_repeats_and_knows_its_figures(void **state)
{
    (void)state;
    struct transcript t;
    play(&t, "calibrate\tonly=flops_clk_fp32\ncalibrate\tonly=nothing\nquit\n");
    const struct wire_record *figure = transcript_find(&t, "figure", 0);
    assert_string_equal(field(figure, "key"), "flops_clk_fp32");
    assert_true(atoi(field(figure, "repeats")) >= 3);
    double value = strtod(field(figure, "value"), NULL);
    assert_true(value > 0.1 && value < 1000);
    assert_non_null(wire_text(figure, "cv"));
    assert_non_null(wire_text(figure, "stable"));
    assert_int_equal(transcript_count(&t, "figure"), 1);
    assert_non_null(strstr(field(transcript_find(&t, "fail", 0), "text"), "'nothing'"));
    transcript_free(&t);
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

static void mutated_lines_never_end_bench(void **state)
{
    (void)state;
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
    assert_clean_exit(&t, 0);
    assert_true(transcript_count(&t, "fail") > 1000);
    transcript_free(&t);
    free(script);
}

static void by_hand_the_exit_code_tells(void **state)
{
    (void)state;
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
        {"time --kernel wrong --problem 9x8x7 --pairs 3 --head %s", 3},
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

static void end_of_input_ends_bench(void **state)
{
    (void)state;
    struct transcript t;
    play(&t, OPEN(1, "right", ""));
    assert_string_equal(field(transcript_find(&t, "opened", 0), "state"), "ok");
    assert_clean_exit(&t, 0);
    transcript_free(&t);
}

static void missing_devices_have_their_own_exit_code(void **state)
{
    (void)state;
    struct transcript t;
    bench_script(&t, "--device host:3", "");
    assert_clean_exit(&t, 40);
    transcript_free(&t);
    bench_script(&t, "--device abacus", "");
    assert_clean_exit(&t, 4);
    transcript_free(&t);
    // On a machine with a GPU there is no device 1000; without one, or without CUDA, none at all.
    bench_script(&t, "--device cuda:1000", "");
    assert_clean_exit(&t, 40);
    assert_int_equal(transcript_count(&t, "hello"), 0);
    assert_true(strlen(t.errors) > 0);
    transcript_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(greeting_names_wire_and_device),
        cmocka_unit_test(device_identity_is_stable),
        cmocka_unit_test(list_gives_every_kernel_and_its_traits),
        cmocka_unit_test(pairs_alternate_roles_in_random_order),
        cmocka_unit_test(order_inside_pairs_follows_the_seed),
        cmocka_unit_test(solo_samples_are_of_head),
        cmocka_unit_test(short_kernels_are_batched),
        cmocka_unit_test(launches_can_be_fixed_from_outside),
        cmocka_unit_test(series_without_room_beside_another_is_refused),
        cmocka_unit_test(wrong_kernels_are_found),
        cmocka_unit_test(out_of_bounds_writes_are_found),
        cmocka_unit_test(kernels_that_cannot_run_say_why),
        cmocka_unit_test(kernel_that_turns_wrong_is_found_at_close),
        cmocka_unit_test(crash_ends_bench_by_a_signal),
        cmocka_unit_test(what_kernels_print_stays_out_of_the_protocol),
        cmocka_unit_test(library_of_the_base_is_blamed_for_its_own),
        cmocka_unit_test(unusable_libraries_are_refused),
        cmocka_unit_test(one_file_twice_is_two_copies),
        cmocka_unit_test(pin_is_reproduced_or_refused),
        cmocka_unit_test(bad_commands_fail_and_bench_goes_on),
        cmocka_unit_test(overlong_lines_fail_once),
        cmocka_unit_test(calibrate_repeats_and_knows_its_figures),
        cmocka_unit_test(mutated_lines_never_end_bench),
        cmocka_unit_test(by_hand_the_exit_code_tells),
        cmocka_unit_test(end_of_input_ends_bench),
        cmocka_unit_test(missing_devices_have_their_own_exit_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
