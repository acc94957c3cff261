# SPDX-License-Identifier: Apache-2.0
#
# The softmax of rows in an NVTX range, three times.
import torch

torch.manual_seed(1)
x = torch.randn(8192, 4096, device="cuda")
y = None
for i in range(3):
    y = None  # so that the next has its place
    torch.cuda.nvtx.range_push("rows")
    y = torch.softmax(x, 1)
    torch.cuda.nvtx.range_pop()
print(float(y.sum()))
