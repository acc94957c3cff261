// SPDX-License-Identifier: Apache-2.0
//
// plumb init: a policy, the ABI header and a shim for each kernel of a repository that it
// understands, or for a first kernel where there is none. What it writes builds and gates as it is.
#include "ci/command.h"
#include "ci/init/shims.h"
#include "ci/init/sources.h"
#include "reports/report.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

extern const unsigned char asset_policy[], asset_kernel_header[];
extern const size_t asset_policy_size, asset_kernel_header_size;

enum { SHIMS_MAX = 16 };

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
                "cuda-nn, cuda-tn, cuda-column, cutlass, host or plan [by the sources: cuda-nn, "
                "cutlass or host]",
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
    struct sources sources;
    size_t written;
    struct arena arena;
};

// ---- which form, and which functions ----

static size_t count_of(const struct init *init, enum callee callee, bool understood)
{
    size_t count = 0;
    for (size_t i = 0; i < init->sources.found.count; i++)
        count += init->sources.found.items[i].callee == callee &&
                 (!understood || init->sources.found.items[i].understood);
    return count;
}

static int choose_form(struct init *init, struct error *err)
{
    const char *asked = init->arguments->form;
    const bool cuda =
        count_of(init, CALLEE_KERNEL, false) || count_of(init, CALLEE_LAUNCHER, false);
    init->form = !cuda && count_of(init, CALLEE_HOST, true) ? FORM_HOST : FORM_CUDA_NN;
    if (count_of(init, CALLEE_CUTLASS, true) && !count_of(init, CALLEE_LAUNCHER, true))
        init->form = FORM_CUTLASS; // a kernel beside it is what it is checked with
    if (!asked)
        return 0;
    for (int i = 0; i < FORMS; i++) {
        if (strcmp(asked, form_names[i]) == 0) {
            init->form = (enum form)i;
            return 0;
        }
    }
    return error_set(err, "--form=%.40s: is cuda-nn, cuda-tn, cuda-column, cutlass, host or plan",
                     asked);
}

// Launchers know their kernels' grids; so kernels come second.
static enum callee wanted(const struct init *init)
{
    if (init->form == FORM_HOST || init->form == FORM_CUTLASS)
        return init->form == FORM_HOST ? CALLEE_HOST : CALLEE_CUTLASS;
    return count_of(init, CALLEE_LAUNCHER, true) ? CALLEE_LAUNCHER : CALLEE_KERNEL;
}

// Is a kernel of its form, had it been understood.
static bool is_missed(const struct init *init, const struct signature *s)
{
    const enum callee callee = wanted(init);
    const enum callee other = callee == CALLEE_LAUNCHER ? CALLEE_KERNEL : CALLEE_HOST;
    if (s->unnameable)
        return true;
    return !s->understood && s->callee != CALLEE_HOST && s->callee != other &&
           (callee != CALLEE_CUTLASS || s->callee == callee);
}

static void tell_others(const struct init *init)
{
    size_t told = 0;
    for (size_t i = 0; i < init->sources.found.count; i++) {
        const struct signature *s = &init->sources.found.items[i];
        if (is_missed(init, s) && ++told)
            printf("not understood: %.80s of %.120s: %s\n", s->name, s->file, s->why);
    }
    if (told && init->form != FORM_HOST)
        printf(
            "What is not understood is left to you: a copy of a shim, with the call as your code "
            "makes it;\nor no shim at all: [capture] in the policy takes what a program launches, "
            "of any form (kernels/CAPTURE.md).\n");
}

// ---- writing ----

static int make_folder(const char *path, struct error *err)
{
    if (mkdir(path, 0777) && errno != EEXIST)
        return error_set(err, "%s: %s", path, strerror(errno));
    return 0;
}

static bool holds(const char *path, const char *bytes, size_t size)
{
    FILE *file = fopen(path, "rb");
    size_t at = 0;
    int c = EOF;
    while (file && (c = getc(file)) != EOF && at < size && (char)c == bytes[at])
        at++;
    if (file)
        fclose(file);
    return file && c == EOF && at == size;
}

// What is there stays as it is, for it may have been edited since: init again writes what is
// missing.
static int write_file(const struct init *init, const char *folder, const char *name,
                      const char *bytes, size_t size, struct error *err)
{
    struct stat there;
    char *path = xprintf("%s/%s", folder, name);
    int status = 0;
    if (!init->arguments->force && lstat(path, &there) == 0)
        printf("kept %s%s\n", path,
               S_ISREG(there.st_mode) && holds(path, bytes, size)
                   ? ""
                   : ", which differs from what init writes; --force replaces it");
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
    const char *called = s->called ? s->called : s->name;
    size_t length = 0;
    for (; called[length] && length + 1 < sizeof(kernel); length++)
        kernel[length] = (char)tolower((unsigned char)called[length]);
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
    return a->understood && a->callee == b->callee &&
           strcasecmp(a->called ? a->called : a->name, b->called ? b->called : b->name) == 0;
}

// Of functions with one name, the first: two kernels cannot have the same. The others are called
// after their files.
static void name_apart(struct init *init)
{
    struct signature *items = init->sources.found.items;
    for (size_t i = 0; i < init->sources.found.count; i++) {
        const char *slash = strrchr(items[i].file, '/'), *stem = slash ? slash + 1 : items[i].file;
        for (size_t k = 0; k < i; k++) {
            if (!same_name(&items[k], &items[i]))
                continue;
            items[i].called = arena_printf(&init->arena, "%.*s_%s", (int)strcspn(stem, "."), stem,
                                           items[i].called ? items[i].called : items[i].name);
            break;
        }
    }
}

static bool is_first(const struct init *init, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (same_name(&init->sources.found.items[i], &init->sources.found.items[index]))
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

// The policy has problems of one kind: those of the first kernel.
static bool like_first(const struct signature *first, const struct signature *s)
{
    return !first->name || (strcmp(first->in_type, s->in_type) == 0 &&
                            (!s->layout || strcmp(first->layout, s->layout) == 0));
}

static int write_shims(struct init *init, struct signature *first, struct error *err)
{
    const struct signature_list *found = &init->sources.found;
    size_t others = 0;
    name_apart(init);
    for (size_t i = 0; i < found->count && init->written < SHIMS_MAX; i++) {
        const struct signature *s = &found->items[i];
        if (s->callee != wanted(init) || !s->understood)
            continue;
        if (!is_first(init, i)) {
            printf("left out: %.80s of %.120s: another kernel has its name\n", s->name, s->file);
            continue;
        }
        if (!like_first(first, s)) {
            others++;
            continue;
        }
        if (!first->name)
            *first = *s;
        if (write_shim(init, s, err))
            return -1;
    }
    if (others)
        printf("left out: %zu of other element types or layouts than %.80s has\n", others,
               first->name);
    if (init->written)
        return 0;
    puts(found->count ? "No function here is understood, so a first kernel is written."
                      : "HEAD has no function that could be a kernel, so a first one is written.");
    return write_example(init, first, err);
}

// A source, and the plan of the cubin that the build makes of it.
static int write_plan(struct init *init, struct signature *first, struct error *err)
{
    struct buffer source = {0}, plan = {0};
    shim_example(&source, first, init->form, "example_gemm.cu");
    shim_plan(&plan);
    int status =
        write_file(init, init->folder, "plans/example_gemm.cu", source.bytes, source.length, err);
    if (status == 0)
        status =
            write_file(init, init->folder, "plans/example_gemm.plan", plan.bytes, plan.length, err);
    buffer_free(&source);
    buffer_free(&plan);
    return status;
}

static int write_kernels(struct init *init, struct signature *first, struct error *err)
{
    if (init->form == FORM_PLAN)
        return write_plan(init, first, err);
    tell_others(init);
    return write_shims(init, first, err) ||
                   write_file(init, init->folder, "plumb_kernel.h",
                              (const char *)asset_kernel_header, asset_kernel_header_size, err)
               ? -1
               : 0;
}

static bool needs_cutlass(const struct init *init)
{
    return init->form == FORM_CUTLASS || (init->form < FORM_CUTLASS && init->sources.names_cutlass);
}

static int write_policy(const struct init *init, const char *folder, const struct signature *first,
                        struct error *err)
{
    const struct arguments *a = init->arguments;
    const struct sources *from = &init->sources;
    struct buffer text = {0};
    const struct shim_policy policy = {
        .form = init->form,
        .arch = a->arch ? a->arch : "90a",
        .outside = a->outside != NULL,
        .in_type = first->in_type,
        .out_type = first->out_type,
        .layout = first->layout,
        .with_cutlass = needs_cutlass(init),
        .cutlass = from->cutlass,
        .cutlass_below = from->cutlass_below,
        .libraries = from->libraries,
        .inputs = from->inputs,
        .input_count = from->whole_tree ? 0 : from->input_count,
    };
    shim_policy_write(&text, &policy);
    int status = write_file(init, folder, "plumb.cfg", text.bytes, text.length, err);
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
               "    plumb gate --base HEAD    launches each kernel once and checks it\n"
               "    plumb gate                after the next commit: HEAD with its parent\n");
    if (needs_cutlass(init) && init->sources.missing)
        printf("First: %s.\n", init->sources.missing);
    if (needs_cutlass(init) && !init->sources.cutlass)
        printf("CUTLASS itself is taken from $CUTLASS_PATH, /opt/cutlass without it.\n");
    if (cuda)
        printf("Without a GPU, `plumb gate --static` compares the machine code.\n");
}

static int init_all(struct init *init, struct error *err)
{
    const struct arguments *a = init->arguments;
    struct repository *repository = NULL;
    struct signature first = {.name = NULL};
    int status = -1;
    if (repository_open(&repository, a->options.repository ? a->options.repository : ".", err))
        return -1;
    const char *root = repository_directory(repository);
    if (!a->outside && repository_is_bare(repository)) {
        error_set(err, "%s: a bare repository has no checkout to write to; give --outside DIR",
                  root);
        repository_close(repository);
        return -1;
    }
    char *top = a->outside ? xstrdup(a->outside) : xprintf("%s/ci", root);
    init->folder = a->outside ? xprintf("%s/overlay", top) : xstrdup(top);
    char *kernels = NULL;
    if (sources_read(&init->sources, repository, &init->arena, err) || choose_form(init, err))
        goto done;
    kernels = xprintf("%s/%s", init->folder, init->form == FORM_PLAN ? "plans" : "shims");
    if (make_folder(top, err) || make_folder(init->folder, err) || make_folder(kernels, err) ||
        write_kernels(init, &first, err) || write_policy(init, top, &first, err))
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
           "Files that are there are kept. "
           "It reads HEAD's .cu, .cuh and .c files and writes a shim for each function whose "
           "parameters it understands: m, n, k; a, b, c; alpha, beta; lda, ldb, ldc; a stream. "
           "Launchers come before kernels. Where it understands none it writes a first kernel. A "
           "kernel's grid is a guess; a wrong one gives wrong results, and the gate says so. "
           "Device kernels of CUTLASS are `using NAME = cutlass::gemm::device::...` lines (Gemm, "
           "GemmUniversal, GemmUniversalAdapter) outside of functions. "
           "With --form=plan it writes a first kernel without host code: a plan beside a cubin.",
};
