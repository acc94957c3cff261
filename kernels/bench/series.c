// SPDX-License-Identifier: Apache-2.0
//
// One series on the stopwatch, from opening to closing: it is checked, warmed up, sampled, and
// checked again. bench.c has the line protocol.
#include "kernels/bench/series.h"

#include "kernels/bench/series_parts.h"
#include "kernels/device/check.h"
#include "kernels/device/device.h"
#include "kernels/device/noise.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// ---- checks beside the timed launches: both sides on poisoned outputs, all outputs against the
// reference, guards and gaps against their earlier content ----

enum { CHECK_STREAM = 79, KNOWN_STREAM = 83 };

// Compares every C with the reference and every guard with its pattern.
static int inspect(struct timed_series *s, enum sample_role role, struct series_state *state,
                   struct error *err)
{
    struct buffers *buffers = series_buffers(s, role);
    bool intact;
    char what[64];
    if (buffers_guards(&intact, what, buffers, err))
        return -1;
    if (!intact)
        return series_refuse(state, role, MEASURED_WRONG, "wrote out of bounds: %s", what);
    int stop = 0;
    for (uint32_t set = 0; set < buffers->sets && !stop; set++)
        stop = series_hold(s, role, set, "", state, err);
    return stop;
}

// Launches on every set, and checks the results.
static int launch_all(struct timed_series *s, enum sample_role role, struct buffers *buffers,
                      struct series_state *state, struct error *err)
{
    struct untouched kept;
    int64_t row;
    int code = 0;
    if (untouched_keep(&kept, buffers, err))
        return -1;
    for (uint32_t set = 0; set < buffers->sets && !code; set++)
        code = arm_launch(&s->arms[role], set, s->ops->stream(s->device));
    if ((code ? 0 : s->ops->sync(s->device, err)) || untouched_hold(&row, &kept, buffers, err))
        return -1;
    if (code)
        return series_refuse(state, role, MEASURED_CRASHED, "launch() returned %d", code);
    if (row >= 0)
        return series_refuse(state, role, MEASURED_WRONG,
                             "wrote between rows, at row %lld of C: gaps and rows of no group stay "
                             "what they are",
                             (long long)row);
    return inspect(s, role, state, err);
}

// Poisons outputs, launches and checks.
static int check_arm(struct timed_series *s, enum sample_role role, struct series_state *state,
                     struct error *err)
{
    struct buffers *buffers = series_buffers(s, role);
    if (!s->arms[role].used)
        return 0;
    if (buffers_poison(buffers, err))
        return -1;
    return launch_all(s, role, buffers, state, err);
}

static int series_check(struct timed_series *s, struct series_state *state, struct error *err)
{
    int stop = check_arm(s, ROLE_BASE, state, err);
    return stop ? stop : check_arm(s, ROLE_HEAD, state, err);
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// When this process last used the device: at all; and for launches of a stream or on warm sets, and
// for which series. Used by settle() and let_rest().
static struct {
    double any_s, settled_s;
    uint64_t settled_for; // a series' kin; 0: launches of another regime came last
} at_work;

// A reference that was found faster than this had been kept.
static const double kept_s = 1e-3;

// Finds the expected output, for the first set.
static int series_find_reference(struct timed_series *s, const uint64_t *seed,
                                 struct series_state *state, struct error *err)
{
    const enum sample_role says = s->source.arm == &s->arms[ROLE_BASE] ? ROLE_BASE : ROLE_HEAD;
    struct error why;
    const double begun_s = now_s();
    exact_free(s->reference);
    s->reference = NULL;
    const int failed = exact_open(&s->reference, &s->source, &s->buffers, 0, seed, &why);
    const double ended_s = now_s();
    s->reference_s += ended_s - begun_s;
    if (ended_s - begun_s > kept_s) // otherwise it had been kept
        at_work.any_s = ended_s;
    if (!failed) {
        s->allowed = exact_allowed(s->reference, s->tolerance);
        return 0;
    }
    if (s->spec.problem.number_count && s->device->loss == DEVICE_OK)
        return series_refuse(state, says, MEASURED_UNSUPPORTED, "%.400s", why.text);
    *err = why;
    return -1;
}

// The seed of the inputs to which a reference belongs. A library needs seconds to compute the
// result, so all processes of a gate use the same seed, and the result is kept. A kernel can read
// numbers made from this seed, so keys are drawn from another one.
static uint64_t known_seed(const struct timed_series *s)
{
    const uint64_t from = s->spec.problem.number_count ? s->spec.known : s->spec.seed;
    return secret_key(from, KNOWN_STREAM, 0) >> 1;
}

// The contents of the first, second ... check that does not use the reference's own contents.
static uint64_t check_key(const struct timed_series *s, uint64_t at)
{
    return secret_key(known_seed(s), CHECK_STREAM, at);
}

enum { CHECKS = 2 }; // of a series: when it has grown, and when it is closed

// Lets a library with a reference of its own compute what the later checks will need, while it
// computes the first one.
static int begin_references(struct timed_series *s, struct error *err)
{
    struct buffers *b = &s->buffers;
    for (uint64_t at = 0; at < CHECKS; at++) {
        const uint64_t seed = b->seed = check_key(s, at) >> 1;
        if (buffers_known(b, seed, err) || exact_open(NULL, &s->source, b, 0, &seed, err))
            return -1;
    }
    b->seed = known_seed(s);
    return buffers_known(b, b->seed, err);
}

// Fills in the reference's numbers with other signs, or for a form other numbers, and finds their
// result. If a library computes it, the numbers of the first, second ... time are the same in all
// series of a seed, and each is used once in a series.
static int series_check_anew(struct timed_series *s, struct series_state *state, struct error *err)
{
    const bool stated = s->spec.problem.number_count > 0;
    const uint64_t at = stated ? s->checks++ : s->turns;
    const uint64_t key = check_key(s, at), seed = key >> 1;
    if (!s->buffers.plain)
        s->buffers.seed = s->apart.seed = seed;
    if (series_known(s, key, err))
        return -1;
    const int stop =
        s->buffers.plain ? 0 : series_find_reference(s, stated ? &seed : NULL, state, err);
    return stop ? stop : series_check(s, state, err);
}

enum { ORDER_STREAM = 77, SOIL_STREAM = 80, PLACES_STREAM, MORE_AFTER = 32 };

// With this many checked launches, an error in one launch of a hundred is found with 95 %.
enum { ENOUGH = 299, MORE_PART = 7 };

// Turns before the first one that counts: first with one launch a side, then as in samples. The
// number is the same for every kernel on every machine, because what they find (series_turn.c) must
// not depend on speed.
enum { FIRST_TURNS = 3, WARM_TURNS = 3 };

static int load_arm(struct timed_series *s, enum sample_role role, bool copy,
                    struct series_state *state, struct error *err)
{
    return arm_load(&s->arms[role], role, copy, &s->spec, s->ops, s->device, state, err);
}

static int load(struct timed_series *s, struct series_state *state, struct error *err)
{
    const char *why = s->spec.problem.number_count ? NULL : parts_refuse(&s->spec.problem);
    if (why)
        return series_refuse(state, ROLE_HEAD, MEASURED_UNSUPPORTED, "%s", why);
    if (!s->spec.base)
        return load_arm(s, ROLE_HEAD, false, state, err);
    // The same file (or a hard link to it) would be loaded only once. Both sides are copied in the
    // same way.
    const bool copy = module_same_file(s->spec.base, s->spec.head);
    const enum sample_role first = s->spec.head_first ? ROLE_HEAD : ROLE_BASE;
    const enum sample_role second = s->spec.head_first ? ROLE_BASE : ROLE_HEAD;
    const int stop = load_arm(s, first, copy, state, err);
    return stop ? stop : load_arm(s, second, copy, state, err);
}

// Checks that the buffers that a library states are those of the other side, whose kernel is
// launched on them.
static int take_stated(struct parts *out, const struct timed_series *s, enum sample_role role,
                       struct series_state *state)
{
    const struct arm *arm = &s->arms[role];
    struct error why;
    if (!arm->states)
        return series_refuse(state, role, MEASURED_UNSUPPORTED,
                             "what is no GEMM is timed as a library, not as a record");
    return parts_stated(out, &arm->stated, &why)
               ? series_refuse(state, role, MEASURED_UNSUPPORTED, "%.400s", why.text)
               : 0;
}

// Copies the texts of a spec, which belong to the command that opens a series and do not outlive
// it.
static char *source_text(const struct series_spec *spec, enum sample_role says)
{
    char problem[PROBLEM_TEXT];
    problem_format(problem, &spec->problem);
    const bool base = says == ROLE_BASE;
    return xprintf("%s\n%s\n%s\n", base ? spec->base : spec->head,
                   base && spec->base_kernel ? spec->base_kernel : spec->kernel, problem);
}

static int settle_parts(struct timed_series *s, struct series_state *state)
{
    const enum sample_role says = s->arms[ROLE_BASE].used ? ROLE_BASE : ROLE_HEAD;
    struct parts heads;
    s->source_of = source_text(&s->spec, says);
    s->source = (struct exact_source){.ops = s->ops,
                                      .device = s->device,
                                      .problem = &s->spec.problem,
                                      .arm = &s->arms[says],
                                      .of = s->source_of,
                                      .stated = &s->arms[says].stated};
    if (!s->spec.problem.number_count) {
        parts_of(&s->parts, &s->spec.problem);
        return 0;
    }
    if (take_stated(&s->parts, s, says, state) || take_stated(&heads, s, ROLE_HEAD, state))
        return 1;
    const double wanted = buffers_need_bytes(&s->parts, s->ops, s->device) +
                          (double)s->parts.output.count * sizeof(double);
    const double room = (double)s->ops->free_bytes(s->device);
    if (wanted > room)
        return series_refuse(state, says, MEASURED_UNSUPPORTED,
                             "buffers() states %.0f MiB with copies, of which there are %.0f",
                             wanted / 0x1p20, room / 0x1p20);
    return parts_equal(&s->parts, &heads)
               ? 0
               : series_refuse(state, ROLE_HEAD, MEASURED_UNSUPPORTED,
                               "its buffers() states others than the base's");
}

static size_t workspace_bytes(const struct timed_series *s)
{
    const struct plumb_form form = check_abi_form(&s->spec.problem);
    const size_t base = arm_workspace_bytes(&s->arms[ROLE_BASE], &form);
    const size_t head = arm_workspace_bytes(&s->arms[ROLE_HEAD], &form);
    return base > head ? base : head;
}

static int prepare_arm(struct timed_series *s, enum sample_role role, const char *pin,
                       struct series_state *state, struct error *err)
{
    return arm_prepare(&s->arms[role], role, pin, series_buffers(s, role), state, err);
}

// A kernel that chooses an algorithm would choose anew for each copy of one file. The second copy
// repeats the first one's choice, so that identical libraries run identical code.
static int prepare(struct timed_series *s, struct series_state *state, struct error *err)
{
    // Records are loaded here, so the order of loading matters here.
    if (s->spec.head_first && s->arms[ROLE_HEAD].record) {
        int stop = prepare_arm(s, ROLE_HEAD, s->spec.pins[ROLE_HEAD], state, err);
        return stop ? stop : prepare_arm(s, ROLE_BASE, s->spec.pins[ROLE_BASE], state, err);
    }
    const bool identical = s->arms[ROLE_HEAD].copied && !s->spec.base_kernel;
    int stop = prepare_arm(s, ROLE_BASE, s->spec.pins[ROLE_BASE], state, err);
    if (stop)
        return stop;
    const char *pin = s->spec.pins[ROLE_HEAD];
    if (!pin && identical && s->arms[ROLE_BASE].note[0])
        pin = s->arms[ROLE_BASE].note;
    return prepare_arm(s, ROLE_HEAD, pin, state, err);
}

// Takes a turn like that of a pair, but the head always comes second. time_ns: of both sides;
// INFINITY: there is none.
static int take_untold(double time_ns[2], struct timed_series *s, uint32_t launches,
                       struct error *err)
{
    time_ns[ROLE_BASE] = time_ns[ROLE_HEAD] = INFINITY;
    if (series_turn(s, !s->arms[ROLE_BASE].used, err))
        return -1;
    for (int role = 0; role < 2; role++) {
        struct sample sample;
        if (!s->arms[role].used)
            continue;
        if (series_take(&sample, s, (enum sample_role)role, launches, err))
            return -1;
        time_ns[role] = sample.time_ns;
    }
    return 0;
}

// The same, and lowers *least_ns to the time of the faster side.
static int take_least(double *least_ns, struct timed_series *s, uint32_t launches,
                      struct error *err)
{
    double time_ns[2];
    if (take_untold(time_ns, s, launches, err))
        return -1;
    *least_ns = fmin(*least_ns, fmin(time_ns[ROLE_BASE], time_ns[ROLE_HEAD]));
    return 0;
}

// The manner of each regime: how launches meet the device. No launch, timed or not, finds contents
// or an output that another launch of its sample had. The exception is the untimed launch before it
// in `warm`, and between these two, contents and output change. So what is checked after the last
// launch is the work of each of them.
//     cold         as measured before regimes had names: after a flush that reads twice the L2, one
//                  launch if it takes at least 50 us, else a batch, in which only the first launch
//                  finds the L2 clean. batch_below_ns is the limit.
//     stream       on a device that has been at work (settle()). After a flush that reads twice the
//                  L2, launches for 2 ms on sets of operands in turn keep power and clock settled;
//                  the last of them are a run-up. A kernel that draws more than the board's limit
//                  gets still slower in a stream without a pause, since samples have pauses
//                  between them (recorded/h100/regimes, "When a stream is settled"). Then come the
//                  timed ones without a pause, as graphs. Both meet each set once. There are so
//                  many copies of the largest operand that more than twice the L2 lies between two
//                  launches on one copy. If the launches of one side cannot be a graph, those of
//                  both sides are queued one by one.
//     isolated     the device stands still, the L2 is read full of clean lines, the device rests
//                  for 15 us, one launch.
//     dirty        the L2 is written full, one launch without a pause; before it the same for 8 ms,
//                  as in the loop of a benchmark.
//     warm         also without a pause, on a device heated for 1 ms: one launch on a set, fresh
//                  numbers in a part of the set (noise.h), one launch on it.
//     activations  the device stands still, the L2 is read full of other lines, then A and C are
//                  read, one launch.
// In the last four, a sample has as many launches as last 0.4 ms together, at most eight, each on a
// set of its own and with two events of its own. None of the five has a limit like that of cold.
//
// The kernel itself heats the device, on sets of its own. Where power is the limit, its own power
// decides its clock: heated by the base's kernel, a head that needs less power was 0.9 % slower
// instead of 3.3 % faster (TF32 at 4096^3 on an H100). If a regime needs a device at rest, it rests
// before the first pair, because earlier work has an effect: 182 us instead of 157. It also rests
// before each sample, because writing and checking are work, too: e4m3_promoted with a stage less
// at 4096x7168x2048 was 1.5 % slower right after them, and 2.0 to 2.6 % slower by a stopwatch that
// writes nothing. With dirty lines the same change was +2.0 % at once, +0.8 % after ten rounds,
// +0.6 % after thirty, and +0.5 % by Triton's do_bench.
static const struct manner manners[REGIMES] = {
    [REGIME_COLD] = {.flush = FLUSH_READ},
    [REGIME_STREAM] = {.flush = FLUSH_READ, .runup = true, .heated = true},
    [REGIME_ISOLATED] = {.flush = FLUSH_READ, .each = true, .quiet = true, .still = true},
    [REGIME_DIRTY] = {.flush = FLUSH_WRITE, .each = true, .heated = true},
    [REGIME_WARM] = {.flush = FLUSH_NONE, .each = true, .heated = true, .again = true},
    [REGIME_ACTIVATIONS] = {.flush = FLUSH_READ, .each = true, .touched = true, .still = true},
};

static int refuse_regime(const struct timed_series *s, struct series_state *state)
{
    if (s->spec.regime != REGIME_ACTIVATIONS)
        return 0;
    if (s->spec.problem.number_count)
        return series_refuse(state, ROLE_HEAD, MEASURED_UNSUPPORTED,
                             "regime activations: only a GEMM has A and C that are warm; take "
                             "another regime for this kernel");
    return s->ops->touches
               ? 0
               : series_refuse(state, ROLE_HEAD, MEASURED_UNSUPPORTED,
                               "regime activations: on the device %s nobody but the library can "
                               "bring A and C into its cache; take another regime there",
                               s->ops->kind);
}

// At most this many timed launches, with half as many before them.
enum {
    RUNUP_MOST = 4,
    HEATS_MOST = 96,
    STREAM_HEATS_MOST = 512,
    HEAT_SETS = 2,
    HEAT_SETS_MOST = 8
};
// How many times heat_ns is heated: where a round writes the cache full and launches, and in a
// stream.
enum { ROUNDS = 8, STREAM_TIMES = 2 };

// The sets on which launches heat. A stream's operands come from memory, and that takes power, too:
// on two sets, which stay in the L2, one FP8 kernel never came to the limit of the board's power
// that a stream of it meets after 50 ms. So more than twice the L2 lies between two launches on one
// set, if that many sets are allowed. What a capture moves is not known here.
static uint32_t wanted_heat_sets(const struct timed_series *s)
{
    double bytes = (double)s->parts.output.bytes;
    for (int i = 0; i < s->parts.input_count; i++)
        bytes += (double)s->parts.inputs[i].bytes;
    if (!s->manner.runup)
        return HEAT_SETS;
    const double beyond = ceil((double)s->ops->flush_bytes(s->device) / fmax(bytes, 1)) + 1;
    return (uint32_t)fmin(beyond, HEAT_SETS_MOST);
}

// The same, as far as there are sets and launches. Nobody may know the number of rounds over them,
// so there are at least three.
static uint32_t heat_sets_of(const struct timed_series *s, uint32_t sets)
{
    const uint32_t wanted = wanted_heat_sets(s), rounds = s->heats / 3, room = sets / 3;
    const uint32_t least = rounds < room ? rounds : room;
    if (!s->heats || sets <= HEAT_SETS)
        return 0;
    return least < HEAT_SETS ? HEAT_SETS : least < wanted ? least : wanted;
}

static uint32_t wanted_launches(const struct timed_series *s, double least_ns)
{
    const struct device_ops *ops = s->ops;
    double wanted = 1;
    uint32_t most = ops->launches_max;
    if (s->manner.each) {
        wanted = ceil(ops->each_ns / least_ns);
        most = EACH_MOST;
    } else if (s->manner.runup) {
        wanted = fmax(ceil(ops->stream_ns / least_ns),
                      fmin(ops->stream_least, floor(ops->stream_most_ns / least_ns)));
        most -= RUNUP_MOST + wanted_heat_sets(s);
    } else if (least_ns < ops->batch_below_ns) {
        wanted = ceil(ops->sample_ns / least_ns);
    }
    if (s->spec.launches)
        wanted = s->spec.launches;
    return (uint32_t)fmax(fmin(wanted, most), 1);
}

static uint32_t wanted_runup(const struct timed_series *s)
{
    const uint32_t half = s->launches / 2, least = s->ops->runup_least;
    if (!s->manner.runup)
        return 0;
    if (s->spec.runup)
        return s->spec.runup < RUNUP_MOST ? s->spec.runup : RUNUP_MOST;
    return half < least ? least : half < RUNUP_MOST ? half : RUNUP_MOST;
}

// How many launches heat. The run-up heats, too: for a kernel of 1 ms a single launch is enough. A
// flush that writes takes about as long as 256 MB need.
static uint32_t wanted_heats(const struct timed_series *s, double least_ns)
{
    const bool flushed = s->manner.flush == FLUSH_WRITE;
    const double flush_ns = 110e3;
    const double times = flushed ? ROUNDS : s->manner.runup ? STREAM_TIMES : 1;
    const double heat_ns = fmax(times * s->ops->heat_ns - s->runup * least_ns, 0);
    // A captured launch that changes what it reads can only run on its own set.
    if (!s->manner.heated || (s->captured && !captured_repeats(s->captured)))
        return 0;
    // Fewer than three would be one round each time, and a kernel could tell them from launches
    // that are checked.
    const double heats = ceil(heat_ns / (least_ns + (flushed ? flush_ns : 0)));
    const double least = s->manner.runup ? 2 : 1; // a long run-up is heat enough
    const double most = s->manner.runup ? STREAM_HEATS_MOST : HEATS_MOST;
    return heats >= least ? (uint32_t)fmin(fmax(heats, 3), most) : 0;
}

// Both sides are queued in the same way, because otherwise a difference could come from the way of
// queuing.
static int choose_graphs(struct timed_series *s, struct error *err)
{
    s->graphs = s->manner.runup && s->ops->graphs;
    for (int role = 0; role < 2 && s->graphs; role++) {
        if (s->arms[role].used &&
            s->ops->graphs(&s->graphs, s->device, arm_launch, &s->arms[role], err))
            return -1;
    }
    return 0;
}

// The faster arm's time alone decides how many launches make a sample.
static int choose_launches(struct timed_series *s, struct error *err)
{
    double least_ns = INFINITY;
    for (int turn = 0; turn < FIRST_TURNS; turn++) {
        if (take_least(&least_ns, s, 1, err))
            return -1;
    }
    s->launches = wanted_launches(s, least_ns);
    s->runup = wanted_runup(s);
    s->heats = wanted_heats(s, least_ns);
    return choose_graphs(s, err);
}

// If memory has room for fewer sets than launches, a regime's launches become fewer, because each
// has its own set.
static void fit_launches(struct timed_series *s, uint32_t sets)
{
    if (s->runup + s->launches <= sets)
        return;
    s->runup = s->runup < sets / 3 ? s->runup : sets / 3;
    s->launches = s->launches < sets - s->runup ? s->launches : sets - s->runup;
}

static int warm_up(struct timed_series *s, struct error *err)
{
    double time_ns[2];
    for (int turn = 0; turn < WARM_TURNS; turn++) {
        if (take_untold(time_ns, s, s->launches, err))
            return -1;
    }
    return 0;
}

// Waits until earlier work no longer affects the clock.
static void let_rest(const struct timed_series *s)
{
    const double rested_ns = 1e9 * (now_s() - at_work.any_s);
    const double left_ns = (double)s->ops->rest_ns - rested_ns;
    if ((s->manner.quiet || s->manner.touched) && left_ns > 0)
        nanosleep(&(struct timespec){.tv_nsec = (long)left_ns}, NULL);
}

// Closing a series and opening another takes 50 to 110 ms, and in a gate with many series that
// happens between their blocks. Settling must not cost each of them as much again.
static const double idle_s = 0.15;

static bool settles(const struct timed_series *s)
{
    return s->manner.heated && s->manner.flush != FLUSH_WRITE;
}

// The times of turns that settle, as sums over bins of time. A side's time is a logarithm.
enum { BINS_EACH = 8, BINS_MOST = 64 }; // bins of settle_ns; of all
struct stillness {
    double turns[BINS_MOST], sum[BINS_MOST], squares[BINS_MOST];
};

// The mean of the bins from `from` to `end`, and its squared error.
static double mean_of(double *error2, const struct stillness *at, int from, int end)
{
    double turns = 0, sum = 0, squares = 0;
    for (int i = from; i < end; i++) {
        turns += at->turns[i];
        sum += at->sum[i];
        squares += at->squares[i];
    }
    const double mean = sum / turns;
    const double variance =
        fmax(squares / turns - mean * mean, 0); // of equal times rounding is left
    *error2 = turns > 1 ? variance / (turns - 1) : NAN;
    return mean;
}

// Whether launches take as long in the last half of settle_ns as in the half before, within twice
// the error of the difference (and what rounding makes of equal ones). False if there are too few
// to tell.
static bool stands_still(const struct stillness *at, int end)
{
    double before2, last2;
    if (end < BINS_EACH)
        return false;
    const double before = mean_of(&before2, at, end - BINS_EACH, end - BINS_EACH / 2);
    const double last = mean_of(&last2, at, end - BINS_EACH / 2, end);
    return fabs(last - before) <= 2 * sqrt(before2 + last2) + 1e-6;
}

// Settles the device. One that was idle runs faster at first because of its power limit, and after
// another kernel it has that kernel's clock. Turns like the later ones bring it to the clock that
// those will have: for settle_ns, and then until the kernel's own time stands still, at most for
// settle_most_ns. More turns are checked than a fast device needs, and never fewer.
static int settle(struct timed_series *s, struct error *err)
{
    const double begun_s = now_s(), bin_s = 1e-9 * s->ops->settle_ns / BINS_EACH;
    const double most_s = 1e-9 * fmax(s->ops->settle_most_ns, s->ops->settle_ns);
    struct stillness at = {0};
    if (!settles(s) || (begun_s - at_work.settled_s < idle_s && at_work.settled_for == s->kin))
        return 0;
    for (double now = begun_s; now - begun_s < most_s; now = now_s()) {
        double time_ns[2];
        const int bin = (int)fmin((now - begun_s) / bin_s, BINS_MOST - 1);
        if (stands_still(&at, bin))
            break;
        if (take_untold(time_ns, s, s->launches, err))
            return -1;
        const double both = (isfinite(time_ns[ROLE_BASE]) ? log(time_ns[ROLE_BASE]) : 0) +
                            (isfinite(time_ns[ROLE_HEAD]) ? log(time_ns[ROLE_HEAD]) : 0);
        at.turns[bin]++;
        at.sum[bin] += both;
        at.squares[bin] += both * both;
    }
    return 0;
}

static void note_work(const struct timed_series *s)
{
    if (s->manner.heated)
        at_work.any_s = now_s();
    if (settles(s))
        at_work.settled_s = at_work.any_s;
    at_work.settled_for = settles(s) ? s->kin : 0;
}

// Returns 1, and the state says so, if a timed launch was wrong.
static int tell(const struct timed_series *s, struct series_state *state)
{
    if (s->found.state == MEASURED_OK)
        return 0;
    *state = s->found;
    return 1;
}

// A series that is decided early needs only the first instances; in batches, places differ less
// than pairs do.
static uint32_t wanted_instances(const struct timed_series *s)
{
    const uint32_t all = s->launches == 1 ? INSTANCES_LATER : INSTANCES;
    const uint32_t each = s->spec.instances ? s->spec.instances : all;
    return s->next_pair < MORE_AFTER && each > INSTANCES ? INSTANCES : each;
}

static int draw_places(struct timed_series *s, struct error *err)
{
    struct instances *sides[2];
    uint32_t count = 0;
    for (int role = 0; role < 2; role++) {
        if (arm_instances(&s->arms[role]))
            sides[count++] = arm_instances(&s->arms[role]);
    }
    const uint64_t key = secret_key(s->spec.seed, PLACES_STREAM, s->next_pair);
    return instances_draw(sides, count, wanted_instances(s), key, s->next_pair > 0, err);
}

static int open_buffers(struct buffers *out, const struct timed_series *s, struct error *err)
{
    // The problem for prepare() and launch() names the regime, for a kernel that tries its variants
    // in it.
    const struct problem problem = problem_in(&s->spec.problem, s->spec.regime);
    return buffers_open(out, s->ops, s->device, &problem, &s->parts, known_seed(s),
                        workspace_bytes(s), err);
}

// Whether an arm is a record with contents of its own.
static bool is_captured(const struct arm *arm)
{
    return arm->used && arm->record && arm_record(arm)->content_count > 0;
}

// Opens a captured series: both sides are records with contents of their own.
static int open_captured(struct timed_series *s, struct series_state *state, struct error *err)
{
    if (s->spec.base && !is_captured(&s->arms[ROLE_BASE]))
        return series_refuse(state, ROLE_BASE, MEASURED_UNSUPPORTED,
                             "one side is captured and the other is not");
    if (s->spec.regime == REGIME_ACTIVATIONS)
        return series_refuse(state, ROLE_HEAD, MEASURED_UNSUPPORTED,
                             "regime activations: a capture does not say which of its memory is A "
                             "and C; take another regime for it");
    int stop = captured_open(&s->captured, s->arms, state, err);
    if (stop)
        return stop;
    if (s->spec.regime == REGIME_WARM && !captured_repeats(s->captured))
        return series_refuse(state, ROLE_HEAD, MEASURED_UNSUPPORTED,
                             "regime warm: a second launch on what the first has changed computes "
                             "something else; take another regime for it");
    if (choose_launches(s, err))
        return -1;
    const uint32_t wanted = s->runup + s->launches + (s->heats ? wanted_heat_sets(s) : 0);
    if (wanted > 1) {
        if (captured_grow(s->captured, wanted, err) || arm_grow(&s->arms[ROLE_BASE], err) ||
            arm_grow(&s->arms[ROLE_HEAD], err))
            return -1;
        const uint32_t sets = captured_sets(s->captured);
        s->heat_sets = heat_sets_of(s, sets);
        if (!captured_repeats(s->captured))
            fit_launches(s, sets);
    }
    if (draw_places(s, err))
        return -1;
    let_rest(s);
    if (warm_up(s, err))
        return -1;
    return tell(s, state);
}

// Makes room for the digests of all sets.
static int make_digests(struct timed_series *s, struct error *err)
{
    if (!s->arms[ROLE_BASE].used)
        return 0;
    s->ops->free(s->device, s->digests);
    s->digests = NULL;
    const uint64_t chunks = digest_count(s->parts.output.count);
    return s->ops->alloc_inputs(&s->digests, s->device, chunks * s->buffers.sets * sizeof(double),
                                err);
}

// Opens a series step by step. Each step returns 0, 1 (the state says why not) or -1 (error).
static int open_steps(struct timed_series *s, struct series_state *state, struct error *err)
{
    int stop = refuse_regime(s, state);
    if (stop || (stop = load(s, state, err)))
        return stop;
    if (is_captured(&s->arms[ROLE_HEAD]))
        return open_captured(s, state, err);
    if ((stop = settle_parts(s, state)))
        return stop;
    if (s->parts.restored && s->spec.warm)
        return series_refuse(state, ROLE_HEAD, MEASURED_UNSUPPORTED,
                             "with beta, C is written before each launch: not with --warm");
    if (open_buffers(&s->buffers, s, err) || (s->spec.apart && open_buffers(&s->apart, s, err)) ||
        make_digests(s, err))
        return -1;
    const uint64_t known = known_seed(s);
    if (s->spec.problem.number_count && !s->source.arm->process && begin_references(s, err))
        return -1;
    if ((stop = series_find_reference(s, &known, state, err)) || (stop = prepare(s, state, err)) ||
        (stop = series_check(s, state, err)))
        return stop;
    if (choose_launches(s, err))
        return -1;
    const uint32_t sets = s->runup + s->launches + (s->heats ? wanted_heat_sets(s) : 0);
    if (sets > 1 && !s->spec.warm) {
        if (buffers_grow(&s->buffers, sets, err) ||
            (s->spec.apart && buffers_grow(&s->apart, sets, err)) ||
            arm_grow(&s->arms[ROLE_BASE], err) || arm_grow(&s->arms[ROLE_HEAD], err) ||
            make_digests(s, err))
            return -1;
        s->heat_sets = heat_sets_of(s, s->buffers.sets);
        if (s->manner.each || s->manner.runup || s->parts.restored)
            fit_launches(s, s->buffers.sets - s->heat_sets);
        if ((stop = series_check_anew(s, state, err)))
            return stop;
    }
    if (draw_places(s, err))
        return -1;
    let_rest(s);
    if (warm_up(s, err))
        return -1;
    return tell(s, state);
}

double series_need_bytes(const struct series_spec *spec, const struct device_ops *ops,
                         struct device_base *device)
{
    struct parts parts;
    if (spec->problem.number_count || parts_refuse(&spec->problem))
        return 0; // its library states it later, or it is refused
    parts_of(&parts, &spec->problem);
    return (spec->apart ? 2 : 1) * buffers_need_bytes(&parts, ops, device) +
           (double)parts.output.count * sizeof(double);
}

static void report(struct series_state *state, const struct timed_series *s)
{
    state->regime = s->spec.regime;
    double error = s->error, tolerance = s->tolerance;
    if (s->captured)
        captured_errors(&error, &tolerance, s->captured);
    state->error = isfinite(error) ? error : 1e300; // the wire cannot carry infinity
    state->tolerance = tolerance;
    state->launches = s->launches;
    state->reference_s = s->reference_s;
    state->on_end = s->ops->settle_ns > 0 && s->spec.regime != REGIME_COLD;
    const struct plumb_form form = check_abi_form(&s->spec.problem);
    // A side that was refused is not asked.
    for (int role = ROLE_BASE; state->state == MEASURED_OK && role <= ROLE_HEAD; role++)
        state->memory_bytes[role] = arm_memory_bytes(&s->arms[role], &form);
    state->baton_ns = arm_baton_ns(&s->arms[ROLE_HEAD]);
}

static uint64_t kin_of(const struct series_spec *spec)
{
    char problem[PROBLEM_TEXT];
    problem_format(problem, &spec->problem);
    const uint64_t hash = hash_text(hash_text(HASH_START, spec->kernel), problem);
    return hash_text(hash, regime_name(spec->regime)) | 1;
}

static double tolerance_of(const struct problem *problem)
{
    return problem->number_count ? 1 : check_tolerance(problem);
}

int series_open(struct timed_series **out, struct series_state *state, const struct device_ops *ops,
                struct device_base *device, const struct series_spec *spec, struct error *err)
{
    struct timed_series *s = xcalloc(1, sizeof(*s));
    *s = (struct timed_series){.ops = ops,
                               .device = device,
                               .spec = *spec,
                               .arms = {ARM_NONE, ARM_NONE},
                               .manner = manners[spec->regime],
                               .kin = kin_of(spec),
                               .tolerance = tolerance_of(&spec->problem),
                               .launches = 1,
                               .found = {.state = MEASURED_OK}};
    if (spec->regime == REGIME_COLD)
        s->manner.flush = spec->flush;
    struct series_state found = {.state = MEASURED_OK, .role = ROLE_HEAD};
    int stop = open_steps(s, &found, err);
    report(&found, s);
    if (stop == 0) {
        snprintf(found.note, sizeof(found.note), "%s", s->arms[ROLE_HEAD].note);
        snprintf(found.base_note, sizeof(found.base_note), "%s", s->arms[ROLE_BASE].note);
    }
    if (stop) {
        series_free(s);
        s = NULL;
    }
    if (stop < 0)
        return -1;
    *state = found;
    *out = s;
    return 0;
}

int series_settle(struct timed_series *s, struct error *err)
{
    for (int role = 0; role < 2; role++) {
        struct arm *arm = &s->arms[role];
        int code = arm->used ? arm_launch(arm, 0, s->ops->stream(s->device)) : 0;
        if (code)
            return error_set(err, "%s: launch() returned %d", series_role_names[role], code);
    }
    return s->ops->sync(s->device, err);
}

// Takes the samples of one pair, or of a head alone (`first` is ROLE_HEAD then). A disturbed turn
// is repeated, unless the disturbance was no accident.
static int take_turn(struct sample *out, struct timed_series *s, enum sample_role first, bool alone,
                     struct error *err)
{
    const enum sample_role second = first == ROLE_HEAD ? ROLE_BASE : ROLE_HEAD;
    do {
        if (series_turn(s, alone, err) || series_take(&out[0], s, first, s->launches, err) ||
            (!alone && series_take(&out[1], s, second, s->launches, err)))
            return -1;
    } while (s->turn.disturbed && s->found.state == MEASURED_OK);
    return 0;
}

static void send_turn(const struct sample *samples, size_t count, uint32_t pair, uint16_t block,
                      sample_sink *sink, void *state)
{
    for (size_t i = 0; i < count; i++) {
        struct sample sample = samples[i];
        sample.pair = pair;
        sample.block = block;
        sample.order = (uint8_t)i;
        sink(state, &sample);
    }
}

// Begins a block with new contents, so that nothing that an earlier launch left is of use.
static int begin_block(struct timed_series *s, struct error *err)
{
    const uint64_t key = secret_key(s->spec.seed, SOIL_STREAM, s->turns);
    if (s->captured)
        return s->ops->calm(s->device, err);
    if (s->ops->calm(s->device, err) || buffers_soil(&s->buffers, key, err))
        return -1;
    return s->spec.apart ? buffers_soil(&s->apart, key, err) : 0;
}

int series_pairs(struct timed_series *s, uint32_t count, uint16_t block, sample_sink *sink,
                 void *state, struct error *err)
{
    assert(s->arms[ROLE_BASE].used);
    let_rest(s);
    if ((s->next_pair && draw_places(s, err)) || settle(s, err) || begin_block(s, err))
        return -1;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t pair = s->next_pair++;
        const bool head_first = secret_key(s->spec.seed, ORDER_STREAM, pair) >> 63;
        struct sample samples[2];
        if (take_turn(samples, s, head_first ? ROLE_HEAD : ROLE_BASE, false, err))
            return -1;
        send_turn(samples, 2, pair, block, sink, state);
    }
    note_work(s);
    return 0;
}

// With fewer samples than this, only the function of the kernel is checked and its time is not
// used.
enum { TIMED_LEAST = 8 };

int series_solo(struct timed_series *s, uint32_t count, uint16_t block, sample_sink *sink,
                void *state, struct error *err)
{
    if (count >= TIMED_LEAST) {
        let_rest(s);
        if (settle(s, err))
            return -1;
    }
    if (begin_block(s, err))
        return -1;
    for (uint32_t i = 0; i < count; i++) {
        struct sample sample;
        if (take_turn(&sample, s, ROLE_HEAD, true, err))
            return -1;
        send_turn(&sample, 1, s->next_pair++, block, sink, state);
    }
    note_work(s);
    return 0;
}

// If a few more launches complete the number of checked ones, they are made, in the same way as
// timed ones.
static int look_at_more(struct timed_series *s, struct error *err)
{
    const uint32_t missing = s->looked_at < ENOUGH ? ENOUGH - s->looked_at : 0;
    if (!s->arms[ROLE_BASE].used || s->captured || missing > s->looked_at / MORE_PART)
        return 0;
    for (uint32_t i = 0; i < missing && s->found.state == MEASURED_OK; i += s->launches) {
        struct sample sample;
        if (series_turn(s, false, err) || series_take(&sample, s, ROLE_BASE, s->launches, err) ||
            series_take(&sample, s, ROLE_HEAD, s->launches, err))
            return -1;
    }
    return 0;
}

int series_close(struct series_state *state, struct timed_series *s, struct error *err)
{
    struct series_state found = {.state = MEASURED_OK, .role = ROLE_HEAD};
    if (look_at_more(s, err))
        return -1;
    int stop = tell(s, &found);
    if (!stop)
        stop = s->captured ? captured_check(s->captured, &found, err)
                           : series_check_anew(s, &found, err);
    if (stop < 0)
        return -1;
    report(&found, s);
    if (!stop)
        snprintf(found.note, sizeof(found.note), "%s", s->arms[ROLE_HEAD].note);
    *state = found;
    return 0;
}

bool series_is_singly(const struct timed_series *s)
{
    return s->manner.runup && s->ops->graphs && !s->graphs;
}

double series_waited_ns(const struct timed_series *s)
{
    return s->turn.findings.waited_ns;
}

void series_free(struct timed_series *s)
{
    if (!s)
        return;
    exact_free(s->reference);
    free(s->source_of);
    if (s->digests)
        s->ops->free(s->device, s->digests);
    arm_release(&s->arms[ROLE_BASE]);
    arm_release(&s->arms[ROLE_HEAD]);
    captured_free(s->captured);
    buffers_free(&s->buffers);
    buffers_free(&s->apart);
    free(s);
}
