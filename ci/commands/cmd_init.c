// SPDX-License-Identifier: Apache-2.0
//
// plumb init: a policy, the ABI header and a shim for each kernel of a repository that it
// understands, or for a first kernel where there is none. What it writes builds and gates as it is.
#include "ci/command.h"
#include "ci/init/shims.h"
#include "reports/report.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

extern const unsigned char asset_policy[], asset_kernel_header[];
extern const size_t asset_policy_size, asset_kernel_header_size;

enum { SHIMS_MAX = 16, INPUTS_MAX = 24, SOURCES_MAX = 2000, LIBRARIES = 5 };

struct arguments {
    struct options options;
    const char *form, *arch, *outside;
    bool print, force;
};

static int take_arch(void *arguments, const char *text)
{
    struct arguments *a = arguments;
    a->arch = text;
    return *text && strlen(text) <= 8 && !text[strspn(text, "0123456789abcdef")] ? 0 : -1;
}

static const struct command_option own_options[] = {
    OPTION_TEXT("repo", 'C', "DIR", "Repository [the current directory]", options.repository),
    OPTION_TEXT("form", 0, "FORM",
                "cuda-nn, cuda-tn, cuda-column, host or plan [by the sources: cuda-nn or host]",
                form),
    OPTION_OWN("arch", 0, "ARCH", "Architecture of CUDA code [90a]", take_arch,
               "such as 80, 90a or 100a"),
    OPTION_TEXT("outside", 0, "DIR",
                "Write there, not into the repository: its history is measured as it is", outside),
    OPTION_FLAG("print", 0, "Only print the policy, with every key", print),
    OPTION_FLAG("force", 0, "Replace files that are there", force),
    {0},
};

// One invocation.
struct init {
    const struct arguments *arguments;
    char *folder; // of plumb_kernel.h and shims/
    enum form form;
    struct signature_list found;
    const char *inputs[INPUTS_MAX];
    size_t input_count;
    bool whole_tree;
    bool links[LIBRARIES];
    size_t written;
    struct arena arena;
};

// What a source that names one of these headers is linked with.
static const struct {
    const char *header, *word;
} libraries[LIBRARIES] = {{"<cublas_v2.h>", " -lcublas"},
                          {"<cublasLt.h>", " -lcublasLt"},
                          {"<curand.h>", " -lcurand"},
                          {"<cuda.h>", " -lcuda"},
                          {"<math.h>", " -lm"}};

static bool is_source(const char *path, bool host)
{
    static const char *const ends[] = {".c", ".cu", ".cuh", ".h", ".hpp", ".cpp", ".cc", ".inc"};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < (host ? 1 : ARRAY_COUNT(ends)); i++) {
        if (strcmp(dot, ends[i]) == 0)
            return true;
    }
    return false;
}

// The top folder of a source, or the source itself: what its build may read.
static void add_input(struct init *init, const char *path)
{
    const char *top = arena_strndup(&init->arena, path, strcspn(path, "/"));
    for (size_t i = 0; i < init->input_count; i++) {
        if (strcmp(init->inputs[i], top) == 0)
            return;
    }
    if (init->input_count == INPUTS_MAX || strpbrk(top, "\"\\\n"))
        init->whole_tree = true;
    else
        init->inputs[init->input_count++] = top;
}

static int read_sources(struct init *init, const struct repository *repository, struct error *err)
{
    struct commit head;
    struct path_list names;
    struct error none;
    if (repository_commit(&head, repository, "HEAD", &init->arena, &none))
        return 0; // no commit yet
    if (repository_names(&names, repository, head.id, NULL, 0, &init->arena, err))
        return -1;
    size_t read = 0;
    for (size_t i = 0; i < names.count && read < SOURCES_MAX; i++) {
        const char *path = names.items[i];
        char *text;
        size_t size;
        if (!is_source(path, false) || strncmp(path, "ci/", 3) == 0)
            continue;
        add_input(init, path);
        const bool searched = strstr(path, ".cu") || is_source(path, true);
        if (!searched || repository_read(&text, &size, repository, head.id, path, &none))
            continue;
        signatures_find(&init->found, path, text, &init->arena);
        for (size_t l = 0; l < LIBRARIES; l++)
            init->links[l] |= strstr(text, libraries[l].header) != NULL;
        free(text);
        read++;
    }
    return 0;
}

// ---- which form, and which functions ----

static size_t count_of(const struct init *init, enum callee callee, bool understood)
{
    size_t count = 0;
    for (size_t i = 0; i < init->found.count; i++)
        count += init->found.items[i].callee == callee &&
                 (!understood || init->found.items[i].understood);
    return count;
}

static int choose_form(struct init *init, struct error *err)
{
    const char *asked = init->arguments->form;
    const bool cuda =
        count_of(init, CALLEE_KERNEL, false) || count_of(init, CALLEE_LAUNCHER, false);
    if (asked && strcmp(asked, "cutlass") == 0)
        return error_set(err, "--form=%s: is not written yet; --help says what is", asked);
    init->form = !cuda && count_of(init, CALLEE_HOST, true) ? FORM_HOST : FORM_CUDA_NN;
    if (!asked)
        return 0;
    for (int i = 0; i < FORMS; i++) {
        if (strcmp(asked, form_names[i]) == 0) {
            init->form = (enum form)i;
            return 0;
        }
    }
    return error_set(err, "--form=%.40s: is cuda-nn, cuda-tn, cuda-column, host or plan", asked);
}

// Launchers know their kernels' grids; so kernels come second.
static enum callee wanted(const struct init *init)
{
    if (init->form == FORM_HOST)
        return CALLEE_HOST;
    return count_of(init, CALLEE_LAUNCHER, true) ? CALLEE_LAUNCHER : CALLEE_KERNEL;
}

static void tell_others(const struct init *init)
{
    const size_t most = 8;
    const enum callee other = wanted(init) == CALLEE_LAUNCHER ? CALLEE_KERNEL : CALLEE_HOST;
    size_t told = 0;
    for (size_t i = 0; i < init->found.count; i++) {
        const struct signature *s = &init->found.items[i];
        if (s->understood || s->callee == CALLEE_HOST || s->callee == other)
            continue;
        if (told++ < most)
            printf("not understood: %.80s of %.120s: %s\n", s->name, s->file, s->why);
    }
    if (told > most)
        printf("not understood: %zu more\n", told - most);
}

// ---- writing ----

static int make_folder(const char *path, struct error *err)
{
    if (mkdir(path, 0777) && errno != EEXIST)
        return error_set(err, "%s: %s", path, strerror(errno));
    return 0;
}

static int write_file(const struct init *init, const char *folder, const char *name,
                      const char *bytes, size_t size, struct error *err)
{
    struct stat there;
    char *path = xprintf("%s/%s", folder, name);
    int status = 0;
    if (!init->arguments->force && lstat(path, &there) == 0)
        status = error_set(err, "%s is there already; --force replaces it", path);
    else if (report_replace_file(path, bytes, size, err))
        status = -1;
    else
        printf("wrote %s\n", path);
    free(path);
    return status;
}

static int write_shim(struct init *init, const struct signature *s, struct error *err)
{
    struct buffer text = {0};
    char kernel[KERNEL_NAME_TEXT], *name;
    size_t length = 0;
    for (; s->name[length] && length + 1 < sizeof(kernel); length++)
        kernel[length] = (char)tolower((unsigned char)s->name[length]);
    kernel[length] = '\0';
    const char *plain = kernel + strspn(kernel, "_"); // names begin with a letter or digit
    shim_write(&text, s, init->form, *plain ? plain : "kernel");
    name = xprintf("shims/%s.%s", *plain ? plain : "kernel", init->form == FORM_HOST ? "c" : "cu");
    int status = write_file(init, init->folder, name, text.bytes, text.length, err);
    init->written += status == 0;
    free(name);
    buffer_free(&text);
    return status;
}

static bool same_name(const struct signature *a, const struct signature *b)
{
    return a->understood && a->callee == b->callee && strcasecmp(a->name, b->name) == 0;
}

// Of functions with one name, the first: two kernels cannot have the same.
static bool is_first(const struct init *init, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (same_name(&init->found.items[i], &init->found.items[index]))
            return false;
    }
    return true;
}

static int write_example(struct init *init, struct signature *s, struct error *err)
{
    const char *file = init->form == FORM_HOST ? "shims/example.h" : "shims/example.cuh";
    struct buffer text = {0};
    shim_example(&text, s, init->form, file);
    int status = write_file(init, init->folder, file, text.bytes, text.length, err);
    if (status == 0)
        status = write_shim(init, s, err);
    buffer_free(&text);
    return status;
}

static int write_shims(struct init *init, const char **in_type, struct error *err)
{
    const enum callee callee = wanted(init);
    struct signature example;
    for (size_t i = 0; i < init->found.count && init->written < SHIMS_MAX; i++) {
        const struct signature *s = &init->found.items[i];
        if (s->callee != callee || !s->understood || !is_first(init, i) ||
            (*in_type && strcmp(*in_type, s->in_type) != 0))
            continue;
        *in_type = s->in_type;
        if (write_shim(init, s, err))
            return -1;
    }
    if (init->written)
        return 0;
    if (init->found.count)
        puts("No function here is understood, so a first kernel is written.");
    *in_type = "FP32";
    return write_example(init, &example, err);
}

// A source, and the plan of the cubin that the build makes of it.
static int write_plan(struct init *init, const char **in_type, struct error *err)
{
    struct signature s;
    struct buffer source = {0}, plan = {0};
    shim_example(&source, &s, init->form, "example_gemm.cu");
    shim_plan(&plan);
    *in_type = s.in_type;
    int status =
        write_file(init, init->folder, "plans/example_gemm.cu", source.bytes, source.length, err);
    if (status == 0)
        status =
            write_file(init, init->folder, "plans/example_gemm.plan", plan.bytes, plan.length, err);
    buffer_free(&source);
    buffer_free(&plan);
    return status;
}

static int write_kernels(struct init *init, const char **in_type, struct error *err)
{
    if (init->form == FORM_PLAN)
        return write_plan(init, in_type, err);
    tell_others(init);
    return write_shims(init, in_type, err) ||
                   write_file(init, init->folder, "plumb_kernel.h",
                              (const char *)asset_kernel_header, asset_kernel_header_size, err)
               ? -1
               : 0;
}

static int write_policy(const struct init *init, const char *folder, const char *in_type,
                        struct error *err)
{
    const struct arguments *a = init->arguments;
    struct buffer text = {0}, words = {0};
    buffer_puts(&words, "");
    for (size_t l = 0; l < LIBRARIES; l++) {
        if (init->links[l])
            buffer_puts(&words, libraries[l].word);
    }
    const struct shim_policy policy = {
        .form = init->form,
        .arch = a->arch ? a->arch : "90a",
        .outside = a->outside != NULL,
        .in_type = in_type,
        .libraries = words.bytes,
        .inputs = init->inputs,
        .input_count = init->whole_tree ? 0 : init->input_count,
    };
    shim_policy_write(&text, &policy);
    int status = write_file(init, folder, "plumb.cfg", text.bytes, text.length, err);
    buffer_free(&words);
    buffer_free(&text);
    return status;
}

static void tell_next(const struct init *init)
{
    const char *outside = init->arguments->outside;
    const bool cuda = init->form != FORM_HOST;
    const char *what = init->form == FORM_PLAN ? "plan" : "shim";
    printf("\n%s. Each %s is short: read it once.\nNext:\n", form_words[init->form], what);
    if (outside)
        printf("    plumb list kernels -p %s/plumb.cfg     builds HEAD and shows what it found\n"
               "    plumb gate -p %s/plumb.cfg             compares HEAD with its parent\n"
               "    plumb run HEAD~20.. -p %s/plumb.cfg    measures the last 20 commits\n",
               outside, outside, outside);
    else
        printf("    git add ci && git commit -m 'plumb: policy and kernels'\n"
               "    plumb list kernels        builds HEAD and shows what it found\n"
               "    plumb gate --base HEAD    compares HEAD with itself: all the same\n"
               "    plumb gate                after the next commit: HEAD with its parent\n");
    if (cuda)
        printf("Without a GPU, `plumb gate --static` compares the machine code.\n");
}

static int init_all(struct init *init, struct error *err)
{
    const struct arguments *a = init->arguments;
    struct repository *repository = NULL;
    const char *in_type = NULL;
    int status = -1;
    if (repository_open(&repository, a->options.repository ? a->options.repository : ".", err))
        return -1;
    const char *root = repository_directory(repository);
    char *top = a->outside ? xstrdup(a->outside) : xprintf("%s/ci", root);
    init->folder = a->outside ? xprintf("%s/overlay", top) : xstrdup(top);
    char *kernels = NULL;
    if (read_sources(init, repository, err) || choose_form(init, err))
        goto done;
    kernels = xprintf("%s/%s", init->folder, init->form == FORM_PLAN ? "plans" : "shims");
    if (make_folder(top, err) || make_folder(init->folder, err) || make_folder(kernels, err) ||
        write_kernels(init, &in_type, err) || write_policy(init, top, in_type, err))
        goto done;
    tell_next(init);
    status = 0;
done:
    free(kernels);
    free(top);
    free(init->folder);
    arena_free(&init->arena);
    repository_close(repository);
    return status;
}

static int run(enum conclusion *out, struct context *context, void *arguments, struct error *err)
{
    const struct arguments *a = arguments;
    struct init init = {.arguments = a};
    (void)out;
    (void)context;
    if (!a->print)
        return init_all(&init, err);
    fwrite(asset_policy, 1, asset_policy_size, stdout);
    return 0;
}

const struct command command_init = {
    .name = "init",
    .summary = "Write a policy, the kernel header and shims that build as they are",
    .options = own_options,
    .size = sizeof(struct arguments),
    .run = run,
    .doc = "Writes a policy, the kernel header and shims.\v"
           "It reads HEAD's .cu, .cuh and .c files and writes a shim for each function whose "
           "parameters it understands: m, n, k; a, b, c; alpha, beta; lda, ldb, ldc; a stream. "
           "Launchers come before kernels. Where it understands none it writes a first kernel. A "
           "kernel's grid is a guess; a wrong one gives wrong results, and the gate says so. "
           "With --form=plan it writes a first kernel without host code: a plan beside a cubin. "
           "CUTLASS device kernels are not written yet: a shim for CUTLASS is one by hand.",
};
