#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# house.sh ROOT: the figures that keep the house in order, each of them 0. It reads the sources as
# text, so it is quick and needs no compiler; layering.cmake holds the walls between the folders.
#
#   1. functions over 70 lines
#   2. files that do not say at their beginning what they are
#   3. public functions that only tests call, or that only their own file calls
#   4. words in the sources beside those that the project has for its things
set -eu
cd "$1"
rooms="ci runner model kernels baselines reports"

# Words that stand for something that has another one: "word:its-word", looked for in names,
# comments and texts. The site's accuracy.json keeps a name that it had before.
words="seat:task station:device night:run surroundings:environment workload:problem speedup:ratio"
header_words="card:device" # elsewhere also a box of a page

sources() { # sources FOLDER...
    find "$@" -path tests/data -prune -o -type f \
        \( -name '*.c' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' \) -print | LC_ALL=C sort
}

lengths='
FNR == 1 { begun = 0 }
/^[{]/ { begun = FNR }
/^[}]/ && begun {
    if (FNR - begun + 1 > 70)
        print FILENAME ":" begun ": a function of " FNR - begun + 1 " lines, over 70"
    begun = 0
}'

openings='
FNR == 1 { at = 2 }
FNR == at && /^\/\/ (nvcc|link|arch): / { at++; next } # for the build recipe
FNR == at { empty = $0 == "//" }
FNR == at + 1 && !(empty && /^\/\/ [^ ]/) {
    print FILENAME ": does not begin with what it is (after the SPDX line and a line of //)"
}'

# Names are counted wherever they stand outside comments, texts and includes. A line that begins in
# the first column declares or defines: its first name before a "(" is not a call.
calls='
FNR == 1 { inside = 0 }
/^#include/ { next }
{
    line = $0
    gsub(/"([^"\\]|\\.)*"/, " ", line)
    sub(/\/\/.*/, "", line)
    while (inside || match(line, /\/\*/)) {
        if (!inside) {
            rest = substr(line, RSTART + 2)
            line = substr(line, 1, RSTART - 1)
            inside = 1
            if (!match(rest, /\*\//))
                break
            line = line " " substr(rest, RSTART + 2)
        } else {
            if (!match(line, /\*\//)) {
                line = ""
                break
            }
            line = substr(line, RSTART + 2)
        }
        inside = 0
    }
    here = FILENAME
    if (line ~ /^[A-Za-z_]/ && line !~ /^(typedef|#|X\()/ && match(line, /[A-Za-z_0-9]+\(/)) {
        name = substr(line, RSTART, RLENGTH - 1)
        line = substr(line, 1, RSTART - 1) " " substr(line, RSTART + RLENGTH)
        if (FILENAME ~ /\.h$/ && FILENAME !~ /^tests\// && line !~ /(^| )(static|define)( |$)/)
            declared[name] = FILENAME
        else if (FILENAME !~ /^tests\//)
            home[name] = home[name] " " FILENAME
    }
    count = split(line, parts, /[^A-Za-z_0-9]+/)
    for (i = 1; i <= count; i++)
        if (FILENAME ~ /^tests\//)
            tested[parts[i]] = 1
        else if (users[parts[i]] !~ (" " FILENAME "( |$)"))
            users[parts[i]] = users[parts[i]] " " FILENAME
}
END {
    for (name in declared) {
        others = users[name]
        if (others == "")
            print declared[name] ": " name "() is called by " (tested[name] ? "tests only" : "nobody")
        else if (others == home[name] && !tested[name])
            print declared[name] ": " name "() is called in its own file only: make it static"
    }
}'

spelling='
BEGIN {
    count = split(words, list, " ")
    for (i = 1; i <= count; i++) {
        split(list[i], pair, ":")
        instead[pair[1]] = instead[pair[1] "s"] = pair[2]
    }
}
/json_begin.*"nights"/ { next }
{
    count = split(tolower($0), parts, /[^a-z]+/)
    for (i = 1; i <= count; i++)
        if (parts[i] in instead)
            print FILENAME ":" FNR ": \"" parts[i] "\"; the word for it is " instead[parts[i]]
}'

found=$(
    awk "$lengths" $(sources $rooms tests)
    awk "$openings" $(sources $rooms tests)
    awk "$calls" $(sources $rooms tests)
    awk -v words="$words" "$spelling" $(sources $rooms)
    awk -v words="$header_words" "$spelling" $(sources $rooms | grep '\.h$')
)
[ -z "$found" ] && exit 0
printf '%s\n' "$found" | LC_ALL=C sort
exit 1
