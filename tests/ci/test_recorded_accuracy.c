// SPDX-License-Identifier: Apache-2.0
//
// The accuracy that README.md and baselines/recorded/h200/accuracy/README.md state, asked of
// today's recordings by the command that they name.
#include "ci/command.h"
#include "ci/settings/rows.h"
#include "kernels/sweep/rows.h"
#include "model/predict/parts/space_name.h"
#include "tests/helpers/helper_table.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

extern const struct command command_accuracy;

enum { WORDS_MOST = 40, NUMBERS = 11 };
static const char *const types[] = {"bf16", "e4m3", "tf32"};

// Runs `plumb accuracy` on these lists in all types; what it printed (caller frees).
static char *accuracy_on(const char *const *lists, size_t count)
{
    char *argv[WORDS_MOST] = {xstrdup("accuracy"), xstrdup("--model"), xstrdup("hopper")};
    int argc = 3;
    for (size_t i = 0; i < count * ARRAY_COUNT(types); i++) {
        argv[argc++] = xstrdup("--csv");
        argv[argc++] = xprintf("%s/baselines/recorded/h200/ladder/%s.%s.csv", TEST_SOURCE,
                               lists[i / ARRAY_COUNT(types)], types[i % ARRAY_COUNT(types)]);
    }
    char path[] = "/tmp/plumb-test-XXXXXX", *first = argv[0];
    int file = mkstemp(path), kept = dup(1);
    fflush(stdout);
    dup2(file, 1);
    int code = command_accuracy.run(argc, argv);
    fflush(stdout);
    dup2(kept, 1);
    close(file);
    close(kept);
    size_t length;
    char *text = file_read(path, &length);
    unlink(path);
    assert_int_equal(code, 0);
    free(first); // the option parser puts its own text in argv[0]
    for (int i = 1; i < argc; i++)
        free(argv[i]);
    return text;
}

struct figures {
    double rows, refused, mape, median, p90, p99, bias, in_10, tau, picked, worst;
};

static struct figures line(const char *text, const char *name)
{
    char *key = xprintf("\n%-22s ", name);
    const char *at = strstr(text, key);
    if (!at)
        fail_msg("no line %s in:\n%s", name, text);
    double numbers[NUMBERS];
    at += strlen(key);
    for (int i = 0; i < NUMBERS; i++) {
        char *end;
        numbers[i] = strtod(at, &end);
        assert_ptr_not_equal(end, at);
        at = end;
    }
    free(key);
    return (struct figures){numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5],
                            numbers[6], numbers[7], numbers[8], numbers[9], numbers[10]};
}

// 80 problems that gave the constants nothing.
static void the_judged_lists_are_met(void **state)
{
    (void)state;
    const char *const lists[] = {"dsv3", "more", "smallm"};
    char *text = accuracy_on(lists, ARRAY_COUNT(lists));
    struct figures plain = line(text, "hopper"), bias = line(text, "hopper +bias");
    struct figures library = line(text, "hopper, no tile"), sol = line(text, "sol");
    assert_true(plain.rows == 25716 && plain.refused == 0);
    assert_true(plain.median < 3.5 && plain.p90 < 13 && plain.tau > 0.82);
    assert_true(bias.median <= 3 && bias.p90 <= 10 && bias.tau >= 0.88 && bias.picked >= 0.97);
    assert_true(library.rows == 1246 && library.median < 5 && library.p90 < 14); // cuBLASLt
    assert_true(sol.median > 40);
    free(text);
}

// 32 random problems that nothing was ever fitted to.
static void the_unseen_list_is_met(void **state)
{
    (void)state;
    const char *const lists[] = {"unseen"};
    char *text = accuracy_on(lists, 1);
    struct figures bias = line(text, "hopper +bias"), library = line(text, "hopper, no tile");
    assert_true(bias.rows == 10591 && bias.refused == 0);
    assert_true(bias.median <= 4.5 && bias.p90 <= 14 && bias.tau >= 0.85 && bias.picked >= 0.95);
    assert_true(library.median < 13);
    free(text);
}

// Both parsers of the space's names read the same row: the sweep's, and the one that needs none of
// its code.
static void the_names_of_all_recorded_rows_say_their_traits(void **state)
{
    (void)state;
    size_t known = 0, library = 0;
    for (size_t f = 0; f < ARRAY_COUNT(types); f++) {
        char *path =
            xprintf("%s/baselines/recorded/h200/ladder/unseen.%s.csv", TEST_SOURCE, types[f]);
        struct csv csv;
        struct error err;
        assert_int_equal(rows_open(&csv, path, &err), 0);
        for (size_t i = 0; i < csv.count; i++) {
            const char *name = csv.rows[i].fields[csv_column(&csv, "kernel")];
            struct sweep_row swept;
            struct traits t;
            bool is_row = space_traits(&t, name);
            assert_int_equal(is_row, sweep_row_parse(&swept, name));
            known += is_row;
            library += !is_row;
            if (!is_row)
                continue;
            assert_int_equal(t.in, swept.traits.in_type);
            assert_int_equal(t.tile_m, swept.traits.tile_m);
            assert_int_equal(t.tile_n, swept.traits.tile_n);
            assert_int_equal(t.tile_k, swept.traits.tile_k);
            assert_int_equal(t.stages, t.tile_m == 1 ? 1 : swept.traits.stages);
            assert_int_equal(t.split_k, swept.traits.split_k);
            assert_int_equal(t.cluster_m, swept.traits.cluster_m);
            assert_int_equal(t.blocks_per_sm, swept.traits.blocks_per_sm);
            assert_true(t.smem_bytes <= 232448 && t.threads >= 256);
        }
        csv_free(&csv);
        free(path);
    }
    assert_true(known > 10000 && library > 400);
}

static void what_is_no_row_of_the_space_says_nothing(void **state)
{
    (void)state;
    static const char *const names[] = {"",
                                        "cublaslt#0",
                                        "bf16",
                                        "bf16-",
                                        "bf16-128x128",
                                        "int8-128x256-w2x1-c2x1-s4-e2-m8-coop",
                                        "bf16-0x256-w2x1-c2x1-s4-e2-m8-coop",
                                        "bf16-128x256-w2x1-c2x1-s4-e2-m8-coop-aVeryLongModeIndeed",
                                        "bf16-128x256-w2x1-c2x1-s-4-e2-m8-coop",
                                        "bf16-128x256-w0x1-c2x1-s4-e2-m8-coop"};
    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        struct traits t = {.tile_m = 7};
        assert_false(space_traits(&t, names[i]));
        assert_int_equal(t.tile_m, 7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_judged_lists_are_met),
        cmocka_unit_test(the_unseen_list_is_met),
        cmocka_unit_test(the_names_of_all_recorded_rows_say_their_traits),
        cmocka_unit_test(what_is_no_row_of_the_space_says_nothing),
    };
    return cmocka_run_group_tests_name("recorded_accuracy", tests, NULL, NULL);
}
