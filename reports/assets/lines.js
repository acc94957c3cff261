// SPDX-License-Identifier: Apache-2.0
// What chart.js draws: series as lines of points and levels over commits. Other pages' series, and the
// points that a page leaves out, are loaded when they are asked for.
"use strict";
(function () {
  var page = window.plumbPage, known = {}, everySeries = [], settled = {};
  window.plumbLine = function (series) { known[series.name] = series; };
  window.plumbSeries = function (list) { everySeries = list; };
  window.plumbPoints = function (file) { settled[file.series] = file; };

  // A line has points (times) and levels, each with its commit; `total` counts points that are left out
  // too.
  function lineOf(series) {
    return {
      anchor: series.anchor, name: series.name, label: series.label, total: series.points_known,
      settled: series.settled, links: series.links, pageless: series.pageless,
      marks: series.marks, points: series.points.map(function (p) {
        return { commit: p[0], time: p[1], ns: p[2], low: p[3], high: p[4], at: p[5], predicted: p[6] };
      }),
      levels: series.levels.map(function (l) {
        return { commit: l[0], time: l[1], level: l[2], low: l[3], high: l[4], mark: l[5] };
      })
    };
  }

  // The same of a report of one run, which has its data inside.
  function lineInside(data) {
    var factor = { s: 1e-9, ms: 1e-6, "\u00b5s": 1e-3, ns: 1 }[data.unit];
    return {
      anchor: "", label: "measured", total: data.total, levels: [], marks: data.marks, pageless: [],
      points: data.rows.map(function (row, i) {
        return {
          commit: data.commits[i], time: data.times[i], at: row[0], ns: row[1] / factor,
          predicted: row[2] === null ? null : row[2] / factor,
          low: data.bars ? row[3] / factor : null, high: data.bars ? row[4] / factor : null
        };
      })
    };
  }

  // Where a commit lies on the axis, which counts the points of the first line: at its own point, the
  // first of several, or by its time between two.
  function placeOf(axis, commit, time) {
    if (!axis.byCommit) {
      axis.byCommit = new Map();
      axis.points.forEach(function (p) {
        var id = p.commit.slice(0, 10);
        if (!axis.byCommit.has(id)) axis.byCommit.set(id, p.at);
      });
    }
    var exact = axis.byCommit.get(commit.slice(0, 10));
    if (exact !== undefined) return exact;
    var low = 0, high = axis.points.length - 1;
    if (high < 0) return 0;
    if (time >= axis.points[high].time) return axis.points[high].at;
    if (time < axis.points[0].time) return axis.points[0].at;
    while (high - low > 1) {
      var middle = (low + high) >> 1;
      if (axis.points[middle].time <= time) low = middle; else high = middle;
    }
    var a = axis.points[low], b = axis.points[high];
    return a.at + (b.at - a.at) * (time - a.time) / Math.max(b.time - a.time, 1);
  }

  function median(values) {
    var sorted = values.filter(function (v) { return v > 0; }).sort(function (a, b) { return a - b; });
    return sorted.length ? sorted[sorted.length >> 1] : 1;
  }

  // Rows of dygraphs: x, then low, value and high of each line; null where a line has none.
  function merge(lists) {
    var rows = new Map();
    lists.forEach(function (list, i) {
      list.forEach(function (item) {
        var row = rows.get(item[0]);
        if (!row) {
          row = [item[0]].concat(lists.map(function () { return [null, null, null]; }));
          rows.set(item[0], row);
        }
        row[i + 1] = item.slice(1);
      });
    });
    return Array.from(rows.values()).sort(function (a, b) { return a[0] - b[0]; });
  }

  // The last of a line's items at or before a place.
  function lastAt(items, axis, x) {
    var found = null;
    items.forEach(function (item) { if (placeOf(axis, item.commit, item.time) <= x) found = item; });
    return found;
  }

  // At least a tenth of a percent from bottom to top, so that nothing does not look like something.
  function levelRange(rows, range) {
    var low = Infinity, high = -Infinity, before = null;
    function take(row) {
      row.slice(1).forEach(function (v) {
        if (v[0] === null) return;
        low = Math.min(low, v[0]);
        high = Math.max(high, v[2]);
      });
    }
    rows.forEach(function (row) {
      if (range && row[0] < range[0]) before = row;
      else if (!range || row[0] <= range[1]) take(row);
    });
    if (before) take(before);
    if (low > high) return null;
    var pad = Math.max(0.12 * (high - low), 0.05);
    return [low - pad, high + pad];
  }

  // The data of a series lie in a file of its own; null: there is none.
  function ownLine(name) {
    return page.load("series/" + name).then(function () { return known[name] ? lineOf(known[name]) : null; });
  }

  // The line with this name, of whichever kernel's page.
  function findLine(name) {
    return page.load("series").then(function () {
      var of = everySeries.find(function (s) { return s[0] === name; });
      return of ? ownLine(name).then(function (line) {
        if (line) line.label = of[2] + " " + line.label;
        return line;
      }) : null;
    });
  }

  // The points that the page leaves out come from a file of their own, with the run instead of the
  // commit.
  function unfold(lines) {
    return Promise.all([page.loadRuns()].concat(lines.map(function (line) {
      return line.settled && !line.full ? page.load("points/" + line.name) : null;
    }))).then(function (loaded) {
      var runs = new Map(loaded[0].map(function (run) { return [run[0], run]; }));
      lines.forEach(function (line) { unfoldOne(line, runs); });
    });
  }

  function unfoldOne(line, runs) {
    var file = line.settled && settled[line.name];
    if (line.full || !file) return;
    var known = new Map(line.points.map(function (p) { return [p.at, p]; })), run = 0;
    line.full = file.runs.map(function (step, at) {
      run += step;
      var shown = known.get(at), of = runs.get(run);
      if (shown) shown.run = run;
      if (shown) return shown;
      return { commit: of ? of[3] : "", time: of ? of[5] : null, ns: file.times_ns[at], low: null, high: null, at: at, predicted: null, run: run };
    }).concat(line.points.filter(function (p) { return p.at >= file.runs.length; }));
  }

  // The points within a range as CSV; commits as the list of runs has them, by ten digits, for points
  // that the page leaves out have no more; levels in percent against the first code, as the chart has them.
  // pointsOf(line): those that are shown; placed(line, point): where.
  function table(lines, range, pointsOf, placed, axis) {
    function quoted(text) { return '"' + text.replace(/"/g, '""') + '"'; }
    var rows = ["series,commit,commit_time_s,time_ns,lower_ns,upper_ns,level_percent,level_lower_percent,level_upper_percent"];
    function percent(ratio) { return 100 * Math.expm1(ratio); }
    lines.forEach(function (line) {
      pointsOf(line).forEach(function (p) {
        var x = placed(line, p), level = lastAt(line.levels, axis, x);
        if (x < range[0] || x > range[1]) return;
        rows.push([quoted(line.label), p.commit.slice(0, 10), p.time, p.ns, p.low, p.high].concat(
          level ? [level.level, level.low, level.high].map(percent) : ["", "", ""]).map(function (v) { return v === null ? "" : v; }).join(","));
      });
    });
    return rows.join("\n") + "\n";
  }

  window.plumbLines = {
    ownLine: ownLine, every: function () { return everySeries; }, lineInside: lineInside,
    placeOf: placeOf, lastAt: lastAt, median: median, merge: merge, levelRange: levelRange,
    findLine: findLine, unfold: unfold, table: table
  };
})();
