// SPDX-License-Identifier: Apache-2.0
//
// A look plays a few pairs of a changed series in a regime that its gate does not judge in: a
// change may be worth 8 % alone and nothing in a stream, or have another sign there. Looks are
// told, and decide nothing.
#ifndef PLUMB_BESIDE_H
#define PLUMB_BESIDE_H

#include "model/result.h"

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
