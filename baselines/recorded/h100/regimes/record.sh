#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# record.sh FOLDER, on a GPU with PyTorch and Triton: what prepare.sh has made there is gated with
# looks in other regimes and without, of one kernel and of three; twenty changes are timed by both
# stopwatches; and identical code is gated in each regime. About ten minutes.
set -eu
[ $# -eq 1 ] || { sed -n '4,7s/^# //p' "$0"; exit 4; }
folder=$(cd "$1" && pwd)
plumb=$folder/bundle/bin/plumb
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
nvidia-smi --query-gpu=name,uuid,driver_version,power.limit,temperature.gpu --format=csv

gate() { # gate NAME HEAD POLICY
    begun=$(date +%s%3N)
    "$plumb" gate -C "$folder/gate" --base main~2 --head "$2" -p "$3" --store "$scratch/$1.db" \
        --cache "$scratch/cache" -o "$scratch/$1" --sandbox off >"$scratch/$1.txt" 2>&1 || true
    echo "== $1: $(($(date +%s%3N) - begun)) ms"
    cat "$scratch/$1.txt"
}
policy=$folder/gate/ci/plumb.cfg
sed 's/self-test = 1/self-test = 1\n\tbeside = none/' "$policy" >"$scratch/none.cfg"
sed 's/self-test = 1/self-test = 1\n\tregime = stream/' "$policy" >"$scratch/stream.cfg"
gate first main~1 "$scratch/none.cfg" >/dev/null # builds, and measures the profile
gate one-without-looks main~1 "$scratch/none.cfg"
gate one-with-looks main~1 "$policy"
gate three-without-looks main "$scratch/none.cfg"
gate three-with-looks main "$policy"
gate three-in-a-stream main "$scratch/stream.cfg"

python3 "$folder/regimes_triton.py" "$folder/kernel.h" "$folder"
python3 "$folder/regimes.py" "$folder/bundle/bin/bench" "$folder" "$folder/rows" --seconds 500

mkdir "$scratch/aa"
cp "$folder/base/libbf16_pingpong.so" "$folder/base/libe4m3_promoted.so" "$scratch/aa/"
problems=""
for regime in "" :stream :isolated :dirty :warm :activations; do
    problems="$problems --problem 128x7168x2048:bf16$regime"
    problems="$problems --problem 128x7168x2048:e4m3-bf16$regime"
done
# shellcheck disable=SC2086
"$plumb" study --device cuda --base "$scratch/aa" $problems --rounds 1000 --seconds 30
