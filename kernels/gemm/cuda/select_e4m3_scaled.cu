// SPDX-License-Identifier: Apache-2.0
//
// The selector in FP8 with block scales (select.cuh).
#include "costs_e4m3_scaled.cuh"
#include "scaled.cuh"
#include "select.cuh"

struct scaled_candidate {
    plumb_form_kernel row;
    plumb_cost cost;
};

#define CANDIDATE(row, slab, tile, elements, launch) {row, {slab, tile, elements, launch}},
static constexpr scaled_candidate candidates[] = {PLUMB_COSTS_E4M3_SCALED(CANDIDATE, e4m3)};

// The cheapest candidate for the problem, NULL if none can do it.
static const scaled_candidate *select_scaled(const plumb_form *form)
{
    static const plumb_cost_device device = this_device();
    const scaled_candidate *best = nullptr;
    double least = INFINITY;
    for (const scaled_candidate &c : candidates) {
        if (!c.row.supports(form))
            continue;
        const double cycles =
            plumb_cost_cycles(&c.row.kernel.traits, &c.cost, &form->problem, &device);
        if (cycles < least) {
            least = cycles;
            best = &c;
        }
    }
    return best;
}

// Writes the chosen configuration's name into the note; a pinned note must be the same choice.
static int prepare(const plumb_form_args *args, void *, const char *pin, char *note, size_t size)
{
    const scaled_candidate *c = select_scaled(&args->form);
    if (!c || (pin && strcmp(pin, c->row.kernel.name)))
        return cudaErrorInvalidValue;
    snprintf(note, size, "%s", c->row.kernel.name);
    return 0;
}

static int launch(const plumb_form_args *args, void *stream)
{
    const scaled_candidate *c = select_scaled(&args->form);
    return c ? c->row.launch(args, stream) : (int)cudaErrorInvalidValue;
}

static const plumb_form_kernel kernel = {{"select-e4m3-scaled",
                                          "picks a configuration by a cost model, block scales",
                                          selector_traits(e4m3::dtype, e4m3::output::dtype)},
                                         supports_scaled<supports_tn<e4m3>>,
                                         nullptr,
                                         prepare,
                                         launch};
PLUMB_FORM_LIBRARY("cuda", kernel)
