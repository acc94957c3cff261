// SPDX-License-Identifier: Apache-2.0
//
// The kernels of sly.c, and none of them misbehaves.
#define HONEST 1
#include "tests/modules/sly.c"
