#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# How far the model hopper is from tables of times that others published, as one table:
#
#   tests/measure/published.sh PLUMB FILE.csv...
#
# A file's name says its GPU (h100, b200, a100) and its type. MAPE in percent: cold with a launch, as
# a row is read that says nothing; in the regime that fits best; there with a bias, of an offset, a
# factor and a slope, each half of the sizes judged by what the other half gave; then the roofline
# and the best constant share of peak. A table is met where the biased error is at most its target
# and below the best constant's. Nothing is fitted to these tables. Exit code: 1 where one is not met.
set -eu
plumb=$1
shift

gpu_of() {
    case $1 in
    *b200*) echo b200 ;;
    *a100*) echo a100-sxm ;;
    *h200*) echo h200-sxm ;;
    *) echo h100-sxm ;;
    esac
}

# A type on a GPU without a target of its own is held to the constant alone.
target_of() {
    case $1 in
    *b200* | *a100*) echo 15 ;;
    *bf16*) echo 6 ;;
    *fp8* | *block*) echo 10 ;;
    *fp32*) echo 12 ;;
    *) echo 1000 ;;
    esac
}

# MAPE of a line of accuracy's table, or nothing: its third number behind the model's words.
mape() {
    sed -n "s/^$1  *[0-9][0-9]*  *[0-9][0-9]*  *\([0-9.][0-9.]*\) .*/\2/p" "$2" | head -n 1
}

told=$(mktemp)
trap 'rm -f "$told"' EXIT
missed=0
printf '%-24s %5s %7s %7s %7s %7s %8s %7s  %s\n' table rows cold best +bias target roofline constant regime
for file in "$@"; do
    name=$(basename "$file" .csv)
    "$plumb" accuracy --gpu "$(gpu_of "$name")" --model hopper --csv "$file" >"$told"
    regime=$(sed -n '1s/.* ways `\([^`]*\)` fits.*/\1/p' "$told")
    cold=$(sed -n '1s/.*cold with a launch \([0-9.]*\) %.*/\1/p' "$told")
    rows=$(sed -n 's/^constant [0-9.]* of peak *\([0-9]*\) .*/\1/p' "$told")
    best=$(mape 'hopper\(, no tile\)\{0,1\}' "$told")
    bias=$(mape 'hopper +bias\(, no tile\)\{0,1\}' "$told")
    roofline=$(mape 'sol\(, no tile\)\{0,1\}' "$told")
    constant=$(sed -n 's/^constant [0-9.]* of peak *[0-9]* *[0-9]* *\([0-9.]*\) .*/\1/p' "$told")
    target=$(target_of "$name")
    met=$(awk -v b="$bias" -v t="$target" -v c="$constant" 'BEGIN { print b != "" && b <= t && b < c }')
    [ "$met" = 1 ] || missed=1
    printf '%-24s %5s %7s %7s %7s %7s %8s %7s  %s%s\n' "$name" "$rows" "$cold" "$best" "$bias" \
        "$([ "$target" = 1000 ] && echo - || echo "$target")" "$roofline" "$constant" "$regime" \
        "$([ "$met" = 1 ] || echo ' MISSED')"
done
exit $missed
