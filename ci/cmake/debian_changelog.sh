#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# debian_changelog.sh VERSION CONTACT CHANGELOG.md: the newest part of the changelog as Debian
# writes one.
set -eu
printf 'plumbline (%s) unstable; urgency=medium\n\n' "$1"
sed -n '/^## /,$p' "$3" | sed '1d;/^## /,$d' | grep '^- ' | sed 's/^- //' |
    while IFS= read -r line; do
        printf '%s\n' "$line" | fold -s -w 72 | sed 's/ *$//; 1s/^/  * /; 2,$s/^/    /'
    done
printf '\n -- %s  %s\n' "$2" "$(LC_ALL=C date -u -R -r "$3")"
