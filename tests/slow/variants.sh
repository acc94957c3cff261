#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What scatters the times of a kernel, and what a pair costs beside its kernels: `bench time --variant` (kernels/device/device.h
# says what each does otherwise), in turn until SECONDS are over, with the same kernel on both sides.
#
#   variants.sh build DIR LIBRARY     DIR gets what is timed: the FP32 kernel of slow.cu as it is and with room for two blocks
#                                     on an SM, and LIBRARY (libe4m3_persistent.so of a build with CUDA). Needs nvcc.
#   variants.sh run DIR OUT BENCH [SECONDS]    at most 110 s of a GPU; OUT/samples.csv, OUT/blocks.txt, OUT/table.md. Where plumb is
#                                     beside BENCH, records of the kernels are timed, as trust = device-code does; else the libraries.
#   variants.sh table OUT             the table again
#
# What each is there to tell apart, for a kernel that takes 253 us now and then instead of 234, whatever its contents, side and clock:
#   first, rest     The host is ready at a random moment of the flush: the launch comes directly behind it, or after a pause. `first`: always
#                   directly; `rest`: never. waited_ns in samples.csv is that pause.
#   whole, wide, twice    Lines of 64 bytes that were written here and there are still dirty, or half there, after the flush.
#   blind, still, outputs Which of noise and looks it is that leaves something behind: instructions, translations, a division of SMs' memory.
#   again, shared, cache  Whether that is it: the kernel's own traces are fresh, or the division is the same each time.
#   two             Blocks are dealt unevenly: 256 on 132 SMs, and one SM has three. With room for two it cannot.
# And for the cost: coarse (noise by the line), blind, outputs, still, first.
set -eu
usage() { sed -n '4,12s/^# \{0,1\}//p' "$0"; exit 4; }
here=$(cd "$(dirname "$0")" && pwd)

build() { # DIR LIBRARY
	mkdir -p "$1"
	nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
	for shared in 0 98304; do
		"$nvcc" -std=c++20 -O3 --shared --cudart=shared -Xcompiler=-fPIC,-fvisibility=hidden \
			--generate-code=arch=compute_90a,code=sm_90a -Xfatbin -compress=false -Xlinker -rpath="$(dirname "$(realpath "$nvcc")")/../lib64" \
			-I"$here/../../kernels" -DSLOW_NAME='"compute"' -DSLOW_COMPUTE -DSLOW_EXTRA=32 -DSLOW_SHARED=$shared \
			"$here/slow.cu" -o "$1/compute_$shared.so"
	done
	mv "$1/compute_0.so" "$1/compute.so"
	mv "$1/compute_98304.so" "$1/two.so"
	cp "$2" "$1/fp8.so"
}

# A row per kernel and variant: how its launches scatter, how many are far off, and what a pair took from beginning to end.
table() { # OUT
	sort -t, -k1,2 -k10,10g "$1/samples.csv" | awk -F, '
	function mean(key, late) { return count[key, late] ? sprintf("%.1f", sum[key, late] / count[key, late]) : "-" }
	NR == FNR { # blocks: set,variant block N name value ...
		words = split($0, word, " ")
		key = word[1]
		if (!blocks[key]++) order[++keys] = key
		for (i = 2; i < words; i++) {
			if (word[i] == "pair_sd_pct") sd[key] += word[i + 1]
			if (word[i] == "each_us") each[key] += word[i + 1]
		}
		next
	}
	{ # samples, by time: set,variant,kernel,problem,role,block,pair,order,launches,time_ns,...,waited_ns
		key = $1 "," $2
		time[key, ++n[key]] = $10 / 1000
		late = $NF > 1000
		count[key, late]++; sum[key, late] += $10 / 1000
	}
	END {
		print "| timed | variant | launches | median, us | 99 %, us | beyond +5 % | SD of a pair, % | a pair takes, us | no pause before, us | pause, us | with pause |"
		print "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
		for (k = 1; k <= keys; k++) {
			key = order[k]; split(key, name, ",")
			median = time[key, int((n[key] + 1) / 2)]; far = 0
			for (i = 1; i <= n[key]; i++) far += time[key, i] > 1.05 * median
			printf "| %s | %s | %d | %.1f | %.1f | %.1f %% | %.2f | %.0f | %s | %s | %.0f %% |\n", name[1], name[2], n[key], median,
				time[key, int(0.99 * n[key])], 100 * far / n[key], sd[key] / blocks[key], each[key] / blocks[key],
				mean(key, 0), mean(key, 1), 100 * count[key, 1] / n[key]
		}
	}' "$1/blocks.txt" - >"$1/table.md"
	cat "$1/table.md"
}

# One variant of one set, `+` between names.
one() { # SET KERNEL PROBLEM VARIANT
	names=$(echo "$4" | tr + ,) file=$libraries/$1.so
	[ "$4" = now ] && names=
	[ ! -f "$out/$1.record" ] || file=$out/$1.record
	"$bench" --device "${DEVICE:-cuda}" time --head "$file" --base "$file" --kernel "$2" --problem "$3" --pairs 64 \
		--blocks 3 --seed "$round" --csv "$out/one.csv" ${names:+--variant "$names"} >"$out/one.txt" || return 0
	sed "1d;s/^/$1,$4,/" "$out/one.csv" >>"$out/samples.csv"
	sed -n "s/^block /$1,$4 block /p" "$out/one.txt" >>"$out/blocks.txt"
}

record() { # SET KERNEL PROBLEM
	plumb=$(dirname "$bench")/plumb
	[ ! -x "$plumb" ] || "$plumb" record make "$libraries/$1.so" --kernel "$2" --problem "$3" --bench "$bench" -o "$out/$1.record" ||
		echo "variants.sh: $1 is timed as a library"
}

[ $# -ge 2 ] || usage
case $1 in
build)
	[ $# -eq 3 ] || usage
	build "$2" "$3"
	;;
table) table "$2" ;;
run)
	[ $# -ge 4 ] || usage
	libraries=$2 out=$3 bench=$4 seconds=${5:-110} begun=$(date +%s) round=0
	mkdir -p "$out"
	: >"$out/samples.csv"
	: >"$out/blocks.txt"
	compute=${COMPUTE:-1024x1024x2048:fp32} fp8=${FP8:-4096x4096x4096:fp8}
	rm -f "$out"/*.record
	record compute compute "$compute"
	record two compute "$compute"
	record fp8 e4m3-persistent "$fp8"
	while [ $(($(date +%s) - begun)) -lt "$seconds" ]; do
		round=$((round + 1))
		while read -r set kernel problem variants; do
			for variant in $variants; do
				[ $(($(date +%s) - begun)) -lt "$seconds" ] || break
				one "$set" "$kernel" "$problem" "$variant"
			done
		done <<-END
			compute compute $compute now first rest whole wide twice blind still still+blind outputs again shared cache
			two compute $compute now still+blind
			fp8 e4m3-persistent $fp8 now coarse blind outputs still still+blind first whole
		END
	done
	rm -f "$out/one.csv" "$out/one.txt"
	table "$out"
	;;
*) usage ;;
esac
