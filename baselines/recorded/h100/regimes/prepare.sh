#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# prepare.sh FOLDER, on a machine with nvcc: what record.sh takes to a GPU. FOLDER/base and
# FOLDER/head are the libraries of four kernels, as they are and with one line changed each;
# FOLDER/gate is a repository whose main changes one kernel, and then two more; FOLDER/bundle is
# plumb.
set -eu
[ $# -eq 1 ] || { sed -n '4,7s/^# //p' "$0"; exit 4; }
mkdir -p "$1/base" "$1/head"
folder=$(cd "$1" && pwd)
cd "$(dirname "$0")/../../../.."
root=$PWD
kernels="tf32_pingpong e4m3_promoted bf16_pingpong bf16_persistent"
tree=$(mktemp -d)
trap 'git -C "$root" worktree remove --force "$tree"' EXIT
git worktree add --detach "$tree" HEAD >/dev/null

build() { # build SIDE
    cmake -S "$tree" -B "$tree/build" -G Ninja -DPLUMB_TESTS=OFF -DPLUMB_CUDA=ON >/dev/null
    for kernel in $kernels; do
        cmake --build "$tree/build" --target "kernels/lib$kernel.so" >/dev/null
        cp "$tree/build/kernels/lib$kernel.so" "$folder/$1/"
    done
}

build base
at=$tree/kernels/gemm/cuda/persistent
sed -i 's/PLUMB_RASTER_M, 8/PLUMB_RASTER_M, 2/' "$at/tf32_pingpong.cu"
sed -i 's/(6, PLUMB/(5, PLUMB/; s/shape, 6, PLUMB/shape, 5, PLUMB/' "$at/e4m3_promoted.cu"
sed -i 's/(5, PLUMB/(4, PLUMB/; s/shape, 5, PLUMB/shape, 4, PLUMB/' "$at/bf16_pingpong.cu"
sed -i 's/PLUMB_RASTER_M, 16/PLUMB_RASTER_M, 8/' "$at/bf16_persistent.cu"
build head
cp tests/measure/regimes.py "$folder/"
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
