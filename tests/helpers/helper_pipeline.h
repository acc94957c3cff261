// SPDX-License-Identifier: Apache-2.0
//
// The question of model/predict/parts/pipeline_optimise.h put to Z3.
#ifndef PLUMB_TESTS_HELPER_PIPELINE_H
#define PLUMB_TESTS_HELPER_PIPELINE_H

#include "model/predict/parts/pipeline_optimise.h"

#ifdef PLUMB_HAVE_Z3
// The same question put to Z3: the recurrences unrolled over stages, tiling and depth as unknowns,
// the goal as its objective. Sizes up to 1024. The optimum is equal; the tiling may be another of
// equal value. Fails when Z3 gives up within `timeout_ms`.
int pipeline_optimise_z3(struct pipeline_choice *out, const struct pipeline_machine *machine,
                         const int64_t mnk[3], enum pipeline_goal goal, unsigned timeout_ms,
                         struct error *err);
#endif

#endif
