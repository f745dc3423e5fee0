// Runs in the page: sizes, seeds, arrays from files, and outputs to save.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { model, screenshot, sizeField, snick } from "./browser.js";
import { npy, npz, readNpy, readNpz } from "./numpy_files.js";
import { downloads, drop, shows, text, useSite, visit } from "./site.js";

useSite();

const DIFFERENCE = `snick 1
graph "difference" {
  %a = Parameter-1 {element_type: f32, shape: "N,2"}
  %b = Parameter-1 {element_type: f32, shape: "N,2"}
  %d = Subtract-1(%a, %b) {auto_broadcast: "numpy"}
  %y = Result-1(%d)
}
`;

function array(name, bytes) {
  return { name, bytes: bytes.toString("base64") };
}

async function openRun(page) {
  await page.getByRole("button", { name: "Run…" }).click();
  return page.getByRole("dialog", { name: "Run the model" });
}

async function run(dialog) {
  await dialog.getByRole("button", { name: "Run", exact: true }).click();
  const outputs = dialog.page().getByRole("dialog", { name: "Outputs" });
  await outputs.waitFor();
  return outputs;
}

test("a run has the sizes of the sliders and the seed, and gives the outputs of the command line", async () => {
  const page = await visit();
  await page.getByRole("button", { name: "Open an example" }).click();
  await shows(page, "focus_cnn");
  await (await sizeField(page, "s0")).fill("32");
  await (await sizeField(page, "s1")).fill("48");
  const dialog = await openRun(page);
  assert.equal(await dialog.getByLabel(/^image/).inputValue(), "[1,3,32,48]");
  await dialog.getByLabel("Seed of random inputs").fill("7");
  await screenshot(page, "page-run-inputs");
  const outputs = await run(dialog);
  await screenshot(page, "page-run-outputs");
  const cells = await outputs.getByRole("row").nth(1).getByRole("cell").allInnerTexts();
  const saved = await downloads(page, 1, () => outputs.getByRole("button", { name: "Save all as .npz" }).click());
  const single = await downloads(page, 1, () => outputs.getByRole("button", { name: "Save scores as .npy" }).click());
  const path = join(mkdtempSync(join(tmpdir(), "snick-run-")), "out.npz");
  snick("run", model("focus_cnn"), "--shape", "image[1,3,32,48]", "--seed", "7", "-o", path, "--quiet");
  const [found, expected] = [readNpz(saved.get("outputs.npz")), readNpz(readFileSync(path))];
  assert.deepEqual([...found.keys()], [...expected.keys()]);
  for (const [name, { descr, order, dims, elements }] of expected) {
    const other = found.get(name);
    assert.deepEqual([other.descr, other.order, other.dims], [descr, order, dims]);
    // Other instructions may round differently.
    elements.forEach((element, at) => assert.ok(Math.abs(element - other.elements[at]) < 1e-5, `${name} ${at}`));
  }
  const { dims, elements } = readNpy(single.get("scores.npy"));
  assert.deepEqual(elements, found.get("scores").elements);
  const mean = elements.reduce((sum, element) => sum + element, 0) / elements.length;
  assert.deepEqual(cells.slice(0, 2), ["f32", `[${dims.join(",")}]`]);
  const near = (cell, value) => assert.ok(Math.abs(Number(cell) - value) < 1e-6, `${cell} is not ${value}`);
  near(cells[2], Math.min(...elements));
  near(cells[3], Math.max(...elements));
  near(cells[4], mean);
  near(cells[5].split(",")[0], elements[0]);
  // Another seed gives other outputs.
  await outputs.getByRole("button", { name: "Run again…" }).click();
  await dialog.getByLabel("Seed of random inputs").fill("8");
  const again = await run(dialog);
  const others = await downloads(page, 1, () => again.getByRole("button", { name: "Save all as .npz" }).click());
  assert.notDeepEqual(readNpz(others.get("outputs.npz")).get("scores").elements, elements);
  assert.deepEqual(page.problems, []);
});

test("arrays of an .npz file are inputs by name, and the input of an .npy file is asked for", async () => {
  const page = await visit();
  await drop(page, text("difference.snick", DIFFERENCE));
  await shows(page, "difference");
  const [five, two] = [npy([3, 2], [5, 5, 5, 5, 5, 5]), npy([3, 2], [2, 2, 2, 2, 2, 3])];
  await drop(page, array("inputs.npz", npz({ b: two, other: two, a: five })));
  const dialog = page.getByRole("dialog", { name: "Run the model" });
  await dialog.waitFor();
  assert.equal(await dialog.getByLabel(/^inputs\.npz: a/).inputValue(), "0");
  assert.equal(await dialog.getByLabel(/^inputs\.npz: b/).inputValue(), "1");
  assert.equal(await dialog.getByLabel(/^inputs\.npz: other/).inputValue(), "");
  await screenshot(page, "page-run-arrays");
  let outputs = await run(dialog);
  assert.equal(await outputs.locator("td.elements").innerText(), "3, 3, 3, 3, 3, 2");
  await outputs.getByRole("button", { name: "Run again…" }).click();
  // Both inputs accept the array, so the person chooses. It replaces the array of the other file.
  await drop(page, array("photo.npy", npy([3, 2], [4, 4, 4, 4, 4, 4])));
  const choice = dialog.getByLabel(/^photo\.npy/);
  assert.equal(await choice.inputValue(), "");
  assert.ok(await choice.evaluate((element) => element === document.activeElement));
  await choice.selectOption({ label: "b" });
  outputs = await run(dialog);
  assert.equal(await outputs.locator("td.elements").innerText(), "1, 1, 1, 1, 1, 1");
  await outputs.getByRole("button", { name: "Close" }).click();
  // With one array, the other input is random and has the same size.
  const next = await openRun(page);
  const chooser = page.waitForEvent("filechooser");
  await next.getByRole("button", { name: "Choose arrays…" }).click();
  await (await chooser).setFiles([{ name: "a.npy", mimeType: "", buffer: npy([1, 2], [0, 0]) }]);
  assert.equal(await next.getByLabel(/^a\.npy/).inputValue(), "0");
  outputs = await run(next);
  assert.match(await outputs.locator("#outputs-inputs").innerText(), /^a f32\[1,2\] is from a file; b f32\[1,2\] is random/);
  assert.deepEqual(page.problems, []);
});

test("a run that is refused says why beside the input", async () => {
  const page = await visit();
  await drop(page, array("photo.npy", npy([1], [1])));
  await page.locator("#message.problem #what", { hasText: "photo.npy" }).waitFor();
  await drop(page, text("difference.snick", DIFFERENCE));
  await shows(page, "difference");
  const dialog = await openRun(page);
  await dialog.getByLabel(/^a f32/).fill("[3..1,2]");
  await dialog.getByRole("button", { name: "Run", exact: true }).click();
  const wrong = dialog.locator("[aria-invalid=true]");
  await wrong.waitFor();
  assert.equal(await wrong.getAttribute("id"), "run-0");
  assert.notEqual(await dialog.locator("#run-0-error").innerText(), "");
  await screenshot(page, "page-run-refused");
  await dialog.getByLabel(/^a f32/).fill("[2,2]");
  await dialog.getByLabel(/^b f32/).fill("[3,2]");
  await dialog.getByRole("button", { name: "Run", exact: true }).click();
  await dialog.locator("#run-error", { hasText: "Subtract" }).waitFor();
  await drop(page, array("wide.npy", npy([1, 3], [1, 2, 3])));
  await dialog.getByLabel(/^wide\.npy/).selectOption("1");
  await dialog.getByRole("button", { name: "Run", exact: true }).click();
  await dialog.locator("#run-error", { hasText: "[1,3]" }).waitFor();
  await drop(page, array("broken.npz", Buffer.from("PK, but no archive")));
  await dialog.locator("#run-error", { hasText: "broken.npz" }).waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await dialog.waitFor({ state: "hidden" });
  assert.deepEqual(page.problems, []);
});
