#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# nvcc.sh REPORT SOURCE COMMAND...
# Runs the compiler, keeps its report (registers, spills, warnings of ptxas), and fails on what
# silently makes a kernel several times slower, for which ptxas has no error:
#   spilled registers; C7508 setmaxnreg ignored; C7510, C7511, C7514, C7515 wgmma serialised.
# A source that must have one says so in a line of its own:  // allow: C7510  or  // allow: spills
report=$1
source=$2
shift 2
"$@" >"$report" 2>&1 || {
    cat "$report" >&2
    exit 1
}
failed=0
for code in C7508 C7510 C7511 C7514 C7515; do
    if grep -q "($code)" "$report" && ! grep -q "^// allow: $code\$" "$source"; then
        grep "($code)" "$report" | sort -u >&2
        failed=1
    fi
done
if grep -Eq '[1-9][0-9]* bytes spill' "$report" && ! grep -q '^// allow: spills$' "$source"; then
    grep -E -B 2 '[1-9][0-9]* bytes spill' "$report" >&2
    failed=1
fi
if [ $failed = 1 ]; then
    echo "$source: ptxas had to slow this kernel down (above); change it or declare it" >&2
fi
exit $failed
