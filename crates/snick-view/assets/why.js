// Where sizes come from, as a tree that is walked with a pointer or with keys.

import { copyButton, element, link } from "./dom.js";
import { names, unquoted } from "./expression.js";
import { interval } from "./model.js";
import { counted } from "./numbers.js";

/** Maximum number of parts to list below another one at first. */
const MOST_PARTS = 30;

/** Maximum number of lines of a tree as text. */
const MOST_LINES = 300;

/** The origins of the sizes of a model, one layer at a time. A part is `LAYER:OUTPUT:AXIS`, or `LAYER:OUTPUT:eINDEX`. */
export class Trace {
  constructor(model) {
    Object.assign(this, { model, steps: model.data.steps, missing: new Set(model.data.steps_missing) });
  }

  /** The sizes of the outputs of a layer, and the elements that are explained. */
  partsOf(layer) {
    return layer.outputs.flatMap(({ dims, elements }, at) => [
      ...(dims ?? []).map((_, axis) => `${layer.id}:${at}:${axis}`),
      ...(elements ?? []).map((_, index) => `${layer.id}:${at}:e${index}`).filter((text) => this.steps[text]),
    ]);
  }

  /** The layer, place and value of a part, and the parts that it is computed from. */
  part(text) {
    const [id, port, place] = text.split(":");
    const layer = this.model.layers[id];
    const isElement = place.startsWith("e");
    const at = Number(isElement ? place.slice(1) : place);
    const size = (isElement ? layer.outputs[port].elements : layer.outputs[port].dims)?.[at];
    return { text, layer, size, where: isElement ? `element ${at}` : `axis ${at}`, from: this.steps[text] ?? this.merged(layer, size) };
  }

  /** The layer that creates a part, and the number of layers that pass it on from there. */
  maker(text) {
    for (let [passed, seen] = [0, new Set([text])]; ; passed += 1) {
      const part = this.part(text);
      const [before] = part.from;
      const isPassedOn = part.from.length === 1 && part.size !== undefined && this.part(before).size === part.size;
      if (!isPassedOn || seen.has(before)) return { ...part, passed };
      seen.add((text = before));
    }
  }

  /** The input sizes from which a layer merges a new symbol. */
  merged(layer, size) {
    const symbol = this.bornAt(layer, size);
    if (!symbol?.of) return [];
    const inputs = layer.inputs.flatMap((source) => (source ? this.model.source(source)?.dims ?? [] : []).map((dim, axis) => [dim, `${source.join(":")}:${axis}`]));
    const found = symbol.of.map((expression) => inputs.find(([dim]) => dim === expression)?.[1]);
    return [...new Set(found.filter(Boolean))];
  }

  /** The symbol that a size is, if it originates at this layer. */
  bornAt(layer, size) {
    const symbol = typeof size === "string" ? this.model.symbols.get(unquoted(size)) : null;
    return symbol?.layer === layer.id ? symbol : null;
  }

  /** Whether the report lacks the parts from which a part is computed. */
  isMissing({ layer, size, from }) {
    return this.missing.has(layer.id) && from.length === 0 && layer.kind !== "input" && layer.kind !== "constant" && !this.bornAt(layer, size);
  }

  /** How a part comes about: a text, or the symbols with reasons that explain it. */
  reason(part) {
    const { layer, size, from } = part;
    const symbol = this.bornAt(layer, size);
    if (symbol && layer.kind !== "input") return [symbol];
    if (from.length > 0) return "computed from";
    if (layer.kind === "input") return "the input declares it";
    if (layer.kind === "constant") return "a constant";
    if (this.isMissing(part)) return "its origin is not in this report";
    if (typeof size !== "string") return "the layer itself sets it";
    return [...names(this.model.tree(size))].map((name) => this.model.symbols.get(name)).filter(Boolean);
  }

  /** The reason as text. */
  reasonText(part) {
    const reason = this.reason(part);
    return typeof reason === "string" ? reason : reason.map((symbol) => `${symbol.name} (${interval(symbol)}): ${symbol.reason ?? "an input declares it"}`).join("; ");
  }

  /** A size with its number, if sizes are chosen. */
  sizeText(size) {
    if (size === undefined) return "";
    return this.model.chosen.size > 0 && typeof size === "string" ? `${size} = ${this.model.dim(size)}` : String(size);
  }

  /** The whole tree of a part as text. */
  textOf(text) {
    const { layer, size, where } = this.part(text);
    const lines = [`${layer.name} ${where} = ${this.sizeText(size)}`];
    const add = (child, indent) => {
      if (lines.length > MOST_LINES) return;
      const part = this.maker(child);
      lines.push(`${indent}${this.sizeText(part.size)}  ${part.layer.op} ${part.layer.name} ${part.where}: ${this.reasonText(part)}`);
      part.from.forEach((source) => add(source, `${indent}  `));
    };
    add(text, "  ");
    if (lines.length > MOST_LINES) lines.push("…");
    return lines.join("\n");
  }
}

export class WhyTree {
  /** Shows a tree for the sizes of a layer. `unfolded` holds the open items, so that they stay open when sizes change. */
  constructor(trace, links, layer, unfolded) {
    Object.assign(this, { trace, links, unfolded, layerOf: new Map() });
    const several = layer.outputs.filter(({ dims }) => dims?.length > 0).length > 1;
    const title = (text) => {
      const [, port] = text.split(":");
      return several ? `output ${layer.outputs[port].port}, ${trace.part(text).where}` : trace.part(text).where;
    };
    this.element = element("ul", { class: "why", role: "tree", "aria-label": `Where the sizes of ${layer.name} come from`, onkeydown: (event) => this.onKey(event), onclick: (event) => this.onClick(event) });
    this.append(this.element, trace.partsOf(layer).map((text) => [text, text, title(text)]), 1);
    this.makeCurrent(this.element.firstChild);
  }

  /** Adds parts, given as path, part and title, to a list. */
  append(list, parts, level) {
    const shown = this.unfolded.has(`all of ${list.dataset.path ?? ""}`) || parts.length <= MOST_PARTS ? parts : parts.slice(0, MOST_PARTS);
    list.append(...shown.map(([path, text, title]) => this.item(path, text, title, level)));
    if (shown.length === parts.length) return;
    const more = element("li", { role: "treeitem", class: "more-item", tabindex: "-1", "aria-level": level }, link(`${parts.length - shown.length} more`, () => {
      this.unfolded.add(`all of ${list.dataset.path ?? ""}`);
      const rest = parts.slice(MOST_PARTS).map(([path, text, title]) => this.item(path, text, title, level));
      more.replaceWith(...rest);
      this.makeCurrent(rest[0]);
      rest[0].focus();
    }));
    list.append(more);
  }

  item(path, text, title, level) {
    const { trace, links } = this;
    const part = trace.maker(text);
    const { layer, size, where, from, passed } = part;
    const isOpenSize = size !== undefined && trace.model.isOpen(size);
    const number = trace.model.chosen.size > 0 && typeof size === "string" ? ` = ${trace.model.dim(size)}` : "";
    const value = element("code", { class: isOpenSize ? "open" : "" }, size === undefined ? "?" : links.expression(size), number);
    const through = passed > 0 ? `, passed on by ${counted(passed, "layer")}` : "";
    const place = element("span", { class: "made" }, `${layer.op} `, links.layer(layer.id), ` ${where}${through}: `, this.reason(part));
    const line = element("div", { class: "line" }, element("span", { class: "marker", "aria-hidden": "true" }), title ? `${title}: ` : "", value, " ", place);
    if (level === 1) line.append(" ", copyButton(() => trace.textOf(text), `Copy why ${title} is ${trace.sizeText(size)}`));
    const made = element("li", { role: "treeitem", tabindex: "-1", "aria-level": level, "data-path": path, "data-part": text }, line);
    this.layerOf.set(made, layer);
    if (from.length > 0) {
      made.setAttribute("aria-expanded", "false");
      if (this.unfolded.has(path)) this.toggle(made, true);
    }
    return made;
  }

  /** The reason of a part, with links. */
  reason(part) {
    const reason = this.trace.reason(part);
    if (typeof reason === "string") return reason;
    return reason.flatMap((symbol, at) => [at > 0 ? "; " : "", this.links.symbol(unquoted(symbol.name)), ` (${interval(symbol)}) `, ...this.links.reason(symbol)]);
  }

  /** Opens or closes an item. Its parts are created when it is first opened. */
  toggle(item, isOpen) {
    if (!item.hasAttribute("aria-expanded")) return;
    item.setAttribute("aria-expanded", isOpen);
    this.unfolded.set(item.dataset.path, isOpen);
    let group = item.querySelector(":scope > [role=group]");
    if (!group && isOpen) {
      group = element("ul", { role: "group", "data-path": item.dataset.path });
      const { from } = this.trace.maker(item.dataset.part);
      this.append(group, from.map((source) => [`${item.dataset.path}/${source}`, source, null]), Number(item.getAttribute("aria-level")) + 1);
      group.querySelectorAll("button").forEach((button) => (button.tabIndex = -1));
      item.append(group);
    }
    if (group) group.hidden = !isOpen;
  }

  /** Makes an item the only one that is reached with Tab, together with its links. */
  makeCurrent(item) {
    if (!item) return;
    this.element.querySelectorAll("[role=treeitem], button").forEach((other) => (other.tabIndex = -1));
    item.tabIndex = 0;
    item.querySelectorAll(":scope > .line button, :scope > button").forEach((button) => (button.tabIndex = 0));
  }

  onClick(event) {
    const item = event.target.closest("[role=treeitem]");
    if (!item || event.target.closest("button")) return;
    this.makeCurrent(item);
    this.toggle(item, item.getAttribute("aria-expanded") === "false");
  }

  onKey(event) {
    const item = event.target.closest("[role=treeitem]");
    if (!item || event.ctrlKey || event.metaKey || event.altKey) return;
    const items = [...this.element.querySelectorAll("[role=treeitem]")].filter((one) => !one.parentElement.closest("[hidden]"));
    const at = items.indexOf(item);
    const isOpen = item.getAttribute("aria-expanded");
    const outer = item.parentElement.closest("[role=treeitem]");
    const show = () => (this.layerOf.has(item) ? this.links.onLayer(this.layerOf.get(item)) : item.querySelector("button").click());
    const keys = {
      ArrowDown: () => items[at + 1], ArrowUp: () => items[at - 1], Home: () => items[0], End: () => items.at(-1),
      ArrowRight: () => (isOpen === "true" ? items[at + 1] : this.toggle(item, true)),
      ArrowLeft: () => (isOpen === "true" ? this.toggle(item, false) : outer),
      Enter: show, " ": () => this.toggle(item, isOpen === "false"),
    };
    // Enter and space press the link or button that has the focus.
    if (!keys[event.key] || (event.target !== item && ["Enter", " "].includes(event.key))) return;
    event.preventDefault();
    event.stopPropagation();
    const next = keys[event.key]();
    if (!next) return;
    this.makeCurrent(next);
    next.focus();
  }
}
