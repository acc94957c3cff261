// SPDX-License-Identifier: Apache-2.0
// Sorting, filtering, opening what a link points to, and keeping in the address how the page is looked
// at. The page is complete without it; chart.js draws the charts one can zoom.
"use strict";
(function () {
  // ---- the address --------------------------------------------------------------------------
  // "#part&name=value&...": what a link points to, and how it is looked at. Sent to somebody else, or
  // kept, it shows the same. Names are ours; values are escaped.
  function readAddress() {
    var pieces = location.hash.slice(1).split("&"), address = { part: "", values: {} };
    if (pieces[0].indexOf("=") < 0) address.part = plain(pieces.shift());
    pieces.forEach(function (piece) {
      var at = piece.indexOf("=");
      if (at > 0) address.values[piece.slice(0, at)] = plain(piece.slice(at + 1));
    });
    return address;
  }

  function plain(text) {
    try { return decodeURIComponent(text); } catch (error) { return text; }
  }

  // Empty values are left out; `part` undefined: it stays.
  function setAddress(values, part) {
    var address = readAddress(), pieces = [];
    if (part !== undefined) address.part = part;
    for (var name in values) address.values[name] = values[name];
    if (address.part) pieces.push(address.part);
    for (var kept in address.values)
      if (address.values[kept]) pieces.push(kept + "=" + encodeURIComponent(address.values[kept]));
    history.replaceState(null, "", pieces.length ? "#" + pieces.join("&") : location.pathname + location.search);
  }

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
        var up = head.getAttribute("aria-sort") !== "ascending";
        sortTable(table, head.cellIndex, up);
        if (table.classList.contains("filter")) setAddress({ order: head.cellIndex + (up ? " up" : " down") });
      });
    });
    followOrder(table);
  }

  function followOrder(table) {
    var order = /^(\d+) (up|down)$/.exec(readAddress().values.order || "");
    var head = order && table.classList.contains("filter") && table.tHead.rows[0].cells[+order[1]];
    if (head && head.hasAttribute("data-sort")) sortTable(table, +order[1], order[2] === "up");
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
      setAddress({ order: order.value });
    });
    bar.append(field("Order", order, "narrow"), count);
    var texts;
    function read() { texts = rows.map(function (row) { return row.textContent.toLowerCase(); }); }
    read();
    table.addEventListener("rows", function () { read(); apply(); }); // they say something else now
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
      count.textContent = (shown === rows.length ? "" : shown + " of ") + rows.length + (rows.length === 1 ? " row" : " rows");
    }
    function changed() {
      var values = { filter: search.value };
      selects.forEach(function (s) { if (s.select) values[s.name] = s.select.value; });
      apply();
      setAddress(values);
    }
    function follow() {
      var values = readAddress().values;
      search.value = values.filter || "";
      selects.forEach(function (s) {
        if (!s.select) return;
        s.select.value = values[s.name] || "";
        if (s.select.selectedIndex < 0) s.select.value = "";
      });
      apply();
    }
    search.addEventListener("input", changed);
    selects.forEach(function (s) { if (s.select) s.select.addEventListener("change", changed); });
    addEventListener("hashchange", follow);
    follow();
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

  // What the site's folder has beside its pages: scripts that hand over JSON, for a page opened from a
  // folder may read no other file. Each is run once.
  var scripts = {}, allRuns = null, times = {}, pairs = {};
  function load(path) {
    scripts[path] = scripts[path] || new Promise(function (done) {
      var script = make("script", { src: (document.body.getAttribute("data-root") || "") + path + ".js" });
      script.addEventListener("load", done);
      script.addEventListener("error", done);
      document.head.append(script);
    });
    return scripts[path];
  }
  window.plumbRuns = function (list) { allRuns = list; };
  window.plumbTimes = function (file) {
    file.runs.forEach(function (run) {
      var byName = {};
      file.series.forEach(function (name, i) { byName[name] = [run.times_ns[i], run.codes[i]]; });
      times[run.id] = byName;
    });
  };
  // Of a series: "code code" in order, what their pairs said.
  window.plumbPairs = function (file) {
    file.pairs.forEach(function (p) {
      var name = file.series[p[0]], known = pairs[name] = pairs[name] || {};
      var key = Math.min(p[1], p[2]) + " " + Math.max(p[1], p[2]);
      known[key] = known[key] || { base: p[1], kind: p[3], ratio: p[4], error: p[5], pairs: p[6] };
    });
  };
  function loadRuns() { return load("compare/runs").then(function () { return allRuns || []; }); }

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
    find.addEventListener("input", function () { loadRuns().then(picker.fill); });
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
    var shared = document.querySelector(".shared"), verdict = document.querySelector(".compared-verdict");
    var first = makePicker(data, data.first, changed), second = makePicker(data, data.second, changed);
    function file(run) { return Math.floor(run[0] / data.per_file); }
    // How many series can be compared, and why the others cannot, as the page says it of the first two.
    function share(counts) {
      var text = counts[0] + " of " + rows.length + " series have a time in both, " + counts[1] +
        " only in the first, " + counts[2] + " only in the second, " + counts[3] + " in neither.";
      [[first, counts[2]], [second, counts[1]]].forEach(function (side) {
        var run = side[0].run;
        if (side[1]) text += " Run " + run[0] + " lacks some: " + data.missing[run[1]] + ".";
      });
      shared.textContent = text;
    }
    function percent(v) { return (v < 0 ? "\u2212" : "+") + Math.abs(v * 100).toFixed(2); }
    // What is said of a series, as the page says it of the first two runs: by its codes, by what
    // their pairs said, or by two times and how far such times stray.
    function judge(name, sigma, x, y) {
      var a = x[1], b = y[1], turned = { slower: "faster", faster: "slower" };
      var pair = a && b && (pairs[name] || {})[Math.min(a, b) + " " + Math.max(a, b)];
      var ratio = Math.log(y[0] / x[0]), half = sigma > 0 ? 1.96 * Math.SQRT2 * sigma : NaN;
      if (a && a === b) return { by: "code", kind: "same", value: y[0] / x[0] - 1, text: "same machine code" };
      if (pair) {
        ratio = pair.base === a ? pair.ratio : -pair.ratio;
        half = 1.96 * pair.error;
      }
      var kind = pair ? pair.base === a ? pair.kind : turned[pair.kind] || pair.kind :
        ratio - half > 0 ? "slower" : ratio + half < 0 ? "faster" : "undecided";
      return {
        by: pair ? "pairs" : "times", kind: kind, value: Math.expm1(ratio),
        low: Math.expm1(ratio - half), high: Math.expm1(ratio + half),
        text: kind + (pair ? ", " + pair.pairs + " pairs" : ", by times")
      };
    }
    function conclude(all) {
      var text = "";
      [["pairs", "By pairs: "], ["times", "By times alone: "]].forEach(function (part) {
        var counted = ["slower", "faster", "same", "undecided"].map(function (kind) {
          var n = all.filter(function (c) { return c.by === part[0] && c.kind === kind; }).length;
          return n ? n + " " + kind : "";
        }).filter(Boolean);
        if (counted.length) text += part[1] + counted.join(", ") + ". ";
      });
      verdict.textContent = text + "Of the same machine code: " + all.filter(function (c) { return c.by === "code"; }).length + ".";
    }
    // Series that both runs have come first; each part keeps the page's order.
    function apply() {
      var a = times[first.run[0]], b = times[second.run[0]], parts = [[], [], [], []], all = [];
      var missing = !a ? first.run : !b ? second.run : null;
      if (missing) {
        said.textContent = "compare/" + file(missing) + ".js has no times of run " + missing[0] + ": is the folder whole?";
        return;
      }
      rows.forEach(function (row) {
        var name = row.getAttribute("data-series"), x = a[name] || [], y = b[name] || [];
        var cells = row.cells, part = x[0] ? y[0] ? 0 : 1 : y[0] ? 2 : 3;
        var told = part ? { value: null, text: "-" } : judge(name, +row.getAttribute("data-sigma"), x, y);
        parts[part].push(row);
        if (!part) all.push(told);
        setCell(cells[3], x[0] || null, timeText);
        setCell(cells[4], y[0] || null, timeText);
        setCell(cells[5], told.value, function (v) { return percent(v) + " %"; });
        setCell(cells[6], isFinite(told.low) ? told.low : null, function (low) {
          return "[" + percent(low) + ", " + percent(told.high) + "] %";
        });
        cells[7].textContent = told.text;
        if (part) {
          cells[5].textContent = data.shares[part];
          cells[5].classList.remove("empty");
        }
      });
      conclude(all);
      table.tBodies[0].append.apply(table.tBodies[0], [].concat.apply([], parts));
      share(parts.map(function (part) { return part.length; }));
      table.dispatchEvent(new Event("rows"));
      said.textContent = runText(first.run) + " against " + runText(second.run);
    }
    function show() {
      return Promise.all([load("compare/" + file(first.run)), load("compare/" + file(second.run)), load("compare/pairs")]).then(apply);
    }
    function changed() {
      setAddress({}, first.run[0] + ".." + second.run[0]);
      show();
    }
    // compare.html#12..345 names two runs.
    function follow() {
      var ids = /^(\d+)\.\.(\d+)$/.exec(readAddress().part);
      if (!ids) return;
      loadRuns().then(function () {
        first.set(+ids[1]);
        second.set(+ids[2]);
        show();
      });
    }
    table.parentElement.before(make("div", { "class": "pickers" }, [first.fields("first"), second.fields("second")]));
    addEventListener("hashchange", follow);
    follow();
  }

  // ---- events that are on an older page by now ----------------------------------------------
  var older = null;
  window.plumbOlderEvents = function (perPage, slugs) { older = { perPage: perPage, slugs: slugs }; };
  function findOlder(part) {
    if (!/^e-[0-9a-f]+$/.test(part) || !document.querySelector("a[href^='events/']")) return;
    load("events/list").then(function () {
      var at = older ? older.slugs.indexOf(part.slice(2)) : -1;
      if (at >= 0) location.replace("events/" + Math.floor(at / older.perPage) + ".html#" + part);
    });
  }

  // ---- links into folded parts --------------------------------------------------------------
  function openTarget() {
    var part = readAddress().part, target = part && document.getElementById(part);
    if (part && !target) findOlder(part);
    if (!target) return;
    for (var e = target; e; e = e.parentElement)
      if (e.tagName === "DETAILS") e.open = true;
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

  document.documentElement.classList.add("js");
  document.querySelectorAll("table.compare").forEach(makeCompare);
  document.querySelectorAll("table.filter").forEach(makeToolbar);
  document.querySelectorAll("table.sortable").forEach(makeSortable);
  watchWidth();
  addEventListener("hashchange", openTarget);
  openTarget();
  openForPrint();
  window.plumbPage = {
    make: make, field: field, load: load, loadRuns: loadRuns, readAddress: readAddress,
    setAddress: setAddress, timeText: timeText
  };
})();
