#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# build.sh OUT [ARCH]: what a study needs.
#   OUT/base/NAME.so, OUT/head/NAME.so   for every shape and effect. NAME says the shape and about
#       how much slower the head is, in hundredths of a percent. The chain's lengths are for an
#       H200; the effect that counts is the one that is measured.
#   OUT/near, OUT/sure, OUT/varies       the same pairs again, by how hard they are to tell apart
#   OUT/half                             the compute kernel at 0.5 %, three times
#   OUT/gemm                             a tensor-core kernel in BF16 and FP8, +0.5 or +1.6 % by K (gemm.cu)
#   OUT/aa/base                          some of the bases again: 7 latency, 3 memory, 2 compute
#   OUT/cross, OUT/gemmcross             identical kernels in different binaries: built again, or
#       with 1 or 16 unused kernels before or after them in the module; of slow.cu and of gemm.cu
#   OUT/steps                            those of OUT/gemm, and those of OUT/gemmcross that are built again
#   OUT/load                             another process at work, see load.cu
set -eu
out=$1 arch=${2:-sm_90a}
here=$(cd "$(dirname "$0")" && pwd)
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for folder in . cross gemm gemmcross half; do
	mkdir -p "$out/$folder/base" "$out/$folder/head"
done
libraries=$(cd "$(dirname "$(realpath "$nvcc")")/../lib64" && pwd)
compile() { # OPTIONS...
	"$nvcc" -std=c++20 -O3 --cudart=shared -Xcompiler=-fPIC,-fvisibility=hidden \
		"--generate-code=arch=compute_90a,code=$arch" -Xfatbin -compress=false \
		-Xlinker "-rpath=$libraries" -I"$here/../../kernels" "$@"
}
source_of() { # SHAPE
	case $1 in
	SLOW_BF16 | SLOW_E4M3) echo "$here/gemm.cu" ;;
	*) echo "$here/slow.cu" ;;
	esac
}
one() { # FOLDER NAME SHAPE EXTRA MORE...
	folder=$1 name=$2 shape=$3 extra=$4
	shift 4
	compile --shared -DSLOW_NAME="\"$name\"" -D"$shape" -DSLOW_EXTRA="$extra" "$@" \
		"$(source_of "$shape")" -o "$out/$folder/$name.so"
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
for copy in a b c; do
	one half/base compute_0050_$copy SLOW_COMPUTE 32 &
	one half/head compute_0050_$copy SLOW_COMPUTE $((32 + 950 / 2)) &
done
for type in bf16 e4m3; do
	shape=SLOW_$(echo $type | tr "[:lower:]" "[:upper:]")
	one gemm/base ${type}_0050 "$shape" 0 &
	one gemm/head ${type}_0050 "$shape" 1 &
done
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
	compile --cubin -DSLOW_NAME='""' -D"$shape" -DSLOW_EXTRA="$extra" "$@" "$(source_of "$shape")" -o "$scratch/cubin"
	readelf -S -W "$scratch/cubin" 2>/dev/null |
		sed -En 's/^ *\[ *[0-9]*\] *\.text\.[^ ]*(slow|persistent)_gemm[^ ]* *//p' |
		while read -r _ _ offset size _; do
			tail -c +$((0x$offset + 1)) "$scratch/cubin" | head -c $((0x$size)) | od -An -tx1 -v
		done
}
cross() { # FOLDER SHAPE NAME EXTRA
	folder=$1
	shift
	code "$1" "$3" >"$scratch/plain"
	for kind in again before_1 before_16 after_1 after_16; do
		case $kind in
		again) more= ;;
		before_*) more=-DSLOW_BEFORE=${kind#before_} ;;
		after_*) more=-DSLOW_AFTER=${kind#after_} ;;
		esac
		one "$folder/base" "$2_$kind" "$1" "$3" &
		one "$folder/head" "$2_$kind" "$1" "$3" $more &
		code "$1" "$3" $more >"$scratch/beside"
		[ -s "$scratch/plain" ] && cmp "$scratch/plain" "$scratch/beside" || {
			echo "build.sh: $2_$kind: the kernel's machine code is not the same" >&2
			exit 1
		}
	done
	wait
}
cross cross SLOW_LATENCY latency 32
cross cross SLOW_COMPUTE compute 32
cross cross SLOW_MEMORY memory 0
cross gemmcross SLOW_BF16 bf16 0
cross gemmcross SLOW_E4M3 e4m3 0
mkdir -p "$out/steps/base" "$out/steps/head"
for side in base head; do
	for type in bf16 e4m3; do
		ln -sf "../../gemm/$side/${type}_0050.so" "../../gemmcross/$side/${type}_again.so" "$out/steps/$side/"
	done
done
compile "$here/load.cu" -o "$out/load"
echo "$(ls "$out/base" | wc -l) pairs that differ, $(ls "$out/cross/base" | wc -l) that do not"
