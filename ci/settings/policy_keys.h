// SPDX-License-Identifier: Apache-2.0
//
// What a policy may hold: the one table of keys, and how a value reaches its field. For policy.c.
#ifndef PLUMB_POLICY_KEYS_H
#define PLUMB_POLICY_KEYS_H

#include "ci/settings/policy.h"

// Puts one entry into the policy; unknown keys and bad values are errors with label:line.
int policy_read_entry(struct policy *policy, const struct config_entry *entry, const char *label,
                      struct error *err);
// Lists and section headers may stand twice; other keys may not.
bool policy_may_repeat(const struct config_entry *entry);

#endif
