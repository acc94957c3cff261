#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# build.sh OUT [ARCH]: OUT/base/NAME.so and OUT/head/NAME.so for every shape and effect. NAME says
# the shape and about how much slower the head is, in hundredths of a percent. The chain's lengths
# are for an H200; the effect that counts is the one that is measured.
set -eu
out=$1 arch=${2:-sm_90a}
here=$(cd "$(dirname "$0")" && pwd)
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
mkdir -p "$out/base" "$out/head"
one() { # FOLDER NAME SHAPE EXTRA MORE
	"$nvcc" -std=c++20 -O3 --shared --cudart=shared -Xcompiler=-fPIC \
		"--generate-code=arch=compute_90a,code=$arch" -Xfatbin -compress=false \
		-I"$here/../../kernels" -DSLOW_NAME="\"$2\"" -D"$3" -DSLOW_EXTRA="$4" $5 \
		"$here/slow.cu" -o "$out/$1/$2.so"
}
both() { # NAME SHAPE BASE HEAD MORE-OF-HEAD
	one base "$1" "$2" "$3" "" &
	one head "$1" "$2" "$4" "$5" &
}
# latency: about 20 us = 36,000 clocks, a step is 4 clocks and a few of the loop's
for step in 0010:9 0030:27 0050:45 0100:90 0200:180 0500:450; do
	both "latency_${step%:*}" SLOW_LATENCY 0 "${step#*:}" ""
done
both latency_varies SLOW_LATENCY 90 90 -DSLOW_VARIES
wait
# compute: about 200 us
for step in 0010:90 0030:270 0050:450 0100:900 0200:1800 0500:4500; do
	both "compute_${step%:*}" SLOW_COMPUTE 0 "${step#*:}" ""
done
both compute_varies SLOW_COMPUTE 450 450 -DSLOW_VARIES
wait
# memory: rows read twice of each 1000
for step in 0010:1 0030:3 0050:5 0100:10 0200:20 0500:50; do
	both "memory_${step%:*}" SLOW_MEMORY 0 "${step#*:}" ""
done
both memory_varies SLOW_MEMORY 10 10 -DSLOW_VARIES
wait
ls "$out/base" | wc -l
