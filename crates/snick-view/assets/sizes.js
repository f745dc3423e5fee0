// Sliders for input sizes. All shapes and costs update immediately.

import { element } from "./dom.js";
import { interval } from "./model.js";
import { bytes, count } from "./numbers.js";

/** The end of a slider without an upper bound; the field next to it accepts larger values. */
const UNBOUNDED = 4096;

/** The sliders, their contradictions, and the cost at the chosen sizes. */
export function sizes(model) {
  const status = element("p", { class: "conflicts", role: "status" });
  const totals = element("p", { class: "totals" });
  const reset = element("button", { type: "button", onclick: () => model.reset() }, "Symbols again");
  const list = element("div", { class: "size-rows" });
  let rows = [];
  const update = () => {
    const found = model.inputSizes();
    const key = found.map(({ names }) => names.join()).join("\n");
    if (list.dataset.key !== key) {
      list.dataset.key = key;
      rows = found.map((size, at) => slider(model, size, at));
      list.replaceChildren(...rows.map(({ row }) => row));
    }
    rows.forEach(({ show }) => show());
    reset.hidden = model.chosen.size === 0 && model.ties.length === 0;
    const conflicts = [...model.conflicts];
    status.replaceChildren(...conflicts.slice(0, 5).map((text) => element("div", {}, `These sizes contradict each other: ${text}`)));
    if (conflicts.length > 5) status.append(`${conflicts.length - 5} more`);
    totals.textContent = costText(model);
  };
  model.onChange(update);
  update();
  return element("section", { class: "sizes", "aria-label": "Sizes of inputs" }, list, reset, status, totals);
}

function slider(model, size, at) {
  const { names, like, isTied } = size;
  const [name] = names;
  const [min, max] = [Number(size.min), Number(size.max ?? Math.max(UNBOUNDED, Number(size.min) * 2))];
  const choose = (text) => {
    const number = text.trim();
    if (number === "") model.choose(name, null);
    else if (/^[0-9]{1,18}$/.test(number)) model.choose(name, number);
  };
  const range = element("input", {
    type: "range", id: `size-${at}`, min, max: Math.min(max, UNBOUNDED * 16), value: min, "data-symbol": name,
    oninput: () => choose(range.value),
  });
  const field = element("input", { type: "text", inputmode: "numeric", size: 6, placeholder: "?", "aria-label": `Size of ${name}`, oninput: () => choose(field.value) });
  const wheres = size.symbols.map(({ layer, axis }) => {
    const { name: input } = model.layers[layer] ?? {};
    return input === undefined ? "" : `${input}${axis === undefined ? "" : ` axis ${axis}`}`;
  });
  const where = wheres.filter(Boolean).join(", ");
  const tie = like ? element("button", { type: "button", class: "link", onclick: () => model.tie(like.names[0], name) }, `Same size as ${like.names[0]}`) : null;
  const untie = isTied ? element("button", { type: "button", class: "link", onclick: () => model.untie(names) }, "Separate") : null;
  const row = element(
    "div", { class: "size" },
    element("label", { for: `size-${at}`, title: where }, element("b", {}, names.join(" = ")), ` ${interval(size)} `, element("small", {}, where)),
    range, field, tie, untie,
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

/** The cost of a run at the chosen sizes: the names and values of the known numbers. */
export function costs(model) {
  const { cost } = model.data;
  if (!cost) return [];
  const shown = [["MACs", cost.macs, count], ["operations", cost.flops, count], ["activations", cost.activation_bytes, bytes], ["peak memory", cost.peak_bytes, bytes]];
  return shown.map(([name, amount, unit]) => [name, model.evaluate(amount), unit]).filter(([, value]) => value !== null && value > 0n).map(([name, value, unit]) => [name, unit(value)]);
}

function costText(model) {
  const known = costs(model).map(([name, value]) => `${value} ${name}`);
  if (known.length > 0) return `A run: ${known.join(", ")}`;
  return model.inputSymbols().every(([name]) => model.chosen.has(name)) ? "What a run costs depends on the data." : "Choose sizes to see what a run costs.";
}
