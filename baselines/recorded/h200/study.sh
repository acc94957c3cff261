#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# study.sh [--short] [--seconds N] OUT [PLUMB [LIBRARIES [PART[:SECONDS]...]]]: what the gate finds and what it cries
# wolf over, on the H200 of this machine. LIBRARIES is what tests/slow/build.sh makes, by default made here (needs
# nvcc). Writes into OUT, for each part, study-PART.csv (a row per gate) and PART.txt (a row per series), and
# study.jsonl, all of it for `plumb import`. Parts, those that are named or all, most important first, with the seconds
# after which each begins no further round (what all its rounds took when they were recorded):
#   half  55       0.5 % of the compute kernel, three times, as slower and as faster: 66 gates
#   gemm  50       a tensor-core kernel in BF16 and FP8 with one slab of K too many: +0.5 %, and +1.6 and +3.1 %
#   step  50       the same and byte-identical ones while another process heats the GPU by turns so that the clock
#                  steps; says how far it did; samples-step.csv has times and clocks, clocks-step.csv each block's
#   gemmaa  25     tensor-core kernels with themselves: 8 gates a round
#   gemmcross  75  identical tensor-core kernels in different binaries, 64 pairs a process, 4096^3 and about 24 us
#   sure  55       effects of 0.1, 2 and 5 %, as slower and as faster, beside gates with themselves: 20 gates a cell
#   cost  60       cost.sh, into OUT/cost; LIBRARIES/cost.git, if it is there, is its repository
#   varies  30     the spread grows, the mean does not
#   neighbour  40  another process takes bandwidth and time slices; samples-neighbour.csv, clocks-neighbour.csv
#   memory  40     memory.sh: blocks of identical code, both builds on the same device memory and each on its own
#   near  85       effects of 0.3 to 1 %
#   aa  125        gates of libraries with themselves
#   cross  78      identical kernels of slow.cu in different binaries
#   pairs  28      192 pairs a process of everything in near, with times in samples-pairs.csv: for other tools' rules
# --seconds ends all of it after so long: what is less important gets less, or is left out, and that is said.
# --short: one round of each. Series are played as a gate does, up to 64 at once; SIDE_BY_SIDE=1 in the environment
# plays them one after another instead, as cross and pairs were recorded.
set -eu
short='' whole=''
while :; do
	case ${1:-} in
	--short) short=1 ;;
	--seconds) whole=$2; shift ;;
	*) break ;;
	esac
	shift
done
[ $# -ge 1 ] || { sed -n '4,30s/^# //p' "$0"; exit 4; }
begun=$(date +%s)
mkdir -p "$1"
out=$(cd "$1" && pwd) plumb=$(realpath "$(command -v "${2:-plumb}")") libraries=${3:-}
if [ $# -ge 3 ]; then shift 3; else shift $#; fi
parts=$*
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -z "$libraries" ]; then
	libraries=$work/libraries
	sh "$here/../../../tests/slow/build.sh" "$libraries" >"$out/build.log" 2>&1
fi
libraries=$(realpath "$libraries")
export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}/usr/local/cuda/lib64"
nvidia-smi --query-gpu=name,driver_version,clocks.max.sm,power.limit --format=csv,noheader >"$out/machine.txt"
three="--problem 64x64x128:fp32 --problem 64x64x256:fp32 --problem 64x128x384:fp32"
five="$three --problem 1024x1024x2048:fp32 --problem 65536x4x1024:fp32"
many="$five --problem 64x64x192:fp32 --problem 64x96x256:fp32 --problem 32x64x512:fp32 --problem 64x128x256:fp32
	--problem 64x64x384:fp32"
cubes="--problem 4096x4096x4096:bf16 --problem 4096x4096x4096:e4m3"
deep="--problem 3072x2816x12288:bf16 --problem 3072x2816x24576:e4m3" # two waves of tiles, 192 slabs
waves="--problem 2048x2048x2048:bf16 --problem 2048x2048x4096:e4m3" # one wave, 32 slabs

wanted() { # PART SECONDS: is it, and is there time for it? Sets `seconds`.
	part=$1 seconds=$2
	if [ -n "$parts" ]; then
		for one in $parts none; do
			case $one in
			"$part") break ;;
			"$part":*) seconds=${one#*:}; break ;;
			esac
		done
		[ "$one" != none ] || return 1
	fi
	[ -n "$whole" ] || return 0
	# A round that has begun ends some seconds later.
	left=$((whole - $(date +%s) + begun - 12))
	[ "$left" -lt "$seconds" ] || return 0
	seconds=$left
	[ "$seconds" -lt 8 ] || return 0
	echo "$part: left out, no time"
	return 1
}
study() { # FOLDER ROUNDS OPTIONS: of `part`, in `seconds`
	folder=$1 rounds=${short:-$2}
	shift 2
	from=$(date +%s) limit=$((seconds + 60))
	[ -z "$whole" ] || [ "$limit" -lt $((whole - from + begun)) ] || limit=$((whole - from + begun))
	# shellcheck disable=SC2086 # lists of words
	timeout "$limit" "$plumb" study --device cuda --base "$libraries/$folder/base" --rounds "$rounds" \
		--seconds "$seconds" ${SIDE_BY_SIDE:+--side-by-side "$SIDE_BY_SIDE"} --store "$work/study.db" \
		"$@" --csv "$out/study-$part.csv" >"$out/$part.txt" 2>&1 || echo "$part: exit $?: $(tail -n 1 "$out/$part.txt")"
	case $part in
	*cross | pairs) said="$(awk '!/^kind/' "$out/study-$part.csv" | wc -l) series of an exact number of pairs, no gates" ;;
	*) said=$(grep ^A/A: "$out/$part.txt" || echo 'no A/A') ;;
	esac
	echo "$part: $(($(date +%s) - from)) s; $said"
}
identical() { # KERNELS: of study-PART.csv, whose head is the same machine code: alarms among them
	awk -F, -v part="$part" -v kernels="$1" '$1 == "slower" && $2 ~ kernels {
		gates++; alarms += $5 == "slower" || $5 == "faster"
	} END { printf "%s: other binaries of the same kernel: %d alarms in %d\n", part, alarms, gates }' "$out/study-$part.csv"
}
beside() { # FOLDER ROUNDS OPTIONS: a study while another process works
	load=$libraries/load
	set -- "$@" --samples "$out/samples-$part.csv"
	if [ "$part" = step ]; then
		"$load" step $((seconds + 60)) "$libraries/gemm/base/bf16_0050.so" >"$out/load-$part.txt" 2>&1 &
	else
		"$load" "$part" $((seconds + 60)) >"$out/load-$part.txt" 2>&1 &
	fi
	load=$!
	sleep 1
	study "$@"
	kill "$load" 2>/dev/null || echo "$part: the other process had ended: $(tail -n 1 "$out/load-$part.txt")"
	wait "$load" 2>/dev/null || :
	sh "$here/clocks.sh" "$out/samples-$part.csv" "$out/clocks-$part.csv"
}
# shellcheck disable=SC2086 # lists of words
{
	wanted half 55 && study half 11 --head "$libraries/half/head" --faster --problem 1024x1024x2048:fp32
	wanted gemm 50 && study gemm 10 --head "$libraries/gemm/head" --faster $deep $cubes
	wanted step 50 && beside steps 30 --head "$libraries/steps/head" $cubes && identical _again
	wanted gemmaa 25 && study steps 40 $cubes $deep
	wanted gemmcross 75 && study gemmcross 24 --head "$libraries/gemmcross/head" --exact-pairs 64 $cubes $waves
	wanted sure 55 && study sure 10 --head "$libraries/sure/head" --faster $five
	if wanted cost 60; then
		repository=
		[ ! -d "$libraries/cost.git" ] || repository=$libraries/cost.git
		COST_SECONDS=$seconds sh "$here/cost.sh" "$out/cost" "$plumb" $repository || echo "cost: exit $?"
	fi
	wanted varies 30 && study varies 10 --head "$libraries/varies/head" --faster $five
	wanted neighbour 40 && beside near 20 --head "$libraries/near/head" $five
	if wanted memory 40; then
		sh "$here/memory.sh" "$out/memory.csv" "$(dirname "$plumb")/bench" "$libraries" ${short:-24} "$seconds" \
			>"$out/memory.txt" 2>&1 || echo "memory: exit $?: $(tail -n 1 "$out/memory.txt")"
		grep -e '^| all' -e '^memory.sh' "$out/memory.txt" || echo "memory: no blocks"
	fi
	wanted near 85 && study near 10 --head "$libraries/near/head" --faster $five
	wanted aa 125 && study aa 50 $many
	wanted cross 78 && study cross 24 --head "$libraries/cross/head" --exact-pairs 64 $five
	wanted pairs 28 && study near 8 --head "$libraries/near/head" --exact-pairs 192 --samples "$out/samples-pairs.csv" $five
} || :
[ ! -f "$work/study.db" ] || "$plumb" export --store "$work/study.db" --format json >"$out/study.jsonl"
echo "in all: $(($(date +%s) - begun)) s"
