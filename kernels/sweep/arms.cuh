// SPDX-License-Identifier: Apache-2.0
//
// The arms of a comparison, the kernels under test and cuBLASLt's algorithms, and a sample of one
// on bench's stopwatch.
#ifndef PLUMB_SWEEP_ARMS_CUH
#define PLUMB_SWEEP_ARMS_CUH

#include <string>

#include "../gemm/cuda/controls/cublaslt.cuh"
#include "field.cuh"

struct arm {
    std::string name;
    const plumb_form_kernel *kernel; // NULL: cuBLASLt
    choice matmul;                   // its problem and algorithm
    bool exact;                      // FP8 without fast accumulation
    std::vector<double> us, ghz;
    double guess; // us
};

static cublaslt_state library;

struct launching {
    const arm *of;
    plumb_form_args args;
};

static int launch_arm(void *self, uint32_t, void *stream)
{
    launching *l = static_cast<launching *>(self);
    if (l->of->kernel)
        return call_launch(l->of->kernel, &l->args, stream);
    l->args.args.workspace_bytes = cublaslt_workspace_bytes;
    return run(&library, &l->of->matmul, &l->args.args, static_cast<cudaStream_t>(stream));
}

// A first launch, untimed: it loads the code, which a sample's must not (it is queued while the
// stream is held).
static void settle(const field &f, const arm &of)
{
    launching self = {&of, args_of(f)};
    error err = {};
    wait_for(f, of.name.c_str());
    const int code = launch_arm(&self, 0, f.ops->stream(f.device));
    snprintf(err.text, sizeof err.text, "launch error %d", code);
    is_done(code || f.ops->sync(f.device, &err), err);
}

// cuBLASLt's algorithms for the problem in place, as its heuristics order them; none where it does
// not do the problem.
static std::vector<arm> blas_arms(const field &f, bool fast, const char *name)
{
    choice matmul = {};
    cublasLtMatmulHeuristicResult_t results[algorithms_max];
    int found = 0;
    plumb_args args = args_of(f).args;
    args.workspace_bytes = cublaslt_workspace_bytes;
    matmul.problem = args.problem;
    std::vector<arm> arms;
    if ((!library.handle && cublasLtCreate(&library.handle)) || make_operation(&matmul, fast) ||
        set_scales(&matmul, &args) ||
        ask_heuristics(results, &found, algorithms_max, &library, &matmul, &args))
        found = 0;
    for (int i = 0; i < found; ++i) {
        if (results[i].state != CUBLAS_STATUS_SUCCESS)
            continue;
        matmul.algorithm = results[i].algo;
        arms.push_back({name + ("#" + std::to_string(i)), nullptr, matmul, !fast, {}, {}, 0});
        settle(f, arms.back());
    }
    if (arms.empty())
        free_choice(&matmul);
    return arms;
}

// What such arms share. Arms may be copies: to be called once for all of a blas_arms().
static void free_arms(std::vector<arm> &arms)
{
    if (!arms.empty())
        free_choice(&arms.front().matmul);
}

// One cold launch on the stopwatch.
static void take(const field &f, arm &of, bool keep)
{
    launching self = {&of, args_of(f)};
    batch one = {};
    one.launch = launch_arm;
    one.self = &self;
    one.sets = one.launches = 1;
    one.flush = FLUSH_READ;
    struct sample s = {};
    findings found = {};
    int code = 0;
    error err = {};
    wait_for(f, of.name.c_str());
    const int failed = f.ops->sample(&s, &found, f.device, &one, &code, &err);
    if (code)
        snprintf(err.text, sizeof err.text, "launch error %d", code);
    is_done(failed || code, err);
    if (!keep)
        return;
    of.us.push_back(s.time_ns / 1e3);
    if (s.clock_hz > 0)
        of.ghz.push_back(s.clock_hz / 1e9);
}

#endif
