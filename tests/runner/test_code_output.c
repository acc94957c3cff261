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
    const int status =
        code_ids(out->ids, (const char *const *)libraries, LIBRARIES, real, NULL, err);
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

AROUND_ALL(library_set_up, library_tear_down);

TEST(helper_that_a_library_links_counts)
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

TEST(tables_cubins_and_links_count)
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

TEST(another_library_counts_where_it_is_named)
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

// Of three the second names the third, and the first neither.
TEST(a_library_in_the_middle_covers_what_it_names)
{
    char *paths[3], ids[2][3][OBJECT_ID_TEXT], *other = library_plain_with("return 2", "return 3");
    struct error err;
    make_two(library_plain, "");
    library_compile("one/b", "const char *name(void) { return \"./c.so\"; }\n", "");
    for (size_t turn = 0; turn < 2; turn++) {
        library_compile("one/c", turn ? other : library_plain, "");
        shell("rm one/*.c");
        char *folder = library_path("one"), *real = realpath(folder, NULL);
        for (size_t i = 0; i < 3; i++)
            paths[i] = xprintf("%s/%c.so", real, "abc"[i]);
        if (code_ids(ids[turn], (const char *const *)paths, 3, real, NULL, &err))
            fail_msg("%s", err.text);
        for (size_t i = 0; i < 3; i++)
            free(paths[i]);
        free(folder);
        free(real);
    }
    assert_string_equal(ids[0][0], ids[1][0]);
    assert_string_not_equal(ids[0][1], ids[1][1]);
    assert_string_not_equal(ids[0][2], ids[1][2]);
    free(other);
}

// Of four each names the next one: the second reaches the last over two others.
TEST(what_is_named_at_third_hand_counts)
{
    static const char *const names[] = {"z", "c", "d"}; // what a, b and c name
    char *paths[4], ids[2][4][OBJECT_ID_TEXT], *other = library_plain_with("return 2", "return 3");
    struct error err;
    shell("rm -rf one two && mkdir one");
    for (size_t turn = 0; turn < 2; turn++) {
        for (size_t i = 0; i < 4; i++) {
            char *text = i < 3
                             ? xprintf("const char *name(void) { return \"./%s.so\"; }\n", names[i])
                             : xstrdup(turn ? other : library_plain);
            char *name = xprintf("one/%c", "abcd"[i]);
            library_compile(name, text, "");
            free(name);
            free(text);
        }
        // A word about a file in a folder below belongs to nothing.
        shell(
            "rm one/*.c && mkdir -p one/sub && cp one/a.so one/sub && echo x >one/sub/a.so.inputs");
        char *folder = library_path("one"), *real = realpath(folder, NULL);
        for (size_t i = 0; i < 4; i++)
            paths[i] = xprintf("%s/%c.so", real, "abcd"[i]);
        if (code_ids(ids[turn], (const char *const *)paths, 4, real, NULL, &err))
            fail_msg("%s", err.text);
        for (size_t i = 0; i < 4; i++)
            free(paths[i]);
        free(folder);
        free(real);
    }
    assert_string_equal(ids[0][0], ids[1][0]);
    for (size_t i = 1; i < 4; i++)
        assert_string_not_equal(ids[0][i], ids[1][i]);
    free(other);
}

// ---- what each may see

// The ids of a.so and b.so in `name`, and where they lie below kept/.
struct shown {
    char ids[LIBRARIES][OBJECT_ID_TEXT];
    const char *paths[LIBRARIES];
};

static struct arena shown_arena;

static struct shown show(const char *name, const char *a, const char *b)
{
    struct shown out;
    struct error err;
    char *folder = library_path(name), *real = realpath(folder, NULL);
    char *libraries[LIBRARIES] = {xprintf("%s/%s", real, a), xprintf("%s/%s", real, b)};
    char *to = library_path("kept");
    const struct code_kept kept = {to, out.paths, &shown_arena};
    if (code_ids(out.ids, (const char *const *)libraries, LIBRARIES, real, &kept, &err))
        fail_msg("%s", err.text);
    free(to);
    free(libraries[0]);
    free(libraries[1]);
    free(real);
    free(folder);
    return out;
}

static void assert_files_beside(const char *library, const char *names)
{
    char *command = xprintf("test \"$(cd \"$(dirname %s)\" && find . ! -type d | sort | tr '\\n' "
                            "' ')\" = '%s '",
                            library, names);
    shell(command);
    free(command);
}

// It may put the name of another one together and open it: nothing in its bytes tells.
TEST(library_sees_nothing_that_its_id_does_not_cover)
{
    make_two(library_plain, "");
    struct shown out = show("one", "a.so", "b.so");
    assert_files_beside(out.paths[0], "./kernel.so");
    assert_files_beside(out.paths[1], "./kernel.so");
    make_two("const char *name(void) { return \"./b.so\"; }\n", "");
    shell("mkdir one/deep && echo 1 >one/deep/table && ln -s deep/table one/link");
    out = show("one", "a.so", "b.so");
    assert_files_beside(out.paths[0], "./b.so ./deep/table ./kernel.so ./link");
    assert_files_beside(out.paths[1], "./deep/table ./kernel.so ./link");
    make_two(library_plain, "");
    library_compile("one/b", "const char *name(void) { return \"./a.so\"; }\n", "");
    shell("rm one/*.c");
    out = show("one", "a.so", "b.so");
    assert_files_beside(out.paths[0], "./kernel.so");
    assert_files_beside(out.paths[1], "./a.so ./kernel.so");
}

// What an id leaves out of a file, its build's own number, is there to be read, in what it may open
// too.
TEST(bytes_that_no_id_covers_have_a_path_of_their_own)
{
    struct shown out[2];
    make_two(library_plain, "");
    library_compile("one/b", "const char *name(void) { return \"./a.so\"; }\n", "");
    library_compile("one/a", library_plain, "-Wl,--build-id=0x0100000000000001");
    shell("rm one/*.c");
    out[0] = show("one", "a.so", "b.so");
    library_compile("one/a", library_plain, "-Wl,--build-id=0x0200000000000002");
    shell("rm one/*.c");
    out[1] = show("one", "a.so", "b.so");
    for (size_t i = 0; i < LIBRARIES; i++) {
        assert_string_equal(out[0].ids[i], out[1].ids[i]);
        assert_string_not_equal(out[0].paths[i], out[1].paths[i]);
    }
}

// Its path is what it can read too: of the name that its build gave it, and of the build.
TEST(what_has_one_id_has_one_path)
{
    make_two(library_plain, "");
    shell("mv two/a.so two/slow.so");
    const struct shown one = show("one", "a.so", "b.so"), two = show("two", "slow.so", "b.so");
    assert_string_equal(one.ids[0], two.ids[0]);
    assert_string_equal(one.paths[0], two.paths[0]);
    shell("rm -r kept; for d in one two; do mkdir $d/fast $d/slow; echo 1 >$d/table; done; "
          "mv one/a.so one/fast; mv two/slow.so two/slow/a.so");
    const struct shown fast = show("one", "fast/a.so", "b.so"),
                       slow = show("two", "slow/a.so", "b.so");
    assert_string_not_equal(fast.ids[0], slow.ids[0]); // it reads "../table", and where it is
    // The folder of its own has its name where a file took the one that all have.
    shell("for d in one two; do echo 1 >$d/kernel.so; done; mv one/fast/a.so one/fast.so; "
          "mv two/slow/a.so two/slow.so");
    const struct shown taken = show("one", "fast.so", "b.so"),
                       other = show("two", "slow.so", "b.so");
    assert_string_not_equal(taken.ids[0], other.ids[0]);
    arena_free(&shown_arena);
}

TEST(alone_it_is_the_id_of_its_file)
{
    make_two(library_plain, "-Wl,-soname,liba.so");
    const struct output out = look("one");
    assert_string_equal(out.ids[0], library_id("one/a.so"));
    assert_string_equal(out.ids[1], library_id("one/b.so"));
}

TEST(more_than_anyone_needs_is_the_builds_fault)
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
TEST(too_many_libraries_are_the_builds_fault)
{
    enum { MANY = 4097 };
    static const char *libraries[MANY];
    static char ids[MANY][OBJECT_ID_TEXT];
    struct error err;
    for (size_t i = 0; i < MANY; i++)
        libraries[i] = "/there/is/none.so";
    assert_int_equal(code_ids(ids, libraries, MANY, "/there", NULL, &err), 1);
    assert_non_null(strstr(err.text, "more than 4096 libraries"));
}
