#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# prepare.sh [--host] FOLDER [BUILD]: all that record.sh needs on a machine that has a GPU, CUDA, cmake and ninja, but
# neither development packages nor a network: the bundle of ci/bundle, and repository.git, this repository's history
# with a branch for each gate. BUILD is a build with CUDA, by default build/dev; needs git, makes about 40 MB.
#   base          what is checked out here
#   none          a line of README.md more
#   comment       a comment more, in one kernel
#   slower        one kernel waits at its end for about 0.5 % of its time
#   unbuildable   one kernel does not compile
#   wrong         one kernel leaves the last slab of K out
#   before, gain  43d5216 and its parent: FP8 gained
# --host: the same with host kernels, to try the scripts where no GPU is.
set -eu
kind=cuda
[ "${1:-}" != --host ] || { kind=host; shift; }
[ $# -ge 1 ] || { sed -n '4,15s/^# //p' "$0"; exit 4; }
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
build=$(cd "${2:-$root/build/dev}" && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
PLUMB_BUILD_DIR=$build "$root/ci/bundle" "$folder"
rm -rf "$folder/repository.git"
git init -q --bare -b base "$folder/repository.git"
git -C "$root" push -q "$folder/repository.git" HEAD:refs/heads/base
if git -C "$root" rev-parse -q --verify '43d5216^{commit}' >/dev/null; then
	git -C "$root" push -q "$folder/repository.git" 43d5216^:refs/heads/before 43d5216:refs/heads/gain
fi
git -C "$folder/repository.git" rev-list -n 200 base -- kernels/gemm >"$folder/commits"
git clone -q -b base "$folder/repository.git" "$work/clone"
cd "$work/clone/kernels/gemm"
git config user.email record@example.org
git config user.name record

branch() { # NAME FILE: what is changed becomes a commit on the base; the file must have changed
	git diff --quiet -- "$2" && { echo "prepare.sh: $1: $2 is as it was; its text has changed"; exit 4; }
	git add -A .. ../../README.md
	git commit -qm "record: $1"
	git push -q origin "HEAD:refs/heads/$1"
	git reset -q --hard origin/base
}
echo >>../../README.md
branch none ../../README.md
if [ "$kind" = cuda ]; then
	echo '// A comment and nothing else.' >>cuda/bf16_persistent.cu
	branch comment cuda/bf16_persistent.cu
	# Its header becomes part of it, so that no other kernel is touched. A slab of 128 x 256 x 128 takes
	# an SM about 1300 cycles, so 6.5 cycles a slab are 0.5 %.
	sed -e '/No block may leave while a peer/i\
    const long long from = clock64();\
    const long long more = 13LL * p.slabs * ((p.grid.tiles - 1) / step + 1) / 2;\
    while (clock64() - from < more)\
        ;' cuda/persistent.cuh >"$work/slower"
	grep -q clock64 "$work/slower" || { echo "prepare.sh: slower: persistent.cuh has another text now"; exit 4; }
	sed -i -e "/persistent\.cuh/r $work/slower" -e '/persistent\.cuh/d' cuda/e4m3_persistent.cu
	branch slower cuda/e4m3_persistent.cu
	echo 'static int none = no_such_name;' >>cuda/bf16_pingpong.cu
	branch unbuildable cuda/bf16_pingpong.cu
	sed -i 's/k < o\.k; k += 8/k + 8 < o.k; k += 8/' cuda/tf32_1_mma.cu
	branch wrong cuda/tf32_1_mma.cu
else
	echo '// A comment and nothing else.' >>host/naive.c
	branch comment host/naive.c
	sed -i 's,^    (void)stream;,&\n    for (volatile int64_t i = 0; i < args->problem.m * args->problem.n * args->problem.k; i++)\n        ;,' \
		host/naive.c
	branch slower host/naive.c
	echo 'static int none = no_such_name;' >>host/blocked.c
	branch unbuildable host/blocked.c
	sed -i 's/least(BLOCK_K, p->k - l);/least(BLOCK_K, p->k - l) - (l == 0);/' host/blocked.c
	branch wrong host/blocked.c
fi
git -C "$folder/repository.git" gc -q --prune=now
git -C "$root" rev-parse HEAD >"$folder/commit"
du -sh "$folder" | awk '{print "prepared: " $2 ", " $1}'
