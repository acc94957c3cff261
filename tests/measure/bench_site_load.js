// SPDX-License-Identifier: Apache-2.0
//
// How soon the pages of a site are there in a headless Chromium, from the folder:
//   node tests/measure/bench_site_load.js CHROMIUM SITE
// SITE is what `plumb site` or `bench_reports_site FOLDER` wrote. Of each kind the largest page is
// opened three times and the quickest counts: milliseconds until it is complete (domComplete), until
// its first chart can be zoomed, until a chart zoomed to a tenth has all its points, and its size.
"use strict";
const fs = require("fs");
const path = require("path");
const { pathToFileURL } = require("url");
const { Chromium } = require("../browser/chromium.js");

const CHART = "document.querySelector('.ts').chart";

function largest(folder, kind) {
  const at = path.join(folder, kind);
  const pages = fs.existsSync(at) ? fs.readdirSync(at).filter((name) => name.endsWith(".html")) : [];
  const size = (name) => fs.statSync(path.join(at, name)).size;
  return pages.length ? [kind + "/" + pages.reduce((a, b) => (size(a) >= size(b) ? a : b))] : [];
}

async function once(browser, url) {
  const page = await browser.open(url, { width: 1440, height: 900 });
  const times = { complete: await page.evaluate("performance.getEntriesByType('navigation')[0].domComplete") };
  if (await page.evaluate("typeof Dygraph !== 'undefined' && document.querySelector('details[open] .ts') !== null")) {
    await page.evaluate("document.querySelector('.ts').scrollIntoView()");
    await page.until(CHART);
    times.chart = await page.evaluate("performance.now()");
    times.zoomed = await page.evaluate("new Promise((done) => { const begun = performance.now(), total = " + CHART + ".first.total; " +
      CHART + ".show([0.5 * total, 0.6 * total]).then(() => done(performance.now() - begun)); })");
  }
  await page.close();
  return times;
}

async function main() {
  const [program, folder] = process.argv.slice(2);
  const browser = new Chromium(program);
  const pages = ["index.html", "events.html", "runs.html", "compare.html", ...largest(folder, "kernel"),
    ...largest(folder, "device"), ...largest(folder, "commit"), ...largest(folder, "run")];
  console.log("complete    chart   zoomed    size kB  page");
  for (const name of pages) {
    const best = {};
    for (let i = 0; i < 3; i++)
      for (const [what, ms] of Object.entries(await once(browser, pathToFileURL(path.resolve(folder)) + "/" + name)))
        best[what] = Math.min(best[what] ?? Infinity, ms);
    const cell = (ms) => (ms === undefined ? "-" : ms.toFixed(0) + " ms").padStart(8);
    console.log([cell(best.complete), cell(best.chart), cell(best.zoomed),
      (fs.statSync(path.join(folder, name)).size / 1e3).toFixed(0).padStart(10), " " + name].join(" "));
  }
  await browser.close();
}

main().catch((error) => { console.error(error.message); process.exitCode = 1; });
