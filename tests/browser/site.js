// The built page in a real browser. `SNICK_SITE` is its build folder.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { after, before } from "node:test";
import { launch, painted, watched } from "./browser.js";
import { serve } from "./server.js";

export const SITE = process.env.SNICK_SITE;

/** The browser and the server of the tests of a file. */
export const site = { browser: null, server: null };

/** Starts the browser and the server before the tests of a file, and stops them afterwards. */
export function useSite(folder = SITE) {
  before(async () => {
    assert.ok(folder, "SNICK_SITE names no folder: build it with crates/snick-web/build");
    [site.browser, site.server] = await Promise.all([launch(), serve(folder)]);
  });
  after(() => Promise.all([site.browser.close(), site.server.stop()]));
}

export async function visit(query = "", options = {}) {
  const page = await watched(site.browser, (url) => url.startsWith(site.server.address) || url.startsWith("blob:"), options);
  await page.addInitScript(() => {
    Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => (window.copied = text) } });
  });
  await page.goto(site.server.address + query);
  await page.locator("#loading").waitFor({ state: "hidden" });
  return page;
}

/** Waits until the viewer shows a file or graph of this name. */
export async function shows(page, title) {
  await page.locator("#viewer .title", { hasText: title }).waitFor();
  await painted(page);
}

export function file(path, name = basename(path)) {
  return { name, bytes: readFileSync(path).toString("base64") };
}

export function text(name, content) {
  return { name, bytes: Buffer.from(content).toString("base64") };
}

/** Drops files on the page like a file manager. */
export async function drop(page, ...files) {
  const transfer = await page.evaluateHandle(async (files) => {
    const transfer = new DataTransfer();
    for (const { name, bytes } of files) {
      const content = Uint8Array.from(atob(bytes), (character) => character.charCodeAt(0));
      transfer.items.add(new File([content], name));
    }
    return transfer;
  }, files);
  await page.dispatchEvent("body", "dragenter", { dataTransfer: transfer });
  await page.dispatchEvent("body", "drop", { dataTransfer: transfer });
}

/** Clicks and returns the downloaded files. */
export async function downloads(page, count, click) {
  const found = [];
  const all = new Promise((done) => {
    page.on("download", async (download) => {
      found.push([download.suggestedFilename(), readFileSync(await download.path())]);
      if (found.length === count) done();
    });
  });
  await click();
  await all;
  page.removeAllListeners("download");
  return new Map(found);
}

export function graph(layers) {
  return `snick 1\ngraph "g" {\n  %x = Parameter-1 {element_type: f32, shape: "N,8"}\n  ${layers.join("\n  ")}\n}\n`;
}
