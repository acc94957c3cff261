#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# prepare.sh FOLDER [PUBLIC] [BUILD]: all that record.sh needs on a machine that has a GPU, CUDA, PyTorch and Triton, but
# no network: the bundle of ci/bundle, what stands here, in tests/measure/captures and in tests/measure/walks, and public
# programs as they are. PUBLIC has clones of siboehm/SGEMM_CUDA, NVIDIA/cuda-samples, karpathy/llm.c, NVIDIA/cutlass,
# Cjkkkk/CUDA_gemm, hua0x522/cuda-gemm, alexarmbr/matmul-playground and boopdotpng/cuda-matmuls under their names, bare or
# not; without it they are cloned. BUILD is a build with CUDA, by default build/dev. About 33 MB.
set -eu
[ $# -ge 1 ] || { sed -n '4,8s/^# //p' "$0"; exit 4; }
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../../.." && pwd)
build=$(cd "${3:-$root/build/dev}" && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
public=${2:-}
PLUMB_BUILD_DIR=$build "$root/ci/bundle" "$folder"
rm -rf "$folder/scripts" "$folder/public"
mkdir -p "$folder/public"
mkdir "$folder/scripts"
cp -R "$here"/. "$root/tests/measure/captures/." "$folder/scripts"
cp "$root/kernels/kernel.h" "$folder/scripts/roads/"
rm -rf "$folder/walks" && cp -R "$root/tests/measure/walks" "$folder/walks"

take() { # OWNER/NAME PATH...: these paths of its newest commit
	name=${1#*/}
	from=$public/$name
	if [ -z "$public" ]; then
		from=$folder/$name.git
		git clone -q --bare --depth 1 "https://github.com/$1" "$from"
	fi
	shift
	mkdir "$folder/public/$name"
	git -C "$from" archive HEAD "$@" | tar x -C "$folder/public/$name"
	git -C "$from" log -1 --format="$name %H %cs" >>"$folder/public/commits"
	[ -n "$public" ] || rm -rf "$from"
}
take siboehm/SGEMM_CUDA sgemm.cu src
take karpathy/llm.c dev/cuda/common.h dev/cuda/layernorm_forward.cu
take NVIDIA/cuda-samples Samples/0_Introduction/matrixMul/matrixMul.cu Common
take NVIDIA/cutlass include/cute include/cutlass tools/util/include examples/cute/tutorial/hopper
for each in Cjkkkk/CUDA_gemm hua0x522/cuda-gemm alexarmbr/matmul-playground boopdotpng/cuda-matmuls; do
	name=${each#*/}
	git clone -q --bare "${public:-https://github.com/${each%/*}}/$name" "$folder/public/$name.git"
	git -C "$folder/public/$name.git" log -1 --format="$name %H %cs" >>"$folder/public/commits"
done
git -C "$root" rev-parse HEAD >"$folder/commit"
tar -C "$folder" -czf "$folder/public.tar.gz" public
rm -rf "$folder/public"
du -sh "$folder" | awk '{print "prepared: " $2 ", " $1}'
