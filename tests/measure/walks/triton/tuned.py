# SPDX-License-Identifier: Apache-2.0
#
# The same layer, which Triton tunes itself: which configuration it takes is known after the first call.
import torch
import triton
from fused import linear_gelu_kernel

tuned = triton.autotune(
    configs=[triton.Config({"BM": m, "BN": n, "BK": 64, "GROUP": 8}, num_stages=s, num_warps=8)
             for m, n, s in ((128, 128, 4), (128, 256, 3), (64, 256, 4))],
    key=["M", "N", "K"])(linear_gelu_kernel)

torch.manual_seed(0)
tokens, width, hidden = 4096, 2048, 8192
x = torch.randn(tokens, width, device="cuda", dtype=torch.bfloat16)
w = torch.randn(hidden, width, device="cuda", dtype=torch.bfloat16) / width ** 0.5
b = torch.randn(hidden, device="cuda", dtype=torch.bfloat16)
y = torch.empty(tokens, hidden, device="cuda", dtype=torch.bfloat16)


def layer():
    grid = lambda meta: (triton.cdiv(tokens, meta["BM"]) * triton.cdiv(hidden, meta["BN"]),)
    tuned[grid](x, w, b, y, tokens, hidden, width, x.stride(0), w.stride(0), y.stride(0))


layer()
for _ in range(2):
    with torch.cuda.nvtx.range(f"m={tokens},n={hidden},k={width}:bf16"):
        layer()
torch.cuda.synchronize()
print(tuned.best_config)
