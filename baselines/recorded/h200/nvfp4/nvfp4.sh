#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# nvfp4.sh BENCH LIBRARIES ROUNDS
# Times the dual GEMM in NVFP4 beside its control (decoded first, then cuBLASLt) and beside the same
# GEMM in BF16, cold, each output checked, in processes that take turns: on standard output a line a
# process: round, kernel, problem, exit status, and what bench says of the block.
set -eu
bench=$1 libraries=$2 rounds=$3
one() {
    code=0
    said=$("$bench" --device cuda time --head "$libraries/lib$2.so" --kernel "$3" --problem "$4" \
        --pairs 24 2>&1) || code=$?
    echo "$1 $3 $4 $code $(echo "$said" | tail -n 2 | tr -s '\n ' '  ')"
}
date -u
nvidia-smi --query-gpu=name,uuid,driver_version,clocks.sm,clocks.mem,temperature.gpu --format=csv,noheader
round=1
while [ "$round" -le "$rounds" ]; do
    for shape in 1x4096x7168 4x4096x7168 16x4096x7168 32x4096x7168 64x4096x7168 256x4096x7168 \
        512x4096x7168 1x3072x4096 16x3072x4096 16x3072x7168 256x3072x4096 512x3072x7168; do
        fp4=$shape:nvfp4-fp16:dual-silu:e4m3/16/tiled
        one "$round" select_nvfp4_dual select-nvfp4-dual "$fp4"
        one "$round" select_bf16_dual select-bf16-dual "$shape:bf16:dual-silu"
        one "$round" cublaslt_nvfp4_dual cublaslt_nvfp4_dual "$fp4"
    done
    round=$((round + 1))
done
