// What is known about a symbol.

import { definitions, element, shortList } from "./dom.js";
import { interval } from "./model.js";

/** Maximum number of outputs to list at first. */
const MOST_DEPENDENTS = 10;

const KINDS = {
  input: "an input declares it", data: "depends on data", merged: "merged from other sizes", given_up: "no expression was found",
};

/** The parts of the panel for a symbol. */
export function aboutSymbol(model, links, name, unfolded) {
  const symbol = model.symbols.get(name);
  const value = model.valueOf(name);
  const origin = symbol.layer === undefined ? null : [model.layers[symbol.layer].op, " ", links.layer(symbol.layer), symbol.axis === undefined ? "" : ` axis ${symbol.axis}`];
  const rule = symbol.rule ? [`${symbol.rule}: `, ...links.expression(symbol.of[0]), ", ", ...links.expression(symbol.of[1])] : null;
  const merged = [...model.mergedFrom(name)].filter((other) => other !== name);
  const outputs = model.data.outputs.map(({ layer }) => layer);
  const dependents = model.dependents(name).filter(({ layer }) => layer.id !== symbol.layer || layer.kind !== "input");
  const ends = dependents.filter(({ layer }) => outputs.includes(layer.id));
  const inner = dependents.filter(({ layer }) => !outputs.includes(layer.id));
  const row = ({ layer, output }) => element("div", { class: "port" }, links.layer(layer.id), ` ${layer.op} `, links.value(output));
  const list = (title, found, key) => found.length > 0 ? element("section", {}, element("h3", {}, `${title} (${found.length})`), shortList(found, MOST_DEPENDENTS, row, { unfolded, key })) : null;
  return [
    definitions([
      ["Symbol", KINDS[symbol.kind]],
      ["Interval", element("code", {}, interval(symbol))],
      ["Chosen", model.chosen.size > 0 ? (value === null ? "not known at the chosen sizes" : String(value)) : null],
      ["Origin", origin && element("span", {}, origin)],
      ["Reason", symbol.kind === "input" ? null : element("span", {}, links.reason(symbol))],
      ["Rule", rule && element("span", {}, rule)],
      ["Merged into", merged.length > 0 ? element("span", {}, merged.flatMap((other, at) => [at > 0 ? ", " : "", links.symbol(other)])) : null],
    ]),
    list("Outputs of the model that depend on it", ends, "ends"),
    list("Layers whose outputs depend on it", inner, "dependents"),
    dependents.length === 0 ? element("p", {}, "No size of an output depends on it.") : null,
  ];
}
