#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# memory.sh OUT.csv BENCH LIBRARIES [PROCESSES [SECONDS]]: what it is worth that both builds use the same device memory.
# Each of PROCESSES fresh ones (by default 24; none begins after SECONDS) opens every kernel twice, against a copy of
# itself: on one set of buffers, and with base on buffers of its own (bench's apart=1, which nothing that judges asks
# for). Order of opening and of measuring is drawn anew for each process, so places are too. 64 pairs a block; a row per
# block: mean trimmed by 10 %, its standard error from the winsorised SD, as `bench time` prints them.
# memory.sh --table OUT.csv: a row per kernel and memory, and of all; z = mean / standard error.
set -eu
[ $# -ge 2 ] || { sed -n '4,10s/^# //p' "$0"; exit 4; }
table() {
	sort -t, -k2,4 -k1,1n "$1" | awk -F, '
	function row(key) {
		n = count[key]
		mean = sum[key] / n
		scatter = squares[key] - n * mean * mean
		scatter = n > 1 && scatter > 0 ? sqrt(scatter / (n - 1)) : 0
		printf "| %d | %.3f %% | %+.3f %% | %.3f %% | %.2f | %d | %d |\n", n, errors[key] / n, mean, scatter,
			sqrt(z_squares[key] / n), beyond2[key], beyond3[key]
	}
	function add(key) {
		if (!(key in count)) order[++keys] = key
		count[key]++; sum[key] += $7; squares[key] += $7 * $7; errors[key] += $8; z_squares[key] += z * z
		beyond2[key] += z > 2 || z < -2; beyond3[key] += z > 3 || z < -3; us[key] += $6
	}
	!($8 + 0 > 0) { next }
	{ z = $7 / $8; add($2 "," $3 "," $4); add("all,," $4) }
	END {
		print "| kernel | problem | time | memory | blocks | standard error | mean | SD of blocks | RMS of z | beyond 2 | beyond 3 |"
		print "|---|---|--:|---|--:|--:|--:|--:|--:|--:|--:|"
		for (all = 0; all < 2; all++)
			for (i = 1; i <= keys; i++) {
				split(order[i], of, ",")
				if ((of[1] == "all") != all) continue
				time = all ? "" : sprintf("%.1f us", us[order[i]] / count[order[i]])
				printf "| %s | %s | %s | %s ", of[1], of[2], time, of[3]
				row(order[i])
			}
	}'
}
if [ "$1" = --table ]; then
	table "$2"
	exit
fi
[ $# -ge 3 ] || { sed -n '4,10s/^# //p' "$0"; exit 4; }
out=$1 bench=$2 libraries=$(realpath "$3") processes=${4:-24} seconds=${5:-600}
begun=$(date +%s)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/series" <<-END
	gemm/base/bf16_0050 4096x4096x4096:bf16
	gemm/base/bf16_0050 2048x2048x2048:bf16
	gemm/base/e4m3_0050 4096x4096x4096:e4m3
	gemm/base/e4m3_0050 2048x2048x4096:e4m3
	near/base/compute_0050 1024x1024x2048:fp32
	near/base/memory_0050 65536x4x1024:fp32
	near/base/latency_0050 64x64x256:fp32
END
commands() { # PROCESS
	awk -v seed="$1" -v libraries="$libraries" '
	function shuffle(i, j, swap) {
		for (i = count; i > 1; i--) {
			j = 1 + int(i * rand())
			swap = line[i]; line[i] = line[j]; line[j] = swap
		}
	}
	{
		name = $1
		sub(/.*\//, "", name)
		for (apart = 0; apart < 2; apart++)
			line[++count] = sprintf("%d\tkernel=%s\tproblem=%s\tbase=%s/%s.so\thead=%s/%s.so\tseed=%d\tapart=%d",
				2 * NR - 1 + apart, name, $2, libraries, $1, libraries, $1, seed, apart)
	}
	END {
		srand(seed)
		shuffle()
		for (i = 1; i <= count; i++) print "open\tid=" line[i]
		shuffle()
		for (i = 1; i <= count; i++) print "pairs\tid=" line[i] + 0 "\tcount=64\tblock=0"
		for (i = 1; i <= count; i++) print "close\tid=" line[i] + 0
		print "quit"
	}' "$work/series"
}
rows() { # PROCESS: of what bench answered
	awk -F '\t' -v process="$1" '
	function value(key, i) {
		for (i = 2; i <= NF; i++)
			if (index($i, key "=") == 1) return substr($i, length(key) + 2)
		return ""
	}
	function summary(id, n, i, j, swap, cut, sum, kept, mean, squares) {
		n = count[id]
		for (i = 2; i <= n; i++)
			for (j = i; j > 1 && y[id, j - 1] > y[id, j]; j--) {
				swap = y[id, j]; y[id, j] = y[id, j - 1]; y[id, j - 1] = swap
			}
		cut = int(n / 10)
		for (i = cut + 1; i <= n - cut; i++) sum += y[id, i]
		for (i = 1; i <= n; i++) {
			kept = y[id, i <= cut ? cut + 1 : i > n - cut ? n - cut : i]
			mean += kept / n
			squares += kept * kept
		}
		return sprintf("%.4f,%.4f", 100 * sum / (n - 2 * cut),
			100 * sqrt((squares - n * mean * mean) / (n - 1)) / (0.8 * sqrt(n)))
	}
	FNR == NR {
		if ($1 == "open") {
			id = value("id")
			name[id] = value("kernel") "," value("problem") "," (value("apart") == 1 ? "own" : "shared")
			order[++series] = id
		}
		next
	}
	$1 == "fail" { print "memory.sh: " value("text") >"/dev/stderr" }
	($1 == "opened" || $1 == "closed") && value("state") != "ok" { bad[value("id")] = 1 }
	$1 == "sample" {
		id = value("id")
		time[value("role")] = value("time_ns")
		if (value("order") == 1) {
			y[id, ++count[id]] = log(time["head"] / time["base"])
			base[id] += time["base"]
			launches[id] = value("launches")
		}
	}
	END {
		for (i = 1; i <= series; i++) {
			id = order[i]
			if (count[id] < 64 || bad[id])
				print "memory.sh: process " process ": nothing of " name[id] >"/dev/stderr"
			else
				print process "," name[id] "," launches[id] "," sprintf("%.3f", base[id] / count[id] / 1e3) "," summary(id)
		}
	}' "$work/asked" "$work/answers"
}
echo process,kernel,problem,memory,launches,base_us,log_ratio_pct,se_pct >"$out"
done=0
while [ "$done" -lt "$processes" ] && [ $(($(date +%s) - begun)) -lt "$seconds" ]; do
	commands "$done" >"$work/asked"
	timeout 60 "$bench" --device cuda <"$work/asked" >"$work/answers" || echo "memory.sh: process $done: bench ended with $?" >&2
	rows "$done" >>"$out"
	done=$((done + 1))
done
table "$out"
