// SPDX-License-Identifier: Apache-2.0
//
// plumb init: writes a policy, the ABI header, and a shim for each kernel of a repository that it
// understands; if there is none, for a first kernel. What it writes builds and gates as it is.
#include "ci/command.h"
#include "ci/gate/built.h"
#include "ci/init/init.h"
#include "reports/report.h"
#include "runner/bench/measure.h"
#include "runner/child/files.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern const unsigned char asset_policy[], asset_kernel_header[];
extern const size_t asset_policy_size, asset_kernel_header_size;

enum { SHIMS_MAX = 32 };

struct arguments {
    struct options options;
    const char *form, *arch, *outside;
    bool print, force, unchecked;
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
                "cuda-nn, cuda-tn, cuda-column, host, numbers or host-numbers [by "
                "the sources: cuda-nn, host or, where no kernel is a GEMM, numbers]",
                form),
    OPTION_OWN("arch", 0, "ARCH", "Architecture of CUDA code [90a]", take_arch,
               "such as 80, 90a or 100a"),
    OPTION_TEXT("outside", 0, "DIR",
                "Write there, not into the repository: its history is measured as it is", outside),
    OPTION_FLAG("print", 0, "Only print the policy, with every key", print),
    OPTION_FLAG("force", 0, "Replace files that are there", force),
    OPTION_FLAG("no-check", 0, "Build and launch nothing: what a source does not say is a guess",
                unchecked),
    {0},
};

// A function that gets a shim, and the result of trying the shim.
enum check { CHECK_NONE, CHECK_UNBUILT, CHECK_BUILDS, CHECK_WRONG, CHECK_RIGHT };

struct tried_shim {
    struct signature *s;
    const char *kernel; // its name in plumb
    struct call call;
    enum check check;
    const char *why; // why it is not right
    bool recorded;   // it is timed from a record of its launches
};

// One invocation.
struct init {
    const struct arguments *arguments;
    char *folder; // the folder of plumb_kernel.h and shims/
    enum form form;
    struct sources sources;
    struct tried_shim candidates[SHIMS_MAX];
    size_t count;
    size_t left;            // number of functions for which there is no room
    bool launched;          // the device is here, so shims are launched
    const char *unrecorded; // why launches could not be recorded; NULL: all could
    struct arena arena;
};

// ---- choosing the form and the functions ----

static size_t count_of(const struct init *init, enum callee callee, bool understood)
{
    size_t count = 0;
    for (size_t i = 0; i < init->sources.found.count; i++)
        count += init->sources.found.items[i].callee == callee &&
                 (!understood || init->sources.found.items[i].understood);
    return count;
}

// Whether there are kernels, but none is understood and no name says that it multiplies matrices.
static bool no_product(const struct init *init)
{
    for (size_t i = 0; i < init->sources.found.count; i++) {
        const struct signature *s = &init->sources.found.items[i];
        if (s->understood || s->unnameable || (s->product && s->callee != CALLEE_HOST))
            return false;
    }
    return true;
}

static int choose_form(struct init *init, struct error *err)
{
    const char *asked = init->arguments->form;
    const bool cuda =
        count_of(init, CALLEE_KERNEL, false) || count_of(init, CALLEE_LAUNCHER, false);
    const bool host =
        count_of(init, CALLEE_HOST, true) || (init->sources.names_c && !init->sources.names_cuda);
    init->form = !cuda && host ? FORM_HOST : FORM_CUDA_NN;
    if (cuda && no_product(init))
        init->form = FORM_NUMBERS;
    if (!asked)
        return 0;
    for (int i = 0; i < FORMS; i++) {
        if (strcmp(asked, form_names[i]) == 0) {
            init->form = (enum form)i;
            return 0;
        }
    }
    return error_set(err,
                     "--form=%.40s: is cuda-nn, cuda-tn, cuda-column, host, numbers or "
                     "host-numbers",
                     asked);
}

// Whether a function gets a shim. Launchers know their kernels' grids, so kernels are only used if
// there is no launcher.
static bool is_wanted(const struct init *init, const struct signature *s)
{
    if (init->form == FORM_HOST)
        return s->callee == CALLEE_HOST;
    return s->callee == CALLEE_LAUNCHER ||
           (s->callee == CALLEE_KERNEL && !s->covered && !count_of(init, CALLEE_LAUNCHER, true));
}

// Whether a function that was not understood would otherwise get a shim. If a launcher is not
// understood, its kernel may still be.
static bool is_missed(const struct init *init, const struct signature *s)
{
    if (s->unnameable)
        return true;
    return !s->understood && !s->covered && (s->callee != CALLEE_HOST || init->form == FORM_HOST);
}

static void tell_others(const struct init *init)
{
    size_t told = 0, others = 0;
    for (size_t i = 0; i < init->sources.found.count; i++) {
        const struct signature *s = &init->sources.found.items[i];
        if (!is_missed(init, s))
            continue;
        printf("not understood: %.80s of %.120s: %s\n", s->name, s->file, s->why);
        told++;
        others += !s->product;
    }
    if (told)
        printf("What is not understood is left to you: a copy of a shim, with the call as your "
               "code makes it%s\n",
               form_is_host(init->form)
                   ? "."
                   : ";\nor no shim at all: [capture] in the policy takes what a program launches, "
                     "of any form (kernels/CAPTURE.md).");
    if (others && init->form != FORM_NUMBERS)
        printf("Of kernels that are no GEMM `plumb init --form=numbers` writes an example.\n");
}

// ---- writing ----

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

// Writes a file, unless it exists, because it may have been edited. A second init writes the files
// that are missing.
static int write_file(const struct init *init, const char *folder, const char *name,
                      const char *bytes, size_t size, struct error *err)
{
    struct stat there;
    struct error why;
    char *path = xprintf("%s/%s", folder, name);
    int status = 0;
    if (!init->arguments->force && lstat(path, &there) == 0)
        printf("kept %s%s\n", path,
               S_ISREG(there.st_mode) && holds(path, bytes, size)
                   ? ""
                   : ", which differs from what init writes; --force replaces it");
    else if (report_replace_file(path, bytes, size, &why))
        status =
            error_set(err, "%.700s%s", why.text,
                      init->arguments->outside ? "" : "; `--outside DIR` writes to another folder");
    else
        printf("wrote %s\n", path);
    free(path);
    return status;
}

// Makes a kernel's name: lower case, beginning with a letter or digit.
static const char *kernel_name(const struct signature *s, struct arena *arena)
{
    const char *called = s->called ? s->called : s->name;
    char kernel[KERNEL_NAME_TEXT];
    size_t length = 0;
    for (; called[length] && length + 1 < sizeof(kernel); length++)
        kernel[length] = (char)tolower((unsigned char)called[length]);
    kernel[length] = '\0';
    const char *plain = kernel + strspn(kernel, "_");
    return arena_strdup(arena, *plain ? plain : "kernel");
}

// Whether the candidate's shim was renamed to NAME.off, so that the policy leaves it out.
static bool is_off(const struct tried_shim *c)
{
    return c->check == CHECK_WRONG || c->check == CHECK_UNBUILT;
}

// Writes a shim. If it is not right, it gets a name that no build uses, so that somebody can
// correct it.
static int write_shim(struct init *init, const struct tried_shim *c, struct error *err)
{
    struct buffer text = {0};
    const bool off = is_off(c);
    shim_write(&text, c->s, &c->call, c->kernel);
    char *name = xprintf("shims/%s.%s%s", c->kernel, init->form == FORM_HOST ? "c" : "cu",
                         off ? ".off" : "");
    const int status = write_file(init, init->folder, name, text.bytes, text.length, err);
    free(name);
    buffer_free(&text);
    return status;
}

static bool same_name(const struct signature *a, const struct signature *b)
{
    return a->understood && a->callee == b->callee &&
           strcasecmp(a->called ? a->called : a->name, b->called ? b->called : b->name) == 0;
}

static bool is_first(const struct init *init, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (same_name(&init->sources.found.items[i], &init->sources.found.items[index]))
            return false;
    }
    return true;
}

// Gives each function a name of its own, because two kernels cannot share a name. Of several
// functions with one name the first keeps it. The others get their file's name in front; if that
// name exists, too, they also get the names of their folders.
static void name_apart(struct init *init)
{
    for (size_t i = 0; i < init->sources.found.count; i++) {
        struct signature *s = &init->sources.found.items[i];
        const char *own = s->called ? s->called : s->name, *end = s->file + strlen(s->file);
        while (!is_first(init, i) && end > s->file) {
            const char *part = end;
            while (part > s->file && part[-1] != '/')
                part--;
            s->called = arena_printf(&init->arena, "%.*s_%s", (int)strcspn(part, *end ? "/" : "."),
                                     part, own);
            end = part > s->file ? part - 1 : part;
        }
    }
}

static void add_candidate(struct init *init, struct signature *s)
{
    struct tried_shim *c = &init->candidates[init->count++];
    *c = (struct tried_shim){.s = s, .kernel = kernel_name(s, &init->arena)};
    c->call = shim_call(init->form, s);
    // A kernel can be recorded if it launches its own code and is a GEMM. What a library such as
    // cuBLAS launches has no record.
    c->recorded =
        !form_is_host(init->form) && !form_is_numbers(init->form) && !init->sources.libraries[0];
}

static int add_example(struct init *init, struct error *err)
{
    static const char *const files[FORMS] = {[FORM_HOST] = "shims/example.h",
                                             [FORM_NUMBERS] = "shims/softmax.cu",
                                             [FORM_HOST_NUMBERS] = "shims/softmax.c"};
    const char *file = files[init->form] ? files[init->form] : "shims/example.cuh";
    struct signature *s = arena_alloc(&init->arena, sizeof(*s));
    struct buffer text = {0};
    shim_example(&text, s, init->form, file);
    const int status = write_file(init, init->folder, file, text.bytes, text.length, err);
    buffer_free(&text);
    add_candidate(init, s);
    return status;
}

static void find_candidates(struct init *init)
{
    const struct signature_list *found = &init->sources.found;
    name_apart(init);
    for (size_t i = 0; i < found->count; i++) {
        struct signature *s = &found->items[i];
        if (!s->understood || !is_wanted(init, s))
            continue;
        if (!is_first(init, i))
            printf("left out: %.80s of %.120s: another kernel has its name\n", s->name, s->file);
        else if (init->count == SHIMS_MAX)
            init->left++;
        else
            add_candidate(init, s);
    }
    if (init->left)
        printf("left out: %zu more; copy a shim for each that you want\n", init->left);
}

static void fill_policy(struct buffer *out, struct init *init, bool outside,
                        const struct shim_group *groups, size_t count)
{
    const struct sources *from = &init->sources;
    const bool host = form_is_host(init->form);
    const struct shim_policy policy = {
        .form = init->form,
        .arch = init->arguments->arch ? init->arguments->arch : "90a",
        .outside = outside,
        .groups = groups,
        .group_count = count,
        .libraries = from->libraries,
        .flags = arena_printf(&init->arena, "%s%s", from->folders, from->flags[host ? 0 : 1]),
        .inputs = from->inputs,
        .input_count = from->whole_tree ? 0 : from->input_count,
    };
    shim_policy_write(out, &policy);
}

// ---- trying shims ----
//
// A source does not tell how its matrices lie. So each function is built in all possible ways. The
// stopwatch opens one after the other, launches it once and checks every element; the first that is
// right is kept. All of this happens in a folder that is removed afterwards.

enum {
    LAYOUTS = 4,
    TRIES_MOST = 4 * LAYOUTS, // with each order of C's elements, and with C cleared before or not
    CHECK_SECONDS = 180,
    FUNCTION_SECONDS = 30,
    TRY_SECONDS = 10
};

struct checking {
    struct init *init;
    struct context context;
    struct built built;
    struct context_device device;
    struct bench *bench, *spare; // NULL: it must be started; the second one starts meanwhile
    const char *folder;
    bool quiet;     // no progress is shown
    double until_s; // a deadline, monotonic
};

// Lists the ways of calling a function, likely ones first, and then the same ways with a C that is
// cleared.
static size_t ways(struct call out[TRIES_MOST], const struct tried_shim *c)
{
    static const char *const layouts[LAYOUTS] = {"NN", "TN", "NT", "TT"};
    for (size_t i = 0; i < TRIES_MOST; i++)
        out[i] = (struct call){.layout = layouts[i / 2 % LAYOUTS],
                               .columns = i % 2,
                               .clear = i >= TRIES_MOST / 2,
                               .square = c->s->square};
    return TRIES_MOST;
}

static const char *try_name(size_t candidate, size_t way, struct arena *arena)
{
    return arena_printf(arena, "t%zu-%zu", candidate, way);
}

static int write_tries(struct checking *k, struct error *err)
{
    struct init *init = k->init;
    struct arena *arena = &init->arena;
    const char *top = arena_printf(arena, "%s/overlay", k->folder);
    const char *shims = arena_printf(arena, "%s/shims", top);
    struct call *calls = arena_alloc(arena, TRIES_MOST * sizeof(*calls));
    const char **names = arena_alloc(arena, TRIES_MOST * sizeof(*names));
    int status = files_make_directory(top, err) || files_make_directory(shims, err) ? -1 : 0;
    for (size_t i = 0; status == 0 && i < init->count; i++) {
        struct buffer text = {0};
        const size_t count = ways(calls, &init->candidates[i]);
        for (size_t w = 0; w < count; w++)
            names[w] = try_name(i, w, arena);
        shim_write_tries(&text, init->candidates[i].s, calls, names, count);
        status = report_replace_file(
            arena_printf(arena, "%s/t%zu.%s", shims, i, init->form == FORM_HOST ? "c" : "cu"),
            text.bytes, text.length, err);
        buffer_free(&text);
    }
    const struct shim_group group = {.name = "main", .in_type = "FP32", .layout = "NN"};
    struct buffer policy = {0};
    fill_policy(&policy, init, true, &group, 1);
    if (status == 0)
        status = report_replace_file(arena_printf(arena, "%s/plumb.cfg", k->folder), policy.bytes,
                                     policy.length, err) ||
                         report_replace_file(arena_printf(arena, "%s/plumb_kernel.h", top),
                                             (const char *)asset_kernel_header,
                                             asset_kernel_header_size, err)
                     ? -1
                     : 0;
    buffer_free(&policy);
    return status;
}

// Returns the lines of the log that name the source, or else the shim; errors of other shims do not
// concern this one. The caller frees.
static char *lines_of(const char *log, const char *shim, const char *source)
{
    struct buffer found = {0};
    for (int which = 0; which < 2 && !found.length; which++) {
        for (const char *line = log; *line;) {
            const size_t length = strcspn(line, "\n") + (line[strcspn(line, "\n")] == '\n');
            const char *named = strstr(line, which ? shim : source);
            if (named && named < line + length)
                buffer_add(&found, line, length);
            line += length;
        }
    }
    return found.bytes ? found.bytes : xstrdup("");
}

static const char undefined[] = "undefined symbol: "; // the loader's words

// Returns the compiler's message about one library, or the loader's.
static const char *why_unbuilt(const struct checking *k, size_t candidate)
{
    enum { LOG_MOST = 4 << 20 };
    const struct built *built = &k->built;
    const struct tried_shim *c = &k->init->candidates[candidate];
    struct arena *arena = &k->init->arena;
    const char *file = arena_printf(arena, "/t%zu.", candidate);
    const char *library = arena_printf(arena, "t%zu.so: ", candidate);
    struct build_error errors[BUILD_ERRORS];
    if (built->detail && strncmp(built->detail, library, strlen(library)) == 0) {
        const char *symbol = strstr(built->detail, undefined);
        return symbol ? arena_printf(arena, "%s, which another source has", symbol)
                      : built->detail + strlen(library);
    }
    char *whole = log_tail(built->failure.log ? built->failure.log : "", LOG_MOST);
    char *own = lines_of(whole, file, c->s->file);
    const size_t count = build_errors_find(errors, own, arena);
    free(own);
    free(whole);
    if (!count)
        return NULL;
    return errors[0].file[0] && !strstr(errors[0].file, file)
               ? arena_printf(arena, "%s:%u: %s", errors[0].file, errors[0].line, errors[0].text)
               : errors[0].text;
}

// Starts a bench. A child takes half a second to start on a GPU, and a launch out of bounds ends
// it; so the next one starts while this one works.
static int start(struct checking *k, struct error *err)
{
    struct error ignored;
    if (k->bench)
        return 0;
    k->bench = k->spare;
    k->spare = NULL;
    if (!k->bench &&
        context_begin_bench(&k->bench, &k->context, &k->device, k->built.directories, 1, err))
        return -1;
    if (bench_ready(k->bench, err)) {
        bench_stop(k->bench);
        k->bench = NULL;
        return -1;
    }
    if (context_begin_bench(&k->spare, &k->context, &k->device, k->built.directories, 1, &ignored))
        k->spare = NULL;
    return 0;
}

static void let_go(struct checking *k)
{
    bench_stop(k->bench);
    k->bench = NULL;
}

// Whether a record of its launches can be made; otherwise it is timed with its host code.
static bool is_recorded(struct checking *k, const struct bench_series *series)
{
    struct bench_outcome outcome;
    struct error ignored;
    const char *file = arena_printf(&k->init->arena, "%s/record", k->folder);
    if (start(k, &ignored))
        return false;
    const bool made = record_write(&outcome, file, k->bench, series, &ignored) == 0 &&
                      outcome.state == MEASURED_OK;
    if (!made) {
        k->init->unrecorded = arena_strdup(&k->init->arena, outcome.detail);
        let_go(k);
    }
    unlink(file);
    return made;
}

static int problem_for(struct problem *out, const struct init *init, const struct tried_shim *c,
                       const struct call *call, struct error *err)
{
    static const char *const sizes[2][2] = {{"512x768x256", "512x512x512"},
                                            {"128x192x64", "128x128x128"}};
    char text[PROBLEM_TEXT];
    snprintf(text, sizeof(text), "%s:%s-%s:%s", sizes[init->form == FORM_HOST][call->square],
             c->s->in_type, c->s->out_type, call->layout);
    for (char *at = text; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    return problem_parse(out, text, err);
}

// How far the trials of one function came.
struct tried {
    size_t count;
    bool reads_c;        // results were NaN, which C holds before a launch
    double nearest;      // the smallest error; 0: there was none
    const char *first;   // the result of the first way
    const char *near_by; // the result of the way with the smallest error
};

static void note_failure(struct tried *tried, const struct bench_outcome *outcome,
                         const struct call *call, struct arena *arena)
{
    if (!tried->first)
        tried->first = arena_strdup(arena, outcome->detail);
    tried->reads_c |= strstr(outcome->detail, "= nan") || strstr(outcome->detail, "= -nan");
    if (outcome->max_error > 0 && (!(tried->nearest > 0) || outcome->max_error < tried->nearest)) {
        tried->nearest = outcome->max_error;
        tried->near_by =
            arena_printf(arena, "%s (C = A B%s)", outcome->detail, shim_call_words(call, arena));
    }
}

// Tries one way of one candidate: 1 when it is right. -1: the device is gone.
static int try_way(struct checking *k, struct tried_shim *c, const struct built_kernel *kernel,
                   const struct call *call, struct tried *tried, struct error *err)
{
    struct problem problem;
    struct bench_outcome outcome;
    struct bench_handle handle;
    if (problem_for(&problem, k->init, c, call, err) || start(k, err))
        return -1;
    const struct bench_series series = {.kernel = kernel->name,
                                        .problem = &problem,
                                        .head = kernel->library,
                                        .seed = bench_draw_seed()};
    if (bench_open(&outcome, &handle, k->bench, &series, err))
        return -1;
    tried->count++;
    if (outcome.state == MEASURED_OK) {
        if (bench_close(&outcome, k->bench, &handle, err))
            return -1;
        c->recorded = k->init->form != FORM_HOST && is_recorded(k, &series);
        c->call = *call;
        return 1;
    }
    note_failure(tried, &outcome, call, &k->init->arena);
    // After a bad launch, the context of a GPU may be unusable.
    if (outcome.gone || outcome.state != MEASURED_WRONG)
        let_go(k);
    return 0;
}

// Tries all ways, for any sizes or only for m = n = k. 1: one is right.
static int try_ways(struct checking *k, size_t index, bool square, double until_s,
                    struct tried *tried, struct error *err)
{
    struct tried_shim *c = &k->init->candidates[index];
    struct call *calls = arena_alloc(&k->init->arena, TRIES_MOST * sizeof(*calls));
    const size_t count = ways(calls, c);
    const char *device = k->init->form == FORM_HOST ? "host" : "cuda";
    int right = 0;
    for (size_t w = 0; right == 0 && w < count && monotonic_s() < until_s; w++) {
        if (calls[w].clear && !tried->reads_c)
            break;
        calls[w].square = square;
        const char *name = try_name(index, w, &k->init->arena);
        const struct built_kernel *kernel = built_find(&k->built, name, device);
        // A child reports each launch out of bounds, of which there may be a hundred.
        k->context.progress.quiet = k->quiet;
        progress_step(&k->context.progress, "%s, way %zu", c->kernel, tried->count + 1);
        k->context.progress.quiet = true;
        if (!kernel)
            return error_set(err, "a build without its kernel %s", name);
        right = try_way(k, c, kernel, &calls[w], tried, err);
    }
    return right;
}

static int try_candidate(struct checking *k, size_t index, struct error *err)
{
    struct tried_shim *c = &k->init->candidates[index];
    const double until_s = fmin(k->until_s, monotonic_s() + FUNCTION_SECONDS);
    struct tried tried = {0};
    int right = c->s->square ? 0 : try_ways(k, index, false, until_s, &tried, err);
    if (right == 0)
        right = try_ways(k, index, true, until_s, &tried, err);
    if (right < 0)
        return -1;
    c->check = right ? CHECK_RIGHT : CHECK_WRONG;
    if (!right)
        c->why = arena_printf(&k->init->arena, "in %zu ways%s; %s", tried.count,
                              monotonic_s() < until_s ? "" : ", and the time was over",
                              tried.near_by ? tried.near_by
                              : tried.first ? tried.first
                                            : "none was tried");
    return 0;
}

// Completes libraries that lack a function of another source: that source is compiled into all that
// cannot be loaded. The loader names one missing function; if more are missing, a message says so.
static bool complete(struct checking *k)
{
    struct init *init = k->init;
    const char *detail = k->built.detail ? k->built.detail : "";
    const char *symbol = strstr(detail, undefined);
    const bool host = init->form == FORM_HOST;
    const char *source =
        symbol ? sources_defining(&init->sources, symbol + strlen(undefined), host ? ".c" : ".cu")
               : NULL;
    bool any = false;
    for (size_t i = 0; source && i < init->count; i++) {
        struct signature *s = init->candidates[i].s;
        if (s->beside || strcmp(s->file, source) == 0 ||
            built_find(&k->built, try_name(i, 0, &init->arena), host ? "host" : "cuda"))
            continue;
        s->beside = source;
        any = true;
    }
    return any;
}

static int open_checking(struct checking *k, const struct options *options, struct error *err)
{
    struct context *context = &k->context;
    struct commit *head = arena_alloc(&k->init->arena, sizeof(*head));
    if (context_open(context, options, err) ||
        repository_commit(head, context->repository, "HEAD", &k->init->arena, err) ||
        context_policy(context, "", err) || context_store(context, STORE_WRITE, err) ||
        context_builder(context, err))
        return -1;
    context->policy.timeout_s = TRY_SECONDS;
    progress_note(&context->progress, "building %zu %s in every way that its source leaves open",
                  k->init->count, plural(k->init->count, "shim", "shims"));
    if (built_make(&k->built, context, &(struct to_build){.commit = head}, &k->init->arena, err))
        return -1;
    k->device = (struct context_device){.policy = &context->policy.devices[0]};
    k->until_s = monotonic_s() + CHECK_SECONDS;
    return 0;
}

// Sorts candidates by whether they were built. Returns 1 if some were built, or the log gives a
// reason for some. If nothing was built and the log names none of them, the cause lies elsewhere: a
// compiler is missing.
static int sort_built(struct checking *k)
{
    struct init *init = k->init;
    const char *device = init->form == FORM_HOST ? "host" : "cuda";
    int any = 0;
    for (size_t i = 0; i < init->count; i++) {
        struct tried_shim *c = &init->candidates[i];
        const bool built = built_find(&k->built, try_name(i, 0, &init->arena), device);
        c->check = built ? CHECK_BUILDS : CHECK_UNBUILT;
        c->why = built ? NULL : why_unbuilt(k, i);
        any |= built || c->why;
    }
    for (size_t i = 0; any && i < init->count; i++) {
        if (init->candidates[i].check == CHECK_UNBUILT && !init->candidates[i].why)
            init->candidates[i].why = "it is not built, or cannot be loaded";
    }
    return any;
}

static int try_all(struct checking *k, struct error *err)
{
    struct init *init = k->init;
    struct error absent;
    if (!sort_built(k)) {
        for (size_t i = 0; i < init->count; i++)
            init->candidates[i].check = CHECK_NONE;
        return error_set(err, "none builds: %s", k->built.detail ? k->built.detail : "");
    }
    init->launched = start(k, &absent) == 0;
    for (size_t i = 0; init->launched && i < init->count; i++) {
        if (init->candidates[i].check == CHECK_BUILDS && try_candidate(k, i, err))
            return -1;
    }
    return 0;
}

static void tell_check(const struct init *init)
{
    static const char *const words[] = {[CHECK_NONE] = "not tried",
                                        [CHECK_UNBUILT] = "does not build",
                                        [CHECK_BUILDS] = "builds",
                                        [CHECK_WRONG] = "wrong",
                                        [CHECK_RIGHT] = "right"};
    struct arena arena = {0};
    bool off = false;
    for (size_t i = 0; i < init->count; i++) {
        const struct tried_shim *c = &init->candidates[i];
        const bool by_code = c->check == CHECK_RIGHT && !c->recorded && init->form != FORM_HOST;
        printf("%-14s %.80s of %.120s%s%s%s\n", words[c->check], c->s->name, c->s->file,
               c->check == CHECK_RIGHT ? shim_call_words(&c->call, &arena) : "",
               by_code ? ", with its host code" : "",
               c->why ? arena_printf(&arena, ": %s", c->why) : "");
        off = off || is_off(c);
    }
    if (off)
        printf("A shim that is not right ends in .off: call the function in it as your code does, "
               "and rename it; or, where a program launches it, `plumb capture` needs none. A "
               "header that is not found needs its folder: -I in build.command, "
               "and an `input =` line.\n");
    if (init->unrecorded)
        printf("What is timed with its host code cannot be recorded: %s.\n", init->unrecorded);
    if (!init->launched)
        printf("No GPU is here, so nothing was launched: layouts and grids are guesses. Where one "
               "is, `plumb init --force` tries them.\n");
    arena_free(&arena);
}

// Tries the shims. If they cannot be tried, that is no error: all of them are written as they are.
static void check_candidates(struct init *init)
{
    const struct arguments *a = init->arguments;
    char folder[] = "/tmp/plumb-init-XXXXXX";
    struct checking k = {.init = init, .folder = folder};
    struct error err, ignored;
    if (a->unchecked || !init->count || !init->sources.committed)
        return;
    if (!mkdtemp(folder)) {
        printf("Nothing was tried: %s: %s\n", folder, strerror(errno));
        return;
    }
    const struct options options = {
        .repository = a->options.repository,
        .policy = arena_printf(&init->arena, "%s/plumb.cfg", folder),
        .store = arena_printf(&init->arena, "%s/store.db", folder),
        .cache = arena_printf(&init->arena, "%s/cache", folder),
    };
    bool opened = write_tries(&k, &err) == 0 && open_checking(&k, &options, &err) == 0;
    if (opened && complete(&k)) {
        context_close(&k.context);
        opened = write_tries(&k, &err) == 0 && open_checking(&k, &options, &err) == 0;
    }
    const bool tried = opened && try_all(&k, &err) == 0;
    let_go(&k);
    bench_stop(k.spare);
    if (k.context.options)
        context_close(&k.context);
    if (tried)
        tell_check(init);
    else
        printf("Not all was tried: %s\n", err.text);
    (void)files_remove(folder, &ignored);
}

// ---- writing the result ----

static int write_shims(struct init *init, struct error *err)
{
    size_t on = 0;
    for (size_t i = 0; i < init->count; i++) {
        if (write_shim(init, &init->candidates[i], err))
            return -1;
        on += !is_off(&init->candidates[i]);
    }
    if (on)
        return 0;
    puts(init->count ? "No function here is right yet, so a first kernel is written."
         : init->sources.found.count ? "No function here is understood, so a first kernel is "
                                       "written."
         : !init->sources.committed  ? "There is no commit yet, and only committed sources are "
                                       "read: commit yours, then `plumb init --force`. A first "
                                       "kernel is written."
                                     : "HEAD has no function that could be a kernel, so a first "
                                       "one is written.");
    if (init->form == FORM_HOST && init->sources.names_cpp)
        puts("C++ is not searched for kernels of a CPU: a shim that includes it is yours to write, "
             "with a build.command that compiles it.");
    if (!init->count && init->form == FORM_HOST && init->sources.names_c)
        puts("Of functions that are no GEMM `plumb init --form=host-numbers` writes an example.");
    init->count = 0;              // these have been reported, and their shims lie beside
    init->sources.missing = NULL; // the first kernel does not need it
    if (add_example(init, err))
        return -1;
    return write_shim(init, &init->candidates[0], err);
}

static int write_kernels(struct init *init, struct error *err)
{
    int status;
    tell_others(init);
    if (form_is_numbers(init->form)) {
        status = add_example(init, err);
    } else {
        find_candidates(init);
        check_candidates(init);
        status = write_shims(init, err);
    }
    return status || write_file(init, init->folder, "plumb_kernel.h",
                                (const char *)asset_kernel_header, asset_kernel_header_size, err)
               ? -1
               : 0;
}

static bool same_group(const struct shim_group *g, const struct tried_shim *c)
{
    return strcmp(g->in_type, c->s->in_type) == 0 && strcmp(g->out_type, c->s->out_type) == 0 &&
           strcmp(g->layout, c->call.layout) == 0 && g->recorded == c->recorded &&
           g->square == c->call.square;
}

// Kernels of one type and layout share a set of problems; that of the first kernel is "main".
static size_t group_all(struct shim_group groups[SHIMS_MAX], struct init *init)
{
    size_t count = 0;
    for (size_t i = 0; i < init->count; i++) {
        const struct tried_shim *c = &init->candidates[i];
        size_t g = 0;
        if (is_off(c))
            continue;
        while (g < count && !same_group(&groups[g], c))
            g++;
        if (g == count) {
            const char *how = c->recorded || init->form == FORM_HOST ? "" : "-library";
            const char *name =
                arena_printf(&init->arena, "%s-%s-%s%s%s", c->s->in_type, c->s->out_type,
                             c->call.layout, how, c->call.square ? "-square" : "");
            groups[count++] = (struct shim_group){
                .name = g ? name : "main",
                .in_type = c->s->in_type,
                .out_type = c->s->out_type,
                .layout = c->call.layout,
                .recorded = c->recorded,
                .square = c->call.square,
                .kernels = arena_alloc(&init->arena, SHIMS_MAX * sizeof(char *))};
        }
        groups[g].kernels[groups[g].kernel_count++] = c->kernel;
    }
    return count;
}

static int write_policy(struct init *init, const char *folder, struct error *err)
{
    struct shim_group groups[SHIMS_MAX];
    struct buffer text = {0};
    const size_t count = group_all(groups, init);
    fill_policy(&text, init, init->arguments->outside != NULL, groups, count);
    int status = write_file(init, folder, "plumb.cfg", text.bytes, text.length, err);
    buffer_free(&text);
    return status;
}

static void tell_next(const struct init *init)
{
    const char *outside = init->arguments->outside;
    const bool cuda = !form_is_host(init->form);
    printf("\n%s. Each shim is short: read it once.\nNext:\n", form_words[init->form]);
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
    if (init->sources.missing)
        printf("First: %s.\n", init->sources.missing);
    if (cuda)
        printf("A kernel that a program launches needs no shim: `plumb capture --write -- "
               "PROGRAM`.\nWithout a GPU, `plumb gate --static` compares the machine code.\n");
}

static int init_all(struct init *init, struct error *err)
{
    const struct arguments *a = init->arguments;
    struct repository *repository = NULL;
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
    kernels = xprintf("%s/shims", init->folder);
    if (files_make_directory(top, err) || files_make_directory(init->folder, err) ||
        files_make_directory(kernels, err) || write_kernels(init, err) ||
        write_policy(init, top, err))
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

static bool writes(const void *arguments)
{
    const struct arguments *a = arguments;
    return !a->print;
}

static const struct option_use uses[] = {
    {"repo form arch force no-check outside", writes, "writing files; --print writes none"}, {0}};

const struct command command_init = {
    .name = "init",
    .summary = "Write a policy, the kernel header and shims that build as they are",
    .options = own_options,
    .uses = uses,
    .size = sizeof(struct arguments),
    .run = run,
    .doc = "Writes a policy, the kernel header and shims.\v"
           "Files that exist stay as they are. init reads HEAD's .cu, .cuh and .c files, and "
           "writes a shim for each function whose parameters it understands: m, n, k; a, b, c; "
           "alpha, beta; lda, ldb, ldc; a stream. It prefers launchers to kernels. If it "
           "understands no function it writes a first kernel. It builds each shim in every "
           "layout. If the device is on this machine, it launches them until one gives the right "
           "result, and keeps that one. A shim that is never right lies beside the others as "
           "NAME.off. The grid of a kernel that no function launches is a guess: where a program "
           "launches it, `plumb capture` needs neither grid nor shim. Flags and include folders "
           "come from the CMakeLists.txt, Makefile or compile_commands.json of HEAD.",
};
