// The text and the size of the box of a layer or scope, like `svg.rs` for pictures.

import { operations } from "./contents.js";
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

/** A scope of at most this many layers lists their operations; another one as many of the most frequent. */
const FEW_LAYERS = 3;

/** A box shows the largest constant that its layer contains, if it has more elements than this. */
const FEW_ELEMENTS = 64;

/** The lines and outputs of a box, the width `inner` of the box itself, and the space that it needs with its outputs. */
export function boxOf(model, item) {
  const isLayer = item.id !== undefined;
  const isEnd = item.kind === "output";
  const values = isLayer ? item.outputs : model.leaving(item).map((source) => model.source(source));
  const outputs = values.slice(0, isEnd ? 0 : MOST_OUTPUTS);
  const lines = isLayer ? linesOf(model, item) : linesOfScope(item);
  const inner = longest(lines) * CHARACTER + 2 * PADDING;
  const widest = longest(outputs.map((output) => shortened(symbolic(output))));
  return {
    lines, outputs, inner, width: Math.max(inner, 2 * (widest * CHARACTER + PADDING)),
    height: lines.length * LINE + PADDING + (isLayer ? 0 : SHARES), below: outputs.length * LINE + ARROW,
  };
}

/** The first points of an arrow from a box: it goes straight down beside the outputs, and past the boxes of the same row. */
export function startOf({ x, y, height, outputs, rowBottom }) {
  const bottom = y + height;
  return [{ x, y: bottom }, { x, y: Math.max(bottom + outputs.length * LINE, rowBottom) }];
}

/** The operation and name of a layer, its weights and its primitives. */
function linesOf(model, layer) {
  const lines = [shortened(layer.op), shortName(lastName(layer.name))];
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

/** The number of layers of a scope, its name, and its most frequent operations. In a group of blocks, both count one block. */
function linesOfScope({ name, layers, repeats, size }) {
  if (repeats > 0 && repeats === size) return [shortened(`${size} × ${layers[0].op}`), shortName(name)];
  if (repeats === 0 && size <= FEW_LAYERS) return [shortened(layers.map(({ op }) => op).join(", ")), shortName(name)];
  const blocks = Math.max(repeats, 1);
  const each = (count) => Math.round(count / blocks);
  const frequent = operations(layers).slice(0, FEW_LAYERS);
  const title = `${repeats > 0 ? `${repeats} × ` : ""}${each(size)} layers`;
  return [title, shortName(name), shortened(frequent.map(([op, count]) => `${each(count)} ${op}`).join(", "))];
}

/** The last part of a name, with the scope before it. */
function lastName(name) {
  return name.split("/").slice(-2).join("/");
}

/** The number of characters of the longest text. */
function longest(texts) {
  return Math.max(0, ...texts.map((text) => [...text].length));
}

/** A name with at most the greatest number of characters; its start is left out, or those of both ends of a range. */
function shortName(name) {
  if ([...name].length <= LONGEST) return name;
  const parts = name.split(" … ");
  const ends = parts.length > 1 ? [parts[0], parts.at(-1)] : parts;
  const most = ends.length > 1 ? LONGEST / 2 - 2 : LONGEST;
  return ends.map((end) => ([...end].length > most ? `…${[...end].slice(1 - most).join("")}` : end)).join(" … ");
}

/** A line with at most the greatest number of characters; its middle is left out. */
export function shortened(text) {
  const characters = [...text];
  if (characters.length <= LONGEST) return text;
  return `${characters.slice(0, LONGEST / 2).join("")}…${characters.slice(1 - LONGEST / 2).join("")}`;
}
