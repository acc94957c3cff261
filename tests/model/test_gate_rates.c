// SPDX-License-Identifier: Apache-2.0
//
// What the gate promises is probabilities; here they are counted over whole simulated gates.
#include "model/gate/gate.h"
#include "tests/helpers/helper_random.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <string.h>

// A whole gate of one series over simulated processes; `shift` is added in process p if p < count.
struct trial {
    struct gate_policy policy;
    enum noise noise;
    double sd; // of one launch
    double log_ratio;
    double head_sd; // further noise of the head
    const double *shift;
    size_t shifts;
    double slow_rate, slow_by; // so many of the head's launches take so much longer
    double place;              // SD of what each process adds
};

static double shift_of(const struct trial *trial, uint32_t process, struct random *random)
{
    const double place = trial->place * random_normal(random);
    return place + (process < trial->shifts ? trial->shift[process] : 0);
}

static double slow_launch(const struct trial *trial, struct random *random)
{
    return random_uniform(random) < trial->slow_rate ? log(1 + trial->slow_by) : 0;
}

static struct gate_decision run_trial(const struct trial *trial, uint64_t seed, double interval[2])
{
    struct arena arena = {0};
    struct gate_series series;
    gate_series_init(&series, &trial->policy, &arena);
    struct duet duet = duet_start(trial->noise, trial->sd, trial->log_ratio, seed + 1);
    duet.head_sd = trial->head_sd;
    struct random random = {seed * 31 + 7};
    double shift = shift_of(trial, 0, &random);
    struct gate_decision decision = gate_series_decide(&series);
    while (decision.next != GATE_DONE) {
        if (decision.next == GATE_CONFIRM) {
            gate_series_fresh_process(&series);
            shift = shift_of(trial, series.processes - 1, &random);
        }
        double block[64];
        for (uint32_t i = 0; i < trial->policy.block_pairs; i++)
            block[i] = duet_log_ratio(&duet) + shift + slow_launch(trial, &random);
        gate_series_add(&series, block, trial->policy.block_pairs);
        decision = gate_series_decide(&series);
    }
    if (interval) {
        const struct interval d = gate_series_interval(&series);
        interval[0] = d.low;
        interval[1] = d.high;
    }
    arena_free(&arena);
    return decision;
}

struct tally {
    int kinds[VERDICT_KINDS];
    int placements;
    double pairs; // mean
};

// Of a tenth of the trials (draws()) each stands for ten.
static struct tally run_trials(const struct trial *trial, int whole)
{
    struct tally tally = {0};
    const int count = (int)draws((size_t)whole), each = whole / count;
    for (int i = 0; i < count; i++) {
        struct gate_decision d = run_trial(trial, (uint64_t)i * 613 + 1, NULL);
        tally.kinds[d.kind] += each;
        tally.placements += each * d.placement;
        tally.pairs += (double)d.pairs / count;
    }
    return tally;
}

static int alarms(const struct tally *tally)
{
    return tally->kinds[VERDICT_SLOWER] + tally->kinds[VERDICT_FASTER];
}

static double allowed(double rate, double count)
{
    return rate * count + 4 * sqrt(rate * count) + 1;
}

static struct trial large_kernel(double log_ratio)
{
    // SD of a pair 0.4 %, as 4096^3 bf16 on an H200.
    return (struct trial){gate_policy_default("cuda", 183e3),
                          NOISE_NORMAL,
                          0.004 * M_SQRT1_2,
                          log_ratio,
                          0,
                          NULL,
                          0,
                          0,
                          0,
                          0};
}

TEST(no_change_alarms_at_most_alpha_under_every_noise)
{
    for (int noise = 0; noise < NOISE_KINDS; noise++) {
        struct trial trial = large_kernel(0);
        trial.noise = (enum noise)noise;
        trial.policy.alpha = 0.02; // so that a wrong rate shows in 200 trials
        trial.policy.processes = 1;
        trial.policy.floor = 0; // the hardest null: d is at its edge
        trial.policy.margin = 1e-9;
        trial.policy.max_pairs = 96;
        struct tally tally = run_trials(&trial, 200);
        if (alarms(&tally) > allowed(0.02, 200))
            fail_msg("%s: %d of 200 alarmed", noise_names[noise], alarms(&tally));
    }
}

// The head scatters three times as much, at the same centre.
TEST(change_of_variance_alone_does_not_alarm)
{
    struct trial trial = large_kernel(0);
    trial.head_sd = 0.008;
    struct tally tally = run_trials(&trial, 300);
    assert_int_equal(alarms(&tally), 0);
    trial.log_ratio = 0.01; // and hides nothing that is large
    tally = run_trials(&trial, 100);
    assert_true(tally.kinds[VERDICT_SLOWER] >= 90);
}

TEST(clock_steps_and_neighbours_do_not_alarm_and_hide_nothing)
{
    const enum noise noises[] = {NOISE_STEP, NOISE_BURSTS, NOISE_DRIFT};
    for (size_t i = 0; i < ARRAY_COUNT(noises); i++) {
        struct trial trial = large_kernel(0);
        trial.noise = noises[i];
        struct tally tally = run_trials(&trial, 200);
        assert_int_equal(alarms(&tally), 0);
        trial.log_ratio = 0.01;
        tally = run_trials(&trial, 100);
        if (tally.kinds[VERDICT_SLOWER] < 90)
            fail_msg("%s: found %d", noise_names[noises[i]], tally.kinds[VERDICT_SLOWER]);
    }
    struct trial small = large_kernel(0.005);
    small.noise = NOISE_BURSTS;
    assert_true(run_trials(&small, 200).kinds[VERDICT_SLOWER] >= 160); // the scale forgets bursts
}

// A real shift of exactly the floor must not alarm either, whatever the size condition says.
TEST(shift_of_the_floor_alarms_at_most_alpha)
{
    struct trial trial = large_kernel(0.0015);
    trial.policy.alpha = 0.02;
    trial.policy.processes = 1;
    trial.policy.margin = 0.0015001;
    trial.policy.floor = 0.0015;
    struct tally tally = run_trials(&trial, 300);
    assert_true(alarms(&tally) <= allowed(0.02, 300));
}

TEST(shift_of_the_margin_is_called_same_at_most_as_promised)
{
    struct trial trial = large_kernel(0.003);
    trial.policy.alpha = 1e-9; // look at "same" alone
    trial.policy.processes = 1;
    struct tally tally = run_trials(&trial, 300);
    assert_true(tally.kinds[VERDICT_SAME] <= allowed(0.05, 300));
}

TEST(half_a_percent_is_found_in_both_directions)
{
    struct trial slower = large_kernel(0.005), faster = large_kernel(-0.005);
    struct tally up = run_trials(&slower, 200), down = run_trials(&faster, 200);
    assert_true(up.kinds[VERDICT_SLOWER] >= 190 && up.kinds[VERDICT_FASTER] == 0);
    assert_true(down.kinds[VERDICT_FASTER] >= 190 && down.kinds[VERDICT_SLOWER] == 0);
    assert_true(up.pairs < 300); // 4 processes; 150 ms of device time at 183 us
}

// The noisiest kernel of the recorded study: pairs of SD 0.95 %, a change that measures 0.47 %, and
// a little scatter between processes.
TEST(half_a_percent_is_found_at_twice_the_noise)
{
    struct random random = {9};
    int found = 0, same = 0, false_alarms = 0;
    double pairs = 0;
    for (uint64_t seed = 0; seed < 150; seed++) {
        double shift[4];
        for (int i = 0; i < 4; i++)
            shift[i] = 0.0005 * random_normal(&random);
        struct trial changed = large_kernel(0.0047), null = large_kernel(0);
        changed.sd = null.sd = 0.0095 * M_SQRT1_2;
        changed.shift = null.shift = shift;
        changed.shifts = null.shifts = 4;
        struct gate_decision d = run_trial(&changed, seed * 7 + 1, NULL);
        found += d.kind == VERDICT_SLOWER;
        pairs += d.pairs / 150.0;
        d = run_trial(&null, seed * 11 + 5, NULL);
        same += d.kind == VERDICT_SAME;
        false_alarms += d.kind == VERDICT_SLOWER || d.kind == VERDICT_FASTER;
    }
    if (found < 145 || same < 145 || false_alarms > 0)
        fail_msg("found %d, same %d, false %d of 150", found, same, false_alarms);
    assert_true(pairs < 750); // 0.4 s of a 250 us kernel
}

// Pairs of SD 0.68 % in places that differ by 0.12 %, as those of a BF16 kernel on the H200.
TEST(places_leave_little_open_and_hide_nothing)
{
    struct random random = {11};
    int undecided = 0, false_alarms = 0, found = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        double shift[4];
        for (int i = 0; i < 4; i++)
            shift[i] = 0.0012 * random_normal(&random);
        struct trial null = large_kernel(0), changed = large_kernel(0.005);
        null.sd = changed.sd = 0.0068 * M_SQRT1_2;
        null.shift = changed.shift = shift;
        null.shifts = changed.shifts = 4;
        const enum verdict_kind kind = run_trial(&null, seed * 13 + 2, NULL).kind;
        undecided += kind == VERDICT_UNDECIDED;
        false_alarms += kind == VERDICT_SLOWER || kind == VERDICT_FASTER;
        found += run_trial(&changed, seed * 17 + 3, NULL).kind == VERDICT_SLOWER;
    }
    if (undecided > 8 || false_alarms > 0 || found < 190) // of one process: 24 undecided
        fail_msg("%d undecided, %d false, found %d of 200", undecided, false_alarms, found);
}

TEST(half_a_percent_is_found_under_heavy_tails)
{
    const enum noise noises[] = {NOISE_T3, NOISE_AR9, NOISE_DRIFT, NOISE_SPIKES};
    for (size_t i = 0; i < ARRAY_COUNT(noises); i++) {
        struct trial trial = large_kernel(0.005);
        trial.noise = noises[i];
        struct tally tally = run_trials(&trial, 100);
        if (tally.kinds[VERDICT_SLOWER] < 90)
            fail_msg("%s: found %d of 100", noise_names[noises[i]], tally.kinds[VERDICT_SLOWER]);
    }
}

TEST(one_percent_of_a_small_kernel_is_found)
{
    struct trial trial = {gate_policy_default("cuda", 15e3),
                          NOISE_NORMAL,
                          0.0076 * M_SQRT1_2,
                          0.01,
                          0,
                          NULL,
                          0,
                          0,
                          0,
                          0};
    struct tally tally = run_trials(&trial, 100);
    assert_true(tally.kinds[VERDICT_SLOWER] >= 90);
}

TEST(no_change_is_called_same_within_the_budget)
{
    struct trial trial = large_kernel(0);
    struct tally tally = run_trials(&trial, 200);
    assert_true(tally.kinds[VERDICT_SAME] >= 198);
    assert_true(tally.pairs < TAIL_PAIRS + 8); // what slow launches take; pairs themselves 32
}

// The typical launch is as it was; the mean is 1.5 to 2 % more.
TEST(launches_that_are_slow_now_and_then_are_found)
{
    static const double cases[][3] = {{0.1, 0.2, 95}, {0.05, 0.3, 96}, {0.08, 0.1, 95}};
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct trial trial = large_kernel(0);
        trial.slow_rate = cases[i][0];
        trial.slow_by = cases[i][1];
        struct tally tally = run_trials(&trial, 100);
        if (tally.kinds[VERDICT_SLOWER] < cases[i][2])
            fail_msg("%g of launches by %g: found %d of 100", cases[i][0], cases[i][1],
                     tally.kinds[VERDICT_SLOWER]);
    }
}

// Launches of both builds alike are late now and then: that is the machine.
TEST(launches_that_are_slow_on_both_sides_are_the_same)
{
    struct trial trial = large_kernel(0);
    trial.noise = NOISE_SPIKES;
    struct tally tally = run_trials(&trial, 200);
    assert_int_equal(alarms(&tally), 0);
    assert_true(tally.kinds[VERDICT_SAME] >= 198);
}

// What one process says of a change as large as the margin, another need not. With 2.2 SDs of
// places kept from it, and none of the pairs' own error, it was 13 % where pairs scatter by 0.7 %.
TEST(a_change_of_the_margin_is_seldom_the_same_whatever_the_places)
{
    static const double sds[] = {0.001, 0.004, 0.007};
    for (size_t i = 0; i < ARRAY_COUNT(sds); i++) {
        struct trial trial = large_kernel(0.003);
        trial.sd = sds[i] * M_SQRT1_2;
        trial.place = 0.001;
        const size_t count = draws(200);
        size_t same = 0, covered = 0;
        for (size_t t = 0; t < count; t++) {
            double interval[2];
            same += run_trial(&trial, t * 613 + 1, interval).kind == VERDICT_SAME;
            covered += interval[0] <= 0.003 && 0.003 <= interval[1];
        }
        if ((double)same > allowed(0.03, (double)count))
            fail_msg("at %g: %zu of %zu are the same", sds[i], same, count);
        if ((double)(count - covered) > allowed(0.03, (double)count))
            fail_msg("at %g: %zu of %zu intervals hold it", sds[i], covered, count);
    }
}

TEST(shared_host_stays_quiet_and_finds_ten_percent)
{
    const enum noise noises[] = {NOISE_T3, NOISE_SPIKES, NOISE_BIMODAL, NOISE_SKEW};
    for (size_t i = 0; i < ARRAY_COUNT(noises); i++) {
        struct trial quiet = {
            gate_policy_default("host", 1e6), noises[i], 0.03, 0, 0, NULL, 0, 0, 0, 0};
        struct trial changed = quiet;
        changed.log_ratio = log(1.1);
        struct tally none = run_trials(&quiet, 100), found = run_trials(&changed, 100);
        assert_int_equal(alarms(&none), 0);
        assert_true(none.kinds[VERDICT_SAME] >= 75);
        if (found.kinds[VERDICT_SLOWER] < 90)
            fail_msg("%s: found %d", noise_names[noises[i]], found.kinds[VERDICT_SLOWER]);
    }
}

TEST(interval_covers_the_truth_after_optional_stopping)
{
    const double truths[] = {0, 0.003, 0.006};
    for (size_t t = 0; t < ARRAY_COUNT(truths); t++) {
        struct trial trial = large_kernel(truths[t]);
        int missed = 0;
        for (uint64_t seed = 0; seed < 60; seed++) {
            double interval[2];
            run_trial(&trial, seed * 101 + 3, interval);
            missed += interval[0] > truths[t] || interval[1] < truths[t];
        }
        assert_true(missed <= allowed(0.05, 60));
    }
}

TEST(shift_in_one_process_only_is_placement)
{
    const double first_only[] = {0.008};
    struct trial trial = large_kernel(0);
    trial.shift = first_only;
    trial.shifts = 1;
    struct tally tally = run_trials(&trial, 50);
    assert_int_equal(alarms(&tally), 0);
    // Three short processes refute 0.15 % mostly, and else agree on "same" beside the first.
    assert_true(tally.placements >= 35);
    assert_true(tally.placements + tally.kinds[VERDICT_SAME] >= 49);
    const double opposite[] = {0.008, -0.008, 0.008, 0.008};
    trial.shift = opposite;
    trial.shifts = 4;
    tally = run_trials(&trial, 50);
    assert_int_equal(alarms(&tally), 0);
    assert_int_equal(tally.placements, 50);
}

// Fresh processes shift a series by SD 0.03 to 0.11 % on an H200 when all memory is shared.
TEST(scatter_between_processes_does_not_alarm)
{
    struct random random = {2};
    int found = 0;
    for (uint64_t seed = 0; seed < 300; seed++) {
        double shift[4];
        for (int i = 0; i < 4; i++)
            shift[i] = 0.0011 * random_normal(&random);
        struct trial trial = large_kernel(0);
        trial.shift = shift;
        trial.shifts = 4;
        enum verdict_kind kind = run_trial(&trial, seed * 3 + 1, NULL).kind;
        found += kind == VERDICT_SLOWER || kind == VERDICT_FASTER;
    }
    assert_int_equal(found, 0);
}

TEST(effect_that_varies_a_little_is_still_an_alarm)
{
    const double varies[] = {0.001, -0.001, 0.0005, 0};
    struct trial trial = large_kernel(0.006);
    trial.shift = varies;
    trial.shifts = 4;
    struct tally tally = run_trials(&trial, 50);
    assert_true(tally.kinds[VERDICT_SLOWER] >= 48);
}

TEST(alarm_is_confirmed_by_all_processes)
{
    struct trial trial = large_kernel(0.01);
    struct gate_decision d = run_trial(&trial, 4, NULL);
    assert_int_equal(d.kind, VERDICT_SLOWER);
    assert_int_equal(d.processes, 4);
    assert_true(d.log_evidence > log(1e5)); // enough for a gate of 1000 series at q = 0.01
    trial.policy.processes = 1;
    assert_int_equal(run_trial(&trial, 4, NULL).processes, 1);
}

TEST(budget_ends_undecided)
{
    struct trial trial = large_kernel(0);
    trial.sd = 0.1;
    struct gate_decision d = run_trial(&trial, 8, NULL);
    assert_int_equal(d.kind, VERDICT_UNDECIDED);
    // As far as noise may stretch it, in the first process and in those that ask again.
    assert_int_equal(d.pairs, 4 * (trial.policy.max_pairs + 3 * trial.policy.confirm_pairs));
    assert_int_equal(d.processes, 4);
    trial.policy.processes = 1;
    assert_int_equal(run_trial(&trial, 8, NULL).pairs, 4 * trial.policy.max_pairs);
}
