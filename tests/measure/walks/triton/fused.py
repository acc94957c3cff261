# SPDX-License-Identifier: Apache-2.0
#
# A linear layer with bias and GELU in one kernel, and the RMS norm before it.
import torch
import triton
import triton.language as tl

BM, BN, BK, GROUP = 128, 128, 64, 8
STAGES = 4


@triton.jit
def rmsnorm_kernel(x, w, y, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + at, mask=at < cols, other=0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(v * v, 0) / cols + eps)
    g = tl.load(w + at, mask=at < cols, other=0).to(tl.float32)
    tl.store(y + row * cols + at, (v * scale * g).to(y.dtype.element_ty), mask=at < cols)


@triton.jit
def linear_gelu_kernel(x, w, bias, y, M, N, K, sxm, swn, sym, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
                       GROUP: tl.constexpr):
    pid = tl.program_id(0)
    tiles_m, tiles_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    group = pid // (GROUP * tiles_n)
    first = group * GROUP
    size = min(tiles_m - first, GROUP)
    pm = first + (pid % (GROUP * tiles_n)) % size
    pn = (pid % (GROUP * tiles_n)) // size
    rm = (pm * BM + tl.arange(0, BM)) % M
    rn = (pn * BN + tl.arange(0, BN)) % N
    rk = tl.arange(0, BK)
    xs = x + rm[:, None] * sxm + rk[None, :]
    ws = w + rn[None, :] * swn + rk[:, None]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        a = tl.load(xs, mask=rk[None, :] < K - k * BK, other=0.0)
        b = tl.load(ws, mask=rk[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(a, b, acc)
        xs += BK
        ws += BK
    acc += tl.load(bias + rn)[None, :].to(tl.float32)
    acc = 0.5 * acc * (1.0 + tl.erf(acc * 0.7071067811865476))
    om = pm * BM + tl.arange(0, BM)
    on = pn * BN + tl.arange(0, BN)
    tl.store(y + om[:, None] * sym + on[None, :], acc.to(y.dtype.element_ty),
             mask=(om[:, None] < M) & (on[None, :] < N))


def rmsnorm(x, w, eps=1e-6):
    y = torch.empty_like(x)
    rmsnorm_kernel[(x.shape[0],)](x, w, y, x.shape[1], eps, BLOCK=triton.next_power_of_2(x.shape[1]), num_warps=8)
    return y


def linear_gelu(x, w, bias):
    (M, K), N = x.shape, w.shape[0]
    y = torch.empty((M, N), device=x.device, dtype=x.dtype)
    grid = (triton.cdiv(M, BM) * triton.cdiv(N, BN),)
    linear_gelu_kernel[grid](x, w, bias, y, M, N, K, x.stride(0), w.stride(0), y.stride(0),
                             BM=BM, BN=BN, BK=BK, GROUP=GROUP, num_stages=STAGES, num_warps=8)
    return y
