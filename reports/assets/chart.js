// SPDX-License-Identifier: Apache-2.0
// Charts of series that one can zoom, overlay, click and take along as CSV, drawn with dygraphs. Above,
// the level of each code as it was measured side by side with others; below, the absolute times. What
// is shown stands in the address. Without this the same charts are static.
"use strict";
(function () {
  var page = window.plumbPage, make = page.make, data = window.plumbLines;
  var paint = window.plumbPaint, color = paint.color;
  var placeOf = data.placeOf, lastAt = data.lastAt, merge = data.merge;
  var MOST = 6; // series in one chart

  function percentText(ratio) {
    return (ratio < 0 ? "\u2212" : "+") + Math.abs(100 * ratio).toFixed(2) + " %";
  }
  function day(time_s) { return time_s ? new Date(time_s * 1000).toISOString().slice(0, 10) : ""; }
  function shortId(commit) { return commit.slice(0, 10); }

  // ---- a chart ------------------------------------------------------------------------------
  function Chart(box, first) {
    this.box = box, this.first = first;
    this.lines = [first];
    this.full = false;
    this.range = null;
    var self = this;
    this.legend = make("div", { "class": "legend" });
    this.picked = make("div", { "class": "picked", "aria-live": "polite" });
    this.levels = first.levels.length ? make("div", { "class": "live levels" }) : null;
    this.times = make("div", { "class": "live times" });
    this.frame = make("div", {
      "class": "plots", tabindex: "0", role: "group",
      "aria-label": "Chart of " + first.label + ". Left and right move along the commits, plus and minus zoom, 0 shows all, Enter keeps the commit."
    });
    if (this.levels) this.frame.append(this.heading("Level of each code, measured side by side"), this.levels);
    this.timed = !this.levels || first.points.some(function (p) { return p.ns; }); // else links alone
    if (this.timed) this.frame.append(this.heading(this.levels ? "Time per launch of each run" : ""), this.times);
    box.prepend(this.toolbar(), this.legend, this.frame, this.picked);
    this.frame.addEventListener("keydown", function (event) { self.key(event); });
    this.draw();
    box.classList.add("drawn");
    box.removeAttribute("tabindex");
  }

  Chart.prototype.heading = function (text) { return text ? make("p", { "class": "plot" }, [text]) : ""; };

  Chart.prototype.toolbar = function () {
    var self = this, bar = make("div", { "class": "chartbar" });
    function button(text, label, act) {
      var element = make("button", { type: "button", "class": "button", "aria-label": label }, [text]);
      element.addEventListener("click", act);
      bar.append(element);
    }
    if (this.first.anchor) {
      this.choice = make("select", { "aria-label": "Lay another series over " + this.first.label });
      this.choice.append(make("option", { value: "" }, ["Overlay \u2026"]));
      this.chips = make("span", { "class": "chips" });
      this.choice.addEventListener("focus", function () { self.offer(); });
      this.choice.addEventListener("change", function () { self.overlay(self.choice.value); self.choice.value = ""; });
      bar.append(this.choice, this.chips);
    }
    bar.append(make("span", { "class": "space" }));
    button("+", "Zoom in", function () { self.zoom(0.5); });
    button("\u2212", "Zoom out", function () { self.zoom(2); });
    button("All", "Show all commits", function () { self.show(null); });
    button("CSV", "Download what is shown as CSV", function () { self.download(); });
    return bar;
  };

  // What can be laid over: the other series of this problem, the controls, and this kernel's others.
  Chart.prototype.offer = function () {
    var self = this;
    if (this.offered) return;
    this.offered = true;
    page.load("series").then(function () {
      var own = data.every().find(function (s) { return s[0] === self.first.name; });
      if (!own) return;
      var groups = [
        ["The same problem", function (s) { return s[3] === own[3]; }],
        ["Controls", function (s) { return s[5]; }],
        ["The same kernel", function (s) { return s[2] === own[2]; }]
      ], seen = {};
      seen[self.first.name] = true;
      groups.forEach(function (group) {
        var list = data.every().filter(function (s) { return !seen[s[0]] && group[1](s); }).slice(0, 60);
        if (!list.length) return;
        self.choice.append(make("optgroup", { label: group[0] }, list.map(function (s) {
          seen[s[0]] = true;
          return make("option", { value: s[0] }, [s[2] + " " + s[3] + " on " + s[4]]);
        })));
      });
    });
  };

  Chart.prototype.overlay = function (name) {
    var self = this;
    if (!name || this.lines.length >= MOST || this.lines.some(function (l) { return l.name === name; }))
      return Promise.resolve();
    return data.findLine(name).then(function (line) {
      if (!line) return;
      self.lines.push(line);
      self.chipsAnew();
      return self.fill().then(function () { self.draw(); self.say(); });
    });
  };

  Chart.prototype.chipsAnew = function () {
    var self = this;
    this.chips.replaceChildren.apply(this.chips, this.lines.slice(1).map(function (line, i) {
      var chip = make("button", { type: "button", "class": "chip over" + (i + 1), "aria-label": "Remove " + line.label }, [line.label, " \u00d7"]);
      chip.addEventListener("click", function () {
        self.lines.splice(self.lines.indexOf(line), 1);
        self.chipsAnew();
        self.draw();
        self.say();
      });
      return chip;
    }));
  };

  // ---- rows ---------------------------------------------------------------------------------
  Chart.prototype.fill = function () {
    return this.wantsFull() ? data.unfold(this.lines) : Promise.resolve();
  };

  Chart.prototype.wantsFull = function () {
    return this.range !== null && this.lines.some(function (l) { return l.points.length < l.total; }) &&
      this.range[1] - this.range[0] < 0.6 * this.first.total;
  };
  Chart.prototype.pointsOf = function (line) { return this.full && line.full ? line.full : line.points; };

  Chart.prototype.rowsOfTimes = function () {
    var self = this, many = this.lines.length > 1, first = this.pointsOf(this.first);
    return merge(this.lines.map(function (line, i) {
      var points = self.pointsOf(line), unit = many ? data.median(line.points.map(function (p) { return p.ns; })) : 1 / self.factor;
      return points.filter(function (p) { return p.ns > 0; }).map(function (p) {
        var value = many ? 100 * (p.ns / unit - 1) : p.ns / unit;
        function bound(b) { return !(b > 0) || self.full ? value : many ? 100 * (b / unit - 1) : b / unit; }
        return [i ? placeOf(self.axis(first), p.commit, p.time) : p.at, bound(p.low), value, bound(p.high)];
      });
    }));
  };

  Chart.prototype.axis = function (points) {
    if (!this.axisNow || this.axisNow.points !== points) this.axisNow = { points: points };
    return this.axisNow;
  };

  // A code's level holds until the next code. Where nothing links two codes the line ends.
  Chart.prototype.rowsOfLevels = function () {
    var self = this, axis = this.axis(this.pointsOf(this.first)), end = this.first.total - 0.5;
    return merge(this.lines.map(function (line) {
      var rows = line.levels.map(function (l) {
        return [placeOf(axis, l.commit, l.time) - 0.5, 100 * Math.expm1(l.low), 100 * Math.expm1(l.level), 100 * Math.expm1(l.high)];
      });
      if (rows.length && rows[rows.length - 1][0] < end) rows.push([end].concat(rows[rows.length - 1].slice(1)));
      return rows;
    }));
  };

  // ---- drawing ------------------------------------------------------------------------------
  Chart.prototype.draw = function () {
    var top = Math.max.apply(null, this.first.points.map(function (p) { return p.ns || 0; }));
    var unit = [[1e9, "s"], [1e6, "ms"], [1e3, "\u00b5s"], [1, "ns"]].find(function (u) { return top >= u[0]; }) || [1, "ns"];
    this.factor = 1 / unit[0];
    this.unit = this.lines.length > 1 ? "%" : unit[1];
    this.full = this.wantsFull();
    if (this.timed) this.plot("graphTimes", this.times, this.rowsOfTimes(), this.unit, false);
    if (this.levels) this.plot("graphLevels", this.levels, this.rowsOfLevels(), "%", true);
    this.box.graph = this.graphTimes || this.graphLevels;
  };

  Chart.prototype.plot = function (name, place, rows, unit, steps) {
    var options = this.options(rows, unit, steps);
    if (this[name]) this[name].updateOptions(Object.assign({ file: rows }, options));
    else this[name] = new Dygraph(place, rows, options);
  };

  Chart.prototype.options = function (rows, unit, steps) {
    var self = this, dots = !steps && (this.full || rows.length < 150);
    function digits(v) { return +v.toPrecision(5) + (unit === "%" ? " %" : " " + unit); }
    return {
      labels: ["commit"].concat(this.lines.map(function (line, i) { return i + " " + line.label; })),
      customBars: true, stepPlot: steps, strokeWidth: steps ? 2 : this.full ? 0.6 : 1.4, connectSeparatedPoints: true,
      drawPoints: dots, pointSize: 2, fillAlpha: steps ? 0.3 : 0.18, colors: paint.colors(this.lines.length),
      axisLineColor: color("--muted"), gridLineColor: color("--grid"), highlightCircleSize: 4,
      dateWindow: this.range || [-0.5, this.first.total - 0.5], animatedZooms: false,
      xRangePad: 0, valueRange: steps ? data.levelRange(rows, this.range) : null,
      underlayCallback: function (canvas, area, graph) { paint.under(self, canvas, area, graph, steps); },
      axes: {
        x: {
          drawAxis: true, pixelsPerLabel: 75, axisLabelWidth: 86,
          axisLabelFormatter: function (x) { return self.dayAt(x); }
        },
        y: { axisLabelFormatter: digits, axisLabelWidth: 70, pixelsPerLabel: 32 }
      },
      highlightCallback: function (event, x) { self.tell(x); },
      unhighlightCallback: function () { self.legend.textContent = self.hint(); },
      clickCallback: function (event, x) { self.pick(x); },
      drawCallback: function (graph, initial) { self.follow(graph, initial); }
    };
  };

  Chart.prototype.pointAt = function (x) {
    var points = this.pointsOf(this.first), low = 0, high = points.length - 1;
    while (high - low > 1) {
      var middle = (low + high) >> 1;
      if (points[middle].at <= x) low = middle; else high = middle;
    }
    return high < 0 ? null : Math.abs(points[low].at - x) <= Math.abs(points[high].at - x) ? points[low] : points[high];
  };

  // Commits of few days are told apart by the minute (UTC).
  Chart.prototype.dayAt = function (x) {
    var p = this.pointAt(x), range = this.range || [-0.5, this.first.total - 0.5];
    if (!p || !p.time) return p ? shortId(p.commit) : "";
    var span = this.pointAt(range[1]).time - this.pointAt(range[0]).time;
    return span < 4 * 86400 ? new Date(p.time * 1000).toISOString().slice(5, 16).replace("T", " ") : day(p.time);
  };

  Chart.prototype.words = function (x) {
    var self = this, p = this.pointAt(x), axis = this.axis(this.pointsOf(this.first));
    if (!p) return [];
    var parts = ["commit " + shortId(p.commit), day(p.time)];
    this.lines.forEach(function (line, i) {
      var name = self.lines.length > 1 ? line.label + ": " : "", level = lastAt(line.levels, axis, p.at);
      var point = i ? lastAt(self.pointsOf(line), axis, p.at) : p;
      if (level)
        parts.push(name + "level " + percentText(Math.expm1(level.level)) + " (" + percentText(Math.expm1(level.low)) + " to " + percentText(Math.expm1(level.high)) + ")");
      if (point && point.ns) parts.push((level ? "" : name) + "time " + page.timeText(point.ns));
    });
    if (p.predicted) parts.push("predicted " + page.timeText(p.predicted));
    return parts.filter(Boolean);
  };

  Chart.prototype.tell = function (x) { this.legend.textContent = this.words(x).join(" \u00b7 "); };
  Chart.prototype.hint = function () {
    return (this.lines.length > 1 ? "Times against each series' own median. " : "") +
      "Drag to zoom, shift-drag to move, double-click to see all, click a point to keep it.";
  };

  // ---- zooming ------------------------------------------------------------------------------
  // One graph was zoomed or moved by hand: the other follows.
  Chart.prototype.follow = function (graph, initial) {
    if (initial) {
      this.legend.textContent = this.hint();
      return;
    }
    var range = graph.xAxisRange(), all = [-0.5, this.first.total - 0.5], now = this.range || all;
    if (this.busy || (Math.abs(range[0] - now[0]) < 1e-6 && Math.abs(range[1] - now[1]) < 1e-6)) return;
    var whole = range[0] <= all[0] + 1e-6 && range[1] >= all[1] - 1e-6;
    this.show(whole ? null : range);
  };

  Chart.prototype.show = function (range) {
    var self = this, all = [-0.5, this.first.total - 0.5];
    if (range) range = [Math.max(range[0], all[0]), Math.min(range[1], all[1])];
    if (range && range[0] <= all[0] && range[1] >= all[1]) range = null;
    this.range = range;
    function now() {
      self.busy = true;
      self.draw();
      self.busy = false;
    }
    now();
    this.say();
    return this.fill().then(function () {
      if (!self.wantsFull()) return;
      now();
      self.say();
    });
  };

  Chart.prototype.zoom = function (factor) {
    var range = this.range || [-0.5, this.first.total - 0.5], middle = (range[0] + range[1]) / 2;
    if (this.chosen !== undefined && this.chosen > range[0] && this.chosen < range[1]) middle = this.chosen;
    var half = Math.max(factor * (range[1] - range[0]) / 2, 2);
    this.show([middle - half, middle + half]);
  };

  // ---- one commit ---------------------------------------------------------------------------
  Chart.prototype.pick = function (x) {
    var p = this.pointAt(x), parts = this.words(x);
    if (!p) return;
    this.chosen = p.at;
    var root = document.body.getAttribute("data-root") || "", links = [];
    function link(href, text) { links.push(" ", make("a", { href: root + href }, [text])); }
    if (this.first.anchor && /^[0-9a-f]{10,}$/.test(p.commit) && this.first.pageless.indexOf(shortId(p.commit)) < 0) link("commit/" + shortId(p.commit) + ".html", "commit");
    if (this.first.anchor && p.run) link("run/" + p.run + ".html", "run " + p.run);
    this.picked.replaceChildren.apply(this.picked, [make("b", {}, [parts.shift()]), " \u00b7 " + parts.join(" \u00b7 ")].concat(links));
    this.busy = true;
    this.draw();
    this.busy = false;
    this.say();
  };

  Chart.prototype.key = function (event) {
    if (event.target !== this.frame || event.ctrlKey || event.metaKey || event.altKey) return;
    var points = this.pointsOf(this.first), at = points.indexOf(this.pointAt(this.chosen === undefined ? Infinity : this.chosen));
    var step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20, Home: -points.length, End: points.length }[event.key];
    if (step) {
      at = this.chosen === undefined ? points.length - 1 : Math.min(Math.max(at + step, 0), points.length - 1);
      if (points[at]) this.pick(points[at].at);
    } else if (event.key === "+" || event.key === "=") this.zoom(0.5);
    else if (event.key === "-") this.zoom(2);
    else if (event.key === "0" || event.key === "Escape") this.show(null);
    else if (event.key === "Enter" && this.picked.querySelector("a")) this.picked.querySelector("a").click();
    else return;
    event.preventDefault();
  };

  // ---- the address --------------------------------------------------------------------------
  Chart.prototype.say = function () {
    if (!this.first.anchor) return;
    var self = this;
    function commit(x) { var p = self.pointAt(x); return p ? shortId(p.commit) : ""; }
    page.setAddress({
      from: this.range ? commit(this.range[0] + 0.5) : "", to: this.range ? commit(this.range[1] - 0.5) : "",
      at: this.chosen === undefined ? "" : commit(this.chosen),
      "with": this.lines.slice(1).map(function (line) { return line.name; }).join(",")
    }, this.first.anchor);
  };

  Chart.prototype.obey = function (values) {
    var self = this, names = (values["with"] || "").split(",").filter(Boolean).slice(0, MOST - 1);
    // The first or the last point of a commit, which may have been measured again.
    function place(commit, last) {
      var own = self.pointsOf(self.first).filter(function (q) { return q.commit.slice(0, 10) === commit; });
      return own.length ? own[last ? own.length - 1 : 0].at : null;
    }
    function all() {
      var from = place(values.from), to = place(values.to, true), at = place(values.at);
      var range = from === null || to === null || to <= from ? null : [from - 0.5, to + 0.5];
      return self.show(range).then(function () { if (at !== null) self.pick(at); });
    }
    // A commit in the address may be one of those left out.
    var hidden = [values.from, values.to, values.at].some(function (c) { return c && place(c) === null; });
    var ready = hidden && this.first.settled ? data.unfold([this.first]).then(function () { self.full = true; }) :
      Promise.resolve();
    return names.reduce(function (before, name) {
      return before.then(function () { return self.overlay(name); });
    }, ready.then(all));
  };

  // ---- CSV ----------------------------------------------------------------------------------
  Chart.prototype.download = function () {
    var self = this, axis = this.axis(this.pointsOf(this.first));
    var text = data.table(this.lines, this.range || [-Infinity, Infinity], function (line) { return self.pointsOf(line); },
      function (line, p) { return line === self.first ? p.at : placeOf(axis, p.commit, p.time); }, axis);
    var link = make("a", {
      href: URL.createObjectURL(new Blob([text], { type: "text/csv" })),
      download: "plumb-" + (this.first.anchor || "series") + ".csv"
    });
    link.click();
    setTimeout(function () { URL.revokeObjectURL(link.href); }, 10000);
  };

  // ---- all charts of a page -----------------------------------------------------------------
  // Its data come with its page or in a file of their own; a line of fewer points has nothing to zoom.
  function begin(box) {
    var inside = box.querySelector("script"), name = box.getAttribute("data-line");
    if (typeof Dygraph === "undefined" || !(inside || name)) return Promise.resolve();
    if (!box.begun)
      box.begun = (inside ? Promise.resolve(data.lineInside(JSON.parse(inside.textContent))) : data.ownLine(name)).then(function (line) {
        if (line && line.points.length >= 3) box.chart = new Chart(box, line);
        return box.chart;
      });
    return box.begun;
  }

  // The chart that the address speaks of is as it says.
  function obey() {
    var address = page.readAddress();
    document.querySelectorAll(".ts").forEach(function (box) {
      if (address.part && box.getAttribute("data-series") === address.part && (address.values.from || address.values["with"] || address.values.at))
        begin(box).then(function (chart) { if (chart) chart.obey(address.values); });
    });
  }

  // A chart is drawn when it is first seen: a folded one has no width.
  function watch() {
    var boxes = Array.from(document.querySelectorAll(".ts"));
    if (!boxes.length || typeof Dygraph === "undefined") return;
    // Its legend sets style attributes, which the page's policy forbids; charts have their own.
    Dygraph.PLUGINS = Dygraph.PLUGINS.filter(function (plugin) { return plugin !== Dygraph.Plugins.Legend; });
    var seen = new IntersectionObserver(function (entries) {
      entries.forEach(function (entry) {
        if (!entry.isIntersecting) return;
        seen.unobserve(entry.target);
        begin(entry.target);
      });
    }, { rootMargin: "200px" });
    obey();
    boxes.forEach(function (box) { seen.observe(box); });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", function () {
      boxes.forEach(function (box) { if (box.chart) box.chart.draw(); });
    });
  }

  watch();
})();
