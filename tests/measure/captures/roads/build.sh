#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# build.sh SOURCE OUT: both kernels by all three roads, from a folder with kernel.h. Needs nvcc.
set -eu
mkdir -p "$2"
arch='-gencode arch=compute_90a,code=sm_90a'
for kernel in simt tensor; do
	# shellcheck disable=SC2086 # a list of options
	nvcc -O3 $arch -DSOURCE="\"$kernel.cu\"" -I"$1" -shared -Xcompiler -fPIC -o "$2/lib$kernel.so" "$1/shim.cu" &
	# shellcheck disable=SC2086
	nvcc -O3 $arch -cubin -o "$2/$kernel.cubin" "$1/$kernel.cu" &
	# shellcheck disable=SC2086
	nvcc -O3 $arch -DSOURCE="\"$kernel.cu\"" -I"$1" -o "$2/$kernel" "$1/program.cu" -ldl &
	cp "$1/$kernel.plan" "$2"
done
wait
ls "$2/libsimt.so" "$2/libtensor.so" "$2/simt.cubin" "$2/tensor.cubin" "$2/simt" "$2/tensor" >/dev/null
