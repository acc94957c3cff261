#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# tutorial.sh PAGE BIN [--print]: types the commands of a page into a shell and compares what is
# printed with what the page says.
#
# Commands are the lines of ```console blocks that begin with "$ ", with the here-document that may
# follow; the lines below are their standard output, where "..." stands for any lines. Numbers, ids,
# the machine's name, whether it was quiet enough for a profile, and so for predictions, and what the
# second for looks in other regimes was enough for, may differ. A verdict that this machine's load left open ends the comparison, aloud (exit 77): how fast
# a machine is, is not what is tested. With --print the page goes to standard output with what is
# printed now, for its author.
set -eu
here=$(dirname "$(realpath "$0")")
page=$(realpath "$1")
bin=$(realpath "$2")
print=${3:-}
folder=$(mktemp -d "${TMPDIR:-/tmp}/tutorial.XXXXXX")
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bin" "$folder/home" "$folder/typed"

# A measuring command takes a few seconds, however slow the machine is.
cat >"$folder/bin/plumb" <<EOF
#!/bin/sh
case \$1 in
gate | bisect | run) set -- "\$@" --seconds \${TUTORIAL_SECONDS:-6} ;;
esac
exec "$bin/plumb" "\$@"
EOF
chmod +x "$folder/bin/plumb"
export PATH="$folder/bin:$PATH" HOME="$folder/home" GIT_CONFIG_NOSYSTEM=1
unset GITHUB_ACTIONS GITHUB_STEP_SUMMARY
git config --global user.name You
git config --global user.email you@example.org
git config --global init.defaultBranch main

# One file per command, NNN.command, and what the page says of it, NNN.said.
awk -v folder="$folder" '
/^```console$/ { inside = 1; next }
/^```$/ { inside = 0; next }
!inside { next }
here { print >command; if ($0 == "EOF") here = 0; next }
/^\$ / {
    command = sprintf("%s/%03d.command", folder, ++count)
    said = sprintf("%s/%03d.said", folder, count)
    print substr($0, 3) >command
    printf "" >said
    here = /<<.EOF.$/
    next
}
{ print >said }' "$page"

# All in one shell, so that cd holds; each command to a file of its own.
script=$folder/script
echo "cd '$folder/typed'" >"$script"
for command in "$folder"/*.command; do
	name=${command%.command}
	printf '{\n%s\n} >"%s.out" 2>"%s.err"\n' "$(cat "$command")" "$name" "$name" >>"$script"
done
sh "$script"

plain() { # what does not depend on the machine
	sed -E "s|$folder/typed/||g; s/[0-9a-f]{10,40}/ID/g; s/HOST-[0-9a-f]+/HOST/g
		s/ on [A-Z][^:]*: / on CPU: /; s/; at a clock [^;]*//; s/, reused|, not reused//
		s/; (in a stream|alone|with a dirty cache|on warm operands|on warm activations) [-+][^;]*//
		s/, (time|actual \/ predicted): /, TIME: /
		s/[+-]?[0-9]+([.][0-9]+)?(e[0-9]+)?/N/g; s/  +/ /g; s/ +$//; /^timed /d"
}

opened() { # a verdict was left open, and says so
	case $(tail -n 1 "$1.out") in
	UNDECIDED* | VOID* | BETWEEN* | 'NOT FOUND'* | 'exit code 2') return 0 ;;
	'exit code 1') grep -q '^exit code 0' "$1.said" && return 0 ;;
	esac
	grep -q '^accepted .*; it is undecided' "$1.out" && return 0
	# No link was called slower, or noise let the links contradict each other.
	grep -q '^plumb history' "$1.command" &&
		grep -qE ': 0 changes$|does not fit its loops' "$1.out"
}

if [ "$print" ]; then
	awk -v folder="$folder" '
	/^```/ { inside = $0 == "```console" }
	!inside || here { print; if ($0 == "EOF") here = 0; next }
	/^```/ { print }
	/^\$ / {
		print
		here = /<<.EOF.$/
		out[++count] = sprintf("%s/%03d.out", folder, count)
	}
	!here && count > told {
		told = count
		while ((getline line <out[count]) > 0) {
			sub(folder "/typed/", "", line)
			print line
		}
	}' "$page"
	exit 0
fi

for said in "$folder"/*.said; do
	name=${said%.said}
	plain <"$said" >"$name.wanted"
	plain <"$name.out" >"$name.got"
	awk '
	NR == FNR { wanted[++count] = $0; next }
	BEGIN { at = 1 }
	{
		if (wanted[at] == "..." && $0 == wanted[at + 1])
			at++
		if (wanted[at] == "...")
			next
		if (at > count || $0 != wanted[at]) {
			print "the page: " (at > count ? "(nothing more)" : wanted[at]) "\nplumb:    " $0
			failed = 1
			exit
		}
		at++
	}
	END {
		while (at <= count && wanted[at] == "...")
			at++
		if (!failed && at <= count)
			print "the page: " wanted[at] "\nplumb:    (nothing more)"
		exit failed || at <= count
	}' "$name.wanted" "$name.got" >"$name.differs" && continue
	if opened "$name"; then
		sh "$here/skipped.sh" tutorial quiet \
			"left open on this machine, so the rest is not compared: $(cat "$name.command")"
	fi
	echo "$page: $(cat "$name.command")"
	cat "$name.differs" "$name.err"
	exit 1
done
