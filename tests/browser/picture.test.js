// A picture shows the first view of a report: the same boxes at the same places.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { dataOf, model, ROOT, writeReport } from "./browser.js";
import { boxOf, startOf } from "../../crates/snick-view/assets/boxes.js";
import { place } from "../../crates/snick-view/assets/layout.js";
import { Model } from "../../crates/snick-view/assets/model.js";

const folder = mkdtempSync(join(tmpdir(), "snick-picture-"));

const unquoted = (text) => text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"').replaceAll("&#39;", "'").replaceAll("&amp;", "&");

/** The boxes and arrows of each graph of a picture, as text. */
function drawn(path, ...options) {
  const picture = join(folder, "picture.svg");
  execFileSync(process.env.SNICK, ["convert", path, "-o", picture, ...options], { stdio: "ignore" });
  const graphs = readFileSync(picture, "utf8").split('<g transform="translate(0 ').slice(1);
  return graphs.map((graph) => ({
    boxes: graph.split("<g><title>").slice(1).map((part) => {
      const [box] = part.split("</g>");
      const [, x, y, width, height] = /<rect [^>]* x="(.*?)" y="(.*?)" width="(.*?)" height="(.*?)"/.exec(box);
      const texts = [...box.matchAll(/<text class="(\w+)[^>]*>(.*?)<\/text>/g)].map(([, kind, text]) => [kind === "out", unquoted(text)]);
      const lines = (isOutput) => texts.filter(([kind]) => kind === isOutput).map(([, text]) => text);
      return { place: [x, y, width, height], lines: lines(false), outputs: lines(true).length };
    }),
    arrows: [...graph.matchAll(/<path class="way"[^>]* d="(.*?)"/g)].map(([, way]) => way),
  }));
}

/** A picture has one decimal place. */
const isWritten = (text, number) => Math.abs(Number(text) - number) < 0.051;

/** The boxes and the points of the arrows of the first view of a report. */
function firstView(path) {
  const shown = new Model(dataOf(writeReport(path)));
  return shown.scopes.map((scopes) => {
    const { boxes: items, arrows } = scopes.visible();
    const boxes = items.map((item) => boxOf(shown, item));
    const placed = place(boxes, arrows);
    return {
      boxes: boxes.map(({ inner, height, lines, outputs }, at) => {
        const { x, y } = placed.boxes[at];
        return { place: [x - inner / 2, y, inner, height], lines, outputs: outputs.length };
      }),
      arrows: arrows.map(([from, to], at) => {
        return [...startOf({ ...boxes[from], ...placed.boxes[from] }), ...placed.ways[at], placed.boxes[to]];
      }),
    };
  });
}

/** Whether a straight line passes through a rectangle. */
function passes([from, to], [left, top, width, height]) {
  let [first, last] = [0, 1];
  const clip = (step, room) => {
    if (step === 0) return room > 0;
    if (step < 0) first = Math.max(first, room / step);
    else last = Math.min(last, room / step);
    return first < last;
  };
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  return clip(-dx, from.x - left) && clip(dx, left + width - from.x) && clip(-dy, from.y - top) && clip(dy, top + height - from.y);
}

/** Checks that no arrow passes through a box. */
function assertClear({ boxes, arrows }, path) {
  for (const stops of arrows) {
    for (let at = 1; at < stops.length; at += 1) {
      for (const { place, lines } of boxes) assert.ok(!passes([stops[at - 1], stops[at]], place), `an arrow of ${path} passes through ${lines}`);
    }
  }
}

/** Checks that pictures and reports of a model have the same boxes and arrows. */
function assertSame(path) {
  const [pictures, views] = [drawn(path), firstView(path)];
  views.forEach((view) => assertClear(view, path));
  assert.equal(pictures.length, views.length);
  // A picture draws bodies below their owner, a report after all graphs outside.
  const key = ({ boxes }) => JSON.stringify(boxes.map(({ lines }) => lines));
  for (const view of views) {
    const picture = pictures.find((one) => key(one) === key(view));
    assert.ok(picture, `no picture shows ${key(view).slice(0, 200)}`);
    view.boxes.forEach(({ place, outputs }, at) => {
      picture.boxes[at].place.forEach((text, index) => assert.ok(isWritten(text, place[index]), `${picture.boxes[at].lines}: ${text} ${place[index]}`));
      assert.equal(picture.boxes[at].outputs, outputs);
    });
    assert.equal(picture.arrows.length, view.arrows.length);
    view.arrows.forEach((stops, at) => {
      const numbers = picture.arrows[at].match(/-?[\d.]+/g);
      assert.ok(isWritten(numbers[0], stops[0].x) && isWritten(numbers[1], stops[0].y) && isWritten(numbers.at(-1), stops.at(-1).y));
      assert.equal(picture.arrows[at].match(/[VC]/g).length, stops.length - 1);
    });
  }
}

for (const name of readdirSync(join(ROOT, "models")).filter((name) => existsSync(model(name)))) {
  test(`the picture of ${name} is the first view of its report`, () => assertSame(model(name)));
}

/** Numbers from 0 up to a limit, the same in each run of a seed (a linear congruential generator). */
function random(seed) {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

/** A model of random layers in nested scopes, some of which repeat, with long arrows and constants. */
function randomModel(seed) {
  const pick = random(seed);
  const lines = ['%x = Parameter-1 {element_type: f32, shape: "N,8"}', '%z = Parameter-1 {element_type: f32, shape: "N,8"}'];
  const known = ["x", "z"];
  const blocks = 1 + pick(5);
  const body = Array.from({ length: 1 + pick(6) }, () => [pick(4), pick(30), pick(3)]);
  for (let block = 0; block < blocks * 2; block += 1) {
    const isRegular = pick(4) > 0;
    for (const [at, [op, back, depth]] of body.entries()) {
      const name = `net/h.${block}/${"inner/".repeat(isRegular ? depth : pick(3))}l${at}é`;
      const source = (far) => `%${JSON.stringify(known[Math.max(known.length - 1 - far, 0)])}`;
      if (op === 0) {
        lines.push(`%"${name}.weights" = Const-1 f32[8, 8] <${Array.from({ length: 64 }, (_, i) => i).join(", ")}>`);
        lines.push(`%"${name}" = MatMul-1(${source(0)}, %"${name}.weights") {transpose_a: false, transpose_b: true}`);
      } else if (op === 1) {
        lines.push(`%"${name}" = Add-1(${source(0)}, ${source(back)}) {auto_broadcast: "numpy"}`);
      } else {
        lines.push(`%"${name}" = ${["ReLU", "Tanh"][op - 2]}-1(${source(pick(9) === 0 ? back : 0)})`);
      }
      known.push(name);
    }
  }
  return `snick 1\ngraph "g" {\n  ${lines.join("\n  ")}\n  %y = Result-1(%"${known.at(-1)}")\n}\n`;
}

test("pictures of random models are the first views of their reports", () => {
  for (let seed = 1; seed <= 60; seed += 1) {
    const path = join(folder, `${seed}.snick`);
    writeFileSync(path, randomModel(seed));
    assertSame(path);
  }
});
if (process.env.SNICK_CORPUS) {
  for (const name of readdirSync(join(process.env.SNICK_CORPUS, "models"))) {
    const path = ["model.xml", "model.onnx", "graph.json"].map((file) => join(process.env.SNICK_CORPUS, "models", name, file)).find(existsSync);
    if (path) test(`the picture of ${name} in the corpus`, () => assertSame(path));
  }
}
