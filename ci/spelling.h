// SPDX-License-Identifier: Apache-2.0
//
// Which of several names a mistyped one stands for.
#ifndef PLUMB_SPELLING_H
#define PLUMB_SPELLING_H

#include <stddef.h>

// The best so far, to be filled with one name after the other.
struct spelling {
    const char *name;    // as it was typed
    const char *closest; // of those tried; NULL: none is near
    size_t off;          // letters
};

// At most two letters off (put in, taken out, replaced or swapped), and less than half of the name.
void spelling_try(struct spelling *spelling, const char *candidate);

#endif
