// SPDX-License-Identifier: Apache-2.0
//
// The fitted constants of the hopper model; the list stands in the header.
#include "model/predict/parts/hopper_constants.h"

const struct hopper_constants hopper_fitted = {
#define X(name, value) .name = (value),
    HOPPER_CONSTANTS(X)
#undef X
};
