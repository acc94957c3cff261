// SPDX-License-Identifier: Apache-2.0
//
// What a gate costs with 1, 20 and 200 changed series: processes and wall time, all series
// together (ci/gate/duets.c) against one after another with processes of their own.
//     bench_gate_cost [SERIES...]
// Runs on the host device with `bench` beside it; needs cc. Every head does everything twice, so
// every series is an alarm that has to be confirmed: the worst case.
#include "ci/gate/duets.h"
#include "ci/settings/progress.h"
#include "tests/helpers/helper_loop.h"
#include "tests/helpers/helper_repo.h"

#include <stdio.h>
#include <stdlib.h>

struct cost {
    double wall_s, kernels_s;
    unsigned processes, slower;
};

static int start(struct bench **out, void *context, size_t unit, struct error *err)
{
    (void)unit;
    return bench_start(out, context, err);
}

static int policy(struct gate_policy *out, void *context, const struct duet *duet,
                  struct error *err)
{
    (void)context, (void)err;
    const struct measurement first = {.samples = duet->base_samples.items,
                                      .count = duet->base_samples.count};
    *out = gate_policy_default("host", measurement_time_ns(&first));
    return 0;
}

static double device_s(const struct sample_list *list)
{
    double sum_ns = 0;
    for (size_t i = 0; i < list->count; i++)
        sum_ns += list->items[i].time_ns * list->items[i].launches;
    return 1e-9 * sum_ns;
}

// Plays `count` duets in groups of `group`.
static int play(struct cost *out, struct duet *items, size_t count, size_t group,
                struct bench_plan *plan, struct error *err)
{
    *out = (struct cost){.wall_s = -monotonic_s()};
    for (size_t i = 0; i < count; i += group) {
        struct arena arena = {0};
        struct duets duets = {.items = items + i,
                              .count = count - i < group ? count - i : group,
                              .arena = &arena,
                              .context = plan,
                              .start = start,
                              .policy = policy};
        if (duets_play(&duets, err))
            return -1;
        out->processes += duets.processes;
        arena_free(&arena);
    }
    out->wall_s += monotonic_s();
    for (size_t i = 0; i < count; i++) {
        out->slower += items[i].decision.kind == VERDICT_SLOWER;
        out->kernels_s += device_s(&items[i].base_samples) + device_s(&items[i].head_samples);
        sample_list_free(&items[i].base_samples);
        sample_list_free(&items[i].head_samples);
    }
    return 0;
}

static int compare(const char *directory, size_t count, struct error *err)
{
    char *base = xprintf("%s/base/loop.so", directory),
         *head = xprintf("%s/head/loop.so", directory);
    struct problem *problems = xcalloc(count, sizeof(*problems));
    struct duet *items = xcalloc(count, sizeof(*items));
    struct bench_plan plan = {.kind = "host"};
    struct cost costs[2];
    for (size_t way = 0; way < 2; way++) {
        for (size_t i = 0; i < count; i++) {
            problems[i] = (struct problem){.m = 32,
                                           .n = 32,
                                           .k = 64 + (int64_t)i,
                                           .in = DTYPE_FP32,
                                           .out = DTYPE_FP32,
                                           .batch = 1};
            items[i] = (struct duet){
                .kernel = "loop", .problem = &problems[i], .base = base, .head = head, .seed = 1};
        }
        if (play(&costs[way], items, count, way ? 1 : count, &plan, err))
            return -1;
    }
    printf("%6zu  %9u %9.2f %9.3f  %9u %9.2f  %6.1f  %u and %u\n", count, costs[0].processes,
           costs[0].wall_s, costs[0].kernels_s, costs[1].processes, costs[1].wall_s,
           costs[1].wall_s / costs[0].wall_s, costs[0].slower, costs[1].slower);
    free(base);
    free(head);
    free(problems);
    free(items);
    return 0;
}

int main(int argc, char **argv)
{
    static const size_t usual[] = {1, 20, 200};
    char *directory = helper_directory();
    struct error err;
    int status = helper_loop_build(directory) ? error_set(&err, "cc failed") : 0;
    printf("        ---- all together ----------  -- one by one ------\n"
           "series  processes    wall s kernels s  processes    wall s   ratio  found slower\n");
    for (int i = 1; status == 0 && i < argc; i++)
        status = compare(directory, strtoul(argv[i], NULL, 10), &err);
    for (size_t i = 0; status == 0 && argc == 1 && i < ARRAY_COUNT(usual); i++)
        status = compare(directory, usual[i], &err);
    if (status)
        fprintf(stderr, "bench_gate_cost: %s\n", err.text);
    helper_discard(directory);
    free(directory);
    return status ? 4 : 0;
}
