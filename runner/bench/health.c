// SPDX-License-Identifier: Apache-2.0
//
// Facts about this machine from /proc, /sys and nvidia-smi.
#include "runner/bench/health.h"

#include "model/csv.h"
#include "runner/child/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { FACT_TEXT = 512, GPU_FIELDS = 11, SAID_MOST = 1 << 20 };
#define SMI_PATIENCE_S 20

// Reads the first line of a system file; "" when there is none.
static void read_line(char out[FACT_TEXT], const char *root, const char *path)
{
    char *name = xprintf("%s%s", root, path);
    FILE *file = fopen(name, "r");
    out[0] = '\0';
    if (file) {
        if (!fgets(out, FACT_TEXT, file))
            out[0] = '\0';
        fclose(file);
    }
    out[strcspn(out, "\n")] = '\0';
    free(name);
}

// The word in brackets: "madvise" in "always [madvise] never".
static const char *chosen(const char *text, struct arena *arena)
{
    const char *open = strchr(text, '['), *close = open ? strchr(open, ']') : NULL;
    return close ? arena_strndup(arena, open + 1, (size_t)(close - open - 1)) : "";
}

// Reads a file of our control group (version 2), or of the root that a container shows.
static void read_group(char out[FACT_TEXT], const char *root, const char *file)
{
    char line[FACT_TEXT];
    read_line(line, root, "/proc/self/cgroup");
    char *own = xprintf("/sys/fs/cgroup%s/%s", strncmp(line, "0::", 3) == 0 ? line + 3 : "", file);
    char *top = xprintf("/sys/fs/cgroup/%s", file);
    read_line(out, root, own);
    if (!out[0])
        read_line(out, root, top);
    free(own);
    free(top);
}

static void read_limits(struct health *out, const char *root)
{
    char text[FACT_TEXT];
    double quota, period;
    read_group(text, root, "cpu.max"); // "max 100000" or "200000 100000"
    char *space = strchr(text, ' ');
    if (space) {
        *space = '\0';
        if (parse_double(&quota, text) == 0 && parse_double(&period, space + 1) == 0 && period > 0)
            out->cpu_limit = quota / period;
    }
    read_group(text, root, "memory.max");
    if (parse_int64(&out->memory_limit, text))
        out->memory_limit = 0;
}

static void read_host(struct health *out, const char *root, struct arena *arena)
{
    char text[FACT_TEXT];
    read_line(text, root, "/sys/devices/system/clocksource/clocksource0/current_clocksource");
    out->clock_source = arena_strdup(arena, text);
    read_line(text, root, "/sys/kernel/mm/transparent_hugepage/enabled");
    out->huge_pages = chosen(text, arena);
    read_line(text, root, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    out->governor = arena_strdup(arena, text);
    read_line(text, root, "/proc/loadavg");
    text[strcspn(text, " ")] = '\0';
    if (parse_double(&out->load, text))
        out->load = -1;
    out->cpus = sysconf(_SC_NPROCESSORS_ONLN);
    cpu_set_t ours;
    out->cpus_ours = sched_getaffinity(0, sizeof(ours), &ours) ? out->cpus : CPU_COUNT(&ours);
    out->cores = processors_cores(&out->cores_measured, &(struct processors_site){.root = root});
}

// Returns what nvidia-smi prints for a query; NULL, with the reason in `err`, if that fails.
static char *ask_smi(const char *query, struct error *err)
{
    const char *const argv[] = {"nvidia-smi", query, "--format=csv,noheader,nounits", NULL};
    const struct process_plan plan = {
        .argv = argv, .log_bytes = SAID_MOST, .limits = {.time_s = SMI_PATIENCE_S}};
    struct process_result result;
    char *said = NULL;
    if (process_capture(&result, &said, &plan, err))
        return NULL;
    if (result.end != PROCESS_EXITED || result.code != 0) {
        char how[128];
        process_describe(how, sizeof(how), &result);
        said[strcspn(said, "\n")] = '\0';
        error_set(err, "nvidia-smi: %s: %.200s", how, said);
        free(said);
        return NULL;
    }
    return said;
}

static const char *field(const struct csv *csv, size_t row, size_t at)
{
    const char *text = csv->rows[row].fields[at];
    return text + strspn(text, " ");
}

static int64_t number(const struct csv *csv, size_t row, size_t at)
{
    const char *text = field(csv, row, at);
    int64_t value;
    char *end;
    if (strncmp(text, "0x", 2) == 0) {
        const unsigned long long bits = strtoull(text, &end, 16);
        return *end || bits > INT64_MAX ? -1 : (int64_t)bits;
    }
    return parse_int64(&value, text) || value < 0 ? -1 : value;
}

static void count_processes(struct health *out, struct arena *arena)
{
    struct error ignored;
    struct csv csv = {0};
    char *said = ask_smi("--query-compute-apps=gpu_uuid,process_name", &ignored);
    if (said && csv_parse_bare(&csv, said, strlen(said), "nvidia-smi", &ignored) == 0 &&
        csv.columns == 2) {
        for (size_t row = 0; row < csv.count; row++) {
            for (size_t i = 0; i < out->gpu_count; i++) {
                if (strcmp(field(&csv, row, 0), out->gpus[i].uuid) != 0)
                    continue;
                if (out->gpus[i].processes++ == 0)
                    out->gpus[i].process = arena_strdup(arena, field(&csv, row, 1));
            }
        }
    }
    csv_free(&csv);
    free(said);
}

static void read_gpus(struct health *out, struct arena *arena)
{
#define FIELDS(reasons)                                                                            \
    "--query-gpu=uuid,name,driver_version,persistence_mode,mig.mode.current,ecc.mode.current,"     \
    "ecc.errors.uncorrected.volatile.total," reasons                                               \
    ",clocks.current.sm,clocks.max.sm,temperature.gpu"
    struct error err;
    struct csv csv = {0};
    char *said = ask_smi(FIELDS("clocks_event_reasons.active"), &err);
    if (!said) // drivers before 535 use the older name
        said = ask_smi(FIELDS("clocks_throttle_reasons.active"), &err);
    int status = said ? csv_parse_bare(&csv, said, strlen(said), "nvidia-smi", &err) : -1;
    if (status == 0 && csv.count && csv.columns != GPU_FIELDS)
        status = error_set(&err, "nvidia-smi: %zu fields of %d", csv.columns, GPU_FIELDS);
    if (status == 0 && csv.count == 0)
        status = error_set(&err, "nvidia-smi: lists no GPU");
    if (status)
        out->no_gpu = arena_strdup(arena, err.text);
    out->gpu_count = status ? 0 : csv.count;
    out->gpus = arena_alloc(arena, (out->gpu_count + 1) * sizeof(*out->gpus));
    for (size_t row = 0; row < out->gpu_count; row++)
        out->gpus[row] =
            (struct health_gpu){.uuid = arena_strdup(arena, field(&csv, row, 0)),
                                .name = arena_strdup(arena, field(&csv, row, 1)),
                                .driver = arena_strdup(arena, field(&csv, row, 2)),
                                .persistence = arena_strdup(arena, field(&csv, row, 3)),
                                .mig = arena_strdup(arena, field(&csv, row, 4)),
                                .ecc = arena_strdup(arena, field(&csv, row, 5)),
                                .ecc_errors = number(&csv, row, 6),
                                .reasons = number(&csv, row, 7),
                                .clock_mhz = number(&csv, row, 8),
                                .clock_most_mhz = number(&csv, row, 9),
                                .temperature_c = number(&csv, row, 10),
                                .process = ""};
    csv_free(&csv);
    free(said);
    if (out->gpu_count)
        count_processes(out, arena);
}

void health_read(struct health *out, const char *root, const char *folder, struct arena *arena)
{
    struct statvfs disk;
    *out = (struct health){.disk_free = -1};
    read_host(out, root, arena);
    read_limits(out, root);
    if (statvfs(folder, &disk) == 0)
        out->disk_free = (int64_t)disk.f_bavail * (int64_t)disk.f_frsize;
    char *control = xprintf("%s/dev/nvidiactl", root);
    out->gpu_device = access(control, F_OK) == 0;
    free(control);
    read_gpus(out, arena);
}
