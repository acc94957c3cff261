// SPDX-License-Identifier: Apache-2.0
//
// The version of a library is read from its file's name, in the first folder that has it.
#include "kernels/device/library_version.h"
#include "model/base.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <sys/stat.h>
#include <unistd.h>

static char *directory;

static int set_up(void **state)
{
    static const char *const parts[] = {"a", "b", "c"};
    directory = helper_directory();
    for (size_t i = 0; i < ARRAY_COUNT(parts); i++) {
        char *path = xprintf("%s/%s", directory, parts[i]);
        assert_int_equal(mkdir(path, 0755), 0);
        free(path);
    }
    return 0;
}

AROUND_ALL(set_up, NULL);

static void make(const char *folder, const char *link, const char *name)
{
    char *file = xprintf("%s/%s/%s", directory, folder, name);
    char *path = xprintf("%s/%s/%s", directory, folder, link);
    FILE *made = fopen(file, "w");
    assert_non_null(made);
    fclose(made);
    if (strcmp(link, name) != 0)
        assert_int_equal(symlink(name, path), 0);
    free(path);
    free(file);
}

// In the list, D stands for the scratch directory.
static void expect(const char *version, const char *file, const char *list)
{
    char found[32];
    char *where = xstrdup("");
    for (const char *at = list; *at; at++) {
        char *longer = *at == 'D' ? xprintf("%s%s", where, directory) : xprintf("%s%c", where, *at);
        free(where);
        where = longer;
    }
    assert_int_equal(library_version(found, sizeof(found), file, where), version[0] != '\0');
    assert_string_equal(found, version);
    free(where);
}

TEST(the_first_directory_that_has_the_library_counts)
{
    make("a", "libx.so.13", "libx.so.13.0.0.19");
    make("b", "libx.so.13", "libx.so.13.1.2");
    expect("13.0.0.19", "libx.so.13", "D/none:D/a:D/b");
    expect("13.1.2", "libx.so.13", "::D/b:D/a");
    expect("", "libx.so.12", "D/a:D/b");
    expect("", "libx.so.13", "");
    char found[8];
    assert_false(library_version(found, sizeof(found), "libx.so.13", NULL));
}

TEST(a_name_that_says_no_more_is_no_version)
{
    make("c", "liby.so.1", "liby.so.1");
    make("c", "libz.so.1", "other-library.so.1.2.3");
    make("c", "libw.so.1", "libw.so.1.2-beta\x01");
    expect("", "liby.so.1", "D/c");
    expect("", "libz.so.1", "D/c");
    expect("", "libw.so.1", "D/c");
}
