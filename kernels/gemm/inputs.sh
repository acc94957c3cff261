#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# inputs.sh LIBRARY RULES PATH...
# States what a library was made from, in LIBRARY.inputs, for a later build that need not make it
# again ($PLUMB_HAVE in ../../runner/build/build.h). RULES are make's, as compilers write them with -MM or
# -MD; the PATHs count besides; all are absolute. What lies outside $PLUMB_SOURCE is the system's. A
# header that appears may hide another one, so the names of all headers count.
library=$1 rules=$2
shift 2
{
    printf '%s\n' '*.h' '*.cuh'
    {
        printf '%s\n' "$@"
        tr -s ' \\' '\n\n' <"$rules"
    } |
        sed -e ':a' -e 's,/\./,/,;ta' -e 's,/[^/][^/]*/\.\./,/,;ta' |
        sed -n "s,^$PLUMB_SOURCE/,,p"
} | sort -u >"$library.inputs"
