// The expression evaluator uses the same arithmetic as snick-shape.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ROOT } from "./browser.js";

const source = readFileSync(join(ROOT, "crates/snick-view/assets/expression.js"), "utf8");
const { evaluate, parse, parts } = await import(`data:text/javascript,${encodeURIComponent(source)}`);

const SYMBOLS = { N: 7n, M: -7n, "a b`c": 3n, "max": 2n };
const value = (text) => evaluate(parse(text), (name) => SYMBOLS[name] ?? null);

test("expressions have exact values", () => {
  const cases = {
    "2*N-1": 13n, "N/2": 3n, "M/2": -4n, "M%2": 1n, "N%4+1": 4n, "-(N/2)": -3n, "-N/2": -4n, "(N+1)*(N-1)/5": 9n, "min(N,4,M)": -7n,
    "max(N-8,0)": 0n, "`a b``c`*2": 6n, max: 2n, "9007199254740993*1": 9007199254740993n, "N-3-2": 2n, "9223372036854775807": 2n ** 63n - 1n,
  };
  for (const [text, wanted] of Object.entries(cases)) assert.equal(value(text), wanted, text);
});

test("what cannot be known has no value", () => {
  for (const text of ["K", "K*0", "N/(N-7)", "N%M", "9223372036854775807+1", "min(K,1)"]) assert.equal(value(text), null, text);
});

test("sums of many terms are evaluated", () => {
  const text = Array.from({ length: 50_000 }, () => "N").join("+");
  assert.equal(value(text), 350_000n);
});

test("what is no expression is refused", () => {
  for (const text of ["", "2*", "(N", "N)", "min()", "N $ 2"]) assert.throws(() => parse(text), SyntaxError, text);
});

test("a text is divided into names and other parts", () => {
  assert.deepEqual(parts("max(N,`a b`)+s0.x/2"), [["max(", null], ["N", "N"], [",", null], ["`a b`", "a b"], [")+", null], ["s0.x", "s0.x"], ["/2", null]]);
  assert.deepEqual(parts("max"), [["max", "max"]]);
  assert.equal(parts("[:, -s1:]").map(([part]) => part).join(""), "[:, -s1:]");
});
