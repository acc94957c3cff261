#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# run.sh OUT [PLUMB [REGIME...]]: gates every cheat on the GPU of this machine by its record, in each regime (cold, stream, isolated
# and warm, unless some are named), and once more in library mode. OUT gets REGIME.csv and library.csv (what `plumb study --csv`
# writes), REGIME.txt and library.txt (what it said, with why a cheat is broken or refused) and verdicts.md, a row a cheat: what must
# happen, and what did. A change counts from 5 % on: each cheat is 25 % slower. Takes about three minutes with 16 cores.
# Exit: 0; 1 when a record's verdict is not what the cheat's header says; 4 when nothing could be done.
set -eu
[ $# -ge 1 ] || { sed -n '4,9s/^# //p' "$0"; exit 4; }
here=$(cd "$(dirname "$0")" && pwd)
plumb=${2:-$here/../../build/gpu/bin/plumb}
mkdir -p "$1"
out=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ -n "${PLUMB_CHEATS:-}" ] || "$here/build.sh" "$work/cheats" cuda "$(nproc)"
cheats=${PLUMB_CHEATS:-$work/cheats} # what build.sh made, where no compiler is
[ $# -le 2 ] && regimes="cold stream isolated warm" || { shift 2 && regimes=$*; }
study() { # NAME REGIME OPTIONS...
	name=$1 regime=$2
	shift 2
	"$plumb" study --device cuda --base "$cheats/base" --head "$cheats/head" --problem "512x512x1024:fp32:tn:$regime" \
		--rounds 1 --margin 5 --csv "$out/$name.csv" "$@" >"$out/$name.txt" || [ $? -eq 2 ]
}
for regime in $regimes; do
	mkdir "$work/$regime"
	study "$regime" "$regime" --records "$work/$regime"
done
study library cold --problem 256x256x256:fp32

# The verdicts of a cheat in NAME.csv, each once; refused: it could not be recorded.
verdicts() { # CHEAT NAME
	{
		awk -F, -v cheat="$1" '$1 == "slower" && $2 == cheat { print $5 }' "$out/$2.csv"
		sed -n "s/^$1 cannot be recorded: .*/refused/p" "$out/$2.txt"
	} | sort -u | paste -sd ' '
}
bad=0
{
	echo "| cheat | must be |$(printf ' %s |' $regimes) in library mode |"
	echo "|---|---|$(printf -- '---|%.0s' $regimes)---|"
} >"$out/verdicts.md"
for file in "$here/cuda/"*.cu; do
	cheat=$(basename "$file" .cu)
	must=$(sed -n 's/^\/\/ expect: //p' "$file")
	row="| $cheat | $must |"
	for regime in $regimes; do
		found=$(verdicts "$cheat" "$regime")
		row="$row $found |"
		for word in ${found:-nothing}; do
			case " $must undecided " in
			*" $word "*) ;;
			*)
				echo "run.sh: $cheat, $regime: $word, not $must"
				bad=1
				;;
			esac
		done
	done
	echo "$row $(verdicts "$cheat" library) |" >>"$out/verdicts.md"
done
exit $bad
