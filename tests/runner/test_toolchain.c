// SPDX-License-Identifier: Apache-2.0
//
// Which names of images are taken, and where builds look for compilers.
#include "runner/build/build.h"
#include "tests/helpers/test.h"

#include <stdlib.h>
#include <string.h>

// A name goes to a container runner as a word of its command line.
TEST(an_image_is_one_word_and_no_option)
{
    static const char *const good[] = {"cuda:13.0", "ghcr.io/a/b@sha256:0f",
                                       "localhost:5000/x_y-z"};
    static const char *const bad[] = {"", "-v/:/host", "a b", "a;b", "$(a)", "a\nb", "a'b"};
    for (size_t i = 0; i < ARRAY_COUNT(good); i++)
        assert_true(container_name_sound(good[i]));
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++)
        assert_false(container_name_sound(bad[i]));
}

// Within an image's system this machine's PATH means nothing.
TEST(compilers_are_looked_for_where_the_toolchain_is)
{
    struct arena arena = {0};
    setenv("PATH", "/here", 1);
    assert_string_equal(toolchain_path(&(struct toolchain){0}, &arena), "/here");
    assert_string_equal(toolchain_path(&(struct toolchain){.prefix = "/opt/x"}, &arena),
                        "/opt/x/bin:/here");
    const struct toolchain image = {.root = "/cache/image", .prefix = "/opt/x"};
    const char *path = toolchain_path(&image, &arena);
    assert_null(strstr(path, "/here"));
    assert_ptr_equal(strstr(path, "/opt/x/bin:"), path);
    unsetenv("PATH");
    assert_string_equal(toolchain_path(&(struct toolchain){0}, &arena), "/usr/bin:/bin");
    arena_free(&arena);
}
