// SPDX-License-Identifier: Apache-2.0
//
// A kernel library that builds but cannot be loaded: a symbol is defined nowhere.
#include "kernels/kernel.h"

extern const struct plumb_library *defined_nowhere(void);

PLUMB_EXPORT const struct plumb_library *plumb_library(void)
{
    return defined_nowhere();
}
