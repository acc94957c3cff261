// SPDX-License-Identifier: Apache-2.0
//
// Runs the real `bench` over a script of protocol lines and keeps what it answered.
#ifndef PLUMB_HELPER_BENCH_H
#define PLUMB_HELPER_BENCH_H

#include "model/wire.h"

struct transcript {
    struct wire_record *records;
    size_t count;
    int status;   // as wait() gives it
    char *output; // what the records point into
    char *errors; // standard error
};

// Arguments as the shell reads them, e.g. "--device host". The caller frees.
void bench_script(struct transcript *out, const char *arguments, const char *script);
enum { BENCH_SCRIPT = 32768 }; // room for a script
// The same on the host device; %B in the script stands for the broken library, %S for the SIMD one.
void bench_play(struct transcript *out, const char *script);
// The command that opens series `id` of a kernel of the broken library; `more` are further fields.
#define BENCH_OPEN(id, kernel, more)                                                               \
    "open\tid=" #id "\tkernel=" kernel "\tproblem=33x29x47:fp32\thead=%B\tseed=7" more "\n"

// The exit code, or -1 when it was ended by a signal.
int transcript_exit(const struct transcript *transcript);
void transcript_free(struct transcript *transcript);
// The record number `nth` (0-based) of this name; fails the test if there is none.
const struct wire_record *transcript_find(const struct transcript *transcript, const char *name,
                                          size_t nth);
size_t transcript_count(const struct transcript *transcript, const char *name);
// Field of a record as text; fails the test if it is missing.
const char *field(const struct wire_record *record, const char *key);

// Paths of test modules ("broken") and of the ladder's own ("naive"). Caller frees.
char *test_module(const char *name);
char *ladder_module(const char *name);

#endif
