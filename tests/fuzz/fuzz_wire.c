// SPDX-License-Identifier: Apache-2.0
//
// A line of the protocol between plumb and bench, with all that is read from lines.
#include "model/wire.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

void fuzz_one(const uint8_t *bytes, size_t size)
{
    char line[WIRE_LINE];
    struct wire_record record;
    struct traits traits;
    struct sample sample;
    struct error err;
    const size_t length = size < sizeof(line) - 1 ? size : sizeof(line) - 1;
    memcpy(line, bytes, length);
    line[length] = '\0';
    if (wire_parse(&record, line, &err))
        return;
    wire_traits(&traits, &record, &err);
    wire_sample(&sample, &record, &err);
}
