#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# units.sh OUT PLUMB LIBRARIES: a gate of 200 changed series on one GPU of this host, on two and, where there are, on
# four (`units` of the policy's device), then gates of identical code on all of them at once, so that each has
# neighbours at work. LIBRARIES is what tests/slow/build.sh makes, with LIBRARIES/cost.git of cost.sh. Two minutes;
# writes OUT/gates.txt, what each gate said, and a row per gate of the study.
set -eu
[ $# -eq 3 ] || { sed -n '4,8s/^# //p' "$0"; exit 4; }
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd) plumb=$(realpath "$2") libraries=$(realpath "$3")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}/usr/local/cuda/lib64"
# No disassembler, as in cost.sh.
PATH=$(echo "$PATH" | tr : '\n' | grep -v cuda | paste -sd:)
nvidia-smi --query-gpu=index,uuid,name,driver_version,clocks.max.sm,power.limit,temperature.gpu --format=csv >"$out/machine.txt"
gpus=$(nvidia-smi --query-gpu=index --format=csv,noheader | wc -l)
gate() { # NAME UNITS HEAD
	[ "$2" -le "$gpus" ] || return 0
	sed "s/kind = cuda/kind = cuda\n\tunits = $2/" "$here/cost/policy.cfg" >"$work/$2.cfg"
	code=0 from=$(date +%s%N)
	timeout 150 "$plumb" gate -C "$libraries/cost.git" --policy "$work/$2.cfg" --base base --head "$3" --sandbox off \
		--store "$work/$1.db" --cache "$work/cache" --out "$work/report-$1" >"$out/$1.txt" 2>&1 || code=$?
	echo "$1: $2 GPUs, wall $((($(date +%s%N) - from) / 1000000)) ms, exit $code; $(grep 'side by side' "$out/$1.txt"); $(tail -n 1 "$out/$1.txt")"
}
study() { # NAME SECONDS FOLDER OPTIONS
	name=$1 seconds=$2 folder=$3
	shift 3
	timeout $((seconds + 60)) "$plumb" study --device cuda --units "$gpus" --base "$libraries/$folder/base" --rounds 1000 \
		--seconds "$seconds" "$@" --csv "$out/study-$name.csv" >"$out/study-$name.txt" 2>&1 || echo "study $name: exit $?"
	echo "$name: $(grep A/A: "$out/study-$name.txt")"
}
{
	gate warm 1 one
	gate one-a 1 slower
	gate two-a 2 slower
	gate four-a 4 slower
	gate four-b 4 slower
	gate two-b 2 slower
	gate one-b 1 slower
	study latency 30 aa --kernel 'latency*' --problem 64x64x128:fp32 --problem 64x64x256:fp32 --problem 64x64x384:fp32 \
		--problem 64x128x128:fp32 --problem 64x128x256:fp32 --problem 64x128x384:fp32 --problem 128x64x256:fp32
	study tensor 20 steps --problem 4096x4096x4096:bf16 --problem 2048x2048x2048:bf16 --problem 4096x4096x4096:e4m3 \
		--problem 2048x2048x4096:e4m3
} | tee "$out/gates.txt"
