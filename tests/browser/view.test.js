// What a report shows first, how it marks errors, and its address.

import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { CATEGORIES, Contents } from "../../crates/snick-view/assets/contents.js";
import { Model } from "../../crates/snick-view/assets/model.js";
import { Scopes } from "../../crates/snick-view/assets/scopes.js";
import { dataOf, launch, model, open, painted, screenshot, showSizes, snick, tab, table, writeReport } from "./browser.js";

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

/** Writes a model in text form to a file. */
function written(text, name = "model.snick") {
  const path = join(mkdtempSync(join(tmpdir(), "snick-browser-view-")), name);
  writeFileSync(path, text);
  return path;
}

/** A graph of one input and layers, in text form. */
function graph(layers, name = "g") {
  return `snick 1\ngraph ${JSON.stringify(name)} {\n  ${layers.join("\n  ")}\n}\n`;
}

/** A chain of element-wise layers, and a product that fails, in a scope and in the body of a loop. */
const FAILING = graph([
  '%x = Parameter-1 {element_type: f32, shape: "2,3"}',
  '%trips = Parameter-1 {element_type: i64, shape: ""}',
  "%go = Const-1 boolean[] <1>",
  '%"a/b/relu" = ReLU-1(%x)', '%"a/b/product" = MatMul-1(%"a/b/relu", %x) {transpose_a: false, transpose_b: false}', '%"a/tanh" = Tanh-1(%x)',
  '%"c/1" = ReLU-1(%x)', '%"c/2" = ReLU-1(%"c/1")',
  '%loop = Loop-5(%trips, %go, %x) {inputs: ["2 -> 0"], outputs: ["0 -> 1","_ -> 0 purpose=execution_condition"], back_edges: []} : (f32[?,?])',
  '  body graph "" {', '    %rows = Parameter-1 {element_type: f32, shape: "2,3"}', "    %going = Const-1 boolean[] <1>",
  '    %"p/q/relu" = ReLU-1(%rows)', '    %"p/q/inner" = MatMul-1(%"p/q/relu", %rows) {transpose_a: false, transpose_b: false}', '    %"p/tanh" = Tanh-1(%rows)',
  "    %keep_going = Result-1(%going)", '    %out = Result-1(%"p/q/inner")', '    %also = Result-1(%"p/tanh")', "  }",
  "%y = Result-1(%loop)", '%z = Result-1(%"a/b/product")', '%w = Result-1(%"a/tanh")', '%v = Result-1(%"c/2")',
]);

/** The scopes and layers of a graph with a severity, by name. */
function severities(shown, at) {
  const scopes = new Scopes(shown.data.graphs[at]);
  const contents = new Contents(shown, scopes);
  return new Map([...contents.of].map(([item]) => [item.name, contents.severity(item)]));
}

test("an error marks the scopes around it and the layer whose body contains it", async () => {
  const report = writeReport(written(FAILING));
  const shown = new Model(dataOf(report));
  const outer = severities(shown, 0);
  for (const name of ["a", "a/b", "a/b/product", "loop"]) assert.equal(outer.get(name), "error", name);
  for (const name of ["a/b/relu", "a/tanh", "c", "c/1", "x"]) assert.notEqual(outer.get(name), "error", name);
  const inner = severities(shown, 1);
  for (const name of ["p", "p/q", "p/q/inner"]) assert.equal(inner.get(name), "error", name);
  assert.notEqual(inner.get("p/q/relu"), "error");
  const page = await open(browser, report);
  await tab(page, "Check");
  await page.getByRole("button", { name: "p/q/inner" }).first().click();
  assert.equal(await page.locator(".panel h2").innerText(), "p/q/inner");
  assert.deepEqual(page.problems, []);
});

/** The number of pixels of the graph with this colour. */
async function pixels(page, colour) {
  await painted(page);
  return page.evaluate((wanted) => {
    const probe = document.createElement("canvas").getContext("2d");
    probe.fillStyle = getComputedStyle(document.querySelector(".snick-viewer")).getPropertyValue(wanted);
    probe.fillRect(0, 0, 1, 1);
    const [r, g, b] = probe.getImageData(0, 0, 1, 1).data;
    const canvas = document.querySelector("canvas.graph");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    let count = 0;
    for (let at = 0; at < data.length; at += 4) count += data[at] === r && data[at + 1] === g && data[at + 2] === b && data[at + 3] === 255;
    return count;
  }, colour);
}

test("folded scopes with an error are red, and so are small boxes", async () => {
  const page = await open(browser, writeReport(written(FAILING)));
  await page.getByRole("button", { name: "Fold all scopes", exact: true }).click();
  assert.ok((await pixels(page, "--error")) > 500);
  for (let step = 0; step < 6; step += 1) await page.getByRole("button", { name: "Zoom out" }).click();
  assert.ok((await pixels(page, "--error")) > 30);
  await screenshot(page, "errors");
  const fine = await open(browser, writeReport(model("focus_cnn")));
  assert.equal(await pixels(fine, "--error"), 0);
});

test("boxes have the colours of their categories, and the legend lists the categories of the graph", async () => {
  const report = writeReport(model("focus_cnn"));
  const page = await open(browser, report);
  const layers = dataOf(report).graphs[0].layers;
  const present = new Set(layers.map(({ category }) => category).filter(Boolean));
  assert.ok(present.has("slice") && present.has("convolution"), [...present].join());
  assert.deepEqual(await page.locator(".legend li").allInnerTexts(), [...CATEGORIES].filter(([key]) => present.has(key)).map(([, name]) => name));
  await page.getByRole("button", { name: "Fit the whole graph" }).click();
  for (let step = 0; step < 6; step += 1) await page.getByRole("button", { name: "Zoom out" }).click();
  for (const category of ["slice", "convolution"]) assert.ok((await pixels(page, `--category-${category}`)) > 20, category);
  assert.equal(await pixels(page, "--category-product"), 0);
  await page.getByRole("button", { name: "Colours" }).click();
  assert.equal(await page.locator(".legend ul").isVisible(), false);
});

test("the file is the title, and the graph's own name is beside it", async () => {
  const page = await open(browser, writeReport(written(graph(['%x = Parameter-1 {element_type: f32, shape: "N"}', "%y = Result-1(%x)"], "yolo"), "nano.snick")));
  assert.equal(await page.locator("h1").innerText(), "nano.snick");
  assert.equal(await page.locator(".graph-name").innerText(), "yolo");
  assert.equal(await page.title(), "nano.snick");
});

test("most of the screen is the graph, and no box is cut at its sides", async () => {
  for (const name of ["focus_cnn", "shape_subgraph"]) {
    const report = writeReport(model(name));
    for (const [width, height, least] of [[1440, 900, 0.8], [1024, 768, 0.75], [390, 844, 0.7]]) {
      const page = await open(browser, report, { viewport: { width, height } });
      const box = await page.locator("canvas.graph").boundingBox();
      assert.ok((box.width * box.height) / (width * height) > least, `${name} at ${width}: ${box.width} x ${box.height}`);
      const hasInk = () => page.evaluate(() => {
        const canvas = document.querySelector("canvas.graph");
        const [context, { width, height }] = [canvas.getContext("2d"), canvas];
        return [[0, 0, 2, height], [width - 2, 0, 2, height], [0, height - 2, width, 2]].map((area) => context.getImageData(...area).data.some((value) => value !== 0));
      });
      // A graph that is too wide for a phone at a legible scale begins with its first box in the middle.
      if (width > 390) assert.deepEqual((await hasInk()).slice(0, 2), [false, false], `${name} at ${width}`);
      await page.getByRole("button", { name: "Unfold all" }).click();
      await page.getByRole("button", { name: "Fit the whole graph" }).click();
      await painted(page);
      assert.deepEqual(await hasInk(), [false, false, false], `${name} at ${width}, all`);
      await page.context().close();
    }
  }
});

test("the panel is there only with a selection", async () => {
  const page = await open(browser, writeReport(model("focus_cnn")));
  const width = async () => (await page.locator("canvas.graph").boundingBox()).width;
  const before = await width();
  const choose = async () => {
    await page.getByRole("searchbox", { name: "Search layers by name" }).fill("deep_sw");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".panel h2");
    assert.ok((await width()) < before);
  };
  await choose();
  await page.keyboard.press("Escape");
  assert.equal(await page.locator(".panel").isVisible(), false);
  assert.equal(await width(), before);
  await choose();
  await page.getByRole("button", { name: "Close" }).click();
  assert.equal(await page.locator(".panel").isVisible(), false);
  assert.equal(await page.evaluate(() => document.activeElement.className), "graph");
});

test("an address opens a layer, a tab and sizes, and follows the selection", async () => {
  const report = writeReport(model("focus_cnn"));
  const page = await open(browser, report);
  const hash = () => page.evaluate(() => location.hash);
  assert.equal(await hash(), "");
  await page.getByRole("searchbox", { name: "Search layers by name" }).fill("deep_sw");
  await page.keyboard.press("Enter");
  assert.equal(await hash(), "#layer=deep_swish");
  await tab(page, "Table");
  assert.equal(await hash(), "#layer=deep_swish&tab=Table");
  const go = async (to) => {
    await page.evaluate((text) => (location.hash = text), to);
    await page.waitForFunction((text) => decodeURIComponent(location.hash) === decodeURIComponent(text), to);
    await painted(page);
  };
  await go("#layer=focus%5F00&sizes=s0:40,s1:64");
  assert.equal(await page.locator(".panel h2").innerText(), "focus_00");
  assert.equal(await page.locator("[role=tab][aria-selected=true]").innerText(), "Graph");
  assert.match(await page.locator(".panel").innerText(), /= \[1,3,20,32\]/);
  await go("#layer=nothing<b>");
  assert.equal(await page.locator(".notice").isVisible(), true);
  assert.match(await page.locator(".notice").innerText(), /nothing<b>/);
  assert.equal(await page.locator(".panel").isVisible(), false);
  await page.goBack();
  await painted(page);
  assert.equal(await page.locator(".panel h2").innerText(), "focus_00");
  assert.equal(await page.locator(".notice").isVisible(), false);
  assert.deepEqual(page.problems, []);
});

test("an address names layers with special characters, and layers in bodies", async () => {
  const name = "a&b=c#d%/é";
  const page = await open(browser, writeReport(written(graph([
    '%x = Parameter-1 {element_type: f32, shape: "N"}', `%${JSON.stringify(name)} = ReLU-1(%x)`, `%y = Result-1(%${JSON.stringify(name)})`,
  ]))));
  await page.getByRole("searchbox", { name: "Search layers by name" }).fill("a&b");
  await page.keyboard.press("Enter");
  const address = page.url();
  await page.goto("about:blank");
  await page.goto(address);
  assert.equal(await page.locator(".panel h2").innerText(), name);
  const body = await open(browser, writeReport(model("subgraphs_loop")));
  await body.evaluate(() => (location.hash = "#layer=new_total"));
  await body.waitForSelector(".panel h2");
  assert.equal(await body.locator(".panel h2").innerText(), "new_total");
  await body.getByRole("button", { name: "Back to the graph outside" }).click();
  assert.equal(await body.evaluate(() => location.hash), "#layer=loop");
});

/** The shape of each layer, as the table shows it. */
async function shapes(page) {
  return new Map((await table(page)).map(([layer, , shape]) => [layer, shape]));
}

/** The shape of each layer, as inferred for these input shapes. */
function inferred(path, shape) {
  const { nodes } = JSON.parse(snick("infer", path, "--format", "json", "--quiet", "--shape", shape).text);
  return new Map(nodes.map(({ name, outputs }) => [name, outputs.map((output) => output.symbolic ?? output.shape).join(" ")]));
}

async function assertShapes(page, wanted) {
  const shown = await shapes(page);
  for (const [name, shape] of wanted) assert.equal(shown.get(name)?.replaceAll(/[a-z]+\d+\[/g, "["), shape, name);
}

test("sizes that must be equal have one slider", async () => {
  const path = written(graph([
    '%a = Parameter-1 {element_type: f32, shape: "N,4"}', '%b = Parameter-1 {element_type: f32, shape: "M=2..,4"}',
    '%s = Add-1(%a, %b) {auto_broadcast: "none"}', "%y = Result-1(%s)",
  ]));
  const page = await open(browser, writeReport(path));
  await showSizes(page);
  assert.equal(await page.locator("input[type=range]").count(), 1);
  assert.equal(await page.locator("input[type=range]").getAttribute("min"), "2");
  await page.getByRole("textbox", { name: "Size of N" }).fill("7");
  await assertShapes(page, inferred(path, "a[7,4],b[7,4]"));
  await page.evaluate(() => (location.hash = "#sizes=M:3"));
  await page.waitForFunction(() => document.querySelector("input[type=range]").value === "3");
  await assertShapes(page, inferred(path, "a[3,4],b[3,4]"));
  assert.equal(await page.locator(".conflicts").innerText(), "");
});

test("sizes that are probably equal can be tied", async () => {
  const path = written(graph([
    '%a = Parameter-1 {element_type: f32, shape: "N,4"}', '%b = Parameter-1 {element_type: f32, shape: "M,4"}',
    '%s = Add-1(%a, %b) {auto_broadcast: "numpy"}', '%c = Parameter-1 {element_type: f32, shape: "K,4"}',
    '%u = Add-1(%s, %c) {auto_broadcast: "numpy"}', '%d = Parameter-1 {element_type: f32, shape: "L,4"}', "%v = Concat-1(%u, %d) {axis: 0}", "%y = Result-1(%v)",
  ]));
  const page = await open(browser, writeReport(path));
  await showSizes(page);
  assert.equal(await page.locator("input[type=range]").count(), 4);
  await page.getByRole("button", { name: "Same size as N" }).first().click();
  await assertShapes(page, [...inferred(path, "a[N,4],b[N,4]")].filter(([name]) => name === "s"));
  await page.getByRole("button", { name: "Same size as N" }).click();
  assert.equal(await page.locator("input[type=range]").count(), 2);
  assert.equal(await page.getByRole("button", { name: "Same size as" }).count(), 0);
  await assertShapes(page, inferred(path, "a[N,4],b[N,4],c[N,4]"));
  await page.getByRole("textbox", { name: "Size of N" }).fill("5");
  await page.getByRole("textbox", { name: "Size of L" }).fill("2");
  await assertShapes(page, inferred(path, "a[5,4],b[5,4],c[5,4],d[2,4]"));
  assert.match(await page.getByRole("tab", { name: "Unknown" }).innerText(), /\(0\)/);
  await page.getByRole("button", { name: "Separate" }).click();
  assert.equal(await page.locator("input[type=range]").count(), 4);
});

test("unknown sizes follow the chosen sizes, and sizes that depend on data stay unknown", async () => {
  const path = written(graph([
    '%a = Parameter-1 {element_type: f32, shape: "N,4"}', '%i = NonZero-3(%a) {output_type: i64}', "%s = ReLU-1(%a)", "%y = Result-1(%s)", "%z = Result-1(%i)",
  ]));
  const page = await open(browser, writeReport(path));
  await showSizes(page);
  const label = () => page.getByRole("tab", { name: "Unknown" }).innerText();
  const before = Number(/\d+/.exec(await label())[0]);
  await page.getByRole("textbox", { name: "Size of N" }).fill("3");
  const after = Number(/\d+/.exec(await label())[0]);
  assert.ok(before > after && after === 2, `${before} ${after}`);
  await tab(page, "Unknown");
  const rows = await page.locator(".pane.unknown tbody tr").allInnerTexts();
  assert.equal(rows.length, 1);
  assert.match(rows[0], /one for each element that is not 0/);
  assert.match(rows[0], /2 sizes of 2 layers, 1 output\b/);
});

test("a double click hits one box although the panel moves it", async () => {
  // At this width, the legend moves to a second line beside the panel.
  const page = await open(browser, writeReport(model("focus_cnn")), { viewport: { width: 1440, height: 900 } });
  await painted(page);
  const { x, y } = await page.locator("canvas.graph").boundingBox();
  const [left, top] = await page.evaluate(() => {
    const canvas = document.querySelector("canvas.graph");
    const { data, width, height } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    for (let column = 0; column < width; column += 1) {
      const rows = Array.from({ length: height }, (_, row) => row).filter((row) => data[4 * (row * width + column) + 3] > 0);
      if (rows.length > 20) return [column, rows[0]];
    }
    return null;
  });
  await page.mouse.click(x + left + 8, y + top + 2);
  await painted(page);
  assert.ok((await page.locator("canvas.graph").boundingBox()).y > y);
  await page.mouse.down({ clickCount: 2 });
  await page.mouse.up({ clickCount: 2 });
  assert.equal(await page.locator(".panel").isVisible(), true);
  assert.equal(await page.locator(".panel h2").innerText(), "focus_00");
});
