// SPDX-License-Identifier: Apache-2.0
//
// A picture of a page: screenshot.js CHROMIUM PAGE FILE.png [--width=1200] [--height=N] [--dark] [--print]
// The height is the page's unless it is given. The README's pictures are made so.
"use strict";
const path = require("path");
const { Chromium } = require("./chromium.js");

async function main() {
  const options = {}, names = [];
  for (const text of process.argv.slice(2)) {
    const option = /^--([a-z]+)(?:=(\d+))?$/.exec(text);
    if (option) options[option[1]] = option[2] ? +option[2] : true;
    else names.push(text);
  }
  const [program, page, file] = names;
  const browser = new Chromium(program);
  const width = options.width || 1200;
  const [name, hash] = page.split("#");
  const tab = await browser.open("file://" + path.resolve(name) + (hash ? "#" + hash : ""),
    { width, height: options.height || 900, dark: !!options.dark });
  if (options.print) await tab.send("Emulation.setEmulatedMedia", { media: "print" });
  await new Promise((done) => setTimeout(done, 600)); // charts are drawn when they are seen
  if (!options.height) {
    await tab.resize(width, await tab.evaluate("Math.min(document.documentElement.scrollHeight, 9000)"));
    await new Promise((done) => setTimeout(done, 600));
  }
  await tab.screenshot(file);
  await tab.close();
  await browser.close();
}

main().catch((error) => { console.error(error.message); process.exitCode = 1; });
