#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The selectors' own launches beside cuBLASLt's fastest heuristic, on sizes of public models.

    drawn.py time SWEEP FOLDER SEED COUNT REGIME...  sizes drawn by a seed: CSV on stdout
    drawn.py read FILE...                            what follows from such CSV
    drawn.py sizes SEED COUNT TYPE                   the sizes alone, for `sweep time`
    drawn.py near FILE...                            of its CSV of selectors and all rows: such rows

SWEEP is `sweep`, FOLDER holds libselect_bf16.so and its like.
"""
import csv
import math
import random
import re
import subprocess
import sys
import tempfile

SIZES = [576, 640, 768, 896, 1024, 1152, 1408, 1536, 1792, 2048, 2112, 2304, 2560, 3072, 3584,
         4096, 4608, 4864, 5120, 5632, 6144, 6400, 6656, 6912, 7168, 7680, 8192, 8960, 9216, 9728,
         10240, 11008, 12288, 13696, 13824, 14336, 16384, 17920, 18432, 20480, 24576, 28672]
HEADS = [64, 128, 192, 256, 320, 352, 384, 512]
VOCABULARIES = [30522, 32000, 32768, 49152, 50257, 50304, 51200, 65024, 102400, 128256, 129280,
                151936]
STEPS = {"bf16": 1, "e4m3": 16, "tf32": 4}  # of m, n and k: what cuBLASLt takes
LIBRARIES = {"bf16": ["bf16"], "e4m3": ["e4m3", "e4m3_promoted"], "tf32": ["tf32"]}
CHUNK = 16  # problems of one call, so that a kernel that fails takes few with it


def draw(rng, step):
    """Hidden sizes, experts and heads; one in twelve has a vocabulary; m from 1 to 16,384."""
    while True:
        m = round(2 ** rng.uniform(0, 14))
        if m > 64 and rng.random() < 0.5:
            m = m // 64 * 64
        n, k, r = rng.choice(SIZES), rng.choice(SIZES), rng.random()
        if r < 0.08:
            n = rng.choice(VOCABULARIES)
        elif r < 0.2:
            n = rng.choice(HEADS)
        elif r < 0.28:
            k = rng.choice(HEADS)
        m, n, k = (max(step, x // step * step) for x in (m, n, k))
        if m * n <= 2e8 and m * n * k < 8e11 and n * k < 3e8:
            return m, n, k


def drawn(seed, count, kind):
    rng = random.Random(seed + kind)
    return [draw(rng, STEPS[kind]) for _ in range(int(count))]


def sweep(program, folder, kind, regime, problems, out):
    with tempfile.NamedTemporaryFile("w", suffix=".problems") as file:
        file.write("".join("%d %d %d\n" % p for p in problems))
        file.flush()
        libraries = [f"{folder}/libselect_{name}.so" for name in LIBRARIES[kind]]
        done = subprocess.run([program, "time", regime, "9", file.name] + libraries,
                              capture_output=True, text=True, check=False)
    if done.returncode or re.search("^(WRONG|HANG|FAIL)", done.stderr, re.M):
        sys.exit(f"{program}: {regime} {kind}: code {done.returncode}\n{done.stderr[-2000:]}")
    notes = dict(re.findall(r"^\d+,(\d+,\d+,\d+,[^:]+): 0 (.*)$", done.stderr, re.M))
    best, chosen = {}, {}
    for row in csv.DictReader(done.stdout.splitlines()):
        size, us = (row["m"], row["n"], row["k"]), float(row["us"])
        if row["kernel"].startswith("select"):
            chosen[(*size, row["kernel"])] = us
        elif row["kernel"].startswith("cublaslt"):
            at = (*size, "exact" in row["kernel"])
            best[at] = min(us, best.get(at, math.inf))
    for (m, n, k, kernel), us in chosen.items():
        choice, _, model = notes[f"{m},{n},{k},{kernel}"].partition(", the model alone ")
        out.writerow([regime, kernel, m, n, k, us, best[m, n, k, "promoted" in kernel], choice,
                      model or choice])
    sys.stdout.flush()


def time(program, folder, seed, count, regimes):
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow("regime kernel m n k selector_us cublaslt_us choice model fastest_us fastest"
                 .split())
    problems = {kind: drawn(seed, count, kind) for kind in STEPS}
    for regime in regimes:
        for kind, sizes in problems.items():
            for i in range(0, len(sizes), CHUNK):
                sweep(program, folder, kind, regime, sizes[i:i + CHUNK], out)


def near(paths):
    """The selector beside the fastest row and cuBLASLt, in one sweep of them all."""
    out = csv.writer(sys.stdout, lineterminator="\n")
    times = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for row in csv.DictReader(file):
                size = (row.get("regime", "cold"), row["m"], row["n"], row["k"])
                times.setdefault((*size, row["in_type"]), {})[row["kernel"]] = (
                    float(row["us"]), int(row["samples"]))
    for (regime, m, n, k, _), all_ in times.items():
        for selector in (name for name in all_ if name.startswith("select")):
            promoted, (own, samples) = "promoted" in selector, all_[selector]
            # A row with fewer samples was timed before the clock had settled.
            rows = {name: us for name, (us, taken) in all_.items() if taken >= samples
                    and not name.startswith(("sel", "cublas")) and ("promote" in name) == promoted}
            library = min(us for name, (us, _) in all_.items() if name.startswith("cublaslt")
                          and ("exact" in name) == promoted)
            rows = rows or {selector: own}
            fastest = min(rows, key=rows.get)
            out.writerow([regime + " beside all rows", selector, m, n, k, own, library, "", "",
                          rows[fastest], fastest])


def read(paths):
    speeds, nearness = {}, {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for row in csv.DictReader(file):
                speed = float(row["cublaslt_us"]) / float(row["selector_us"])
                size = "{m} x {n} x {k}".format(**row)
                speeds.setdefault((row["regime"], row["kernel"]), []).append((speed, size))
                if row["fastest_us"]:
                    near_ = float(row["fastest_us"]) / float(row["selector_us"])
                    nearness.setdefault((row["regime"], row["kernel"]), []).append(near_)
    for (regime, kernel), all_ in speeds.items():
        mean = math.exp(sum(math.log(s) for s, _ in all_) / len(all_))
        slow = ", ".join("%.3f at %s" % x for x in sorted(all_) if x[0] < 0.95)
        print("%s %s: %d problems, mean %.3f, least %.3f, below .95: %s"
              % (regime, kernel, len(all_), mean, min(all_)[0], slow or "none"))
    for (regime, kernel), all_ in nearness.items():
        mean = math.exp(sum(map(math.log, all_)) / len(all_))
        print("%s %s over the fastest row: %d problems, median %.3f, mean %.3f, least %.3f"
              % (regime, kernel, len(all_), sorted(all_)[len(all_) // 2], mean, min(all_)))


if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[1] == "read":
        read(sys.argv[2:])
    elif len(sys.argv) > 2 and sys.argv[1] == "near":
        near(sys.argv[2:])
    elif len(sys.argv) == 5 and sys.argv[1] == "sizes":
        print("".join("%d %d %d\n" % size for size in drawn(*sys.argv[2:])), end="")
    elif len(sys.argv) > 6 and sys.argv[1] == "time":
        time(*sys.argv[2:6], sys.argv[6:])
    else:
        sys.exit(__doc__)
