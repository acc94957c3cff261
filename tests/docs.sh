#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# docs.sh ROOT PLUMB: what the pages say is there. Every path in backticks or behind a link names a file or folder of this
# repository. Every figure of the README's table "What it reaches" stands in a record that its row links, and what its
# example says stands in the record that it names. ci/guide/COMMANDS.md has every command, and no option that the command
# lacks. Every message that ci/guide/TROUBLESHOOTING.md explains is one of the sources'. CHANGELOG.md says nothing twice.
set -eu
root=$1 plumb=$2
cd "$root"
failed=0
complain() {
	echo "$*"
	failed=1
}

rooms='ci|runner|model|kernels|baselines|reports|tests|\.github'
pages=$(find . -name '*.md' -not -path './build/*' -not -path './.git/*' -not -name CHANGELOG.md)
for page in $pages; do
	here=$(dirname "$page")
	# Paths with a room in front; words such as NAME, <file>, * and {a,b} stand for many.
	for path in $(grep -oE "\`($rooms)/[A-Za-z0-9_./-]+\`" "$page" | tr -d '`' | sort -u); do
		case $path in *NAME* | *NNNN*) continue ;; esac
		[ -e "$path" ] || [ -e "$here/$path" ] || complain "$page: there is no $path"
	done
	for link in $(grep -oE '\]\([^)#]+\)' "$page" | sed 's/^](//;s/)$//' | grep -v '://' | sort -u); do
		[ -e "$here/$link" ] || [ -e "$link" ] || complain "$page: there is no $link"
	done
done

rows=$(sed -n '/^## What it reaches/,/^## /p' README.md | grep -E '^\| .*\]\(' || true)
[ -n "$rows" ] || complain "README.md: no table of what it reaches, or without links"
echo "$rows" | while IFS= read -r row; do
	links=$(echo "$row" | grep -oE '\]\([^)]+\)' | sed 's/^](//;s/)$//')
	for figure in $(echo "$row" | sed 's/\[[^]]*\]([^)]*)//g' | grep -oE '[0-9]+([.,][0-9]+)*' | sort -u); do
		# shellcheck disable=SC2086 # a list of files
		cat $links | grep -qE "(^|[^0-9.,])$figure([^0-9]|$)" || echo "README.md: $figure is not in $links"
	done
done >"${TMPDIR:-/tmp}/docs.$$"
cat "${TMPDIR:-/tmp}/docs.$$"
[ -s "${TMPDIR:-/tmp}/docs.$$" ] && failed=1
rm -f "${TMPDIR:-/tmp}/docs.$$"

example=$(sed -nE 's/^    (slower  .*|SLOWER: .*)/\1/p' README.md)
[ -n "$example" ] || complain "README.md: no example of a verdict"
while IFS= read -r line; do
	grep -qF -e "    $line" baselines/recorded/gates/README.md || complain "README.md: not recorded: $line"
done <<EXAMPLE
$example
EXAMPLE

commands=$("$plumb" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p')
[ -n "$commands" ] || complain "$plumb --help lists no commands"
for command in $commands; do
	row=$(grep "^| .plumb $command. |" ci/guide/COMMANDS.md) || complain "ci/guide/COMMANDS.md: no plumb $command"
	help=$("$plumb" "$command" --help)
	for option in $(echo "$row" | grep -oE -e '--[a-z-]+' | sort -u); do
		echo "$help" | grep -qE -e "$option([= ]|\$)" ||
			complain "ci/guide/COMMANDS.md: plumb $command has no $option"
	done
done

lines=$(grep '^- ' CHANGELOG.md)
long=$(echo "$lines" | awk 'length > 160')
[ -z "$long" ] || complain "CHANGELOG.md: over 160 characters: $long"
lines=$(echo "$lines" | sort | uniq -d)
[ -z "$lines" ] || complain "CHANGELOG.md: twice: $lines"

# Texts of C are joined where they are cut into lines; "…" in a message stands for anything.
texts="${TMPDIR:-/tmp}/docs.$$"
find ci runner model kernels baselines reports -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' | xargs cat |
	tr '\n' ' ' | sed -E 's/" *"//g' >"$texts"
messages=$(sed -nE 's/^\| (`.*`[^|]*) \|.*\|.*\|$/\1/p' ci/guide/TROUBLESHOOTING.md |
	grep -v "the compiler's lines" | grep -oE '`[^`]+`' | tr -d '`' | sed 's/ *… */\n/g' | grep -v '^[;: ]*$')
[ "$(echo "$messages" | wc -l)" -gt 40 ] || complain "ci/guide/TROUBLESHOOTING.md: few messages were found in it"
echo "$messages" >"$texts.messages"
while IFS= read -r message; do
	grep -qF -e "$message" "$texts" || complain "ci/guide/TROUBLESHOOTING.md: no source says: $message"
done <"$texts.messages"
rm -f "$texts" "$texts.messages"
exit $failed
