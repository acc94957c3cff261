#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# plans.sh OUT BIN [ROUNDS]: kernels of Triton from their source to a verdict, on a machine with a CUDA device, PyTorch
# and Triton 3.6. BIN holds plumb and bench. Compiles matmul.py, checks what `plumb plan --from` makes of Triton's
# metadata, gates a commit with one stage fewer and one that only moves lines, and times the cubins by Triton's own
# benchmark and by plumb, in turn.
set -eu
[ $# -ge 2 ] || { sed -n '4,7s/^# //p' "$0"; exit 4; }
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd) bin=$(cd "$2" && pwd) rounds=${3:-4}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
problem=4096x4096x4096:bf16
{
	nvidia-smi --query-gpu=name,driver_version,uuid,power.limit,clocks.max.sm --format=csv,noheader
	date -u +%Y-%m-%dT%H:%MZ
	python3 -c 'import torch, triton; print("triton", triton.__version__, "torch", torch.__version__)'
	"$bin/plumb" --version
} >"$out/machine.txt" 2>&1 || true

# A repository with the kernels: as they are, a comment more, one stage fewer.
mkdir -p "$work/repo/kernels" "$work/repo/ci"
cd "$work/repo"
git init -q .
git config user.name plans && git config user.email plans@localhost
cp "$here"/matmul.py "$here"/compile.py "$here"/*.plan kernels/ && cp "$here/plumb.cfg" ci/
git add . && git commit -qm 'three stages'
sed -i '2i # A line more: the machine code is the same.' kernels/matmul.py
git commit -qam 'a comment'
sed -i 's/plain=3, persistent=3/plain=2, persistent=2/' kernels/compile.py
git commit -qam 'one stage fewer'

git show HEAD~2:kernels/compile.py >"$work/compile.py"
mkdir "$work/first" "$work/built"
cp kernels/matmul.py kernels/*.plan "$work/first/" && cp "$work/compile.py" "$work/first/"
(cd "$work/first" && TRITON_CACHE_DIR=$work/cache python3 compile.py "$work/built")
for kernel in plain persistent; do
	"$bin/plumb" plan --from "$work/built/matmul_$kernel.json" -o "$work/built/from_$kernel.plan"
	cp "$work/built/from_$kernel.plan" "$out/"
	"$bin/plumb" plan check "$work/built/matmul_$kernel.plan" $problem
	"$bin/plumb" plan check "$work/built/from_$kernel.plan" $problem
done >"$out/check.txt" 2>&1

say() { # say FILE COMMAND...: runs a command and keeps what it says with its exit code
	file=$1
	shift
	set +e
	"$@" >>"$out/$file" 2>&1
	code=$?
	set -e
	echo "exit code $code" >>"$out/$file"
}
export TRITON_CACHE_DIR="$work/cache"
say gate.txt "$bin/plumb" list kernels --sandbox off
say gate.txt "$bin/plumb" gate --sandbox off --base HEAD~2 --head HEAD~1 --out "$out/report-comment"
say gate.txt "$bin/plumb" gate --sandbox off --base HEAD~1 --head HEAD --out "$out/report"
say gate.txt "$bin/plumb" run --sandbox off HEAD~2
cd "$work/first"
python3 "$here/timing.py" "$out" "$work/built" "$bin" "$rounds"
rm -f "$out"/*.record
