#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# record.sh PLUMB FOLDER: makes a repository of the Triton kernels beside this script, with a history, and gates it by
# captures; then a PyTorch layer. Needs a GPU, PyTorch, Triton and git. Takes three minutes.
set -u
[ $# -eq 2 ] || { sed -n '4,5s/^# //p' "$0"; exit 4; }
plumb=$1 folder=$2 here=$(cd "$(dirname "$0")" && pwd)
export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@example.org
common='[build]
	pass = LD_LIBRARY_PATH
	pass = PYTHONPATH
	sandbox = auto
[device "gpu"]
	kind = cuda
'
capture() { # name kernel problem
    printf '[capture "%s"]\n\tcommand = python3 bench.py %s\n\tkernel = %s\n\tproblem = %s\n' "$1" "$1" "$2" "$3"
}
change() { # branch, message, sed's command
    git checkout -q -B "$1" main && sed -i "$3" kernels.py && git commit -qam "$2"
}
step() { echo "== $*"; s=$(date +%s); "$@"; echo "-- exit $?, $(($(date +%s) - s)) s"; }

mkdir -p "$folder/triton/ci" "$folder/torch/ci" || exit 4
cp "$here/kernels.py" "$here/bench.py" "$folder/triton"
cd "$folder/triton" && git init -q -b main . || exit 4
{ printf '%s' "$common"; capture matmul matmul_kernel 2048x2048x2048:fp16; capture tma tma_kernel 2048x2048x2048:fp16; } >ci/plumb.cfg
{ printf '%s' "$common"; capture matmul matmul_kernel 2048x2048x2048:fp16; } >../matmul.cfg
{ printf '%s' "$common"; capture attn attn_kernel heads=32,n=2048,d=64:fp16; } >../attn.cfg
{ cat ../attn.cfg; printf '\ttolerance = 1%%\n'; } >../tolerant.cfg
git add -A && git commit -qm "Kernels, their benchmark and a policy"
change comment "A comment" '3s/$/ And a comment./'
change tile "A smaller tile" 's/^TILE_M, TILE_N, TILE_K = .*/TILE_M, TILE_N, TILE_K = 128, 64, 64/'
change stage "A stage less" 's/^STAGES = 4/STAGES = 3/'
change wrong "Attention is off by 0.2 %" 's/(acc \/ s\[:, None\])/(acc \/ s[:, None] * 1.002)/'
git checkout -q -B range main
for i in 1 2 3 4 5 6 7 8 9 10; do
    [ $i = 6 ] && sed -i 's/^STAGES = 4/STAGES = 2/' kernels.py
    sed -i "3s/.*/# Kernels as a Triton user writes them, edition $i./" kernels.py
    git commit -qam "Edition $i"
done
git checkout -q main

step "$plumb" capture -q -- python3 bench.py
step "$plumb" gate -q --base main --head comment
step "$plumb" gate -q --base main --head tile
step "$plumb" gate -q --base main --head stage
step "$plumb" gate -q --base main --head wrong -p ../attn.cfg
step "$plumb" gate -q --base main --head wrong -p ../tolerant.cfg
step "$plumb" bisect -q --good main --bad range --series matmul/2048x2048x2048:fp16 -p ../matmul.cfg
step "$plumb" study --base main --rounds 200 --seconds 30 -p ../matmul.cfg -s ../study.db

cp "$here/layer.py" "$folder/torch"
cd "$folder/torch" && git init -q -b main . || exit 4
{ printf '%s' "$common"; printf '[capture "layer"]\n\tcommand = python3 layer.py\n\trange = layer\n\tlaunch = 2\n'
  printf '\tproblem = tokens=2048,width=1024:bf16\n'; } >ci/plumb.cfg
git add -A && git commit -qm "A layer"
step "$plumb" study --base main --rounds 200 --seconds 25 -s ../layer.db
