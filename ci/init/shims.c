// SPDX-License-Identifier: Apache-2.0
//
// Fills in the templates of ci/assets: a shim's body from a signature, and a policy from the text
// of `plumb init --print`.
#include "ci/init/init.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const unsigned char asset_policy[], asset_init_shim[], asset_init_call[], asset_init_cuda[],
    asset_init_host[], asset_softmax_cuda[], asset_softmax_host[];

const char *const form_names[FORMS] = {"cuda-nn", "cuda-tn", "cuda-column",
                                       "host",    "numbers", "host-numbers"};
const char *const form_words[FORMS] = {
    "CUDA, all matrices row by row (A m x k, B k x n)",
    "CUDA, row by row, B given as n rows of k",
    "CUDA, column by column as in BLAS, nothing transposed",
    "C functions, row by row (A m x k, B k x n)",
    "CUDA kernels that are no GEMM, with problems of named integers",
    "C functions that are no GEMM, with problems of named integers",
};

// A word and its text, which replaces every "@NAME@" of the template.
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

// Makes an example of a kernel that is no GEMM, and what plumb asks of it.
static void numbers_example(struct buffer *out, struct signature *signature, enum form form,
                            const char *file)
{
    static const char header[] = "#include \"kernel.h\"";
    const bool host = form_is_host(form);
    const char *text = (const char *)(host ? asset_softmax_host : asset_softmax_cuda);
    const char *at = strstr(text, header);
    buffer_add(out, text, (size_t)(at - text));
    buffer_puts(out, "#include \"plumb_kernel.h\"");
    buffer_puts(out, at + strlen(header));
    *signature = (struct signature){.callee = host ? CALLEE_HOST : CALLEE_KERNEL,
                                    .file = file,
                                    .name = "softmax",
                                    .understood = true,
                                    .in_type = host ? "FP32" : "BF16",
                                    .out_type = "FP32"};
}

void shim_example(struct buffer *out, struct signature *signature, enum form form, const char *file)
{
    static const char *const products[FORMS] = {
        "a[i * k + l] * b[l * n + j]", "a[i * k + l] * b[j * k + l]", "a[l * m + j] * b[i * k + l]",
        "a[i * k + l] * b[l * n + j]"};
    const bool column = form == FORM_CUDA_COLUMN;
    const struct word words[] = {{"WHAT", form_words[form]},
                                 {"PRODUCT", products[form]},
                                 {"I", column ? "n" : "m"},
                                 {"J", column ? "m" : "n"}};
    if (form_is_numbers(form)) {
        numbers_example(out, signature, form, file);
        return;
    }
    fill(out, form == FORM_HOST ? asset_init_host : asset_init_cuda, words, ARRAY_COUNT(words));
    *signature = (struct signature){
        .callee = form == FORM_HOST ? CALLEE_HOST : CALLEE_KERNEL,
        .file = file,
        .name = "example_gemm",
        .understood = true,
        .arguments = {ARG_M, ARG_N, ARG_K, ARG_A, ARG_B, ARG_C},
        .count = 6,
        .in_type = "FP32",
        .out_type = "FP32",
        .in_spelled = "float",
        .out_spelled = "float",
    };
}

// ---- a shim ----

struct call shim_call(enum form form, const struct signature *s)
{
    return (struct call){.layout = form == FORM_CUDA_TN ? "TN" : "NN",
                         .columns = form == FORM_CUDA_COLUMN,
                         .square = s->square};
}

const char *shim_call_words(const struct call *call, struct arena *arena)
{
    const bool a_turned = call->columns ? call->layout[0] == 'T' : call->layout[1] != 'N';
    const bool b_turned = call->columns ? call->layout[1] != 'N' : call->layout[0] == 'T';
    static const char *const turned[2][2] = {{"", ", B transposed"},
                                             {", A transposed", ", A and B transposed"}};
    const char *words = arena_printf(arena, "%s%s", call->columns ? ", as column-major" : "",
                                     turned[a_turned][b_turned]);
    return arena_printf(arena, "%s%s%s", words,
                        call->clear ? ", C cleared before, for it is read" : "",
                        call->square ? ", for m = n = k alone" : "");
}

// The value of each argument, for row-major C. A column-major C is its transpose in row-major form,
// (A B)^T = B^T A^T, so m and n are swapped, and so are A and B.
static const char *value_of(enum argument argument, const struct call *call)
{
    static const char *const rows[ARGUMENT_KINDS] = {
        [ARG_M] = "p->m",    [ARG_N] = "p->n",
        [ARG_K] = "p->k",    [ARG_A] = "args->a",
        [ARG_B] = "args->b", [ARG_C] = "args->c",
        [ARG_ALPHA] = "1",   [ARG_BETA] = "0",
        [ARG_LDC] = "p->n",  [ARG_STREAM] = "(cudaStream_t)stream",
        [ARG_HANDLE] = "0"};
    static const char *const columns[ARGUMENT_KINDS] = {
        [ARG_M] = "p->n", [ARG_N] = "p->m", [ARG_A] = "args->b", [ARG_B] = "args->a"};
    const char *a_step = call->layout[1] == 'N' ? "p->k" : "p->m"; // for the problem's A and B
    const char *b_step = call->layout[0] == 'T' ? "p->k" : "p->n";
    if (argument == ARG_LDA)
        return call->columns ? b_step : a_step;
    if (argument == ARG_LDB)
        return call->columns ? a_step : b_step;
    return call->columns && columns[argument] ? columns[argument] : rows[argument];
}

static bool takes(const struct signature *s, enum argument argument)
{
    for (size_t i = 0; i < s->count; i++) {
        if (s->arguments[i] == argument)
            return true;
    }
    return false;
}

// One thread for each element of C.
static void add_grid(struct buffer *out, const struct call *call)
{
    buffer_printf(
        out,
        "    // A guess: a thread makes one element of C. Say it as your own code launches "
        "it.\n    const dim3 block(16, 16);\n"
        "    const dim3 grid((unsigned)(p->%c + 15) / 16, (unsigned)(p->%c + 15) / 16);\n",
        call->columns ? 'm' : 'n', call->columns ? 'n' : 'm');
}

static void add_call(struct buffer *out, const struct signature *s, const struct call *call)
{
    buffer_printf(out, "    %s", s->name);
    if (s->callee == CALLEE_KERNEL)
        buffer_puts(out, "<<<grid, block, 0, (cudaStream_t)stream>>>");
    buffer_puts(out, "(\n        ");
    for (size_t i = 0; i < s->count; i++) {
        const enum argument argument = s->arguments[i];
        const char *value = value_of(argument, call);
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

static void add_body(struct buffer *out, const struct signature *s, const struct call *call)
{
    const bool host = s->callee == CALLEE_HOST;
    if (host || (s->callee == CALLEE_LAUNCHER && !takes(s, ARG_STREAM)))
        buffer_printf(out, "    (void)stream;%s\n",
                      host ? ""
                           : " // the default stream waits for the stopwatch's, and it for that");
    if (takes(s, ARG_BETA) || call->clear) {
        buffer_puts(out,
                    "    // C is read, and 0 times the NaN that it holds before is NaN. This is "
                    "timed too.\n");
        buffer_printf(out,
                      host ? "    memset(args->c, 0, (size_t)(p->m * p->n) * sizeof(%s));\n"
                           : "    cudaMemsetAsync(args->c, 0, (size_t)(p->m * p->n) * "
                             "sizeof(%s), (cudaStream_t)stream);\n",
                      s->out_spelled);
    }
    if (s->callee == CALLEE_KERNEL)
        add_grid(out, call);
    add_call(out, s, call);
    buffer_puts(out, host ? "    return 0;\n" : "    return (int)cudaGetLastError();\n");
}

// Writes a kernel's entry in a shim's table; `which` tells several kernels apart.
static void add_kernel(struct buffer *out, const struct signature *s, const struct call *call,
                       const char *kernel, const char *which)
{
    struct buffer body = {0};
    const char *square = call->square ? " && p->m == p->n && p->n == p->k" : "";
    add_body(&body, s, call);
    const struct word words[] = {
        {"NAME", s->name},    {"FILE", s->file},        {"IN", s->in_type},
        {"OUT", s->out_type}, {"BODY", body.bytes},     {"KERNEL", kernel},
        {"WHICH", which},     {"LAYOUT", call->layout}, {"SQUARE", square}};
    fill(out, asset_init_call, words, ARRAY_COUNT(words));
    buffer_free(&body);
}

static void write_head(struct buffer *out, const struct signature *s)
{
    struct buffer beside = {0};
    if (s->beside)
        buffer_printf(&beside, "#include <%s>\n", s->beside);
    const struct word words[] = {
        {"NAME", s->name}, {"FILE", s->file}, {"BESIDE", beside.bytes ? beside.bytes : ""}};
    if (s->callee == CALLEE_HOST)
        buffer_puts(out, "#include <string.h>\n");
    else // sources often rely on C being zero
        buffer_puts(out, "#include <assert.h>\n#include <float.h>\n#include <math.h>\n#include "
                         "<stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n");
    if (strcmp(s->in_type, "FP16") == 0)
        buffer_puts(out, "#include <cuda_fp16.h>\n");
    if (strcmp(s->in_type, "BF16") == 0)
        buffer_puts(out, "#include <cuda_bf16.h>\n");
    if (s->waits) // a launch that waits cannot be timed; the stopwatch itself waits
        buffer_puts(out, "#include <cuda_runtime.h>\n"
                         "#define cudaDeviceSynchronize() cudaSuccess\n"
                         "#define cudaStreamSynchronize(stream) cudaSuccess\n");
    fill(out, asset_init_shim, words, ARRAY_COUNT(words));
    buffer_free(&beside);
}

static const char *device_of(const struct signature *s)
{
    return s->callee == CALLEE_HOST ? "host" : "cuda";
}

void shim_write(struct buffer *out, const struct signature *s, const struct call *call,
                const char *kernel)
{
    write_head(out, s);
    add_kernel(out, s, call, kernel, "");
    buffer_printf(out, "PLUMB_LIBRARY(\"%s\", plumb_shim)\n", device_of(s));
}

void shim_write_tries(struct buffer *out, const struct signature *s, const struct call *calls,
                      const char *const *kernels, size_t count)
{
    struct buffer list = {0};
    write_head(out, s);
    for (size_t i = 0; i < count; i++) {
        char which[24];
        snprintf(which, sizeof(which), "_%zu", i);
        add_kernel(out, s, &calls[i], kernels[i], which);
        buffer_printf(&list, "%splumb_shim_%zu", i ? ", " : "", i);
    }
    // In C a struct with a name cannot be passed as a constant.
    buffer_printf(out,
                  "PLUMB_EXPORT const struct plumb_library *plumb_library(void)\n{\n"
                  "    static struct plumb_kernel all[%zu];\n"
                  "    static const struct plumb_library library = {PLUMB_ABI_VERSION, "
                  "(uint32_t)sizeof(struct plumb_kernel), \"%s\", %zu, all};\n"
                  "    const struct plumb_kernel each[] = {%s};\n"
                  "    for (int i = 0; i < %zu; i++)\n        all[i] = each[i];\n"
                  "    return &library;\n}\n",
                  count, device_of(s), count, list.bytes, count);
    buffer_free(&list);
}

// ---- the policy ----

static void add_compiler(struct buffer *out, const struct shim_policy *policy)
{
    if (form_is_host(policy->form)) {
        buffer_puts(out, "${CC:-cc} -O3 -shared -fPIC -fvisibility=hidden -ffunction-sections "
                         "-Wl,--gc-sections $CFLAGS");
        return;
    }
    buffer_printf(out,
                  "nvcc -std=c++20 -O3 -gencode arch=compute_%s,code=sm_%s -shared -Xcompiler "
                  "-fPIC,-fvisibility=hidden,-ffunction-sections -cudart shared -Xlinker "
                  "--gc-sections,-rpath=/usr/local/cuda/lib64 -Xfatbin -compress=false",
                  policy->arch, policy->arch);
}

// Writes a command that runs one compiler for each shim, as many at the same time as there are
// processors. It stands inside the quotes of a policy.
static void add_command(struct buffer *out, const struct shim_policy *policy)
{
    const char *folder = policy->outside ? "\\\"$PLUMB_OVERLAY\\\"" : "ci",
               *kind = form_is_host(policy->form) ? "c" : "cu";
    buffer_puts(out, "\tcommand = \"PATH=$PATH:/usr/local/cuda/bin; ");
    buffer_printf(out,
                  "printf '%%s\\\\n' %s/shims/*.%s | xargs -d '\\\\n' -P $PLUMB_JOBS -n 1 sh -c '",
                  folder, kind);
    add_compiler(out, policy);
    buffer_printf(
        out, " -I. -I%s%s -o \\\"$PLUMB_OUT/$(basename \\\"$1\\\" .%s).so\\\" \\\"$1\\\"%s' -\"\n",
        folder, policy->flags ? policy->flags : "", kind,
        policy->form == FORM_HOST_NUMBERS ? " -lm" : policy->libraries);
}

static void add_inputs(struct buffer *out, const struct shim_policy *policy)
{
    for (size_t i = 0; i < policy->input_count; i++)
        buffer_printf(out, "\tinput = \"%s\"\n", policy->inputs[i]);
    if (policy->input_count && !policy->outside)
        buffer_puts(out, "\tinput = ci/shims\n\tinput = ci/plumb_kernel.h\n");
    if (policy->outside)
        buffer_puts(out, "\t# The shims, outside of every commit: $PLUMB_OVERLAY.\n"
                         "\toverlay = overlay\n");
}

static void add_lower(struct buffer *out, const char *text)
{
    for (; *text; text++)
        buffer_printf(out, "%c", tolower((unsigned char)*text));
}

// Writes the problems of a group, with sizes for this form.
static void add_problems(struct buffer *out, const struct shim_policy *policy,
                         const struct shim_group *group)
{
    static const char *const sizes[] = {"4096x4096x4096", "4096x7168x2048", "128x7168x2048"};
    const bool host = policy->form == FORM_HOST;
    if (form_is_numbers(policy->form)) { // S rows of H numbers, as in the example
        buffer_puts(out, form_is_host(policy->form) ? "\tproblem = H=1000,S=512:fp32-fp32\n"
                                                    : "\tproblem = H=1024,S=4096:bf16-fp32\n"
                                                      "\tproblem = H=16384,S=256:bf16-fp32\n");
        return;
    }
    for (size_t i = 0; i < (host || group->square ? 1 : ARRAY_COUNT(sizes)); i++) {
        buffer_printf(out, "\tproblem = %s:", host ? "256x256x256" : sizes[i]);
        add_lower(out, group->in_type);
        buffer_puts(out, "-"); // the spelling of every report
        add_lower(out, group->out_type ? group->out_type : group->in_type);
        const bool tn = policy->form == FORM_CUDA_TN;
        buffer_puts(out, ":");
        add_lower(out, group->layout ? group->layout : tn ? "TN" : "NN");
        buffer_puts(out, "\n");
    }
}

// Writes the groups after the first, whose kernels have sections of their own.
static void add_groups(struct buffer *out, const struct shim_policy *policy)
{
    for (size_t i = 1; i < policy->group_count; i++) {
        const struct shim_group *group = &policy->groups[i];
        buffer_printf(out, "[problems \"%s\"]\n", group->name);
        add_problems(out, policy, group);
        for (size_t k = 0; k < group->kernel_count; k++)
            buffer_printf(out, "[kernel \"%s\"]\n\tproblems = %s\n%s", group->kernels[k],
                          group->name, group->recorded ? "\ttrust = device-code\n" : "");
        buffer_puts(out, "\n");
    }
}

// Lines of the commented policy that depend on the form, and the lines that replace them.
enum {
    LINE_INPUT,
    LINE_COMMAND,
    LINE_DEVICE,
    LINE_KIND,
    LINE_PROBLEM,
    LINE_GROUPS,
    LINE_RULE,
    LINES
};
static const char *const lines[LINES] = {"\tinput = ",   "\tcommand = ", "[device ",
                                         "\tkind = ",    "\tproblem = ", "# The first section",
                                         "\tproblems = "};

void shim_policy_write(struct buffer *out, const struct shim_policy *policy)
{
    const bool host = form_is_host(policy->form);
    size_t seen[LINES + 1] = {0};
    for (const char *line = (const char *)asset_policy; *line;) {
        const size_t length = strcspn(line, "\n") + 1;
        size_t i = 0;
        while (i < LINES && strncmp(line, lines[i], strlen(lines[i])) != 0)
            i++;
        const bool first = seen[i]++ == 0;
        if (i == LINE_RULE && policy->groups[0].recorded)
            buffer_puts(out, "\tproblems = main\n\ttrust = device-code\n");
        else if (i == LINE_INPUT && first)
            add_inputs(out, policy);
        else if (i == LINE_COMMAND)
            add_command(out, policy);
        else if (i == LINE_DEVICE)
            buffer_printf(out, "[device \"%s\"]\n", host ? "cpu" : "gpu");
        else if (i == LINE_KIND)
            buffer_printf(out, "\tkind = %s\n", host ? "host" : "cuda");
        else if (i == LINE_PROBLEM && first)
            add_problems(out, policy, &policy->groups[0]);
        if (i == LINE_GROUPS && first)
            add_groups(out, policy);
        if (i == LINES || i == LINE_GROUPS || (i == LINE_RULE && !policy->groups[0].recorded))
            buffer_add(out, line, length);
        line += length;
    }
}
