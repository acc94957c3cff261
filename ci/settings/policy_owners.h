// SPDX-License-Identifier: Apache-2.0
//
// What a section of the policy is about, and where its keys' values go.
#ifndef PLUMB_POLICY_OWNERS_H
#define PLUMB_POLICY_OWNERS_H

#include "ci/settings/policy.h"

enum owner {
    OWN_POLICY,
    OWN_TOOLCHAIN,
    OWN_DEVICE,
    OWN_SET,
    OWN_KERNEL,
    OWN_LIBRARY,
    OWN_MIX,
    OWN_NOTHING
};

// The struct that the section [owner "name"] fills, a new one when there is none of this name; the
// policy itself for sections without a name.
void *policy_owner(struct policy *policy, enum owner owner, const char *name);
// Grows an array of the arena by one zeroed item and returns that item. `items` is the address of
// the array's pointer.
void *policy_grow(struct arena *arena, void *items, size_t *count, size_t size);

#endif
