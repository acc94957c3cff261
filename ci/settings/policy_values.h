// SPDX-License-Identifier: Apache-2.0
//
// Values of the policy that are more than a word or a number. `text` may be NULL: the key had none.
#ifndef PLUMB_POLICY_VALUES_H
#define PLUMB_POLICY_VALUES_H

#include "ci/settings/policy.h"

// "0.3%", "0.3 %" or 0.003. -1: neither.
int fraction_parse(double *out, const char *text);
// A weight above 0 and a problem: "0.35 64x7168x2048:e4m3-bf16".
int mix_part_parse(struct policy_mix_part *out, const char *text, struct error *err);
// Why it is no address for links, NULL when it is one: http or https, at most one %s, which is
// where a commit's id goes, and nothing that a page or a comment could take for something else.
const char *address_fault(const char *text);
// Why it is no VARIABLE=VALUE that a toolchain may set, NULL when it is one. What plumb itself
// gives to builds (PATH, HOME, PLUMB_... and so on) is not a toolchain's to set.
const char *setting_fault(const char *text);
// Likewise of a toolchain's name: reports, keys and command lines hold it as it is.
const char *toolchain_name_fault(const char *name);

#endif
