// SPDX-License-Identifier: Apache-2.0
//
// What the files of the cuda device's micro-benchmarks share, CUDA C++ only: a reading by clock64
// on an SM.
#ifndef PLUMB_CALIBRATE_CUH
#define PLUMB_CALIBRATE_CUH

#include "kernels/calibrate/calibrate.h"
#include "kernels/device/device_cuda.h"

// Where a result goes that never comes out: the compiler must not drop the work.
enum { SINK = 4096 };

// Where calibration readings go, and the settings that the micro-benchmarks of all files need.
struct calibration_plan {
    struct cuda *cuda;
    const char *only;
    calibration_sink *sink;
    void *state;
};

enum mma_type { MMA_TF32, MMA_FP16, MMA_BF16, MMA_FP8 };

static inline int fetch_clocks(double *clocks, struct cuda *cuda, struct error *err)
{
    uint64_t found;
    CUDA_TRY(cuda, cudaGetLastError(), err);
    CUDA_TRY(cuda, cudaStreamSynchronize(cuda->stream), err);
    CUDA_TRY(cuda, cudaMemcpy(&found, cuda->stamps, sizeof(found), cudaMemcpyDeviceToHost), err);
    *clocks = (double)found;
    return 0;
}

// One reading: queues a kernel that leaves its clocks in the first stamp, and turns them into the
// figure.
template <class Launch, class Figure>
static int figure(const struct calibration_plan *plan, const char *key, const char *note,
                  Launch launch, Figure value, struct error *err)
{
    double values[CALIBRATE_REPEATS], clocks;
    if (!calibrate_wanted(plan->only, key))
        return 0;
    for (int i = -1; i < CALIBRATE_REPEATS; i++) {
        launch((uint64_t *)plan->cuda->stamps);
        if (fetch_clocks(&clocks, plan->cuda, err))
            return -1;
        values[i < 0 ? 0 : i] = value(clocks);
    }
    calibrate_send(plan->sink, plan->state, key, values, CALIBRATE_REPEATS, note);
    return 0;
}

int calibrate_cuda_compute(const struct calibration_plan *plan, struct error *err);
// Both send nothing where the device or this program has no code for it. `memory` is on the device.
int calibrate_cuda_wgmma(const struct calibration_plan *plan, char *memory, size_t bytes,
                         struct error *err);
int calibrate_cuda_pipeline(const struct calibration_plan *plan, char *memory, size_t bytes,
                            struct error *err);

#endif
