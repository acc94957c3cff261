// SPDX-License-Identifier: Apache-2.0
//
// A commit that does not build, in words: which one, what the tools said first, where all of it is.
// One row for the build, whatever it holds: no kernel is to blame. Of a base that does not build it
// says that there is nothing to compare with.
#ifndef PLUMB_REPORTS_UNBUILT_H
#define PLUMB_REPORTS_UNBUILT_H

#include "model/buffer.h"
#include "model/result.h"

// "commit 0123456789 does not build: exit status 1"; nothing where it builds. Untrusted text.
void unbuilt_sentence(struct buffer *out, const struct run *run, enum sample_role role);
// "kernels/plain.c:34: error: ..."
void unbuilt_error(struct buffer *out, const struct build_error *error);
// All of it: the sentence, a line for each error, the log's path.
void unbuilt_text(struct buffer *out, const struct run *run, enum sample_role role);
// A name of the repository itself: relative, without "..", fit to be shown beside a change.
bool unbuilt_is_in_repository(const struct build_error *error);

#endif
