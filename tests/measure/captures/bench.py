# SPDX-License-Identifier: Apache-2.0
#
# Runs one of the kernels, or all, three times each, and says how far off the results are.
import sys
import torch
from triton.tools.tensor_descriptor import TensorDescriptor
import kernels as K

which = sys.argv[1] if len(sys.argv) > 1 else "all"
torch.manual_seed(1)
dev = "cuda"


def matmul(tma):
    n = 2048
    a = torch.randn(n, n, device=dev, dtype=torch.float16)
    b = torch.randn(n, n, device=dev, dtype=torch.float16)
    c = torch.zeros(n, n, device=dev, dtype=torch.float16)
    bm, bn, bk = K.TILE_M, K.TILE_N, K.TILE_K
    for _ in range(3):
        if tma:
            sms = torch.cuda.get_device_properties(0).multi_processor_count
            d = [TensorDescriptor.from_tensor(t, s) for t, s in ((a, [bm, bk]), (b, [bk, bn]), (c, [bm, bn]))]
            K.tma_kernel[(sms,)](*d, n, n, n, SMS=sms, BM=bm, BN=bn, BK=bk, num_stages=K.STAGES, num_warps=8)
        else:
            K.matmul_kernel[(n // bm, n // bn)](a, b, c, n, n, n, BM=bm, BN=bn, BK=bk, num_stages=K.STAGES, num_warps=8)
    return (c.float() - a.float() @ b.float()).abs().max().item()


def softmax():
    x = torch.randn(8192, 4000, device=dev)
    y = torch.zeros_like(x)
    for _ in range(3):
        K.softmax_kernel[(8192,)](y, x, 4000, 4000, BLOCK=4096)
    return (y - torch.softmax(x, 1)).abs().max().item()


def attn():
    h, n, d = 32, 2048, 64
    q, k, v = (torch.randn(h, n, d, device=dev, dtype=torch.float16) for _ in range(3))
    o = torch.zeros_like(q)
    scale = d ** -0.5 * 1.44269504
    for _ in range(3):
        K.attn_kernel[(n // 128, h)](o, q, k, v, scale, n, BM=128, BN=64, D=d, num_stages=K.ATTN_STAGES, num_warps=8)
    return (o.float() - torch.nn.functional.scaled_dot_product_attention(q, k, v).float()).abs().max().item()


for name, f in (("matmul", lambda: matmul(False)), ("tma", lambda: matmul(True)), ("softmax", softmax), ("attn", attn)):
    if which in ("all", name):
        print(name, "error", f())
