// SPDX-License-Identifier: Apache-2.0
//
// Keeps CUDA graphs by their nodes. When a graph is instantiated, its kernels, memsets and copies
// within the device's memory are noted in an order that its edges allow. A graph with any other
// node is counted but not recorded.
#include "kernels/capture/capture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES_MAX = 65536 };

static struct graph *graphs;
static size_t graph_count, graph_room;

static struct graph *find(CUgraphExec exec)
{
    for (size_t i = 0; i < graph_count; i++) {
        if (graphs[i].exec == exec)
            return &graphs[i];
    }
    return NULL;
}

const struct graph *graph_of(CUgraphExec exec)
{
    return find(exec);
}

void graph_changed(CUgraphExec exec)
{
    struct graph *graph = find(exec);
    if (graph)
        snprintf(graph->refused, sizeof(graph->refused),
                 "its graph was changed after it was made executable");
}

// Drops what was noted for a handle, because handles are reused, and a graph may be updated as a
// whole for each launch.
static struct graph *forgotten(CUgraphExec exec)
{
    struct graph *graph = find(exec);
    for (size_t i = 0; graph && i < graph->count; i++) {
        free(graph->steps[i].seen);
        free(graph->steps[i].after);
    }
    if (graph)
        free(graph->steps);
    return graph;
}

static void add_attributes(struct seen *seen, CUgraphNode node)
{
    static const CUlaunchAttributeID which[] = {
        CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
        CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
        CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW};
    for (size_t i = 0; i < ARRAY_COUNT(which); i++) {
        CUlaunchAttribute attribute = {.id = which[i]};
        if (driver->cuGraphKernelNodeGetAttribute(node, which[i], &attribute.value) == CUDA_SUCCESS)
            seen_attributes(seen, &attribute, 1);
    }
}

static bool add_kernel(struct graph *graph, CUgraphNode node, bool programmatic)
{
    CUDA_KERNEL_NODE_PARAMS from;
    struct seen seen = SEEN_NONE;
    if (driver->cuGraphKernelNodeGetParams(node, &from) != CUDA_SUCCESS)
        return false;
    seen.function = function_of(from.func ? from.func : (CUfunction)from.kern);
    if (!seen.function)
        return false;
    const uint32_t grid[] = {from.gridDimX, from.gridDimY, from.gridDimZ};
    const uint32_t block[] = {from.blockDimX, from.blockDimY, from.blockDimZ};
    memcpy(seen.grid, grid, sizeof(grid));
    memcpy(seen.block, block, sizeof(block));
    seen.shared_bytes = from.sharedMemBytes;
    seen.programmatic = programmatic;
    add_attributes(&seen, node);
    seen_parameters(&seen, from.kernelParams, from.extra);
    struct graph_step *step = &graph->steps[graph->count++];
    const size_t size = offsetof(struct seen, bytes) + seen.size;
    step->seen = xcalloc(size, 1);
    memcpy(step->seen, &seen, size);
    return true;
}

static bool add_memset(struct graph *graph, CUgraphNode node)
{
    CUDA_MEMSET_NODE_PARAMS from;
    if (driver->cuGraphMemsetNodeGetParams(node, &from) != CUDA_SUCCESS)
        return false;
    graph->steps[graph->count++] =
        (struct graph_step){.is_transfer = true,
                            .transfer = {.kind = RECORD_MEMSET,
                                         .value = from.value,
                                         .element_bytes = from.elementSize,
                                         .width = from.width,
                                         .height = from.height ? from.height : 1,
                                         .pitch_bytes = from.pitch},
                            .addresses = {from.dst}};
    return true;
}

// Adds a copy, if it is one row within the device's memory.
static bool add_copy(struct graph *graph, CUgraphNode node)
{
    CUDA_MEMCPY3D from;
    if (driver->cuGraphMemcpyNodeGetParams(node, &from) != CUDA_SUCCESS || from.Height > 1 ||
        from.Depth > 1 || from.srcMemoryType != CU_MEMORYTYPE_DEVICE ||
        from.dstMemoryType != CU_MEMORYTYPE_DEVICE)
        return false;
    graph->steps[graph->count++] = (struct graph_step){
        .is_transfer = true,
        .transfer = {.kind = RECORD_COPY,
                     .element_bytes = 1,
                     .width = from.WidthInBytes,
                     .height = 1},
        .addresses = {from.dstDevice + from.dstXInBytes, from.srcDevice + from.srcXInBytes}};
    return true;
}

static void add_node(struct graph *graph, CUgraphNode node, bool programmatic)
{
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    driver->cuGraphNodeGetType(node, &type);
    const bool added = type == CU_GRAPH_NODE_TYPE_KERNEL   ? add_kernel(graph, node, programmatic)
                       : type == CU_GRAPH_NODE_TYPE_MEMSET ? add_memset(graph, node)
                       : type == CU_GRAPH_NODE_TYPE_MEMCPY ? add_copy(graph, node)
                                                           : type == CU_GRAPH_NODE_TYPE_EMPTY;
    static const char *const names[] = {"kernel",           "copy",        "memset",
                                        "host callback",    "child graph", "empty node",
                                        "event's wait",     "event",       "semaphore's signal",
                                        "semaphore's wait", "allocation",  "release",
                                        "memory operation", "conditional"};
    if (!added && !graph->refused[0])
        snprintf(graph->refused, sizeof(graph->refused), "its graph has a %s that cannot be read",
                 (size_t)type < ARRAY_COUNT(names) ? names[type] : "node");
}

struct edges {
    CUgraphNode *from, *to;
    CUgraphEdgeData *data;
    size_t count;
};

// The steps after which a node's successors come: its own step, or if it has none, those that it
// waits for itself.
struct behind {
    uint32_t *steps;
    size_t count, room;
};

static void add_behind(struct behind *to, uint32_t step)
{
    to->steps = xgrow(to->steps, to->count, &to->room, sizeof(*to->steps));
    to->steps[to->count++] = step;
}

// Puts a step on a chain whose last step it waits for, or on a new chain; if there is no room for
// one, at the end of the first.
static void settle_chain(struct graph *graph, uint32_t at, const struct behind *waits,
                         int64_t last[RECORD_STREAMS_MAX])
{
    struct graph_step *step = &graph->steps[at];
    uint32_t chain = RECORD_STREAMS_MAX;
    for (size_t i = 0; i < waits->count && chain == RECORD_STREAMS_MAX; i++) {
        const uint32_t other = graph->steps[waits->steps[i]].chain;
        chain = last[other] == waits->steps[i] ? other : chain;
    }
    for (uint32_t c = 0; c < RECORD_STREAMS_MAX && chain == RECORD_STREAMS_MAX; c++)
        chain = last[c] < 0 ? c : chain;
    step->chain = chain % RECORD_STREAMS_MAX;
    step->after = xcalloc(waits->count + 1, sizeof(*step->after));
    for (size_t i = 0; i < waits->count; i++) {
        if (graph->steps[waits->steps[i]].chain != step->chain)
            step->after[step->after_count++] = waits->steps[i];
    }
    last[step->chain] = at;
}

// Whether all nodes that a node waits for have been added; collects their steps.
static bool is_ready(struct behind *waits, bool *programmatic, size_t node, CUgraphNode *nodes,
                     size_t count, const struct edges *edges, const struct behind *behind,
                     const bool *done)
{
    waits->count = 0;
    *programmatic = false;
    for (size_t e = 0; e < edges->count; e++) {
        if (edges->to[e] != nodes[node])
            continue;
        size_t from = 0;
        while (from < count && nodes[from] != edges->from[e])
            from++;
        if (from < count && !done[from])
            return false;
        for (size_t i = 0; from < count && i < behind[from].count; i++)
            add_behind(waits, behind[from].steps[i]);
        *programmatic |= edges->data[e].type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
    }
    return true;
}

// Adds each node after all nodes that it waits for.
static void in_order(struct graph *graph, CUgraphNode *nodes, size_t count,
                     const struct edges *edges)
{
    bool *done = xcalloc(count + 1, sizeof(*done)), programmatic;
    struct behind *behind = xcalloc(count + 1, sizeof(*behind)), waits = {0};
    int64_t last[RECORD_STREAMS_MAX];
    memset(last, -1, sizeof(last));
    for (size_t left = count, before = count + 1; left && left < before;) {
        before = left;
        for (size_t i = 0; i < count; i++) {
            if (done[i] || !is_ready(&waits, &programmatic, i, nodes, count, edges, behind, done))
                continue;
            const size_t step = graph->count;
            add_node(graph, nodes[i], programmatic);
            if (graph->count > step) {
                settle_chain(graph, (uint32_t)step, &waits, last);
                add_behind(&behind[i], (uint32_t)step);
            }
            for (size_t k = 0; graph->count == step && k < waits.count; k++)
                add_behind(&behind[i], waits.steps[k]);
            done[i] = true;
            left--;
        }
    }
    for (size_t i = 0; i < count; i++)
        free(behind[i].steps);
    free(behind);
    free(waits.steps);
    free(done);
}

void graph_made(CUgraphExec exec, CUgraph from)
{
    struct graph graph = {.exec = exec};
    struct edges edges = {0};
    size_t count = 0;
    if (driver->cuGraphGetNodes(from, NULL, &count) != CUDA_SUCCESS || count > NODES_MAX ||
        driver->cuGraphGetEdges(from, NULL, NULL, NULL, &edges.count) != CUDA_SUCCESS)
        return;
    CUgraphNode *nodes = xcalloc(count + 1, sizeof(*nodes));
    edges.from = xcalloc(edges.count + 1, sizeof(*edges.from));
    edges.to = xcalloc(edges.count + 1, sizeof(*edges.to));
    edges.data = xcalloc(edges.count + 1, sizeof(*edges.data));
    graph.steps = xcalloc(count + 1, sizeof(*graph.steps));
    if (driver->cuGraphGetNodes(from, nodes, &count) == CUDA_SUCCESS &&
        driver->cuGraphGetEdges(from, edges.from, edges.to, edges.data, &edges.count) ==
            CUDA_SUCCESS)
        in_order(&graph, nodes, count, &edges);
    free(nodes);
    free(edges.from);
    free(edges.to);
    free(edges.data);
    struct graph *before = forgotten(exec);
    if (!before) {
        graphs = xgrow(graphs, graph_count, &graph_room, sizeof(*graphs));
        before = &graphs[graph_count++];
    }
    *before = graph;
}
