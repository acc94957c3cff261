// SPDX-License-Identifier: Apache-2.0
//
// NVFP4 with many rows of A: C^T = B A^T by wgmma. Weights are the instruction's operand A, from
// registers; tokens are its operand B, from shared memory.
//
//   consumers   warpgroups of 64 weight rows each. Their threads copy these rows to shared memory
//               as they are, slabs ahead, and decode them (nvfp4/nvfp4.cuh) while the instructions
//               on earlier words still run. With up to 64 tokens, three warpgroups may share the
//               same rows, each a third of the slabs: there are few sums, and while one warpgroup
//               waits the others decode.
//   producer    one thread fills a ring of stages, 128 of K each, with the block's tokens in FP16.
//               A kernel before this one decodes them; this one starts meanwhile, and only the
//               producer waits for it.
//   cluster     of `split` blocks that share K. Each block finishes its part of the tokens; the
//               others send it their sums for these tokens through distributed shared memory.
//
// The order of rows: the four warps of a warpgroup have rows of B that are 32 apart, because the
// scales of these are neighbours. A warp has eight rows of B1 and the same eight of B2 if dual,
// so that both sums of an element are in one thread; otherwise sixteen rows of B. The order of
// elements: the 16 bytes of a row that a thread reads are 32 elements of K. This changes the
// order of K, but tokens have the same order: word w of the four threads of a row is steps 2 w
// and 2 w + 1.
#ifndef PLUMB_GEMM_NVFP4_MANY_CUH
#define PLUMB_GEMM_NVFP4_MANY_CUH

#include "../persistent/launch.cuh"
#include "../wgmma.cuh"
#include "nvfp4.cuh"

// ---- The warpgroup matrix instruction with A in registers: C (64 x n) += A (64 x 16) * B (n x 16)
// in FP16, with B read from shared memory by a descriptor. A thread has row 16 * warp + lane / 4 of
// A and the eighth row after it. Of each row it has two neighbouring elements from 2 * (lane % 4)
// on (a[0], a[1]), and two more 8 elements behind them (a[2], a[3]). C lies as in wgmma.cuh, whose
// lists of operands are used here.
//
// a[] must not change until the instruction was waited for.

// wgmma_registers<n>::multiply(c, a, b): c += a * b.
template <int n> struct wgmma_registers;

// r = n / 2 registers; the other parameters are the numbers of the operands after them.
#define WGMMA_REGISTERS(n, r, a0, a1, a2, a3, b, s)                                                \
    template <> struct wgmma_registers<n> {                                                        \
        static DEVICE void multiply(float (&c)[r], const uint32_t (&a)[4], uint64_t desc_b,        \
                                    int accumulate)                                                \
        {                                                                                          \
            asm volatile("{\n"                                                                     \
                         ".reg .pred p;\n"                                                         \
                         "setp.ne.b32 p, %" #s ", 0;\n"                                            \
                         "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32.f16.f16 {" REGISTERS_##r  \
                         "}, {%" #a0 ", %" #a1 ", %" #a2 ", %" #a3 "}, %" #b ", p, 1, 1, 0;\n"     \
                         "}"                                                                       \
                         : ACCUMULATORS_##r                                                        \
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(desc_b),                \
                           "r"(accumulate));                                                       \
        }                                                                                          \
    };

WGMMA_REGISTERS(32, 16, 16, 17, 18, 19, 20, 21)
WGMMA_REGISTERS(64, 32, 32, 33, 34, 35, 36, 37)
WGMMA_REGISTERS(128, 64, 64, 65, 66, 67, 68, 69)
WGMMA_REGISTERS(256, 128, 128, 129, 130, 131, 132, 133)

#undef WGMMA_REGISTERS

// ---- A configuration, the shared memory of its block, and a consumer's main loop: weights go to
// registers, are decoded there, and are multiplied by the stage's tokens.
//
// Each thread copies its own weights into shared memory, slabs ahead, and reads them back itself,
// so no barrier is needed. Loads into registers could not be as far ahead. A warp has six
// scoreboards; ptxas put the loads of all slabs on one of them, and a thread that waits for the
// oldest load on a scoreboard waits for the newest, too.

// n: tokens of a tile. groups: numbers of 64 weight rows that a block has, one warpgroup for each.
// teams: the number of warpgroups that share each 64 rows, slab by slab. words: the words that one
// group of instructions multiplies. depth: slabs of weights that a thread has room for in shared
// memory; one of them is being multiplied.
template <bool dual_, int groups_, int n_, int split_, int depth_, int words_, int teams_ = 1>
struct many_config {
    static constexpr bool dual = dual_;
    static constexpr int groups = groups_, n = n_, split = split_, depth = depth_, words = words_;
    static constexpr int teams = teams_, consumers = groups * teams;
    static constexpr int threads = 128 * (1 + consumers);
    static constexpr int unit_rows = dual ? 32 : 64;          // rows of C^T per warpgroup
    static constexpr int units = nvfp4_tile_rows / unit_rows; // such units in a tile of scales
    static constexpr int slab = 128;                          // of K
    static constexpr int box_bytes = n * 128, stage_bytes = 2 * box_bytes;
    static constexpr int share = n / split; // tokens that a block finishes
    // sums of a warpgroup that one peer sends
    static constexpr int partial_bytes = 128 * share / 2 * 4;
    // Bytes of a thread's weights of a slab: 16 bytes and a word of scales, for each of two rows.
    // There are `depth` such slabs.
    static constexpr int slot_bytes = 128 * consumers * 2 * (16 + 4);
    static constexpr int most = (227 * 1024 - 1024 - depth * slot_bytes) / stage_bytes;
    static constexpr int wanted = teams == 1 ? 6 : 9;
    // Each stage belongs to one team. A barrier tells one turn of the ring from the next by parity
    // alone. If a thread came a whole turn before a stage is filled, as one of another team might,
    // it would take the stage for full.
    static constexpr int stages = (most > wanted ? wanted : most) / teams * teams;
    static constexpr int sums_bytes = 128 * n / 2 * 4; // sums of a warpgroup
    static constexpr int smem_bytes = stages * stage_bytes + depth * slot_bytes + 1024;
    // The 64 Ki registers of an SM, divided by role.
    static constexpr int launch_registers = 65536 / threads / 8 * 8, producer_registers = 40;
    static constexpr int consumer_registers_ =
        (launch_registers * (1 + consumers) - producer_registers) / consumers / 8 * 8;
    static constexpr int consumer_registers = consumer_registers_ > 240 ? 240 : consumer_registers_;
    static_assert(groups * (split - 1) * partial_bytes + groups * 4 * share * 16 <=
                      stages * stage_bytes,
                  "room for sums and results");
    static_assert(stages % teams == 0, "a stage is one team's");
    static_assert(stages >= 2 && (teams - 1) * groups * sums_bytes <= stages * stage_bytes,
                  "room for each team's slabs, and for its sums");
    static_assert(n % 32 == 0 && share % 8 == 0, "whole chunks");
};

struct many_params {
    const uint8_t *a, *b, *scales_a, *scales_b;
    nvfp4_output out;
    int k;
    int scale_tiles; // number of tiles of scales along K
    int slabs;
    int token_tiles;
};

struct many_maps {
    CUtensorMap tokens;
};

// A thread's 16 bytes of a row, and the word of scales that holds its two.
struct packed_chunk {
    uint4 codes;
    uint32_t scales;
};

// Where a thread finds its chunks of a row. For rows beyond the end it reads a row inside.
struct packed_row {
    const uint8_t *codes, *scales;

    DEVICE packed_row(const uint8_t *matrix, const uint8_t *scales_of, int row, int rows, int k,
                      int scale_tiles, int lane)
    {
        const int at = row < rows ? row : rows - 1;
        codes = matrix + (int64_t)at * (k / 2) + lane % 4 * 16;
        scales = scales_of + ((int64_t)(at / 128) * scale_tiles + lane % 4 / 2) * nvfp4_tile_bytes +
                 at % 32 * 16 + at % 128 / 32 * 4;
    }
    DEVICE void request(uint32_t codes_to, uint32_t scales_to, int slab, bool is_there) const
    {
        const int at = is_there ? slab : 0;
        copy_async<16>(codes_to, codes + (int64_t)at * 64, is_there);
        copy_async<4>(scales_to, scales + (int64_t)at * 1024, is_there);
    }
};

// Barriers come before the stages, which begin at a multiple of 1024 bytes; weights
// come after them.
template <class c> struct many_memory {
    uint32_t base, fulls;
    DEVICE many_memory(uint32_t address)
        : base(uniform((address + 256 + 1023) & ~1023u)), fulls(uniform(address))
    {
    }
    DEVICE uint32_t stage(int index) const
    {
        return base + index * c::stage_bytes;
    }
    // The calling thread's weights (then: its scales) of row `second` in slot `slot`.
    DEVICE uint32_t codes(int slot, int second) const
    {
        return base + c::stages * c::stage_bytes + slot * c::slot_bytes +
               (second * 128 * c::consumers + (int)threadIdx.x - 128) * 16;
    }
    DEVICE uint32_t scales(int slot, int second) const
    {
        return base + c::stages * c::stage_bytes + slot * c::slot_bytes + 256 * c::consumers * 16 +
               (second * 128 * c::consumers + (int)threadIdx.x - 128) * 4;
    }
    DEVICE uint32_t full(int index) const
    {
        return fulls + index * 8;
    }
    DEVICE uint32_t empty(int index) const
    {
        return fulls + (c::stages + index) * 8;
    }
};

template <class c> struct many_consumer {
    using sums = float[c::n / 2];
    const many_params &p;
    const many_memory<c> &memory;
    const packed_row rows[2];
    const int lane, end;
    ring_position at;
    int previous = -1; // stage of the slab before

    // Asks for a slab, if there is one.
    DEVICE void request(int slab, int slot) const
    {
        if (slab < end)
#pragma unroll
            for (int second = 0; second < 2; ++second)
                rows[second].request(memory.codes(slot, second), memory.scales(slot, second), slab,
                                     slab * 128 + lane % 4 * 32 < p.k);
        copy_async_commit();
    }

    DEVICE void take(packed_chunk (&out)[2], int slot) const
    {
#pragma unroll
        for (int second = 0; second < 2; ++second) {
            const float4 v = load_shared(memory.codes(slot, second));
            out[second].codes = {__float_as_uint(v.x), __float_as_uint(v.y), __float_as_uint(v.z),
                                 __float_as_uint(v.w)};
            out[second].scales = __float_as_uint(load_shared_float(memory.scales(slot, second)));
        }
    }

    // Each warp does this by itself: it waits for its own weights only, so one warp may be behind.
    DEVICE void release()
    {
        if (previous >= 0 && threadIdx.x % 32 == 0)
            barrier_arrive(memory.empty(previous));
    }

    // Starts the products of `words` words of both rows, as soon as the instructions that read `a`
    // before have ended.
    DEVICE void multiply_words(sums &acc, uint32_t (&a)[2 * c::words][4],
                               const packed_chunk (&chunks)[2], int first,
                               const uint32_t (&scales)[2])
    {
        wgmma_wait<1>();
#pragma unroll
        for (int i = 0; i < c::words; ++i) {
            uint32_t pairs[2][4];
#pragma unroll
            for (int second = 0; second < 2; ++second)
                nvfp4_decode(pairs[second], (&chunks[second].codes.x)[first + i], scales[second]);
#pragma unroll
            for (int step = 0; step < 2; ++step) {
                a[2 * i + step][0] = pairs[0][2 * step];
                a[2 * i + step][1] = pairs[1][2 * step];
                a[2 * i + step][2] = pairs[0][2 * step + 1];
                a[2 * i + step][3] = pairs[1][2 * step + 1];
            }
        }
        if (first == c::words) // the last words of the slab before have ended
            release();
        wgmma_fence();
        const uint32_t b = operand_start(memory.stage(0)) + at.stage * (c::stage_bytes / 16) +
                           first / 2 * (c::box_bytes / 16);
#pragma unroll
        for (int step = 0; step < 2 * c::words; ++step)
            wgmma_registers<c::n>::multiply(acc, a[step],
                                            operand_descriptor(b, (first % 2 * 2 + step) * 32), 1);
        wgmma_commit();
    }

    DEVICE void multiply_slab(sums &acc, uint32_t (&even)[2 * c::words][4],
                              uint32_t (&odd)[2 * c::words][4], const packed_chunk (&chunks)[2])
    {
        barrier_wait(memory.full(at.stage), at.phase);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const uint32_t which = nvfp4_scale_at(lane % 2 * 2 + half);
            const uint32_t scales[2] = {nvfp4_scale(chunks[0].scales, which),
                                        nvfp4_scale(chunks[1].scales, which)};
            if constexpr (c::words == 1) {
                multiply_words(acc, even, chunks, 2 * half, scales);
                multiply_words(acc, odd, chunks, 2 * half + 1, scales);
            } else {
                multiply_words(acc, half ? odd : even, chunks, 2 * half, scales);
            }
        }
        previous = at.stage;
        at.skip(c::teams, 0, c::stages);
    }

    // Multiplies a team's slabs: its first one, and every slab that is a number of teams later.
    DEVICE void accumulate(sums &acc, int from, int team)
    {
        from += team;
        at.skip(team, 0, c::stages);
        uint32_t even[2 * c::words][4], odd[2 * c::words][4];
#pragma unroll
        for (int i = 0; i < c::depth - 1; ++i)
            request(from + i * c::teams, i);
#pragma unroll
        for (int i = 0; i < c::n / 2; ++i)
            acc[i] = 0;
        pin(acc);
        int slot = 0, free = c::depth - 1; // the slab in slot `free` was read
#pragma unroll 1
        for (int slab = from; slab < end; slab += c::teams) {
            packed_chunk chunks[2];
            copy_async_wait<c::depth - 2>();
            take(chunks, slot);
            request(slab + (c::depth - 1) * c::teams, free);
            multiply_slab(acc, even, odd, chunks);
            free = slot;
            slot = slot + 1 == c::depth ? 0 : slot + 1;
        }
        wgmma_wait<0>();
        pin(acc);
    }
};

// ---- What becomes of the sums: they are exchanged between the blocks that share K, and stored.

// Stores this warp's results for tokens [first, first + count) of the tile. They are eight rows of
// C^T, which are neighbours in a row of C, so shared memory transposes them.
template <class c, int count>
DEVICE void store_results(const nvfp4_output &out, const float *acc, uint32_t staging,
                          int first_token, int first_row, float scale, int lane)
{
#pragma unroll
    for (int second = 0; second < (c::dual ? 1 : 2); ++second) {
        const int row = first_row + 8 * second;
        __syncwarp();
#pragma unroll
        for (int i = 0; i < count / 2; ++i) {
            if (i % 4 / 2 != (c::dual ? 0 : second))
                continue;
            const int token = i / 4 * 8 + lane % 4 * 2 + i % 2;
            const float x = c::dual ? gated(acc[i] * scale, acc[i + 2] * scale) : acc[i] * scale;
            const uint16_t bits = out.bf16 ? __bfloat16_as_ushort(__float2bfloat16_rn(x))
                                           : __half_as_ushort(__float2half_rn(x));
            asm volatile("st.shared.b16 [%0], %1;" ::"r"(staging + token * 16 + lane / 4 * 2),
                         "h"(bits)
                         : "memory");
        }
        __syncwarp();
#pragma unroll
        for (int i = 0; i < (count + 31) / 32; ++i) {
            const int token = i * 32 + lane, to = first_token + token;
            if (token >= count || to >= out.m || row >= out.n)
                continue;
            const float4 v = load_shared(staging + token * 16);
            uint16_t *c_row = static_cast<uint16_t *>(out.c) + (int64_t)to * out.n + row;
            if (out.n % 8 == 0) {
                *reinterpret_cast<float4 *>(c_row) = v;
            } else {
                const uint16_t *results = reinterpret_cast<const uint16_t *>(&v);
#pragma unroll
                for (int j = 0; j < 8; ++j)
                    if (row + j < out.n)
                        c_row[j] = results[j];
            }
        }
    }
}

// Adds the `count` sums at `place`, in the order in which keep() or send_share() left them.
template <int count> DEVICE void add_kept(float *acc, uint32_t place)
{
#pragma unroll
    for (int i = 0; i < count; i += 4) {
        const float4 v = load_shared(place + i / 4 * 2048);
        acc[i] += v.x;
        acc[i + 1] += v.y;
        acc[i + 2] += v.z;
        acc[i + 3] += v.w;
    }
}

template <int count> DEVICE void keep(const float *acc, uint32_t place)
{
#pragma unroll
    for (int i = 0; i < count; i += 4)
        asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(place + i / 4 * 2048),
                     "f"(acc[i]), "f"(acc[i + 1]), "f"(acc[i + 2]), "f"(acc[i + 3])
                     : "memory");
}

// The first team adds the other teams' sums to its own, in the order of teams. The sums lie where
// the ring was.
template <class c> DEVICE void meet(float *acc, uint32_t base, int group, int team)
{
    const uint32_t place = base + group * c::sums_bytes + threadIdx.x % 128 * 16;
    named_barrier(1, 128 * c::consumers); // all threads have read the stages
    if (team > 0)
        keep<c::n / 2>(acc, place + (team - 1) * c::groups * c::sums_bytes);
    named_barrier(1, 128 * c::consumers);
    if (team == 0)
#pragma unroll
        for (int other = 0; other < c::teams - 1; ++other)
            add_kept<c::n / 2>(acc, place + other * c::groups * c::sums_bytes);
}

// Sends a peer its share of this warpgroup's sums, in groups of four registers, four
// words per thread.
template <class c> DEVICE void send_share(const float *acc, uint32_t place)
{
#pragma unroll
    for (int i = 0; i < c::share / 2; i += 4)
        store_remote(place + i / 4 * 2048, acc[i], acc[i + 1], acc[i + 2], acc[i + 3]);
}

// The place of the sums of group `group` that came from slot `slot`, thread by thread.
template <class c> DEVICE uint32_t partial_at(uint32_t base, int group, int slot)
{
    return base + (group * (c::split - 1) + slot) * c::partial_bytes + threadIdx.x % 128 * 16;
}

// ---- The kernel before it: decodes tokens to FP16, in the order of K of the slabs.

// Writes `all` rows of FP16 in slabs of 128, with zeros beyond K and beyond `rows`. A thread has
// word `word` of the four chunks of a row and slab, and their pairs become neighbours: 16 bytes as
// four threads of the next kernel need them. A warp reads one contiguous piece. Shared memory
// transposes it, so that a warp's stores are contiguous, too: if each thread stored 64 bytes
// itself, 512 rows took 2.9 us more.
static __global__ void __launch_bounds__(256)
    decode_tokens(uint4 *to, const uint8_t *codes, const uint8_t *scales, int rows, int all, int k,
                  int slabs)
{
    __shared__ uint4 turned[8][128];
    let_next_launch_begin();
    const int index = blockIdx.x * 256 + threadIdx.x, word = index % 4;
    const int slab = index / 4 % slabs, row = index / 4 / slabs;
    uint32_t pairs[4][4]; // indexed by chunk
#pragma unroll
    for (int chunk = 0; chunk < 4; ++chunk) {
        const int at = slab * 128 + chunk * 32;
        uint32_t word_codes = 0, line = 0;
        if (at < k && row < rows) {
            word_codes = __ldg(reinterpret_cast<const uint32_t *>(codes + (int64_t)row * (k / 2) +
                                                                  at / 2 + word * 4));
            line = __ldg(reinterpret_cast<const uint32_t *>(
                scales + ((int64_t)(row / 128) * ((k + 63) / 64) + at / 64) * nvfp4_tile_bytes +
                row % 32 * 16 + row % 128 / 32 * 4));
        }
        nvfp4_decode(pairs[chunk], word_codes,
                     nvfp4_scale(line, nvfp4_scale_at(chunk % 2 * 2 + word / 2)));
    }
    const int lane = threadIdx.x % 32;
    uint4 *own = turned[threadIdx.x / 32];
#pragma unroll
    for (int i = 0; i < 4; ++i) // the exclusive or keeps eight neighbouring lanes
                                // in different banks
        own[(lane * 4 + i) ^ (lane / 2 % 4)] =
            make_uint4(pairs[0][i], pairs[1][i], pairs[2][i], pairs[3][i]);
    __syncwarp();
    const int64_t first = (int64_t)(index - lane) * 4, end = (int64_t)all * slabs * 16;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const int at = i * 32 + lane;
        if (first + at < end)
            to[first + at] = own[at ^ (at / 8 % 4)];
    }
}

// ---- tokens ----

// One thread fills the ring after the kernel before has ended, in two boxes of 64 of K.
template <class c>
DEVICE void load_tokens(const many_maps &maps, const many_memory<c> &memory, int first_token,
                        int from, int end)
{
    ring_position at;
    wait_for_launch_before();
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

// ---- the whole work of a consumer ----

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
        named_barrier(1, 128 * c::groups); // all threads have read the stages, whose place
                                           // the results take
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

// Bytes of the tokens in FP16, with zeros up to a whole tile of any height: rows that do not exist
// take the copy engine longer than others.
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
    cluster_launch launch(c::threads, c::split, c::smem_bytes, stream);
    launch.config.gridDim = dim3(ceil_div(units, c::groups) * p.token_tiles * c::split);
    launch.begin_early();
    return cudaLaunchKernelEx(&launch.config, nvfp4_many<c>, maps, p);
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
    return {{name, "weights decoded in registers, wgmma", many_traits<c>()},
            supports_many<c>,
            workspace_many<c>,
            nullptr,
            launch_many<c>};
}

#endif
