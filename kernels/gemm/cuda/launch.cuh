// SPDX-License-Identifier: Apache-2.0
//
// Host side of the persistent and split-K kernels: which problems they can do, tensor maps,
// parameters.
#ifndef PLUMB_LAUNCH_CUH
#define PLUMB_LAUNCH_CUH

#include "loads.cuh"
#include "resident.cuh"
#include "tensor_map.cuh"

inline int ceil_div(int64_t x, int64_t y)
{
    return (int)((x + y - 1) / y);
}

template <class type, int epilogue = 0> int supports_tn(const plumb_problem *problem)
{
    const int64_t limit = INT32_MAX / 2;
    return problem->in_type == type::dtype && problem->out_type == type::output::dtype &&
           problem->layout == PLUMB_TN && problem->batch == 1 && problem->epilogue == epilogue &&
           problem->m > 0 && problem->n > 0 && problem->k > 0 && problem->m < limit &&
           problem->n < limit && problem->k < limit && problem->k * type::bytes % 16 == 0;
}

// The maps of an operand's parts. end: where C's rows (columns) end, which is where the operand's
// do, or the first of its two matrices'.
inline cudaError_t make_operand_maps(CUtensorMap *whole, CUtensorMap *edge, const matrix &m,
                                     int64_t end, int part, int slab)
{
    const row_parts rows = {(int)end, part};
    cudaError_t error = make_tensor_map(whole, m, part, slab, true);
    if (!error && rows.edge())
        error = make_tensor_map(edge, m, rows.edge(), slab, true);
    return error;
}

// The operands as the kernel has them: exchanged, if it computes C^T.
template <class c> plumb_args oriented(const plumb_args *args)
{
    plumb_args o = *args;
    if (c::swapped) {
        o.a = args->b;
        o.b = args->a;
        o.problem.m = args->problem.n;
        o.problem.n = args->problem.m;
    }
    return o;
}

// Describes A, B and C for the kernel.
template <class c> cudaError_t make_maps(gemm_maps *maps, const plumb_args *given)
{
    const plumb_args turned = oriented<c>(given), *args = &turned;
    using output = typename c::output;
    constexpr int element = sizeof(typename output::type);
    constexpr int piece = 128 / element, tail = c::c_n % piece;
    using loads = tile_loads<c>;
    const plumb_problem &p = args->problem;
    const int64_t pitch = p.k * c::type::bytes;
    const matrix a = {args->a, loads::matrices_a * p.m, p.k, pitch, c::type::map};
    const matrix b = {args->b, loads::matrices_b * p.n, p.k, pitch, c::type::map};
    const matrix out = {args->c, p.m, p.n, p.n * element, output::map};
    cudaError_t error = make_operand_maps(&maps->a, &maps->edge_a, a, p.m, loads::part_a, c::box_k);
    if (!error)
        error = make_operand_maps(&maps->b, &maps->edge_b, b, p.n, loads::part_b, c::box_k);
    if (error || c::swapped || p.n * element % 16) // such rows of C cannot be stored by TMA
        return error;
    if (c::c_n >= piece)
        error = make_tensor_map(&maps->c, out, 16, piece, true);
    if (!error && tail)
        error = make_tensor_map(&maps->tail, out, 16, tail, false);
    return error;
}

template <class c> gemm_params make_params(const plumb_args *args, const schedule &s)
{
    const plumb_problem problem = oriented<c>(args).problem;
    gemm_params p = {};
    p.out.c = args->c;
    p.out.m = (int)problem.m;
    p.out.n = (int)problem.n;
    p.out.direct = args->problem.n * sizeof(typename c::output::type) % 16 != 0;
    p.scale_a = args->scale_a;
    p.scale_b = args->scale_b;
    p.slabs = ceil_div(problem.k, c::bk);
    p.stages = s.stages;
    p.grid = make_grid(ceil_div(problem.m, c::c_rows * c::cm),
                       ceil_div(problem.n, c::c_columns * c::cn), s.raster, s.group);
    return p;
}

#endif
