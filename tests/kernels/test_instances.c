// SPDX-License-Identifier: Apache-2.0
//
// Instances of a record on a device that remembers where each load lies, as a driver does: the
// lowest place that is free.
#include "kernels/bench/arm.h"
#include "kernels/device/inputs.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES = 512 };

struct replay {
    int place;
};

static struct {
    bool taken[PLACES];
    int loads, open, fail_at, code; // fail_at: the load that fails; 0: none
    int launched[PLACES];           // since it was loaded
    int unsettled;                  // launches that nobody has waited for
} device;

static int fake_open(struct replay **out, struct device_base *base, const struct record *record,
                     const struct record_places *places, uint32_t sets, struct error *err)
{
    if (++device.loads == device.fail_at)
        return error_set(err, "no room for code");
    struct replay *replay = xcalloc(1, sizeof(*replay));
    while (device.taken[replay->place])
        replay->place++;
    device.taken[replay->place] = true;
    device.launched[replay->place] = 0;
    device.open++;
    *out = replay;
    return 0;
}

static void fake_free(struct replay *replay)
{
    device.taken[replay->place] = false;
    device.open--;
    free(replay);
}

static int fake_launch(struct replay *replay, uint32_t set)
{
    device.launched[replay->place]++;
    device.unsettled++;
    return device.code;
}

static int fake_sync(struct device_base *base, struct error *err)
{
    device.unsettled = 0;
    return 0;
}

static size_t alone; // the launch that was queued by itself

static int fake_launch_one(struct replay *replay, uint32_t set, size_t launch)
{
    alone = launch;
    return fake_launch(replay, set);
}

static const struct device_ops ops = {.replay_launch_one = fake_launch_one,
                                      .replay_open = fake_open,
                                      .replay_free = fake_free,
                                      .replay_launch = fake_launch,
                                      .sync = fake_sync};
static struct instances sides[2];
static struct instances *const both[2] = {&sides[0], &sides[1]};

static int set_up(void **state)
{
    struct error err;
    memset(&device, 0, sizeof(device));
    for (int i = 0; i < 2; i++) {
        struct record_places *where = xcalloc(1, sizeof(*where));
        assert_int_equal(instances_open(&sides[i], &ops, NULL, NULL, where, 1, &err), 0);
    }
    return 0;
}

static int tear_down(void **state)
{
    for (int i = 0; i < 2; i++)
        instances_close(&sides[i]);
    assert_int_equal(device.open, 0);
    return 0;
}

AROUND_EACH(set_up, tear_down);

static void draw(uint64_t key)
{
    struct error err;
    if (instances_draw(both, 2, INSTANCES, key, false, &err))
        fail_msg("%s", err.text);
}

TEST(each_side_has_all_and_gaps_are_let_go)
{
    draw(7);
    assert_int_equal(device.open, 2 * INSTANCES);
    assert_true(device.loads > 2 + 2 * INSTANCES); // there were some
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sides[i].count, INSTANCES);
        for (uint32_t k = 0; k < INSTANCES; k++)
            assert_int_equal(device.launched[sides[i].loaded[k]->place], 1);
    }
    assert_int_equal(device.unsettled, 0);
}

// Of the two sides of a build with itself neither lies further back, and where it lies is drawn.
TEST(places_are_drawn_alike_for_both_sides)
{
    enum { DRAWS = 400 };
    double sum = 0, squares = 0;
    for (uint64_t key = 1; key <= DRAWS; key++) {
        double difference = 0;
        draw(key);
        for (uint32_t k = 0; k < INSTANCES; k++)
            difference += sides[1].loaded[k]->place - sides[0].loaded[k]->place;
        sum += difference / DRAWS;
        squares += difference * difference / DRAWS;
    }
    assert_true(squares > 10); // else both are always loaded in one order
    assert_true(fabs(sum) < 4 * sqrt(squares / DRAWS));
}

TEST(a_new_draw_gives_no_instance_its_old_place)
{
    int before[2][INSTANCES];
    for (uint64_t key = 1; key <= 50; key++) {
        draw(key);
        for (int i = 0; i < 2; i++) {
            for (uint32_t k = 0; k < INSTANCES; k++)
                before[i][k] = sides[i].loaded[k]->place;
        }
        draw(key + 1000);
        for (int i = 0; i < 2; i++) {
            for (uint32_t k = 0; k < INSTANCES; k++)
                assert_int_not_equal(sides[i].loaded[k]->place, before[i][k]);
        }
    }
}

// More are loaded while a series is under way: the others stay, and both sides get as many.
TEST(those_that_come_later_lie_elsewhere)
{
    struct error err;
    for (uint64_t key = 1; key <= 50; key++) {
        bool there[PLACES] = {false};
        struct replay *before[2][INSTANCES];
        draw(key);
        for (int i = 0; i < 2; i++) {
            memcpy(before[i], sides[i].loaded, sizeof(before[i]));
            for (uint32_t k = 0; k < INSTANCES; k++)
                there[before[i][k]->place] = true;
        }
        assert_int_equal(instances_draw(both, 2, INSTANCES_LATER, key + 7, true, &err), 0);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(sides[i].count, INSTANCES_LATER);
            assert_memory_equal(before[i], sides[i].loaded, sizeof(before[i]));
            for (uint32_t k = 0; k < INSTANCES_LATER; k++) {
                const int place = sides[i].loaded[k]->place;
                assert_int_equal(device.launched[place], 1); // before any is timed, and once
                assert_true(k < INSTANCES || !there[place]);
                there[place] = true;
            }
        }
        const int loads = device.loads;
        assert_int_equal(instances_draw(both, 2, INSTANCES_LATER, key + 8, true, &err), 0);
        assert_int_equal(device.loads, loads); // there are enough
        tear_down(NULL);
        set_up(NULL);
    }
}

TEST(every_instance_runs_as_often_as_another)
{
    enum { TURNS = 16000 };
    draw(3);
    memset(device.launched, 0, sizeof(device.launched));
    for (uint64_t turn = 0; turn < TURNS; turn++) {
        instances_choose(&sides[0], inputs_word(turn, 1, 0));
        assert_int_equal(instances_launch(&sides[0], 0), 0);
    }
    for (uint32_t k = 0; k < INSTANCES; k++) {
        const int times = device.launched[sides[0].loaded[k]->place];
        assert_true(abs(times - TURNS / INSTANCES) < 200); // 6.5 standard deviations
    }
    for (uint32_t k = 0; k < INSTANCES; k++)
        assert_int_equal(device.launched[sides[1].loaded[k]->place], 0);
}

TEST(one_launch_alone_is_that_of_the_instance_that_was_chosen)
{
    uint32_t on_chosen = 0;
    draw(3);
    memset(device.launched, 0, sizeof(device.launched));
    for (uint64_t key = 0; key < 50; key++) {
        instances_choose(&sides[0], inputs_word(key, 1, 0));
        const int place = sides[0].loaded[sides[0].now]->place, before = device.launched[place];
        assert_int_equal(instances_launch_one(&sides[0], 0, key), 0);
        assert_int_equal(alone, key);
        on_chosen += device.launched[place] == before + 1;
    }
    assert_int_equal(on_chosen, 50);
}

TEST(one_side_alone_has_places_too)
{
    struct error err;
    assert_int_equal(instances_draw(both, 1, INSTANCES, 5, false, &err), 0);
    assert_int_equal(sides[0].count, INSTANCES);
    assert_int_equal(sides[1].count, 1);
    assert_int_equal(instances_draw(NULL, 0, INSTANCES, 5, false, &err), 0); // two libraries
}

TEST(a_load_that_fails_leaves_nothing_behind)
{
    struct error err;
    draw(11);
    const int loads = device.loads;
    tear_down(NULL);
    for (int at = 3; at <= loads; at++) {
        set_up(NULL);
        device.fail_at = at;
        assert_int_equal(instances_draw(both, 2, INSTANCES, 11, false, &err), -1);
        assert_string_equal(err.text, "no room for code");
        assert_int_equal(device.open, (int)(sides[0].count + sides[1].count));
        tear_down(NULL);
    }
    set_up(NULL);
}

TEST(a_launch_that_fails_is_said)
{
    struct error err;
    device.code = 719;
    assert_int_equal(instances_draw(both, 2, INSTANCES, 1, false, &err), -1);
    assert_non_null(strstr(err.text, "719"));
}
