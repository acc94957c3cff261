# SPDX-License-Identifier: Apache-2.0
#
# Triton's matmul and softmax at several shapes, each in an NVTX range that is named as the problem.
import torch
import kernels as K

torch.manual_seed(1)


def named(name):
    return torch.cuda.nvtx.range(name)


for m, n, k in ((512, 512, 512), (1024, 512, 512), (512, 1024, 1024), (1024, 1024, 1024),
                (1024, 1024, 512), (512, 2048, 512), (2048, 512, 1024), (256, 2048, 1024)):
    a = torch.randn(m, k, device="cuda", dtype=torch.float16)
    b = torch.randn(k, n, device="cuda", dtype=torch.float16)
    c = torch.zeros(m, n, device="cuda", dtype=torch.float16)
    for _ in range(2):
        with named(f"m={m},n={n},k={k}:fp16:nn"):
            K.matmul_kernel[(m // K.TILE_M, n // K.TILE_N)](
                a, b, c, m, n, k, BM=K.TILE_M, BN=K.TILE_N, BK=K.TILE_K, num_stages=K.STAGES, num_warps=8)
for rows, cols in ((512, 1000), (1024, 1000), (2048, 500), (256, 2000)):
    x = torch.randn(rows, cols, device="cuda")
    y = torch.zeros_like(x)
    for _ in range(2):
        with named(f"rows={rows},cols={cols}:fp32"):
            K.softmax_kernel[(rows,)](y, x, cols, cols, BLOCK=4096)
torch.cuda.synchronize()
