// SPDX-License-Identifier: Apache-2.0
//
// What a device does with records: it makes them from a library's kernel, and replays them.
#ifndef PLUMB_DEVICE_RECORD_H
#define PLUMB_DEVICE_RECORD_H

#include "kernels/device/device.h"
#include "model/record/record.h"

// The kernel to be recorded, and the sizes of the buffers that it will be given. `pin`: a note of
// an earlier prepare() that must be reproduced, or NULL.
struct record_request {
    const struct plumb_form_kernel *kernel;
    struct plumb_form form;
    uint64_t bytes[RECORD_BUFFERS];
    const char *pin;
};

// The arguments of a launch on buffers at these places. A buffer without bytes is NULL.
struct plumb_form_args record_args(const struct record_places *places,
                                   const struct plumb_form *form);
struct record_places record_args_places(const struct plumb_form_args *args,
                                        const uint64_t bytes[RECORD_BUFFERS]);

// Fills launches and note; both belong to the arena. -1: the text says what cannot be recorded.
// No buffer is mapped meanwhile, so a library's prepare() that touches one poisons the device.
int cuda_record(struct record *out, struct device_base *device, const struct record_request *what,
                struct arena *arena, struct error *err);

// The work that one capture of launch() has queued.
struct record_capture {
    struct record_launch *launches;
    size_t count;
};
typedef int record_capturer(struct record_capture *out, void *context,
                            const struct record_places *places, struct error *err);
// Runs one capture that does not count, because a first call may set things up, and then three
// more: two at different places, which show the addresses, and one at the first places again, which
// shows whether launch() does the same in each call. Fills in launches.
int record_captured(struct record *out, record_capturer *capture, void *context,
                    const struct record_places places[2], struct arena *arena, struct error *err);

// A record whose device code is loaded, and whose addresses are bound for each buffer set.
struct replay;
// Opens a replay. places: one per set. The record must outlive the replay. -1: an entry point is
// missing, the parameters differ from those of the device code, or an address lies outside of its
// buffer. The caller frees.
int cuda_replay_open(struct replay **out, struct device_base *device, const struct record *record,
                     const struct record_places *places, uint32_t sets, struct error *err);
// Queues the record's launches for one set on the device's stream. Returns 0 or the driver's code.
int cuda_replay_launch(struct replay *replay, uint32_t set);
// Queues one of the launches alone, on its own stream; the caller waits for the device.
int cuda_replay_launch_one(struct replay *replay, uint32_t set, size_t launch);
void cuda_replay_free(struct replay *replay); // NULL does nothing

#endif
