// SPDX-License-Identifier: Apache-2.0
//
// On trial in E4M3 (next_rows.cuh).
#include "next_rows.cuh"

static constexpr plumb_kernel rows[] = {NEXT_LAUNCH(e4m3) NEXT_MEMORY(e4m3) NEXT_FEW(e4m3)
                                            NEXT_POWER(e4m3)};
PLUMB_TABLE(rows)
