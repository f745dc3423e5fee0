// The changes between two models.

import { element, foldable, link, shortList, Unfolded } from "./dom.js";
import { counted } from "./numbers.js";
import { statistics } from "./weights.js";

/** If at most this number of layers differ, all groups are unfolded at first. */
const FEW_CHANGES = 10;

/** Maximum number of layers of a group to list at first. */
const MOST_IN_GROUP = 100;

const HEADINGS = { removed: ([first]) => `Only in ${first}`, added: ([, second]) => `Only in ${second}`, changed: () => "Changed" };

/** For both models: the changes by layer, and the corresponding layers of the other model. */
export function changesBySide(diff) {
  const sides = [0, 1].map(() => ({ changes: new Map(), counterparts: new Map() }));
  const note = (side, id, change) => id !== null && id !== undefined && sides[side].changes.set(id, change);
  const pair = (a, b) => {
    sides[0].counterparts.set(a, b);
    sides[1].counterparts.set(b, a);
  };
  diff?.pairs.forEach((b, a) => b !== null && pair(a, b));
  for (const { kind, layers } of diff?.groups ?? []) {
    for (const { a = null, b = null, details = [] } of layers) {
      [a, b].forEach((id, side) => note(side, id, { kind, details }));
      if (a !== null && b !== null) pair(a, b);
    }
  }
  return sides;
}

/** Two models that are compared, with their names and with links to their layers. */
export class Comparison {
  /** Calls `onOther` with the side and the id of a layer to show at the same place of the screen. */
  constructor(models, links, diff, onOther) {
    Object.assign(this, { models, links, diff, onOther, names: diff.names });
  }

  /** What changed in a layer or in the constants that it contains, and a link to the layer of the other model. */
  ofLayer(side, layer, unfolded) {
    const model = this.models[side];
    const change = model.changes.get(layer.id);
    const constants = model.constantsOf(layer).filter((id) => model.changes.has(id));
    const other = model.counterparts.get(layer.id);
    const parts = [];
    if (change?.kind === "added" || change?.kind === "removed") parts.push(element("p", {}, `Only ${this.names[side]} has this layer.`));
    if (change) parts.push(this.details(side, layer, change.details));
    if (change && layer.kind === "constant") parts.push(this.bothStatistics(side, layer, unfolded));
    for (const id of constants) {
      const constant = model.layers[id];
      const { kind, details } = model.changes.get(id);
      parts.push(element("div", { class: "weight" }, element("div", {}, `${kind} ${constant.op} `, this.links[side].layer(id)), this.details(side, constant, details), this.bothStatistics(side, constant, unfolded)));
    }
    if (other !== undefined) parts.push(element("p", {}, this.otherLink(side, other)));
    return parts;
  }

  otherLink(side, other) {
    const layer = this.models[1 - side].layers[other];
    return link(`Show ${layer.name} in ${this.names[1 - side]}`, () => this.onOther(1 - side, layer));
  }

  /** The old and new values of what changed in a layer. */
  details(side, layer, details) {
    const ids = [layer.id, this.models[side].counterparts.get(layer.id)];
    const [a, b] = side === 0 ? ids : [...ids].reverse();
    return element("div", { class: "details" }, details.map((detail) => this.detail(detail, [a, b])));
  }

  detail({ name, values, text }, ids) {
    if (text) return element("div", {}, text);
    const shown = values.map((value, side) => this.value(name, value, side, ids[side]));
    return element("div", {}, `${name}: `, shown[0], " → ", shown[1]);
  }

  /** A value of a property: a source is a link, and a shape has links to symbols. */
  value(name, value, side, id) {
    if (value === null) return element("span", { class: "hint" }, "none");
    const [links, layer] = [this.links[side], this.models[side].layers[id]];
    if (name.startsWith("input ") && layer) {
      const { graph } = layer;
      const source = links.layerNamed(value, { graph }) ?? links.layerNamed(value.replace(/:\d+$/, ""), { graph });
      if (source) return links.layer(source.id, value);
    }
    return element("code", {}, name === "shape" ? links.expression(value) : value);
  }

  /** The statistics of a constant in both models. */
  bothStatistics(side, layer, unfolded) {
    const other = this.models[1 - side].layers[this.models[side].counterparts.get(layer.id)];
    const both = side === 0 ? [layer, other] : [other, layer];
    if (layer.kind !== "constant" || !other) return null;
    return element("div", { class: "both" }, both.map((constant, at) => element("div", {}, element("small", {}, this.names[at]), statistics(constant, unfolded))));
  }

  /** All changes: the verdict, the inputs and outputs, the groups of layers, and the consequences. */
  overview() {
    const { diff, names } = this;
    const total = diff.groups.reduce((sum, { layers }) => sum + layers.length, 0);
    const unfolded = new Unfolded();
    const group = ({ title, layers }, at) => foldable(`${title} (${layers.length})`, () => shortList(layers, MOST_IN_GROUP, (change) => this.row(change), { unfolded, key: `group ${at}` }), { isOpenAtFirst: total <= FEW_CHANGES });
    const kinds = Object.entries(HEADINGS).map(([kind, heading]) => {
      const groups = diff.groups.filter((one) => one.kind === kind);
      const count = groups.reduce((sum, { layers }) => sum + layers.length, 0);
      return count > 0 ? element("section", { class: kind }, element("h2", {}, `${heading(names)} (${count})`), groups.map(group)) : null;
    });
    return element(
      "div", { class: "change-list" },
      element("p", { class: "change-verdict" }, element("strong", {}, diff.equal ? "equal" : "different"), `: ${diff.verdict}`),
      element("p", { class: "hint" }, `From ${names[0]} to ${names[1]}.`),
      diff.ends.length > 0 ? element("section", {}, element("h2", {}, "Inputs and outputs"), shortList(diff.ends, MOST_IN_GROUP, (end) => element("div", {}, end))) : null,
      kinds, this.consequences(),
    );
  }

  row({ a = null, b = null, details = [] }) {
    const layer = a === null ? this.models[1].layers[b] : this.models[0].layers[a];
    const side = a === null ? 1 : 0;
    const readers = layer?.kind === "constant" ? this.models[side].readersThroughConstants(layer) : [];
    const isRenamed = a !== null && b !== null && this.models[1].layers[b].name !== layer.name;
    const other = a === null || b === null ? "" : isRenamed ? [" → ", this.links[1].layer(b)] : element("small", {}, ", ", this.links[1].layer(b, `in ${this.names[1]}`));
    const name = [this.links[side].layer(a ?? b), other].flat();
    const readBy = readers.length > 0 ? element("small", {}, ", read by ", this.links[side].layer(readers[0]), readers.length > 1 ? ` and ${counted(readers.length - 1, "other layer")}` : "") : null;
    return element("div", { class: "change" }, element("div", {}, name, readBy), element("div", { class: "details" }, details.map((detail) => this.detail(detail, [a, b]))));
  }

  /** The layers whose shapes or types differ because of the changes. */
  consequences() {
    const { drift } = this.diff;
    if (!drift) return null;
    const first = [drift.a, drift.b].map((id, side) => element("div", {}, `${this.names[side]}: `, this.links[side].layer(id), " ", element("code", {}, drift.facts[side])));
    return element("section", {}, element("h2", {}, `Consequences (${drift.layers})`), element("p", {}, "Layers with other shapes or types because of the changes. The first is:"), first);
  }
}
