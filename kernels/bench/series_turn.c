// SPDX-License-Identifier: Apache-2.0
//
// A turn of a series: fresh contents, disguised outputs, and samples that are checked afterwards.
//
// The limit for digests. The digest of a chunk is a sum of 256 elements with random signs. An
// element of either side is off by at most the tolerance t, and by t / 8 in the mean square if only
// rounding is the cause (check.h). So the difference of two chunks has a standard deviation of at
// most sqrt(2 * 256) t / 8 = 2.8 t. The limit of 17 t is six times that. For a single element
// (chunks at an end are shorter) it is 2 t, which two correct sides cannot exceed. A wrong element
// is off by 1.4 of the scale, a wrong row of a tile by 8 and more; 17 t are 0.5 for bf16 and 8.5
// for e4m3 outputs.
//
// What is found, and how often. None of it depends on how fast a kernel or a machine is, because
// the turns of an opening are counted, and so are pairs and launches
// (tests/kernels/test_unguessed.c counts what is found).
//     digests         A launch that only one side gets wrong is found in any turn: a chunk that
//                     differs by more than the limit is found with probability 1, wherever it is.
//                     In outputs of more than a million elements, one chunk of four is digested:
//                     one wrong chunk is found with 1/4, and a wrong tile of 64 rows and more with
//                     1. A side that is wrong in a share q of its launches is found by n of them
//                        with
//                     1 - (1 - q)^n.
//     contents        A kernel that keeps a product of other contents is wrong in this way each
//                     time.
//     disguise        A kernel may come second and leave out its work if one line of its output is
//                     right already. On a GPU, from 1 MiB on, it does so in 3/4 of the turns, and
//                     is found in each of them. Smaller outputs are disguised completely: it never
//                     can. In an opening the head is second in six turns. The first of these, and
//                     those after a turn with known contents, are disguised completely: it is found
//                     with 1 - (1 - 3/4 * 31/32)^5 = 99.85 %. In each later pair, where chance
//                     decides whether the head is second: 36 %.
//     known contents  Only these find two sides that are wrong alike: in one turn of 32, so by n
//                     turns with 1 - (31/32)^n; if there is only a head, in every second turn. One
//                     set of a batch is checked.
//     lines           In operands from 1 MiB on that tensor cores multiply, seven of eight lines
//                     stay. A kernel that keeps the product and adds the effect of the eighth line
//                     computes more than for a new product (buffers.c). For operands that are
//                     multiplied row by row it would compute less, so these change completely.
//     inputs          A kernel that writes to its inputs dies on the host. Elsewhere one vector of
//                     each renewed line is checked: one of four, so a single changed vector is
//                     found with 1/4, and a changed line with 1. Lines that were not renewed are
//                     not checked.
//     heat            Launches that only heat use two sets of their own, with other numbers in each
//                     round. Their number is drawn for each turn, from at least two possible ones.
//                     What the last one left on each set is digested, too. So a kernel that skips
//                     one of them can only guess which one nobody checks, and is right with at most
//                     2/3. For forms and captures, numbers stay the same from round to round: a
//                     kernel that remembers them could idle there, stay cooler, and be faster by
//                     its higher clock. The same is true of the launches that heat a warm set,
//                     which nobody checks.
//     bounds          Guards and gaps are checked when a series is opened and closed. A kernel that
//                     always writes there is found with 1; in between nobody checks.
#include "kernels/bench/series_parts.h"
#include "kernels/device/check.h"
#include "kernels/device/noise.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TURN_STREAM = 78, DISGUISE = 41, DIGEST, SET, PLACE, HEAT, HEATS };
enum { KNOWN_EVERY = 32, KNOWN_ALONE_EVERY = 2 };
// For a large output only a part of the chunks is digested, a different one each time.
enum { SMALL_OUTPUT = 1 << 20, CHUNK_ONE_IN = 4 };

const char *const series_role_names[2] = {"base", "head"};

int series_known(struct timed_series *s, uint64_t key, struct error *err)
{
    return buffers_known(&s->buffers, key, err) ||
                   (s->spec.apart && buffers_known(&s->apart, key, err))
               ? -1
               : 0;
}

// ---- libraries that must stand still ----

// A host library stands still while the other one works. If one did not, it may have computed or
// spoiled something in the other's time. Then the turn does not count, and neither is blamed for
// what it wrote. An accident is short and rare: for two builds with 64 threads on two processors
// that 19 other processes wanted, one turn in 600, for 14 to 80 us; for one thread, none of 3,600.
static const double much_ns = 1e6;
enum { STRAYS_ALLOWED = 3, STRAY_ONE_IN = 50 };

static uint32_t strays(const struct timed_series *s)
{
    uint32_t count = 0;
    for (int role = 0; role < 2; role++)
        count += arm_rest(&s->arms[role]).strays;
    return count;
}

static void hold_still(struct timed_series *s)
{
    s->turn.disturbed |= strays(s) != s->turn.strays;
    for (int role = 0; role < 2 && s->found.state == MEASURED_OK; role++) {
        const struct arm_rest rest = arm_rest(&s->arms[role]);
        if (rest.longest_ns > much_ns || rest.strays > STRAYS_ALLOWED + rest.turns / STRAY_ONE_IN)
            series_refuse(&s->found, (enum sample_role)role, MEASURED_WRONG,
                          "it worked %u times while it should stand still, for up to %.0f us",
                          rest.strays, 1e-3 * rest.longest_ns);
    }
}

// ---- a turn ----

int series_turn(struct timed_series *s, bool alone, struct error *err)
{
    const uint64_t key = secret_key(s->spec.seed, TURN_STREAM, s->turns++);
    s->turn =
        (struct turn){.key = key,
                      .known = !s->captured && key % (alone ? KNOWN_ALONE_EVERY : KNOWN_EVERY) == 0,
                      .whole = !s->buffers.is_noise,
                      .strays = strays(s)};
    for (int role = 0; role < 2; role++) {
        struct instances *side = arm_instances(&s->arms[role]);
        if (side)
            instances_choose(side, secret_key(key, PLACE, (uint64_t)role));
    }
    return s->turn.known ? series_known(s, key, err) : 0;
}

static int say_wrong(struct series_state *state, enum sample_role role, const char *when,
                     const struct comparison *found, const struct parts *parts)
{
    if (found->row < 0)
        return series_refuse(state, role, MEASURED_WRONG,
                             "%s%llu of %llu elements wrong, first output[%lld] = %.9g, expected "
                             "%.9g",
                             when, (unsigned long long)found->wrong,
                             (unsigned long long)parts->output.count, (long long)found->col,
                             found->got, found->wanted);
    return series_refuse(state, role, MEASURED_WRONG,
                         "%s%llu of %llu elements wrong, first C[%lld][%lld] = %.9g, expected %.9g",
                         when, (unsigned long long)found->wrong,
                         (unsigned long long)parts->output.count, (long long)found->row,
                         (long long)found->col, found->got, found->wanted);
}

int series_hold(struct timed_series *s, enum sample_role role, uint32_t set, const char *when,
                struct series_state *state, struct error *err)
{
    const struct buffers *buffers = series_buffers(s, role);
    const struct inputs_signs signs = buffers_signs(buffers, set);
    struct comparison found = {0};
    if (exact_compare(&found, s->reference, buffers, set, &signs, s->tolerance, err))
        return -1;
    s->error = fmax(s->error, found.error);
    return found.wrong ? say_wrong(state, role, when, &found, &s->parts) : 0;
}

// ---- after a sample ----

static const char in_timed[] = "in a timed launch ";

// The two sides of a pair differ. Finds which one is wrong; what `role`, the second one, wrote is
// still there.
static int blame(struct timed_series *s, enum sample_role role, uint32_t sets, struct error *err)
{
    struct buffers *buffers = series_buffers(s, role);
    const struct problem *problem = &s->spec.problem;
    const struct inputs_signs none = {.m = (uint64_t)problem->m, .n = (uint64_t)problem->n};
    for (uint32_t set = 0; set < sets; set++) {
        struct exact *exact;
        struct comparison found = {0};
        if (exact_open(&exact, &s->source, buffers, set, NULL, err))
            return -1;
        const int failed = exact_compare(&found, exact, buffers, set, &none, s->tolerance, err);
        exact_free(exact);
        if (failed)
            return -1;
        if (found.wrong)
            return say_wrong(&s->found, role, in_timed, &found, &s->parts);
    }
    return series_refuse(&s->found, role == ROLE_HEAD ? ROLE_BASE : ROLE_HEAD, MEASURED_WRONG,
                         "%sit computed something else than the %s, which is right", in_timed,
                         series_role_names[role]);
}

// Judges a turn by what was found after its last sample, which `role` took.
static int judge(struct timed_series *s, enum sample_role role, uint32_t sets,
                 const struct findings *found, struct error *err)
{
    const uint64_t elements = s->parts.output.count;
    const double count = (double)(elements < DIGEST_CHUNK ? elements : DIGEST_CHUNK);
    const double limit = s->allowed * (1 + sqrt(count));
    s->looked_at += sets;
    if (found->changed)
        return series_refuse(&s->found, ROLE_HEAD, MEASURED_WRONG, "%sits inputs were changed",
                             in_timed);
    return found->worst <= limit ? 0 : blame(s, role, sets, err);
}

// Checks after a sample. The output that is compared with the reference is drawn at random.
static int look_again(struct timed_series *s, enum sample_role role, uint32_t sets, bool last,
                      struct error *err)
{
    const uint32_t set = (uint32_t)(secret_key(s->turn.key, SET, role) % sets);
    hold_still(s);
    if (s->turn.disturbed)
        return 0;
    if (s->found.state == MEASURED_OK && s->turn.known &&
        series_hold(s, role, set, in_timed, &s->found, err) < 0)
        return -1;
    if (s->found.state == MEASURED_OK && last && judge(s, role, sets, &s->turn.findings, err) < 0)
        return -1;
    return 0;
}

// ---- a sample ----

// Writes what is needed before a sample of `role`. Both sides are treated alike: what is written to
// the inputs for the second one is there already. What a form's output holds beside its elements
// stays, so it must also be the same for both.
static int renew_sets(struct timed_series *s, enum sample_role role, uint32_t first, uint32_t sets,
                      struct error *err)
{
    struct buffers *buffers = series_buffers(s, role);
    const unsigned variant = s->spec.variant;
    // A host library can keep any data, so with one nothing of an operand stays.
    const bool whole = s->turn.whole || s->ops->memory || variant & VARIANT_WHOLE;
    const uint64_t disguised = buffers->plain ? (uint64_t)role : 0;
    const struct renewal renewal = {.inputs = s->turn.stays ? 0 : s->turn.key | 1,
                                    .outputs = secret_key(s->turn.key, DISGUISE, disguised),
                                    .whole = whole,
                                    .wide = variant & VARIANT_WIDE,
                                    .coarse = variant & VARIANT_COARSE,
                                    .set = first,
                                    .sets = sets};
    return variant & VARIANT_STILL ? 0 : buffers_renew(buffers, &renewal, err);
}

static int renew(struct timed_series *s, enum sample_role role, struct error *err)
{
    return renew_sets(s, role, 0, 0, err);
}

// Writes between the two launches on a warm set.
static int renew_between(void *self, uint32_t set, struct error *err)
{
    struct timed_series *s = self;
    return renew_sets(s, s->turn.role, set, 1, err);
}

// Writes for the other side while the host waits for this one's times. A device that is idle
// between two samples takes 15 us longer for a pair. Batches take long enough; with them the second
// of two samples that were prepared at different times was 0.3 % faster.
static int renew_ahead(void *self, struct error *err)
{
    struct timed_series *s = self;
    s->turn.renewed = true;
    return renew(s, s->turn.role == ROLE_HEAD ? ROLE_BASE : ROLE_HEAD, err);
}

// Launches that heat get other numbers meanwhile. On warm sets everything that matters is written
// between launches.
static void keep_fresh(struct timed_series *s, const struct buffers *buffers, uint32_t sets)
{
    for (int i = 0; i < 2; i++) {
        s->fresh[i] = buffers->fresh[i];
        if (s->fresh[i].count > sets)
            s->fresh[i].count = sets;
    }
}

static struct look look_of(const struct timed_series *s, const struct buffers *buffers,
                           uint32_t sets)
{
    const uint64_t elements = s->parts.output.count;
    const bool plain = buffers->plain; // then inputs are noise, and can be checked to be
    return (struct look){.from = buffers->outputs,
                         .count = sets,
                         .type = (int)s->parts.output.type,
                         .elements = elements,
                         .one_in = elements < SMALL_OUTPUT ? 1 : CHUNK_ONE_IN,
                         .key = secret_key(s->turn.key, DIGEST, 0),
                         .store = s->digests,
                         .first = !s->turn.half,
                         .inputs = !plain || s->turn.stays ? NULL
                                   : s->manner.again       ? buffers->fresh
                                                           : s->fresh,
                         .scales = {plain ? buffers->args->args.scale_a : NULL,
                                    plain ? buffers->args->args.scale_b : NULL},
                         .scale = 1.0f / INPUTS_FP8_SCALE};
}

// Writes other numbers to the parts of the heating sets that no other set shares, one round after
// another.
static int renew_heat(void *self, uint32_t round, struct error *err)
{
    struct timed_series *s = self;
    struct buffers *buffers = series_buffers(s, s->turn.role);
    const struct renewal renewal = {.inputs = secret_key(s->turn.key, HEAT, round) | 1,
                                    .set = buffers->sets - s->heat_sets,
                                    .sets = s->heat_sets};
    return buffers_renew(buffers, &renewal, err);
}

// Both sides of a turn are heated alike, and in whole rounds, so that they leave the same.
static struct heat heat_of(struct timed_series *s, struct arm *arm, uint32_t first)
{
    const uint32_t draws = s->heats / 4 + 3 < s->heats ? s->heats / 4 + 3 : s->heats;
    const uint64_t less = draws ? secret_key(s->turn.key, HEATS, 0) % draws : 0;
    const uint32_t count = s->heats - (uint32_t)less, sets = s->heat_sets;
    const bool renewed = !s->captured && s->buffers.plain && !s->turn.stays && !s->manner.again;
    return (struct heat){.launch = arm_launch,
                         .self = arm,
                         .first = first,
                         .sets = sets,
                         .count = sets ? (count + sets - 1) / sets * sets : 0,
                         .kernels = arm_kernels(arm),
                         .between = renewed ? renew_heat : NULL,
                         .between_self = s};
}

// A capture's contents stay as they are between two launches on a warm set.
static int keep_between(void *self, uint32_t set, struct error *err)
{
    (void)self;
    (void)set;
    (void)err;
    return 0;
}

// Takes a sample of captured launches. What they change is restored before, and one set, chosen in
// secret, is compared with the base's results after it.
static int take_captured(struct sample *out, struct timed_series *s, enum sample_role role,
                         uint32_t launches, struct error *err)
{
    const uint32_t walked = s->spec.warm ? 1 : captured_sets(s->captured) - s->heat_sets;
    const uint32_t all = s->runup + launches, sets = all < walked ? all : walked;
    struct arm *arm = &s->arms[role];
    struct batch batch = {.launch = arm_launch,
                          .self = arm,
                          .sets = walked,
                          .runup = s->runup,
                          .launches = launches,
                          .heat = heat_of(s, arm, walked),
                          .each = s->manner.each,
                          .stream = s->manner.runup,
                          .graphs = s->graphs,
                          .rest_ns = s->manner.still ? s->ops->still_ns : 0,
                          .quiet = s->manner.quiet,
                          .between = s->manner.again ? keep_between : NULL,
                          .kernels = arm_kernels(arm),
                          .flush = s->manner.flush,
                          .variant = s->spec.variant};
    const uint64_t drawn = secret_key(s->turn.key, SET, role);
    int code = 0;
    *out = (struct sample){.role = (uint8_t)role, .launches = launches};
    if (captured_restore(&batch.beside, s->captured, role, sets, err) ||
        s->ops->sample(out, &s->turn.findings, s->device, &batch, &code, err))
        return -1;
    if (code)
        return error_set(err, "%s: launch() returned %d in a timed launch", series_role_names[role],
                         code);
    if (s->found.state != MEASURED_OK)
        return 0;
    s->looked_at++;
    return captured_hold(s->captured, role, (uint32_t)(drawn % sets), in_timed, &s->found, err) < 0
               ? -1
               : 0;
}

int series_take(struct sample *out, struct timed_series *s, enum sample_role role,
                uint32_t launches, struct error *err)
{
    if (s->captured)
        return take_captured(out, s, role, launches, err);
    struct arm *arm = &s->arms[role];
    const struct buffers *buffers = series_buffers(s, role);
    const bool last = s->turn.half || !s->arms[ROLE_BASE].used;
    const struct manner *manner = &s->manner;
    const unsigned variant = s->spec.variant;
    const uint32_t walked = s->spec.warm ? 1 : buffers->sets - s->heat_sets;
    const uint32_t all = s->runup + launches;
    // The heating sets come after the others. They are checked if no set lies between, but not if
    // the operand that they share with others changes after them.
    const uint32_t heated = all < walked || manner->again ? 0 : s->heat_sets;
    const uint32_t sets = all < walked ? all : walked + heated;
    s->turn.stays = s->turn.known || variant & (VARIANT_OUTPUTS | VARIANT_STILL);
    s->turn.role = role;
    if (!s->turn.renewed && !manner->again && renew(s, role, err))
        return -1;
    s->turn.renewed = false;
    keep_fresh(s, buffers, walked);
    const struct look look = look_of(s, buffers, sets);
    const struct touched touched = {.places = {buffers->inputs[0], buffers->outputs},
                                    .bytes = {s->parts.inputs[0].bytes, s->parts.output.bytes}};
    const bool ahead = all == 1 && !manner->again && !last && !s->turn.known && buffers->plain;
    const struct batch batch = {.launch = arm_launch,
                                .self = arm,
                                .sets = walked,
                                .runup = s->runup,
                                .launches = launches,
                                .heat = heat_of(s, arm, walked),
                                .each = manner->each,
                                .stream = manner->runup,
                                .graphs = s->graphs,
                                .rest_ns = manner->still ? s->ops->still_ns : 0,
                                .quiet = manner->quiet,
                                .touched = manner->touched ? &touched : NULL,
                                .between = manner->again ? renew_between : NULL,
                                .between_self = s,
                                .kernels = arm_kernels(arm),
                                .flush = manner->flush,
                                .threads = arm->kernel.kernel.traits.threads,
                                .run = arm_run(arm),
                                .variant = variant,
                                .look = variant & VARIANT_BLIND ? NULL : &look,
                                .behind = ahead ? renew_ahead : NULL,
                                .behind_self = s};
    int code = 0;
    *out = (struct sample){.role = (uint8_t)role, .launches = launches};
    if (s->ops->sample(out, &s->turn.findings, s->device, &batch, &code, err))
        return -1;
    if (code)
        return error_set(err, "%s: launch() returned %d in a timed launch", series_role_names[role],
                         code);
    s->turn.half = true;
    return look_again(s, role, sets, last, err);
}
