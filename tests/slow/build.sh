#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# build.sh OUT [ARCH]: what a study needs.
#   OUT/base/NAME.so, OUT/head/NAME.so   for every shape and effect. NAME says the shape and about
#       how much slower the head is, in hundredths of a percent. The chain's lengths are for an
#       H200; the effect that counts is the one that is measured.
#   OUT/near, OUT/sure, OUT/varies       the same pairs again, by how hard they are to tell apart
#   OUT/aa/base                          some of the bases again: 7 latency, 3 memory, 2 compute
#   OUT/cross/base, OUT/cross/head       identical kernels in different binaries: built again, or
#       with 1 or 16 unused kernels before or after them in the module
#   OUT/load                             another process at work, see load.cu
set -eu
out=$1 arch=${2:-sm_90a}
here=$(cd "$(dirname "$0")" && pwd)
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$out/base" "$out/head" "$out/cross/base" "$out/cross/head"
compile() { # OPTIONS...
	"$nvcc" -std=c++20 -O3 --cudart=shared -Xcompiler=-fPIC \
		"--generate-code=arch=compute_90a,code=$arch" -Xfatbin -compress=false \
		-I"$here/../../kernels" "$@"
}
one() { # FOLDER NAME SHAPE EXTRA MORE...
	folder=$1 name=$2 shape=$3 extra=$4
	shift 4
	compile --shared -DSLOW_NAME="\"$name\"" -D"$shape" -DSLOW_EXTRA="$extra" "$@" \
		"$here/slow.cu" -o "$out/$folder/$name.so"
}
both() { # NAME SHAPE BASE HEAD MORE-OF-HEAD
	one base "$1" "$2" "$3" &
	one head "$1" "$2" "$4" ${5:-} &
}
# A base wastes 32 steps itself: the first trip through a loop costs more than the others.
chain() { # SHAPE NAME STEPS-OF-1-PERCENT
	for effect in 10 30 50 100 200 500; do
		name=$(printf '%s_%04d' "$2" $effect)
		both "$name" "$1" 32 $((32 + $3 * effect / 100))
	done
	both "$2_varies" "$1" "$3" "$3" -DSLOW_VARIES
	wait
}
chain SLOW_LATENCY latency 116  # of about 25 us
chain SLOW_COMPUTE compute 950  # of about 240 us
# Rows read twice of each 1000: their other reads overlap, so 1 % needs 66.
for effect in 10 30 50 100 200 500; do
	both "$(printf 'memory_%04d' $effect)" SLOW_MEMORY 0 $((66 * effect / 100))
done
both memory_varies SLOW_MEMORY 66 66 -DSLOW_VARIES
wait
group() { # GROUP EFFECT...
	group=$1
	shift
	mkdir -p "$out/$group/base" "$out/$group/head"
	for effect; do
		for side in base head; do
			for file in "$out/$side/"*"_$effect.so"; do
				ln -sf "../../$side/${file##*/}" "$out/$group/$side/"
			done
		done
	done
}
group near 0030 0050 0100
group sure 0010 0200 0500
group varies varies
group aa varies 0100 0200 0500 # many of the cheap ones, some of the others
rm -r "$out/aa/head" "$out/aa/base/compute_varies.so" "$out/aa/base/compute_0500.so" "$out/aa/base/memory_varies.so"
for effect in 0010 0030 0050; do
	ln -sf "../../base/latency_$effect.so" "$out/aa/base/"
done

# The machine code of the kernel that is timed, without the module around it, in hexadecimal.
code() { # SHAPE EXTRA MORE...
	shape=$1 extra=$2
	shift 2
	compile --cubin -DSLOW_NAME='""' -D"$shape" -DSLOW_EXTRA="$extra" "$@" "$here/slow.cu" -o "$scratch/cubin"
	readelf -S -W "$scratch/cubin" 2>/dev/null | sed -n 's/^ *\[ *[0-9]*\] *\.text\.[^ ]*slow_gemm[^ ]* *//p' |
		while read -r _ _ offset size _; do
			tail -c +$((0x$offset + 1)) "$scratch/cubin" | head -c $((0x$size)) | od -An -tx1 -v
		done
}
cross() { # SHAPE NAME EXTRA
	code "$1" "$3" >"$scratch/plain"
	for kind in again before_1 before_16 after_1 after_16; do
		case $kind in
		again) more= ;;
		before_*) more=-DSLOW_BEFORE=${kind#before_} ;;
		after_*) more=-DSLOW_AFTER=${kind#after_} ;;
		esac
		one cross/base "$2_$kind" "$1" "$3" &
		one cross/head "$2_$kind" "$1" "$3" $more &
		code "$1" "$3" $more >"$scratch/beside"
		[ -s "$scratch/plain" ] && cmp "$scratch/plain" "$scratch/beside" || {
			echo "build.sh: $2_$kind: the kernel's machine code is not the same" >&2
			exit 1
		}
	done
	wait
}
cross SLOW_LATENCY latency 32
cross SLOW_COMPUTE compute 32
cross SLOW_MEMORY memory 0
compile "$here/load.cu" -o "$out/load"
echo "$(ls "$out/base" | wc -l) pairs that differ, $(ls "$out/cross/base" | wc -l) that do not"
