// SPDX-License-Identifier: Apache-2.0
//
// Kernels of FP8 with block scales, as the ABI has them: forms, and rows of a kernel table
// (space.cuh). The device code is the promoted kernels' (scales.cuh).
#ifndef PLUMB_SCALED_CUH
#define PLUMB_SCALED_CUH

#include "forms.cuh"
#include "space.cuh"

template <int (*supports_plain)(const plumb_problem *)> int supports_scaled(const plumb_form *form)
{
    return has_block_scales(form) && supports_plain(&form->problem);
}

template <int (*launch_plain)(const plumb_args *, void *)>
int launch_scaled(const plumb_form_args *args, void *stream)
{
    const plumb_args plain = plain_args(args);
    return launch_plain(&plain, stream);
}

template <class c, int stages, int raster, int group>
constexpr plumb_form_kernel scaled_row(const char *name)
{
    static_assert(stages >= 2 && stages <= c::most_stages(), "stages do not fit shared memory");
    return {{name, "persistent, block scales", persistent_traits<c>(stages, raster, group)},
            supports_scaled<supports_tn<typename c::type>>,
            nullptr,
            nullptr,
            launch_scaled<launch_row<c, stages, raster, group>>};
}

template <class c, int split, int stages, int raster, int group>
constexpr plumb_form_kernel scaled_split_row(const char *name)
{
    static_assert(stages >= 2 && stages <= split_layout<c, split>::most_stages(),
                  "stages do not fit shared memory");
    return {{name, "split-K over a cluster's shared memory, block scales",
             split_traits<c, split>(stages, raster, group)},
            supports_scaled<supports_split<c, split>>,
            nullptr,
            nullptr,
            launch_scaled<launch_split_row<c, split, stages, raster, group>>};
}

// Rows of a table, as those without block scales; `how` is one of these.
constexpr mode scaled = promote, twin_scaled = promote_twin;

#define SCALED_ROW(type, bm, bn, wm, wn, cm, cn, stages, ring, raster, group, how)                 \
    scaled_row<block_scaled_config<SPACE_CONFIG(type, bm, bn, wm, wn, cm, cn, how, ring)>, stages, \
               raster_##raster, group>(#type "-" #bm "x" #bn "-w" #wm "x" #wn "-c" #cm "x" #cn     \
                                             "-s" #stages "-e" #ring "-" #raster #group "-" #how)

#define SCALED_SPLIT_ROW(type, bm, bn, wm, wn, split, stages, raster, group)                       \
    scaled_split_row<block_scaled_config<SPACE_CONFIG(type, bm, bn, wm, wn, 1, 1, promote, 2)>,    \
                     split, stages, raster_##raster, group>(                                       \
        #type "-" #bm "x" #bn "-w" #wm "x" #wn "-k" #split "-s" #stages "-" #raster #group         \
              "-scaled-split")

#define PLUMB_FORM_TABLE(rows)                                                                     \
    PLUMB_EXPORT const struct plumb_library *plumb_library(void)                                   \
    {                                                                                              \
        static const struct plumb_library library = {                                              \
            PLUMB_ABI_FORMS, (uint32_t)sizeof(struct plumb_form_kernel), "cuda",                   \
            (uint32_t)(sizeof(rows) / sizeof *(rows)), &rows[0].kernel};                           \
        return &library;                                                                           \
    }

#endif
