#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# study.sh [--short] OUT [PLUMB [LIBRARIES [PART[:SECONDS]...]]]: what the gate finds and what it cries wolf over, on
# the H200 of this machine: about 390 s of it, or 30 s with --short (one round of each part). LIBRARIES is what
# tests/slow/build.sh makes, by default made here (needs nvcc). Writes into OUT, for each part, study-PART.csv (a row
# per gate) and PART.txt (a row per series), and study.jsonl, all of it for `plumb import`. SIDE_BY_SIDE=1 in the
# environment plays the series one after another. Parts, all or those that are named:
#   near, sure   effects of 0.3 to 1 %, and of 0.1, 2 and 5 %, as slower and as faster, beside gates with themselves
#   varies       the spread grows, the mean does not
#   aa           gates of libraries with themselves
#   step, neighbour  the same while another process heats the GPU by turns, or takes bandwidth and time slices; times
#                in samples-PART.csv
#   cross        identical kernels in different binaries, 64 pairs a process
#   pairs        192 pairs a process of everything in near, with its times in samples-pairs.csv: for other tools' rules
set -eu
short= load_s=60
[ "${1:-}" != --short ] || { short=1 load_s=8; shift; }
[ $# -ge 1 ] || { sed -n '4,19s/^# //p' "$0"; exit 4; }
mkdir -p "$1"
out=$(cd "$1" && pwd) plumb=${2:-plumb} libraries=${3:-}
if [ $# -ge 3 ]; then shift 3; else shift $#; fi
parts=$*
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -z "$libraries" ]; then
	libraries=$work/libraries
	sh "$here/../../../tests/slow/build.sh" "$libraries" >"$out/build.log" 2>&1
fi
nvidia-smi --query-gpu=name,driver_version,clocks.max.sm,power.limit --format=csv,noheader >"$out/machine.txt"
three="--problem 64x64x128:fp32 --problem 64x64x256:fp32 --problem 64x128x384:fp32"
five="$three --problem 1024x1024x2048:fp32 --problem 65536x4x1024:fp32"
many="$five --problem 64x64x192:fp32 --problem 64x96x256:fp32 --problem 32x64x512:fp32 --problem 64x128x256:fp32
	--problem 64x64x384:fp32"
wanted() { # PART: is it? Sets `limit`, its seconds if they were given
	limit=
	[ -n "$parts" ] || return 0
	for one in $parts; do
		case $one in
		"$1") return 0 ;;
		"$1":*) limit=${one#*:}; return 0 ;;
		esac
	done
	return 1
}
study() { # PART FOLDER ROUNDS SECONDS OPTIONS
	wanted "$1" || return 0
	part=$1 folder=$2 rounds=${short:-$3} seconds=${limit:-$4}
	shift 4
	begun=$(date +%s)
	# shellcheck disable=SC2086 # lists of words
	timeout $((seconds + 60)) "$plumb" study --device cuda --base "$libraries/$folder/base" --rounds "$rounds" \
		--seconds "$seconds" ${SIDE_BY_SIDE:+--side-by-side "$SIDE_BY_SIDE"} --store "$work/study.db" \
		"$@" --csv "$out/study-$part.csv" >"$out/$part.txt" 2>&1 || echo "$part: exit $?"
	echo "$part: $(($(date +%s) - begun)) s; $(grep ^A/A: "$out/$part.txt")"
}
beside() { # PATTERN: a study while another process works
	wanted "$1" || return 0
	"$libraries/load" "$1" "$load_s" >"$out/load-$1.txt" &
	load=$!
	sleep 1
	study "$1" near 20 30 --samples "$out/samples-$1.csv" $five
	kill "$load" 2>/dev/null || :
	wait "$load" 2>/dev/null || :
}
study near near 10 85 --head "$libraries/near/head" --faster $five
study cross cross 24 78 --head "$libraries/cross/head" --exact-pairs 64 $five
study pairs near 8 28 --head "$libraries/near/head" --exact-pairs 192 --samples "$out/samples-pairs.csv" $five
study aa aa 50 125 $many
study sure sure 5 15 --head "$libraries/sure/head" --faster $five
study varies varies 8 10 --head "$libraries/varies/head" $five
beside step
beside neighbour
"$plumb" export --store "$work/study.db" --format json >"$out/study.jsonl"
