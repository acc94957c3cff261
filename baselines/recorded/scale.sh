#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# scale.sh BIN FOLDER [CHROMIUM]: what sites of large stores cost, one line a figure: processor time, user and system, wall clock and
# memory. BIN holds plumb, bench_store, bench_linked and bench_levels. FOLDER gets the stores of 5 million measurements and of 500 series
# with 10,000 linked codes (9 GB, 15 minutes) unless they are there; all is done on copies (9 GB more), in FOLDER/work, which
# goes again. With CHROMIUM (and node) the pages of the linked store are opened too. Run it on an idle machine, from the repository.
set -eu
[ $# -ge 2 ] || { sed -n '4,7s/^# //p' "$0"; exit 4; }
bin=$1 folder=$2 chromium=${3:-} work=$2/work
[ -f "$folder/scale-10000.db" ] || "$bin/bench_store" 5000000 "$folder"
[ -f "$folder/linked-10000.db" ] || "$bin/bench_linked" 10000 "$folder"
rm -rf "$work"
mkdir -p "$work"
trap 'rm -rf "$work"' EXIT

# What is kept is forgotten, as if nobody had looked at the store.
forget="DELETE FROM kept_links; UPDATE judgements SET maker = '';
DELETE FROM judgement_changes; DELETE FROM chart_points; DELETE FROM judgement_breaks;"

copy() { # STORE
	cp "$folder/$1" "$work/$1"
	sqlite3 "$work/$1" "$forget"
	sync
}

site() { # WHAT STORE
	/usr/bin/time -o "$work/time" -f "$1: %U + %S s, wall %e s, %M KB" \
		"$bin/plumb" site --store "$work/$2" -o "$work/${2%.db}" >"$work/said"
	echo "$(cat "$work/time") ($(sed 's/.*: //' "$work/said"))"
}

date -u +%Y-%m-%dT%H:%MZ
uptime
"$bin/plumb" --version | head -n 2
for turn in 1 2 3; do
	echo "turn $turn: $("$bin/bench_levels")"
done
copy scale-10000.db
site "5 M, from nothing" scale-10000.db
site "5 M, nothing new" scale-10000.db
"$bin/bench_store" 5000000 "$work" 1 >/dev/null
site "5 M, all 500 series measured" scale-10000.db
rm -rf "$work"/scale-10000*
copy linked-10000.db
site "linked, from nothing" linked-10000.db
site "linked, nothing new" linked-10000.db
site "linked, nothing new" linked-10000.db
"$bin/bench_linked" 10000 "$work" 1 1 >/dev/null
site "linked, a new code in one kernel's 50 series, the others reused" linked-10000.db
"$bin/bench_linked" 10000 "$work" 1 >/dev/null
site "linked, a new code in all 500 series" linked-10000.db
du -sm "$work/linked-10000" | sed 's/[^0-9].*/ MB of site/'
[ -z "$chromium" ] || node tests/measure/bench_site_load.js "$chromium" "$work/linked-10000"
uptime
