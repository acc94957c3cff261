// SPDX-License-Identifier: Apache-2.0
//
// What a turn of a library's process took, without what it and bench waited for a processor that
// others had. Such waits are no part of a kernel, and the scheduler deals them out unevenly: for
// seconds one of two equal builds waits in every turn and the other in none, which their pairs
// cannot tell from a change.
//
// Linux counts both waits (/proc/PID/schedstat). A library cannot hide work in them: its turn never
// takes less than the processor time of all its threads, up to where it is stopped.
#ifndef PLUMB_TURN_CLOCK_H
#define PLUMB_TURN_CLOCK_H

#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct turn_clock {
    int waits[2]; // files of bench and of the process; -1: the system has none
    clockid_t work;
};
struct turn_mark {
    double waited_ns, worked_ns;
};

// A clock without files says that nobody waits. -1: the system does not say what processes work.
int turn_clock_open(struct turn_clock *out, pid_t process);
void turn_clock_close(struct turn_clock *clock);
struct turn_mark turn_mark_now(const struct turn_clock *clock);
// Processor time of all threads of the process, of those that ended too.
double turn_worked_ns(const struct turn_clock *clock);
// The time of a turn between two marks that took `took_ns`, `empty_ns` of it for the passing of the
// baton. Waits of less than a hundredth of the turn are left in. At least 1 ns for each of its
// `launches`: an empty turn can be slower than this one, and no sample is of a negative time.
double turn_time_ns(double took_ns, double empty_ns, uint32_t launches,
                    const struct turn_mark *begin, const struct turn_mark *end);

#endif
