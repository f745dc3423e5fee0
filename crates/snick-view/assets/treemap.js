// Memory and work as areas of scopes and their layers.

import { element } from "./dom.js";
import { bytes, count } from "./numbers.js";

/** Maximum number of areas; the rest is merged into one. */
const MOST_AREAS = 200;

/** Scopes are expanded until there are this many areas. */
const OPENED = 24;

/** Minimum size of an area to draw. */
const LEAST = 4;

const METRICS = {
  Weights: { of: (model, layer) => model.weights(layer), shown: bytes },
  MACs: { of: (model, layer) => Number(model.cost(layer)[0] ?? 0), shown: count },
  "Bytes written": { of: (model, layer) => Number(model.cost(layer)[2] ?? 0), shown: bytes },
};

export class Treemap {
  constructor(model, onGo) {
    Object.assign(this, { model, onGo, metric: "Weights" });
    this.scopes = model.scopes[0];
    this.at = this.scopes.root;
    const options = Object.keys(METRICS).map((name) => element("option", {}, name));
    this.select = element("select", { "aria-label": "What areas show", onchange: () => this.draw() }, options);
    this.trail = element("nav", { class: "trail", "aria-label": "Scopes" });
    this.areas = element("div", { class: "areas" });
    this.note = element("p", { class: "hint" });
    this.element = element("div", { class: "treemap-view" }, element("div", { class: "bar" }, this.select, this.trail), this.areas, this.note);
    model.onChange(() => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.areas);
  }

  /** The parts of a scope: its subscopes, and the layers outside them. */
  parts(scope) {
    const { of } = METRICS[this.select.value];
    const found = new Map();
    for (const layer of this.scopes.layers) {
      const path = this.scopes.of.get(layer.id).path();
      const at = scope === this.scopes.root ? 0 : path.indexOf(scope) + 1;
      if (scope !== this.scopes.root && at === 0) continue;
      const part = path[at] ?? layer;
      found.set(part, (found.get(part) ?? 0) + of(this.model, layer));
    }
    return [...found].map(([item, size]) => ({ item, size })).filter(({ size }) => size > 0);
  }

  /** The parts of a scope, with large subscopes expanded. */
  opened(scope) {
    const parts = this.parts(scope);
    const total = parts.reduce((sum, { size }) => sum + size, 0);
    while (parts.length < OPENED) {
      parts.sort((a, b) => b.size - a.size);
      const at = parts.findIndex(({ item, size }) => item.id === undefined && size > total / OPENED);
      if (at < 0) break;
      parts.splice(at, 1, ...this.parts(parts[at].item));
    }
    return parts.sort((a, b) => b.size - a.size);
  }

  draw() {
    const { clientWidth: width, clientHeight: height } = this.areas;
    if (!width) return;
    const { shown } = METRICS[this.select.value];
    const parts = this.opened(this.at);
    const total = parts.reduce((sum, { size }) => sum + size, 0);
    const rest = parts.slice(MOST_AREAS).reduce((sum, { size }) => sum + size, 0);
    const drawn = [...parts.slice(0, MOST_AREAS), ...(rest > 0 ? [{ item: null, size: rest }] : [])];
    const path = [{ name: "All", scope: this.scopes.root }, ...this.at.path().map((scope) => ({ name: scope.name, scope }))];
    this.trail.replaceChildren(...path.flatMap(({ name, scope }) => [element("button", { type: "button", class: "link", onclick: () => this.go(scope) }, name), " / "]), shown(total));
    this.areas.replaceChildren(...squarify(drawn, width, height).filter((area) => area.width > LEAST && area.height > LEAST).map((area) => this.area(area, total, shown)));
    const isUnknown = this.select.value !== "Weights" && this.model.chosen.size === 0 && this.model.inputSizes().length > 0;
    const none = "Nothing to show here.";
    this.note.textContent = isUnknown ? "Choose sizes above: what depends on a size that is not chosen is left out." : total === 0 ? none : "";
  }

  area({ item, size, x, y, width, height }, total, shown) {
    const name = item ? (item.name.startsWith(this.at.name) && !this.at.repeats ? item.name.slice(this.at.name.length) : item.name) : "others";
    const text = `${name} ${shown(size)}, ${((100 * size) / total).toPrecision(3)} %`;
    const style = `--colour:var(--${item?.category ? `category-${item.category}` : "scope"});left:${x}px;top:${y}px;width:${Math.max(width - 2, 0)}px;height:${Math.max(height - 2, 0)}px`;
    const kind = item?.id === undefined ? "scope" : "layer";
    const open = () => (item?.id === undefined ? item && this.go(item) : this.onGo(item));
    return element("button", { type: "button", class: `area ${kind} ${width < 16 || height < 16 ? "small" : ""}`, style, title: text, "aria-label": text, onclick: open }, width > 70 && height > 36 ? text : "");
  }

  go(scope) {
    this.at = scope;
    this.draw();
  }
}

/** A squarified treemap: areas as close to squares as filling row by row allows. */
function squarify(parts, width, height) {
  const total = parts.reduce((sum, { size }) => sum + size, 0);
  const areas = parts.map((part) => ({ ...part, area: (part.size / total) * width * height }));
  const placed = [];
  let [x, y] = [0, 0];
  for (let at = 0; at < areas.length; ) {
    const side = Math.min(width, height);
    let [end, sum, worst] = [at, 0, Infinity];
    for (; end < areas.length; end += 1) {
      const next = sum + areas[end].area;
      const thick = next / side;
      const ratio = Math.max(...[areas[at], areas[end]].map(({ area }) => Math.max(thick ** 2 / area, area / thick ** 2)));
      if (ratio > worst) break;
      [worst, sum] = [ratio, next];
    }
    const thick = side > 0 ? sum / side : 0;
    let along = 0;
    for (; at < end; at += 1) {
      const length = thick > 0 ? areas[at].area / thick : 0;
      const isColumn = width >= height;
      placed.push({ ...areas[at], ...(isColumn ? { x, y: y + along, width: thick, height: length } : { x: x + along, y, width: length, height: thick }) });
      along += length;
    }
    if (width >= height) [x, width] = [x + thick, width - thick];
    else [y, height] = [y + thick, height - thick];
  }
  return placed;
}
