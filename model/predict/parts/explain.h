// SPDX-License-Identifier: Apache-2.0
//
// A prediction's breakdown as text for people. ws-persistent's is laid out as seed 0 prints it.
#ifndef PLUMB_EXPLAIN_H
#define PLUMB_EXPLAIN_H

#include "model/buffer.h"
#include "model/predict.h"
#include "model/predict/parts/bias.h"

// `bias` is what the prediction was corrected by, NULL: by nothing. `measured_us` 0: there is no
// measurement to compare with. Times are printed in microseconds.
void explain_prediction(struct buffer *out, const struct model *model,
                        const struct predict_input *input, const struct prediction *prediction,
                        const struct bias *bias, double measured_us);

#endif
