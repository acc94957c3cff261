// SPDX-License-Identifier: Apache-2.0
//
// Kernels of forms that are wrong, one way each. "any" is a right GEMM, "softmax" a right one of
// those that are no GEMM; the others do what one does who has overlooked a part of the form.
#include "kernels/examples/gemm.h"

#include <math.h>
#include <stdio.h>

static int any(const struct plumb_form_args *args, void *stream)
{
    (void)stream;
    return gemm_any(args);
}

// ---- what of the form is overlooked ----

static int without_beta(const struct plumb_form_args *args, void *stream)
{
    struct plumb_form_args other = *args;
    (void)stream;
    other.form.beta = 0;
    return gemm_any(&other);
}

static int without_alpha(const struct plumb_form_args *args, void *stream)
{
    struct plumb_form_args other = *args;
    (void)stream;
    other.form.alpha = 1;
    return gemm_any(&other);
}

static int without_bias(const struct plumb_form_args *args, void *stream)
{
    struct plumb_form_args other = *args;
    (void)stream;
    other.form.problem.epilogue = PLUMB_GELU;
    return gemm_any(&other);
}

static int dense(const struct plumb_form_args *args, void *stream)
{
    struct plumb_form_args other = *args;
    (void)stream;
    other.form.lda = args->form.problem.k;
    return gemm_any(&other);
}

static int gap(const struct plumb_form_args *args, void *stream)
{
    ((float *)args->args.c)[args->form.problem.n] = 1; // the first gap behind the first row
    return any(args, stream);
}

// GELU by tanh, which is near enough for 16 bits alone.
static int by_tanh(const struct plumb_form_args *args, void *stream)
{
    struct plumb_form_args linear = *args;
    float *c = (float *)args->args.c;
    (void)stream;
    linear.form.problem.epilogue = PLUMB_NO_EPILOGUE;
    gemm_any(&linear);
    for (int64_t i = 0; i < args->form.rows * args->form.ldc; i++)
        c[i] *= 0.5f * (1 + tanhf(0.7978845608f * (c[i] + 0.044715f * c[i] * c[i] * c[i])));
    return 0;
}

static int off_by_one(const struct plumb_form_args *args, void *stream)
{
    any(args, stream);
    ((int32_t *)args->args.c)[7] += 1;
    return 0;
}

static int scales_as_rows(const struct plumb_form_args *args, void *stream)
{
    struct plumb_form_args other = *args;
    (void)stream;
    other.form.scale_layout = PLUMB_SCALES_ROWS;
    return gemm_any(&other);
}

static int scales_of_a_twice(const struct plumb_form_args *args, void *stream)
{
    struct plumb_form_args other = *args;
    (void)stream;
    other.block_scales_b = args->block_scales_a;
    return gemm_any(&other);
}

static int without_tensor_scale(const struct plumb_form_args *args, void *stream)
{
    struct plumb_form_args other = *args;
    (void)stream;
    other.args.scale_a = NULL;
    return gemm_any(&other);
}

static size_t all_of_a(const struct plumb_form *f)
{
    return (size_t)(f->rows * f->problem.k / 2);
}

// The first of two in the upper half of the byte.
static int nibbles(const struct plumb_form_args *args, void *stream)
{
    struct plumb_form_args other = *args;
    const unsigned char *from = (const unsigned char *)args->args.a;
    unsigned char *to = (unsigned char *)args->args.workspace;
    (void)stream;
    for (size_t i = 0; i < all_of_a(&args->form); i++)
        to[i] = (unsigned char)(from[i] << 4 | from[i] >> 4);
    other.args.a = to;
    return gemm_any(&other);
}

static int first_b(const struct plumb_form_args *args, void *stream)
{
    struct plumb_form_args other = *args;
    const int32_t last = args->form.groups - 1;
    const int32_t rows = args->group_first[last] + args->group_rows[last], first = 0;
    (void)stream;
    other.form.groups = 1;
    other.group_first = &first;
    other.group_rows = &rows;
    return gemm_any(&other);
}

static int padding(const struct plumb_form_args *args, void *stream)
{
    const int64_t row = args->group_first[0] + args->group_rows[0];
    any(args, stream);
    ((float *)args->args.c)[row * args->form.ldc] = 1;
    return 0;
}

// Leaves what lies there every fifth time, once it has been launched thirty times.
static int skips(const struct plumb_form_args *args, void *stream)
{
    static int launches;
    return ++launches > 30 && launches % 5 == 0 ? 0 : any(args, stream);
}

// What it was given for A at first, whatever it is given later.
static int keeps_a(const struct plumb_form_args *args, void *stream)
{
    static unsigned char kept[1 << 20];
    static int launches;
    struct plumb_form_args other = *args;
    (void)stream;
    if (launches++ == 0)
        memcpy(kept, args->args.a,
               (size_t)(args->form.rows * args->form.problem.k) * sizeof(float));
    if (launches > 30)
        other.args.a = kept;
    return gemm_any(&other);
}

// ---- no GEMM ----

static int is_softmax(const struct plumb_form *f)
{
    return f->number_count == 2 && plumb_number(f, "S") && plumb_number(f, "H");
}

static int softmax_buffers(struct plumb_buffers *out, const struct plumb_form *f)
{
    const int64_t count = plumb_number(f, "S") * plumb_number(f, "H");
    *out = (struct plumb_buffers){.input_count = 1, .absolute = 1e-12, .relative = 1e-5};
    out->inputs[0] = (struct plumb_buffer){.count = count, .type = PLUMB_FP32, .scale = 3};
    out->output = (struct plumb_buffer){.count = count, .type = PLUMB_FP32, .scale = 0.01};
    return 0;
}

static int no_buffers(struct plumb_buffers *out, const struct plumb_form *f)
{
    (void)out;
    (void)f;
    return 3;
}

static int empty_buffers(struct plumb_buffers *out, const struct plumb_form *f)
{
    softmax_buffers(out, f);
    out->inputs[0].count = 0;
    return 0;
}

static int softmax_reference(const struct plumb_form *f, const void *const *inputs, double *output)
{
    const int64_t h = plumb_number(f, "H");
    for (int64_t row = 0; row < plumb_number(f, "S"); row++) {
        const float *x = (const float *)inputs[0] + row * h;
        double sum = 0;
        for (int64_t i = 0; i < h; i++)
            sum += exp((double)x[i]);
        for (int64_t i = 0; i < h; i++)
            output[row * h + i] = exp((double)x[i]) / sum;
    }
    return 0;
}

static int huge_buffers(struct plumb_buffers *out, const struct plumb_form *f)
{
    softmax_buffers(out, f);
    out->output.count = (int64_t)1 << 37;
    return 0;
}

static int no_reference(const struct plumb_form *f, const void *const *inputs, double *output)
{
    (void)f;
    (void)inputs;
    (void)output;
    return 5;
}

static int nan_reference(const struct plumb_form *f, const void *const *inputs, double *output)
{
    softmax_reference(f, inputs, output);
    output[1] = NAN;
    return 0;
}

// In each process.
static int reference_once(const struct plumb_form *f, const void *const *inputs, double *output)
{
    static int asked;
    return asked++ ? 7 : softmax_reference(f, inputs, output);
}

static void rows(const struct plumb_form_args *args, int64_t columns)
{
    const int64_t h = plumb_number(&args->form, "H");
    for (int64_t row = 0; row < plumb_number(&args->form, "S"); row++) {
        const float *x = (const float *)args->inputs[0] + row * h;
        float *y = (float *)args->args.c + row * h;
        double sum = 0;
        for (int64_t i = 0; i < columns; i++)
            sum += exp((double)x[i]);
        for (int64_t i = 0; i < h; i++)
            y[i] = (float)(exp((double)x[i]) / sum);
    }
}

static int softmax(const struct plumb_form_args *args, void *stream)
{
    (void)stream;
    rows(args, plumb_number(&args->form, "H"));
    return 0;
}

static int softmax_short(const struct plumb_form_args *args, void *stream)
{
    (void)stream;
    rows(args, plumb_number(&args->form, "H") - 1);
    return 0;
}

static int softmax_unwritten(const struct plumb_form_args *args, void *stream)
{
    float *last =
        (float *)args->args.c + plumb_number(&args->form, "S") * plumb_number(&args->form, "H") - 1;
    const float before = *last;
    softmax(args, stream);
    *last = before;
    return 0;
}

static int softmax_beyond(const struct plumb_form_args *args, void *stream)
{
    softmax(args, stream);
    ((float *)args->args.c)[plumb_number(&args->form, "S") * plumb_number(&args->form, "H")] = 1;
    return 0;
}

// Right until it has been launched a hundred times.
static int softmax_late(const struct plumb_form_args *args, void *stream)
{
    static int launches;
    return launches++ < 100 ? softmax(args, stream) : softmax_short(args, stream);
}

// What it computed at first, whatever it is given later.
static int softmax_kept(const struct plumb_form_args *args, void *stream)
{
    static float kept[4096];
    const size_t count = (size_t)(plumb_number(&args->form, "S") * plumb_number(&args->form, "H"));
    static int launches;
    if (launches++ == 0) {
        softmax(args, stream);
        memcpy(kept, args->args.c, count * sizeof(float));
    }
    memcpy(args->args.c, kept, count * sizeof(float));
    return 0;
}

#define GEMM(text, function)                                                                       \
    {                                                                                              \
        .kernel = {.name = (text)}, .supports = gemm_supports, .launch = (function)                \
    }
#define SOFTMAX(text, function)                                                                    \
    {                                                                                              \
        .kernel = {.name = (text)}, .supports = is_softmax, .launch = (function),                  \
        .buffers = softmax_buffers, .reference = softmax_reference                                 \
    }

static const struct plumb_form_kernel kernels[] = {
    GEMM("any", any),
    GEMM("without-beta", without_beta),
    GEMM("without-alpha", without_alpha),
    GEMM("without-bias", without_bias),
    GEMM("dense", dense),
    GEMM("gap", gap),
    GEMM("by-tanh", by_tanh),
    GEMM("off-by-one", off_by_one),
    GEMM("scales-as-rows", scales_as_rows),
    GEMM("scales-of-a-twice", scales_of_a_twice),
    GEMM("without-tensor-scale", without_tensor_scale),
    {.kernel = {.name = "nibbles"},
     .supports = gemm_supports,
     .workspace = all_of_a,
     .launch = nibbles},
    GEMM("first-b", first_b),
    GEMM("padding", padding),
    GEMM("skips", skips),
    GEMM("keeps-a", keeps_a),
    SOFTMAX("softmax", softmax),
    SOFTMAX("softmax-short", softmax_short),
    SOFTMAX("softmax-unwritten", softmax_unwritten),
    SOFTMAX("softmax-beyond", softmax_beyond),
    SOFTMAX("softmax-late", softmax_late),
    SOFTMAX("softmax-kept", softmax_kept),
    {.kernel = {.name = "reference-once"},
     .supports = is_softmax,
     .launch = softmax,
     .buffers = softmax_buffers,
     .reference = reference_once},
    {.kernel = {.name = "no-buffers"},
     .supports = is_softmax,
     .launch = softmax,
     .buffers = no_buffers,
     .reference = softmax_reference},
    {.kernel = {.name = "empty-buffers"},
     .supports = is_softmax,
     .launch = softmax,
     .buffers = empty_buffers,
     .reference = softmax_reference},
    {.kernel = {.name = "huge-buffers"},
     .supports = is_softmax,
     .launch = softmax,
     .buffers = huge_buffers,
     .reference = softmax_reference},
    {.kernel = {.name = "no-reference"},
     .supports = is_softmax,
     .launch = softmax,
     .buffers = softmax_buffers,
     .reference = no_reference},
    {.kernel = {.name = "nan-reference"},
     .supports = is_softmax,
     .launch = softmax,
     .buffers = softmax_buffers,
     .reference = nan_reference},
    {.kernel = {.name = "unreferenced"}, .supports = is_softmax, .launch = softmax},
};

PLUMB_EXPORT const struct plumb_library *plumb_library(void)
{
    static const struct plumb_library library = {PLUMB_ABI_FORMS, sizeof(struct plumb_form_kernel),
                                                 "host", sizeof(kernels) / sizeof(kernels[0]),
                                                 &kernels[0].kernel};
    return &library;
}
