// SPDX-License-Identifier: Apache-2.0
//
// A plan in a build's output, with the cubins that it launches. Both are hostile. If they do not
// match, they are refused with the plan's file and line. Nothing is run or loaded.
#ifndef PLUMB_PLAN_FILE_H
#define PLUMB_PLAN_FILE_H

#include "model/plan/plan.h"
#include "runner/code/machine_code.h"

struct plan_cubin {
    const char *name; // as in the plan
    const char *path;
    struct code_file file;
    struct elf_image image;
};

struct plan_file {
    struct launch_plan plan;
    const char *text;
    struct plan_entry *entries; // one per launch of the plan
    struct plan_cubin *cubins;  // each file once, in the order of the launches
    size_t cubin_count;
    struct arena arena;
};

// Whether a file of a build's output is a plan: its name ends in .plan.
bool plan_file_is(const char *path);

// Opens a plan; the caller closes it. -1: the text says what is wrong with the plan, a cubin, or
// both together.
int plan_file_open(struct plan_file *out, const char *path, struct error *err);
void plan_file_close(struct plan_file *file);

// Returns the file whose machine code a kernel of `path` runs: the library itself, or a plan's only
// cubin. NULL if a plan has several or cannot be opened.
const char *plan_file_code(const char *path, struct arena *arena);

// Computes the code id of a plan. It covers the device code and the launches, for all problems, but
// neither the plan's comments nor its [kernel] section. -1: a cubin cannot be read.
int plan_file_code_id(char out[OBJECT_ID_TEXT], const struct plan_file *file, struct error *err);

#endif
