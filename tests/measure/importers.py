#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""importers.py PLUMB FILE...: imports other tools' files and compares every time that the store holds with what an
independent reader (json, csv, sqlite3 of Python) finds in the file. Prints a line for each file; exits with 1 where one
differs. A file's tool is the word before the first '_' of its name: kineto, nsys, hyperfine, bmf, ghbench, asv, triton,
google, pytest or nvbench; tests/data/import/README.md names the public files that this was run on."""
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


def triton(path):
    rows = list(csv.DictReader(open(path)))
    lines = [c for c in rows[0] if c not in "MNK"]
    return [2 * float(r["M"]) * float(r["N"]) * float(r["K"]) / (float(r[c]) * 1e3) for r in rows for c in lines]


def pytest(path):
    times = []
    for bench in json.load(open(path))["benchmarks"]:
        stats = bench["stats"]
        times += [t * 1e9 for t in stats.get("data") or [stats["median"]]]
    return times


def google(path):
    return [b["real_time"] * NS[b["time_unit"]] for b in json.load(open(path))["benchmarks"]
            if b.get("run_type", "iteration") == "iteration" and not b.get("error_occurred")]


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
        more = ["--format", "triton", "--unit", "TFLOPS"] if tool == "triton" else []
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
