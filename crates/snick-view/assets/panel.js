// Everything known about one layer.

import { definitions, element, link, svgElement } from "./dom.js";
import { interval } from "./model.js";
import { bytes, count } from "./numbers.js";
import { names } from "./expression.js";
import { pictures } from "./slices.js";

/** Maximum number of consumers to list. */
const MOST_READERS = 30;

export class Panel {
  /** Calls `onGo` to show another layer. */
  constructor(model, onGo) {
    Object.assign(this, { model, onGo, item: null });
    this.element = element("aside", { class: "panel empty", "aria-label": "Layer" });
    model.onChange(() => this.item && this.show(this.item));
  }

  /** Shows a layer or a scope. */
  show(item) {
    this.item = item;
    this.element.classList.remove("empty");
    const open = this.element.querySelector("details.why[open]")?.dataset.part;
    this.element.replaceChildren(...(item.id === undefined ? this.ofScope(item) : this.ofLayer(item)));
    if (open) this.element.querySelector(`details.why[data-part="${open}"]`)?.setAttribute("open", "");
  }

  ofScope(scope) {
    const [layers, times] = [`${scope.size} layers`, scope.repeats];
    const text = times ? `${times} blocks of the same structure, ${layers} in all` : layers;
    return [element("h2", {}, scope.name), element("p", {}, `${text}. Enter unfolds it.`)];
  }

  ofLayer(layer) {
    const [macs, flops, written] = [count, count, bytes].map((unit, at) => this.amount(layer.cost?.[at], unit));
    const weights = this.model.weights(layer);
    const slice = this.model.slices.get(layer.id);
    const findings = this.model.findings.get(layer.id) ?? [];
    return [
      element("h2", {}, layer.name),
      definitions([
        ["Operation", `${layer.op} (${layer.version})`],
        ["Place", layer.loc],
        ["Change", this.model.marks.get(layer.id)],
        ["MACs", macs],
        ["Operations", flops],
        ["Writes", written],
        ["Weights", weights > 0 ? bytes(weights) : null],
      ]),
      ...findings.map((finding) => element("p", { class: finding.severity }, `${finding.code} ${finding.message}`)),
      ...this.section("Outputs", layer.outputs.map((output, at) => this.output(layer, output, at))),
      ...this.section("Inputs", layer.inputs.map((source, port) => this.input(source, port))),
      ...this.section("Read by", this.readers(layer)),
      ...this.section("Attributes", [definitions(Object.entries(layer.attributes ?? {}))], !layer.attributes),
      ...this.section("Slice", slice ? pictures(this.model, slice) : []),
      ...this.section("Values", layer.histogram ? [histogram(layer.histogram)] : []),
    ];
  }

  /** An amount as a number, or as an expression if it depends on sizes that are not chosen; null if there is none. */
  amount(expression, unit) {
    if (!expression) return null;
    const value = this.model.evaluate(expression);
    return value === null ? element("code", {}, expression) : unit(value);
  }

  section(title, children, isEmpty = children.length === 0) {
    return isEmpty ? [] : [element("section", {}, element("h3", {}, title), ...children)];
  }

  layerLink(id) {
    const layer = this.model.layers[id];
    return link(layer.name, () => this.onGo(layer), layer.op);
  }

  input(source, port) {
    if (!source) return element("div", { class: "port" }, `${port}: not connected`);
    const output = this.model.source(source);
    const from = this.model.layers[source[0]];
    const elements = from.kind === "constant" && output?.elements ? ` = [${output.elements.join(", ")}]` : "";
    return element("div", { class: "port" }, `${port}: `, this.layerLink(source[0]), " ", element("code", {}, this.model.fact(output), elements));
  }

  output(layer, output, at) {
    const elements = output.elements && layer.kind !== "constant" ? ` = [${output.elements.map((one) => this.model.dim(one)).join(", ")}]` : "";
    const fact = element("code", { class: this.model.isOpenOutput(output) ? "open" : "" }, this.model.fact(output), elements);
    const tensor = output.names ? element("small", {}, ` ${output.names.join(", ")}`) : null;
    const dims = (output.dims ?? []).map((dim, axis) => this.why(`${layer.id}:${at}:${axis}`, `axis ${axis}`));
    return element("div", { class: "port" }, `${output.port}: `, fact, tensor, ...dims);
  }

  readers(layer) {
    const shown = layer.readers.slice(0, MOST_READERS);
    const items = shown.map(([id, port]) => element("div", { class: "port" }, this.layerLink(id), ` input ${port}`));
    const more = layer.readers.length - shown.length;
    return more > 0 ? [...items, element("p", {}, `${more} more`)] : items;
  }

  /** Explains a size as a tree that is built as it is expanded. */
  why(part, title) {
    const { model } = this;
    const { layer, size, where, from } = this.maker(part);
    const value = size === undefined ? "" : String(size);
    const chosen = model.chosen.size > 0 && typeof size === "string" ? ` = ${model.dim(size)}` : "";
    const summary = element("summary", {}, title ? `${title}: ` : "", element("code", { class: size !== undefined && model.isOpen(size) ? "open" : "" }, value, chosen));
    const tree = element("details", { class: "why", "data-part": part }, summary);
    tree.addEventListener("toggle", () => {
      if (!tree.open || tree.children.length > 1) return;
      tree.append(element("div", { class: "made" }, `${layer.op} `, this.layerLink(layer.id), ` ${where}${this.reason(layer, size, from)}`));
      from.forEach((source) => tree.append(this.why(source)));
    });
    return tree;
  }

  /** The place and value of a part. */
  part(text) {
    const [id, port, place] = text.split(":");
    const layer = this.model.layers[id];
    const isElement = place.startsWith("e");
    const at = Number(isElement ? place.slice(1) : place);
    const size = (isElement ? layer.outputs[port].elements : layer.outputs[port].dims)?.[at];
    return { layer, size, where: isElement ? `element ${at}` : `axis ${at}`, from: this.model.data.steps[text] ?? [] };
  }

  /** The layer that creates a size: goes up while layers pass it on. */
  maker(text) {
    for (const seen = new Set([text]); ; ) {
      const part = this.part(text);
      const [before] = part.from;
      const isPassedOn = part.from.length === 1 && part.size !== undefined && this.part(before).size === part.size;
      if (!isPassedOn || seen.has(before)) return part;
      seen.add((text = before));
    }
  }

  /** Why a size is a leaf of the tree. */
  reason(layer, size, from) {
    if (from.length > 0) return ", computed from:";
    if (layer.kind === "input") return ": the input declares it";
    if (layer.kind === "constant") return ": a constant";
    if (typeof size !== "string") return ": the layer itself sets it";
    const symbols = [...names(this.model.tree(size))].map((name) => [name, this.model.symbols.get(name)]);
    return symbols.map(([name, symbol]) => `: ${name} (${symbol ? interval(symbol) : "?"}) ${symbol?.reason ?? "is declared"}`).join("; ");
  }
}

function histogram({ bars, min, max, mean, zeros, not_finite: odd, sampled, of }) {
  const most = Math.max(...bars);
  const drawn = svgElement("svg", { viewBox: `0 0 ${bars.length * 10} 60`, class: "histogram", role: "img", "aria-label": `Values from ${min} to ${max}` });
  bars.forEach((bar, at) => {
    const height = bar === 0 ? 0 : Math.max((bar / most) * 56, 1);
    drawn.append(svgElement("rect", { x: at * 10 + 1, y: 60 - height, width: 8, height }));
  });
  const share = (part) => `${((100 * part) / of).toPrecision(3)} %`;
  return element(
    "div", {}, drawn, element("div", { class: "ends" }, element("span", {}, short(min)), element("span", {}, short(max))),
    definitions([
      ["Mean", short(mean)], ["Zeros", zeros > 0 ? share(zeros) : null], ["NaN, infinite", odd > 0 ? share(odd) : null],
      ["Elements", sampled === of ? count(of) : `${count(of)}; the bars count ${count(sampled)}`],
    ]),
  );
}

function short(number) {
  return number === null ? "?" : String(Number(Number(number).toPrecision(4)));
}
