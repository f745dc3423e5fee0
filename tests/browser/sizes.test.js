// Shapes for sizes chosen in the page equal those of `snick infer --shape`.

import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { dataOf, launch, open, ROOT, showSizes, snick, table, writeReport } from "./browser.js";

/** The number of models, and of sizes to try for each. */
const MODELS = 20;
const SIZES = 3;

/** Sizes to try for every symbol, within its bounds. */
const CANDIDATES = [32, 64, 224, 16, 8, 7, 3, 1, 2, 5, 128];

/** For each choice, the sizes that the page cannot know: inference gave up their symbols and only finds them from numbers. */
const UNKNOWN = { bpe_tokenizer: 22 };

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

/** Models with dynamic sizes from this repository and the corpus named by `SNICK_CORPUS`. */
function candidates() {
  const folders = [join(ROOT, "models"), process.env.SNICK_CORPUS && join(process.env.SNICK_CORPUS, "models")].filter(Boolean);
  return folders.flatMap((folder) => readdirSync(folder).map((name) => join(folder, name, "model.xml"))).filter(existsSync);
}

function dims(shape) {
  if (shape === "[...]") return null;
  return shape === "[]" ? [] : shape.slice(1, -1).split(",");
}

/** The output shapes in a row of the table: `f32[1,2] i64[?]`. */
function shapesOfRow(text) {
  return text === "" ? [] : text.split(" ").map((fact) => fact.slice(fact.indexOf("[")));
}

function flat(nodes) {
  return nodes.flatMap((node) => [node, ...(node.bodies ?? []).flatMap((body) => flat(body.nodes))]);
}

/** The number of equal sizes, and of sizes that the page leaves unknown although inference has a number. */
function compare(rows, inferred, counts, about) {
  const seen = new Map();
  for (const node of flat(inferred.nodes)) seen.set(`${node.name}|${node.op}`, [...(seen.get(`${node.name}|${node.op}`) ?? []), node]);
  for (const [name, op, text] of rows) {
    const nodes = seen.get(`${name}|${op}`) ?? [];
    if (nodes.length !== 1) continue;
    for (const [at, shape] of shapesOfRow(text).entries()) {
      const [shown, wanted] = [dims(shape), dims(nodes[0].outputs[at].shape)];
      if (shown === null || wanted === null) continue;
      assert.equal(shown.length, wanted.length, `${about}: ${name} ${shape}`);
      shown.forEach((size, axis) => {
        const isNumber = /^\d+$/.test(wanted[axis]);
        if (size === "?") counts[isNumber ? "unknown" : "equal"] += 1;
        else if (isNumber) assert.equal(size, wanted[axis], `${about}: ${name} axis ${axis}`);
        if (size !== "?") counts.equal += 1;
      });
    }
  }
}

test("shapes after sizes are chosen equal those of infer", { timeout: 900_000 }, async () => {
  const wanted = process.env.SNICK_CORPUS ? MODELS : 4;
  const counts = { equal: 0, unknown: 0 };
  let models = 0;
  for (const model of candidates()) {
    if (models === wanted) break;
    const report = writeReport(model);
    const data = dataOf(report);
    if (!data.symbols.some(({ kind }) => kind === "input")) continue;
    const page = await open(browser, report);
    let sizes = 0;
    const before = counts.unknown;
    for (const candidate of CANDIDATES) {
      if (sizes === SIZES) break;
      await showSizes(page);
      for (const range of await page.locator("input[type=range]").all()) {
        await range.evaluate((input, size) => {
          input.value = size;
          input.dispatchEvent(new Event("input"));
        }, candidate);
      }
      if ((await page.locator(".conflicts").innerText()) !== "") continue;
      const rows = await table(page);
      const names = new Map(rows.map(([name, , shape]) => [name, shapesOfRow(shape)[0]]));
      const inputs = data.inputs.map(({ layer }, at) => `${at}${names.get(data.graphs[0].layers[layer].name)}`);
      const inferred = snick("infer", model, "--format", "json", "--quiet", "--shape", inputs.join(","));
      if (!inferred.isFine) continue;
      compare(rows, JSON.parse(inferred.text), counts, `${model} ${inputs}`);
      sizes += 1;
    }
    if (sizes === SIZES) models += 1;
    assert.equal(counts.unknown - before, sizes * (UNKNOWN[basename(dirname(model))] ?? 0), model);
    await page.context().close();
  }
  console.log(`${models} models, ${SIZES} choices each: ${counts.equal} sizes equal, ${counts.unknown} not known to the page`);
  assert.equal(models, wanted);
});
