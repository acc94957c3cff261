// SPDX-License-Identifier: Apache-2.0
//
// Runs the real program, with the real bench, in a scratch repository.
#ifndef PLUMB_HELPER_PLUMB_H
#define PLUMB_HELPER_PLUMB_H

#include "model/base.h"

#include <unistd.h>

enum { PLUMB_OUTPUT = 65536 };

struct plumb_outcome {
    int code; // exit status; -1 when it was killed
    double wall_s;
    char output[PLUMB_OUTPUT]; // standard output and error, the end of it
};

// Limits of the next plumb_run: the largest file it may write (a full disk), 0 = none.
extern uint64_t plumb_file_limit;

// The time before plumb_run's kill begins when the file has this text; path NULL: at the start.
extern struct plumb_mark {
    const char *path, *text;
} plumb_mark;

// argv[0] is the command ("gate"); ends with NULL. kill_after_s > 0: SIGKILL to plumb alone (not
// its children) after that time, as `kill -9` would.
void plumb_run(struct plumb_outcome *out, const char *directory, const char *const *argv,
               double kill_after_s);
// Fails the test (with cmocka) unless it ended with this code and said `part`; shows what it said.
void plumb_said(const struct plumb_outcome *outcome, int code, const char *part);
// Both: these words in `directory` end with `code`, and `part` is said.
#define PLUMB_EXPECT(outcome, directory, code, part, ...)                                          \
    (plumb_run(outcome, directory, (const char *const[]){__VA_ARGS__, NULL}, 0),                   \
     plumb_said(outcome, code, part))

// Skips the test where `plumb capture` has no library: it is built where CUPTI's headers are.
#define need_capture()                                                                             \
    do {                                                                                           \
        if (access(TEST_BIN "/plumb_capture.so", R_OK))                                            \
            skip_without("CUPTI", "its headers were not here when this was built");                \
    } while (0)

#endif
