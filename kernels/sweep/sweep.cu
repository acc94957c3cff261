// SPDX-License-Identifier: Apache-2.0
//
// sweep: every kernel of the given modules on every given problem, beside cuBLASLt, for people who
// work on the kernels and for recording whole tables. (`bench` and `plumb` compare two builds of
// one kernel; this compares many kernels of one build, which needs no statistics beyond medians.)
// Memory, inputs, references and the stopwatch are those of `bench`.
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
// soak and run take a problem with groups in full in place of M N K, and so do the lines of
// PROBLEMS for `record` (rows of `time` have no place for groups).
//
// Timing: every arm three times, in random order, then as many rounds as asked, also in random
// order, of cuBLASLt's three best and the fastest kernels alone, whose first samples are forgotten.
// A sample is one cold launch, never a batch. All outputs are checked first. A kernel that hangs
// ends the process with code 9 after 8 s; SWEEP_SKIP names a file of kernels to leave out.
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

static std::vector<plumb_form_kernel> open_modules(char **paths, int count)
{
    std::vector<plumb_form_kernel> kernels;
    for (int i = 0; i < count; ++i) {
        module loaded = {};
        error err;
        if (module_load(&loaded, paths[i], false, &err))
            give_up(err);
        for (uint32_t k = 0; k < module_count(&loaded); ++k) {
            plumb_form_kernel kernel;
            if (module_find(&kernel, &loaded, module_kernel(&loaded, k).name) &&
                !is_skipped(kernel.kernel.name))
                kernels.push_back(kernel);
        }
    }
    return kernels;
}

static int list(char **paths, int count)
{
    for (int i = 0; i < count; ++i)
        for (const plumb_form_kernel &kernel : open_modules(paths + i, 1))
            printf("%s %s\n", paths[i], kernel.kernel.name);
    return 0;
}

// Groups of awkward sizes: none, one row, all rows in one, n and k that fill no tile.
static const char *const group_problems[] = {
#define GROUPS_OF(type)                                                                            \
    "1000x257x336:" type "contiguous7/zipf", "144x1000x1008:" type "masked33/50/60",               \
        "3000x2112x784:" type "contiguous16/zipf", "512x136x1040:" type "masked20/200/100",        \
        "4096x128x2064:" type "contiguous1", "2048x384x512:" type "masked3/1100/90",               \
        "64x4096x7168:" type "contiguous64/zipf", "256x1013x48:" type "masked70/3/zipf"
    GROUPS_OF("bf16:"), GROUPS_OF("fp8:fp32/1x128/128x128/columns:")};

static int check(const std::vector<plumb_form_kernel> &kernels)
{
    static const long sizes[][3] = {
        {128, 256, 64},    {1, 8, 16},         {64, 64, 64},       {127, 129, 48},
        {1, 4096, 7168},   {257, 263, 1040},   {4096, 576, 512},   {1000, 2112, 784},
        {17, 7168, 2048},  {128, 130, 16384},  {769, 3001, 272},   {2048, 2048, 96},
        {33, 1536, 4096},  {3840, 4224, 176},  {777, 3072, 768},   {1, 2113, 7184},
        {64, 2112, 7168},  {2056, 6008, 1040}, {1, 77, 1040},      {2200, 2200, 64},
        {16, 16384, 4096}, {4096, 4096, 2064}, {1009, 1013, 1021}, {1, 513, 1037},
        {17, 300, 4099},   {130, 77, 65},      {1, 3001, 30001}};
    std::vector<problem> problems;
    for (const auto &s : sizes) {
        const std::vector<problem> some = problems_of(kernels, s[0], s[1], s[2], false);
        problems.insert(problems.end(), some.begin(), some.end());
    }
    for (const char *text : group_problems) {
        problem p;
        if (read_groups(&p, text) &&
            std::any_of(kernels.begin(), kernels.end(),
                        [&](const plumb_form_kernel &x) { return takes(x, p); }))
            problems.push_back(p);
    }
    field f = open_field(problems, kernels, 0);
    int wrong = 0, done = 0;
    for (const problem &p : problems) {
        place(f, p);
        for (const plumb_form_kernel &kernel : kernels) {
            if (!takes(kernel, p))
                continue;
            ++done;
            wrong += !prepared(f, kernel) || !launch_checked(f, kernel, false);
        }
    }
    printf("check: %d wrong of %d (%zu kernels)\n", wrong, done, kernels.size());
    return wrong ? 3 : 0;
}

// What these kernels do of a size: three words M N K, or one that is a problem with groups.
static std::vector<problem> asked(const std::vector<plumb_form_kernel> &kernels, char **size,
                                  int words)
{
    problem p;
    if (words == 3)
        return problems_of(kernels, atol(size[0]), atol(size[1]), atol(size[2]), false);
    if (read_groups(&p, size[0]))
        return {p};
    fprintf(stderr, "sweep: '%s' is no problem with groups\n", size[0]);
    exit(4);
}

// How many words of two outputs differ.
__global__ void differ(const uint32_t *x, const uint32_t *y, size_t words, unsigned long long *bad)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < words;
         i += (size_t)gridDim.x * blockDim.x)
        if (x[i] != y[i])
            atomicAdd(bad, 1ull);
}

// Launches `count` times more; how many words of all these outputs are not those of the launch
// before.
static unsigned long long count_differences(const field &f, const plumb_form_kernel &kernel,
                                            long count)
{
    const plumb_form_args args = args_of(f);
    const cudaStream_t stream = (cudaStream_t)f.ops->stream(f.device);
    const size_t bytes = output_of(f.at).bytes;
    unsigned long long bad = 0, *counter = (unsigned long long *)allocate(f, sizeof bad);
    void *first = allocate(f, bytes);
    error err;
    wait_for(f, kernel.kernel.name);
    int failed = cudaMemcpyAsync(first, f.c, bytes, cudaMemcpyDeviceToDevice, stream) ||
                 f.ops->set(f.device, counter, 0, sizeof bad, &err);
    for (long i = 0; i < count && !failed; ++i) {
        failed = f.ops->set(f.device, f.c, 0xff, bytes, &err) ||
                 group_places_clear(f.ops, f.device, f.c, bytes, &f.at, &err) ||
                 call_launch(&kernel, &args, stream);
        differ<<<512, 256, 0, stream>>>((uint32_t *)f.c, (uint32_t *)first, bytes / 4, counter);
    }
    is_done(f.ops->read(f.device, &bad, counter, sizeof bad, &err) || failed, err);
    f.ops->free(f.device, counter);
    f.ops->free(f.device, first);
    return bad;
}

static int soak(long count, const std::vector<problem> &problems,
                const std::vector<plumb_form_kernel> &kernels)
{
    field f = open_field(problems, kernels, 0);
    int wrong = 0;
    for (const problem &p : problems) {
        place(f, p);
        for (const plumb_form_kernel &kernel : kernels) {
            if (!takes(kernel, p))
                continue;
            if (!prepared(f, kernel) || !launch_checked(f, kernel, false)) {
                ++wrong;
                continue;
            }
            const unsigned long long bad = count_differences(f, kernel, count);
            printf("soak %s %s: %ld launches, %llu words differ\n", kernel.kernel.name,
                   name_of(p).c_str(), count, bad);
            wrong += bad != 0;
        }
    }
    return wrong ? 3 : 0;
}

// One launch of one of cuBLASLt's algorithms, for the profiler.
static int run_blas(const char *type, long m, long n, long k, size_t index)
{
    const dtype in = !strncmp(type, "e4m3", 4) ? DTYPE_E4M3
                     : !strcmp(type, "tf32")   ? DTYPE_TF32
                                               : DTYPE_BF16;
    const problem p = product(m, n, k, in, dtype_default_out(in));
    field f = open_field({p}, {}, cublaslt_workspace_bytes);
    place(f, p);
    std::vector<arm> arms = blas_arms(f, strcmp(type, "e4m3-exact") != 0, "cublaslt");
    if (index >= arms.size())
        return 4;
    take(f, arms[index], false);
    return 0;
}

static int run_one(char **size, int words, const std::vector<plumb_form_kernel> &kernels,
                   const char *name)
{
    for (const plumb_form_kernel &kernel : kernels) {
        if (strcmp(kernel.kernel.name, name))
            continue;
        const std::vector<problem> problems = asked({kernel}, size, words);
        if (problems.empty())
            continue;
        field f = open_field(problems, kernels, 0);
        place(f, problems.front());
        return prepared(f, kernel) && launch_checked(f, kernel, true) ? 0 : 3;
    }
    fprintf(stderr, "%s: no such kernel for this problem\n", name);
    return 4;
}

int main(int argc, char **argv)
{
    const std::string verb = argc > 1 ? argv[1] : "";
    if (verb == "device" && argc == 2)
        return printf("%d SMs, %d clusters of 3, %d of 4, %d of 8, %d of 16\n", count_sms(),
                      count_clusters(3, 0), count_clusters(4, 0), count_clusters(8, 0),
                      count_clusters(16, 0)) < 0;
    if (verb == "list" && argc > 2)
        return list(argv + 2, argc - 2);
    if (verb == "check" && argc > 2)
        return check(open_modules(argv + 2, argc - 2));
    const int at = verb == "soak" ? 3 : 2, words = argc > at && strchr(argv[at], ':') ? 1 : 3;
    if (verb == "soak" && argc > 3 + words) {
        const std::vector<plumb_form_kernel> kernels =
            open_modules(argv + 3 + words, argc - 3 - words);
        return soak(atol(argv[2]), asked(kernels, argv + 3, words), kernels);
    }
    if (verb == "time" && argc > 4)
        return time_all(atoi(argv[2]), argv[3], open_modules(argv + 4, argc - 4), nullptr);
    if (verb == "record" && argc > 5)
        return time_all(atoi(argv[3]), argv[4], open_modules(argv + 5, argc - 5), argv[2]);
    if (verb == "run" && argc == 4 + words)
        return run_one(argv + 2, words, open_modules(argv + 2 + words, 1), argv[3 + words]);
    if (verb == "blas" && argc == 7)
        return run_blas(argv[2], atol(argv[3]), atol(argv[4]), atol(argv[5]), atol(argv[6]));
    fprintf(
        stderr,
        "usage: sweep device|list|check|soak|time|record|run|blas ...; the file's head says how\n");
    return 4;
}
