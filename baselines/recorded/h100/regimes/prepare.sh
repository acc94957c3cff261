#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# prepare.sh FOLDER, on a machine with nvcc: what record.sh takes to a GPU. FOLDER/base and
# FOLDER/head are the libraries of ten kernels, as they are and with one line changed each;
# FOLDER/gate is a repository whose main changes one kernel, and then two more; FOLDER/bundle is
# plumb.
set -eu
[ $# -eq 1 ] || { sed -n '4,7s/^# //p' "$0"; exit 4; }
mkdir -p "$1"
folder=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../../../.."
"$here/changes.sh" . "$folder"
cp tests/measure/regimes.py "$here/triton_kernel.py" kernels/kernel.h "$folder/"
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
