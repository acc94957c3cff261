// SPDX-License-Identifier: Apache-2.0
//
// The target as libFuzzer wants it.
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fuzz_one(bytes, size);
    return 0;
}
