#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# clocks.sh SAMPLES.csv [BLOCKS.csv]: how far the SM clock moved in what `plumb study --samples` wrote, in one line: p10
# to p90 of all samples, and of neighbouring blocks of 8 pairs in one gate how many differ by 3 % and more. A run that
# was to have clock steps and has none says so. BLOCKS.csv gets the mean clock, log ratio and time of the base of each
# block, a row per process.
set -eu
[ $# -ge 1 ] || { sed -n '4,7s/^# //p' "$0"; exit 4; }
awk -F, -v blocks="${2:-/dev/null}" '
FNR == 1 {
	for (i = 1; i <= NF; i++)
		column[$i] = i
	print "kind,kernel,problem,round,process,block_mhz,block_log_ratio_pct,block_base_us" >blocks
	next
}
{
	count = split($column["base_head_mhz"], mhz, " ")
	split("base_head_1e5" in column ? $column["base_head_1e5"] : "", log_time, " ")
	before = 0
	ratios = times = ""
	unit_us = "launches" in column ? $column["unit_ns"] / $column["launches"] / 1e3 : 0
	printf "%s,%s,%s,%s,%s,", $1, $2, $3, $4, $5 >blocks
	for (i = 1; i + 15 <= count; i += 16) {
		sum = known = 0
		for (j = i; j < i + 16; j++) {
			if (mhz[j] > 0) {
				print "clock", mhz[j]
				sum += mhz[j]
				known++
			}
		}
		mean = known ? sum / known : 0
		if (before > 0 && mean > 0)
			print "step", 100 * (mean > before ? mean / before - 1 : before / mean - 1)
		before = mean
		ratio = time = 0
		for (j = i; j < i + 16; j += 2) {
			ratio += (log_time[j + 1] - log_time[j]) / 8
			time += unit_us * exp(log_time[j] / 1e5) / 8
		}
		ratios = sprintf("%s%s%.3f", ratios, i > 1 ? " " : "", ratio / 1e3)
		times = sprintf("%s%s%.1f", times, i > 1 ? " " : "", time)
		printf "%s%.1f", (i > 1 ? " " : ""), mean >blocks
	}
	print "," ratios "," times >blocks
}' "$1" | sort -k1,1 -k2,2n | awk -v name="$(basename "$1" .csv)" '
$1 == "clock" { clocks[++n] = $2 }
$1 == "step" { blocks++; large += $2 >= 3; if ($2 > most) most = $2 }
END {
	if (!n) {
		print name ": no clocks were recorded"
		exit
	}
	low = clocks[int(0.1 * (n - 1)) + 1]
	high = clocks[int(0.9 * (n - 1)) + 1]
	printf "%s: SM clock p10 %.3f, p90 %.3f GHz in %d samples; %d of %d neighbouring blocks 3 %% apart or more, at most %.1f %%%s\n",
		name, low / 1e3, high / 1e3, n, large, blocks, most, high < 1.03 * low && !large ? ": NO STEP" : ""
}'
