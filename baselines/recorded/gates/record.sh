#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# record.sh [--seconds N] [--commits N] [--device NAME] [--policy FILE] OUT FOLDER [STEP...]: the main job, on the GPU
# of this machine and on this repository itself: what a gate says of changes whose truth is known, what a run over the
# past and its reports say, and how long each took from the command to the verdict. FOLDER is what prepare.sh makes.
# Steps, those that are named or all, in this order:
#   build        the base's libraries, all of them, from nothing
#   none         gates by the base's own policy (ci/plumb.cfg): no kernel touched,
#   again        the same in a store that knows every series,
#   comment      a comment in one kernel,
#   slower       one kernel about 0.5 % slower,
#   unbuildable  one that does not compile,
#   wrong        one whose result is wrong
#   gain         the gate of 43d5216, where FP8 gained, by policy.cfg, or FILE: a few kernels
#   builds       the newest N commits that touch kernels/gemm [20], four at once, by the same policy
#   run          `plumb run` over the range from the first of them to the base
#   history      of that run
#   site         of that run
#   nightly      ci/nightly with the same store, back to the base's third ancestor; needs git
# --seconds N [540] ends all of it after so long; what had no time is said. OUT gets machine.txt, log.txt, steps.csv (step,
# exit code, what it should be, seconds, last line), gates.tar.gz and run.tar.gz (reports, histories), gates.jsonl and
# run.jsonl (for `plumb import`), site.tar.gz. --device host tries it with host kernels.
# Exit: 0, 1 when a step did not end as it should, 4 when nothing could be done.
set -u
whole=540 commits=20 device=cuda policy=
while [ $# -gt 1 ]; do
	case $1 in
	--seconds) whole=$2 ;;
	--commits) commits=$2 ;;
	--device) device=$2 ;;
	--policy) policy=$(realpath "$2") ;;
	*) break ;;
	esac
	shift 2
done
[ $# -ge 2 ] || { sed -n '4,26s/^# //p' "$0"; exit 4; }
begun=$(date +%s)
here=$(cd "$(dirname "$0")" && pwd)
nightly=$here/../../../ci/nightly
policy=${policy:-$here/policy.cfg}
mkdir -p "$1" || exit 4
out=$(cd "$1" && pwd) folder=$(cd "$2" && pwd) || exit 4
shift 2
steps=${*:-build none again comment slower unbuildable wrong gain builds run history site nightly}
plumb=$folder/bin/plumb
[ -x "$plumb" ] && [ -d "$folder/repository.git" ] || { echo "record.sh: $folder is not what prepare.sh makes"; exit 4; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PATH="$PATH:/usr/local/cuda/bin" LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}/usr/local/cuda/lib64"
cp -R "$folder/repository.git" "$work/plumbline.git" # ours, whoever made the other
mkdir -p "$work/gates" "$work/run"
# The changes are of our own making, and there may be no bubblewrap.
common="-C $work/plumbline.git --cache $work/cache -d $device --sandbox auto"
base="$common --store $work/gates.db"
past="$common --store $work/run.db --policy $policy"
: >"$out/log.txt"
echo step,exit,expected,seconds,last_line >"$out/steps.csv"
say() { echo "$*" | tee -a "$out/log.txt"; }
left() { echo $((whole - $(date +%s) + begun - 8)); } # the end is packed in the rest
bad=0

machine() {
	date -u +'%F %T UTC'
	nvidia-smi --query-gpu=name,uuid,driver_version,power.limit,clocks.max.sm,clocks.sm,clocks.mem,temperature.gpu \
		--format=csv 2>&1
	uname -srm
	echo "$(nproc) processors, $(grep -m 1 'model name' /proc/cpuinfo | cut -d: -f2-)"
	for tool in nvcc cc cmake ninja git bwrap; do
		echo "$tool: $($tool --version 2>&1 | grep -i -m 1 -E '[0-9]+\.[0-9]' || echo none)"
	done
	"$plumb" --version
	echo "commit $(cat "$folder/commit")"
}
# NAME SECONDS EXPECTED COMMAND...: runs it for at most so long, and says how it ended. EXPECTED "-": any exit code.
step() {
	name=$1 limit=$2 expected=$3
	shift 3
	seconds=$(left)
	[ "$seconds" -lt "$limit" ] || seconds=$limit
	if [ "$seconds" -lt 5 ]; then
		say "== $name: left out, no time"
		echo "$name,,,$expected,left out" >>"$out/steps.csv"
		return 1
	fi
	say "== $name: $(echo "$*" | sed "s,$work/,,g; s,$folder/,,g; s,$here/,,g")"
	code=0 from=$(date +%s%N)
	timeout -k 5 "$seconds" "$@" >"$work/said" 2>&1 || code=$?
	wall=$(awk "BEGIN { printf \"%.2f\", ($(date +%s%N) - $from) / 1e9 }")
	cat "$work/said" >>"$out/log.txt"
	last=$(tail -n 1 "$work/said" | tr -d '"' | cut -c1-300)
	verdict="exit $code in $wall s: $last"
	case $code in
	124 | 137) verdict="ended by its time limit of $seconds s: $last" bad=1 ;;
	"$expected") ;;
	*) [ "$expected" = - ] || { verdict="NOT $expected: $verdict" bad=1; } ;;
	esac
	say "== $name: $verdict"
	echo "$name,$code,$expected,$wall,\"$last\"" >>"$out/steps.csv"
}
gate() { # NAME EXPECTED BASE HEAD OPTIONS...
	name=$1 expected=$2 old=$3 new=$4
	shift 4
	# shellcheck disable=SC2086 # options without blanks
	step "$name" 150 "$expected" "$plumb" gate "$@" --base "$old" --head "$new" --out "$work/gates/$name" || return 0
	cp "$work/said" "$work/gates/$name.txt"
}
one() { # STEP
	# shellcheck disable=SC2086 # lists of options without blanks
	case $1 in
	build) step build 240 - "$plumb" list $base kernels base ;;
	none | comment) gate "$1" 0 base "$1" $base ;;
	again) gate again 0 base none $base ;;
	slower) gate slower 1 base slower $base ;;
	unbuildable | wrong) gate "$1" 3 base "$1" $base ;;
	gain) gate gain 0 before gain $common --store "$work/gates.db" --policy "$policy" ;;
	builds)
		head -n "$commits" "$folder/commits" >"$work/wanted"
		step builds 200 - xargs -P 4 -n 1 "$plumb" list $past --quiet kernels <"$work/wanted"
		;;
	run)
		first=$(head -n "$commits" "$folder/commits" | tail -n 1)
		step run 300 - "$plumb" run $past --first-parent "$first^..base"
		cp "$work/said" "$work/run/run.txt"
		;;
	history)
		step history 30 - "$plumb" history -C "$work/plumbline.git" --store "$work/run.db"
		cp "$work/said" "$work/run/history.txt"
		"$plumb" history -C "$work/plumbline.git" --store "$work/run.db" --format json >"$work/run/history.json"
		;;
	site) step site 60 0 "$plumb" site -C "$work/plumbline.git" --store "$work/run.db" --out "$work/site" ;;
	nightly)
		step nightly 120 - "$nightly" --plumb "$plumb" --repo "$work/plumbline.git" --back 3 --device "$device" \
			--store "$work/run.db" --policy "$policy" --out "$work/run/nightly"
		;;
	*) say "$1: no such step"; bad=1 ;;
	esac
}
machine >"$out/machine.txt"
[ "$device" = host ] || nvidia-smi >/dev/null 2>&1 || { echo "record.sh: no GPU here"; exit 4; }
for each in $steps; do
	one "$each"
done
machine | head -n 3 >>"$out/machine.txt"
for name in gates run; do
	tar -czf "$out/$name.tar.gz" -C "$work" "$name"
	[ ! -f "$work/$name.db" ] || "$plumb" export --store "$work/$name.db" --format json >"$out/$name.jsonl"
done
[ ! -d "$work/site" ] || tar -czf "$out/site.tar.gz" -C "$work" site
say "in all: $(($(date +%s) - begun)) s"
exit $bad
