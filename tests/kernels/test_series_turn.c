// SPDX-License-Identifier: Apache-2.0
//
// What a turn asks of its device, and when: what the second sample of a pair wants is written while
// the host waits for the first one's times, unless somebody still has to look at what lies there.
// And both sides' samples are whole phases of the device.
#include "kernels/bench/series_parts.h"
#include "kernels/device/noise.h"
#include "kernels/device/phases.h"
#include "tests/helpers/test.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TURNS = 200 };

static struct {
    char said[128];
    uint64_t outputs[4]; // keys of what outputs got, in order
    int renewals;
    bool fails;
    struct comparison found; // what a comparison finds
    const struct arm *base;  // whose launches are one kernel; the other side's are two
} device;

static void say(const char *word)
{
    strncat(device.said, word, sizeof(device.said) - strlen(device.said) - 1);
}

// ---- what series_turn.c asks ----

int buffers_renew(struct buffers *b, const struct renewal *renewal, struct error *err)
{
    assert_true(device.renewals < 4);
    device.outputs[device.renewals++] = renewal->outputs;
    say("renew ");
    return device.fails && device.renewals == 2 ? error_set(err, "no room") : 0;
}

int buffers_known(struct buffers *b, uint64_t key, struct error *err)
{
    say("known ");
    return 0;
}

struct inputs_signs buffers_signs(const struct buffers *b, uint32_t set)
{
    return (struct inputs_signs){0};
}

int exact_compare(struct comparison *out, const struct exact *exact, const struct buffers *b,
                  uint32_t set, const struct inputs_signs *signs, double tolerance,
                  struct error *err)
{
    say("compare ");
    *out = device.found;
    return 0;
}

int exact_open(struct exact **out, const struct exact_source *source, struct buffers *b,
               uint32_t set, const uint64_t *seed, struct error *err)
{
    return error_set(err, "nothing is blamed here");
}

void exact_free(struct exact *exact)
{
}

// No series here is captured.
uint32_t captured_sets(const struct captured *captured)
{
    fail();
    return 0;
}

int captured_restore(int32_t *beside, struct captured *captured, enum sample_role role,
                     uint32_t sets, struct error *err)
{
    fail();
    return -1;
}

int captured_hold(struct captured *captured, enum sample_role role, uint32_t set, const char *when,
                  struct series_state *state, struct error *err)
{
    fail();
    return -1;
}

struct instances *arm_instances(struct arm *arm)
{
    return NULL;
}

void instances_choose(struct instances *instances, uint64_t word)
{
}

struct arm_rest arm_rest(const struct arm *arm)
{
    return (struct arm_rest){0};
}

int arm_launch(void *self, uint32_t set, void *stream)
{
    return 0;
}

uint32_t arm_kernels(const struct arm *arm)
{
    return arm == device.base ? 1 : 2;
}

int (*arm_run(const struct arm *arm))(void *self, uint32_t first, uint32_t sets, uint32_t launches,
                                      double *time_ns)
{
    return NULL;
}

int series_refuse(struct series_state *state, enum sample_role role, enum measurement_state what,
                  const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(state->note, sizeof(state->note), format, list);
    va_end(list);
    state->role = role;
    state->state = what;
    return 1;
}

static uint32_t heats; // a bit of each number of launches that heated

static int fake_sample(struct sample *out, struct findings *found, struct device_base *base,
                       const struct batch *batch, int *code, struct error *err)
{
    assert_int_equal(batch->kernels, batch->self == device.base ? 1 : 2);
    heats |= 1u << batch->heat.count;
    say("[");
    if (batch->behind && batch->behind(batch->behind_self, err))
        return -1;
    say("] ");
    return 0;
}

// ---- tests ----

static const struct device_ops ops = {.sample = fake_sample};

static struct timed_series series_for(bool plain, bool base)
{
    return (struct timed_series){
        .ops = &ops,
        .arms = {[ROLE_BASE] = {.used = base}, [ROLE_HEAD] = {.used = true}},
        .buffers = {.sets = 1, .plain = plain, .args = NULL},
        .found = {.state = MEASURED_OK}};
}

// One turn; the sample of `first` first.
static uint32_t batched = 1; // launches of a sample

static int turn(struct timed_series *s, enum sample_role first)
{
    struct error err;
    struct sample sample;
    memset(&device.outputs, 0, sizeof(device.outputs));
    device.said[0] = '\0';
    device.renewals = 0;
    const bool pair = s->arms[ROLE_BASE].used;
    assert_int_equal(series_turn(s, !pair, &err), 0);
    if (series_take(&sample, s, first, batched, &err))
        return -1;
    return pair ? series_take(&sample, s, first == ROLE_HEAD ? ROLE_BASE : ROLE_HEAD, batched, &err)
                : 0;
}

TEST(second_sample_is_prepared_while_the_first_is_waited_for)
{
    struct plumb_form_args args = {0};
    struct timed_series s = series_for(true, true);
    int known = 0;
    s.buffers.args = &args;
    for (int i = 0; i < TURNS; i++) {
        const enum sample_role first = i % 2 ? ROLE_HEAD : ROLE_BASE;
        assert_int_equal(turn(&s, first), 0);
        known += s.turn.known;
        assert_string_equal(device.said, s.turn.known ? "known renew [] compare renew [] compare "
                                                      : "renew [renew ] [] ");
        assert_int_not_equal(device.outputs[0], device.outputs[1]);
    }
    assert_true(known > 0 && known < TURNS / 4);
}

// Whoever is first, each side gets the noise that its role draws.
TEST(each_side_gets_its_own_noise)
{
    struct plumb_form_args args = {0};
    struct timed_series a = series_for(true, true), b = series_for(true, true);
    a.buffers.args = b.buffers.args = &args;
    for (int i = 0; i < TURNS; i++) {
        uint64_t outputs[2];
        assert_int_equal(turn(&a, ROLE_HEAD), 0);
        memcpy(outputs, device.outputs, sizeof(outputs));
        assert_int_equal(turn(&b, ROLE_BASE), 0);
        assert_int_equal(outputs[0], device.outputs[1]);
        assert_int_equal(outputs[1], device.outputs[0]);
    }
}

TEST(a_wrong_output_is_told_with_its_first_element_and_the_largest_error)
{
    struct timed_series s = series_for(true, true);
    struct series_state said = {.state = MEASURED_OK};
    struct error err;
    s.parts.output.count = 12;
    device.found = (struct comparison){.error = 0.25};
    assert_int_equal(series_hold(&s, ROLE_HEAD, 0, "at first ", &said, &err), 0);
    assert_int_equal(said.state, MEASURED_OK);
    device.found =
        (struct comparison){.error = 0.125, .wrong = 3, .row = 2, .col = 1, .got = 5, .wanted = 4};
    assert_int_equal(series_hold(&s, ROLE_BASE, 0, "at last ", &said, &err), 1);
    assert_int_equal(said.state, MEASURED_WRONG);
    assert_int_equal(said.role, ROLE_BASE);
    assert_string_equal(said.note, "at last 3 of 12 elements wrong, first C[2][1] = 5, expected 4");
    device.found.row = -1; // an output that is no matrix
    assert_int_equal(series_hold(&s, ROLE_BASE, 0, "", &said, &err), 1);
    assert_string_equal(said.note, "3 of 12 elements wrong, first output[1] = 5, expected 4");
    assert_true(s.error == 0.25);
    device.found = (struct comparison){0};
}

TEST(both_sides_memory_gets_the_known_contents)
{
    struct timed_series s = series_for(true, true);
    struct error err;
    device.said[0] = '\0';
    assert_int_equal(series_known(&s, 7, &err), 0);
    assert_string_equal(device.said, "known ");
    s.spec.apart = true;
    assert_int_equal(series_known(&s, 7, &err), 0);
    assert_string_equal(device.said, "known known known ");
}

// As openssl's SIPHASH says it of the key 00 01 .. 07 and eight zeros, and the message 00 01 .. 0f.
TEST(keys_are_drawn_by_siphash)
{
    assert_int_equal(secret_key(0x0706050403020100u, 0x0706050403020100u, 0x0f0e0d0c0b0a0908u),
                     0xc347d4d6e2682a1bu);
}

// What inputs_mix() makes of `x` is undone.
static uint64_t unmixed(uint64_t x)
{
    uint64_t inverse[2] = {1, 1};
    for (int i = 0; i < 6; i++) { // each doubles the bits that are right
        inverse[0] *= 2 - 0xbf58476d1ce4e5b9u * inverse[0];
        inverse[1] *= 2 - 0x94d049bb133111ebu * inverse[1];
    }
    x ^= x >> 31 ^ x >> 62;
    x *= inverse[1];
    x ^= x >> 27 ^ x >> 54;
    x *= inverse[0];
    return x ^ x >> 30 ^ x >> 60;
}

// A kernel reads what was written with a key, and the hash by which it was written can be undone.
TEST(who_finds_the_key_of_a_disguise_does_not_find_that_of_the_turn)
{
    struct plumb_form_args args = {0};
    struct timed_series s = series_for(true, true);
    s.buffers.args = &args;
    assert_int_equal(unmixed(inputs_mix(0x123456789abcdefu)), 0x123456789abcdefu);
    for (int i = 0; i < TURNS; i++) {
        assert_int_equal(turn(&s, ROLE_HEAD), 0);
        for (uint64_t stream = 0; stream < 256; stream++) {
            for (uint64_t at = 1; at <= 2; at++) {
                const uint64_t start = unmixed(device.outputs[0]) - at * 0x9e3779b97f4a7c15u;
                assert_int_not_equal(unmixed(start) - 0x632be59bd9b4e019u * stream, s.turn.key);
            }
        }
    }
}

TEST(nothing_is_prepared_that_waits_or_never_comes)
{
    struct plumb_form_args args = {0};
    struct timed_series alone = series_for(true, false), form = series_for(false, true);
    alone.buffers.args = form.buffers.args = &args;
    for (int i = 0; i < TURNS; i++) {
        assert_int_equal(turn(&alone, ROLE_HEAD), 0);
        assert_null(strstr(device.said, "[renew"));
        assert_int_equal(turn(&form, ROLE_HEAD), 0);
        assert_null(strstr(device.said, "[renew"));
    }
}

TEST(of_batches_nothing_is_prepared)
{
    struct plumb_form_args args = {0};
    struct timed_series s = series_for(true, true);
    s.buffers.args = &args;
    batched = 12;
    for (int i = 0; i < TURNS; i++) {
        assert_int_equal(turn(&s, ROLE_HEAD), 0);
        assert_null(strstr(device.said, "[renew"));
    }
    batched = 1;
}

TEST(what_cannot_be_prepared_fails_the_turn)
{
    struct plumb_form_args args = {0};
    struct timed_series s = series_for(true, true);
    s.buffers.args = &args;
    device.fails = true;
    int failed = 0;
    for (int i = 0; i < TURNS; i++)
        failed += turn(&s, ROLE_BASE) != 0;
    device.fails = false;
    assert_int_equal(failed, TURNS);
    assert_int_equal(turn(&s, ROLE_BASE), 0);
}

// A side of one kernel and a side of two both end where the next sample finds the same phase.
TEST(samples_are_whole_phases)
{
    for (uint32_t launches = 1; launches <= 32; launches++) {
        for (uint32_t kernels = 1; kernels <= 3; kernels++) {
            const uint32_t missing = phases_missing(PHASES_OWN, launches, kernels);
            assert_in_range(missing, 0, PHASES - 1);
            assert_int_equal((PHASES_OWN + launches * kernels + missing) % PHASES, 0);
        }
    }
}

TEST(a_sample_says_how_many_kernels_its_launches_are)
{
    struct plumb_form_args args = {0};
    struct timed_series s = series_for(true, true);
    s.buffers.args = &args;
    device.base = &s.arms[ROLE_BASE];
    for (int i = 0; i < TURNS; i++)
        assert_int_equal(turn(&s, i % 2 ? ROLE_HEAD : ROLE_BASE), 0);
    device.base = NULL;
}

// However few they are.
TEST(nobody_knows_how_many_launches_heat)
{
    struct plumb_form_args args[8] = {0};
    for (uint32_t wanted = 3; wanted <= 24; wanted++) {
        struct timed_series s = series_for(true, true);
        s.buffers.args = args;
        s.buffers.sets = 8;
        s.heat_sets = 2;
        s.heats = wanted;
        device.base = &s.arms[ROLE_BASE];
        heats = 0;
        for (int i = 0; i < TURNS; i++)
            assert_int_equal(turn(&s, ROLE_BASE), 0);
        assert_true((heats & (heats - 1)) != 0 && !(heats & 1));
    }
    device.base = NULL;
}
