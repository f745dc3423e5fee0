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
  assert.deepEqual(new Set(scopes.layers).size, scopes.layers.length);
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
