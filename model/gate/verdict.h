// SPDX-License-Identifier: Apache-2.0
//
// The parts of a verdict beyond the pairs of its series (pure functions): the verdict by states
// alone where there are no times, why a series moved, whether a device is as fast as its sister,
// and how the weighted time of a mix changed.
#ifndef PLUMB_MODEL_GATE_VERDICT_H
#define PLUMB_MODEL_GATE_VERDICT_H

#include "model/base.h"
#include "model/result.h"

#include <stdbool.h>
#include <stddef.h>

// ---- states alone ----
//
// Verdicts without a ratio, from the two states of a series without times on both sides to compare.
// One table; everything else is for the pairs (gate.h) or the history (drift.h).

struct standing_input {
    enum measurement_state base, head; // base not taken: there is none (a plain run)
    bool same_code;                    // both run the same machine code
    bool away;                         // the series' device is not on this machine
    bool unproven; // no run ever saw the series right, or base and head are one commit
};

// `words` go behind the series' name; {head}, {base} and {device} in them stand for
// standing_text() of the states and for the device.
struct standing {
    enum verdict_kind kind;
    enum cause cause;
    const char *words;
};

// NULL: both sides have times.
const struct standing *standing_of(const struct standing_input *input);

// "crashes", "gives wrong results", ...: what a kernel in this state does.
const char *standing_text(enum measurement_state state);

// The words with their places filled in, in the arena.
const char *standing_words(const struct standing *standing, const struct standing_input *input,
                           const char *device, struct arena *arena);

// ---- causes ----
//
// Why a series moved: its code, its environment, the model it is held against, or its addresses
// (pure functions).

// The movement that all controls have in common. They cannot have changed, so the environment moved
// them.
struct common_mode {
    double shift;   // median of their log ratios; 0 without controls
    uint32_t count; // controls with a finite ratio
    bool moved; // shift >= floor in size, and more than half of the intervals exclude 0 on its side
};

struct common_mode common_mode_of(const struct interval *controls, size_t count, double floor,
                                  struct arena *arena);

struct cause_input {
    const struct verdict *verdict;
    bool code_changed; // base and head code ids differ
    bool placement;    // processes contradicted each other
    double log_model;  // log(new / old prediction) if log_ratio is of actual/predicted, else 0
    struct common_mode controls;
};

// In a gate only slower and faster have a cause (placement also when undecided); in this order:
//   placement    one process shows what another refutes;
//   model        the prediction moved, and without that the change is below the margin;
//   environment  the code is the same, or the controls moved to the same side and what remains
//                after taking their shift off is below the margin;
//   kernel       everything else.
enum cause cause_of(const struct cause_input *input);

// Does this verdict fail a pull request? Slower does, unless environment, model or placement caused
// it; broken does, unless the base is broken too.
bool cause_fails(const struct verdict *verdict);

// ---- devices ----
//
// Whether a device is as fast as its sister, by series that were timed on both (pure functions).

struct apart {
    double log_ratio; // of its times to the sister's; NaN without series
    double se;
    bool told; // by more than the places of the series account for
};

// From one log ratio of times per series, same code on both; `differences` is clobbered. The same
// kernel takes up to 0.26 % (SD) more or less in another place of one device
// (baselines/recorded/h200/README.md); that stands for the scatter while there are few series.
struct apart apart_of(double *differences, size_t count);

// ---- mixes ----
//
// Problems with weights, as a serving system meets them. Their change says what a change costs in
// use, and finds many small ones that no series shows alone.

// One problem of a mix, by one kernel on one device.
struct mix_part {
    double weight;             // how often, against the other parts; above 0
    double time_ns;            // of a launch on the base; above 0
    struct interval log_ratio; // log(head / base); 0, 0, 0 where the code is the same
};

// Log ratio of the weighted times, at the parts' own confidence. `parts` has at least one.
struct interval mix_change(const struct mix_part *parts, size_t count);

// Slower or faster: a change beyond the margin (a log ratio, 0 or more) with 99.9 % confidence.
// Same: its interval lies within the margin. Undecided: neither.
enum verdict_kind mix_standing(struct interval change, double margin);

// ==== looks ====
//
// A look plays a few pairs of a changed series in a regime that its gate does not judge in: a
// change may be worth 8 % alone and nothing in a stream, or have another sign there. Looks are
// told, and decide nothing.

// A look is over after so many pairs, or as soon as a block of them leaves nothing open.
enum { BESIDE_PAIRS = 32, BESIDE_BLOCK = 8 };

struct beside {
    enum regime regime;
    enum measurement_state state; // MEASURED_OK, or how it failed there; it has no size then
    struct interval log_ratio;    // with its 95 % interval
    uint32_t pairs;
};

// Takes size and pairs from samples: base[i] belongs to head[i]. Excluded samples do not count.
void beside_take(struct beside *out, const struct sample *base, const struct sample *head,
                 size_t count);

// Whether more pairs would tell a reader nothing: the change is beyond `margin`, or within it.
bool beside_enough(const struct beside *look, double margin);

// The text of looks that a measurement keeps (struct measurement, `beside`): "stream ok -0.0015
// -0.003 0.0001 16, isolated wrong". NULL where there are no looks.
const char *beside_format(const struct beside *looks, size_t count, struct arena *arena);

// Reads such a text; a text of another form has no looks. Returns how many there are.
size_t beside_parse(struct beside out[REGIMES], const char *text);

// "alone -6.80 % (-7.10 to -6.50), wrong on warm operands"; "" where there are none.
const char *beside_say(const struct beside *looks, size_t count, struct arena *arena);

// Finds the clearest contradiction of a result's verdict, beyond its margin: a look, or the same
// series in another regime that the run has judged, too. False: nothing contradicts it.
bool beside_opposed(struct beside *out, const struct run *run, const struct result *result);

#endif
