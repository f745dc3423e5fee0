// Slices before and after lowering, with pictures of the selected elements.

import { element, shortList, svgElement, Unfolded } from "./dom.js";

/** Longer axes are drawn as bars instead of one cell per element. */
const MOST_CELLS = 32;

/** Maximum number of pictures of a slice to show at first. */
const MOST_PICTURES = 8;

/** The size to draw if none is chosen. */
const EXAMPLE = 8n;

/** Maximum number of slices to show at first. */
const MOST_SLICES = 300;

/** All slices of the model. */
export function sliceList(model, links) {
  const { slices } = model.data;
  if (slices.length === 0) return element("p", {}, "The model has no slices.");
  const unfolded = new Unfolded();
  const section = (slice) => element("section", {}, element("h2", {}, links.layer(slice.layer), ` ${model.layers[slice.layer].op}`), ...pictures(model, slice, links));
  const list = element("div", { class: "slices" });
  const show = () => list.replaceChildren(...shortList(slices, MOST_SLICES, section, { unfolded }));
  model.onChange(show);
  show();
  return list;
}

/** The notation before and after, and a picture of each primitive. */
export function pictures(model, slice, links) {
  const before = slice.numpy.length > 0 ? links.text(slice.numpy.join(" ")) : "bounds that only a run shows";
  const primitives = slice.primitives.map((primitive) => notation(model, primitive)).join(" ");
  const after = primitives ? links.text(primitives) : slice.absent;
  const text = element("p", { class: "notation" }, element("code", {}, before), " → ", element("code", { class: "primitive" }, after));
  return [text, ...shortList(slice.primitives, MOST_PICTURES, (primitive) => picture(model, primitive))];
}

/** A primitive in numpy notation; `start:+length:step` with the chosen sizes if a bound depends on symbols. */
export function notation(model, { text, dims, axes }) {
  const isKnown = dims && axes.every(([, ...numbers]) => !numbers.includes(null));
  if (!text.includes(":+") || !isKnown || model.chosen.size === 0) return `slice${text}`;
  const entries = dims.map(() => ":");
  for (const [axis, ...numbers] of axes) {
    const [start, length, step] = numbers.map((number) => model.dim(number));
    entries[axis] = `${start}:+${length}${step === "1" ? "" : `:${step}`}`;
  }
  while (entries.length > 1 && entries.at(-1) === ":") entries.pop();
  return `slice[${entries.join(", ")}]`;
}

function picture(model, { dims, axes }) {
  const missing = new Set();
  const at = (expression) => model.evaluate(expression) ?? guess(model, expression, missing);
  const taken = axes.map(([axis, ...numbers]) => [axis, dims ? at(dims[axis]) : null, ...numbers.map((number) => at(number))]);
  if (taken.some((numbers) => numbers.includes(null))) return element("p", { class: "hint" }, "Its bounds are known only in a run.");
  const drawn = taken.map((numbers) => element("div", { class: "axis" }, axisText(numbers), strip(numbers)));
  const example = missing.size > 0 ? [element("p", { class: "hint" }, `drawn for ${[...missing].join(", ")}`)] : [];
  return element("div", { class: "picture" }, ...drawn, ...example);
}

/** The value of an expression, with example sizes for sizes that are not chosen. */
function guess(model, expression, missing) {
  if (typeof expression !== "string") return null;
  const names = [...model.inputSymbols()].filter(([name]) => !model.chosen.has(name));
  const before = new Map(model.chosen);
  for (const [name, symbol] of names) {
    const [min, max] = [BigInt(symbol.min), symbol.max === undefined ? null : BigInt(symbol.max)];
    let size = min > EXAMPLE ? min : EXAMPLE;
    if (max !== null && size > max) size = max;
    model.chosen.set(name, size);
  }
  model.forget();
  const value = model.evaluate(expression);
  for (const [name] of names) if (value !== null && expression.includes(name)) missing.add(`${name} = ${model.chosen.get(name)}`);
  model.chosen = before;
  model.forget();
  return value;
}

function axisText([axis, size, start, length, step]) {
  const how = step === 1n ? "" : step === -1n ? " backwards" : `, every ${step}`;
  return `axis ${axis}: ${length} of ${size}, from ${start}${how} `;
}

/** The elements of an axis, with selected elements filled and numbered. */
function strip([axis, size, start, length, step]) {
  const label = `Elements of axis ${axis} that are taken`;
  if (size <= BigInt(MOST_CELLS)) {
    const cells = Number(size);
    const drawn = svgElement("svg", { viewBox: `0 0 ${Math.max(cells, 1) * 20} 20`, class: "strip", width: Math.max(cells, 1) * 20, role: "img", "aria-label": label });
    const places = new Map(Array.from({ length: Number(length) }, (_, at) => [Number(start) + at * Number(step), at]));
    for (let at = 0; at < cells; at += 1) {
      drawn.append(svgElement("rect", { x: at * 20 + 1, y: 1, width: 18, height: 18, class: places.has(at) ? "taken" : "left" }));
      if (places.has(at)) {
        const number = svgElement("text", { x: at * 20 + 10, y: 14 });
        number.append(String(places.get(at)));
        drawn.append(number);
      }
    }
    return drawn;
  }
  const width = 480;
  const drawn = svgElement("svg", { viewBox: `0 0 ${width} 20`, class: "strip", width, role: "img", "aria-label": label });
  drawn.append(svgElement("rect", { x: 0, y: 1, width, height: 18, class: "left" }));
  const place = (index) => (Number(index) / Number(size)) * width;
  if (length > 0n) {
    const [one, other] = [start, start + (length - 1n) * step];
    const [low, high] = one < other ? [one, other] : [other, one];
    const isDense = step === 1n || step === -1n;
    const lines = isDense || length > 120n ? [[low, high + 1n]] : Array.from({ length: Number(length) }, (_, at) => [start + BigInt(at) * step, start + BigInt(at) * step + 1n]);
    for (const [from, to] of lines) {
      const span = Math.max(place(to) - place(from), 1);
      drawn.append(svgElement("rect", { x: place(from), y: 1, width: span, height: 18, class: isDense || lines.length > 1 ? "taken" : "taken some" }));
    }
  }
  return drawn;
}
