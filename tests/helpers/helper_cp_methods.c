// SPDX-License-Identifier: Apache-2.0
//
// Ours and the other tools' rules behind one form.
#include "tests/helpers/helper_cp_methods.h"

#include "tests/helpers/helper_cp_peers.h"

size_t cp_take_places(size_t *out, const struct changepoints *found)
{
    for (size_t i = 0; i < found->count; i++)
        out[i] = found->changes[i].index;
    return found->count;
}

size_t cp_ours(size_t *out, const double *values, size_t n, double knob)
{
    struct changepoint_options options = changepoint_defaults;
    options.penalty = knob;
    struct changepoints found;
    changepoints_find(&found, values, n, &options);
    const size_t count = cp_take_places(out, &found);
    changepoints_free(&found);
    return count;
}

const struct cp_method cp_methods[CP_METHODS] = {
    {"plumb", cp_ours, 0, 2, 80},
    {"otava", cp_otava, 1e-3, 2e-2, 1e-13},
    {"asv", cp_asv, 4, 0.5, 60},
    {"perfherder", cp_perfherder, 7, 2, 60},
};

double cp_default_knob(const struct cp_method *m)
{
    return m->find == cp_ours ? changepoint_defaults.penalty : m->usual;
}

bool cp_one_near(const size_t *found, size_t count, size_t at, size_t reach)
{
    bool hit = false;
    for (size_t i = 0; i < count; i++)
        hit |= found[i] + reach >= at && found[i] <= at + reach;
    return hit;
}
