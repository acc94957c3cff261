// SPDX-License-Identifier: Apache-2.0
//
// bench by hand: list, time, calibrate.
//
// The estimate of a block is the 10 % trimmed mean of its pairs' log ratios; its standard error
// comes from the winsorised standard deviation (R. Wilcox, Introduction to Robust Estimation and
// Hypothesis Testing, 2012, section 3.3): s_w / ((1 - 2 g) sqrt(n)), g = 0.1.
#include "kernels/bench/bench.h"
#include "kernels/bench/driver.h"
#include "kernels/bench/module.h"
#include "kernels/bench/series.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const double TRIM = 0.1;
enum { EXIT_BROKEN = 3 };

int bench_list(FILE *out, char **libraries, int count)
{
    struct error err;
    int code = 0;
    driver_stand_in();
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
    const struct series *series;
};

static void collect(void *state, const struct sample *sample)
{
    struct collected *c = state;
    const bool base = sample->role == ROLE_BASE;
    c->samples[c->count++] = *sample;
    // Named integers have commas between them.
    const char *quote = strchr(c->options->problem, ',') ? "\"" : "";
    if (c->csv)
        fprintf(c->csv, "%s,%s%s%s,%s,%u,%u,%u,%u,%.3f,%.0f,%u,%d,%d,%.0f\n",
                base && c->options->base_kernel ? c->options->base_kernel : c->options->kernel,
                quote, c->options->problem, quote, base ? "base" : "head", sample->block,
                sample->pair, sample->order, sample->launches, sample->time_ns, sample->clock_hz,
                sample->throttle, sample->temperature_c, sample->power_mw,
                series_waited_ns(c->series));
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

// took_ns: of the block, with all that is between its samples.
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

static int time_blocks(struct bench *bench, struct series *series, struct collected *c,
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

// Opens a series in a place of its own, and times it. It stays open, so that the next one lies
// elsewhere.
static int time_place(struct series **out, struct bench *bench, struct collected *c,
                      const struct series_spec *spec, struct error *err)
{
    struct series_state state;
    if (series_open(out, &state, bench->ops, bench->device, spec, err))
        return -1;
    const int code = print_state(bench->out, "opened", &state);
    c->series = *out;
    return *out ? time_blocks(bench, *out, c, &spec->problem, err) : code;
}

static int close_place(struct bench *bench, struct series *series, struct error *err)
{
    struct series_state state;
    if (series_close(&state, series, err))
        return -1;
    return print_state(bench->out, "closed", &state);
}

static int time_series(struct bench *bench, struct collected *c, const struct series_spec *spec,
                       struct error *err)
{
    struct series **open = xcalloc(c->options->places, sizeof(struct series *));
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

int bench_time(struct bench *bench, const struct time_options *o)
{
    struct error err = {""};
    struct collected c = {.options = o};
    struct series_spec spec = {.kernel = o->kernel,
                               .base_kernel = o->base_kernel,
                               .head = o->head,
                               .base = o->base,
                               .seed = o->seed,
                               .pin = o->pin,
                               .head_first = o->head_first,
                               .regime = o->regime,
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
    if (o->regime != REGIME_COLD && (o->warm || o->flush != FLUSH_READ)) {
        error_set(&err, "--warm and --flush are for the regime cold; --regime %s has its own",
                  regime_name(o->regime));
        goto done;
    }
    if (problem_parse(&spec.problem, o->problem, &err))
        goto done;
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

int bench_calibrate(struct bench *bench, const char *only)
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
