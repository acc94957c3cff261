// SPDX-License-Identifier: Apache-2.0
//
// On trial in E4M3: wider multicast (next_rows.cuh).
#include "next_rows.cuh"

static constexpr plumb_kernel rows[] = {
    NEXT_ODD(e4m3) TRIAL(plain, e4m3, 256, 128, 2, 1, 2, 2, 4, 2, m, 8, promote)
        TRIAL(plain, e4m3, 128, 192, 2, 1, 2, 2, 4, 2, m, 8, promote)
            TRIAL(plain, e4m3, 128, 128, 2, 1, 2, 2, 6, 2, m, 8, promote)};
PLUMB_TABLE(rows)
