// The scopes that a user expands and collapses. Each is a run of layers in one execution order, so a graph in which any
// scopes are collapsed has no cycle. The scopes come from the names of layers; where names give too few, from the places
// at which a single value connects what comes before and after.

import { executionOrder } from "./execution.js";

/** Scopes nested deeper than this are not distinguished. */
const DEEPEST = 12;

/** Maximum number of boxes to show at first. */
const FIRST = 90;

/** The number of sections into which a scope with too many parts is divided. */
const SECTIONS = 24;

/** Layers with bodies, states or random results are shown even if all their inputs are constant. */
const ALWAYS_SHOWN = /^(If|Loop|TensorIterator|ReadValue|Assign|Random.*|Multinomial)$/;

/** A scope, or a group of repeating scopes. */
class Scope {
  constructor(name, parent) {
    Object.assign(this, { name, parent, items: [], size: 0, first: Infinity, isOpen: false, repeats: 0 });
  }

  /** The scopes directly inside. */
  get children() {
    return this.items.filter((item) => item instanceof Scope);
  }

  /** The enclosing scopes, outermost first, and the scope itself. */
  path() {
    const path = [];
    for (let scope = this; scope.parent; scope = scope.parent) path.unshift(scope);
    return path;
  }
}

/** The scopes of one graph. */
export class Scopes {
  constructor(graph) {
    const constant = constants(graph);
    const layers = graph.layers.filter((layer) => !constant.has(layer.id));
    const at = new Map(layers.map((layer, index) => [layer.id, index]));
    const sources = layers.map((layer) => [...new Set(layer.inputs.map((source) => source && at.get(source[0])))].filter((source) => source !== undefined && source !== null));
    const paths = withHosts(layers, sources);
    /** The layers in execution order. */
    this.layers = executionOrder(paths, sources).map((index) => layers[index]);
    this.root = this.tree(this.layers.map((layer) => paths[at.get(layer.id)]));
    for (const repeat of graph.repeats) this.group(repeat);
    this.divide(this.root);
    /** For each layer: the constants and the layers computed from them that it contains. */
    this.constantsOf = new Map(layers.map((layer) => [layer.id, sourcesWithin(layer, constant, graph)]));
    /** For each layer: the innermost scope. */
    this.of = new Map();
    this.measure(this.root, new Map(this.layers.map((layer, index) => [layer, index])));
    this.root.isOpen = true;
    this.openFirst();
  }

  /** Scopes with these paths, in which each run of layers with a common scope is one scope. */
  tree(paths) {
    const root = new Scope("", null);
    let open = [root];
    this.layers.forEach((layer, index) => {
      const path = paths[index];
      let depth = 0;
      while (depth < path.length && open[depth + 1]?.name === path[depth]) depth += 1;
      open = open.slice(0, depth + 1);
      for (const name of path.slice(depth)) {
        const scope = new Scope(name, open.at(-1));
        open.at(-1).items.push(scope);
        open.push(scope);
      }
      open.at(-1).items.push(layer);
    });
    dissolve(root);
    return root;
  }

  /** Groups repeating scopes that follow each other. */
  group(names) {
    const wanted = new Set(names);
    const visit = (scope) => {
      scope.children.forEach(visit);
      const items = [];
      let run = [];
      const close = () => {
        if (run.length > 1) {
          const group = new Scope(`${run[0].name} … ${run.at(-1).name}`, scope);
          Object.assign(group, { repeats: run.length, items: run });
          run.forEach((part) => (part.parent = group));
          items.push(group);
        } else {
          items.push(...run);
        }
        run = [];
      };
      for (const item of scope.items) {
        if (item instanceof Scope && wanted.has(item.name)) {
          run.push(item);
          continue;
        }
        close();
        items.push(item);
      }
      close();
      scope.items = items;
    };
    visit(this.root);
  }

  /** Divides scopes that have too many parts into sections. */
  divide(scope) {
    if (scope.items.length > FIRST) scope.items = sections(scope);
    scope.children.forEach((child) => this.divide(child));
  }

  /** Counts layers, and notes the scope of each. */
  measure(scope, indices) {
    scope.size = 0;
    for (const item of scope.items) {
      if (item instanceof Scope) this.measure(item, indices);
      else this.of.set(item.id, scope);
      scope.size += item instanceof Scope ? item.size : 1;
      scope.first = Math.min(scope.first, item instanceof Scope ? item.first : indices.get(item));
    }
  }

  /** Opens scopes level by level as long as that shows few boxes. */
  openFirst() {
    let level = this.root.children;
    while (level.length > 0) {
      const next = level.filter((scope) => !scope.repeats);
      next.forEach((scope) => (scope.isOpen = true));
      if (this.visible().boxes.length > FIRST) {
        next.forEach((scope) => (scope.isOpen = false));
        return;
      }
      level = next.flatMap((scope) => scope.children);
    }
  }

  /** Opens or closes all scopes. */
  setAll(isOpen) {
    const waiting = [...this.root.children];
    for (const scope of waiting) {
      scope.isOpen = isOpen;
      for (const child of scope.children) waiting.push(child);
    }
  }

  /** Opens the scopes around a layer. */
  reveal(layer) {
    this.of.get(layer.id)?.path().forEach((scope) => (scope.isOpen = true));
  }

  /** The outermost closed scope around a layer, or the layer itself. */
  shownAs(layer) {
    const closed = this.of.get(layer.id)?.path().find((scope) => !scope.isOpen);
    return closed ?? layer;
  }

  /** Boxes in execution order, and arrows between them as pairs of indices. */
  visible() {
    const places = new Map();
    const boxes = [];
    const place = new Map();
    for (const layer of this.layers) {
      const shown = this.shownAs(layer);
      if (!places.has(shown)) {
        places.set(shown, boxes.length);
        boxes.push(shown);
      }
      place.set(layer.id, places.get(shown));
    }
    const pairs = new Set();
    for (const layer of this.layers) {
      const to = place.get(layer.id);
      for (const source of layer.inputs) {
        const from = source ? place.get(source[0]) : undefined;
        if (from !== undefined && from !== to) pairs.add(from * boxes.length + to);
      }
    }
    const arrows = [...pairs].sort((a, b) => a - b);
    return { boxes, arrows: arrows.map((pair) => [Math.floor(pair / boxes.length), pair % boxes.length]) };
  }
}

/** The layers that depend on constants only. They are part of the layers that read them. */
export function constants(graph) {
  const constant = new Set();
  for (const layer of graph.layers) {
    const sources = layer.inputs.filter(Boolean);
    const isComputed = sources.length > 0 && layer.kind !== "output" && !ALWAYS_SHOWN.test(layer.op);
    if (layer.kind === "constant" || (isComputed && sources.every(([id]) => constant.has(id)))) constant.add(layer.id);
  }
  return constant;
}

/** The layers that a layer reads, directly or through each other, if they are in a set. */
function sourcesWithin(layer, set, graph) {
  const first = graph.layers[0]?.id ?? 0;
  const found = new Set();
  const waiting = [layer];
  for (const reader of waiting) {
    for (const source of reader.inputs) {
      if (!source || !set.has(source[0]) || found.has(source[0])) continue;
      found.add(source[0]);
      waiting.push(graph.layers[source[0] - first]);
    }
  }
  return [...found];
}

/** Removes scopes with a single part. */
function dissolve(scope) {
  scope.items = scope.items.flatMap((item) => {
    if (!(item instanceof Scope)) return [item];
    dissolve(item);
    if (item.items.length > 1) return [item];
    item.children.forEach((child) => (child.parent = scope));
    return item.items;
  });
}

/** The scopes around a layer, outermost first. */
function scopesOf(name) {
  const scopes = [];
  for (let at = 1; at < name.length && scopes.length < DEEPEST; at += 1) {
    if (name[at] === "/" || name[at] === ".") scopes.push(name.slice(0, at));
  }
  return scopes;
}

/**
 * The scopes around each layer. A layer whose name has no scope, such as a convolution that was fused with a
 * normalisation, is in the scopes of its readers. A layer of a shared module, such as an activation that many blocks call,
 * is in the scopes of its source. If these have no scopes of their own either, the layer is in the scopes that the nearest
 * named layers before and after it share.
 */
function withHosts(layers, sources) {
  const readers = layers.map(() => []);
  sources.forEach((list, node) => list.forEach((source) => readers[source].push(node)));
  const paths = layers.map((layer) => scopesOf(layer.name));
  const sorted = executionOrder(paths, sources);
  const shared = sharedModules(sorted.map((node) => paths[node]));
  const named = paths.map((path) => path.length > 0 && !path.some((scope) => shared.has(scope)));
  const nearest = (nodes, neighbours) => {
    const found = [...paths];
    for (const node of nodes) if (!named[node]) found[node] = neighbours[node].map((other) => found[other]).reduce(common, null) ?? [];
    return found;
  };
  const [above, below] = [nearest(sorted, sources), nearest([...sorted].reverse(), readers)];
  const hosts = (node) => {
    const near = paths[node].length > 0 ? sources[node] : readers[node];
    return near.length > 0 && near.every((other) => named[other]) ? near.map((other) => paths[other]).reduce(common) : common(above[node], below[node]);
  };
  const isEnd = ({ kind }) => kind === "input" || kind === "output";
  return paths.map((path, node) => (named[node] || isEnd(layers[node]) ? path : hosts(node)));
}

/** A scope whose layers make up a smaller share of the layers between its first and its last is a shared module. */
const DENSE = 0.3;

/** The scopes whose layers are scattered over the others, given the scopes of each layer in execution order. */
function sharedModules(paths) {
  const found = new Map();
  paths.forEach((path, at) => {
    for (const scope of path) {
      const known = found.get(scope);
      if (!known) found.set(scope, { first: at, last: at, runs: 1, size: 1 });
      else Object.assign(known, { last: at, runs: known.runs + (known.last + 1 < at ? 1 : 0), size: known.size + 1 });
    }
  });
  const isScattered = ({ first, last, runs, size }) => runs > 2 && size < 1.25 * runs && size < DENSE * (last + 1 - first);
  return new Set([...found].filter(([, scope]) => isScattered(scope)).map(([name]) => name));
}

/** The scopes that two paths share. */
function common(a, b) {
  if (a === null) return b;
  let depth = 0;
  while (depth < a.length && a[depth] === b[depth]) depth += 1;
  return a.slice(0, depth);
}

/** The parts of a scope as sections. A section ends where a single value leads on, if there are enough such places. */
function sections(scope) {
  const { items } = scope;
  const of = new Map();
  const layersOf = (item) => (item instanceof Scope ? item.items.flatMap(layersOf) : [item]);
  items.forEach((item, at) => layersOf(item).forEach((layer) => of.set(layer.id, at)));
  const lastReader = items.map((_, at) => at);
  items.forEach((item, at) => {
    for (const layer of layersOf(item)) {
      for (const source of layer.inputs) {
        const from = source && of.get(source[0]);
        if (from !== undefined && from !== null) lastReader[from] = Math.max(lastReader[from], at);
      }
    }
  });
  // The number of items whose values cross the place after each item.
  const change = new Array(items.length + 1).fill(0);
  lastReader.forEach((last, at) => {
    if (last > at) [change[at], change[last]] = [change[at] + 1, change[last] - 1];
  });
  let live = 0;
  const cuts = [];
  items.forEach((_, at) => {
    live += change[at];
    if (live <= 1) cuts.push(at + 1);
  });
  if (cuts.at(-1) !== items.length) cuts.push(items.length);
  const length = items.length / SECTIONS;
  const ends = [];
  for (const cut of cuts.length >= SECTIONS ? cuts : items.map((_, at) => at + 1)) {
    if (cut - (ends.at(-1) ?? 0) >= length || cut === items.length) ends.push(cut);
  }
  let start = 0;
  return ends.flatMap((end) => {
    const part = items.slice(start, end);
    start = end;
    if (part.length === 1) return part;
    const names = [part[0], part.at(-1)].map((item) => item.name);
    const section = new Scope(names.join(" … "), scope);
    section.items = part;
    part.forEach((item) => item instanceof Scope && (item.parent = section));
    return [section];
  });
}
