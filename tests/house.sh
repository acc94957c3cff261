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
#   5. doors that lead to one place only: a header (.h, .cuh, .inc; none that the build writes) that
#      one file includes besides its own and no test, a public function that one file of its room
#      calls and no test, and circles of files that call each other. A room's seam may be narrow: a
#      caller in another room is no reason to merge.
#   6. recordings beyond what tests replay and pages cite
#   7. a tag of a struct, an enumeration or a union that two files define: a name is of one thing
#   8. headers that include each other in a circle, directly or through others
set -eu
cd "$1"
rooms="ci runner model kernels baselines reports"

# Words that stand for something that has another one: "word:its-word", looked for in names,
# comments and texts. The site's accuracy.json keeps a name that it had before.
words="seat:task station:device night:run surroundings:environment workload:problem speedup:ratio"
header_words="card:device" # elsewhere also a box of a page

sources() { # sources FOLDER...
    find "$@" -path tests/data -prune -o -type f \
        \( -name '*.c' -o -name '*.h' -o -name '*.inc' -o -name '*.cu' \
        -o -name '*.cuh' \) -print | LC_ALL=C sort
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
FNR == at && /^\/\/ (nvcc|link|arch|module): / { at++; next } # for the build recipe
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

# The includes of each product file, then names by file, as in `calls`.
doors='
function room(path) { sub(/\/.*/, "", path); return path }
function stem(path) { sub(/\.[a-z]+$/, "", path); return path }
FNR == 1 { inside = 0; test = FILENAME ~ /^tests\//; there[FILENAME] = 1 }
/^#include "/ {
    name = $2
    gsub(/"/, "", name)
    if (test)
        tested_header[name] = 1
    else if (stem(name) != stem(FILENAME)) {
        includers[name]++
        includer[name] = FILENAME
    }
    next
}
/^#/ && !/\\$/ { next }
{
    line = $0
    gsub(/"([^"\\]|\\.)*"/, " ", line)
    sub(/\/\/.*/, "", line)
    if (line ~ /^[A-Za-z_]/ && line !~ /^(typedef|static|X\(|extern)/ && match(line, /[A-Za-z_0-9]+\(/)) {
        name = substr(line, RSTART, RLENGTH - 1)
        if (FILENAME ~ /\.h$/ && !test && line !~ /(^| )(inline|define)( |$)/)
            declared[name] = FILENAME
        else if (!test)
            home[name] = FILENAME
    }
    count = split(line, parts, /[^A-Za-z_0-9]+/)
    for (i = 1; i <= count; i++)
        if (test)
            tested[parts[i]] = 1
        else if (FILENAME !~ /\.h$/ && !((parts[i], FILENAME) in seen)) {
            seen[parts[i], FILENAME] = 1
            users[parts[i]] = users[parts[i]] " " FILENAME
        }
}
END {
    for (header in includers)
        if (header in there && includers[header] == 1 && room(header) == room(includer[header]) && !(header in tested_header))
            print header ": only " includer[header] " includes it: a header with one user"
    for (name in declared) {
        from = home[name]
        if (from == "")
            continue
        count = split(users[name], list, " ")
        others = 0
        for (i = 1; i <= count; i++)
            if (list[i] != from) {
                others++
                other = list[i]
                if (room(list[i]) == room(from) && stem(list[i]) != stem(from))
                    print "call " from " " list[i]
            }
        if (others == 1 && !(name in tested) && room(other) == room(from))
            print from ": only " other " calls " name "()"
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

doors() { awk "$doors" $(sources $rooms tests); }

# Each file with each header that it includes, named from the root or beside the file.
includes='
FNR == 1 { there[FILENAME] = 1 }
/^#include "/ {
    split($0, parts, "\"")
    from[++count] = FILENAME
    name[count] = parts[2]
}
END {
    for (i = 1; i <= count; i++) {
        beside = from[i]
        sub(/[^\/]*$/, "", beside)
        header = name[i] in there ? name[i] : beside name[i]
        if (header in there)
            print from[i], header == from[i] ? "itself" : header
        if (header == from[i])
            print "itself", from[i]
    }
}'

judge_includes() {
    awk "$includes" $(sources $rooms tests) | tsort 2>&1 >/dev/null | awk '
    /^tsort: -: input contains a loop/ { next }
    !seen[$2]++ { files = files " " $2 }
    END {
        if (files != "")
            print "tests/house.sh: files include each other in a circle:" files
    }'
}

# Doors that are left, and never more: a change that adds one takes another away, and one that takes
# some away lowers the number.
one_user=0 one_caller=53 circles=0
judge_doors() {
    LC_ALL=C sort -u | awk -v one_user=$one_user -v one_caller=$one_caller -v circles=$circles '
    function judge(what, most, count, text, i) {
        if (count > most)
            print "tests/house.sh: " count " " what ", and " most " at most:"
        for (i = 1; i <= count && count > most; i++)
            print text[i]
    }
    /^call / { print $2, $3 | "tsort 2>&1 >/dev/null"; next }
    /: only .* calls / { callers[++many_callers] = $0; next }
    { users[++many_users] = $0 }
    END {
        judge("headers with one user", one_user, many_users, users)
        judge("public functions with one caller", one_caller, many_callers, callers)
    }' | awk -v most=$circles '
    /^tsort: -: input contains a loop/ { next }
    /^tsort: / { if (!seen[$2]++) { files = files " " $2; count++ } next }
    { print }
    END {
        if (count > most)
            print "tests/house.sh: " count " files call each other in circles, and " most " at most:" files
    }'
}

# Tags that more than one file defines. Each command has its own `arguments`; a `reference` and a
# `form_reference` are handles of device.h that each device defines.
shared_tags=2
judge_tags() {
    awk -v most=$shared_tags '
    /^(static |const |typedef )*(struct|enum|union) [a-z_0-9]+ [{]/ ||
    (FILENAME ~ /[.][ch]$/ && /^ +(struct|enum|union) [a-z_0-9]+ [{]/) {
        match($0, /(struct|enum|union) [a-z_0-9]+/)
        split(substr($0, RSTART, RLENGTH), words, " ")
        if (words[2] !~ /^(arguments|reference|form_reference)$/ && !((words[2], FILENAME) in seen)) {
            seen[words[2], FILENAME] = 1
            where[words[2]] = where[words[2]] " " FILENAME
            if (++files[words[2]] == 2)
                count++
        }
    }
    END {
        if (count > most) {
            print "tests/house.sh: " count " tags that two files define, and " most " at most:"
            for (tag in where)
                if (files[tag] > 1)
                    print "tag " tag ":" where[tag]
        }
    }' $(sources $rooms)
}

# What is recorded: who adds a file takes one away that nothing replays. The history keeps it, and a
# page names it as COMMIT:PATH.
recorded_files=80 recorded_bytes=6000000
judge_recorded() {
    find baselines/recorded -type f -exec wc -c {} + | awk -v files=$recorded_files -v bytes=$recorded_bytes '
    $2 != "total" { count++; sum += $1 }
    END {
        if (count > files)
            print "baselines/recorded: " count " files, and " files " at most"
        if (sum > bytes)
            print "baselines/recorded: " sum " bytes, and " bytes " at most"
    }'
}

found=$(
    judge_recorded
    awk "$lengths" $(sources $rooms tests)
    awk "$openings" $(sources $rooms tests)
    awk "$calls" $(sources $rooms tests)
    doors | judge_doors
    judge_tags
    judge_includes
    awk -v words="$words" "$spelling" $(sources $rooms)
    awk -v words="$header_words" "$spelling" $(sources $rooms | grep '\.h$')
)
[ -z "$found" ] && exit 0
printf '%s\n' "$found" | LC_ALL=C sort
exit 1
