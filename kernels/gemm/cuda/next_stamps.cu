// SPDX-License-Identifier: Apache-2.0
//
// On trial in BF16: where a short kernel's cycles go (sweep stamps).
#include "trial.cuh"

#define T bf16
static constexpr plumb_kernel rows[] = {
    TRIAL(firststamps, T, 128, 176, 2, 1, 1, 1, 5, 2, m, 8, coop)
        TRIAL(readystamps, T, 128, 176, 2, 1, 1, 1, 5, 2, m, 8, coop)
            TRIAL(firststamps, T, 64, 128, 1, 1, 1, 1, 8, 2, m, 8, coop)
                TRIAL(readystamps, T, 64, 128, 1, 1, 1, 1, 8, 2, m, 8, coop)
                    TRIAL(firststamps, T, 64, 112, 1, 1, 1, 1, 9, 2, m, 8, coop)
                        TRIAL(readystamps, T, 64, 112, 1, 1, 1, 1, 9, 2, m, 8, coop)};
PLUMB_TABLE(rows)
