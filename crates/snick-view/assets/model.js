// The indexed data of a report: the layers of all graphs by id, the readers of each layer, and the values of
// expressions at the chosen sizes.

import { evaluate, names, parse, unquoted } from "./expression.js";
import { sizeInBytes } from "./numbers.js";
import { Scopes } from "./scopes.js";

export class Model {
  constructor(data, marks = new Map()) {
    this.data = data;
    /** For each layer: added, removed or changed. */
    this.marks = marks;
    this.layers = [];
    for (const [graph, { layers }] of data.graphs.entries()) {
      for (const layer of layers) this.layers.push(Object.assign(layer, { id: this.layers.length, graph, readers: [] }));
    }
    for (const layer of this.layers) {
      layer.search = `${layer.name}\n${layer.op}`.toLowerCase();
      for (const [port, source] of layer.inputs.entries()) {
        if (source) this.layers[source[0]].readers.push([layer.id, port]);
      }
    }
    /** The scopes of each graph. */
    this.scopes = data.graphs.map((graph) => new Scopes(graph));
    /** The layers that depend on constants only. They are part of the layers that read them. */
    this.constants = new Set(this.layers.filter((layer) => !this.scopes[layer.graph].of.has(layer.id)).map(({ id }) => id));
    this.slices = new Map(data.slices.map((slice) => [slice.layer, slice]));
    this.findings = new Map();
    for (const finding of data.check.findings) {
      this.findings.set(finding.layer, [...(this.findings.get(finding.layer) ?? []), finding]);
    }
    this.symbols = new Map(data.symbols.map((symbol) => [unquoted(symbol.name), symbol]));
    this.trees = new Map();
    this.chosen = new Map();
    this.listeners = new Set();
    this.forget();
  }

  forget() {
    this.values = new Map();
    this.results = new Map();
    this.conflicts = new Set();
    this.evaluating = new Set();
  }

  /** The symbols that a user can choose: the symbols declared by inputs. */
  inputSymbols() {
    return [...this.symbols].filter(([, symbol]) => symbol.kind === "input");
  }

  /** Chooses the size of a symbol, or clears it if null, and notifies all listeners. */
  choose(name, size) {
    if (size === null) this.chosen.delete(name);
    else this.chosen.set(name, BigInt(size));
    this.changed();
  }

  /** Clears all choices. */
  reset() {
    this.chosen.clear();
    this.changed();
  }

  changed() {
    this.forget();
    // Every symbol is evaluated to find all contradictions.
    if (this.chosen.size > 0) for (const name of this.symbols.keys()) this.valueOf(name);
    this.listeners.forEach((listener) => listener());
  }

  onChange(listener) {
    this.listeners.add(listener);
  }

  tree(text) {
    let tree = this.trees.get(text);
    if (tree === undefined) this.trees.set(text, (tree = parse(text)));
    return tree;
  }

  /** The value of an expression at the chosen sizes: a BigInt, or null if unknown. */
  evaluate(expression) {
    if (typeof expression === "number") return BigInt(expression);
    if (expression === null || expression === undefined) return null;
    let result = this.results.get(expression);
    if (result === undefined) {
      result = evaluate(this.tree(expression), (name) => this.valueOf(name));
      this.results.set(expression, result);
    }
    return result;
  }

  valueOf(name) {
    if (this.values.has(name)) return this.values.get(name);
    const symbol = this.symbols.get(name);
    // A symbol that is merged from itself is unknown.
    if (!symbol || this.evaluating.has(name)) return null;
    this.evaluating.add(name);
    let value = this.chosen.get(name) ?? this.merged(name, symbol);
    this.evaluating.delete(name);
    if (value === null && symbol.min === symbol.max) value = BigInt(symbol.min);
    if (value !== null && (value < BigInt(symbol.min) || (symbol.max !== undefined && value > BigInt(symbol.max)))) {
      this.conflicts.add(`${name} = ${value} is not within ${interval(symbol)}`);
    }
    this.values.set(name, value);
    return value;
  }

  /** The value of a symbol that merges two expressions. */
  merged(name, symbol) {
    if (!symbol.of) return null;
    const [a, b] = symbol.of.map((part) => this.evaluate(part));
    const differ = a !== null && b !== null && a !== b;
    if (symbol.rule === "either") return a !== null && a === b ? a : null;
    if (symbol.rule === "broadcast") {
      if (a === 1n) return b;
      if (b === 1n) return a;
    }
    if (differ) {
      const [left, right] = symbol.of;
      const problem = symbol.rule === "broadcast" ? "do not broadcast" : "must be equal";
      this.conflicts.add(`${shownSize(left, a)} and ${shownSize(right, b)} ${problem}`);
      return null;
    }
    return a ?? b;
  }

  /** A size as text: symbolic until sizes are chosen, then a number or `?`. */
  dim(expression) {
    if (this.chosen.size === 0) return String(expression);
    return String(this.evaluate(expression) ?? "?");
  }

  /** `f32[N,3]` */
  fact(output) {
    if (!output) return "?";
    return `${output.type}${this.shape(output)}`;
  }

  shape(output) {
    return output.dims ? `[${output.dims.map((dim) => this.dim(dim)).join(",")}]` : "[...]";
  }

  /** Whether a size is unbounded or unknown. */
  isOpen(expression) {
    if (typeof expression === "number") return false;
    if (this.chosen.size > 0) return this.evaluate(expression) === null;
    return [...names(this.tree(expression))].some((name) => this.symbols.get(name)?.max === undefined);
  }

  isOpenOutput(output) {
    return !output.dims || output.dims.some((dim) => this.isOpen(dim));
  }

  /** The output that an input reads. */
  source([layer, port]) {
    return this.layers[layer].outputs[port];
  }

  /** The bytes of the constants of which a layer is the first reader, directly or through other constants. */
  weights(layer) {
    let total = 0;
    const isInside = (id) => this.constants.has(id) && this.layers[id].readers[0][0];
    const waiting = this.constants.has(layer.id) ? [] : [layer];
    for (const reader of waiting) {
      for (const source of reader.inputs) {
        const from = source && isInside(source[0]) === reader.id ? this.layers[source[0]] : null;
        if (!from || waiting.includes(from)) continue;
        waiting.push(from);
        const [{ type, dims }] = from.outputs;
        if (from.kind === "constant") total += dims ? sizeInBytes(type, dims) : 0;
      }
    }
    return total;
  }

  /** Multiply-accumulates, operations, and output bytes of a layer. */
  cost(layer) {
    return (layer.cost ?? [0, 0, 0]).map((amount) => this.evaluate(amount));
  }

  /** The layers whose name or operation contains a text, best matches first. */
  search(text) {
    const wanted = text.trim().toLowerCase();
    if (!wanted) return [];
    const found = this.layers.filter((layer) => layer.search.includes(wanted));
    const rank = (layer) => (layer.name.toLowerCase() === wanted ? 0 : layer.kind === "constant" ? 2 : 1);
    return found.map((layer) => [rank(layer), layer]).sort(([a], [b]) => a - b).map(([, layer]) => layer);
  }
}

function shownSize(expression, value) {
  return String(expression) === String(value) ? `${value}` : `${expression} = ${value}`;
}

/** `16..64` */
export function interval(symbol) {
  return symbol.min === symbol.max ? `${symbol.min}` : `${symbol.min}..${symbol.max ?? ""}`;
}
