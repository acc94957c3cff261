// SPDX-License-Identifier: Apache-2.0
//
// The PTX instructions of Hopper (sm_90a) that CUDA C++ has no names for, one function each, in the
// order of the PTX ISA's chapters: barriers, bulk copies, tensor-core fences, clusters, registers.
// The matrix instruction itself, one form per shape, is in wgmma.cuh.
//
// All addresses of shared memory are 32-bit (shared window), as the instructions take them.
#ifndef PLUMB_GEMM_PTX_CUH
#define PLUMB_GEMM_PTX_CUH

#include <cuda.h>
#include <stdint.h>

#define DEVICE __device__ __forceinline__

DEVICE uint32_t shared_address(const void *pointer)
{
    return (uint32_t)__cvta_generic_to_shared(pointer);
}

// Returns the first lane's value of x, which is the same in all lanes. Only this instruction tells
// the compiler so. It then keeps the value, and whatever is computed from it, once per warp in
// uniform registers. Matrix descriptors are taken from uniform registers only.
DEVICE uint32_t uniform(uint32_t x)
{
    return __shfl_sync(~0u, x, 0);
}

// True in one lane of a warp. All lanes of the warp must call it.
DEVICE bool elect()
{
    uint32_t elected;
    asm volatile("{\n"
                 ".reg .pred one;\n"
                 "elect.sync _|one, 0xffffffff;\n"
                 "selp.u32 %0, 1, 0, one;\n"
                 "}"
                 : "=r"(elected));
    return elected;
}

// True in one thread of the block, always the same one. Its whole warp must call it. The values
// that this thread computes stay in uniform registers if nobody in its warp waits for it.
DEVICE bool is_producer()
{
    return uniform(threadIdx.x / 32) == 0 && elect();
}

// ---- mbarrier: a barrier in shared memory that counts arrivals and bytes ----

DEVICE void barrier_init(uint32_t barrier, uint32_t arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals));
}

// Makes barriers that were just initialised visible to the cluster and to the copy engine.
DEVICE void barrier_init_fence()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

DEVICE void barrier_arrive(uint32_t barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// Arrives once, and announces `bytes` that bulk copies will write before the phase completes.
DEVICE void barrier_arrive_expect(uint32_t barrier, uint32_t bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
}

// Arrives on the barrier at the same offset in the shared memory of block `rank` of the cluster.
// There is deliberately no release at cluster scope. The arrival announces reads by the tensor
// cores, which are complete because their group was waited for; the fence would cost 350 cycles per
// slab (237 us instead of 181 us at 4096^3 in BF16).
DEVICE void barrier_arrive_remote(uint32_t barrier, uint32_t rank)
{
    asm volatile("{\n"
                 ".reg .b32 remote;\n"
                 "mapa.shared::cluster.u32 remote, %0, %1;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [remote];\n"
                 "}" ::"r"(barrier),
                 "r"(rank)
                 : "memory");
}

// Waits until the phase of the given parity has completed. Each try suspends the thread in hardware
// for a while, so this is no busy loop.
DEVICE void barrier_wait(uint32_t barrier, uint32_t parity)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again;\n"
                 "}" ::"r"(barrier),
                 "r"(parity)
                 : "memory");
}

// A barrier among `threads` threads of the block, known by its number (1..15; 0 is __syncthreads').
DEVICE void named_barrier(uint32_t number, uint32_t threads)
{
    asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(threads) : "memory");
}

DEVICE void named_barrier_arrive(uint32_t number, uint32_t threads)
{
    asm volatile("bar.arrive %0, %1;" ::"r"(number), "r"(threads) : "memory");
}

// ---- cp.async: copies 16 bytes from global to shared memory, or zeros if !valid ----

DEVICE void copy_async_16(uint32_t shared, const void *global, bool valid)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(global),
                 "r"(valid ? 16 : 0)
                 : "memory");
}

// Copies 4 bytes. Both addresses are multiples of 4.
DEVICE void copy_async_4(uint32_t shared, const void *global)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared), "l"(global) : "memory");
}

// Arrives on the barrier as soon as all copies of this thread so far have landed. This is one of
// the arrivals that the barrier was initialised with.
DEVICE void barrier_arrive_copied(uint32_t barrier)
{
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}

DEVICE void copy_async_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

DEVICE void copy_async_wait_all()
{
    asm volatile("cp.async.wait_all;" ::: "memory");
}

template <int pending> DEVICE void copy_async_wait()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

// ---- the tensor memory accelerator (TMA): boxes between global and shared memory ----

DEVICE void tensor_prefetch(const CUtensorMap *map)
{
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// Loads the box at (column, row). `barrier` counts its bytes.
DEVICE void tensor_load(uint32_t shared, const CUtensorMap *map, int column, int row,
                        uint32_t barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];" ::"r"(shared),
                 "l"(map), "r"(column), "r"(row), "r"(barrier)
                 : "memory");
}

// Loads the same box to the same offset of every block of the cluster whose bit is set in `ranks`.
// Each of these blocks counts the bytes on its own barrier.
DEVICE void tensor_load_multicast(uint32_t shared, const CUtensorMap *map, int column, int row,
                                  uint32_t barrier, uint16_t ranks)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(shared),
                 "l"(map), "r"(column), "r"(row), "r"(barrier), "h"(ranks)
                 : "memory");
}

// Stores a box; parts outside of the tensor are dropped. The store belongs to the thread's
// next bulk group.
DEVICE void tensor_store(const CUtensorMap *map, int column, int row, uint32_t shared)
{
    asm volatile(
        "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map),
        "r"(column), "r"(row), "r"(shared)
        : "memory");
}

DEVICE void bulk_commit()
{
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Waits until all but the `pending` newest bulk groups of this thread have read
// their shared memory.
template <int pending> DEVICE void bulk_wait_read()
{
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory");
}

// Orders this thread's ordinary accesses to shared memory before later accesses of the copy engine
// and the tensor cores. Every thread that wrote calls it; then comes a barrier; then one thread
// issues the copy or multiplication.
DEVICE void fence_async_shared()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// ---- tensor cores ----

// Orders register and shared-memory accesses before the matrix instructions that follow.
DEVICE void wgmma_fence()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

DEVICE void wgmma_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int pending> DEVICE void wgmma_wait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

// Keeps the compiler from moving reads or writes of the accumulators across this point.
template <int count> DEVICE void pin(float (&values)[count])
{
#pragma unroll
    for (int i = 0; i < count; ++i)
        asm volatile("" : "+f"(values[i])::"memory");
}

// A descriptor of a K-major operand whose rows are 128 bytes, swizzled by 128 bytes, and begin at
// a multiple of 1024 bytes. Groups of 8 rows are 1024 bytes apart (bits 32-45, in units of 16
// bytes); the layout is 1 (bits 62-63). PTX ISA, "Matrix descriptor format". To advance along K,
// add bytes / 16.
constexpr uint32_t operand_layout = 1u << 30 | 1024 >> 4; // the upper half of the descriptor

// The lower half of the descriptor.
DEVICE uint32_t operand_start(uint32_t address)
{
    return 1u << 16 | (address & 0x3ffff) >> 4;
}

DEVICE uint64_t operand_descriptor(uint32_t start, uint32_t bytes)
{
    return (uint64_t)operand_layout << 32 | (start + bytes / 16);
}

DEVICE uint64_t operand_descriptor(uint32_t address)
{
    return operand_descriptor(operand_start(address), 0);
}

// mma.sync of TF32: C (16x8) += A (16x8, rows) * B (8x8, columns).
DEVICE void mma_tf32_16x8x8(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2])
{
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Converts FP32 to TF32, rounded to nearest (the tensor core itself would truncate).
DEVICE uint32_t round_tf32(float value)
{
    uint32_t result;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(result) : "f"(value));
    return result;
}

// Stores four 8x8 matrices of 16-bit elements from a warp's registers to shared memory. Lane l
// gives the address of row l % 8 of matrix l / 8.
DEVICE void store_matrices(uint32_t shared, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared),
                 "r"(a), "r"(b), "r"(c), "r"(d)
                 : "memory");
}

// Does the same with each matrix transposed: lane l gives the address of column l % 8 of matrix
// l / 8.
DEVICE void store_matrices_transposed(uint32_t shared, uint32_t a, uint32_t b, uint32_t c,
                                      uint32_t d)
{
    asm volatile(
        "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared),
        "r"(a), "r"(b), "r"(c), "r"(d)
        : "memory");
}

DEVICE void store_shared(uint32_t shared, uint32_t x, uint32_t y)
{
    asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(shared), "r"(x), "r"(y) : "memory");
}

// ---- functions that the special-function units approximate, to 2^-22; denormal numbers count
// as zero ----

DEVICE float power_of_two(float x)
{
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
}

DEVICE float reciprocal(float x)
{
    float result;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
}

// ---- thread-block clusters ----

DEVICE uint32_t cluster_rank()
{
    uint32_t rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return uniform(rank);
}

DEVICE void cluster_arrive()
{
    asm volatile("barrier.cluster.arrive.release;" ::: "memory");
}

// Arrives without ordering memory. This is enough after barriers were set up, because
// barrier_init_fence() orders them.
DEVICE void cluster_arrive_relaxed()
{
    asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory");
}

DEVICE void cluster_wait()
{
    asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}

DEVICE void cluster_sync()
{
    cluster_arrive();
    cluster_wait();
}

// The address of `shared` in the shared memory of block `rank` (distributed shared memory, DSMEM).
DEVICE uint32_t remote_address(uint32_t shared, uint32_t rank)
{
    uint32_t remote;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(shared), "r"(rank));
    return remote;
}

DEVICE void store_remote(uint32_t remote, float x, float y, float z, float w)
{
    asm volatile("st.shared::cluster.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(remote), "f"(x), "f"(y),
                 "f"(z), "f"(w)
                 : "memory");
}

DEVICE float load_shared_float(uint32_t shared)
{
    float v;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(v) : "r"(shared) : "memory");
    return v;
}

DEVICE float4 load_shared(uint32_t shared)
{
    float4 v;
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                 : "r"(shared)
                 : "memory");
    return v;
}

// ---- flags in global memory, between blocks ----

DEVICE void store_release(uint64_t *flag, uint64_t value)
{
    asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(flag), "l"(value) : "memory");
}

DEVICE uint64_t load_acquire(const uint64_t *flag)
{
    uint64_t value;
    asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(flag) : "memory");
    return value;
}

// ---- launches of a stream that follow each other (programmatic dependent launch) ----

// Lets the blocks of the next launch begin once all blocks of this one have called this or ended,
// if that launch was made so (cluster_launch::begin_early()). A block calls it when it has asked
// for its last bytes: if the next launch's blocks had waited beside it all along, long kernels
// would take up to 1.4 times as long.
DEVICE void let_next_launch_begin()
{
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

// Called before a block reads or writes global memory: waits until the launch before this one has
// ended and its writes are visible. Returns at once if this launch did not begin early.
DEVICE void wait_for_launch_before()
{
    asm volatile("griddepcontrol.wait;" ::: "memory");
}

// ---- register reallocation between warpgroups ----

template <int count> DEVICE void registers_give()
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
}

template <int count> DEVICE void registers_take()
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
}

#endif
