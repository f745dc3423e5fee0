// The scopes in layer names, which a user expands and collapses. Scopes of equal structure form a group.

/** Scopes nested deeper than this are not distinguished. */
const DEEPEST = 12;

/** Maximum number of boxes to show at first, if scopes allow it. */
const FIRST = 90;

/** A scope, or a group of repeating scopes. */
class Scope {
  constructor(name, parent) {
    Object.assign(this, { name, parent, children: [], size: 0, first: Infinity, isOpen: false, repeats: 0 });
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
    this.layers = graph.layers.filter((layer) => layer.kind !== "constant");
    this.root = new Scope("", null);
    this.root.isOpen = true;
    const counts = new Map();
    const ends = this.layers.map((layer) => endsOf(layer.name));
    this.layers.forEach((layer, at) => {
      for (const end of ends[at]) {
        const name = layer.name.slice(0, end);
        counts.set(name, (counts.get(name) ?? 0) + 1);
      }
    });
    this.byName = new Map();
    /** For each layer: the innermost scope. */
    this.of = new Map();
    this.layers.forEach((layer, at) => {
      let scope = this.root;
      for (const end of ends[at]) {
        const name = layer.name.slice(0, end);
        // A scope with a single layer, or with the same layers as its parent, adds nothing.
        if (counts.get(name) > 1 && counts.get(name) < (counts.get(scope.name) ?? Infinity)) scope = this.scope(name, scope);
      }
      this.of.set(layer.id, scope);
      for (let outer = scope; outer; outer = outer.parent) {
        outer.size += 1;
        outer.first = Math.min(outer.first, at);
      }
    });
    for (const repeat of graph.repeats) this.group(repeat);
    this.openFirst();
  }

  scope(name, parent) {
    let scope = this.byName.get(name);
    if (!scope) {
      this.byName.set(name, (scope = new Scope(name, parent)));
      parent.children.push(scope);
    }
    return scope;
  }

  /** Groups repeating scopes if they are siblings. */
  group(names) {
    const scopes = names.map((name) => this.byName.get(name)).filter(Boolean);
    const parent = scopes[0]?.parent;
    if (scopes.length < 2 || scopes.some((scope) => scope.parent !== parent)) return;
    const group = new Scope(`${names[0]} … ${names.at(-1)}`, parent);
    group.repeats = scopes.length;
    group.children = scopes;
    parent.children = parent.children.filter((child) => !scopes.includes(child));
    parent.children.push(group);
    for (const scope of scopes) {
      scope.parent = group;
      group.size += scope.size;
      group.first = Math.min(group.first, scope.first);
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

/** The positions in a name at which scopes end. */
function endsOf(name) {
  const ends = [];
  for (let at = 1; at < name.length && ends.length < DEEPEST; at += 1) {
    if (name[at] === "/" || name[at] === ".") ends.push(at);
  }
  return ends;
}
