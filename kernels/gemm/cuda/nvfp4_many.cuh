// SPDX-License-Identifier: Apache-2.0
//
// NVFP4 with many rows of A: C^T = B A^T by wgmma, weights as its operand A from registers, tokens
// as its operand B from shared memory.
//
//   consumers   warpgroups of 64 weight rows each, which their threads copy to shared memory as
//               they are, slabs ahead, and decode (nvfp4.cuh) while the instructions of the
//               words before are at work. Of up to 64 tokens three may share the same rows, each a
//               third of the slabs: sums are few, and while one waits the others decode.
//   producer    one thread fills a ring of stages, 128 of K each, with the block's tokens in FP16.
//               A kernel before decodes them; this one starts meanwhile, and only the producer
//               waits for it.
//   cluster     of `split` blocks that share K. Each finishes its part of the tokens: the others
//               send it their sums of these through distributed shared memory.
//
// Which row is where: a warpgroup's four warps have rows of B 32 apart, whose scales are
// neighbours; eight of B1 and the same eight of B2 if dual, so that both sums of an element are in
// one thread; sixteen if not. Which element: a thread's 16 bytes of a row are 32 elements of K.
// What order that makes of K is the same for tokens: word w of the four threads of a row is steps 2
// w and 2 w + 1.
#ifndef PLUMB_NVFP4_MANY_CUH
#define PLUMB_NVFP4_MANY_CUH

#include "launch.cuh"
#include "nvfp4_consumer.cuh"
#include "nvfp4_results.cuh"
#include "nvfp4_tokens.cuh"
#include "tensor_map.cuh"

// ---- tokens ----

// One thread fills the ring, when the kernel before has ended, in two boxes of 64 of K.
template <class c>
DEVICE void load_tokens(const many_maps &maps, const many_memory<c> &memory, int first_token,
                        int from, int end)
{
    ring_position at;
    asm volatile("griddepcontrol.wait;" ::: "memory");
#pragma unroll 1
    for (int slab = from; slab < end; ++slab) {
        const uint32_t full = memory.full(at.stage);
        barrier_wait(memory.empty(at.stage), at.phase ^ 1);
        barrier_arrive_expect(full, c::stage_bytes);
#pragma unroll
        for (int box = 0; box < 2; ++box)
            tensor_load(memory.stage(at.stage) + box * c::box_bytes, &maps.tokens,
                        slab * 128 + box * 64, first_token, full);
        at.advance(c::stages);
    }
}

// ---- all of a consumer ----

template <class c>
DEVICE void consume_weights(const many_params &p, const many_memory<c> &memory, int unit,
                            int first_token, int rank, int from, int end)
{
    const int part = (int)uniform(threadIdx.x / 128) - 1;
    const int group = part % c::groups, team = part / c::groups;
    const int warp = threadIdx.x / 32 % 4;
    const int lane = threadIdx.x % 32;
    const int index = unit * c::groups + group;
    const int first_row = index / c::units * 128 + index % c::units * (32 / c::units) + 32 * warp;
    const int n = p.out.n, row = first_row + lane / 4;
    const int64_t row_bytes = p.k / 2, tile_rows = (n + 127) / 128;
    const uint8_t *second = c::dual ? p.b + n * row_bytes : p.b;
    const uint8_t *second_scales =
        c::dual ? p.scales_b + tile_rows * p.scale_tiles * nvfp4_tile_bytes : p.scales_b;
    many_consumer<c> self = {
        p,
        memory,
        {packed_row(p.b, p.scales_b, row, n, p.k, p.scale_tiles, lane),
         packed_row(second, second_scales, row + (c::dual ? 0 : 8), n, p.k, p.scale_tiles, lane)},
        lane,
        end};
    float acc[c::n / 2];
    self.accumulate(acc, from, team);
    if constexpr (c::teams > 1) {
        meet<c>(acc, memory.base, group, team);
        if (team > 0) {
            if constexpr (c::split > 1) {
                cluster_sync();
                cluster_sync();
            }
            return;
        }
    }
    const float scale = nvfp4_unscale * nvfp4_tensor_scale(p.out);
    const uint32_t staging = memory.base + c::groups * (c::split - 1) * c::partial_bytes;
    const uint32_t own_staging = staging + (group * 4 + warp) * c::share * 16;
    if constexpr (c::split == 1) {
        named_barrier(1, 128 * c::groups); // all have read the stages, where results go
        store_results<c, c::n>(p.out, acc, own_staging, first_token, first_row, scale, lane);
    } else {
        cluster_sync(); // all blocks have read their stages
#pragma unroll
        for (int peer = 0; peer < c::split; ++peer)
            if (peer != rank)
                send_share<c>(
                    acc + peer * (c::share / 2),
                    remote_address(partial_at<c>(memory.base, group, rank < peer ? rank : rank - 1),
                                   peer));
        cluster_sync();
#pragma unroll
        for (int peer = 0; peer < c::split; ++peer) {
            if (peer != rank)
                continue;
            float *own = acc + peer * (c::share / 2);
#pragma unroll
            for (int slot = 0; slot < c::split - 1; ++slot)
                add_kept<c::share / 2>(own, partial_at<c>(memory.base, group, slot));
            store_results<c, c::share>(p.out, own, own_staging, first_token + peer * c::share,
                                       first_row, scale, lane);
        }
    }
}

template <class c>
__global__ void __launch_bounds__(c::threads, 1)
    nvfp4_many(const __grid_constant__ many_maps maps, const __grid_constant__ many_params p)
{
    extern __shared__ __align__(1024) uint8_t shared[];
    const many_memory<c> memory(shared_address(shared));
    const int rank = c::split == 1 ? 0 : (int)cluster_rank();
    const int tile = blockIdx.x / c::split;
    const int unit = tile / p.token_tiles, first_token = tile % p.token_tiles * c::n;
    const int from = p.slabs * rank / c::split, end = p.slabs * (rank + 1) / c::split;
    if (threadIdx.x < c::stages) {
        barrier_init(memory.full(threadIdx.x), 1);
        barrier_init(memory.empty(threadIdx.x), 4 * c::groups);
        barrier_init_fence();
    }
    __syncthreads();
    if (threadIdx.x < 128) {
        registers_give<c::producer_registers>();
        if (is_producer())
            load_tokens<c>(maps, memory, first_token, from, end);
        __syncwarp();
        if constexpr (c::split > 1) {
            cluster_sync();
            cluster_sync();
        }
    } else {
        registers_take<c::consumer_registers>();
        consume_weights<c>(p, memory, unit, first_token, rank, from, end);
    }
}

// ---- host ----

template <class c> int supports_many(const plumb_form *form)
{
    return nvfp4_supports(form, c::dual ? PLUMB_DUAL_SILU : PLUMB_NO_EPILOGUE) &&
           form->problem.k >= c::slab * c::split && form->problem.m * form->problem.k < INT32_MAX;
}

// The tokens in FP16, and zeros up to a whole tile of any height: rows that are not there take the
// copy engine longer than others.
inline size_t nvfp4_token_bytes(const plumb_problem &p)
{
    return (size_t)ceil_div(p.m, 256) * 256 * ceil_div(p.k, 128) * 256;
}

template <class c> size_t workspace_many(const plumb_form *form)
{
    return nvfp4_token_bytes(form->problem);
}

template <class c>
static int decode_before(many_maps *maps, const plumb_form_args *args, const many_params &p,
                         void *stream)
{
    static_assert(256 % c::n == 0, "whole tiles in 256 tokens");
    const int rows = p.token_tiles * c::n, threads = rows * p.slabs * 4;
    const int64_t columns = (int64_t)p.slabs * c::slab;
    const matrix tokens = {args->args.workspace, rows, columns, columns * 2,
                           CU_TENSOR_MAP_DATA_TYPE_FLOAT16};
    if (args->args.workspace_bytes < nvfp4_token_bytes(args->form.problem) ||
        make_tensor_map(&maps->tokens, tokens, c::n, 64, true) != cudaSuccess)
        return cudaErrorInvalidValue;
    decode_tokens<<<ceil_div(threads, 256), 256, 0, (cudaStream_t)stream>>>(
        static_cast<uint4 *>(args->args.workspace), p.a, p.scales_a, p.out.m, rows, p.k, p.slabs);
    return cudaGetLastError();
}

template <class c> static int launch_many(const plumb_form_args *args, void *stream)
{
    static const cudaError_t allowed = cudaFuncSetAttribute(
        nvfp4_many<c>, cudaFuncAttributeMaxDynamicSharedMemorySize, c::smem_bytes);
    const plumb_problem &problem = args->form.problem;
    const many_params p = {static_cast<const uint8_t *>(args->args.a),
                           static_cast<const uint8_t *>(args->args.b),
                           static_cast<const uint8_t *>(args->block_scales_a),
                           static_cast<const uint8_t *>(args->block_scales_b),
                           nvfp4_output_of(args),
                           (int)problem.k,
                           ceil_div(problem.k, 4 * nvfp4_block),
                           ceil_div(problem.k, c::slab),
                           ceil_div(problem.m, c::n)};
    many_maps maps = {};
    if (allowed != cudaSuccess)
        return allowed;
    const int code = decode_before<c>(&maps, args, p, stream);
    if (code)
        return code;
    const int units = ceil_div(problem.n, 128) * c::units;
    cudaLaunchAttribute attributes[2] = {};
    attributes[0].id = cudaLaunchAttributeClusterDimension;
    attributes[0].val.clusterDim = {(unsigned)c::split, 1, 1};
    attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[1].val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(ceil_div(units, c::groups) * p.token_tiles * c::split);
    config.blockDim = dim3(c::threads);
    config.dynamicSmemBytes = c::smem_bytes;
    config.stream = (cudaStream_t)stream;
    config.attrs = attributes;
    config.numAttrs = 2;
    return cudaLaunchKernelEx(&config, nvfp4_many<c>, maps, p);
}

template <class c> constexpr plumb_traits many_traits()
{
    plumb_traits t = {};
    t.in_type = PLUMB_E2M1;
    t.out_type = PLUMB_FP16;
    t.acc_type = PLUMB_FP32;
    t.tile_m = c::n;
    t.tile_n = c::groups * c::unit_rows;
    t.tile_k = c::slab;
    t.stages = c::stages;
    t.cluster_m = t.cluster_n = t.raster_group = 1;
    t.split_k = c::split;
    t.threads = c::threads;
    t.smem_bytes = c::smem_bytes;
    t.registers = c::launch_registers;
    t.blocks_per_sm = 1;
    t.multiply = PLUMB_WGMMA;
    return t;
}

template <class c> constexpr plumb_form_kernel many_row(const char *name)
{
    return {{name, "weights decoded in registers, wgmma", many_traits<c>(), nullptr, nullptr,
             nullptr, nullptr},
            supports_many<c>,
            workspace_many<c>,
            nullptr,
            launch_many<c>,
            nullptr,
            nullptr};
}

#endif
