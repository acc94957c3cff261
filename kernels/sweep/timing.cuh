// SPDX-License-Identifier: Apache-2.0
//
// Cold times of all arms in random order, one problem after the other.
#ifndef PLUMB_SWEEP_TIMING_CUH
#define PLUMB_SWEEP_TIMING_CUH

#include <algorithm>
#include <random>

#include "blas.cuh"
#include "verify.cuh"

static void sample(const device_memory &d, arm &arm, const plumb_args &args,
                   const blas_problem &blas, bool keep)
{
    static cudaEvent_t events[2] = {};
    if (!events[0]) {
        CHECK(cudaEventCreate(&events[0]));
        CHECK(cudaEventCreate(&events[1]));
    }
    read_flush<<<1024, 512, 0, d.stream>>>(d.flush, d.flush_bytes / sizeof(uint4),
                                           (uint32_t *)d.bad);
    hold<<<1, 1, 0, d.stream>>>(20000);
    stamp<<<1, 1, 0, d.stream>>>(d.stamps);
    CHECK(cudaEventRecord(events[0], d.stream));
    CHECK(launch(d, arm, args, blas));
    CHECK(cudaEventRecord(events[1], d.stream));
    stamp<<<1, 1, 0, d.stream>>>(d.stamps + 3);
    uint64_t stamps[6];
    CHECK(cudaMemcpyAsync(stamps, d.stamps, sizeof stamps, cudaMemcpyDeviceToHost, d.stream));
    finish(d.stream, arm.name.c_str(), args.problem);
    float ms;
    CHECK(cudaEventElapsedTime(&ms, events[0], events[1]));
    if (!keep)
        return;
    arm.us.push_back(ms * 1000);
    if (stamps[2] == stamps[5] && stamps[4] > stamps[1])
        arm.ghz.push_back((double)(stamps[3] - stamps[0]) / (stamps[4] - stamps[1]));
}

static float median(std::vector<float> values)
{
    if (values.empty())
        return NAN;
    std::sort(values.begin(), values.end());
    const size_t n = values.size();
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static void rounds(const device_memory &d, std::vector<arm> &arms, const plumb_args &args,
                   const blas_problem &blas, int count, int warm)
{
    static std::mt19937 random(20261121);
    std::vector<int> order(arms.size());
    for (size_t i = 0; i < arms.size(); ++i)
        order[i] = (int)i;
    for (int round = 0; round < warm + count; ++round) {
        float best = INFINITY;
        for (const arm &a : arms)
            if (!a.us.empty())
                best = fminf(best, median(a.us));
        std::shuffle(order.begin(), order.end(), random);
        for (int i : order)
            if (arms[i].us.empty() || median(arms[i].us) < 1.5f * best)
                sample(d, arms[i], args, blas, round >= warm);
    }
}

// The fastest `keep` of cuBLASLt's algorithms, timed cold; the first heuristic ("default") always.
static std::vector<arm> best_blas(const device_memory &d, const plumb_args &args,
                                  const blas_problem &blas, const char *name)
{
    std::vector<arm> all = blas_arms(d, blas, name);
    rounds(d, all, args, blas, 4, 1);
    std::vector<arm> kept;
    if (all.empty())
        return kept;
    std::stable_sort(all.begin() + 1, all.end(),
                     [](const arm &x, const arm &y) { return median(x.us) < median(y.us); });
    for (size_t i = 0; i < all.size() && i < 3; ++i) {
        all[i].guess = median(all[i].us);
        all[i].us.clear();
        all[i].ghz.clear();
        kept.push_back(all[i]);
    }
    return kept;
}

// The library's kernels have no type of their own and say by themselves what they support.
static bool is_typed(const plumb_kernel *kernel)
{
    return !kernel->prepare || kernel->traits.in_type != PLUMB_FP32;
}

static bool takes(const device_memory &d, const plumb_kernel *kernel, const plumb_problem &p)
{
    return (!is_typed(kernel) ||
            (kernel->traits.in_type == p.in_type && kernel->traits.out_type == p.out_type)) &&
           kernel->supports(&p) && workspace_of(kernel, p) <= d.workspace_bytes;
}

static bool prepared(const device_memory &d, const plumb_kernel *kernel, const plumb_args &args)
{
    char note[512] = "";
    if (!kernel->prepare)
        return true;
    const int code = kernel->prepare(&args, d.stream, nullptr, note, sizeof note);
    fprintf(stderr, "%d,%ld,%ld,%ld,%s: %d %s\n", args.problem.in_type, (long)args.problem.m,
            (long)args.problem.n, (long)args.problem.k, kernel->name, code, note);
    return code == 0;
}

// commit: NULL, or the rows are those that `plumb import` reads.
struct output {
    const char *commit;
    std::string uuid, name; // of the device
};

static output describe_output(const char *commit)
{
    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    std::string uuid = "GPU";
    for (int i = 0; i < 16; ++i) {
        char byte[8];
        snprintf(byte, sizeof byte, "%s%02x",
                 i == 0 || (i >= 4 && i <= 10 && i % 2 == 0) ? "-" : "",
                 (unsigned char)device.uuid.bytes[i]);
        uuid += byte;
    }
    return {commit, uuid, device.name};
}

static void print_head(const output &out)
{
    printf("%s\n", out.commit ? "commit,kernel,problem,time_ns,clock_hz,device,device_name,regime"
                              : "in_type,m,n,k,kernel,us,tflops,ratio,ghz,min_us,samples");
}

static void print_arm(const arm &a, const plumb_problem &p, float best, const output &out)
{
    static const char *const types[] = {"fp32", "tf32", "bf16", "fp16", "fp8"};
    const float us = median(a.us), ghz = median(a.ghz);
    if (out.commit)
        printf("%s,%s,%ldx%ldx%ld:%s%s%s,%.0f,%.0f,%s,%s,cold\n", out.commit, a.name.c_str(),
               (long)p.m, (long)p.n, (long)p.k, types[p.in_type], p.layout == PLUMB_NN ? ":nn" : "",
               p.epilogue == PLUMB_DUAL_SILU ? ":dual-silu" : "", us * 1e3,
               ghz == ghz ? ghz * 1e9 : 0, out.uuid.c_str(), out.name.c_str());
    else
        printf("%d,%ld,%ld,%ld,%s,%.2f,%.1f,%.4f,%.3f,%.2f,%zu\n", p.in_type, (long)p.m, (long)p.n,
               (long)p.k, a.name.c_str(), us, 2e-6 * p.m * count_b(p) / us, best / us, ghz,
               *std::min_element(a.us.begin(), a.us.end()), a.us.size());
}

// Leaves those of the arms that are worth more samples: all of cuBLASLt's, whatever prepares itself
// (selectors and searches, whose choice may not be among the fastest), and the fastest eight of the
// other kernels; FP8's with promoted sums, the fastest four, for themselves. The others are printed
// as they stand.
static std::vector<arm> finalists(std::vector<arm> &arms, const plumb_problem &p, float best,
                                  const output &out)
{
    std::stable_sort(arms.begin(), arms.end(), [](const arm &x, const arm &y) {
        return x.kernel && y.kernel ? median(x.us) < median(y.us) : !x.kernel && y.kernel;
    });
    static const int places[] = {8, 4};
    std::vector<arm> kept;
    int seen[2] = {};
    for (arm &a : arms) {
        const bool promoted = a.kernel && a.kernel->traits.promote_k;
        const bool rated = a.kernel && !a.kernel->prepare;
        if (rated && seen[promoted]++ >= places[promoted]) {
            print_arm(a, p, best, out);
            continue;
        }
        a.us.clear();
        a.ghz.clear();
        kept.push_back(a);
    }
    return kept;
}

// The library's best: of its algorithms, or of the kernels that are made of them.
static float best_of(const std::vector<arm> &arms, const blas_problem *blas)
{
    float best = INFINITY;
    for (const arm &a : arms)
        if (a.kernel ? a.kernel->traits.in_type != 0 && is_control(a.kernel) : a.blas == blas)
            best = fminf(best, median(a.us));
    return best;
}

// Every arm is sampled in random order among all the others, in two stages: three samples of each,
// which choose the finalists and are then forgotten, and `count` rounds of those. (Several samples
// of one arm after the other, cuBLASLt's first, are not comparable: the clock that the power limit
// leaves is 5 to 20 % higher after the pause of the checks than a second later.)
static void time_problem(const device_memory &d, const std::vector<const plumb_kernel *> &kernels,
                         const plumb_problem &p, int count, const output &out)
{
    const plumb_args args = make_args(d, p);
    make_inputs(d, p);
    const bool fp8 = p.in_type == PLUMB_E4M3;
    blas_problem blas = describe(d, p, true), exact = describe(d, p, false);
    std::vector<arm> arms;
    if (p.epilogue == PLUMB_NO_EPILOGUE)
        arms = best_blas(d, args, blas,
                         fp8                    ? "cublaslt-fast"
                         : p.layout == PLUMB_NN ? "cublaslt-nn"
                                                : "cublaslt");
    for (arm &a : arms)
        a.blas = &blas;
    if (fp8 && p.epilogue == PLUMB_NO_EPILOGUE)
        for (arm &a : best_blas(d, args, exact, "cublaslt-exact")) {
            a.blas = &exact;
            arms.push_back(a);
        }
    const float guess = arms.empty() ? 100 : arms.front().guess;
    for (const plumb_kernel *kernel : kernels) {
        if (!takes(d, kernel, p) || !prepared(d, kernel, args))
            continue;
        if (launch_once(d, kernel, p) && verify(d, p, kernel, false, some_outputs))
            arms.push_back({kernel->name, kernel, {}, {}, {}, 0});
    }
    rounds(d, arms, args, blas, 3, 0);
    std::vector<arm> last = finalists(arms, p, best_of(arms, &blas), out);
    rounds(d, last, args, blas, std::max(5, std::min(count, (int)(30000 / guess))), 1);
    for (const arm &a : last)
        print_arm(a, p, best_of(last, &blas), out);
    fflush(stdout);
    destroy(blas);
    destroy(exact);
}

// The problems of a file ("m n k" lines), in every type and layout of the kernels.
static std::vector<plumb_problem> read_problems(FILE *file,
                                                const std::vector<const plumb_kernel *> &kernels)
{
    std::vector<plumb_problem> problems;
    char line[256];
    while (fgets(line, sizeof line, file)) {
        long m, n, k;
        if (sscanf(line, "%ld %ld %ld", &m, &n, &k) != 3)
            continue;
        const size_t first = problems.size();
        for (const plumb_kernel *kernel : kernels) {
            const plumb_problem p = problem_for(kernel, m, n, k);
            if (is_typed(kernel) && kernel->supports(&p) &&
                std::none_of(problems.begin() + first, problems.end(), [&](const auto &x) {
                    return x.in_type == p.in_type && x.layout == p.layout &&
                           x.epilogue == p.epilogue;
                }))
                problems.push_back(p);
        }
    }
    return problems;
}

static int time_all(int count, const char *path, const std::vector<const plumb_kernel *> &kernels,
                    const char *commit)
{
    FILE *file = fopen(path, "r");
    if (!file) {
        fprintf(stderr, "%s: cannot be read\n", path);
        return 4;
    }
    const std::vector<plumb_problem> problems = read_problems(file, kernels);
    fclose(file);
    size_t a = 0, b = 0, c = 0, workspace = blas_workspace_bytes;
    for (const plumb_problem &p : problems) {
        a = std::max(a, (size_t)p.m * p.k * type_bytes(p.in_type));
        b = std::max(b, count_b(p) * type_bytes(p.in_type));
        c = std::max(c, (size_t)p.m * p.n * 4);
        for (const plumb_kernel *kernel : kernels)
            if (kernel->supports(&p))
                workspace = std::max(workspace, workspace_of(kernel, p));
    }
    const device_memory d = allocate(a, b, c + 256, workspace);
    const output out = describe_output(commit);
    print_head(out);
    for (const plumb_problem &p : problems)
        time_problem(d, kernels, p, count, out);
    return 0;
}

#endif
