// SPDX-License-Identifier: Apache-2.0
//
// On trial in TF32 (next_rows.cuh).
#include "next_rows.cuh"

static constexpr plumb_kernel rows[] = {NEXT_LAUNCH(tf32) NEXT_MEMORY(tf32) NEXT_FEW(tf32)};
PLUMB_TABLE(rows)
