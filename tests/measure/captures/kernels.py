# SPDX-License-Identifier: Apache-2.0
#
# Kernels as a Triton user writes them.
import triton
import triton.language as tl

TILE_M, TILE_N, TILE_K = 128, 128, 64
STAGES = 4
ATTN_STAGES = 3


@triton.jit
def softmax_kernel(out, x, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * stride + at, mask=at < n, other=-float("inf"))
    v = tl.exp(v - tl.max(v, 0))
    tl.store(out + row * stride + at, v / tl.sum(v, 0), mask=at < n)


@triton.jit
def matmul_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pm = tl.program_id(0)
    pn = tl.program_id(1)
    rm = pm * BM + tl.arange(0, BM)
    rn = pn * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(tl.load(a + rm[:, None] * K + (k + rk)[None, :]),
                     tl.load(b + (k + rk)[:, None] * N + rn[None, :]), acc)
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(tl.float16))


@triton.jit
def tma_kernel(a, b, c, M, N, K, SMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    tiles_n = tl.cdiv(N, BN)
    for tile in range(tl.program_id(0), tl.cdiv(M, BM) * tiles_n, SMS):
        pm = tile // tiles_n
        pn = tile % tiles_n
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            acc = tl.dot(a.load([pm * BM, k]), b.load([k, pn * BN]), acc)
        c.store([pm * BM, pn * BN], acc.to(tl.float16))


@triton.jit
def attn_kernel(out, q, k, v, scale, N, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    head = tl.program_id(1) * N * D
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rd = tl.arange(0, D)
    qs = tl.load(q + head + rm[:, None] * D + rd[None, :])
    m = tl.full((BM,), -float("inf"), tl.float32)
    s = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for n in range(0, N, BN):
        rn = n + tl.arange(0, BN)
        ks = tl.load(k + head + rn[None, :] * D + rd[:, None])
        x = tl.dot(qs, ks) * scale
        new = tl.maximum(m, tl.max(x, 1))
        p = tl.exp2(x - new[:, None])
        fix = tl.exp2(m - new)
        s = s * fix + tl.sum(p, 1)
        vs = tl.load(v + head + rn[:, None] * D + rd[None, :])
        acc = tl.dot(p.to(tl.float16), vs, acc * fix[:, None])
        m = new
    tl.store(out + head + rm[:, None] * D + rd[None, :], (acc / s[:, None]).to(tl.float16))
