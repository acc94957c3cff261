// SPDX-License-Identifier: Apache-2.0
//
// A plan, as it stands in a build's output. What its launches are for some problem is a record that
// prints and reads back.
#include "model/plan/plan.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void make(const struct launch_plan *plan, const char *text)
{
    struct arena arena = {0};
    struct buffer printed = {0};
    struct problem problem;
    struct record record, back;
    struct error err;
    const int known = problem_parse(&problem, text, &err);
    assert(known == 0);
    if (plan_record(&record, plan, &problem, 132, NULL, &arena, &err) == 0) {
        record_print(&printed, &record);
        char *copy = arena_copy(&arena, printed.bytes, printed.length);
        const int again = record_parse(&back, copy, printed.length, &arena, &err);
        assert(again == 0);
        assert(back.launch_count == record.launch_count);
    }
    buffer_free(&printed);
    arena_free(&arena);
}

void fuzz_one(const uint8_t *bytes, size_t size)
{
    struct launch_plan plan;
    struct error err;
    if (plan_parse(&plan, (const char *)bytes, size, "fuzz", &err))
        return;
    make(&plan, "4096x4096x4096:bf16");
    make(&plan, "256x256x8192:fp8-bf16:b2");
    make(&plan, "1x1x1:fp32");
    plan_free(&plan);
}
