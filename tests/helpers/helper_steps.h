// SPDX-License-Identifier: Apache-2.0
//
// A command, run again and again, in which another step fails each time (steps_fail.c).
#ifndef PLUMB_HELPER_STEPS_H
#define PLUMB_HELPER_STEPS_H

#include <stdbool.h>

// Where it runs, and what must hold of it.
struct steps_place {
    char *folder;      // it runs here
    char *before;      // what the folder is made anew from
    char *after;       // what it is where nothing fails
    const char *store; // in the folder
    int depth;         // how many callers tell one step from another
    bool measures;     // times: its numbers differ, and how far it says it is
};

// The folder as it stands is what each run begins with. Frees with steps_place_end().
void steps_place_begin(struct steps_place *place, const char *folder, const char *store);
void steps_place_end(struct steps_place *place);

// Whatever fails, the command answers as it would have, or it ends with an error and a last line
// that says why. What it wrote is as before or as it should be, never a half; the store is whole;
// and asked again the command answers as if nothing had been. One in four steps fails, by a seed
// that is told; with PLUMB_TEST_STEPS=all each of them does, and with a number that is the seed.
void steps_fail(struct steps_place *place, const char *const *words);
#define STEPS_FAIL(place, ...) steps_fail(place, (const char *const[]){__VA_ARGS__, NULL})

#endif
