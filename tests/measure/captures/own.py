#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What programs say of their own kernels, and what their captures take on the stopwatch.

    own.py PLUMB ROWS

A line of ROWS: name|command|kernel|launch|regimes|expression. The command runs from the folder
of the script that calls this; the expression finds the program's own time in what it prints, in ms
(with "s" before it in seconds, else "m"); several, with ";" between them, are several times of one run, and
the name has a part for each. The program alone and its capture take turns. A kernel range:NAME
is an NVTX range; no launch: of each shape. The last columns hold what CUPTI says of the program's
launches of the kernel in the mean while it is captured, without what lies between them, and the SM's
clock in the capture's samples.
"""
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from stopwatch import Bench, trimmed

ROUNDS = 2


def said(command, expressions):
    """The program's own times in us."""
    text = subprocess.run(command, shell=True, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=True).stdout
    times = []
    for expression in expressions.split(";"):
        found = re.findall(expression[1:], text)
        if not found:
            raise RuntimeError("it did not say: " + text[-200:].replace("\n", " "))
        times.append(float(found[-1]) * (1e6 if expression.startswith("s") else 1e3))
    return times


def seen(table):
    """The mean us of the first kernel of `plumb capture`'s table: what took most of the time."""
    return table.splitlines()[1][62:].split()[5]


def main():
    plumb, rows = sys.argv[1:]
    bench = Bench(f"{Path(plumb).parent}/bench")
    print("program,regime,launches,own_us,capture_us,capture_over_own_pct,cupti_us,clock_ghz")
    for line in Path(rows).read_text().splitlines():
        name, command, kernel, launch, regimes, expression = line.split("|")
        try:
            taken = Path(tempfile.mkdtemp())
            what = ["--range", kernel[6:]] if kernel.startswith("range:") else ["-k", kernel]
            which = ["--launch", launch] if launch else []
            done = subprocess.run([plumb, "capture", "-q", *what, *which, "-o", taken, "--", "sh", "-c",
                                   command], text=True, capture_output=True)
            found = list(taken.glob("record.*"))
            if not found:
                raise RuntimeError(done.stdout[-300:].replace("\n", " "))
            own, clock, times = [], {}, {r: [] for r in regimes.split()}
            for _ in range(ROUNDS):
                own.append(said(command, expression))
                for regime in times:
                    bench.open("capture", "capture=1:fp32", None, found[0], regime)
                    samples = bench.solo(24)
                    times[regime].append(trimmed(samples)[0])
                    print(f"# {name}, {regime}, us by eight: " + ", ".join(
                        f"{trimmed(samples[i:i + 8])[0]:.1f}" for i in (0, 8, 16)))
                    clock[regime] = trimmed(bench.clocks)[0] / 1e9
                    bench.close()
            for label, theirs in zip(name.split(";"), zip(*own)):
                print(f"# {label}: it says " + ", ".join(f"{us:.1f}" for us in theirs))
                for regime, us in times.items():
                    mine, its = statistics.median(us), statistics.median(theirs)
                    print(f"{label},{regime},{bench.launches},{its:.2f},{mine:.2f},"
                          f"{100 * (mine / its - 1):+.2f},{seen(done.stdout)},{clock[regime]:.3f}",
                          flush=True)
        except (RuntimeError, subprocess.CalledProcessError, BrokenPipeError) as why:
            print(f"{name},# {why}", flush=True)
    bench.end()


main()
