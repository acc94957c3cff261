#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# prepare.sh FOLDER, on a machine with nvcc: what record.sh takes to a GPU. FOLDER/base and
# FOLDER/head are the libraries of ten kernels, as they are and with one line changed each, and
# FOLDER/rows says on which problems they are timed; FOLDER/gate is a repository whose main changes
# one kernel, and then two more; FOLDER/bundle is plumb.
set -eu
[ $# -eq 1 ] || { sed -n '4,7s/^# //p' "$0"; exit 4; }
mkdir -p "$1/base" "$1/head"
folder=$(cd "$1" && pwd)
cd "$(dirname "$0")/../../../.."
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
kernels="persistent/tf32_pingpong persistent/e4m3_promoted persistent/bf16_pingpong
    persistent/bf16_persistent persistent/e4m3_persistent small/bf16_brief
    ladder/tf32_9_persistent ladder/tf32_8_tma_wide split/bf16_split persistent/e4m3_pingpong"

take() { # take SIDE: its sources, of these kernels alone
    mkdir -p "$work/$1"
    cp -R "$root/kernels" "$work/$1/"
    gemm=$work/$1/kernels/gemm
    find "$gemm/cuda" "$gemm/host" -name '*.c' -exec rm {} + -o -name '*.cu' -exec rm {} +
    for kernel in $kernels; do cp "$root/kernels/gemm/cuda/$kernel.cu" "$gemm/cuda/$kernel.cu"; done
}
change() { # change FILE FROM TO: where nothing changes, the table would be of identical code
    grep -q "$2" "$work/head/kernels/gemm/cuda/$1" || { echo "prepare.sh: $1: no $2" >&2; exit 4; }
    sed -i "s/$2/$3/" "$work/head/kernels/gemm/cuda/$1"
}
build() { # build SIDE
    cmake -S "$work/$1/kernels/gemm" -B "$work/$1/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
        -DPLUMB_CUDA=ON -DPLUMB_KERNEL_DIR="$work/$1/out" >/dev/null
    cmake --build "$work/$1/build" >/dev/null
    cp "$work/$1/out"/*.so "$folder/$1/"
}

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
cp tests/measure/regimes.py tests/measure/regimes_triton.py kernels/kernel.h "$folder/"
ci/bundle "$folder/bundle"

gate=$folder/gate
rm -rf "$gate"
mkdir -p "$gate/kernels" "$gate/ci"
cat >"$gate/ci/plumb.cfg" <<'END'
[build]
	input = kernels
	command = "cp kernels/*.so $PLUMB_OUT/"
	output = *.so
[device "cuda"]
	kind = cuda
[problems "tf32"]
	problem = 2048x2048x2048:tf32
	problem = 4096x576x7168:tf32
[problems "e4m3"]
	problem = 4096x7168x2048:e4m3-bf16
	problem = 128x7168x2048:e4m3-bf16
[problems "bf16"]
	problem = 128x7168x2048:bf16
	problem = 2048x2048x2048:bf16
[kernel "tf32-*"]
	problems = tf32
[kernel "e4m3-*"]
	problems = e4m3
[kernel "bf16-*"]
	problems = bf16
[gate]
	self-test = 1
END
cd "$gate"
git init -q -b main .
commit() { # commit SIDE MESSAGE KERNEL...
    side=$1 message=$2
    shift 2
    for kernel in "$@"; do cp "$folder/$side/lib$kernel.so" kernels/; done
    git add -A
    git -c user.name=record -c user.email=record@example.com commit -qm "$message"
}
commit base "three kernels" tf32_pingpong e4m3_promoted bf16_pingpong
commit head "tf32: raster groups of 2" tf32_pingpong
commit head "a stage less" e4m3_promoted bf16_pingpong
