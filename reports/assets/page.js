// SPDX-License-Identifier: Apache-2.0
// Sorting, filtering, opening what a link points to, and charts one can zoom. The page is complete
// without it.
"use strict";
(function () {
  function make(tag, attributes, children) {
    var element = document.createElement(tag);
    for (var name in attributes || {}) element.setAttribute(name, attributes[name]);
    (children || []).forEach(function (child) { element.append(child); });
    return element;
  }

  // ---- tables -------------------------------------------------------------------------------
  function cellValue(row, column, numeric) {
    var cell = row.cells[column];
    if (!numeric) return cell.textContent.trim().toLowerCase();
    var value = parseFloat(cell.getAttribute("data-v"));
    return isNaN(value) ? null : value;
  }

  // Rows without a value stay at the end whichever way the others go.
  function sortTable(table, column, ascending) {
    var head = table.tHead.rows[0].cells[column], body = table.tBodies[0];
    var numeric = head.getAttribute("data-sort") === "number", sign = ascending ? 1 : -1;
    var rows = Array.from(body.rows).map(function (row, index) {
      return { row: row, index: index, value: cellValue(row, column, numeric) };
    });
    rows.sort(function (a, b) {
      if (a.value === null || b.value === null)
        return (a.value === null) - (b.value === null) || a.index - b.index;
      if (a.value === b.value) return a.index - b.index;
      if (!numeric) return sign * a.value.localeCompare(b.value, "en", { numeric: true });
      return a.value < b.value ? -sign : sign;
    });
    body.append.apply(body, rows.map(function (item) { return item.row; }));
    Array.from(table.tHead.rows[0].cells).forEach(function (cell) {
      if (cell.hasAttribute("data-sort")) cell.setAttribute("aria-sort", "none");
    });
    head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
  }

  function sortableColumns(table) {
    return Array.from(table.tHead.rows[0].cells).filter(function (cell) {
      return cell.hasAttribute("data-sort");
    });
  }

  function makeSortable(table) {
    sortableColumns(table).forEach(function (head) {
      var button = make("button", { type: "button" });
      button.append.apply(button, Array.from(head.childNodes).filter(function (node) {
        return node.nodeType === Node.TEXT_NODE;
      }));
      head.prepend(button);
      head.setAttribute("aria-sort", "none");
      button.addEventListener("click", function () {
        sortTable(table, head.cellIndex, head.getAttribute("aria-sort") !== "ascending");
      });
    });
  }

  function field(label, control, className) {
    return make("label", className ? { "class": className } : {}, [label, control]);
  }

  function choices(table, name) {
    var seen = {};
    Array.from(table.tBodies[0].rows).forEach(function (row) {
      var value = row.getAttribute("data-" + name);
      if (value) seen[value] = (seen[value] || 0) + 1;
    });
    return seen;
  }

  function makeSelect(table, name, all) {
    var seen = choices(table, name), values = Object.keys(seen);
    if (values.length < 2) return null;
    var select = make("select", {}, [make("option", { value: "" }, [all])]);
    values.sort().forEach(function (value) {
      select.append(make("option", { value: value }, [value + " (" + seen[value] + ")"]));
    });
    return select;
  }

  function makeToolbar(table) {
    var rows = Array.from(table.tBodies[0].rows), count = make("output", { "aria-live": "polite" });
    var search = make("input", { type: "search", placeholder: "words of a row ..." });
    var bar = make("div", { "class": "toolbar", role: "search" }, [field("Filter", search, "grow")]);
    var selects = ["verdict", "device", "bound"].map(function (name) {
      var select = makeSelect(table, name, "all");
      if (select) bar.append(field(name[0].toUpperCase() + name.slice(1), select));
      return { name: name, select: select };
    });
    var order = make("select", {}, [make("option", { value: "" }, ["most important first"])]);
    sortableColumns(table).forEach(function (head) {
      var label = head.textContent.trim();
      order.append(make("option", { value: head.cellIndex + " up" }, [label + ", rising"]));
      order.append(make("option", { value: head.cellIndex + " down" }, [label + ", falling"]));
    });
    order.addEventListener("change", function () {
      var choice = order.value.split(" ");
      if (order.value) sortTable(table, parseInt(choice[0], 10), choice[1] === "up");
      else table.tBodies[0].append.apply(table.tBodies[0], rows);
    });
    bar.append(field("Order", order, "narrow"), count);
    var texts = rows.map(function (row) { return row.textContent.toLowerCase(); });
    function apply() {
      var words = search.value.toLowerCase().split(/\s+/).filter(Boolean), shown = 0;
      rows.forEach(function (row, index) {
        var hit = words.every(function (word) { return texts[index].indexOf(word) >= 0; }) &&
          selects.every(function (s) {
            return !s.select || !s.select.value || row.getAttribute("data-" + s.name) === s.select.value;
          });
        row.hidden = !hit;
        shown += hit;
      });
      count.textContent = shown === rows.length ? rows.length + " rows" : shown + " of " + rows.length + " rows";
    }
    search.addEventListener("input", apply);
    selects.forEach(function (s) { if (s.select) s.select.addEventListener("change", apply); });
    apply();
    table.parentElement.before(bar);
  }

  // Narrow screens show rows as blocks, and browsers then forget that it is a table: say it again.
  function sayRoles() {
    function set(selector, role) {
      document.querySelectorAll("table.cards" + selector).forEach(function (e) { e.setAttribute("role", role); });
    }
    set("", "table");
    set(" > thead, table.cards > tbody", "rowgroup");
    set(" tr", "row");
    set(" thead th", "columnheader");
    set(" tbody th", "rowheader");
    set(" td", "cell");
  }

  function watchWidth() {
    var narrow = matchMedia("(max-width: 760px)");
    if (narrow.matches) sayRoles();
    else narrow.addEventListener("change", sayRoles, { once: true });
  }

  // ---- any two runs side by side -------------------------------------------------------------
  function timeText(ns) {
    var units = [[1e9, "s"], [1e6, "ms"], [1e3, "\u00b5s"], [1, "ns"]];
    var unit = units.find(function (u) { return ns >= u[0]; }) || units[3];
    return (ns / unit[0]).toPrecision(4) + " " + unit[1];
  }

  function setCell(cell, value, shown) {
    var known = value !== null && isFinite(value);
    cell.setAttribute("data-v", known ? value : "");
    cell.textContent = known ? shown(value) : "-";
    cell.classList.toggle("empty", !known);
  }

  // What the site's folder has beside compare.html: scripts that hand over JSON, for a page opened
  // from a folder may read no other file. Each is run once.
  var scripts = {}, allRuns = null, times = {};
  window.plumbRuns = function (list) { allRuns = list; };
  window.plumbTimes = function (file) {
    file.runs.forEach(function (run) {
      var byName = {};
      file.series.forEach(function (name, i) { byName[name] = run.times_ns[i]; });
      times[run.id] = byName;
    });
  };
  function load(name) {
    scripts[name] = scripts[name] || new Promise(function (done) {
      var script = make("script", { src: "compare/" + name + ".js" });
      script.addEventListener("load", done);
      script.addEventListener("error", done);
      document.head.append(script);
    });
    return scripts[name];
  }

  function runText(run) {
    var date = new Date(run[2] * 1000).toISOString().slice(0, 16).replace("T", " ");
    return run[0] + ": " + run[3] + ", " + date + " " + run[1] + ", " + run[4];
  }

  // A field that searches and the list of what it found, newest first.
  function makePicker(data, chosen, changed) {
    var picker = { run: data.runs.find(function (run) { return run[0] === chosen; }) };
    var find = make("input", { type: "search", placeholder: "number, commit, date, word ..." });
    var select = make("select"), hint = make("option", { disabled: "" });
    var most = 100;
    function option(run) { return make("option", { value: run[0] }, [runText(run)]); }
    picker.fill = function () {
      var words = find.value.toLowerCase().split(/\s+/).filter(Boolean), found = 0;
      var options = [option(picker.run)];
      (allRuns || data.runs).forEach(function (run) {
        var text = words.length && runText(run).toLowerCase();
        if (run[0] === picker.run[0] || !words.every(function (word) { return text.indexOf(word) >= 0; })) return;
        if (found++ < most) options.push(option(run));
      });
      if (!words.length) found = data.known - 1; // whether all are loaded or not
      hint.textContent = found - options.length + 1 + " more: the field above finds them";
      if (found >= options.length) options.push(hint);
      select.replaceChildren.apply(select, options);
      picker.found.textContent = words.length ? found + " found beside the one chosen" : "";
    };
    picker.set = function (id) {
      var run = (allRuns || data.runs).find(function (r) { return r[0] === id; });
      if (run) picker.run = run;
      picker.fill();
    };
    picker.found = make("output", { "aria-live": "polite" });
    find.addEventListener("input", function () { load("runs").then(picker.fill); });
    select.addEventListener("change", function () { picker.set(+select.value); changed(); });
    picker.fields = function (name) {
      return make("div", { "class": "picker" }, [field("Find the " + name + " run", find), field(name[0].toUpperCase() + name.slice(1) + " run", select), picker.found]);
    };
    picker.fill();
    return picker;
  }

  function makeCompare(table) {
    var data = JSON.parse(document.getElementById("compare-data").textContent);
    var rows = Array.from(table.tBodies[0].rows), said = document.querySelector(".compared");
    var first = makePicker(data, data.first, changed), second = makePicker(data, data.second, changed);
    function file(run) { return Math.floor(run[0] / data.per_file); }
    // Series that both runs have come first; each half keeps the page's order.
    function apply() {
      var a = times[first.run[0]], b = times[second.run[0]], both = [], others = [];
      var missing = !a ? first.run : !b ? second.run : null;
      if (missing) {
        said.textContent = "compare/" + file(missing) + ".js has no times of run " + missing[0] + ": is the folder whole?";
        return;
      }
      rows.forEach(function (row) {
        var name = row.getAttribute("data-series"), x = a[name], y = b[name];
        var cells = row.cells, change = x && y ? y / x - 1 : null;
        (x && y ? both : others).push(row);
        setCell(cells[3], x || null, timeText);
        setCell(cells[4], y || null, timeText);
        setCell(cells[5], change, function (v) {
          return (v < 0 ? "\u2212" : "+") + Math.abs(v * 100).toFixed(2) + " %";
        });
      });
      table.tBodies[0].append.apply(table.tBodies[0], both.concat(others));
      said.textContent = runText(first.run) + " against " + runText(second.run);
    }
    function show() {
      return Promise.all([load(file(first.run)), load(file(second.run))]).then(apply);
    }
    function changed() {
      history.replaceState(null, "", "#" + first.run[0] + ".." + second.run[0]);
      show();
    }
    // compare.html#12..345 names two runs.
    function follow() {
      var ids = /^#(\d+)\.\.(\d+)$/.exec(location.hash);
      if (!ids) return;
      load("runs").then(function () {
        first.set(+ids[1]);
        second.set(+ids[2]);
        show();
      });
    }
    table.parentElement.before(make("div", { "class": "pickers" }, [first.fields("first"), second.fields("second")]));
    addEventListener("hashchange", follow);
    follow();
  }

  // ---- links into folded parts --------------------------------------------------------------
  function openTarget() {
    var target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (!target || target.tagName !== "DETAILS") return;
    target.open = true;
    target.scrollIntoView();
  }

  // Paper cannot be unfolded: what changed is printed open, the worst 40 at most.
  function openForPrint() {
    var opened = [];
    addEventListener("beforeprint", function () {
      opened = Array.from(document.querySelectorAll("details.changed:not([open])")).slice(0, 40);
      opened.forEach(function (part) { part.open = true; });
    });
    addEventListener("afterprint", function () {
      opened.forEach(function (part) { part.open = false; });
    });
  }

  // ---- charts -------------------------------------------------------------------------------
  function color(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  // The prediction is drawn where it lies within, and does not stretch the axis: a model that is off
  // by a factor must not hide a change of a percent.
  function drawPredicted(data, canvas, area, graph) {
    var drawing = false;
    canvas.save();
    canvas.beginPath();
    canvas.rect(area.x, area.y, area.w, area.h);
    canvas.clip();
    canvas.beginPath();
    data.rows.forEach(function (row, i) {
      var y = data.predicted[i];
      if (y !== null) canvas[drawing ? "lineTo" : "moveTo"](graph.toDomXCoord(row[0]), graph.toDomYCoord(y));
      drawing = y !== null;
    });
    canvas.strokeStyle = color("--predicted");
    canvas.lineWidth = 1.6;
    canvas.setLineDash([3, 3]);
    canvas.stroke();
    canvas.restore();
  }

  function markChanges(data) {
    return function (canvas, area, graph) {
      drawPredicted(data, canvas, area, graph);
      var free = area.x; // where the next text may begin: the closest ones stay without
      (data.marks || []).forEach(function (mark) {
        var x = graph.toDomXCoord(mark.at - 0.5);
        if (x < area.x || x > area.x + area.w) return;
        canvas.save();
        canvas.strokeStyle = color({ faster: "--faster", epoch: "--new", declared: "--muted" }[mark.kind] || "--slower");
        canvas.setLineDash({ epoch: [], declared: [1, 3] }[mark.kind] || [4, 3]);
        canvas.beginPath();
        canvas.moveTo(x, area.y);
        canvas.lineTo(x, area.y + area.h);
        canvas.stroke();
        canvas.fillStyle = color("--muted");
        canvas.font = "11px system-ui, sans-serif";
        var width = canvas.measureText(mark.text).width;
        if (x + 4 >= free && x + 4 + width <= area.x + area.w) {
          canvas.fillText(mark.text, x + 4, area.y + 11);
          free = x + 8 + width;
        }
        canvas.restore();
      });
    };
  }

  // Rows are thinned: the one shown at or before a commit's number.
  function rowAt(data, x) {
    var low = 0, high = data.rows.length - 1;
    while (low < high) {
      var middle = (low + high + 1) >> 1;
      if (data.rows[middle][0] <= x) low = middle; else high = middle - 1;
    }
    return low;
  }

  function chartOptions(data, legend) {
    var hint = "Drag to zoom, double-click to see all, shift-drag to move.";
    function day(x) {
      var row = rowAt(data, x), time = data.times[row]; // null: not known
      return time ? new Date(time * 1000).toISOString().slice(0, 10) : data.commits[row];
    }
    return {
      labels: ["commit", "measured"], customBars: data.bars, strokeWidth: 1.6,
      drawPoints: data.rows.length < 150, pointSize: 2, connectSeparatedPoints: false, fillAlpha: 0.2,
      colors: [color("--head")], axisLineColor: color("--muted"),
      gridLineColor: color("--grid"), xRangePad: 6, highlightCircleSize: 4, underlayCallback: markChanges(data),
      axes: {
        x: { axisLabelFormatter: day, pixelsPerLabel: 110, axisLabelWidth: 86 },
        y: { axisLabelFormatter: function (v) { return +v.toPrecision(5) + " " + data.unit; }, axisLabelWidth: 74 }
      },
      highlightCallback: function (event, x, points) {
        var at = rowAt(data, x), parts = ["commit " + data.commits[at], day(x)];
        points.forEach(function (point) {
          if (!isNaN(point.yval)) parts.push(point.name + " " + +point.yval.toPrecision(5) + " " + data.unit);
        });
        if (data.predicted[at] !== null)
          parts.push("predicted " + +data.predicted[at].toPrecision(5) + " " + data.unit);
        legend.textContent = parts.join(" \u00b7 ");
      },
      unhighlightCallback: function () { legend.textContent = hint; },
      drawCallback: function (graph, first) { if (first) legend.textContent = hint; }
    };
  }

  function drawChart(box) {
    if (box.graph || typeof Dygraph === "undefined") return;
    var data = JSON.parse(box.querySelector("script").textContent);
    if (data.rows.length < 3) return; // nothing to zoom
    // In the page a row is commit, measured, predicted, and the measured time's interval.
    data.predicted = data.rows.map(function (row) { return row[2]; });
    data.rows = data.rows.map(function (row) {
      return [row[0], data.bars ? [row[3], row[1], row[4]] : row[1]];
    });
    var legend = make("div", { "class": "legend", "aria-live": "off" }), live = make("div", { "class": "live" });
    box.prepend(legend, live);
    box.graph = new Dygraph(live, data.rows, chartOptions(data, legend));
    box.querySelector("svg").style.display = "none";
    box.recolor = function () { box.graph.updateOptions(chartOptions(data, legend)); };
  }

  // A chart is drawn when it is first seen: a folded one has no width.
  function watchCharts() {
    var boxes = Array.from(document.querySelectorAll(".ts"));
    if (!boxes.length || typeof Dygraph === "undefined") return;
    // Its legend sets style attributes, which the page's policy forbids; drawChart has its own.
    Dygraph.PLUGINS = Dygraph.PLUGINS.filter(function (plugin) { return plugin !== Dygraph.Plugins.Legend; });
    var seen = new IntersectionObserver(function (entries) {
      entries.forEach(function (entry) {
        if (!entry.isIntersecting) return;
        seen.unobserve(entry.target);
        drawChart(entry.target);
      });
    }, { rootMargin: "200px" });
    boxes.forEach(function (box) { seen.observe(box); });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", function () {
      boxes.forEach(function (box) { if (box.recolor) box.recolor(); });
    });
  }

  document.documentElement.classList.add("js");
  document.querySelectorAll("table.sortable").forEach(makeSortable);
  document.querySelectorAll("table.compare").forEach(makeCompare);
  document.querySelectorAll("table.filter").forEach(makeToolbar);
  watchWidth();
  addEventListener("hashchange", openTarget);
  openTarget();
  openForPrint();
  watchCharts();
})();
