// The position of a reader in a model, which is kept when the model is shown in another form or with other shapes.

/** Applies a position to a viewer. Returns a sentence if the selected layer is gone, or an empty text. */
export function restore(viewer, position, before) {
  const side = position.model === "2" ? 1 : 0;
  const [model, old] = [viewer.models[side] ?? viewer.models[0], before?.models[side]];
  if (position.layer === undefined || find(model, position.layer)) {
    viewer.restore(position);
    return "";
  }
  const layer = old && find(old, position.layer);
  const next = layer ? successor(old, layer, model) : null;
  viewer.restore({ ...position, layer: next?.name, graph: next ? String(next.graph) : undefined });
  return next ? `${position.layer} is now ${next.name}.` : `${position.layer} is not in this form of the model, so nothing is selected.`;
}

function find(model, name) {
  return model?.layers.find((layer) => layer.name === name);
}

/** The layer of another form that takes the place of a layer: its value goes to the same reader. */
function successor(model, layer, other) {
  for (const [id, port] of layer.readers) {
    const reader = find(other, model.layers[id].name);
    const source = reader?.inputs[port];
    if (source) return other.layers[source[0]];
  }
  return null;
}
