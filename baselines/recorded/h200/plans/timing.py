# SPDX-License-Identifier: Apache-2.0
#
# timing.py OUT BUILT BIN ROUNDS: the same cubins timed by Triton's own benchmark and by plumb, in turn, and their
# launches beside each other. BUILT is what compile.py left, BIN holds plumb and bench. Writes
#   OUT/times.csv     a line per kernel, problem and round: triton.testing.do_bench (median and mean of about 100 ms;
#                     it overwrites 256 MB before each launch and takes CUDA events), and plumb's stopwatch after the
#                     same number of launches, with its own flush (it reads twice the L2) and with one that overwrites
#   OUT/launches.csv  Triton's launch of the kernel and the launch of its record, in turn in one process, each after
#                     do_bench's flush and between two CUDA events: the median of the ratios, and its standard error
import csv
import ctypes
import math
import statistics
import subprocess
import sys

import torch
import triton
from cuda.bindings import driver as cuda
from triton.tools.tensor_descriptor import TensorDescriptor

import compile as recipe
import matmul

out, built, tools, rounds = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
PROBLEMS = [(4096, 4096, 4096), (4096, 7168, 2048), (2048, 2048, 2048), (128, 7168, 2048)]
SMS = torch.cuda.get_device_properties(0).multi_processor_count
MAP_TYPES = ["uint8", "uint16", "uint32", "int32", "uint64", "int64", "fp16", "fp32", "fp64", "bf16"]


class Case:
    def __init__(self, kind, m, n, k):
        self.kind, self.shape, self.problem = kind, (m, n, k), f"{m}x{n}x{k}:bf16"
        self.kernel = f"triton-{kind}"
        self.a = torch.randn(m, k, device="cuda").bfloat16()
        self.b = torch.randn(n, k, device="cuda").bfloat16()
        self.c = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
        self.record = f"{out}/{self.kernel}-{m}x{n}x{k}.record"
        subprocess.run([f"{tools}/plumb", "record", "make", f"{built}/matmul_{kind}.plan", "--problem", self.problem,
                        "--sms", str(SMS), "-o", self.record], check=True, stdout=subprocess.DEVNULL)

    def launch(self):
        m, n, k = self.shape
        a, b, c = self.a, self.b, self.c
        if self.kind == "plain":
            blocks, warps = recipe.PLAIN, 4
            function = matmul.matmul_plain
        else:
            blocks, warps = recipe.PERSISTENT, 8
            function = matmul.matmul_persistent
            a = TensorDescriptor.from_tensor(a, [blocks["BM"], blocks["BK"]])
            b = TensorDescriptor.from_tensor(b, [blocks["BN"], blocks["BK"]])
            c = TensorDescriptor.from_tensor(c, [blocks["BM"], blocks["BN"]])
        tiles = triton.cdiv(m, blocks["BM"]) * triton.cdiv(n, blocks["BN"])
        grid = (tiles if self.kind == "plain" else min(SMS, tiles),)
        options = dict(num_stages=recipe.STAGES[self.kind], num_warps=warps)
        return lambda: function[grid](a, b, c, m, n, k, **blocks, **options)

    def stopwatch(self, flush):
        text = subprocess.run([f"{tools}/bench", "--device", "cuda", "time", "--head", self.record, "--kernel", self.kernel,
                               "--problem", self.problem, "--pairs", "256", "--blocks", "1", "--flush", flush],
                              check=True, capture_output=True, text=True).stdout
        words = next(line for line in text.splitlines() if line.startswith("block ")).split()
        return float(words[words.index("head_us") + 1]), float(words[words.index("clock_ghz") + 1])


# ---- a record's one launch, through the driver ----

def fields(line):
    return dict(word.split("=", 1) for word in line.split("\t")[1:])


def check(result):
    if int(result[0]) != 0:
        raise RuntimeError(f"driver: {result[0]}")
    return result[1] if len(result) == 2 else result[1:]


class Replay:
    def __init__(self, case):
        with open(case.record, "rb") as file:
            text, images = file.read().split(b"\nend\n", 1)
        lines = text.decode().split("\n")
        kinds = [line.split("\t")[0] for line in lines]
        launch = fields(lines[kinds.index("launch")])
        module = check(cuda.cuModuleLoadData(images))
        self.function = check(cuda.cuModuleGetFunction(module, launch["function"].encode()))
        self.shape = [int(launch[f"{what}_{axis}"]) for what in ("grid", "block") for axis in "xyz"]
        self.shared = int(launch["shared"])
        cuda.cuFuncSetAttribute(self.function, cuda.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                self.shared)
        places = dict(a=case.a.data_ptr(), b=case.b.data_ptr(), c=case.c.data_ptr())
        parameters = [fields(line) for line, kind in zip(lines, kinds) if kind == "parameter"]
        room = ctypes.create_string_buffer(int(parameters[-1]["offset"]) + 256)
        for p in parameters:
            ctypes.memmove(ctypes.addressof(room) + int(p["offset"]), bytes.fromhex(p["bytes"]), len(p["bytes"]) // 2)
        for line, kind in zip(lines, kinds):
            where = fields(line) if kind in ("address", "tensormap") else None
            if kind == "address":
                word = ctypes.c_uint64(places[where["buffer"]] + int(where["offset"]))
                ctypes.memmove(ctypes.addressof(room) + int(where["at"]), ctypes.byref(word), 8)
            elif kind == "tensormap":
                ctypes.memmove(ctypes.addressof(room) + int(where["at"]), self.encode(where, places), 128)
        self.room = room
        self.pointers = (ctypes.c_void_p * len(parameters))(*[ctypes.addressof(room) + int(p["offset"]) for p in parameters])

    @staticmethod
    def encode(where, places):
        def wide(key):
            return [cuda.cuuint64_t(int(x)) for x in where[key].split(",")]

        def small(key):
            return [cuda.cuuint32_t(int(x)) for x in where[key].split(",")]

        dims = wide("dims")
        made = check(cuda.cuTensorMapEncodeTiled(
            cuda.CUtensorMapDataType(MAP_TYPES.index(where["type"])), len(dims),
            places[where["buffer"]] + int(where["offset"]), dims, wide("strides"), small("box"), small("elements"),
            cuda.CUtensorMapInterleave(0), cuda.CUtensorMapSwizzle({0: 0, 32: 1, 64: 2, 128: 3}[int(where["swizzle"])]),
            cuda.CUtensorMapL2promotion({0: 0, 64: 1, 128: 2, 256: 3}[int(where["promote"])]),
            cuda.CUtensorMapFloatOOBfill(0)))
        return ctypes.string_at(made.getPtr(), 128)

    def __call__(self):
        check(cuda.cuLaunchKernel(self.function, *self.shape, self.shared, torch.cuda.current_stream().cuda_stream,
                                  ctypes.addressof(self.pointers), 0))


def beside(case, pairs):
    replay, direct = Replay(case), case.launch()
    case.c.zero_()
    replay()
    torch.cuda.synchronize()
    seen = case.c.clone()
    case.c.zero_()
    direct()
    torch.cuda.synchronize()
    same = torch.equal(seen, case.c)
    cache = torch.empty(256 << 20, dtype=torch.int8, device="cuda")
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(4)] for _ in range(pairs)]
    for i, (s0, e0, s1, e1) in enumerate(events):
        for first in ((i % 2 == 0), (i % 2 == 1)):
            start, end, run = (s0, e0, replay) if first else (s1, e1, direct)
            cache.zero_()
            start.record()
            run()
            end.record()
    torch.cuda.synchronize()
    ratios = [math.log(s0.elapsed_time(e0) / s1.elapsed_time(e1)) for s0, e0, s1, e1 in events]
    middle = statistics.median(ratios)
    spread = 1.4826 * statistics.median([abs(r - middle) for r in ratios])
    return same, 100 * middle, 100 * 1.2533 * spread / math.sqrt(pairs), 1e3 * statistics.median(
        s1.elapsed_time(e1) for s0, e0, s1, e1 in events)


torch.manual_seed(20261122)
cases = [Case(kind, *shape) for kind in ("plain", "persistent") for shape in PROBLEMS]
with open(f"{out}/launches.csv", "w") as file:
    table = csv.writer(file, lineterminator="\n")
    table.writerow(["kernel", "problem", "same_result", "triton_us", "record_over_triton_pct", "se_pct"])
    for case in cases:
        try:
            same, middle, error, us = beside(case, 200)
            table.writerow([case.kernel, case.problem, int(same), f"{us:.2f}", f"{middle:+.3f}", f"{error:.3f}"])
        except Exception as why:  # what the bindings of this machine cannot do is said
            print(case.kernel, case.problem, repr(why)[:300])
with open(f"{out}/times.csv", "w") as file:
    table = csv.writer(file, lineterminator="\n")
    table.writerow(["kernel", "problem", "round", "do_bench_median_us", "do_bench_mean_us", "plumb_us", "plumb_ghz",
                    "plumb_overwrite_us", "plumb_overwrite_ghz"])
    for turn in range(rounds):
        for case in cases:
            launch = case.launch()
            times = triton.testing.do_bench(launch, warmup=25, rep=100, return_mode="all")
            cold, clock = case.stopwatch("read")
            dirty, dirty_clock = case.stopwatch("write")
            table.writerow([case.kernel, case.problem, turn, f"{1e3 * statistics.median(times):.2f}",
                            f"{1e3 * statistics.mean(times):.2f}", f"{cold:.2f}", f"{clock:.4f}", f"{dirty:.2f}",
                            f"{dirty_clock:.4f}"])
            file.flush()
