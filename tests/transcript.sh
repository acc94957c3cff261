#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# transcript.sh FILE BIN SOURCE: types what a transcript says is typed, and compares what is answered.
#
#   == a table names kernels (needs CUPTI)   a test, in an empty folder of its own
#   $ plumb capture -- sh program.sh         what is typed; lines behind it that begin with "> " too
#   ...235.4...                              what is answered on both streams: "..." is any text
#   [3]                                      and its exit code, where that is not 0
#
# What is typed under "== before each" is typed before each test. Lines that begin with "# ", and text
# above the first "==", are for readers. $BIN is the folder of the programs, which $PATH has, and
# $SOURCE that of the sources. A test is skipped, aloud, where something is missing that it needs:
# CUPTI (a library of plumb capture was built), nvcc, or sandbox (bwrap works).
set -eu
here=$(dirname "$(realpath "$0")")
page=$(realpath "$1") name=transcript_$(basename "$1" .txt)
BIN=$(realpath "$2") SOURCE=$(realpath "$3")
folder=$(mktemp -d "${TMPDIR:-/tmp}/transcript.XXXXXX")
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/home"
printf '[user]\n\tname = You\n\temail = you@example.org\n' >"$folder/home/.gitconfig"
export BIN SOURCE PATH="$BIN:$PATH" HOME="$folder/home" GIT_CONFIG_NOSYSTEM=1
unset GITHUB_ACTIONS GITHUB_STEP_SUMMARY

missing() { # NEED: says why it is missing, if it is
    case $1 in
    CUPTI) [ -r "$BIN/plumb_capture.so" ] || echo "its headers were not here when this was built" ;;
    nvcc) [ -x /usr/local/cuda/bin/nvcc ] || echo "there is no nvcc" ;;
    sandbox) bwrap --unshare-all --ro-bind / / true 2>&1 || echo "bwrap does not work here" ;;
    esac
}

# A folder NN per test: title, needs, and per command MMM.typed and MMM.said.
awk -v folder="$folder" '
function close_all() { if (typed) close(typed); if (said) close(said); typed = said = blank = "" }
/^# / { next }
/^== / {
    close_all()
    at = 0
    needs = ""
    title = substr($0, 4)
    if (match(title, / \(needs [^)]*\)$/)) {
        needs = substr(title, RSTART + 8, RLENGTH - 9)
        title = substr(title, 1, RSTART - 1)
    }
    test = folder "/" (title == "before each" ? "before" : sprintf("%02d", ++count))
    system("mkdir " test)
    print title >(test "/title")
    print needs >(test "/needs")
    close(test "/title")
    close(test "/needs")
    next
}
!test { next }
/^\$ / {
    close_all()
    typed = sprintf("%s/%03d.typed", test, ++at)
    said = sprintf("%s/%03d.said", test, at)
    print substr($0, 3) >typed
    printf "" >said
    next
}
/^> / && typed && !answered[typed] { print substr($0, 3) >typed; next }
typed && $0 == "" { blank = blank "\n"; next } # what a test ends with is not said
typed { answered[typed] = 1; printf "%s", blank >said; blank = ""; print >said }' "$page"

type_all() { # TEST: a script that types it, all in one shell, so that cd and variables hold
    echo "cd '$1/typed'"
    for typed in "$folder"/before/*.typed "$1"/*.typed; do
        [ -e "$typed" ] || continue
        out=$1/$(basename "$(dirname "$typed")").$(basename "$typed" .typed)
        printf '{\n%s\n} >"%s.out" 2>&1 </dev/null\necho $? >"%s.code"\n' "$(cat "$typed")" "$out" "$out"
    done
}

# What is said against what was to be said: its pieces between "..." in their order, the first at the
# beginning and the last at the end.
compare() { # SAID OUT CODE
    awk -v code="$(cat "$3" 2>/dev/null || echo none)" '
    FILENAME == ARGV[1] && /^\[[0-9]+\]$/ { wanted_code = substr($0, 2, length($0) - 2); next }
    FILENAME == ARGV[1] { wanted = wanted ($0 == "..." ? $0 : $0 "\n"); next }
    { got = got $0 "\n" }
    function wrong(text) { print "the transcript: " text; failed = 1; exit 1 }
    END {
        count = split(wanted, pieces, /\.\.\./)
        if (substr(got, 1, length(pieces[1])) != pieces[1]) wrong(pieces[1])
        if (count < 2 && got != wanted) wrong(wanted "(nothing more)")
        got = substr(got, length(pieces[1]) + 1)
        for (i = 2; i < count; i++) {
            if (pieces[i] == "") continue
            if (!(at = index(got, pieces[i]))) wrong(pieces[i])
            got = substr(got, at + length(pieces[i]))
        }
        if (count > 1 && substr(got, length(got) - length(pieces[count]) + 1) != pieces[count])
            wrong(pieces[count] "(nothing more)")
        if (code != wanted_code + 0) wrong("[" wanted_code + 0 "], and it ended with " code)
    }' "$1" "$2"
}

failed=0 skipped=0 ran=0
for test in "$folder"/[0-9]*; do
    title=$(cat "$test/title") lacks=""
    for need in $(tr ',' ' ' <"$test/needs"); do
        case $need in
        CUPTI | nvcc | sandbox) ;;
        *)
            echo "$page: $title: needs $need, which is no word of transcript.sh"
            exit 1
            ;;
        esac
        why=$(missing "$need" | tail -n 1)
        [ -z "$why" ] || { lacks=$need; break; }
    done
    if [ "$lacks" ]; then
        code=0
        sh "$here/skipped.sh" "$name" "$lacks" "$why" || code=$?
        [ $code = 77 ] || failed=1
        skipped=$((skipped + 1))
        continue
    fi
    mkdir "$test/typed"
    type_all "$test" >"$test/script"
    sh "$test/script" || true
    ran=$((ran + 1)) told="[       OK ] $title"
    for typed in "$folder"/before/*.typed "$test"/*.typed; do
        [ -e "$typed" ] || continue
        out=$test/$(basename "$(dirname "$typed")").$(basename "$typed" .typed)
        compare "${typed%.typed}.said" "$out.out" "$out.code" >"$test/differs" && continue
        told="[  FAILED  ] $title"
        failed=1
        echo "[  ERROR   ] --- ERROR: $ $(cat "$typed")"
        cat "$test/differs"
        echo "plumb:"
        cat "$out.out"
        break
    done
    echo "$told"
done
[ $failed = 0 ] || exit 1
[ $ran -gt 0 ] || exit 77
echo "$ran ran, $skipped skipped"
