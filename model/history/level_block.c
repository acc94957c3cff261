// SPDX-License-Identifier: Apache-2.0
//
// The factor of one block.
#include "model/history/level_block.h"

#include <math.h>

// Row by row: element (i, j) of the factor, then of its inverse.
void block_factor(double out[BLOCK_SIZE], const double symmetric[BLOCK_SIZE],
                  const double sum[BLOCK_SIZE])
{
    double factor[BLOCK_SIZE];
    memset(out, 0, BLOCK_SIZE * sizeof(*out));
    for (size_t i = 0; i < BLOCK; i++) {
        for (size_t j = 0; j <= i; j++) {
            double left = symmetric[BLOCK * j + i] - sum[BLOCK * j + i];
            for (size_t k = 0; k < j; k++)
                left -= factor[BLOCK * k + i] * factor[BLOCK * k + j];
            if (j < i)
                factor[BLOCK * j + i] = left * out[BLOCK * j + j];
            else
                out[BLOCK * i + i] = 1 / sqrt(fmax(left, symmetric[BLOCK * i + i] * 1e-15));
        }
    }
    for (size_t i = 1; i < BLOCK; i++) {
        for (size_t j = 0; j < i; j++) {
            double dot = 0;
            for (size_t k = j; k < i; k++)
                dot += factor[BLOCK * k + i] * out[BLOCK * j + k];
            out[BLOCK * j + i] = -dot * out[BLOCK * i + i];
        }
    }
}
