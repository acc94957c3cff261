// SPDX-License-Identifier: Apache-2.0
//
// Copies the product that it computed when it last saw this output.
//
// source: kernelbot #501; reference-kernels #160: replay by pointer
// expect: broken
#include "tests/cheats/host/cheat.h"

enum { SLOTS = 2048 };

static void run(const struct plumb_args *args)
{
    static const void *seen[SLOTS];
    static float *kept[SLOTS];
    const size_t slot = (size_t)((uintptr_t)args->c / 512 % SLOTS);
    if (seen[slot] == args->c) {
        memcpy(args->c, kept[slot], output_bytes(args));
        return;
    }
    multiply(args, SLOWER);
    kept[slot] = realloc(kept[slot], output_bytes(args));
    memcpy(kept[slot], args->c, output_bytes(args));
    seen[slot] = args->c;
}
CHEAT(run)
