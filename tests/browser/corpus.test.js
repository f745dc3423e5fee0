// The page's WebAssembly gives the same answers as the command line. Runs under node on all models of the corpus named by
// `SNICK_CORPUS`, or by default on the models of this repository.

import assert from "node:assert/strict";
import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { test } from "node:test";
import { ROOT, snick } from "./browser.js";

const SITE = process.env.SNICK_SITE;

/** Maximum size of a model's files in bytes. */
const MOST_BYTES = 20e6;

/** A new instance, because one that has trapped cannot be reused. */
const module = join(mkdtempSync(join(tmpdir(), "snick-wasm-")), "snick.mjs");
let instances = 0;
async function instance() {
  copyFileSync(join(SITE, "snick.js"), module);
  const made = await import(`${pathToFileURL(module)}?${(instances += 1)}`);
  await made.default({ module_or_path: readFileSync(join(SITE, "snick_bg.wasm")) });
  return made;
}

/** The files of a model in a folder. */
function filesOf(folder) {
  return ["model.xml", "model.bin"].map((name) => join(folder, name)).filter(existsSync);
}

function answers({ Files, Session }, paths) {
  const files = new Files(0);
  for (const path of paths) files.add(path.split("/").at(-1), readFileSync(path));
  const session = new Session(files);
  const found = { infer: session.infer_json(), canon: session.canon_json() };
  session.free();
  return found;
}

test("infer and canon give the JSON of the command line", { timeout: 900_000 }, async () => {
  const folder = process.env.SNICK_CORPUS ? join(process.env.SNICK_CORPUS, "models") : join(ROOT, "models");
  const counts = { equal: 0, larger: 0 };
  const different = [];
  let wasm = await instance();
  for (const name of readdirSync(folder).filter((name) => existsSync(join(folder, name, "model.xml")))) {
    const paths = filesOf(join(folder, name));
    if (paths.reduce((total, path) => total + statSync(path).size, 0) >= MOST_BYTES) {
      counts.larger += 1;
      continue;
    }
    let found;
    try {
      found = answers(wasm, paths);
    } catch (error) {
      // A limit of the page or a trap is reported like any difference.
      different.push(`${name}: ${error.message}`);
      if (typeof error.help !== "string") wasm = await instance();
      continue;
    }
    for (const verb of ["infer", "canon"]) {
      const { text } = snick(verb, paths[0], "--format", "json", "--quiet");
      if (text === found[verb]) counts.equal += 1;
      else different.push(`${name}: ${verb}`);
    }
  }
  console.log(`${counts.equal} answers are those of the command line; ${counts.larger} models are larger than ${MOST_BYTES / 1e6} MB`);
  assert.deepEqual(different, []);
});
