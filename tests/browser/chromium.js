// SPDX-License-Identifier: Apache-2.0
//
// A headless Chromium over its DevTools pipe (file descriptors 3 and 4, messages ended by NUL), which
// every Node.js can speak without a package. Nothing but the page under test is loaded: each request
// that is not file: or data: is recorded and refused.
"use strict";
const { spawn } = require("child_process");
const fs = require("fs");
const os = require("os");
const path = require("path");

const FLAGS = [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync",
  "--disable-dev-shm-usage", "--disable-default-apps", "--hide-scrollbars", "--remote-debugging-pipe",
];

class Chromium {
  constructor(program) {
    this.profile = fs.mkdtempSync(path.join(os.tmpdir(), "plumb-chromium-"));
    this.child = spawn(program, [...FLAGS, "--user-data-dir=" + this.profile, "about:blank"],
      { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    this.last = 0;
    this.waiting = new Map();
    this.listeners = [];
    this.exited = new Promise((resolve) => this.child.on("exit", resolve));
    this.child.on("exit", () => {
      for (const wait of this.waiting.values()) wait.reject(new Error("chromium ended"));
    });
    this.child.stdio[3].on("error", () => {});
    let text = "";
    this.child.stdio[4].setEncoding("utf8");
    this.child.stdio[4].on("data", (data) => {
      text += data;
      for (let end; (end = text.indexOf("\0")) >= 0; text = text.slice(end + 1))
        this.receive(JSON.parse(text.slice(0, end)));
    });
  }

  receive(message) {
    const wait = this.waiting.get(message.id);
    if (wait) {
      this.waiting.delete(message.id);
      if (message.error) wait.reject(new Error(wait.method + ": " + message.error.message));
      else wait.resolve(message.result);
    } else {
      for (const listener of this.listeners) listener(message);
    }
  }

  send(method, params = {}, sessionId = undefined) {
    const id = ++this.last;
    this.child.stdio[3].write(JSON.stringify({ id, method, params, sessionId }) + "\0");
    return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject, method }));
  }

  async close() {
    await this.send("Browser.close").catch(() => {});
    await this.exited;
    fs.rmSync(this.profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }

  async open(url, look) {
    const { targetId } = await this.send("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
    const page = new Page(this, targetId, sessionId);
    await page.start(url, look);
    return page;
  }
}

class Page {
  constructor(chromium, targetId, sessionId) {
    this.chromium = chromium;
    this.targetId = targetId;
    this.sessionId = sessionId;
    this.errors = []; // console errors, exceptions, policy violations
    this.requests = []; // anything that is not the page's own file
    this.listener = (message) => {
      if (message.sessionId === sessionId) this.receive(message.method, message.params);
    };
    chromium.listeners.push(this.listener);
  }

  receive(method, params) {
    if (method === "Page.loadEventFired") this.loaded();
    if (method === "Runtime.exceptionThrown")
      this.errors.push("exception: " + JSON.stringify(params.exceptionDetails.exception || params));
    if (method === "Runtime.consoleAPICalled" && ["error", "warning", "assert"].includes(params.type))
      this.errors.push("console." + params.type + ": " + params.args.map((a) => a.value).join(" "));
    if (method === "Log.entryAdded" && ["error", "warning"].includes(params.entry.level))
      this.errors.push("log: " + params.entry.text);
    if (method === "Fetch.requestPaused") {
      const url = params.request.url, allowed = /^(file|data):/.test(url);
      if (!allowed || url !== this.url) {
        if (!url.startsWith("data:")) this.requests.push(url);
      }
      this.send(allowed ? "Fetch.continueRequest" : "Fetch.failRequest",
        allowed ? { requestId: params.requestId } : { requestId: params.requestId, errorReason: "Aborted" })
        .catch(() => {});
    }
  }

  send(method, params) {
    return this.chromium.send(method, params, this.sessionId);
  }

  async start(url, look) {
    await Promise.all(["Page.enable", "Runtime.enable", "Log.enable"].map((m) => this.send(m)));
    await this.send("Fetch.enable", { patterns: [{ urlPattern: "*" }] });
    await this.look(look);
    await this.goto(url);
  }

  async look({ width = 1280, height = 900, dark = false } = {}) {
    await this.resize(width, height);
    await this.send("Emulation.setEmulatedMedia",
      { features: [{ name: "prefers-color-scheme", value: dark ? "dark" : "light" },
        { name: "prefers-reduced-motion", value: "reduce" }] });
  }

  async navigate(url) {
    const loaded = new Promise((resolve) => { this.loaded = resolve; });
    await this.send("Page.navigate", { url });
    await loaded;
  }

  // Another page in the same tab. What the page before it did wrong is forgotten; it is gone before
  // this one begins, or what it asks for late would be taken for this one's.
  async goto(url) {
    if (this.url) await this.navigate("about:blank");
    this.url = url.replace(/#.*/, "");
    this.errors = [];
    this.requests = [];
    await this.navigate(url);
  }

  // A phone widens its layout to what overflows, so innerWidth would hide it: `width` is what was asked.
  resize(width, height) {
    this.width = width;
    return this.send("Emulation.setDeviceMetricsOverride",
      { width, height, deviceScaleFactor: 1, mobile: width < 500 });
  }

  // The value of an expression in the page; promises are waited for.
  async evaluate(expression) {
    const { result, exceptionDetails } = await this.send("Runtime.evaluate",
      { expression, returnByValue: true, awaitPromise: true });
    if (exceptionDetails) throw new Error(expression + ": " + exceptionDetails.exception.description);
    return result.value;
  }

  // Waits for what the page does by itself: on a busy machine long, and never for a fixed time.
  async until(expression, seconds = 60) {
    for (const end = Date.now() + 1000 * seconds; !(await this.evaluate("Boolean(" + expression + ")"));) {
      if (Date.now() > end) throw new Error("never came true: " + expression);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async screenshot(file, whole = false) {
    const { data } = await this.send("Page.captureScreenshot",
      { format: "png", captureBeyondViewport: whole,
        clip: whole ? await this.evaluate("({x:0,y:0,scale:1,width:innerWidth," +
          "height:Math.min(document.documentElement.scrollHeight,9000)})") : undefined });
    fs.writeFileSync(file, Buffer.from(data, "base64"));
  }

  async close() {
    this.chromium.listeners.splice(this.chromium.listeners.indexOf(this.listener), 1);
    await this.chromium.send("Target.closeTarget", { targetId: this.targetId });
  }
}

module.exports = { Chromium };
