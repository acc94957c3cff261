#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""importers.py PLUMB FILE...: imports other tools' files and compares every time that the store holds with what an
independent reader (json, csv, sqlite3 of Python) finds in the file. Prints a line for each file; exits with 1 where one
differs. A file's tool is the word before the first '_' of its name: kineto, nsys, ncu, cutlass, nvbench, google, pytest,
hyperfine, bmf, ghbench, asv or triton; tests/data/import/README.md names the public files that this was run on."""
import array
import csv
import json
import math
import os
import sqlite3
import subprocess
import sys
import tempfile

NS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "nsecond": 1, "nanosecond": 1}


def kineto(path):
    data = json.load(open(path))
    events = data if isinstance(data, list) else data["traceEvents"]
    return [e["dur"] * 1e3 for e in events if str(e.get("cat", "")).lower() == "kernel"]


def nsys(path):
    if open(path, "rb").read(15) == b"SQLite format 3":
        db = sqlite3.connect("file:%s?mode=ro" % os.path.abspath(path), uri=True)
        return [row[0] for row in db.execute('SELECT "end" - start FROM CUPTI_ACTIVITY_KIND_KERNEL')]
    lines = open(path).read().splitlines()
    first = next(i for i, line in enumerate(lines) if "Instances" in line and "Name" in line)
    rows = csv.DictReader(lines[first:])
    return [float(row["Med (ns)"].replace(",", "")) for row in rows if row["Name"]]


def hyperfine(path):
    return [t * 1e9 for r in json.load(open(path))["results"]
            for t, code in zip(r["times"], r.get("exit_codes") or [0] * len(r["times"])) if code == 0]


def bmf(path):
    return [m["latency"]["value"] for m in json.load(open(path)).values() if "latency" in m]


def ghbench(path):
    text = open(path).read()
    data = json.loads(text[text.index("{"):text.rindex("}") + 1])
    times = []
    for suite in data["entries"].values():
        for entry in suite:
            seen = set()
            for bench in entry["benches"]:
                unit = bench["unit"].split("/")[0]
                if unit in NS and bench["value"] > 0:
                    times.append(bench["value"] * NS[unit])
                elif bench["unit"] in ("iter/sec", "ops/sec") and bench["value"] > 0:
                    times.append(1e9 / bench["value"])
    return times


def asv(path):
    data = json.load(open(path))
    columns = data.get("result_columns")
    times = []
    for name, value in data["results"].items():
        if not name.split(".")[-1].startswith(("time_", "timeraw_")):
            continue
        if columns and isinstance(value, list):
            value = value[columns.index("result")]
        elif isinstance(value, dict):
            value = value["result"]
        for t in value if isinstance(value, list) else [value]:
            if t is not None and not math.isnan(t):
                times.append(t * 1e9)
    return times


def unit_of(path):
    """Of columns that do not say theirs: Liger's benchmarks chart milliseconds."""
    return "ms" if "liger" in path else "TFLOPS"


def triton(path):
    rows = list(csv.DictReader(open(path)))
    times = []
    for r in rows:
        for c in [c for c in r if c.upper() not in "MNK"]:
            unit = c[c.index("(") + 1:-1] if "(" in c else unit_of(path)
            times.append(float(r[c]) * NS[unit] if unit in NS else
                         2 * float(r["M"]) * float(r["N"]) * float(r["K"]) / (float(r[c]) * 1e3))
    return times


def pytest(path):
    times = []
    for bench in json.load(open(path))["benchmarks"]:
        stats = bench["stats"]
        times += [t * 1e9 for t in stats.get("data") or [stats["median"]] if isinstance(t, float) and t > 0]
    return times


def google(path):
    rows = json.load(open(path))["benchmarks"]
    names = {b["name"] for b in rows}
    return [b["real_time"] * NS[b["time_unit"]] for b in rows
            if b.get("run_type", "iteration") == "iteration" and not b.get("error_occurred") and "rms" not in b
            and "big_o" not in b and b["name"].rsplit("_", 1)[0] + "_stddev" not in names]


def ncu(path):
    lines = open(path).read().splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith('"ID"'))
    return list({(r["Process ID"], r["ID"]): float(r["Metric Value"].replace(",", "")) * NS[r["Metric Unit"]]
                 for r in csv.DictReader(lines[first:])
                 if r["Metric Name"] in ("Duration", "gpu__time_duration.sum")}.values())


def cutlass(path):
    lines = open(path).read().splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("Problem,Provider"))
    return [float(r["Runtime"]) * 1e6 for r in csv.DictReader(lines[first:])
            if r["Runtime"] and r["Disposition"] in ("passed", "not_verified") and r["OperationKind"] == "gemm"]


def nvbench(path):
    times = []
    for bench in json.load(open(path))["benchmarks"]:
        for state in bench["states"]:
            data = {s["tag"]: {d["name"]: d["value"] for d in s["data"]} for s in state["summaries"] or []}
            samples = data.get("nv/json/bin:nv/cold/sample_times")
            beside = os.path.join(os.path.dirname(path), samples["filename"]) if samples else ""
            if os.path.isfile(beside):
                times += [t * 1e9 for t in array.array("f", open(beside, "rb").read())]
            elif "nv/cold/time/gpu/mean" in data:
                times.append(float(data["nv/cold/time/gpu/mean"]["value"]) * 1e9)
    return times


def stored(store, plumb):
    lines = subprocess.run([plumb, "export", "--store", store, "--format", "json"], check=True, capture_output=True,
                           text=True).stdout.splitlines()
    times = []
    for line in lines:
        head = json.loads(line).get("result", {}).get("head")
        if head and head["state"] == "ok":
            some = head["samples"]["time_ns"]
            times += some if isinstance(some, list) else [some] * head["samples"]["count"]
    return times


def main():
    plumb, files = sys.argv[1], sys.argv[2:]
    bad = 0
    for path in files:
        tool = os.path.basename(path).split("_")[0]
        more = ["--format", "triton", "--unit", unit_of(path)] if tool == "triton" else []
        with tempfile.TemporaryDirectory() as folder:
            store = os.path.join(folder, "s.db")
            done = subprocess.run([plumb, "import", "--store", store, "--problem", "8x8x8:bf16", *more, path],
                                  capture_output=True, text=True)
            if done.returncode:
                print("%s: %s" % (path, done.stderr.strip().splitlines()[-1]))
                bad += 1
                continue
            found, expected = sorted(stored(store, plumb)), sorted(globals()[tool](path))
            worst = max((abs(a / b - 1) for a, b in zip(found, expected)), default=0)
            same = len(found) == len(expected) and worst < 1e-12
            left = done.stdout.split(" left out")[0].split()[-1]
            bad += not same
            print("%s: %s %d times of %d, worst relative difference %.1e, %s left out" %
                  (os.path.basename(path), "same:" if same else "DIFFERS:", len(found), len(expected), worst, left))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
