// SPDX-License-Identifier: Apache-2.0
//
// What a gate says is left, against what was left: the samples of gates that were recorded on an
// H200 are played again, and at every look the pairs that are expected (gate_left()) are held to
// those that it then took. Near the margin more is left than a first process takes.
#include "model/gate/gate.h"
#include "tests/helpers/helper_open_store.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOOKS_MOST = 4096, LONG = 64 };

struct looks {
    double errors[LOOKS_MOST]; // |log (expected / taken)|, a block added to both
    size_t count;
    double expected, taken; // sums over looks with at least LONG pairs left
};

static int ascending(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

static void note(struct looks *looks, double expected, double taken, double block)
{
    assert_true(looks->count < LOOKS_MOST);
    assert_true(expected > 0);
    looks->errors[looks->count++] = fabs(log((expected + block) / (taken + block)));
    if (taken >= LONG) {
        looks->expected += expected;
        looks->taken += taken;
    }
}

// Plays the pairs until the gate is done and returns how many that took. With `taken`, which is
// what it returned before, each look is noted.
static size_t play(struct looks *looks, const struct gate_pair *pairs, size_t count,
                   const struct gate_policy *policy, size_t taken, struct arena *arena)
{
    struct gate_series series;
    gate_series_init(&series, policy, arena);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i; end < count && pairs[end].process == pairs[i].process &&
                      pairs[end].block == pairs[i].block;
             end++) {
        }
        if (i && pairs[i].process != pairs[i - 1].process && series.processes < policy->processes)
            gate_series_fresh_process(&series);
        for (size_t k = i; k < end; k++)
            gate_series_add(&series, &pairs[k].log_ratio, 1);
        const struct gate_decision now = gate_series_decide(&series);
        if (now.next == GATE_DONE)
            return end;
        if (end < taken)
            note(looks, gate_left(&series, &now).pairs, (double)(taken - end), policy->block_pairs);
    }
    return count;
}

static void look_at(struct looks *looks, const struct result *r, struct arena *arena)
{
    if (!r->base.count || !r->head.count)
        return;
    const struct gpu *gpu = gpu_find("h200-sxm");
    struct gate_policy policy =
        gate_policy_default("cuda", gate_size_ns(r->base.samples, r->base.count, &r->problem, gpu));
    policy.processes = 4; // as theirs
    struct gate_pair *pairs = arena_alloc(arena, r->base.count * sizeof(*pairs));
    const size_t count = gate_pairs(pairs, &r->base, &r->head, arena);
    const size_t taken = play(looks, pairs, count, &policy, 0, arena);
    play(looks, pairs, count, &policy, taken, arena);
}

TEST_WITH(what_is_said_to_be_left_is_near_what_it_takes, open_store_set_up, open_store_tear_down)
{
    static const char *const files[] = {"gates/gates.jsonl", "fp32-run-3.jsonl"};
    struct open_store *open = *state;
    static struct looks looks;
    struct run_entry *entries;
    struct error err = {""};
    size_t count;
    for (size_t i = 0; i < ARRAY_COUNT(files); i++) {
        char *path = xprintf("%s/baselines/recorded/h200/%s", TEST_SOURCE, files[i]);
        char *text = helper_read(path, NULL);
        struct store_counts added;
        assert_ok(import_text(open->store, text, strlen(text), "json", &added, &err), &err);
        free(text);
        free(path);
    }
    assert_ok(store_list_runs(&entries, &count, open->store, STORE_ALL_RUNS, 0, &open->arena, &err),
              &err);
    for (size_t i = 0; i < count; i++) {
        struct run run;
        assert_ok(store_load_run(&run, open->store, entries[i].id, &err), &err);
        for (size_t k = 0; k < run.count; k++)
            look_at(&looks, &run.results[k], &run.arena);
        run_free(&run);
    }
    qsort(looks.errors, looks.count, sizeof(*looks.errors), ascending);
    const double median = looks.errors[looks.count / 2], most = looks.errors[looks.count * 9 / 10];
    print_message("%zu looks: |log (expected / taken)| median %.3f, nine tenths within %.2f; of "
                  "much that was left %.2f were expected\n",
                  looks.count, median, most, looks.expected / looks.taken);
    assert_true(looks.count > 300);
    assert_true(median < 0.3 && most < 1.3);
    assert_true(looks.expected > 0.7 * looks.taken);
}

// ---- seeded gates of one series ----

// About normal.
static double drawn(uint64_t *state)
{
    double sum = -6;
    for (int i = 0; i < 12; i++) {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        sum += (double)(*state >> 11) * 0x1p-53;
    }
    return sum;
}

// Pairs that were expected and taken from when a quarter of them was played on.
struct quarter {
    double expected[LOOKS_MOST], total;
    size_t count;
};

static void play_drawn(struct quarter *q, double effect, double sd, uint64_t seed)
{
    const struct gate_policy policy = gate_policy_default("host", 1e6);
    uint64_t state = 88172645463325252u * (seed + 1);
    struct arena arena = {0};
    struct gate_series series;
    struct gate_decision now = {.next = GATE_MORE};
    gate_series_init(&series, &policy, &arena);
    *q = (struct quarter){.count = 0};
    while (now.next != GATE_DONE) {
        double y[64];
        assert_true(policy.block_pairs <= ARRAY_COUNT(y) && q->count < LOOKS_MOST);
        if (now.next != GATE_MORE)
            gate_series_fresh_process(&series);
        for (size_t i = 0; i < policy.block_pairs; i++)
            y[i] = effect + sd * drawn(&state);
        gate_series_add(&series, y, policy.block_pairs);
        now = gate_series_decide(&series);
        q->expected[q->count++] = gate_left(&series, &now).pairs;
    }
    q->total = (double)q->count * policy.block_pairs;
    arena_free(&arena);
}

// The margin is 3 %. Most gates are of code that takes the same time.
TEST(what_is_left_is_right_within_two_at_a_quarter_of_nearly_every_gate)
{
    static const double effects[] = {0, 0, 0, 0, 0.01, 0.04, 0.06, 0.1};
    static const double scatters[] = {0.01, 0.02, 0.03, 0.05};
    static struct quarter q;
    size_t count = 0, right = 0;
    for (uint64_t game = 0; game < 20; game++) {
        for (size_t e = 0; e < ARRAY_COUNT(effects); e++) {
            for (size_t s = 0; s < ARRAY_COUNT(scatters); s++) {
                play_drawn(&q, effects[e], scatters[s], count++);
                const double block = q.total / (double)q.count;
                const size_t at = q.count / 4;
                const double taken = q.total - (double)(at + 1) * block + block;
                right += fabs(log((q.expected[at] + block) / taken)) <= log(2);
            }
        }
    }
    print_message("%zu of %zu within two\n", right, count);
    assert_true((double)right >= 0.96 * (double)count);
}
