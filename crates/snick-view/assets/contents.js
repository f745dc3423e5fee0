// What the boxes of a graph contain: the categories of layers, and the severities of findings.

/** The categories of layers in the order of the legend. `Category` in snick-ir declares the category of each operation. */
export const CATEGORIES = new Map([
  ["convolution", "Convolution"], ["product", "Matrix product"], ["normalisation", "Normalisation"], ["activation", "Activation"],
  ["elementwise", "Element-wise"], ["reduction", "Reduction, pooling"], ["movement", "Data movement"], ["slice", "Slice"],
  ["quantisation", "Quantisation"], ["text", "Text"], ["control", "Control flow"], ["state", "State"], ["other", "Other"],
]);

/** The operations of layers with the number of their layers, most frequent first. */
export function operations(layers) {
  const counts = new Map();
  layers.forEach(({ op }) => counts.set(op, (counts.get(op) ?? 0) + 1));
  return [...counts].sort((a, b) => b[1] - a[1]);
}

/** The worse of two severities. */
export function worst(a, b) {
  const order = [undefined, "warning", "error"];
  return order[Math.max(order.indexOf(a), order.indexOf(b))];
}

export class Contents {
  constructor(model, scopes) {
    /** For each layer and scope: the number of layers of each category, and the worst severity. */
    this.of = new Map();
    for (const layer of scopes.layers) {
      const inside = [layer.id, ...model.constantsOf(layer)];
      const severity = inside.map((id) => model.severities.get(id)).reduce(worst, undefined);
      for (const item of [layer, ...scopes.of.get(layer.id).path()]) {
        if (!this.of.has(item)) this.of.set(item, { counts: new Map(), severity: undefined });
        const contents = this.of.get(item);
        contents.severity = worst(contents.severity, severity);
        if (layer.category) contents.counts.set(layer.category, (contents.counts.get(layer.category) ?? 0) + 1);
      }
    }
    const present = new Set(scopes.layers.map(({ category }) => category));
    /** The categories of the graph. */
    this.categories = [...CATEGORIES.keys()].filter((category) => present.has(category));
  }

  /** The colours of the categories in a box with their shares of its layers, in the order of the legend. */
  shares(item) {
    const { counts } = this.of.get(item);
    const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
    return this.categories.filter((category) => counts.has(category)).map((category) => [`category-${category}`, counts.get(category) / total]);
  }

  severity(item) {
    return this.of.get(item)?.severity;
  }
}
