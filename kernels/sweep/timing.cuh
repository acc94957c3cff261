// SPDX-License-Identifier: Apache-2.0
//
// Cold times of all arms in random order, one problem after the other.
#ifndef PLUMB_SWEEP_TIMING_CUH
#define PLUMB_SWEEP_TIMING_CUH

#include <math.h>

#include <random>

extern "C" {
#include "model/robust.h"
}

#include "arms.cuh"

static double median(std::vector<double> values)
{
    return values.empty() ? NAN : robust_median(values.data(), values.size());
}

static void rounds(const field &f, std::vector<arm> &arms, int count, int warm)
{
    static std::mt19937 random(20261121);
    std::vector<int> order(arms.size());
    for (size_t i = 0; i < arms.size(); ++i)
        order[i] = (int)i;
    for (int round = 0; round < warm + count; ++round) {
        double best = INFINITY;
        for (const arm &a : arms)
            if (!a.us.empty())
                best = fmin(best, median(a.us));
        std::shuffle(order.begin(), order.end(), random);
        for (int i : order)
            if (arms[i].us.empty() || median(arms[i].us) < 1.5 * best)
                take(f, arms[i], round >= warm);
    }
}

// The fastest `keep` of cuBLASLt's algorithms, timed cold; the first heuristic ("default") always.
static std::vector<arm> best_blas(const field &f, bool fast, const char *name)
{
    std::vector<arm> all = blas_arms(f, fast, name);
    rounds(f, all, 4, 1);
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

static bool prepares(const plumb_form_kernel &kernel)
{
    return kernel.prepare || kernel.kernel.prepare;
}

// The library's kernels have no type of their own and say by themselves what they support.
static bool is_typed(const plumb_form_kernel &kernel)
{
    return !prepares(kernel) || kernel.kernel.traits.in_type != PLUMB_FP32;
}

static bool takes(const plumb_form_kernel &kernel, const problem &p)
{
    return (!is_typed(kernel) || (kernel.kernel.traits.in_type == (int)p.in &&
                                  kernel.kernel.traits.out_type == (int)p.out)) &&
           supports(kernel, p);
}

// What stands for the library: its kernels of a dual GEMM.
static bool is_control(const plumb_form_kernel &kernel)
{
    return prepares(kernel) && !strncmp(kernel.kernel.name, "cublaslt", 8);
}

// commit: NULL, or the rows are those that `plumb import` reads.
struct output {
    const char *commit;
    device_info device;
};

static output describe_output(const field &f, const char *commit)
{
    output out = {commit, {}};
    error err;
    if (f.ops->info(&out.device, f.device, &err))
        give_up(err);
    printf("%s\n", commit ? "commit,kernel,problem,time_ns,clock_hz,device,device_name,regime"
                          : "in_type,m,n,k,kernel,us,tflops,ratio,ghz,min_us,samples");
    return out;
}

static void print_arm(const arm &a, const problem &p, double best, const output &out)
{
    const double us = median(a.us), ghz = median(a.ghz);
    char text[PROBLEM_TEXT];
    problem_format(text, &p);
    if (out.commit)
        printf("%s,%s,%s,%.0f,%.0f,%s,%s,cold\n", out.commit, a.name.c_str(), text, us * 1e3,
               ghz == ghz ? ghz * 1e9 : 0, out.device.uuid, out.device.name);
    else
        printf("%d,%ld,%ld,%ld,%s,%.2f,%.1f,%.4f,%.3f,%.2f,%zu\n", (int)p.in, (long)p.m, (long)p.n,
               (long)p.k, a.name.c_str(), us, 2e-6 * p.m * check_count_b(&p) / us, best / us, ghz,
               *std::min_element(a.us.begin(), a.us.end()), a.us.size());
}

// Leaves those of the arms that are worth more samples: all of cuBLASLt's, whatever prepares itself
// (selectors and searches, whose choice may not be among the fastest), and the fastest eight of the
// other kernels; FP8's with promoted sums, the fastest four, for themselves. The others are printed
// as they stand.
static std::vector<arm> finalists(std::vector<arm> &arms, const problem &p, double best,
                                  const output &out)
{
    std::stable_sort(arms.begin(), arms.end(), [](const arm &x, const arm &y) {
        return x.kernel && y.kernel ? median(x.us) < median(y.us) : !x.kernel && y.kernel;
    });
    static const int places[] = {8, 4};
    std::vector<arm> kept;
    int seen[2] = {};
    for (arm &a : arms) {
        const bool promoted = a.kernel && a.kernel->kernel.traits.promote_k;
        const bool rated = a.kernel && !prepares(*a.kernel);
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
static double best_of(const std::vector<arm> &arms)
{
    double best = INFINITY;
    for (const arm &a : arms)
        if (a.kernel ? a.kernel->kernel.traits.in_type != 0 && is_control(*a.kernel) : !a.exact)
            best = fmin(best, median(a.us));
    return best;
}

// Every arm is sampled in random order among all the others, in two stages: three samples of each,
// which choose the finalists and are then forgotten, and `count` rounds of those. (Several samples
// of one arm after the other, cuBLASLt's first, are not comparable: the clock that the power limit
// leaves is 5 to 20 % higher after the pause of the checks than a second later.)
static void time_problem(field &f, const std::vector<plumb_form_kernel> &kernels, const problem &p,
                         int count, const output &out)
{
    place(f, p);
    const bool fp8 = p.in == DTYPE_E4M3,
               plain = problem_is_plain(&p) && p.epilogue == EPILOGUE_NONE;
    std::vector<arm> fast, exact;
    if (plain)
        fast = best_blas(f, true,
                         fp8                     ? "cublaslt-fast"
                         : p.layout == LAYOUT_NN ? "cublaslt-nn"
                                                 : "cublaslt");
    if (fp8 && plain)
        exact = best_blas(f, false, "cublaslt-exact");
    std::vector<arm> arms = fast;
    arms.insert(arms.end(), exact.begin(), exact.end());
    const double guess = arms.empty() ? 100 : arms.front().guess;
    for (const plumb_form_kernel &kernel : kernels)
        if (takes(kernel, p) && prepared(f, kernel) && launch_checked(f, kernel, false))
            arms.push_back({kernel.kernel.name, &kernel, {}, false, {}, {}, 0});
    rounds(f, arms, 3, 0);
    std::vector<arm> last = finalists(arms, p, best_of(arms), out);
    rounds(f, last, std::max(5, std::min(count, (int)(30000 / guess))), 1);
    for (const arm &a : last)
        print_arm(a, p, best_of(last), out);
    fflush(stdout);
    free_arms(fast);
    free_arms(exact);
}

// The product with block scales, as cuBLASLt has them.
static problem scaled(problem p)
{
    p.epilogue = EPILOGUE_NONE;
    p.scales.type = DTYPE_FP32;
    p.scales.vector = p.scales.rows_b = 128;
    p.scales.rows_a = 1;
    p.scales.layout = SCALES_COLUMNS;
    return p;
}

// What these kernels do of size m x n x k: every type and layout, once each. A kernel is asked for
// layout TN, or for NN, a dual GEMM or block scales when it does that alone.
static std::vector<problem> problems_of(const std::vector<plumb_form_kernel> &kernels, long m,
                                        long n, long k, bool typed)
{
    std::vector<problem> problems;
    for (const plumb_form_kernel &kernel : kernels) {
        problem p = product(m, n, k, (dtype)kernel.kernel.traits.in_type,
                            (dtype)kernel.kernel.traits.out_type);
        p.layout = LAYOUT_NN;
        if (typed && !is_typed(kernel))
            continue;
        if (!supports(kernel, p))
            p.layout = LAYOUT_TN;
        if (!supports(kernel, p))
            p.epilogue = EPILOGUE_DUAL_SILU;
        if (!supports(kernel, p))
            p = scaled(p);
        if (supports(kernel, p) &&
            std::none_of(problems.begin(), problems.end(),
                         [&](const problem &x) { return problem_equal(&x, &p); }))
            problems.push_back(p);
    }
    return problems;
}

// The problem with groups that a text is, if it is one.
static bool read_groups(problem *out, const char *text)
{
    error err;
    return !problem_parse(out, text, &err) && out->groups.kind;
}

// Those of a file: lines "m n k", and for the store problems with groups in full.
static std::vector<problem>
read_problems(const char *path, const std::vector<plumb_form_kernel> &kernels, bool groups)
{
    std::vector<problem> problems;
    problem grouped;
    FILE *file = fopen(path, "r");
    char line[256];
    long m, n, k;
    if (!file) {
        fprintf(stderr, "%s: cannot be read\n", path);
        exit(4);
    }
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        if (groups && read_groups(&grouped, line))
            problems.push_back(grouped);
        if (sscanf(line, "%ld %ld %ld", &m, &n, &k) != 3)
            continue;
        const std::vector<problem> some = problems_of(kernels, m, n, k, true);
        problems.insert(problems.end(), some.begin(), some.end());
    }
    fclose(file);
    return problems;
}

static int time_all(int count, const char *path, const std::vector<plumb_form_kernel> &kernels,
                    const char *commit)
{
    const std::vector<problem> problems = read_problems(path, kernels, commit != nullptr);
    field f = open_field(problems, kernels, cublaslt_workspace_bytes);
    const output out = describe_output(f, commit);
    for (const problem &p : problems)
        time_problem(f, kernels, p, count, out);
    return 0;
}

#endif
