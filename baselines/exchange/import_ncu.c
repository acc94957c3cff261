// SPDX-License-Identifier: Apache-2.0
//
// What `ncu --csv` prints: the details page (a row per metric of a launch) or, with --page raw,
// a row per launch, the first of them units.
//   kernel   Kernel Name without return type and parameters
//   problem  a profiler does not know it: --problem, and --kernel for one kernel's launches
//   time     Duration, or gpu__time_duration.sum; each launch is a sample
//   clock    SM Frequency, or smsp__cycles_elapsed.avg.per_second
//   device   Device, a number, on Host Name
// ncu locks the clock to its base unless --clock-control none is given: its times are comparable
// with each other only. Columns: Nsight Compute's documentation of its command line.
#include "baselines/exchange/foreign.h"

#include <math.h>
#include <string.h>
#include <strings.h>

enum { NAME_MOST = 4096 };

struct launch {
    size_t row; // its first one
    double time_ns, clock_hz;
};

// "1,234.5".
static double read_number(const char *text)
{
    char plain[64];
    size_t used = 0;
    double value;
    for (; *text && used + 1 < sizeof(plain); text++) {
        if (*text != ',')
            plain[used++] = *text;
    }
    plain[used] = '\0';
    return *text || parse_double(&value, plain) ? NAN : value;
}

// Of "Ghz", "cycle/nsecond" and their like in hertz; 0: unknown.
static double unit_hz(const char *unit)
{
    static const struct {
        const char *name;
        double hz;
    } units[] = {{"hz", 1}, {"khz", 1e3}, {"mhz", 1e6}, {"ghz", 1e9}};
    for (size_t i = 0; i < ARRAY_COUNT(units); i++) {
        if (strcasecmp(unit, units[i].name) == 0)
            return units[i].hz;
    }
    double ns = strncmp(unit, "cycle/", 6) == 0 ? foreign_unit_ns(unit + 6) : 0;
    return ns > 0 ? 1e9 / ns : 0;
}

static bool is_time(const char *metric)
{
    return strcmp(metric, "Duration") == 0 || strcmp(metric, "gpu__time_duration.sum") == 0 ||
           strcmp(metric, "gpu__time_duration.avg") == 0;
}

static bool is_clock(const char *metric)
{
    return strcmp(metric, "SM Frequency") == 0 ||
           strcmp(metric, "smsp__cycles_elapsed.avg.per_second") == 0 ||
           strcmp(metric, "sm__cycles_elapsed.avg.per_second") == 0;
}

// A metric that is no time or clock is passed over. -1: its unit is unknown.
static int take_metric(struct launch *launch, const char *metric, const char *unit,
                       const char *value)
{
    const double scale = is_time(metric)    ? foreign_unit_ns(unit)
                         : is_clock(metric) ? unit_hz(unit)
                                            : NAN;
    if (scale == 0)
        return -1;
    if (is_time(metric))
        launch->time_ns = read_number(value) * scale;
    else if (is_clock(metric))
        launch->clock_hz = read_number(value) * scale;
    return 0;
}

// "void gemm<float, (int)128>(const float *)" is gemm<float, (int)128>.
static const char *bare_name(struct arena *arena, const char *name)
{
    char text[NAME_MOST];
    int depth = 0;
    snprintf(text, sizeof(text), "%s", strncmp(name, "void ", 5) == 0 ? name + 5 : name);
    for (char *c = text; *c; c++) {
        depth += (*c == '<') - (*c == '>');
        if (*c == '(' && depth == 0 && c > text && strncmp(c, "(anonymous", 10) != 0) {
            *c = '\0';
            break;
        }
    }
    return arena_strdup(arena, text);
}

static int add_launch(struct import *in, const struct csv *csv, const struct launch *launch,
                      struct error *err)
{
    const size_t row = launch->row;
    const char *name = foreign_field(csv, row, "Kernel Name");
    const char *host = foreign_field(csv, row, "Host Name");
    const char *device = foreign_field(csv, row, "Device");
    struct arena *arena = &in->run.arena;
    struct foreign f = {
        // Launches of other shapes are not the same thing, whatever their kernel's name.
        .name = arena_printf(arena, "%s grid %s block %s on %s:%s", name,
                             foreign_field(csv, row, "Grid Size"),
                             foreign_field(csv, row, "Block Size"), host, device),
        .state = MEASURED_OK,
        .regime = "ncu",
        .clock_hz = launch->clock_hz > 0 ? launch->clock_hz : 0};
    in->line = csv->rows[row].line;
    f.device = foreign_device(in, "cuda", arena_printf(arena, "ncu:%s:%s", host, device),
                              arena_printf(arena, "GPU %s of %s", device, host));
    foreign_name(&f, bare_name(arena, name));
    if (!foreign_wanted(in, &f))
        return 0;
    if (!(launch->time_ns > 0))
        return import_refuse(in,
                             "this launch has no Duration above 0; profile with "
                             "--section SpeedOfLight or --metrics gpu__time_duration.sum",
                             err);
    return foreign_add(in, &f, &launch->time_ns, 1, err);
}

static bool same_launch(const struct csv *csv, size_t a, size_t b)
{
    return strcmp(foreign_field(csv, a, "ID"), foreign_field(csv, b, "ID")) == 0 &&
           strcmp(foreign_field(csv, a, "Process ID"), foreign_field(csv, b, "Process ID")) == 0;
}

static int refuse_unit(struct import *in, const struct csv *csv, size_t row, struct error *err)
{
    in->line = csv->rows[row].line;
    return import_refuse(in, "the time or clock has a unit that is none of ncu's", err);
}

static int read_details(struct import *in, const struct csv *csv, struct error *err)
{
    for (size_t from = 0, row; from < csv->count; from = row) {
        struct launch launch = {.row = from};
        for (row = from; row < csv->count && same_launch(csv, from, row); row++) {
            if (take_metric(&launch, foreign_field(csv, row, "Metric Name"),
                            foreign_field(csv, row, "Metric Unit"),
                            foreign_field(csv, row, "Metric Value")))
                return refuse_unit(in, csv, row, err);
        }
        if (add_launch(in, csv, &launch, err))
            return -1;
    }
    return 0;
}

static int read_raw(struct import *in, const struct csv *csv, struct error *err)
{
    for (size_t row = 1; row < csv->count; row++) {
        struct launch launch = {.row = row};
        for (size_t i = 0; i < csv->columns; i++) {
            if (take_metric(&launch, csv->header[i], csv->rows[0].fields[i],
                            csv->rows[row].fields[i]))
                return refuse_unit(in, csv, 0, err);
        }
        if (add_launch(in, csv, &launch, err))
            return -1;
    }
    return 0;
}

int import_ncu(struct import *in, const char *text, size_t length, struct error *err)
{
    struct csv csv = {0};
    int status = foreign_table(&csv, in, "\"ID\",", text, length, err);
    if (status == 0 && csv_column(&csv, "Kernel Name") < 0)
        status = error_set(err, "%.200s: not ncu's CSV: no column Kernel Name", in->name);
    if (status == 0)
        status = foreign_begin(in, "ncu", NULL, text, length, err);
    if (status == 0)
        status = (csv_column(&csv, "Metric Name") < 0 ? read_raw : read_details)(in, &csv, err);
    if (status == 0)
        status = foreign_end(in, err);
    csv_free(&csv);
    return status;
}
