// SPDX-License-Identifier: Apache-2.0
//
// What a command leaves behind: report files, annotations for GitHub when it runs there, and the
// last line on stdout, which always says which and why.
#ifndef PLUMB_OUTPUT_H
#define PLUMB_OUTPUT_H

#include "ci/settings/context.h"
#include "reports/report.h"

// What the context's store (if any), its policy (addresses) and the run's own pairs say beyond the
// run, for its reports: false alarms of identical code on its devices, the smallest change each
// series could show. Lives in the arena.
int output_context(struct report_context *out, const struct run *run, const struct context *context,
                   struct arena *arena, struct error *err);
// Writes every report under `directory` (NULL: none), prints the verdicts that matter and the
// headline.
int output_run(const struct run *run, const struct context *context, const char *directory,
               struct error *err);
// What a dry run would measure. Always 0.
int output_plan(const struct run *run);

#endif
