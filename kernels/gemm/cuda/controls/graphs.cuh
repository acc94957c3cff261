// SPDX-License-Identifier: Apache-2.0
//
// Runs controls that have several launches as one CUDA graph. The parts of a graph follow each
// other within half a microsecond, while launches of a stream take one and a half. A graph holds
// addresses, so there is one graph for each of the last few sets of addresses. If the stream is
// being recorded into a graph anyway, the launches are queued as they are.
#ifndef PLUMB_GEMM_CONTROLS_GRAPHS_CUH
#define PLUMB_GEMM_CONTROLS_GRAPHS_CUH

#include <cuda_runtime.h>
#include <string.h>

// `arguments` (struct plumb_args, struct plumb_form_args) are compared byte by byte. A zeroed
// struct has no graphs.
template <class arguments> struct kept_graphs {
    struct entry {
        arguments args;
        cudaGraphExec_t graph; // NULL: no entry
    };
    cudaStream_t recorder;
    struct entry entries[64];
    unsigned next;

    // Called before the first launch, and whenever later launches may queue something else.
    int begin()
    {
        for (struct entry &entry : entries)
            if (entry.graph) {
                cudaGraphExecDestroy(entry.graph);
                entry = {};
            }
        return recorder ? 0 : cudaStreamCreateWithFlags(&recorder, cudaStreamNonBlocking);
    }

    // queue(stream): queues the launches that `args` mean; returns 0 or an error code.
    template <class function>
    int record(struct entry *out, const arguments *args, const function &queue)
    {
        cudaGraph_t graph = nullptr;
        int code = cudaStreamBeginCapture(recorder, cudaStreamCaptureModeThreadLocal);
        if (code)
            return code;
        code = queue(recorder);
        const int ended = cudaStreamEndCapture(recorder, &graph);
        if (out->graph)
            cudaGraphExecDestroy(out->graph);
        *out = {*args, nullptr};
        code = code ? code : ended ? ended : cudaGraphInstantiate(&out->graph, graph, 0);
        if (graph)
            cudaGraphDestroy(graph);
        return code;
    }

    template <class function> int launch(const arguments *args, void *stream, const function &queue)
    {
        const cudaStream_t target = static_cast<cudaStream_t>(stream);
        cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
        if (cudaStreamIsCapturing(target, &status))
            return cudaErrorInvalidValue;
        if (status != cudaStreamCaptureStatusNone)
            return queue(target);
        for (const struct entry &entry : entries)
            if (entry.graph && memcmp(&entry.args, args, sizeof(*args)) == 0)
                return cudaGraphLaunch(entry.graph, target);
        struct entry *slot = &entries[next++ % (sizeof(entries) / sizeof(entries[0]))];
        const int code = record(slot, args, queue);
        return code ? code : cudaGraphLaunch(slot->graph, target);
    }
};

#endif
