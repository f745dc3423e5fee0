// The side panel: links, trees of sizes, weights, scopes, and what can be copied.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { dataOf, launch, model, open, screenshot, select, showSizes, tab, writeReport, writtenGraph } from "./browser.js";
import { Links } from "../../crates/snick-view/assets/links.js";

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

/** Sizes that are broadcast, multiplied, and counted in a run. */
const MERGED = [
  '%a = Parameter-1 {element_type: f32, shape: "N,K"}', '%b = Parameter-1 {element_type: f32, shape: "M,K"}',
  '%c = Parameter-1 {element_type: f32, shape: "K,P"}', '%s = Add-1(%a, %b) {auto_broadcast: "numpy"}',
  "%m = MatMul-1(%s, %c) {transpose_a: false, transpose_b: false}", "%q = NonZero-3(%m) {output_type: i64}",
  "%r = Result-1(%m)", "%y = Result-1(%q)",
];

const panel = (page) => page.locator(".panel");
const heading = (page) => page.locator(".panel h2").innerText();
const copied = (page) => page.evaluate(() => window.copied);

/** The section of the panel with a title. */
const section = (page, title) => page.locator(".panel section", { has: page.getByRole("heading", { name: title, exact: true }) });

/** The tree item that has the focus: its path, and whether it is open. */
const current = (page) => page.evaluate(() => [document.activeElement.dataset.path, document.activeElement.getAttribute("aria-expanded")]);

test("the tree of sizes is walked with keys and stays open when sizes change", async () => {
  const path = writeReport(writtenGraph(MERGED));
  const ids = new Map(dataOf(path).graphs[0].layers.map(({ name }, id) => [name, id]));
  const [s, m] = [ids.get("s"), ids.get("m")];
  const page = await open(browser, path);
  await select(page, "m");
  const tree = page.getByRole("tree");
  await tree.getByRole("treeitem").first().focus();
  const root = `${m}:0:0`;
  const left = `${root}/${ids.get("a")}:0:0`;
  const seen = [];
  for (const key of ["ArrowRight", "ArrowRight", "ArrowDown", "ArrowUp", "ArrowLeft", "ArrowLeft", "End", "Home", "ArrowRight"]) {
    await page.keyboard.press(key);
    seen.push(await current(page));
  }
  assert.deepEqual(seen, [
    [root, "true"], [left, null], [`${root}/${ids.get("b")}:0:0`, null], [left, null], [root, "true"], [root, "false"],
    [`${m}:0:1`, null], [root, "false"], [root, "true"],
  ]);
  await screenshot(page, "why");
  await showSizes(page);
  await page.getByRole("textbox", { name: "Size of N" }).fill("3");
  await page.getByRole("textbox", { name: "Size of M" }).fill("1");
  assert.deepEqual(await tree.locator("code").allInnerTexts(), ["s4 = 3", "N = 3", "M = 1", "P = ?"]);
  await tree.getByRole("treeitem", { level: 2 }).first().focus();
  await page.keyboard.press("Enter");
  assert.equal(await heading(page), "a");
  assert.equal(dataOf(path).steps[`${m}:0:0`][0], `${s}:0:0`);
  assert.deepEqual(page.problems, []);
});

test("a symbol shows its interval, its origin, its rule, and what depends on it", async () => {
  const page = await open(browser, writeReport(writtenGraph(MERGED)));
  await select(page, "m");
  await showSizes(page);
  await page.getByRole("textbox", { name: "Size of N" }).fill("3");
  await page.getByRole("textbox", { name: "Size of M" }).fill("3");
  await section(page, "Outputs").getByRole("button", { name: "s4" }).click();
  assert.equal(await heading(page), "s4");
  const rows = await panel(page).locator("dl").first().evaluate((list) => Object.fromEntries([...list.querySelectorAll("dt")].map((name) => [name.textContent, name.nextSibling.textContent])));
  assert.equal(rows.Interval, "0..");
  assert.equal(rows.Chosen, "3");
  assert.equal(rows.Origin, "Add s axis 0");
  assert.equal(rows.Rule, "broadcast: N, M");
  assert.deepEqual(await section(page, "Outputs of the model that depend on it (1)").getByRole("button").allInnerTexts(), ["r", "s4", "P"]);
  await screenshot(page, "symbol");
  await panel(page).getByRole("button", { name: "N", exact: true }).first().click();
  assert.equal(await heading(page), "N");
  assert.match(await panel(page).innerText(), /Merged into\s+s4/);
  await panel(page).getByRole("button", { name: "Back to m" }).click();
  assert.equal(await heading(page), "m");
});

test("findings, unknown sizes and the overview link to layers and symbols", async () => {
  const page = await open(browser, writeReport(model("bpe_tokenizer")));
  await tab(page, "Check");
  const message = page.locator(".pane.check td").filter({ hasText: "no upper bound for any sizes" });
  const links = await message.locator(".link").allInnerTexts();
  assert.deepEqual(links, ["ids", "mask", "CombineSegments_48", "RaggedToDense_53"]);
  await message.getByRole("button", { name: "CombineSegments_48" }).click();
  assert.equal(await heading(page), "CombineSegments_48");
  assert.deepEqual(await section(page, "Findings").count(), 0);
  await tab(page, "Unknown");
  await page.locator(".pane.unknown").getByRole("button", { name: "s9", exact: true }).click();
  assert.equal(await heading(page), "s9");
  await tab(page, "Overview");
  await page.locator(".pane.overview").getByRole("button", { name: "Range_14" }).click();
  assert.equal(await heading(page), "Range_14");
  await tab(page, "Overview");
  await page.locator(".pane.overview").getByRole("button", { name: "s0", exact: true }).first().click();
  assert.equal(await heading(page), "s0");
  assert.deepEqual(page.problems, []);
});

test("a quoted name is a link only if exactly one layer is meant", () => {
  const layer = (name, op, loc, id) => ({ id, name, op, loc, graph: id, readers: [] });
  const layers = [layer("act", "ReLU", "4:3", 0), layer("act", "Tanh", "9:3", 1), layer("sum", "Add", "5:3", 2)];
  const links = new Links({ layers, symbols: new Map([["act", {}]]), data: { inputs: [{ name: "in", layer: 2 }], outputs: [] } });
  const id = (name, about) => links.layerNamed(name, about)?.id;
  assert.equal(id("sum"), 2);
  assert.equal(id("act"), undefined);
  assert.equal(id("act", { loc: "9:3" }), 1);
  assert.equal(id("sum", { loc: "9:3" }), undefined);
  assert.equal(id("act", { word: "Tanh" }), 1);
  assert.equal(id("act", { origins: ["ReLU `act` (4:3)"] }), 0);
  assert.equal(id("act", { graph: 1 }), 1);
  assert.equal(links.endNamed("in", "input").id, 2);
  assert.equal(links.endNamed("in", "output"), null);
});

test("what is copied is announced", async () => {
  const page = await open(browser, writeReport(writtenGraph(MERGED)));
  await select(page, "m");
  const press = async (place, name) => {
    await place.getByRole("button", { name }).first().click();
    assert.equal(await place.getByRole("status").filter({ hasText: "Copied" }).count(), 1);
    return copied(page);
  };
  assert.equal(await press(page.locator(".panel .tools"), "Copy name"), "m");
  assert.equal(await press(section(page, "Outputs"), "Copy the shape"), "[s4,P]");
  const why = await press(section(page, "Where sizes come from"), "Copy why axis 0");
  assert.deepEqual(why.split("\n").map((line) => line.trim().split(" ")[0]), ["m", "s4", "N", "M"]);
  await tab(page, "Unknown");
  const suggestion = await press(page.locator(".pane.unknown tr").filter({ has: page.getByRole("button", { name: "P", exact: true }) }), "Copy --shape");
  assert.match(suggestion, /^--shape ".*c\[K,P=\.\.1024\]"$/);
});

test("a long list shows some entries, and all of them on request", async () => {
  const readers = Array.from({ length: 40 }, (_, at) => `%r${at} = ReLU-1(%x)`);
  const results = readers.map((_, at) => `%y${at} = Result-1(%r${at})`);
  const page = await open(browser, writeReport(writtenGraph(['%x = Parameter-1 {element_type: f32, shape: "N"}', ...readers, ...results])));
  await select(page, "x");
  const list = section(page, "Read by");
  assert.equal(await list.locator(".port").count(), 30);
  await list.getByRole("button", { name: "Show all 40" }).click();
  assert.equal(await list.locator(".port").count(), 40);
  // A change of a size creates the panel again.
  await showSizes(page);
  await page.getByRole("textbox", { name: "Size of N" }).fill("3");
  assert.equal(await list.locator(".port").count(), 40);
  await list.getByRole("button", { name: "Show fewer" }).click();
  assert.equal(await list.locator(".port").count(), 30);
});

test("the panel of a layer shows its weights, also through conversions", async () => {
  const elements = Array.from({ length: 108 }, (_, at) => (at % 25) - 12).join(", ");
  const bound = (name, value) => `%${name} = Const-1 f32[1] <${value}>`;
  const page = await open(browser, writeReport(writtenGraph([
    '%x = Parameter-1 {element_type: f32, shape: "N,3,8,8"}', `%w = Const-1 i8[4,3,3,3] <${elements}>`, "%wf = Convert-1(%w) {destination_type: f32}",
    "%scale = Const-1 f32[1] <0.5>", '%ws = Multiply-1(%wf, %scale) {auto_broadcast: "numpy"}',
    '%conv = Convolution-1(%x, %ws) {strides: [1,1], pads_begin: [1,1], pads_end: [1,1], dilations: [1,1], auto_pad: "explicit"}',
    bound("low", "0.0"), bound("high", "6.0"), bound("from", "0.0"), bound("to", "6.0"),
    '%fq = FakeQuantize-1(%conv, %low, %high, %from, %to) {levels: 256, auto_broadcast: "numpy"}', "%y = Result-1(%fq)",
  ])));
  await select(page, "conv");
  const weights = section(page, "Weights");
  assert.deepEqual(await weights.locator(".weight .link").allInnerTexts(), ["w", "scale"]);
  assert.equal(await weights.locator("svg.histogram rect").count(), 24);
  const [low, mean, high] = await weights.locator(".ends span").allInnerTexts();
  assert.deepEqual([low, high], ["-12", "12"]);
  assert.match(mean, /-?\d/);
  assert.match(await weights.innerText(), /i8\[4,3,3,3\]\s*input 1 through Convert, Multiply, 108 B/);
  assert.match(await weights.innerText(), /-12, -11/);
  await screenshot(page, "weights");
  await select(page, "fq");
  assert.equal(await weights.locator("details").count(), 4);
  assert.equal(await weights.locator("details[open]").count(), 1);
  await weights.locator("details:not([open]) summary").first().click({ position: { x: 3, y: 8 } });
  assert.equal(await weights.locator("details[open]").count(), 2);
  await showSizes(page);
  await page.getByRole("textbox", { name: "Size of N" }).fill("2");
  assert.equal(await weights.locator("details[open]").count(), 2);
});

test("a scope shows what enters and leaves it, its operations and its scopes", async () => {
  const page = await open(browser, writeReport(writtenGraph([
    '%x = Parameter-1 {element_type: f32, shape: "N,4"}', '%"net/first" = ReLU-1(%x)', '%"net/a/one" = Tanh-1(%"net/first")',
    '%"net/a/two" = Tanh-1(%"net/a/one")', '%"net/last" = Add-1(%"net/a/two", %x) {auto_broadcast: "numpy"}', '%y = Result-1(%"net/last")',
  ])));
  await page.getByRole("button", { name: "Fold all scopes", exact: true }).click();
  await page.locator("canvas.graph").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  assert.equal(await heading(page), "net");
  assert.deepEqual(await section(page, "Values that enter").locator(".port > .link").allInnerTexts(), ["x"]);
  assert.deepEqual(await section(page, "Values that leave").locator(".port").allInnerTexts(), ["net/last f32[N,4]"]);
  assert.deepEqual(await section(page, "Operations").locator(".port").allInnerTexts(), ["2 × Tanh", "1 × ReLU", "1 × Add"]);
  await showSizes(page);
  await page.getByRole("textbox", { name: "Size of N" }).fill("2");
  assert.match(await panel(page).innerText(), /Writes\s+128 B/);
  await screenshot(page, "scope");
  await section(page, "Scopes inside").getByRole("button", { name: "net/a" }).click();
  assert.equal(await heading(page), "net/a");
  await panel(page).getByRole("button", { name: "Unfold" }).click();
  assert.equal(await heading(page), "net/a/one");
});

test("layers of bodies and variables link to each other", async () => {
  const page = await open(browser, writeReport(model("subgraphs_loop")));
  await select(page, "loop");
  await section(page, "Bodies").getByRole("button", { name: "body" }).click();
  await panel(page).getByRole("button", { name: "loop", exact: true }).click();
  assert.equal(await heading(page), "loop");
  const state = await open(browser, writeReport(writtenGraph([
    '%x = Parameter-1 {element_type: f32, shape: "1,4"}', '%old = ReadValue-6(%x) {variable_id: "v", variable_type: f32, variable_shape: "1,4"}',
    '%new = Add-1(%old, %x) {auto_broadcast: "numpy"}', '%write = Assign-6(%new) {variable_id: "v"}', "%y = Result-1(%new)",
  ])));
  await select(state, "old");
  await section(state, "Attributes").getByRole("button", { name: "write" }).click();
  assert.equal(await heading(state), "write");
});

test("a large report says once which command explains sizes", async () => {
  const inputs = Array.from({ length: 300 }, (_, at) => `%p${at} = Parameter-1 {element_type: f32, shape: "1,2,3,4,5,1"}`);
  const all = inputs.map((_, at) => `%p${at}`).join(", ");
  const concats = Array.from({ length: 40 }, (_, at) => `%c${at} = Concat-1(${all}) {axis: 0}`);
  const path = writeReport(writtenGraph([...inputs, ...concats, ...concats.map((_, at) => `%y${at} = Result-1(%c${at})`)]));
  assert.ok(dataOf(path).steps_missing.length > 0);
  const page = await open(browser, path);
  const commands = section(page, "Where sizes come from").locator(".command");
  await select(page, "c39");
  assert.deepEqual(await commands.locator("code").allInnerTexts(), ["snick why model.snick c39"]);
  await commands.getByRole("button").click();
  assert.equal(await copied(page), "snick why model.snick c39");
  await select(page, "c0");
  assert.equal(await commands.count(), 0);
});
