#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# study-table.sh FOLDER...: the tables of README.md from the study-*.csv that study.sh left there: false alarms, what was
# found of each effect (slower and the other way round together; the effect is the one measured), and identical
# kernels in one and in different binaries (parts that are named cross or gemmcross: 64 pairs a process, no gates).
set -eu
[ $# -ge 1 ] || { sed -n '4,6s/^# //p' "$0"; exit 4; }
set -f
files=$(for folder; do find "$folder" -maxdepth 1 -name 'study-*.csv' | sort; done)
[ -n "$files" ] || { echo "study-table.sh: no study-*.csv in $*"; exit 4; }
# Recordings of an exact number of pairs are no gates. Those beside another process are told apart.
# shellcheck disable=SC2086 # a list of words
awk -F, '
FNR == 1 { n = split(FILENAME, path, "/"); part = path[n]; next }
part ~ /cross|pairs/ || $5 == "broken" { next }
{ beside = part ~ /step|neighbour/ }
$1 == "aa" { gates[beside]++; alarms[beside] += $5 == "slower" || $5 == "faster"; first[beside] += $6; next }
{
	name = $2
	sub(/_[abc]$/, "", name)
	if (beside)
		name = name " beside another process"
	key = name "," $3
	if (!(key in count)) order[++keys] = key
	count[key]++
	found[key] += $5 == $1
	wrong[key] += ($5 == "slower" || $5 == "faster") && $5 != $1
	undecided[key] += $5 == "undecided"
	us[key] += $9; effect[key] += $1 == "faster" ? -$10 : $10; pairs[key] += $7; gpu[key] += $15
}
function aa(what, gates, alarms, first) {
	printf "False alarms%s: %d of %d gates of identical code (%d before confirmation)", what, alarms, gates, first
	if (gates && !alarms) printf "; at most %.3g %% (95 %%, exact)", 100 * (1 - exp(log(0.05) / gates))
	print ""
}
END {
	aa("", gates[0], alarms[0], first[0])
	aa(", with those beside another process", gates[0] + gates[1], alarms[0] + alarms[1], first[0] + first[1])
	print "\n| kernel | problem | time | effect | found | wrong way | undecided | pairs | kernel time |"
	print "|---|---|--:|--:|--:|--:|--:|--:|--:|"
	for (i = 1; i <= keys; i++) {
		k = order[i]; c = count[k]
		split(k, of, ",")
		printf "| %s | %s | %.1f us | %.2f %% | %d of %d | %d | %d | %.0f | %.2f s |\n", of[1], of[2], us[k] / c,
			effect[k] / c, found[k], c, wrong[k], undecided[k], pairs[k] / c, gpu[k] / c
	}
}' $files
# Each series of a study keeps its place in the process (buffers, order of loading), so what is fixed to a place shows in
# the means of the series, what a process draws in the scatter between processes. A mean trimmed by 10 % of normal
# pairs has 1.03 times the plain mean's error.
# shellcheck disable=SC2086 # a list of words
awk -F, '
function size(x) { return x < 0 ? -x : x }
FNR == 1 { n = split(FILENAME, path, "/"); part = path[n]; next }
part !~ /cross/ || $5 == "broken" { next }
{
	shape = $2
	sub(/_.*/, "", shape)
	group = shape "," $3 "," ($1 == "aa" ? "same file" : "other binary")
	series = group "," $2
	if (!(group in groups)) order[groups[group] = ++count] = group
	if (!(series in n_of)) members[group] = members[group] " " ++series_count
	if (!(series in n_of)) name[series_count] = series
	n_of[series]++; sum[series] += $10; squares[series] += $10 * $10; by[group] += (1.03 * $13) ^ 2 / $7
	processes[group]++
	if (size($10) > most[group]) most[group] = size($10)
}
END {
	if (!count) exit
	print "\n| kernel | problem | binary | series x processes | means: RMS | by chance | largest | processes: SD | by pairs | largest |"
	print "|---|---|---|--:|--:|--:|--:|--:|--:|--:|"
	for (i = 1; i <= count; i++) {
		g = order[i]; split(g, of, ",")
		k = split(members[g], number, " ")
		within = total = large = 0
		for (j = 1; j <= k; j++) {
			s = name[number[j]]; mean = sum[s] / n_of[s]
			within += squares[s] - n_of[s] * mean * mean
			total += mean * mean
			if (size(mean) > size(large)) large = mean
		}
		within = processes[g] > k ? sqrt(within / (processes[g] - k)) : 0
		printf "| %s | %s | %s | %d x %d | %.3f %% | %.3f %% | %+.3f %% | %.3f %% | %.3f %% | %.2f %% |\n", of[1], of[2],
			of[3], k, processes[g] / k, sqrt(total / k), within / sqrt(processes[g] / k), large, within,
			sqrt(by[g] / processes[g]), most[g]
	}
}' $files
