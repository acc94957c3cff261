# SPDX-License-Identifier: Apache-2.0
#
# Triton's own benchmark of its matmul.
import torch
import triton.testing
import kernels as K

torch.manual_seed(1)
n = 4096
a = torch.randn(n, n, device="cuda", dtype=torch.float16)
b = torch.randn(n, n, device="cuda", dtype=torch.float16)
c = torch.zeros(n, n, device="cuda", dtype=torch.float16)


def once():
    K.matmul_kernel[(n // K.TILE_M, n // K.TILE_N)](
        a, b, c, n, n, n, BM=K.TILE_M, BN=K.TILE_N, BK=K.TILE_K, num_stages=K.STAGES, num_warps=8)


print(f"do_bench {triton.testing.do_bench(once, return_mode='median'):.5f} ms")
