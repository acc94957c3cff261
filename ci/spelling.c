// SPDX-License-Identifier: Apache-2.0
//
// Names that are nearly the same.
#include "ci/spelling.h"

#include <string.h>

// Letters that must be put in, taken out, replaced or swapped with their neighbour.
static size_t distance(const char *a, const char *b)
{
    enum { MOST = 32 };
    size_t rows[3][MOST + 1], *before = rows[0], *last = rows[1], *now = rows[2];
    const size_t n = strlen(b);
    if (n > MOST || strlen(a) > MOST)
        return MOST;
    for (size_t j = 0; j <= n; j++)
        last[j] = before[j] = j;
    for (size_t i = 0; a[i]; i++) {
        now[0] = i + 1;
        for (size_t j = 0; j < n; j++) {
            size_t best = last[j] + (a[i] != b[j]);
            best = best < last[j + 1] + 1 ? best : last[j + 1] + 1;
            best = best < now[j] + 1 ? best : now[j] + 1;
            if (i && j && a[i] == b[j - 1] && a[i - 1] == b[j] && before[j - 1] + 1 < best)
                best = before[j - 1] + 1;
            now[j + 1] = best;
        }
        size_t *free_row = before;
        before = last;
        last = now;
        now = free_row;
    }
    return last[n];
}

void spelling_try(struct spelling *spelling, const char *candidate)
{
    const size_t off = distance(spelling->name, candidate);
    if (off <= 2 && 2 * off < strlen(candidate) && (!spelling->closest || off < spelling->off)) {
        spelling->off = off;
        spelling->closest = candidate;
    }
}
