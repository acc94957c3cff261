#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# study.sh OUT [PLUMB [SECONDS]]: the gate on CPU kernels of this machine, some minutes of two cores, no GPU. The kernel
# `blocked` packs 50, 60 or 80 % of each block of B once more in the head. Writes OUT/study.csv, OUT/study.txt and
# OUT/machine.txt.
set -eu
[ $# -ge 1 ] || { sed -n '4,6s/^# //p' "$0"; exit 4; }
mkdir -p "$1"
out=$(cd "$1" && pwd) plumb=$(realpath "$(command -v "${2:-plumb}")") seconds=${3:-300}
root=$(cd "$(dirname "$0")/../../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/base" "$work/head"
sed 's/^            pack_b(packed, \(.*\), depth, cols);/&\n            pack_b(packed, \1, depth * SHARE \/ 100, cols);/
	s/\.name = "blocked"/.name = NAME/' "$root/kernels/gemm/host/blocked.c" >"$work/blocked.c"
build() { # SIDE NAME SHARE
	cc -std=c17 -D_GNU_SOURCE -O3 -shared -fPIC -fvisibility=hidden -I"$root/kernels/gemm/host" -I"$root/kernels" -I"$root" \
		-DSHARE="$3" -DNAME="\"$2\"" "$work/blocked.c" -o "$work/$1/$2.so"
}
for share in 50 60 80; do
	build base "again_$share" 0
	build head "again_$share" "$share"
done
{
	sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | sort | uniq -c
	uname -srm
	echo "load before: $(cut -d' ' -f1-3 /proc/loadavg)"
} >"$out/machine.txt"
"$plumb" study --device host --base "$work/base" --head "$work/head" --faster --rounds 60 --seconds "$seconds" \
	--problem 96x256x128:fp32 --problem 192x256x256:fp32 --csv "$out/study.csv" >"$out/study.txt" 2>&1 || echo "exit $?"
echo "load after: $(cut -d' ' -f1-3 /proc/loadavg)" >>"$out/machine.txt"
tail -n 3 "$out/study.txt"
