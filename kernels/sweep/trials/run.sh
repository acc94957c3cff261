#!/bin/bash
# Rows on trial (NEXT.md): checked, soaked, then timed beside the whole present space and cuBLASLt.
# Every check ends after 8 s of one hanging kernel; that kernel is left out of all that follows.
set -u
here=$(pwd)
O=${OUT_DIR:?}
export LD_LIBRARY_PATH=/usr/local/cuda/lib64:${LD_LIBRARY_PATH:-} SWEEP_SKIP=$O/skip.txt
: >$SWEEP_SKIP
tar xzf bundle.tgz; chmod +x ./sweep
begun=$(date +%s)
say() { echo "== $(date +%T) +$(($(date +%s) - begun)) s: $*"; }
nvidia-smi --query-gpu=uuid,driver_version,clocks.sm,power.draw,temperature.gpu --format=csv | tee $O/gpu.txt
# guarded LIMIT ERR COMMAND...: again without each kernel that hangs, fails or is wrong
guarded() {
    local limit=$1 err=$2 try rc; shift 2
    for try in 1 2 3 4 5 6; do
        timeout -k 5 $limit "$@" 2>$err.now; rc=$?
        cat $err.now >>$err
        [ $rc = 9 ] || [ $rc = 3 ] || break
        grep -E '^(HANG|FAIL|WRONG) ' $err.now | awk '{print $2}' | sort -u | tee -a $SWEEP_SKIP | sed 's/^/LEFT OUT: /' >&2
        [ $rc = 9 ] || break
    done
    rm -f $err.now
    return $rc
}
next="libnext_bf16.so libnext_e4m3.so libnext_promoted.so libnext_tf32.so libnext_odd_bf16.so libnext_odd_e4m3.so libnext_gemv_bf16.so libnext_gemv_e4m3.so libnext_gemv_tf32.so"
for m in $next; do
    guarded 45 $O/check.err ./sweep check $here/$m >>$O/check.txt; echo "check $m rc $?: $(tail -1 $O/check.txt)"
done
say "checked; left out: $(sort -u $SWEEP_SKIP | tr '\n' ' ')"
for m in $next; do
    for s in "1500 3000 400" "64 2112 7168" "777 3072 768"; do
        guarded 30 $O/soak.err ./sweep soak 200 $s $here/$m >>$O/soak.txt
    done
    guarded 20 $O/soak.err ./sweep soak 200 1 2112 7168 $here/$m >>$O/soak.txt
done
echo "soak: $(wc -l <$O/soak.txt) rows, $(grep -vc ' 0 words' $O/soak.txt) that differ"; grep -v ' 0 words' $O/soak.txt | head -5
grep -v ' 0 words' $O/soak.txt | awk '{print $2}' | sort -u >>$SWEEP_SKIP
say soaked
for s in "777 3072 768" "16 16384 4096" "192 4096 4096" "64 7168 7168"; do
    timeout -k 5 12 ./sweep stamps $s $here/libnext_stamps.so >>$O/stamps.txt 2>>$O/check.err
done
cat $O/stamps.txt; say stamped
modules() {
    case $1 in
    e4m3) ls $here/libspace_e4m3_*.so; echo $here/libnext_e4m3.so $here/libnext_odd_e4m3.so $here/libnext_promoted.so $here/libnext_gemv_e4m3.so ;;
    bf16) ls $here/libspace_bf16_*.so; echo $here/libnext_bf16.so $here/libnext_odd_bf16.so $here/libnext_gemv_bf16.so ;;
    *) ls $here/libspace_$1_*.so; echo $here/libnext_$1.so $here/libnext_gemv_$1.so ;;
    esac
}
over() { [ $(($(date +%s) - begun)) -gt ${1:-410} ]; }
times() { # LIST TYPE ROUNDS LIMIT FILE
    over && { echo "$1 $2: no time left"; return; }
    guarded $4 $O/$1.$2.err ./sweep time $3 $5 $(modules $2) >$O/$1.$2.csv
    echo "$1 $2 rc $? $(wc -l <$O/$1.$2.csv) rows"; say "$1 $2"
}
for t in bf16 e4m3 tf32; do times lose $t 21 60 lose.$t.problems; done
for t in bf16 e4m3; do times odd $t 11 20 odd.problems; done
for t in bf16 e4m3; do
    times smallm $t 15 40 smallm.problems
    times more $t 15 50 more.problems
done
times smallm tf32 9 40 smallm.problems
times dsv3 e4m3 9 100 dsv3.problems
python3 sum.py $O >$O/sum.txt
# What cuBLASLt runs, and bytes from memory: by the profiler, whose clock is not that of the sweeps.
metrics=gpu__time_duration.sum,sm__cycles_elapsed.max,dram__bytes_read.sum,dram__bytes_write.sum,lts__t_bytes.sum,smsp__inst_executed.sum,l1tex__data_pipe_lsu_wavefronts_mem_shared.sum,launch__grid_size,launch__cluster_dim_x,launch__cluster_dim_y,launch__block_size
prof() { over 440 || timeout 20 ncu --csv --clock-control none -k 'regex:nvjet|persistent|split_gemm|stream_gemm|gemv|splitK|cutlass' --metrics $metrics ./sweep "$@" >>$O/ncu.csv 2>>$O/ncu.err; }
prof blas bf16 16 16384 4096 2;        prof run 16 16384 4096 $here/libspace_bf16_small.so bf16-64x128-w1x1-c1x1-s8-e2-m8-coop
prof blas bf16 777 3072 768 5;         prof run 777 3072 768 $here/libspace_bf16_large.so bf16-128x176-w2x1-c1x1-s5-e2-m8-coop
prof blas e4m3 18432 7168 4096 5;      prof run 18432 7168 4096 $here/libspace_e4m3_small.so e4m3-128x176-w1x1-c1x1-s5-e2-m16-pingpong
prof run 18432 7168 4096 $here/libnext_e4m3.so e4m3-128x176-w1x1-c1x1-s5-e2-m32-pingpong-evict
prof blas bf16 64 7168 7168 0;         prof blas e4m3-exact 777 3072 768 0
prof blas e4m3-exact 4096 576 7168 0;  prof blas bf16 16 2112 7168 2
prof blas e4m3 5120 13824 5120 5;      prof blas tf32 1 2112 7168 0
prof blas bf16 4096 4096 192 4;        prof blas e4m3 16 16384 4096 2
over 420 || times dsv3 bf16 9 90 dsv3.problems
python3 sum.py $O | tee $O/sum.txt | grep -v '^   [01]' | tail -45
say "profiled: $(grep -c gpu__time $O/ncu.csv) launches"
cuobjdump --dump-sass libbf16_pingpong.so 2>/dev/null | gzip -9 >$O/bf16_pingpong.sass.gz
over 450 || timeout 25 compute-sanitizer --tool racecheck ./sweep run 300 520 1040 $here/libnext_bf16.so bf16-64x128-w1x1-c1x1-s8-e2-m8-coop-ready 2>&1 | tail -3 >>$O/sanitizer.txt
over 460 || timeout 25 compute-sanitizer --tool memcheck ./sweep run 300 520 1040 $here/libnext_bf16.so bf16-128x176-w1x1-c1x1-s5-e2-m16-pingpong-ready 2>&1 | tail -3 >>$O/sanitizer.txt
over 460 || timeout 25 compute-sanitizer --tool racecheck ./sweep run 64 520 1040 $here/libnext_bf16.so bf16-64x48-w1x1-k3-s5-m8-coop-split-ready 2>&1 | tail -3 >>$O/sanitizer.txt
cat $O/sanitizer.txt
nvidia-smi --query-gpu=uuid,clocks.sm,power.draw,temperature.gpu --format=csv,noheader | tee -a $O/gpu.txt
for f in $O/*.csv; do gzip -9f $f; done
for f in $O/*.err; do tail -c 20000 $f >$f.t; mv $f.t $f; done
du -sh $O; say done
