// SPDX-License-Identifier: Apache-2.0
//
// The little a browser test needs: named checks, one at a time, all of them run, exit 1 if any fails.
// The pages in FOLDER are written once for all of them (the test browser_pages); who changes one puts
// it back.
"use strict";
const assert = require("assert");
const { pathToFileURL } = require("url");
const { Chromium } = require("./chromium.js");

// What pages of the site ask for beside themselves lies in the site's folder: compare.html and the
// pages of kernels for scripts, those of commits and runs for their style.
const OWN = [
  [/^(.*\/)compare\.html$/, /^compare\/(runs|pairs|\d+)\.js$/],
  [/^(.*\/)kernel\/[^/]+\.html$/, /^(series|(series|points)\/[0-9a-f]+|compare\/runs)\.js$/],
  [/^(.*\/)(series|commit|run)\/[^/]+\.html$/, /^page\.css$/],
];
function isOwn(page, url) {
  return OWN.some(([of, asked]) => {
    const match = of.exec(page.url);
    return match && url.startsWith(match[1]) && asked.test(url.slice(match[1].length));
  });
}

// dygraphs 2.2 (Debian 13's) says how many points a zoomed chart leaves out.
const isFault = (error) => !/^console\.warning: \d+ points out of X bounds/.test(error);

// Checks shared by every page: nothing on the console, nothing asked for, nothing too wide.
async function isClean(page) {
  assert.deepStrictEqual(page.errors.filter(isFault), []);
  assert.deepStrictEqual(page.requests.filter((url) => !isOwn(page, url)), []);
  const wide = await page.evaluate("document.documentElement.scrollWidth - " + page.width);
  assert.ok(wide <= 0, "the page is " + wide + " px wider than the window");
}

// How many times longer than alone anything takes here now: time against processor time of a spin.
function contention() {
  const begun = process.hrtime.bigint(), used = process.cpuUsage();
  const spent = () => { const now = process.cpuUsage(used); return now.user + now.system; };
  while (spent() < 100e3);
  return Math.max(1, Number(process.hrtime.bigint() - begun) / 1e3 / spent());
}

// The quickest of some tries, each less what other work on the machine took of it: it must not fail
// a test. A try: a page, and milliseconds by name.
async function quickest(open, name, measure, tries = 3) {
  const best = {};
  for (let i = 0; i < tries; i++) {
    const before = contention();
    const page = await open(name);
    const times = await measure(page);
    await page.close();
    const share = Math.max(before, contention());
    for (const [what, ms] of Object.entries(times)) best[what] = Math.min(best[what] ?? Infinity, ms / share);
  }
  return best;
}

async function runChecks(checks) {
  const [chromium, folder] = process.argv.slice(2);
  const browser = new Chromium(chromium);
  const open = (name, look) => browser.open(pathToFileURL(folder) + "/" + name, look);
  let failed = 0;
  for (const [name, check] of Object.entries(checks)) {
    try {
      await check(open, folder);
      console.log("ok      " + name);
    } catch (error) {
      failed++;
      console.log("FAILED  " + name + "\n" + error.stack);
    }
  }
  await browser.close();
  process.exitCode = failed ? 1 : 0;
}

module.exports = { isClean, quickest, runChecks };
