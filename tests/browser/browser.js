// Opens reports in a browser. `SNICK` is the program, `CHROMIUM` the browser; screenshots go to target/screenshots.

import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

export const ROOT = new URL("../..", import.meta.url).pathname;
const SNICK = process.env.SNICK ?? join(ROOT, "target/release/snick");
const SCREENSHOTS = join(process.env.CARGO_TARGET_DIR ?? join(ROOT, "target"), "screenshots");
const ARGUMENTS = [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
];
const FOLDER = mkdtempSync(join(tmpdir(), "snick-browser-"));

/** Runs snick and returns its output. Exit code 1 means a finding and is not a failure. */
export function snick(...args) {
  const run = spawnSync(SNICK, args, { maxBuffer: 2 ** 30, encoding: "utf8" });
  if (run.status !== 0 && run.status !== 1) throw new Error(`snick ${args.join(" ")}: ${run.stderr}`);
  return { isFine: run.status === 0, text: run.stdout };
}

/** Writes the report of a model and returns its path. */
export function writeReport(model, ...options) {
  const path = join(FOLDER, `${Math.random().toString(36).slice(2)}.html`);
  snick("report", model, "-o", path, ...options);
  return path;
}

/** The data of a report. */
export function dataOf(report) {
  return JSON.parse(/id="data">(.*?)<\/script>/s.exec(readFileSync(report, "utf8"))[1]);
}

/** Writes a model in text form to a file in a folder of its own. */
export function written(text, name = "model.snick") {
  const path = join(mkdtempSync(join(FOLDER, "model-")), name);
  writeFileSync(path, text);
  return path;
}

/** Writes a model with a graph of these lines. */
export function writtenGraph(lines) {
  return written(`snick 1\ngraph "g" {\n  ${lines.join("\n  ")}\n}\n`);
}

/** Finds a layer by its name, and selects it. */
export async function select(page, name) {
  await tab(page, "Graph");
  await page.getByRole("searchbox", { name: "Search layers by name" }).fill(name);
  await page.keyboard.press("Enter");
}

/** The path of a model of this repository. */
export function model(name) {
  return join(ROOT, "models", name, "model.xml");
}

export async function launch() {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ARGUMENTS });
}

/** A page. `page.problems` collects console messages, page errors, dialogs, and requests that `isOwn` rejects. */
export async function watched(browser, isOwn, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  page.problems = [];
  page.on("console", (message) => page.problems.push(message.text()));
  page.on("pageerror", (error) => page.problems.push(error.stack));
  page.on("dialog", (dialog) => page.problems.push(`dialog: ${dialog.message()}`));
  page.on("request", (request) => isOwn(request.url()) || page.problems.push(`loads ${request.url()}`));
  return page;
}

/** Opens the file of a report. */
export async function open(browser, path, options = {}) {
  const page = await watched(browser, (url) => url === `file://${path}`, options);
  // Captures what the page copies: pages from files have no clipboard in a headless browser.
  await page.addInitScript(() => {
    Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => (window.copied = text) } });
  });
  await page.goto(`file://${path}`);
  await page.waitForSelector("canvas.graph");
  await painted(page);
  return page;
}

/** Waits until pending changes are on the screen. */
export async function painted(page) {
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

export async function tab(page, name) {
  await page.getByRole("tab", { name }).click();
}

/** Shows the sliders. */
export async function showSizes(page) {
  const button = page.getByRole("button", { name: /^Sizes/ });
  if ((await button.getAttribute("aria-expanded")) === "false") await button.click();
}

/** The field of a size. A page that infers its model again folds the sliders, so they may have to be shown once more. */
export async function sizeField(page, symbol) {
  const field = page.getByRole("textbox", { name: `Size of ${symbol}` });
  for (let attempt = 0; attempt < 100 && !(await field.isVisible()); attempt += 1) {
    await showSizes(page);
    await page.waitForTimeout(100);
  }
  return field;
}

export async function screenshot(page, name) {
  await painted(page);
  mkdirSync(SCREENSHOTS, { recursive: true });
  await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`) });
}

/** The table of layers as the page copies it: a list of cells for each row, without the header. */
export async function table(page) {
  await tab(page, "Table");
  await page.evaluate(() => (window.copied = null));
  await page.getByRole("button", { name: "Copy as CSV" }).click();
  await page.waitForFunction(() => window.copied !== null);
  return parseCsv(await page.evaluate(() => window.copied)).slice(1);
}

export function parseCsv(text) {
  const rows = [[""]];
  let isQuoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const cells = rows.at(-1);
    const next = text[at];
    if (isQuoted && next === '"' && text[at + 1] === '"') cells[cells.length - 1] += text[(at += 1)];
    else if (next === '"') isQuoted = !isQuoted;
    else if (next === "," && !isQuoted) cells.push("");
    else if (next === "\n" && !isQuoted) rows.push([""]);
    else cells[cells.length - 1] += next;
  }
  return rows;
}
