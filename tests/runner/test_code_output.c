// SPDX-License-Identifier: Apache-2.0
//
// A library's id covers what it can load beside itself, and no more of the build than that.
#include "runner/code/code_id.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_library.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIBRARIES = 2 };

// The libraries a.so and b.so of the folder `name`, both made of `source`s, and their ids.
struct output {
    char ids[LIBRARIES][OBJECT_ID_TEXT];
};

static int ids_of(struct output *out, const char *name, struct error *err)
{
    char *folder = library_path(name), *real = realpath(folder, NULL);
    char *libraries[LIBRARIES] = {xprintf("%s/a.so", real), xprintf("%s/b.so", real)};
    const int status = code_ids(out->ids, (const char *const *)libraries, LIBRARIES, real, err);
    for (size_t i = 0; i < LIBRARIES; i++)
        free(libraries[i]);
    free(real);
    free(folder);
    return status;
}

static struct output look(const char *name)
{
    struct output out;
    struct error err;
    if (ids_of(&out, name, &err))
        fail_msg("%s", err.text);
    return out;
}

static void shell(const char *command)
{
    if (library_shell(command))
        fail_msg("%s", command);
}

static const char caller[] = "int slow(void);\nint launch(void) { return slow(); }\n";

// one/ and two/ hold the same a.so and b.so.
static void make_two(const char *a, const char *flags)
{
    shell("rm -rf one two && mkdir one two");
    library_compile("one/a", a, flags);
    library_compile("one/b", library_plain, "");
    shell("rm one/*.c && cp one/a.so one/b.so two");
}

static void helper_that_a_library_links_counts(void **state)
{
    shell("mkdir -p impl one two");
    library_compile("impl/libimpl", "int slow(void) { return 1; }\n", "");
    make_two(caller, "-Limpl -limpl '-Wl,-rpath,$ORIGIN/impl'");
    shell("mkdir one/impl two/impl && cp impl/libimpl.so one/impl && cp impl/libimpl.so two/impl");
    const struct output first = look("one");
    struct output second = look("two");
    assert_string_equal(first.ids[0], second.ids[0]);
    library_compile("impl/libimpl", "int slow(void) { return 2; }\n", "");
    shell("cp impl/libimpl.so two/impl");
    second = look("two");
    assert_string_not_equal(first.ids[0], second.ids[0]);
}

static void tables_cubins_and_links_count(void **state)
{
    static const char *const changes[] = {"echo 2 >two/deep/table.bin", "ln -s /dev/null two/x",
                                          "echo 1 >two/deep/more", "rm two/deep/table.bin",
                                          "mv two/deep/table.bin two/table.bin"};
    make_two(library_plain, "");
    const struct output alone = look("one");
    for (size_t i = 0; i < ARRAY_COUNT(changes); i++) {
        shell("for d in one two; do rm -rf $d/deep $d/x $d/table.bin; mkdir $d/deep; "
              "echo 1 >$d/deep/table.bin; done");
        const struct output first = look("one"), same = look("two");
        assert_string_not_equal(alone.ids[0], first.ids[0]);
        assert_string_equal(first.ids[0], same.ids[0]);
        shell(changes[i]);
        const struct output second = look("two");
        if (strcmp(first.ids[0], second.ids[0]) == 0 || strcmp(first.ids[1], second.ids[1]) == 0)
            fail_msg("unseen: %s", changes[i]);
    }
}

static void another_library_counts_where_it_is_named(void **state)
{
    char *other = library_plain_with("return 2", "return 3");
    make_two("const char *name(void) { return \"./b.so\"; }\n", "");
    library_compile("b", other, "");
    shell("cp b.so two");
    struct output first = look("one"), second = look("two");
    assert_string_not_equal(first.ids[0], second.ids[0]); // it may open b.so
    make_two("const char *name(void) { return \"./c.so\"; }\n", "");
    library_compile("b", other, "");
    shell("cp b.so two");
    first = look("one");
    second = look("two");
    assert_string_equal(first.ids[0], second.ids[0]); // a change of one costs one
    assert_string_not_equal(first.ids[1], second.ids[1]);
    free(other);
}

static void alone_it_is_the_id_of_its_file(void **state)
{
    make_two(library_plain, "-Wl,-soname,liba.so");
    const struct output out = look("one");
    assert_string_equal(out.ids[0], library_id("one/a.so"));
    assert_string_equal(out.ids[1], library_id("one/b.so"));
}

static void more_than_anyone_needs_is_the_builds_fault(void **state)
{
    struct output out;
    struct error err;
    make_two(library_plain, "");
    shell("mkdir one/many && cd one/many && seq 1 10001 | xargs touch");
    assert_int_equal(ids_of(&out, "one", &err), 1);
    assert_non_null(strstr(err.text, "more than 10000 files"));
    shell("rm -r one/many; truncate -s 1073741825 one/table");
    assert_int_equal(ids_of(&out, "one", &err), 1);
    assert_non_null(strstr(err.text, "one/table: is not a file of at most 1 GiB"));
}

// Their number is squared and more, and a build may leave any.
static void too_many_libraries_are_the_builds_fault(void **state)
{
    enum { MANY = 4097 };
    static const char *libraries[MANY];
    static char ids[MANY][OBJECT_ID_TEXT];
    struct error err;
    for (size_t i = 0; i < MANY; i++)
        libraries[i] = "/there/is/none.so";
    assert_int_equal(code_ids(ids, libraries, MANY, "/there", &err), 1);
    assert_non_null(strstr(err.text, "more than 4096 libraries"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(too_many_libraries_are_the_builds_fault),
        cmocka_unit_test(helper_that_a_library_links_counts),
        cmocka_unit_test(tables_cubins_and_links_count),
        cmocka_unit_test(another_library_counts_where_it_is_named),
        cmocka_unit_test(alone_it_is_the_id_of_its_file),
        cmocka_unit_test(more_than_anyone_needs_is_the_builds_fault),
    };
    return cmocka_run_group_tests(tests, library_set_up, library_tear_down);
}
