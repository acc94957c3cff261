// SPDX-License-Identifier: Apache-2.0
//
// What the process of a host library may not ask the system for: other processes, ways into them,
// and what would cost another library its time.
#ifndef PLUMB_WORKER_FILTER_H
#define PLUMB_WORKER_FILTER_H

#include "model/base.h"

// For this process, for good. Threads are allowed; processes, programs, sockets, tracing, shared
// memory, pages taken out or moved, timers, signals to others and other priorities are not: the
// call fails with EPERM. A signal to itself that stops it, or that usually comes from outside, ends
// it by SIGSYS.
int worker_filter(struct error *err);

#endif
