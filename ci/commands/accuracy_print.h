// SPDX-License-Identifier: Apache-2.0
//
// What `plumb accuracy` prints: a line per model, and the rows that one is farthest from. `answer`
// takes them instead of standard output, unless it is NULL.
#ifndef PLUMB_ACCURACY_PRINT_H
#define PLUMB_ACCURACY_PRINT_H

#include "ci/commands/answer.h"
#include "model/predict/parts/accuracy.h"

void accuracy_print_header(const struct answer *answer);
// `refused`: rows that the model does not predict.
void accuracy_print(struct answer *answer, const char *name, const struct accuracy *accuracy,
                    size_t refused);
// The `most` rows with the largest distance; sorts `rows`. The last that an answer is given.
void accuracy_print_worst(struct answer *answer, struct accuracy_row *rows, size_t count,
                          size_t most);

#endif
