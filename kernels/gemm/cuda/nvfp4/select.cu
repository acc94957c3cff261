// SPDX-License-Identifier: Apache-2.0
// module: select_nvfp4 -DDUAL=false -DNAME="select-nvfp4"
// module: select_nvfp4_dual -DDUAL=true -DNAME="select-nvfp4-dual"
//
// Chooses the configuration for a problem in NVFP4. Up to 16 rows, and up to 32 where K is short,
// are multiplied by mma.sync (nvfp4/few.cuh), more rows by wgmma (nvfp4/many.cuh). Among the
// configurations for wgmma it takes the least product of two numbers: the turns that the blocks
// take, and the time of a slab. On an H200 a slab of 128 of K takes 0.52 us for 64 tokens, 0.73
// for 128, 1.1 for 128 with three warpgroups, and 1.34 for 256; 0.27 for 64 tokens and 64 rows
// that three warpgroups share, if all blocks run at once. Each launch takes 8 us more, or 9 if
// blocks share K.
#include "few.cuh"
#include "many.cuh"

struct nvfp4_choice {
    int groups, n, split, teams;
    float slab_us;
    int (*launch)(const plumb_form_args *args, void *stream);
};

template <bool dual, int groups, int n, int split, int depth, int words, int teams = 1>
constexpr nvfp4_choice nvfp4_choice_of(float slab_us)
{
    return {groups, n,       split,
            teams,  slab_us, launch_many<many_config<dual, groups, n, split, depth, words, teams>>};
}

template <bool dual>
static constexpr nvfp4_choice nvfp4_choices[] = {nvfp4_choice_of<dual, 2, 64, 1, 6, 2>(0.52f),
                                                 nvfp4_choice_of<dual, 2, 64, 2, 6, 2>(0.52f),
                                                 nvfp4_choice_of<dual, 2, 128, 1, 4, 2>(0.73f),
                                                 nvfp4_choice_of<dual, 2, 128, 2, 4, 2>(0.73f),
                                                 nvfp4_choice_of<dual, 3, 128, 1, 4, 2>(1.1f),
                                                 nvfp4_choice_of<dual, 3, 128, 2, 4, 2>(1.1f),
                                                 nvfp4_choice_of<dual, 2, 256, 1, 3, 1>(1.34f),
                                                 nvfp4_choice_of<dual, 2, 256, 2, 3, 1>(1.34f),
                                                 nvfp4_choice_of<dual, 1, 64, 1, 5, 1, 3>(0.27f),
                                                 nvfp4_choice_of<dual, 1, 64, 2, 5, 1, 3>(0.27f)};

inline int nvfp4_sms()
{
    static const int sms = count_sms();
    return sms;
}

template <bool dual> inline float nvfp4_expect_us(const nvfp4_choice &c, const plumb_problem &p)
{
    const int64_t units = (p.n + 127) / 128 * (dual ? 4 : 2);
    const int64_t blocks = (units + c.groups - 1) / c.groups * ((p.m + c.n - 1) / c.n) * c.split;
    const int64_t sms = nvfp4_sms();
    const int64_t slabs = ((p.k + 127) / 128 + c.split - 1) / c.split;
    if (c.teams > 1 && blocks > sms)
        return INFINITY;
    return (float)((blocks + sms - 1) / sms * slabs) * c.slab_us + (c.split > 1 ? 9 : 8);
}

template <bool dual> static int launch_nvfp4(const plumb_form_args *args, void *stream)
{
    const plumb_problem &p = args->form.problem;
    if (p.m <= 8)
        return launch_few<few_config<dual, dual ? 4 : 2, 1, 8, 2, dual ? 2 : 3>>(args, stream);
    if constexpr (dual) { // blocks half as high, if not all blocks of the other kind run at once
        const int64_t blocks = (p.n + 31) / 32;
        if (p.m > 8 && p.m <= 16 && blocks > nvfp4_sms() && blocks <= 2 * nvfp4_sms())
            return launch_few<few_config<dual, 2, 2, 8, 2, 3>>(args, stream);
    }
    if (p.m <= 16)
        return launch_few<few_config<dual, dual ? 4 : 2, 2, 8, dual ? 1 : 2, dual ? 2 : 3>>(args,
                                                                                            stream);
    if constexpr (!dual) // blocks of 32 rows of B instead of 64, if all of them run at once
        if (p.m <= 32 && (p.n + 127) / 128 * 4 <= nvfp4_sms())
            return launch_few<few_config<dual, 2, 4, 8, 1, 3>>(args, stream);
    if constexpr (dual) { // by wgmma, if there is enough work for a kernel before it
        const bool is_long = p.k >= 4096 || (p.k >= 2048 && (p.n + 31) / 32 > nvfp4_sms());
        if (p.m > 16 && p.m <= 32 && is_long)
            return launch_many<many_config<true, 1, 32, 1, 5, 1, 3>>(args, stream);
    }
    if constexpr (dual) // a shorter ring, if K is long
        if (p.m <= 32 && p.k > 4096)
            return launch_few<few_config<dual, 4, 4, 8, 1, 2>>(args, stream);
    if (p.m <= 32)
        return launch_few<few_config<dual, 4, 4, 8, 1, 3>>(args, stream);
    const nvfp4_choice *best = nullptr;
    for (const nvfp4_choice &c : nvfp4_choices<dual>)
        if (p.k >= 128 * c.split &&
            (!best || nvfp4_expect_us<dual>(c, p) < nvfp4_expect_us<dual>(*best, p)))
            best = &c;
    return best ? best->launch(args, stream) : cudaErrorInvalidValue;
}

template <bool dual> int supports_nvfp4(const plumb_form *form)
{
    return nvfp4_supports(form, dual ? PLUMB_DUAL_SILU : PLUMB_NO_EPILOGUE) &&
           (form->problem.m <= 32 ||
            (form->problem.k >= 128 && form->problem.m * form->problem.k < INT32_MAX));
}

inline size_t workspace_nvfp4(const plumb_form *form)
{
    return form->problem.m <= 16 ? 0 : nvfp4_token_bytes(form->problem);
}

static const plumb_form_kernel kernel = {
    .kernel = {.name = NAME,
               .summary = "the configuration that fits, weights decoded in registers",
               .traits = {.in_type = PLUMB_E2M1, .out_type = PLUMB_FP16, .acc_type = PLUMB_FP32}},
    .supports = supports_nvfp4<DUAL>,
    .workspace = workspace_nvfp4,
    .launch = launch_nvfp4<DUAL>,
};
PLUMB_FORM_LIBRARY("cuda", kernel)
