// SPDX-License-Identifier: Apache-2.0
//
// Folders are removed whole, and nothing beside them.
#include "runner/files.h"
#include "tests/helpers/helper_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

static void remove_does_not_follow_links_and_opens_closed_folders(void **state)
{
    (void)state;
    struct error err;
    char *directory = helper_directory(), *tree = xprintf("%s/tree", directory);
    char *command = xprintf("cd '%s' && mkdir -p safe tree/a/b && touch safe/file tree/a/b/c && "
                            "ln -s ../safe tree/link && chmod 000 tree/a/b && chmod 555 tree/a",
                            directory);
    assert_int_equal(system(command), 0);
    assert_int_equal(files_remove(tree, &err), 0);
    assert_false(helper_exists(directory, "tree"));
    assert_true(helper_exists(directory, "safe/file"));
    assert_int_equal(files_remove(tree, &err), 0); // again: not there is fine
    helper_discard(directory);
    free(command);
    free(tree);
    free(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remove_does_not_follow_links_and_opens_closed_folders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
