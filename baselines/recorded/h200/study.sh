#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# study.sh [--short] OUT [PLUMB [LIBRARIES]]: what the gate finds and what it cries wolf over, on the H200 of
# this machine: about 330 s of it, or 30 s with --short (one round of each). LIBRARIES is what tests/slow/build.sh
# makes, by default made here (needs nvcc). Writes into OUT, for each part, study-PART.csv (a row per gate) and
# PART.txt (a row per series):
#   near, sure   effects of 0.3 to 1 %, and of 0.1, 2 and 5 %, as slower and as faster, beside gates with themselves
#   varies       the spread grows, the mean does not
#   aa           gates of libraries with themselves
#   step, neighbour  the same while another process heats the GPU by turns, or takes bandwidth and time slices
#   cross        identical kernels in different binaries, 64 pairs a process
#   pairs        64 pairs a process of everything in near, with its times in samples-pairs.csv: for other tools' rules
set -eu
short= load_s=40
[ "${1:-}" != --short ] || { short=1 load_s=8; shift; }
[ $# -ge 1 ] || { sed -n '4,15s/^# //p' "$0"; exit 4; }
mkdir -p "$1"
out=$(cd "$1" && pwd) plumb=${2:-plumb} libraries=${3:-}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -z "$libraries" ]; then
	libraries=$work/libraries
	sh "$here/../../../tests/slow/build.sh" "$libraries" >"$out/build.log" 2>&1
fi
nvidia-smi --query-gpu=name,driver_version,clocks.max.sm,power.limit --format=csv,noheader >"$out/machine.txt"
study() { # PART FOLDER ROUNDS SECONDS OPTIONS
	part=$1 folder=$2 rounds=${short:-$3} seconds=$4
	shift 4
	begun=$(date +%s)
	"$plumb" study --device cuda --base "$libraries/$folder/base" --rounds "$rounds" --seconds "$seconds" \
		--problem 64x64x128:fp32 --problem 64x64x256:fp32 --problem 64x128x384:fp32 \
		--problem 1024x1024x2048:fp32 --problem 65536x4x1024:fp32 \
		"$@" --csv "$out/study-$part.csv" >"$out/$part.txt" || echo "$part: exit $?"
	echo "$part: $(($(date +%s) - begun)) s; $(tail -2 "$out/$part.txt" | head -1)"
}
beside() { # PATTERN: a study while another process works
	"$libraries/load" "$1" "$load_s" >"$out/load-$1.txt" &
	load=$!
	sleep 1
	study "$1" near 4 22
	kill "$load" 2>/dev/null || :
	wait "$load" 2>/dev/null || :
}
study near near 16 90 --head "$libraries/near/head" --faster
study sure sure 5 30 --head "$libraries/sure/head" --faster
study varies varies 8 14 --head "$libraries/varies/head"
study cross cross 24 34 --head "$libraries/cross/head" --exact-pairs 64
beside step
beside neighbour
study pairs near 16 34 --head "$libraries/near/head" --exact-pairs 64 --samples "$out/samples-pairs.csv"
study aa . 80 80
