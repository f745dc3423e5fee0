// The changes between two models: names, groups, what changed in a layer, and the way from one model to the other.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { dataOf, launch, open, painted, screenshot, select, snick, tab, writeReport, writtenGraph } from "./browser.js";

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

const heading = (page) => page.locator(".panel h2").innerText();
const section = (page, title) => page.locator(".panel section", { has: page.getByRole("heading", { name: title, exact: true }) });
const pressed = (page) => page.locator(".sides [aria-pressed=true]").innerText();

/** A convolution with packed weights, and layers that differ: `first` in the scope `old`, or `second` in the scope `new`. */
function network(factor, axis, scope, ops) {
  const elements = Array.from({ length: 108 }, (_, at) => ((at * factor) % 25) - 12).join(", ");
  const names = ["conv", ...ops.map((_, at) => `${scope}/${at}`)];
  return writtenGraph([
    '%x = Parameter-1 {element_type: f32, shape: "N,3,8,8"}', `%w = Const-1 i8[4,3,3,3] <${elements}>`, "%wf = Convert-1(%w) {destination_type: f32}",
    "%scale = Const-1 f32[1] <0.5>", '%ws = Multiply-1(%wf, %scale) {auto_broadcast: "numpy"}',
    '%conv = Convolution-1(%x, %ws) {strides: [1,1], pads_begin: [1,1], pads_end: [1,1], dilations: [1,1], auto_pad: "explicit"}',
    ...ops.map((op, at) => `%"${names[at + 1]}" = ${op}-1(%"${names[at]}")`),
    `%soft = Softmax-8(%"${names.at(-1)}") {axis: ${axis}}`, "%y = Result-1(%soft)",
  ]);
}

const first = network(3, 1, "old", ["ReLU", "Abs", "Exp"]);
const second = network(7, -1, "new", ["Tanh", "Sigmoid", "Tanh", "Sigmoid"]);
let report;
before(() => (report = writeReport(first, "--diff", second)));

/** The pixels of the graph that have a colour of the style sheet or its tint, as boxes do: their number, and the left and upper edge. */
async function pixels(page, colour, { isTint = false } = {}) {
  await painted(page);
  return page.evaluate(([name, isTint]) => {
    const canvas = document.querySelector("canvas.graph");
    const probe = document.createElement("canvas").getContext("2d");
    const style = (name) => getComputedStyle(canvas).getPropertyValue(`--${name}`).trim();
    const fill = (name) => {
      probe.fillStyle = style(name);
      probe.fillRect(0, 0, 1, 1);
    };
    fill("page");
    if (isTint) probe.globalAlpha = Number(style("tint"));
    fill(name);
    const wanted = probe.getImageData(0, 0, 1, 1).data;
    const { width, height } = canvas;
    const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
    const found = { count: 0, left: width, top: height };
    for (let at = 0; at < width * height; at += 1) {
      if (![0, 1, 2].every((channel) => data[4 * at + channel] === wanted[channel])) continue;
      found.count += 1;
      found.left = Math.min(found.left, at % width);
      found.top = Math.min(found.top, Math.floor(at / width));
    }
    return found;
  }, [colour, isTint]);
}

test("models are called by the shortest ends of their paths that differ", async () => {
  const data = dataOf(report).diff;
  assert.deepEqual(data.names, [first, second].map((path) => path.split("/").slice(-2).join("/")));
  const page = await open(browser, report);
  assert.deepEqual(await page.locator(".sides button").allInnerTexts(), data.names);
  await tab(page, "Changes");
  const headings = await page.locator(".change-list h2").allInnerTexts();
  assert.ok(headings[0].includes(data.names[0]) && headings[1].includes(data.names[1]), headings.join());
});

test("the page groups changes as the text of diff does", async () => {
  const kinds = ["removed", "added", "changed"];
  const ops = (op, count) => Array.from({ length: count }, () => op);
  const [a, b] = [network(3, 1, "old", [...ops("ReLU", 4), ...ops("Abs", 3)]), network(7, -1, "new", [...ops("Tanh", 2), ...ops("Exp", 5)])];
  const page = await open(browser, writeReport(a, "--diff", b));
  await tab(page, "Changes");
  const { text } = snick("diff", a, b);
  // The text names the groups in lines such as `removed  4 ReLU, 3 Abs`.
  const wanted = kinds.flatMap((kind) => {
    const [line] = new RegExp(`^${kind} +[0-9].*$`, "m").exec(text);
    return line.slice(kind.length).trim().split(/, (?=\d)/).map((group) => `${group.replace(/^\d+ /, "")} (${/^\d+/.exec(group)[0]})`);
  });
  assert.ok(wanted.length >= 5, wanted.join());
  assert.deepEqual(await page.locator(".change-list summary").allInnerTexts(), wanted);
  assert.ok((await page.locator(".change-verdict").innerText()).endsWith(text.split("\n")[0].replace(/^different: /, "")));
  assert.equal(await page.locator(".change-list details[open]").count(), 0);
  await page.locator(".change-list summary").filter({ hasText: "Abs" }).click();
  assert.equal(await page.locator(".change-list .change").count(), 3);
  await screenshot(page, "grouped-changes");
  await page.locator(".change-list summary").filter({ hasText: "Const" }).click();
  const weight = page.locator(".change-list .change").filter({ hasText: "read by" });
  await weight.getByRole("button", { name: "conv" }).click();
  assert.equal(await heading(page), "conv");
  assert.deepEqual(page.problems, []);
});

test("changed weights and attributes mark their layer, and the panel shows both values", async () => {
  const page = await open(browser, report);
  await select(page, "conv");
  const changed = section(page, "What changed");
  assert.equal(await changed.locator("svg.histogram").count(), 2);
  assert.match(await changed.innerText(), /of the elements differ/);
  await screenshot(page, "changed-weights");
  await select(page, "soft");
  assert.equal(await changed.locator(".details").innerText(), "axis: 1 → -1");
  await tab(page, "Table");
  const mark = async (name) => page.locator(".rows .row", { has: page.getByRole("button", { name, exact: true }) }).getAttribute("class");
  for (const [name, kind] of [["conv", "changed"], ["w", "changed"], ["soft", "changed"], ["old/0", "removed"]]) assert.equal(await mark(name), `row ${kind}`, name);
  assert.equal(await mark("x"), "row ");
});

test("the other model shows the same layer at the same place", async () => {
  const page = await open(browser, report);
  const { names } = dataOf(report).diff;
  await select(page, "conv");
  for (const key of ["-", "-"]) await page.keyboard.press(key);
  const before = await pixels(page, "accent");
  assert.ok(before.count > 0);
  await section(page, "What changed").getByRole("button", { name: `Show conv in ${names[1]}` }).click();
  assert.deepEqual([await pressed(page), await heading(page)], [names[1], "conv"]);
  const after = await pixels(page, "accent");
  assert.ok(Math.abs(before.left - after.left) <= 1 && Math.abs(before.top - after.top) <= 1, JSON.stringify([before, after]));
  // The switch keeps the tab, too.
  await select(page, "soft");
  await tab(page, "Table");
  await page.locator(".sides").getByRole("button", { name: names[0] }).click();
  assert.equal(await page.getByRole("tab", { selected: true }).innerText(), "Table");
  await tab(page, "Graph");
  assert.equal(await heading(page), "soft");
  assert.deepEqual(page.problems, []);
});

test("a change in a body is shown at the layer of the body", async () => {
  const loop = (axis) => writtenGraph([
    '%x = Parameter-1 {element_type: f32, shape: "4,2,3"}', "%act = Softmax-8(%x) {axis: 0}",
    '%ti = TensorIterator-1(%act) {inputs: ["0 -> 0 axis=1 start=0 end=-1 stride=1 part_size=1"], outputs: ["0 -> 0 axis=1 start=0 end=-1 stride=1 part_size=1"], back_edges: []}',
    'body graph "" {', '%part = Parameter-1 {element_type: f32, shape: "4,1,3"}', `%act = Softmax-8(%part) {axis: ${axis}}`, "%r = Result-1(%act)", "}", "%y = Result-1(%ti)",
  ]);
  const page = await open(browser, writeReport(loop(0), "--diff", loop(2)));
  await tab(page, "Changes");
  await page.locator(".change .link").first().click();
  assert.equal(await heading(page), "act");
  assert.match(await page.locator(".panel dl").first().innerText(), /body of ti[^]*changed/);
});

test("folded scopes show additions, removals and changes", async () => {
  const scopes = (scope, ops, axis) => writtenGraph([
    '%x = Parameter-1 {element_type: f32, shape: "N,4"}', '%"stem/0" = ReLU-1(%x)', '%"stem/1" = ReLU-1(%"stem/0")',
    ...ops.map((op, at) => `%"${scope}/${at}" = ${op}-1(%"${at === 0 ? "stem/1" : `${scope}/${at - 1}`}")`),
    `%"head/soft" = Softmax-8(%"${scope}/${ops.length - 1}") {axis: ${axis}}`, '%"head/act" = ReLU-1(%"head/soft")', '%y = Result-1(%"head/act")',
  ]);
  const path = writeReport(scopes("old", ["Abs", "Exp"], 0), "--diff", scopes("new", ["Tanh", "Sigmoid", "Tanh"], 1));
  const page = await open(browser, path);
  const fold = () => page.getByRole("button", { name: "Fold all scopes", exact: true }).click();
  const shown = async () => {
    await fold();
    return Promise.all(["removed", "added", "changed"].map(async (colour) => (await pixels(page, colour, { isTint: true })).count > 500));
  };
  assert.deepEqual(await shown(), [true, false, true]);
  await screenshot(page, "changed-scopes");
  await page.locator(".sides").getByRole("button", { name: dataOf(path).diff.names[1] }).click();
  assert.deepEqual(await shown(), [false, true, true]);
  await page.locator("canvas.graph").focus();
  for (let step = 0; step < 3; step += 1) await page.keyboard.press("ArrowDown");
  assert.equal(await heading(page), "new");
  assert.deepEqual(await section(page, "Changes").locator(".port").allInnerTexts(), ["added new/0", "added new/1", "added new/2"]);
});
