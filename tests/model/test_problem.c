// SPDX-License-Identifier: Apache-2.0
//
// A problem's text reads back, and counts work and bytes.
#include "model/problem.h"
#include "tests/helpers/helper_random.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

TEST(problem_text_reads_back)
{
    static const char *const texts[][2] = {
        {"4096x7168x512:bf16", "4096x7168x512:bf16-bf16:tn"},
        {"64x64x64:fp8-bf16:nn:b8", "64x64x64:e4m3-bf16:nn:b8"},
        {"1x1x1", "1x1x1:fp32-fp32:tn"},
        {"8x8x2147483647:tf32", "8x8x2147483647:tf32-fp32:tn"},
        {"256x4096x7168:e2m1-fp16:tn:dual-silu", "256x4096x7168:e2m1-fp16:tn:dual-silu"},
        {"256x4096x7168:nvfp4-fp16:tn:dual-silu", "256x4096x7168:e2m1-fp16:tn:dual-silu:e4m3/16"},
        {"8x8x8:nvfp4:e4m3/16/tiled", "8x8x8:e2m1-bf16:tn:e4m3/16/tiled"},
        {"8x8x8:mxfp8", "8x8x8:e4m3-bf16:tn:e8m0/32"},
        {"4x8x7168:fp8:fp32/1x128/128x128/columns",
         "4x8x7168:e4m3-bf16:tn:fp32/1x128/128x128/columns"},
        {"4x8x9:fp8:fp32/1x128", "4x8x9:e4m3-bf16:tn:fp32/128"},
        {"8x8x8:fp32:beta=.50:alpha=1:lda=8:ldc=9", "8x8x8:fp32-fp32:tn:ldc=9:beta=0.5"},
        {"8x8x8:int8", "8x8x8:int8-int32:tn"},
        {"8x9x7:bf16:nn:ldb=9:BIAS-gelu", "8x9x7:bf16-bf16:nn:bias-gelu"},
        {"8x9x7:bf16:alpha=0.1:beta=-3e-7", "8x9x7:bf16-bf16:tn:alpha=0.1:beta=-3e-07"},
        {"8192x7168x4096:fp8:contiguous4/30", "8192x7168x4096:e4m3-bf16:tn:contiguous4/30"},
        {"4096x7168x4096:bf16:masked32/192/zipf", "4096x7168x4096:bf16-bf16:tn:masked32/192/zipf"},
        {"S=4096,H=128:bf16", "H=128,S=4096:bf16-bf16"},
        {"rows=3", "rows=3:fp32-fp32"},
        {"8x8x8:fp32:stream", "8x8x8:fp32-fp32:tn:stream"},
        {"8x8x8:fp32:isolated:nn", "8x8x8:fp32-fp32:nn:isolated"},
        {"8x8x8:fp32:cold", "8x8x8:fp32-fp32:tn"},
        {"S=4096:bf16:ACTIVATIONS", "S=4096:bf16-bf16:activations"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(texts); i++) {
        struct problem first, again;
        struct error err;
        char text[PROBLEM_TEXT];
        assert_int_equal(problem_parse(&first, texts[i][0], &err), 0);
        problem_format(text, &first);
        assert_string_equal(text, texts[i][1]);
        assert_int_equal(problem_parse(&again, text, &err), 0);
        assert_true(problem_equal(&first, &again));
    }
}

// Longer than any problem, made of parts that are fine.
#define TN        ":tn:tn:tn:tn:tn:tn:tn:tn"
#define LONG_TEXT "1x1x1:fp32" TN TN TN TN TN TN TN TN TN TN TN TN TN TN

// Leaves what it was to fill as it was.
static void expect_refusal(const char *text)
{
    struct problem problem = {.m = 7};
    struct error err = {""};
    if (problem_parse(&problem, text, &err) == 0)
        fail_msg("'%s' was read", text);
    assert_int_equal(problem.m, 7);
    assert_true(strlen(err.text) > 0);
    assert_null(strchr(err.text, '\n'));
}

TEST(problem_bad_text_is_refused_in_one_line)
{
    static const char *const texts[] = {
        "",
        ":",
        "4096",
        "4096x4096",
        "1x2x3x4",
        "0x1x1",
        "-1x1x1",
        "2147483648x1x1",
        "99999999999999999999x1x1",
        "1x1x1:",
        "1x1x1:fp99",
        "1x1x1:fp32-",
        "1x1x1:fp32:xx",
        "1x1x1:fp32:b0",
        "1x1x1:fp32:b65536",
        "1 x1x1",
        "1x1x1.5",
        "axbxc",
        "0x10x10x10",
        LONG_TEXT,
    };
    for (size_t i = 0; i < ARRAY_COUNT(texts); i++)
        expect_refusal(texts[i]);
}

TEST(forms_without_a_meaning_are_refused_in_one_line)
{
    static const char *const texts[] = {
        "8x8x8:bf16:lda=7",
        "8x8x8:bf16:lda=0",
        "8x8x8:bf16:ldd=9",
        "8x8x8:fp32:alpha=0",
        "8x8x8:fp32:alpha=nan",
        "8x8x8:fp32:beta=1e39",
        "8x8x8:fp32:beta=1e-60",
        "8x8x8:fp32:beta=",
        "8x8x8:bf16:dual-silu:beta=1",
        "8x8x8:int8-bf16",
        "8x8x8:bf16-int32",
        "8x8x8:int8:bias",
        "8x8x8:int32",
        "8x8x8:fp8:bf16/32",
        "8x8x8:fp8:e8m0/",
        "8x8x8:fp8:e8m0/0",
        "8x8x8:fp8:e8m0/32/rows/rows",
        "8x8x8:fp8:e8m0/32/up",
        "8x8x8:fp8:fp32/1x128/128x64",
        "8x8x8:fp8:fp32/128/tiled",
        "8x8x8:fp8:nn:e8m0/32",
        "8x8x8:fp32:contiguous0",
        "8x8x8:fp32:contiguous4097",
        "8x8x8:fp32:contiguous2:b2",
        "8x8x8:fp32:contiguous2/101",
        "8x8x8:fp32:masked2",
        "8x8x8:fp32:masked2/9",
        "8x8x8:bf16:nn:contiguous2",
        "S=:bf16",
        "=4:bf16",
        "S=4,S=5:bf16",
        "S=4,:bf16",
        "4S=4",
        "S=4:bf16:tn",
        "S=4:bf16:warm:dirty",
        "8x8x8:bf16:hot",
        "S=4:nvfp4",
        "S=0",
        "twelve_bytes=4",
        "a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=1",
    };
    for (size_t i = 0; i < ARRAY_COUNT(texts); i++)
        expect_refusal(texts[i]);
}

TEST(problem_counts_work_and_bytes)
{
    struct problem p;
    struct error err;
    assert_int_equal(problem_parse(&p, "2x3x5:fp16-fp32:tn:b4", &err), 0);
    assert_true(problem_flops(&p) == 2.0 * 2 * 3 * 5 * 4);
    assert_true(problem_bytes(&p) == 4 * ((2 * 5 + 3 * 5) * 2.0 + 2 * 3 * 4.0));
    assert_int_equal(problem_parse(&p, "2x3x5:bf16:tn:dual-silu", &err), 0);
    assert_true(problem_flops(&p) == 2 * 2.0 * 2 * 3 * 5);
    assert_true(problem_bytes(&p) == (2 * 5 + 2 * 3 * 5) * 2.0 + 2 * 3 * 2.0);
}

static int32_t below(struct random *r, int count)
{
    return (int32_t)(random_uniform(r) * count);
}

static void draw_form(struct problem *p, struct random *r)
{
    const struct problem_pitches dense = problem_pitches(p);
    p->batch = below(r, 2) ? 1 : 1 + below(r, 65535);
    p->lda = below(r, 2) ? 0 : dense.a + 1 + below(r, 100);
    p->ldb = below(r, 2) ? 0 : dense.b + 1 + below(r, 100);
    p->ldc = below(r, 2) ? 0 : dense.c + 1 + below(r, 100);
    p->epilogue = (enum epilogue)below(r, EPILOGUE_COUNT);
    if (p->epilogue == EPILOGUE_DUAL_SILU)
        return;
    p->alpha = below(r, 2) ? 0 : (float)(random_normal(r) * exp(9 * random_normal(r)));
    p->beta = below(r, 2) ? 0 : (float)(random_normal(r) * exp(9 * random_normal(r)));
}

static void draw_scales(struct problem *p, struct random *r)
{
    static const enum dtype types[] = {DTYPE_E8M0, DTYPE_E4M3, DTYPE_FP32};
    p->layout = LAYOUT_TN;
    p->scales = (struct block_scales){.vector = 16 << below(r, 4),
                                      .rows_a = 1 + below(r, 2) * 127,
                                      .rows_b = 1 + below(r, 2) * 127,
                                      .type = types[below(r, 3)],
                                      .layout = (enum scale_layout)below(r, 2)};
    if (p->scales.rows_a == 1 && p->scales.rows_b == 1 && p->scales.type != DTYPE_FP32)
        p->scales.layout = (enum scale_layout)below(r, SCALES_LAYOUTS);
    p->epilogue = below(r, 2) ? EPILOGUE_NONE : EPILOGUE_DUAL_SILU;
}

static void draw_groups(struct problem *p, struct random *r)
{
    p->layout = LAYOUT_TN;
    p->groups = (struct groups){.kind = (enum grouping)(1 + below(r, 2)),
                                .count = 1 + below(r, GROUPS_MOST),
                                .spread = below(r, 102) - 1};
    if (p->groups.kind == GROUPS_MASKED)
        p->groups.mean = 1 + below(r, (int)p->m);
}

// Any that has a meaning.
static struct problem draw(struct random *r)
{
    static const enum dtype types[] = {DTYPE_BF16, DTYPE_TF32, DTYPE_E4M3, DTYPE_FP16,
                                       DTYPE_FP32, DTYPE_E2M1, DTYPE_E5M2, DTYPE_FP64};
    struct problem p = {.in = types[below(r, 8)],
                        .out = types[below(r, 8)],
                        .batch = 1,
                        .regime = (enum regime)below(r, REGIMES)};
    if (below(r, 8) == 0) {
        p.number_count = 1 + below(r, PROBLEM_NUMBERS);
        for (int i = 0; i < p.number_count; i++) {
            snprintf(p.numbers[i].name, sizeof(p.numbers[i].name), "%c%d_", 'A' + i, below(r, 999));
            p.numbers[i].value = 1 + below(r, INT32_MAX);
        }
        return p;
    }
    p.m = 1 + below(r, INT32_MAX), p.n = 1 + below(r, 9999), p.k = 1 + below(r, INT32_MAX);
    p.layout = (enum layout)below(r, LAYOUT_COUNT);
    if (below(r, 2) && p.m < INT32_MAX - 100 && p.k < INT32_MAX - 100)
        draw_form(&p, r);
    else if (below(r, 2))
        draw_groups(&p, r);
    if (!p.lda && !p.ldb && below(r, 2) && (!p.groups.kind || p.layout == LAYOUT_TN)) {
        const enum epilogue before = p.epilogue;
        draw_scales(&p, r);
        if (p.alpha != 0 || p.beta != 0)
            p.epilogue = before;
    }
    return p;
}

// What is written reads back to the same problem and is written the same, and two problems are
// equal when their texts are.
TEST(any_problem_reads_back)
{
    struct random r = {2026};
    char last[PROBLEM_TEXT] = "";
    struct problem before = {0};
    for (int i = 0; i < 20000; i++) {
        const struct problem p = draw(&r);
        struct problem again;
        struct error err;
        char text[PROBLEM_TEXT], second[PROBLEM_TEXT];
        problem_format(text, &p);
        assert_true(strlen(text) < 250); // room to spare
        if (problem_parse(&again, text, &err))
            fail_msg("%s", err.text);
        if (!problem_equal(&p, &again))
            fail_msg("%s", text);
        problem_format(second, &again);
        assert_string_equal(text, second);
        assert_int_equal(problem_equal(&p, &before), strcmp(text, last) == 0);
        assert_true(p.number_count || problem_flops(&p) > 0);
        memcpy(last, text, sizeof(last));
        before = p;
    }
}

TEST(a_reader_is_told_the_regime_even_if_it_is_the_one_of_old_texts)
{
    static const char *const told[][2] = {
        {"64x64x64:fp32", "64x64x64:fp32-fp32:tn:cold"},
        {"64x64x64:fp32:stream", "64x64x64:fp32-fp32:tn:stream"},
        {"rows=4:fp32", "rows=4:fp32-fp32:cold"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(told); i++) {
        struct problem p, again;
        struct error err;
        char text[PROBLEM_TEXT];
        assert_int_equal(problem_parse(&p, told[i][0], &err), 0);
        problem_tell(text, &p);
        assert_string_equal(text, told[i][1]);
        assert_int_equal(problem_parse(&again, text, &err), 0);
        assert_true(problem_equal(&p, &again));
    }
}

// People spell a problem as their policy does, not as a series does.
TEST(a_problem_is_named_in_any_spelling_and_without_a_regime_in_each)
{
    static const struct {
        const char *text;
        bool warm, stream;
    } cases[] = {{"64x64x64:fp32-fp32:tn:warm", true, false},
                 {"64x64x64:fp32:warm", true, false},
                 {"64x64x64:fp32", true, true},
                 {"64x64x64", true, true},
                 {"m=64,n=64,k=64:fp32", true, true},
                 {"64x64x64:fp32:stream", false, true},
                 {"64x64x64:fp32:nn", false, false},
                 {"64x64x6*", false, false},
                 {"64x64x64:fp32:cold", false, false},
                 {"", false, false}};
    struct error err;
    struct problem warm, stream;
    assert_int_equal(problem_parse(&warm, "64x64x64:fp32:warm", &err), 0);
    stream = problem_in(&warm, REGIME_STREAM);
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        if (problem_is_named(&warm, cases[i].text) != cases[i].warm ||
            problem_is_named(&stream, cases[i].text) != cases[i].stream)
            fail_msg("%s", cases[i].text);
    }
}

TEST(plain_problems_are_those_of_the_first_abi)
{
    static const char *const plain[] = {"8x8x8", "8x8x8:fp8:nt:b3", "8x8x8:bf16:dual-silu",
                                        "8x8x8:bf16:lda=8:alpha=1:beta=0", "8x8x8:e2m1"};
    static const char *const others[] = {
        "8x8x8:int8",        "8x8x8:fp32:lda=9",       "8x8x8:fp32:alpha=2",
        "8x8x8:fp32:beta=1", "8x8x8:fp32:relu",        "8x8x8:fp32:bias",
        "8x8x8:fp8:e8m0/8",  "8x8x8:fp32:contiguous2", "S=4",
        "8x8x8:fp32:ldc=9"};
    struct problem p;
    struct error err;
    for (size_t i = 0; i < ARRAY_COUNT(plain); i++) {
        assert_int_equal(problem_parse(&p, plain[i], &err), 0);
        assert_true(problem_is_plain(&p));
    }
    for (size_t i = 0; i < ARRAY_COUNT(others); i++) {
        assert_int_equal(problem_parse(&p, others[i], &err), 0);
        assert_false(problem_is_plain(&p));
    }
}

TEST(groups_have_the_rows_they_say)
{
    static const char *const texts[] = {
        "8192x16x16:fp32:contiguous4", "8192x16x16:fp32:contiguous8/30",
        "777x16x16:fp32:contiguous100/100", "3x1x1:fp32:contiguous7",
        "8192x16x16:fp32:contiguous64/zipf"};
    int32_t rows[GROUPS_MOST];
    struct problem p;
    struct error err;
    for (size_t i = 0; i < ARRAY_COUNT(texts); i++) {
        int64_t sum = 0;
        assert_int_equal(problem_parse(&p, texts[i], &err), 0);
        problem_group_rows(rows, &p);
        for (int g = 0; g < p.groups.count; g++) {
            assert_true(rows[g] >= (p.m >= p.groups.count));
            sum += rows[g];
        }
        assert_int_equal(sum, p.m);
        assert_int_equal(problem_used_rows(&p), p.m);
        assert_int_equal(problem_stored_rows(&p) % GROUP_ALIGN, 0);
        assert_true(problem_stored_rows(&p) >= p.m);
    }
    assert_true(rows[0] > 30 * rows[63]); // zipf
    // The rows of a problem are part of it: these may never change.
    assert_int_equal(problem_parse(&p, "8192x16x16:fp32:contiguous4/30", &err), 0);
    problem_group_rows(rows, &p);
    const int32_t kept[] = {2405, 1877, 1401, 2509};
    assert_memory_equal(rows, kept, sizeof(kept));
    assert_int_equal(problem_parse(&p, "4096x16x16:fp32:masked32/192/30", &err), 0);
    problem_group_rows(rows, &p);
    for (int g = 0; g < 32; g++)
        assert_in_range(rows[g], 192 * 7 / 10 - 8, 192 * 13 / 10 + 8);
    assert_true(fabs((double)problem_used_rows(&p) - 32 * 192) <= 32);
    assert_int_equal(problem_parse(&p, "20x16x16:fp32:masked9/19/zipf", &err), 0);
    problem_group_rows(rows, &p);
    assert_int_equal(rows[0], 20); // no more than there is room for
}

TEST(problem_counts_what_forms_add)
{
    static const struct {
        const char *text;
        double flops, bytes;
    } cases[] = {
        {"2x3x5:bf16:beta=1", 60, 2 * (10 + 15 + 6 + 6)},
        {"2x3x5:bf16:bias-relu", 60, 2 * (10 + 15 + 6 + 3)},
        {"2x3x32:nvfp4-fp16", 384, (2 + 3) * (16 + 2) + 2 * 6},
        {"4x300x300:fp8:fp32/1x128/100x128", 720000, 304 * 300 + 4 * 3 * (4 + 3) + 2 * 1200},
        {"6x4x8:bf16:contiguous2", 384, 2 * (6 * 8 + 2 * 4 * 8 + 24)},
        {"2x3x5:int8", 60, 25 + 4 * 6},
        {"S=4096,H=128:bf16", 0, 0},
    };
    struct problem p;
    struct error err;
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        assert_int_equal(problem_parse(&p, cases[i].text, &err), 0);
        assert_true(problem_flops(&p) == cases[i].flops);
        assert_true(problem_bytes(&p) == cases[i].bytes);
    }
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

TEST(an_epilogue_reads_back_in_upper_and_lower_case)
{
    enum epilogue read;
    for (int i = 0; i < EPILOGUE_COUNT; i++) {
        char upper[32] = "";
        const char *name = epilogue_name((enum epilogue)i);
        for (size_t c = 0; name[c] && c + 1 < sizeof(upper); c++)
            upper[c] = name[c] >= 'a' && name[c] <= 'z' ? (char)(name[c] - 'a' + 'A') : name[c];
        assert_int_equal(epilogue_parse(&read, name), 0);
        assert_int_equal(read, i);
        assert_int_equal(epilogue_parse(&read, upper), 0);
        assert_int_equal(read, i);
    }
    assert_int_equal(epilogue_parse(&read, "bias-"), -1);
}
