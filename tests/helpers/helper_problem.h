// SPDX-License-Identifier: Apache-2.0
//
// A problem from its text.
#ifndef PLUMB_HELPER_PROBLEM_H
#define PLUMB_HELPER_PROBLEM_H

#include "model/problem.h"

struct problem helper_problem(const char *text);

#endif
