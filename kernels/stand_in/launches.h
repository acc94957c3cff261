// SPDX-License-Identifier: Apache-2.0
//
// What the substitute for the CUDA runtime (libcudart.c) tells bench about the launches of a
// library.
#ifndef PLUMB_STAND_IN_LAUNCHES_H
#define PLUMB_STAND_IN_LAUNCHES_H

#include <stddef.h>
#include <stdint.h>

enum { STAND_IN_LAUNCHES = 256, STAND_IN_PARAMETERS = 64, STAND_IN_BYTES = 4096 };

struct stand_in_launch {
    const char *function; // its name as the library registered it; NULL: a memset
    uint32_t grid[3], block[3], cluster[3], shared_bytes;
    int32_t carveout; // -1: none was asked for
    int cooperative, programmatic;
    uint32_t value;
    uint64_t width, height, pitch_bytes;
    uint32_t parameter_count, size; // a memset has one parameter: the address that it writes to
    uint32_t offsets[STAND_IN_PARAMETERS], sizes[STAND_IN_PARAMETERS];
    unsigned char bytes[STAND_IN_BYTES];
};

struct stand_in_told {
    struct stand_in_launch launches[STAND_IN_LAUNCHES];
    size_t count;
    char refused[200]; // what could not be told; "": everything was
};

// plumb_stand_in_begin() begins to note launches.
typedef void stand_in_begin(struct stand_in_told *told);
// plumb_stand_in_end() ends it.
typedef void stand_in_end(void);

#endif
