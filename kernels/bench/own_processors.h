// SPDX-License-Identifier: Apache-2.0
//
// The processors that a parent has taken for this bench alone.
#ifndef PLUMB_OWN_PROCESSORS_H
#define PLUMB_OWN_PROCESSORS_H

#include "model/base.h"

#include <sched.h>

// "7,23"; "none" is an empty set. -1: it is neither.
int own_processors_parse(cpu_set_t *out, const char *text, struct error *err);

#endif
