// SPDX-License-Identifier: Apache-2.0
//
// Where kernels are tried: a device of bench's (kernels/device), its memory for the largest
// problem, one problem at a time in it with its inputs and its reference, and one checked launch.
#ifndef PLUMB_SWEEP_FIELD_CUH
#define PLUMB_SWEEP_FIELD_CUH

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

extern "C" {
#include "kernels/bench/group_places.h"
#include "kernels/bench/module.h"
#include "kernels/bench/parts.h"
#include "kernels/device/call.h"
#include "kernels/device/check.h"
#include "kernels/device/inputs.h"
}

constexpr size_t behind_bytes = 4096; // of each matrix
constexpr uint64_t seed = 1;          // of the inputs

struct field {
    const device_ops *ops;
    device_base *device;
    void *a, *b, *c, *workspace;
    float *scale;    // of FP8, of both tensors
    void *scales[2]; // block scales of A and B
    int32_t *groups; // where each begins, then how many rows it has
    size_t workspace_bytes;
    problem at;                     // the problem whose inputs are in place
    reference *reference;           // its result, of a plain problem,
    form_reference *form_reference; // or of another form
};

[[noreturn]] static void give_up(const error &err)
{
    fprintf(stderr, "sweep: %s\n", err.text);
    exit(4);
}

// ---- kernels that hang or fail ----

constexpr unsigned patience_s = 8;
static char running[512]; // for the signal's handler

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

// From here until it is done the process waits for this kernel at most 8 s. One that hangs or fails
// ends it with code 9 after a line "HANG|FAIL NAME PROBLEM", so that whoever runs it can leave the
// kernel out (SWEEP_SKIP) and begin again.
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

// The input of a problem with this use.
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

// The block scales of A (which 0) and B (1).
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

// Memory for each of the problems with any of the kernels, and workspace for at least `least`.
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

// Fills the block scales of the problem in place; NaN behind them.
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

// Tells the device where the groups of the problem in place lie, and clears A's other rows.
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

// Computes the reference of the problem in place.
static int refer(field &f, error *err)
{
    const plumb_form_args args = args_of(f);
    if (!f.at.scales.vector && !f.at.groups.kind)
        return f.ops->reference(&f.reference, f.device, &f.at, &args.args, &seed, err);
    return f.ops->form_reference(&f.form_reference, f.device, &f.at, &args, nullptr, err);
}

// Holds the outputs against it.
static int compare(comparison *out, const field &f, error *err)
{
    const inputs_signs none = {0, 0, (uint64_t)f.at.m, (uint64_t)f.at.n};
    const double tolerance = check_tolerance(&f.at);
    if (f.form_reference)
        return f.ops->form_compare(out, f.device, f.form_reference, f.c, tolerance, err);
    return f.ops->compare(out, f.device, f.reference, f.c, &none, tolerance, err);
}

// Puts a problem's inputs in place and computes its reference. What lies behind them is NaN in
// every type.
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
}

// ---- one launch ----

static bool is_wrong(const field &f, const char *name, const char *why)
{
    fprintf(stderr, "WRONG %s %s: %s\n", name, name_of(f.at).c_str(), why);
    return false;
}

// Launches into poisoned memory (zeros in rows that are no group's); all outputs are held against
// the reference, and nothing behind them may change. loud: says so when they are right, too.
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

#endif
