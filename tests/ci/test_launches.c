// SPDX-License-Identifier: Apache-2.0
//
// Which kernels sources launch, and with which of a template's arguments.
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

TEST(kernels_and_their_templates_arguments_are_found)
{
    static const char *const texts[] = {"void run() { ns::g<float, 16, true> <<<1, 2>>>(a); }\n"
                                        "h<<<n, WIDE, 48 << 10>>>(n); k<T><<<n, 1>>>(n);",
                                        "x << y; print(\"<<<\"); (<<<1, 2>>>)"};
    const struct launch_list list = find(texts, 2);
    assert_int_equal(list.count, 3);
    assert_string_equal(list.items[0].kernel, "g");
    assert_string_equal(list.items[0].arguments, "float, 16, true");
    assert_string_equal(list.items[1].kernel, "h");
    assert_null(list.items[1].arguments);
    assert_string_equal(list.items[2].arguments, "T");
    assert_string_equal(list.items[2].file, "a.cu");
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
