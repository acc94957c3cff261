# SPDX-License-Identifier: Apache-2.0
#
# own_bench.py KERNEL MS...: Triton's own benchmark of its softmax or matmul, for so long each. Softmax moves 1 GB,
# and is not at the power limit; the matmul is.
import sys
import torch
import triton.testing
import kernels as K

torch.manual_seed(1)


def softmax():
    x = torch.randn(32768, 4000, device="cuda")
    y = torch.zeros_like(x)
    return lambda: K.softmax_kernel[(32768,)](y, x, 4000, 4000, BLOCK=4096)


def matmul():
    n = 4096
    a = torch.randn(n, n, device="cuda", dtype=torch.float16)
    b = torch.randn(n, n, device="cuda", dtype=torch.float16)
    c = torch.zeros(n, n, device="cuda", dtype=torch.float16)
    return lambda: K.matmul_kernel[(n // K.TILE_M, n // K.TILE_N)](
        a, b, c, n, n, n, BM=K.TILE_M, BN=K.TILE_N, BK=K.TILE_K, num_stages=K.STAGES, num_warps=8)


once = {"softmax": softmax, "matmul": matmul}[sys.argv[1]]()
for ms in sys.argv[2:]:
    print(f"do_bench for {ms} ms: {triton.testing.do_bench(once, rep=int(ms), return_mode='median'):.5f} ms")
