#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# replay.sh OUT BIN LIBRARIES [SECONDS]: records CUDA kernels of all kinds and times each record beside the
# library that it was made from, in pairs; and each with itself. BIN holds plumb and bench, LIBRARIES the kernels'
# libraries (kernels/gemm built with nvcc). Ends after SECONDS [240]; what had no time is said. Of kernels marked `brief` there
# are few blocks: that they can be recorded, and that the record is right, is what is asked of them.
# OUT/replay.csv has a line a block of 64 pairs, OUT/replay.txt what could not be recorded and why.
set -eu
[ $# -ge 3 ] || { sed -n '4,9s/^# //p' "$0"; exit 4; }
out=$1 bin=$2 libraries=$3 seconds=${4:-240}
mkdir -p "$out/records"
end=$(($(date +%s) + seconds))
csv=$out/replay.csv log=$out/replay.txt
echo "kernel,problem,arms,block,base_us,head_us,ratio_pct,se_pct,clock_ghz" >"$csv"
{
	nvidia-smi --query-gpu=name,driver_version,uuid,power.limit,clocks.max.sm --format=csv,noheader 2>/dev/null || true
	date -u +%Y-%m-%dT%H:%MZ
} >"$log"

# pairs_of KERNEL PROBLEM ARMS BASE HEAD BLOCKS
pairs_of() {
	"$bin/bench" --device cuda time --base "$4" --head "$5" --kernel "$1" --problem "$2" --blocks "$6" 2>>"$log" |
		awk -v kernel="$1" -v problem="$2" -v arms="$3" '
		$1 == "block" {
			for (i = 1; i < NF; i++) v[$i] = $(i + 1)
			printf "%s,%s,%s,%s,%s,%s,%s,%s,%s\n", kernel, problem, arms, v["block"], v["base_us"], v["head_us"],
				v["ratio_pct"], v["se_pct"], v["clock_ghz"]
			next
		}
		/wrong|crashed|unsupported|unbuildable|missing/ { print kernel, problem, arms ":", $0 >"/dev/stderr" }' >>"$csv" 2>>"$log"
}

while read -r library kernel problem brief; do
	[ "$(date +%s)" -lt "$end" ] || { echo "no time: $kernel $problem" | tee -a "$log"; continue; }
	path=$libraries/lib$library.so
	record=$out/records/$kernel-$(echo "$problem" | tr ':/' '--').record
	[ -f "$path" ] || { echo "no library: $path" | tee -a "$log"; continue; }
	if ! "$bin/plumb" record make "$path" --kernel "$kernel" --problem "$problem" -o "$record" --bench "$bin/bench" \
		>>"$log" 2>&1; then
		echo "not recorded: $kernel $problem: $(tail -1 "$log")" | tee -a "$log"
		continue
	fi
	"$bin/plumb" record show "$record" >>"$log"
	if [ -n "$brief" ]; then
		pairs_of "$kernel" "$problem" library-record "$path" "$record" 2
		pairs_of "$kernel" "$problem" record-library "$record" "$path" 2
		continue
	fi
	pairs_of "$kernel" "$problem" library-record "$path" "$record" 6
	pairs_of "$kernel" "$problem" record-library "$record" "$path" 6
	pairs_of "$kernel" "$problem" record-record "$record" "$record" 4
	pairs_of "$kernel" "$problem" library-library "$path" "$path" 4
done <<'LIST'
bf16_persistent bf16-persistent 4096x4096x4096:bf16
bf16_pingpong bf16-pingpong 2048x2048x2048:bf16
bf16_split bf16-split 128x7168x2048:bf16
bf16_streamk bf16-streamk 4096x576x7168:bf16
bf16_multicast bf16-multicast 4096x7168x2048:bf16
bf16_alternate bf16-alternate 4096x4096x4096:bf16
bf16_gemv bf16-gemv 1x7168x2048:bf16
select_bf16 select-bf16 4096x4096x4096:bf16
select_bf16 select-bf16 128x7168x2048:bf16
e4m3_persistent e4m3-persistent 4096x4096x4096:fp8
e4m3_promoted e4m3-promoted 4096x4096x4096:fp8
e4m3_pingpong e4m3-pingpong 2048x2048x2048:fp8
e4m3_streamk e4m3-streamk 128x7168x2048:fp8
select_e4m3 select-e4m3 128x7168x2048:fp8
tf32_9_persistent tf32-9-persistent 2048x2048x2048:tf32
tf32_7_tma tf32-7-tma 2048x2048x2048:tf32
tf32_1_mma tf32-1-mma 1024x1024x1024:tf32
tf32_nn tf32-nn 2048x2048x2048:tf32:nn
tf32_streamk tf32-streamk 4096x576x7168:tf32
select_tf32 select-tf32 2048x2048x2048:tf32
fp16_persistent fp16-persistent 4096x4096x4096:fp16
tiled_fp32 tiled_fp32 1024x1024x1024:fp32
naive_fp32 naive_fp32 512x512x512:fp32
cublaslt cublaslt 2048x2048x2048:bf16
bf16_grouped bf16-grouped 8192x2048x2048:bf16:contiguous32/zipf brief
bf16_grouped bf16-grouped 4096x4096x2048:bf16:masked32/20/30 brief
e4m3_grouped e4m3-grouped 8192x2048x2048:fp8:fp32/1x128/128x128/columns:contiguous32/zipf brief
e4m3_grouped e4m3-grouped 4096x4096x2048:fp8:fp32/1x128/128x128/columns:masked32/20/30 brief
e4m3_scaled e4m3-scaled 4096x7168x2048:fp8:fp32/1x128/128x128/columns brief
select_e4m3_scaled select-e4m3-scaled 128x7168x2048:fp8:fp32/1x128/128x128/columns brief
select_e4m3_promoted select-e4m3-promoted 4096x7168x2048:fp8 brief
e4m3_gemv e4m3-gemv 1x7168x2048:fp8 brief
tf32_gemv tf32-gemv 1x7168x2048:tf32 brief
nvfp4_dual_few nvfp4-dual-few 16x4096x7168:nvfp4-fp16:dual-silu:e4m3/16/tiled brief
nvfp4_dual_many nvfp4-dual-many 512x4096x7168:nvfp4-fp16:dual-silu:e4m3/16/tiled brief
select_nvfp4 select-nvfp4 1x7168x2048:nvfp4-fp16:e4m3/16/tiled brief
select_nvfp4 select-nvfp4 512x4096x7168:nvfp4-fp16:e4m3/16/tiled brief
select_nvfp4_dual select-nvfp4-dual 256x3072x4096:nvfp4-fp16:dual-silu:e4m3/16/tiled brief
select_bf16_dual select-bf16-dual 256x4096x7168:bf16:dual-silu brief
dual_1_reference dual-1-reference 512x3072x7168:bf16:dual-silu brief
dual_2_fused dual-2-fused 512x3072x7168:bf16:dual-silu brief
dual_3_share_b dual-3-share-b 512x3072x7168:bf16:dual-silu brief
dual_4_share_a dual-4-share-a 512x3072x7168:bf16:dual-silu brief
dual_5_split_global dual-5-split-global 512x3072x7168:bf16:dual-silu brief
dual_6_chevrons dual-6-chevrons 512x3072x7168:bf16:dual-silu brief
dual_7_split_cluster dual-7-split-cluster 512x3072x7168:bf16:dual-silu brief
dual_8_fp8 dual-8-fp8 512x4096x7168:fp8:dual-silu brief
tf32_2_shared_k8 tf32-2-shared-k8 2048x2048x2048:tf32 brief
tf32_3_shared_k32 tf32-3-shared-k32 2048x2048x2048:tf32 brief
tf32_4_wgmma tf32-4-wgmma 2048x2048x2048:tf32 brief
tf32_5_double tf32-5-double 2048x2048x2048:tf32 brief
tf32_6_banded tf32-6-banded 2048x2048x2048:tf32 brief
tf32_8_tma_wide tf32-8-tma-wide 2048x2048x2048:tf32 brief
tf32_pingpong tf32-pingpong 2048x2048x2048:tf32 brief
gemm_form_cuda gemm-form 1024x1024x1024:bf16 brief
LIST
awk -F, 'NR > 1 {
	key = $1 "," $2 "," $3
	if (!(key in n)) order[++keys] = key
	n[key]++; r[key] += $7; us[key] += $6
}
END { for (i = 1; i <= keys; i++) { k = order[i]; split(k, f, ","); printf "%-20s %-26s %-16s %9.2f us %+.3f %%\n", f[1], f[2], f[3], us[k] / n[k], r[k] / n[k] } }' "$csv"
