#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# pairs.sh OUT LIBRARIES RECORDS SECONDS NAME=BENCH...: what a pair of a kernel with itself takes from beginning to end,
# by several benches in turn, some of which may be older than `each_us`: told by the times of their lines. LIBRARIES has
# build/gpu/kernels/lib*.so; RECORDS a plumb that records them, or `-`: libraries alone, which the oldest benches want.
# NAME+VARIANT=BENCH: with --variant VARIANT. OUT/blocks.txt has a line a block but the first, OUT/table.txt the means.
set -eu
[ $# -ge 5 ] || { sed -n '4,7s/^# //p' "$0"; exit 4; }
out=$1 libraries=$2 plumb=$3 end=$(($(date +%s) + $4))
shift 4
mkdir -p "$out/records"
one() { # LIBRARY KERNEL PROBLEM NAME BENCH FILE
	variant=
	case $4 in *+*) variant=${4#*+} ;; esac
	timeout 20 "$5" --device cuda time --head "$6" --base "$6" --kernel "$2" --problem "$3" --pairs 64 --blocks 8 \
		--seed "$round" ${variant:+--variant "${variant//+/,}"} 2>>"$out/errors.txt" </dev/null |
		while IFS= read -r line; do echo "${line%each_us*} at $EPOCHREALTIME"; done |
		awk -v key="$1 $4" '/^block / { if (last) printf "%s %s each_us %.1f\n", key, $0, ($NF - last) / 64 * 1e6; last = $NF }' \
			>>"$out/blocks.txt"
}
for round in 1 2 3; do
	while read -r library kernel problem; do
		file=$libraries/lib$library.so
		if [ "$plumb" != - ]; then
			file=$out/records/$library.record
			[ -f "$file" ] || "$plumb" record make "$libraries/lib$library.so" --kernel "$kernel" --problem "$problem" \
				-o "$file" >>"$out/errors.txt" 2>&1 || continue
		fi
		for bench; do
			[ "$(date +%s)" -ge "$end" ] || one "$library" "$kernel" "$problem" "${bench%%=*}" "${bench#*=}" "$file"
		done
	done <<-'END'
		e4m3_persistent e4m3-persistent 4096x4096x4096:fp8
		bf16_pingpong bf16-pingpong 2048x2048x2048:bf16
		bf16_persistent bf16-persistent 4096x4096x4096:bf16
		tiled_fp32 tiled_fp32 1024x1024x2048:fp32
		bf16_gemv bf16-gemv 1x7168x2048:bf16
	END
done
awk '{ key = $1 " " $2; if (!n[key]++) order[++keys] = key
	for (i = 3; i < NF; i++) { if ($i == "each_us") pair[key] += $(i + 1); if ($i == "pair_sd_pct") sd[key] += $(i + 1); if ($i == "head_us") us[key] += $(i + 1) } }
END { for (i = 1; i <= keys; i++) { k = order[i]; printf "%-36s a pair %.1f us, a launch %.2f us, SD of a pair %.3f %%, %d blocks\n", k, pair[k] / n[k], us[k] / n[k], sd[k] / n[k], n[k] } }' \
	"$out/blocks.txt" | tee "$out/table.txt"
