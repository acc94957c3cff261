#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Changes of kernels, in each regime, by `bench` and by a stopwatch that shares no code with it.

    regimes.py BENCH FOLDER ROWS [--seconds N] [--aa] [--regimes stream,isolated] [--settle]

FOLDER/base and FOLDER/head hold lib<kernel>.so of two builds. A line of ROWS is a kernel's file, a
problem and perhaps its regimes, "bf16_pingpong 128x7168x2048:bf16-bf16 stream,warm". For each row
and each regime: what changed, in percent of the log ratio head/base, with its standard error, by
both, and whether they agree: within .15 % above 100 us, .3 % below, or two standard errors. --aa
takes base for both.

The other stopwatch brings the device to a state before each sample, for `settle` ms: launches that
are not timed, or rounds of writing and launching. Alone and with activations it rests for 1 ms, and
`settle` is how many launches, each prepared as the timed one, come before that: from the second on
a kernel's code is in the caches of its SMs. --settle takes other values than the first of SETTLE in
turn as well, a row of the table each: what depends on them is no change of the kernel alone.

The two take turns, block by block of pairs: under its power limit a device remembers for seconds
what it did, and a change that saves power is worth the more, the hotter it is (tf32_pingpong with
raster groups of 2 at 4096^3: -.2 % where a launch takes 407 us, -4.7 % where it takes 458 us).

The other stopwatch needs PyTorch and Triton:
    stream       launches that are not timed, then twelve or 1 ms of them that are, from CUDA
                 graphs, on six sets in turn
    isolated     the device idles, 256 MB are read, 15 us of spinning, one launch between two events
    dirty        Triton's do_bench, which writes 256 MB before each launch; the last 6 ms of it
    warm         launches that are not timed, and twelve on the same set, each between two events
    activations  the device idles while all is queued, 256 MB are read, then A and C, then one
                 launch between two events
Both time INSTANCES copies of each library, each on memory of its own, because where code and data
lie is worth up to half a percent.
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

# The regimes, and how the other stopwatch settles the device; the first is what counts.
SETTLE = {"stream": (4, 0, 1, 16), "isolated": (7, 0), "dirty": (8, 0, 32), "warm": (4, 0, 1),
          "activations": (7, 0)}
INSTANCES = 4
BLOCKS, BLOCK = 6, 8  # of pairs, of each instance
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

    def open(self, kernel, problem, base, head, regime):
        self.last += 1
        seed = zlib.crc32(problem.encode())  # one for all: bench keeps the reference of a seed
        opened = [r for n, r in self.ask(
            f"open\tid={self.last}\tkernel={kernel}\tproblem={problem}\thead={head}\tbase={base}"
            f"\tseed={seed}\tregime={regime}") if n == "opened"][0]
        if opened["state"] != "ok" or opened["regime"] != regime:
            raise RuntimeError(f"{opened['state']}: {opened['note']}")
        self.launches = int(opened["launches"])

    def block(self, number):
        """Log ratios of a block's pairs, and the base's times in us."""
        times = {}
        for name, r in self.ask(f"pairs\tid={self.last}\tcount={BLOCK}\tblock={number}"):
            if name == "sample":
                times[r["pair"], r["role"]] = float(r["time_ns"])
        pairs = {p for p, _ in times}
        return ([math.log(times[p, "head"] / times[p, "base"]) for p in pairs],
                [times[p, "base"] / 1e3 for p in pairs])

    def close(self):
        closed = [r for n, r in self.ask(f"close\tid={self.last}") if n == "closed"][0]
        if closed["state"] != "ok":
            raise RuntimeError(f"closed {closed['state']}: {closed['note']}")

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
    SETS, TURN = 6, 12  # launches of a graph
    TIMED_US = 1000

    def __init__(self, problem):
        import torch
        import triton.testing
        self.torch, self.do_bench = torch, triton.testing.do_bench
        shape, types = problem.split(":")
        self.m, self.n, self.k = (int(x) for x in shape.split("x"))
        self.types = [TYPES[t] for t in types.split("-")]
        self.flush = torch.zeros(32 << 20, dtype=torch.int64, device="cuda")
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
        self.flush.sum()  # of int64: a sum of int32 writes them as int64 first

    def spin(self, us):
        self.torch.cuda._sleep(int(us * 1800))

    def pairs(self, kernels, take):
        """take(kernel) queues one sample: its spans between events, and how many launches each is
        of. Pairs are in random order."""
        queued = []
        for _ in range(BLOCK):
            order = random.sample((0, 1), 2)
            queued.append({side: take(kernels[side]) for side in order})
        self.torch.cuda.synchronize()
        times = [[sum(1e3 * a.elapsed_time(b) for a, b in spans) / (len(spans) * launches)
                  for spans, launches in (q[0], q[1])] for q in queued]
        return [math.log(t[1] / t[0]) for t in times], [t[0] for t in times]

    def alone(self, kernels, prepare, before):
        turn = [0]

        def take(kernel):
            self.torch.cuda.synchronize()
            time.sleep(1e-3)
            for _ in range(before + 1):
                turn[0] += 1
                at = turn[0] % self.SETS
                start, stop = self.event(), self.event()
                prepare(at)
                start.record()
                self.launch(kernel, at)
                stop.record()
            return [(start, stop)], 1
        return lambda: self.pairs(kernels, take)

    def launch_us(self, kernel):
        """About what a launch of a train takes."""
        graph = self.graph(kernel, 0, self.TURN, self.SETS)
        start, stop = self.event(), self.event()
        graph.replay()
        start.record()
        graph.replay()
        stop.record()
        self.torch.cuda.synchronize()
        return 1e3 * start.elapsed_time(stop) / self.TURN

    def together(self, kernels, sets, settle_ms):
        """Trains of launches: those that settle, and those that are timed, on one set each by
        itself."""
        us = self.launch_us(kernels[0])
        timed = max(self.TURN, math.ceil(self.TIMED_US / us)) if sets > 1 else self.TURN
        turns = max(0, round(1e3 * settle_ms / us / self.TURN))
        graphs = {id(k): (self.graph(k, 0, self.TURN if turns else 2, sets),
                          self.graph(k, 2, timed, sets)) for k in kernels}

        def take(kernel):
            before, train = graphs[id(kernel)]
            for _ in range(max(turns, 1)):
                before.replay()
            events = [self.event() for _ in range(timed + 1 if sets == 1 else 2)]
            events[0].record()
            for event in events[1:]:
                if sets > 1:
                    train.replay()
                else:
                    self.launch(kernel, 0)
                event.record()
            return list(zip(events, events[1:])), timed if sets > 1 else 1
        return lambda: self.pairs(kernels, take)

    def dirty(self, kernels, settle_ms):
        ratios, base_us, ms = [], [], 6 + settle_ms
        for _ in range(2):
            times = {}
            for side in random.sample((0, 1), 2):
                all_ms = self.do_bench(lambda: self.launch(kernels[side], 0), warmup=2, rep=ms,
                                       return_mode="all")
                last = all_ms[int(len(all_ms) * settle_ms / ms):]
                times[side] = 1e3 * trimmed(last)[0]
            ratios.append(math.log(times[1] / times[0]))
            base_us.append(times[0])
        return ratios, base_us

    def regime(self, kernels, regime, settle):
        """What takes a block of it: log ratios, and the base's times in us."""
        def isolated(at):
            self.read()
            self.spin(15)

        def activations(at):
            self.spin(400)  # else an event is over before the launch behind it is queued
            self.read()
            for x in (self.sets[at][0], self.sets[at][2]):
                x.view(self.torch.int64).sum()
        if regime == "dirty":
            return lambda: self.dirty(kernels, settle)
        if regime == "isolated":
            return self.alone(kernels, isolated, settle)
        if regime == "activations":
            return self.alone(kernels, activations, settle)
        return self.together(kernels, self.SETS if regime == "stream" else 1, settle)

    def forget(self, watches):
        """The memory of all goes back, so that the next row's lies elsewhere."""
        torch = self.torch
        watches.clear()
        self.sets.clear()
        torch.cuda.empty_cache()

    def wake(self, kernel, seconds):
        """A device that has idled boosts its clock for a while."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for _ in range(20):
                self.launch(kernel, 0)
            self.torch.cuda.synchronize()


# ---- both ----

def taken(bench, watch, loaded, paths, name, problem, regime, settle):
    """(ratio, error, base us) of one instance by bench, and by the other for each way in which it
    settles the device."""
    bench.open(name, problem, *paths, regime)
    others = [watch.regime(loaded, regime, each) for each in settle]
    seen = [([], []) for _ in range(1 + len(settle))]
    if regime in ("isolated", "activations"):
        time.sleep(0.3)  # what ran before has its say in the clock for so long
    others[0]()
    for number in range(BLOCKS):
        for who in random.sample(range(len(seen)), len(seen)):
            ratios, base_us = others[who - 1]() if who else bench.block(number)
            seen[who][0].extend(ratios)
            seen[who][1].extend(base_us)
    bench.close()
    return [(*trimmed(ratios), trimmed(base_us)[0]) for ratios, base_us in seen]


def compared(parts, who):
    """The rest of a line of the table, whether both agree, and whether their signs differ."""
    ours, other = (joined([p[i] for p in parts]) for i in (0, who))
    us = [sum(p[i][2] for p in parts) / len(parts) for i in (0, who)]
    off, error = ours[0] - other[0], math.hypot(ours[1], other[1])
    margin = 0.0015 if us[1] > 100 else 0.003
    agrees = abs(off) <= max(margin, 2 * error)
    opposed = ours[0] * other[0] < 0 and min(abs(ours[0]), abs(other[0])) > margin
    text = (f"{us[0]:.2f},{us[1]:.2f},{100 * ours[0]:+.3f},{100 * ours[1]:.3f},"
            f"{100 * other[0]:+.3f},{100 * other[1]:.3f},{100 * off:+.3f},"
            f"{'yes' if agrees else 'no'}")
    return text, agrees, opposed


def row(benches, watches, loaded, copies, problem, regime, settle):
    """(settle, what compared() says) for each."""
    name = loaded[0][0].name.decode()
    parts = [taken(*each, name, problem, regime, settle)
             for each in zip(benches, watches, loaded, copies)]
    return [(each, compared(parts, 1 + i)) for i, each in enumerate(settle)]


def load_copies(folder, scratch, name, same):
    copies = []
    for i in range(INSTANCES):
        pair = []
        for side in ("base", "head"):
            path = scratch / f"{side}{i}_{len(list(scratch.iterdir()))}_{name}.so"
            shutil.copy(f"{folder}/{'base' if same else side}/lib{name}.so", path)
            pair.append(path)
        copies.append(pair)
    return copies


def prepared(folder, scratch, name, problem, same):
    """Copies of both builds, what they hold, and a stopwatch for each pair; the device awake."""
    copies = load_copies(folder, scratch, name, same)
    loaded = [[load(p) for p in pair] for pair in copies]
    watches = [Stopwatch(problem) for _ in copies]
    for watch, pair in zip(watches, loaded):
        if not all(watch.right(one) for one in pair):
            raise RuntimeError("not the product")
    watches[0].wake(loaded[0][0], 0.3)
    return copies, loaded, watches


def main():
    """A row of the table is of one regime."""
    bench_path, folder, rows, *options = sys.argv[1:]
    seconds = float(options[options.index("--seconds") + 1]) if "--seconds" in options else 1e9
    wanted = (options[options.index("--regimes") + 1].split(",") if "--regimes" in options
              else list(SETTLE))
    began = time.monotonic()
    scratch = Path(tempfile.mkdtemp())
    benches = [Bench(bench_path) for _ in range(INSTANCES)]
    tally = {regime: [0, 0, 0] for regime in SETTLE}
    print("kernel,problem,regime,settle,launches,bench_us,other_us,bench_pct,bench_se,other_pct,"
          "other_se,difference,agrees")
    for line in Path(rows).read_text().split("\n"):
        if not line.strip():
            continue
        if time.monotonic() - began > seconds:
            print(f"# out of time before {line}")
            break
        name, problem, *regimes = line.split()
        try:
            copies, loaded, watches = prepared(folder, scratch, name, problem, "--aa" in options)
        except (RuntimeError, OSError) as why:
            print(f"{name},{problem},,# {why}", flush=True)
            continue
        for regime in regimes[0].split(",") if regimes else wanted:
            settle = SETTLE[regime] if "--settle" in options else SETTLE[regime][:1]
            try:
                found = row(benches, watches, loaded, copies, problem, regime, settle)
            except (RuntimeError, BrokenPipeError) as why:
                print(f"{name},{problem},{regime},# {why}", flush=True)
                continue
            _, agrees, opposed = found[0][1]
            tally[regime] = [a + b for a, b in zip(tally[regime], (1, agrees, opposed))]
            for each, (text, *_) in found:
                print(f"{name},{problem},{regime},{each},{benches[0].launches},{text}", flush=True)
        watches[0].forget(watches)
    for regime, (count, agree, opposed) in tally.items():
        if count:
            print(f"# {regime}: {agree} of {count} agree, {opposed} of opposite sign beyond the "
                  "margin")
    for bench in benches:
        bench.end()
    shutil.rmtree(scratch)


main()
