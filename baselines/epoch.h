// SPDX-License-Identifier: Apache-2.0
//
// Epochs: changes of baseline that a person accepted. They are kept in the repository in a small
// text file (baselines/epochs.txt here), so that accepting a regression is a reviewed change.
//
// The file is UTF-8 lines. '#' starts a comment line. An epoch is a block of `key = value` lines
// that starts with its series and ends at an empty line:
//
//     series = tiled 4096x4096x4096:bf16-bf16:tn *     kernel, problem, device UUID; '*' and '?'
//     match commit = 1f0c...                                 from this commit on level  = 0.0312
//     accepted log ratio, new / old reason = wider tiles trade this shape for the large ones who =
//     A. Author <author@example.org> when   = 2026-11-21                              UTC
//
// Every key is needed, once. Parsing and writing are pure: text in, structs out; no I/O.
#ifndef PLUMB_EPOCH_H
#define PLUMB_EPOCH_H

#include "model/result.h"

enum { EPOCH_SERIES_TEXT = 320 };

struct epoch {
    const char *series; // "KERNEL PROBLEM DEVICE", each part a pattern
    char commit[OBJECT_ID_TEXT];
    double level; // accepted log(new / old)
    const char *reason;
    const char *who;
    int64_t when_s; // midnight UTC of the day
};

struct epoch_list {
    struct epoch *epochs; // in file order
    size_t count;
};

// `name` is shown in errors as name:line. Strings and the array live in the arena.
int epoch_parse(struct epoch_list *out, const char *text, size_t length, const char *name,
                struct arena *arena, struct error *err);

// One block, as text that epoch_parse() reads back to the same epoch, in the arena. Fails if a
// field cannot be written on one line.
int epoch_format(char **out, const struct epoch *epoch, struct arena *arena, struct error *err);

// Does the pattern cover this series?
bool epoch_matches(const struct epoch *epoch, const char *kernel, const struct problem *problem,
                   const char *device_uuid);

// The last epoch in the list that covers the series; NULL if none.
const struct epoch *epoch_find(const struct epoch_list *list, const char *kernel,
                               const struct problem *problem, const char *device_uuid);

#endif
