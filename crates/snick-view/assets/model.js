// The indexed data of a report: the layers of all graphs by id, the readers of each layer, and the values of
// expressions at the chosen sizes.

import { worst } from "./contents.js";
import { evaluate, names, parse, renamed, unquoted } from "./expression.js";
import { sizeInBytes } from "./numbers.js";
import { Scopes } from "./scopes.js";

export class Model {
  constructor(data, changes = new Map(), counterparts = new Map()) {
    this.data = data;
    /** For each layer that the other model has differently: the kind of the change, and its details. */
    this.changes = changes;
    /** For each layer: the corresponding layer of the other model. */
    this.counterparts = counterparts;
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
    this.severities = this.worstSeverities();
    this.symbols = new Map(data.symbols.map((symbol) => [unquoted(symbol.name), symbol]));
    this.trees = new Map();
    /** For each symbol: the symbols that are merged from it directly; null until it is needed. */
    this.merges = null;
    this.chosen = new Map();
    /** Pairs of input symbols to which the user gives one size. */
    this.ties = [];
    /** Symbols that are equal in every run, and symbols that are equal unless one of them is 1. */
    this.equal = this.connected(data.equal.map((pair) => pair.map(unquoted)));
    this.alike = this.connected([...data.equal.map((pair) => pair.map(unquoted)), ...this.mergedPairs()]);
    this.listeners = new Set();
    this.forget();
  }

  /** For each layer with an error or a warning, in itself or in a body: the worse of them. */
  worstSeverities() {
    const found = new Map();
    const add = (id, severity) => severity && id !== null && found.set(id, worst(found.get(id), severity));
    for (const [id, findings] of this.findings) for (const { severity } of findings) add(id, severity === "note" ? undefined : severity);
    for (const { id, kind } of this.layers) if (kind === "failed") add(id, "error");
    // The layer that owns a body comes before the layers of the body.
    for (const { owner, layers } of [...this.data.graphs].reverse()) {
      if (owner !== null) layers.forEach(({ id }) => add(owner, found.get(id)));
    }
    return found;
  }

  forget() {
    this.values = new Map();
    this.results = new Map();
    this.conflicts = new Set();
    this.evaluating = new Set();
  }

  /** For each symbol, the first of the symbols that pairs connect it to. */
  connected(pairs) {
    const order = new Map([...this.symbols.keys()].map((name, at) => [name, at]));
    const parents = new Map();
    const first = (name) => {
      let found = name;
      while (parents.has(found)) found = parents.get(found);
      if (found !== name) parents.set(name, found);
      return found;
    };
    for (const pair of pairs.filter((names) => names.every((name) => order.has(name)))) {
      const [a, b] = pair.map(first).sort((x, y) => order.get(x) - order.get(y));
      if (a !== b) parents.set(b, a);
    }
    return new Map([...order.keys()].map((name) => [name, first(name)]));
  }

  /** The symbols that a layer merges into one, in pairs. `snick why` suggests equal names for the same pairs. */
  mergedPairs() {
    const pairs = [];
    for (const [name, { rule, of }] of this.symbols) {
      const parts = rule === "equal" || rule === "broadcast" ? of.map((part) => this.tree(part)).filter((tree) => typeof tree === "string") : [];
      if (parts.length === 2) pairs.push(parts, [name, parts[0]]);
    }
    return pairs;
  }

  /** The symbols declared by inputs. */
  inputSymbols() {
    return [...this.symbols].filter(([, symbol]) => symbol.kind === "input");
  }

  /**
   * The sizes that a user can choose: the symbols declared by inputs. Symbols that are equal or tied are one size. `like` is
   * another size that is probably the same.
   */
  inputSizes() {
    const first = this.connected([...this.equal, ...this.ties]);
    const sizes = new Map();
    for (const [name, symbol] of this.inputSymbols()) {
      const size = sizes.get(first.get(name));
      if (!size) {
        sizes.set(first.get(name), { names: [name], min: symbol.min, max: symbol.max, symbols: [symbol] });
        continue;
      }
      size.names.push(name);
      size.symbols.push(symbol);
      if (Number(symbol.min) > Number(size.min)) size.min = symbol.min;
      if (symbol.max !== undefined && !(Number(symbol.max) >= Number(size.max ?? Infinity))) size.max = symbol.max;
    }
    const list = [...sizes.values()];
    list.forEach((size, at) => {
      size.like = list.slice(0, at).find((other) => this.alike.get(other.names[0]) === this.alike.get(size.names[0]));
      size.isTied = this.ties.some(([, name]) => size.names.includes(name));
    });
    return list;
  }

  /** Chooses or clears a size and notifies all listeners. */
  choose(name, number) {
    this.set(name, number);
    this.changed();
  }

  /** Chooses a size, or clears it if null. */
  set(name, number) {
    const { names } = this.inputSizes().find((size) => size.names.includes(name)) ?? { names: [] };
    for (const one of names) {
      if (number === null) this.chosen.delete(one);
      else this.chosen.set(one, BigInt(number));
    }
  }

  /** Chooses sizes, given as pairs of a symbol and a number, instead of all others. */
  chooseAll(sizes) {
    this.chosen.clear();
    for (const [name, number] of sizes) this.set(name, number);
    this.changed();
  }

  /** Gives a symbol the size of another one. */
  tie(to, name) {
    this.ties.push([to, name]);
    const value = this.chosen.get(to) ?? this.chosen.get(name);
    this.choose(to, value ?? null);
  }

  /** Separates tied symbols. */
  untie(names) {
    this.ties = this.ties.filter((pair) => !pair.some((name) => names.includes(name)));
    this.changed();
  }

  /** Clears all choices. */
  reset() {
    this.chosen.clear();
    this.ties = [];
    this.changed();
  }

  changed() {
    this.forget();
    this.tied = this.ties.length > 0 ? this.connected(this.ties) : null;
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
    if (this.chosen.size === 0) return this.tied ? renamed(expression, (name) => this.nameOf(name)) : String(expression);
    return String(this.evaluate(expression) ?? "?");
  }

  /** The name of a symbol if tied symbols have one name. */
  nameOf(name) {
    const { rule, of } = this.symbols.get(name) ?? {};
    if (!rule) return this.tied.get(name) ?? name;
    const [a, b] = of.map((part) => this.dim(part));
    return a === b && typeof this.tree(a) === "string" ? this.tree(a) : name;
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

  /** The number of unbounded or unknown sizes. */
  openSizes() {
    return this.openOrigins().dims;
  }

  /** The origins of unbounded sizes; once sizes are chosen, the origins of all sizes that are still unknown. */
  openOrigins() {
    if (this.chosen.size === 0) return this.data.unknown;
    const found = new Map();
    let total = 0;
    for (const layer of this.layers) {
      if (layer.kind === "constant") continue;
      for (const { dims } of layer.outputs) {
        const open = (dims ?? []).filter((dim) => this.isOpen(dim));
        total += dims ? open.length : 1;
        for (const name of open.flatMap((dim) => [...names(this.tree(dim))])) {
          if (this.valueOf(name) !== null) continue;
          if (!found.has(name)) found.set(name, { dims: 0, layers: new Set(), outputs: 0 });
          const origin = found.get(name);
          origin.dims += 1;
          origin.layers.add(layer);
          if (layer.kind === "output" && layer.graph === 0) origin.outputs += 1;
        }
      }
    }
    const origins = [...found].map(([name, { dims, layers, outputs }]) => {
      const { layer, reason } = this.symbols.get(name) ?? {};
      return { symbol: name, layer, reason, dims, layers: layers.size, outputs, suggest: [] };
    });
    return { dims: total, origins: origins.sort((a, b) => b.dims - a.dims) };
  }

  isOpenOutput(output) {
    return !output.dims || output.dims.some((dim) => this.isOpen(dim));
  }

  /** The output that an input reads. */
  source([layer, port]) {
    return this.layers[layer].outputs[port];
  }

  /** Whether a layer, or a constant that it reads, was added, removed or changed; undefined if not. */
  markOf(layer) {
    const isChanged = () => this.changes.size > 0 && this.constantsOf(layer).some((id) => this.changes.has(id));
    return this.changes.get(layer.id)?.kind ?? (isChanged() ? "changed" : undefined);
  }

  /** The constants that a layer contains in the graph, and the layers computed from them. */
  constantsOf(layer) {
    const found = new Set();
    const waiting = this.constants.has(layer.id) ? [] : [layer];
    for (const reader of waiting) {
      for (const source of reader.inputs) {
        if (!source || !this.constants.has(source[0]) || found.has(source[0])) continue;
        found.add(source[0]);
        waiting.push(this.layers[source[0]]);
      }
    }
    return [...found];
  }

  /** The layers that contain a constant in the graph. */
  readersThroughConstants(constant) {
    const found = new Set([constant.id]);
    for (const id of found) if (this.constants.has(id)) this.layers[id].readers.forEach(([reader]) => found.add(reader));
    return [...found].filter((id) => !this.constants.has(id));
  }

  /** A symbol, and the symbols that are merged from it, directly or through each other. */
  mergedFrom(name) {
    if (!this.merges) {
      this.merges = new Map([...this.symbols.keys()].map((part) => [part, []]));
      for (const [other, { of = [] }] of this.symbols) for (const part of of) names(this.tree(part)).forEach((one) => this.merges.get(one)?.push(other));
    }
    const found = new Set([name]);
    for (const one of found) this.merges.get(one).forEach((other) => found.add(other));
    return found;
  }

  /** The outputs whose sizes depend on a symbol, in execution order. */
  dependents(name) {
    const merged = this.mergedFrom(name);
    const depends = (dim) => typeof dim === "string" && [...names(this.tree(dim))].some((other) => merged.has(other));
    return this.layers.flatMap((layer) => layer.outputs.filter((output) => output.dims?.some(depends)).map((output) => ({ layer, output })));
  }

  /** The outputs of the layers of a scope that other layers read. */
  leaving({ layers }) {
    const inside = new Set(layers.map(({ id }) => id));
    const leaves = ([id, port]) => this.layers[id].readers.some(([reader, input]) => !inside.has(reader) && this.layers[reader].inputs[input][1] === port);
    return layers.flatMap((layer) => layer.outputs.map((_, port) => [layer.id, port])).filter(leaves);
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
