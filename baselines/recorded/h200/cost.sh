#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# cost.sh OUT [PLUMB [REPOSITORY]]: what gates with 1, 20 and 200 changed series cost on the H200 of this machine:
# a minute of it; writes OUT/gates.txt and a table of each gate. REPOSITORY is what the other form makes, by default
# made here. COST_SECONDS in the environment: no gate begins after so many.
# cost.sh --build REPOSITORY: needs git and nvcc (63 small libraries, minutes), no GPU.
set -eu
[ $# -ge 1 ] || { sed -n '4,7s/^# //p' "$0"; exit 4; }
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ "$1" != --build ]; then
	mkdir -p "$1"
	out=$(cd "$1" && pwd) plumb=$(realpath "$(command -v "${2:-plumb}")") repository=${3:-}
	if [ -z "$repository" ]; then
		repository=$work/cost.git
		sh "$0" --build "$repository"
	fi
	repository=$(realpath "$repository")
	begun=$(date +%s)
	# No disassembler: it takes the host 0.9 s for each library that alarms, and the GPU nothing.
	PATH=$(echo "$PATH" | tr : '\n' | grep -v cuda | paste -sd:)
	nvidia-smi --query-gpu=name,driver_version,clocks.max.sm,power.limit --format=csv,noheader >"$out/machine.txt"
	for head in one twenty slower mixed; do
		if [ $(($(date +%s) - begun)) -gt "${COST_SECONDS:-1000}" ]; then
			echo "== $head: left out, no time"
			continue
		fi
		echo "== $head"
		code=0 from=$(date +%s%N)
		timeout 150 "$plumb" gate -C "$repository" --policy "$here/cost/policy.cfg" --base base --head $head \
			--sandbox off --store "$work/$head.db" --cache "$work/cache" --out "$work/report-$head" \
			>"$work/log" 2>&1 || code=$?
		echo "exit $code, wall $((($(date +%s%N) - from) / 10000000)) hundredths of a second"
		grep 'side by side' "$work/log" || true
		tail -n 1 "$work/log" | cut -c1-300
		"$plumb" export --store "$work/$head.db" --format csv >"$out/$head.csv" || true
	done | tee "$out/gates.txt"
	exit
fi

mkdir -p "$(dirname "$2")"
target=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
slow=$here/../../../tests/slow/slow.cu
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
mkdir -p "$work/base" "$work/slow" "$work/same" "$work/repo/lib"

# As it is, slower by about EFFECT hundredths of a percent, and other code that takes the same time.
kernel() { # NAME SHAPE BASE STEPS-OF-1-PERCENT EFFECT
	for side in base:$3 slow:$(($3 + $4 * $5 / 100)) same:$(($3 + 1)); do
		"$nvcc" -std=c++20 -O3 --shared --cudart=shared -Xcompiler=-fPIC \
			--generate-code=arch=compute_90a,code=sm_90a -Xfatbin -compress=false \
			-I"$here/../../../kernels" -DSLOW_NAME="\"$1\"" -D"$2" -DSLOW_EXTRA="${side#*:}" \
			"$slow" -o "$work/${side%:*}/$1.so" &
	done
	wait
}
kernel one_series SLOW_LATENCY 32 116 100
set -- 50 100 200 500 50 100 200 500
for i in 0 1 2 3 4 5 6 7; do
	kernel latency_$i SLOW_LATENCY 32 116 "$1"
	[ $i -gt 5 ] || kernel compute_$i SLOW_COMPUTE 32 950 "$1"
	[ $i -gt 5 ] || kernel memory_$i SLOW_MEMORY 0 66 "$1"
	shift
done

cd "$work/repo"
git init -q -b base .
git config user.email bench@example.org
git config user.name bench
commit() { # BRANCH FILE...
	[ "$1" = base ] || git checkout -q -b "$1" base
	branch=$1
	shift
	cp "$@" lib/
	git add lib
	git commit -qm "$branch"
}
commit base ../base/*
commit one ../slow/one_series.so
commit twenty ../slow/latency_1.so ../slow/compute_1.so
commit slower ../slow/latency* ../slow/compute* ../slow/memory*
commit mixed ../same/latency* ../same/compute* ../same/memory* # and then some of them slower
cp ../slow/*_2.so ../slow/latency_6.so lib/
git commit -qam mixed
git clone -q --bare . "$work/cost.git"
rm -rf "$target"
mv "$work/cost.git" "$target"
