// The folding of graphs: whatever is folded, arrows go down.

import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { dataOf, model, ROOT, writeReport } from "./browser.js";
import { place } from "../../crates/snick-view/assets/layout.js";
import { Scopes } from "../../crates/snick-view/assets/scopes.js";

/** Checks that no arrow goes up or sideways. */
function assertDown(scopes, state) {
  const { boxes, arrows } = scopes.visible();
  const placed = place(boxes.map(() => ({ width: 100, height: 40, below: 20 })), arrows);
  for (const [from, to] of arrows) {
    assert.ok(placed.boxes[from].y < placed.boxes[to].y, `${state}: ${boxes[from].name} to ${boxes[to].name}`);
  }
}

/** All scopes, outermost first. */
function all(scopes) {
  const found = [...scopes.root.children];
  for (const scope of found) found.push(...scope.children);
  return found;
}

/** Checks the first state, everything folded or open, and each scope folded or open by itself. */
function assertDownInEveryState(graph) {
  const scopes = new Scopes(graph);
  assertDown(scopes, "first");
  for (const isOpen of [false, true]) {
    scopes.setAll(isOpen);
    assertDown(scopes, isOpen ? "open" : "folded");
    for (const scope of all(scopes)) {
      scope.isOpen = !isOpen;
      assertDown(scopes, `${scope.name} ${isOpen ? "folded" : "open"}`);
      scope.isOpen = isOpen;
    }
  }
  return scopes;
}

/** A graph of layers given as names and the indices of their sources. */
function graphOf(layers) {
  return { repeats: [], layers: layers.map(([name, sources, kind], id) => ({ id, name, op: "Op", kind, inputs: sources.map((source) => [source, 0]) })) };
}

const ids = (data) => {
  let id = 0;
  for (const graph of data.graphs) for (const layer of graph.layers) layer.id = id++;
  return data;
};

for (const name of readdirSync(join(ROOT, "models")).filter((name) => existsSync(model(name)))) {
  test(`arrows of ${name} go down`, () => {
    for (const graph of ids(dataOf(writeReport(model(name)))).graphs) assertDownInEveryState(graph);
  });
}

test("a scope that is left and entered again is two scopes", () => {
  const scopes = assertDownInEveryState(graphOf([["a/1", []], ["a/2", [0]], ["b/1", [1]], ["b/2", [2]], ["a/3", [3]], ["a/4", [4]]]));
  assert.deepEqual(scopes.root.children.map((scope) => [scope.name, scope.size]), [["a", 2], ["b", 2], ["a", 2]]);
});

test("layers of a shared module belong to the blocks that call it", () => {
  const layers = [];
  for (let block = 0; block < 6; block += 1) {
    layers.push([`block.${block}.conv`, block ? [layers.length - 1] : []], [`act.${block}`, [layers.length]]);
    for (const name of ["norm", "up", "down", "add"]) layers.push([`block.${block}.${name}`, [layers.length - 1]]);
  }
  const scopes = assertDownInEveryState(graphOf(layers));
  assert.deepEqual(scopes.root.items[0].items.map((scope) => scope.size), [6, 6, 6, 6, 6, 6]);
});

test("constants and what is computed from them are part of their readers", () => {
  const graph = graphOf([["x", [], "input"], ["w", [], "constant"], ["convert", [1]], ["conv", [0, 2]], ["y", [3], "output"]]);
  const scopes = assertDownInEveryState(graph);
  assert.deepEqual(scopes.visible().boxes.map(({ name }) => name), ["x", "conv", "y"]);
  assert.deepEqual(scopes.constantsOf.get(3), [2, 1]);
});

test("a long chain is divided into sections", () => {
  const chain = graphOf(Array.from({ length: 10000 }, (_, at) => [`layer_${at}`, at ? [at - 1] : []]));
  const scopes = new Scopes(chain);
  assertDown(scopes, "first");
  assert.ok(scopes.visible().boxes.length <= 90, `${scopes.visible().boxes.length} boxes`);
});
