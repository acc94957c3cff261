// SPDX-License-Identifier: Apache-2.0
//
// By the kernel's affinity masks, which children inherit. Neighbouring numbers are given together:
// they share caches and memory.
#include "runner/cores.h"

bool cores_take(struct cores *before, size_t share, size_t shares)
{
    cpu_set_t own;
    CPU_ZERO(&own);
    if (shares < 2 || sched_getaffinity(0, sizeof(before->set), &before->set))
        return false;
    const size_t each = (size_t)CPU_COUNT(&before->set) / shares;
    for (size_t cpu = 0, at = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &before->set))
            continue;
        if (at / (each ? each : 1) == share)
            CPU_SET(cpu, &own);
        at++;
    }
    return each && sched_setaffinity(0, sizeof(own), &own) == 0;
}

void cores_give_back(const struct cores *before)
{
    (void)sched_setaffinity(0, sizeof(before->set), &before->set);
}
