// The report of a model in a real browser.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { dataOf, launch, model, open, painted, screenshot, showSizes, tab, table, writeReport, written } from "./browser.js";

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

const TABS = ["Graph", "Table", "Overview", "Unknown", "Slices", "Memory and work", "Check"];

for (const name of ["focus_cnn", "shape_subgraph", "subgraphs_loop", "bpe_tokenizer", "strided_slice_10_ellipsis"]) {
  test(`${name} is shown in all views`, async () => {
    const page = await open(browser, writeReport(model(name)));
    for (const view of TABS) {
      await tab(page, view);
      await screenshot(page, `${name}-${view.split(" ")[0].toLowerCase()}`);
      assert.ok((await page.locator("main .pane:not([hidden])").innerText()).length > 0 || view === "Graph", view);
    }
    assert.deepEqual(page.problems, []);
  });
}

test("a search finds a layer and selects it", async () => {
  const page = await open(browser, writeReport(model("focus_cnn")));
  await page.getByRole("searchbox", { name: "Search layers by name" }).fill("deep_sw");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".panel h2");
  assert.equal(await page.locator(".panel h2").innerText(), "deep_swish");
  assert.match(await page.locator(".panel").innerText(), /Read by\s+resize/);
  assert.deepEqual(page.problems, []);
});

test("keys go along arrows", async () => {
  const page = await open(browser, writeReport(model("focus_cnn")));
  await page.locator("canvas.graph").focus();
  const seen = [];
  for (const key of ["ArrowDown", "ArrowDown", "ArrowRight", "ArrowDown", "ArrowUp"]) {
    await page.keyboard.press(key);
    seen.push(await page.locator(".panel h2").innerText());
  }
  assert.deepEqual(seen[0], "image");
  assert.ok(seen[1].startsWith("focus_") && seen[2].startsWith("focus_") && seen[1] !== seen[2], seen.join());
  assert.equal(seen[3], "focus");
});

test("a slider changes shapes and the cost", async () => {
  const page = await open(browser, writeReport(model("focus_cnn")));
  await showSizes(page);
  const slider = page.locator("input[type=range]").first();
  await slider.focus();
  for (let step = 0; step < 24; step += 1) await page.keyboard.press("ArrowRight");
  const second = page.locator("input[type=range]").nth(1);
  const box = await second.boundingBox();
  await page.mouse.move(box.x + 8, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width - 2, box.y + box.height / 2, { steps: 5 });
  await page.mouse.up();
  const shapes = new Map((await table(page)).map(([layer, , shape]) => [layer, shape]));
  assert.equal(shapes.get("image"), "f32[1,3,40,64]");
  assert.equal(shapes.get("focus"), "f32[1,12,20,32]");
  assert.match(await page.locator(".totals").innerText(), /A run: [\d.]+ M MACs/);
  await page.getByRole("button", { name: "Symbols again" }).click();
  const again = new Map((await table(page)).map(([layer, , shape]) => [layer, shape]));
  assert.equal(again.get("focus"), "f32[1,12,(s0+1)/2,(s1+1)/2]");
  await tab(page, "Graph");
  await screenshot(page, "slider");
  assert.deepEqual(page.problems, []);
});

test("sizes that contradict each other are reported", async () => {
  const text = 'snick 1\ngraph "g" {\n  %a = Parameter-1 {element_type: f32, shape: "N"}\n  ' +
    '%b = Parameter-1 {element_type: f32, shape: "M"}\n  %s = Add-1(%a, %b) {auto_broadcast: "numpy"}\n  %y = Result-1(%s)\n}\n';
  const page = await open(browser, writeReport(written(text)));
  await showSizes(page);
  const choose = async (symbol, size) => page.getByRole("textbox", { name: `Size of ${symbol}` }).fill(size);
  await choose("N", "3");
  await choose("M", "1");
  assert.equal(await page.locator(".conflicts").innerText(), "");
  const shapes = async () => new Map((await table(page)).map(([layer, , shape]) => [layer, shape]));
  assert.equal((await shapes()).get("s"), "f32[3]");
  await choose("M", "4");
  assert.match(await page.locator(".conflicts").innerText(), /N = 3 and M = 4 do not broadcast/);
  assert.equal((await shapes()).get("s"), "f32[?]");
});

test("of blocks of equal structure, the first is unfolded", async () => {
  const layers = [];
  let last = "x";
  for (let block = 0; block < 30; block += 1) {
    for (const [at, op] of ["ReLU-1", "Tanh-1", "Sigmoid-1", "Exp-1"].entries()) {
      layers.push(`%"net/h.${block}/l${at}" = ${op}(%${JSON.stringify(last)})`);
      last = `net/h.${block}/l${at}`;
    }
  }
  const text = `snick 1\ngraph "g" {\n  %x = Parameter-1 {element_type: f32, shape: "N"}\n  ${layers.join("\n  ")}\n  %y = Result-1(%"${last}")\n}\n`;
  const page = await open(browser, writeReport(written(text)));
  await page.locator("canvas.graph").focus();
  for (let step = 0; step < 6; step += 1) await page.keyboard.press("ArrowDown");
  assert.match(await page.locator(".panel").innerText(), /29 blocks of the same structure, 116 layers in all/);
  await screenshot(page, "repeats");
  await page.keyboard.press("Enter");
  assert.match(await page.locator(".panel h2").innerText(), /net\/h\.1$/);
  await page.keyboard.press("Enter");
  assert.equal(await page.locator(".panel h2").innerText(), "net/h.1/l0");
  await screenshot(page, "unfolded");
  await page.getByRole("button", { name: "Fold all scopes", exact: true }).click();
  await page.keyboard.press("Escape");
  const { x, y, width } = await page.locator("canvas.graph").boundingBox();
  // Below the input, which is the first box.
  await page.mouse.click(x + width / 2, y + 115);
  assert.equal(await page.locator(".panel h2").innerText(), "net/h.0 … net/h.29");
  await page.keyboard.press("Escape");
  await page.mouse.dblclick(x + width / 2, y + 115);
  assert.equal(await page.locator(".panel h2").innerText(), "net/h.0");
  assert.deepEqual(page.problems, []);
});

test("names of a model are text", async () => {
  const hostile = '</script><script>alert(1)</script><img src=x onerror=alert(2)>"\'`&amp;\u202e\u0007';
  const name = JSON.stringify(hostile).replaceAll("\u202e", "\\u{202e}").replace("\\u0007", "\\u{7}");
  const text = `snick 1\ngraph ${name} {\n  %x = Parameter-1 {element_type: f32, shape: "N"}\n  %${name} = ReLU-1(%x)\n  %y = Result-1(%${name})\n}\n`;
  // A file name cannot contain a slash.
  const [file, shown] = [hostile.replaceAll("/", ""), hostile].map((name) => name.replace("\u202e", "\\u{202e}").replace("\u0007", "\\u{7}"));
  const page = await open(browser, writeReport(written(text, `${hostile.replaceAll("/", "")}.snick`)));
  assert.equal(await page.locator("h1").innerText(), `${file}.snick`);
  assert.equal(await page.title(), `${file}.snick`);
  assert.equal(await page.locator(".graph-name").innerText(), shown);
  await page.getByRole("searchbox", { name: "Search layers by name" }).fill("onerror");
  await page.keyboard.press("Enter");
  assert.equal(await page.locator(".panel h2").innerText(), shown);
  for (const view of TABS) await tab(page, view);
  assert.equal(await page.locator("img").count(), 0);
  assert.deepEqual(page.problems, []);
  await tab(page, "Graph");
  await screenshot(page, "hostile");
});

test("two models are shown with what changed", async () => {
  const graph = (op) => `snick 1\ngraph "g" {\n  %x = Parameter-1 {element_type: f32, shape: "N"}\n  %a = ${op}\n  %y = Result-1(%a)\n}\n`;
  const second = graph("Softmax-8(%x) {axis: 0}");
  const paths = [written(graph("Softmax-8(%x) {axis: -1}")), written(second)];
  const page = await open(browser, writeReport(paths[0], "--diff", paths[1]));
  await tab(page, "Changes");
  assert.match(await page.locator(".pane.changes").innerText(), /axis: -1 → 0/);
  await screenshot(page, "changes");
  await page.getByRole("button", { name: paths[1].split("/").slice(-2).join("/"), exact: true }).click();
  await tab(page, "Graph");
  await page.getByRole("searchbox", { name: "Search layers by name" }).fill("a");
  await page.keyboard.press("Enter");
  assert.match(await page.locator(".panel").innerText(), /Change\s+changed/);
  assert.deepEqual(page.problems, []);
});

test("narrow and dark screens", async () => {
  const path = writeReport(model("focus_cnn"));
  const page = await open(browser, path, { viewport: { width: 400, height: 780 }, colorScheme: "dark", hasTouch: true });
  for (const view of TABS) {
    await tab(page, view);
    await screenshot(page, `narrow-${view.split(" ")[0].toLowerCase()}`);
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= 400, `${view} is ${width} wide`);
  }
  const wide = await open(browser, path, { colorScheme: "dark" });
  await wide.getByRole("searchbox", { name: "Search layers by name" }).fill("focus_11");
  await wide.keyboard.press("Enter");
  await screenshot(wide, "dark");
});

test("a report of ten thousand layers is found through and drawn", async () => {
  const layers = Array.from({ length: 10_000 }, (_, at) => `%"l${at}" = ReLU-1(%"${at === 0 ? "x" : `l${at - 1}`}")`);
  const text = `snick 1\ngraph "g" {\n  %x = Parameter-1 {element_type: f32, shape: "N"}\n  ${layers.join("\n  ")}\n  %y = Result-1(%"l9999")\n}\n`;
  const path = writeReport(written(text));
  assert.equal(dataOf(path).graphs[0].layers.length, 10_002);
  const page = await open(browser, path);
  const elapsed = await page.evaluate(() => {
    const field = document.querySelector("input[type=search]");
    const start = performance.now();
    field.value = "l9998";
    field.dispatchEvent(new Event("input"));
    return performance.now() - start;
  });
  const paint = await page.evaluate(() => performance.getEntriesByType("paint").map(({ name, startTime }) => `${name} ${Math.round(startTime)} ms`));
  console.log(`10002 layers: ${paint.join(", ")}; search ${elapsed.toFixed(1)} ms`);
  await page.getByRole("searchbox", { name: "Search layers by name" }).press("Enter");
  assert.equal(await page.locator(".panel h2").innerText(), "l9998");
  await painted(page);
  assert.deepEqual(page.problems, []);
});
