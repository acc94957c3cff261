// SPDX-License-Identifier: Apache-2.0
//
// A command, run again and again, in which another step fails each time (steps_fail.c).
#ifndef PLUMB_HELPER_STEPS_H
#define PLUMB_HELPER_STEPS_H

#include <stdbool.h>
#include <stddef.h>

// Where it runs, and what must hold of it.
struct steps_place {
    char *folder;      // it runs here
    char *before;      // what the folder is made anew from
    char *after;       // what it is where nothing fails
    const char *store; // in the folder
    size_t every;      // of the steps that are chosen one in so many fails; 0: each
    bool measures;     // times: its numbers differ, and how far it says it is
};

// The folder as it stands is what each run begins with. Frees with steps_place_end().
void steps_place_begin(struct steps_place *place, const char *folder, const char *store);
void steps_place_end(struct steps_place *place);

// Whatever fails, the command answers as it would have, or it ends with an error and a last line
// that says why, in the failing step's own words. What it wrote is as before or as it should be,
// never a half; the store is whole; and asked again the command answers as if nothing had been.
// Steps are chosen so that every call in plumb that has one below it sees one fail, in this command
// or in one before it in the same program. Where a place asks for one in so many, a seed that is
// told says which: PLUMB_TEST_STEPS=NUMBER; with PLUMB_TEST_STEPS=all each step fails, wherever it
// is called from. What a read or a write does only in part changes nothing at all.
void steps_fail(struct steps_place *place, const char *const *words);
#define STEPS_FAIL(place, ...) steps_fail(place, (const char *const[]){__VA_ARGS__, NULL})

#endif
