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
# A base wastes 32 steps itself: the first trip through a loop costs more than the others.
chain() { # SHAPE NAME STEPS-OF-1-PERCENT
	for effect in 10 30 50 100 200 500; do
		name=$(printf '%s_%04d' "$2" $effect)
		both "$name" "$1" 32 $((32 + $3 * effect / 100)) ""
	done
	both "$2_varies" "$1" "$3" "$3" -DSLOW_VARIES
	wait
}
chain SLOW_LATENCY latency 116  # of about 25 us
chain SLOW_COMPUTE compute 950  # of about 240 us
# Rows read twice of each 1000: their other reads overlap, so 1 % needs 66.
for effect in 10 30 50 100 200 500; do
	both "$(printf 'memory_%04d' $effect)" SLOW_MEMORY 0 $((66 * effect / 100)) ""
done
both memory_varies SLOW_MEMORY 66 66 -DSLOW_VARIES
wait
ls "$out/base" | wc -l
