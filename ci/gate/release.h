// SPDX-License-Identifier: Apache-2.0
//
// The one step of judging that needs all series of a gate at once. Where a gate is measured in
// parts it comes when they are joined, and says what it would have said of the whole.
#ifndef PLUMB_RELEASE_H
#define PLUMB_RELEASE_H

#include "model/result.h"

// Takes back the alarms that do not stand among all series: they are undecided, and have neither a
// cause nor an explanation. Results of one kernel on one device stand together.
void release_alarms(struct run *run);

#endif
