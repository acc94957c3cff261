#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# prepare.sh FOLDER [BUILD]: all that a study and a sweep need on a machine that has a GPU and CUDA, but no development
# packages and little time: the bundle of ci/bundle, bin/sweep and bin/fit, kernels/, libraries/ of tests/slow/build.sh,
# and which commit this is. BUILD is a build with CUDA, by default build/dev. Takes a quarter of an hour on two cores and
# goes on where it was ended. There:
#   FOLDER/bin/plumb study --base FOLDER/libraries/BASE --head FOLDER/libraries/HEAD --seconds N --csv FILE
#   FOLDER/bin/sweep time 9 LIST.problems FOLDER/kernels/libspace_bf16_*.so
set -eu
[ $# -ge 1 ] || { sed -n '4,9s/^# //p' "$0"; exit 4; }
root=$(cd "$(dirname "$0")/../../.." && pwd)
build=$(cd "${2:-$root/build/dev}" && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
[ -x "$build/bin/sweep" ] || { echo "prepare.sh: $build/bin/sweep is not there; build with CUDA"; exit 4; }
PLUMB_BUILD_DIR=$build "$root/ci/bundle" "$folder"
cp "$build/bin/sweep" "$build/bin/fit" "$folder/bin/"
mkdir -p "$folder/kernels"
for kind in tf32 bf16 fp16 e4m3 dual naive_fp32 tiled_fp32 space select cublaslt; do
	cp "$build/kernels/lib$kind"*.so "$folder/kernels/"
done
git -C "$root" rev-parse HEAD >"$folder/commit"
[ -x "$folder/libraries/load" ] || sh "$root/tests/slow/build.sh" "$folder/libraries"
du -sh "$folder" | awk '{print "prepared: " $2 ", " $1}'
