// SPDX-License-Identifier: Apache-2.0
//
// The table that a foreign library returns, and the numbers its functions answer with: what bench
// reads of them, and what it says of them to plumb, which must be able to read every line. The
// input is the bytes of a kernel's traits, then of what its buffers() states.
#include "kernels/bench/module.h"
#include "kernels/bench/parts.h"
#include "model/wire.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// As bench.c writes it.
static void tell(const struct plumb_kernel *kernel)
{
    struct wire_line line;
    struct wire_record record;
    struct error err;
    const struct traits traits = module_traits(kernel);
    struct traits read;
    wire_begin(&line, "kernel");
    wire_add_text(&line, "name", "fuzz");
    wire_add_traits(&line, &traits);
    char text[WIRE_LINE];
    must(text_copy(text, sizeof(text), wire_end(&line)), "a line that is too long");
    text[strcspn(text, "\n")] = '\0';
    must(wire_parse(&record, text, &err) == 0, err.text);
    must(wire_traits(&read, &record, &err) == 0, err.text);
}

static void state(const struct plumb_buffers *stated)
{
    struct parts parts, again;
    struct error err;
    if (parts_stated(&parts, stated, &err))
        return;
    must(parts.input_count >= 1 && parts.input_count <= PARTS_MOST, "inputs that are none");
    must(parts.large >= 0 && parts.large < parts.input_count, "an input that is none");
    for (int i = 0; i <= parts.input_count; i++) {
        const struct part *part = i < parts.input_count ? &parts.inputs[i] : &parts.output;
        must(part->bytes > 0 && part->bytes >= part->count / 2, "a size that has run over");
    }
    must(parts_stated(&again, stated, &err) == 0 && parts_equal(&parts, &again), "another answer");
}

void fuzz_one(const uint8_t *bytes, size_t size)
{
    struct plumb_form_kernel kernel = {0};
    struct plumb_buffers stated = {0};
    const size_t first = size < sizeof(kernel.kernel.traits) ? size : sizeof(kernel.kernel.traits);
    const size_t rest = size - first < sizeof(stated) ? size - first : sizeof(stated);
    memcpy(&kernel.kernel.traits, bytes, first);
    memcpy(&stated, bytes + first, rest);
    tell(&kernel.kernel);
    state(&stated);
}
