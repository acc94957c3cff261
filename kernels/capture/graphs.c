// SPDX-License-Identifier: Apache-2.0
//
// CUDA graphs by their nodes: when one is made executable its kernels and memsets are taken down in
// an order that its edges allow. A graph with any other node is counted but not recorded.
#include "kernels/capture/capture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES_MAX = 65536 };

static struct graph *graphs;
static size_t graph_count, graph_room;

const struct graph *graph_of(CUgraphExec exec)
{
    for (size_t i = graph_count; i-- > 0;) {
        if (graphs[i].exec == exec)
            return &graphs[i];
    }
    return NULL;
}

void graph_changed(CUgraphExec exec)
{
    for (size_t i = 0; i < graph_count; i++) {
        if (graphs[i].exec == exec)
            snprintf(graphs[i].refused, sizeof(graphs[i].refused),
                     "its graph was changed after it was made executable");
    }
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
        (struct graph_step){.is_memset = true,
                            .memset = {.kind = RECORD_MEMSET,
                                       .value = from.value,
                                       .element_bytes = from.elementSize,
                                       .width = from.width,
                                       .height = from.height ? from.height : 1,
                                       .pitch_bytes = from.pitch},
                            .address = from.dst};
    return true;
}

static void add_node(struct graph *graph, CUgraphNode node, bool programmatic)
{
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    driver->cuGraphNodeGetType(node, &type);
    const bool added = type == CU_GRAPH_NODE_TYPE_KERNEL   ? add_kernel(graph, node, programmatic)
                       : type == CU_GRAPH_NODE_TYPE_MEMSET ? add_memset(graph, node)
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

// Adds each node once all that it waits for were added.
static void in_order(struct graph *graph, CUgraphNode *nodes, size_t count,
                     const struct edges *edges)
{
    bool *done = xcalloc(count + 1, sizeof(*done));
    for (size_t left = count, before = count + 1; left && left < before;) {
        before = left;
        for (size_t i = 0; i < count; i++) {
            bool ready = !done[i], programmatic = false;
            for (size_t e = 0; e < edges->count && ready; e++) {
                if (edges->to[e] != nodes[i])
                    continue;
                for (size_t j = 0; j < count && ready; j++)
                    ready = nodes[j] != edges->from[e] || done[j];
                programmatic =
                    programmatic || edges->data[e].type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
            }
            if (!ready)
                continue;
            add_node(graph, nodes[i], programmatic);
            done[i] = true;
            left--;
        }
    }
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
    graphs = xgrow(graphs, graph_count, &graph_room, sizeof(*graphs));
    graphs[graph_count++] = graph;
}
