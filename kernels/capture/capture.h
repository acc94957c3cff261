// SPDX-License-Identifier: Apache-2.0
//
// What runs inside a captured program: a library that the CUDA driver loads by itself
// (CUDA_INJECTION64_PATH) and that watches the driver through CUPTI. It writes, into the folder
// that PLUMB_CAPTURE names,
//
//     survey.PID    which kernels ran, how often, with what (model/record/record.h)
//     record.PID    the launches that were asked for, as a record with contents; where there are
//                   several shapes of them, record.PID.2 is the second's, and so on
//     PID.T.N.before  what allocation N held before the T-th that was taken, and PID.T.N.after
//     where
//                     they changed it
//
// Each section of a policy that names this program is a wish of its own, with a folder of its own:
// PLUMB_CAPTURE and the settings below are the first's, PLUMB_CAPTURE_2 and so on the second's.
//
// It never ends the program and changes nothing that the program computes. All functions are called
// with the library's one lock held, and with its own driver calls not watched.
#ifndef PLUMB_CAPTURE_H
#define PLUMB_CAPTURE_H

#include "model/record/record.h"

#include <cuda.h>

enum { PARAMETERS_BYTES_MAX = 32764 };

// ---- the CUDA driver that the program has loaded ----
//
// Its functions are looked up by name: the library that is injected links nothing of CUDA.

#define DRIVER_FUNCTIONS(X)                                                                        \
    X(cuCtxGetCurrent)                                                                             \
    X(cuCtxGetDevice)                                                                              \
    X(cuCtxSynchronize)                                                                            \
    X(cuDeviceGetName)                                                                             \
    X(cuDriverGetVersion)                                                                          \
    X(cuFuncGetAttribute)                                                                          \
    X(cuFuncGetModule)                                                                             \
    X(cuFuncGetName)                                                                               \
    X(cuFuncGetParamInfo)                                                                          \
    X(cuFuncIsLoaded)                                                                              \
    X(cuFuncLoad)                                                                                  \
    X(cuGetErrorName)                                                                              \
    X(cuGraphGetEdges)                                                                             \
    X(cuGraphGetNodes)                                                                             \
    X(cuGraphKernelNodeGetAttribute)                                                               \
    X(cuGraphKernelNodeGetParams)                                                                  \
    X(cuGraphMemcpyNodeGetParams)                                                                  \
    X(cuGraphMemsetNodeGetParams)                                                                  \
    X(cuGraphNodeGetType)                                                                          \
    X(cuKernelGetFunction)                                                                         \
    X(cuKernelGetLibrary)                                                                          \
    X(cuMemGetAddressRange)                                                                        \
    X(cuMemcpy)                                                                                    \
    X(cuPointerGetAttribute)                                                                       \
    X(cuStreamGetFlags)                                                                            \
    X(cuStreamIsCapturing)                                                                         \
    X(cuThreadExchangeStreamCaptureMode)

struct driver {
#define X(name) __typeof__(&name) name;
    DRIVER_FUNCTIONS(X)
#undef X
};

// ---- the wish ----

// The wishes of plumb, read from the environment.
enum { WISHES_MOST = 16 }; // ci/gate/built.c asks for no more of one run
struct wish {
    const char *folder; // PLUMB_CAPTURE
    const char *kernel; // PLUMB_CAPTURE_KERNEL: a glob of device functions; NULL: none is taken
    const char *range;  // PLUMB_CAPTURE_RANGE: a glob of NVTX ranges, instead
    uint64_t launch;    // PLUMB_CAPTURE_LAUNCH: which of them, from 1; 0: one of each shape
    uint64_t limit;     // PLUMB_CAPTURE_LIMIT: bytes of all allocations together
};
extern struct wish wishes[WISHES_MOST];
extern size_t wish_count;
extern bool wish_times; // PLUMB_CAPTURE_TIMES: what each launch took, which CUPTI measures
extern const struct driver *driver;

// ---- functions.c: device functions, and the images that they were loaded from ----

struct function {
    CUfunction handle; // that the driver answers questions about
    const char *name;
    int32_t image; // index; -1: not found
    int registers, shared_bytes, local_bytes;
    struct record_parameter *parameters;
    uint32_t parameter_count, parameter_bytes;
    const char *refused; // why it cannot be recorded; NULL: it can
};
void image_loaded(const char *bytes, size_t size);
size_t images_loaded(void); // so far
// The image that was loaded since there were `before` is the one of this module or library.
void image_is_of(const void *handle, size_t before);
// Of a CUfunction or a CUkernel, as launches give either. It stays where it is. NULL: the driver
// knows no such function.
const struct function *function_of(CUfunction handle);
const struct record_image *image_at(int32_t index);

// ---- taking.c: launches as a record, with what their buffers held ----

// One launch as the driver is asked for it.
struct seen {
    const struct function *function;
    uint32_t grid[3], block[3], cluster[3], shared_bytes;
    bool cooperative, programmatic;
    int32_t carveout;
    const char *refused; // why this launch cannot be recorded; NULL: it can
    uint32_t size;
    unsigned char bytes[PARAMETERS_BYTES_MAX]; // of the parameters; `size` of them are there
};
#define SEEN_NONE                                                                                  \
    {                                                                                              \
        .grid = {1, 1, 1}, .block = {1, 1, 1}, .cluster = {1, 1, 1}, .carveout = -1                \
    }
// Copies a launch's parameters; where they come from is the launch's own.
void seen_parameters(struct seen *seen, void **parameters, void **extra);
void seen_attributes(struct seen *seen, const CUlaunchAttribute *attributes, unsigned count);
// The allocation that a word of a launch's parameters points into. False: into none.
bool allocation_of(uint64_t word, CUdeviceptr *base, size_t *bytes);

// A TMA descriptor that the program made.
void map_made(const CUtensorMap *made, const struct record_map *from, uint64_t address);

// A word that no record can hold: a texture, a surface, or the memory of another process, which
// `what` names. A launch that is given it is refused.
void foreign_made(uint64_t word, const char *what);

// shape: of the launch, or of the range's name; each becomes a record of its own: its first, and
// its second where that changes something, for the first warms up; the first in a range that is
// named as a problem is better than those outside. False: it has these. 0: the one that was asked
// for. Wishes are counted from 0; what is told below goes to all for which launches are taken.
bool taking_begin(size_t wish, uint64_t shape, const struct problem *problem);
bool taking_now(size_t wish);
bool taking_any(void);
void taking_launch(const struct seen *seen, uint64_t stream); // before it runs
// A memset or a copy: where it writes, and of a copy where it reads.
void taking_transfer(const struct record_launch *transfer, const uint64_t *addresses,
                     uint64_t stream);
// Which launches wait for which, by streams and events of these numbers: an event stands for all
// that its stream has; a stream goes on behind an event; the host, and so all streams, do. Event 0:
// all that is on that stream now; stream 0: on any.
enum order { ORDER_EVENT, ORDER_WAIT, ORDER_HOST };
void taking_order(enum order what, uint64_t event, uint64_t stream);
// Streams that are the driver's own, by its numbers, and those that a graph has within.
enum { STREAM_LEGACY = 1, STREAM_PER_THREAD = 2 };
#define STREAM_OF_GRAPH ((uint64_t)1 << 63)
void taking_refuse(const char *format, ...) PRINTF_LIKE(1, 2);
// "CUDA_ERROR_INVALID_VALUE", or its number where the driver has no name for it.
const char *driver_error(const struct driver *of, CUresult code);
// After the last of them was queued: waits, compares and writes.
void taking_end(size_t wish);
// The outcome of the take: a file's name, or "" and a reason; NULL where none was begun.
const char *taken_file(size_t wish);
const char *taken_refused(size_t wish);

// ---- graphs.c: the launches of CUDA graphs, as they were when a graph was made executable ----

struct graph_step {
    bool is_transfer; // a memset or a copy
    uint32_t chain;   // below RECORD_STREAMS_MAX: steps that follow each other
    uint32_t *after;  // steps of other chains that it waits for
    uint32_t after_count;
    struct seen *seen;
    struct record_launch transfer;
    uint64_t addresses[2];
};
struct graph {
    CUgraphExec exec;
    struct graph_step *steps;
    size_t count;
    char refused[128]; // "" or why it cannot be recorded
};
void graph_made(CUgraphExec exec, CUgraph from);
void graph_changed(CUgraphExec exec);
const struct graph *graph_of(CUgraphExec exec); // NULL: it was made unseen

// ---- survey.c: which kernels ran ----

// Counts a launch; `correlation` is CUPTI's number of it, for its time. Returns its shape: a hash
// of the function, its grid and the numbers among its parameters.
uint64_t survey_count(const struct seen *seen, uint32_t correlation);
void survey_time(uint32_t correlation, double time_ns);
void survey_note(const char *format, ...) PRINTF_LIKE(1, 2);
void survey_write(void);

#endif
