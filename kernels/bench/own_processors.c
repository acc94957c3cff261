// SPDX-License-Identifier: Apache-2.0
//
// The processors as text on the wire.
#include "kernels/bench/bench.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

int own_processors_parse(cpu_set_t *out, const char *text, struct error *err)
{
    CPU_ZERO(out);
    if (strcmp(text, "none") == 0)
        return 0;
    for (const char *at = text;; at++) {
        char *end;
        const unsigned long cpu = isdigit((unsigned char)*at) ? strtoul(at, &end, 10) : CPU_SETSIZE;
        if (cpu >= CPU_SETSIZE || (*end && *end != ','))
            return error_set(err, "bench: open: processors '%.60s' are not numbers", text);
        CPU_SET(cpu, out);
        if (!*end)
            return 0;
        at = end;
    }
}
