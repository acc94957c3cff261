// SPDX-License-Identifier: Apache-2.0
//
// bench: the trusted child that times kernels. It owns device memory, inputs, timing and checking;
// libraries under test only launch. Driven by `plumb` over its standard input and output
// (model/wire.h), or by hand.
#include "kernels/bench/bench.h"

#include "kernels/bench/arm.h"
#include "kernels/bench/module.h"
#include "kernels/bench/series.h"
#include "kernels/device/call.h"
#include "kernels/device/check.h"
#include "kernels/device/device.h"
#include "model/csv.h"
#include "model/record/record.h"
#include "model/wire.h"

#include <dlfcn.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_FAILED = 4 };

struct time_options {
    const char *head, *base, *kernel, *base_kernel, *problem, *pin, *csv;
    uint32_t pairs, blocks, launches, runup, places;
    uint32_t instances; // instances of each record; 0: as in a gate
    uint64_t seed;
    enum regime regime;
    bool regime_named;
    enum flush flush;
    bool flush_named;
    unsigned variant;
    bool warm, inside, apart, head_first, solo;
};

// ---- the driver ----

// Puts a stand-in where the CUDA driver is missing, so that libraries load and their kernels can be
// listed. Nothing is launched through it.

extern const unsigned char stand_in_libcuda[];

extern const size_t stand_in_libcuda_size;

extern const unsigned char stand_in_libcudart[];

extern const size_t stand_in_libcudart_size;

static void bench_end_if_lost(struct open_bench *bench, const char *text);
static int bench_wake(struct open_bench *bench, struct error *err);

// Loads a library from these bytes for the rest of the process. The loader recognises it by the
// name that it carries, and loads no other library of that name. It also recognises it by the
// descriptor, which therefore stays taken.
static void load_bytes(const unsigned char *bytes, size_t size, int flags)
{
    char path[64];
    const int memory = memfd_create("stand_in", MFD_CLOEXEC);
    if (memory < 0)
        return;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", memory);
    if (write(memory, bytes, size) == (ssize_t)size)
        dlopen(path, RTLD_NOW | RTLD_NODELETE | flags);
}

// Loads two stand-ins, in a process that launches nothing. A library that is linked with -lcuda
// needs libcuda.so.1, which comes with the driver; if no driver is installed, stand_in/libcuda.c
// takes that name. And stand_in/libcudart.c comes before the CUDA runtime, for all libraries loaded
// later. If this fails, nothing is loaded, and the loader refuses libraries that need the driver
// and names it.
static void stand_in(void)
{
    if (!dlopen("libcuda.so.1", RTLD_LAZY))
        load_bytes(stand_in_libcuda, stand_in_libcuda_size, RTLD_LOCAL);
    load_bytes(stand_in_libcudart, stand_in_libcudart_size, RTLD_GLOBAL);
}

// ---- by hand: list, time, calibrate ----

// The estimate of a block is the 10 % trimmed mean of its pairs' log ratios. Its standard error
// comes from the winsorised standard deviation (R. Wilcox, Introduction to Robust Estimation and
// Hypothesis Testing, 2012, section 3.3): s_w / ((1 - 2 g) sqrt(n)), g = 0.1.

static const double TRIM = 0.1;

enum { EXIT_BROKEN = 3 };

int bench_list(FILE *out, char **libraries, int count)
{
    struct error err;
    int code = 0;
    stand_in();
    for (int i = 0; i < count; i++) {
        struct module module = MODULE_NONE;
        if (module_load(&module, libraries[i], false, &err)) {
            fprintf(stderr, "bench: %s\n", err.text);
            code = EXIT_FAILED;
            continue;
        }
        for (uint32_t k = 0; k < module_count(&module); k++) {
            const struct plumb_kernel kernel = module_kernel(&module, k);
            const struct traits t = module_traits(&kernel);
            fprintf(out, "%-24s %-5s %s->%s tile %dx%dx%d stages %d threads %d  %s\n", kernel.name,
                    module.library->device, dtype_name(t.in), dtype_name(t.out), t.tile_m, t.tile_n,
                    t.tile_k, t.stages, t.threads, kernel.summary ? kernel.summary : "");
        }
        module_release(&module);
    }
    return count ? code : EXIT_FAILED;
}

struct collected {
    struct sample *samples;
    size_t count;
    FILE *csv;
    const struct time_options *options;
    const struct timed_series *series;
};

static void collect(void *state, const struct sample *sample)
{
    struct collected *c = state;
    const bool base = sample->role == ROLE_BASE;
    c->samples[c->count++] = *sample;
    if (!c->csv)
        return;
    struct buffer out = {0};
    struct csv_line row = {.out = &out};
    csv_text(&row, base && c->options->base_kernel ? c->options->base_kernel : c->options->kernel);
    csv_text(&row, c->options->problem);
    csv_text(&row, base ? "base" : "head");
    const double figures[] = {sample->block,    sample->pair,
                              sample->order,    sample->launches,
                              sample->time_ns,  sample->clock_hz,
                              sample->throttle, sample->temperature_c,
                              sample->power_mw, series_waited_ns(c->series)};
    for (size_t i = 0; i < ARRAY_COUNT(figures); i++)
        csv_real(&row, figures[i]);
    csv_end(&row, "\n");
    buffer_print(&out, c->csv);
}

struct summary {
    double mean, sd, error; // trimmed; winsorised; standard error of the mean
};

// Sorts `values`.
static struct summary summarise(double *values, size_t count)
{
    struct summary s = {0};
    const size_t cut = (size_t)(TRIM * (double)count);
    double winsorised = 0, squares = 0;
    if (count < 2)
        return (struct summary){count ? values[0] : 0, 0, 0};
    qsort(values, count, sizeof(*values), rising_doubles);
    for (size_t i = 0; i < count; i++) {
        double kept = values[i < cut ? cut : i >= count - cut ? count - cut - 1 : i];
        winsorised += kept / (double)count;
        if (i >= cut && i < count - cut)
            s.mean += values[i] / (double)(count - 2 * cut);
    }
    for (size_t i = 0; i < count; i++) {
        double kept = values[i < cut ? cut : i >= count - cut ? count - cut - 1 : i];
        squares += (kept - winsorised) * (kept - winsorised);
    }
    s.sd = sqrt(squares / (double)(count - 1));
    s.error = s.sd / ((1 - 2 * TRIM) * sqrt((double)count));
    return s;
}

static struct summary of_role(const struct collected *c, size_t from, enum sample_role role,
                              bool clock, double *scratch)
{
    size_t count = 0;
    for (size_t i = from; i < c->count; i++) {
        if (c->samples[i].role == role)
            scratch[count++] = clock ? c->samples[i].clock_hz : c->samples[i].time_ns;
    }
    return summarise(scratch, count);
}

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

// took_ns: time of the block, with everything between its samples.
static void print_block(FILE *out, const struct collected *c, double took_ns, uint32_t block,
                        const struct problem *problem, double *scratch)
{
    const size_t from = 0;
    const struct summary head = of_role(c, from, ROLE_HEAD, false, scratch);
    const struct summary clock = of_role(c, from, ROLE_HEAD, true, scratch);
    fprintf(out, "block %u head_us %.3f sd_pct %.3f clock_ghz %.4f tflops %.2f", block,
            head.mean * 1e-3, 100 * head.sd / head.mean, clock.mean * 1e-9,
            problem_flops(problem) / head.mean * 1e-3);
    if (c->options->base) {
        size_t count = 0;
        for (size_t i = from; i + 1 < c->count; i += 2) {
            double ratio = log(c->samples[i].time_ns / c->samples[i + 1].time_ns);
            scratch[count++] = c->samples[i].role == ROLE_HEAD ? ratio : -ratio;
        }
        const struct summary ratio = summarise(scratch, count);
        fprintf(out, " base_us %.3f ratio_pct %+.4f pair_sd_pct %.3f se_pct %.4f z %+.2f",
                of_role(c, from, ROLE_BASE, false, scratch).mean * 1e-3, 100 * ratio.mean,
                100 * ratio.sd, 100 * ratio.error, ratio.error > 0 ? ratio.mean / ratio.error : 0);
    }
    fprintf(out, " each_us %.1f\n", took_ns / c->options->pairs * 1e-3);
    fflush(out);
}

static int time_blocks(struct open_bench *bench, struct timed_series *series, struct collected *c,
                       const struct problem *problem, struct error *err)
{
    const struct time_options *o = c->options;
    double *scratch = xcalloc((size_t)o->pairs * 2, sizeof(*scratch));
    int failed = 0;
    for (uint32_t block = 0; block < o->blocks && !failed; block++) {
        const double begun_ns = now_ns();
        c->count = 0;
        failed = (o->base ? series_pairs : series_solo)(series, o->pairs, (uint16_t)block, collect,
                                                        c, err);
        if (!failed)
            print_block(bench->out, c, now_ns() - begun_ns, block, problem, scratch);
    }
    free(scratch);
    return failed;
}

static int print_state(FILE *out, const char *when, const struct series_state *state)
{
    if (state->baton_ns > 0)
        fprintf(out, "%s baton_us %.2f\n", when, state->baton_ns * 1e-3);
    fprintf(out, "%s state %s role %s error %.3g tolerance %.3g launches %u note %s\n", when,
            measurement_state_name(state->state), state->role == ROLE_BASE ? "base" : "head",
            state->error, state->tolerance, state->launches, state->note);
    return state->state == MEASURED_OK ? 0 : EXIT_BROKEN;
}

// Opens a series and times it. It stays open, so that the next series gets another place in memory.
static int time_place(struct timed_series **out, struct open_bench *bench, struct collected *c,
                      const struct series_spec *spec, struct error *err)
{
    struct series_state state;
    if (series_open(out, &state, bench->ops, bench->device, spec, err))
        return -1;
    const int code = print_state(bench->out, "opened", &state);
    c->series = *out;
    return *out ? time_blocks(bench, *out, c, &spec->problem, err) : code;
}

static int close_place(struct open_bench *bench, struct timed_series *series, struct error *err)
{
    struct series_state state;
    if (series_close(&state, series, err))
        return -1;
    return print_state(bench->out, "closed", &state);
}

static int time_series(struct open_bench *bench, struct collected *c,
                       const struct series_spec *spec, struct error *err)
{
    struct timed_series **open = xcalloc(c->options->places, sizeof(struct timed_series *));
    struct series_spec here = *spec;
    int code = 0;
    for (uint32_t i = 0; i < c->options->places && code == 0; i++) {
        code = time_place(&open[i], bench, c, &here, err);
        here.seed++;
    }
    for (uint32_t i = 0; i < c->options->places; i++) {
        if (open[i] && code == 0)
            code = close_place(bench, open[i], err);
        if (open[i] && bench->device->loss == DEVICE_OK)
            series_free(open[i]);
    }
    free(open);
    return code;
}

// The regime that --regime or the problem names; --warm and --flush make it cold.
static enum regime regime_of(const struct time_options *o, const struct problem *problem,
                             const char *device_kind)
{
    if (o->regime_named)
        return o->regime;
    if (problem->regime_named)
        return problem->regime;
    return o->warm || o->flush_named ? REGIME_COLD : regime_usual(device_kind);
}

// bench time ...
static int bench_time(struct open_bench *bench, const struct time_options *o)
{
    struct error err = {""};
    struct collected c = {.options = o};
    struct series_spec spec = {.kernel = o->kernel,
                               .base_kernel = o->base_kernel,
                               .head = o->head,
                               .base = o->base,
                               .seed = o->seed,
                               .known = o->seed,
                               .pins = {o->pin, o->pin},
                               .head_first = o->head_first,
                               .flush = o->flush,
                               .runup = o->runup,
                               .launches = o->launches,
                               .instances = o->instances,
                               .variant = o->variant,
                               .warm = o->warm,
                               .inside = o->inside,
                               .apart = o->apart};
    int code = -1;
    if (!o->head || !o->kernel || !o->problem) {
        error_set(&err, "time needs --head, --kernel and --problem; try bench --help");
        goto done;
    }
    if (o->base_kernel && !o->base) {
        error_set(&err, "--base-kernel needs --base; try bench --help");
        goto done;
    }
    if (problem_parse(&spec.problem, o->problem, &err))
        goto done;
    spec.regime = regime_of(o, &spec.problem, bench->ops->kind);
    if (spec.regime != REGIME_COLD && (o->warm || o->flush_named)) {
        error_set(&err, "--warm and --flush are for the regime cold; the regime %s has its own",
                  regime_name(spec.regime));
        goto done;
    }
    if (o->csv && !(c.csv = fopen(o->csv, "we"))) {
        error_set(&err, "%s: %s", o->csv, strerror(errno));
        goto done;
    }
    if (c.csv)
        fputs("kernel,problem,role,block,pair,order,launches,time_ns,clock_hz,throttle,"
              "temperature_c,power_mw,waited_ns\n",
              c.csv);
    c.samples = xcalloc((size_t)o->pairs * 2, sizeof(*c.samples));
    code = time_series(bench, &c, &spec, &err);
done:
    if (code < 0) {
        fprintf(stderr, "bench: %s\n", err.text);
        code = EXIT_FAILED;
    }
    if (c.csv && fclose(c.csv)) {
        fprintf(stderr, "bench: %s: %s\n", o->csv, strerror(errno));
        code = EXIT_FAILED;
    }
    free(c.samples);
    if (bench->device->loss != DEVICE_OK)
        bench_end_if_lost(bench, err.text);
    return code;
}

struct printer {
    FILE *out;
    size_t count;
};

static void print_figure(void *state, const struct calibration *reading)
{
    struct printer *printer = state;
    printer->count++;
    fprintf(printer->out, "%-24s %-14.6g cv %.2f %% of %d%s  %s\n", reading->key, reading->value,
            100 * reading->cv, reading->repeats, reading->stable ? "" : "  UNSTABLE",
            reading->note);
    fflush(printer->out);
}

int bench_calibrate(struct open_bench *bench, const char *only)
{
    struct printer printer = {bench->out, 0};
    struct error err;
    int failed = bench->ops->calibrate(bench->device, only, print_figure, &printer, &err);
    if (!failed && printer.count == 0)
        failed = error_set(&err, "calibrate: this device has no figure '%.60s'", only);
    if (failed) {
        fprintf(stderr, "bench: %s\n", err.text);
        bench_end_if_lost(bench, err.text);
        return EXIT_FAILED;
    }
    return 0;
}

// ---- the child's side of model/wire.h ----

// Every command is answered by `done` or `fail`.

enum { SERIES_MAX = 1024, COUNT_MAX = 1000000 };

struct open_series {
    int64_t id;
    struct timed_series *series;
    enum regime regime;
    bool has_base;
    uint64_t changes; // `changes` of the protocol, at the time of the last settling
};

struct protocol {
    struct open_bench *bench;
    size_t figures; // sent by this calibrate
    struct open_series open[SERIES_MAX];
    size_t count;
    uint64_t changes; // how often series were opened or closed
    bool placed;      // the parent has said which processors are our own
    char singly[64];  // the kernel that tell_singly() last told about
    bool told_bare;   // what arm_bare() says has been told
};

static void put(struct open_bench *bench, struct wire_line *line)
{
    fputs(wire_end(line), bench->out);
}

static void put_text(struct open_bench *bench, const char *record, const char *text)
{
    struct wire_line line;
    wire_begin(&line, record);
    if (text)
        wire_add_text(&line, "text", text);
    put(bench, &line);
    fflush(bench->out);
}

// Ends the process when a kernel has poisoned the device (abort: the parent sees a crash) or the
// device is gone (exit 40); otherwise returns. `text` goes to the parent as a note.
static void bench_end_if_lost(struct open_bench *bench, const char *text)
{
    if (!bench->device || bench->device->loss == DEVICE_OK)
        return;
    put_text(bench, "note", text);
    fflush(NULL);
    // On a device that does not answer, nothing can be freed.
    if (bench->device->loss == DEVICE_POISONED)
        abort();
    _Exit(EXIT_NO_DEVICE);
}

static void greet(struct open_bench *bench, const char *kind, const struct device_info *info)
{
    struct wire_line line;
    wire_begin(&line, "hello");
    wire_add_int(&line, "wire", WIRE_VERSION);
    wire_add_text(&line, "version", PLUMB_VERSION);
    put(bench, &line);
    wire_begin(&line, "device");
    wire_add_text(&line, "kind", kind);
    wire_add_text(&line, "uuid", info->uuid);
    wire_add_text(&line, "name", info->name);
    wire_add_text(&line, "driver", info->driver);
    wire_add_text(&line, "runtime", info->runtime);
    if (info->bus[0])
        wire_add_text(&line, "bus", info->bus);
    struct gpu figures = info->figures;
    for (size_t i = 0; i < gpu_figure_count(); i++) {
        const struct figure *figure = gpu_figure(&figures, gpu_figure_key(i));
        if (figure->value > 0)
            wire_add_double(&line, gpu_figure_key(i), figure->value);
    }
    put(bench, &line);
    fflush(bench->out);
}

static int do_list(struct protocol *p, const struct wire_record *r, struct error *err)
{
    const char *path = wire_text(r, "library");
    struct module module = MODULE_NONE;
    if (!path)
        return error_set(err, "bench: list: no library");
    if (module_load(&module, path, false, err))
        return -1;
    for (uint32_t i = 0; i < module_count(&module); i++) {
        const struct plumb_kernel kernel = module_kernel(&module, i);
        const struct traits traits = module_traits(&kernel);
        struct wire_line line;
        wire_begin(&line, "kernel");
        wire_add_text(&line, "name", kernel.name);
        wire_add_text(&line, "summary", kernel.summary ? kernel.summary : "");
        wire_add_text(&line, "device", module.library->device);
        wire_add_traits(&line, &traits);
        put(p->bench, &line);
    }
    module_release(&module);
    return 0;
}

static int do_supports(struct protocol *p, const struct wire_record *r, struct error *err)
{
    const char *path = wire_text(r, "library"), *name = wire_text(r, "kernel");
    const char *text = wire_text(r, "problem");
    struct module module = MODULE_NONE;
    struct plumb_form_kernel kernel;
    struct problem problem;
    struct wire_line line;
    if (!path || !name || !text)
        return error_set(err, "bench: supports: library, kernel or problem is missing");
    if (problem_parse(&problem, text, err) || module_load(&module, path, false, err))
        return -1;
    const bool found = module_find(&kernel, &module, name);
    if (found) {
        const struct plumb_form asked = check_abi_form(&problem);
        wire_begin(&line, "supported");
        wire_add_int(&line, "yes", call_supports(&kernel, &asked) != 0);
        put(p->bench, &line);
    }
    module_release(&module);
    return found ? 0 : error_set(err, "%s: no kernel %.63s", path, name);
}

static struct open_series *find(struct protocol *p, int64_t id)
{
    for (size_t i = 0; i < p->count; i++) {
        if (p->open[i].id == id)
            return &p->open[i];
    }
    return NULL;
}

static int read_spec(struct series_spec *out, const struct wire_record *r, struct error *err)
{
    struct series_spec spec = {.kernel = wire_text(r, "kernel"),
                               .head = wire_text(r, "head"),
                               .base = wire_text(r, "base"),
                               .pins = {wire_text(r, "base_pin"), wire_text(r, "pin")}};
    const char *problem = wire_text(r, "problem");
    int64_t seed, known, order = 0, launches = 0, apart = 0;
    if (!spec.kernel || !spec.head || !problem)
        return error_set(err, "bench: open: kernel, head or problem is missing");
    if (problem_parse(&spec.problem, problem, err) || wire_int(&seed, r, "seed", 0, INT64_MAX, err))
        return -1;
    known = seed;
    if (wire_text(r, "known") && wire_int(&known, r, "known", 0, INT64_MAX, err))
        return -1;
    const char *regime = wire_text(r, "regime");
    if (regime && regime_parse(&spec.regime, regime))
        return error_set(err, "bench: open: there is no regime '%.40s'", regime);
    if (wire_text(r, "order") && wire_int(&order, r, "order", 0, 1, err))
        return -1;
    if (wire_text(r, "launches") && wire_int(&launches, r, "launches", 1, COUNT_MAX, err))
        return -1;
    if (wire_text(r, "apart") && wire_int(&apart, r, "apart", 0, 1, err))
        return -1;
    spec.apart = apart == 1;
    spec.launches = (uint32_t)launches;
    spec.seed = (uint64_t)seed;
    spec.known = (uint64_t)known;
    spec.head_first = order == 1;
    *out = spec;
    return 0;
}

static void put_state(struct open_bench *bench, const char *record, int64_t id,
                      const struct series_state *state)
{
    struct wire_line line;
    wire_begin(&line, record);
    wire_add_int(&line, "id", id);
    wire_add_text(&line, "state", measurement_state_name(state->state));
    wire_add_text(&line, "role", state->role == ROLE_BASE ? "base" : "head");
    wire_add_double(&line, "error", state->error);
    wire_add_double(&line, "tolerance", state->tolerance);
    wire_add_int(&line, "launches", state->launches);
    wire_add_double(&line, "reference_s", state->reference_s);
    wire_add_int(&line, "on_end", state->on_end);
    wire_add_double(&line, "base_bytes", state->memory_bytes[ROLE_BASE]);
    wire_add_double(&line, "head_bytes", state->memory_bytes[ROLE_HEAD]);
    wire_add_text(&line, "note", state->note);
    if (state->base_note[0])
        wire_add_text(&line, "base_note", state->base_note);
    wire_add_text(&line, "regime", regime_name(state->regime));
    put(bench, &line);
}

// Takes processors once, because they stay the same.
static int take_processors(struct protocol *p, const struct wire_record *r, struct error *err)
{
    const char *text = wire_text(r, "processors");
    cpu_set_t own;
    if (!text || p->placed)
        return 0;
    if (own_processors_parse(&own, text, err))
        return -1;
    p->placed = true;
    p->bench->ops->own(p->bench->device, &own);
    return 0;
}

// Says once for each kernel that its figures come from launches that are a little farther apart.
static void tell_singly(struct protocol *p, const char *kernel)
{
    char text[200];
    if (strcmp(p->singly, kernel) == 0)
        return;
    text_copy(p->singly, sizeof(p->singly), kernel);
    snprintf(
        text, sizeof(text),
        "%.80s: launch() uses the default stream, so a stream's launches are queued one by one",
        kernel);
    put_text(p->bench, "note", text);
}

static int do_open(struct protocol *p, const struct wire_record *r, struct error *err)
{
    struct series_spec spec;
    struct series_state state;
    struct timed_series *series;
    int64_t id;
    if (wire_int(&id, r, "id", 0, INT64_MAX, err) || read_spec(&spec, r, err) ||
        take_processors(p, r, err))
        return -1;
    if (find(p, id))
        return error_set(err, "bench: open: series %lld is open already", (long long)id);
    if (p->count == SERIES_MAX)
        return error_set(err, "bench: open: more than %d series; close some", SERIES_MAX);
    const struct device_ops *ops = p->bench->ops;
    const double needed = series_need_bytes(&spec, ops, p->bench->device);
    if (needed > (double)ops->free_bytes(p->bench->device))
        references_drop(ops);
    if (p->count && needed > (double)ops->free_bytes(p->bench->device))
        return error_set(err, "bench: open: no room beside %zu open series; close some", p->count);
    if (series_open(&series, &state, p->bench->ops, p->bench->device, &spec, err))
        return -1;
    put_state(p->bench, "opened", id, &state);
    if (series)
        p->open[p->count++] =
            (struct open_series){id, series, spec.regime, spec.base != NULL, p->changes + 1};
    if (series && series_is_singly(series))
        tell_singly(p, spec.kernel);
    if (arm_bare() && !p->told_bare)
        put_text(p->bench, "note", arm_bare());
    p->told_bare |= arm_bare() != NULL;
    p->changes++;
    return 0;
}

struct sender {
    struct open_bench *bench;
    int64_t id;
    enum regime regime;
};

static void send_sample(void *state, const struct sample *sample)
{
    const struct sender *sender = state;
    struct wire_line line;
    wire_begin(&line, "sample");
    wire_add_int(&line, "id", sender->id);
    wire_add_sample(&line, sample);
    wire_add_text(&line, "regime", regime_name(sender->regime));
    put(sender->bench, &line);
}

static struct open_series *wanted(struct protocol *p, const struct wire_record *r,
                                  struct error *err)
{
    int64_t id;
    if (wire_int(&id, r, "id", 0, INT64_MAX, err))
        return NULL;
    struct open_series *open = find(p, id);
    if (!open)
        error_set(err, "bench: %s: series %lld is not open", r->name, (long long)id);
    return open;
}

static int do_samples(struct protocol *p, const struct wire_record *r, bool pairs,
                      struct error *err)
{
    int64_t count, block;
    struct open_series *open = wanted(p, r, err);
    if (!open || wire_int(&count, r, "count", 1, COUNT_MAX, err) ||
        wire_int(&block, r, "block", 0, UINT16_MAX, err))
        return -1;
    if (pairs && !open->has_base)
        return error_set(err, "bench: pairs: series %lld has no base; ask for solo",
                         (long long)open->id);
    if (open->changes != p->changes && series_settle(open->series, err))
        return -1;
    open->changes = p->changes;
    struct sender sender = {p->bench, open->id, open->regime};
    return (pairs ? series_pairs : series_solo)(open->series, (uint32_t)count, (uint16_t)block,
                                                send_sample, &sender, err);
}

static int do_close(struct protocol *p, const struct wire_record *r, struct error *err)
{
    struct series_state state;
    struct open_series *open = wanted(p, r, err);
    if (!open)
        return -1;
    int failed = series_close(&state, open->series, err);
    if (!failed)
        put_state(p->bench, "closed", open->id, &state);
    if (p->bench->device->loss == DEVICE_OK)
        series_free(open->series);
    *open = p->open[--p->count];
    p->changes++;
    return failed;
}

static int do_record(struct protocol *p, const struct wire_record *r, struct error *err)
{
    struct series_spec spec;
    struct record record = {.kernel = ""};
    struct arena arena = {0};
    struct buffer text = {0};
    int status = read_spec(&spec, r, err);
    if (status == 0)
        status = record_make(&record, p->bench, &spec, &arena, err);
    if (status == 0) {
        record_print(&text, &record);
        fwrite(text.bytes, 1, text.length, p->bench->out);
        buffer_free(&text);
    }
    arena_free(&arena);
    return status;
}

static void send_figure(void *state, const struct calibration *reading)
{
    struct protocol *p = state;
    struct wire_line line;
    p->figures++;
    wire_begin(&line, "figure");
    wire_add_text(&line, "key", reading->key);
    wire_add_double(&line, "value", reading->value);
    wire_add_double(&line, "cv", reading->cv);
    wire_add_int(&line, "repeats", reading->repeats);
    wire_add_int(&line, "stable", reading->stable);
    wire_add_text(&line, "note", reading->note);
    put(p->bench, &line);
    fflush(p->bench->out);
}

static int do_calibrate(struct protocol *p, const struct wire_record *r, struct error *err)
{
    const char *only = wire_text(r, "only");
    p->figures = 0;
    if (p->bench->ops->calibrate(p->bench->device, only, send_figure, p, err))
        return -1;
    if (p->figures == 0)
        return error_set(err, "bench: calibrate: this device has no figure '%.60s'", only);
    return 0;
}

static int dispatch(struct protocol *p, const struct wire_record *r, struct error *err)
{
    if (strcmp(r->name, "list") == 0)
        return do_list(p, r, err);
    if (strcmp(r->name, "supports") == 0)
        return do_supports(p, r, err);
    if (!p->bench->ops && strcmp(r->name, "record") == 0)
        return do_record(p, r, err);
    if (!p->bench->ops)
        return error_set(err, "bench: %.40s: there is no device, only list, supports and record",
                         r->name);
    if (bench_wake(p->bench, err))
        return -1;
    if (strcmp(r->name, "open") == 0)
        return do_open(p, r, err);
    if (strcmp(r->name, "pairs") == 0)
        return do_samples(p, r, true, err);
    if (strcmp(r->name, "solo") == 0)
        return do_samples(p, r, false, err);
    if (strcmp(r->name, "close") == 0)
        return do_close(p, r, err);
    if (strcmp(r->name, "record") == 0)
        return do_record(p, r, err);
    if (strcmp(r->name, "calibrate") == 0)
        return do_calibrate(p, r, err);
    return error_set(err, "bench: unknown command '%.40s'", r->name);
}

// Memory was short, or no process could be had, although nothing else is open: that is no kernel's
// fault.
static void put_failure(const struct protocol *p, const char *text)
{
    struct wire_line line;
    wire_begin(&line, "fail");
    wire_add_text(&line, "text", text);
    if (p->count == 0 && p->bench->device && p->bench->device->lacks)
        wire_add_int(&line, "lacks", 1);
    else if (p->count == 0 && p->bench->device && p->bench->device->unable)
        wire_add_int(&line, "unable", 1);
    put(p->bench, &line);
    fflush(p->bench->out);
}

static void serve(struct protocol *p, FILE *in)
{
    char line[WIRE_LINE];
    struct wire_record record;
    struct error err;
    while (fgets(line, sizeof(line), in)) {
        if (!strchr(line, '\n') && !feof(in)) {
            put_text(p->bench, "fail", "bench: the line is too long");
            for (int c = 0; c != '\n' && c != EOF;)
                c = fgetc(in);
            continue;
        }
        int failed = wire_parse(&record, line, &err);
        if (!failed && strcmp(record.name, "quit") == 0)
            return;
        if (p->bench->device)
            p->bench->device->lacks = p->bench->device->unable = false;
        failed = failed || dispatch(p, &record, &err);
        if (failed)
            bench_end_if_lost(p->bench, err.text);
        if (failed)
            put_failure(p, err.text);
        else
            put_text(p->bench, "done", NULL);
    }
}

// Reads commands from `in` until quit or the end. Returns an exit code.
static int protocol_run(struct open_bench *bench, FILE *in)
{
    struct device_info info = {.uuid = "none", .name = "no device"};
    struct error err;
    if (!bench->ops) {
        stand_in();
    } else if (bench->ops->info(&info, bench->device, &err)) {
        fprintf(stderr, "bench: %s\n", err.text);
        return EXIT_FAILED;
    }
    struct protocol *p = xcalloc(1, sizeof(*p));
    p->bench = bench;
    greet(bench, bench->ops ? bench->ops->kind : "none", &info);
    serve(p, in);
    while (p->count)
        series_free(p->open[--p->count].series);
    free(p);
    return 0;
}

static const char usage[] =
    "usage: bench [--device DEVICE]                        speak the line protocol (model/wire.h)\n"
    "       bench list LIBRARY...                          kernels and their traits\n"
    "       bench [--device DEVICE] time --head LIBRARY --kernel NAME --problem PROBLEM [...]\n"
    "       bench [--device DEVICE] calibrate [KEY]        measure the device's figures (KEY: "
    "one,\n"
    "                                                      or a beginning and '*')\n"
    "\n"
    "  --device DEVICE   host (default), cuda, cuda:INDEX, or none: only lists libraries\n"
    "  --ask             speak it, mostly to be asked what the device is: without a context of "
    "the\n"
    "                    driver's until one is needed\n"
    "\n"
    "time:\n"
    "  --head LIBRARY    the library to time\n"
    "  --base LIBRARY    time it in pairs against this one; may be the same file (A/A)\n"
    "  --kernel NAME     a kernel that both have\n"
    "  --base-kernel NAME  the base's, to time two kernels beside each other\n"
    "  --problem TEXT    MxNxK:TYPE[-OUT][:OPTION]... (model/problem.h), e.g.\n"
    "                    4096x4096x4096:bf16, 512x4096x7168:bf16:dual-silu\n"
    "  --pairs N         pairs (or samples) per block, default 64\n"
    "  --blocks N        blocks, default 1; a line of statistics for each\n"
    "  --places N        so many such series, each in places of its own, one after another\n"
    "  --instances N     how often the device code of a record is loaded, default 16, or 32 of\n"
    "                    kernels that are timed alone; more than 16 from the 33rd pair on\n"
    "  --launches N      launches per sample; default: 1, or a batch when the kernel is short\n"
    "  --regime WORD     how launches meet the device: default: the problem's, or stream on a\n"
    "                    GPU and cold on a host; isolated, dirty, warm, activations\n"
    "  --runup N         launches of a stream before those that are timed, at most 4\n"
    "  --flush KIND      cold: before each sample: read (default), write, none\n"
    "  --warm            cold: all launches of a batch on one buffer set\n"
    "  --inside          host libraries in this process, not in ones of their own\n"
    "  --apart           base on device memory of its own, to see what sharing all of it is worth\n"
    "  --seed N          of inputs and order, default 1\n"
    "  --pin NOTE        make the kernel reproduce an earlier choice (its note)\n"
    "  --head-first      load head before base\n"
    "  --csv FILE        write every sample\n"
    "\n"
    "exit: 0 done, 3 the kernel is wrong, missing or cannot do the problem, 4 it could not be "
    "done,\n"
    "      40 there is no such device or it disappeared\n";

enum option_code {
    OPTION_DEVICE = 256,
    OPTION_HEAD,
    OPTION_BASE,
    OPTION_KERNEL,
    OPTION_BASE_NAME,
    OPTION_PROBLEM,
    OPTION_PAIRS,
    OPTION_BLOCKS,
    OPTION_LAUNCHES,
    OPTION_RUNUP,
    OPTION_PLACES,
    OPTION_INSTANCES,
    OPTION_REGIME,
    OPTION_FLUSH,
    OPTION_WARM,
    OPTION_APART,
    OPTION_INSIDE,
    OPTION_SEED,
    OPTION_PIN,
    OPTION_HEAD_FIRST,
    OPTION_CSV,
    OPTION_VARIANT,
    OPTION_ASK,
    OPTION_HELP
};

static const struct option options[] = {{"device", required_argument, NULL, OPTION_DEVICE},
                                        {"head", required_argument, NULL, OPTION_HEAD},
                                        {"base", required_argument, NULL, OPTION_BASE},
                                        {"kernel", required_argument, NULL, OPTION_KERNEL},
                                        {"base-kernel", required_argument, NULL, OPTION_BASE_NAME},
                                        {"problem", required_argument, NULL, OPTION_PROBLEM},
                                        {"pairs", required_argument, NULL, OPTION_PAIRS},
                                        {"blocks", required_argument, NULL, OPTION_BLOCKS},
                                        {"launches", required_argument, NULL, OPTION_LAUNCHES},
                                        {"runup", required_argument, NULL, OPTION_RUNUP},
                                        {"places", required_argument, NULL, OPTION_PLACES},
                                        {"instances", required_argument, NULL, OPTION_INSTANCES},
                                        {"regime", required_argument, NULL, OPTION_REGIME},
                                        {"flush", required_argument, NULL, OPTION_FLUSH},
                                        {"warm", no_argument, NULL, OPTION_WARM},
                                        {"apart", no_argument, NULL, OPTION_APART},
                                        {"inside", no_argument, NULL, OPTION_INSIDE},
                                        {"seed", required_argument, NULL, OPTION_SEED},
                                        {"pin", required_argument, NULL, OPTION_PIN},
                                        {"head-first", no_argument, NULL, OPTION_HEAD_FIRST},
                                        {"csv", required_argument, NULL, OPTION_CSV},
                                        {"variant", required_argument, NULL, OPTION_VARIANT},
                                        {"ask", no_argument, NULL, OPTION_ASK},
                                        {"help", no_argument, NULL, OPTION_HELP},
                                        {NULL, 0, NULL, 0}};

static int number(uint64_t *out, const char *option, const char *text, int64_t min, int64_t max)
{
    int64_t value;
    if (parse_int64(&value, text) || value < min || value > max) {
        fprintf(stderr, "bench: --%s %s: not a number from %lld to %lld\n", option, text,
                (long long)min, (long long)max);
        return -1;
    }
    *out = (uint64_t)value;
    return 0;
}

static int read_flush(enum flush *out, const char *text)
{
    static const char *const names[] = {"read", "write", "none"};
    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        if (strcmp(names[i], text) == 0) {
            *out = (enum flush)i;
            return 0;
        }
    }
    fprintf(stderr, "bench: --flush %s: read, write or none\n", text);
    return -1;
}

// Reads names between commas. The usage does not mention them: they are for people who study the
// stopwatch itself (device.h).
static int read_variant(unsigned *out, const char *text)
{
    static const char *const names[] = VARIANT_NAMES;
    for (size_t length; *text; text += length + (text[length] == ',')) {
        size_t i = 0;
        length = strcspn(text, ",");
        while (i < ARRAY_COUNT(names) &&
               (strlen(names[i]) != length || strncmp(names[i], text, length) != 0))
            i++;
        if (i == ARRAY_COUNT(names)) {
            fprintf(stderr, "bench: --variant %s: see kernels/device/device.h\n", text);
            return -1;
        }
        *out |= 1u << i;
    }
    return 0;
}

static int read_number(struct time_options *time, int code, const char *text)
{
    uint64_t value;
    const char *name = options[code - OPTION_DEVICE].name;
    const bool seed = code == OPTION_SEED;
    const int64_t most = seed ? INT64_MAX : code == OPTION_INSTANCES ? INSTANCES_MOST : 65535;
    if (number(&value, name, text, seed ? 0 : 1, most))
        return -1;
    if (code == OPTION_PAIRS)
        time->pairs = (uint32_t)value;
    else if (code == OPTION_BLOCKS)
        time->blocks = (uint32_t)value;
    else if (code == OPTION_LAUNCHES)
        time->launches = (uint32_t)value;
    else if (code == OPTION_RUNUP)
        time->runup = (uint32_t)value;
    else if (code == OPTION_PLACES)
        time->places = (uint32_t)value;
    else if (code == OPTION_INSTANCES)
        time->instances = (uint32_t)value;
    else
        time->seed = value;
    return 0;
}

// Reads one option of `time`; -1: it is not understood.
static int read_option(struct time_options *time, int code)
{
    switch (code) {
    case OPTION_HEAD:
        time->head = optarg;
        return 0;
    case OPTION_BASE:
        time->base = optarg;
        return 0;
    case OPTION_KERNEL:
        time->kernel = optarg;
        return 0;
    case OPTION_BASE_NAME:
        time->base_kernel = optarg;
        return 0;
    case OPTION_PROBLEM:
        time->problem = optarg;
        return 0;
    case OPTION_PIN:
        time->pin = optarg;
        return 0;
    case OPTION_CSV:
        time->csv = optarg;
        return 0;
    case OPTION_WARM:
        time->warm = true;
        return 0;
    case OPTION_APART:
        time->apart = true;
        return 0;
    case OPTION_INSIDE:
        time->inside = true;
        return 0;
    case OPTION_HEAD_FIRST:
        time->head_first = true;
        return 0;
    case OPTION_VARIANT:
        return read_variant(&time->variant, optarg);
    case OPTION_REGIME:
        time->regime_named = true;
        if (regime_parse(&time->regime, optarg) == 0)
            return 0;
        fprintf(stderr, "bench: --regime %s: there is no such regime\n", optarg);
        return -1;
    case OPTION_FLUSH:
        time->flush_named = true;
        return read_flush(&time->flush, optarg);
    case OPTION_PAIRS:
    case OPTION_BLOCKS:
    case OPTION_LAUNCHES:
    case OPTION_RUNUP:
    case OPTION_PLACES:
    case OPTION_INSTANCES:
    case OPTION_SEED:
        return read_number(time, code, optarg);
    default:
        return -1;
    }
}

// Prepares the device before anything is measured. Some commands only ask, and never come here.
static int bench_wake(struct open_bench *bench, struct error *err)
{
    if (bench->awake || !bench->ops->wake)
        return 0;
    if (bench->ops->wake(bench->device, err))
        return -1;
    bench->awake = true;
    return 0;
}

static int with_device(struct open_bench *bench, const char *name, bool ask, int count,
                       char **words, const struct time_options *time)
{
    const char *index = NULL;
    bool no_device = false;
    struct error err;
    ask &= count == 0;
    if (strcmp(name, "none") == 0 && count == 0)
        return protocol_run(bench, stdin);
    bench->ops = device_find(name, &index);
    if (!bench->ops) {
        fprintf(stderr,
                "bench: --device %s: this build has no such device (cuda needs a build "
                "with nvcc); see bench --help\n",
                name);
        return strncmp(name, "cuda", 4) == 0 ? EXIT_NO_DEVICE : EXIT_FAILED;
    }
    if (bench->ops->open(&bench->device, index, &no_device, &err)) {
        fprintf(stderr, "bench: %s\n", err.text);
        return no_device ? EXIT_NO_DEVICE : EXIT_FAILED;
    }
    int code;
    if (!ask && bench_wake(bench, &err)) {
        fprintf(stderr, "bench: %s\n", err.text);
        code = bench->device->loss == DEVICE_GONE ? EXIT_NO_DEVICE : EXIT_FAILED;
    } else if (count == 0)
        code = protocol_run(bench, stdin);
    else if (strcmp(words[0], "time") == 0)
        code = bench_time(bench, time);
    else
        code = bench_calibrate(bench, count > 1 ? words[1] : NULL);
    references_drop(bench->ops);
    bench->ops->close(bench->device);
    return code;
}

// Standard output becomes private: a kernel that prints must not disturb the protocol.
static FILE *take_output(void)
{
    int own = dup(STDOUT_FILENO);
    FILE *out = own < 0 ? NULL : fdopen(own, "w");
    if (!out || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
        fprintf(stderr, "bench: standard output: %s\n", strerror(errno));
        exit(EXIT_FAILED);
    }
    return out;
}

int main(int argc, char **argv)
{
    const char *device = "host";
    bool ask = false;
    struct time_options time = {.pairs = 64, .blocks = 1, .places = 1, .seed = 1};
    int code;
    while ((code = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (code == OPTION_DEVICE) {
            device = optarg;
        } else if (code == OPTION_ASK) {
            ask = true;
        } else if (code == OPTION_HELP) {
            fputs(usage, stdout);
            return 0;
        } else if (read_option(&time, code)) {
            fputs("try bench --help\n", stderr);
            return EXIT_FAILED;
        }
    }
    char **words = argv + optind;
    const int count = argc - optind;
    if (count == 4 && strcmp(words[0], "keep") == 0) // started by arm.c
        return arm_worker_main(atoi(words[1]), atoi(words[2]), atoi(words[3]));
    struct open_bench bench = {.out = take_output()};
    if (count && strcmp(words[0], "list") == 0)
        code = bench_list(bench.out, words + 1, count - 1);
    else if (count && strcmp(words[0], "time") != 0 && strcmp(words[0], "calibrate") != 0)
        code = (fprintf(stderr, "bench: %s: no such command; try bench --help\n", words[0]),
                EXIT_FAILED);
    else
        code = with_device(&bench, device, ask, count, words, &time);
    if (fclose(bench.out) && code == 0) {
        fprintf(stderr, "bench: writing the output: %s\n", strerror(errno));
        code = EXIT_FAILED;
    }
    return code;
}
