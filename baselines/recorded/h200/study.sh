#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# study.sh OUT [PLUMB]: what the gate finds and what it cries wolf over, on the H200 of this machine.
# Needs nvcc and about four minutes of the GPU; writes OUT/study-slower.csv and study-faster.csv (a row per gate) and
# the tables slower.txt, faster.txt.
set -eu
[ $# -ge 1 ] || { sed -n '4,6s/^# //p' "$0"; exit 4; }
mkdir -p "$1"
out=$(cd "$1" && pwd) plumb=${2:-plumb}
here=$(cd "$(dirname "$0")" && pwd)
libraries=$(mktemp -d)
trap 'rm -rf "$libraries"' EXIT
sh "$here/../../../tests/slow/build.sh" "$libraries"
nvidia-smi --query-gpu=name,driver_version,clocks.max.sm,power.limit --format=csv,noheader >"$out/machine.txt"
study() { # NAME OPTIONS
	name=$1
	shift
	"$plumb" study --device cuda --base "$libraries/base" --head "$libraries/head" \
		--problem 64x64x128:fp32 --problem 64x64x256:fp32 --problem 64x128x384:fp32 \
		--problem 1024x1024x2048:fp32 --problem 65536x4x1024:fp32 \
		"$@" --csv "$out/study-$name.csv" >"$out/$name.txt"
	tail -2 "$out/$name.txt"
}
study slower --rounds 30 --seconds 190
study faster --rounds 6 --seconds 40 --faster
