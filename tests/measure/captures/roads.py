#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One change by three roads to the stopwatch: a shim, a plan and a capture of a program.

    roads.py PLUMB BASE HEAD [--seconds N] [--regimes stream,isolated] [--sizes 2048,512] [--kinds AA,AB]

BASE and HEAD are folders that roads/build.sh made. Each road's records of both builds are timed in
pairs by PROCESSES of `bench`, for where code and data lie in one is worth some tenths of a percent of
some kernels, whichever the road; all take turns, block by block, so that all meet the same device.
A line says what changed, in percent of the log ratio head/base, with its standard error, by each road,
how far each of the two others is from the shim, and whether that is within .1 % above 100 us, .3 %
below, or two standard errors. Rows of kind AA are identical builds beside themselves.
The last column holds the capture's time of the base to what the program says of itself.
"""
import math
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from stopwatch import Bench, trimmed

ROADS = ("shim", "plan", "capture")
PROCESSES = 4
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


def itself(folder, kernel, sizes):
    """What the program says: us by size."""
    said = subprocess.run([f"{folder}/{kernel}", *map(str, sizes)], check=True, text=True,
                          capture_output=True).stdout
    return {int(size): float(us) for size, us in re.findall(r"(\d+): ([\d.]+) us", said)}


def joined(parts):
    """Mean of processes' (mean, error); its error is the larger of what is within and between."""
    n = len(parts)
    mean = sum(p[0] for p in parts) / n
    within = math.sqrt(sum(p[1] ** 2 for p in parts)) / n
    between = math.sqrt(sum((p[0] - mean) ** 2 for p in parts) / max(n - 1, 1) / n)
    return mean, max(within, between)


def row(benches, base, head, kernel, size, regime, blocks, own_us):
    problem = f"{size}x{size}x{size}:{TYPES[kernel]}"
    each = [(road, bench) for road in ROADS for bench in benches[road]]
    seen = {bench: ([], []) for _, bench in each}
    for road, bench in each:
        name, file = base[road, size]
        bench.open(name, problem, file, head[road, size][1], regime)
    for number in range(blocks):
        for _, bench in random.sample(each, len(each)):
            ratios, us = bench.block(number)
            seen[bench][0].extend(ratios)
            seen[bench][1].extend(us)
    for _, bench in each:
        bench.close()
    found = {road: joined([trimmed(seen[b][0]) for b in benches[road]]) for road in ROADS}
    us = {road: sum(trimmed(seen[b][1])[0] for b in benches[road]) / PROCESSES for road in ROADS}
    text = [f"{us[road]:.2f}" for road in ROADS]
    text += [f"{100 * x:+.3f}" for road in ROADS for x in found[road]]
    agrees = True
    for road in ROADS[1:]:
        off = found[road][0] - found["shim"][0]
        error = math.hypot(found[road][1], found["shim"][1])
        agrees &= abs(off) <= max(0.001 if us["shim"] > 100 else 0.003, 2 * error)
        text.append(f"{100 * off:+.3f}")
    own = f"{100 * (us['capture'] / own_us - 1):+.2f}" if regime == "stream" else ""
    return ",".join(text + ["yes" if agrees else "no", own])


def option(options, name, otherwise):
    return options[options.index(name) + 1] if name in options else otherwise


def main():
    plumb, base, head, *options = sys.argv[1:]
    seconds = float(option(options, "--seconds", 1e9))
    blocks = int(option(options, "--blocks", 6))
    regimes = option(options, "--regimes", "stream,isolated").split(",")
    sizes = [int(s) for s in option(options, "--sizes", "2048,512").split(",")]
    began, work = time.monotonic(), Path(tempfile.mkdtemp())
    benches = {road: [Bench(f"{Path(plumb).parent}/bench") for _ in range(PROCESSES)]
               for road in ROADS}
    made = {}
    print("kernel,size,regime,kind,launches,shim_us,plan_us,capture_us,shim_pct,shim_se,plan_pct,plan_se,"
          "capture_pct,capture_se,plan_off,capture_off,agrees,capture_over_own_pct")
    for kernel in TYPES:
        own = itself(base, kernel, sizes)
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
                                   kernel, size, regime, blocks // (3 if kind == "AA" else 1),
                                   own[size])
                    except RuntimeError as why:
                        text = f"# {why}"
                    launches = benches["shim"][0].launches
                    print(f"{kernel},{size},{regime},{kind},{launches},{text}", flush=True)
    for road in ROADS:
        for bench in benches[road]:
            bench.end()


main()
