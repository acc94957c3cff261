// SPDX-License-Identifier: Apache-2.0
//
// The code that runs inside a captured program: a library that the CUDA driver loads by itself
// (CUDA_INJECTION64_PATH), and that watches the driver through CUPTI. It writes these files into
// the folder that PLUMB_CAPTURE names:
//
//     survey.PID    which kernels ran, how often, with which numbers (model/record/record.h)
//     record.PID    the launches that were asked for, as a record with contents. If they had
//                   several shapes, record.PID.2 is the record of the second shape, and so on
//     PID.T.N.before, PID.T.N.after
//                   what allocation N held before the T-th launch that was taken, and, if it
//                   changed, what it held afterwards
//
// Each section of a policy that names this program is a wish, with a folder of its own:
// PLUMB_CAPTURE and the settings below belong to the first wish, PLUMB_CAPTURE_2 and so on
// to the second.
//
// It never ends the program, and changes nothing that the program computes. All functions are
// called while the library's one lock is held, and the library's own driver calls are not watched.
#ifndef PLUMB_CAPTURE_H
#define PLUMB_CAPTURE_H

#include "model/record/record.h"

#include <cuda.h>

enum { PARAMETERS_BYTES_MAX = 32764 };

// ---- the CUDA driver that the program has loaded ----
//
// Its functions are looked up by name: the injected library links nothing of CUDA.

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

// ---- the wishes ----

// A wish: what plumb wants recorded, read from the environment.
enum { WISHES_MOST = 16 }; // ci/gate/built.c asks for no more in one run
struct wish {
    const char *folder; // PLUMB_CAPTURE
    const char *kernel; // PLUMB_CAPTURE_KERNEL: a glob of device functions; NULL: no launch is
                        // recorded
    const char *range;  // PLUMB_CAPTURE_RANGE: a glob of NVTX ranges, in place of a kernel
    uint64_t launch;    // PLUMB_CAPTURE_LAUNCH: the launch's number, from 1; 0: one launch of each
                        // shape
    uint64_t limit;     // PLUMB_CAPTURE_LIMIT: the most bytes of all allocations together
};
extern struct wish wishes[WISHES_MOST];
extern size_t wish_count;
extern bool wish_times; // PLUMB_CAPTURE_TIMES: CUPTI measures the time of each launch
extern const struct driver *driver;

// ---- a launch, as the program asks the driver for it (inject.c) ----

struct function {
    CUfunction handle; // for questions to the driver
    const char *name;
    const struct record_image *image; // from which it was loaded; NULL: not found
    int registers, shared_bytes, local_bytes;
    bool clustered; // its cluster is compiled in, so no launch needs to name it
    struct record_parameter *parameters;
    uint32_t parameter_count, parameter_bytes;
    const char *refused; // why it cannot be recorded; NULL: it can
};

struct seen {
    const struct function *function;
    uint32_t grid[3], block[3], cluster[3], shared_bytes;
    bool cooperative, programmatic;
    int32_t carveout;
    const char *refused; // why this launch cannot be recorded; NULL: it can
    uint32_t size;
    unsigned char bytes[PARAMETERS_BYTES_MAX]; // the parameters' bytes, of which `size` are set
};
#define SEEN_NONE                                                                                  \
    {                                                                                              \
        .grid = {1, 1, 1}, .block = {1, 1, 1}, .cluster = {1, 1, 1}, .carveout = -1                \
    }

// ---- taking.c: records launches, with the contents of their buffers ----

// Finds the allocation into which a word of a launch's parameters points. False: there is none.
bool allocation_of(uint64_t word, CUdeviceptr *base, size_t *bytes);

// A TMA descriptor that the program made.
void map_made(const CUtensorMap *made, const struct record_map *from, uint64_t address);

// Notes a word that no record can hold: a texture, a surface, or another process's memory, which
// `what` names. A launch that is given such a word is refused.
void foreign_made(uint64_t word, const char *what);

// Begins to record a launch if it is wanted. Each shape becomes a record; `shape` is the shape of
// the launch, or of the range's name. Of each shape the first launch is recorded. If that one
// changes something it only warms up, and the second is recorded, too. The first launch in a range
// that is named as a problem is preferred to launches outside. With shape 0, it is the launch whose
// number was asked for. False: this shape has been recorded. Wishes are counted from 0. The
// following calls concern all wishes that are being recorded.
bool taking_begin(size_t wish, uint64_t shape, const struct problem *problem);
bool taking_now(size_t wish);
bool taking_any(void);
void taking_launch(const struct seen *seen, uint64_t stream); // called before it runs
// Notes a memset or a copy: the address that it writes to, and for a copy the one that it reads
// from.
void taking_transfer(const struct record_launch *transfer, const uint64_t *addresses,
                     uint64_t stream);
// Notes which launches wait for which, by numbers of streams and events. ORDER_EVENT: an event
// stands for everything on its stream so far. ORDER_WAIT: a stream waits for an event.
// ORDER_HOST: the host waits, and with it all streams. Event 0: everything on that stream so far;
// stream 0: any stream.
enum order { ORDER_EVENT, ORDER_WAIT, ORDER_HOST };
void taking_order(enum order what, uint64_t event, uint64_t stream);
// Numbers of the driver's own streams, and of those inside a graph.
enum { STREAM_LEGACY = 1, STREAM_PER_THREAD = 2 };
#define STREAM_OF_GRAPH ((uint64_t)1 << 63)
void taking_refuse(const char *format, ...) PRINTF_LIKE(1, 2);
// The name of an error, "CUDA_ERROR_INVALID_VALUE", or its number if the driver has no name for it.
const char *driver_error(const struct driver *of, CUresult code);
// Ends the recording after the last launch was queued: waits, compares and writes.
void taking_end(size_t wish);
// The outcome: a file's name, or "" and a reason; NULL if nothing was begun.
const char *taken_file(size_t wish);
const char *taken_refused(size_t wish);

// ---- survey.c: counts which kernels ran ----

// Counts a launch; `correlation` is CUPTI's number for it, by which its time is found. Returns its
// shape: a hash of the function, its grid and the numbers among its parameters.
uint64_t survey_count(const struct seen *seen, uint32_t correlation);
void survey_time(uint32_t correlation, double time_ns);
void survey_note(const char *format, ...) PRINTF_LIKE(1, 2);
void survey_range(const char *name); // an NVTX range was pushed
void survey_write(void);

#endif
