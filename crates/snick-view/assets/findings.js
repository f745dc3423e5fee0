// The findings: the result of `check`, and unknown sizes by origin.

import { element, shortList } from "./dom.js";
import { command } from "./links.js";
import { counted } from "./numbers.js";

/** Maximum number of rows of a table to show at first. */
const MOST_ROWS = 200;

/** Maximum number of suggestions for a size to show at first. */
const MOST_SUGGESTIONS = 3;

/** A table with one row for each item. `cells` returns the cells of a row. */
function table(headings, items, cells) {
  const head = element("tr", {}, headings.map((heading) => element("th", { scope: "col" }, heading)));
  const body = element("tbody", {});
  const [, more] = shortList(items, MOST_ROWS, (item) => element("tr", {}, cells(item).map((cell) => element("td", {}, cell))), { into: body });
  return element("div", { class: "wide" }, element("table", {}, element("thead", {}, head), body), more);
}

/** The findings of `snick check`. */
export function checkList(model, links) {
  const { findings } = model.data.check;
  if (findings.length === 0) return element("p", {}, "Nothing was found.");
  return table(["Severity", "Code", "Layer", "Place", "Message"], findings, ({ severity, code, name, layer, loc, message, help, origins }) => [
    element("span", { class: severity }, severity), `${code} ${name}`, layer === null ? "" : links.layer(layer), loc ?? "",
    element("div", {}, links.text(message, origins),
      origins.length > 0 ? element("div", {}, "From ", origins.flatMap((origin, at) => [at > 0 ? ", " : "", ...links.text(origin)])) : null,
      element("small", { class: "help" }, links.help(help))),
  ]);
}

/** Sizes without an upper bound, by origin. */
export function unknownList(model, links) {
  const isChosen = model.chosen.size > 0;
  const { dims, origins } = model.openOrigins();
  if (dims === 0) return element("p", {}, isChosen ? "Every size is known." : "Every size has an upper bound.");
  const cells = ({ symbol, layer, reason, suggest, ...count }) => [
    element("span", { class: "open" }, model.symbols.has(symbol) ? links.symbol(symbol) : symbol ?? "?"), layer === null ? "" : links.layer(layer),
    reason ? links.text(reason) : "an input declares it",
    `${counted(count.dims, "size")} of ${counted(count.layers, "layer")}, ${counted(count.outputs, "output")}`,
    element("div", {}, shortList(suggest, MOST_SUGGESTIONS, ({ shape, gives }) => element("div", {}, command(`--shape "${shape}"`), ` gives ${gives}`))),
  ];
  return element("div", {}, element("p", {}, `${counted(dims, "size")} without an upper bound:`), table(["Symbol", "Layer", "Why", "What depends on it", "To bound it"], origins, cells));
}
