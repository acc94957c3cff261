#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# record.sh [--seconds N] OUT FOLDER [STEP...]: what captures are worth, on the GPU of this machine. FOLDER is what
# prepare.sh makes; needs CUDA, PyTorch, Triton and git. Steps, those that are named or all, in this order:
#   refused   launches that no record can hold, one by one, each by its name
#   cost      what being watched costs a program: a launch, and a whole run
#   roads     one change by a shim, by a plan and by a capture, in two regimes
#   streams   launches on two streams, as a graph, and dependent ones: what the program says, and what the capture takes
#   first     a clone of a repository of Triton kernels to its first gate, with no line of shim
#   build     all that these of the next steps compare is built and captured, twelve at once
#   triton    a tile changed, a stage less, a wrong result, with and without a tolerance, a bisection over ten commits
#   torch     a comment beside a PyTorch layer; the layer with another order of heads
#   programs  public programs as they are: gates of a change to each
#   own       these programs and Triton: what they say of their own kernels, and what captures take
#   study     identical captures of twelve shapes beside themselves: seven gates of each in each of --rounds N [6]
# KINDS=AB in the environment leaves identical builds out of `roads`. --seconds N [600] ends all of it after so long. OUT gets machine.txt, log.txt, steps.csv (step, exit code, what it
# should be, seconds, last line), roads.csv, own.csv, gates.jsonl and the gates' summaries.
# Exit: 0, 1 when a step did not end as it should, 4 when nothing could be done.
set -u
if [ "${1:-}" = --do ]; then # one step's function, so that it can be ended by its time limit
	shift
	set -- --seconds 0 "$out" "$folder" "$@"
	inner=yes
fi
whole=600 rounds=6
while [ $# -gt 1 ]; do
	case $1 in
	--seconds) whole=$2 ;;
	--rounds) rounds=$2 ;;
	*) break ;;
	esac
	shift 2
done
[ $# -ge 2 ] || { sed -n '4,20s/^# //p' "$0"; exit 4; }
begun=$(date +%s)
mkdir -p "$1" || exit 4
out=$(cd "$1" && pwd) folder=$(cd "$2" && pwd) || exit 4
shift 2
steps=${*:-refused cost roads streams first build triton torch programs own study}
plumb=$folder/bin/plumb here=$folder/scripts me=$(cd "$(dirname "$0")" && pwd)/record.sh
[ -x "$plumb" ] && [ -d "$here/roads" ] || { echo "record.sh: $folder is not what prepare.sh makes"; exit 4; }
nvidia-smi >/dev/null 2>&1 || { echo "record.sh: no GPU here"; exit 4; }
if [ -z "${inner:-}" ]; then
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	tar -C "$work" -xzf "$folder/public.tar.gz"
	: >"$out/log.txt"
	echo step,exit,expected,seconds,last_line >"$out/steps.csv"
fi
[ -n "${inner:-}" ] || asked=$steps
export out folder work asked
if [ -z "${inner:-}" ]; then # what builds see is part of their key
	export PATH="$PATH:/usr/local/cuda/bin" PYTHONPATH="$here${PYTHONPATH:+:$PYTHONPATH}" PYTHONUNBUFFERED=1
	export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}/usr/local/cuda/lib64"
fi
export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@example.org
public=$work/public
nvcc_plain='nvcc -O2 -gencode arch=compute_90a,code=sm_90a'
say() { echo "$*" | tee -a "$out/log.txt"; }
left() { echo $((whole - $(date +%s) + begun - 4)); }
bad=0

machine() {
	date -u +'%F %T UTC'
	nvidia-smi --query-gpu=name,uuid,driver_version,power.limit,clocks.max.sm,temperature.gpu --format=csv,noheader
	python3 -c 'import torch, triton; print("torch", torch.__version__, "triton", triton.__version__)'
	nvcc --version | grep release
	"$plumb" --version
	echo "commit $(cat "$folder/commit")"
	cat "$public/commits"
}
# NAME SECONDS EXPECTED COMMAND...: runs it for at most so long, and says how it ended. EXPECTED "-": any exit code.
step() {
	name=$1 limit=$2 expected=$3
	shift 3
	seconds=$(left)
	[ "$seconds" -lt "$limit" ] || seconds=$limit
	if [ "$seconds" -lt 4 ]; then
		say "== $name: left out, no time"
		echo "$name,,,$expected,left out" >>"$out/steps.csv"
		return 1
	fi
	code=0 from=$(date +%s%N)
	timeout -k 5 "$seconds" "$@" >"$work/said" 2>&1 || code=$?
	wall=$(awk "BEGIN { printf \"%.2f\", ($(date +%s%N) - $from) / 1e9 }")
	say "== $name: $(echo "$*" | sed "s,$work/,,g; s,$folder/,,g")"
	cat "$work/said" >>"$out/log.txt"
	last=$(tail -n 1 "$work/said" | tr -d '"' | cut -c1-300)
	verdict="exit $code in $wall s: $last"
	case $code in
	"$expected") ;;
	124 | 137) verdict="ended by its time limit of $seconds s: $last" bad=1 ;;
	*) [ "$expected" = - ] || { verdict="NOT $expected: $verdict" bad=1; } ;;
	esac
	say "== $name: $verdict"
	echo "$name,$code,$expected,$wall,\"$last\"" >>"$out/steps.csv"
}
gate() { # NAME EXPECTED BASE HEAD OPTIONS...
	name=$1 expected=$2 old=$3 new=$4
	shift 4
	step "$name" 120 "$expected" "$plumb" gate -q --base "$old" --head "$new" --out "$work/gates/$name" "$@" || return 0
	[ ! -f "$work/gates/$name/summary.md" ] || cp "$work/gates/$name/summary.md" "$out/$name.md"
}

# ---- repositories ----

common='[build]
	pass = LD_LIBRARY_PATH
	pass = PYTHONPATH
	sandbox = auto
[device "gpu"]
	kind = cuda
'
python_capture() { # name, kernel, problem
	printf '[capture "%s"]\n\tcommand = python3 bench.py %s\n\tkernel = %s\n\tproblem = %s\n' "$1" "$1" "$2" "$3"
}
change() { # branch, message, sed's command, file
	git checkout -q -B "$1" main && sed -i "$3" "$4" && ! git diff --quiet && git commit -qam "$2"
}
begin() { # folder
	mkdir -p "$1/ci" && cd "$1" && git init -q -b main .
}
triton_repository() {
	begin "$work/triton" || return 1
	cp "$here/kernels.py" "$here/bench.py" .
	matmul=$(python_capture matmul matmul_kernel 2048x2048x2048:fp16:nn)
	{ printf '%s%s\n' "$common" "$matmul"; python_capture tma tma_kernel 2048x2048x2048:fp16:nn; } >ci/plumb.cfg
	printf '%s%s\n' "$common" "$matmul" >../matmul.cfg
	{ printf '%s' "$common"; python_capture attn attn_kernel heads=32,n=2048,d=64:fp16; } >../attn.cfg
	{ cat ../attn.cfg; printf '\ttolerance = 1%%\n'; } >../tolerant.cfg
	{ printf '%s' "$common"; python_capture softmax softmax_kernel rows=8192,cols=4000:fp32; printf '\ttolerance = type\n'; } >../softmax.cfg
	git add -A && git commit -qm "Kernels, their benchmark and a policy"
	change comment "A comment" '3s/$/ And a comment./' kernels.py
	change tile "A smaller tile" 's/^TILE_M, TILE_N, TILE_K = .*/TILE_M, TILE_N, TILE_K = 128, 64, 64/' kernels.py
	change stage "A stage less" 's/^STAGES = 4/STAGES = 3/' kernels.py
	change softmax "Softmax on eight warps" 's/BLOCK=4096)/BLOCK=4096, num_warps=8)/' bench.py
	change wrong "Attention is off by 0.2 %" 's/(acc \/ s\[:, None\])/(acc \/ s[:, None] * 1.002)/' kernels.py
	git checkout -q -B range main
	for i in 1 2 3 4 5 6 7 8 9 10; do
		[ $i = 6 ] && sed -i 's/^STAGES = 4/STAGES = 2/' kernels.py
		sed -i "3s/.*/# Kernels as a Triton user writes them, edition $i./" kernels.py
		git commit -qam "Edition $i"
	done
	git checkout -q main
}
torch_repository() {
	begin "$work/torch" || return 1
	cp "$here/layer.py" "$here/rows.py" .
	printf '%s[capture "layer"]\n\tcommand = python3 layer.py\n\trange = layer\n' "$common" >ci/plumb.cfg
	printf '\tproblem = tokens=2048,width=1024:bf16\n' >>ci/plumb.cfg
	git add -A && git commit -qm "A layer"
	change comment "A comment" '$a# Another comment.' layer.py
	change causal "Attention looks at all tokens" 's/is_causal=True/is_causal=False/' layer.py
	{ cat ci/plumb.cfg; printf '\ttolerance = 1%%\n'; } >../layer.cfg
	change slower "A pass more over what attention computed" 's/is_causal=True)/&.mul_(1.0)/' layer.py
	printf '%s[capture "rows"]\n\tcommand = python3 rows.py\n\trange = rows\n' "$common" >../rows.cfg
	printf '\tproblem = rows=8192,cols=4096:fp32\n\ttolerance = 0.1%%\n' >>../rows.cfg
	change exponent "Softmax as the exponent of its logarithm" 's/torch.softmax(x, 1)/torch.log_softmax(x, 1).exp_()/' rows.py
	change flash "Attention by another library" 's/^    for i in/    torch.backends.cuda.enable_cudnn_sdp(False)\n&/' layer.py
	git checkout -q main
}
shapes_repository() {
	begin "$work/shapes" || return 1
	cp "$here/kernels.py" "$here/shapes.py" .
	printf '%s[capture "shapes"]\n\tcommand = python3 shapes.py\n\tkernel = *_kernel\n' "$common" >ci/plumb.cfg
	git add -A && git commit -qm "Kernels at twelve shapes"
}
# name, folder of the public program, command that builds it, command, kernel, launch, problem
public_repository() {
	begin "$work/$1" || return 1
	cp -R "$public/$2/." .
	printf '%s[build]\n\tcommand = "%s"\n' "$common" "$3" >ci/plumb.cfg
	printf '[capture "%s"]\n\tcommand = "%s"\n\tkernel = %s\n\tlaunch = %s\n\tproblem = %s\n\tregime = stream\n' \
		"$1" "$4" "$5" "$6" "$7" >>ci/plumb.cfg
	git add -A && git commit -qm "The program as it is, and a policy"
}
nvcc='nvcc -O3 -gencode arch=compute_90a,code=sm_90a'
sgemm="$nvcc -Isrc -o \\\"\$PLUMB_OUT/sgemm\\\" sgemm.cu src/runner.cu -lcublas"
multiply="$nvcc -ICommon -o \\\"\$PLUMB_OUT/multiply\\\" Samples/0_Introduction/matrixMul/matrixMul.cu"
layernorm="cd dev/cuda && $nvcc --use_fast_math -o \\\"\$PLUMB_OUT/layernorm\\\" layernorm_forward.cu -lcublas -lcublasLt"
cute="$nvcc -std=c++17 --expt-relaxed-constexpr -Iinclude -Itools/util/include -o \\\"\$PLUMB_OUT/cute\\\""
cute="$cute examples/cute/tutorial/hopper/wgmma_tma_sm90.cu"
public_repositories() {
	public_repository sgemm SGEMM_CUDA "$sgemm" '\"$PLUMB_OUT/sgemm\" 6' '*sgemmVectorize*' 256 4096x4096x4096:fp32:nn
	change slower "A barrier more" '/^    \/\/ advance blocktile/i\    __syncthreads();' src/kernels/6_kernel_vectorize.cuh
	public_repository multiply cuda-samples "$multiply" \
		'\"$PLUMB_OUT/multiply\" -wA=2048 -hA=2048 -wB=2048 -hB=2048' '*MatrixMulCUDA*' 1 2048x2048x2048:fp32:nn
	change slower "A loop that is not unrolled" 's/^#pragma unroll/#pragma unroll 1/' \
		Samples/0_Introduction/matrixMul/matrixMul.cu
	public_repository layernorm llm.c "$layernorm" '\"$PLUMB_OUT/layernorm\" 5' '*layernorm_forward_kernel5*' 1 \
		rows=8192,cols=768:fp32
	change slower "Sums of squares by a second pass" 's/^        thread_sum2 += xi \* xi;$/    }\
    for (int i = threadIdx.x; i < C; i += blockDim.x) {\
        float xi = x[i];\
&/' dev/cuda/layernorm_forward.cu
	public_repository cute cutlass "$cute" '\"$PLUMB_OUT/cute\" 4096 4096 4096 T N' '*gemm_device*' 1 \
		4096x4096x4096:fp16
	change slower "A stage less" 's/auto bP = Int<3>{}/auto bP = Int<2>{}/' \
		examples/cute/tutorial/hopper/wgmma_tma_sm90.cu
}

# ---- steps ----

refused() {
	$nvcc_plain -rdc=true -DDEVICE_LAUNCH -o "$work/refused_device" "$here/refused.cu" -lcudadevrt &
	$nvcc_plain -o "$work/refused_plain" "$here/refused.cu"
	wait
	for what in nothing managed host texture surface ipc mapped window callback copy device; do
		program=refused_plain how="--kernel *double_*"
		[ $what != device ] || program=refused_device
		case $what in callback | copy) how="--range range" ;; esac
		# shellcheck disable=SC2086 # options
		"$plumb" capture -q $how -o "$work/refused-$what" -- "$work/$program" $what >"$work/one" 2>&1
		echo "$what: exit $?: $(grep -hE '^(refused|record)' "$work/one" | sed "s,$work/,,g" | tr '\n' ' ')$(
			grep -oE 'double[a-z_]*.*(device|images).*' "$work/one" | sed 's/  */ /g' | tr '\n' ' ')"
	done
	mkdir "$work/limit"
	env PLUMB_CAPTURE="$work/limit" PLUMB_CAPTURE_KERNEL='*double_*' PLUMB_CAPTURE_LIMIT=1000 \
		CUDA_INJECTION64_PATH="$folder/bin/plumb_capture.so" "$work/refused_plain" nothing
	echo "limit: $(grep -aoh 'its allocations hold[^	]*' "$work"/limit/survey.*)"
}
cost() {
	$nvcc_plain -o "$work/launches" "$here/launches.cu" || return 1
	for i in 1 2 3; do
		echo "alone: $("$work/launches")"
		echo "watched by a gate: $(PLUMB_CAPTURE=$work PLUMB_CAPTURE_KERNEL=none CUDA_INJECTION64_PATH="$folder/bin/plumb_capture.so" "$work/launches")"
		echo "by plumb capture: $("$plumb" capture -q -- "$work/launches" 2>&1 | grep 'us a launch')"
	done
	cd "$here" || return 1
	python3 bench.py matmul >/dev/null # Triton compiles once
	for how in "" "$plumb capture -q --" "$plumb capture -q -k matmul_kernel --"; do
		from=$(date +%s%N)
		$how python3 bench.py matmul >/dev/null 2>&1
		echo "python3 bench.py matmul: $(awk "BEGIN { printf \"%.2f\", ($(date +%s%N) - $from) / 1e9 }") s ${how:+by ${how#"$folder/bin/"}}"
	done
}
roads() {
	cp -R "$here/roads" "$work/base" && cp -R "$here/roads" "$work/head" || return 1
	sed -i 's/^        __syncthreads();$/&\n        __syncthreads();/' "$work/head/simt.cu" "$work/head/tensor.cu"
	sh "$work/base/build.sh" "$work/base" "$work/base/out" &
	sh "$work/head/build.sh" "$work/head" "$work/head/out" || return 1
	wait
	python3 "$here/roads.py" "$plumb" "$work/base/out" "$work/head/out" --kinds "${KINDS:-AA,AB}" >"$out/roads.csv"
	code=$?
	cat "$out/roads.csv"
	return $code
}
streams() {
	$nvcc_plain -o "$work/overlap" "$here/overlap.cu" || return 1
	for what in serial streams graph updated copies copied dependent; do
		echo "$what|$work/overlap $what|range:work||isolated|m([\d.]+) ms"
	done >"$work/overlaps"
	python3 "$here/own.py" "$plumb" "$work/overlaps" >"$out/streams.csv" || return 1
	cat "$out/streams.csv"
	"$plumb" capture -q --range work -o "$work/forked" -- "$work/overlap" streams >/dev/null 2>&1
	"$plumb" capture --show "$work"/forked/record.* | grep -E '^launch|on stream'
}
# The programs that gates have built, whichever of the two commits': the same one says and is captured.
# Where no gates went before they are taken from FOLDER/programs, or built here but for CuTe's, which takes half a minute.
# CuTe's waits for the device after each launch; cute_unchecked is the same with -D'CUTE_CHECK_LAST()='.
own() {
	PLUMB_OUT=$work/own
	export PLUMB_OUT
	mkdir -p "$PLUMB_OUT"
	for each in sgemm multiply layernorm cute cute_unchecked; do
		for made in "$folder/programs/$each" "$work/$each"/.plumb/cache/*/out/"$each"; do
			[ ! -f "$made" ] || { cp "$made" "$PLUMB_OUT/$each" && chmod +x "$PLUMB_OUT/$each"; }
		done
	done
	[ -f "$PLUMB_OUT/sgemm" ] || for each in "SGEMM_CUDA $sgemm" "cuda-samples $multiply" "llm.c $layernorm"; do
		(cd "$public/${each%% *}" && sh -c "$(echo "${each#* }" | tr -d '\\')" >/dev/null 2>&1) &
	done
	wait
	grep -E "${OWN:-.}" >"$work/rows" <<-END
		sgemm 4096|$PLUMB_OUT/sgemm 6|*sgemmVectorize*|256|stream|sAverage elapsed time: .([\d.]+)
		matrixMul 2048|$PLUMB_OUT/multiply -wA=2048 -hA=2048 -wB=2048 -hB=2048|*MatrixMulCUDA*|1|stream|mTime= ([\d.]+) msec
		layernorm 8192x768|$PLUMB_OUT/layernorm 5|*layernorm_forward_kernel5*|6|dirty|mtime ([\d.]+) ms
		CuTe 4096|$PLUMB_OUT/cute 4096 4096 4096 T N|*gemm_device*|1|stream|m\(([\d.]+)\)ms
		CuTe 4096 unchecked|$PLUMB_OUT/cute_unchecked 4096 4096 4096 T N|*gemm_device*|1|stream|m\(([\d.]+)\)ms
		Triton matmul 4096 for 20 ms;Triton matmul 4096 for .1 s;Triton matmul 4096 for 2 s|python3 $here/own_bench.py matmul 20 100 2000|matmul_kernel|1|dirty|m 20 ms: ([\d.]+);m 100 ms: ([\d.]+);m 2000 ms: ([\d.]+)
		Triton softmax 32768x4000|python3 $here/own_bench.py softmax 100|softmax_kernel|1|dirty|m 100 ms: ([\d.]+)
	END
	python3 "$here/own.py" "$plumb" "$work/rows" >"$out/own.csv"
	code=$?
	cat "$out/own.csv"
	return $code
}
build() { # for the steps that are asked for
	cd "$work" || return 1
	for each in triton:main triton:tile triton:stage triton:main:attn triton:wrong:attn triton:main:softmax triton:softmax:softmax \
		triton:main:matmul triton:range:matmul triton:range~3:matmul triton:range~4:matmul triton:range~5:matmul \
		torch:main torch:comment torch:causal torch:slower torch:main:rows torch:exponent:rows torch:main:layer torch:flash:layer shapes:main sgemm:main sgemm:slower multiply:main multiply:slower \
		layernorm:main layernorm:slower cute:main cute:slower; do
		case ${each%%:*} in triton | torch) step=${each%%:*} ;; shapes) step=study ;; *) step=programs ;; esac
		case " $asked " in *" $step "*) ;; *) continue ;; esac
		policy=$(echo "$each" | cut -sd: -f3)
		echo "$(echo "$each" | cut -d: -f2) -C $work/${each%%:*}${policy:+ -p $work/$policy.cfg}"
	done | xargs -P 12 -L 1 "$plumb" list -q kernels
}
one() { # STEP
	case $1 in
	refused | cost | streams | build) step "$1" 90 0 sh "$me" --do "$1" ;;
	roads | own) step "$1" 150 0 sh "$me" --do "$1" ;;
	first)
		step first 100 0 sh -c "git clone -q '$work/triton' '$work/clone' && cd '$work/clone' &&
			git fetch -q origin comment:comment && '$plumb' gate -q --base main --head comment"
		;;
	triton)
		cd "$work/triton" || return
		gate tile 1 main tile
		gate stage 1 main stage
		gate softmax - main softmax -p ../softmax.cfg
		gate wrong 3 main wrong -p ../attn.cfg
		gate tolerated 0 main wrong -p ../tolerant.cfg
		step bisect 90 0 "$plumb" bisect -q --good main --bad range --series matmul/2048x2048x2048:fp16:nn -p ../matmul.cfg
		;;
	torch)
		cd "$work/torch" || return
		gate torch-comment 0 main comment
		gate torch-causal 3 main causal
		gate torch-slower 1 main slower
		gate torch-exponent 1 main exponent -p ../rows.cfg
		gate torch-flash - main flash -p ../layer.cfg
		;;
	programs)
		for each in sgemm multiply layernorm cute; do
			cd "$work/$each" && gate "$each" 1 main slower
		done
		;;
	study)
		cd "$work/shapes" || return
		step study "${STUDY_SECONDS:-240}" 0 "$plumb" study --base main --rounds "$rounds" --gates 7 --side-by-side 16 \
			--seconds "$((${STUDY_SECONDS:-240} - 25))" --sandbox auto --csv "$out/study.csv"
		;;
	*) say "$1: no such step"; bad=1 ;;
	esac
}
if [ -n "${inner:-}" ]; then
	"$steps"
	exit
fi
machine >"$out/machine.txt" 2>&1
{
	triton_repository && torch_repository && shapes_repository &&
		case " $steps " in *' programs '* | *' own '*) public_repositories ;; esac
} >>"$out/log.txt" 2>&1 ||
	{ echo "record.sh: the repositories could not be made: $(tail -n 1 "$out/log.txt")"; exit 4; }
for each in $steps; do
	one "$each"
done
machine | head -n 2 >>"$out/machine.txt"
exit $bad
