// SPDX-License-Identifier: Apache-2.0
//
// Runs a program with the library that watches it (kernels/capture), and reads the files that the
// library left in a folder: surveys of the program's processes, the record that one of them took,
// and the contents of buffers beside it. Everything that is read here may be hostile.
#ifndef PLUMB_RUNNER_CAPTURE_H
#define PLUMB_RUNNER_CAPTURE_H

#include "model/record/record.h"
#include "model/result.h"
#include "runner/child/process.h"
#include "runner/child/sandbox.h"

// What is recorded of a program's launches.
struct capture_wish {
    const char *kernel, *range; // device functions or NVTX ranges, as globs; NULL: any
    uint64_t launch;            // number of the launch or range; 0: one of each shape
};

// The program to run. A user's own program runs as it is, without sandbox and limits, until it ends
// or the user ends it. A program of a checkout, which may be untrusted, runs in the sandbox, within
// the limits of a build.
struct capture_program {
    const char *const *words; // followed by their number
    size_t word_count;
    const struct sandbox *sandbox; // NULL: none
    const char *directory;         // the folder in which it starts, inside the sandbox; NULL: /tmp
    const char *const *shown;      // what the sandbox shows read-only beside the system
    size_t shown_count;
    const char *folder, *library; // the folder that the library writes to, and the library
    struct capture_wish wish;
    double time_s; // in the sandbox: own time (process.h) that it may take
    uint64_t limit_bytes;
    void (*tick)(void *context); // called twenty times a second while it runs
    void *tick_context;
};
// Runs the program. Its output goes to standard error.
int capture_run(struct process_result *out, const struct capture_program *program,
                struct error *err);

struct capture_surveys {
    struct survey *items;
    size_t count;
    const char **records; // paths of the records, in the order of their shapes
    size_t record_count;
};
// Reads all surveys of the folder, sorted by process, and lists its records. -1: the folder cannot
// be read, or a survey is malformed.
int capture_surveys(struct capture_surveys *out, const char *folder, struct arena *arena,
                    struct error *err);
// Says in one sentence why there is no record of what was wished for.
void capture_why_none(char *out, size_t size, const struct capture_surveys *surveys,
                      const struct capture_wish *wish);

// How series made from the folder's records are named, and how their results are judged.
struct capture_series {
    const char *name;
    struct capture_wish wish;      // what was recorded
    const struct problem *problem; // NULL: no problem is named, so each record has the problem
                                   // capture=1 or that of its range
    double tolerance;              // below 0: two units in the last place of the results' type
    const char *shared; // a folder where contents that several captures share are stored once;
                        // NULL: none
};
struct capture_made {
    char name[KERNEL_NAME_TEXT]; // the series' name; for the second shape it is NAME.2
    char file[4096];             // the series' record, next to the contents
    char code[OBJECT_ID_TEXT];
    struct problem problem; // the problem that the range's name gives, or the series' problem
    struct traits traits;
    bool untold; // it has a tolerance, and nothing says of what type its results are: FP32 is taken
};
// Writes a record for each shape that was taken. A code id covers the images and the launches, but
// not where their buffers lay. 0: done; 1: there is no such record, or `err` says what else is
// wrong with them; -1: a file cannot be written.
int capture_make(struct capture_made **out, size_t *count, const char *folder,
                 const struct capture_series *series, struct arena *arena, struct error *err);

// Lists the device functions that the record `file` launches, with the resources that they need.
struct code_function_list;
int capture_resources(struct code_function_list *out, const char *file, struct arena *arena,
                      struct error *err);

// Reads a record; its addresses become zeros. Its bytes are in the arena.
int capture_read(struct record *out, const char *path, struct arena *arena, struct error *err);

#endif
