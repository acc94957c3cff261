// SPDX-License-Identifier: Apache-2.0
//
// What identical series differ by from place to place, recorded on an H200 and on two H100s with
// one instance of each side's device code, with sixteen and with 32 (baselines/recorded/h200/places
// and h100/places), and what gates on those pairs, and on the H100 itself, say with margins half as
// wide.
#include "model/gate/gate.h"
#include "model/robust.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_gates.h"
#include "tests/helpers/helper_random.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORDED TEST_SOURCE "/baselines/recorded/"

enum { PLACES_MOST = 32, KERNELS = 4, GATES = 250 };

struct place {
    double *log_ratios;
    size_t count;
};
struct places {
    const char *kernel;
    int instances;
    double us;
    struct place items[PLACES_MOST];
    size_t count;
};
struct recorded {
    const char *page, *pairs;
    size_t kinds; // kernels with each number of instances that there is for them
    struct csv csv;
    struct places items[3 * KERNELS];
    size_t count;
};
static struct recorded h200 = {.page = RECORDED "h200/places/README.md",
                               .pairs = RECORDED "h200/places/pairs.csv",
                               .kinds = 2 * KERNELS};
static struct recorded h100 = {.page = RECORDED "h100/places/README.md",
                               .pairs = RECORDED "h100/places/pairs.csv",
                               .kinds = 2 * KERNELS};
// With 32 instances of the two kernels that are timed alone, besides.
static struct recorded second = {.page = RECORDED "h100/places/README.md",
                                 .pairs = RECORDED "h100/places/pairs-second.csv",
                                 .kinds = 2 * KERNELS + 2};

static struct places *places_of(struct recorded *device, const char *kernel, int instances)
{
    for (size_t i = 0; i < device->count; i++) {
        struct places *p = &device->items[i];
        if (strcmp(p->kernel, kernel) == 0 && p->instances == instances)
            return p;
    }
    assert_true(device->count < ARRAY_COUNT(device->items));
    device->items[device->count] = (struct places){.kernel = kernel, .instances = instances};
    return &device->items[device->count++];
}

static void read_device(struct recorded *device)
{
    struct csv *csv = &device->csv;
    csv_open(csv, device->pairs);
    for (size_t row = 0; row < csv->count; row++) {
        struct places *places = places_of(device, csv_field(csv, row, "kernel"),
                                          (int)csv_number(csv, row, "instances"));
        const char *at = csv_field(csv, row, "pairs");
        assert_true(places->count < PLACES_MOST);
        struct place *place = &places->items[places->count++];
        place->log_ratios = xcalloc(strlen(at) / 2 + 1, sizeof(double));
        char *end;
        for (double percent; percent = strtod(at, &end), end != at; at = end)
            place->log_ratios[place->count++] = percent / 100;
        places->us += csv_number(csv, row, "us");
    }
    for (size_t i = 0; i < device->count; i++)
        device->items[i].us /= (double)device->items[i].count;
}

static void free_device(struct recorded *device)
{
    for (size_t i = 0; i < device->count; i++) {
        for (size_t k = 0; k < device->items[i].count; k++)
            free(device->items[i].items[k].log_ratios);
    }
    csv_free(&device->csv);
}

static int set_up(void **state)
{
    read_device(&h200);
    read_device(&h100);
    read_device(&second);
    return 0;
}

static int tear_down(void **state)
{
    free_device(&h200);
    free_device(&h100);
    free_device(&second);
    return 0;
}

// Root mean square of the places' means in percent, and what chance alone gives.
static double rms(double *chance, const struct places *places)
{
    double squares = 0, errors = 0;
    for (size_t i = 0; i < places->count; i++) {
        const struct place *p = &places->items[i];
        double *work = xcalloc(p->count, sizeof(*work));
        memcpy(work, p->log_ratios, p->count * sizeof(*work));
        const struct robust_mean mean = robust_mean(work, p->count);
        squares += mean.mean * mean.mean;
        errors += mean.se * mean.se;
        free(work);
    }
    *chance = 100 * sqrt(errors / (double)places->count);
    return 100 * sqrt(squares / (double)places->count);
}

// What the page of `device` says of its places with `instances`, and whether it meets the goals:
// 0.04 % above 80 us, 0.07 % below.
static unsigned missed(struct recorded *device, int instances)
{
    unsigned count = 0;
    assert_int_equal(device->count, device->kinds);
    for (size_t i = 0; i < device->count; i++) {
        const struct places *p = &device->items[i];
        double chance;
        char text[128];
        if (p->instances != instances)
            continue;
        const double found = rms(&chance, p);
        snprintf(text, sizeof(text), "| %s | %.1f | %d | %zu | %.3f | %.3f |", p->kernel, p->us,
                 p->instances, p->count, found, chance);
        if (!helper_says(device->page, text))
            fail_msg("%s does not say: %s", device->page, text);
        assert_true(p->count >= 20);
        count += found > (p->us > 80 ? 0.04 : 0.07);
    }
    return count;
}

static void sixteen_instances_leave_what_chance_leaves(void **state)
{
    double chance;
    (void)missed(&h200, 1);
    assert_int_equal(missed(&h200, 16), 0);
    for (size_t i = 0; i < h200.count; i++) {
        const struct places *p = &h200.items[i];
        assert_true(p->instances != 16 || rms(&chance, p) < 1.35 * chance);
    }
    assert_true(rms(&chance, places_of(&h200, "e4m3-persistent", 1)) > 1.5 * chance);
}

// On the H100 the FP8 kernel misses its goal, by more than chance gives it; the other three meet
// theirs.
static void on_an_h100_one_kernel_of_four_still_has_places(void **state)
{
    double chance;
    (void)missed(&h100, 1);
    assert_int_equal(missed(&h100, 16), 1);
    const double fp8 = rms(&chance, places_of(&h100, "e4m3-persistent", 16));
    assert_true(fp8 > 0.04 && fp8 < 0.05 && fp8 > 1.5 * chance);
    assert_true(rms(&chance, places_of(&h100, "e4m3-persistent", 1)) > 2.5 * fp8);
}

// On a second one all meet theirs, with more places and so more surely; what sixteen leave of one
// instance's is the root of their number, so 32 leave less.
static void with_32_instances_all_four_meet_their_goals(void **state)
{
    double chance;
    (void)missed(&second, 1);
    assert_int_equal(missed(&second, 16), 0);
    assert_int_equal(missed(&second, 32), 0);
    const double one = rms(&chance, places_of(&second, "e4m3-persistent", 1));
    const double of_one = sqrt(one * one - chance * chance);
    const double sixteen = rms(&chance, places_of(&second, "e4m3-persistent", 16));
    assert_true(fabs(sqrt(of_one * of_one / 16 + chance * chance) - sixteen) < 0.15 * sixteen);
    for (size_t i = 0; i < second.count; i++) {
        const struct places *p = &second.items[i];
        assert_true(p->instances != 32 || rms(&chance, p) < 1.35 * chance);
        assert_true(p->instances != 32 ||
                    rms(&chance, p) < rms(&chance, places_of(&second, p->kernel, 16)));
    }
}

// Gates of identical builds on the H100 itself, by records.
static void no_gate_by_records_alarmed_there(void **state)
{
    struct csv gates;
    unsigned same = 0, undecided = 0;
    csv_open(&gates, RECORDED "h100/places/study.csv");
    for (size_t row = 0; row < gates.count; row++) {
        const char *verdict = csv_field(&gates, row, "verdict");
        assert_true(csv_number(&gates, row, "alarmed") == 0);
        same += strcmp(verdict, "same") == 0;
        if (strcmp(verdict, "undecided") != 0)
            continue;
        undecided++; // one series, in each of its rounds
        assert_string_equal(csv_field(&gates, row, "kernel"), "bf16-split");
        assert_non_null(strstr(csv_field(&gates, row, "problem"), "4096x4096x4096"));
    }
    assert_int_equal(gates.count, 70);
    assert_int_equal(same, 63);
    assert_int_equal(undecided, 7);
    csv_free(&gates);
}

// A gate, each of its processes in a place that is drawn, of a head that is slower by `shift`.
static struct gate_decision gate(const struct gate_policy *policy, const struct places *places,
                                 double shift, struct random *random)
{
    struct arena arena = {0};
    struct gate_series series;
    struct gate_decision d = {.next = GATE_CONFIRM};
    const struct place *place = NULL;
    double sign = 1;
    size_t at = 0;
    gate_series_init(&series, policy, &arena);
    for (bool first = true; d.next != GATE_DONE; first = false) {
        if (d.next == GATE_CONFIRM) {
            place = &places->items[(size_t)(random_uniform(random) * (double)places->count)];
            at = (size_t)(random_uniform(random) * (double)place->count);
            sign = random_coin(random) ? 1 : -1;
            if (!first)
                gate_series_fresh_process(&series);
        }
        for (uint32_t i = 0; i < policy->block_pairs; i++, at++) {
            const double y = sign * place->log_ratios[at % place->count] + shift;
            gate_series_add(&series, &y, 1);
        }
        d = gate_series_decide(&series);
    }
    arena_free(&arena);
    return d;
}

static void identical_builds_pass(const struct recorded *device)
{
    for (size_t i = 0; i < device->count; i++) {
        const struct places *p = &device->items[i];
        struct random random = {20261123};
        struct gate_policy policy = gate_policy_default("cuda", 1e3 * p->us);
        gate_policy_records(&policy);
        assert_true(policy.margin == (p->us > 100 ? 0.0015 : 0.003));
        unsigned alarms = 0, undecided = 0, found = 0;
        if (p->instances == 1)
            continue;
        for (int k = 0; k < GATES; k++) {
            const struct gate_decision same = gate(&policy, p, 0, &random);
            alarms += same.kind == VERDICT_SLOWER || same.kind == VERDICT_FASTER;
            undecided += same.kind == VERDICT_UNDECIDED;
            found += gate(&policy, p, 1.5 * policy.margin, &random).kind == VERDICT_SLOWER;
        }
        assert_int_equal(alarms, 0);
        assert_int_equal(undecided, 0);
        assert_int_equal(found, GATES);
    }
}

static void the_margins_of_records_are_enough_for_identical_builds(void **state)
{
    identical_builds_pass(&h200);
    identical_builds_pass(&h100);
    identical_builds_pass(&second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sixteen_instances_leave_what_chance_leaves),
        cmocka_unit_test(on_an_h100_one_kernel_of_four_still_has_places),
        cmocka_unit_test(with_32_instances_all_four_meet_their_goals),
        cmocka_unit_test(no_gate_by_records_alarmed_there),
        cmocka_unit_test(the_margins_of_records_are_enough_for_identical_builds),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
