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
	[ -n "$2" ] && ! git diff --quiet -- "$2" || { echo "prepare.sh: $1: $2 is as it was"; exit 4; }
	git add -A .. ../../README.md
	git commit -qm "record: $1"
	git push -q origin "HEAD:refs/heads/$1"
	git reset -q --hard origin/base
}
echo >>../../README.md
branch none ../../README.md
for name in comment slower unbuildable wrong; do
	branch $name "$(sh "$here/change.sh" "$kind" $name)"
done
git -C "$folder/repository.git" gc -q --prune=now
git -C "$root" rev-parse HEAD >"$folder/commit"
du -sh "$folder" | awk '{print "prepared: " $2 ", " $1}'
