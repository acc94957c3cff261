#!/usr/bin/env python3
# sum.py DIR: what the rows on trial gain, from the CSVs of sweep time in DIR.
import csv, glob, gzip, math, os, sys
from collections import defaultdict
TRIALS = ('plain maps first ready firstspare readyskew readywide wide wideskew wider mapsready evict readytwo two').split()
def trial(name):
    t = name.rsplit('-', 1)[1]
    return t if t in TRIALS else 'gemv' if t == 'gemv' else None
def geo(x):
    return math.exp(sum(map(math.log, x)) / len(x)) if x else float('nan')
def rows(path):
    f = gzip.open(path, 'rt') if path.endswith('gz') else open(path)
    P = defaultdict(list)
    for r in csv.DictReader(f):
        try:
            P[tuple(int(r[k]) for k in 'mnk')].append((r['kernel'], float(r['us']), int(r['samples']), float(r['ghz'])))
        except (ValueError, TypeError):
            pass
    return P
gain = defaultdict(lambda: defaultdict(list))
for path in sorted(glob.glob(os.path.join(sys.argv[1], '*.*.csv*'))):
    name = os.path.basename(path).split('.csv')[0]
    if name.split('.')[0] not in ('lose', 'odd', 'smallm', 'more', 'dsv3'):
        continue
    for promoted in ((False, True) if 'e4m3' in name else (False,)):
        old, new, won, out = [], [], defaultdict(int), []
        for s, R in rows(path).items():
            lt = [r for r in R if r[0].startswith('cublaslt') and ('exact' in r[0]) == promoted]
            ours = [r for r in R if not r[0].startswith('cublaslt') and ('promote' in r[0]) == promoted and r[2] > 2]
            base = [r for r in ours if trial(r[0]) is None]
            if not lt or not ours:
                continue
            if not base:
                base = [r for r in R if not r[0].startswith('cublaslt') and ('promote' in r[0]) == promoted and trial(r[0]) is None]
            if not base:
                continue
            b = min(lt, key=lambda r: r[1]); o = min(base, key=lambda r: r[1]); n = min(ours, key=lambda r: r[1])
            old.append(b[1] / o[1]); new.append(b[1] / n[1]); won[trial(n[0]) or 'present'] += 1
            out.append((b[1] / n[1], '%dx%dx%d' % s, b, o, n))
            for r in ours:
                t = trial(r[0])
                if t and t != 'gemv':
                    gain[name.split('.')[1] + (' promoted' if promoted else '')][t].append(o[1] / r[1])
        if old:
            print('%-12s %-9s n %2d  present %.3f (%.3f)  with trials %.3f (%.3f)  won: %s' % (name, 'promoted' if promoted else '',
                  len(old), geo(old), min(old), geo(new), min(new), ' '.join('%s %d' % x for x in sorted(won.items(), key=lambda x: -x[1]))))
            if name.split('.')[0] in ('lose', 'odd'):
                for q, s, b, o, n in sorted(out)[:10]:
                    print('   %.3f %-17s lt %.2f@%.2f  present %.2f %s  best %.2f@%.2f %s' % (q, s, b[1], b[3], o[1], o[0], n[1], n[3], n[0]))
print('best present row over each finalist on trial (geo, n):')
for t, d in gain.items():
    print('  %-14s' % t + '  '.join('%s %.3f/%d' % (k, geo(v), len(v)) for k, v in sorted(d.items(), key=lambda x: -geo(x[1]))))
