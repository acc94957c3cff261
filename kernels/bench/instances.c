// SPDX-License-Identifier: Apache-2.0
//
// Loads one record many times. A gap is an instance that keeps the place of its code while others
// are loaded after it, and is freed before anything is timed. A gap costs as much as an instance,
// so instances that are added later have few gaps; they lie between others anyway.
#include "kernels/bench/arm.h"

#include "kernels/device/noise.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { SIDES = 2, GAPS_MOST = 2, GAP_ONE_IN = 4 }; // before one instance

struct gaps {
    struct {
        const struct instances *side;
        struct replay *replay;
    } items[SIDES * INSTANCES_MOST * GAPS_MOST];
    uint32_t count;
    bool few;
};

static int load(struct replay **out, const struct instances *side, struct error *err)
{
    return side->ops->replay_open(out, side->device, side->record, side->where, side->sets, err);
}

static void let_go(const struct instances *side, struct replay *replay)
{
    side->ops->replay_free(replay);
}

int instances_open(struct instances *out, const struct device_ops *ops, struct device_base *device,
                   const struct record *record, struct record_places *where, uint32_t sets,
                   struct error *err)
{
    *out = (struct instances){
        .ops = ops, .device = device, .record = record, .where = where, .sets = sets};
    if (load(&out->loaded[0], out, err))
        return -1;
    out->count = 1;
    return 0;
}

void instances_close(struct instances *side)
{
    for (uint32_t i = 0; i < side->count; i++)
        let_go(side, side->loaded[i]);
    free(side->where);
    *side = (struct instances){0};
}

void instances_choose(struct instances *side, uint64_t key)
{
    side->now = side->count ? (uint32_t)(key % side->count) : 0;
}

int instances_launch(struct instances *side, uint32_t set)
{
    return side->ops->replay_launch(side->loaded[side->now], set);
}

int instances_launch_one(struct instances *side, uint32_t set, size_t launch)
{
    return side->ops->replay_launch_one(side->loaded[side->now], set, launch);
}

static int leave_gaps(struct gaps *gaps, const struct instances *side, uint64_t key,
                      struct error *err)
{
    const uint32_t wanted = gaps->few ? key % GAP_ONE_IN == 0 : (uint32_t)(key % (GAPS_MOST + 1));
    for (uint32_t i = 0; i < wanted; i++) {
        if (load(&gaps->items[gaps->count].replay, side, err))
            return -1;
        gaps->items[gaps->count++].side = side;
    }
    return 0;
}

// The old instance stays until the new one is loaded, so that the new one does not get its place.
static int load_anew(struct instances *side, uint32_t at, struct error *err)
{
    struct replay *fresh;
    if (load(&fresh, side, err))
        return -1;
    if (at < side->count)
        let_go(side, side->loaded[at]);
    else
        side->count++;
    side->loaded[at] = fresh;
    return 0;
}

static int load_all(struct gaps *gaps, struct instances *const *sides, uint32_t count,
                    uint32_t from, uint32_t each, uint64_t key, struct error *err)
{
    for (uint32_t i = from; i < each && count > 0; i++) {
        const uint32_t first = (uint32_t)(secret_key(key, i, 0) % count);
        for (uint32_t k = 0; k < count; k++) {
            struct instances *side = sides[(first + k) % count];
            if (leave_gaps(gaps, side, secret_key(key, i, k + 1), err) || load_anew(side, i, err))
                return -1;
        }
    }
    return 0;
}

// Runs each instance once, because a driver postpones work until the first launch, and that must
// not fall into a sample.
static int run_all(struct instances *side, uint32_t from, struct error *err)
{
    for (uint32_t i = from; i < side->count; i++) {
        side->now = i;
        const int code = instances_launch(side, 0);
        if (code)
            return error_set(err, "an instance of a record: its launch returned %d", code);
    }
    side->now = 0;
    return side->ops->sync(side->device, err);
}

int instances_draw(struct instances *const *sides, uint32_t count, uint32_t each, uint64_t key,
                   bool more, struct error *err)
{
    struct gaps gaps = {.few = more};
    const uint32_t from = more && count ? sides[0]->count : 0;
    assert(count <= SIDES && each <= INSTANCES_MOST);
    int status = load_all(&gaps, sides, count, from, each, key, err);
    for (uint32_t i = 0; i < gaps.count; i++)
        let_go(gaps.items[i].side, gaps.items[i].replay);
    for (uint32_t i = 0; i < count && from < each && status == 0; i++)
        status = run_all(sides[i], from, err);
    return status;
}
