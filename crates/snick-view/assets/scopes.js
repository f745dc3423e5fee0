// The scopes that a user expands and collapses. Each is a run of layers in one execution order, so a graph in which any
// scopes are collapsed has no cycle.

/** A scope, or a group of repeating scopes. */
class Scope {
  constructor({ name, repeats = 0, open: isOpen }, parent) {
    Object.assign(this, { name, parent, repeats, isOpen, items: [], size: 0, first: Infinity });
  }

  /** The scopes directly inside. */
  get children() {
    return this.items.filter((item) => item instanceof Scope);
  }

  /** The layers in execution order. */
  get layers() {
    return this.items.flatMap((item) => (item instanceof Scope ? item.layers : [item]));
  }

  /** The enclosing scopes, outermost first, and the scope itself. */
  path() {
    const path = [];
    for (let scope = this; scope.parent; scope = scope.parent) path.unshift(scope);
    return path;
  }
}

/** The scopes of one graph, with the layers in execution order. Constants are part of the layers that read them. */
export class Scopes {
  constructor(graph) {
    const first = graph.layers[0]?.id ?? 0;
    this.layers = [];
    /** For each layer: the innermost scope. */
    this.of = new Map();
    const add = (parts, scope) => {
      for (const part of parts) {
        if (typeof part === "number") {
          const layer = graph.layers[part - first];
          scope.items.push(layer);
          this.of.set(part, scope);
          this.layers.push(layer);
          continue;
        }
        const inner = new Scope(part, scope);
        scope.items.push(inner);
        add(part.items, inner);
      }
      scope.size = scope.items.reduce((sum, item) => sum + (item instanceof Scope ? item.size : 1), 0);
      scope.first = this.layers.length - scope.size;
    };
    this.root = new Scope({ name: "", open: true }, null);
    add(graph.scopes, this.root);
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
