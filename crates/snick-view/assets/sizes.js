// Sliders for input sizes. All shapes and costs update immediately.

import { element } from "./dom.js";
import { interval } from "./model.js";
import { bytes, count } from "./numbers.js";

/** The end of a slider without an upper bound; the field next to it accepts larger values. */
const UNBOUNDED = 4096;

/** The sliders, their contradictions, and the cost at the chosen sizes. */
export function sizes(model) {
  const symbols = model.inputSymbols();
  const rows = symbols.map(([name, symbol], at) => slider(model, name, symbol, at));
  const status = element("p", { class: "conflicts", role: "status" });
  const totals = element("p", { class: "totals" });
  const reset = element("button", { type: "button", onclick: () => model.reset() }, "Symbols again");
  const update = () => {
    rows.forEach(({ show }) => show());
    reset.hidden = model.chosen.size === 0;
    const conflicts = [...model.conflicts];
    status.replaceChildren(...conflicts.slice(0, 5).map((text) => element("div", {}, `These sizes contradict each other: ${text}`)));
    if (conflicts.length > 5) status.append(`${conflicts.length - 5} more`);
    totals.textContent = costText(model);
  };
  model.onChange(update);
  update();
  if (rows.length === 0) return element("section", { class: "sizes" }, element("p", {}, "No input has a dynamic size."), totals);
  return element("section", { class: "sizes", "aria-label": "Sizes of inputs" }, rows.map(({ row }) => row), reset, status, totals);
}

function slider(model, name, symbol, at) {
  const [min, max] = [Number(symbol.min), Number(symbol.max ?? Math.max(UNBOUNDED, Number(symbol.min) * 2))];
  const choose = (text) => {
    const size = text.trim();
    if (size === "") model.choose(name, null);
    else if (/^[0-9]{1,18}$/.test(size)) model.choose(name, size);
  };
  const range = element("input", {
    type: "range", id: `size-${at}`, min, max: Math.min(max, UNBOUNDED * 16), value: min, "data-symbol": name,
    oninput: () => choose(range.value),
  });
  const field = element("input", { type: "text", inputmode: "numeric", size: 6, placeholder: "?", "aria-label": `Size of ${name}`, oninput: () => choose(field.value) });
  const layer = model.layers[symbol.layer];
  const where = layer ? `${layer.name}${symbol.axis === undefined ? "" : ` axis ${symbol.axis}`}` : "";
  const row = element(
    "div", { class: "size" }, element("label", { for: `size-${at}`, title: where }, element("b", {}, name), ` ${interval(symbol)} `, element("small", {}, where)), range, field,
  );
  const show = () => {
    const chosen = model.chosen.get(name);
    if (chosen !== undefined) range.value = String(chosen);
    if (document.activeElement !== field) field.value = chosen === undefined ? "" : String(chosen);
    range.setAttribute("aria-valuetext", chosen === undefined ? "not chosen" : String(chosen));
    row.classList.toggle("chosen", chosen !== undefined);
  };
  return { row, show };
}

/** The cost of a run, as numbers where known. */
function costText(model) {
  const { cost } = model.data;
  if (!cost) return "";
  const shown = [["MACs", cost.macs, count], ["operations", cost.flops, count], ["activations", cost.activation_bytes, bytes], ["peak memory", cost.peak_bytes, bytes]];
  const text = shown.map(([name, amount, unit]) => {
    const value = model.evaluate(amount);
    return value === null ? null : `${unit(value)} ${name}`;
  });
  const known = text.filter(Boolean);
  return known.length > 0 ? `A run: ${known.join(", ")}` : "Choose sizes to see what a run costs.";
}
