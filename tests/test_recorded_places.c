// SPDX-License-Identifier: Apache-2.0
//
// What the third H200's study says of places: gates that are asked again in another one, a GPU that
// is hot, and memory that both builds share (baselines/recorded/h200/README.md).
#include "helper_files.h"
#include "helper_gates.h"
#include "model/gate.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RECORDED TEST_SOURCE "/baselines/recorded/h200/"
#define THIRD    RECORDED "study/third/"

static void says(const char *file, const char *text)
{
    char *all = helper_read(file, NULL);
    if (!strstr(all, text))
        fail_msg("%s does not say %s", file, text);
    free(all);
}

struct asked {
    unsigned gates, again, undecided; // again: open after the first process
};

// Gates of a library with itself on tensor cores, and of the same machine code built again.
static void count_asked(struct asked *aa, struct asked *built_again, const char *name)
{
    struct csv csv;
    csv_open(&csv, name);
    for (size_t i = 0; i < csv.count; i++) {
        const bool same = strcmp(csv_field(&csv, i, "kind"), "aa") == 0;
        struct asked *out = same ? aa : built_again;
        if (strstr(csv_field(&csv, i, "problem"), "fp32") ||
            (!same && !strstr(csv_field(&csv, i, "kernel"), "_again")))
            continue;
        const bool again = csv_number(&csv, i, "processes") > 1;
        assert_true(csv_number(&csv, i, "alarmed") == 0);
        if (again) // only this kernel is ever open
            assert_non_null(strstr(csv_field(&csv, i, "problem"), "4096x4096x4096:bf16"));
        out->gates++;
        out->again += again;
        out->undecided += strcmp(csv_field(&csv, i, "verdict"), "undecided") == 0;
    }
    csv_free(&csv);
}

static void another_place_decides_most_of_what_one_leaves_open(void **state)
{
    (void)state;
    struct asked aa = {0}, built_again = {0};
    char text[80];
    count_asked(&aa, &built_again, THIRD "study-step.csv");
    count_asked(&aa, &built_again, THIRD "study-gemmaa.csv");
    assert_true(aa.gates > 150 && aa.again > 5 * aa.undecided);
    snprintf(text, sizeof(text), "%u of %u open after the first process, %u undecided", aa.again,
             aa.gates, aa.undecided);
    says(RECORDED "README.md", text);
    snprintf(text, sizeof(text), "%u of %u gates", aa.undecided, aa.gates);
    says(TEST_SOURCE "/README.md", text);
    assert_int_equal(built_again.gates, 34);
    assert_int_equal(built_again.again, 1);
    assert_int_equal(built_again.undecided, 0);
}

// First blocks of the FP8 kernel lie on both sides of 100 us; its size, and its margin, do not.
static void a_hot_gpu_leaves_nothing_open(void **state)
{
    (void)state;
    struct csv blocks;
    double least_us = INFINITY, most_us = 0;
    unsigned above = 0, all = 0;
    csv_open(&blocks, THIRD "clocks-step.csv");
    for (size_t i = 0; i < blocks.count; i++) {
        const char *problem_text = csv_field(&blocks, i, "problem");
        const bool changes = strcmp(csv_field(&blocks, i, "kind"), "slower") == 0 &&
                             strstr(csv_field(&blocks, i, "kernel"), "_0050");
        struct problem problem;
        struct error err;
        if (csv_number(&blocks, i, "process") > 0 || changes || !strstr(problem_text, "e4m3"))
            continue;
        assert_int_equal(problem_parse(&problem, problem_text, &err), 0);
        const struct sample first = {
            .time_ns = 1e3 * strtod(csv_field(&blocks, i, "block_base_us"), NULL),
            .clock_hz = 1e6 * strtod(csv_field(&blocks, i, "block_mhz"), NULL)};
        const double us = gate_size_ns(&first, 1, &problem, gpu_find("h200-sxm")) / 1e3;
        least_us = fmin(least_us, us);
        most_us = fmax(most_us, us);
        above += first.time_ns >= 100e3;
        all++;
    }
    csv_free(&blocks);
    assert_int_equal(all, 51);
    assert_int_equal(above, 27);
    assert_true(fabs(least_us - 76.3) < 0.05 && fabs(most_us - 79.4) < 0.06);
    says(RECORDED "README.md", "27 of 51");
}

static void sharing_memory_is_worth_what_the_record_says(void **state)
{
    (void)state;
    struct csv csv;
    unsigned blocks[2] = {0}, beyond[2] = {0}; // shared, own
    double squares[2] = {0}, plain = 0;
    unsigned plain_blocks = 0;
    csv_open(&csv, THIRD "memory.csv");
    for (size_t i = 0; i < csv.count; i++) {
        const bool own = strcmp(csv_field(&csv, i, "memory"), "own") == 0;
        const double z = csv_number(&csv, i, "log_ratio_pct") / csv_number(&csv, i, "se_pct");
        blocks[own]++;
        beyond[own] += fabs(z) > 3;
        squares[own] += z * z;
        if (!own && strstr(csv_field(&csv, i, "problem"), "fp32")) {
            plain += z * z;
            plain_blocks++;
        }
    }
    csv_free(&csv);
    assert_int_equal(blocks[0], 168);
    assert_int_equal(blocks[1], 168);
    for (int own = 0; own < 2; own++) {
        char text[96];
        snprintf(text, sizeof(text), "| %u | %.2f | %.1f %% |", blocks[own],
                 sqrt(squares[own] / blocks[own]), 100.0 * beyond[own] / blocks[own]);
        says(RECORDED "README.md", text);
    }
    assert_true(fabs(sqrt(plain / plain_blocks) - 0.95) < 0.005);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_place_decides_most_of_what_one_leaves_open),
        cmocka_unit_test(a_hot_gpu_leaves_nothing_open),
        cmocka_unit_test(sharing_memory_is_worth_what_the_record_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
