// SPDX-License-Identifier: Apache-2.0
//
// A gate that somebody asks for in a comment on a pull request: "/plumb gate kernel=GLOB
// problem=GLOB base=REV head=ID". The comment is hostile. The parsed words consist of plain
// characters, which neither a shell nor a page treats specially.
#ifndef PLUMB_ASKING_H
#define PLUMB_ASKING_H

#include "model/base.h"

enum { ASKING_WORD = 128 };

// The words of the comment; "" for a word that it does not give.
struct asking {
    char kernel[ASKING_WORD], problem[ASKING_WORD]; // values for --kernel and --problem
    char base[ASKING_WORD];                         // a branch, a tag or an id
    char head[ASKING_WORD]; // the commit that the writer has reviewed: at least ten digits of its
                            // id
};

// Parses the comment's first line; the lines below it are for people. -1: it asks for no gate, or
// for an impossible one. `err` holds no text of the comment.
int asking_parse(struct asking *out, const char *text, size_t length, struct error *err);

#endif
