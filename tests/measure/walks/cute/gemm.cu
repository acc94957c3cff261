// SPDX-License-Identifier: Apache-2.0
//
// gemm N: C = A * B^T in FP16 by CuTe, with two stages in shared memory; both operands have k
// contiguous.
#include <cute/tensor.hpp>

#include <cstdio>
#include <cstdlib>
#include <vector>

using namespace cute;

using Type = half_t;
using TileM = Int<128>;
using TileN = Int<128>;
using TileK = Int<32>;
constexpr int STAGES = 3;

template <class TiledCopy, class TiledMma, class SmemLayout>
__global__ __launch_bounds__(128) void multiply(int n, const Type *a, const Type *b, Type *c,
                                                TiledCopy copy_tile, TiledMma mma,
                                                SmemLayout layout)
{
    __shared__ __align__(128) Type as[cosize_v<SmemLayout>], bs[cosize_v<SmemLayout>];
    auto stride = make_stride(n, Int<1>{});
    Tensor A = make_tensor(make_gmem_ptr(a), make_shape(n, n), stride);
    Tensor B = make_tensor(make_gmem_ptr(b), make_shape(n, n), stride);
    Tensor C = make_tensor(make_gmem_ptr(c), make_shape(n, n), stride);
    auto tile = make_shape(TileM{}, TileN{}, TileK{});
    auto at = make_coord(blockIdx.y, blockIdx.x, _);
    Tensor gA = local_tile(A, tile, at, Step<_1, X, _1>{});
    Tensor gB = local_tile(B, tile, at, Step<X, _1, _1>{});
    Tensor gC = local_tile(C, tile, at, Step<_1, _1, X>{});
    Tensor sA = make_tensor(make_smem_ptr(as), layout);
    Tensor sB = make_tensor(make_smem_ptr(bs), layout);

    auto copier = copy_tile.get_slice(threadIdx.x);
    Tensor fromA = copier.partition_S(gA);
    Tensor fromB = copier.partition_S(gB);
    Tensor toA = copier.partition_D(sA);
    Tensor toB = copier.partition_D(sB);
    auto thread = mma.get_slice(threadIdx.x);
    Tensor rC = thread.partition_fragment_C(gC);
    Tensor mA = thread.partition_A(sA);
    Tensor mB = thread.partition_B(sB);
    clear(rC);

    const int tiles = size<2>(gA);
    for (int s = 0; s < STAGES - 1; s++) {
        copy(copy_tile, fromA(_, _, _, s), toA(_, _, _, s));
        copy(copy_tile, fromB(_, _, _, s), toB(_, _, _, s));
        cp_async_fence();
    }
    for (int k = 0; k < tiles; k++) {
        cp_async_wait<STAGES - 2>();
        __syncthreads();
        const int next = k + STAGES - 1;
        if (next < tiles) {
            copy(copy_tile, fromA(_, _, _, next), toA(_, _, _, next % STAGES));
            copy(copy_tile, fromB(_, _, _, next), toB(_, _, _, next % STAGES));
        }
        cp_async_fence();
        gemm(mma, mA(_, _, _, k % STAGES), mB(_, _, _, k % STAGES), rC);
    }
    Tensor out = make_tensor_like<Type>(rC);
    copy(rC, out);
    copy(out, thread.partition_C(gC));
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 2048, rounds = 20;
    auto copy_tile =
        make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, Type>{},
                        Layout<Shape<_32, _4>, Stride<_4, _1>>{}, Layout<Shape<_1, _8>>{});
    auto mma = make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, Layout<Shape<_2, _2>>{},
                              Tile<_32, _32, _16>{});
    auto atom = composition(Swizzle<2, 3, 3>{}, Layout<Shape<_8, TileK>, Stride<TileK, _1>>{});
    auto layout = tile_to_shape(atom, make_shape(TileM{}, TileK{}, Int<STAGES>{}));

    std::vector<Type> host((size_t)n * n);
    Type *a, *b, *c;
    float ms;
    for (Type **to : {&a, &b, &c}) {
        for (Type &x : host)
            x = Type((float)rand() / (float)RAND_MAX - 0.5f);
        cudaMalloc(to, host.size() * sizeof(Type));
        cudaMemcpy(*to, host.data(), host.size() * sizeof(Type), cudaMemcpyHostToDevice);
    }
    cudaEvent_t begin, end;
    cudaEventCreate(&begin);
    cudaEventCreate(&end);
    cudaEventRecord(begin);
    for (int i = 0; i < rounds; i++)
        multiply<<<dim3(n / TileN{}, n / TileM{}), 128>>>(n, a, b, c, copy_tile, mma, layout);
    cudaEventRecord(end);
    cudaEventSynchronize(end);
    cudaEventElapsedTime(&ms, begin, end);
    printf("%.3f ms, %.1f TFLOPS: %s\n", ms / rounds, 2e-9 * n * n * n / (ms / rounds),
           cudaGetErrorString(cudaGetLastError()));
    return cudaGetLastError() != cudaSuccess;
}
