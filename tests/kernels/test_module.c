// SPDX-License-Identifier: Apache-2.0
//
// Kernel libraries in the process that times them: loaded, released, and loaded again.
#include "kernels/bench/module.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/test.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char library[] = TEST_BIN "/../kernels/libnaive.so";

static struct module loaded(bool copy)
{
    struct module module;
    struct error err;
    if (module_load(&module, library, copy, &err))
        fail_msg("%s", err.text);
    return module;
}

static size_t open_files(void)
{
    size_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

// CUDA's runtime finds kernels by address, also those that are gone.
TEST(nothing_comes_to_lie_where_a_released_library_was)
{
    struct module module = loaded(false), copy = loaded(true);
    const struct plumb_library *where = module.library, *where_copy = copy.library;
    assert_ptr_not_equal(where, where_copy);
    module_release(&module);
    module_release(&copy);
    assert_null(module.handle);
    assert_int_equal(where->abi_version, PLUMB_ABI_VERSION); // still there
    assert_int_equal(where_copy->abi_version, PLUMB_ABI_VERSION);
    void *stays = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    assert_non_null(stays);
    dlclose(stays);
    module = loaded(false);
    assert_ptr_equal(module.library, where);
    module_release(&module);
}

TEST(released_copies_are_used_again)
{
    struct module a = loaded(true), b = loaded(true);
    const struct plumb_library *first = a.library, *second = b.library;
    assert_ptr_not_equal(first, second);
    const size_t files = open_files();
    for (int round = 0; round < 50; round++) {
        module_release(&a);
        module_release(&b);
        a = loaded(true);
        b = loaded(true);
        assert_ptr_not_equal(a.library, b.library);
        assert_true(a.library == first || a.library == second);
        assert_true(b.library == first || b.library == second);
    }
    assert_int_equal(open_files(), files);
    module_release(&a);
    module_release(&b);
}

// Another one of the same size at the same place, made in the same second.
TEST(a_copy_of_an_older_file_is_not_used_again)
{
    char *path = helper_file("");
    char *copy = xprintf("cat '%s' >%s", library, path);
    const struct timespec times[2][2] = {{{1000, 1}, {1000, 1}}, {{1000, 2}, {1000, 2}}};
    const struct plumb_library *first = NULL;
    assert_int_equal(system(copy), 0);
    for (int i = 0; i < 2; i++) {
        struct module module;
        struct error err;
        for (int again = 0; again < 2; again++) {
            assert_int_equal(utimensat(AT_FDCWD, path, times[i], 0), 0);
            assert_int_equal(module_load(&module, path, true, &err), 0);
            if (again == 0 && i == 0)
                first = module.library;
            assert_int_equal(module.library == first, i == 0);
            module_release(&module);
        }
    }
    free(copy);
}

TEST(a_library_that_cannot_be_used_leaves_its_copy_free)
{
    struct module module;
    struct error err;
    size_t files = 0;
    for (int round = 0; round < 20; round++) {
        assert_int_equal(
            module_load(&module, TEST_BIN "/../test_modules/libnewer_abi.so", true, &err), -1);
        assert_non_null(strstr(err.text, "kernel ABI version"));
        files = files ? files : open_files();
    }
    assert_int_equal(open_files(), files);
}

// -2, as many parts of K as find SMs, is a trait as kernel.h has it; what no trait can be is
// unknown.
TEST(a_kernels_split_over_all_sms_is_a_trait)
{
    struct plumb_kernel kernel = {.name = "spread",
                                  .traits = {.tile_m = 64, .split_k = -2, .stages = -3}};
    const struct traits t = module_traits(&kernel);
    assert_true(t.tile_m == 64 && t.split_k == SPLIT_SPREAD && t.stages == 0);
}

// The loader takes a file that it has already, however it is called, for the same library.
TEST(files_of_the_same_bytes_are_the_same)
{
    char *folder = helper_directory(), *a = xprintf("%s/a", folder), *b = xprintf("%s/b", folder),
         *c = xprintf("%s/c", folder), *empty = xprintf("%s/empty", folder);
    helper_write(a, "library", 7);
    helper_write(b, "library", 7);
    helper_write(c, "librarY", 7);
    helper_write(empty, "", 0);
    assert_true(module_same_file(a, a) && module_same_file(a, b));
    assert_false(module_same_file(a, c) || module_same_file(a, empty));
    assert_false(module_same_file(empty, empty) || module_same_file(a, folder));
    assert_false(module_same_file("/nonexistent", "/nonexistent"));
    free(folder);
    free(a);
    free(b);
    free(c);
    free(empty);
}
