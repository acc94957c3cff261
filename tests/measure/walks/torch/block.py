# SPDX-License-Identifier: Apache-2.0
#
# A block of a transformer, for inference.
import torch
import torch.nn.functional as F

torch.manual_seed(0)
batch, tokens, heads, width = 4, 1024, 16, 1024


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.RMSNorm(width)
        self.qkv = torch.nn.Linear(width, 3 * width, bias=False)
        self.out = torch.nn.Linear(width, width, bias=False)
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).view(batch, tokens, 3, heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, tokens, width))
        return x + self.down(F.gelu(self.up(self.norm(x))))


block = Block().to("cuda", torch.bfloat16)
x = torch.randn(batch, tokens, width, device="cuda", dtype=torch.bfloat16)
with torch.inference_mode():
    for _ in range(3):
        torch.cuda.nvtx.range_push("block")
        y = block(x)
        torch.cuda.nvtx.range_pop()
print("mean", y.float().mean().item())
