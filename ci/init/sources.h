// SPDX-License-Identifier: Apache-2.0
//
// What HEAD's sources hold that `plumb init` needs: functions and types that may be a matrix
// product, the folders that a build reads, the libraries that they name, and CUTLASS itself.
#ifndef PLUMB_INIT_SOURCES_H
#define PLUMB_INIT_SOURCES_H

#include "ci/init/signatures.h"
#include "runner/git/repository.h"

enum { INPUTS_MAX = 24 };

struct sources {
    struct signature_list found;
    const char *inputs[INPUTS_MAX]; // top folders and files, unless the whole tree is read
    size_t input_count;
    bool whole_tree;
    const char *libraries; // to link, such as " -lcublas"
    bool names_cutlass;    // some include its headers
    const char *cutlass;   // the folder of CUTLASS in the tree, or NULL: not there
    bool cutlass_below;    // it is a submodule
    const char *missing;   // the submodule that may be CUTLASS is not on this machine: what to type
};

// Strings live in the arena. A repository without a commit has no sources.
int sources_read(struct sources *out, const struct repository *repository, struct arena *arena,
                 struct error *err);

#endif
