// SPDX-License-Identifier: Apache-2.0
//
// What axe-core finds on the pages of report and site, wide and light, narrow and dark: nothing.
// The widths share their colours (test_report.js asks for the contrast of both).
//   test_axe.js CHROMIUM FOLDER AXE.min.js
"use strict";
const assert = require("assert");
const fs = require("fs");
const path = require("path");
const { runChecks } = require("./check.js");

const axe = fs.readFileSync(process.argv[4], "utf8");
const LOOKS = [{ width: 1440 }, { width: 390, dark: true }];

// One page of each kind is enough: the others are made by the same functions.
function pagesOf(folder) {
  const site = "site-long";
  const list = ["run/index.html"];
  for (const name of ["index.html", "events.html", "accuracy.html", "metrics.html", "compare.html"]) list.push(site + "/" + name);
  list.push("site/runs.html"); // of thirty runs: of 200 it takes half a minute
  list.push("site-empty/index.html");
  const first = (kind, count) => fs.readdirSync(path.join(folder, site, kind)).filter((name) => name.endsWith(".html"))
    .slice(0, count).forEach((name) => list.push(site + "/" + kind + "/" + name));
  first("kernel", 2);
  first("device", 1);
  first("run", 1);
  list.push(site + "/run/30.html"); // a gate's, with verdicts
  list.push(site + "/commit/" + JSON.parse(fs.readFileSync(path.join(folder, site, "index.json"), "utf8"))
    .series.find((series) => series.since).since.slice(0, 10) + ".html");
  return list;
}

runChecks({
  async axe_finds_nothing(open, folder) {
    const found = [];
    for (const name of pagesOf(folder)) {
      const page = await open(name, LOOKS[0]);
      for (const look of LOOKS) {
        if (look !== LOOKS[0]) {
          await page.look(look);
          await page.goto(page.url);
        }
        await page.evaluate("document.querySelectorAll('details').forEach((d, i) => { d.open = i < 4; })");
        if (name.includes("/kernel/")) await page.evaluate("document.querySelector('.ts').scrollIntoView()");
        if (name.includes("/kernel/")) await page.until("document.querySelector('.ts').chart || typeof Dygraph === 'undefined'");
        await page.evaluate(axe + "; true");
        const violations = await page.evaluate("axe.run(document, { resultTypes: ['violations'] }).then((r) => " +
          "r.violations.map((v) => v.id + ' (' + v.nodes.length + '): ' + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160) + ' ' + n.failureSummary.slice(0, 200)).join(' | ')))");
        for (const text of violations) found.push(name + " at " + JSON.stringify(look) + ": " + text);
      }
      await page.close();
    }
    assert.deepStrictEqual(found, []);
  },
});
