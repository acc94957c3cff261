#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""import_limits.py PLUMB FOLDER: makes files of 64 MiB that are as dense as their format allows, imports each into a fresh store,
and prints the seconds of the processor and the peak memory that it took. Exits with 1 where one takes more than 5 s or 256 MiB.
FOLDER is a git repository with a commit."""
import os
import resource
import sys
import tempfile

SIZE = 64 << 20
FORMS = {
    "google": ('{"context":{},"benchmarks":[{"name":"a/8/8/8","real_time":1}', ',{"name":"g%d/8/8/8","real_time":1}', "]}"),
    "google zeros": ('{"context":{},"benchmarks":[0', ",0", "]}"),
    "google exponents": ('{"context":{},"benchmarks":[0', ",1e5", "]}"),
    "kineto": ('{"traceEvents":[{"cat":"kernel","name":"a","dur":1}', ',{"cat":"kernel","name":"k%d","dur":1}', "]}"),
    "kineto one kernel": ('{"traceEvents":[{"cat":"kernel","name":"a","dur":1}', ',{"cat":"kernel","name":"k","dur":1}', "]}"),
    "kineto host": ('{"traceEvents":[{"cat":"kernel","name":"a","dur":1}', ',{"cat":"cpu_op","name":"k%d","dur":1}', "]}"),
    "nsys": ("Time (%),Total Time (ns),Instances,Med (ns),Name\n", "1,1,1,1,k%d\n", ""),
    "nsys long": ("Time (%),Total Time (ns),Instances,Med (ns),Name\n", "1,1,1,1,k%d" + 600 * "<a>" + "\n", ""),
    "csv": ("commit,kernel,problem,time_ns\n", "aaaaaaa,k%d,8x8x8,5\n", ""),
    "csv runs": ("commit,kernel,problem,time_ns\n", "%07x,k,8x8x8,5\n", ""),
    "csv long": ("commit,kernel,problem,time_ns,x\n", "aaaaaaa,k%d,8x8x8,5," + 600 * "x" + "\n", ""),
    "csv blank": ("commit,kernel,problem,time_ns\naaaaaaa,k,8x8x8,5\n", "\n", ""),
    "bmf": ('{"a 8x8x8":{"latency":{"value":1}}', ',"g%d 8x8x8":{"latency":{"value":1}}', "}"),
    "asv": ('{"commit_hash":"aaaaaaa","date":1700000000000,"params":{"machine":"m"},"results":{"time_x":{"result":[1',
            ",1", '],"params":[[1]]}}}'),
    "ghbench": ('window.BENCHMARK_DATA = {"lastUpdate":1,"entries":{"s":[{"commit":{"id":"aaaaaaa"},"date":1e12,"benches":[]}',
                ',{"commit":{"id":"%08x"},"date":1e12,"benches":[{"name":"f/8/8/8","value":2,"unit":"us"}]}', "]}}"),
    "hyperfine": ('{"results":[{"command":"x","parameters":{"problem":"8x8x8"},"times":[1', ",1", "]}]}"),
    "ncu": ('"ID","Host Name","Kernel Name","Device","Metric Name","Metric Unit","Metric Value"\n',
            '"%d","h","k","0","Duration","ns","5.5"\n', ""),
    "triton": ("M,N,K,a (ms)\n", "%d,8,8,5\n", ""),
}


def write(path, head, row, tail):
    with open(path, "w") as out:
        out.write(head)
        size, i = len(head), 0
        while size < SIZE - 1000:
            rows = []
            for _ in range(10000):
                text = row % (i % 1000000 + 1) if "%" in row else row
                rows.append(text)
                size += len(text)
                i += 1
                if size >= SIZE - 1000:
                    break
            out.write("".join(rows))
        out.write(tail)


def main():
    plumb, folder = os.path.abspath(sys.argv[1]), sys.argv[2]
    bad = 0
    os.chdir(folder)
    for name, (head, row, tail) in FORMS.items():
        with tempfile.TemporaryDirectory() as scratch:
            path = os.path.join(scratch, "input")
            write(path, head, row, tail)
            child = os.fork()
            if child == 0:
                null = os.open(os.path.join(scratch, "said"), os.O_WRONLY | os.O_CREAT)
                os.dup2(null, 1)
                os.dup2(null, 2)
                form = name.split()[0]
                problem = [] if form == "csv" else ["--problem", "8x8x8"]  # a table has a column of it
                os.execv(plumb, [plumb, "import", "--store", os.path.join(scratch, "s.db"), *problem, "--format", form, path])
            _, status, used = os.wait4(child, 0)
            seconds, mib = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
            over = seconds > 5 or mib > 256
            bad += over
            last = open(os.path.join(scratch, "said"), errors="replace").read().strip().splitlines()[-1:]
            print("%-18s %5.2f s %4.0f MiB, exit %d%s: %s" %
                  (name, seconds, mib, os.waitstatus_to_exitcode(status), ", OVER" if over else "",
                   "".join(last).replace(scratch, "")[:90]), flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
