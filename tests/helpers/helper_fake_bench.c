// SPDX-License-Identifier: Apache-2.0
//
// Starts a bench that does what a test asks of it, also what no bench should. What it can do is
// listed in fake_bench.c.
#include "tests/helpers/helper_fake_bench.h"

#include "tests/helpers/helper_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

const struct problem fake_problem = {
    .m = 4, .n = 4, .k = 4, .in = DTYPE_FP32, .out = DTYPE_FP32, .batch = 1};

static void count_note(void *context, const char *text)
{
    struct fake_bench *fake = context;
    fake->notes += text != NULL;
}

_Noreturn static void die(const char *what, const char *why)
{
    fprintf(stderr, "helper_fake_bench: %s: %s\n", what, why);
    abort();
}

void fake_bench_make(struct fake_bench *fake)
{
    struct error err;
    fake->directory = helper_directory();
    fake->program = xprintf("%s/bench", fake->directory);
    char *copy = xprintf("cp '%s/fake_bench' '%s'", TEST_BIN, fake->program);
    if (system(copy) != 0)
        die(copy, "failed");
    if (sandbox_probe(&fake->sandbox, SANDBOX_OFF, &err))
        die("sandbox", err.text);
    free(copy);
    fake->plan = (struct bench_plan){
        .program = fake->program,
        .kind = "host",
        .sandbox = &fake->sandbox,
        .limits = {.start_s = 20, .list_s = 20, .open_s = 20, .measure_s = 20, .close_s = 20},
        .note = count_note,
        .note_context = fake,
    };
}

void fake_bench_remove(struct fake_bench *fake)
{
    helper_discard(fake->directory);
    arena_free(&fake->arena);
    free(fake->directory);
    free(fake->program);
}

int fake_bench_set_up(void **state)
{
    struct fake_bench *fake = xcalloc(1, sizeof(*fake));
    fake_bench_make(fake);
    *state = fake;
    return 0;
}

int fake_bench_tear_down(void **state)
{
    fake_bench_remove(*state);
    free(*state);
    return 0;
}

void fake_bench_write(const struct fake_bench *fake, const char *ending, const char *text)
{
    char *path = xprintf("%s.%s", fake->program, ending);
    if (text)
        helper_write_text(path, text);
    else
        unlink(path);
    free(path);
}

struct bench *fake_bench_start(struct fake_bench *fake)
{
    struct bench *bench;
    struct error err;
    if (bench_start(&bench, &fake->plan, &err))
        die("bench_start", err.text);
    return bench;
}

struct bench_outcome fake_bench_open(struct bench_handle *handle, struct bench *bench,
                                     const char *kernel)
{
    const struct bench_series series = {
        .kernel = kernel, .problem = &fake_problem, .head = "/x/head.so", .base = "/x/base.so"};
    struct bench_outcome outcome;
    struct error err;
    if (bench_open(&outcome, handle, bench, &series, &err))
        die(kernel, err.text);
    return outcome;
}
