// SPDX-License-Identifier: Apache-2.0
//
// The selector in BF16: the persistent and split-K configurations below, ranked by select.cuh's
// model.
#include "select.cuh"

#include "select_16bit.cuh"

static constexpr candidate candidates[] = PLUMB_CANDIDATES_16BIT(bf16);

static int supports(const plumb_problem *problem)
{
    return supports_tn<bf16>(problem);
}

static int prepare(const plumb_args *args, void *, const char *pin, char *note, size_t note_size)
{
    return prepare_selector(candidates, args, pin, note, note_size);
}

static int launch(const plumb_args *args, void *stream)
{
    const candidate *c = select_candidate(candidates, args->problem);
    return c ? c->row.launch(args, stream) : (int)cudaErrorInvalidValue;
}

static const plumb_kernel kernel = {"select-bf16",
                                    "picks a configuration by a cost model, no trial runs",
                                    selector_traits(bf16::dtype, bf16::output::dtype),
                                    supports,
                                    nullptr,
                                    prepare,
                                    launch};
PLUMB_LIBRARY("cuda", kernel)
