// SPDX-License-Identifier: Apache-2.0
//
// Reads nvbench's JSON (--json FILE): benchmarks, each with states, each with
// axis_values and summaries.
//   kernel   the benchmark's name; axes other than the problem's are appended: gemm.tile-128
//   problem  axes M, N, K (any case), and T, type or dtype for the element type (fp32 if none)
//   time     each of the samples that --jsonbin FILE put into FILE-bin beside it, if they are
//            there; else summary nv/cold/time/gpu/mean, seconds; clock: nv/cold/sm_clock_rate/mean,
//            Hz
//   device   its name and number, because nvbench does not write the UUID
// A benchmark of host code alone has nv/cpu_only/time/cpu/mean and no device; its device is host. A
// skipped state is unsupported. Version 1 of nvbench's JSON is known. Field and tag names:
// NVIDIA/nvbench, json_printer and its nvbench_compare script.
#include "baselines/exchange/foreign.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SAMPLES_MOST = 1 << 20 }; // for one state

// An axis value as text: nvbench writes numbers as strings.
static const char *axis_text(const struct node *axis)
{
    const struct node *value = node_member(axis, "value");
    if (!value || (value->type != NODE_TEXT && value->type != NODE_NUMBER))
        return node_text(axis, "input_string", "");
    return value->text;
}

// The name of an axis without a suffix that says how it is used: "T{ct}" is T, "M{io}" is M.
static const char *axis_name(const struct node *axis, struct arena *arena)
{
    const char *name = node_text(axis, "name", ""), *brace = strchr(name, '{');
    return brace && brace > name ? arena_strndup(arena, name, (size_t)(brace - name)) : name;
}

// A value of a summary as text, NULL if there is none; nvbench writes numbers as strings.
static const char *summary_text(const struct node *state, const char *tag, const char *name)
{
    const struct node *list = node_member(state, "summaries");
    const struct node *at = list && list->type == NODE_ARRAY ? list->children : NULL;
    while (at && strcmp(node_text(at, "tag", ""), tag) != 0)
        at = at->next;
    const struct node *data = node_member(at, "data");
    const struct node *item = data && data->type == NODE_ARRAY ? data->children : NULL;
    while (item && strcmp(node_text(item, "name", ""), name) != 0)
        item = item->next;
    const struct node *value = node_member(item, "value");
    return value && (value->type == NODE_TEXT || value->type == NODE_NUMBER) ? value->text : NULL;
}

static double summary(const struct node *state, const char *tag)
{
    const char *text = summary_text(state, tag, "value");
    double number;
    return text && parse_double(&number, text) == 0 ? number : NAN;
}

// ---- samples: floats of four bytes, little-endian, in a file that the state names ----

// Finds that file. nvbench writes FILE-bin/0.bin, and names the place where the file lay when
// nvbench ran, which may be anywhere. It is only looked for next to the JSON. NULL: it cannot be
// there.
static char *samples_path(const struct import *in, const char *named)
{
    const char *name = strrchr(named, '/'), *folder = name;
    while (folder && folder > named && folder[-1] != '/')
        folder--;
    if (!in->source->beside || !name || name[1] == '\0' || strcmp(name, "/..") == 0 ||
        folder == name || strncmp(folder, "../", 3) == 0)
        return NULL;
    return xprintf("%s/%s", in->source->beside, folder);
}

// Reads samples into the arena; NULL: the file does not have them. Memory is allocated only for
// samples that exist, not for a number that the state claims.
static double *read_samples(size_t count, const char *path, struct arena *arena)
{
    struct stat info;
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    const size_t bytes = count * sizeof(uint32_t);
    double *times_ns = NULL;
    uint32_t *bits = NULL;
    if (file >= 0 && fstat(file, &info) == 0 && S_ISREG(info.st_mode) &&
        info.st_size == (off_t)bytes)
        bits = xcalloc(count, sizeof(*bits));
    if (bits && read(file, bits, bytes) == (ssize_t)bytes)
        times_ns = arena_alloc(arena, count * sizeof(*times_ns));
    for (size_t i = 0; times_ns && i < count; i++) {
        const uint32_t word = le32toh(bits[i]);
        float seconds;
        memcpy(&seconds, &word, sizeof(seconds));
        times_ns[i] = (double)seconds * 1e9;
    }
    if (file >= 0)
        close(file);
    free(bits);
    return times_ns;
}

// Finds the times of a state that says that it has samples. NULL: it has none, or the file is
// missing.
static double *find_samples(size_t *count, struct import *in, const struct node *state)
{
    static const char tag[] = "nv/json/bin:nv/cold/sample_times";
    const char *named = summary_text(state, tag, "filename");
    const char *size = summary_text(state, tag, "size");
    int64_t said;
    if (!named || !size || parse_int64(&said, size) || said < 1 || said > SAMPLES_MOST)
        return NULL;
    char *path = samples_path(in, named);
    double *times_ns = path ? read_samples((size_t)said, path, &in->run.arena) : NULL;
    *count = times_ns ? (size_t)said : *count;
    in->report.means += !times_ns;
    free(path);
    return times_ns;
}

// Finds the file's device with that number.
static int find_device(size_t *out, struct import *in, const struct node *file, int64_t id)
{
    const struct node *list = node_member(file, "devices");
    const struct node *at = list && list->type == NODE_ARRAY ? list->children : NULL;
    while (at && node_int(at, "id", 0) != id)
        at = at->next;
    if (!at)
        return -1;
    const char *name = node_text(at, "name", "unknown");
    char *uuid = arena_printf(&in->run.arena, "nvbench:%s:%lld", name, (long long)id);
    *out = foreign_device(in, "cuda", uuid, name);
    return 0;
}

static int read_state(struct import *in, const struct node *file, const struct node *benchmark,
                      const struct node *state, struct error *err)
{
    const char *name = node_text(benchmark, "name", "");
    const char *which = node_text(state, "name", "?");
    const struct node *axes = node_member(state, "axis_values");
    const double cold_s = summary(state, "nv/cold/time/gpu/mean"),
                 host_s = summary(state, "nv/cpu_only/time/cpu/mean");
    const bool host = !isfinite(cold_s) && isfinite(host_s);
    const double time_ns = (host ? host_s : cold_s) * 1e9;
    const double clock_hz = summary(state, "nv/cold/sm_clock_rate/mean");
    struct foreign f = {.name = arena_printf(&in->run.arena, "%s %s", name, which),
                        .state = MEASURED_OK,
                        .regime = host ? "nvbench, host code" : "nvbench cold",
                        .clock_hz = clock_hz > 0 ? clock_hz : 0};
    foreign_at(in, state);
    foreign_name(&f, name);
    const struct node *axis = axes && axes->type == NODE_ARRAY ? axes->children : NULL;
    for (; axis; axis = axis->next) {
        if (foreign_argument(&f, axis_name(axis, &in->run.arena), axis_text(axis)))
            return foreign_leave(in, &f, 1, "an axis M, N or K with a value that is none", err);
    }
    if (host)
        f.device = foreign_device(in, "host", "nvbench:host", "host");
    else if (find_device(&f.device, in, file, node_int(state, "device", 0)))
        return foreign_leave(in, &f, 1, "its device is not in the file's list", err);
    if (node_bool(state, "is_skipped", false))
        f.state = MEASURED_UNSUPPORTED;
    size_t count = f.state == MEASURED_OK;
    const double *samples = count && !host ? find_samples(&count, in, state) : NULL;
    return foreign_add(in, &f, samples ? samples : &time_ns,
                       samples ? count : f.state == MEASURED_OK, err);
}

static int leave_benchmark(struct import *in, const struct node *benchmark, struct error *err)
{
    struct foreign f = {.name = node_text(benchmark, "name", "")};
    foreign_name(&f, f.name);
    foreign_at(in, benchmark);
    return foreign_leave(in, &f, 1, "has no list of states", err);
}

static bool is_nvbench(const struct import_file *file)
{
    return node_member(file->json, "devices") && node_member(file->json, "benchmarks");
}

static int import_nvbench(struct import *in, const struct import_file *whole, struct error *err)
{
    const struct node *file = whole->json;
    const struct node *devices = node_member(file, "devices");
    if (!devices || devices->type != NODE_ARRAY || devices->count == 0)
        return error_set(err, "%.200s: not nvbench's JSON: it lists no devices", in->name);
    if (import_limit(in, devices->count, IMPORT_DEVICES, "devices", err))
        return -1;
    const struct node *version =
        node_member(node_member(node_member(file, "meta"), "version"), "json");
    if (node_int(version, "major", 1) > 1)
        return error_set(err, "%.200s: nvbench's JSON of version %.20s is not known here", in->name,
                         node_text(version, "string", "above 1"));
    if (foreign_begin(in, "nvbench", NULL, whole, err))
        return -1;
    const struct node *list = node_member(file, "benchmarks");
    const struct node *benchmark = list && list->type == NODE_ARRAY ? list->children : NULL;
    for (; benchmark; benchmark = benchmark->next) {
        const struct node *states = node_member(benchmark, "states");
        const struct node *state = states && states->type == NODE_ARRAY ? states->children : NULL;
        if ((!states || states->type != NODE_ARRAY) && leave_benchmark(in, benchmark, err))
            return -1;
        for (; state; state = state->next) {
            if (read_state(in, file, benchmark, state, err))
                return -1;
        }
    }
    return foreign_end(in, err);
}

const struct importer importer_nvbench = {"nvbench", is_nvbench, import_nvbench, NULL};
