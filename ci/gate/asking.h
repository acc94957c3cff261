// SPDX-License-Identifier: Apache-2.0
//
// A gate that is asked for in a comment on a pull request: "/plumb gate kernel=GLOB problem=GLOB
// base=REV head=ID". Whoever may comment wrote it, so it is hostile: what comes out of here are
// words of plain characters alone, which no shell and no page reads as anything else.
#ifndef PLUMB_ASKING_H
#define PLUMB_ASKING_H

#include "model/base.h"

enum { ASKING_WORD = 128 };

// "" where it is not said.
struct asking {
    char kernel[ASKING_WORD], problem[ASKING_WORD]; // as --kernel and --problem
    char base[ASKING_WORD];                         // a branch, a tag or an id
    char head[ASKING_WORD]; // what the writer has read: an id of ten digits at least
};

// Reads the comment's first line; the lines below are for people. -1: it asks for no gate, or for
// an impossible one; `err` holds no text of the comment's own.
int asking_parse(struct asking *out, const char *text, size_t length, struct error *err);

#endif
