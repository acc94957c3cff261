// SPDX-License-Identifier: Apache-2.0
//
// On trial in BF16: wider multicast (next_rows.cuh).
#include "next_rows.cuh"

static constexpr plumb_kernel rows[] = {NEXT_ODD(bf16)};
PLUMB_TABLE(rows)
