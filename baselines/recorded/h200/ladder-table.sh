#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# ladder-table.sh FOLDER [FIT]: the table of ../../../kernels/README.md from the times that ladder.sh (`sweep time`) left
# in FOLDER, LIST.TYPE.csv: for every list and kind the speed relative to cuBLASLt's best heuristic, geometric mean
# (worst). "best" is brute force over the configuration space, of its finalists (at least 5 samples), "picked" the one
# that a selector fitted to these times chooses, at its time in the same sweep, at the finalists' clock if it was none
# (FIT is build/bin/fit; without it this is empty), "selector" the selector's own launches, those of select.LIST.TYPE.csv,
# timed with tables fitted to the others, if that is there, and "of best" those over brute force, median (worst). "m, n of 8" counts only problems whose m and n are multiples of 8. FP8 promoted is held
# against cuBLASLt without fast accumulation. Then, for wide.LIST.TYPE.csv, what a search of cuBLASLt beyond its
# heuristics gains there, and how brute force stands against it. Before it the same, without "picked", of block scales and dual GEMMs, held against
# what cuBLASLt makes of them.
set -eu
[ $# -ge 1 ] || { sed -n '4,13s/^# //p' "$0"; exit 4; }
folder=$1 fit=${2:-}
picks=$(mktemp)
trap 'rm -f "$picks"' EXIT
for kind in bf16 tf32 e4m3 e4m3-promoted; do
	type=${kind%-promoted}
	set --
	for list in fit dsv3 more smallm; do
		[ ! -s "$folder/$list.$type.csv" ] || set -- "$@" "$folder/$list.$type.csv"
	done
	[ -z "$fit" ] || [ $# = 0 ] || "$fit" picks $kind "$@" >>"$picks" || echo "ladder-table.sh: no picks of $kind" >&2
done
echo '| list | kind | problems | best | picked | selector | of best | m, n of 8: best | picked | where best is worst |'
echo '|---|---|--:|--:|--:|--:|--:|--:|--:|---|'
for list in dsv3 more smallm fit; do
	for type in bf16 tf32 e4m3; do
		file=$folder/$list.$type.csv
		[ -s "$file" ] || continue
		later=$folder/select.$list.$type.csv
		[ -s "$later" ] && later="pass=4 $later" || later=
		# shellcheck disable=SC2086 # two words or none
		awk -F, -v list="$list" -v type="$type" '
		function start(kind) {
			split("", mine); split("", picked); split("", own)
			for (p in problems) {
				if (best[kind, p] && reference[kind, p]) {
					mine[p] = reference[kind, p] / best[kind, p]
					if (choice[kind, p] && time[p, choice[kind, p]])
						picked[p] = reference[kind, p] / time[p, choice[kind, p]]
					if (beside[kind, p] && later[kind, p])
						own[p] = beside[kind, p] / later[kind, p]
					else if (launched[kind, p])
						own[p] = reference[kind, p] / launched[kind, p]
				}
			}
		}
		# Geometric mean and, unless `regular`, worst in brackets.
		function figure(values, regular,    p, n, sum, least) {
			least = 1e9
			for (p in values) {
				split(p, size, " ")
				if (regular && (size[1] % 8 || size[2] % 8))
					continue
				n++; sum += log(values[p])
				if (values[p] < least) least = values[p]
			}
			if (!n)
				return "-"
			return regular ? sprintf("%.3f", exp(sum / n)) : sprintf("%.3f (%.3f)", exp(sum / n), least)
		}
		function relative(    p, n, i, j, t, sorted) {
			for (p in own)
				sorted[++n] = own[p] / mine[p]
			for (i = 2; i <= n; i++)
				for (j = i; j > 1 && sorted[j] < sorted[j - 1]; j--) {
					t = sorted[j]; sorted[j] = sorted[j - 1]; sorted[j - 1] = t
				}
			return n ? sprintf("%.3f (%.3f)", (sorted[int((n + 1) / 2)] + sorted[int(n / 2) + 1]) / 2, sorted[1]) : "-"
		}
		function row(kind, name,    p, n, least, where) {
			start(kind)
			least = 1e9
			for (p in mine) {
				n++
				if (mine[p] < least) { least = mine[p]; where = p }
			}
			if (n)
				printf "| %s | %s | %d | %s | %s | %s | %s | %s | %s | %s |\n", list, name, n, figure(mine, 0),
					figure(picked, 0), figure(own, 0), relative(), figure(mine, 1), figure(picked, 1), where
		}
		function less(array, kind, p, us) {
			if (!array[kind, p] || us < array[kind, p])
				array[kind, p] = us
		}
		pass == 1 { choice[$1, $2 " " $3 " " $4] = $5; next }
		FNR == 1 || $6 + 0 <= 0 { next }
		pass == 2 && $11 >= 5 { p = $2 " " $3 " " $4; clocks[p] += $9; finalists[p]++ }
		pass == 2 { next }
		pass == 4 {
			p = $2 " " $3 " " $4
			if ($5 ~ /^cublaslt-exact/) less(beside, "e4m3-promoted", p, $6)
			else if ($5 ~ /^cublaslt/) less(beside, type, p, $6)
			else if ($5 ~ /^select-/) less(later, substr($5, 8), p, $6)
			next
		}
		{
			p = $2 " " $3 " " $4
			problems[p] = 1
			out = $11 < 5 && finalists[p]
			time[p, $5] = out ? $6 * $9 / (clocks[p] / finalists[p]) : $6
			if (out && $5 !~ /^(cublaslt|select-)/) # those are finalists, however slow
				next
			if ($5 ~ /^cublaslt-exact/) less(reference, "e4m3-promoted", p, $6)
			else if ($5 ~ /^cublaslt/) less(reference, type, p, $6)
			else if ($5 ~ /^select-/) less(launched, substr($5, 8), p, $6)
			else if ($5 ~ /promote/) less(best, "e4m3-promoted", p, $6)
			else less(best, type, p, $6)
		}
		END {
			row(type, type == "e4m3" ? "e4m3 fast" : type)
			if (type == "e4m3") row("e4m3-promoted", "e4m3 promoted")
		}' pass=1 "$picks" pass=2 "$file" pass=3 "$file" $later
	done
done
echo
echo '| list, beside what cuBLASLt makes of it | problems | best | selector | of best |'
echo '|---|--:|--:|--:|--:|'
for list in scaled scaled-fit scaled-unseen dual mlp dual-fit dual-unseen; do
	file=$folder/select.$list.csv # with the selector as it is, later
	[ -s "$file" ] || file=$folder/$list.csv
	[ -s "$file" ] || continue
	# Block scales want rows in fours of cuBLASLt: m = 1 is held against its time at m = 4, which scaled-fit has.
	others=$folder/scaled-fit.csv
	[ -s "$others" ] && [ "$list" = scaled ] || others=/dev/null
	awk -F, -v list="$list" '
		FNR == 1 || $6 + 0 <= 0 { next }
		{ p = $2 " " $3 " " $4; is_control = $5 ~ /^cublaslt_/ }
		is_control && $2 == 4 { four[$3 " " $4] = $6 }
		pass == 1 || (pass == 2 && $11 >= 5 && finalists[p] = 1) || pass == 2 { next }
		is_control { control[p] = $6; next }
		$5 ~ /^select-/ { own[p] = $6; next }
		(!finalists[p] || $11 >= 5) && (!best[p] || $6 < best[p]) { best[p] = $6 }
		function figure(values,    p, n, sum, least) {
			least = 1e9
			for (p in values) { n++; sum += log(values[p]); if (values[p] < least) least = values[p] }
			return n ? sprintf("%.3f (%.3f)", exp(sum / n), least) : "-"
		}
		END {
			for (p in best) {
				split(p, size, " ")
				beside = control[p] ? control[p] : size[1] == 1 ? four[size[2] " " size[3]] : 0
				if (!beside)
					continue
				n++
				mine[p] = beside / best[p]
				if (own[p]) { selected[p] = beside / own[p]; of_best[p] = best[p] / own[p] }
			}
			count = 0
			for (p in of_best) {
				for (i = ++count; i > 1 && sorted[i - 1] > of_best[p]; i--) sorted[i] = sorted[i - 1]
				sorted[i] = of_best[p]
			}
			middle = count ? sprintf("%.3f (%.3f)", (sorted[int((count + 1) / 2)] + sorted[int(count / 2) + 1]) / 2, sorted[1]) : "-"
			if (n)
				printf "| %s | %d | %s | %s | %s |\n", list, n, figure(mine), figure(selected), middle
		}' pass=1 "$others" pass=2 "$file" pass=3 "$file"
done
echo
echo '| list, wide search of cuBLASLt | problems | it gains, mean (most) | 1 % and more | best against it |'
echo '|---|--:|--:|--:|--:|'
for file in "$folder"/wide.*.csv; do
	name=$(basename "$file" .csv)
	own=$folder/${name#wide.}.csv
	[ -s "$file" ] && [ -s "$own" ] || continue
	awk -F, -v name="${name#wide.}" '
		FNR == 1 || $6 + 0 <= 0 { next }
		{ p = $2 " " $3 " " $4 }
		pass == 1 { if ($11 >= 5) finalists[p] = 1; next }
		pass == 2 && $11 < 5 && finalists[p] { next }
		pass == 2 { if ($5 !~ /^(cublaslt|select-)/ && $5 !~ /promote/ && $8 > best[p]) best[p] = $8; next }
		$5 ~ /^cublaslt-exact/ { next }
		$5 ~ /wide/ { if (!wide[p] || $6 < wide[p]) wide[p] = $6; next }
		$5 ~ /^cublaslt/ && (!heuristic[p] || $6 < heuristic[p]) { heuristic[p] = $6 }
		END {
			least = 1e9; most = 1
			for (p in wide) {
				if (!heuristic[p] || !best[p])
					continue
				gain = wide[p] < heuristic[p] ? heuristic[p] / wide[p] : 1
				n++; gains += log(gain); sum += log(best[p] / gain); large += gain >= 1.01
				if (gain > most) most = gain
				if (best[p] / gain < least) least = best[p] / gain
			}
			if (n)
				printf "| %s | %d | %.3f (%.3f) | %d | %.3f (%.3f) |\n", name, n, exp(gains / n), most, large,
					exp(sum / n), least
		}' pass=1 "$own" pass=2 "$own" pass=3 "$file"
done
