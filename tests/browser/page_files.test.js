// Models and the files of their weights, given together or one after the other.

import assert from "node:assert/strict";
import { closeSync, ftruncateSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { model, ROOT, screenshot, sizeField, snick, tab } from "./browser.js";
import { drop, file, shows, useSite, visit } from "./site.js";

useSite();

const [XML, BIN] = [model("focus_cnn"), join(ROOT, "models/focus_cnn/model.bin")];

async function waits(page, pattern) {
  await page.locator("#waiting").filter({ hasText: pattern }).waitFor();
}

async function isComplete(page) {
  await page.locator("#waiting").waitFor({ state: "hidden" });
}

async function run(page) {
  await page.getByRole("button", { name: "Run…" }).click();
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByRole("rowheader").waitFor();
  await page.keyboard.press("Escape");
}

test("weights join a model that is shown without them, which keeps the position", async () => {
  const page = await visit();
  await drop(page, file(XML, "net.xml"));
  await shows(page, "focus_cnn");
  await waits(page, /net\.xml waits for net\.bin/);
  await screenshot(page, "page-waiting");
  await (await sizeField(page, "s0")).fill("20");
  await tab(page, "Table");
  await drop(page, file(BIN, "net.bin"));
  await isComplete(page);
  assert.equal(await page.getByRole("tab", { selected: true }).innerText(), "Table");
  assert.equal(await (await sizeField(page, "s0")).inputValue(), "20");
  await run(page);
  // A single file of weights joins the only model that waits, whatever its name is.
  await drop(page, file(XML, "net.xml"));
  await waits(page, /net\.bin/);
  await drop(page, file(BIN, "weights.bin"));
  await isComplete(page);
  await run(page);
  assert.deepEqual(page.problems, []);
});

test("weights wait for their model", async () => {
  const page = await visit();
  await drop(page, file(BIN, "other.bin"), file(BIN, "net.bin"));
  await waits(page, /other\.bin and net\.bin wait/);
  await drop(page, file(XML, "net.xml"));
  await shows(page, "focus_cnn");
  await waits(page, /^other\.bin waits/);
  await run(page);
  assert.deepEqual(page.problems, []);
});

test("the page says which of several models wait for what", async () => {
  const page = await visit();
  await drop(page, file(XML, "one.xml"), file(XML, "two.xml"), file(BIN, "three.bin"));
  await shows(page, "focus_cnn");
  await waits(page, /one\.xml waits for one\.bin and two\.xml waits for two\.bin.*three\.bin waits/);
  await drop(page, file(BIN, "two.bin"));
  await waits(page, /^one\.xml waits for one\.bin, .*three\.bin/);
  await drop(page, file(BIN, "one.bin"));
  await waits(page, /^three\.bin/);
  await page.getByRole("tab", { name: "Changes (none)" }).waitFor();
  assert.deepEqual(page.problems, []);
});

/** A field of a protobuf message: a number, a text, or a message. */
function field(number, value) {
  if (typeof value === "number") return Buffer.from([number << 3, value]);
  const bytes = Buffer.from(value);
  return Buffer.concat([Buffer.from([(number << 3) | 2, bytes.length]), bytes]);
}

function message(...fields) {
  return Buffer.concat(fields.map(([number, value]) => field(number, value)));
}

/** An ONNX model `y = x + w` whose `w`, two floats, is in another file. */
function external(location) {
  const value = (name) => message([1, name], [2, message([1, message([1, 1], [2, message([1, message([1, 2])])])])]);
  const weights = message([1, 2], [2, 1], [8, "w"], [13, message([1, "location"], [2, location])], [14, 1]);
  const node = message([1, "x"], [1, "w"], [2, "y"], [4, "Add"]);
  const graph = message([1, node], [2, "external"], [5, weights], [11, value("x")], [12, value("y")]);
  return message([1, 8], [8, message([2, 13])], [7, graph]);
}

test("external data join an ONNX model, before or after it", async () => {
  const page = await visit();
  const onnx = { name: "sum.onnx", bytes: external("parts/sum.data").toString("base64") };
  const data = { name: "sum.data", bytes: Buffer.from(new Float32Array([1, 2]).buffer).toString("base64") };
  await drop(page, onnx);
  await shows(page, "external");
  await waits(page, /sum\.onnx waits for parts\/sum\.data/);
  await drop(page, data);
  await isComplete(page);
  await run(page);
  const other = await visit();
  await drop(other, data);
  await waits(other, /sum\.data waits/);
  await drop(other, onnx);
  await shows(other, "external");
  await isComplete(other);
  await run(other);
  assert.deepEqual([...page.problems, ...other.problems], []);
});

test("weights join a text form, which does not say that it lacks them", async () => {
  const folder = mkdtempSync(join(tmpdir(), "snick-text-"));
  snick("convert", XML, "-o", join(folder, "net.snick"), "--quiet");
  const page = await visit();
  await drop(page, file(join(folder, "net.snick")));
  await shows(page, "focus_cnn");
  await drop(page, file(join(folder, "net.bin")));
  await page.locator("#viewer h1").waitFor();
  await run(page);
  rmSync(folder, { recursive: true });
  assert.deepEqual(page.problems, []);
});

/** The memory in bytes that the processes of the browser, which descend from this process, do not share with files. */
function memory() {
  const processes = readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name)).map((id) => {
    try {
      const status = readFileSync(`/proc/${id}/status`, "utf8");
      const [, parent] = /PPid:\s+([0-9]+)/.exec(status);
      return { id, parent, own: Number(/RssAnon:\s+([0-9]+)/.exec(status)?.[1] ?? 0) * 1024 };
    } catch {
      return { id, parent: "", own: 0 };
    }
  });
  const ours = new Set([String(process.pid)]);
  for (let size = 0; size !== ours.size; ) {
    size = ours.size;
    processes.filter(({ parent }) => ours.has(parent)).forEach(({ id }) => ours.add(id));
  }
  return processes.filter(({ id }) => ours.has(id) && id !== String(process.pid)).reduce((total, { own }) => total + own, 0);
}

/** A model in OpenVINO IR with one constant of the given bytes. */
function wide(folder, bytes) {
  const [xml, bin] = ["xml", "bin"].map((extension) => join(folder, `wide.${extension}`));
  const port = '<port id="0" precision="FP32"><dim>1</dim></port>';
  const count = bytes / 4;
  writeFileSync(xml, `<net name="wide" version="11"><layers>
    <layer id="0" name="x" type="Parameter" version="opset1"><data element_type="f32" shape="1"/><output>${port}</output></layer>
    <layer id="1" name="w" type="Const" version="opset1"><data element_type="f32" shape="${count}" offset="0" size="${bytes}"/><output><port id="0" precision="FP32"><dim>${count}</dim></port></output></layer>
    <layer id="2" name="axis" type="Const" version="opset1"><data element_type="i64" shape="1" offset="0" size="8"/><output><port id="0" precision="I64"><dim>1</dim></port></output></layer>
    <layer id="3" name="most" type="ReduceMax" version="opset1"><data keep_dims="true"/><input><port id="0"><dim>${count}</dim></port><port id="1"><dim>1</dim></port></input><output><port id="2" precision="FP32"><dim>1</dim></port></output></layer>
    <layer id="4" name="sum" type="Add" version="opset1"><input><port id="0"><dim>1</dim></port><port id="1"><dim>1</dim></port></input><output><port id="2" precision="FP32"><dim>1</dim></port></output></layer>
    <layer id="5" name="y" type="Result" version="opset1"><input><port id="0"><dim>1</dim></port></input></layer>
    </layers><edges><edge from-layer="1" from-port="0" to-layer="3" to-port="0"/><edge from-layer="2" from-port="0" to-layer="3" to-port="1"/>
    <edge from-layer="0" from-port="0" to-layer="4" to-port="0"/><edge from-layer="3" from-port="2" to-layer="4" to-port="1"/>
    <edge from-layer="4" from-port="2" to-layer="5" to-port="0"/></edges></net>`);
  const handle = openSync(bin, "w");
  ftruncateSync(handle, bytes);
  closeSync(handle);
  return [xml, bin];
}

test("a model of 500 MB is in memory once, and a larger one is refused", { timeout: 300_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "snick-wide-"));
  try {
    const page = await visit();
    page.setDefaultTimeout(120_000);
    const before = memory();
    let most = 0;
    const timer = setInterval(() => (most = Math.max(most, memory() - before)), 100);
    const chooser = page.waitForEvent("filechooser");
    await page.getByRole("button", { name: "Choose files…" }).click();
    await (await chooser).setFiles(wide(folder, 500e6));
    await shows(page, "wide");
    clearInterval(timer);
    console.log(`500 MB: at most ${Math.round(most / 1e6)} MB more memory`);
    assert.ok(most < 900e6, `${Math.round(most / 1e6)} MB`);
    assert.ok(most > 450e6, "the memory was not measured");
    assert.match(await page.locator("#message").innerText(), /500 MB/);
    await run(page);
    const larger = page.waitForEvent("filechooser");
    await page.getByRole("button", { name: "Open…" }).click();
    await (await larger).setFiles(wide(folder, 1_200e6));
    await page.locator("#message.problem #what", { hasText: "1200 MB" }).waitFor();
    assert.match(await page.locator("#help").innerText(), /snick report/);
    assert.equal(await page.locator("#viewer h1").innerText(), "wide.xml");
    assert.deepEqual(page.problems, []);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
