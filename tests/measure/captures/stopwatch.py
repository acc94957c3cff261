# SPDX-License-Identifier: Apache-2.0
"""bench by its line protocol, and a robust mean."""
import math
import random
import subprocess

BLOCK = 8


def trimmed(values):
    """Mean without a tenth on each side, its error from winsorised values."""
    values, n = sorted(values), len(values)
    cut = n // 10
    kept = values[cut:n - cut]
    winsorised = [kept[0]] * cut + kept + [kept[-1]] * cut
    centre = sum(winsorised) / n
    sd = math.sqrt(sum((v - centre) ** 2 for v in winsorised) / max(n - 1, 1))
    return sum(kept) / len(kept), sd / (0.8 * math.sqrt(n))


class Bench:
    """bench by its line protocol, with one open series."""

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
        """base: None for a head alone."""
        self.last += 1
        opened = [r for n, r in self.ask(
            f"open\tid={self.last}\tkernel={kernel}\tproblem={problem}\thead={head}"
            + (f"\tbase={base}" if base else "") + f"\tseed={random.getrandbits(31)}\tregime={regime}") if n == "opened"][0]
        if opened["state"] != "ok":
            raise RuntimeError(f"{opened['state']}: {opened['note']}")
        self.launches = opened["launches"]

    def block(self, number):
        """Log ratios of a block's pairs, and the base's times in us. self.clocks: of the base, Hz."""
        times, self.clocks = {}, []
        for name, r in self.ask(f"pairs\tid={self.last}\tcount={BLOCK}\tblock={number}"):
            if name == "sample":
                times[r["pair"], r["role"]] = float(r["time_ns"])
                self.clocks += [float(r["clock_hz"])] if r["role"] == "base" else []
        pairs = sorted({p for p, _ in times}, key=int)
        return ([math.log(times[p, "head"] / times[p, "base"]) for p in pairs],
                [times[p, "base"] / 1e3 for p in pairs])

    def solo(self, count):
        """Times of the head alone in us."""
        samples = [r for n, r in self.ask(f"solo\tid={self.last}\tcount={count}\tblock=0")
                   if n == "sample"]
        self.clocks = [float(r["clock_hz"]) for r in samples]
        return [float(r["time_ns"]) / 1e3 for r in samples]

    def close(self):
        closed = [r for n, r in self.ask(f"close\tid={self.last}") if n == "closed"][0]
        if closed["state"] != "ok":
            raise RuntimeError(f"closed {closed['state']}: {closed['note']}")

    def end(self):
        self.child.stdin.close()
        self.child.wait()
