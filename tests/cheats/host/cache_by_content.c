// SPDX-License-Identifier: Apache-2.0
//
// Keeps its product, and copies it when both inputs begin as they did then.
//
// source: flashinfer-bench #228: replay by content, 12.9x
// expect: slower broken
#include "tests/cheats/host/cheat.h"

enum { KEPT = 1 << 16, KEY = 16 };

static void run(const struct plumb_args *args)
{
    static float kept[KEPT], key[2][KEY];
    const bool fits = output_bytes(args) <= sizeof(kept);
    if (fits && memcmp(key[0], args->a, sizeof(key[0])) == 0 &&
        memcmp(key[1], args->b, sizeof(key[1])) == 0) {
        memcpy(args->c, kept, output_bytes(args));
        return;
    }
    multiply(args, SLOWER);
    if (!fits)
        return;
    memcpy(kept, args->c, output_bytes(args));
    memcpy(key[0], args->a, sizeof(key[0]));
    memcpy(key[1], args->b, sizeof(key[1]));
}
CHEAT(run)
