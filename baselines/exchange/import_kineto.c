// SPDX-License-Identifier: Apache-2.0
//
// Reads the trace that Kineto writes from CUPTI's records (torch.profiler's
// export_chrome_trace()): a list of events, or an object with the list "traceEvents". Events of
// the category "kernel" are launches.
//   kernel   its name without return type and parameters
//   problem  a profiler does not know it: --problem, and --kernel to select one kernel's launches
//   time     "dur", microseconds; launches of one kernel on one grid and block are its samples
//   device   args.device, with its name from "deviceProperties"
// Other events are no rows. If launches of one problem have other grids or blocks, these go into
// their kernel's name. Fields: pytorch/kineto, libkineto/src/output_json.cpp.
#include "baselines/exchange/foreign.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct trace_launch {
    const struct node *event;
    const char *name, *grid, *block;
    int64_t device;
    size_t order;
};

static bool is_kernel(const struct node *event)
{
    return strcasecmp(node_text(event, "cat", ""), "kernel") == 0;
}

// Turns "[4, 106, 1]" into "4-106-1".
static const char *shape_text(const struct node *args, const char *name, struct arena *arena)
{
    const struct node *list = node_member(args, name);
    const struct node *at = list && list->type == NODE_ARRAY ? list->children : NULL;
    const char *text = "";
    for (size_t i = 0; at && i < 3; at = at->next, i++) {
        if (at->type == NODE_NUMBER)
            text = arena_printf(arena, "%s%s%.20s", text, i ? "-" : "", at->text);
    }
    return text;
}

static int by_kernel(const void *left, const void *right)
{
    const struct trace_launch *a = left, *b = right;
    int order = strcmp(a->name, b->name);
    order = order ? order : (a->device > b->device) - (a->device < b->device);
    order = order ? order : strcmp(a->grid, b->grid);
    order = order ? order : strcmp(a->block, b->block);
    return order ? order : (a->order > b->order) - (a->order < b->order);
}

static bool is_same(const struct trace_launch *a, const struct trace_launch *b)
{
    return strcmp(a->name, b->name) == 0 && a->device == b->device &&
           strcmp(a->grid, b->grid) == 0 && strcmp(a->block, b->block) == 0;
}

static const char *device_name(const struct node *file, int64_t id)
{
    const struct node *list = node_member(file, "deviceProperties");
    const struct node *at = list && list->type == NODE_ARRAY ? list->children : NULL;
    while (at && node_int(at, "id", -1) != id)
        at = at->next;
    return node_text(at, "name", "unknown");
}

static int add_launches(struct import *in, const struct node *file,
                        const struct trace_launch *launches, size_t count, struct error *err)
{
    struct arena *arena = &in->run.arena;
    const char *device = device_name(file, launches->device);
    double *times_ns = arena_alloc(arena, count * sizeof(*times_ns));
    struct foreign_label labels[FOREIGN_LABELS];
    struct foreign f = {
        .name = launches->name, .state = MEASURED_OK, .regime = "kineto trace", .label = labels};
    f.device = foreign_device(
        in, "cuda", arena_printf(arena, "kineto:%s:%lld", device, (long long)launches->device),
        device);
    foreign_name(&f, foreign_bare_name(arena, launches->name));
    foreign_label(&f, "grid", launches->grid);
    foreign_label(&f, "block", launches->block);
    foreign_at(in, launches->event);
    for (size_t i = 0; i < count; i++)
        times_ns[i] = node_real(launches[i].event, "dur", 0) * 1e3;
    return foreign_add(in, &f, times_ns, count, err);
}

static struct trace_launch *list_launches(size_t *count, const struct node *list,
                                          struct arena *arena)
{
    struct trace_launch *launches = arena_alloc(arena, (list->count + 1) * sizeof(*launches));
    *count = 0;
    for (const struct node *at = list->children; at; at = at->next) {
        const struct node *args = node_member(at, "args");
        if (is_kernel(at))
            launches[(*count)++] = (struct trace_launch){.event = at,
                                                         .name = node_text(at, "name", ""),
                                                         .grid = shape_text(args, "grid", arena),
                                                         .block = shape_text(args, "block", arena),
                                                         .device = node_int(args, "device", 0),
                                                         .order = *count};
    }
    qsort(launches, *count, sizeof(*launches), by_kernel);
    return launches;
}

static const struct node *find_events(const struct node *file)
{
    const struct node *list = node_member(file, "traceEvents");
    if (file && file->type == NODE_ARRAY && file->children && node_member(file->children, "cat"))
        list = file;
    return list && list->type == NODE_ARRAY ? list : NULL;
}

static bool is_kineto(const struct import_file *file)
{
    return find_events(file->json) != NULL;
}

static int import_kineto(struct import *in, const struct import_file *file, struct error *err)
{
    const struct node *list = find_events(file->json);
    struct arena arena = {0}; // for the launches, which are sorted before they are read
    if (!list)
        return error_set(err, "%.200s: not a trace of Kineto: no list of events", in->name);
    const struct node *devices = node_member(file->json, "deviceProperties");
    if (devices && import_limit(in, devices->count, IMPORT_DEVICES, "devices", err))
        return -1;
    if (foreign_begin(in, "kineto", NULL, file, err))
        return -1;
    size_t count;
    int status = 0;
    struct trace_launch *launches = list_launches(&count, list, &arena);
    for (size_t from = 0, to; from < count && status == 0; from = to) {
        for (to = from + 1; to < count && is_same(&launches[from], &launches[to]);)
            to++;
        status = add_launches(in, file->json, &launches[from], to - from, err);
    }
    arena_free(&arena);
    return status ? -1 : foreign_end(in, err);
}

// A trace is long, and most of it describes calls of the host, so other events are dropped early.
static const struct node_sieve kernels_alone = {"traceEvents", is_kernel};
const struct importer importer_kineto = {"kineto", is_kineto, import_kineto, &kernels_alone};
