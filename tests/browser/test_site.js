// SPDX-License-Identifier: Apache-2.0
//
// The nightly site as a browser sees it: test_site.js CHROMIUM FOLDER
"use strict";
const assert = require("assert");
const fs = require("fs");
const path = require("path");
const { isClean, quickest, runChecks } = require("./check.js");

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const PAGES = ["index.html", "events.html", "accuracy.html", "metrics.html", "runs.html", "compare.html"];

function pagesOf(folder, site) {
  const list = PAGES.slice();
  for (const kind of ["kernel", "series", "device", "commit", "run"])
    for (const name of fs.readdirSync(path.join(folder, site, kind)))
      if (name.endsWith(".html")) list.push(kind + "/" + name);
  return list;
}

// Of each kind a few: all are made alike. What is written into hostile pages differs by kernel, and
// one kernel of the site has more than the others.
function fewOf(folder, site) {
  const seen = {};
  return pagesOf(folder, site).filter((name) => {
    const kind = name.split("/")[0];
    seen[kind] = (seen[kind] || 0) + 1;
    return !name.includes("/") || seen[kind] <= 2 || (kind === "kernel" && site === "site-hostile") ||
      name === "kernel/tma_persistent.html";
  });
}

function type(text) {
  return "{ let i = document.querySelector('input[type=search]'); i.value = " + JSON.stringify(text) +
    "; i.dispatchEvent(new Event('input')); }";
}

const shown = "Array.from(document.querySelectorAll('table.filter tbody tr')).filter(r => !r.hidden)";

runChecks({
  async every_page_is_clean(open, folder) {
    const page = await open("site/index.html");
    for (const site of ["site", "site-hostile", "site-empty"]) {
      for (const name of fewOf(folder, site)) {
        await page.goto("file://" + folder + "/" + site + "/" + name);
        await page.evaluate("document.querySelectorAll('details').forEach((d, i) => { d.open = i < 6; })");
        for (const look of [{ width: 390, dark: true }, { width: 1280 }]) {
          await page.look(look);
          await wait(60);
          await isClean(page).catch((error) => { error.message = site + "/" + name + " " + look.width + ": " + error.message; throw error; });
        }
      }
    }
    await page.close();
  },

  // As their text has it: no page makes a link that its script alone knows.
  async every_link_leads_somewhere(open, folder) {
    const ids = new Map(), links = [];
    for (const name of pagesOf(folder, "site")) {
      const text = fs.readFileSync(path.join(folder, "site", name), "utf8").replace(/<script[^]*?<\/script>/g, "");
      const values = (pattern) => Array.from(text.matchAll(pattern), (match) => match[1].replace(/&amp;/g, "&"));
      ids.set(name, new Set(values(/<[a-z]+[^>]* id="([^"]*)"/g)));
      for (const href of values(/<a[^>]* href="([^"]*)"/g))
        if (!href.startsWith("https://example.org/commit/")) links.push([name, href]);
    }
    assert.ok(links.length > 1000 && ids.get("kernel/tma_persistent.html").size > 2);
    for (const [from, href] of links) {
      const [file, id] = href.split("#");
      const target = file ? path.posix.join(path.posix.dirname(from), file) : from;
      assert.ok(ids.has(target), from + " links to " + href + ", which is not there");
      assert.ok(!id || /^\d+\.\.\d+$/.test(id) || ids.get(target).has(id), from + " links to " + href + ", which has no such part");
    }
  },

  async overview_answers_first_and_filters(open) {
    const page = await open("site/index.html", { width: 1280, height: 800 });
    assert.match(await page.evaluate("document.querySelector('h1').innerText"), /1 of 40 series is broken, 5 slower/);
    const answers = await page.evaluate("Array.from(document.querySelectorAll('dl.answers > *'), e => [e.tagName, e.innerText, e.getBoundingClientRect().bottom])");
    assert.deepStrictEqual(answers.filter((a) => a[0] === "DT").map((a) => a[1]), ["Slower than accepted", "Faster in 30 days", "The machines"]);
    assert.match(answers[2][1], /slower up to \+3\.46 % kernel_12 and 3 more series, since 2025-12-06 by dd98f9a905/);
    assert.ok(answers.every((a) => a[2] < 560), "all of them are read without scrolling");
    assert.ok(await page.evaluate("document.querySelector('table.findings').getBoundingClientRect().top < innerHeight"));
    await page.evaluate(type("tma_persistent"));
    assert.strictEqual(await page.evaluate(shown + ".length"), 3);
    await page.evaluate(type("h100 tma_persistent"));
    assert.strictEqual(await page.evaluate(shown + ".length"), 1);
    await page.close();
  },

  async one_row_is_one(open) {
    const page = await open("site/kernel/kernel_13.html");
    assert.strictEqual(await page.evaluate("document.querySelector('.toolbar output').textContent"), "1 row");
    await page.close();
  },

  async link_from_the_overview_opens_the_series(open) {
    const page = await open("site/index.html");
    const href = await page.evaluate("document.querySelector('table.findings a[href^=kernel]').href");
    await page.goto(href);
    const id = href.split("#")[1];
    await page.until("document.getElementById('" + id + "').open");
    assert.ok(await page.evaluate("document.getElementById('" + id + "').open"));
    assert.ok(await page.evaluate("Math.abs(document.getElementById('" + id + "').getBoundingClientRect().top) < innerHeight"));
    await page.close();
  },

  async series_chart_has_intervals_changes_and_zooms(open, folder) {
    const page = await open("site/kernel/tma_persistent.html");
    await page.evaluate("document.querySelector('.ts').scrollIntoView()");
    await page.until("typeof Dygraph === 'undefined' || document.querySelector('.ts').graph");
    const read = (name) => JSON.parse(fs.readFileSync(path.join(folder, "site", name + ".json"), "utf8"));
    const data = read("series/" + read("kernel/tma_persistent").series[0]);
    assert.deepStrictEqual(data.marks, [{ at: 700, text: "driver", kind: "declared" }, { at: 1400, text: "+3.46 %", kind: "slower" }]);
    assert.ok(data.points.length <= 600 && data.points.length > 500);
    assert.strictEqual(data.points[data.points.length - 1][5], 1999);
    assert.ok(data.points[0][3] > 0 && data.points[0][4] > data.points[0][3], "each has its interval");
    assert.ok(await page.evaluate("document.querySelector('.ts svg path.area') !== null"));
    if (await page.evaluate("typeof Dygraph !== 'undefined'")) {
      assert.strictEqual(await page.evaluate("getComputedStyle(document.querySelector('.ts svg')).display"), "none");
      await page.evaluate("document.querySelector('.ts .times').scrollIntoView({ block: 'center' })");
      const box = await page.evaluate("(() => { let r = document.querySelector('.ts .times canvas').getBoundingClientRect(); return [r.left, r.top, r.width, r.height]; })()");
      const y = box[1] + box[3] / 2;
      const mouse = (type, x) => page.send("Input.dispatchMouseEvent", { type, x, y, button: "left", buttons: 1, clickCount: 1 });
      await mouse("mousePressed", box[0] + box[2] * 0.4);
      await mouse("mouseMoved", box[0] + box[2] * 0.5);
      await mouse("mouseMoved", box[0] + box[2] * 0.6);
      await mouse("mouseReleased", box[0] + box[2] * 0.6);
      await page.until("document.querySelector('.ts').graph.isZoomed('x')");
      const [from, to] = await page.evaluate("document.querySelector('.ts').graph.xAxisRange()");
      assert.ok(from > 500 && to < 1500 && to - from < 700, "a drag zooms: " + from + " .. " + to);
    }
    await isClean(page);
    await page.close();
  },

  // A kernel of many series: the page stays small, and a script draws what it leaves out.
  async a_large_kernels_page_is_small_and_draws_when_opened(open, folder) {
    const name = "kernel/tiled.html", text = fs.readFileSync(path.join(folder, "site-large", name), "utf8");
    assert.ok(text.length < 500e3, name + " has " + text.length);
    const page = await open("site-large/" + name);
    await page.evaluate("(() => { let part = document.querySelectorAll('details.series')[10]; part.open = true; part.scrollIntoView(); })()");
    if (await page.evaluate("typeof Dygraph !== 'undefined'"))
      await page.until("document.querySelectorAll('details.series')[10].querySelector('.ts').chart");
    const own = await page.evaluate("document.querySelectorAll('details.series')[10].querySelector('a[href^=\"../series/\"]').href");
    await isClean(page);
    await page.goto(own);
    assert.ok(await page.evaluate("document.querySelector('.ts svg path.curve').getBoundingClientRect().width > 500"));
    assert.match(await page.evaluate("document.body.innerText"), /What the predicted time is made of/);
    await isClean(page);
    await page.close();
  },

  async prediction_and_pipeline_are_drawn(open) {
    const page = await open("site/kernel/tma_persistent.html");
    const figure = "Array.from(document.querySelector('details.series').querySelectorAll('figure'))";
    const parts = await page.evaluate(figure + ".map(f => [f.querySelector('figcaption').textContent, f.querySelectorAll('svg rect').length, f.getBoundingClientRect().width])");
    const of = (text) => parts.find((part) => part[0].includes(text));
    assert.strictEqual(of("made of")[1], 6, "four parts, predicted, measured");
    assert.strictEqual(of("pipeline")[1], 8, "a box per span");
    assert.ok(of("pipeline")[2] > 300);
    await isClean(page);
    await page.close();
  },

  async accuracy_has_four_trends_and_marks_changes(open) {
    const page = await open("site/accuracy.html");
    const captions = await page.evaluate("Array.from(document.querySelectorAll('#accuracy-1 figcaption'), f => f.textContent)");
    assert.strictEqual(captions.length, 4);
    assert.deepStrictEqual(captions.map((text) => text.includes("level changed")), [true, false, false, false]);
    assert.strictEqual(await page.evaluate("document.querySelector('#accuracy-1').open"), true);
    assert.strictEqual(await page.evaluate("document.querySelectorAll('#accuracy-1 svg .change').length"), 1);
    assert.ok(await page.evaluate("document.querySelectorAll('#accuracy-1 svg path.curve').length") === 4);
    await isClean(page);
    await page.close();
  },

  async texts_of_changes_do_not_overlap(open) {
    const page = await open("site/kernel/tma_persistent.html", { width: 390 });
    await page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })");
    await page.evaluate("document.querySelectorAll('.ts svg').forEach((s) => { s.style.display = 'block'; })").catch(() => {});
    const overlaps = await page.evaluate(`(() => {
      let bad = 0;
      document.querySelectorAll('.ts svg').forEach((svg) => {
        const boxes = Array.from(svg.querySelectorAll('text.tick'), (t) => t.getBoundingClientRect()).filter((b) => b.width > 0);
        boxes.forEach((a, i) => boxes.slice(i + 1).forEach((b) => {
          bad += a.left < b.right && b.left < a.right && a.top < b.bottom - 1 && b.top < a.bottom - 1;
        }));
      });
      return bad;
    })()`);
    assert.strictEqual(overlaps, 0);
    await page.close();
  },

  async compare_shows_any_two_runs(open) {
    const page = await open("site/compare.html");
    const change = "Array.from(document.querySelectorAll('table.compare tbody tr'), r => r.cells[5].textContent)";
    const told = await page.evaluate("Array.from(document.querySelectorAll('table.compare tbody tr'), r => [...r.cells].slice(5).map(c => c.textContent).join(' | '))");
    const verdict = await page.evaluate("document.querySelector('.compared-verdict').textContent");
    const before = await page.evaluate(change), said = await page.evaluate("document.querySelector('.shared').textContent");
    assert.strictEqual(await page.evaluate("document.querySelectorAll('.picker select')[0].options.length"), 29, "the interrupted run has no times");
    assert.deepStrictEqual(page.requests, [], "nothing is loaded before it is asked for");
    const pick = async (i, id) => {
      await page.evaluate("document.querySelector('.compared').textContent = ''");
      await page.evaluate("{ let s = document.querySelectorAll('.picker select')[" + i + "]; s.value = " + id + "; s.dispatchEvent(new Event('change')); }");
      await page.until("document.querySelector('.compared').textContent");
    };
    await pick(0, 29);
    const same = await page.evaluate(change);
    assert.ok(same.every((text) => text === "+0.00 %" || text === "in neither"));
    assert.ok(same.includes("in neither"), "what was not measured has no change, and says so");
    assert.match(await page.evaluate("document.querySelector('.shared').textContent"), /^37 of 40 series have a time in both, 0 only in the first/);
    const find = (text) => page.evaluate(type(text).replace("input[type=search]", ".toolbar input[type=search]"));
    await find("neither");
    assert.strictEqual(await page.evaluate(shown + ".length"), 3, "what rows say now is found");
    await find("");
    assert.strictEqual(await page.evaluate("location.hash"), "#29..29");
    const table = "Array.from(document.querySelectorAll('table.compare tbody tr'), r => [...r.cells].slice(5).map(c => c.textContent).join(' | '))";
    const concluded = "document.querySelector('.compared-verdict').textContent";
    assert.match(await page.evaluate(concluded), /^Of the same machine code: 37\.$/);
    await pick(0, 28);
    assert.deepStrictEqual(await page.evaluate(change), before, "the same as the static table");
    assert.deepStrictEqual(await page.evaluate(table), told, "with its intervals and verdicts");
    assert.strictEqual(await page.evaluate(concluded), verdict);
    assert.match(verdict, /^By pairs: [0-9]+ slower\. By times alone: .*undecided.* Of the same machine code: [0-9]+\.$/);
    assert.ok(told.includes("+1.01 % | [+0.81, +1.20] % | slower, 64 pairs"), told.join("\n"));
    await pick(0, 30);
    await pick(1, 28);
    await pick(0, 29);
    assert.ok((await page.evaluate(table)).includes("\u22121.00 % | [\u22121.19, \u22120.80] % | faster, 64 pairs"), "the other way round");
    await pick(1, 30);
    await pick(0, 28);
    assert.strictEqual(await page.evaluate("document.querySelector('.shared').textContent"), said);
    await page.evaluate("Array.from(document.querySelectorAll('thead button')).find(b => b.textContent === 'Change').click()");
    const sorted = await page.evaluate("Array.from(document.querySelectorAll('table.compare tbody tr'), r => parseFloat(r.cells[5].dataset.v)).filter(v => !isNaN(v))");
    assert.deepStrictEqual(sorted, [...sorted].sort((a, b) => a - b));
    await pick(0, 7);
    const rows = await page.evaluate("Array.from(document.querySelectorAll('table.compare tbody tr'), r => [r.cells[3].dataset.v, r.cells[4].dataset.v, r.cells[5].dataset.v].map(parseFloat).concat(r.cells[7].textContent))");
    for (const [a, b, c, said] of rows)
      if (c !== null && !/pairs/.test(said)) assert.ok(Math.abs(b / a - 1 - c) < 1e-9, "sorting must not mix up rows");
    await isClean(page);
    await page.close();
  },

  // 500 runs: the list offers the newest, a search or an address any other; their files are loaded
  // once, and show what the site has in the JSON beside them.
  async compare_finds_the_oldest_runs(open, folder) {
    const page = await open("site-runs/compare.html");
    const options = (i) => "Array.from(document.querySelectorAll('.picker select')[" + i + "].options, o => +o.value)";
    assert.ok(!(await page.evaluate(options(0))).includes(3), "the third run is not among the newest");
    await page.evaluate("{ let f = document.querySelectorAll('.picker input')[0]; f.value = '3: '; f.dispatchEvent(new Event('input')); }");
    await page.until(options(0) + ".includes(3)");
    await page.evaluate("document.querySelector('.compared').textContent = ''");
    await page.evaluate("{ let s = document.querySelectorAll('.picker select')[0]; s.value = 3; s.dispatchEvent(new Event('change')); }");
    await page.until("document.querySelector('.compared').textContent");
    assert.deepStrictEqual(page.requests.map((url) => url.replace(/.*\//, "")).sort(), ["0.js", "7.js", "pairs.js", "runs.js"]);
    const file = JSON.parse(fs.readFileSync(path.join(folder, "site-runs/compare/0.json"), "utf8"));
    const wanted = file.runs.find((run) => run.id === 3).times_ns;
    const shown = await page.evaluate("Object.fromEntries(Array.from(document.querySelectorAll('table.compare tbody tr'), r => [r.dataset.series, parseFloat(r.cells[3].dataset.v)]))");
    assert.ok(file.series.length > 10);
    file.series.forEach((name, i) => assert.strictEqual(shown[name], wanted[i]));
    assert.match(await page.evaluate("document.querySelector('.compared').textContent"), /^3: .* against 499: /);
    await isClean(page);
    await page.goto("file://" + folder + "/site-runs/runs.html");
    assert.strictEqual(await page.evaluate("document.querySelectorAll('table.filter tbody tr').length"), 200);
    await page.goto("file://" + folder + "/site-runs/compare.html#70..135");
    await page.until("/^70: .* against 135: /.test(document.querySelector('.compared').textContent)");
    await page.close();
  },

  async compare_says_which_file_is_missing(open, folder) {
    fs.renameSync(path.join(folder, "site-runs/compare/1.js"), path.join(folder, "site-runs/compare/gone"));
    const page = await open("site-runs/compare.html#70..135");
    await page.until("/compare\\/1\\.js has no times of run 70/.test(document.querySelector('.compared').textContent)");
    fs.renameSync(path.join(folder, "site-runs/compare/gone"), path.join(folder, "site-runs/compare/1.js"));
    await page.close();
  },

  async text_from_outside_stays_text(open, folder) {
    const page = await open("site-hostile/index.html");
    for (const name of fewOf(folder, "site-hostile")) {
      await page.goto("file://" + folder + "/site-hostile/" + name);
      assert.strictEqual(await page.evaluate("document.querySelectorAll('main img, main iframe, main script:not([type])').length"), 0);
    }
    await page.close();
  },

  async overview_is_small_and_quick(open, folder) {
    for (const [site, rows] of [["site-large", 500], ["site-huge", 4000]]) {
      const bytes = fs.statSync(path.join(folder, site, "index.html")).size;
      assert.ok(bytes < 5e6, bytes + " bytes");
      const { ready, filter } = await quickest(open, site + "/index.html", async (page) => {
        assert.strictEqual(await page.evaluate("document.querySelectorAll('table.filter tbody tr').length"), rows);
        return {
          ready: await page.evaluate("performance.getEntriesByType('navigation')[0].domComplete"),
          filter: await page.evaluate("(() => { let t = performance.now(); " + type("tiled") +
            "; document.body.offsetHeight; return performance.now() - t; })()"),
        };
      }, rows > 500 ? 1 : 3);
      console.log("        " + rows + " series: " + (bytes / 1e6).toFixed(2) + " MB, complete after " + Math.round(ready) +
        " ms, a filter takes " + Math.round(filter) + " ms");
      assert.ok(rows > 500 || ready < 4000, "complete after " + ready + " ms");
    }
  },
});
