// SPDX-License-Identifier: Apache-2.0
//
// What a command leaves behind: report files, annotations for GitHub when it runs there, and the
// last line on stdout, which always says which and why.
#ifndef PLUMB_OUTPUT_H
#define PLUMB_OUTPUT_H

#include "model/result.h"

// Writes every report under `directory` (NULL: none), prints the verdicts that matter and the
// headline.
int output_run(const struct run *run, const char *directory, struct error *err);
// What a dry run would measure. Always 0.
int output_plan(const struct run *run);

#endif
