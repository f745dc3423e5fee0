// The findings: the result of `check`, unknown sizes by origin, and changes to another model.

import { element, link } from "./dom.js";

function layerLink(model, id, onGo) {
  return id === null || id === undefined ? "" : link(model.layers[id].name, () => onGo(model.layers[id]), model.layers[id].op);
}

function table(headings, rows) {
  const head = element("tr", {}, headings.map((heading) => element("th", { scope: "col" }, heading)));
  return element("div", { class: "wide" }, element("table", {}, element("thead", {}, head), element("tbody", {}, rows.map((cells) => element("tr", {}, cells.map((cell) => element("td", {}, cell)))))));
}

/** The findings of `snick check`. */
export function checkList(model, onGo) {
  const { findings } = model.data.check;
  if (findings.length === 0) return element("p", {}, "Nothing was found.");
  const shown = findings.slice(0, 1000).map((finding) => [
    element("span", { class: finding.severity }, finding.severity), `${finding.code} ${finding.name}`, layerLink(model, finding.layer, onGo), finding.loc ?? "",
    element("div", {}, finding.message, element("small", { class: "help" }, ` ${finding.help}`)),
  ]);
  return table(["Severity", "Code", "Layer", "Place", "Message"], shown);
}

/** Sizes without an upper bound, by origin. */
export function unknownList(model, onGo) {
  const isChosen = model.chosen.size > 0;
  const dims = model.openSizes();
  const origins = model.data.unknown.origins.filter(({ symbol }) => !isChosen || symbol === undefined || model.isOpen(symbol));
  if (dims === 0) return element("p", {}, isChosen ? "Every size is known." : "Every size has an upper bound.");
  const rows = origins.slice(0, 500).map((origin) => [
    element("span", { class: "open" }, origin.symbol ?? "?"), layerLink(model, origin.layer, onGo), origin.reason ?? "an input declares it",
    `${origin.dims} sizes of ${origin.layers} layers, ${origin.outputs} outputs`,
    element("div", {}, origin.suggest.map(({ shape, gives }) => element("div", {}, element("code", {}, `--shape "${shape}"`), ` gives ${gives}`))),
  ]);
  return element("div", {}, element("p", {}, `${dims} sizes ${isChosen ? "are unknown" : "have no upper bound"}. They come from:`), table(["Symbol", "Layer", "Why", "What depends on it", "To bound it"], rows));
}

/** The changes, one per row. */
export function changeList(model, other, diff, onGo) {
  const verdict = diff.equal
    ? `The models are the same: ${diff.same} layers, ${diff.renamed} of other names.`
    : `${diff.same} layers are the same, ${diff.renamed} renamed, ${diff.changed.length} changed, ${diff.removed.length} removed, ${diff.added.length} added. ${diff.drift} have other shapes or types because of that.`;
  const go = (side) => (layer) => onGo(side, layer);
  const rows = [
    ...diff.changed.map(({ a, b, what }) => ["changed", layerLink(model, a, go(0)), layerLink(other, b, go(1)), element("div", {}, what.map((line) => element("div", {}, line)))]),
    ...diff.removed.map((id) => ["removed", layerLink(model, id, go(0)), "", id === null ? "" : model.layers[id].op]),
    ...diff.added.map((id) => ["added", "", layerLink(other, id, go(1)), id === null ? "" : other.layers[id].op]),
  ];
  const ends = diff.ends.map((text) => element("li", {}, text));
  return element("div", {}, element("p", {}, verdict), element("ul", {}, ends), rows.length > 0 ? table(["Change", "First model", "Second model", "What"], rows.slice(0, 2000)) : null);
}
