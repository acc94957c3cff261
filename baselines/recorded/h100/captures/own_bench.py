# SPDX-License-Identifier: Apache-2.0
#
# Triton's own benchmark of its softmax, which moves 1 GB: no power limit, and a launch of 2 us is little of it.
import torch
import triton.testing
import kernels as K

torch.manual_seed(1)
x = torch.randn(32768, 4000, device="cuda")
y = torch.zeros_like(x)


def once():
    K.softmax_kernel[(32768,)](y, x, 4000, 4000, BLOCK=4096)


print(f"do_bench {triton.testing.do_bench(once, return_mode='median'):.5f} ms")
