// SPDX-License-Identifier: Apache-2.0
//
// One series in plain text, for places that show nothing else (JUnit bodies).
#ifndef PLUMB_REPORTS_EXPLAIN_H
#define PLUMB_REPORTS_EXPLAIN_H

#include "reports/view.h"

// Lines of "what: value". The text is not cleaned: the format that takes it does that.
void explain_series(struct buffer *out, const struct view *view, const struct run *run);

#endif
