// SPDX-License-Identifier: Apache-2.0
//
// One scratch folder and one arena for a whole test program.
#include "tests/helpers/helper_scratch.h"

#include <stdlib.h>

struct scratch scratch;

int scratch_set_up(void **state)
{
    scratch.folder = helper_directory();
    return 0;
}

int scratch_tear_down(void **state)
{
    helper_discard(scratch.folder);
    free(scratch.folder);
    arena_free(&scratch.arena);
    return 0;
}

const char *scratch_in(const char *name)
{
    return scratch_path(&scratch.arena, scratch.folder, name);
}
