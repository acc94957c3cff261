#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A small repository with a real history, measured: this repository's host kernels over 35 commits
# that turn their constants; one of them makes `blocked` faster, which is accepted, and one `simd`
# slower. What the site shows of it is what this machine's CPU did; only the commits' dates are made
# up, one a day.
#
#   tests/browser/history.sh FOLDER [BIN]
#
# FOLDER (new) gets host-kernels/, store.db and site/. BIN: where plumb and bench are
# [build/dev/bin]. Takes some minutes; killed, it goes on when it is run again.
set -eu
[ $# -ge 1 ] || { sed -n '3,12s/^# \{0,1\}//p' "$0"; exit 4; }
source=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
plumb=$(cd "${2:-$source/build/dev/bin}" && pwd)/plumb
repo=$folder/host-kernels host=kernels/gemm/host days=0

# A commit of what is changed, a day after the last.
save() {
    days=$((days + 1))
    when=$((1792303200 + days * 86400)) # 2026-10-18 06:00 UTC
    git add -A
    GIT_AUTHOR_DATE="$when +0000" GIT_COMMITTER_DATE="$when +0000" \
        git -c user.name=Example -c user.email=example@example.org commit -q --allow-empty -m "$1"
}
# set_to FILE NAME VALUE: a constant of a kernel.
set_to() {
    sed -i "s/\b$2 = [0-9]*/$2 = $3/" "$host/$1"
}

make_repository() {
    mkdir -p "$repo/$host" "$repo/ci"
    cd "$repo"
    git init -q -b main .
    cp "$source/kernels/kernel.h" kernels/
    cp "$source/kernels/gemm/CMakeLists.txt" "$source/kernels/gemm/inputs.sh" kernels/gemm/
    for file in host.h simd.h simd.c blocked.c blas.h blas.c; do
        cp "$source/$host/$file" "$host/"
    done
    build='cmake -S "$PLUMB_SOURCE/kernels/gemm" -B "$PLUMB_BUILD" -G Ninja -DPLUMB_CUDA=OFF'
    build=$build' -DCMAKE_BUILD_TYPE=Release -DPLUMB_KERNEL_DIR="$PLUMB_OUT"'
    build=$build' && cmake --build "$PLUMB_BUILD"'
    cat >ci/plumb.cfg <<END
[build]
	input = kernels/kernel.h
	input = kernels/gemm
	command = "$(printf %s "$build" | sed 's/"/\\"/g')"
[device "host"]
	kind = host
[problems "host"]
	problem = 32x256x512:fp32
	problem = 192x192x192:fp32
	problem = 64x128x512:fp32
[kernel "blas"]
	problems = host
	control = true
[kernel "*"]
	problems = host
[measure]
	samples = 300
	timeout = 60
	model = sol
END
    save "kernels: packed, blocked and a BLAS to hold them against"
    for depth in 128 120 112 136 128 124 120; do
        set_to blocked.c BLOCK_K $depth
        save "blocked: packed blocks of $depth along k"
    done
    for depth in 368 360 376 352 384 392; do
        set_to simd.h DEPTH $depth
        save "simd: panels of $depth along k"
    done
    sed -i 's/^static void update(/__attribute__((target("avx2,fma"))) &/' "$host/blocked.c"
    save "blocked: AVX2 in the inner loop"
    for depth in 376 360 368 384 352; do
        set_to simd.h DEPTH $depth
        save "simd: panels of $depth along k"
    done
    sed -i '/^static void simd_transpose/,/^}/{/^#if/,/^#endif/d}' "$host/simd.h"
    save "simd: transpose with one plain loop, the compiler will see to it"
    for cols in 960 896 1024 928 992 1024 960 992 1024 928 896 960 1024 992; do
        set_to simd.h COLS $cols
        set_to blocked.c BLOCK_K $((cols / 8))
        save "kernels: $cols columns a block"
    done
}

[ -d "$repo/.git" ] || make_repository
cd "$repo"
set -- --quiet --repo . --store "$folder/store.db"
# A busy machine's readings do not agree, and are refused; without them there is no prediction.
for figure in clock_hz flops_clk_fp32 dram_bytes_s; do
    for try in 1 2 3 4 5 6 7 8; do
        "$plumb" calibrate "$@" --device host --only $figure | grep -q REFUSED || break
    done
done
# As a nightly does: each commit once with all of its series.
for commit in $(git rev-list --reverse HEAD); do
    grep -qs "$commit" "$folder/measured" && continue
    "$plumb" run "$@" --again "$commit" || [ $? -lt 4 ]
    echo "$commit" >>"$folder/measured"
done
faster=$(git rev-list HEAD --grep '^blocked: AVX2')
if [ ! -f baselines/epochs.txt ]; then
    "$plumb" gate "$@" --base "$faster~1" --head "$faster" --out "$folder/gate" || [ $? -lt 4 ]
    "$plumb" accept --repo . --store "$folder/store.db" --commit "$faster" \
        --who "Example <example@example.org>" --reason "AVX2 in the inner loop" blocked
fi
"$plumb" history --repo . --store "$folder/store.db"
"$plumb" site --repo . --store "$folder/store.db" --out "$folder/site"
