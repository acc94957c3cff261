# SPDX-License-Identifier: Apache-2.0
#
# compile.py OUT: compiles the kernels of matmul.py for sm_90 and leaves OUT/NAME.cubin with OUT/NAME.plan.
# No GPU is needed. Beside each cubin lie NAME.json and NAME.ttir, what Triton says of it.
import os
import shutil
import sys

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import matmul

PLAIN = dict(BM=128, BN=128, BK=64, GROUP=8)
PERSISTENT = dict(BM=128, BN=256, BK=64, GROUP=8)
STAGES = dict(plain=3, persistent=3)


def compiled(function, types, constants, stages, warps):
    names = function.arg_names
    signature = {name: types.get(name, "constexpr") for name in names}
    # As the launcher finds it for tensors and sizes that are multiples of 16; descriptors say nothing.
    aligned = [name for name in names if types.get(name, "").startswith(("*", "i"))]
    attributes = {(names.index(name),): [["tt.divisibility", 16]] for name in aligned}
    source = ASTSource(function, signature, constants, attributes)
    options = dict(num_stages=stages, num_warps=warps)
    return triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)


def leave(out, name, kernel, stages):
    here = os.path.dirname(os.path.abspath(__file__))
    for file, path in kernel.metadata_group.items():
        if file.endswith((".cubin", ".json", ".ttir")):
            shutil.copy(path, out)
    with open(f"{here}/{name}.plan") as plan, open(f"{out}/{name}.plan", "w") as to:
        to.write(plan.read().replace("@SHARED@", str(kernel.metadata.shared)).replace("@STAGES@", str(stages)))


def main(out):
    sizes = dict(m="i32", n="i32", k="i32")
    pointers = dict(a="*bf16", b="*bf16", c="*bf16")
    blocks = dict(a="tensordesc<bf16[128, 64]>", b="tensordesc<bf16[256, 64]>", c="tensordesc<bf16[128, 256]>")
    plain = compiled(matmul.matmul_plain, {**pointers, **sizes}, PLAIN, STAGES["plain"], 4)
    leave(out, "matmul_plain", plain, STAGES["plain"])
    persistent = compiled(matmul.matmul_persistent, {**blocks, **sizes}, PERSISTENT, STAGES["persistent"], 8)
    leave(out, "matmul_persistent", persistent, STAGES["persistent"])


if __name__ == "__main__":
    main(sys.argv[1])
