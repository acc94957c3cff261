// SPDX-License-Identifier: Apache-2.0
//
// The parts of a verdict that do not come from the pairs of its series (pure functions): the
// verdict from states where there are no times, the reason why a series moved, whether a device is
// as fast as another of its kind, and how the weighted time of a mix changed.
#ifndef PLUMB_MODEL_GATE_VERDICT_H
#define PLUMB_MODEL_GATE_VERDICT_H

#include "model/base.h"
#include "model/result.h"

#include <stdbool.h>
#include <stddef.h>

// ---- verdicts from states ----
//
// Verdicts without a ratio, from the two states of a series that does not have times on both sides.
// They stand in one table. All other verdicts come from pairs (gate.h) or the history (drift.h).

struct standing_input {
    enum measurement_state base, head; // base not taken: there is no base (a plain run)
    bool same_code;                    // both run the same machine code
    bool away;                         // the series' device is not on this machine
    bool unproven; // no run ever found the series' results correct, or base and head are the same
                   // commit
};

// `words` follow the series' name. {head} and {base} in them stand for standing_text() of the
// states, {device} for the device.
struct standing {
    enum verdict_kind kind;
    enum cause cause;
    const char *words;
};

// Finds the row for two states. NULL: both sides have times.
const struct standing *standing_of(const struct standing_input *input);

// What a kernel in this state does: "crashes", "gives wrong results", ...
const char *standing_text(enum measurement_state state);

// The words with their placeholders filled in, in the arena.
const char *standing_words(const struct standing *standing, const struct standing_input *input,
                           const char *device, struct arena *arena);

// ---- causes ----
//
// The reason why a series moved: its code, its environment, the model that it is compared with, or
// its addresses (pure functions).

// The movement that all controls have in common. Controls cannot have changed, so the environment
// moved them.
struct common_mode {
    double shift;   // median of the controls' log ratios; 0 without controls
    uint32_t count; // number of controls with a finite ratio
    bool moved; // shift is at least the floor in size, and more than half of the intervals exclude
                // 0 in its direction
};

struct common_mode common_mode_of(const struct interval *controls, size_t count, double floor,
                                  struct arena *arena);

struct cause_input {
    const struct verdict *verdict;
    bool code_changed; // base and head code ids differ
    bool placement;    // processes contradicted each other
    double log_model;  // log(new / old prediction) if log_ratio compares actual/predicted, else 0
    struct common_mode controls;
};

// Finds the cause of a verdict. In a gate only slower and faster have a cause (undecided may have
// placement). The first that fits is taken:
//   placement    one process shows a change that another refutes;
//   model        the prediction moved, and without that the change is below the margin;
//   environment  the code is the same, or the controls moved in the same direction and the change
//                without their shift is below the margin;
//   kernel       everything else.
enum cause cause_of(const struct cause_input *input);

// Whether this verdict fails a pull request. Slower does, unless environment, model or placement
// caused it; broken does, unless the base is broken, too.
bool cause_fails(const struct verdict *verdict);

// ---- devices ----
//
// Whether a device is as fast as another of its kind, by series that were timed on both (pure
// functions).

struct apart {
    double log_ratio; // log ratio of its times to the other device's; NaN without series
    double se;
    bool told; // the difference is larger than another place in memory could explain
};

// Compares two devices, given one log ratio per series with the same code on both. `differences` is
// overwritten. The same kernel takes up to 0.26 % (standard deviation) more or less in another
// place of one device's memory (baselines/recorded/h200/README.md); while there are few series,
// that figure is used for the scatter.
struct apart apart_of(double *differences, size_t count);

// ---- mixes ----
//
// Problems with weights, as a serving system meets them. The change of a mix says what a change
// costs in use. It also shows the sum of many small changes, each of which is too small to be seen
// in its own series.

// One problem of a mix, run by one kernel on one device.
struct mix_part {
    double weight;             // relative frequency; above 0
    double time_ns;            // of a launch on the base; above 0
    struct interval log_ratio; // log(head / base); 0, 0, 0 if the code is the same
};

// The log ratio of the weighted times, at the parts' own confidence. There must be at least one
// part.
struct interval mix_change(const struct mix_part *parts, size_t count);

// The verdict on a mix. Slower or faster: the change lies beyond the margin (a log ratio, 0 or
// more) with 99.9 % confidence. Same: its interval lies within the margin. Undecided: otherwise.
enum verdict_kind mix_standing(struct interval change, double margin);

// ==== looks ====
//
// A look measures a few pairs of a changed series in a regime in which its gate does not judge it.
// A change may be worth 8 % alone and nothing in a stream, or may have the opposite sign there.
// Looks are reported, and decide nothing.

// A look ends after BESIDE_PAIRS, or as soon as a block leaves nothing open.
enum { BESIDE_PAIRS = 32, BESIDE_BLOCK = 8 };

struct beside {
    enum regime regime;
    enum measurement_state state; // MEASURED_OK, or how it failed there; then it has no size
    struct interval log_ratio;    // with its 95 % interval
    uint32_t pairs;
};

// Computes size and pairs of a look from samples: base[i] belongs to head[i]. Excluded samples do
// not count.
void beside_take(struct beside *out, const struct sample *base, const struct sample *head,
                 size_t count);

// Whether further pairs would not help a reader: the change clearly lies beyond `margin` or within
// it.
bool beside_enough(const struct beside *look, double margin);

// Writes the text in which a measurement keeps its looks (`beside` of struct measurement), such as
// "stream ok -0.0015 -0.003 0.0001 16, isolated wrong". NULL if there are no looks.
const char *beside_format(const struct beside *looks, size_t count, struct arena *arena);

// Reads such a text and returns the number of looks; a text of another form has none.
size_t beside_parse(struct beside out[REGIMES], const char *text);

// Writes looks for people: "alone -6.80 % (-7.10 to -6.50), wrong on warm operands"; "" if there
// are none.
const char *beside_say(const struct beside *looks, size_t count, struct arena *arena);

// Finds the clearest contradiction of a result's verdict, beyond its margin. It may be a look, or
// the same series in another regime that the run judged. False: nothing contradicts it.
bool beside_opposed(struct beside *out, const struct run *run, const struct result *result);

#endif
