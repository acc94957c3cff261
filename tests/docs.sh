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

# Each check prints what is not there, and few programs are started: a process for each path, figure
# and message took half a minute of a processor.
told="${TMPDIR:-/tmp}/docs.$$"
trap 'rm -f "$told"*' EXIT
rooms='ci|runner|model|kernels|baselines|reports|tests|\.github'
find . -name '*.md' -not -path './build/*' -not -path './.git/*' -not -name CHANGELOG.md >"$told.pages"
{
	# Paths with a room in front; words such as NAME, <file>, * and {a,b} stand for many.
	xargs grep -oHE "\`($rooms)/[A-Za-z0-9_./-]+\`" <"$told.pages" | tr -d '`' | sort -u |
		while IFS=: read -r page path; do
			case $path in *NAME* | *NNNN*) continue ;; esac
			[ -e "$path" ] || [ -e "${page%/*}/$path" ] || echo "$page: there is no $path"
		done
	xargs grep -oHE '\]\([^)#]+\)' <"$told.pages" | grep -v '://' | sed 's/\](//;s/)$//' | sort -u |
		while IFS=: read -r page link; do
			[ -e "${page%/*}/$link" ] || [ -e "$link" ] || echo "$page: there is no $link"
		done
} >"$told"

rows=$(sed -n '/^## What it reaches/,/^## /p' README.md | grep -E '^\| .*\]\(' || true)
[ -n "$rows" ] || complain "README.md: no table of what it reaches, or without links"
echo "$rows" | while IFS= read -r row; do
	links=$(echo "$row" | grep -oE '\]\([^)]+\)' | sed 's/^](//;s/)$//')
	echo "$row" | sed 's/\[[^]]*\]([^)]*)//g' | grep -oE '[0-9]+([.,][0-9]+)*' | sort -u >"$told.figures"
	# shellcheck disable=SC2086 # a list of files
	awk -v files="$(echo $links)" -v figures="$told.figures" '
	{ text = text "\n" $0 }
	END {
		while ((getline figure <figures) > 0) {
			escaped = figure
			gsub(/\./, "\\.", escaped)
			if (text !~ "[^0-9.,]" escaped "([^0-9]|$)") print "README.md: " figure " is not in " files
		}
	}' $links
done >>"$told"
cat "$told"
[ ! -s "$told" ] || failed=1

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
	help=" $("$plumb" "$command" --help | tr '\n' ' ') "
	for option in $(echo "$row" | grep -oE -e '--[a-z-]+' | sort -u); do
		case $help in
		*"$option"[=\ ]*) ;;
		*) complain "ci/guide/COMMANDS.md: plumb $command has no $option" ;;
		esac
	done
done

lines=$(grep '^- ' CHANGELOG.md)
long=$(echo "$lines" | awk 'length > 160')
[ -z "$long" ] || complain "CHANGELOG.md: over 160 characters: $long"
lines=$(echo "$lines" | sort | uniq -d)
[ -z "$lines" ] || complain "CHANGELOG.md: twice: $lines"

# Texts of C are joined where they are cut into lines; "…" in a message stands for anything.
find ci runner model kernels baselines reports -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' | xargs cat |
	tr '\n' ' ' | sed -E 's/" *"//g' >"$told.texts"
messages=$(sed -nE 's/^\| (`.*`[^|]*) \|.*\|.*\|$/\1/p' ci/guide/TROUBLESHOOTING.md |
	grep -v "the compiler's lines" | grep -oE '`[^`]+`' | tr -d '`' | sed 's/ *… */\n/g' | grep -v '^[;: ]*$')
[ "$(echo "$messages" | wc -l)" -gt 40 ] || complain "ci/guide/TROUBLESHOOTING.md: few messages were found in it"
echo "$messages" >"$told.messages"
awk 'NR == FNR { texts = texts $0; next }
	!index(texts, $0) { print "ci/guide/TROUBLESHOOTING.md: no source says: " $0 }' \
	"$told.texts" "$told.messages" >"$told"
cat "$told"
[ ! -s "$told" ] || failed=1
exit $failed
