// The page of `crates/snick-web` in a real browser.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { model, ROOT, screenshot, showSizes, sizeField, tab, table } from "./browser.js";
import { downloads, drop, file, graph, shows, text, useSite, visit } from "./site.js";

useSite();

test("the example opens with one click, and a slider changes its shapes", async () => {
  const page = await visit();
  await screenshot(page, "page-start");
  await page.getByRole("button", { name: "Open an example" }).click();
  await shows(page, "focus_cnn");
  await screenshot(page, "page-example");
  await page.getByRole("searchbox", { name: "Search layers by name" }).fill("deep_sw");
  await page.keyboard.press("Enter");
  assert.equal(await page.locator(".panel h2").innerText(), "deep_swish");
  await showSizes(page);
  const box = await page.locator("input[type=range]").first().boundingBox();
  await page.mouse.move(box.x + 8, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width - 2, box.y + box.height / 2, { steps: 5 });
  await page.mouse.up();
  const shapes = new Map((await table(page)).map(([layer, , shape]) => [layer, shape]));
  assert.equal(shapes.get("focus"), "f32[1,12,32,?]");
  for (const view of ["Overview", "Unknown", "Slices", "Memory and work", "Check"]) await tab(page, view);
  assert.deepEqual(page.problems, []);
});

test("a dropped model is inferred with shapes, made canonical, run and explained", async () => {
  const page = await visit();
  await drop(page, file(model("focus_cnn")), file(join(ROOT, "models/focus_cnn/model.bin")));
  await shows(page, "focus_cnn");
  await page.getByRole("button", { name: "Shapes…" }).click();
  await page.getByRole("textbox", { name: /^image/ }).fill("[N,3,H=32..64,64]");
  await screenshot(page, "page-shapes");
  await page.keyboard.press("Enter");
  await (await sizeField(page, "N")).waitFor();
  const shapes = new Map((await table(page)).map(([layer, , shape]) => [layer, shape]));
  assert.equal(shapes.get("focus"), "f32[N,12,(H+1)/2,32]");
  await page.getByRole("button", { name: "Canonical" }).click();
  await page.locator("#what", { hasText: "none remain" }).waitFor();
  const canonical = await table(page);
  assert.ok(canonical.some(([, op]) => op === "slice") && !canonical.some(([, op]) => op === "StridedSlice"));
  await page.getByRole("button", { name: "Run…" }).click();
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByRole("rowheader", { name: "scores" }).waitFor();
  await page.getByRole("button", { name: "Close" }).click();
  await page.getByRole("button", { name: "Why…" }).click();
  await page.getByLabel(/A layer, or/).fill("focus:0:2");
  await page.keyboard.press("Enter");
  await page.locator("#text", { hasText: "focus axis 2 = (H+1)/2" }).waitFor();
  await screenshot(page, "page-why");
  await page.keyboard.press("Escape");
  assert.deepEqual(page.problems, []);
});

test("what is shown is downloaded", async () => {
  const page = await visit("?open=example/focus_cnn.xml&open=example/focus_cnn.bin");
  await shows(page, "focus_cnn");
  const save = async (format, count) => downloads(page, count, async () => {
    await page.getByRole("button", { name: "Save as…" }).click();
    if (format === "Text form") await screenshot(page, "page-save");
    await page.getByRole("button", { name: format }).click();
  });
  const text = await save("Text form", 2);
  // The `.bin` with the same name belongs to the open model.
  assert.deepEqual([...text.keys()].sort(), ["focus_cnn.snick", "focus_cnn.snick.bin"]);
  assert.match(text.get("focus_cnn.snick").toString(), /^snick 1\ngraph "focus_cnn"/);
  assert.match((await save("Picture", 1)).get("focus_cnn.svg").toString(), /^<svg[^]*f32\[1,3,s0,s1\]/);
  assert.match((await save("Report", 1)).get("focus_cnn.html").toString(), /^<!DOCTYPE html>[^]*"snick.view\/1"/);
  // Saved files can be opened again.
  const [snick, bin] = ["snick", "snick.bin"].map((extension) => text.get(`focus_cnn.${extension}`).toString("base64"));
  await drop(page, { name: "again.snick", bytes: snick }, { name: "again.snick.bin", bytes: bin });
  assert.deepEqual([...(await save("ONNX", 1)).keys()], ["again.onnx"]);
  assert.deepEqual(page.problems, []);
});

test("two models are compared, dropped together or one after the other", async () => {
  const [first, second] = ["Softmax-8(%x) {axis: -1}", "Softmax-8(%x) {axis: 0}"].map((op) => graph([`%a = ${op}`, "%y = Result-1(%a)"]));
  const page = await visit();
  await drop(page, text("first.snick", first), text("second.snick", second));
  await shows(page, "g");
  await tab(page, "Changes");
  assert.match(await page.locator(".pane.changes").innerText(), /axis: -1 → 0/);
  await screenshot(page, "page-changes");
  await drop(page, text("first.snick", first));
  await page.getByRole("tab", { name: "Changes" }).waitFor({ state: "detached" });
  const chooser = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: "Compare…" }).click();
  await (await chooser).setFiles([{ name: "first.snick", mimeType: "", buffer: Buffer.from(second) }]);
  await tab(page, "Changes");
  assert.match(await page.locator(".pane.changes").innerText(), /axis: -1 → 0/);
  assert.deepEqual(page.problems, []);
});

test("what cannot be opened says what to do, and leaves what is shown", async () => {
  const page = await visit("?open=example/focus_cnn.xml&open=example/focus_cnn.bin");
  await shows(page, "focus_cnn");
  const says = async (what, help, ...files) => {
    await drop(page, ...files);
    await page.locator("#message.problem #what", { hasText: what }).waitFor();
    assert.match(await page.locator("#help").innerText(), help);
    assert.equal(await page.locator("#viewer h1").innerText(), "focus_cnn.xml");
  };
  const xml = readFileSync(model("focus_cnn"), "utf8");
  await says(/cut\.xml:\d+:\d+/, /damaged/, text("cut.xml", xml.slice(0, 4000)));
  await screenshot(page, "page-problem");
  await says("photo.png is not a model", /\.onnx/, text("photo.png", "PNG"));
  await says("broken.onnx", /damaged/, text("broken.onnx", "no protobuf"));
  await says("3 models at once", /two of them/, text("a.snick", ""), text("b.snick", ""), text("c.snick", ""));
  const deep = "<net>".repeat(100_000);
  await says(/deep\.xml|stopped/, /./, text("deep.xml", deep));
  // The page keeps working regardless of the worker's state.
  await page.getByRole("button", { name: "Why…" }).click();
  await page.getByLabel(/A layer, or/).fill("nowhere");
  await page.keyboard.press("Enter");
  await page.locator("#message.problem #what", { hasText: "nowhere" }).waitFor();
  await page.getByRole("button", { name: "Canonical" }).click();
  await page.locator("#what", { hasText: "none remain" }).waitFor();
  assert.deepEqual(page.problems, []);
});

test("a model without its weights says so, and shapes are inferred", async () => {
  const page = await visit();
  await drop(page, file(model("focus_cnn")));
  await shows(page, "focus_cnn");
  assert.match(await page.locator("#what").innerText(), /not found; shapes are inferred without weights/);
  assert.deepEqual(page.problems, []);
});

test("work that takes long can be stopped", async () => {
  const page = await visit();
  // A matrix product that takes minutes.
  const wide = graph(['%c = Parameter-1 {element_type: f32, shape: "8,8"}', "%y = Result-1(%x)"])
    .replace("N,8", "12000,12000").replace("8,8", "12000,12000").replace("%y = Result-1(%x)", "%m = MatMul-1(%x, %c) {transpose_a: false, transpose_b: false}\n  %y = Result-1(%m)");
  await drop(page, text("wide.snick", wide));
  await shows(page, "g");
  await page.getByRole("button", { name: "Run…" }).click();
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.locator("#since", { hasText: "for 2 s" }).waitFor();
  await screenshot(page, "page-working");
  await page.getByRole("button", { name: "Stop" }).click();
  await page.locator("#what", { hasText: "stopped" }).waitFor();
  await page.getByRole("button", { name: "Canonical" }).click();
  await page.locator("#what", { hasText: "none remain" }).waitFor();
  assert.deepEqual(page.problems, []);
});

test("names of a model are text", async () => {
  const hostile = '</script><script>alert(1)</script><img src=x onerror=alert(2)>"\'`&amp;\u202e\u0007';
  const name = JSON.stringify(hostile).replaceAll("\u202e", "\\u{202e}").replace("\\u0007", "\\u{7}");
  const page = await visit();
  const content = `snick 1\ngraph ${name} {\n  %x = Parameter-1 {element_type: f32, shape: "N"}\n  %${name} = ReLU-1(%x)\n  %y = Result-1(%${name})\n}\n`;
  await drop(page, text("hostile.snick", content));
  const escaped = hostile.replace("\u202e", "\\u{202e}").replace("\u0007", "\\u{7}");
  await page.locator("#viewer h1").waitFor();
  assert.equal(await page.locator("#viewer h1").innerText(), "hostile.snick");
  assert.equal(await page.locator("#viewer .graph-name").innerText(), escaped);
  await page.getByRole("button", { name: "Run…" }).click();
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.locator("#outputs").waitFor();
  await page.keyboard.press("Escape");
  await drop(page, text(`${hostile}.snick`, "snick 2"));
  await page.locator("#message.problem").waitFor();
  assert.ok((await page.locator("#what").innerText()).includes("<img src=x onerror=alert(2)>"));
  assert.equal(await page.locator("img").count(), 0);
  assert.deepEqual(page.problems, []);
});

test("the page is used with the keyboard alone, on a narrow dark screen", async () => {
  const page = await visit("", { viewport: { width: 400, height: 780 }, colorScheme: "dark", hasTouch: true });
  await screenshot(page, "page-narrow-start");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await shows(page, "focus_cnn");
  await screenshot(page, "page-narrow");
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(width <= 400, `the page is ${width} wide`);
  await page.getByRole("button", { name: "Save as…" }).press("Enter");
  await screenshot(page, "page-narrow-save");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Why…" }).press("Enter");
  await page.keyboard.press("Enter");
  await page.locator("#answer").waitFor();
  await screenshot(page, "page-narrow-why");
  assert.deepEqual(page.problems, []);
});

test("many models one after the other leave no listeners", async () => {
  const page = await visit();
  await page.evaluate(() => {
    const { addEventListener } = MediaQueryList.prototype;
    window.listening = 0;
    Object.assign(MediaQueryList.prototype, {
      addEventListener(name, listener, options) {
        window.listening += 1;
        options?.signal?.addEventListener("abort", () => (window.listening -= 1));
        addEventListener.call(this, name, listener, options);
      },
    });
  });
  for (const name of ["slice8_01_basic", "slice8_02_default_axes", "slice8_03_step_2"]) {
    await drop(page, file(model(name)));
    await shows(page, name);
  }
  assert.equal(await page.evaluate(() => window.listening), 1);
});
