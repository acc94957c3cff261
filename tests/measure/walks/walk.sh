#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# walk.sh OUT FOLDER [USER...]: from a clone to the first gate, by the commands of kernels/CAPTURE.md, as six users go
# that way: triton, torch, cuda, cute, whose repositories stand here, and stranger and hgemm, public ones as they are.
# Then each makes a kernel slower, changes a comment, and makes it wrong. bisect is CUDA's user, over ten commits. Where
# they are asked for: tuned is Triton's user again, with a kernel that tunes itself; more is torch's, whose block gets one
# temporary more, and loses it again; playground and tiled are public ones, of which the first is built by CMake, the
# other's inputs are drawn anew by each build, and each is gated over commits of its own, too; so are sgemm, a source
# that is compiled by hand, and transposes, four kernels that are no GEMM. FOLDER is what
# baselines/recorded/h100/captures/prepare.sh makes; needs a GPU, CUDA, PyTorch, Triton, git and make. The clones go one
# after the other, but for torch's, and CuTe's, which compiles meanwhile. The changed commits are built and captured all
# at once, and gated one by one.
# OUT gets walks.csv (user, command, exit code, what it should be, seconds, last line), log.txt and machine.txt.
# Exit: 0, 1 when something did not end as it should, 4 when nothing could be done.
set -u
[ $# -ge 2 ] || { sed -n '4,15s/^# //p' "$0"; exit 4; }
mkdir -p "$1" || exit 4
out=$(cd "$1" && pwd) folder=$(cd "$2" && pwd) || exit 4
shift 2
users=${*:-cute torch triton cuda stranger hgemm bisect}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
begun=$(date +%s)
export HOME="$work" PATH="$folder/bin:$PATH:/usr/local/cuda/bin" PYTHONUNBUFFERED=1
export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}/usr/local/cuda/lib64"
git config --global user.name A && git config --global user.email a@example.org
git config --global init.defaultBranch main && git config --global safe.directory '*'
tar -C "$work" -xzf "$folder/public.tar.gz" || exit 4
echo user,command,exit,expected,seconds,last_line >"$out/walks.csv"
: >"$out/log.txt"
seconds_since() { awk "BEGIN { printf \"%.2f\", ($(date +%s%N) - $1) / 1e9 }"; }

# USER EXPECTED COMMAND: runs it as a line of a shell, says how long it took and how it ended.
take() {
	user=$1 expected=$2 line=$3 code=0 from=$(date +%s%N)
	said=$work/said.$user
	timeout -k 5 120 sh -c "$line" >"$said" 2>&1 || code=$?
	wall=$(seconds_since "$from")
	last=$(tail -n 1 "$said" | tr -d '"' | cut -c1-300)
	{
		echo "== $user, at $(($(date +%s) - begun)) s: $line"
		tail -n 60 "$said"
		echo "== exit $code, should be $expected, $wall s"
	} >>"$out/log.txt"
	echo "$user,\"$(echo "$line" | tr '"' "'")\",$code,$expected,$wall,\"$last\"" >>"$out/walks.csv"
	[ "$code" = "$expected" ]
}
# A gate; a machine without bubblewrap says what to do where the code is one's own, and that is done.
gate() { # USER EXPECTED COMMAND
	take "$@" && return
	grep -q 'plumb.trustCheckout true' "$work/said.$1" || return 1
	take "$1" 0 'git config plumb.trustCheckout true'
	take "$@"
}
# USER: its repository, with a history of three commits.
origin() {
	mkdir -p "$work/origin/$1" && cd "$work/origin/$1" && git init -q . || return 1
	cp -R "$folder/walks/$1/." . && printf 'bench\ngemm\n__pycache__\n.plumb\nplumb-report\n' >.gitignore
	[ "$1" != cute ] || { mkdir -p third_party/cutlass && cp -R "$work/public/cutlass/include" third_party/cutlass; }
	git add . && git commit -qm 'Kernels and their benchmark'
	echo 'How to run it: see the benchmark.' >README && git add . && git commit -qm 'A readme'
	echo 'It wants a GPU.' >>README && git commit -qam 'What it wants'
}
first() { # USER CAPTURE [BUILD]
	user=$1
	cd "$work" || return 1
	walk_from=$(date +%s%N)
	take "$user" 0 "git clone -q '$work/origin/$user' $user" && cd "$work/$user" || return 1
	[ -z "${3:-}" ] || take "$user" 0 "$3"
	take "$user" 0 "$2" && take "$user" 0 "git add ci && git commit -qm 'A gate'" && gate "$user" 0 'plumb gate --base HEAD'
	echo "$user,all from the clone to the first gate,$?,0,$(seconds_since "$walk_from")," >>"$out/walks.csv"
	cat ci/plumb.cfg >>"$out/log.txt"
}
change() { # USER NAME SED FILE
	cd "$work/$1" && sed -i "$3" "$4" && ! git diff --quiet && git commit -qam "$2" && git branch -f "$2" && return
	echo "== $1: $2 changes nothing" | tee -a "$out/log.txt"
	bad=1
}

walk_triton() { first triton 'plumb capture --write -- python3 bench.py'; }
walk_torch() { first torch 'plumb capture --write --range block -- python3 block.py'; }
walk_cuda() { first cuda 'plumb capture --write -- ./bench 2048' make; }
nvcc_cute='nvcc -O3 -std=c++17 --expt-relaxed-constexpr -arch=sm_90a -Ithird_party/cutlass/include -o gemm gemm.cu'
walk_cute() { first cute "plumb capture --write --build '$nvcc_cute' -- ./gemm 4096" "$nvcc_cute"; }
make_stranger='mkdir -p builds && make benchmark_dense STD=c++17 FLAGS=-arch=sm_90'
walk_stranger() {
	cp -R "$work/public/CUDA_gemm.git" "$work/origin/stranger"
	first stranger "plumb capture --write -k '*MatrixMul*' --build '$make_stranger' -- ./builds/benchmark_dense 2048 2048 2048" \
		"$make_stranger"
}
walk_hgemm() {
	cp -R "$work/public/cuda-gemm.git" "$work/origin/hgemm"
	first hgemm "plumb capture --write -k '*matmul_kernel*' -- ./main 2048 2048 2048" make
}
walk_tuned() {
	cp -R "$work/origin/triton" "$work/origin/tuned"
	first tuned "plumb capture --write --range 'm=*' -- python3 tuned.py"
}
make_playground='cmake -S . -B build -DCMAKE_BUILD_TYPE=Release >/dev/null && cmake --build build -j 12'
walk_playground() {
	cp -R "$work/public/matmul-playground.git" "$work/origin/playground"
	first playground 'plumb capture --write -- ./build/runner 6 5 4096 4096 4096' "$make_playground"
}
make_tiled='mkdir -p bins && python3 generate.py && make tiled ARCH=-gencode=arch=compute_90,code=sm_90'
walk_tiled() {
	cp -R "$work/public/cuda-matmuls.git" "$work/origin/tiled"
	first tiled "plumb capture --write --build '$make_tiled' -- ./outs/tiled" "$make_tiled"
}
nvcc_by_hand() { echo "mkdir -p bin && nvcc -O3 -gencode arch=compute_90,code=sm_90 -o bin/$1 $2"; }
make_sgemm=$(nvcc_by_hand sgemm 'sgemm/sgemm_v1.cu -lcublas')
walk_sgemm() {
	cp -R "$work/public/gpu-optimize.git" "$work/origin/sgemm"
	first sgemm "plumb capture --write --build '$make_sgemm' -- ./bin/sgemm 2048 2048 2048" "$make_sgemm"
}
make_transposes=$(nvcc_by_hand matrix src/07-global-memory/matrix.cu)
walk_transposes() {
	cp -R "$work/public/cuda-programming.git" "$work/origin/transposes"
	first transposes "plumb capture --write --build '$make_transposes' -- ./bin/matrix 4096" "$make_transposes"
}
transposed='s/threadIdx.x \/ 16 \* EACH, tx = threadIdx.x % 16/threadIdx.x % 16 * EACH, tx = threadIdx.x \/ 16/'
changes() { # USER
	case $1 in
	triton)
		change triton slower 's/^STAGES = 4/STAGES = 2/' fused.py
		change triton comment '3s/$/ Nothing else./' fused.py
		change triton wrong 's/acc = 0.5 \* acc/acc = 0.501 * acc/' fused.py ;;
	torch)
		change torch slower 's/is_causal=True)$/&.mul_(1.0)/' block.py
		change torch comment '3s/$/ Nothing else./' block.py
		change torch wrong 's/is_causal=True/is_causal=False/' block.py ;;
	more) change torch more 's/^        x = x + self.out/        y = y * 1.0\n&/' block.py ;;
	cuda)
		change cuda slower "$transposed" gemm.cuh
		change cuda comment '3s/$/ Nothing else./' gemm.cuh
		change cuda wrong 's/for (int k0 = 0; k0 < k; /for (int k0 = DEPTH; k0 < k; /' gemm.cuh ;;
	cute)
		change cute slower 's/^constexpr int STAGES = 3/constexpr int STAGES = 2/' gemm.cu
		change cute comment '3s/$/ Nothing else./' gemm.cu
		change cute wrong 's/^    copy(out, thread/    out(0) = Type(1);\n&/' gemm.cu ;;
	stranger)
		change stranger slower '0,/^        __syncthreads();/s//        __syncthreads();\n        __syncthreads();/' src/cuda/dense.cu
		change stranger comment '1s/$/ \/\/ for printf/' src/cuda/dense.cu ;;
	hgemm)
		change hgemm slower 's/__pipeline_wait_prior(1)/__pipeline_wait_prior(0)/' mm9.cu
		change hgemm comment '2s/$/, two buffers/' mm9.cu
		change hgemm wrong '0,/__float2half(\*/s//__float2half(1.01f * */' mm9.cu ;;
	playground)
		change playground slower '0,/^    #pragma unroll$/s//    #pragma unroll 1/' src/kernel6.cu
		change playground comment '1s/$/ \/\/ for mma/' src/kernel6.cu
		change playground wrong 's/(half)alpha;/(half)(1.01f * alpha);/' src/kernel6.cu ;;
	tiled)
		change tiled slower 's/^      for (int k = 0; k < TILE/      #pragma unroll 1\n&/' tiled.cu
		change tiled comment '1s/$/ \/\/ for printf/' tiled.cu
		change tiled wrong 's/= acc;/= 1.01f * acc;/' tiled.cu ;;
	sgemm)
		change sgemm slower 's/^            \/\/ use double buffer, only need one sync/            __syncthreads();\n&/' sgemm/sgemm_v1.cu
		change sgemm comment '1s/$/, in FP32/' sgemm/sgemm_v1.cu
		change sgemm wrong 's/frag_a\[1\]\[thread_y\] \*/1.01f * &/' sgemm/sgemm_v1.cu ;;
	transposes)
		change transposes slower 's/B\[index\] = A\[index\];/__nanosleep(1000); &/' src/07-global-memory/matrix.cu
		change transposes comment '2s/$/ \/\/ for printf/' src/07-global-memory/matrix.cu
		change transposes wrong 's/B\[index\] = A\[index\];/B[index] = 1.01f * A[index];/' src/07-global-memory/matrix.cu ;;
	tuned) change tuned comment '3s/$/ Nothing else./' tuned.py ;;
	esac
}
prepare() { # USER...: all at once
	from=$(date +%s%N)
	for user in "$@"; do changes "$user"; done
	for user in "$@"; do
		for name in slower comment wrong more; do
			git -C "$work/$user" rev-parse -q --verify "$name" >/dev/null 2>&1 && echo "-C $work/$user $name"
		done
	done >"$work/prepared.$1"
	xargs -P 14 -L 1 plumb list -q kernels <"$work/prepared.$1" >>"$out/log.txt" 2>&1
	echo "$*,the changed commits are built and captured,0,0,$(seconds_since "$from")," >>"$out/walks.csv"
}
gates() { # USER...
	for user in "$@"; do
		for name in slower:1 comment:0 wrong:3 more:1; do
			cd "$work/$user" 2>/dev/null && git checkout -q "${name%:*}" 2>/dev/null || continue
			take "$user" "${name#*:}" "plumb gate -q --base HEAD~1 --head HEAD # ${name%:*}" || bad=1
			[ "${name%:*}" != more ] || take "$user" 0 'plumb gate -q --base HEAD --head HEAD~1 # one less' || bad=1
		done
	done
}
# USER EXPECTED BASE HEAD [SED]: two commits from before the policy, by what SED makes of it.
own() {
	cd "$work/$1" 2>/dev/null && git checkout -q "$(git rev-list -n 1 --grep '^A gate$' --all)" || return
	sed "${5:-}" ci/plumb.cfg >"$work/$1.cfg"
	take "$1" "$2" "plumb gate -q -p '$work/$1.cfg' --base $3 --head $4 # its own commits" || bad=1
}
nvcc_playground='mkdir -p build \&\& nvcc -t 0 -std=c++17 -O3 -arch=sm_75 -lineinfo --expt-relaxed-constexpr'
nvcc_playground="$nvcc_playground -Xptxas -dlcm=cg -o build\/runner src\/*.cu -lcublas"
owns() { # USER
	case $1 in
	playground) own playground 0 b270062 338f244 "s/cmake -S.*JOBS/$nvcc_playground/" ;;
	tiled) own tiled 0 672bc3a~1 672bc3a ;;
	sgemm) own sgemm 0 3b9715d~1 3b9715d ;;
	esac
}
bisect() {
	cd "$work/cuda" && git checkout -q -B range "$(git rev-list --max-parents=0 HEAD)" && git checkout -q slower~1 -- ci || return 1
	git commit -qm 'A gate' && git tag good
	for i in 1 2 3 4 5 6 7 8 9 10; do
		[ $i = 6 ] && sed -i "$transposed" gemm.cuh
		sed -i "3s/.*/\/\/ C = A * B in FP32, edition $i./" gemm.cuh
		git commit -qam "Edition $i"
	done
	take bisect 0 "plumb bisect --good good --bad range --series '$(plumb list -q series range | awk '/^gemm/ { print $1 "/" $2; exit }')'" || bad=1
	grep -q 'Edition 6' "$work/said.bisect" || { echo '== bisect: not the sixth' | tee -a "$out/log.txt"; bad=1; }
}

bad=0
{
	date -u +'%F %T UTC'
	nvidia-smi --query-gpu=name,uuid,driver_version --format=csv,noheader
	python3 -c 'import torch, triton; print("torch", torch.__version__, "triton", triton.__version__)'
	nvcc --version | grep release
	plumb --version
	command -v make bwrap
	cat "$folder/commit" "$work/public/commits"
} >"$out/machine.txt" 2>&1
for user in triton torch cuda cute; do
	origin $user || { echo "walk.sh: $user: no repository"; exit 4; }
done
ready= asides=
for user in $users; do
	case $user in
	cute) { walk_cute && prepare cute && [ "$bad" = 0 ]; } & cute=$! ;;
	torch) walk_torch & asides=$! ready="$ready torch" ;;
	bisect | more) ;;
	*) walk_$user || bad=1; ready="$ready $user" ;;
	esac
done
for aside in $asides; do wait "$aside" || bad=1; done
case " $users " in *' more '*) ready="$ready more" ;; esac
# shellcheck disable=SC2086 # words
[ -z "$ready" ] || { prepare $ready && gates $ready; }
for user in $ready; do owns "$user"; done
case " $users " in *' bisect '*) bisect ;; esac
[ -z "${cute:-}" ] || { wait "$cute" || bad=1; gates cute; }
exit $bad
