# SPDX-License-Identifier: Apache-2.0
#
# Two matrix products in Triton, C[m, n] = A[m, k] * B[n, k]^T in BF16: a plain one that goes by
# pointers, and a persistent one whose operands come and go by TMA.
import triton
import triton.language as tl


@triton.jit
def tile_at(index, m, n, BM: tl.constexpr, BN: tl.constexpr, GROUP: tl.constexpr):
    # GROUP rows of tiles are walked together, so that neighbours in time share operands in L2.
    rows = tl.cdiv(m, BM)
    columns = tl.cdiv(n, BN)
    first = index // (GROUP * columns) * GROUP
    height = min(rows - first, GROUP)
    inside = index % (GROUP * columns)
    return first + inside % height, inside // height


@triton.jit
def matmul_plain(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
                 GROUP: tl.constexpr):
    row, column = tile_at(tl.program_id(0), m, n, BM, BN, GROUP)
    i = row * BM + tl.arange(0, BM)
    j = column * BN + tl.arange(0, BN)
    p = tl.arange(0, BK)
    # Rows beyond the edge read some other row; what they add up is never stored.
    from_a = a + (i % m)[:, None] * k + p[None, :]
    from_b = b + (j % n)[None, :] * k + p[:, None]
    sum = tl.zeros((BM, BN), dtype=tl.float32)
    for at in range(0, k, BK):
        left = tl.load(from_a, mask=p[None, :] < k - at, other=0.0)
        right = tl.load(from_b, mask=p[:, None] < k - at, other=0.0)
        sum = tl.dot(left, right, sum)
        from_a += BK
        from_b += BK
    to = c + i[:, None] * n + j[None, :]
    tl.store(to, sum.to(c.dtype.element_ty), mask=(i[:, None] < m) & (j[None, :] < n))


@triton.jit
def matmul_persistent(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
                      GROUP: tl.constexpr):
    tiles = tl.cdiv(m, BM) * tl.cdiv(n, BN)
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0), flatten=True):
        row, column = tile_at(tile, m, n, BM, BN, GROUP)
        sum = tl.zeros((BM, BN), dtype=tl.float32)
        for at in range(0, k, BK):
            left = a.load([row * BM, at])
            right = b.load([column * BN, at])
            sum = tl.dot(left, right.T, sum)
        c.store([row * BM, column * BN], sum.to(c.dtype))
