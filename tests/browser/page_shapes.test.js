// Input shapes and forms of the model in the page, which keep the tab, the sizes and the selected layer.

import assert from "node:assert/strict";
import { test } from "node:test";
import { screenshot, sizeField, tab, table } from "./browser.js";
import { drop, shows, text, useSite, visit } from "./site.js";

useSite();

const TWO = `snick 1
graph "two" {
  %past = Parameter-1 {element_type: f32, shape: "?,?"}
  %mask = Parameter-1 {element_type: f32, shape: "?,?"}
  %twice = Concat-1(%past, %past) {axis: 1}
  %masked = Multiply-1(%twice, %mask) {auto_broadcast: "numpy"}
  %y = Result-1(%masked)
}
`;

const CHAIN = `snick 1
graph "chain" {
  %x = Parameter-1 {element_type: f32, shape: "N,8"}
  %start = Const-1 i64[1] <0>
  %stop = Const-1 i64[1] <9>
  %step = Const-1 i64[1] <1>
  %axes = Const-1 i64[1] <1>
  %whole = Slice-8(%x, %start, %stop, %step, %axes)
  %positive = ReLU-1(%whole)
  %unread = Tanh-1(%x)
  %y = Result-1(%positive)
}
`;

async function openShapes(page) {
  await page.getByRole("button", { name: "Shapes…" }).click();
  return page.getByRole("dialog", { name: "Input shapes" });
}

async function infer(dialog) {
  await dialog.getByRole("button", { name: "Infer" }).click();
}

async function select(page, layer) {
  await page.getByRole("searchbox", { name: "Search layers by name" }).fill(layer);
  await page.keyboard.press("Enter");
  assert.equal(await page.locator(".panel h2").innerText(), layer);
}

test("each input has a row for its shape, with its error", async () => {
  const page = await visit();
  await drop(page, text("two.snick", TWO));
  await shows(page, "two");
  const dialog = await openShapes(page);
  const [past, mask] = [dialog.getByLabel("past f32"), dialog.getByLabel("mask f32")];
  assert.equal(await past.inputValue(), "[?,?]");
  await past.fill("[B,P=..9,");
  await mask.fill("[5..2,1]");
  await infer(dialog);
  await dialog.locator("#shape-0[aria-invalid=true]").waitFor();
  assert.notEqual(await dialog.locator("#shape-0-error").innerText(), "");
  assert.notEqual(await dialog.locator("#shape-1-error").innerText(), "");
  assert.equal(await past.getAttribute("aria-describedby"), "shape-0-error");
  assert.ok(await past.evaluate((element) => element === document.activeElement));
  await screenshot(page, "page-shapes-errors");
  // A shape may use symbols of the shapes before it; brackets are optional.
  await past.fill("B,P=..9");
  assert.equal(await dialog.locator("#shape-0-error").innerText(), "");
  await mask.fill("[B,2*P]");
  await infer(dialog);
  await dialog.waitFor({ state: "hidden" });
  let shapes = new Map((await table(page)).map(([layer, , shape]) => [layer, shape]));
  assert.equal(shapes.get("masked"), "f32[B,2*P]");
  // An error that is not about one input is below the rows, and the shapes stay.
  const again = await openShapes(page);
  assert.equal(await again.getByLabel("mask f32").inputValue(), "[B,2*P]");
  await again.getByLabel("past f32").fill("[3,5]");
  await again.getByLabel("mask f32").fill("[2,7]");
  await infer(again);
  await again.locator("#shapes-error", { hasText: "masked" }).waitFor();
  await again.getByRole("button", { name: "Cancel" }).click();
  shapes = new Map((await table(page)).map(([layer, , shape]) => [layer, shape]));
  assert.equal(shapes.get("masked"), "f32[B,2*P]");
  const last = await openShapes(page);
  await last.getByRole("button", { name: "As in the file" }).click();
  await last.waitFor({ state: "hidden" });
  await page.waitForFunction(() => !document.body.innerText.includes("2*P"));
  assert.deepEqual(page.problems, []);
});

test("new shapes keep the tab, the sizes and the selected layer", async () => {
  const page = await visit("?open=example/focus_cnn.xml&open=example/focus_cnn.bin");
  await shows(page, "focus_cnn");
  const rename = await openShapes(page);
  await rename.getByLabel("image f32").fill("[N,3,H=32..64,64]");
  await infer(rename);
  await (await sizeField(page, "N")).fill("2");
  await select(page, "deep_swish");
  await tab(page, "Table");
  const dialog = await openShapes(page);
  await dialog.getByLabel("image f32").fill("[N,3,H=32..96,64]");
  await infer(dialog);
  await page.getByText("32..96").first().waitFor({ state: "attached" });
  assert.equal(await page.getByRole("tab", { selected: true }).innerText(), "Table");
  assert.equal(await (await sizeField(page, "N")).inputValue(), "2");
  await tab(page, "Graph");
  assert.equal(await page.locator(".panel h2").innerText(), "deep_swish");
  assert.deepEqual(page.problems, []);
});

test("the canonical form keeps the tab, the sizes and the selected layer", async () => {
  const page = await visit("?open=example/focus_cnn.xml&open=example/focus_cnn.bin");
  await shows(page, "focus_cnn");
  await (await sizeField(page, "s1")).fill("40");
  await select(page, "deep_swish");
  await tab(page, "Overview");
  await page.getByRole("button", { name: "Canonical" }).click();
  await page.locator("[data-do=canonical][aria-pressed=true]").waitFor();
  assert.equal(await page.getByRole("tab", { selected: true }).innerText(), "Overview");
  assert.equal(await (await sizeField(page, "s1")).inputValue(), "40");
  await tab(page, "Graph");
  assert.equal(await page.locator(".panel h2").innerText(), "deep_swish");
  assert.deepEqual(page.problems, []);
});

test("a selected layer that the canonical form does not have is replaced, or nothing is selected", async () => {
  const page = await visit();
  await drop(page, text("chain.snick", CHAIN));
  await shows(page, "chain");
  const canonical = async (isCanonical) => {
    await page.getByRole("button", { name: isCanonical ? "Canonical" : "As read" }).click();
    await page.locator(`[data-do=${isCanonical ? "canonical" : "read"}][aria-pressed=true]`).waitFor();
    await page.locator("#working").waitFor({ state: "hidden" });
  };
  const selected = page.locator(".panel h2");
  await select(page, "whole");
  await canonical(true);
  assert.match(await page.locator("#help").innerText(), /^whole is now x\.$/);
  assert.equal(await selected.innerText(), "x");
  await screenshot(page, "page-canonical-successor");
  await canonical(false);
  assert.equal(await selected.innerText(), "x");
  await select(page, "unread");
  await canonical(true);
  assert.match(await page.locator("#help").innerText(), /^unread is not/);
  assert.equal(await selected.count(), 0);
  assert.deepEqual(page.problems, []);
});
