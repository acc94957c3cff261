#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# places.sh OUT BIN LIBRARIES [SECONDS]: what identical series differ by from place to place, when the device code of a record is
# loaded once, sixteen or 32 times a side (more than sixteen from the 33rd pair on, and only where one launch is timed). BIN holds
# plumb and bench, LIBRARIES the kernels' libraries. A place is one open series of a record with itself; eight are open in a process,
# each elsewhere. Ends after about SECONDS [100].
# OUT/pairs.csv has a line a place with the log ratios of its pairs in percent, OUT/table.md the sums:
#   RMS      of the places' trimmed means
#   chance   what their standard errors let one expect
set -eu
[ $# -ge 3 ] || { sed -n '4,10s/^# //p' "$0"; exit 4; }
out=$1 bin=$2 libraries=$3 end=$(($(date +%s) + ${4:-100}))
mkdir -p "$out"
{
	nvidia-smi --query-gpu=name,driver_version,power.limit,clocks.max.sm --format=csv,noheader 2>/dev/null || true
	date -u +%Y-%m-%dT%H:%MZ
} >"$out/machine.txt"
echo "kernel,problem,instances,place,us,pairs" >"$out/pairs.csv"

one() { # KERNEL PROBLEM INSTANCES ROUND
	record=$out/$1.record
	"$bin/bench" --device "${DEVICE:-cuda}" time --base "$record" --head "$record" --kernel "$1" --problem "$2" --places 8 \
		--instances "$3" --pairs 64 --blocks 5 --seed $((100 * $4)) --csv "$out/one.csv" >>"$out/log.txt" 2>&1 </dev/null || return 0
	awk -F, -v what="$1,$2,$3" -v place=$((8 * $4 - 9)) '
	function tell() { if (text != "") printf "%s,%d,%.1f,%s\n", what, place, sum / n / 2000, text }
	NR == 1 { next }
	$5 == 0 && $6 == 0 { tell(); place++; text = ""; sum = n = 0 }
	{ time[$3] = $8; sum += $8 }
	$6 == 1 { n++; text = text (n > 1 ? " " : "") sprintf("%.2f", 100 * log(time["head"] / time["base"])) }
	END { tell() }' "$out/one.csv" >>"$out/pairs.csv"
}

table() {
	awk -F, '
	function rising(v, n,   i, j, x) { for (i = 2; i <= n; i++) { x = v[i]; for (j = i - 1; j > 0 && v[j] > x; j--) v[j + 1] = v[j]; v[j + 1] = x } }
	NR == 1 { next }
	{
		key = $1 " " $2 " " $3
		if (!places[key]++) order[++keys] = key
		n = split($6, v, " "); rising(v, n); cut = int(n / 10); mean = kept = square = 0
		for (i = cut + 1; i <= n - cut; i++) mean += v[i] / (n - 2 * cut)
		for (i = 1; i <= n; i++) kept += (w[i] = v[i <= cut ? cut + 1 : i > n - cut ? n - cut : i]) / n
		for (i = 1; i <= n; i++) square += (w[i] - kept) ^ 2
		sd = sqrt(square / (n - 1)); us[key] += $5; sds[key] += sd
		means[key] += mean ^ 2; errors[key] += (sd / 0.8) ^ 2 / n
	}
	END {
		print "| kernel | problem | us | instances | places | RMS, % | chance, % | SD of a pair, % |"
		print "|---|---|--:|--:|--:|--:|--:|--:|"
		for (k = 1; k <= keys; k++) {
			key = order[k]; n = places[key]; split(key, name, " ")
			printf "| %s | %s | %.1f | %s | %d | %.3f | %.3f | %.2f |\n", name[1], name[2], us[key] / n, name[3], n,
				sqrt(means[key] / n), sqrt(errors[key] / n), sds[key] / n
		}
	}' "$out/pairs.csv" >"$out/table.md"
}

list='e4m3_persistent e4m3-persistent 4096x4096x4096:fp8 alone
bf16_persistent bf16-persistent 4096x4096x4096:bf16 alone
bf16_pingpong bf16-pingpong 2048x2048x2048:bf16 batch
bf16_split bf16-split 128x7168x2048:bf16 batch'
echo "$list" | while read -r library kernel problem _; do
	"$bin/plumb" record make "$libraries/lib$library.so" --kernel "$kernel" --problem "$problem" -o "$out/$kernel.record" \
		--bench "$bin/bench" >>"$out/log.txt" 2>&1 </dev/null
done
for round in 1 2 3 4; do
	for instances in 16 32 1; do
		echo "$list" | while read -r _ kernel problem launches; do
			[ $instances = 32 ] && [ "$launches" = batch ] && continue
			[ "$(date +%s)" -ge "$end" ] || one "$kernel" "$problem" $instances $round
		done
	done
done
rm -f "$out/one.csv" "$out"/*.record
table
cat "$out/table.md"
