// SPDX-License-Identifier: Apache-2.0
//
// Runs a program with the library that watches it (kernels/capture), and reads the files that the
// library left in a folder: surveys of the program's processes, the record that one of them took,
// and the contents beside it. Everything that is read here may be hostile.
#ifndef PLUMB_RUNNER_CAPTURE_H
#define PLUMB_RUNNER_CAPTURE_H

#include "model/record/record.h"
#include "model/result.h"
#include "runner/child/sandbox.h"

// The program to run. A user's own runs as it is: no sandbox, no limits. A checkout's, which may be
// a stranger's, runs in the sandbox.
struct capture_program {
    const char *const *words; // and their count
    size_t word_count;
    const struct sandbox *sandbox; // NULL: none
    const char *directory;         // in the sandbox; NULL: /tmp
    const char *const *shown;      // what the sandbox shows beside the system, to read
    size_t shown_count;
    const char *folder, *library; // where it writes, and what it loads
    const char *kernel, *range;   // what is recorded; NULL
    uint64_t launch, limit_bytes; // launch 0: one of each shape
    void (*tick)(void *context);  // while it runs, twenty times a second
    void *tick_context;
};
// Runs the program. Its output goes to standard error. *status is as waitpid() gives it.
int capture_run(int *status, const struct capture_program *program, struct error *err);
// "exit code 2", "killed by signal 11".
void capture_describe(char *out, size_t size, int status);

struct capture_surveys {
    struct survey *items;
    size_t count;
    const char **records; // paths, by their shapes
    size_t record_count;
};
// All surveys of the folder, by process, and the names of its records. -1: the folder cannot be
// read, or a survey is none.
int capture_surveys(struct capture_surveys *out, const char *folder, struct arena *arena,
                    struct error *err);

// How series made of the folder's records are named, and how their results are judged.
struct capture_series {
    const char *name;
    const struct problem *problem; // NULL: none is named, and each is capture=1 but for its range
    double tolerance;              // below 0: two units in the last place of the type of results
    const char *shared; // folder where contents that several captures have lie once; NULL: nowhere
};
struct capture_made {
    char name[KERNEL_NAME_TEXT]; // the series' name; the second shape's is NAME.2
    char file[4096];             // its record, beside the contents
    char code[OBJECT_ID_TEXT];
    struct problem problem; // that its range is named as, or the series'
    struct traits traits;
};
// Writes one record for each shape that was taken. A code id covers the images and the launches,
// but not where their buffers lay. 0; 1: there is no such record, or `err` says what else is wrong
// with them; -1: a file cannot be written.
int capture_make(struct capture_made **out, size_t *count, const char *folder,
                 const struct capture_series *series, struct arena *arena, struct error *err);

// Lists the device functions that the record `file` launches, with the resources they need.
struct code_function_list;
int capture_resources(struct code_function_list *out, const char *file, struct arena *arena,
                      struct error *err);

// Reads a record, its addresses as zeros. Its bytes are in the arena.
int capture_read(struct record *out, const char *path, struct arena *arena, struct error *err);

#endif
