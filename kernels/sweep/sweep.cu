// SPDX-License-Identifier: Apache-2.0
//
// sweep: every kernel of the given modules on every given problem, beside cuBLASLt, for people who
// work on the kernels and for recording whole tables. (`bench` and `plumb` compare two builds of
// one kernel; this compares many kernels of one build, which needs no statistics beyond medians.)
//
// Built as bin/sweep where CUDA and cuBLASLt are, or by hand:
//   nvcc -std=c++20 -O2 --generate-code=arch=compute_90a,code=sm_90a sweep.cu -o sweep
//     -lcublasLt -ldl
//
//   sweep list MODULE...                          their kernels, a line each; needs no device
//   sweep check MODULE...                         correctness on awkward sizes
//   sweep soak COUNT M N K MODULE...              COUNT launches, each compared with the first
//   sweep time ROUNDS PROBLEMS MODULE...          CSV on stdout; PROBLEMS: file of "m n k" lines
//   sweep record COMMIT ROUNDS PROBLEMS MODULE... the same as rows for the store:
//     sweep record $(git rev-parse HEAD) 9 dsv3.problems libspace_*.so | plumb import --format=csv
//     -
//   sweep device                                  SMs, and clusters of three and four that fit
//   sweep run M N K MODULE KERNEL                 one launch, for the profiler and the sanitizer
//   sweep blas TYPE M N K INDEX                   one launch of cuBLASLt's algorithm, likewise
//
// Timing: every arm three times, in random order, then as many rounds as asked, also in random
// order, of cuBLASLt's three best and the fastest kernels alone, whose first samples are forgotten;
// before each launch 126 MB are read (no dirty lines, twice the L2), the stream is held while the
// launch is queued, and one SM's clock64 and globaltimer are read just before and after. Inputs are
// normal; outputs are poisoned and checked. A kernel that hangs ends the process with code 9 after
// 8 s; SWEEP_SKIP names a file of kernels to leave out.
#include <dlfcn.h>
#include <string.h>

#include "../gemm/cuda/resident.cuh"
#include "timing.cuh"

// SWEEP_SKIP: a file of kernels' names, one a line, that are left out.
static bool is_skipped(const char *name)
{
    static const std::vector<std::string> names = [] {
        std::vector<std::string> all;
        const char *path = getenv("SWEEP_SKIP");
        FILE *file = path ? fopen(path, "r") : nullptr;
        char line[256];
        if (path && !file) {
            fprintf(stderr, "SWEEP_SKIP: cannot read %s\n", path);
            exit(4);
        }
        while (file && fgets(line, sizeof line, file))
            all.emplace_back(line, strcspn(line, " \n"));
        if (file)
            fclose(file);
        return all;
    }();
    return std::find(names.begin(), names.end(), name) != names.end();
}

static std::vector<const plumb_kernel *> open_modules(char **paths, int count)
{
    std::vector<const plumb_kernel *> kernels;
    for (int i = 0; i < count; ++i) {
        void *module = dlopen(paths[i], RTLD_NOW | RTLD_LOCAL);
        if (!module) {
            fprintf(stderr, "%s\n", dlerror());
            exit(4);
        }
        const auto function = (plumb_library_function)dlsym(module, "plumb_library");
        if (!function) {
            fprintf(stderr, "%s: exports no plumb_library\n", paths[i]);
            exit(4);
        }
        const struct plumb_library *library = function();
        for (uint32_t k = 0; k < library->count; ++k)
            if (!is_skipped(library->kernels[k].name))
                kernels.push_back(&library->kernels[k]);
    }
    return kernels;
}

static int list(char **paths, int count)
{
    for (int i = 0; i < count; ++i)
        for (const plumb_kernel *kernel : open_modules(paths + i, 1))
            printf("%s %s\n", paths[i], kernel->name);
    return 0;
}

static int check(const std::vector<const plumb_kernel *> &kernels)
{
    static const long sizes[][3] = {
        {128, 256, 64},    {1, 8, 16},         {64, 64, 64},       {127, 129, 48},
        {1, 4096, 7168},   {257, 263, 1040},   {4096, 576, 512},   {1000, 2112, 784},
        {17, 7168, 2048},  {128, 130, 16384},  {769, 3001, 272},   {2048, 2048, 96},
        {33, 1536, 4096},  {3840, 4224, 176},  {777, 3072, 768},   {1, 2113, 7184},
        {64, 2112, 7168},  {2056, 6008, 1040}, {1, 77, 1040},      {2200, 2200, 64},
        {16, 16384, 4096}, {4096, 4096, 2064}, {1009, 1013, 1021}, {1, 513, 1037},
        {17, 300, 4099},   {130, 77, 65},      {1, 3001, 30001}};
    const device_memory d = allocate(256 << 20, 256 << 20, 128 << 20, 128 << 20);
    int wrong = 0, done = 0;
    for (const plumb_kernel *kernel : kernels)
        for (const auto &s : sizes) {
            const plumb_problem p = problem_for(kernel, s[0], s[1], s[2]);
            if (!kernel->supports(&p) || workspace_of(kernel, p) > d.workspace_bytes)
                continue;
            for (const bool spread : {false, true}) {
                make_inputs(d, p, spread);
                ++done;
                if (!prepared(d, kernel, make_args(d, p)) || !launch_once(d, kernel, p) ||
                    !verify(d, p, kernel, false))
                    ++wrong;
            }
        }
    printf("check: %d wrong of %d (%zu kernels)\n", wrong, done, kernels.size());
    return wrong ? 3 : 0;
}

// Memory for one problem and whatever workspace these kernels want for it.
static device_memory allocate_for(const std::vector<const plumb_kernel *> &kernels, long m, long n,
                                  long k)
{
    size_t workspace = blas_workspace_bytes;
    for (const plumb_kernel *kernel : kernels)
        workspace = std::max(workspace, workspace_of(kernel, problem_for(kernel, m, n, k)));
    return allocate((size_t)m * k * 4, (size_t)n * k * 8, (size_t)m * n * 4 + 256, workspace);
}

static int soak(long count, long m, long n, long k,
                const std::vector<const plumb_kernel *> &kernels)
{
    const device_memory d = allocate_for(kernels, m, n, k);
    int wrong = 0;
    for (const plumb_kernel *kernel : kernels) {
        const plumb_problem p = problem_for(kernel, m, n, k);
        const plumb_args args = make_args(d, p);
        const size_t bytes = (size_t)m * n * type_bytes(p.out_type);
        if (!kernel->supports(&p))
            continue;
        make_inputs(d, p);
        if (!prepared(d, kernel, args) || !launch_once(d, kernel, p) ||
            !verify(d, p, kernel, false)) {
            ++wrong;
            continue;
        }
        CHECK(cudaMemcpyAsync(d.first, d.c, bytes, cudaMemcpyDeviceToDevice, d.stream));
        CHECK(cudaMemsetAsync(d.bad, 0, sizeof *d.bad, d.stream));
        for (long i = 0; i < count; ++i) {
            CHECK(cudaMemsetAsync(d.c, 0xff, bytes, d.stream));
            CHECK(kernel->launch(&args, d.stream));
            differ<<<512, 256, 0, d.stream>>>((uint32_t *)d.c, (uint32_t *)d.first, bytes / 4,
                                              d.bad);
        }
        unsigned long long bad;
        CHECK(cudaMemcpyAsync(&bad, d.bad, sizeof bad, cudaMemcpyDeviceToHost, d.stream));
        finish(d.stream, kernel->name, p);
        printf("soak %s %ldx%ldx%ld: %ld launches, %llu words differ\n", kernel->name, m, n, k,
               count, bad);
        wrong += bad != 0;
    }
    return wrong ? 3 : 0;
}

// One launch of one of cuBLASLt's algorithms, for the profiler.
static int run_blas(const char *type, long m, long n, long k, size_t index)
{
    plumb_problem p = {};
    p.m = m;
    p.n = n;
    p.k = k;
    p.layout = PLUMB_TN;
    p.batch = 1;
    p.in_type = !strncmp(type, "e4m3", 4) ? PLUMB_E4M3
                : !strcmp(type, "tf32")   ? PLUMB_TF32
                                          : PLUMB_BF16;
    p.out_type = p.in_type == PLUMB_TF32 ? PLUMB_FP32 : PLUMB_BF16;
    const device_memory d = allocate((size_t)m * k * 4, (size_t)n * k * 4, (size_t)m * n * 4 + 256,
                                     blas_workspace_bytes);
    make_inputs(d, p);
    const blas_problem blas = describe(d, p, strcmp(type, "e4m3-exact") != 0);
    const std::vector<arm> arms = blas_arms(d, blas, "cublaslt");
    if (index >= arms.size())
        return 4;
    read_flush<<<1024, 512, 0, d.stream>>>(d.flush, d.flush_bytes / sizeof(uint4),
                                           (uint32_t *)d.bad);
    CHECK(launch(d, arms[index], make_args(d, p), blas));
    finish(d.stream, "cublaslt", p);
    return 0;
}

static int run(long m, long n, long k, const std::vector<const plumb_kernel *> &kernels,
               const char *name)
{
    const device_memory d = allocate_for(kernels, m, n, k);
    for (const plumb_kernel *kernel : kernels) {
        const plumb_problem p = problem_for(kernel, m, n, k);
        if (strcmp(kernel->name, name) || !kernel->supports(&p))
            continue;
        make_inputs(d, p);
        return prepared(d, kernel, make_args(d, p)) && launch_once(d, kernel, p) &&
                       verify(d, p, kernel, true)
                   ? 0
                   : 3;
    }
    fprintf(stderr, "%s: no such kernel for this problem\n", name);
    return 4;
}

int main(int argc, char **argv)
{
    const std::string verb = argc > 1 ? argv[1] : "";
    if (verb == "device" && argc == 2)
        return printf("%d SMs, %d clusters of 3, %d of 4\n", count_sms(), count_clusters(3, 0),
                      count_clusters(4, 0)) < 0;
    if (verb == "list" && argc > 2)
        return list(argv + 2, argc - 2);
    if (verb == "check" && argc > 2)
        return check(open_modules(argv + 2, argc - 2));
    if (verb == "soak" && argc > 6)
        return soak(atol(argv[2]), atol(argv[3]), atol(argv[4]), atol(argv[5]),
                    open_modules(argv + 6, argc - 6));
    if (verb == "time" && argc > 4)
        return time_all(atoi(argv[2]), argv[3], open_modules(argv + 4, argc - 4), nullptr);
    if (verb == "record" && argc > 5)
        return time_all(atoi(argv[3]), argv[4], open_modules(argv + 5, argc - 5), argv[2]);
    if (verb == "run" && argc == 7)
        return run(atol(argv[2]), atol(argv[3]), atol(argv[4]), open_modules(argv + 5, 1), argv[6]);
    if (verb == "blas" && argc == 7)
        return run_blas(argv[2], atol(argv[3]), atol(argv[4]), atol(argv[5]), atol(argv[6]));
    fprintf(
        stderr,
        "usage: sweep device|list|check|soak|time|record|run|blas ...; the file's head says how\n");
    return 4;
}
