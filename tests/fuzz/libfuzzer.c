// SPDX-License-Identifier: Apache-2.0
//
// The target as libFuzzer wants it.
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
size_t LLVMFuzzerMutate(uint8_t *bytes, size_t size, size_t room);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t room, unsigned seed);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fuzz_one(bytes, size);
    return 0;
}

// Every other time; libFuzzer's own changes, of bytes, go on from what that gave.
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t room, unsigned seed)
{
    const size_t changed = fuzz_mutate && seed % 2 ? fuzz_mutate(bytes, size, room, seed) : 0;
    return changed ? changed : LLVMFuzzerMutate(bytes, size, room);
}
