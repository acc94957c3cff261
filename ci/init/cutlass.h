// SPDX-License-Identifier: Apache-2.0
//
// Finds device kernels of CUTLASS that a source names: `using NAME = cutlass::gemm::device::...;`
// outside of every bracket. Types and layouts are read as they are spelled, through other `using`
// lines of the same source; the compiler, not this, decides what the shim does. Sources are hostile
// text.
#ifndef PLUMB_INIT_CUTLASS_H
#define PLUMB_INIT_CUTLASS_H

#include "ci/init/signatures.h"

// Adds what `text`, the source `file`, names (CALLEE_CUTLASS). Strings live in the arena.
void cutlass_find(struct signature_list *list, const char *file, const char *text,
                  struct arena *arena);

#endif
