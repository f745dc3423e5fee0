// The page without a network, its new versions, and the model that it keeps for the next visit.

import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { screenshot, sizeField, tab, watched } from "./browser.js";
import { serve } from "./server.js";
import { shows, SITE, site, useSite, visit } from "./site.js";

useSite();

async function isInstalled(page) {
  await page.evaluate(() => navigator.serviceWorker.ready);
  await page.waitForFunction(() => navigator.serviceWorker.controller !== null);
}

async function reload(page) {
  await page.reload();
  await page.locator("#loading").waitFor({ state: "hidden" });
}

test("the page opens, infers and runs without a network after the first visit", async (context) => {
  const server = await serve(SITE);
  context.after(() => server.stop());
  const page = await watched(site.browser, () => true);
  await page.goto(server.address);
  await page.locator("#loading").waitFor({ state: "hidden" });
  await isInstalled(page);
  server.stop();
  await page.context().setOffline(true);
  await reload(page);
  await page.getByRole("button", { name: "Open an example" }).click();
  await shows(page, "focus_cnn");
  await page.getByRole("button", { name: "Run…" }).click();
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByRole("rowheader", { name: "scores" }).waitFor();
  assert.deepEqual(page.problems.filter((problem) => !problem.includes("service_worker.js")), []);
});

test("a reload keeps the model and its position until the model is forgotten", async () => {
  const page = await visit();
  await page.getByRole("button", { name: "Open an example" }).click();
  await shows(page, "focus_cnn");
  await page.getByRole("button", { name: "Shapes…" }).click();
  await page.getByLabel("image f32").fill("[N,3,H=32..64,64]");
  await page.keyboard.press("Enter");
  await (await sizeField(page, "N")).fill("3");
  await page.getByRole("button", { name: "Canonical" }).click();
  await page.locator("[data-do=canonical][aria-pressed=true]").waitFor();
  await page.getByRole("searchbox", { name: "Search layers by name" }).fill("deep_swish");
  await page.keyboard.press("Enter");
  await tab(page, "Overview");
  await reload(page);
  await shows(page, "focus_cnn");
  assert.equal(await (await sizeField(page, "N")).inputValue(), "3");
  assert.equal(await page.getByRole("tab", { selected: true }).innerText(), "Overview");
  assert.equal(await page.locator("[data-do=canonical]").getAttribute("aria-pressed"), "true");
  assert.equal(await page.locator(".panel h2").textContent(), "deep_swish");
  await page.getByRole("button", { name: "Shapes…" }).click();
  assert.equal(await page.getByLabel("image f32").inputValue(), "[N,3,H=32..64,64]");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Forget this model" }).click();
  await page.getByRole("heading", { name: "Look at a model" }).waitFor();
  await screenshot(page, "page-forgotten");
  await reload(page);
  await page.getByRole("heading", { name: "Look at a model" }).waitFor();
  assert.equal(await page.locator("#viewer").isVisible(), false);
  assert.deepEqual(page.problems, []);
});

test("a model that makes the page crash is not opened again", async () => {
  const page = await visit();
  await page.getByRole("button", { name: "Open an example" }).click();
  await shows(page, "focus_cnn");
  await page.evaluate(() => addEventListener("pagehide", () => localStorage.setItem("snick.opening", "")));
  await reload(page);
  await page.locator("#what", { hasText: "forgotten" }).waitFor();
  await reload(page);
  assert.equal(await page.locator("#viewer").isVisible(), false);
  assert.deepEqual(page.problems, []);
});

test("models of an embedding page are not kept", async () => {
  const page = await visit("?open=example/focus_cnn.xml&open=example/focus_cnn.bin");
  await shows(page, "focus_cnn");
  await page.goto(site.server.address);
  await page.locator("#loading").waitFor({ state: "hidden" });
  assert.equal(await page.locator("#viewer").isVisible(), false);
});

/** Serves a copy of the page. `release(number)` replaces it by a version, and `versions(page)` is what a page shows. */
async function releases(context) {
  const folder = mkdtempSync(join(tmpdir(), "snick-site-"));
  cpSync(SITE, folder, { recursive: true });
  const server = await serve(folder);
  context.after(() => {
    server.stop();
    rmSync(folder, { recursive: true });
  });
  const edit = (name, change) => writeFileSync(join(folder, name), change(readFileSync(join(folder, name), "utf8")));
  const release = (number, start = "page.js") => {
    edit("index.html", (html) => html.replace(/<html [^>]*>/, `<html lang="en" data-page="${number}">`)
      .replace(/name="version" content=".*?"/, `name="version" content="release${number}"`)
      .replace(/module" src=".*?"/, `module" src="${start}"`));
    edit("page.js", (script) => `${script}\ndocument.documentElement.dataset.script = "${number}";\n`);
    edit("service_worker.js", (script) => script.replace(/VERSION = ".*?"/, `VERSION = "release${number}"`));
  };
  const versions = async (page) => {
    await page.waitForFunction(() => document.documentElement.dataset.script);
    return page.evaluate(() => ({ ...document.documentElement.dataset }));
  };
  return { address: server.address, folder, release, versions };
}

test("a new version replaces the old one as a whole", async (context) => {
  const { address, release, versions } = await releases(context);
  release(1);
  const page = await watched(site.browser, () => true);
  await page.goto(address);
  await isInstalled(page);
  assert.deepEqual(await versions(page), { page: "1", script: "1" });
  release(2);
  await reload(page);
  assert.deepEqual(await versions(page), { page: "1", script: "1" });
  await page.locator("#update").waitFor();
  await screenshot(page, "page-update");
  // Another page uses the old version, so it stays.
  const other = await page.context().newPage();
  await other.goto(address);
  assert.deepEqual(await versions(other), { page: "1", script: "1" });
  await reload(page);
  assert.deepEqual(await versions(page), { page: "1", script: "1" });
  await other.close();
  // The browser takes a moment to close the other page.
  for (let left = 20; left > 0 && (await versions(page)).script !== "2"; left -= 1) {
    await page.waitForTimeout(200);
    await reload(page).catch(() => {});
  }
  assert.deepEqual(await versions(page), { page: "2", script: "2" });
  assert.equal(await page.locator("#update").isVisible(), false);
  assert.deepEqual(await page.evaluate(() => caches.keys()), ["snick-release2"]);
  assert.deepEqual(page.problems, []);
});

test("a page whose files are of two versions loads again", async (context) => {
  const { address, folder, release, versions } = await releases(context);
  writeFileSync(join(folder, "late.js"), `
    if (localStorage.isLate) await new Promise((resolve) => (window.go = resolve));
    await import("./page.js");
  `);
  release(1, "late.js");
  const page = await watched(site.browser, () => true);
  await page.goto(address);
  await isInstalled(page);
  release(2);
  await reload(page);
  await page.locator("#update").waitFor();
  // The new version starts after the page has been loaded, and before its scripts are.
  await page.evaluate(() => (localStorage.isLate = "true"));
  await page.reload();
  await page.waitForFunction(() => window.go);
  await page.evaluate(async () => {
    const started = new Promise((resolve) => navigator.serviceWorker.addEventListener("controllerchange", resolve));
    (await navigator.serviceWorker.getRegistration()).waiting.postMessage("start");
    await started;
  });
  assert.equal(await page.evaluate(() => document.documentElement.dataset.page), "1");
  await page.evaluate(() => window.go());
  await page.waitForFunction(() => document.documentElement.dataset.page === "2");
  assert.deepEqual(await versions(page), { page: "2", script: "2" });
  assert.deepEqual(page.problems, []);
});
