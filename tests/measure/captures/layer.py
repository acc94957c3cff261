# SPDX-License-Identifier: Apache-2.0
#
# A linear layer and attention by cuDNN in an NVTX range, three times.
import torch, torch.nn.functional as F
torch.manual_seed(1)
x = torch.randn(2048, 1024, device="cuda", dtype=torch.bfloat16)
l = torch.nn.Linear(1024, 3072, device="cuda", dtype=torch.bfloat16)
with torch.no_grad():
    for i in range(3):
        torch.cuda.nvtx.range_push("layer")
        q, k, v = l(x).view(2, 1024, 3, 16, 64).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        torch.cuda.nvtx.range_pop()
print(float(y.float().abs().sum()))
# a comment
