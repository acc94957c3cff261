// SPDX-License-Identifier: Apache-2.0
//
// An entry of Triton's cache: its metadata, and its MLIR, as `plumb plan --from` reads them. What
// is understood can be written as a text that the reader of plans refuses or takes.
#include "ci/plan/skeleton.h"
#include "model/plan/plan.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void write_plan(const struct triton_entry *entry)
{
    struct buffer text = {0};
    struct launch_plan plan;
    struct error err;
    skeleton_print(&text, entry);
    if (plan_parse(&plan, text.bytes, text.length, "fuzz", &err) == 0)
        plan_free(&plan);
    buffer_free(&text);
}

void fuzz_one(const uint8_t *bytes, size_t size)
{
    struct triton_entry *entry = xcalloc(1, sizeof(*entry));
    struct error err;
    char *text = xcalloc(size + 1, 1);
    memcpy(text, bytes, size);
    if (triton_read_json(entry, text, size, "fuzz", &err) == 0)
        write_plan(entry);
    memset(entry, 0, sizeof(*entry));
    text_copy(entry->name, sizeof(entry->name), "matmul_persistent");
    entry->warps = entry->ctas = 1;
    if (triton_read_ir(entry, text, "fuzz", &err) == 0)
        write_plan(entry);
    free(text);
    free(entry);
}
