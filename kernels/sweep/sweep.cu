// SPDX-License-Identifier: Apache-2.0
//
// sweep: times every kernel of the given modules on every given problem, beside cuBLASLt. It is for
// people who work on the kernels, and for recording whole tables. (`bench` and `plumb` compare two
// builds of one kernel; this compares many kernels of one build, which needs no statistics beyond
// medians.) It uses the memory, inputs, references and stopwatch of `bench`.
//
//   sweep list MODULE...                          their kernels, a line each; needs no device
//   sweep check MODULE...                         correctness on awkward sizes
//   sweep soak COUNT M N K MODULE...              COUNT launches, each compared with the first
//   sweep time [REGIME] ROUNDS PROBLEMS MODULE... CSV on stdout; PROBLEMS: file of "m n k" lines;
//                                                 REGIME: cold, stream or isolated
//   sweep record COMMIT ROUNDS PROBLEMS MODULE... the same as rows for the store:
//     sweep record $(git rev-parse HEAD) 9 dsv3.problems libspace_*.so | plumb import --format=csv
//     -
//   sweep device                                  SMs, and clusters of three and four that fit
//   sweep run M N K MODULE KERNEL                 one launch, for the profiler and the sanitizer
//   sweep blas TYPE M N K INDEX                   one launch of cuBLASLt's algorithm, likewise
//
// soak and run also take a problem with groups, written in full, in place of M N K, and so do the
// lines of PROBLEMS for `record` (rows of `time` have no place for groups).
//
// Timing: first every arm is sampled three times, in random order. Then cuBLASLt's three best and
// the fastest kernels are sampled in as many rounds as asked, also in random order, and their first
// samples are forgotten. A sample is one launch, cold or isolated, and never a batch; in a stream
// it is as many launches as bench times together, after some that heat. All outputs are checked
// first. A kernel that hangs ends the process with code 9 after 8 s; SWEEP_SKIP names a file of
// kernels to leave out.
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "../gemm/cuda/controls/cublaslt.cuh"
#include "../gemm/cuda/resident.cuh"

extern "C" {
#include "kernels/bench/module.h"
#include "kernels/bench/parts.h"
#include "kernels/device/call.h"
#include "kernels/device/check.h"
#include "kernels/device/inputs.h"
#include "model/robust.h"
}

// ---- the field ----
//
// The place where kernels are tried: one of bench's devices (kernels/device), its memory for the
// largest problem, one problem at a time in that memory with its inputs and its reference, and
// one checked launch.

constexpr size_t behind_bytes = 4096; // guard bytes behind each matrix
constexpr uint64_t seed = 1;          // seed of the inputs
constexpr size_t sets_most = 32;      // most sets of operands for a stream

struct field {
    const device_ops *ops;
    device_base *device;
    void *a, *b, *c, *workspace;
    float *scale;    // FP8: scales of both tensors
    void *scales[2]; // block scales of A and B
    int32_t *groups; // first row of each group, then their numbers of rows
    size_t workspace_bytes;
    problem at;                     // the problem whose inputs are in memory
    reference *reference;           // its reference, if it is a plain problem,
    form_reference *form_reference; // or if it is another form
    std::vector<plumb_args> sets;   // sets of operands for a stream; the first set is a, b and c
    uint32_t launches; // launches of a stream that are timed together; 0: not known yet
    double launch_ns;  // the time of a launch for which they are so many
};

[[noreturn]] static void give_up(const error &err)
{
    fprintf(stderr, "sweep: %s\n", err.text);
    exit(4);
}

// ---- kernels that hang or fail ----

constexpr unsigned patience_s = 8;
static char running[512]; // read by the signal's handler

static void hung(int)
{
    (void)!write(STDERR_FILENO, "HANG ", 5);
    (void)!write(STDERR_FILENO, running, strlen(running));
    _exit(9);
}

// How messages name a problem.
static std::string name_of(const problem &p)
{
    char text[PROBLEM_TEXT];
    problem_format(text, &p);
    return p.groups.kind
               ? std::string(text)
               : std::to_string(p.m) + "x" + std::to_string(p.n) + "x" + std::to_string(p.k);
}

// Begins a wait of at most 8 s for this kernel. If it hangs or fails, the process ends with code 9
// after a line "HANG|FAIL NAME PROBLEM", so that the user can leave the kernel out (SWEEP_SKIP)
// and begin again.
static void wait_for(const field &f, const char *name)
{
    snprintf(running, sizeof running, "%s %s\n", name, name_of(f.at).c_str());
    signal(SIGALRM, hung);
    alarm(patience_s);
}

static void is_done(int failed, const error &err)
{
    alarm(0);
    if (!failed)
        return;
    fprintf(stderr, "FAIL %.*s %s\n", (int)strcspn(running, "\n"), running, err.text);
    fflush(nullptr);
    _exit(9);
}

// ---- memory ----

// The problem's input that is used as A, as B, or as scales.
static part input_of(const problem &p, part_use use)
{
    parts all;
    parts_of(&all, &p);
    return *std::find_if(all.inputs, all.inputs + all.input_count,
                         [&](const part &x) { return x.use == use; });
}

static part output_of(const problem &p)
{
    parts all;
    parts_of(&all, &p);
    return all.output;
}

// The block scales of A (which: 0) or of B (1).
static part scales_of(const problem &p, int which)
{
    return input_of(p, which ? PART_SCALES_B : PART_SCALES_A);
}

// A plain product of layout TN.
static problem product(long m, long n, long k, dtype in, dtype out)
{
    problem p = {};
    p.m = m;
    p.n = n;
    p.k = k;
    p.in = in;
    p.out = out;
    p.batch = 1;
    return p;
}

static size_t workspace_of(const plumb_form_kernel &kernel, const problem &p)
{
    const plumb_form asked = check_abi_form(&p);
    return call_workspace(&kernel, &asked);
}

static bool supports(const plumb_form_kernel &kernel, const problem &p)
{
    const plumb_form asked = check_abi_form(&p);
    return call_supports(&kernel, &asked);
}

static void *allocate(const field &f, size_t bytes)
{
    void *memory;
    error err;
    if (f.ops->alloc(&memory, f.device, bytes, &err) ||
        f.ops->set(f.device, memory, 0x5a, bytes, &err))
        give_up(err);
    return memory;
}

static field open_device()
{
    field f = {};
    const char *index;
    bool no_device;
    error err;
    f.ops = device_find("cuda", &index);
    if (f.ops->open(&f.device, index, &no_device, &err) || f.ops->wake(f.device, &err))
        give_up(err);
    return f;
}

// Allocates memory for each of the problems with any of the kernels, with at least `least`
// bytes of workspace.
static field open_field(const std::vector<problem> &problems,
                        const std::vector<plumb_form_kernel> &kernels, size_t least)
{
    field f = open_device();
    size_t a = 0, b = 0, c = 0, scales[2] = {};
    f.workspace_bytes = least;
    for (const problem &p : problems) {
        a = std::max(a, input_of(p, PART_A).bytes);
        b = std::max(b, input_of(p, PART_B).bytes);
        c = std::max(c, output_of(p).bytes);
        for (int i = 0; i < 2 && p.scales.vector; ++i)
            scales[i] = std::max(scales[i], scales_of(p, i).bytes);
        for (const plumb_form_kernel &kernel : kernels)
            if (supports(kernel, p))
                f.workspace_bytes = std::max(f.workspace_bytes, workspace_of(kernel, p));
    }
    f.a = allocate(f, a + behind_bytes);
    f.b = allocate(f, b + behind_bytes);
    f.c = allocate(f, c + behind_bytes);
    f.workspace = allocate(f, f.workspace_bytes);
    for (int i = 0; i < 2; ++i)
        f.scales[i] = allocate(f, scales[i] + behind_bytes);
    f.groups = (int32_t *)allocate(f, sizeof(group_places));
    f.scale = (float *)allocate(f, sizeof(float));
    error err;
    const float scale = 1 / INPUTS_FP8_SCALE;
    if (f.ops->write(f.device, f.scale, &scale, sizeof scale, &err))
        give_up(err);
    return f;
}

static plumb_form_args args_of(const field &f)
{
    const bool blocks = f.at.scales.vector > 0;
    plumb_form_args args = {};
    args.form = check_abi_form(&f.at);
    args.args.problem = args.form.problem;
    args.args.a = f.a;
    args.args.b = f.b;
    args.args.c = f.c;
    args.args.scale_a = args.args.scale_b = f.at.in == DTYPE_E4M3 && !blocks ? f.scale : nullptr;
    args.block_scales_a = blocks ? f.scales[0] : nullptr;
    args.block_scales_b = blocks ? f.scales[1] : nullptr;
    args.group_first = f.at.groups.kind ? f.groups : nullptr;
    args.group_rows = f.at.groups.kind ? f.groups + GROUPS_MOST : nullptr;
    args.args.workspace = f.workspace;
    args.args.workspace_bytes = f.workspace_bytes;
    return args;
}

// Fills in the block scales of the present problem, with NaN behind them.
static void place_scales(const field &f)
{
    error err;
    for (int i = 0; i < 2 && f.at.scales.vector; ++i) {
        const part scales = scales_of(f.at, i);
        inputs_recipe recipe = {};
        recipe.type = (int)scales.type;
        recipe.which = MATRIX_A + 2 + i;
        recipe.seed = seed;
        recipe.scale = scales.scale;
        recipe.contents = scales.contents;
        if (f.ops->fill(f.device, f.scales[i], &recipe, scales.count, &err) ||
            f.ops->set(f.device, (char *)f.scales[i] + scales.bytes, 0xff, behind_bytes, &err))
            give_up(err);
    }
}

// Tells the device where the groups of the present problem lie, and clears A's other rows.
static void place_groups(const field &f)
{
    group_places places;
    error err;
    if (!f.at.groups.kind)
        return;
    group_places_of(&places, &f.at);
    static_assert(sizeof places == 2 * GROUPS_MOST * sizeof(int32_t), "one after the other");
    if (f.ops->write(f.device, f.groups, &places, sizeof places, &err) ||
        group_places_clear(f.ops, f.device, f.a, input_of(f.at, PART_A).bytes, &f.at, &err))
        give_up(err);
}

// Computes the reference of the present problem, whose inputs are in memory.
static int refer(field &f, error *err)
{
    const plumb_form_args args = args_of(f);
    if (!f.at.scales.vector && !f.at.groups.kind)
        return f.ops->reference(&f.reference, f.device, &f.at, &args.args, &seed, err);
    return f.ops->form_reference(&f.form_reference, f.device, &f.at, &args, nullptr, err);
}

// Makes copies of the operands for a stream, so many that twice the cache's size lies between two
// launches on one copy. Only a, b and c of the arguments differ.
static void copy_operands(field &f)
{
    const size_t bytes[] = {input_of(f.at, PART_A).bytes, input_of(f.at, PART_B).bytes,
                            output_of(f.at).bytes};
    const size_t each = bytes[0] + bytes[1] + bytes[2];
    error err;
    for (size_t i = 1; i < f.sets.size(); ++i)
        for (const void *memory : {f.sets[i].a, f.sets[i].b, (const void *)f.sets[i].c})
            f.ops->free(f.device, const_cast<void *>(memory));
    f.sets = {args_of(f).args};
    f.launches = 0;
    if (f.at.regime != REGIME_STREAM)
        return;
    const size_t wanted = f.ops->flush_bytes(f.device) / each + 2;
    while (f.sets.size() < std::min(wanted, sets_most)) {
        plumb_args set = f.sets.front();
        void *const copies[] = {allocate(f, bytes[0] + behind_bytes),
                                allocate(f, bytes[1] + behind_bytes),
                                allocate(f, bytes[2] + behind_bytes)};
        if (f.ops->copy(f.device, copies[0], f.a, bytes[0] + behind_bytes, &err) ||
            f.ops->copy(f.device, copies[1], f.b, bytes[1] + behind_bytes, &err))
            give_up(err);
        set.a = copies[0];
        set.b = copies[1];
        set.c = copies[2];
        f.sets.push_back(set);
    }
}

// Compares the outputs with the reference.
static int compare(comparison *out, const field &f, error *err)
{
    const inputs_signs none = {0, 0, (uint64_t)f.at.m, (uint64_t)f.at.n};
    const double tolerance = check_tolerance(&f.at);
    if (f.form_reference)
        return f.ops->form_compare(out, f.device, f.form_reference, f.c, tolerance, err);
    return f.ops->compare(out, f.device, f.reference, f.c, &none, tolerance, err);
}

// Puts a problem's inputs into memory and computes its reference. The memory behind the inputs is
// NaN in every type.
static void place(field &f, const problem &p)
{
    error err;
    if (f.reference)
        f.ops->reference_free(f.device, f.reference);
    if (f.form_reference)
        f.ops->form_reference_free(f.device, f.form_reference);
    f.reference = nullptr;
    f.form_reference = nullptr;
    f.at = p;
    const size_t a = input_of(p, PART_A).bytes, b = input_of(p, PART_B).bytes;
    inputs_recipe of_a = {}, of_b;
    of_a.type = (int)p.in;
    of_a.which = MATRIX_A;
    of_a.seed = seed;
    of_a.scale = 1;
    of_a.contents = p.scales.vector ? INPUTS_PLAIN : INPUTS_NORMAL;
    of_b = of_a;
    of_b.which = MATRIX_B;
    if (f.ops->fill(f.device, f.a, &of_a, input_of(p, PART_A).count, &err) ||
        f.ops->fill(f.device, f.b, &of_b, input_of(p, PART_B).count, &err) ||
        f.ops->set(f.device, (char *)f.a + a, 0xff, behind_bytes, &err) ||
        f.ops->set(f.device, (char *)f.b + b, 0xff, behind_bytes, &err) ||
        (place_scales(f), place_groups(f), refer(f, &err)))
        give_up(err);
    copy_operands(f);
}

// ---- one launch ----

static bool is_wrong(const field &f, const char *name, const char *why)
{
    fprintf(stderr, "WRONG %s %s: %s\n", name, name_of(f.at).c_str(), why);
    return false;
}

// Launches into poisoned memory (zeros in rows that belong to no group), compares all
// outputs with the reference, and checks that nothing behind them has changed. loud: also
// reports correct results.
static bool launch_checked(const field &f, const plumb_form_kernel &kernel, bool loud)
{
    const plumb_form_args args = args_of(f);
    const size_t bytes = output_of(f.at).bytes;
    unsigned char behind[256];
    comparison found = {};
    char text[128];
    error err;
    if (f.ops->set(f.device, f.c, 0xff, bytes + sizeof behind, &err) ||
        group_places_clear(f.ops, f.device, f.c, bytes, &f.at, &err))
        give_up(err);
    wait_for(f, kernel.kernel.name);
    const int code = call_launch(&kernel, &args, f.ops->stream(f.device));
    is_done(f.ops->sync(f.device, &err), err);
    snprintf(text, sizeof text, "launch error %d", code);
    if (code)
        return is_wrong(f, kernel.kernel.name, text);
    if (f.ops->read(f.device, behind, (char *)f.c + bytes, sizeof behind, &err) ||
        compare(&found, f, &err))
        give_up(err);
    for (const unsigned char byte : behind)
        if (byte != 0xff)
            return is_wrong(f, kernel.kernel.name, "wrote behind C");
    snprintf(text, sizeof text, "%llu of %llu wrong, worst %.2e", (unsigned long long)found.wrong,
             (unsigned long long)output_of(f.at).count, found.error);
    if (found.wrong)
        return is_wrong(f, kernel.kernel.name, text);
    if (loud)
        fprintf(stderr, "ok %s: %s\n", kernel.kernel.name, text);
    return true;
}

static bool prepared(const field &f, const plumb_form_kernel &kernel)
{
    const plumb_form_args args = args_of(f);
    char note[512] = "";
    if (!call_prepares(&kernel, &args.form))
        return true;
    const int code =
        call_prepare(&kernel, &args, f.ops->stream(f.device), nullptr, note, sizeof note);
    fprintf(stderr, "%d,%ld,%ld,%ld,%s: %d %s\n", (int)f.at.in, (long)f.at.m, (long)f.at.n,
            (long)f.at.k, kernel.kernel.name, code, note);
    return code == 0;
}

// ---- the arms of a comparison ----
//
// The kernels under test and cuBLASLt's algorithms, and a sample of one on bench's stopwatch.

struct sweep_arm {
    std::string name;
    const plumb_form_kernel *kernel; // NULL: cuBLASLt
    library_call matmul;             // its problem and algorithm
    bool exact;                      // FP8 without fast accumulation
    std::vector<double> us, ghz;
    double guess; // expected time in us
};

static cublaslt_state library;

struct launching {
    const sweep_arm *of;
    plumb_form_args args;
    const std::vector<plumb_args> *sets;
};

static int launch_arm(void *self, uint32_t set, void *stream)
{
    launching *l = static_cast<launching *>(self);
    const plumb_args &on = (*l->sets)[set % l->sets->size()];
    l->args.args.a = on.a;
    l->args.args.b = on.b;
    l->args.args.c = on.c;
    if (l->of->kernel)
        return call_launch(l->of->kernel, &l->args, stream);
    l->args.args.workspace_bytes = cublaslt_workspace_bytes;
    return run(&library, &l->of->matmul, &l->args.args, static_cast<cudaStream_t>(stream));
}

// Launches once, untimed, to load the code. A sample must not load code, because it is queued while
// the stream is held.
static void settle(const field &f, const sweep_arm &of)
{
    launching self = {&of, args_of(f), &f.sets};
    error err = {};
    wait_for(f, of.name.c_str());
    const int code = launch_arm(&self, 0, f.ops->stream(f.device));
    snprintf(err.text, sizeof err.text, "launch error %d", code);
    is_done(code || f.ops->sync(f.device, &err), err);
}

// Lists cuBLASLt's algorithms for the present problem in the order of its heuristics; there are
// none if it does not support the problem.
static std::vector<sweep_arm> blas_arms(const field &f, bool fast, const char *name)
{
    library_call matmul = {};
    cublasLtMatmulHeuristicResult_t results[algorithms_max];
    int found = 0;
    plumb_args args = args_of(f).args;
    args.workspace_bytes = cublaslt_workspace_bytes;
    matmul.problem = args.problem;
    std::vector<sweep_arm> arms;
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

// Frees what the arms of one blas_arms() share. Arms may be copies, so it is called once for all of
// them.
static void free_arms(std::vector<sweep_arm> &arms)
{
    if (!arms.empty())
        free_choice(&arms.front().matmul);
}

// Fills in a stream's launches and everything that comes before them, as
// bench does (kernels/bench/series.c).
static void make_stream(batch *out, const field &f, launching *self)
{
    const uint32_t half = f.launches / 2, least = f.ops->runup_least;
    out->stream = out->graphs = true;
    out->sets = (uint32_t)f.sets.size();
    out->launches = f.launches;
    out->runup = std::min(std::max(half, least), 4u);
    out->heat.launch = launch_arm;
    out->heat.self = self;
    out->heat.sets = 2;
    out->heat.kernels = 1;
    const double heats = ceil(f.ops->heat_ns / f.launch_ns);
    out->heat.count = (uint32_t)fmin(fmax(heats, 3), 96);
}

// Takes a sample: one launch on the stopwatch, or some launches of a stream.
static void take(const field &f, sweep_arm &of, bool keep)
{
    launching self = {&of, args_of(f), &f.sets};
    batch one = {};
    one.launch = launch_arm;
    one.self = &self;
    one.sets = one.launches = 1;
    one.flush = FLUSH_READ;
    if (f.launches)
        make_stream(&one, f, &self);
    one.each = one.quiet = f.at.regime == REGIME_ISOLATED;
    one.rest_ns = one.quiet ? f.ops->still_ns : 0;
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

// Chooses how many launches of a stream are timed together, from the time of one launch alone.
static void choose_launches(field &f, std::vector<sweep_arm> &arms)
{
    if (f.at.regime != REGIME_STREAM || f.launches || arms.empty())
        return;
    sweep_arm first = arms.front();
    take(f, first, true);
    const device_ops *ops = f.ops;
    f.launch_ns = first.us.back() * 1e3;
    const double wanted = fmax(ceil(ops->stream_ns / f.launch_ns),
                               fmin(ops->stream_least, floor(ops->stream_most_ns / f.launch_ns)));
    f.launches = (uint32_t)fmax(1, fmin(wanted, 64));
}

// ---- times of all arms in random order, one problem after the other ----

static double median(std::vector<double> values)
{
    return values.empty() ? NAN : robust_median(values.data(), values.size());
}

static void rounds(const field &f, std::vector<sweep_arm> &arms, int count, int warm)
{
    static std::mt19937 random(20261121);
    std::vector<int> order(arms.size());
    for (size_t i = 0; i < arms.size(); ++i)
        order[i] = (int)i;
    for (int round = 0; round < warm + count; ++round) {
        double best = INFINITY;
        for (const sweep_arm &a : arms)
            if (!a.us.empty())
                best = fmin(best, median(a.us));
        std::shuffle(order.begin(), order.end(), random);
        for (int i : order)
            if (arms[i].us.empty() || median(arms[i].us) < 1.5 * best)
                take(f, arms[i], round >= warm);
    }
}

// Finds the fastest of cuBLASLt's algorithms in the problem's regime. The first heuristic
// ("default") is always kept.
static std::vector<sweep_arm> best_blas(field &f, bool fast, const char *name)
{
    std::vector<sweep_arm> all = blas_arms(f, fast, name);
    choose_launches(f, all);
    rounds(f, all, 4, 1);
    std::vector<sweep_arm> kept;
    if (all.empty())
        return kept;
    std::stable_sort(all.begin() + 1, all.end(), [](const sweep_arm &x, const sweep_arm &y) {
        return median(x.us) < median(y.us);
    });
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

// Whether the kernel has a type of its own. The library's kernels have none, and say themselves
// what they support.
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

// Whether a kernel counts as the library's, because it is one of the library's kernels of
// a dual GEMM.
static bool is_control(const plumb_form_kernel &kernel)
{
    return prepares(kernel) && !strncmp(kernel.kernel.name, "cublaslt", 8);
}

// commit: if it is not NULL, rows are written in the form that `plumb import` reads.
struct sweep_output {
    const char *commit;
    device_info device;
};

static sweep_output describe_output(const field &f, const char *commit, regime in)
{
    sweep_output out = {commit, {}};
    error err;
    if (f.ops->info(&out.device, f.device, &err))
        give_up(err);
    printf("%s%s\n",
           commit ? "commit,kernel,problem,time_ns,clock_hz,device,device_name,regime"
                  : "in_type,m,n,k,kernel,us,tflops,ratio,ghz,min_us,samples",
           in == REGIME_COLD ? "" : ",regime");
    return out;
}

// The number of elements of all B matrices: both weights of dual-silu.
static uint64_t count_b(const problem &p)
{
    const uint64_t weights = p.epilogue == EPILOGUE_DUAL_SILU ? 2 : 1;
    return weights * (uint64_t)p.batch * (uint64_t)p.n * (uint64_t)p.k;
}

static void print_arm(const sweep_arm &a, const problem &p, double best, const sweep_output &out)
{
    const double us = median(a.us), ghz = median(a.ghz);
    char text[PROBLEM_TEXT];
    problem_format(text, &p);
    if (out.commit)
        printf("%s,%s,%s,%.0f,%.0f,%s,%s,cold\n", out.commit, a.name.c_str(), text, us * 1e3,
               ghz == ghz ? ghz * 1e9 : 0, out.device.uuid, out.device.name);
    else
        printf("%d,%ld,%ld,%ld,%s,%.2f,%.1f,%.4f,%.3f,%.2f,%zu%s%s\n", (int)p.in, (long)p.m,
               (long)p.n, (long)p.k, a.name.c_str(), us, 2e-6 * p.m * count_b(p) / us, best / us,
               ghz, *std::min_element(a.us.begin(), a.us.end()), a.us.size(),
               p.regime == REGIME_COLD ? "" : ",",
               p.regime == REGIME_COLD ? "" : regime_name(p.regime));
}

// Keeps the arms that deserve more samples: all of cuBLASLt's, all kernels that prepare themselves
// (selectors and searches, whose choice may not be among the fastest), and the fastest eight of the
// other kernels. For FP8's kernels with promoted sums the fastest four are chosen among themselves.
// The other arms are printed with the samples that they have.
static std::vector<sweep_arm> finalists(std::vector<sweep_arm> &arms, const problem &p, double best,
                                        const sweep_output &out)
{
    std::stable_sort(arms.begin(), arms.end(), [](const sweep_arm &x, const sweep_arm &y) {
        return x.kernel && y.kernel ? median(x.us) < median(y.us) : !x.kernel && y.kernel;
    });
    static const int places[] = {8, 4};
    std::vector<sweep_arm> kept;
    int seen[2] = {};
    for (sweep_arm &a : arms) {
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

// The library's best time: of its algorithms, or of the kernels that are made of them.
static double best_of(const std::vector<sweep_arm> &arms)
{
    double best = INFINITY;
    for (const sweep_arm &a : arms)
        if (a.kernel ? a.kernel->kernel.traits.in_type != 0 && is_control(*a.kernel) : !a.exact)
            best = fmin(best, median(a.us));
    return best;
}

// Samples every arm in random order among all the others, in two stages: three samples of each,
// which choose the finalists and are then forgotten, and `count` rounds of these. (Several samples
// of one arm directly after each other, cuBLASLt's first, could not be compared: after the pause of
// the checks, the clock that the power limit allows is 5 to 20 % higher than a second later.)
static void time_problem(field &f, const std::vector<plumb_form_kernel> &kernels, const problem &p,
                         int count, const sweep_output &out)
{
    place(f, p);
    const bool fp8 = p.in == DTYPE_E4M3,
               plain = problem_is_plain(&p) && p.epilogue == EPILOGUE_NONE;
    std::vector<sweep_arm> fast, exact;
    if (plain)
        fast = best_blas(f, true, fp8 ? "cublaslt-fast" : "cublaslt");
    if (fp8 && plain)
        exact = best_blas(f, false, "cublaslt-exact");
    std::vector<sweep_arm> arms = fast;
    arms.insert(arms.end(), exact.begin(), exact.end());
    const double guess = arms.empty() ? 100 : arms.front().guess;
    for (const plumb_form_kernel &kernel : kernels)
        if (takes(kernel, p) && prepared(f, kernel) && launch_checked(f, kernel, false))
            arms.push_back({kernel.kernel.name, &kernel, {}, false, {}, {}, 0});
    choose_launches(f, arms);
    rounds(f, arms, 3, 0);
    std::vector<sweep_arm> last = finalists(arms, p, best_of(arms), out);
    rounds(f, last, std::max(5, std::min(count, (int)(30000 / guess))), 1);
    for (const sweep_arm &a : last)
        print_arm(a, p, best_of(last), out);
    fflush(stdout);
    free_arms(fast);
    free_arms(exact);
}

// The product with block scales in the form that cuBLASLt supports.
static problem scaled(problem p)
{
    p.epilogue = EPILOGUE_NONE;
    p.scales.type = DTYPE_FP32;
    p.scales.vector = p.scales.rows_b = 128;
    p.scales.rows_a = 1;
    p.scales.layout = SCALES_COLUMNS;
    return p;
}

// Lists the problems of size m x n x k that these kernels support: every type, once each. A kernel
// is asked for a plain product, or for a dual GEMM or block scales if it supports only these.
static std::vector<problem> problems_of(const std::vector<plumb_form_kernel> &kernels, long m,
                                        long n, long k, bool typed)
{
    std::vector<problem> problems;
    for (const plumb_form_kernel &kernel : kernels) {
        problem p = product(m, n, k, (dtype)kernel.kernel.traits.in_type,
                            (dtype)kernel.kernel.traits.out_type);
        if (typed && !is_typed(kernel))
            continue;
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

// Reads a text as a problem with groups. False: it is none.
static bool read_groups(problem *out, const char *text)
{
    error err;
    return !problem_parse(out, text, &err) && out->groups.kind;
}

// Reads the problems of a file: lines "m n k", and for the store problems with groups in full.
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

static int time_all(regime in, int count, const char *path,
                    const std::vector<plumb_form_kernel> &kernels, const char *commit)
{
    const std::vector<problem> problems = read_problems(path, kernels, commit != nullptr);
    field f = open_field(problems, kernels, cublaslt_workspace_bytes);
    const sweep_output out = describe_output(f, commit, in);
    for (const problem &p : problems)
        time_problem(f, kernels, problem_in(&p, in), count, out);
    return 0;
}

// ---- the commands ----

// SWEEP_SKIP names a file with one kernel's name a line; these kernels are left out.
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

// Lists the problems of a size that these kernels support. The size is three words M N K, or one
// word that is a problem with groups.
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

// Counts the words in which two outputs differ.
__global__ void differ(const uint32_t *x, const uint32_t *y, size_t words, unsigned long long *bad)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < words;
         i += (size_t)gridDim.x * blockDim.x)
        if (x[i] != y[i])
            atomicAdd(bad, 1ull);
}

// Launches `count` more times, and counts the words of all these outputs that differ from the
// output of the launch before.
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
    std::vector<sweep_arm> arms = blas_arms(f, strcmp(type, "e4m3-exact") != 0, "cublaslt");
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
    regime in = REGIME_COLD;
    const int rounds_at = argc > 2 && regime_parse(&in, argv[2]) == 0 ? 3 : 2;
    if (verb == "time" && argc > rounds_at + 2 && in <= REGIME_ISOLATED)
        return time_all(in, atoi(argv[rounds_at]), argv[rounds_at + 1],
                        open_modules(argv + rounds_at + 2, argc - rounds_at - 2), nullptr);
    if (verb == "record" && argc > 5)
        return time_all(REGIME_COLD, atoi(argv[3]), argv[4], open_modules(argv + 5, argc - 5),
                        argv[2]);
    if (verb == "run" && argc == 4 + words)
        return run_one(argv + 2, words, open_modules(argv + 2 + words, 1), argv[3 + words]);
    if (verb == "blas" && argc == 7)
        return run_blas(argv[2], atol(argv[3]), atol(argv[4]), atol(argv[5]), atol(argv[6]));
    fprintf(
        stderr,
        "usage: sweep device|list|check|soak|time|record|run|blas ...; the file's head says how\n");
    return 4;
}
