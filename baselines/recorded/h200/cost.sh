#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# cost.sh OUT [PLUMB]: what gates with 1, 20 and 200 changed series cost on the H200 of this machine.
# Needs git, nvcc (63 small libraries, minutes) and about a minute of the GPU; writes OUT/gates.txt and a
# table of each gate.
set -eu
[ $# -ge 1 ] || { sed -n '4,6s/^# //p' "$0"; exit 4; }
mkdir -p "$1"
out=$(cd "$1" && pwd) plumb=$(realpath "$(command -v "${2:-plumb}")")
here=$(cd "$(dirname "$0")" && pwd)
slow=$here/../../../tests/slow/slow.cu
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/base" "$work/slow" "$work/same" "$work/repo/lib"

# As it is, slower by about EFFECT hundredths of a percent, and other code that takes the same time.
kernel() { # NAME SHAPE BASE STEPS-OF-1-PERCENT EFFECT
	for side in base:$3 slow:$(($3 + $4 * $5 / 100)) same:$(($3 + 1)); do
		"$nvcc" -std=c++20 -O3 --shared --cudart=shared -Xcompiler=-fPIC \
			--generate-code=arch=compute_90a,code=sm_90a -Xfatbin -compress=false \
			-I"$here/../../../kernels" -DSLOW_NAME="\"$1\"" -D"$2" -DSLOW_EXTRA=${side#*:} \
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

nvidia-smi --query-gpu=name,driver_version,clocks.max.sm,power.limit --format=csv,noheader >"$out/machine.txt"
for head in one twenty slower mixed; do
	echo "== $head"
	code=0
	"$plumb" gate --policy "$here/cost/policy.cfg" --base base --head $head --store "$work/$head.db" \
		--cache "$work/cache" --out "$work/report" >"$work/log" 2>&1 || code=$?
	grep 'side by side' "$work/log" || true
	echo "exit $code"
	tail -n 1 "$work/log" | cut -c1-300
	"$plumb" export --store "$work/$head.db" --format csv >"$out/$head.csv"
done | tee "$out/gates.txt"
