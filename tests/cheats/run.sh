#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# run.sh OUT [PLUMB [HOW...]]: gates every cheat on the GPU of this machine by its record in the regimes cold, stream, isolated,
# dirty, activations and warm, and once more in library mode; HOW names some of these (`stream library`). OUT gets HOW.csv (what `plumb study --csv`
# writes), HOW.txt (what it said, with why a cheat is broken or refused) and verdicts.md, a row a cheat: what must happen, and what
# did. A change counts from 5 % on: each cheat is 25 % slower.
# Exit: 0; 1 when a record's verdict is not what the cheat's header says; 4 when nothing could be done.
set -eu
[ $# -ge 1 ] || { sed -n '4,8s/^# //p' "$0"; exit 4; }
here=$(cd "$(dirname "$0")" && pwd)
plumb=${2:-$here/../../build/gpu/bin/plumb}
mkdir -p "$1"
out=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ -n "${PLUMB_CHEATS:-}" ] || "$here/build.sh" "$work/cheats" cuda "$(nproc)"
cheats=${PLUMB_CHEATS:-$work/cheats} # what build.sh made, where no compiler is
[ $# -le 2 ] && ways="cold stream isolated dirty activations warm library" || { shift 2 && ways=$*; }
study() { # NAME REGIME OPTIONS...
	name=$1 regime=$2
	shift 2
	"$plumb" study --device cuda --base "$cheats/base" --head "$cheats/head" --problem "512x512x1024:fp32:tn:$regime" \
		--rounds 1 --margin 5 --csv "$out/$name.csv" "$@" >"$out/$name.txt" || [ $? -eq 2 ]
}
for how in $ways; do
	mkdir "$work/$how"
	case $how in
	library) study library cold --problem 256x256x256:fp32 ;;
	*) study "$how" "$how" --records "$work/$how" ;;
	esac
done

# The verdicts of a cheat in NAME.csv, each once; refused: it could not be recorded.
verdicts() { # CHEAT NAME
	{
		awk -F, -v cheat="$1" '$1 == "slower" && $2 == cheat { print $5 }' "$out/$2.csv"
		sed -n "s/^$1 cannot be recorded: .*/refused/p" "$out/$2.txt"
	} | sort -u | paste -sd ' '
}
bad=0
{
	echo "| cheat | must be |$(printf ' %s |' $ways)"
	echo "|---|---|$(printf -- '---|%.0s' $ways)"
} >"$out/verdicts.md"
for file in "$here/cuda/"*.cu; do
	cheat=$(basename "$file" .cu)
	must=$(sed -n 's/^\/\/ expect: //p' "$file")
	row="| $cheat | $must |"
	for how in $ways; do
		found=$(verdicts "$cheat" "$how")
		row="$row $found |"
		[ "$how" != library ] || continue
		for word in ${found:-nothing}; do
			case " $must undecided " in
			*" $word "*) ;;
			*)
				echo "run.sh: $cheat, $how: $word, not $must"
				bad=1
				;;
			esac
		done
	done
	echo "$row" >>"$out/verdicts.md"
done
exit $bad
