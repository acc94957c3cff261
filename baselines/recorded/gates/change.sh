#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# change.sh cuda|host comment|slower|unbuildable|wrong: makes that change to one kernel of the folder kernels/gemm that
# it is called in, and prints the file's name.
#   comment       a comment more
#   slower        it waits at its end for about 0.5 % of its time (on the host: as long again)
#   unbuildable   it does not compile
#   wrong         it leaves the last slab of K out (on the host: the last of each block's)
# Exit: 0, or 4 when the kernel's text is not the one that this script knows.
set -eu
file=
edit() { # FILE SED-SCRIPT: the script must change the file
	file=$1
	sed "$2" "$file" >change.tmp
	if cmp -s "$file" change.tmp; then
		rm -f change.tmp
		echo "change.sh: $file has another text now: mend the change in change.sh" >&2
		exit 4
	fi
	mv change.tmp "$file"
}
case "${1:-} ${2:-}" in
"cuda comment") edit cuda/persistent/bf16_persistent.cu '$a\
// A comment and nothing else.' ;;
"cuda unbuildable") edit cuda/persistent/bf16_pingpong.cu '$a\
static int none = no_such_name;' ;;
"cuda wrong") edit cuda/ladder/tf32_1_mma.cu 's/k < o\.k; k += 8/k + 8 < o.k; k += 8/' ;;
"cuda slower")
	# Its header becomes part of it, so that no other kernel is touched. A slab of 128 x 256 x 128 takes
	# an SM about 1300 cycles, so 6.5 cycles a slab are 0.5 %.
	cp cuda/persistent/persistent.cuh change.header
	edit cuda/persistent/persistent.cuh '/^        consume<c>(maps\.c, .*, step);$/a\
        const long long from = clock64();\
        const long long more = 13LL * p.slabs * ((p.grid.tiles - 1) / step + 1) / 2;\
        while (clock64() - from < more)\
            ;'
	mv cuda/persistent/persistent.cuh change.slower
	mv change.header cuda/persistent/persistent.cuh
	edit cuda/persistent/e4m3_persistent.cu '/persistent\.cuh/{
r change.slower
d
}'
	rm change.slower ;;
"host comment") edit host/naive.c '$a\
// A comment and nothing else.' ;;
"host unbuildable") edit host/blocked.c '$a\
static int none = no_such_name;' ;;
"host wrong") edit host/blocked.c 's/least(BLOCK_K, p->k - l);/least(BLOCK_K, p->k - l) - (l == 0);/' ;;
"host slower") edit host/naive.c 's,^    (void)stream;,&\
    for (volatile int64_t i = 0; i < args->problem.m * args->problem.n * args->problem.k; i++)\
        ;,' ;;
*) sed -n '4,11s/^# //p' "$0"; exit 4 ;;
esac
echo "$file"
