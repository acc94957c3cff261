// SPDX-License-Identifier: Apache-2.0
//
// What identical series differ by from place to place, recorded on an H100 with one instance of
// each side's device code and with sixteen (baselines/recorded/h100/places): sixteen leave less,
// and gates on those pairs neither alarm nor stay open with the margins of records.
#include "model/gate/gate.h"
#include "model/robust.h"
#include "tests/helpers/helper_random.h"
#include "tests/helpers/helper_table.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
static struct {
    struct csv csv;
    struct places items[2 * KERNELS];
    size_t count;
} h100;

static struct places *places_of(const char *kernel, int instances)
{
    for (size_t i = 0; i < h100.count; i++) {
        struct places *p = &h100.items[i];
        if (strcmp(p->kernel, kernel) == 0 && p->instances == instances)
            return p;
    }
    assert_true(h100.count < ARRAY_COUNT(h100.items));
    h100.items[h100.count] = (struct places){.kernel = kernel, .instances = instances};
    return &h100.items[h100.count++];
}

static int set_up(void **state)
{
    struct csv *csv = &h100.csv;
    *csv = table_read("../../baselines/recorded/h100/places/pairs.csv");
    for (size_t row = 0; row < csv->count; row++) {
        struct places *places =
            places_of(table_text(csv, row, "kernel"), (int)table_number(csv, row, "instances"));
        const char *at = table_text(csv, row, "pairs");
        assert_true(places->count < PLACES_MOST);
        struct place *place = &places->items[places->count++];
        place->log_ratios = xcalloc(strlen(at) / 2 + 1, sizeof(double));
        char *end;
        for (double percent; percent = strtod(at, &end), end != at; at = end)
            place->log_ratios[place->count++] = percent / 100;
        places->us += table_number(csv, row, "us");
    }
    for (size_t i = 0; i < h100.count; i++)
        h100.items[i].us /= (double)h100.items[i].count;
    return 0;
}

static int tear_down(void **state)
{
    for (size_t i = 0; i < h100.count; i++) {
        for (size_t k = 0; k < h100.items[i].count; k++)
            free(h100.items[i].items[k].log_ratios);
    }
    csv_free(&h100.csv);
    return 0;
}

AROUND_ALL(set_up, tear_down);

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

// 0.04 % above 80 us and 0.07 % below are the goals; FP8 misses its own by more than chance.
TEST(sixteen_instances_leave_less_than_one)
{
    double chance;
    unsigned missed = 0;
    assert_int_equal(h100.count, 2 * KERNELS);
    for (size_t i = 0; i < h100.count; i++) {
        const struct places *p = &h100.items[i];
        assert_true(p->count >= 20);
        missed += p->instances == 16 && rms(&chance, p) > (p->us > 80 ? 0.04 : 0.07);
    }
    assert_int_equal(missed, 1);
    const double fp8 = rms(&chance, places_of("e4m3-persistent", 16));
    assert_true(fp8 > 0.04 && fp8 < 0.05 && fp8 > 1.5 * chance);
    assert_true(rms(&chance, places_of("e4m3-persistent", 1)) > 2.5 * fp8);
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

TEST(the_margins_of_records_are_enough_for_identical_builds)
{
    for (size_t i = 0; i < h100.count; i++) {
        const struct places *p = &h100.items[i];
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
