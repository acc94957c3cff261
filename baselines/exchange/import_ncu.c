// SPDX-License-Identifier: Apache-2.0
//
// Reads the text that `ncu --csv` prints. It is the details page, with a row per metric of a
// launch; or, with --page raw, a row per launch after a first row of units.
//   kernel   Kernel Name without return type and parameters
//   problem  a profiler does not know it: --problem, and --kernel to select one kernel's launches
//   time     Duration, or gpu__time_duration.sum; each launch is a sample
//   clock    SM Frequency, or smsp__cycles_elapsed.avg.per_second
//   device   Device, a number, on Host Name
// Numbers are written in the language of the machine, with a point or a comma. The whole file
// decides which one it is, and a file that does not show it is refused. If launches of one problem
// have other grids or blocks, these go into their kernel's name. Unless it gets --clock-control
// none, ncu locks the clock to its base, so its times can only be compared with each other.
// Columns: Nsight Compute's documentation of its command line.
#include "baselines/exchange/foreign.h"

#include <math.h>
#include <string.h>
#include <strings.h>

struct ncu_launch {
    size_t row; // the launch's first row
    double time_ns, clock_hz;
    const char *said; // the launch's time as the file has it
    bool odd;         // the time's unit is not known
};

// The value of a unit such as "Ghz" or "cycle/nsecond" in hertz; 0: not known.
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

// Takes a metric of a launch. One that is neither a time nor a clock is ignored.
static void take_metric(struct ncu_launch *launch, const char *metric, const char *unit,
                        const char *value)
{
    const double scale = is_time(metric)    ? foreign_unit_ns(unit)
                         : is_clock(metric) ? unit_hz(unit)
                                            : NAN;
    launch->odd |= scale == 0;
    if (is_time(metric)) {
        launch->said = value;
        launch->time_ns = csv_number(value, '.') * scale;
    } else if (is_clock(metric)) {
        launch->clock_hz = csv_number(value, '.') * scale;
    }
}

static int add_launch(struct import *in, const struct csv *csv, const struct ncu_launch *launch,
                      struct error *err)
{
    const size_t row = launch->row;
    const char *name = foreign_field(csv, row, "Kernel Name");
    const char *host = foreign_field(csv, row, "Host Name");
    const char *device = foreign_field(csv, row, "Device");
    struct arena *arena = &in->run.arena;
    struct foreign_label labels[FOREIGN_LABELS];
    struct foreign f = {.name = arena_printf(arena, "%s on %s:%s", name, host, device),
                        .label = labels,
                        .state = MEASURED_OK,
                        .regime = "ncu",
                        .clock_hz = launch->clock_hz > 0 ? launch->clock_hz : 0};
    in->line = csv->rows[row].line;
    f.device = foreign_device(in, "cuda", arena_printf(arena, "ncu:%s:%s", host, device),
                              arena_printf(arena, "GPU %s of %s", device, host));
    foreign_name(&f, foreign_bare_name(arena, name));
    // Launches of other shapes are different work, even if their kernel has the same name.
    foreign_label(&f, "grid", foreign_field(csv, row, "Grid Size"));
    foreign_label(&f, "block", foreign_field(csv, row, "Block Size"));
    if (launch->odd)
        return foreign_leave(in, &f, 1, "the time or clock has a unit that is none of ncu's", err);
    if (launch->said && isnan(launch->time_ns))
        return foreign_leave(
            in, &f, 1, arena_printf(arena, "its Duration '%.40s' is no number", launch->said), err);
    if (!(launch->time_ns > 0))
        return foreign_leave(in, &f, 1,
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

static int read_details(struct import *in, const struct csv *csv, struct error *err)
{
    for (size_t from = 0, row; from < csv->count; from = row) {
        struct ncu_launch launch = {.row = from};
        for (row = from; row < csv->count && same_launch(csv, from, row); row++)
            take_metric(&launch, foreign_field(csv, row, "Metric Name"),
                        foreign_field(csv, row, "Metric Unit"),
                        foreign_field(csv, row, "Metric Value"));
        if (add_launch(in, csv, &launch, err))
            return -1;
    }
    return 0;
}

static int read_raw(struct import *in, const struct csv *csv, struct error *err)
{
    for (size_t row = 1; row < csv->count; row++) {
        struct ncu_launch launch = {.row = row};
        for (size_t i = 0; i < csv->columns; i++)
            take_metric(&launch, csv->header[i], csv->rows[0].fields[i], csv->rows[row].fields[i]);
        if (add_launch(in, csv, &launch, err))
            return -1;
    }
    return 0;
}

static bool is_ncu(const struct import_file *file)
{
    return foreign_has_heads(file, "\"ID\",");
}

static int import_ncu(struct import *in, const struct import_file *file, struct error *err)
{
    struct csv csv = {0};
    in->spoken = true; // it writes numbers in the machine's language
    // The row of a metric ends before the columns of the rules.
    in->enough = "Metric Value";
    int status = foreign_table(&csv, in, "\"ID\",", file, err);
    if (status == 0 && csv_column(&csv, "Kernel Name") < 0)
        status = error_set(err, "%.200s: not ncu's CSV: no column Kernel Name", in->name);
    if (status == 0)
        status = foreign_begin(in, "ncu", NULL, file, err);
    if (status == 0)
        status = (csv_column(&csv, "Metric Name") < 0 ? read_raw : read_details)(in, &csv, err);
    if (status == 0)
        status = foreign_end(in, err);
    csv_free(&csv);
    return status;
}

const struct importer importer_ncu = {"ncu", is_ncu, import_ncu, NULL};
