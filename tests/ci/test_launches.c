// SPDX-License-Identifier: Apache-2.0
//
// Grid, block and shared memory of a launch are followed through names to numbers and to what the
// kernel is given; what is not understood is not guessed.
#include "ci/init/init.h"
#include "tests/helpers/test.h"

#include <stdlib.h>
#include <string.h>

static struct arena arena;

static struct launch_list find(const char *const *texts, size_t count)
{
    struct launch_list list;
    struct source_text sources[4];
    for (size_t i = 0; i < count; i++)
        sources[i] = (struct source_text){i ? "b.cu" : "a.cu", texts[i]};
    launches_find(&list, sources, texts, count, &arena);
    return list;
}

static void assert_same(const char *text, const char *is, const char *wanted)
{
    if (!is != !wanted || (is && strcmp(is, wanted) != 0))
        fail_msg("%s\nis %s, not %s", text, is ? is : "nothing", wanted ? wanted : "nothing");
}

TEST(names_lead_to_numbers_and_arguments)
{
    static const struct {
        const char *text, *grid, *block;
    } of[] = {
        {"g<<<n / 32, 256>>>(m, n, a)", "(unsigned)($b / 32)", "256"},
        {"dim3 grid((n + 15) / 16, (m + 15) / 16), block{16, 16}; g<<<grid, block>>>(m, n)",
         "(unsigned)(($b + 15) / 16), (unsigned)(($a + 15) / 16)", "16, 16"},
        {"const int BM = 128, BN = 64, TM = 8; dim3 b = dim3(BM * BN / (TM * 8));\n"
         "g<BM, BN><<<dim3(CEIL_DIV(p.n, BN), cute::ceil_div(p.m, BM)), b, 0, s>>>(p.m, p.n)",
         "(unsigned)(($b + 63) / 64), (unsigned)(($a + 127) / 128)", "128"},
        {"dim3 block(32, 8); dim3 grid((n - 1) / block.x + 1, m >> 3, block.z);\n"
         "g<<<grid, block>>>(m, n)",
         "(unsigned)((($b - 1) / 32) + 1), (unsigned)($a >> 3), 1", "32, 8"},
        {"g<<<ceil(n / 32.0), static_cast<unsigned>(64)>>>(n)", "(unsigned)(ceil($a / 32.0))",
         "64"},
        {"dim3 d(ceil((float)n / 32)); g<<<d, 32u>>>(n)", "(unsigned)(ceil(((float)$a) / 32))",
         "32"},
        {"int t = 8 * 4; int b = n / t + (n % t == 0 ? 0 : 1); g<<<b, t>>>(n)",
         "(unsigned)(($a / 32) + ((($a % 32) == 0) ? 0 : 1))", "32"},
        {"auto b = 64; b = 128; other(b); g<<<n, b>>>(n)", "(unsigned)($a)", "128"},
        {"dim3 grid(1); } void f() { dim3 grid; grid.y = (m + 3) / 4; grid.x = n; g<<<grid, "
         "32>>>(m, n)",
         "(unsigned)($b), (unsigned)(($a + 3) / 4)", "32"},
        {"dim3 grid(1); } void f() { dim3 grid; fill(&grid); g<<<grid, 32>>>(m, n)", NULL, "32"},
        {"g<<<tiles(n), 32>>>(n)", NULL, "32"},
        {"int q = q + 1; g<<<q, 32>>>(n)", NULL, "32"},
        {"int q = 1 / 0; g<<<q, missing>>>(n)", NULL, NULL},
        {"g<<<9999999999, n + >>>(n)", NULL, NULL},
    };
    for (size_t i = 0; i < ARRAY_COUNT(of); i++) {
        const struct launch_list list = find(&of[i].text, 1);
        assert_int_equal(list.count, 1);
        assert_string_equal(list.items[0].kernel, "g");
        assert_same(of[i].text, list.items[0].grid, of[i].grid);
        assert_same(of[i].text, list.items[0].block, of[i].block);
    }
}

TEST(constants_and_shared_memory_may_be_anywhere)
{
    static const char *const texts[] = {"void run() { ns::g<float, TILE, true> <<<grid_of(1), 2 * "
                                        "TILE, TILE * sizeof(float)>>>(a); }\n"
                                        "h<<<n, WIDE, 48 << 10>>>(n); k<T><<<n, 1>>>(n);",
                                        "#define WIDE (TILE * 4) // threads\nenum { TILE = 16 };"};
    const struct launch_list list = find(texts, 2);
    assert_int_equal(list.count, 3);
    assert_string_equal(list.items[0].numbers, "float, 16, true");
    assert_string_equal(list.items[0].shared, "(size_t)(16 * sizeof(float))");
    assert_string_equal(list.items[0].block, "32");
    assert_string_equal(list.items[1].block, "64");
    assert_false(list.items[1].templated);
    assert_true(list.items[2].templated);
    assert_null(list.items[2].numbers);
}

TEST(hostile_launches_come_to_an_end)
{
    static const char *const pieces[] = {
        "<<<",        "<<<(",   "g<<<1,2>>>(",   "g<<<a,a>>>(b);",
        "a=b;a=a+a;", ">>><<<", "#define a a\n", "int a = a + a * a;"};
    for (size_t i = 0; i < ARRAY_COUNT(pieces); i++) {
        const size_t length = strlen(pieces[i]), count = ((size_t)1 << 20) / length;
        char *many = xcalloc(count * length + 32, 1);
        for (size_t j = 0; j < count; j++)
            memcpy(many + j * length, pieces[i], length);
        strcat(many + (count - 1) * length, "g<<<a, ((((((a>>>(a)");
        find((const char *const *)&many, 1);
        free(many);
    }
}

int main(void)
{
    const int failed = test_main();
    arena_free(&arena);
    return failed;
}
