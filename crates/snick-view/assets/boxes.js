// The text and the size of the box of a layer or scope, like `svg.rs` for pictures.

import { notation } from "./slices.js";

/** The width of a character, the height of a line, and the padding of a box. */
export const [CHARACTER, LINE, PADDING] = [7.3, 15, 8];

/** The space between the outputs of a box and the next row. */
const ARROW = 20;

/** The height of the bar that shows the categories in a scope. */
export const SHARES = 4;

/** Maximum number of characters per line. */
const LONGEST = 40;

/** Maximum number of outputs that a box lists. */
const MOST_OUTPUTS = 4;

/** Maximum number of layers of a scope whose box lists the operations instead of the number of layers. */
const FEW_LAYERS = 3;

/** A box shows the largest constant that its layer contains, if it has more elements than this. */
const FEW_ELEMENTS = 64;

/** The lines and outputs of a box, the width `inner` of the box itself, and the space that it needs with its outputs. */
export function boxOf(model, item) {
  const isLayer = item.id !== undefined;
  const outputs = isLayer ? item.outputs.slice(0, item.kind === "output" ? 0 : MOST_OUTPUTS) : [];
  const lines = isLayer ? linesOf(model, item) : [shortened(scopeTitle(item)), shortened(item.name)];
  const inner = longest(lines) * CHARACTER + 2 * PADDING;
  const widest = longest(outputs.map((output) => shortened(symbolic(output))));
  return {
    lines, outputs, inner, width: Math.max(inner, 2 * (widest * CHARACTER + PADDING)),
    height: lines.length * LINE + PADDING + (isLayer ? 0 : SHARES), below: outputs.length * LINE + ARROW,
  };
}

/** The first points of an arrow from a box: it goes straight down beside the outputs. */
export function startOf({ x, y, height, outputs }) {
  const bottom = y + height;
  return [{ x, y: bottom }, { x, y: bottom + outputs.length * LINE }];
}

/** The operation and name of a layer, its weights and its primitives. */
function linesOf(model, layer) {
  const lines = [shortened(layer.op), shortened(lastName(layer.name))];
  const weights = largestConstant(model, layer);
  if (weights) lines.push(shortened(`weights ${symbolic(weights)}`));
  const slice = model.slices.get(layer.id);
  if (slice) {
    const primitives = slice.primitives.map((primitive) => notation(model, primitive)).join(" ");
    lines.push(shortened(primitives || slice.absent));
  }
  return lines;
}

/** The largest constant that a layer contains, if it has more than a few elements. */
function largestConstant(model, layer) {
  const elements = ({ dims }) => (dims ?? [0]).reduce((product, dim) => product * dim, 1);
  const constants = model.constantsOf(layer).map((id) => model.layers[id]);
  const outputs = constants.filter(({ kind }) => kind === "constant").map(({ outputs: [output] }) => output);
  const largest = outputs.reduce((best, output) => (elements(output) > elements(best) ? output : best), { dims: [FEW_ELEMENTS] });
  return largest.type ? largest : null;
}

function symbolic(output) {
  return `${output.type}${output.dims ? `[${output.dims.join(",")}]` : "[...]"}`;
}

function scopeTitle(scope) {
  const { repeats, size } = scope;
  if (repeats === 0 && size <= FEW_LAYERS) return scope.layers.map(({ op }) => op).join(", ");
  return repeats > 0 && repeats < size ? `${repeats} × ${Math.round(size / repeats)} layers` : `${size} layers`;
}

/** The last part of a name, with the scope before it. */
function lastName(name) {
  return name.split("/").slice(-2).join("/");
}

/** The number of characters of the longest text. */
function longest(texts) {
  return Math.max(0, ...texts.map((text) => [...text].length));
}

/** A line with at most the greatest number of characters; its middle is left out. */
export function shortened(text) {
  const characters = [...text];
  if (characters.length <= LONGEST) return text;
  return `${characters.slice(0, LONGEST / 2).join("")}…${characters.slice(1 - LONGEST / 2).join("")}`;
}
