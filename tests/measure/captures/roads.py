#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One change by three roads to the stopwatch: a shim, a plan and a capture of a program.

    roads.py PLUMB BASE HEAD [--seconds N] [--regimes stream,isolated] [--sizes 2048,512] [--kinds AA,AB]
             [--kernels simt,tensor] [--processes N] [--blocks N]

BASE and HEAD are folders that roads/build.sh made. Where code and data lie in a process is worth some
tenths of a percent of some kernels, whichever the road. So each of several processes of `bench` times
both builds by all roads, one after the other in an order that is drawn, and the roads are compared
within each. A line says what changed, in percent of the log ratio head/base, with its standard error,
by each road; how far each of the two others is from the shim, with the error between processes; and
whether that is within .1 % above 100 us, .3 % below. Lines with "#" have the processes' own, and what
the roads differ by where the base takes as long (at least two processes). Rows of
kind AA are identical builds beside themselves. The last columns, in regime stream, hold what the program
says of itself beside each process, its launches queued one by one, as a long graph and as it builds a stream
itself, and the capture's time of the base to that stream, in percent.
"""
import math
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from stopwatch import Bench, trimmed

ROADS = ("shim", "plan", "capture")
TYPES = {"simt": "fp32", "tensor": "bf16-fp32"}


def records(plumb, folder, kernel, sizes, work):
    """A record of each road and size: the kernel's name in it, and its file."""
    made = {}
    for size in sizes:
        problem = f"{size}x{size}x{size}:{TYPES[kernel]}"
        for road, file in (("shim", f"lib{kernel}.so"), ("plan", f"{kernel}.plan")):
            out = work / f"{kernel}-{road}-{size}.record"
            kind = ["--kernel", f"{kernel}-shim"] if road == "shim" else ["--sms", "132"]
            subprocess.run([plumb, "record", "make", f"{folder}/{file}", "--problem", problem, *kind,
                            "-o", out], check=True, stdout=subprocess.DEVNULL)
            made[road, size] = (f"{kernel}-{road}", out)
    taken = work / f"{kernel}-capture"
    subprocess.run([plumb, "capture", "-q", "-k", kernel, "-o", taken, "--", f"{folder}/{kernel}",
                    *map(str, sizes)], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    found = sorted(taken.glob("record.*"), key=lambda p: (len(p.name), p.name))
    assert len(found) == len(sizes), found
    for size, out in zip(sizes, found):
        made["capture", size] = ("capture", out)
    return made


def itself(folder, kernel, size):
    """What the program says: us of a launch, one by one, as a graph and in a stream."""
    said = subprocess.run([f"{folder}/{kernel}", "graphs", str(size)], check=True, text=True,
                          capture_output=True).stdout
    return [float(us) for us in re.findall(r"([\d.]+) us", said)]


def joined(parts):
    """Mean of processes' (mean, error); its error is the larger of what is within and between."""
    n = len(parts)
    mean = sum(p[0] for p in parts) / n
    within = math.sqrt(sum(p[1] ** 2 for p in parts)) / n
    between = math.sqrt(sum((p[0] - mean) ** 2 for p in parts) / max(n - 1, 1) / n)
    return mean, max(within, between)


def play(bench, base, head, road, size, regime, problem, blocks):
    """One road in one process: (mean, error) of its log ratios, the base's time in us, and its clock in MHz."""
    name, file = base[road, size]
    bench.open(name, problem, file, head[road, size][1], regime)
    ratios, times, clocks = [], [], []
    for number in range(blocks):
        more = bench.block(number)
        ratios.extend(more[0])
        times.extend(more[1])
        clocks.extend(bench.clocks)
    bench.close()
    return trimmed(ratios), trimmed(times)[0], statistics.median(clocks) / 1e6


def at_one_time(found, us):
    """What a change is worth may hang on how long the base takes in an opening. A line through all
    openings takes that out; what is left are the roads' own, with the error between openings."""
    points = [(t, m, road) for road in ROADS for (m, _), t in zip(found[road], us[road])]
    time_us, ratio = (statistics.mean(p[i] for p in points) for i in (0, 1))
    slope = (sum((t - time_us) * (m - ratio) for t, m, _ in points)
             / sum((t - time_us) ** 2 for t, _, _ in points))
    text = []
    for road in ROADS:
        own = [100 * (m - ratio - slope * (t - time_us)) for t, m, r in points if r == road]
        text.append(f"{road} {statistics.mean(own):+.3f} +- {statistics.stdev(own) / math.sqrt(len(own)):.3f}")
    return f"# at one time of the base ({100 * slope:+.3f} % a us): " + ", ".join(text)


def row(benches, base, head, kernel, size, regime, blocks, program):
    problem = f"{size}x{size}x{size}:{TYPES[kernel]}"
    found, us, mhz = ({road: [] for road in ROADS} for _ in range(3))
    own = []
    for bench in benches:
        if regime == "stream":
            own.append(itself(program, kernel, size))
        for road in random.sample(ROADS, len(ROADS)):
            ratio, time_us, clock = play(bench, base, head, road, size, regime, problem, blocks)
            found[road].append(ratio)
            us[road].append(time_us)
            mhz[road].append(clock)
    for road in ROADS:
        print(f"# {road}: " + ", ".join(f"{100 * m:+.3f} of {t:.1f} us at {c:.0f} MHz"
                                        for (m, _), t, c in zip(found[road], us[road], mhz[road])))
    print(at_one_time(found, us))
    text = [f"{statistics.mean(us[road]):.2f}" for road in ROADS]
    text += [f"{100 * x:+.3f}" for road in ROADS for x in joined(found[road])]
    agrees = True
    for road in ROADS[1:]:
        off, error = joined([(one[0] - shim[0], math.hypot(one[1], shim[1]))
                             for one, shim in zip(found[road], found["shim"])])
        agrees &= abs(off) <= (0.001 if statistics.mean(us["shim"]) > 100 else 0.003)
        text += [f"{100 * off:+.3f}", f"{100 * error:.3f}"]
    text.append("yes" if agrees else "no")
    if own:
        said = [statistics.median(each) for each in zip(*own)]
        print("# the program, one by one, as a graph and in a stream: "
              + ", ".join(" ".join(f"{us:.2f}" for us in each) for each in own))
        text += [f"{us:.2f}" for us in said]
        text.append(f"{100 * (statistics.mean(us['capture']) / said[2] - 1):+.2f}")
    return ",".join(text + ([] if own else [""] * 4))


def option(options, name, otherwise):
    return options[options.index(name) + 1] if name in options else otherwise


def main():
    plumb, base, head, *options = sys.argv[1:]
    seconds = float(option(options, "--seconds", 1e9))
    blocks = int(option(options, "--blocks", 6))
    regimes = option(options, "--regimes", "stream,isolated").split(",")
    sizes = [int(s) for s in option(options, "--sizes", "2048,512").split(",")]
    began, work = time.monotonic(), Path(tempfile.mkdtemp())
    benches = [Bench(f"{Path(plumb).parent}/bench")
               for _ in range(int(option(options, "--processes", 4)))]
    made = {}
    print("kernel,size,regime,kind,launches,shim_us,plan_us,capture_us,shim_pct,shim_se,plan_pct,plan_se,"
          "capture_pct,capture_se,plan_off,plan_off_se,capture_off,capture_off_se,agrees,own_us,own_graph_us,own_stream_us,"
          "capture_over_own_pct")
    for kernel in option(options, "--kernels", ",".join(TYPES)).split(","):
        for side, folder in (("base", base), ("head", head)):
            (work / side).mkdir(exist_ok=True)
            made[side] = records(plumb, folder, kernel, sizes, work / side)
        for size in sizes:
            for regime in regimes:
                for kind in option(options, "--kinds", "AA,AB").split(","):
                    if time.monotonic() - began > seconds:
                        print(f"# out of time before {kernel} {size} {regime} {kind}")
                        continue
                    try:
                        text = row(benches, made["base"], made["base" if kind == "AA" else "head"],
                                   kernel, size, regime, blocks * (1 if regime == "stream" else 3),
                                   base)
                    except RuntimeError as why:
                        text = f"# {why}"
                    launches = benches[0].launches
                    print(f"{kernel},{size},{regime},{kind},{launches},{text}", flush=True)
    for bench in benches:
        bench.end()


main()
