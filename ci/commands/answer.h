// SPDX-License-Identifier: Apache-2.0
//
// What a command answers with --format json: one object, whose first member is the list of the rows
// that its table has, named for what they are; members of the whole come after it. Names end in
// units (time_ns), shares and changes are fractions (0.01 is 1 %), null is not known. Which members
// there are stands in each command's `json` (ci/command.h), and so in its --help. Members are
// added, never renamed.
#ifndef PLUMB_ANSWER_H
#define PLUMB_ANSWER_H

#include "reports/text/clean.h"

struct answer {
    struct buffer text;
    struct json json;
    size_t rows;
    bool in_row, whole;
};

// Begins the object and the list `rows`.
void answer_begin(struct answer *answer, const char *rows);
// The same where JSON is asked for: the answer, or NULL, which stands for the table.
struct answer *answer_if(struct answer *answer, bool json, const char *rows);
// Begins the next row, whose members are written to what it returns.
struct json *answer_row(struct answer *answer);
// A row that is JSON already.
void answer_document(struct answer *answer, const char *json);
// Ends the list; members of the whole are written to what it returns.
struct json *answer_whole(struct answer *answer);
// Ends the object, prints it, and frees what was kept of it.
void answer_end(struct answer *answer);
// The same; where the command failed before its first row, or `answer` is NULL, nothing is printed.
// Returns `status`.
int answer_leave(struct answer *answer, int status);

#endif
