#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# ladder.sh OUT [SECONDS [FOLDER [PART...]]]: records anew what ../../../kernels/README.md says of the kernels, on the
# H200 of this machine: about 12 minutes of it. FOLDER is a build with CUDA or what prepare.sh makes (bin/sweep,
# bin/fit, bin/plumb, kernels/lib*.so), by default build/dev. Writes into OUT what ladder/ holds, table.md with the
# figures of the README (ladder-table.sh), and log, which it also prints. Parts, those that are named or all, most
# important first, each with limits of its own; SECONDS ends all of it after so long, and what had no time is said:
#   check       every single kernel, every row of the space, every selector, at awkward sizes
#   times       the lists smallm, more and dsv3, every row and the selectors beside cuBLASLt, in all types
#   sanitize    memcheck, racecheck and synccheck of every single kernel and four rows, at two small problems, or at m = 1
#   soak        1000 launches of each, compared with the first
#   dual        the dual GEMM: its ladder on its document's problems, its space and selector on gated MLPs and random
#               problems, beside cuBLASLt's product of 2 n columns and a pass in a CUDA graph; the first in FP8 too
#   scaled      FP8 with block scales, beside cuBLASLt's own: the problems of its users' list, its space, its selector
#   ragged      K that is no multiple of 16 bytes, by the selectors
#   seed2       the ladder of TF32 at 4096 x 8192 x 16384
#   wide        cuBLASLt's search beyond its heuristics on dsv3 and more
#   fit         random problems: a list that the selectors' costs are fitted to besides, and one (`unseen`) that they are not
#   record      `sweep record | plumb import`: the list more into OUT/store.db
#   nn          the other layout
# Exit: 0, or 3 when a kernel is wrong, differs or has something found by the sanitizers, 4 when a part did not work.
set -u
[ $# -ge 1 ] || { sed -n '4,22s/^# //p' "$0"; exit 4; }
here=$(cd "$(dirname "$0")" && pwd)
begun=$(date +%s)
mkdir -p "$1" || exit 4
out=$(cd "$1" && pwd) whole=${2:-3600}
folder=$(cd "${3:-$here/../../../build/dev}" && pwd) || exit 4
if [ $# -ge 3 ]; then shift 3; else shift $#; fi
parts=${*:-check times sanitize soak dual scaled ragged seed2 wide fit record nn}
sweep=$folder/bin/sweep modules=$folder/kernels lists=$here/ladder
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}/usr/local/cuda/lib64"
[ -x "$sweep" ] || { echo "ladder.sh: $sweep is not there; build with CUDA, or give the folder that prepare.sh made"; exit 4; }
sanitizer=
for file in "$(command -v compute-sanitizer)" /usr/local/cuda/bin/compute-sanitizer \
	/usr/local/cuda/compute-sanitizer/compute-sanitizer; do
	[ -n "$sanitizer" ] || [ ! -x "$file" ] || sanitizer=$file
done
: >"$out/log"
worst=0
say() { echo "$*" | tee -a "$out/log"; }
bad() { # CODE WORDS...: 3 is not made better by 4
	[ "$worst" = 3 ] || worst=$1
	shift
	say "$*"
}
left() { echo $((whole - $(date +%s) + begun - 5)); }
limit() { # SECONDS WHAT: sets `seconds`, what may be spent on it
	seconds=$(left)
	[ "$seconds" -lt "$1" ] || seconds=$1
	[ "$seconds" -lt 3 ] || return 0
	say "$2: left out, no time"
	return 1
}
# Modules: single kernels, and per type what the lists are timed with.
singles=
for file in "$modules"/lib*.so; do
	case ${file##*/} in
	libtf32_* | libbf16_* | libfp16_* | libe4m3_* | libnaive_fp32.so | libtiled_fp32.so | libdual_[!1]*) singles="$singles $file" ;;
	esac
done
of_type() { ls "$modules"/libspace_"$1"_*.so "$modules"/libselect_"$1"*.so 2>/dev/null | grep -Ev '_dual|_scaled'; }
[ -n "$singles" ] || { say "ladder.sh: $modules has no kernels"; exit 4; }

# Some modules in one process, since starting one takes longer than what it does; when that fails, or is not what it
# should be, each in its own.
check_all() { # WHAT MODULE...
	what=$1
	shift
	limit 60 "check $what" || return
	code=0
	timeout "$seconds" "$sweep" check "$@" >"$work/check" 2>&1 || code=$?
	if [ "$code" != 0 ] && [ $# -gt 1 ]; then
		for file; do
			check_all "${file##*/}" "$file"
		done
		return
	fi
	echo "$what rc $code $(grep '^check:' "$work/check" || tail -n 1 "$work/check")" >>"$out/check.txt"
	[ "$code" != 0 ] || return
	cat "$work/check" >>"$out/check.failed.txt"
	[ "$code" = 3 ] || code=4
	bad "$code" "check $what: $(tail -n 1 "$work/check")"
}
part_check() {
	: >"$out/check.txt"
	rm -f "$out/check.failed.txt"
	# shellcheck disable=SC2086 # a list of words
	check_all 'single kernels' $singles
	for file in "$modules"/libspace_*.so "$modules"/libselect_*.so; do
		check_all "${file##*/}" "$file"
	done
	say "check: $(grep -c ' rc 0 ' "$out/check.txt") of $(wc -l <"$out/check.txt") processes found nothing wrong," \
		"$(sed -n 's/.* wrong of \([0-9]*\) (\([0-9]*\) .*/\1 \2/p' "$out/check.txt" |
			awk '{ p += $1; k += $2 } END { print p + 0 " products of " k + 0 " kernels" }')"
}
timed() { # NAME LIST ROUNDS SECONDS MODULE...
	name=$1 list=$2 rounds=$3
	limit "$4" "$name" || return
	shift 4
	from=$(date +%s) code=0
	timeout "$seconds" "$sweep" time "$rounds" "$list" "$@" >"$out/$name.csv" 2>"$out/$name.err" || code=$?
	done=$(tail -n +2 "$out/$name.csv" | cut -d, -f2-4 | sort -u | wc -l)
	ended=
	[ $code != 124 ] || ended=', ended by its time limit'
	say "$name: $done of $(grep -c '^[0-9]' "$list") problems in $(($(date +%s) - from)) s$ended"
	case $code in
	0 | 124) ;;
	*) bad 4 "$name: exit $code: $(tail -n 1 "$out/$name.err")" ;;
	esac
	# What each kernel wrote when it was prepared is of use, an empty file is not.
	[ -s "$out/$name.err" ] || rm -f "$out/$name.err"
}
rounds_of() { # TYPE ROUNDS: TF32 takes twice as long
	[ "$1" = tf32 ] && echo 5 || echo "$2"
}
part_times() {
	for one in "smallm 15 20" "more 9 40" "dsv3 7 100"; do
		for type in bf16 e4m3 tf32; do
			# shellcheck disable=SC2086,SC2046 # lists of words
			set -- $one $(of_type $type)
			list=$1 rounds=$(rounds_of $type "$2") most=$3
			shift 3
			timed "$list.$type" "$lists/$list.problems" "$rounds" "$most" "$@"
		done
	done
}
part_fit() {
	for type in bf16 e4m3 tf32; do
		# shellcheck disable=SC2046 # a list of words
		timed fit.$type "$lists/fit.problems" "$(rounds_of $type 4)" 40 $(of_type $type)
		# shellcheck disable=SC2046 # a list of words
		timed unseen.$type "$lists/unseen.problems" 5 40 $(of_type $type)
	done
}
part_wide() {
	for one in "more 35" "dsv3 75"; do
		for type in bf16 e4m3 tf32; do
			search=$modules/libcublaslt_wide.so
			[ $type != e4m3 ] || search=$modules/libcublaslt_wide_fast.so
			timed "wide.${one% *}.$type" "$lists/${one% *}.problems" 4 "${one#* }" "$modules/libspace_${type}_few.so" "$search"
		done
	done
}
part_seed2() {
	echo 4096 8192 16384 >"$work/seed2.problems"
	timed seed2 "$work/seed2.problems" 11 30 "$modules"/libtf32_[0-9]_*.so "$modules/libtf32_pingpong.so"
}
part_nn() {
	printf '%s\n' '4096 4096 4096' '4096 8192 16384' '8192 8192 8192' >"$work/nn.problems"
	timed nn "$work/nn.problems" 5 25 "$modules/libtf32_nn.so" "$modules/libtf32_9_persistent.so"
}
part_dual() {
	control=$modules/libcublaslt_dual.so
	# shellcheck disable=SC2046 # lists of words
	timed dual "$lists/dual.problems" 25 40 "$control" $(ls "$modules"/libdual_*.so "$modules"/libspace_bf16_dual*.so \
		"$modules"/libselect_bf16_dual.so)
	for one in "mlp 15 40" "dual-unseen 7 40" "dual-fit 7 80"; do
		# shellcheck disable=SC2086,SC2046 # lists of words
		set -- $one $(ls "$modules"/libspace_bf16_dual*.so "$modules"/libselect_bf16_dual.so)
		list=$1 rounds=$2 most=$3
		shift 3
		timed "$list" "$lists/$list.problems" "$rounds" "$most" "$control" "$@"
	done
	timed dual.e4m3 "$lists/dual.problems" 15 30 "$modules/libcublaslt_dual_fast.so" "$modules/libspace_e4m3_dual.so"
}
part_scaled() {
	for one in "scaled 15 30" "scaled-unseen 7 30" "scaled-fit 7 30"; do
		# shellcheck disable=SC2086,SC2046 # lists of words
		set -- $one $(ls "$modules"/libspace_e4m3_scaled*.so "$modules"/libselect_e4m3_scaled.so)
		list=$1 rounds=$2 most=$3
		shift 3
		timed "$list" "$lists/$list.problems" "$rounds" "$most" "$modules/libcublaslt_scaled.so" "$@"
	done
}
part_ragged() {
	for type in bf16 e4m3 tf32; do
		timed "ragged.$type" "$lists/ragged.problems" 9 30 "$modules/libselect_$type.so"
	done
}
soak_all() { # SIZE MODULE...: as check_all
	size=$1
	shift
	limit 90 "soak $size" || return
	code=0
	# shellcheck disable=SC2086 # a list of words
	timeout "$seconds" "$sweep" soak 1000 $size "$@" >"$work/soak" 2>&1 || code=$?
	if [ "$code" != 0 ] && [ "$code" != 3 ] && [ $# -gt 1 ]; then
		for file; do
			soak_all "$size" "$file"
		done
		return
	fi
	grep '^soak' "$work/soak" >>"$out/soak.txt"
	case $code in
	0) ;;
	3) bad 3 "soak $size: $(grep -v ' 0 words differ' "$work/soak" | head -n 1)" ;;
	124) say "soak $size ${1##*/}: ended by its time limit" ;;
	*) bad 4 "soak $size ${1##*/}: exit $code: $(tail -n 1 "$work/soak")" ;;
	esac
}
part_soak() {
	: >"$out/soak.txt"
	# Several tiles a block; few tiles and long K.
	for size in "3000 5000 272" "300 1160 4112" "16 2112 7168"; do
		# shellcheck disable=SC2086 # a list of words
		soak_all "$size" $singles
	done
	soak_all "1 2112 7168" "$modules"/lib*_gemv.so
	say "soak: $(grep -c ' 0 words differ' "$out/soak.txt") of $(wc -l <"$out/soak.txt") without a difference"
}
# One run under one tool: a line of sanitizer.txt. In files of its own, for four run at once: they are not timed.
inspect() { # LINE: MODULE KERNEL TOOL M N K
	# shellcheck disable=SC2086 # a list of words
	set -- $1
	module=$1 kernel=$2 tool=$3 size="$4 $5 $6" code=0
	more=
	[ "$tool" != synccheck ] || more='--num-cuda-barriers 262144' # of all blocks; with fewer it breaks the kernel
	text=$work/$kernel.$tool.$4
	[ "$(date +%s)" -lt "$INSPECT_UNTIL" ] || exit 0
	# shellcheck disable=SC2086 # lists of words
	timeout 30 "$sanitizer" --tool "$tool" $more "$sweep" run $size "$module" "$kernel" >"$text" 2>&1 || code=$?
	if grep -q 'no such kernel for this problem' "$text"; then
		echo "$kernel $tool $size: not for this problem" >"$text.line"
	elif [ $code = 124 ]; then
		echo "$kernel $tool $size: ended by its time limit" >"$text.line"
	else
		echo "$kernel $tool $size rc $code $(grep SUMMARY "$text" | tail -n 1)" >"$text.line"
		[ $code = 0 ] && grep -Eq 'SUMMARY: 0 (errors|hazards)' "$text" || cp "$text" "$out/sanitizer.$kernel.$tool.txt"
	fi
}
part_sanitize() {
	if [ -z "$sanitizer" ]; then
		bad 4 "sanitize: compute-sanitizer is not installed here"
		return
	fi
	limit 300 sanitize || return
	INSPECT_UNTIL=$(($(date +%s) + seconds - 5))
	# shellcheck disable=SC2086 # a list of words
	"$sweep" list $singles >"$work/kernels" || { bad 4 "sanitize: the kernels cannot be listed"; return; }
	{
		echo "$modules/libspace_bf16_few.so bf16-128x128-w2x1-c2x1-s6-e2-m8-coop-stream"
		echo "$modules/libspace_e4m3_promoted.so e4m3-64x64-w1x1-k2-s10-m8-promote-split"
		echo "$modules/libspace_bf16_large.so bf16-128x256-w2x1-c2x1-s4-e2-m8-coop"
		echo "$modules/libspace_bf16_small.so bf16-64x64-w1x1-c1x1-s6-e2-m8-wide"
	} >>"$work/kernels"
	for tool in memcheck racecheck synccheck; do
		for size in "300 520 1040" "1500 3000 400"; do
			grep -v gemv "$work/kernels" | sed "s/\$/ $tool $size/"
		done
		grep gemv "$work/kernels" | sed "s/\$/ $tool 1 2113 1040/"
	done >"$work/inspections"
	export INSPECT_UNTIL
	running=0
	while read -r line; do
		inspect "$line" &
		running=$((running + 1))
		[ $((running % 4)) != 0 ] || wait
	done <"$work/inspections"
	wait
	cat "$work"/*.line >"$out/sanitizer.txt" 2>/dev/null
	clean=$(grep -Ec 'rc 0 .*SUMMARY: 0 (errors|hazards)' "$out/sanitizer.txt")
	open=$(grep -Ec 'not for this problem|time limit' "$out/sanitizer.txt")
	total=$(wc -l <"$out/sanitizer.txt") wanted=$(wc -l <"$work/inspections")
	say "sanitize: $clean clean, $((total - clean - open)) not, $open ended by a limit or not for the problem," \
		"$((wanted - total)) left out, no time"
	[ $((total - clean - open)) = 0 ] || bad 3 "sanitize: $(grep -Ev 'SUMMARY: 0 (errors|hazards)|not for|time limit' "$out/sanitizer.txt" | head -n 1)"
}
part_record() {
	commit=$(cat "$folder/commit" 2>/dev/null || git -C "$here" rev-parse HEAD 2>/dev/null)
	if [ -z "$commit" ]; then
		bad 4 "record: which commit this is, neither $folder/commit nor git says"
		return
	fi
	limit 60 record || return
	code=0
	timeout "$seconds" "$sweep" record "$commit" 3 "$lists/more.problems" "$modules"/libspace_*.so \
		"$modules"/libselect_*.so >"$work/rows.csv" 2>"$work/record.err" || code=$?
	case $code in
	0) ;;
	124) say "record: ended by its time limit, $(wc -l <"$work/rows.csv") rows" ;;
	*) bad 4 "record: exit $code: $(tail -n 1 "$work/record.err")" ;;
	esac
	rm -f "$out/store.db"
	"$folder/bin/plumb" import --format=csv - --store "$out/store.db" <"$work/rows.csv" >"$work/import" 2>&1 ||
		bad 4 "record: plumb import: exit $?"
	say "record: $(tail -n 1 "$work/import")"
}

nvidia-smi --query-gpu=name,uuid,driver_version,power.limit,clocks.max.sm --format=csv,noheader >"$out/machine.txt" 2>&1 || {
	say "ladder.sh: no GPU here: $(tail -n 1 "$out/machine.txt")"
	exit 4
}
cat "$folder/commit" >>"$out/machine.txt" 2>/dev/null || git -C "$here" rev-parse HEAD >>"$out/machine.txt" 2>/dev/null ||
	echo 'commit unknown' >>"$out/machine.txt"
date -u +%F >>"$out/machine.txt"
"$sweep" device >>"$out/machine.txt"
for part in $parts; do
	part_begun=$(date +%s)
	case $part in
	check | times | sanitize | soak | dual | scaled | ragged | seed2 | wide | fit | record | nn)
		"part_$part"
		say "== $part: $(($(date +%s) - part_begun)) s"
		;;
	*) bad 4 "$part: no such part" ;;
	esac
done
fitter=$folder/bin/fit
[ -x "$fitter" ] || fitter=
sh "$here/ladder-table.sh" "$out" "$fitter" >"$out/table.md"
if [ -n "$fitter" ] && [ -s "$out/fit.bf16.csv" ]; then
	for kind in bf16 tf32 e4m3 e4m3-promoted; do
		type=${kind%-promoted}
		echo "$kind:"
		"$fitter" report $kind "$out/fit.$type.csv" "$out/dsv3.$type.csv" "$out/more.$type.csv" "$out/smallm.$type.csv" |
			grep problems,
	done >"$out/picks.txt" 2>&1
fi
cat "$out/table.md"
say "in all: $(($(date +%s) - begun)) s, exit $worst"
exit "$worst"
