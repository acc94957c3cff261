// SPDX-License-Identifier: Apache-2.0
//
// Shell scripts as children, for tests of runner/child/process.h. Uses cmocka: what cannot be
// started fails the test.
#ifndef PLUMB_HELPER_PROCESS_H
#define PLUMB_HELPER_PROCESS_H

#include "runner/child/process.h"

// Runs `sh -c script` by the plan, whose argv is set here, to its end.
struct process_result process_script(const char *script, struct process_plan plan);
// Starts it to talk with; ended by process_stop(). time_s: 0 is no limit.
struct process *process_talk(const char *script, double time_s);

#endif
