// SPDX-License-Identifier: Apache-2.0
//
// A policy, as it stands in a commit.
#include "ci/settings/policy.h"
#include "tests/fuzz/fuzz.h"

void fuzz_one(const uint8_t *bytes, size_t size)
{
    struct policy policy;
    struct error err;
    if (policy_parse(&policy, (const char *)bytes, size, "fuzz", &err) == 0)
        policy_free(&policy);
}
