#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# walk.sh ROOT [BUILD]: types what README's "Try it" says, in its order, in a fresh clone of ROOT's HEAD, or
# after its quickstart was run, in ROOT itself (BUILD is what it built): quickstart, install, package,
# archive, container, and how each is taken away. A command that this script does not know fails, so
# README says nothing that was not tried. What cannot be had here is skipped aloud. The kernels that the
# quickstart gates are those of the CPU.
set -eu
root=$(cd "$1" && pwd)
built=${2:-}
folder=$(mktemp -d "${TMPDIR:-/tmp}/walk.XXXXXX")
trap 'rm -rf "$folder"' EXIT
export HOME="$folder/home" GIT_CONFIG_NOSYSTEM=1 PLUMB_SKIP_SETUP=1 LC_ALL=C.UTF-8
mkdir "$HOME"
git config --global user.name You
git config --global user.email you@example.org
git config --global safe.directory '*'
skipped=""
if [ -z "$built" ]; then
    git -C "$root" rev-parse -q --verify HEAD >/dev/null 2>&1 ||
        sh "$root/tests/skipped.sh" walk git "$root is no clone"
    git clone -q "$root" "$folder/clone"
    root=$folder/clone
fi
cd "$root"
fail() { echo "walk.sh: $*" >&2; [ ! -f "$folder/said" ] || tail -n 30 "$folder/said" >&2; exit 1; }
try() { "$@" >"$folder/said" 2>&1 || fail "$*"; }

# gates PLUMB: it works where it is, in a repository that knows nothing of it.
gates() {
    for form in host-numbers host; do # a kernel that is no GEMM, and one that is
        rm -rf "$folder/own"
        git init -q "$folder/own"
        try "$1" init -C "$folder/own" --form $form
        git -C "$folder/own" add .
        git -C "$folder/own" commit -qm one
        (cd "$folder/own" && try "$1" gate -q --base HEAD)
        grep -q '^OK: 1 same' "$folder/said" || fail "$1 gates nothing of --form $form"
    done
}

# holds PREFIX: the pages, the scripts and the completion are there, and work.
holds() {
    for file in man/man1/plumb.1 doc/plumbline/ci/guide/TUTORIAL.md doc/plumbline/ci/examples/README.md \
        plumbline/ci/nightly plumbline/ci/fleet plumbline/ci/comment bash-completion/completions/plumb; do
        [ -e "$1/share/$file" ] || [ -e "$1/share/$file.gz" ] || fail "$1 lacks share/$file"
    done
    if command -v man >/dev/null; then
        man -l "$1"/share/man/man1/plumb-gate.1* 2>/dev/null | grep -q -- --base || fail "no man page of gate"
    fi
    (cd "$folder/own" && PATH="$1/bin:$PATH" try "$1/share/plumbline/ci/nightly")
    [ -f "$folder/own/nightly/report/index.html" ] || fail "the installed nightly left no report"
}

walk() { # walk COMMAND, as README says it
    case $1 in
    ci/quickstart)
        [ -z "$built" ] || return 0
        try cmake --preset dev -DPLUMB_CUDA=OFF
        try ci/quickstart --device host --base HEAD --out "$folder/out"
        built=build/dev ;;
    ci/test) ;; # what runs this, perhaps
    'cmake --install build/dev --prefix ~/.local')
        eval "$1" >/dev/null
        gates "$HOME/.local/bin/plumb"
        holds "$HOME/.local"
        grep -q 'xargs rm -f <build/dev/install_manifest.txt' README.md || fail "README takes nothing away"
        xargs rm -f <build/dev/install_manifest.txt
        [ -z "$(find "$HOME/.local" -type f)" ] || fail "$(find "$HOME/.local" -type f | head -n 3) stayed" ;;
    'ci/setup --package && (cd build/dev && cpack)')
        if ! command -v dpkg-shlibdeps >/dev/null; then
            skipped="$skipped package"
            return 0
        fi
        (cd build/dev && try cpack)
        dpkg-deb -x build/dev/plumbline_*.deb "$folder/package"
        gates "$folder/package/usr/bin/plumb"
        holds "$folder/package/usr" ;;
    'ci/bundle plumbline.tar.gz')
        eval "$1" >/dev/null
        mkdir "$folder/elsewhere"
        tar -C "$folder/elsewhere" -xzf plumbline.tar.gz
        rm plumbline.tar.gz
        gates "$folder/elsewhere/plumbline/bin/plumb" ;;
    'podman build -f ci/Containerfile -t plumb .')
        skipped="$skipped container" ;; # tests/measure has it: it takes a network and many minutes
    *) fail "README says '$1', which nothing here tries" ;;
    esac
    echo "walked $1"
}

awk '/^## /{ inside = $0 == "## Try it" } inside && sub(/^    /, "") { sub(/ *#.*/, ""); print }' README.md \
    >"$folder/commands"
[ "$(wc -l <"$folder/commands")" -ge 6 ] || fail "README's commands were not found"
while read -r command; do
    walk "$command" </dev/null
done <"$folder/commands"
[ -z "$skipped" ] || echo "walk.sh: not tried here:$skipped"
