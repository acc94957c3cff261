#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times of kernels on random problems, in each regime, by `bench`.

    times.py BENCH KERNELS OUT.csv --seed N --seconds N [--space N] [--regimes A,B]

KERNELS is a folder of lib*.so. A problem is drawn with its type; each kernel of that type is timed
on it in four regimes, of which stream and warm are always two, or in those asked for. With --space
the kernels are N of the space (libspace_TYPE_*.so), drawn once, and cuBLASLt. Rows are what `plumb accuracy --csv`
reads: the regime is part of the problem's text, the traits are the library's own.
"""
import argparse
import random
import subprocess
import sys
import time
import zlib
from pathlib import Path

SAMPLES = 12
LIBRARIES = {
    "bf16": ["cublaslt", "bf16_pingpong", "bf16_persistent", "bf16_multicast", "bf16_split",
             "bf16_streamk", "bf16_alternate"],
    "e4m3": ["cublaslt", "cublaslt_fast", "e4m3_persistent", "e4m3_pingpong", "e4m3_promoted",
             "e4m3_streamk"],
    "tf32": ["cublaslt", "tf32_pingpong", "tf32_8_tma_wide", "tf32_9_persistent", "tf32_streamk"],
    "fp32": ["cublaslt", "tiled_fp32"],
    "scaled": ["cublaslt_scaled", "e4m3_scaled"],
}
TEXTS = {"bf16": "bf16-bf16:tn", "e4m3": "e4m3-bf16:tn", "tf32": "tf32-fp32:tn",
         "fp32": "fp32-fp32:tn", "scaled": "e4m3-bf16:tn:fp32/1x128/128x128/columns"}
WEIGHTS = {"bf16": 8, "e4m3": 5, "tf32": 4, "fp32": 5, "scaled": 2}


def field(text):
    return "".join(c if c not in "%\t\n" else f"%{ord(c):02X}" for c in text)


class Bench:
    """`bench` by its line protocol (model/wire.h)."""

    def __init__(self, path):
        self.child = subprocess.Popen([path, "--device", "cuda"], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True, bufsize=1)
        self.last = 0
        self.device = None

    def ask(self, line):
        self.child.stdin.write(line + "\n")
        records = []
        for text in self.child.stdout:
            name, *fields = text.rstrip("\n").split("\t")
            record = dict(f.split("=", 1) for f in fields)
            if name == "device":
                self.device = record
            if name == "fail":
                raise RuntimeError(record.get("text"))
            if name == "done":
                return records
            records.append((name, record))
        raise EOFError("bench ended")

    def kernels(self, path):
        return [r for n, r in self.ask(f"list\tlibrary={path}") if n == "kernel"]

    def time(self, path, kernel, problem, regime):
        """Median time in us, median clock in MHz and launches of a sample; None: unsupported."""
        self.last += 1
        seed = zlib.crc32(problem.encode())
        word = "" if regime == "cold" else f"\tregime={regime}"
        opened = [r for n, r in self.ask(f"open\tid={self.last}\tkernel={field(kernel)}"
                                         f"\tproblem={problem}\thead={path}\tseed={seed}{word}")
                  if n == "opened"][0]
        if opened["state"] != "ok":
            return None
        taken = [r for n, r in self.ask(f"solo\tid={self.last}\tcount={SAMPLES}\tblock=0")
                 if n == "sample"]
        closed = [r for n, r in self.ask(f"close\tid={self.last}") if n == "closed"][0]
        if closed["state"] != "ok" or not taken:
            return None
        times = sorted(float(r["time_ns"]) for r in taken)
        clocks = sorted(float(r["clock_hz"]) for r in taken)
        middle = len(times) // 2
        return times[middle] / 1e3, clocks[middle] / 1e6, taken[0]["launches"]


def rounded(value, step):
    return max(step, int(round(value / step)) * step)


def log_uniform(rng, low, high):
    return low * (high / low) ** rng.random()


def draw(rng):
    kind = rng.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
    step = {"fp32": 4, "scaled": 128}.get(kind, 16)
    batch = ""
    most = 2e11 if kind == "fp32" else 1.5e12
    while True:
        m, n, k = (rounded(log_uniform(rng, low, high), step)
                   for low, high in ((16, 8192), (128, 16384), (64, 16384)))
        if kind == "fp32" and rng.random() < 0.5:
            b = rounded(log_uniform(rng, 8, 128), 1)
            m, n, k = (rounded(log_uniform(rng, 64, 2048), 64) for _ in range(3))
            batch = f":b{b}"
            flops = 2.0 * m * n * k * b
            size = 4.0 * b * (m * n + m * k + n * k)
        else:
            batch, flops, size = "", 2.0 * m * n * k, 4.0 * (m * n + m * k + n * k)
        if flops < most and size < 6e8 and flops > 1e6:
            return kind, f"{m}x{n}x{k}:{TEXTS[kind]}{batch}"


def regimes_of(rng):
    return ["stream", "warm", rng.choice(["isolated", "dirty", "activations"]),
            rng.choice(["cold", "cold", "isolated", "activations"])]


TRAITS = {"cta_m": "tile_m", "cta_n": "tile_n", "cta_k": "tile_k"}
SAME = ["cluster_m", "cluster_n", "stages", "threads", "persistent", "raster", "raster_group",
        "blocks_per_sm", "smem_bytes", "registers", "split_k", "overlap", "promote_k", "multiply"]


def space(bench, options, found):
    """Takes some of the space in place of the kernels that stand alone."""
    libraries = {}
    for kind in ("bf16", "e4m3", "tf32"):
        all_ = [(kernel["name"], str(path), kernel)
                for path in sorted(Path(options.kernels).glob(f"libspace_{kind}_*.so"))
                for kernel in bench.kernels(path) if "dual" not in path.name
                and "scaled" not in path.name]
        rng = random.Random(f"space {kind}")
        drawn = rng.sample(sorted(all_, key=lambda x: x[0]), min(options.space, len(all_)))
        for name, path, kernel in drawn:
            found[name] = (path, [kernel])
        libraries[kind] = ["cublaslt", *(["cublaslt_fast"] if kind == "e4m3" else []),
                           *(name for name, _, _ in drawn)]
    LIBRARIES.clear()
    LIBRARIES.update(libraries)
    for kind in set(WEIGHTS) - set(libraries):
        del WEIGHTS[kind]


def begins(kernel):
    """Whether its launches begin under the one before, as this project's on bulk copies do."""
    late = kernel["name"].startswith(("cublas", "tiled", "naive")) or kernel.get("multiply") != "3"
    return "" if late or kernel["name"] == "tf32-8-tma-wide" else "yes"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bench")
    parser.add_argument("kernels")
    parser.add_argument("out")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--space", type=int, default=0)
    parser.add_argument("--regimes", default="")
    options = parser.parse_args()
    began, rng = time.monotonic(), random.Random(options.seed)
    bench = Bench(options.bench)
    found = {}
    if options.space:
        space(bench, options, found)
    names = {name for each in LIBRARIES.values() for name in each}
    for name in sorted(names):
        path = Path(options.kernels) / f"lib{name}.so"
        if name in found:
            continue
        if path.exists():
            found[name] = (str(path), bench.kernels(path))
        else:
            print(f"{path} is not there", file=sys.stderr)
    with open(options.out, "w") as out:
        out.write(f"# {bench.device['name']}, {bench.device['uuid']}, driver "
                  f"{bench.device['driver']}, seed {options.seed}\n")
        out.write("problem,kernel," + ",".join(list(TRAITS) + SAME) +
                  ",clock_mhz,measured_us,timed_together,early\n")
        while time.monotonic() - began < options.seconds:
            kind, problem = draw(rng)
            regimes = options.regimes.split(",") if options.regimes else regimes_of(rng)
            regimes = list(dict.fromkeys(regimes))
            for name in LIBRARIES[kind]:
                if name not in found:
                    continue
                path, kernels = found[name]
                for kernel in kernels:
                    for regime in regimes:
                        if time.monotonic() - began >= options.seconds:
                            return
                        try:
                            seen = bench.time(path, kernel["name"], problem, regime)
                        except RuntimeError as why:
                            print(problem, kernel["name"], regime, why, file=sys.stderr)
                            continue
                        except EOFError:
                            print(problem, kernel["name"], regime, "bench ended", file=sys.stderr)
                            bench = Bench(options.bench)
                            continue
                        if seen is None:
                            continue
                        text = problem if regime == "cold" else f"{problem}:{regime}"
                        traits = [kernel.get(t, "") for t in TRAITS.values()]
                        traits += [kernel.get(t, "") for t in SAME]
                        traits = ["" if t in ("", "0") else t for t in traits]
                        out.write(",".join([text, kernel["name"]] + traits) +
                                  f",{seen[1]:.1f},{seen[0]:.4f},{seen[2]},{begins(kernel)}\n")
                        out.flush()


main()
