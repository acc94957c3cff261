// SPDX-License-Identifier: Apache-2.0
//
// plumb calibrate: measures a device's profile with micro-benchmarks and keeps it in the store.
// Readings that do not repeat are refused by name. With --study it measures what seed 2's document
// does instead, and shows it beside the document's own figures.
#include "ci/command.h"
#include "ci/commands/output.h"
#include "ci/settings/gpu_file.h"
#include "ci/settings/text_file.h"
#include "model/csv.h"
#include "reports/charts/charts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct arguments {
    struct options options;
    const char *only, *kernels;
    bool study, json;
};

static const struct command_option own_options[] = {
    OPTION_TEXT("only", 0, "FIGURE", "Only this figure, e.g. dram_bytes_s", only),
    OPTION_FLAG("study", 0, "Seed 2's study: instructions, memory, transposes; keeps no profile",
                study),
    OPTION_TEXT("kernels", 0, "DIR", "Of the study: also time the ladder's libraries there",
                kernels),
    OPTION_FORMAT(json),
    {0},
};

static int write_profile(const char *path, const struct context_device *device, struct error *err)
{
    struct buffer text = {0};
    struct gpu gpu = device->gpu;
    gpu.summary = device->unit.name;
    gpu_file_write(&text, &gpu);
    int status = text_file_write(path, &text, err);
    buffer_free(&text);
    return status;
}

static const char *unit_of(const char *key)
{
    for (size_t i = 0; i < gpu_figure_count(); i++) {
        if (strcmp(gpu_figure_key(i), key) == 0)
            return gpu_figure_unit(i);
    }
    return "(shown, not used)";
}

// Prints a reading; `answer` NULL: as a table.
static void print_reading(struct answer *answer, const struct context_device *device,
                          const struct bench_figure *f)
{
    if (!answer) {
        printf("  %-18s %-14.6g cv %5.2f %% of %u  %s%s\n", f->key, f->value, f->cv * 100,
               f->repeats, f->stable ? "" : "REFUSED: ", f->stable ? unit_of(f->key) : f->note);
        return;
    }
    struct json *row = answer_row(answer);
    json_clean(row, "device", device->policy->name);
    json_clean(row, "figure", f->key);
    json_number(row, "value", f->value);
    json_clean(row, "unit", unit_of(f->key));
    json_number(row, "cv", f->cv);
    json_int(row, "repeats", f->repeats);
    json_clean(row, "refused", f->stable ? NULL : f->note);
}

// ---- seed 2's study ----

enum { ILPS = 8, LADDER_SAMPLES = 5 };

// The document's figures of an H100 SXM5 at 1.98 GHz: clocks per instruction of one warp.
static const struct {
    const char *key, *name;
    double document[ILPS];
} instructions[] = {
    {"fadd", "FADD", {29.0, 14.5, 7.8, 3.9, 1.9, 1.4, 1.2, 1.1}},
    {"fmul", "FMUL", {29.0, 14.5, 7.8, 3.9, 1.9, 1.4, 1.2, 1.1}},
    {"fma", "FMA", {29.0, 14.5, 7.3, 3.6, 2.4, 1.7, 1.4, 1.2}},
    {"iadd", "IADD", {29.0, 14.5, 7.3, 3.9, 1.8, 0.9, 0.5, 1.1}},
    {"imul", "IMUL", {29.0, 14.5, 7.3, 3.9, 2.6, 2.4, 2.2, 2.1}},
    {"frcp", "__frcp_rn", {87.0, 82.0, 79.5, 77.8, 77.6, 77.5, 77.1, 76.8}},
    {"fsqrt", "__fsqrt_rn", {66.0, 61.5, 58.0, 56.5, 55.9, 56.9, 56.1, 55.8}},
    {"sinf", "__sinf", {29.0, 15.0, 11.0, 10.3, 9.6, 9.3, 9.2, 9.1}},
    {"logf", "__logf", {45.0, 23.0, 15.3, 12.0, 10.5, 9.8, 9.4, 9.3}},
    {"expf", "__expf", {54.0, 31.5, 20.3, 14.3, 11.1, 9.6, 9.0, 8.5}},
};

// Other figures of the document; 0: it has none. `scale` converts the measured value to its unit.
struct study_line {
    const char *key, *name, *unit;
    double scale, document, sms;
};
static const struct study_line study_lines[] = {
    {"study_smem_latency_clk", "shared memory", "clocks", 1, 28.6, 0},
    {"study_l1_latency_clk", "L1, 8 KiB", "clocks", 1, 40.2, 0},
    {"study_l2_latency_clk", "L2, 4 MiB", "clocks", 1, 259.9, 0},
    {"study_dram_latency_clk", "DRAM, 256 MiB", "clocks", 1, 570.5, 0},
    {"study_dram_thread", "DRAM copy, 1 thread", "GB/s", 1e-9, 0.09, 0},
    {"study_dram_warp", "DRAM copy, 1 warp", "GB/s", 1e-9, 7.6, 0},
    {"study_dram_sm_1", "DRAM copy, 1 SM", "GB/s", 1e-9, 66.7, 1},
    {"study_dram_sm_2", "DRAM copy, 2 SMs", "GB/s", 1e-9, 0, 2},
    {"study_dram_sm_4", "DRAM copy, 4 SMs", "GB/s", 1e-9, 0, 4},
    {"study_dram_sm_8", "DRAM copy, 8 SMs", "GB/s", 1e-9, 362.8, 8},
    {"study_dram_sm_16", "DRAM copy, 16 SMs", "GB/s", 1e-9, 0, 16},
    {"study_dram_sm_32", "DRAM copy, 32 SMs", "GB/s", 1e-9, 1183, 32},
    {"study_dram_sm_64", "DRAM copy, 64 SMs", "GB/s", 1e-9, 1722, 64},
    {"study_dram_sm_128", "DRAM copy, 128 SMs", "GB/s", 1e-9, 0, 128},
    {"study_dram_sm_all", "DRAM copy, all SMs", "GB/s", 1e-9, 1992, 132},
    {"study_l2_sm_1", "L2 copy, 1 SM", "GB/s", 1e-9, 16.8, 1},
    {"study_l2_sm_2", "L2 copy, 2 SMs", "GB/s", 1e-9, 0, 2},
    {"study_l2_sm_4", "L2 copy, 4 SMs", "GB/s", 1e-9, 64.8, 4},
    {"study_l2_sm_8", "L2 copy, 8 SMs", "GB/s", 1e-9, 0, 8},
    {"study_l2_sm_16", "L2 copy, 16 SMs", "GB/s", 1e-9, 323, 16},
    {"study_l2_sm_32", "L2 copy, 32 SMs", "GB/s", 1e-9, 0, 32},
    {"study_l2_sm_64", "L2 copy, 64 SMs", "GB/s", 1e-9, 2252, 64},
    {"study_l2_sm_128", "L2 copy, 128 SMs", "GB/s", 1e-9, 0, 128},
    {"study_l2_sm_all", "L2 copy, all SMs", "GB/s", 1e-9, 3223, 132},
    {"study_l2_blocks_4x", "L2 copy, 4 blocks an SM", "GB/s", 1e-9, 3574, 0},
    {"study_transpose_basic", "transpose, basic", "GB/s", 1e-9, 1224, 0},
    {"study_transpose_vectorized", "transpose, vectorized", "GB/s", 1e-9, 1904, 0},
    {"study_transpose_scalar", "transpose, scalar", "GB/s", 1e-9, 1902, 0},
    {"study_transpose_swizzled", "transpose, vectors, swizzled", "GB/s", 1e-9, 1890, 0},
};

// The document's kernels, and those of ours that are built in the same way, at its size.
// step_library() gives the library of each. Its naive kernel reads B along N, so that neighbouring
// threads read neighbouring elements. With B along K each thread reads a row of its own, and ours
// takes three times as long (baselines/recorded/h100/study).
#define LADDER_SIZE "4096x8192x16384:"
static const struct {
    const char *kernel, *type;
    double document_ms;
} ladder[] = {
    {"naive_fp32", "fp32-fp32:nn", 296.2},      {"tf32-1-mma", "tf32-fp32:tn", 26.0},
    {"tf32-2-shared-k8", "tf32-fp32:tn", 17.9}, {"tf32-3-shared-k32", "tf32-fp32:tn", 11.6},
    {"tf32-4-wgmma", "tf32-fp32:tn", 6.3},      {"tf32-5-double", "tf32-fp32:tn", 4.5},
    {"tf32-6-banded", "tf32-fp32:tn", 4.47},    {"tf32-7-tma", "tf32-fp32:tn", 4.6},
    {"tf32-8-tma-wide", "tf32-fp32:tn", 3.65},  {"tf32-9-persistent", "tf32-fp32:tn", 0},
    {"cublaslt", "tf32-fp32:tn", 3.44},
};

struct study_table {
    struct bench_figure_list readings;
    double ladder_ms[ARRAY_COUNT(ladder)]; // 0: not timed
};

static const struct bench_figure *reading_of(const struct study_table *t, const char *key)
{
    for (size_t i = 0; i < t->readings.count; i++) {
        if (strcmp(t->readings.items[i].key, key) == 0)
            return &t->readings.items[i];
    }
    return NULL;
}

// A figure's value; NaN if there is no steady reading.
static double value_of(const struct study_table *t, const char *key, double scale)
{
    const struct bench_figure *f = reading_of(t, key);
    return f && f->stable ? f->value * scale : NAN;
}

static double clocks_of(const struct study_table *t, size_t instruction, int ilp)
{
    char key[48];
    snprintf(key, sizeof(key), "study_%s_ilp_%d", instructions[instruction].key, 1 << ilp);
    return value_of(t, key, 1);
}

static void print_number(int width, double value)
{
    if (isfinite(value) && value > 0)
        printf(" %*.*f", width, value < 100 ? 2 : 1, value);
    else
        printf(" %*s", width, "-");
}

static void print_study(const struct study_table *t)
{
    printf("%-30s", "clocks an instruction, chains:");
    for (int ilp = 0; ilp < ILPS; ilp++)
        printf(" %7d", 1 << ilp);
    for (size_t i = 0; i < ARRAY_COUNT(instructions); i++) {
        printf("\n%-30s", instructions[i].name);
        for (int ilp = 0; ilp < ILPS; ilp++)
            print_number(7, clocks_of(t, i, ilp));
        printf("\n%-30s", "  seed 2, H100 SXM5");
        for (int ilp = 0; ilp < ILPS; ilp++)
            print_number(7, instructions[i].document[ilp]);
    }
    printf("\n%-30s %10s %10s %s\n", "", "here", "seed 2", "unit");
    for (size_t i = 0; i < ARRAY_COUNT(study_lines); i++) {
        const struct study_line *l = &study_lines[i];
        printf("%-30s", l->name);
        print_number(10, value_of(t, l->key, l->scale));
        print_number(10, l->document);
        printf(" %s\n", l->unit);
    }
    for (size_t i = 0; i < ARRAY_COUNT(ladder); i++) {
        if (!(t->ladder_ms[i] > 0))
            continue;
        printf("%-30s", ladder[i].kernel);
        print_number(10, t->ladder_ms[i]);
        print_number(10, ladder[i].document_ms);
        printf(" ms, " LADDER_SIZE "%s\n", ladder[i].type);
    }
}

static void study_row(struct csv_line *line, const char *name, double value, const char *unit,
                      double document)
{
    csv_text(line, name);
    csv_real(line, value > 0 ? value : NAN);
    csv_text(line, unit);
    csv_real(line, document > 0 ? document : NAN);
    csv_end(line, "\n");
}

static void study_csv(struct buffer *out, const struct study_table *t)
{
    char name[64];
    struct csv_line line = {.out = out};
    csv_raw(&line, "figure,value,unit,seed_2");
    csv_end(&line, "\n");
    for (size_t i = 0; i < ARRAY_COUNT(instructions); i++) {
        for (int ilp = 0; ilp < ILPS; ilp++) {
            snprintf(name, sizeof(name), "%s ilp %d", instructions[i].name, 1 << ilp);
            study_row(&line, name, clocks_of(t, i, ilp), "clocks", instructions[i].document[ilp]);
        }
    }
    for (size_t i = 0; i < ARRAY_COUNT(study_lines); i++) {
        const struct study_line *l = &study_lines[i];
        study_row(&line, l->key + strlen("study_"), value_of(t, l->key, l->scale), l->unit,
                  l->document);
    }
    for (size_t i = 0; i < ARRAY_COUNT(ladder); i++)
        study_row(&line, ladder[i].kernel, t->ladder_ms[i], "ms", ladder[i].document_ms);
}

// ---- its figures: measured lines are solid, seed 2's dashed ----

enum { POINTS_MOST = 16 };
#define DASHED "; dashed: seed 2, H100 SXM5"

static void draw_instructions(struct markup *m, const struct study_table *t)
{
    struct chart_lines c = {"clocks an instruction of one warp",
                            "independent chains" DASHED,
                            {.low = 1, .high = 128},
                            {.low = 0.1, .high = 1000}};
    chart_lines_begin(m, &c);
    for (size_t i = 0; i < ARRAY_COUNT(instructions); i++) {
        double x[ILPS], y[ILPS];
        for (int ilp = 0; ilp < ILPS; ilp++) {
            x[ilp] = 1 << ilp;
            y[ilp] = clocks_of(t, i, ilp);
        }
        chart_lines_add(m, &c, instructions[i].name, (unsigned)i, x, y, ILPS);
        chart_lines_add(m, &c, NULL, (unsigned)i, x, instructions[i].document, ILPS);
    }
    markup_end(m);
}

static void draw_copies(struct markup *m, const struct study_table *t)
{
    static const char *const keys[] = {"study_dram_sm_", "study_l2_sm_"};
    static const char *const names[] = {"DRAM", "L2"};
    struct chart_lines c = {"copies, GB/s read and written",
                            "SMs" DASHED,
                            {.low = 1, .high = 256},
                            {.low = 10, .high = 10000}};
    chart_lines_begin(m, &c);
    for (unsigned of = 0; of < ARRAY_COUNT(keys); of++) {
        double x[POINTS_MOST], y[POINTS_MOST], document[POINTS_MOST];
        size_t count = 0;
        for (size_t i = 0; i < ARRAY_COUNT(study_lines) && count < POINTS_MOST; i++) {
            const struct study_line *l = &study_lines[i];
            if (strncmp(l->key, keys[of], strlen(keys[of])))
                continue;
            x[count] = l->sms;
            y[count] = value_of(t, l->key, l->scale);
            document[count++] = l->document;
        }
        chart_lines_add(m, &c, names[of], of, x, y, count);
        chart_lines_add(m, &c, NULL, of, x, document, count);
    }
    markup_end(m);
}

static void draw_ladder(struct markup *m, const struct study_table *t)
{
    struct chart_lines c = {"GEMM of 4096 x 8192 x 16384, ms",
                            "step of the ladder" DASHED,
                            {.low = 1, .high = ARRAY_COUNT(ladder) + 1},
                            {.low = 1, .high = 1000}};
    double x[ARRAY_COUNT(ladder)], document[ARRAY_COUNT(ladder)];
    for (size_t i = 0; i < ARRAY_COUNT(ladder); i++) {
        x[i] = (double)i + 1;
        document[i] = ladder[i].document_ms;
    }
    chart_lines_begin(m, &c);
    chart_lines_add(m, &c, "here", 0, x, t->ladder_ms, ARRAY_COUNT(ladder));
    chart_lines_add(m, &c, NULL, 0, x, document, ARRAY_COUNT(ladder));
    markup_end(m);
}

static int write_study(const char *folder, const struct study_table *t, struct error *err)
{
    static const struct {
        const char *name;
        void (*draw)(struct markup *m, const struct study_table *t);
    } figures[] = {{"instructions.svg", draw_instructions},
                   {"copies.svg", draw_copies},
                   {"gemm.svg", draw_ladder}};
    mkdir(folder, 0777); // if this fails, writing a file will report it
    struct buffer table = {0};
    char *path = xprintf("%s/study.csv", folder);
    study_csv(&table, t);
    int status = text_file_write(path, &table, err);
    buffer_free(&table);
    free(path);
    for (size_t i = 0; i < ARRAY_COUNT(figures) && status == 0; i++) {
        struct markup *figure = markup_new(MARKUP_XML);
        figures[i].draw(figure, t);
        path = xprintf("%s/%s", folder, figures[i].name);
        status = output_figure(path, figure, err);
        free(path);
    }
    return status;
}

// The library of a step is named like its kernel, with _ for -; the caller frees it.
static char *step_library(const char *folder, size_t step)
{
    char *path = xprintf("%s/lib%s.so", folder, ladder[step].kernel);
    for (char *c = path + strlen(folder); *c; c++)
        *c = *c == '-' ? '_' : *c;
    return path;
}

// Times one step of the ladder. A kernel that this device does not have, or that is wrong, gets no
// time.
static int time_step(double *ms, struct bench *bench, const char *folder, size_t step,
                     struct error *err)
{
    struct bench_outcome outcome;
    struct bench_handle handle;
    struct sample_list samples = {0};
    struct problem problem;
    char *library = step_library(folder, step);
    char *text = xprintf(LADDER_SIZE "%s", ladder[step].type);
    const struct bench_series series = {.kernel = ladder[step].kernel,
                                        .problem = &problem,
                                        .head = library,
                                        .seed = bench_draw_seed()};
    int status =
        problem_parse(&problem, text, err) || bench_open(&outcome, &handle, bench, &series, err)
            ? -1
            : 0;
    if (status == 0 && outcome.state == MEASURED_OK)
        status = bench_solo(&outcome, &samples, bench, &handle, LADDER_SAMPLES, 0, err);
    if (status == 0 && outcome.state == MEASURED_OK)
        status = bench_close(&outcome, bench, &handle, err);
    const struct measurement m = {.samples = samples.items, .count = samples.count};
    if (status == 0 && outcome.state == MEASURED_OK)
        *ms = measurement_time_ns(&m) / 1e6;
    else if (status == 0)
        fprintf(stderr, "plumb: %s: %s\n", ladder[step].kernel, outcome.detail);
    sample_list_free(&samples);
    free(library);
    free(text);
    return status == 0 && outcome.gone ? error_set(err, "%s: the bench ended", ladder[step].kernel)
                                       : status;
}

static int time_ladder(struct study_table *t, struct bench *bench, const char *folder,
                       struct error *err)
{
    size_t found = 0;
    for (size_t i = 0; i < ARRAY_COUNT(ladder); i++) {
        struct stat is;
        char *library = step_library(folder, i);
        const bool there = stat(library, &is) == 0;
        free(library);
        found += there;
        if (there && time_step(&t->ladder_ms[i], bench, folder, i, err))
            return -1;
    }
    return found ? 0
                 : error_set(err, "--kernels %s: no library of the ladder (libtf32_1_mma.so, ...)",
                             folder);
}

static int study_device(struct answer *answer, struct context *context,
                        struct context_device *device, const struct arguments *a, struct error *err)
{
    struct bench *bench = NULL;
    struct study_table table = {0};
    char *folder = a->kernels ? realpath(a->kernels, NULL) : NULL;
    const char *const folders[] = {folder};
    if (a->kernels && !folder)
        return error_set(err, "--kernels %s: no such directory", a->kernels);
    int status = context_bench(&bench, context, device, folders, folder ? 1 : 0, err);
    if (status == 0 && !answer)
        printf("%s: %s\n", device->policy->name, device->unit.name);
    if (status == 0)
        status = profile_measure(&table.readings, device, context, bench,
                                 a->only ? a->only : "study_*", err);
    if (status == 0 && folder)
        status = time_ladder(&table, bench, folder, err);
    bench_stop(bench);
    free(folder);
    if (status)
        return -1;
    for (size_t i = 0; answer && i < table.readings.count; i++)
        print_reading(answer, device, &table.readings.items[i]);
    if (!answer)
        print_study(&table);
    return a->options.out ? write_study(a->options.out, &table, err) : 0;
}

// Prints which profile predictions take from now on, if another one is shipped for the device.
static int say_taken(const struct context *context, const struct context_device *device,
                     struct error *err)
{
    const struct gpu *shipped = gpu_find(device->gpu.name);
    char *stays = NULL;
    if (!shipped)
        return 0;
    if (profile_stays(&stays, &device->gpu, shipped, context->store, device->unit.uuid, err))
        return -1;
    printf("predictions: %s\n", stays ? stays : "with these figures");
    free(stays);
    return 0;
}

static int calibrate_device(struct answer *answer, struct context *context,
                            struct context_device *device, const struct arguments *a,
                            struct error *err)
{
    struct bench *bench = NULL;
    struct bench_figure_list readings = {0};
    if (context_bench(&bench, context, device, NULL, 0, err))
        return -1;
    if (!answer)
        printf("%s: %s\n", device->policy->name, device->unit.name);
    int status = profile_measure(&readings, device, context, bench, a->only, err);
    bench_stop(bench);
    for (size_t i = 0; status == 0 && i < readings.count; i++)
        print_reading(answer, device, &readings.items[i]);
    if (status == 0 && a->options.out)
        status = write_profile(a->options.out, device, err);
    if (status == 0 && !answer)
        status = say_taken(context, device, err);
    return status;
}

static int calibrate_all(struct answer *answer, struct context *context, const struct arguments *a,
                         struct error *err)
{
    for (size_t i = 0; i < context->device_count; i++) {
        struct context_device *device = &context->devices[i];
        if (!a->options.dry_run &&
            (a->study ? study_device : calibrate_device)(answer, context, device, a, err))
            return -1;
        if (a->options.dry_run && !answer)
            printf("dry run: %s: %s would be calibrated\n", device->policy->name,
                   device->unit.name);
    }
    return 0;
}

static int check(void *arguments, struct error *err)
{
    const struct arguments *a = arguments;
    return a->kernels && !a->study ? error_set(err, "--kernels is for --study") : 0;
}

static int run(enum conclusion *out, struct context *context, void *arguments, struct error *err)
{
    const struct arguments *a = arguments;
    (void)out;
    if (context_open(context, &a->options, err) || context_policy(context, "", err) ||
        context_store(context, STORE_WRITE, err) || context_builder(context, err) ||
        context_devices(context, err))
        return -1;
    if (a->options.out && context->device_count > 1)
        return error_set(err, "--out takes one device; choose it with --device");
    struct answer kept, *answer = answer_if(&kept, a->json, "readings");
    return answer_leave(answer, calibrate_all(answer, context, a, err));
}

const struct command command_calibrate = {
    .name = "calibrate",
    .summary = "Measure a device's profile and keep it",
    .json =
        "readings (device, figure, value, unit, cv: a fraction, repeats, refused: why, or null).",
    .shared = SHARED_TIME | SHARED_OUT,
    .options = own_options,
    .check = check,
    .size = sizeof(struct arguments),
    .run = run,
    .doc = "Measures the profile of every device of the policy that is on this machine. With "
           "--study it measures what a published study of an H100 (seed 2) did, and prints the "
           "study's own figures beside: ten instructions in 1 to 128 chains, latencies of "
           "shared memory, L1, L2 and DRAM, copies by one thread to all SMs, four transposes, "
           "and with --kernels the GEMM ladder at the study's size. -o FOLDER then leaves "
           "study.csv, instructions.svg, copies.svg and gemm.svg there.\v"
           "Each figure is read at least three times. If its readings do not agree, plumb "
           "refuses the figure by name and the shipped figure stays. `plumb list devices` "
           "shows where every number comes from. With -o FILE (here a file, not a folder) the "
           "profile is written there, too, for --gpu FILE on machines without that device. If "
           "the shipped profile was judged (`plumb list gpus`), predictions use the measured "
           "one only after a run had five times of the device and the measured profile was no "
           "farther off.",
};
