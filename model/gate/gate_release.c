// SPDX-License-Identifier: Apache-2.0
//
// Many series at once: which alarms stand.
//
// Series of one GPU share its clock and heat, so their errors are dependent in unknown ways; e-BH
// holds its false discovery rate under any dependence (Wang and Ramdas 2022), and so does the mean
// of e-values within a kernel. A kernel that got slower on all shapes is found by the mean even
// when no single shape suffices; inside a released kernel the series are tested at q x released
// kernels / kernels (Benjamini and Bogomolov 2014), which keeps the average rate over the released
// ones.
#include "model/gate/gate.h"

#include <math.h>
#include <stdlib.h>

// Evidence of the series of one kernel, gathered into `of_kernel`; returns how many.
static size_t gather_kernel(double *of_kernel, const double *log_evidence, const size_t *kernel,
                            size_t count, size_t which)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (kernel[i] == which)
            of_kernel[used++] = log_evidence[i];
    }
    return used;
}

static size_t release_kernel(bool *released, const double *log_evidence, const size_t *kernel,
                             size_t count, size_t which, double q)
{
    double *of_kernel = xcalloc(count, sizeof(*of_kernel));
    bool *rejected = xcalloc(count, sizeof(*rejected));
    size_t used = gather_kernel(of_kernel, log_evidence, kernel, count, which);
    size_t found = ebh(rejected, of_kernel, used, q);
    for (size_t i = 0, at = 0; i < count; i++) {
        if (kernel[i] == which)
            released[i] = rejected[at++];
    }
    free(of_kernel);
    free(rejected);
    return found;
}

size_t gate_release(bool *released, const double *log_evidence, const size_t *kernel, size_t count,
                    double q)
{
    size_t highest = 0, kernels = 0, total = 0;
    for (size_t i = 0; i < count; i++) {
        released[i] = false;
        highest = kernel[i] >= highest ? kernel[i] + 1 : highest;
    }
    double *evidence = xcalloc(highest, sizeof(*evidence)), *work = xcalloc(count, sizeof(*work));
    size_t *number = xcalloc(highest, sizeof(*number));
    bool *rejected = xcalloc(highest, sizeof(*rejected));
    for (size_t k = 0; k < highest; k++) {
        size_t used = gather_kernel(work, log_evidence, kernel, count, k);
        if (used == 0)
            continue;
        number[kernels] = k;
        evidence[kernels++] = log_mean_exp(work, used);
    }
    size_t found = ebh(rejected, evidence, kernels, q);
    for (size_t k = 0; k < kernels; k++) {
        double within = q * (double)found / (double)kernels;
        if (rejected[k])
            total += release_kernel(released, log_evidence, kernel, count, number[k], within);
    }
    free(evidence);
    free(work);
    free(number);
    free(rejected);
    return total;
}
