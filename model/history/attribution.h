// SPDX-License-Identifier: Apache-2.0
//
// Whose change it is when series changed at a commit: found from what those that changed have in
// common, and the others not. (model/gate/verdict.h answers the same for one verdict of a gate,
// from the controls that were measured beside it.)
#ifndef PLUMB_ATTRIBUTION_H
#define PLUMB_ATTRIBUTION_H

#include "model/result.h"

// So many series must agree before something is called common to them.
enum { CONTROLS_FEWEST = 3 };

enum attribution {
    ATTRIBUTION_NONE,        // the series did not change
    ATTRIBUTION_KERNEL,      // this series, or a few of one kernel
    ATTRIBUTION_MEMORY,      // nearly all memory-bound series of the device, and no others
    ATTRIBUTION_POWER,       // the same of compute-bound ones: clocks, power limit
    ATTRIBUTION_ENVIRONMENT, // nearly all series of the device
    ATTRIBUTION_MODEL,       // nearly all series whose model's version changed there
    ATTRIBUTION_BREAK,       // a declared change of driver, CUDA, cuBLAS or device
    ATTRIBUTIONS
};
const char *attribution_name(enum attribution attribution);
int attribution_parse(enum attribution *out, const char *name); // -1: no such cause

// One series at one commit.
struct attribution_series {
    size_t device; // any numbering
    enum bound bound;
    bool changed;      // a change point's credible set holds the commit
    double size;       // of that change, log ratio; its sign is what counts
    bool code_changed; // its code id differs from the commit before, or is not known
    bool code_known;
    bool model_changed; // the version of the model it is held against does
};

// A declared change at the commit, e.g. "driver 570.86 -> 580.65".
struct attribution_break {
    const char *what;
    size_t device; // SIZE_MAX: all of them
};

struct attributed {
    enum attribution attribution;
    const char *what; // the break's name, else NULL; borrowed
};

// out[i] says of series[i]. A class or device is blamed when at least four fifths of its series,
// and at least three, changed in one direction; a class only while the rest of its device stayed
// calm. Neither is blamed when the code of every series that changed so is new and known: then the
// commit changed them all, as by a shared header or a compiler's flag. A model is blamed when that
// share of the series held against its new version changed, in whichever direction, though their
// code did not.
void attribution_find(struct attributed *out, const struct attribution_series *series, size_t count,
                      const struct attribution_break *breaks, size_t break_count);

#endif
