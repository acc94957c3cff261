// SPDX-License-Identifier: Apache-2.0
//
// Fills the templates of ci/assets: a shim's body from a signature, a policy from `plumb init
// --print`'s own text.
#include "ci/init/shims.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

extern const unsigned char asset_policy[], asset_init_shim[], asset_init_cuda[], asset_init_host[],
    asset_init_plan[], asset_init_cutlass[];

const char *const form_names[FORMS] = {"cuda-nn", "cuda-tn", "cuda-column",
                                       "cutlass", "host",    "plan"};
const char *const form_words[FORMS] = {
    "CUDA, all matrices row by row (A m x k, B k x n)",
    "CUDA, row by row, B given as n rows of k",
    "CUDA, column by column as in BLAS, nothing transposed",
    "CUTLASS device kernels, as their types say that matrices lie",
    "C functions, row by row (A m x k, B k x n)",
    "plans beside cubins, row by row, B given as n rows of k",
};

// Every "@NAME@" of the template becomes its text.
struct word {
    const char *name, *text;
};

static void fill(struct buffer *out, const unsigned char *template, const struct word *words,
                 size_t count)
{
    const char *at = (const char *)template;
    while (*at) {
        size_t i = 0, length = 0;
        for (; *at == '@' && i < count; i++) {
            length = strlen(words[i].name);
            if (strncmp(at + 1, words[i].name, length) == 0 && at[length + 1] == '@')
                break;
        }
        if (*at == '@' && i < count) {
            buffer_puts(out, words[i].text);
            at += length + 2;
        } else {
            buffer_add(out, at++, 1);
        }
    }
}

// ---- the example ----

static const char cutlass_example[] =
    "// A first kernel, to be replaced by your own: float, all matrices row by row.\n"
    "#include \"cutlass/gemm/device/gemm.h\"\n\n"
    "using example_rows = cutlass::layout::RowMajor;\n"
    "using example_gemm = cutlass::gemm::device::Gemm<float, example_rows, float, example_rows, "
    "float, example_rows>;\n";

void shim_example(struct buffer *out, struct signature *signature, enum form form, const char *file)
{
    static const char *const products[FORMS] = {
        "a[i * k + l] * b[l * n + j]", "a[i * k + l] * b[j * k + l]",
        "a[l * m + j] * b[i * k + l]", "",
        "a[i * k + l] * b[l * n + j]", "a[i * k + l] * b[j * k + l]"};
    const bool column = form == FORM_CUDA_COLUMN;
    const struct word words[] = {{"WHAT", form_words[form]},
                                 {"LINKAGE", form == FORM_PLAN ? "extern \"C\" " : ""},
                                 {"PRODUCT", products[form]},
                                 {"I", column ? "n" : "m"},
                                 {"J", column ? "m" : "n"}};
    if (form == FORM_CUTLASS)
        buffer_puts(out, cutlass_example);
    else
        fill(out, form == FORM_HOST ? asset_init_host : asset_init_cuda, words, ARRAY_COUNT(words));
    *signature = (struct signature){
        .callee = form == FORM_HOST      ? CALLEE_HOST
                  : form == FORM_CUTLASS ? CALLEE_CUTLASS
                                         : CALLEE_KERNEL,
        .file = file,
        .name = "example_gemm",
        .understood = true,
        .arguments = {ARG_M, ARG_N, ARG_K, ARG_A, ARG_B, ARG_C},
        .count = 6,
        .in_type = "FP32",
        .out_type = "FP32",
        .in_spelled = "float",
        .out_spelled = "float",
        .device = form == FORM_CUTLASS ? CUTLASS_GEMM : CUTLASS_NONE,
        .layout = form == FORM_CUDA_TN || form == FORM_PLAN ? "TN" : "NN",
    };
}

void shim_plan(struct buffer *out)
{
    fill(out, asset_init_plan, NULL, 0);
}

// ---- a shim ----

// The value of each argument, row by row; and for column-major C, which is its transpose row by
// row: (A B)^T = B^T A^T, so m and n change places, and A and B.
static const char *value_of(enum argument argument, enum form form)
{
    static const char *const rows[ARGUMENT_KINDS] = {
        [ARG_M] = "p->m",    [ARG_N] = "p->n",    [ARG_K] = "p->k",
        [ARG_A] = "args->a", [ARG_B] = "args->b", [ARG_C] = "args->c",
        [ARG_ALPHA] = "1",   [ARG_BETA] = "0",    [ARG_LDA] = "p->k",
        [ARG_LDB] = "p->n",  [ARG_LDC] = "p->n",  [ARG_STREAM] = "(cudaStream_t)stream"};
    static const char *const columns[ARGUMENT_KINDS] = {
        [ARG_M] = "p->n",    [ARG_N] = "p->m",   [ARG_A] = "args->b",
        [ARG_B] = "args->a", [ARG_LDA] = "p->n", [ARG_LDB] = "p->k"};
    if (form == FORM_CUDA_COLUMN && columns[argument])
        return columns[argument];
    return form == FORM_CUDA_TN && argument == ARG_LDB ? "p->k" : rows[argument];
}

static void add_call(struct buffer *out, const struct signature *s, enum form form)
{
    buffer_printf(out, "    %s%s(\n        ", s->name,
                  s->callee == CALLEE_KERNEL ? "<<<grid, block, 0, (cudaStream_t)stream>>>" : "");
    for (size_t i = 0; i < s->count; i++) {
        const enum argument argument = s->arguments[i];
        const char *value = value_of(argument, form);
        const char *comma = i ? ", " : "";
        if (argument == ARG_A || argument == ARG_B)
            buffer_printf(out, "%s(%s *)%s", comma, s->in_spelled, value);
        else if (argument == ARG_C)
            buffer_printf(out, "%s(%s *)%s", comma, s->out_spelled, value);
        else if (strncmp(value, "p->", 3) == 0)
            buffer_printf(out, "%s(int)%s", comma, value);
        else
            buffer_printf(out, "%s%s", comma, value);
    }
    buffer_puts(out, ");\n");
}

static bool takes(const struct signature *s, enum argument argument)
{
    for (size_t i = 0; i < s->count; i++) {
        if (s->arguments[i] == argument)
            return true;
    }
    return false;
}

static void add_body(struct buffer *out, const struct signature *s, enum form form)
{
    const bool host = form == FORM_HOST;
    if (host || (s->callee == CALLEE_LAUNCHER && !takes(s, ARG_STREAM)))
        buffer_printf(out, "    (void)stream;%s\n",
                      host ? ""
                           : " // the default stream waits for the stopwatch's, and it for that");
    if (takes(s, ARG_BETA)) {
        buffer_puts(out,
                    "    // beta is 0, but 0 times the NaN that C holds before is NaN. This is "
                    "timed too.\n");
        buffer_printf(out,
                      host ? "    memset(args->c, 0, (size_t)(p->m * p->n) * sizeof(%s));\n"
                           : "    cudaMemsetAsync(args->c, 0, (size_t)(p->m * p->n) * "
                             "sizeof(%s), (cudaStream_t)stream);\n",
                      s->out_spelled);
    }
    if (s->callee == CALLEE_KERNEL)
        buffer_puts(out,
                    "    // A guess: one thread for each element of C. Say it as your own code "
                    "launches it.\n"
                    "    const dim3 block(16, 16);\n"
                    "    const dim3 grid((unsigned)(p->n + 15) / 16, (unsigned)(p->m + 15) / "
                    "16);\n");
    add_call(out, s, form);
    buffer_puts(out, host ? "    return 0;\n" : "    return (int)cudaGetLastError();\n");
}

// How each device kernel of CUTLASS is told m, n, k and a, b, c.
#define CUTLASS_LEADING                                                                            \
    "    const int lda = plumb_rows<plumb_gemm::LayoutA> ? k : m;\n"                               \
    "    const int ldb = plumb_rows<plumb_gemm::LayoutB> ? n : k;\n"                               \
    "    const int ldc = plumb_swap ? m : n;\n"                                                    \
    "    using number = plumb_gemm::EpilogueOutputOp::ElementCompute;\n"
static const char *const cutlass_arguments[] = {
    [CUTLASS_NONE] = "",
    [CUTLASS_GEMM] =
        CUTLASS_LEADING "    return {{m, n, k}, {a, lda}, {b, ldb}, {c, ldc}, {c, ldc}, "
                        "{number(1), number(0)}};\n",
    [CUTLASS_UNIVERSAL] = CUTLASS_LEADING
    "    return {cutlass::gemm::GemmUniversalMode::kGemm, {m, n, k}, 1, {number(1), number(0)}, a, "
    "b, c, c,\n            0, 0, 0, 0, lda, ldb, ldc, ldc};\n",
    [CUTLASS_ADAPTER] =
        "    using kernel = plumb_gemm::GemmKernel;\n"
        "    constexpr int modes = cute::rank_v<kernel::ProblemShape>; // with or without a batch\n"
        "    const auto shape = cute::take<0, modes>(cute::make_shape(m, n, k, 1));\n"
        "    const auto stride_a =\n"
        "        cutlass::make_cute_packed_stride(kernel::StrideA{}, cute::make_shape(m, k, 1));\n"
        "    const auto stride_b =\n"
        "        cutlass::make_cute_packed_stride(kernel::StrideB{}, cute::make_shape(n, k, 1));\n"
        "    const auto stride_c =\n"
        "        cutlass::make_cute_packed_stride(kernel::StrideC{}, cute::make_shape(m, n, 1));\n"
        "    const auto stride_d =\n"
        "        cutlass::make_cute_packed_stride(kernel::StrideD{}, cute::make_shape(m, n, 1));\n"
        "    return {cutlass::gemm::GemmUniversalMode::kGemm,\n"
        "            shape,\n"
        "            {a, stride_a, b, stride_b},\n"
        "            {{1.0f, 0.0f}, (plumb_gemm::ElementC *)c, stride_c, c, stride_d}};\n",
};

void shim_write(struct buffer *out, const struct signature *s, enum form form, const char *kernel)
{
    const bool adapter = s->device == CUTLASS_ADAPTER;
    struct buffer body = {0};
    if (form != FORM_CUTLASS)
        add_body(&body, s, form);
    const struct word words[] = {
        {"NAME", s->name},
        {"FILE", s->file},
        {"IN", s->in_type},
        {"OUT", s->out_type},
        {"LAYOUT", form == FORM_CUDA_TN ? "TN" : "NN"},
        {"BODY", form == FORM_CUTLASS ? cutlass_arguments[s->device] : body.bytes},
        {"INCLUDE", adapter ? "#include \"cutlass/util/packed_stride.hpp\"\n" : ""},
        {"DEST", adapter ? "D" : "C"},
        {"KERNEL", kernel},
        {"DEVICE", form == FORM_HOST ? "host" : "cuda"},
    };
    if (form == FORM_HOST)
        buffer_puts(out, "#include <string.h>\n");
    fill(out, form == FORM_CUTLASS ? asset_init_cutlass : asset_init_shim, words,
         ARRAY_COUNT(words));
    buffer_free(&body);
}

// ---- the policy ----

// Plans as they are, and a cubin of each source beside them. Inside the quotes of a policy.
static void add_plan_command(struct buffer *out, const struct shim_policy *policy)
{
    const char *folder = policy->outside ? "\\\"$PLUMB_OVERLAY\\\"" : "ci";
    buffer_printf(out,
                  "\t# Kernels of Triton: python3 ci/plans/compile.py \"$PLUMB_OUT\", which "
                  "compiles and\n\t# leaves NAME.cubin there (kernels/PLANS.md of plumb).\n"
                  "\tcommand = \"PATH=$PATH:/usr/local/cuda/bin; cp %s/plans/*.plan "
                  "\\\"$PLUMB_OUT\\\" && for f in %s/plans/*.cu; do nvcc -std=c++20 -O3 -cubin "
                  "-gencode arch=compute_%s,code=sm_%s -I. -o \\\"$PLUMB_OUT/$(basename "
                  "\\\"$f\\\" .cu).cubin\\\" \\\"$f\\\" || bad=1; done; exit ${bad:-0}\"\n"
                  "\toutput = *.plan\n",
                  folder, folder, policy->arch, policy->arch);
}

// Where CUTLASS is, in a variable. Inside the quotes of a policy.
static void add_cutlass_command(struct buffer *out, const struct shim_policy *policy)
{
    if (policy->cutlass)
        buffer_printf(out, "export CUTLASS=%s; ", policy->cutlass);
    else
        buffer_puts(out, "export CUTLASS=${CUTLASS_PATH:-/opt/cutlass}; test -f "
                         "$CUTLASS/include/cutlass/cutlass.h || { echo no CUTLASS in $CUTLASS: "
                         "set CUTLASS_PATH to a folder below /usr or /opt >&2; exit 1; }; ");
}

static void add_compiler(struct buffer *out, const struct shim_policy *policy)
{
    const bool cutlass = policy->with_cutlass;
    if (policy->form == FORM_HOST) {
        buffer_puts(out, "${CC:-cc} -O3 -shared -fPIC -fvisibility=hidden -ffunction-sections "
                         "-Wl,--gc-sections $CFLAGS");
        return;
    }
    buffer_printf(out,
                  "nvcc -std=c++%s -O3 -gencode arch=compute_%s,code=sm_%s -shared -Xcompiler "
                  "-fPIC -cudart shared -Xlinker -rpath=/usr/local/cuda/lib64 -Xfatbin "
                  "-compress=false%s",
                  cutlass ? "17" : "20", policy->arch, policy->arch,
                  cutlass ? " --expt-relaxed-constexpr -I$CUTLASS/include "
                            "-I$CUTLASS/tools/util/include"
                          : "");
}

// One compiler per shim, as many at once as there are processors. Inside the quotes of a policy.
static void add_command(struct buffer *out, const struct shim_policy *policy)
{
    if (policy->form == FORM_PLAN) {
        add_plan_command(out, policy);
        return;
    }
    const char *folder = policy->outside ? "\\\"$PLUMB_OVERLAY\\\"" : "ci",
               *kind = policy->form == FORM_HOST ? "c" : "cu";
    if (policy->form == FORM_CUTLASS && !policy->cutlass)
        buffer_puts(out,
                    "\t# Its path is a part of the cache's key, what lies there is not: give each "
                    "version of\n\t# CUTLASS a folder of its own.\n\tpass = CUTLASS_PATH\n");
    buffer_puts(out, "\tcommand = \"PATH=$PATH:/usr/local/cuda/bin; ");
    if (policy->with_cutlass)
        add_cutlass_command(out, policy);
    buffer_printf(out,
                  "printf '%%s\\\\n' %s/shims/*.%s | xargs -d '\\\\n' -P $PLUMB_JOBS -n 1 sh -c '",
                  folder, kind);
    add_compiler(out, policy);
    buffer_printf(
        out, " -I. -I%s -o \\\"$PLUMB_OUT/$(basename \\\"$1\\\" .%s).so\\\" \\\"$1\\\"%s' -\"\n",
        folder, kind, policy->libraries);
}

static void add_inputs(struct buffer *out, const struct shim_policy *policy)
{
    for (size_t i = 0; i < policy->input_count; i++)
        buffer_printf(out, "\tinput = \"%s\"\n", policy->inputs[i]);
    if (policy->input_count && policy->with_cutlass && policy->cutlass_below)
        buffer_printf(out, "\tinput = \"%s/include\"\n\tinput = \"%s/tools/util/include\"\n",
                      policy->cutlass, policy->cutlass);
    if (policy->input_count && !policy->outside)
        buffer_puts(out, policy->form == FORM_PLAN
                             ? "\tinput = ci/plans\n"
                             : "\tinput = ci/shims\n\tinput = ci/plumb_kernel.h\n");
    if (policy->outside)
        buffer_puts(out, "\t# The shims, outside of every commit: $PLUMB_OVERLAY.\n"
                         "\toverlay = overlay\n");
}

static void add_lower(struct buffer *out, const char *text)
{
    for (; *text; text++)
        buffer_printf(out, "%c", tolower((unsigned char)*text));
}

// A problem of the commented policy, of this form's size, type and layout.
static void add_problem(struct buffer *out, const struct shim_policy *policy, const char *line)
{
    const char *shape = policy->form == FORM_HOST ? "256x256x256" : line;
    buffer_printf(out, "\tproblem = %.*s:", (int)strcspn(shape, ":\n"), shape);
    add_lower(out, policy->in_type);
    if (policy->out_type && strcmp(policy->in_type, policy->out_type) != 0) {
        buffer_puts(out, "-");
        add_lower(out, policy->out_type);
    }
    const bool tn = policy->form == FORM_CUDA_TN || policy->form == FORM_PLAN;
    const char *layout = policy->layout ? policy->layout : tn ? "TN" : "NN";
    if (strcmp(layout, "TN") != 0) { // what a problem says without one
        buffer_puts(out, ":");
        add_lower(out, layout);
    }
    buffer_puts(out, "\n");
}

// Lines of the commented policy that depend on the form, and what stands there instead.
enum { LINE_INPUT, LINE_COMMAND, LINE_DEVICE, LINE_KIND, LINE_PROBLEM, LINE_RULE, LINES };
static const char *const lines[LINES] = {"\tinput = ", "\tcommand = ", "[device ",
                                         "\tkind = ",  "\tproblem = ", "\tproblems = "};

// A kernel that launches its own code; what a library such as cuBLAS launches has no record.
static bool can_be_recorded(const struct shim_policy *policy)
{
    return policy->form != FORM_HOST && !policy->libraries[0];
}

void shim_policy_write(struct buffer *out, const struct shim_policy *policy)
{
    const bool host = policy->form == FORM_HOST;
    size_t seen[LINES + 1] = {0};
    for (const char *line = (const char *)asset_policy; *line;) {
        const size_t length = strcspn(line, "\n") + 1;
        size_t i = 0;
        while (i < LINES && strncmp(line, lines[i], strlen(lines[i])) != 0)
            i++;
        const bool first = seen[i]++ == 0;
        if (i == LINE_RULE && can_be_recorded(policy))
            buffer_puts(out, "\tproblems = main\n\ttrust = device-code\n");
        else if (i == LINE_INPUT && first)
            add_inputs(out, policy);
        else if (i == LINE_COMMAND)
            add_command(out, policy);
        else if (i == LINE_DEVICE)
            buffer_printf(out, "[device \"%s\"]\n", host ? "cpu" : "gpu");
        else if (i == LINE_KIND)
            buffer_printf(out, "\tkind = %s\n", host ? "host" : "cuda");
        else if (i == LINE_PROBLEM && (first || !host))
            add_problem(out, policy, line + strlen(lines[i]));
        else if (i >= LINE_RULE)
            buffer_add(out, line, length);
        line += length;
    }
}
