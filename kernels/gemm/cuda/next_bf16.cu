// SPDX-License-Identifier: Apache-2.0
//
// On trial in BF16 (next_rows.cuh).
#include "next_rows.cuh"

static constexpr plumb_kernel rows[] = {NEXT_LAUNCH(bf16) NEXT_MEMORY(bf16) NEXT_FEW(bf16)
                                            NEXT_POWER(bf16)};
PLUMB_TABLE(rows)
