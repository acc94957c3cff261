// SPDX-License-Identifier: Apache-2.0
//
// A study in parts: each task counts the gates of some series, and the counts of all are one study.
#ifndef PLUMB_STUDY_JOINING_H
#define PLUMB_STUDY_JOINING_H

#include "ci/gate/part.h"
#include "ci/study/study_sources.h"

// Leaves this part's series in the study, and notes it in its run; a whole is left as it is.
void study_take_part(struct studied *studied, const struct part *part);

// The run of a study whose parts are in the store at `path`. *missing: the numbers of those that
// are not, "" when all are; in the run's arena. -1 as pieces_read(). The caller run_free()s it.
int study_join(struct run *out, const char **missing, uint32_t *parts, const char *path,
               struct error *err);

// Saves a joined study, unless the store has it already.
int study_save_joined(struct store *store, struct run *run, struct error *err);

#endif
