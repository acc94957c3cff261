// SPDX-License-Identifier: Apache-2.0
//
// The charts of the site as people use them: test_chart.js CHROMIUM FOLDER
"use strict";
const assert = require("assert");
const fs = require("fs");
const path = require("path");
const { isClean, runChecks } = require("./check.js");

const KERNEL = "site-long/kernel/tma_persistent.html";
const CHART = "document.querySelector('.ts').chart";

// The first chart of the page, drawn; null without dygraphs, where all charts are still.
async function drawn(open, name = KERNEL, options = { width: 1280, height: 1600 }) {
  const page = await open(name, options);
  await page.evaluate("document.querySelector('.ts').scrollIntoView()");
  await page.until("typeof Dygraph === 'undefined' || " + CHART);
  if (await page.evaluate("typeof Dygraph !== 'undefined'")) return page;
  console.log("        no dygraphs in this build: charts are still");
  await page.close();
  return null;
}

function dataOf(folder, kernel) {
  const read = (name) => JSON.parse(fs.readFileSync(path.join(folder, "site-long", name + ".json"), "utf8"));
  const page = read("kernel/" + kernel);
  return { ...page, series: page.series.map((name) => read("series/" + name)) };
}

async function press(page, ...keys) {
  await page.evaluate("document.querySelector('.plots').focus()");
  for (const key of keys) {
    await page.send("Input.dispatchKeyEvent", { type: "keyDown", key });
    await page.send("Input.dispatchKeyEvent", { type: "keyUp", key });
  }
}

runChecks({
  async levels_stand_above_times_and_zoom_together(open) {
    const page = await drawn(open);
    if (!page) return;
    const tops = await page.evaluate("Array.from(document.querySelectorAll('.ts')[0].querySelectorAll('.live'), e => [e.className, e.getBoundingClientRect().top])");
    assert.deepStrictEqual(tops.map((t) => t[0]), ["live levels", "live times"]);
    assert.ok(tops[0][1] < tops[1][1]);
    await page.evaluate(CHART + ".graphLevels.updateOptions({ dateWindow: [700, 900] })");
    await page.until(CHART + ".range && Math.abs(" + CHART + ".graphTimes.xAxisRange()[0] - 700) < 1");
    await isClean(page);
    await page.close();
  },

  async commits_of_few_days_are_told_apart_on_the_axis(open) {
    const page = await drawn(open);
    if (!page) return;
    const labels = "[300, 900].map(x => " + CHART + ".dayAt(x))";
    for (const label of await page.evaluate(labels)) assert.match(label, /^\d{4}-\d\d-\d\d$/);
    await page.evaluate(CHART + ".pointsOf(" + CHART + ".first).forEach(p => { p.time = 1795305600 + p.at * 30; })");
    assert.deepStrictEqual(await page.evaluate(labels), ["11-22 02:30", "11-22 07:30"]);
    await page.close();
  },

  async zoomed_in_every_point_is_there(open, folder) {
    const page = await drawn(open);
    if (!page) return;
    const thinned = await page.evaluate(CHART + ".graphTimes.numRows()");
    assert.ok(thinned <= 600);
    await page.evaluate(CHART + ".show([1380.5, 1450.5])");
    await page.until(CHART + ".full");
    const shown = await page.evaluate(CHART + ".pointsOf(" + CHART + ".first).filter(p => p.at >= 1381 && p.at <= 1450).map(p => [p.at, p.commit, p.ns])");
    assert.strictEqual(shown.length, 70);
    const name = dataOf(folder, "tma_persistent").series[0].name;
    const file = JSON.parse(fs.readFileSync(path.join(folder, "site-long/points/" + name + ".json"), "utf8"));
    for (const [at, commit, ns] of shown) {
      assert.ok(/^[0-9a-f]{10}/.test(commit));
      assert.ok(Math.abs(ns / file.times_ns[at] - 1) < 1e-5);
    }
    await isClean(page);
    await page.close();
  },

  async address_shows_the_same_again(open) {
    const page = await drawn(open);
    if (!page) return;
    await page.evaluate(CHART + ".show([1380.5, 1450.5])");
    await page.until(CHART + ".full");
    await page.evaluate(CHART + ".choice.focus()");
    await page.until(CHART + ".choice.querySelectorAll('optgroup option').length > 1");
    await page.evaluate(CHART + ".overlay(" + CHART + ".choice.querySelector('optgroup option').value)");
    await page.until(CHART + ".lines.length === 2");
    await page.evaluate(CHART + ".pick(1400)");
    await page.until("/from=.*to=.*/.test(location.hash) && /at=/.test(location.hash) && /with=/.test(location.hash)");
    const seen = CHART + " && JSON.stringify([" + CHART + ".range, " + CHART + ".chosen, " + CHART + ".lines.map(l => l.name)])";
    const hash = await page.evaluate("location.hash"), before = await page.evaluate(seen);
    await isClean(page);
    await page.close();
    const again = await open(KERNEL + hash, { width: 1280, height: 1600 });
    await again.until(seen + " === " + JSON.stringify(before));
    assert.strictEqual(await again.evaluate("document.querySelectorAll('.chip').length"), 1);
    await again.close();
  },

  // A commit that was measured again has several points: all of them stay in sight, and its level
  // begins with the first.
  async address_keeps_every_point_of_a_commit(open) {
    const page = await drawn(open);
    if (!page) return;
    await page.evaluate(CHART + ".show([1380.5, 1450.5])");
    await page.until(CHART + ".full");
    const of = "(" + CHART + ".pointsOf(" + CHART + ".first).filter(p => p.at >= 1448 && p.at <= 1450))";
    await page.evaluate(of + ".forEach((p, i, all) => { p.commit = all[0].commit; })");
    await page.evaluate(CHART + ".show([1380.5, 1450.5])");
    const values = "Object.fromEntries(new URLSearchParams(location.hash.replace(/^#[^&]*&/, '')))";
    assert.deepStrictEqual(await page.evaluate(CHART + ".obey(" + values + ").then(() => " + CHART + ".range)"), [1380.5, 1450.5]);
    assert.strictEqual(await page.evaluate("plumbLines.placeOf({ points: " + of + " }, " + of + "[0].commit, 0)"), 1448);
    await page.close();
  },

  async points_lead_to_their_commit_and_run(open, folder) {
    const page = await drawn(open);
    if (!page) return;
    await page.evaluate(CHART + ".show([1380.5, 1450.5])");
    await page.until(CHART + ".full");
    const box = await page.evaluate("(() => { let r = document.querySelector('.ts .times canvas').getBoundingClientRect(); return [r.left, r.top, r.width, r.height]; })()");
    const at = { x: box[0] + box[2] / 2, y: box[1] + box[3] / 2, button: "left", clickCount: 1 };
    await page.send("Input.dispatchMouseEvent", { type: "mouseMoved", ...at });
    await page.send("Input.dispatchMouseEvent", { type: "mousePressed", ...at });
    await page.send("Input.dispatchMouseEvent", { type: "mouseReleased", ...at });
    await page.until("document.querySelector('.picked a')");
    const links = await page.evaluate("Array.from(document.querySelectorAll('.picked a'), a => a.getAttribute('href'))");
    assert.strictEqual(links.length, 2);
    for (const link of links) assert.ok(fs.existsSync(path.join(folder, "site-long/kernel", link)), link);
    await isClean(page);
    await page.close();
  },

  async keyboard_does_all_of_it(open) {
    const page = await drawn(open);
    if (!page) return;
    await press(page, "ArrowLeft", "ArrowLeft");
    const newest = await page.evaluate(CHART + ".chosen");
    assert.ok(newest > 1990 && newest < 1999);
    await press(page, "+", "+");
    await page.until(CHART + ".range && " + CHART + ".range[1] - " + CHART + ".range[0] < 1000");
    await press(page, "0");
    await page.until(CHART + ".range === null");
    await press(page, "Enter");
    await page.until("/commit\\/[0-9a-f]{10}\\.html$/.test(location.pathname)");
    await page.close();
  },

  async csv_has_what_is_shown(open) {
    const page = await drawn(open);
    if (!page) return;
    await page.evaluate(CHART + ".show([1380.5, 1450.5])");
    await page.until(CHART + ".full");
    await page.evaluate("URL.createObjectURL = (blob) => { blob.text().then((t) => { window.csv = t; }); return '#'; }; " +
      "Array.from(document.querySelectorAll('.chartbar button')).find(b => b.textContent === 'CSV').click()");
    await page.until("window.csv");
    const lines = (await page.evaluate("window.csv")).trim().split("\n");
    assert.strictEqual(lines[0], "series,commit,commit_time_s,time_ns,lower_ns,upper_ns,level_percent,level_lower_percent,level_upper_percent");
    assert.strictEqual(lines.length, 71);
    lines.slice(1).forEach((line) => assert.match(line.split(",")[1], /^[0-9a-f]{10}$/));
    const cells = lines[30].split(",");
    assert.strictEqual(cells.length, 9);
    assert.ok(Number(cells[3]) > 0 && Number(cells[7]) < Number(cells[6]) && Number(cells[6]) < Number(cells[8]));
    // In percent, as the legend has it: the step is of 3.46 %, its logarithm of 0.034.
    assert.ok(Number(cells[6]) > 3 && Number(cells[6]) < 4, "level " + cells[6]);
    await page.close();
  },

  async filter_and_order_are_kept_in_the_address(open) {
    const page = await open("site-large/index.html");
    await page.evaluate("{ let i = document.querySelector('input[type=search]'); i.value = 'tiled'; i.dispatchEvent(new Event('input')); }");
    await page.evaluate("Array.from(document.querySelectorAll('table.filter thead button')).find(b => b.textContent === 'Newest').click()");
    const shown = "JSON.stringify(Array.from(document.querySelectorAll('table.filter tbody tr')).filter(r => !r.hidden).map(r => r.textContent))";
    const before = await page.evaluate(shown), hash = await page.evaluate("location.hash");
    assert.match(hash, /filter=tiled/);
    const again = await open("site-large/index.html" + hash);
    assert.strictEqual(await again.evaluate(shown), before);
    await again.close();
    await page.close();
  },

  async without_script_there_are_drawings_and_tables(open) {
    const page = await open("site-empty/index.html");
    await page.send("Emulation.setScriptExecutionDisabled", { value: true });
    await page.goto(page.url.replace("site-empty/index.html", KERNEL));
    const doc = await page.send("DOM.getDocument", { depth: -1 });
    const found = async (what) => (await page.send("DOM.querySelectorAll", { nodeId: doc.root.nodeId, selector: what })).nodeIds.length;
    assert.ok(await found(".ts svg path.level") > 0 && await found(".ts svg path.head") > 0);
    assert.ok(await found("table tbody tr") >= 3);
    await page.close();
  },
});
