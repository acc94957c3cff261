// SPDX-License-Identifier: Apache-2.0
//
// What a study compares: the libraries of two directories, or the builds of two commits.
#ifndef PLUMB_STUDY_SOURCES_H
#define PLUMB_STUDY_SOURCES_H

#include "ci/settings/context.h"
#include "ci/study/study.h"

struct study_request {
    const char *base, *head;     // two directories, or two revisions; head NULL: only A/A
    const char *device;          // directories: "host" or "cuda"; commits: one of the policy's
    const char *kernel;          // GLOB: only these; NULL: all
    const char *const *problems; // commits: may be none, then the policy's
    size_t problem_count;
    uint32_t units;      // of directories: so many equal devices share each round; 0: 1
    bool faster;         // also the other way round
    const char *records; // of directories: a folder to record every kernel in; NULL: libraries
};

// A study per device, and the run that they are.
struct studied {
    struct run run;
    struct study *studies; // [run.device_count]
    // What their children are started with:
    struct bench_plan plan;     // directories
    struct context *context;    // commits; borrowed
    const char *directories[2]; // of the builds
    size_t directory_count;
    struct study_start *starts; // one per study
};

// The library of each name in both, absolute paths; every kernel of the device's kind.
int study_of_directories(struct studied *out, const struct study_request *request,
                         const char *bench, struct error *err);
// Builds both (context_open() has been called) as a gate does, under the base's policy.
int study_of_commits(struct studied *out, const struct study_request *request,
                     struct context *context, struct error *err);
// Records the series of a study of directories in `folder`, and studies the records. What is there
// already is not recorded again; what cannot be recorded is said and left out.
int study_record(struct studied *studied, const char *folder, struct error *err);
void studied_free(struct studied *studied);

#endif
