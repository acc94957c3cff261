// SPDX-License-Identifier: Apache-2.0
//
// No cheat: what every cheat is measured against, under that cheat's name. One whose name begins so
// packs B into its workspace.
//
// source: -
// expect: same
#include "tests/cheats/host/cheat.h"

static void run(const struct plumb_args *args)
{
    if (strncmp(CHEAT_NAME, "packs_", 6) == 0)
        multiply_packed(args, args->workspace, 0);
    else
        multiply(args, 0);
}
CHEAT(run)
