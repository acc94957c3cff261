#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Changes of kernels, in each regime, by `bench` and by a stopwatch that shares no code with it.

    regimes.py BENCH FOLDER ROWS [--seconds N] [--aa]

FOLDER/base and FOLDER/head hold lib<kernel>.so of two builds. A line of ROWS is a kernel's file and
a problem, "bf16_pingpong 128x7168x2048:bf16-bf16". For each row and each regime: what changed, in
percent of the log ratio head/base, with its standard error, by both. --aa takes base for both.

The other stopwatch needs PyTorch and Triton:
    stream       two launches and then twelve that are timed, from CUDA graphs, on six sets in turn
    isolated     the device idles, 256 MB are read, 15 us of spinning, one launch between two events
    dirty        Triton's do_bench, which writes 256 MB before each launch
    warm         as stream, on one set
    activations  the device idles while all is queued, 256 MB are read, then A and C, then one
                 launch between two events
Both time INSTANCES copies of each library, because where code lies is worth up to 0.4 %.
"""
import ctypes
import math
import random
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

REGIMES = ("stream", "isolated", "dirty", "warm", "activations")
INSTANCES = 3
PAIRS = 64  # of each instance, by bench
TYPES = {"fp32": 0, "tf32": 1, "bf16": 2, "fp16": 3, "e4m3": 4}
FP8_SCALE = 96.0


# ---- statistics: a mean trimmed by a tenth on each side, its error from winsorised values ----

def trimmed(values):
    values, n = sorted(values), len(values)
    cut = n // 10
    kept = values[cut:n - cut]
    mean = sum(kept) / len(kept)
    winsorised = [kept[0]] * cut + kept + [kept[-1]] * cut
    centre = sum(winsorised) / n
    sd = math.sqrt(sum((v - centre) ** 2 for v in winsorised) / max(n - 1, 1))
    return mean, sd / (0.8 * math.sqrt(n))


def joined(parts):
    """Mean of instances' (mean, error); its error is the larger of what is within and between."""
    n = len(parts)
    mean = sum(p[0] for p in parts) / n
    within = math.sqrt(sum(p[1] ** 2 for p in parts)) / n
    between = math.sqrt(sum((p[0] - mean) ** 2 for p in parts) / max(n - 1, 1) / n)
    return mean, max(within, between)


# ---- bench, by its line protocol ----

class Bench:
    def __init__(self, path):
        self.child = subprocess.Popen([path, "--device", "cuda"], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True, bufsize=1)
        self.last = 0

    def ask(self, line):
        self.child.stdin.write(line + "\n")
        records = []
        for text in self.child.stdout:
            name, *fields = text.rstrip("\n").split("\t")
            record = dict(f.split("=", 1) for f in fields)
            if name == "fail":
                raise RuntimeError(record.get("text"))
            if name == "done":
                return records
            records.append((name, record))
        raise RuntimeError("bench ended")

    def ratio(self, kernel, problem, base, head, regime):
        self.last += 1
        seed = zlib.crc32(problem.encode())  # one for all: bench keeps the reference of a seed
        opened = [r for n, r in self.ask(
            f"open\tid={self.last}\tkernel={kernel}\tproblem={problem}\thead={head}\tbase={base}"
            f"\tseed={seed}\tregime={regime}") if n == "opened"][0]
        if opened["state"] != "ok" or opened["regime"] != regime:
            raise RuntimeError(f"{opened['state']}: {opened['note']}")
        times = {}
        for name, r in self.ask(f"pairs\tid={self.last}\tcount={PAIRS}\tblock=0"):
            if name == "sample":
                times[r["pair"], r["role"]] = float(r["time_ns"])
        closed = [r for n, r in self.ask(f"close\tid={self.last}") if n == "closed"][0]
        if closed["state"] != "ok":
            raise RuntimeError(f"closed {closed['state']}: {closed['note']}")
        pairs = {p for p, _ in times}
        ratios = [math.log(times[p, "head"] / times[p, "base"]) for p in pairs]
        base_us = trimmed([times[p, "base"] for p in pairs])[0] / 1e3
        return trimmed(ratios), base_us, int(opened["launches"])

    def end(self):
        self.child.stdin.close()
        self.child.wait()


# ---- the other stopwatch ----

class Problem(ctypes.Structure):
    _fields_ = [("m", ctypes.c_int64), ("n", ctypes.c_int64), ("k", ctypes.c_int64),
                ("in_type", ctypes.c_int32), ("out_type", ctypes.c_int32),
                ("layout", ctypes.c_int32), ("batch", ctypes.c_int32),
                ("epilogue", ctypes.c_int32), ("reserved", ctypes.c_int32)]


class Args(ctypes.Structure):
    _fields_ = [("problem", Problem), ("a", ctypes.c_void_p), ("b", ctypes.c_void_p),
                ("c", ctypes.c_void_p), ("scale_a", ctypes.c_void_p),
                ("scale_b", ctypes.c_void_p), ("workspace", ctypes.c_void_p),
                ("workspace_bytes", ctypes.c_size_t)]


Launch = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Args), ctypes.c_void_p)


class Kernel(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("summary", ctypes.c_char_p),
                ("traits", ctypes.c_int32 * 32), ("supports", ctypes.c_void_p),
                ("workspace", ctypes.c_void_p), ("prepare", ctypes.c_void_p), ("launch", Launch)]


class Library(ctypes.Structure):
    _fields_ = [("abi_version", ctypes.c_uint32), ("kernel_size", ctypes.c_uint32),
                ("device", ctypes.c_char_p), ("count", ctypes.c_uint32),
                ("kernels", ctypes.POINTER(Kernel))]


def load(path):
    library = ctypes.CDLL(str(path))
    library.plumb_library.restype = ctypes.POINTER(Library)
    return library.plumb_library().contents.kernels[0]


class Stopwatch:
    SETS, UNTIMED, TIMED = 6, 2, 12

    def __init__(self, problem):
        import torch
        import triton.testing
        self.torch, self.do_bench = torch, triton.testing.do_bench
        shape, types = problem.split(":")
        self.m, self.n, self.k = (int(x) for x in shape.split("x"))
        self.types = [TYPES[t] for t in types.split("-")]
        self.flush = torch.zeros(64 << 20, dtype=torch.int32, device="cuda")
        self.scale = torch.full((1,), 1 / FP8_SCALE, device="cuda")
        self.sets = [self.new_set() for _ in range(self.SETS)]

    def operand(self, rows):
        torch = self.torch
        x = torch.randn(rows, self.k, device="cuda")
        if self.types[0] == TYPES["bf16"]:
            return x.bfloat16()
        if self.types[0] == TYPES["e4m3"]:
            return (x * FP8_SCALE).clamp(-448, 448).to(torch.float8_e4m3fn)
        return x

    def new_set(self):
        torch = self.torch
        out = torch.bfloat16 if self.types[1] == TYPES["bf16"] else torch.float32
        a, b = self.operand(self.m), self.operand(self.n)
        c = torch.zeros(self.m, self.n, dtype=out, device="cuda")
        scale = self.scale.data_ptr() if self.types[0] == TYPES["e4m3"] else None
        args = Args(Problem(self.m, self.n, self.k, self.types[0], self.types[1], 0, 1, 0, 0),
                    a.data_ptr(), b.data_ptr(), c.data_ptr(), scale, scale, None, 0)
        return a, b, c, args

    def launch(self, kernel, at):
        code = kernel.launch(ctypes.byref(self.sets[at][3]),
                             self.torch.cuda.current_stream().cuda_stream)
        if code:
            raise RuntimeError(f"launch: {code}")

    def right(self, kernel):
        """Whether it computes the product: a stopwatch of something else says nothing."""
        a, b, c, _ = self.sets[0]
        c.zero_()
        self.launch(kernel, 0)
        factor = FP8_SCALE ** -2 if self.types[0] == TYPES["e4m3"] else 1
        wanted = a.float()[:64] @ b.float().T * factor
        off = (c.float()[:64] - wanted).norm() / wanted.norm()
        return bool(off < 1e-2)

    def graph(self, kernel, first, count, sets):
        graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(graph):
            for i in range(first, first + count):
                self.launch(kernel, i % sets)
        return graph

    def event(self):
        return self.torch.cuda.Event(enable_timing=True)

    def read(self):
        self.flush.sum()

    def spin(self, us):
        self.torch.cuda._sleep(int(us * 1800))

    def pairs(self, kernels, take, count, each_waits):
        """take(kernel) queues one sample and returns its events; pairs in random order."""
        queued = []
        for i in range(count):
            if each_waits or i % 8 == 0:
                self.torch.cuda.synchronize()
            order = random.sample((0, 1), 2)
            queued.append({side: take(kernels[side]) for side in order})
        self.torch.cuda.synchronize()
        times = [[q[side][0].elapsed_time(q[side][1]) for side in (0, 1)] for q in queued]
        return trimmed([math.log(t[1] / t[0]) for t in times]), trimmed([t[0] for t in times])[0]

    def alone(self, prepare, each_waits):
        turn = [0]

        def take(kernel):
            turn[0] += 1
            at = turn[0] % self.SETS
            if each_waits:
                self.torch.cuda.synchronize()
            start, stop = self.event(), self.event()
            prepare(at)
            start.record()
            self.launch(kernel, at)
            stop.record()
            return start, stop
        return take

    def together(self, kernels, sets):
        graphs = {id(k): (self.graph(k, 0, self.UNTIMED, sets),
                          self.graph(k, self.UNTIMED, self.TIMED, sets)) for k in kernels}

        def take(kernel):
            before, timed = graphs[id(kernel)]
            start, stop = self.event(), self.event()
            before.replay()
            start.record()
            timed.replay()
            stop.record()
            return start, stop
        return take

    def dirty(self, kernels):
        rounds, base_ms = [], []
        for _ in range(10):
            times = {}
            for side in random.sample((0, 1), 2):
                all_ms = self.do_bench(lambda: self.launch(kernels[side], 0), warmup=2, rep=6,
                                       return_mode="all")
                times[side] = trimmed(all_ms)[0]
            rounds.append(math.log(times[1] / times[0]))
            base_ms.append(times[0])
        return trimmed(rounds), trimmed(base_ms)[0]

    def ratio(self, kernels, regime):
        if regime == "dirty":
            return self.dirty(kernels)
        if regime in ("isolated", "activations"):
            time.sleep(0.3)  # what ran before has its say in the clock for so long
        if regime == "isolated":
            def prepare(at):
                self.read()
                self.spin(15)
            return self.pairs(kernels, self.alone(prepare, True), 150, True)
        if regime == "activations":
            def prepare(at):
                self.spin(400)  # else an event is over before the launch behind it is queued
                self.read()
                for x in (self.sets[at][0], self.sets[at][2]):
                    x.view(self.torch.int32).sum()
            return self.pairs(kernels, self.alone(prepare, True), 150, True)
        sets = self.SETS if regime == "stream" else 1
        ratio, base_ms = self.pairs(kernels, self.together(kernels, sets), 60, False)
        return ratio, base_ms / self.TIMED

    def wake(self, kernel, seconds):
        """A device that has idled boosts its clock for a while."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for _ in range(20):
                self.launch(kernel, 0)
            self.torch.cuda.synchronize()


# ---- both ----

def main():
    """A row of the table is of one regime."""
    bench_path, folder, rows, *options = sys.argv[1:]
    same = "--aa" in options
    seconds = float(options[options.index("--seconds") + 1]) if "--seconds" in options else 1e9
    began = time.monotonic()
    scratch = Path(tempfile.mkdtemp())
    bench = Bench(bench_path)
    print("kernel,problem,regime,launches,bench_us,other_us,bench_pct,bench_se,other_pct,"
          "other_se,difference")
    for line in Path(rows).read_text().split("\n"):
        if not line.strip():
            continue
        if time.monotonic() - began > seconds:
            print(f"# out of time before {line}")
            break
        name, problem = line.split()
        copies = []
        for i in range(INSTANCES):
            pair = []
            for side in ("base", "head"):
                path = scratch / f"{side}{i}_{len(list(scratch.iterdir()))}_{name}.so"
                shutil.copy(f"{folder}/{'base' if same else side}/lib{name}.so", path)
                pair.append(path)
            copies.append(pair)
        watch = Stopwatch(problem)
        loaded = [[load(p) for p in pair] for pair in copies]
        kernel = loaded[0][0].name.decode()
        for pair in loaded:
            for one in pair:
                assert watch.right(one), (name, problem)
        watch.wake(loaded[0][0], 0.5)
        for regime in REGIMES:
            try:
                taken = [bench.ratio(kernel, problem, *pair, regime) for pair in copies]
                ours = joined([t[0] for t in taken])
                seen = [watch.ratio(pair, regime) for pair in loaded]
                others = joined([t[0] for t in seen])
            except (RuntimeError, BrokenPipeError) as why:
                print(f"{name},{problem},{regime},# {why}")
                continue
            off = ours[0] - others[0]
            print(f"{name},{problem},{regime},{taken[0][2]},{taken[0][1]:.2f},"
                  f"{1e3 * seen[0][1]:.2f},{100 * ours[0]:+.3f},{100 * ours[1]:.3f},"
                  f"{100 * others[0]:+.3f},{100 * others[1]:.3f},{100 * off:+.3f}", flush=True)
        del watch
    bench.end()
    shutil.rmtree(scratch)


main()
