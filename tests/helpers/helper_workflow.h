// SPDX-License-Identifier: Apache-2.0
//
// A file of .github/workflows, as far as a test can hold it to something without GitHub: its shell
// scripts in order, to be run with stand-ins, and what it uses.
#ifndef PLUMB_HELPER_WORKFLOW_H
#define PLUMB_HELPER_WORKFLOW_H

#include <stdbool.h>
#include <stddef.h>

enum { WORKFLOW_LINE = 512, WORKFLOW_STEPS = 16, WORKFLOW_SCRIPT = 4096 };

struct workflow {
    char runs[WORKFLOW_STEPS][WORKFLOW_SCRIPT]; // the shell scripts of `run:`
    size_t run_count;
    char uses[WORKFLOW_STEPS][WORKFLOW_LINE];
    size_t use_count;
    size_t bad_lines; // tabs, trailing blanks, or a nesting that is not of two blanks
};

void workflow_read(struct workflow *out, const char *name);
// Whether `grep -E` finds the pattern in these files of .github/workflows; shows the lines.
bool workflow_grep(const char *pattern, const char *files);
// Fails the test unless script i begins with begins[i], and there are no others.
void workflow_steps(const struct workflow *flow, const char *const *begins, size_t count);

#endif
