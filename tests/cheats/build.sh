#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# build.sh OUT cuda|host [JOBS]: OUT/head/NAME.so for every cheat of the device, and OUT/base/NAME.so, the
# honest kernel under the cheat's name. `plumb study --base OUT/base --head OUT/head` then gates each.
set -eu
[ $# -ge 2 ] || { sed -n '4,5s/^# //p' "$0"; exit 4; }
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1/base" "$1/head"
out=$(cd "$1" && pwd) device=$2 jobs=${3:-2}
cd "$here/$device"
root=$here/../..
if [ "$device" = cuda ]; then
	nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
	libraries=$(cd "$(dirname "$(realpath "$nvcc")")/../lib64" && pwd)
	compiler="$nvcc -std=c++20 -O3 --cudart=shared -Xcompiler=-fPIC,-fvisibility=hidden \
		--generate-code=arch=compute_90a,code=sm_90a -Xfatbin -compress=false -Xlinker -rpath=$libraries"
	suffix=cu
else
	compiler="${CC:-cc} -std=c17 -D_GNU_SOURCE -O2 -fPIC -fvisibility=hidden"
	suffix=c
fi
for file in *."$suffix"; do
	name=${file%.*}
	for side in base head; do
		source=$file
		[ "$side" = head ] || source=honest.$suffix
		echo "-I$root --shared -DCHEAT_NAME=\\\"$name\\\" $source -o $out/$side/$name.so"
	done
done | xargs -P "$jobs" -L 1 $compiler
echo "$(ls "$out/head" | wc -l) cheats"
