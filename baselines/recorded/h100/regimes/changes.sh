#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# changes.sh TREE FOLDER, on a machine with nvcc: FOLDER/base and FOLDER/head get the libraries of
# TREE's kernels that are named below, as they are and with one line changed each, and FOLDER/rows
# says on which problems regimes.py times them. triton_kernel.py adds those of Triton.
set -eu
[ $# -eq 2 ] || { sed -n '4,6s/^# //p' "$0"; exit 4; }
mkdir -p "$2/base" "$2/head"
folder=$(cd "$2" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
kernels="persistent/tf32_pingpong persistent/e4m3_promoted persistent/bf16_pingpong
    persistent/bf16_persistent persistent/e4m3_persistent small/bf16_brief
    ladder/tf32_9_persistent ladder/tf32_8_tma_wide split/bf16_split persistent/e4m3_pingpong"

take() { # take SIDE: its sources, of these kernels alone
    mkdir -p "$work/$1"
    cp -R "$tree/kernels" "$work/$1/"
    gemm=$work/$1/kernels/gemm
    find "$gemm/cuda" "$gemm/host" -name '*.c' -exec rm {} + -o -name '*.cu' -exec rm {} +
    for kernel in $kernels; do cp "$tree/kernels/gemm/cuda/$kernel.cu" "$gemm/cuda/$kernel.cu"; done
}
change() { # change FILE FROM TO: where nothing changes, the table would be of identical code
    grep -q "$2" "$work/head/kernels/gemm/cuda/$1" || { echo "changes.sh: $1: no $2" >&2; exit 4; }
    sed -i "s/$2/$3/" "$work/head/kernels/gemm/cuda/$1"
}
build() { # build SIDE
    cmake -S "$work/$1/kernels/gemm" -B "$work/$1/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
        -DPLUMB_CUDA=ON -DPLUMB_KERNEL_DIR="$work/$1/out" >/dev/null
    cmake --build "$work/$1/build" >/dev/null
    cp "$work/$1/out"/*.so "$folder/$1/"
}

tree=$(cd "$1" && pwd)
take base
take head
change persistent/tf32_pingpong.cu 'PLUMB_RASTER_M, 8' 'PLUMB_RASTER_M, 2'
change persistent/e4m3_promoted.cu '<shape, 6,' '<shape, 5,'
change persistent/bf16_pingpong.cu '<shape, 5,' '<shape, 4,'
change persistent/bf16_persistent.cu 'PLUMB_RASTER_M, 16' 'PLUMB_RASTER_M, 8'
change persistent/e4m3_persistent.cu '<shape, 4,' '<shape, 3,'
change small/bf16_brief.cu 'tile_n = 64' 'tile_n = 128'
change ladder/tf32_9_persistent.cu 'cluster_m = 2' 'cluster_m = 1'
change ladder/tf32_8_tma_wide.cu '<256, 4' '<256, 3'
change split/bf16_split.cu '<shape, 2, 6,' '<shape, 4, 6,'
build base
build head
# The epilogue is everybody's: it is changed for the kernel that has no change of its own.
kernels=persistent/e4m3_pingpong
rm -r "$work/head"
take head
change epilogue.cuh 'bulk_wait_read<ring - 1>' 'bulk_wait_read<0>'
build head
cat >"$folder/rows" <<'END'
tf32_pingpong 2048x2048x2048:tf32-fp32
tf32_pingpong 4096x4096x4096:tf32-fp32
tf32_pingpong 4096x576x7168:tf32-fp32
e4m3_promoted 4096x7168x2048:e4m3-bf16
e4m3_promoted 4096x4096x4096:e4m3-bf16
e4m3_promoted 128x7168x2048:e4m3-bf16
bf16_pingpong 128x7168x2048:bf16-bf16
bf16_pingpong 2048x2048x2048:bf16-bf16
bf16_persistent 4096x7168x2048:bf16-bf16
bf16_persistent 4096x4096x4096:bf16-bf16
e4m3_persistent 4096x4096x4096:e4m3-bf16
e4m3_persistent 128x7168x2048:e4m3-bf16
bf16_brief 128x7168x2048:bf16-bf16
tf32_9_persistent 2048x2048x2048:tf32-fp32
tf32_9_persistent 4096x576x7168:tf32-fp32
tf32_8_tma_wide 2048x2048x2048:tf32-fp32
bf16_split 128x7168x2048:bf16-bf16
e4m3_pingpong 4096x4096x512:e4m3-bf16
triton_group 4096x4096x4096:bf16-bf16
triton_stages 2048x2048x2048:bf16-bf16
END
